/**
 * Multiple shooting with priors and models of the noise: at closed gaps its cost is that of the whole record, its
 * gradient is that of its residuals, and its optimum is that of the single fit, which it is to lead to.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, rk4, simulate} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {checkRecords, Fit} from '../../../training/identify/fit.js';
import {type IdentificationProblem, identify} from '../../../training/identify/identify.js';
import {lbfgs} from '../../../training/identify/lbfgs.js';
import {evaluate} from '../../../training/identify/evaluation.js';
import {levenbergMarquardt} from '../../../training/identify/least-squares.js';
import {silent} from '../../../training/identify/least-squares-problem.js';
import {type Noise, autoregressive, huber, studentT, white} from '../../../training/identify/noise.js';
import {ResidualObjective} from '../../../training/identify/objective.js';
import {type Parameters, bounded, free, positive} from '../../../training/identify/parameters.js';
import {rounds} from '../../../training/identify/solve.js';
import {modelOf} from '../../../training/identify/density.js';
import {multiple, MultipleShooting, shoot} from '../../../training/identify/shooting.js';
import {slow} from '../../tiers.js';

const dt = 0.1;
type Spring = {readonly k: tf.Tensor; readonly c: tf.Tensor};
const spring = mechanics<Spring>({
  mass: 1,
  forces: ({q, v, params}) => tf.neg(tf.addN([tf.mul(params.k, q), tf.mul(params.c, v), tf.mul(0.3, tf.pow(q, 3))])),
});
const samples = 121;
const t = Float64Array.from({length: samples}, (_, i) => i * dt);

/** Errors that remember two steps, and now and then an outlier. */
function errors(seed: number, sd: number, kind: Noise): Float64Array {
  const next = gaussian(seed);
  let [last, before] = [0, 0];
  return t.map((_, i) => {
    if (kind.name === 'white') return sd * next();
    if (kind.order === 0) return sd * next() * (i % 17 === 5 ? 15 : 1);
    [last, before] = [0.7 * last - 0.2 * before + sd * next(), last];
    return last;
  });
}

/** @param missing samples of q */
function problemOf(
  noise: Noise,
  parameters: Parameters,
  {sd = 0.03, missing = [] as readonly number[]} = {},
): IdentificationProblem {
  const data = [1, 0.6].map((start, i) => {
    const motion = simulate(spring, {q: start, v: 0}, {scheme: rk4(), dt, steps: samples - 1, params: {k: 2, c: 0.1}});
    const own = errors(2 * i + 1, sd, noise);
    const other = errors(2 * i + 2, sd, noise);
    const q = motion.values('q').map((value, k) => value + own[k]);
    const y = motion.values('v').map((value, k) => value + other[k]);
    motion.dispose();
    const weights = {q: t.map((_, k) => (missing.includes(k) ? 0 : 1)), y: t.map((_, k) => (k < 3 ? 0 : 1))};
    return {t, q, y, weights, name: `record ${i + 1}`, parameters: {'initial.q': free(start)}};
  });
  return {
    system: spring,
    observe: ({v}) => v,
    initial: {v: 0},
    data,
    parameters,
    scheme: rk4(),
    dt,
    noise,
  } as IdentificationProblem;
}

const vague: Parameters = {k: positive(1.8), c: bounded(0, 1, 0.15)};
const known: Parameters = {
  k: positive(1.8, {prior: {mean: 2.3, sd: 0.02}}),
  c: bounded(0, 1, 0.15, {prior: {mean: 0.2, sd: 0.02}}),
};
const cases: readonly (readonly [name: string, noise: Noise, parameters: Parameters])[] = [
  ['priors, noise of known size', white({sd: 0.03}), known],
  ['priors, noise of unknown size', white(), known],
  ['huber', huber(), vague],
  ['studentT with priors', studentT(), known],
];

/** Near a cut, and over one. */
const gaps = [40, 41, 77];

function fitOf(problem: IdentificationProblem): Fit {
  return new Fit(problem, checkRecords(problem, problem.data));
}

/** Anywhere: the cost is ½ Σ r², its gradient Jᵀr, by the sweep back, by the factor and by differences. */
function requireConsistent(shooting: MultipleShooting, at: Float64Array): void {
  const off = at.map((value, i) => value + 0.02 * Math.sin(i + 1));
  for (let round = 0; round < 2; round++) {
    const {residuals, factor} = evaluate(shooting.linearize(off));
    const {cost, gradient} = evaluate(shooting.gradient(off));
    expect(cost).to.be.closeTo(
      residuals.reduce((sum, r) => sum + (r * r) / 2, 0),
      1e-12 * cost,
    );
    const condensed = factor.gradient();
    const largest = Math.max(...gradient.map(Math.abs));
    gradient.forEach((g, j) => expect(g, shooting.space.labels[j]).to.be.closeTo(condensed[j], 1e-10 * largest));
    evaluate(shooting.tighten(off));
  }
  // Differences of the cost, for the gradient's own sake.
  const {gradient} = evaluate(shooting.gradient(off));
  for (const j of [0, 1, shooting.space.size - 1]) {
    const moved = (h: number): number =>
      evaluate(shooting.gradient(off.map((value, i) => (i === j ? value + h : value)))).cost;
    const h = 1e-4;
    const difference = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
    expect(difference).to.be.closeTo(gradient[j], 1e-6 * Math.max(...gradient.map(Math.abs)));
  }
}

describe('multiple shooting with priors and models of the noise', () => {
  for (const [name, noise, parameters] of cases) {
    slow(`weighs residuals as the whole record does: ${name}`, () => {
      const problem = problemOf(noise, parameters, {missing: gaps});
      const fit = fitOf(problem);
      const x = fit.space.start;
      const objective = new ResidualObjective(fit, noise);
      const shooting = new MultipleShooting(fit.uncut(x), fit.parameters, 7, noise);
      // Starts on the motion: no gap is open.
      const motions = fit.trajectories(x);
      const at = shooting.space.start.slice();
      shooting.space.labels.forEach((label, i) => {
        const found = /^record (\d), segment (\d+): initial\.([qv])$/.exec(label);
        if (found === null) return;
        const [, record, segment, block] = found;
        const sample = Math.round(((Number(segment) - 1) * (samples - 1)) / 7);
        at[i] = motions[Number(record) - 1].values(block as 'q')[sample];
      });
      motions.forEach(motion => motion.dispose());
      const whole = evaluate(objective.gradient(x));
      const many = evaluate(shooting.gradient(at));
      expect(many.cost).to.be.closeTo(whole.cost, 1e-10 * whole.cost);
      requireConsistent(shooting, at);
    });

    slow(`ends where the single fit ends: ${name}`, () => {
      const problem = problemOf(noise, parameters, {missing: gaps});
      const fit = fitOf(problem);
      const objective = new ResidualObjective(fit, noise);
      const {x, linearization} = evaluate(rounds(objective, levenbergMarquardt(), fit.space.start, silent));
      const shooting = new MultipleShooting(fit.uncut(fit.space.start), fit.parameters, 7, noise);
      const found = fit.space.coordinates(evaluate(shoot(shooting, levenbergMarquardt(), silent)).values);
      // ‖R (x − x′)‖ / s, in standard errors of all parameters together
      const p = x.length;
      const distance = Math.hypot(
        ...x.map((_, i) => {
          let sum = 0;
          for (let j = i; j < p; j++) sum += linearization!.factor.r[i * p + j] * (x[j] - found[j]);
          return sum;
        }),
      );
      expect(distance / objective.state.sd).to.be.below(0.1);
    });
  }

  slow('leaves an autoregression to the fit of whole records, which ends as from the guess', async () => {
    const problem = problemOf(autoregressive({order: 2}), vague, {missing: gaps});
    const single = await identify(problem);
    const many = await identify({...problem, shooting: multiple({segments: 7})} as never);
    for (const key of ['k', 'c']) {
      const [error, value] = [single.standardError[key] as number, single.estimate[key] as number];
      expect(many.estimate[key]).to.be.closeTo(value, 1e-4 * error);
      expect(many.standardError[key]).to.be.closeTo(error, 1e-4 * error);
    }
  });

  slow('follows a prior that the data contradict, with any method', async () => {
    const sure = {...known, k: positive(1.8, {prior: {mean: 2.3, sd: 0.002}})};
    const problem = problemOf(white({sd: 0.03}), sure);
    const fit = await identify({...problem, shooting: multiple({segments: 7})} as never);
    const single = await identify(problem);
    const free = await identify({...problem, parameters: vague} as never);
    const of = (found: unknown): number => (found as {estimate: {k: number}}).estimate.k;
    expect(of(fit)).to.be.closeTo(of(single), 1e-7);
    expect(of(fit) - of(free)).to.be.above(0.05);
    const whole = fitOf(problem);
    const shooting = new MultipleShooting(whole.uncut(whole.space.start), whole.parameters, 7, modelOf(problem.noise));
    expect(evaluate(shoot(shooting, levenbergMarquardt(), silent)).values.k[0]).to.be.closeTo(of(single), 1e-3);
    const byGradients = await identify({...problem, method: lbfgs(), shooting: multiple({segments: 7})} as never);
    expect(of(byGradients)).to.be.closeTo(of(single), 1e-6);
  });
});
