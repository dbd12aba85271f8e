/** L-BFGS, Adam, multiple shooting and profiles of the likelihood, against Levenberg–Marquardt and against closed forms. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitEuler, implicitMidpoint, mechanics, ode, OptionError, rk4, simulate} from '../../../lib/index.js';
import type {Params} from '../../../lib/index.js';
import {damper, pendulum, spring} from '../../../models/index.js';
import type {Identification, IdentificationProblem} from '../../../training/index.js';
import {
  adam,
  bounded,
  fixed,
  free,
  identify,
  lbfgs,
  levenbergMarquardt,
  likelihoodProfile,
  multiple,
  positive,
  profile,
  single,
} from '../../../training/index.js';
import {profileChart} from '../../../training/estimate/profile.js';
import {checkRecords, Fit} from '../../../training/identify/fit.js';
import type {Model} from '../../../training/identify/model.js';
import type {MeasuredRecord} from '../../../training/identify/records.js';
import type {LeastSquaresProblem} from '../../../training/index.js';
import {MultipleShooting} from '../../../training/identify/shooting.js';
import {evaluate} from '../../../training/identify/evaluation.js';
import {wolfeStep} from '../../../training/identify/wolfe.js';
import {gaussian} from '../../../training/data/noise.js';
import {slow} from '../../tiers.js';

const named = (name: string) => (params: Params) => params[name] as tf.Tensor;
const oscillator = mechanics({mass: 1, forces: [spring({stiffness: named('k')}), damper({coefficient: named('c')})]});
const times = (samples: number, dt: number): Float64Array => Float64Array.from({length: samples}, (_, i) => i * dt);

/** q of the damped oscillator from (1, 0), with noise. */
function record(
  samples: number,
  dt: number,
  {k, c, noise}: {readonly k: number; readonly c: number; readonly noise: number},
): {t: Float64Array; q: Float64Array} {
  const path = simulate(oscillator, {q: 1, v: 0}, {scheme: implicitMidpoint(), dt, steps: samples - 1, params: {k, c}});
  const next = gaussian(5);
  const q = path.values('q').map(x => x + noise * next());
  path.dispose();
  return {t: times(samples, dt), q};
}

const problem = (over: Partial<IdentificationProblem> = {}): IdentificationProblem => ({
  system: oscillator,
  initial: {q: 1, v: 0},
  scheme: implicitMidpoint(),
  dt: 0.05,
  data: record(101, 0.05, {k: 4, c: 0.3, noise: 0.01}),
  parameters: {k: positive(3), c: bounded(0, 2, 0.1), 'initial.v': free(0.2)},
  residuals: 'independent',
  ...over,
});

async function found(over: Partial<IdentificationProblem> = {}): Promise<Identification> {
  const before = tf.memory().numTensors;
  const identification = await identify(problem(over));
  for (const trajectory of identification.trajectories) trajectory.dispose();
  expect(tf.memory().numTensors - before, 'tensors left').to.equal(0);
  return identification;
}

/** Rosenbrock's valley as least squares: 0 at (1, 1). */
const rosenbrock: LeastSquaresProblem = {
  linearize: ([x, y]) => ({
    residuals: Float64Array.of(10 * (y - x * x), 1 - x),
    jacobian: Float64Array.of(-20 * x, 10, -1, 0),
  }),
};

const fitOf = (model: Model, data: MeasuredRecord | readonly MeasuredRecord[]): Fit =>
  new Fit(model, checkRecords(model, data));

describe('methods of identify', () => {
  describe('lbfgs', () => {
    it("goes through Rosenbrock's valley, from its usual start", () => {
      const {x, converged, evaluations, history} = lbfgs().minimize(rosenbrock, [-1.2, 1]);
      expect(converged).to.equal(true);
      x.forEach(value => expect(value).to.be.closeTo(1, 1e-7));
      // Nocedal & Wright's own runs of quasi-Newton methods take 34 iterations (§8, table of BFGS).
      expect(history.length).to.be.below(60);
      expect(evaluations.residuals).to.be.below(90);
      for (let i = 1; i < history.length; i++) expect(history[i].cost).to.be.below(history[i - 1].cost);
    });

    it('meets the minimum of a quadratic to roundoff', () => {
      const scales = [1, 3, 10, 30];
      const quadratic: LeastSquaresProblem = {
        linearize: x => ({
          residuals: x.map((value, i) => scales[i] * (value - i)),
          jacobian: Float64Array.from({length: 16}, (_, at) => (at % 5 === 0 ? scales[at / 5] : 0)),
        }),
      };
      const {x, history} = lbfgs().minimize(quadratic, [5, 5, 5, 5]);
      x.forEach((value, i) => expect(value).to.be.closeTo(i, 1e-10));
      expect(history.length).to.be.below(40);
    });

    it('finds what Levenberg–Marquardt finds, with the same errors', async () => {
      const [plain, quasi] = [await found(), await found({method: lbfgs()})];
      expect(quasi.converged).to.equal(true);
      for (const name of ['k', 'c', 'initial.v']) {
        const [value, error] = [plain.estimate[name] as number, plain.standardError[name] as number];
        expect(quasi.estimate[name] as number, name).to.be.closeTo(value, 1e-3 * error);
        expect(quasi.standardError[name] as number, name).to.be.closeTo(error, 1e-3 * error);
      }
    });

    it('takes where the model cannot be evaluated for too long a step', () => {
      const wall: LeastSquaresProblem = {
        linearize: ([x]) => (x > 3 ? undefined : {residuals: Float64Array.of(x - 2.9), jacobian: Float64Array.of(1)}),
      };
      expect(lbfgs().minimize(wall, [-50]).x[0]).to.be.closeTo(2.9, 1e-9);
      expect(() => lbfgs().minimize(wall, [4])).to.throw(OptionError, /no value at its start/);
      expect(() => lbfgs({memory: 0})).to.throw(OptionError, /memory must be a whole number of at least 1, not 0/);
    });
  });

  it("a step length meets Wolfe's strong conditions, also behind a wall", () => {
    const f = (x: number): number => -x / (x * x + 2); // Moré & Thuente's first function, minimum at √2
    const slope = (x: number): number => (x * x - 2) / (x * x + 2) ** 2;
    const evaluate =
      (walled: boolean) =>
      ([x]: Float64Array) =>
        walled && x > 2 ? undefined : {x: Float64Array.of(x), cost: f(x), gradient: Float64Array.of(slope(x))};
    for (const first of [1e-3, 0.1, 1, 10, 1000]) {
      for (const walled of [false, true]) {
        const step = wolfeStep(
          evaluate(walled),
          {x: Float64Array.of(0), cost: f(0), gradient: Float64Array.of(slope(0))},
          Float64Array.of(1),
          first,
        );
        expect(step, `${first}`).not.to.equal(undefined);
        const {length} = step as NonNullable<typeof step>;
        expect(f(length)).to.be.at.most(f(0) + 1e-4 * length * slope(0));
        expect(Math.abs(slope(length))).to.be.at.most(0.9 * Math.abs(slope(0)));
      }
    }
  });

  slow('adam comes near the minimum, and keeps the best point', async () => {
    const plain = await found();
    const {estimate, history, message} = await found({method: adam({rate: 0.05, iterations: 250})});
    for (const name of ['k', 'c'])
      expect(estimate[name] as number).to.be.closeTo(
        plain.estimate[name] as number,
        plain.standardError[name] as number,
      );
    expect(message).to.match(/Adam made its 250 iterations/);
    expect(history).to.have.length(251);
    expect(() => adam({rate: -1})).to.throw(OptionError, /rate must be a positive number, not -1/);
  });

  it('the gradient of a fit is Jᵀr, for mechanics with observations and for an ode, over several records', () => {
    const decay = ode(({y, params}) => tf.mul(tf.neg(params.a as tf.Tensor), tf.mul(y, params.b as tf.Tensor)));
    const t = times(11, 0.1);
    const fits = [
      fitOf(
        {
          system: oscillator,
          initial: {q: 1, v: 0},
          dt: 0.05,
          observe: ({q, v}) => tf.stack([q, tf.mul(q, v)]),
          parameters: {k: positive(3), c: bounded(0, 2, 0.1), 'initial.v': free(0.2)},
        },
        [
          {t, y: Array.from(t, x => [x, 1 - x]), weights: [2, 0.5]},
          {t, q: t, name: 'second', parameters: {c: positive(0.4)}},
        ],
      ),
      fitOf(
        {
          system: decay,
          dt: 0.1,
          scheme: rk4(),
          parameters: {a: positive(1), b: positive([0.5, 2]), 'initial.y': free([1, -1])},
        },
        {t, y: Array.from(t, x => [Math.exp(-x), -Math.exp(-2 * x)])},
      ),
    ];
    for (const fit of fits) {
      const x = fit.space.start.map((value, i) => value + 0.1 * Math.sin(i + 1));
      const {residuals, jacobian} = evaluate(fit.linearize(x));
      const {cost, gradient} = evaluate(fit.gradient(x));
      expect(cost).to.be.closeTo(residuals.reduce((sum, r) => sum + r * r, 0) / 2, 1e-10);
      gradient.forEach((g, j) => {
        const expected = residuals.reduce((sum, r, i) => sum + r * jacobian[i * x.length + j], 0);
        expect(g, fit.space.labels[j]).to.be.closeTo(expected, 1e-9 * Math.max(1, Math.abs(expected)));
      });
    }
  });
});

describe('multiple shooting', () => {
  const long = record(401, 0.05, {k: 4, c: 0.02, noise: 0.01});
  const far = {data: long, parameters: {k: positive(9), c: fixed(0.02)}};

  slow('finds a frequency from a guess that single shooting cannot use', async () => {
    const one = await found({...far, shooting: single()});
    const many = await found({...far, shooting: multiple({segments: 20})});
    // Nine periods against six: the single fit ends in another minimum.
    expect(one.rmse.q).to.be.above(0.1);
    expect(many.rmse.q).to.be.within(0.009, 0.011);
    const near = await found({...far, parameters: {k: positive(4.1), c: fixed(0.02)}});
    expect(many.estimate.k).to.be.closeTo(near.estimate.k as number, 1e-6);
    expect(many.standardError.k).to.be.closeTo(near.standardError.k as number, 1e-6);
  });

  slow('works on states that were not measured, on odes, and with parameters of single records', async () => {
    const path = simulate(pendulum({length: 1, g: 9}), {q: 2, v: 0}, {dt: 0.02, steps: 200});
    const q = path.values('q');
    path.dispose();
    const observed = await found({
      system: pendulum({length: 1, g: named('g')}),
      initial: {v: 0},
      dt: 0.02,
      scheme: undefined,
      observe: at => tf.sin(at.q),
      data: {t: times(201, 0.02), y: q.map(Math.sin), name: 'swing', parameters: {'initial.q': free(1.9)}},
      parameters: {g: positive(8)},
      shooting: multiple({segments: 4}),
    });
    expect(observed.estimate.g).to.be.closeTo(9, 1e-6);
    expect(observed.estimate['swing: initial.q']).to.be.closeTo(2, 1e-6);
    const growth = ode(({y, params}) => tf.mul(params.r as tf.Tensor, tf.mul(y, tf.sub(1, y))));
    const t = times(61, 0.1);
    const logistic = (y0: number): Float64Array => t.map(time => 1 / (1 + (1 / y0 - 1) * Math.exp(-1.5 * time)));
    const both = await found({
      system: growth,
      initial: {y: 0.1},
      scheme: rk4(),
      dt: 0.1,
      parameters: {r: positive(0.4)},
      shooting: multiple({segments: 5}),
      data: [
        {t, y: logistic(0.1)},
        {t, y: logistic(0.02), name: 'late', parameters: {'initial.y': positive(0.05)}},
      ],
    });
    // Fourth-order steps of 0.1 against the closed form.
    expect(both.estimate.r).to.be.closeTo(1.5, 1e-4);
    expect(both.estimate['late: initial.y']).to.be.closeTo(0.02, 1e-5);
  });

  it('has the gradient Jᵀr of its residuals, gaps and multipliers with them, by one sweep back a segment', () => {
    const held = problem({
      observe: ({q, v}) => tf.add(q, v),
      data: [
        {t: times(21, 0.1), q: times(21, 0.1).map(Math.cos), y: times(21, 0.1).map(Math.sin)},
        {t: times(11, 0.1), q: times(11, 0.1).map(Math.cos), name: 'second', parameters: {c: positive(0.4)}},
      ],
    });
    const fit = fitOf(held, held.data);
    const shooting = new MultipleShooting(fit.uncut(fit.space.start), fit.parameters, 3);
    for (let round = 0; round < 2; round++) {
      const x = shooting.space.start.map((value, i) => value + 0.1 * Math.sin(i + 1));
      const {residuals, factor} = evaluate(shooting.linearize(x));
      const condensed = factor.gradient();
      const {cost, gradient} = evaluate(shooting.gradient(x));
      expect(cost).to.be.closeTo(
        residuals.reduce((sum, r) => sum + (r * r) / 2, 0),
        1e-12 * cost,
      );
      const largest = Math.max(...gradient.map(Math.abs));
      gradient.forEach((g, j) => expect(g, shooting.space.labels[j]).to.be.closeTo(condensed[j], 1e-10 * largest));
      shooting.tighten(x); // multipliers are no longer zero
    }
  });

  it('takes any method, and refuses half segments', async () => {
    const {estimate} = await found({
      shooting: multiple({segments: 3}),
      method: levenbergMarquardt({maxIterations: 50}),
    });
    expect(estimate.k).to.be.closeTo((await found()).estimate.k as number, 1e-6);
    expect(() => multiple({segments: 1.5})).to.throw(
      OptionError,
      /segments must be a whole number of at least 2, not 1\.5/,
    );
  });
});

describe('the profile of the likelihood', () => {
  it('of a linear model is the parabola of the standard error, its interval Student’s quantile of it', async () => {
    // y″ = a + b t from rest: q = a t²/2 + b t³/6, linear in both.
    const system = mechanics({
      mass: 1,
      forces: ({t, params}) => tf.add(params.a as tf.Tensor, tf.mul(params.b as tf.Tensor, t)),
    });
    const next = gaussian(3);
    const t = times(41, 0.05);
    const linear = problem({
      system,
      initial: {q: 0, v: 0},
      data: {t, q: t.map(time => (time * time) / 2 + time ** 3 / 6 + 0.05 * next())},
      parameters: {a: free(0.5), b: free(0.5)},
    });
    const fit = await identify(linear);
    const {values, deviance, level, interval, warnings} = await profile(fit, 'a', {points: 3});
    const [estimate, error] = [fit.estimate.a as number, fit.standardError.a as number];
    expect(values).to.have.length(7);
    values.forEach((value, i) => expect(deviance[i]).to.be.closeTo(((value - estimate) / error) ** 2, 1e-6));
    // Of 39 degrees of freedom (scipy.stats.t.ppf).
    const quantile = 2.02269092;
    expect(level).to.be.closeTo(quantile ** 2, 1e-4);
    for (const [low, high] of [interval, fit.interval.a]) {
      expect(low).to.be.closeTo(estimate - quantile * error, 1e-5 * error);
      expect(high).to.be.closeTo(estimate + quantile * error, 1e-5 * error);
    }
    expect(warnings).to.deep.equal([]);
    expect(profileChart({name: 'a', values, deviance, level, interval, warnings}, 'm/s²').levels).to.have.length(1);
    fit.trajectory.dispose();
  });

  it('of one number of a vector is that of the same number as a parameter of its own', async () => {
    const next = gaussian(5);
    const t = times(41, 0.1);
    const data = {t, y: t.map(time => 2 * Math.exp(-0.8 * time) + 0.3 + 0.02 * next())};
    const common = {initial: {y: 2.3}, data, scheme: rk4(), dt: 0.1, residuals: 'independent' as const};
    const [apart, together] = [
      {
        ...common,
        system: ode<{k: tf.Tensor; y0: tf.Tensor}>(({y, params: {k, y0}}) => tf.mul(k, tf.sub(y0, y))),
        parameters: {k: positive(1), y0: free(0)},
      },
      {
        ...common,
        system: ode<{p: tf.Tensor}>(({y, params}) => {
          const [logK, y0] = tf.unstack(params.p);
          return tf.mul(tf.exp(logK), tf.sub(y0, y));
        }),
        parameters: {p: free([0, 0])},
      },
    ];
    const [fit, fitTogether] = [await identify(apart), await identify(together)];
    const alone = await likelihoodProfile(fit, 'y0', {points: 3});
    const element = await likelihoodProfile(fitTogether, 'p[1]', {points: 3});
    expect(element.name).to.equal('p[1]');
    alone.values.forEach((value, i) => {
      expect(element.values[i]).to.be.closeTo(value, 1e-6 * Math.abs(value));
      expect(element.deviance[i]).to.be.closeTo(alone.deviance[i], 1e-4 * Math.max(1, alone.deviance[i]));
    });
    // ln of a positive parameter is its coordinate, so the steps are the same.
    const [k, logK] = [
      await likelihoodProfile(fit, 'k', {points: 3}),
      await likelihoodProfile(fitTogether, 'p[0]', {points: 3}),
    ];
    for (const side of [0, 1]) expect(Math.exp(logK.interval[side]) / k.interval[side]).to.be.within(0.9999, 1.0001);
  });

  it('of a parameter of one record', async () => {
    // Two constants under noise, one a record: each has the interval of a mean of 49 samples, as the first ones are the starts.
    const constant = ode<{level: tf.Tensor}>(({y, params}) => tf.mul(1e6, tf.sub(params.level, y)));
    const next = gaussian(8);
    const t = times(50, 0.5);
    const records = [1, 3].map(level => ({
      t,
      y: t.map((_, i) => level + (i === 0 ? 0 : 0.1 * next())),
      initial: {y: level},
      parameters: {level: free(level)},
    }));
    const two = {
      ...{system: constant, data: records, scheme: implicitEuler(), dt: 0.5, parameters: {}},
      residuals: 'independent' as const,
    };
    const {interval} = await likelihoodProfile(await identify(two), 'record 2: level', {points: 3});
    const means = records.map(({y}) => y.slice(1).reduce((sum, value) => sum + value / 49, 0));
    const squares = records.flatMap(({y}, r) => Array.from(y.slice(1), value => (value - means[r]) ** 2));
    const error = Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / 98 / 49);
    expect((interval[0] + interval[1]) / 2).to.be.closeTo(means[1], 1e-3 * error);
    // Standard errors of few samples are widened, by some hundredths here.
    expect((interval[1] - interval[0]) / (2 * 1.96 * error)).to.be.within(0.99, 1.05);
  });

  slow(
    'covers the truth 19 times in 20 under residuals that last, where independent ones are far too sure',
    async () => {
      // A constant under first-order autoregressive noise, φ = 0.9: the mean's error is √((1 + φ)/(1 − φ)) = 4.4 times that of
      // independent noise, whose interval then covers 2Φ(1.96/4.4) − 1 = 35 %.
      const [phi, samples, seeds] = [0.9, 300, 24];
      const constant = ode(({y}) => tf.zerosLike(y));
      const covered = {correlated: 0, independent: 0};
      for (let seed = 1; seed <= seeds; seed++) {
        const noise = gaussian(400 + seed);
        let state = noise() / Math.sqrt(1 - phi * phi);
        const data = {
          t: times(samples, 1),
          y: Float64Array.from({length: samples}, () => 3 + 0.1 * (state = phi * state + noise())),
        };
        for (const residuals of ['correlated', 'independent'] as const) {
          const held = {system: constant, data, dt: 1, scheme: rk4(), parameters: {'initial.y': free(2)}, residuals};
          const fit = await identify(held);
          for (const trajectory of fit.trajectories) trajectory.dispose();
          const {
            interval: [low, high],
          } = await likelihoodProfile(fit, 'initial.y', {points: 1});
          // The cost is a parabola: the interval is that of the standard error, of whichever residuals; by Student's quantile of 299
          // degrees, or as wide already.
          const half =
            (residuals === 'correlated' ? 1.959963984540054 : 1.96792967) * (fit.standardError['initial.y'] as number);
          expect([low, high].map(value => Math.abs(value - (fit.estimate['initial.y'] as number)) / half)).satisfies(
            (ends: number[]) => ends.every(end => Math.abs(end - 1) < 1e-6),
          );
          if (low < 3 && 3 < high) covered[residuals]++;
        }
      }
      // Of 24 at 95 %, 19 or fewer are more than three standard deviations off; Newey & West's errors come out some per cent small at 300 samples.
      expect(covered.correlated).to.be.above(19);
      expect(covered.independent).to.be.below(15);
    },
  );

  it('of a parameter that another makes up for is flat, and says so', async () => {
    const system = mechanics({
      mass: 1,
      forces: ({q, params}) => tf.neg(tf.mul(tf.mul(params.a as tf.Tensor, params.b as tf.Tensor), q)),
    });
    const flat = problem({
      system,
      data: record(101, 0.05, {k: 4, c: 0, noise: 0.01}),
      parameters: {a: positive(1.5), b: positive(2)},
    });
    const fit = await identify(flat);
    expect(fit.warnings.join()).to.match(/cannot be told apart/);
    const {interval, warnings, deviance} = await likelihoodProfile(fit, 'a', {points: 3, reach: 0.9});
    expect(interval).to.deep.equal([-Infinity, Infinity]);
    deviance.forEach(value => expect(Math.abs(value)).to.be.below(1e-6));
    expect(warnings.join()).to.match(/do not bound a below.*nor above/);
    fit.trajectory.dispose();
    const odd = await likelihoodProfile(fit, 'k').then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(odd).to.be.instanceOf(OptionError);
  });
});
