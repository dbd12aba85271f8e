/** How far a record goes beyond the training records: ranges, spectra, and which measured records are warned of. */
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, rk4, signal, simulate} from '../../../lib/index.js';
import {domainOf, extrapolation, sampledColumn, type Visit} from '../../../training/data/extrapolation.js';
import {gaussian} from '../../../training/data/noise.js';
import {spectrumOf} from '../../../training/data/spectrum.js';
import {crossValidate, identify, positive, readTable, type MeasuredRecord} from '../../../training/index.js';
import {slow} from '../../tiers.js';

describe('the spectrum of a series', () => {
  const n = 64;

  it('is that of the sums of Fourier', () => {
    const noise = gaussian(1);
    const values = Float64Array.from({length: n}, () => 3 + noise());
    const mean = values.reduce((sum, value) => sum + value / n, 0);
    const windowed = values.map((value, i) => (value - mean) * Math.sin((Math.PI * i) / n) ** 2);
    const {spacing, power} = spectrumOf(values, 0.25, n);
    expect(spacing).to.equal(1 / 16);
    expect(power).to.have.length(n / 2);
    for (const f of [1, 7, 32]) {
      const sum = (of: (angle: number) => number): number =>
        windowed.reduce((all, value, i) => all + value * of((2 * Math.PI * f * i) / n), 0);
      expect(power[f - 1]).to.be.closeTo(sum(Math.cos) ** 2 + sum(Math.sin) ** 2, 1e-10);
    }
  });

  it('has a sine at its frequency, the mean of the segments', () => {
    // Hann's window has a sum of n/2: a sine of amplitude 2 in the middle of a bin has the power (n/2)².
    const values = Float64Array.from({length: 5 * n}, (_, i) => 2 * Math.sin((2 * Math.PI * 9 * i) / n));
    const {power} = spectrumOf(values, 1, n);
    expect(power[8]).to.be.closeTo((n / 2) ** 2, 1e-8);
    expect(power[7] / power[8]).to.be.closeTo(0.25, 1e-10);
    expect(power[20]).to.be.below(1e-12);
  });
});

describe('a column of a table over time', () => {
  it('is joined by lines or held, and stays at its ends', () => {
    const table = {t: Float64Array.of(0, 1, 3), values: Float64Array.of(0, 10, 2, 20, 6, 30)};
    const sampled = (hold: boolean, column: number): number[] => [
      ...sampledColumn({...table, hold}, column, [-1, 4], 0.5),
    ];
    expect(sampled(false, 0)).to.deep.equal([0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 6]);
    expect(sampled(true, 1)).to.deep.equal([10, 10, 10, 10, 20, 20, 20, 20, 30, 30, 30]);
  });
});

/** A record of one input and one output at even times. */
interface Measured {
  readonly t: Float64Array;
  readonly u: Float64Array;
  readonly y: Float64Array;
}

const visitOf = ({t, u, y}: Measured): Visit => ({
  series: [{labels: ['y'], values: y}],
  inputs: {u: interval => sampledColumn({t, values: u, hold: false}, 0, [t[0], t[t.length - 1]], interval)},
  interval: (t[t.length - 1] - t[0]) / (t.length - 1),
});
const compared = (training: readonly Measured[], record: Measured): ReturnType<typeof extrapolation> =>
  extrapolation(domainOf(training.map(visitOf)), visitOf(record), 'it');
const part = ({t, u, y}: Measured, from: number, to = t.length): Measured => ({
  t: t.slice(from, to),
  u: u.slice(from, to),
  y: y.slice(from, to),
});

describe('a record beyond the training records', () => {
  const clock = (n: number, interval: number): Float64Array => Float64Array.from({length: n}, (_, i) => i * interval);
  const made = (u: (t: number) => number, n = 2048, interval = 0.01): Measured => {
    const t = clock(n, interval);
    return {t, u: t.map(u), y: t.map(() => 0)};
  };
  /** Sines of equal amplitudes and even frequencies, with phases of Schroeder's. */
  const multisine =
    (low: number, high: number, lines = 30) =>
    (t: number): number =>
      Array.from({length: lines}, (_, k) => {
        const frequency = low + ((high - low) * k) / (lines - 1);
        return Math.cos(2 * Math.PI * frequency * t + (Math.PI * k * k) / lines);
      }).reduce((sum, value) => sum + value, 0);

  it('says which part of the range, and how many samples', () => {
    const one = {...made(() => 0, 5, 1), y: Float64Array.of(1, 2, 3, 4, 5)};
    const {range, warnings} = compared([one], {...one, y: Float64Array.of(1, 2, NaN, 7, 4)});
    expect(range).to.deep.equal({y: 0.5, u: 0});
    expect(warnings).to.deep.equal([
      'it goes beyond the training records: y from 1 to 7 in place of 1 to 5 (25 % of its samples are outside). There '
        + 'the model extrapolates.',
    ]);
    const within = compared([one], {...one, y: Float64Array.of(1.5, 2, 3, 5.5, 0.5)});
    expect(within.range.y).to.equal(0.125);
    expect(within.warnings).to.deep.equal([]);
    // A state that never moved but for rounding is not extrapolated by rounding; by a motion it is.
    const still = {...one, y: Float64Array.of(1, 1 + 2e-16, 1, 1, 1)};
    expect(compared([still], {...one, y: Float64Array.of(1, 1, 1 + 9e-16, 1, 1)}).range.y).to.equal(0);
    expect(compared([still], one).warnings).to.have.length(1);
  });

  it('says which part of the power is at frequencies that training hardly had', () => {
    const training = [made(multisine(1, 5))];
    const share = (u: (t: number) => number, n?: number, interval?: number): number =>
      compared(training, made(u, n, interval)).spectrum.u;
    expect(share(multisine(1, 5, 47))).to.be.below(1e-3);
    expect(share(multisine(2, 3))).to.be.below(1e-3);
    // Ten times as strong is for the range to tell; another clock, another length.
    expect(share(t => 10 * multisine(1, 5)(t))).to.be.below(1e-3);
    expect(share(multisine(1, 5), 5000, 0.005)).to.be.below(1e-3);
    expect(share(multisine(6, 9))).to.be.above(0.99);
    // Of even power from 1 to 8 that beyond the band with 5: 26 times the spacing, to 2^(1/6) times 5 at most.
    expect(share(multisine(1, 8, 71))).to.be.closeTo((8 - 5 * 2 ** (1 / 6)) / 7, 0.03);
    const {warnings} = compared(training, made(multisine(6, 9)));
    expect(warnings.join()).to.match(/^it: 100 % of the power of u is at frequencies of 6\.\d to [89](\.\d)? per unit/);
    // A short record and a constant input have no spectrum.
    expect(compared(training, made(multisine(6, 9), 63)).spectrum).to.deep.equal({});
    expect(compared([made(() => 1)], made(multisine(6, 9), 63)).spectrum).to.deep.equal({});
  });

  const folder = fileURLToPath(new URL('../../../../shared/measured/', import.meta.url));
  const read = async (
    name: string,
    [time, u, y]: readonly [string | number, string, string],
  ): Promise<Measured | undefined> => {
    if (!existsSync(folder + name)) {
      console.log(`    (no ../shared/measured/${name} here: it is not tested)`);
      return undefined;
    }
    const table = await readTable(folder + name, {columns: typeof time === 'string' ? [time, u, y] : [u, y]});
    const t = typeof time === 'string' ? table.column(time) : clock(table.rows, time);
    return {t, u: table.column(u), y: table.column(y)};
  };

  slow('warns of measured records that extrapolate, and not of those of the same experiment', async () => {
    const said = (training: readonly Measured[], record: Measured): boolean =>
      compared(training, record).warnings.length > 0;
    const silverbox = await read('silverbox/SNLS80mV.csv', [2 ** 14 / 1e7, 'V1', 'V2']);
    if (silverbox !== undefined) {
      const training = [part(silverbox, 40_650, 105_712)];
      expect(said(training, part(silverbox, 105_712, 127_400)), 'multisine').to.equal(false);
      expect(said(training, part(silverbox, 100, 40_575)), 'arrow').to.equal(true);
      expect(said(training, part(silverbox, 100, 32_100)), 'arrow without extrapolation').to.equal(false);
      expect(said([part(silverbox, 100, 10_000)], training[0]), 'a quarter of the arrow').to.equal(true);
    }
    const wien = await read('bouc-wen/train.csv', ['t_s', 'u_N', 'y_m']);
    if (wien !== undefined) {
      const half = wien.t.length / 2;
      expect(said([part(wien, 0, half)], part(wien, half)), 'Bouc–Wen').to.equal(false);
      expect(said([part(wien, half)], part(wien, 0, half)), 'Bouc–Wen').to.equal(false);
    }
    const tanks = await read('cascaded-tanks/train.csv', ['t_s', 'u_V', 'y_V']);
    if (tanks !== undefined) expect(said([part(tanks, 512)], part(tanks, 0, 512)), 'tanks').to.equal(true);
    const drives = await Promise.all([1, 2].map(i => read(`coupled-drives/train-${i}.csv`, ['t_s', 'u', 'y'])));
    const [one, other] = drives;
    if (one !== undefined && other !== undefined) {
      expect(said([one], other), 'the second drive').to.equal(true);
      expect(said([other], one), 'the first drive').to.equal(false);
    }
    const levels = await Promise.all(
      [3, 5].map(level => read(`f16/train-level-${level}.csv`, ['t_s', 'force_N', 'acceleration1'])),
    );
    const [weak, strong] = levels;
    if (weak !== undefined && strong !== undefined) {
      const period = 8192;
      expect(said([weak], strong), 'level 5 from 3').to.equal(true);
      expect(said([strong], weak), 'level 3 from 5').to.equal(false);
      expect(said([part(strong, 0, 3 * period)], part(strong, 4 * period)), 'level 5').to.equal(false);
    }
  });
});

describe('validation of a fit beyond its records', () => {
  const [dt, truth] = [0.05, {k: 9, c: 0.4}];
  const oscillator = mechanics<{k: tf.Tensor; c: tf.Tensor; u: tf.Tensor}>({
    mass: 1,
    forces: ({q, v, params: {k, c, u}}) => tf.sub(u, tf.add(tf.mul(k, q), tf.mul(c, v))),
  });
  const record = (size: number, pace: number, samples = 301): MeasuredRecord & {readonly q: Float64Array} => {
    const t = Float64Array.from({length: samples}, (_, i) => i * dt);
    const push = t.map(time => size * (Math.sin(1.7 * pace * time) + Math.sin(3.1 * pace * time + 1)));
    const inputs = {u: signal(t, push)};
    const run = simulate(oscillator, {q: 0, v: 0}, {scheme: rk4(), dt, steps: samples - 1, params: truth, inputs});
    run.dispose();
    return {t, q: run.values('q'), inputs};
  };
  const fitted = (data: MeasuredRecord): ReturnType<typeof identify> =>
    identify({
      ...{system: oscillator, scheme: rk4(), dt, initial: {q: 0, v: 0}, data},
      parameters: {k: positive(8.5), c: positive(0.3)},
    }) as ReturnType<typeof identify>;

  slow('names states, outputs and inputs; the same record is silent', async () => {
    const data = record(1, 1);
    const fit = await fitted(data);
    const [same, large, fast] = await fit.validate([
      {...data, name: 'same'},
      {...record(2, 1), name: 'large'},
      {...record(0.5, 3), name: 'fast'},
    ]);
    expect(same.warnings).to.deep.equal([]);
    expect(same.beyond.spectrum.u).to.be.below(1e-6);
    Object.values(same.beyond.range).forEach(part => expect(part).to.be.below(1e-6));
    expect(Object.keys(same.beyond.range)).to.have.members(['q', 'v', 'u']);
    // The system is linear: twice the input is twice the range, half as much again to both sides.
    for (const label of ['q', 'v', 'u']) expect(large.beyond.range[label], label).to.be.within(0.3, 0.7);
    expect(large.warnings.join()).to.match(/^large goes beyond the training records: q from .*, v from .*, u from/);
    expect(large.beyond.spectrum.u).to.be.below(1e-6);
    expect(fast.beyond.spectrum.u).to.be.above(0.5);
    expect(fast.warnings.join()).to.match(/^fast: \d+ % of the power of u is at frequencies/);
    // Predictions compare what was measured, and the inputs.
    const [ahead] = await fit.validate({...record(2, 1), name: 'large'}, {warmUp: 8, horizon: 2, every: 100});
    expect(ahead.beyond.range.q).to.be.closeTo(large.beyond.range.q, 1e-9);
    expect(ahead.beyond.range).to.not.have.property('v');
    expect(ahead.warnings.join()).to.match(/large goes beyond the training records/);
  });

  slow('crossValidate warns of a block that goes beyond the others', async () => {
    const {t, inputs, q} = record(1, 1, 200);
    const {u} = inputs as {u: ReturnType<typeof signal>};
    const grown = signal(
      t as Float64Array,
      u.values.map((value, i) => (i < 150 ? value : 4 * value)),
    );
    const run = simulate(oscillator, {q: 0, v: 0}, {scheme: rk4(), dt, steps: 199, params: truth, inputs: {u: grown}});
    run.dispose();
    expect(q).to.have.length(200);
    const {folds} = await crossValidate(await fitted({t, q: run.values('q'), inputs: {u: grown}}), {folds: 4});
    folds.slice(0, 3).forEach(({warnings}) => expect(warnings).to.deep.equal([]));
    expect(folds[3].warnings.join()).to.match(/^samples 150 … 199 goes beyond the training records: q .*, v .*, u /);
  });
});
