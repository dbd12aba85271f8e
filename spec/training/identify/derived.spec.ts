/** Functions of estimates: their values and standard errors against the delta method by hand. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, rk4, simulate, StiffgradError} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {identify} from '../../../training/identify/identify.js';
import {fixed, free, positive} from '../../../training/identify/parameters.js';
import {slow} from '../../tiers.js';

type Known = {mass: tf.Tensor; rates: tf.Tensor};
const system = mechanics<Known>({
  mass: ({params}) => params.mass,
  forces: ({q, v, params: {rates}}) => {
    const [k, c] = tf.unstack(rates);
    return tf.neg(tf.add(tf.mul(k, q), tf.mul(c, v)));
  },
});
const run = simulate(system, {q: 1, v: 0}, {scheme: rk4(), dt: 0.05, steps: 200, params: {mass: 2, rates: [8, 0.3]}});
const noise = gaussian(21);
const problem = {
  system,
  initial: {q: 1, v: 0},
  data: {t: run.values('t'), q: run.values('q').map(q => q + 0.02 * noise())},
  scheme: rk4(),
  dt: 0.05,
  residuals: 'independent' as const,
};

describe('derived', () => {
  for (const [kind, rates] of [
    ['free', free([7, 0.2])],
    ['positive', positive([7, 0.2])],
  ] as const) {
    slow(`gives functions of ${kind} parameters with their standard errors`, async () => {
      const fit = await identify({...problem, parameters: {mass: fixed(2), rates}});
      const [k, c] = fit.estimate.rates;
      const [sk, sc] = fit.standardError.rates;
      const correlation = fit.correlation.values[1];
      // ω = √(k/m), and k e^c: derivatives 1/(2√(km)), 0 and e^c, k e^c.
      const {value, standardError} = fit.derived(({mass, rates: both}) => {
        const [stiffness, damping] = tf.unstack(both);
        return tf.stack([tf.sqrt(tf.div(stiffness, mass)), tf.mul(stiffness, tf.exp(damping))]);
      });
      const [a, b] = [Math.exp(c) * sk, k * Math.exp(c) * sc];
      const expected = [sk / (2 * Math.sqrt(2 * k)), Math.sqrt(a * a + b * b + 2 * correlation * a * b)];
      [Math.sqrt(k / 2), k * Math.exp(c)].forEach((exact, i) => {
        expect((value as Float64Array)[i] / exact).to.be.closeTo(1, 1e-14);
        expect((standardError as Float64Array)[i] / expected[i]).to.be.closeTo(1, 1e-12);
      });
      const scalar = fit.derived(({mass}) => tf.mul(mass, 3));
      expect(scalar).to.deep.equal({value: 6, standardError: 0});
    });
  }

  it('is infinite where the data do not determine what it depends on', async () => {
    const fit = await identify({...problem, parameters: {mass: positive(2), rates: positive([7, 0.2])}});
    expect(fit.standardError.mass).to.equal(Infinity);
    expect(fit.derived(({mass}) => tf.square(mass)).standardError).to.equal(Infinity);
  });

  it('refuses what is no function of the parameters, and frees its tensors', async () => {
    const fit = await identify({...problem, parameters: {mass: fixed(2), rates: free([7, 0.2])}});
    expect(() => fit.derived('k/m' as never)).to.throw(StiffgradError, /derived: the function of the parameters/);
    expect(() => fit.derived(({k}) => tf.square(k as tf.Tensor))).to.throw(
      StiffgradError,
      /^derived: observe gives square an operand/,
    );
    const before = tf.memory().numTensors;
    fit.derived(({rates}) => tf.sum(rates));
    expect(tf.memory().numTensors).to.equal(before);
  });
});
