/** Generated meshes: area, volume and Euler characteristic, sides, quadratic cells on curved boundaries, refinement. */
import {expect} from 'chai';
import {
  annulus,
  boundary,
  box,
  cylinder,
  disk,
  elevated,
  extruded,
  mapped,
  plateWithHole,
  refined,
  select,
  strip,
  withSets,
  type CellType,
  type Mesh,
} from '../../../fem/index.js';
import {cellShape, cellTypes} from '../../../fem/mesh/cell-types.js';
import {assembled} from '../../../fem/mesh/mesh.js';
import {requireGoodCells, requireReferencedNodes} from '../../../fem/mesh/quality.js';
import {facetNodes} from '../../../fem/mesh/topology.js';
import {enclosed, eulerCharacteristic, volume} from './measure.js';

const ofDimension = (dimension: number): CellType[] =>
  cellTypes.filter(type => cellShape(type).dimension === dimension);
const close = (found: number, expected: number): void => {
  expect(found).to.be.closeTo(expected, 1e-12 * Math.max(1, Math.abs(expected)));
};

/** What holds for every mesh: arrays fit, cells are good, and facet sets lie on nodes of the node set. */
function requireSound(mesh: Mesh): void {
  requireReferencedNodes(mesh);
  requireGoodCells(mesh);
  assembled(mesh);
  for (const [name, facets] of Object.entries(mesh.sets.facets))
    expect(mesh.sets.nodes[name], name).to.deep.equal(facetNodes(facets));
}

describe('box', () => {
  for (const cell of [...ofDimension(1), ...ofDimension(2), ...ofDimension(3)])
    it(`of ${cell} fills its volume with cells of the right sign`, () => {
      const {dimension} = cellShape(cell);
      const mesh = box([2, 3, 0.5].slice(0, dimension), [3, 2, 2].slice(0, dimension), cell);
      requireSound(mesh);
      expect(Object.keys(mesh.cells)).to.deep.equal([cell]);
      expect(eulerCharacteristic(mesh)).to.equal(1);
      if (dimension > 1)
        close(
          volume(mesh),
          [2, 3, 0.5].slice(0, dimension).reduce((a, b) => a * b),
        );
    });

  it('counts the nodes of its lattice', () => {
    const count = (cell: CellType): number => box([1, 1, 1], [3, 3, 3], cell).points.length / 3;
    expect(count('hex8')).to.equal(4 ** 3);
    expect(count('hex27')).to.equal(7 ** 3);
    expect(count('hex20')).to.equal(4 ** 3 + 3 * 16 * 3);
    expect(count('tet10')).to.equal(7 ** 3);
  });

  it('names its sides', () => {
    const mesh = box([1, 2, 3], [1, 2, 3]);
    expect(Object.keys(mesh.sets.facets)).to.deep.equal(['left', 'right', 'front', 'back', 'bottom', 'top']);
    expect(mesh.sets.nodes.top).to.deep.equal(select(mesh, ([, , z]) => z === 3));
    expect(mesh.sets.facets.right.quad4).to.have.length(4 * 6);
    // The flux of the position through a side is its distance times its area.
    close(enclosed(mesh, mesh.sets.facets.right), (1 * 6) / 3);
    expect(enclosed(mesh, mesh.sets.facets.left)).to.equal(0);
    expect(Object.keys(box([1, 1], [1, 1]).sets.nodes)).to.deep.equal(['left', 'right', 'bottom', 'top']);
  });

  it('refuses what does not fit together', () => {
    expect(() => box([1, 1], [1, 1], 'hex8')).to.throw(/cell must be one of 'tri3'/);
    expect(() => box([1, 1], [1])).to.throw('divisions must be a list of 2 whole numbers');
    expect(() => box([1, -1], [1, 1])).to.throw('size[1] must be a positive number');
    expect(() => box([1, 1], [1, 0.5])).to.throw('divisions[1] must be a whole number');
  });
});

describe('curved shapes', () => {
  // Straight chords of a circle enclose n/2 sin(2π/n) R².
  const chords = (n: number): number => (n / 2) * Math.sin((2 * Math.PI) / n);

  for (const cell of ofDimension(2)) {
    it(`disk of ${cell}`, () => {
      const mesh = disk(2, 4, cell);
      requireSound(mesh);
      expect(eulerCharacteristic(mesh)).to.equal(1);
      close(volume(mesh), 4 * chords(16));
      for (const node of mesh.sets.nodes.rim) close(Math.hypot(...mesh.points.subarray(2 * node, 2 * node + 2)), 2);
      expect(facetNodes(boundary(mesh))).to.deep.equal(mesh.sets.nodes.rim);
    });

    it(`annulus of ${cell}`, () => {
      const mesh = annulus(1, 3, [2, 12], {cell});
      requireSound(mesh);
      expect(eulerCharacteristic(mesh)).to.equal(0);
      close(volume(mesh), 8 * chords(12));
      close(enclosed(mesh, mesh.sets.facets.inner), -chords(12));
    });

    it(`plate with a hole of ${cell}`, () => {
      const mesh = plateWithHole([4, 6], 1, [3, 2], {cell});
      requireSound(mesh);
      expect(eulerCharacteristic(mesh)).to.equal(0);
      const hole = -enclosed(mesh, mesh.sets.facets.hole);
      close(volume(mesh), 24 - hole);
      expect(hole).to.be.within(chords(12), Math.PI);
      const quarter = plateWithHole([4, 6], 1, [3, 2], {cell, quarter: true});
      requireSound(quarter);
      expect(eulerCharacteristic(quarter)).to.equal(1);
      close(volume(quarter), volume(mesh) / 4);
      expect(Object.keys(quarter.sets.nodes).sort()).to.deep.equal(['bottom', 'hole', 'left', 'right', 'top']);
    });
  }

  for (const cell of ofDimension(3))
    it(`cylinder of ${cell}`, () => {
      const mesh = cylinder(2, 3, [2, 2], cell);
      requireSound(mesh);
      expect(Object.keys(mesh.cells)).to.deep.equal([cell]);
      expect(eulerCharacteristic(mesh)).to.equal(1);
      close(volume(mesh), 3 * 4 * chords(8));
      for (const node of mesh.sets.nodes.side) close(Math.hypot(...mesh.points.subarray(3 * node, 3 * node + 2)), 2);
    });

  it('sector and strip have the sets of their ends', () => {
    const sector = annulus(1, 2, [1, 4], {angle: Math.PI / 2});
    expect(Object.keys(sector.sets.facets).sort()).to.deep.equal(['end', 'inner', 'outer', 'start']);
    expect(eulerCharacteristic(sector)).to.equal(1);
    const long = strip(10, 1, 2, 'tri6');
    requireSound(long);
    expect(long.cells.tri6).to.have.length(2 * 20 * 2 * 6);
  });

  it('refuses a hole that cuts the plate, and a ring inside out', () => {
    expect(() => plateWithHole([2, 2], 1, [1, 1])).to.throw('radius must be below half');
    expect(() => annulus(2, 1, [1, 4])).to.throw('outer must be above inner');
    expect(() => annulus(1, 2, [1, 4], {cell: 'hex8'})).to.throw("annulus: cell must be one of 'tri3'");
  });
});

describe('meshes of meshes', () => {
  for (const cell of cellTypes.filter(type => cellShape(type).order === 1 && type !== 'point1'))
    it(`refined ${cell}: 2^d cells each, the same volume, sets and fields`, () => {
      const {dimension} = cellShape(cell);
      const once = box([2, 1, 1].slice(0, dimension), [2, 1, 2].slice(0, dimension), cell);
      const count = once.cells[cell]!.length / cellShape(cell).nodes;
      const given = assembled({
        ...once,
        sets: {...once.sets, cells: {first: [0]}},
        fields: {
          points: {x: once.points.filter((_, i) => i % dimension === 0)},
          cells: {number: Array.from({length: count}, (_, i) => i)},
        },
      });
      const mesh = refined(refined(given));
      requireSound(mesh);
      const pieces = 4 ** dimension;
      expect(mesh.cells[cell]).to.have.length(count * pieces * cellShape(cell).nodes);
      expect(mesh.sets.cells.first).to.deep.equal(Int32Array.from({length: pieces}, (_, i) => i));
      expect(mesh.fields.points.x.values).to.deep.equal(mesh.points.filter((_, i) => i % dimension === 0));
      expect(mesh.fields.cells.number.values[pieces]).to.equal(1);
      if (dimension > 1) close(volume(mesh), 2);
      for (const [name, nodes] of Object.entries(mesh.sets.nodes))
        expect(nodes, name).to.have.length(
          box([2, 1, 1].slice(0, dimension), [8, 4, 8].slice(0, dimension), cell).sets.nodes[name].length,
        );
    });

  it('a node set of the whole rim gains no node inside, where an edge joins two of its nodes', () => {
    // Two triangles: the diagonal joins two corners of the rim, and its middle lies inside.
    const square = box([1, 1], [1, 1], 'tri3');
    const rim = assembled({...square, sets: {nodes: {rim: [0, 1, 2, 3]}}});
    const quadratic = elevated(rim, 'tri6');
    expect(quadratic.sets.nodes.rim).to.have.length(8);
    expect(select(quadratic, ([x, y]) => x === 0.5 && y === 0.5)).to.have.length(1);
    expect(refined(rim).sets.nodes.rim).to.have.length(8);
  });

  it('elevated refuses what is quadratic, or has no such cells', () => {
    const mesh = box([1, 1], [1, 1], 'quad8');
    expect(() => refined(mesh)).to.throw('the mesh has quad8 cells; only linear cells can be split');
    expect(() => elevated(mesh, 'tri6')).to.throw('the mesh has no tri3 cells; it has quad8');
    expect(() => elevated(mesh, 'quad4')).to.throw(/type must be one of/);
  });

  for (const cell of ['tri3', 'quad4'] as const)
    it(`extruded ${cell}`, () => {
      const plate = plateWithHole([4, 4], 1, [2, 1], {cell});
      const flat = {...plate, sets: {...plate.sets, cells: {some: Int32Array.of(0, 3)}}};
      const mesh = extruded(flat, 2, 3, ['lower', 'upper']);
      requireSound(mesh);
      close(volume(mesh), 2 * volume(plate));
      expect(eulerCharacteristic(mesh)).to.equal(0);
      expect(mesh.sets.cells.some).to.have.length(cell === 'tri3' ? 18 : 6);
      close(enclosed(mesh, mesh.sets.facets.upper), (2 * volume(plate)) / 3);
      expect(() => extruded(plate, 2, 3)).to.throw("has a set 'bottom' already");
    });

  it('mapped moves points, into space too, and refuses what turns cells around', () => {
    const sheet = mapped(box([1, 2], [2, 2]), ([x, y]) => [x, y, x * y]);
    expect(sheet.dimension).to.equal(3);
    expect(sheet.points.slice(-3)).to.deep.equal(Float64Array.of(1, 2, 2));
    expect(() => mapped(sheet, ([x, y]) => [y, x])).to.throw('quad4 0 with nodes 0, 1, 4, 3 is inverted');
    expect(() => mapped(sheet, ([x]) => [x, NaN])).to.throw('node 0 goes to [0, NaN]');
  });

  it('withSets names nodes, facets and cells by a condition', () => {
    const mesh = withSets(box([2, 1], [2, 1]), {half: ([x]) => x <= 1});
    expect(mesh.sets.nodes.half).to.have.length(4);
    expect(mesh.sets.cells.half).to.deep.equal(Int32Array.of(0));
    expect(mesh.sets.facets.half.line2).to.have.length(3 * 2);
    expect(() => withSets(mesh, {none: ([x]) => x > 3})).to.throw("set 'none' would be empty");
  });
});
