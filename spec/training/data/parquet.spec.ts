/** Parquet files as tables. */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect} from 'chai';
import {parquetWriteBuffer} from 'hyparquet-writer';
import {DataError} from '../../../lib/index.js';
import {readTable} from '../../../training/index.js';
import {times} from '../../../training/data/sample-times.js';
import {arrowParquet, parquet} from './parquet-file.js';
import {slow} from '../../tiers.js';

describe('Parquet', () => {
  let folder: string;
  let path: string;
  const bytes = Buffer.from(parquet, 'base64');
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stiffgrad-parquet-'));
    path = join(folder, 'made.parquet');
    await writeFile(path, bytes);
  });
  after(() => rm(folder, {recursive: true}));

  const failure = async (work: Promise<unknown>): Promise<DataError> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DataError);
    return error as DataError;
  };

  it('gives numbers of every width, text, and gaps as NaN', async () => {
    const table = await readTable(path, {missing: 'nan'});
    expect(table.columns).to.deep.equal(['t', 'n', 'q', 'who', 'big']);
    expect(table.rows).to.equal(3);
    expect(['t', 'n', 'q', 'big'].map(name => [...table.column(name)])).to.deep.equal([
      [0, 0.5, 1],
      [7, -8, 9],
      [1.5, NaN, 2.5],
      [1, 2, 3],
    ]);
    expect(table.text('who')).to.deep.equal(['a', 'b', 'c']);
    expect((await readTable(path, {columns: ['n', 't']})).columns).to.deep.equal(['t', 'n']);
    expect((await readTable(path, {columns: ['n'], text: ['n']})).text('n')).to.deep.equal(['7', '-8', '9']);
  });

  it('tells the row of a gap, a column that is not there, and a file that is cut short', async () => {
    expect((await failure(readTable(path))).message).to.match(/row 2, column 'q' is empty where a number is needed/);
    expect((await failure(readTable(path, {columns: ['m']}))).message).to.match(/no column 'm'/);
    const cut = join(folder, 'cut.parquet');
    await writeFile(cut, bytes.subarray(0, bytes.length - 40));
    expect((await failure(readTable(cut))).code).to.equal('parquet-malformed');
    expect((await failure(readTable.chunks(path).next())).message).to.match(/not a text file/);
  });
  describe('times', () => {
    type Schema = NonNullable<Parameters<typeof parquetWriteBuffer>[0]['schema']>[number];
    const written = (column: Omit<Schema, 'name'>, data: (bigint | number | null)[]): Uint8Array =>
      new Uint8Array(
        parquetWriteBuffer({
          columnData: [{name: 't', data}],
          schema: [
            {name: 'root', num_children: 1},
            {name: 't', repetition_type: 'OPTIONAL', ...column},
          ],
        }),
      );
    const stamps = ['MILLIS', 'MICROS', 'NANOS'] as const;
    const [epoch, parts] = [1577836800n, {MILLIS: 1000n, MICROS: 1000000n, NANOS: 1000000000n}];

    it('of a day in 2020 keep what a double of seconds holds', async () => {
      // Doubles near 1.6e9 lie 2⁻²² apart: the nearest one is within 1.2e-7.
      const ticks = [0n, 2500n, 5000n, 7500n, 10000n];
      for (const unit of stamps) {
        const per = parts[unit];
        const data = ticks.map(tick => epoch * per + (tick * per) / 1000000n);
        const stamp = {type: 'INT64', logical_type: {type: 'TIMESTAMP', isAdjustedToUTC: true, unit}} as const;
        const t = (await readTable(written(stamp, data))).column('t');
        for (const [i, tick] of ticks.entries()) {
          const held = unit === 'MILLIS' ? Math.floor(Number(tick) / 1000) / 1000 : Number(tick) / 1e6;
          expect(t[i] - Number(epoch), `${unit} ${i}`).to.be.closeTo(held, 2 ** -23);
        }
        if (unit !== 'MILLIS') expect(times(t, 't', {interval: 0.0025})).to.have.length(5);
      }
    });

    it('in nanoseconds are rounded once, also before 1970, and are whole as text', async () => {
      const stamp = {type: 'INT64', logical_type: {type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS'}} as const;
      const data = [-1500000001n, -1n, 0n, 120000000000n, 1577836800123456789n, null];
      const source = written(stamp, data);
      // The texts are read by the language, which rounds to the nearest double.
      const texts = ['-1.500000001', '-0.000000001', '0', '120', '1577836800.123456789'];
      const table = await readTable(source, {missing: 'nan'});
      expect([...table.column('t')]).to.deep.equal([...texts.map(Number), NaN]);
      expect((await readTable(source, {text: ['t']})).text('t')).to.deep.equal([...texts, '']);
      expect((await failure(readTable(source))).message).to.match(/row 6, column 't' is empty/);
    });

    it('and durations that pyarrow wrote are seconds', async () => {
      const file = Buffer.from(arrowParquet, 'base64');
      const expected = {
        since_s: [0, 90, NaN],
        since_ms: [0, -1.5, NaN],
        since_us: [0, 0.0025, NaN],
        since_ns: [0, 0.0000025, NaN],
        day_ms: [0, 3600.5, NaN],
        day_us: [0, 0.0025, NaN],
        day_ns: [0, 0.0000025, NaN],
        at_us: [1577836800, 1577836800.0025, NaN],
        at_ns: [0, 0.0000025, NaN],
        n: [1, 2500, NaN],
      };
      const table = await readTable(file, {missing: 'nan'});
      for (const [name, values] of Object.entries(expected))
        expect([...table.column(name)], name).to.deep.equal(values);
      expect((await readTable(file, {columns: ['since_ns'], text: ['since_ns']})).text('since_ns')).to.deep.equal([
        '0',
        '0.0000025',
        '',
      ]);
      // Without Arrow's schema, here under another name, they are counts.
      const at = file.indexOf('ARROW:schema');
      const damaged = Buffer.from(file);
      damaged.write('B', at);
      expect((await readTable(damaged, {missing: 'nan'})).column('since_us')[1]).to.equal(2500);
    });

    slow('of the older kinds, times of day and dates are seconds too', async () => {
      const cases: [Omit<Schema, 'name'>, (bigint | number)[], number[]][] = [
        [{type: 'INT64', converted_type: 'TIMESTAMP_MILLIS'}, [-1n, 1500n], [-0.001, 1.5]],
        [{type: 'INT64', converted_type: 'TIMESTAMP_MICROS'}, [-1n, 2500n], [-1e-6, 0.0025]],
        [{type: 'INT32', converted_type: 'TIME_MILLIS'}, [0, 3600500], [0, 3600.5]],
        [{type: 'INT64', converted_type: 'TIME_MICROS'}, [0n, 2500n], [0, 0.0025]],
        [{type: 'INT32', converted_type: 'DATE'}, [-1, 18262], [-86400, 1577836800]],
        ...stamps.map((unit): [Omit<Schema, 'name'>, (bigint | number)[], number[]] => {
          const type = unit === 'MILLIS' ? 'INT32' : 'INT64';
          const one = type === 'INT32' ? 1000 : parts[unit];
          return [{type, logical_type: {type: 'TIME', isAdjustedToUTC: true, unit}}, [one], [1]];
        }),
      ];
      for (const [column, data, seconds] of cases)
        expect([...(await readTable(written(column, data))).column('t')], JSON.stringify(column)).to.deep.equal(
          seconds,
        );
      // A count without a type stays a count.
      const count = await readTable(written({type: 'INT64'}, [2500n]));
      expect([...count.column('t')]).to.deep.equal([2500]);
    });
  });
});
