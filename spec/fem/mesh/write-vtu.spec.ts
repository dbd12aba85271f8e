/** Written .vtu and .pvd files: what is read back equals what was written, to the last bit. */
import {mkdtempSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {box, disk, readMesh, writePvd, writeVtu} from '../../../fem/index.js';
import {cellShape, cellTypes} from '../../../fem/mesh/cell-types.js';
import {assembled, cellCount, pointCount} from '../../../fem/mesh/mesh.js';

describe('writeVtu', () => {
  for (const ascii of [false, true])
    for (const type of cellTypes.filter(one => cellShape(one).dimension > 1))
      it(`${type}, ${ascii ? 'text' : 'binary'}: read back to the last bit`, async () => {
        const {dimension} = cellShape(type);
        const mesh = box([1, 2, 3].slice(0, dimension), [2, 1, 1].slice(0, dimension), type);
        const u = Float64Array.from(mesh.points, (_, i) => Math.sin(i) / 3);
        const E = Float64Array.from({length: cellCount(mesh.cells)}, (_, i) => 1 / (i + 1));
        const read = await readMesh(await writeVtu(undefined, mesh, {points: {u}, cells: {'E <"&">': E}}, {ascii}));
        expect(read.points).to.deep.equal(mesh.points);
        expect(read.cells).to.deep.equal(mesh.cells);
        expect(read.fields.cells['E <"&">']).to.deep.equal({values: E, components: 1});
        const {values, components} = read.fields.points.u;
        expect(components).to.equal(3);
        expect(values.filter((_, i) => i % 3 < dimension)).to.deep.equal(u);
        const left = read.fields.points['set:left'].values;
        expect(mesh.sets.nodes.left).to.deep.equal(Int32Array.from(left.keys()).filter(node => left[node] === 1));
      });

  it('writes fields of the mesh, and numbers that are none', async () => {
    const square = box([1, 1], [1, 1]);
    const mesh = assembled({
      ...square,
      fields: {points: {T: [NaN, Infinity, -Infinity, 0.1]}, cells: {k: [[1, 2, 3, 4]]}},
    });
    for (const ascii of [false, true]) {
      const {fields} = await readMesh(await writeVtu(undefined, mesh, {cells: {k: [7]}}, {ascii}));
      expect(fields.points.T.values).to.deep.equal(Float64Array.of(NaN, Infinity, -Infinity, 0.1));
      expect(fields.cells.k).to.deep.equal({values: Float64Array.of(7), components: 1});
    }
  });

  it('refuses a field of another length, and a folder that is not there', async () => {
    const mesh = box([1, 1], [1, 1]);
    const message = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: Error) => error.message);
    expect(await message(writeVtu(undefined, mesh, {points: {T: [1, 2, 3]}}))).to.match(
      /writeVtu: point field 'T' has 3 numbers, but there are 4 rows/,
    );
    expect(await message(writeVtu('missing-folder/a.vtu', mesh))).to.match(/^missing-folder\/a.vtu cannot be written/);
    expect(await message(writeVtu(undefined, mesh, {}, {text: true} as never))).to.match(/has no option 'text'/);
  });
});

describe('writePvd', () => {
  it('writes a file for each frame, and a list of them with their times', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'stiffgrad-pvd-'));
    try {
      const mesh = disk(1, 2);
      const frames = [0, 0.1].map(t => ({
        t,
        fields: {points: {u: Array.from({length: pointCount(mesh)}, () => [t, 0])}},
      }));
      const files = await writePvd(path.join(folder, 'swing.pvd'), mesh, frames);
      expect(readdirSync(folder).sort()).to.deep.equal(['swing-0.vtu', 'swing-1.vtu', 'swing.pvd']);
      expect(Object.keys(files)).to.deep.equal(['swing.pvd', 'swing-0.vtu', 'swing-1.vtu']);
      const list = readFileSync(path.join(folder, 'swing.pvd'), 'utf8');
      expect(
        [...list.matchAll(/timestep="(.*?)" part="0" file="(.*?)"/g)].map(([, t, file]) => [t, file]),
      ).to.deep.equal(
        [['0', 'swing-0.vtu'], ['0.1', 'swing-1.vtu']], // prettier-ignore
      );
      const last = await readMesh(path.join(folder, 'swing-1.vtu'));
      expect(last.fields.points.u.values[0]).to.equal(0.1);
    } finally {
      rmSync(folder, {recursive: true});
    }
  });

  it('refuses other endings and times that are none', async () => {
    const message = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: Error) => error.message);
    expect(await message(writePvd('a.vtu', disk(1, 1), []))).to.equal("writePvd: path must end in .pvd, not 'a.vtu'.");
    expect(await message(writePvd(undefined, disk(1, 1), [{t: NaN}]))).to.match(
      /frames\[0\].t must be a finite number/,
    );
  });
});
