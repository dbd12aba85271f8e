/** Ornstein–Uhlenbeck processes made by `sde`, and found again within their errors. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, sde, simulate, stochastic} from '../../../lib/index.js';
import {positive} from '../../../training/index.js';
import {identifyByInnovations} from '../../../training/estimate/innovations.js';

const [rate, drive, noise] = [1.5, 0.8, 0.2];
const interval = 1 / 8;

/** `count` processes in equilibrium, [samples][count]: with steps of 1/64 the error of SRA1 is far below theirs. */
function processes(count: number, samples: number, seed: number): Float64Array[] {
  const system = sde({
    drift: ({y}) => tf.mul(y, -rate),
    diffusion: () => tf.fill([count], drive),
    noise: 'additive',
    seed,
  });
  const start = stochastic
    .brownianPath(seed + 1, [count])
    .at(1)
    .map(value => (value * drive) / Math.sqrt(2 * rate));
  const run = simulate(
    system,
    {y: start},
    {scheme: stochastic.sra1(), dt: 1 / 64, steps: 8 * (samples - 1), saveAt: {every: 8}},
  );
  run.dispose();
  const values = run.values('y');
  return Array.from({length: samples}, (_, k) => values.slice(k * count, (k + 1) * count));
}

describe('estimate: the Ornstein–Uhlenbeck process', () => {
  it('is an autoregression with φ = exp(−θΔ): exact likelihood, forty records, within their errors', () => {
    const [count, samples] = [40, 400];
    const y = processes(count, samples, 21);
    let [squaresOfRate, squaresOfDrive] = [0, 0];
    for (let i = 0; i < count; i++) {
      let [before, product, after] = [0, 0, 0];
      for (let k = 1; k < samples; k++) {
        before += y[k - 1][i] ** 2;
        product += y[k - 1][i] * y[k][i];
        after += y[k][i] ** 2;
      }
      // The likelihood's greatest, given the first sample, and its information.
      const phi = product / before;
      const residual = (after - phi * product) / (samples - 1);
      const phiError = Math.sqrt(residual / before);
      squaresOfRate += ((phi - Math.exp(-rate * interval)) / phiError) ** 2;
      const variance = (drive ** 2 * (1 - Math.exp(-2 * rate * interval))) / (2 * rate);
      squaresOfDrive += ((residual - variance) / (variance * Math.sqrt(2 / (samples - 1)))) ** 2;
    }
    // χ² of forty: 99.9 % of it lies between these.
    expect(squaresOfRate).to.be.within(15, 76);
    expect(squaresOfDrive).to.be.within(15, 76);
  });

  it('measured with noise: rate, drive and noise by the innovations of a Kalman filter', async () => {
    const samples = 500;
    const state = processes(1, samples, 5);
    const errors = stochastic.brownianPath(6, [samples]).at(1);
    const y = state.map(([value], k) => value + noise * errors[k]);
    const fit = await identifyByInnovations({
      system: ode<{rate: tf.Tensor}>(({y: x, params}) => tf.neg(tf.mul(params.rate, x))),
      data: {t: y.map((_, k) => k * interval), y},
      initial: {y: 0},
      initialCovariance: drive ** 2 / (2 * rate),
      parameters: {rate: positive(1), drive: positive(0.5), noise: positive(0.2)},
      processNoise: ({drive: s}) => ({density: s ** 2}),
      measurementNoise: ({noise: s}) => s ** 2,
      dt: interval,
    });
    expect(fit.converged).to.equal(true);
    const truth = {rate, drive, noise};
    for (const name of ['rate', 'drive', 'noise'] as const) {
      expect(Math.abs(fit.estimate[name] - truth[name]) / fit.standardError[name], name).to.be.below(2.6);
      // Errors that say something.
      expect(fit.standardError[name] / truth[name], name).to.be.below(0.3);
    }
  });
});
