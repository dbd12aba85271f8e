/** A store's results as columns: none is lost, none has another's name, and their order is that of numbers. */
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {parse as parseCsv} from 'csv-parse/sync';
import fc from 'fast-check';
import {byPath} from '../../sweep/collect.js';
import {csvLine} from '../../sweep/csv.js';
import {collect, openStore} from '../../sweep/index.js';
import {readTable} from '../../training/index.js';
import {fakeJob, filled} from './jobs.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** 'case.a["b.c"][2]' as ['case', 'a', 'b.c', 2]. */
function pathOf(name: string): (string | number)[] {
  const steps: (string | number)[] = [];
  const step = /\.?([^.[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy;
  let end = 0;
  for (const [whole, plain, index, quoted] of name.matchAll(step)) {
    end += whole.length;
    steps.push(plain ?? (index === undefined ? (JSON.parse(quoted) as string) : Number(index)));
  }
  expect(end, `all of ${name}`).to.equal(name.length);
  return steps;
}

const valueAt = (root: unknown, steps: readonly (string | number)[]): unknown =>
  steps.reduce((value, step) => Object.getOwnPropertyDescriptor(value, step)?.value as unknown, root);

function leaves(value: unknown): number {
  if (typeof value === 'number' || typeof value === 'string') return 1;
  return typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, entry) => sum + leaves(entry), 0)
    : 0;
}

describe('collected columns', () => {
  let place: string;
  let count = 0;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-collect-'));
  });
  after(() => rm(place, {recursive: true}));
  const file = (ending: string): string => path.join(place, `${count++}${ending}`);
  const newStore = () => openStore(path.join(place, `store-${count++}`), {durable: false});

  slow('hold every number of a case and a result under a name of its own', async () => {
    const names = fc.oneof(
      fc.constantFrom('a', 'b', 'a.b', 'a[0]', '0', '["a"]', '', '.', 'c\rd', 'e"f', 'x,y', ' g ', 'h\n', '__proto__', 'constructor', 'ü'), // prettier-ignore
      fc.string({maxLength: 3}),
    );
    const tree = fc.letrec<{value: unknown; case: object}>(tie => ({
      value: fc.oneof({depthSize: 'small', withCrossShrink: true}, fc.double(), fc.array(tie('value'), {maxLength: 3}), tie('case')), // prettier-ignore
      case: fc
        .array(fc.tuple(names, tie('value')), {maxLength: 4})
        .map(entries => Object.fromEntries(entries.filter(([name]) => name !== '$'))),
    }));
    await fc.assert(
      fc.asyncProperty(tree.case, tree.value, async (one, result) => {
        const store = newStore();
        await filled(store, [[one as never, result]]);
        const [csv, parquet] = [file('.csv'), file('.parquet')];
        await collect(store, csv);
        await collect(store, parquet);
        const [head, row, ...more] = parseCsv(await readFile(csv, 'utf8')) as string[][];
        expect(more).to.deep.equal([]);
        const root = {case: one, result, seed: fakeJob(one as never).seed};
        expect(head).to.have.length(leaves(root));
        const table = await readTable(parquet, {text: ['name'], missing: 'nan'});
        expect(table.columns.filter(name => name !== 'name')).to.deep.equal(head);
        head.forEach((name, i) => {
          const value = valueAt(root, pathOf(name));
          expect(Object.is(Number(row[i]), value), `${name} of ${row[i]}`).to.equal(true);
          expect(Object.is(table.column(name)[0], value), name).to.equal(true);
        });
      }),
      runs(10),
    );
  });

  it('have the same names in every row, and empty places where a row lacks them', async () => {
    const store = newStore();
    await filled(store, [
      [{'p.q': 3}, {r: [1, 2, 3]}],
      [{p: {q: 4}}, {r: [5]}],
    ]);
    const to = file('.csv');
    expect(await collect(store, to)).to.equal(2);
    const table = await readTable(to, {missing: 'nan'});
    expect(table.columns).to.deep.equal(['case["p.q"]', 'case.p.q', 'result.r[0]', 'result.r[1]', 'result.r[2]', 'seed']); // prettier-ignore
    const both = [...table.column('case.p.q')].map((value, row) => [value, table.column('case["p.q"]')[row]]);
    expect(both).to.have.deep.members([[4, NaN], [NaN, 3]]); // prettier-ignore
  });

  it('are told apart by readTable, which leaves out blanks at the ends of names', async () => {
    const store = newStore();
    await filled(store, [[{h: 1, 'h\n': 2, ' h': 3, 'h\u00a0': 4}, 5]]);
    const to = file('.csv');
    await collect(store, to);
    const table = await readTable(to);
    const names = table.columns.filter(name => name.startsWith('case'));
    expect(names.map(name => [pathOf(name)[1], table.column(name)[0]])).to.have.deep.members(
      Object.entries({h: 1, 'h\n': 2, ' h': 3, 'h\u00a0': 4}),
    );
  });

  it('come in the order of their numbers, which is one of all names', () => {
    const names = Array.from({length: 12}, (_, i) => `result.x[${i}]`);
    expect([...names].sort().sort(byPath)).to.deep.equal(names);
    expect(['a[2].b[10]', 'a[10]', 'a[2].b[9]', 'a', 'ab', 'a.b'].sort(byPath)).to.deep.equal(
      ['a', 'a[2].b[9]', 'a[2].b[10]', 'a[10]', 'a.b', 'ab'], // prettier-ignore
    );
    const name = fc.stringMatching(/^[a.[\]0-9"]{0,8}$/);
    fc.assert(
      fc.property(name, name, name, (a, b, c) => {
        expect(Math.sign(byPath(a, b))).to.equal(-Math.sign(byPath(b, a)) + 0);
        if (a !== b) expect(byPath(a, b)).not.to.equal(0);
        if (byPath(a, b) < 0 && byPath(b, c) < 0) expect(byPath(a, c)).to.be.below(0);
      }),
      runs(),
    );
  });

  slow('are those of the first look, though results come in meanwhile', async () => {
    const store = newStore();
    await filled(
      store,
      Array.from({length: 40}, (_, k) => [{k}, {y: k}] as const),
    );
    const to = file('.parquet');
    const late = filled(
      store,
      Array.from({length: 40}, (_, k) => [{k, late: 'x'}, {z: k}] as const),
    );
    const [rows] = await Promise.all([collect(store, to), late]);
    const table = await readTable(to, {text: ['name', 'case.late'], missing: 'nan'}).catch(() => readTable(to, {text: ['name']})); // prettier-ignore
    expect(rows).to.be.within(40, 80);
    expect(table.rows).to.equal(rows);
    expect(await collect(store, to)).to.equal(80);
  });

  it('two at once to one file leave one whole file', async () => {
    const store = newStore();
    await filled(
      store,
      Array.from({length: 20}, (_, k) => [{k}, k] as const),
    );
    const to = file('.csv');
    expect(await Promise.all([1, 2, 3].map(() => collect(store, to)))).to.deep.equal([20, 20, 20]);
    expect((await readTable(to)).rows).to.equal(20);
    const error: unknown = await collect(store, '/dev/null/x.csv').catch((reason: unknown) => reason);
    expect(error).to.have.property('code', 'file-unwritable');
  });
});

describe('a line of CSV', () => {
  it('is read back by csv-parse as the same fields', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({unit: fc.constantFrom(...'a,"\r\n\t ;=\'\\\0é😀\uFEFF1.'), maxLength: 6}), {
          minLength: 2,
          maxLength: 4,
        }),
        fields => {
          expect(parseCsv(csvLine(fields))).to.deep.equal([fields]);
        },
      ),
      runs(50),
    );
    expect(csvLine([-0, 5e-324, 'a b', 'k[0]'])).to.equal('-0,5e-324,"a b",k[0]\n');
  });
});
