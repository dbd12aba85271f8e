/** A trial that cannot be evaluated is rejected and shortened, whatever it throws, by every method. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  EventError,
  GradientError,
  InconsistentStateError,
  NewtonError,
  OptionError,
  SingularMatrixError,
  StiffgradError,
} from '../../../lib/errors.js';
import {adaptive, ode, rk4, tsit5} from '../../../lib/index.js';
import {adam, identify, lbfgs, levenbergMarquardt, positive} from '../../../training/index.js';
import {evaluate} from '../../../training/identify/evaluation.js';
import {checkRecords, Fit} from '../../../training/identify/fit.js';
import {bounded, free, ParameterSpace} from '../../../training/identify/parameters.js';
import {wolfeStep} from '../../../training/identify/wolfe.js';

/** 10 ln((1 − x) / 0.7): zero at 0.3, and without a value from 1 on. */
const residual = (x: number): number => 10 * Math.log((1 - x) / 0.7);
const problem = (failure: () => Error | undefined) => ({
  linearize([x]: Float64Array) {
    const error = x < 1 ? undefined : failure();
    if (error !== undefined) throw error;
    return {residuals: Float64Array.of(residual(x)), jacobian: Float64Array.of(-10 / (1 - x))};
  },
});

const failures: {readonly [what: string]: () => Error | undefined} = {
  NewtonError: () => new NewtonError('newton-diverged', 'a'),
  SingularMatrixError: () => new SingularMatrixError('singular', 'b'),
  InconsistentStateError: () => new InconsistentStateError('not-finite', 'c'),
  GradientError: () => new GradientError('gradient-not-finite', 'd'),
  EventError: () => new EventError('chatter', 'e'),
  "an OptionError 'bad-mass'": () => new OptionError('bad-mass', 'f'),
  "a StiffgradError 'contacts-unsolved'": () => new StiffgradError('contacts-unsolved', 'g'),
  NaN: () => undefined,
};

describe('trials that fail', () => {
  // Each first step of these goes beyond 1: by Gauss–Newton from −50, by the gradient's sign from 0.01.
  const methods = [
    {method: levenbergMarquardt(), start: -50, accuracy: 1e-8},
    {method: lbfgs(), start: 0.01, accuracy: 1e-8},
    {method: adam({rate: 1, iterations: 300}), start: 0.01, accuracy: 1e-2},
  ];
  for (const [what, failure] of Object.entries(failures))
    for (const {method, start, accuracy} of methods)
      it(`${what} in a trial of ${method.name} is a rejected trial`, () => {
        const found = method.minimize(problem(failure), [start]);
        expect(found.x[0]).to.be.closeTo(0.3, accuracy);
        expect(found.evaluations.failed).to.be.greaterThan(0);
        expect(found.evaluations.failure).to.be.a('string');
      });

  it('an error of the problem itself is no rejected trial', () => {
    const wrong = problem(() => new OptionError('missing-option', 'x'));
    for (const {method, start} of methods) expect(() => method.minimize(wrong, [start])).to.throw(OptionError, /^x$/);
  });

  it('a line search does not go where the loss is NaN', () => {
    // (x − 3)² with nothing beyond 4.
    const at = (x: Float64Array) => ({
      x,
      cost: x[0] < 4 ? (x[0] - 3) ** 2 : NaN,
      gradient: Float64Array.of(x[0] < 4 ? 2 * (x[0] - 3) : NaN),
    });
    const found = wolfeStep(at, at(Float64Array.of(0)), Float64Array.of(1), 7);
    expect(found?.x[0]).to.be.within(1, 4);
  });

  it('values that rounding puts onto a bound, or to infinity, are none', () => {
    const space = new ParameterSpace({k: positive(2), p: bounded(1, 3, 2), q: free(0)});
    for (const x of [
      [-800, 0, 0],
      [800, 0, 0],
      [0, 50, 0],
      [0, -50, 0],
      [0, 0, NaN],
    ])
      expect(() => space.values(Float64Array.from(x))).to.throw(InconsistentStateError, /which its kind/);
    expect(space.values(Float64Array.of(-700, 30, 1)).q[0]).to.equal(1);
  });
});

describe('the steps of a trial', () => {
  type P = {k: tf.Tensor};
  const system = ode<P>(({y, t, params: {k}}) => tf.mul(k, tf.sub(tf.cos(t), y)));
  const t = Float64Array.from({length: 21}, (_, i) => i / 10);
  const y = t.map(time => (9 * Math.cos(time) + 3 * Math.sin(time) + Math.exp(-3 * time)) / 10); // k = 3, y(0) = 1
  const model = {
    system,
    initial: {y: 1},
    dt: 0.1,
    scheme: tsit5(),
    control: adaptive({rtol: 1e-8, atol: 1e-8}),
    parameters: {k: positive(1)},
  };

  it('are limited with adaptive steps, and the error says to what', () => {
    const fit = new Fit(model, checkRecords(model, {t, y}));
    const before = tf.memory().numTensors;
    // An explicit step is shorter than 4 / k: 10⁹ of them.
    const x = fit.space.coordinates({k: [1e9]});
    for (const evaluation of [fit.linearize(x), fit.residuals(x), fit.gradient(x)])
      expect(() => evaluate<unknown>(evaluation))
        .to.throw(NewtonError, /the 5000 steps allowed are used up.*20 times the steps of the run at the guess/)
        .with.property('code', 'too-many-steps');
    expect(tf.memory().numTensors).to.equal(before);
    evaluate(fit.residuals(fit.space.coordinates({k: [30]})));
  });

  it('that cannot be counted at the guess are limited by the samples', () => {
    const stopped = {...model, parameters: {k: positive(1e12)}, control: adaptive({min: 1e-3})};
    const fit = new Fit(stopped, checkRecords(stopped, {t, y}));
    expect(() => evaluate(fit.residuals(fit.space.start))).to.throw(NewtonError);
    expect(evaluate(fit.residuals(fit.space.coordinates({k: [3]}))).every(r => Math.abs(r) < 1e-4)).to.equal(true);
  });

  it('do not keep a fit from its minimum', async () => {
    const fit = await identify({...model, data: {t, y}});
    expect(fit.estimate.k).to.be.closeTo(3, 1e-6);
    fit.trajectory.dispose();
  });
});

describe('records that stop a fit early', () => {
  it('are an error where they cannot be simulated at the guess', async () => {
    // y' = y² has a pole at t = 1 / y(0).
    const system = ode<{a: tf.Tensor}>(({y, params: {a}}) => tf.mul(a, tf.square(y)));
    const t = [0, 0.1, 0.2, 0.3];
    const problem = {
      system,
      scheme: rk4(),
      dt: 0.01,
      initial: {y: 1},
      parameters: {a: free(1.2)},
      data: {t, y: t.map(time => 1 / (1 - time))},
      earlyStopping: {data: {t: [0, 40], y: [1, 1]}},
    };
    const error = await identify(problem).then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    expect(error?.message).to.match(
      /^identify: .*earlyStopping: the held-out records cannot be simulated at the guess/,
    );
  });
});
