/**
 * What goes wrong with measured data, each with its error or its treatment: arrays, streams, gaps, order, units of
 * time.
 */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {DataError, mechanics, OptionError} from '../../../lib/index.js';
import {spring} from '../../../models/index.js';
import {identify, positive, readTable, signal} from '../../../training/index.js';
import {numpyArrays} from '../../../training/data/npz.js';
import {times} from '../../../training/data/sample-times.js';
import {compressed, saved, savez} from './numpy-files.js';
import {slow} from '../../tiers.js';

let folder = '';
const made = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};
const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'));

async function failure(work: Promise<unknown> | (() => unknown)): Promise<DataError> {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    expect(error).to.be.instanceOf(DataError);
    return error as DataError;
  }
  throw new Error('expected a DataError');
}

describe('data', () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stiffgrad-data-'));
  });
  after(() => rm(folder, {recursive: true}));

  describe("NumPy's files", () => {
    for (const [name, file] of Object.entries({savez, compressed})) {
      it(`${name}: every array, whatever its type and order`, async () => {
        const table = await readTable(await made(`${name}.npz`, bytesOf(file)));
        expect(table.columns).to.deep.equal(['t', 'q[0]', 'q[1]', 'n']);
        expect(['t', 'q[0]', 'q[1]', 'n'].map(column => [...table.column(column)])).to.deep.equal([
          [0, 0.5, 1],
          [1, 3, 5],
          [2, 4, 6],
          [7, -8, 9],
        ]);
        expect((await numpyArrays(bytesOf(file), name)).map(({shape}) => shape)).to.deep.equal([[3], [3, 2], [3]]);
      });
    }

    it('a single array, and single columns', async () => {
      expect([...(await readTable(await made('t.npy', bytesOf(saved)))).column('array')]).to.deep.equal([0, 0.5, 1]);
      const path = await made('some.npz', bytesOf(savez));
      expect((await readTable(path, {columns: ['n']})).columns).to.deep.equal(['n']);
      expect((await failure(readTable(path, {columns: ['m']}))).message).to.match(
        /no column 'm'.*It has: t, q\[0\], q\[1\], n/,
      );
    });

    it('damaged at any byte of their content, or cut short, are refused', async () => {
      const whole = bytesOf(savez);
      for (let length = 4; length < whole.length; length += 7) {
        const {code} = await failure(numpyArrays(whole.slice(0, length), 'cut.npz'));
        expect(code).to.equal('npz-malformed');
      }
      const changed = whole.slice();
      changed[180] ^= 4;
      expect((await failure(numpyArrays(changed, 'changed.npz'))).message).to.match(/changed\.npz: 't.npy' is damaged/);
    });
  });

  describe('tables', () => {
    slow('come in chunks, which together are the table', async () => {
      const rows = Array.from({length: 2500}, (_, i) => `${i},${Math.sin(i)},word`);
      const path = await made('long.csv', ['t,q,name', ...rows].join('\n'));
      const table = await readTable(path);
      const sizes: number[] = [];
      const together: {[name: string]: number[]} = {t: [], q: []};
      for await (const chunk of readTable.chunks(path, {rows: 1000})) {
        sizes.push(chunk.rows);
        for (const name of ['t', 'q']) together[name].push(...chunk.column(name));
        expect(chunk.text('name')).to.have.length(chunk.rows);
      }
      expect(sizes).to.deep.equal([1000, 1000, 500]);
      expect(together).to.deep.equal({t: [...table.column('t')], q: [...table.column('q')]});
    });

    it('in chunks still tell the line of a bad cell, and keep what a column is', async () => {
      const path = await made(
        'bad.csv',
        ['t,q', ...Array.from({length: 30}, (_, i) => `${i},${i === 25 ? 'x' : i}`)].join('\n'),
      );
      const error = await failure(async () => {
        for await (const chunk of readTable.chunks(path, {rows: 10})) expect(chunk.rows).to.equal(10);
      });
      expect(error.data).to.include({line: 27, column: 'q', text: 'x'});
      expect(
        (
          await failure(async () => {
            for await (const _ of readTable.chunks(join(folder, 'bad.csv'), {columns: ['v']}));
          })
        ).message,
      ).to.match(/no column 'v'/);
      const odd = readTable
        .chunks(path, {rows: 0})
        .next()
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      expect(await odd).to.be.instanceOf(OptionError);
    });

    it('of which only some columns are wanted do not look at the others', async () => {
      const path = await made('some.csv', 't,q,notes\n0,1,\n1,2,5\n2,3,later\n');
      expect((await readTable(path, {columns: ['t', 'q']})).columns).to.deep.equal(['t', 'q']);
      expect((await failure(readTable(path, {columns: ['t', 'p']}))).code).to.equal('table-column');
    });

    it('with missing numbers: an error with its line, or NaN', async () => {
      const text = 't,q,p,name\n0,1,,a\n1,,NA,NA\n2,NaN,3,b\n3,4,n/a,\n';
      const path = await made('gaps.csv', text);
      expect((await failure(readTable(path))).message).to.match(/line 3, column 'q': '' is empty.*/);
      const table = await readTable(path, {missing: 'nan'});
      expect([...table.column('q')]).to.deep.equal([1, NaN, NaN, 4]);
      expect([...table.column('p')]).to.deep.equal([NaN, NaN, 3, NaN]);
      expect(table.text('name')).to.deep.equal(['a', 'NA', 'b', '']);
    });
  });

  describe('times', () => {
    const even = Float64Array.from({length: 11}, (_, i) => 0.01 * i);

    it('are seconds, by the unit the column names', () => {
      for (const [column, factor] of [
        ['t', 1],
        ['time_ms', 1e-3],
        ['t [us]', 1e-6],
        ['Time (µs)', 1e-6],
        ['t_min', 60],
        ['time_s', 1],
        ['time_msec', 1e-3],
        ['time_usec', 1e-6],
        ['t nanoseconds', 1e-9],
        ['time_minutes', 60],
        ['time (hours)', 3600],
        ['Time [sec.]', 1],
        ['elapsed-days', 86400],
        ['t/ms', 1e-3],
        ['t / h', 3600],
        ['t/(µs)', 1e-6],
        ['timeMs', 1e-3],
        ['tUs', 1e-6],
        ['time_ms[0]', 1e-3],
        ['ms', 1e-3],
        ['h', 3600],
        ['min', 60],
        // No unit in the name: seconds.
        ['times', 1],
        ['t[1]', 1],
        ['imu/time', 1],
        ['imu/time_ms', 1e-3],
        ['header/stamp', 1],
        ['rhythm', 1],
        ['timestamp', 1],
      ] as const) {
        [...times(even, column)].forEach((time, i) =>
          expect(time, column).to.be.closeTo(even[i] * factor, 1e-15 * factor),
        );
      }
    });

    it('in a unit that is not known are an error, which lists those that are', async () => {
      for (const [column, unit] of [
        ['week', 'week'],
        ['time_years', 'years'],
        ['time (fortnights)', 'fortnights'],
        ['t [10 ms]', '10 ms'],
        ['t/1e-3 s', '1e-3 s'],
        ['time (UTC)', 'UTC'],
        ['t / jiffies', 'jiffies'],
      ]) {
        const error = await failure(() => times(even, column));
        expect(error.code, column).to.equal('time-unit');
        expect(error.data.unit).to.equal(unit);
        expect(error.message).to.match(/unit: one of ns, us, ms, s, min, h, d\./);
        expect([...times(even, column, {unit: 's'})]).to.deep.equal([...even]);
      }
    });

    it('in another unit than is said are found out, with the one that fits', async () => {
      const error = await failure(() =>
        times(
          even.map(t => 1000 * t),
          't',
          {interval: 0.01},
        ),
      );
      expect(error.message).to.match(/samples come every 10 s, but every 0\.01 s were expected\. In 'ms' it would fit/);
      expect(
        [
          ...times(
            even.map(t => 1000 * t),
            't',
            {interval: 0.01, unit: 'ms'},
          ),
        ][10],
      ).to.be.closeTo(0.1, 1e-15);
      expect(
        (
          await failure(() =>
            times(
              even.map(t => 1e4 * t),
              't',
              {interval: 0.01},
            ),
          )
        ).message,
      ).to.match(/No unit of time/);
    });

    it('that go back, stand still, or have gaps name their row', async () => {
      expect((await failure(() => times(Float64Array.of(0, 1, 1), 't'))).data.row).to.equal(3);
      expect((await failure(() => times(Float64Array.of(0, NaN, 1), 't'))).code).to.equal('not-finite');
      const gappy = even.filter((_, i) => i !== 4 && i !== 5);
      const error = await failure(() => times(gappy, 't'));
      expect(error.message).to.match(/2 samples are missing before row 5/);
      expect([...times(gappy, 't', {gaps: 'allow'})]).to.deep.equal([...gappy]);
    });
  });

  describe('signals with missing samples', () => {
    const t = [0, 1, 2, 3, 4];
    const at = (input: ReturnType<typeof signal>, time: number): number =>
      tf.tidy(() => input.at(tf.scalar(time)).dataSync()[0]);

    it('are bridged where that is asked for, each kind in its way', async () => {
      const values = [0, 2, NaN, NaN, 8];
      expect((await failure(() => signal(t, values))).message).to.match(/sample 2, at 2, is NaN/);
      expect(at(signal(t, values, 'linear', {missing: 'bridge'}), 3)).to.be.closeTo(6, 1e-6);
      expect(at(signal(t, values, 'hold', {missing: 'bridge'}), 3)).to.equal(2);
      expect(
        at(
          signal(
            t,
            values.map(v => v / 2),
            'cubic',
            {missing: 'bridge'},
          ),
          2,
        ),
      ).to.be.closeTo(2, 1e-6);
    });

    it('not over longer gaps than allowed, nor from nothing', async () => {
      expect(
        (await failure(() => signal(t, [0, NaN, NaN, 3, 4], 'linear', {missing: 'bridge', maxGap: 2}))).message,
      ).to.match(/samples 1 to 2 are missing: a gap of 3, from 0 to 3/);
      expect(
        (
          await failure(() =>
            signal(
              t,
              t.map(() => NaN),
              'linear',
              {missing: 'bridge'},
            ),
          )
        ).message,
      ).to.match(/all 5 samples are missing/);
    });

    it('of vectors miss a sample where one number is missing', () => {
      const {t: kept, values} = signal(
        t,
        [
          [0, 0],
          [1, NaN],
          [2, 2],
          [3, 3],
          [4, 4],
        ],
        'linear',
        {missing: 'bridge'},
      );
      expect([...kept]).to.deep.equal([0, 2, 3, 4]);
      expect([...values]).to.deep.equal([0, 0, 2, 2, 3, 3, 4, 4]);
    });
  });

  describe('identify', () => {
    const system = mechanics({mass: 1, forces: spring({stiffness: ({k}) => k as tf.Tensor})});
    const t = Float64Array.from({length: 101}, (_, i) => 0.05 * i);
    const q = t.map(time => Math.cos(2 * time));
    const problem = {system, initial: {q: 1, v: 0}, dt: 0.05, parameters: {k: positive(3)}};

    it('leaves out missing measurements, to the estimate of those there are', async () => {
      const holes = q.map((value, i) => (i % 7 === 3 ? NaN : value));
      const found = await identify({...problem, data: {t, q: holes, missing: 'skip'}});
      const kept = [...t.keys()].filter(i => i % 7 !== 3);
      const expected = await identify({...problem, data: {t: kept.map(i => t[i]), q: kept.map(i => q[i])}});
      expect(found.estimate.k).to.be.closeTo(expected.estimate.k as number, 1e-9);
      expect(found.rmse.q).to.be.closeTo(expected.rmse.q, 1e-9);
      expect((await failure(identify({...problem, data: {t, q: holes}}))).message).to.match(/q is NaN in sample 3/);
    });

    it('warns where there are thousands of steps between samples', async () => {
      const few = Float64Array.from({length: 5}, (_, i) => i);
      const {warnings} = await identify({...problem, dt: 1e-3, data: {t: few, q: few.map(time => Math.cos(2 * time))}});
      expect(warnings.join()).to.match(
        /1000 steps of dt = 0\.001 from one sample to the next: are its times in the same unit/,
      );
    });
  });
});
