/** Noise by a density of one's own, against closed forms. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4} from '../../../lib/index.js';
import {
  adam,
  bootstrap,
  fixed,
  free,
  identify,
  levenbergMarquardt,
  likelihoodProfile,
  multiple,
  positive,
  posterior,
} from '../../../training/index.js';
import {white} from '../../../training/identify/noise.js';
import {slow} from '../../tiers.js';

/** y = m: the start of a state that stays. */
const constant = ode(({y}) => tf.zerosLike(y));
const values = [2.1, 3.7, 2.9, 8.4, 3.2, 2.6, 3.3, 1.9, 3.0, 4.4, 2.8];
const at = (y: readonly number[]) => ({t: Float64Array.from(y.keys()), y: Float64Array.from(y)});
const base = {
  system: constant,
  scheme: rk4(),
  dt: 1,
  parameters: {'initial.y': free(2)},
  data: at(values),
};
type Scale = {noise: {scale: tf.Tensor}};
const laplace = {
  logDensity: (residual: tf.Tensor, {noise: {scale}}: Scale) =>
    tf.neg(tf.add(tf.div(tf.abs(residual), scale), tf.log(tf.mul(2, scale)))),
};
const poisson = {
  logDensity: (_r: tf.Tensor, _p: object, {measured, simulated}: {measured: tf.Tensor; simulated: tf.Tensor}) =>
    tf.sub(tf.mul(measured, tf.log(simulated)), simulated),
};
const normal = {
  logDensity: (residual: tf.Tensor, {s}: {s: tf.Tensor}) =>
    tf.neg(tf.add(tf.div(tf.square(residual), tf.mul(2, tf.square(s))), tf.log(s))),
};
const mean = (of: readonly number[]): number => of.reduce((sum, value) => sum + value, 0) / of.length;

const solved = async (problem: object) => {
  const fit = await identify(problem as never);
  fit.trajectory.dispose();
  return fit as unknown as {
    estimate: {[name: string]: number};
    standardError: {[name: string]: number};
    cost: number;
    converged: boolean;
    noise: {model: string};
    assumption: string;
    warnings: readonly string[];
  };
};

describe('noise by a density', () => {
  it('of Laplace: the median, and the mean distance from it', async () => {
    const tensors = tf.memory().numTensors;
    const fit = await solved({...base, noise: laplace, parameters: {...base.parameters, 'noise.scale': positive(1)}});
    const distance = mean(values.map(y => Math.abs(y - 3)));
    expect(fit.estimate['initial.y']).to.be.closeTo(3, 1e-3);
    expect(fit.estimate['noise.scale']).to.be.closeTo(distance, 1e-3);
    expect(fit.cost).to.be.closeTo(values.length * (1 + Math.log(2 * distance)), 1e-3);
    expect(fit.converged).to.equal(true);
    expect(fit.noise.model).to.equal('density');
    expect(fit.assumption).to.match(/independent/);
    // The score by m is ±1/b; that by b has no part along it but for the sample's skewness.
    expect(fit.standardError['initial.y']).to.be.within(
      (0.8 * distance) / Math.sqrt(11),
      (1.3 * distance) / Math.sqrt(11),
    );
    expect(tf.memory().numTensors).to.equal(tensors);
  });

  it('weighs residuals as other noise does, and leaves out what was not measured', async () => {
    // The weighted median of 1, 2, 9 with weights 1, 1, 3 is 9.
    const data = {...at([1, 2, 9, 1e6]), weights: {y: [1, 1, 3, 0]}};
    const problem = {...base, data, noise: laplace, parameters: {'initial.y': free(8), 'noise.scale': fixed(0.5)}};
    expect((await solved(problem)).estimate['initial.y']).to.be.closeTo(9, 1e-3);
  });

  it('of Poisson: the mean, with its error', async () => {
    const counts = [3, 5, 2, 8, 4, 6, 3, 5, 4, 7];
    const parameters = {'initial.y': positive(1)};
    const fit = await solved({...base, data: at(counts), noise: poisson, parameters});
    expect(fit.estimate['initial.y']).to.be.closeTo(4.7, 1e-6);
    // By its scores (y/λ − 1): 1 / √Σ.
    const scores = counts.map(y => (y / 4.7 - 1) ** 2);
    expect(fit.standardError['initial.y']).to.be.closeTo(1 / Math.sqrt(10 * mean(scores)), 1e-5);
  });

  slow(
    'of a normal distribution with one known scale is white noise, and goes on to profile and posterior',
    async () => {
      const s = 0.7;
      const problem = {...base, noise: normal, parameters: {'initial.y': free(2), s: fixed(s)}} as never;
      const fit = await identify(problem);
      const least = await solved({...base, noise: white({sd: s}), residuals: 'independent'});
      expect(fit.estimate['initial.y' as never]).to.be.closeTo(least.estimate['initial.y'], 1e-6);
      const profile = await likelihoodProfile(fit as never, 'initial.y', {points: 2, reach: 2});
      // Deviance ((m − ȳ) / (s/√n))².
      const error = s / Math.sqrt(values.length);
      profile.values.forEach((m, i) =>
        expect(profile.deviance[i]).to.be.closeTo(((m - mean(values)) / error) ** 2, 1e-4),
      );
      const drawn = await posterior(fit as never, {chains: 2, draws: 300, warmUp: 100});
      expect(drawn.sd['initial.y']).to.be.within(0.85 * error, 1.15 * error);
      fit.trajectory.dispose();
    },
  );

  it('refuses what it does not go with, with the remedy', async () => {
    const problem = {...base, noise: poisson, parameters: {'initial.y': positive(1)}};
    const cases: readonly (readonly [object, RegExp])[] = [
      [{method: levenbergMarquardt()}, /use lbfgs\(\)/],
      [{shooting: multiple({segments: 2})}, /fit with noise\.white\(\) first/],
      [{residuals: 'correlated'}, /independent measurements/],
      [{noise: {logDensity: 3}}, /logDensity must be a function/],
      [{noise: {logDensity: poisson.logDensity, scale: 3}}, /scale/],
      [{noise: {logDensity: (r: tf.Tensor) => tf.sum(r)}}, /a value for each of 11 residuals/],
      [{noise: {name: 'laplace'}}, /a density of your own/],
    ];
    for (const [more, message] of cases) {
      const error = await solved({...problem, ...more}).then(
        () => undefined,
        (thrown: unknown) => thrown as Error,
      );
      expect(error?.message ?? 'no error').to.match(message);
    }
    const fit = await identify({...problem, method: adam({rate: 0.1, iterations: 100})} as never);
    fit.trajectory.dispose();
    const refused = await bootstrap(fit as never).then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    expect(refused?.message).to.match(/not how to draw them/);
  });
});
