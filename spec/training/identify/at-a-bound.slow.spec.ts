/** What is said of the other parameters where one ends at a bound: profiles and bootstraps against least squares with an inequality, in closed form. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4} from '../../../lib/index.js';
import {bootstrap} from '../../../training/estimate/bootstrap.js';
import {identify} from '../../../training/identify/identify.js';
import {bounded, free} from '../../../training/identify/parameters.js';
import {likelihoodProfile} from '../../../training/estimate/profile.js';
import {Random} from '../../../training/train/random.js';

describe('identify: a parameter at its bound', () => {
  // y = a + b t + c t²/2, of which rk4 has no error; the data ask for c = −0.7.
  const [least, samples] = [-0.5, 20];
  const random = new Random(3);
  const t = Float64Array.from({length: samples}, (_, i) => i / 10);
  const y = t.map(x => 0.5 + 1.2 * x - 0.35 * x ** 2 + 0.03 * random.normal());
  const problem = {
    system: ode<{b: tf.Tensor; c: tf.Tensor}>(({t: at, params}) => tf.add(params.b, tf.mul(params.c, at))),
    initial: {y: 0},
    data: {t, y},
    scheme: rk4(),
    dt: 0.05,
    residuals: 'independent' as const,
    parameters: {'initial.y': free(0.1), b: free(0.3), c: bounded(least, 1, 0.1)},
  };
  const sum = (values: Float64Array): number => values.reduce((all, value) => all + value, 0);
  const [half, fourth] = [sum(t.map(x => x ** 2 / 2)), sum(t.map(x => x ** 4 / 4))];
  /** The least sum of squares over a and c ≥ −0.5. */
  const squares = (b: number): number => {
    const left = y.map((value, i) => value - b * t[i]);
    const [mean, curved] = [sum(left), sum(left.map((value, i) => (value * t[i] ** 2) / 2))];
    const c = Math.max(least, (samples * curved - half * mean) / (samples * fourth - half ** 2));
    const a = (mean - c * half) / samples;
    return sum(left.map((value, i) => (value - a - (c * t[i] ** 2) / 2) ** 2));
  };

  it('the profile of another one has it come away from there', async () => {
    const fit = await identify(problem);
    expect(fit.status).to.equal('bound');
    expect(fit.estimate.c).to.be.closeTo(least, 1e-8);
    const {values, deviance} = await likelihoodProfile(fit, 'b');
    values.forEach((b, k) => {
      const expected = (squares(b) - squares(fit.estimate.b)) / fit.uncertainty.variance;
      expect(deviance[k]).to.be.closeTo(expected, 1e-4 * Math.max(1, expected));
    });
  });

  it('half of the replicates of a bootstrap end away from there', async () => {
    const fit = await identify(problem);
    const {draws, failed} = await bootstrap(fit, {replicates: 60, errors: 'model', seed: 2});
    expect(failed).to.equal(0);
    // The truth is at the bound: a binomial with a half, within three deviations of √60/2.
    expect(draws.c.filter(c => c > least + 1e-4).length).to.be.within(19, 41);
  });
});
