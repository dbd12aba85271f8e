/** Every kind of cell by every reader of tables: its number, or an error with the file, the row and the column. */
import {expect} from 'chai';
import fc from 'fast-check';
import {parquetWriteBuffer} from 'hyparquet-writer';
import {DataError} from '../../../lib/index.js';
import {readTable} from '../../../training/index.js';
import {doubles, npy, npz} from './archives.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

type Kind = 'number' | 'missing' | 'infinite' | 'other';
interface Cell {
  readonly kind: Kind;
  readonly value: number;
  readonly text: string;
}

const number = fc
  .double({noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9})
  .map((value): Cell => ({kind: 'number', value: value + 0, text: String(value)}));
const words = (kind: Kind, value: number, ...texts: readonly string[]): fc.Arbitrary<Cell> =>
  fc.constantFrom(...texts).map(text => ({kind, value, text}));
const missing = words('missing', NaN, '', 'NaN', 'nan', 'NA', 'null', '-');
const infinite = words('infinite', Infinity, 'inf', 'Inf', '-inf', '+Infinity', '∞', '1e999');
const other = words('other', NaN, 'true', 'False', '2020-02-30', '12:30:00', 'abc', '"[1, 2]"', '{3}');

const tables = (...kinds: readonly fc.Arbitrary<Cell>[]): fc.Arbitrary<Cell[]> =>
  fc.array(fc.oneof({weight: 12, arbitrary: number}, ...kinds.map(arbitrary => ({weight: 1, arbitrary}))), {
    minLength: 1,
    maxLength: 30,
  });

const lenient = fc.boolean();
const isRead = (cell: Cell, allowed: boolean): boolean =>
  cell.kind === 'number' || (allowed && cell.kind === 'missing');

/** Column x, or the error; which must have a cell in its row that is no number. */
async function judge(
  source: Uint8Array | string,
  cells: readonly Cell[],
  allowed: boolean,
  first: 1 | 2,
): Promise<void> {
  const options = {missing: allowed ? 'nan' : 'error'} as const;
  const told = cells.map(({text}) => text).join('|');
  try {
    const values = (await readTable(source, options)).column('x');
    expect(
      cells.every(cell => isRead(cell, allowed)),
      told,
    ).to.equal(true);
    expect(
      [...values].map(value => value + 0),
      told,
    ).to.deep.equal(cells.map(({value}) => value));
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const {column, row, line, file} = error.data;
    expect(
      cells.every(cell => isRead(cell, allowed)),
      `${told}: ${error.message}`,
    ).to.equal(false);
    expect(column).to.equal('x');
    expect(file).to.be.a('string');
    // A column without any number has no row of its own.
    if (row === undefined && line === undefined) expect(cells.every(({kind}) => kind !== 'number')).to.equal(true);
    else expect(cells[Number(row ?? line) - first].kind, `${told}: ${error.message}`).to.not.equal('number');
  }
}

/** Optional values under a schema of one column. */
const parquet = (data: readonly unknown[], ...schema: object[]): Uint8Array =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: [{name: 'x', data: [...data]}],
      schema: [{name: 'root', num_children: 1}, ...(schema as {name: string}[])],
    }),
  );

const flat = {name: 'x', type: 'DOUBLE', repetition_type: 'OPTIONAL'};
const nested = {
  list: [
    {name: 'x', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST'},
    {name: 'list', repetition_type: 'REPEATED', num_children: 1},
    {name: 'element', type: 'DOUBLE', repetition_type: 'OPTIONAL'},
  ],
  struct: [
    {name: 'x', repetition_type: 'OPTIONAL', num_children: 1},
    {name: 'part', type: 'DOUBLE', repetition_type: 'OPTIONAL'},
  ],
};

describe('cells of tables', () => {
  for (const delimiter of [',', '\t'])
    it(`of text, between '${delimiter === ',' ? 'commas' : 'tabs'}'`, () =>
      fc.assert(
        fc.asyncProperty(tables(missing, infinite, other), lenient, (cells, allowed) => {
          const rows = cells.map(({text}, i) => `${i}${delimiter}${text}${delimiter}0`);
          return judge([`t${delimiter}x${delimiter}z`, ...rows].join('\n') + '\n', cells, allowed, 2);
        }),
        runs(60),
      ));

  it('of NPZ and NPY', () =>
    fc.assert(
      fc.asyncProperty(tables(missing, infinite), lenient, (cells, allowed) => {
        const values = cells.map(({value}) => value);
        return judge(
          npz({x: npy({descr: '<f8', shape: `${values.length},`, content: doubles(...values)})}),
          cells,
          allowed,
          1,
        );
      }),
      runs(60),
    ));

  it('of NPZ that are no real numbers name the array; whole numbers that are rounded, the row', async () => {
    for (const [descr, bytes] of [
      ['<M8[s]', 8],
      ['<c16', 16],
      ['<U3', 12],
      ['|O', 8],
    ] as const) {
      const source = npz({x: npy({descr, shape: '2,', content: new Uint8Array(2 * bytes)})});
      const error = await readTable(source, {missing: 'nan'}).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(DataError);
      expect((error as DataError).data).to.include({column: 'x'});
    }
    const truth = npz({x: npy({descr: '|b1', shape: '3,', content: Uint8Array.of(1, 0, 1)})});
    expect([...(await readTable(truth)).column('x')]).to.deep.equal([1, 0, 1]);
    const whole = new Uint8Array(BigInt64Array.of(1n, 2n, 3n, 4n, 2n ** 53n + 1n, 6n).buffer);
    for (const [fortran, row] of [
      [false, 3],
      [true, 2],
    ] as const) {
      const source = npz({x: npy({descr: '<i8', shape: '3, 2', content: whole, fortran})});
      const error = (await readTable(source).catch((thrown: unknown) => thrown)) as DataError;
      expect(error.data, error.message).to.include({column: 'x', row});
    }
  });

  // A thread for each file: few runs.
  slow('of Parquet', () =>
    fc.assert(
      fc.asyncProperty(tables(missing, infinite), lenient, (cells, allowed) =>
        judge(
          parquet(
            cells.map(({text, value}) => (text === '' ? null : value)),
            flat,
          ),
          cells,
          allowed,
          1,
        ),
      ),
      runs(6),
    ),
  );

  it('of Parquet that are truth values are 0 and 1', async () => {
    const truth = parquet([true, null, false], {name: 'x', type: 'BOOLEAN', repetition_type: 'OPTIONAL'});
    expect([...(await readTable(truth, {missing: 'nan'})).column('x')]).to.deep.equal([1, NaN, 0]);
  });

  for (const [kind, value] of [
    ['list', [0.5]],
    ['list', []],
    ['list', [1, 2]],
    ['struct', {part: 0.5}],
    ['struct', {part: null}],
  ] as const)
    it(`of Parquet that are ${JSON.stringify(value)} are no numbers, and text where asked`, async () => {
      const source = parquet([null, value, value], ...nested[kind]);
      const error = (await readTable(source, {missing: 'nan'}).catch((thrown: unknown) => thrown)) as DataError;
      expect(error.message).to.include("row 2, column 'x' is").and.include('not a single number');
      expect(error.data).to.include({row: 2, column: 'x'});
      expect((await readTable(source, {text: ['x']})).text('x')[1]).to.equal(JSON.stringify(value));
    });
});
