/** Neural state-space models: learning a made system, early stopping, the encoder, and what is refused. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4, signal, simulate} from '../../../lib/index.js';
import {neuralStateSpace} from '../../../training/index.js';
import type {InputOutputRecord} from '../../../training/index.js';
import {scaleOf} from '../../../training/train/sections.js';
import {gaussian} from '../../../training/data/noise.js';
import {slow} from '../../tiers.js';

/** A mass on a hardening spring with a filtered random load, sampled ten times a second. */
function record(seed: number, samples: number, noise = 0): InputOutputRecord {
  const random = gaussian(seed);
  let load = 0;
  const u = Array.from({length: samples}, () => (load = 0.8 * load + 0.8 * random()));
  const t = u.map((_, k) => k / 10);
  const system = ode(({y, params}) => {
    const [x, v] = tf.unstack(y);
    const spring = tf.add(tf.mul(2, x), tf.mul(1.5, tf.mul(x, tf.square(x))));
    return tf.stack([v, tf.sub(params.u as tf.Tensor, tf.add(spring, tf.mul(0.6, v)))]);
  });
  const run = simulate(system, {y: [0, 0]}, {scheme: rk4(), dt: 0.1, steps: samples - 1, inputs: {u: signal(t, u)}});
  const y = Array.from({length: samples}, (_, k) => 3 + 10 * run.values('y')[2 * k] + noise * random());
  run.dispose();
  return {t, u, y};
}

const small = {states: 2, hidden: [16], past: 6, section: 30, timeConstant: 1, batchSize: 16, rate: 1e-2};

describe('neuralStateSpace', () => {
  slow('learns a hardening oscillator from input and output, and runs freely over an unseen record', async () => {
    const data = record(1, 700, 0.02);
    const test = record(3, 300);
    const model = await neuralStateSpace({...small, data, validation: record(2, 300), epochs: 25, seed: 3});
    const {nrmse, r2, samples} = model.validate(test);
    expect(samples).to.equal(294);
    // By weights of three seeds 0.11 to 0.29 after as few epochs.
    expect(nrmse).to.be.below(0.15);
    expect(r2).to.be.closeTo(1 - nrmse ** 2, 1e-12);
    // A linear model of the same form, which its residual part is at first, cannot: least squares on five past samples of both.
    const linear = arx(data, test, 5);
    expect(nrmse).to.be.below(linear / 2);
    // What simulate gives is what validate judged.
    const y = test.y as number[];
    const simulated = model.simulate(test);
    const rms = Math.sqrt(simulated.reduce((sum, value, i) => sum + (value - y[i + 6]) ** 2, 0) / samples);
    expect(model.validate(test).rmse).to.be.closeTo(rms, 1e-12);
    expect(model.validate(test, {warmUp: 50}).samples).to.equal(250);
    model.dispose();
  });

  it('a channel that does not move is not divided by its rounding', () => {
    for (const level of [0, 0.1, 3]) {
      const values = Float64Array.from({length: 300}, (_, i) => (i % 2 === 0 ? level : Math.sin(i)));
      const {mean, deviation} = scaleOf([{values, width: 2}]);
      expect(mean[0]).to.be.closeTo(level, 1e-14);
      expect(deviation[0]).to.equal(1);
      expect(deviation[1]).to.be.closeTo(Math.SQRT1_2, 0.01);
    }
  });

  slow('keeps the weights of the best free run, ends early, repeats by its seed, and leaves no tensors', async () => {
    const problem = {...small, data: record(1, 120, 0.5), validation: record(2, 100), epochs: 12, patience: 4, seed: 3};
    const before = tf.memory().numTensors;
    const model = await neuralStateSpace(problem);
    const errors = model.history.map(({validation}) => validation);
    expect(errors.indexOf(Math.min(...errors)) + 1).to.equal(model.best);
    expect(model.history.length).to.equal(Math.min(12, model.best + 4));
    // Validation errors are normalized by the data that was learnt from; the best epoch's is that of the weights returned.
    const scale = deviation(problem.data.y as number[]);
    expect(model.validate(problem.validation).rmse / scale).to.be.closeTo(errors[model.best - 1], 1e-9);
    const again = await neuralStateSpace(problem);
    expect(again.history).to.deep.equal(model.history);
    const other = await neuralStateSpace({...problem, seed: 4});
    expect(other.history[0].loss).to.not.equal(model.history[0].loss);
    for (const one of [model, again, other]) one.dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });

  slow('holds its matrices down by a ridge', async () => {
    const problem = {...small, data: record(1, 120), validation: record(2, 100), epochs: 12, seed: 3};
    const size = async (ridge: number): Promise<number> => {
      const model = await neuralStateSpace({...problem, ridge});
      const matrices = model.variables.filter(({rank}) => rank === 2);
      const sum = matrices.reduce(
        (all, one) => all + [...one.dataSync<'float32'>()].reduce((part, value) => part + value ** 2, 0),
        0,
      );
      model.dispose();
      return sum;
    };
    expect(await size(100)).to.be.below(0.8 * (await size(0)));
  });

  slow('takes several inputs, outputs and records', async () => {
    const wide = (seed: number): InputOutputRecord => {
      const {t, u, y} = record(seed, 90) as {t: number[]; u: number[]; y: number[]};
      return {t, u: u.map((value, k) => [value, Math.sin(k)]), y: y.map((value, k) => [value, 2 * u[k], value + 1])};
    };
    const model = await neuralStateSpace({
      ...small,
      data: [wide(1), wide(2)],
      validation: [wide(3), wide(4)],
      hidden: [8, 8],
      epochs: 2,
    });
    // Each output is judged by its own mean: that they are far apart does not explain them.
    const far = {...wide(5), y: (wide(5).y as number[][]).map(row => [row[0], row[1], row[2] + 50])};
    const simulated = model.simulate(far);
    expect(simulated).to.have.length(84 * 3);
    const {nrmse, r2, outputs} = model.validate(far);
    const own = [0, 1, 2].map(k => {
      const column = (far.y as number[][]).slice(6).map(row => row[k]);
      const squares = column.reduce((sum, value, i) => sum + (value - simulated[3 * i + k]) ** 2, 0);
      return Math.sqrt(squares / 84) / deviation(column);
    });
    outputs.forEach((one, k) => expect(one.nrmse / own[k]).to.be.closeTo(1, 1e-9));
    // The third output is 50 above all that was learnt; the others are those of an experiment of the same kind.
    const {beyond, warnings} = model.validate(far);
    expect(Object.keys(beyond.range)).to.have.members(['y[0]', 'y[1]', 'y[2]', 'u[0]', 'u[1]']);
    const third = (all: InputOutputRecord): number[] => (all.y as number[][]).map(row => row[2]);
    const [low, high] = [Math.min, Math.max].map(most => most(...third(wide(1)), ...third(wide(2))));
    expect(beyond.range['y[2]']).to.be.closeTo((Math.max(...third(far)) - high) / (high - low), 1e-12);
    expect(warnings[0]).to.match(/^record 1 goes beyond the training records: .*y\[2\] from .* \(100 % of its samples/);
    expect(model.validate(wide(1)).warnings).to.deep.equal([]);
    expect(nrmse / Math.sqrt((own[0] ** 2 + own[1] ** 2 + own[2] ** 2) / 3)).to.be.closeTo(1, 1e-9);
    expect(r2).to.equal(1 - outputs.reduce((sum, one) => sum + (1 - one.r2), 0) / 3);
    model.dispose();
  });

  it('says what is wrong with records', async () => {
    const good = record(1, 100);
    const failure = (change: object): Promise<string> =>
      neuralStateSpace({...small, data: good, validation: good, epochs: 1, ...change}).then(
        () => 'none',
        (error: Error) => error.message,
      );
    const t = good.t as number[];
    expect(await failure({data: {...good, t: t.map((time, i) => (i === 7 ? time + 0.02 : time))}})).to.match(
      /t\[7\].*resample/,
    );
    expect(await failure({data: {...good, u: [1, 2]}})).to.match(/u has shape \[2\] for 100 times/);
    expect(await failure({data: {...good, y: t.map(() => NaN)}})).to.match(/y is NaN in sample 0/);
    expect(await failure({validation: {...good, u: t.map(() => [0, 1])}})).to.match(/2 inputs and 1 outputs/);
    expect(await failure({validation: {...good, t: t.map(time => 2 * time)}})).to.match(/make both equal/);
    expect(await failure({section: 200})).to.match(/no record has the 206 samples/);
    expect(await failure({data: []})).to.match(/data is empty/);
    expect(await failure({stats: 3})).to.match(/Did you mean 'states'/);
  });
});

function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

/** NRMSE of a free run of the linear difference equation that least squares finds with n past samples. */
function arx(data: InputOutputRecord, test: InputOutputRecord, n: number): number {
  const regressor = (u: readonly number[], y: ArrayLike<number>, k: number): number[] => [
    1,
    ...Array.from({length: n}, (_, i) => [y[k - 1 - i], u[k - i]]).flat(),
  ];
  const [u, y] = [data.u as number[], data.y as number[]];
  const size = 2 * n + 1;
  const normal = Array.from({length: size}, () => new Array<number>(size + 1).fill(0));
  for (let k = n; k < y.length; k++) {
    const row = [...regressor(u, y, k), y[k]];
    for (let i = 0; i < size; i++) for (let j = 0; j <= size; j++) normal[i][j] += row[i] * row[j];
  }
  for (let k = 0; k < size; k++)
    for (let i = 0; i < size; i++) {
      if (i === k) continue;
      const factor = normal[i][k] / normal[k][k];
      for (let j = k; j <= size; j++) normal[i][j] -= factor * normal[k][j];
    }
  const theta = normal.map((row, i) => row[size] / row[i]);
  const measured = test.y as number[];
  const free = measured.slice(0, 6);
  for (let k = 6; k < measured.length; k++)
    free.push(regressor(test.u as number[], free, k).reduce((sum, value, i) => sum + theta[i] * value, 0));
  const error = Math.sqrt(
    free.slice(6).reduce((sum, value, i) => sum + (value - measured[i + 6]) ** 2, 0) / (free.length - 6),
  );
  return error / deviation(measured.slice(6));
}
