/** Profiles under autoregressive noise, against generalized least squares and a search over φ. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {identify} from '../../../training/identify/identify.js';
import {autoregressive} from '../../../training/identify/noise.js';
import {fixed, free} from '../../../training/identify/parameters.js';
import {likelihoodProfile} from '../../../training/estimate/profile.js';
import {slow} from '../../tiers.js';

const dt = 0.25;
const slope = ode<{k: tf.Tensor}>(({params}) => params.k);

/** y = 1.5 t and an AR(1) of φ = 0.75 and innovations of 0.2. */
function recordOf(samples: number, seed: number) {
  const next = gaussian(seed);
  let e = (0.2 * next()) / Math.sqrt(1 - 0.75 ** 2);
  const t = Float64Array.from({length: samples}, (_, i) => i * dt);
  const y = t.map(time => {
    const own = e;
    e = 0.75 * e + 0.2 * next();
    return 1.5 * time + own;
  });
  return {t, y};
}

/** Of each sample's innovation its variance, over that of a sample that follows without a gap. */
const variances = (at: readonly number[], phi: number): Float64Array =>
  Float64Array.from(at, (sample, j) => (1 - (j === 0 ? 0 : phi ** (2 * (sample - at[j - 1])))) / (1 - phi ** 2));
/** Innovations of a series over their deviations; `at` are the samples that were measured. */
const whitened = (e: ArrayLike<number>, at: readonly number[], phi: number): Float64Array =>
  variances(at, phi).map(
    (variance, j) => (e[at[j]] - (j === 0 ? 0 : phi ** (at[j] - at[j - 1]) * e[at[j - 1]])) / Math.sqrt(variance),
  );
const sum = (values: Float64Array): number => values.reduce((all, value) => all + value, 0);
const dot = (a: Float64Array, b: Float64Array): number => sum(a.map((value, i) => value * b[i]));

/** The least value of a function with one minimum in (−1, 1), by golden sections. */
function least(of: (phi: number) => number): {readonly phi: number; readonly value: number} {
  const ratio = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [-0.999, 0.999];
  for (let k = 0; k < 60; k++) {
    const [left, right] = [high - ratio * (high - low), low + ratio * (high - low)];
    if (of(left) < of(right)) high = right;
    else low = left;
  }
  return {phi: (low + high) / 2, value: of((low + high) / 2)};
}

describe('likelihoodProfile under autoregressive noise', () => {
  const cases = [
    {title: 'of a line through a known point', level: fixed(0)},
    {title: 'of a line with a level that is fitted anew', level: free(0)},
    {title: 'of innovations of a known size', level: fixed(0), sd: 0.2},
    {title: 'of a record with gaps', level: fixed(0), isGap: (i: number) => i % 6 === 2 || (i > 14 && i < 18)},
  ];
  for (const {title, level, sd, isGap} of cases)
    slow(`has φ estimated anew at each value: ${title}`, async () => {
      const [samples, others] = [28, level.kind === 'fixed' ? 0 : 1];
      const {t, y} = recordOf(samples, 17);
      const there = [...t.keys()].filter(i => isGap?.(i) !== true);
      const data = {t, y: y.map((value, i) => (there.includes(i) ? value : NaN)), missing: 'skip' as const};
      const problem = {
        ...{system: slope, scheme: rk4(), dt, data, residuals: 'independent' as const},
        parameters: {'initial.y': level, k: free(1)},
        noise: autoregressive({sd}),
      };
      const fit = await identify(problem);
      fit.trajectory.dispose();
      const tensors = tf.memory().numTensors;
      const profile = await likelihoodProfile(fit, 'k', {points: 3});
      expect(tf.memory().numTensors).to.equal(tensors);

      const ones = new Float64Array(samples).fill(1);
      const scale = fit.noise.sd ** 2;
      /** −2 ln L at φ, with the level that generalized least squares gives. */
      const minusTwoLogLikelihood = (k: number, phi: number): number => {
        const e = whitened(
          y.map((value, i) => value - k * t[i]),
          there,
          phi,
        );
        const one = whitened(ones, there, phi);
        const taken = others === 0 ? 0 : dot(e, one) ** 2 / dot(one, one);
        return (dot(e, e) - taken) / scale + sum(variances(there, phi).map(Math.log));
      };
      /** Fisher's information of k, without that which the level takes. */
      const information = (phi: number): number => {
        const [time, one] = [whitened(t, there, phi), whitened(ones, there, phi)];
        return dot(time, time) - (others === 0 ? 0 : dot(time, one) ** 2 / dot(one, one));
      };
      const at = (k: number) => least(phi => minusTwoLogLikelihood(k, phi));
      const estimate = fit.estimate.k;
      const reference = at(estimate);
      // The fit's φ is without its bias, so its standard error is larger than that of the likeliest φ.
      const ratio = information(fit.noise.coefficients[0][0]) / information(reference.phi);
      expect(ratio).to.be.below(0.95);
      const deviance = (k: number): number => ratio * (at(k).value - reference.value);
      profile.values.forEach((k, i) => expect(profile.deviance[i]).to.be.closeTo(deviance(k), 1e-4));
      // Ends are interpolated between values, in the root of the deviance.
      for (const end of profile.interval) expect(deviance(end)).to.be.closeTo(profile.level, 0.05 * profile.level);
      // With φ held it was the standard error's, to a thousandth.
      expect(profile.interval[1] - estimate).to.be.above(1.3 * profile.level ** 0.5 * fit.standardError.k);
      expect(profile.warnings).to.deep.equal([]);
    });
});
