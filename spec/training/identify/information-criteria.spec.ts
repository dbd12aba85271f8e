/** AIC and BIC of a fit, against those that R prints (R 4, logLik, AIC and BIC of lm and arima) and closed forms. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4, signal} from '../../../lib/index.js';
import {free, identify, positive, type NoiseModel} from '../../../training/index.js';
import {autoregressive, huber, white} from '../../../training/identify/noise.js';

/** y = a + b u at the samples, with the state at rest. */
const rest = ode<{a: tf.Tensor; b: tf.Tensor; u: tf.Tensor}>(({y}) => tf.zerosLike(y));

interface Line {
  readonly noise?: NoiseModel;
  readonly weights?: number | number[];
  readonly extra?: object;
  readonly slope?: ReturnType<typeof free>;
}

function line(u: readonly number[], y: readonly number[], {noise, weights, extra = {}, slope = free(1)}: Line = {}) {
  const t = y.map((_, i) => i);
  return identify({
    system: rest,
    observe: ({params: {a, b, u: input}}: {params: {a: tf.Tensor; b: tf.Tensor; u: tf.Tensor}}) =>
      tf.add(a, tf.mul(b, input)),
    initial: {y: 0},
    inputs: {u: signal(t, [...u])},
    data: {t, y: [...y], ...(weights === undefined ? {} : {weights})},
    parameters: {a: free(0), b: slope, ...extra},
    scheme: rk4(),
    dt: 1,
    residuals: 'independent',
    noise,
  } as never);
}

/** R's data set cars (Ezekiel 1930): speeds in mph and stopping distances in ft. */
const speed = [
  4, 4, 7, 7, 8, 9, 10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 16, 16, 17, 17, 17,
  18, 18, 18, 18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25,
];
const distance = [
  2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40, 32, 40,
  50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85,
];

/** R's data set LakeHuron (Brockwell & Davis 1991): levels of 1875 to 1972 in ft, less 570. */
const levels = [
  10.38, 11.86, 10.97, 10.8, 9.79, 10.39, 10.42, 10.82, 11.4, 11.32, 11.44, 11.68, 11.17, 10.53, 10.01, 9.91, 9.14,
  9.16, 9.55, 9.67, 8.44, 8.24, 9.1, 9.09, 9.35, 8.82, 9.32, 9.01, 9, 9.8, 9.83, 9.72, 9.89, 10.01, 9.37, 8.69, 8.19,
  8.67, 9.55, 8.92, 8.09, 9.37, 10.13, 10.14, 9.51, 9.24, 8.66, 8.86, 8.05, 7.79, 6.75, 6.75, 7.82, 8.64, 10.58, 9.48,
  7.38, 6.9, 6.94, 6.24, 6.84, 6.85, 6.9, 7.79, 8.18, 7.51, 7.23, 8.42, 9.61, 9.05, 9.26, 9.22, 9.38, 9.1, 7.95, 8.12,
  9.75, 10.85, 10.41, 9.96, 9.61, 8.76, 8.18, 7.21, 7.13, 9.1, 8.25, 7.91, 6.89, 5.96, 6.8, 7.68, 8.38, 8.52, 9.74,
  9.31, 9.89, 9.96,
];

describe('information criteria', function () {
  this.timeout(20_000);

  it("of a line are those of R's lm", async () => {
    const fit = await line(speed, distance);
    expect(fit.logLikelihood).to.be.closeTo(-206.5784, 5e-5);
    expect(fit.aic).to.be.closeTo(419.1569, 5e-5);
    expect(fit.bic).to.be.closeTo(424.8929, 5e-5);
    expect(fit.html()).to.match(/AIC.*419\.2.*BIC.*424\.9/s);
  });

  it('count the weights as the densities of the measurements do, and a known scale as no number to estimate', async () => {
    const [plain, known] = [await line(speed, distance), await line(speed, distance, {noise: white({sd: 15})})];
    // Weights of another unit: the scale of the residuals changes, the density of the measurements does not.
    const halved = await line(speed, distance, {weights: 2});
    expect(halved.logLikelihood).to.be.closeTo(plain.logLikelihood!, 1e-9);
    const residual = 11353.521051; // R's deviance(lm(dist ~ speed))
    const logLikelihood = -25 * Math.log(2 * Math.PI * 15 ** 2) - residual / (2 * 15 ** 2);
    expect(known.logLikelihood).to.be.closeTo(logLikelihood, 1e-6);
    expect(known.aic).to.be.closeTo(4 - 2 * logLikelihood, 1e-6);
    expect(known.bic).to.be.closeTo(2 * Math.log(50) - 2 * logLikelihood, 1e-6);
  });

  it("of a level under autoregressive noise are those of R's arima(LakeHuron, c(1, 0, 0))", async () => {
    const time = levels.map((_, i) => i);
    const fit = await identify({
      system: ode(({y}) => tf.zerosLike(y)),
      data: {t: time, y: levels},
      parameters: {'initial.y': free(9)},
      scheme: rk4(),
      dt: 1,
      noise: autoregressive(),
    });
    // As printed: log likelihood -106.6, aic 219.2; the exact likelihood by a grid in φ and the mean is -106.59807.
    expect(fit.logLikelihood).to.be.closeTo(-106.598, 5e-3);
    expect(fit.aic).to.be.closeTo(219.2, 0.05);
    expect(fit.bic).to.be.closeTo(3 * Math.log(98) - 2 * fit.logLikelihood!, 1e-9);
    fit.trajectory.dispose();
  });

  it("of the normal density as one's own are those of white noise", async () => {
    const noise = {
      logDensity: (residual: tf.Tensor1D, {s}: {readonly s: tf.Tensor}) =>
        tf.sub(tf.mul(-0.5, tf.square(tf.div(residual, s))), tf.add(tf.log(s), 0.5 * Math.log(2 * Math.PI))),
    };
    const fit = await line(speed, distance, {noise: noise as never, extra: {s: positive(15)}});
    expect(fit.aic).to.be.closeTo(419.1569, 1e-3);
    expect(fit.bic).to.be.closeTo(424.8929, 1e-3);
  });

  it('are absent where there is no likelihood to compare', async () => {
    const outliers = await line(speed, distance, {noise: huber()});
    const prior = await line(speed, distance, {slope: free(1, {prior: {mean: 4, sd: 1}})});
    for (const {logLikelihood, aic, bic} of [outliers, prior])
      expect([logLikelihood, aic, bic]).to.deep.equal([undefined, undefined, undefined]);
  });
});
