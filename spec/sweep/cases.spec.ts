/** Lists of cases, and what a case's name depends on. */
import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import * as fc from 'fast-check';
import {OptionError} from '../../lib/index.js';
import {canonical, hash, parse} from '../../sweep/canonical.js';
import {grid, latinHypercube, linspace, logspace, sobol, table as tableCases, uniform} from '../../sweep/cases.js';
import {findTask, jobOf} from '../../sweep/task.js';
import {readTable} from '../../training/index.js';
import {runs} from '../property.js';

describe('lists of cases', () => {
  it('a grid has all combinations, the last name fastest, every time it is gone through', () => {
    const cases = grid({k: [1, 2], scheme: ['midpoint', 'bdf2'], on: [true]});
    const expected = [
      {k: 1, scheme: 'midpoint', on: true},
      {k: 1, scheme: 'bdf2', on: true},
      {k: 2, scheme: 'midpoint', on: true},
      {k: 2, scheme: 'bdf2', on: true},
    ];
    expect([...cases]).to.deep.equal(expected);
    expect([...cases]).to.deep.equal(expected);
    expect(cases.length).to.equal(4);
    expect(() => grid({k: []})).to.throw(OptionError, /k must be a list of at least one value/);
  });

  it('a grid takes any name for a name', () => {
    const values = JSON.parse('{"__proto__": [1, 2], "constructor": [3]}') as Record<string, number[]>;
    expect([...grid(values)].map(one => Object.entries(one))).to.deep.equal([
      [['__proto__', 1], ['constructor', 3]],
      [['__proto__', 2], ['constructor', 3]],
    ]); // prettier-ignore
  });

  it('linspace and logspace include both ends exactly', () => {
    expect(linspace(0, 0.3, 4)).to.deep.equal([0, 0.09999999999999999, 0.19999999999999998, 0.3]);
    const ratios = logspace(1e-3, 10, 5);
    expect([ratios[0], ratios[4]]).to.deep.equal([1e-3, 10]);
    ratios.slice(1).forEach((value, i) => expect(value / ratios[i]).to.be.closeTo(10, 1e-13));
    expect(() => logspace(0, 1, 3)).to.throw(OptionError, /positive/);
  });

  it("Sobol's points are those of Joe and Kuo's direction numbers (scipy 1.17, qmc.Sobol, not scrambled)", () => {
    // Coordinates 1, 2, 3, 4, 5, 10, 20, 40, 63, 64 of some points of 64 dimensions.
    const reference: [index: number, point: number[]][] = [
      [1, [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]],
      [2, [0.75, 0.25, 0.25, 0.25, 0.75, 0.75, 0.25, 0.25, 0.75, 0.75]],
      [7, [0.125, 0.625, 0.375, 0.125, 0.125, 0.875, 0.875, 0.125, 0.625, 0.375]],
      [
        100,
        [0.4140625, 0.2578125, 0.7734375, 0.7265625, 0.8828125, 0.6953125, 0.3359375, 0.1328125, 0.4609375, 0.6484375],
      ],
      [
        1023,
        [
          0.0009765625, 0.7529296875, 0.6123046875, 0.1455078125, 0.1865234375, 0.8505859375, 0.3193359375,
          0.6982421875, 0.7900390625, 0.0400390625,
        ],
      ],
    ];
    const names = Array.from({length: 64}, (_, d) => `x${d + 1}`);
    const points = [
      ...sobol(1024, Object.fromEntries(names.map(name => [name, [0, 1]])) as Record<string, [number, number]>),
    ];
    for (const [index, expected] of reference)
      expect(
        [1, 2, 3, 4, 5, 10, 20, 40, 63, 64].map(d => points[index][`x${d}`]),
        `point ${index}`,
      ).to.deep.equal(expected);
    // A longer sweep goes on where a shorter one ended.
    expect([...sobol(3, {a: [2, 4], b: {low: 1, high: 100, log: true}}, {skip: 5})]).to.deep.equal(
      [...sobol(8, {a: [2, 4], b: {low: 1, high: 100, log: true}})].slice(5),
    );
    expect(() => [
      ...sobol(2, Object.fromEntries(Array.from({length: 65}, (_, d) => [`x${d}`, [0, 1] as const]))),
    ]).to.throw(OptionError, /64 dimensions/);
  });

  it('a Latin hypercube has one point in every slice of every axis; the seed repeats it', () => {
    const ranges = {a: [0, 1], b: [0, 1]} as const;
    const points = [...latinHypercube(50, ranges, 7)];
    for (const name of ['a', 'b'] as const)
      expect(points.map(point => Math.floor(50 * point[name])).sort((a, b) => a - b)).to.deep.equal(
        Array.from({length: 50}, (_, i) => i),
      );
    expect([...latinHypercube(50, ranges, 7)]).to.deep.equal(points);
    expect([...latinHypercube(50, ranges, 8)]).to.not.deep.equal(points);
  });

  it('uniform samples fill a box, on a logarithm where asked', () => {
    const points = [...uniform(4000, {k: {low: 1, high: 1e4, log: true}}, 3)];
    // A quarter of the samples lies in each decade: binomial, standard deviation √(4000·¼·¾) = 27; five of them.
    for (const decade of [0, 1, 2, 3])
      expect(points.filter(({k}) => Math.floor(Math.log10(k)) === decade).length).to.be.closeTo(1000, 137);
    expect(() => uniform(3, {k: [2, 1]})).to.throw(OptionError, /from 2 to 1/);
  });

  it('refuse ranges that are none, and say what is wrong with them', () => {
    const range = (given: unknown) => () => sobol(3, {k: given as [number, number]});
    expect(range({low: 1, high: 100, lgo: true})).to.throw(
      OptionError,
      /sobol: k has no option 'lgo'.* Did you mean 'log'/,
    );
    expect(range({low: 1, high: 100, log: 'yes'})).to.throw(OptionError, /sobol: k: log must be true or false/);
    expect(range({low: NaN, high: 1})).to.throw(OptionError, /from NaN to 1/);
    expect(range([1, 2, 3])).to.throw(OptionError, /not a list of 3/);
    expect(range(5)).to.throw(OptionError, /not 5/);
    expect(range(null)).to.throw(OptionError, /not null/);
    expect(() => linspace(0, Infinity, 3)).to.throw(OptionError, /high must be a finite number, not Infinity/);
    expect(() => linspace(NaN, 1, 2)).to.throw(OptionError, /low must be a finite number, not NaN/);
    expect(() => logspace(1, Infinity, 3)).to.throw(OptionError, /positive and finite/);
    expect(() => logspace(1, 2, 0)).to.throw(OptionError, /logspace: count/);
    expect(() => grid({k: []})).to.throw(OptionError, /at least one value, not an empty list/);
    for (const seed of [NaN, 0.5, '1'])
      for (const of of [uniform, latinHypercube])
        expect(() => of(3, {k: [0, 1]}, seed as number)).to.throw(OptionError, /seed must be a whole number, not /);
  });

  it('a table has one case a row', async () => {
    const table = await readTable(new TextEncoder().encode('k,c\n1,0.5\n2,0.25\n'));
    expect([...tableCases(table)]).to.deep.equal([
      {k: 1, c: 0.5},
      {k: 2, c: 0.25},
    ]);
    expect([...tableCases(table, ['c'])]).to.deep.equal([{c: 0.5}, {c: 0.25}]);
  });
});

describe('canonical texts', () => {
  it('read back as the same value, to the bit', () => {
    fc.assert(
      fc.property(
        fc
          .anything({
            values: [fc.double(), fc.string(), fc.boolean(), fc.constant(null), fc.float64Array(), fc.int8Array()],
          })
          .filter(
            value => !JSON.stringify(value, (_, v: unknown) => (ArrayBuffer.isView(v) ? null : v))?.includes('"$"'),
          ),
        value => {
          let text: string;
          try {
            text = canonical(value, 'x');
          } catch (error) {
            expect(error).to.be.instanceOf(OptionError);
            return;
          }
          expect(canonical(parse(text), 'x')).to.equal(text);
        },
      ),
      runs(500),
    );
    const special = {z: [-0, NaN, Infinity, -Infinity, 5e-324], a: new Float32Array([0.1, -0]), b: 'ü\n'};
    const back = parse(canonical(special, 'x')) as typeof special;
    expect(back).to.deep.equal(special);
    expect(Object.is(back.z[0], -0) && Object.is(back.a[1], -0)).to.equal(true);
  });

  it('do not depend on the order of names, and tell numbers from texts', () => {
    expect(canonical({b: 1, a: 2}, 'x')).to.equal(canonical({a: 2, b: 1}, 'x'));
    expect(canonical({a: 1}, 'x')).to.not.equal(canonical({a: '1'}, 'x'));
    expect(canonical([0], 'x')).to.not.equal(canonical([-0], 'x'));
    expect(canonical([1], 'x')).to.not.equal(canonical(new Float64Array([1]), 'x'));
    // SHA-256 of the empty text (FIPS 180-4 examples).
    expect(hash('')).to.equal('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('refuse what is no data, by its place', () => {
    expect(() => canonical({a: [1, {f: () => 1}]}, 'A case')).to.throw(OptionError, /A case\.a\[1\]\.f is a function/);
    expect(() => canonical({at: new Date(0)}, 'A case')).to.throw(OptionError, /A case\.at is a Date/);
    expect(() => canonical({$: 1}, 'A case')).to.throw(OptionError, /the name '\$'/);
    const circle: {self?: unknown} = {};
    circle.self = circle;
    expect(() => canonical(circle, 'A case')).to.throw(OptionError, /contains itself/);
  });
});

describe("a case's name", () => {
  let place: string;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-names-'));
  });
  after(() => rm(place, {recursive: true}));

  it('depends on content, seed, the task and its version, and on nothing else', async () => {
    const module = path.join(place, 'task.js');
    await writeFile(module, "import {a} from './part.js';\nexport const run = () => a;\n");
    await writeFile(path.join(place, 'part.js'), 'export const a = 1;\n');
    const task = await findTask({module, export: 'run'});
    const {name, seed} = jobOf(task, {k: 1, c: 2}, 0);
    expect(name).to.match(/^[0-9a-f]{64}$/);
    expect(jobOf(task, {c: 2, k: 1}, 0)).to.deep.include({name, seed});
    expect(jobOf(task, {k: 1, c: 3}, 0).name).to.not.equal(name);
    expect(jobOf(task, {k: 1, c: 2}, 1))
      .to.not.deep.include({name})
      .and.not.deep.include({seed});
    // What the module imports has changed: another name, the same random numbers.
    await writeFile(path.join(place, 'part.js'), 'export const a = 2;\n');
    const changed = jobOf(await findTask({module, export: 'run'}), {k: 1, c: 2}, 0);
    expect(changed.name).to.not.equal(name);
    expect(changed.seed).to.equal(seed);
    // A version by hand: the file may change, and stand elsewhere.
    const byHand = jobOf(await findTask({module, export: 'run', version: '1'}), {k: 1}, 0);
    await writeFile(path.join(place, 'task.mjs'), 'export const run = () => 1; // here\n');
    expect(
      jobOf(await findTask({module: path.join(place, 'task.mjs'), export: 'run', version: '1'}), {k: 1}, 0).name,
    ).to.equal(byHand.name);
  });

  it('depends on the files that the module names beside itself, to the byte', async () => {
    const module = path.join(place, 'reads.mjs');
    await mkdir(path.join(place, 'results'), {recursive: true});
    await writeFile(
      module,
      `const file = new URL('./record.bin', import.meta.url), folder = new URL("./results", import.meta.url);
       export {a} from './part-2'; export default () => [file, folder];\n`,
    );
    const version = async (): Promise<string> => (await findTask({module})).version;
    const versions = [await version()];
    for (const [file, bytes] of [
      ['record.bin', [1, 255]],
      ['record.bin', [1, 254]],
      ['part-2.ts', [10]],
    ] as const) {
      // prettier-ignore
      await writeFile(path.join(place, file), Uint8Array.from(bytes));
      versions.push(await version());
    }
    expect(new Set(versions).size).to.equal(4);
    // What the task writes to a folder is not its own.
    await writeFile(path.join(place, 'results/a.json'), '1');
    expect(await version()).to.equal(versions[3]);
  });

  it('a task that is not there is told', async () => {
    let error: unknown;
    await findTask({module: path.join(place, 'nowhere.js')}).catch((e: unknown) => (error = e));
    expect(error)
      .to.be.instanceOf(OptionError)
      .with.property('message')
      .match(/there is no module .*nowhere\.js/);
  });
});
