/**
 * A loss of a run and its gradient in one call into compiled code: the bits of `valueAndGrad`, which takes a run, its loss and its
 * way back one after another, and those of the interpreter; the same errors; whatever a call does not handle is taken by that.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {
  Initial,
  NumericParams,
  ObjectiveAt,
  ObjectiveValues,
  SimulateOptions,
  Simulation,
  StiffgradError,
  System,
} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  explicitEuler,
  generalizedAlpha,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  ode,
  rk4,
  simulate,
  trapezoid,
  tsit5,
  verlet,
} from '../../lib/index.js';
import {Calls, LossCall} from '../../lib/simulate/loss-call.js';
import {mlp} from '../../models/index.js';
import {draw, stream} from './numbers.js';

type Data = {readonly [name in 'target' | 'weight']: tf.Tensor};
type Loss = (at: ObjectiveAt) => tf.Tensor;
const dataOf = ({data}: Pick<ObjectiveAt, 'data'>): Data => data as unknown as Data;

const network = mlp({sizes: [2, 6, 2], activation: 'tanh', seed: 1});
const wide = mlp({sizes: [2, 48, 2], activation: 'softplus', seed: 2});
const encoder = mlp({sizes: [3, 2], activation: 'tanh', seed: 3});
const decoder = mlp({sizes: [2, 3], activation: 'tanh', seed: 4});
/** Read by losses alone. */
const scale = tf.variable(tf.scalar(0.7)) as tf.Variable;
const fixedTensor = tf.keep(tf.tensor1d([1, 0.5]));

const field = ode<{rate: tf.Tensor}>(({y, t, params}) =>
  tf.sub(tf.mul(tf.reshape(network.apply(tf.reshape(y, [1, 2])), [2]), tf.cos(t)), tf.mul(params.rate, y)),
);
const wideField = ode(({y}) => wide.apply(y));
const springs = mechanics<{k: tf.Tensor}>({
  mass: [1, 2, 1.5, 1, 3],
  forces: ({q, v, t, params}) => {
    const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [4])]));
    const tension = tf.mul(params.k, tf.add(d, tf.pow(d, 3)));
    const pull = tf.sub(tf.concat([tf.slice(tension, [1]), tf.zeros([1])]), tension);
    return tf.add(tf.sub(pull, tf.mul(v, tf.mul(0.1, scale))), tf.sin(t));
  },
});

const displaced = [0.3, -0.1, 0.2, 0, 0.1];

const squares: Loss = at =>
  tf.add(tf.mean(tf.squaredDifference(at.y, dataOf(at).target)), tf.mul(tf.square(scale), tf.mean(at.t)));
const positions: Loss = at => tf.mean(tf.squaredDifference(at.q, dataOf(at).target));
const velocities: Loss = at => tf.mean(tf.mul(tf.squaredDifference(at.v, dataOf(at).target), tf.sum(fixedTensor)));
const observed: Loss = at => tf.mean(tf.squaredDifference(tf.reshape(at.observed, [-1]), dataOf(at).target));

const prepared = (system: object, initial: object, options: object): Simulation =>
  simulate.prepare(system as System, initial as Initial, options as SimulateOptions);

interface Case {
  readonly make: (more: object) => Simulation;
  readonly loss: Loss;
  /** Another state, parameters and data each time. */
  readonly at: (n: number) => ObjectiveValues;
}

const numbers = (n: number, ...shape: number[]): unknown => {
  const [first, ...rest] = shape;
  if (first === undefined) return Math.sin(n * 12.9898 + 1);
  return Array.from({length: first}, (_, i) => numbers(n * 31 + i + 1, ...rest));
};
const listed = (n: number, ...shape: number[]): number[][] => numbers(n, ...shape) as number[][];

const times = [0, 0.13, 0.14, 0.5, 0.77, 1.2];
const steps = 40;

const onGrid = (
  scheme: Parameters<typeof simulate.prepare>[2]['scheme'],
  saved = steps + 1,
  more: object = {},
): Case => ({
  make: others => prepared(field, {y: [1, 0.5]}, {scheme, dt: 0.05, steps, params: {rate: 0.4}, ...more, ...others}),
  loss: squares,
  at: n => ({
    initial: n === 1 ? undefined : {y: listed(n, 2) as unknown as number[]},
    params: n === 2 ? undefined : {rate: 0.3 + 0.1 * n},
    data: {target: listed(n, saved, 2)},
  }),
});

const mechanical = (
  scheme: Parameters<typeof simulate.prepare>[2]['scheme'],
  loss = positions,
  count = steps,
): Case => ({
  make: others =>
    prepared(
      springs,
      {q: displaced, v: [0, 0.1, 0, 0, -0.1]},
      {
        scheme,
        dt: 0.05,
        steps: count,
        params: {k: 4},
        ...others,
      },
    ),
  loss,
  at: n => ({params: {k: 4 + n}, data: {target: listed(n, count + 1, 5)}}),
});

const adaptively = (saveAt: readonly number[]): Case => ({
  make: others =>
    prepared(
      field,
      {y: [1, 0.5]},
      {
        scheme: tsit5(),
        dt: 0.1,
        t1: 1.5,
        control: adaptive({rtol: 1e-5, atol: 1e-7}),
        saveAt,
        params: {rate: 0.4},
        ...others,
      },
    ),
  loss: squares,
  at: n => ({
    initial: {y: listed(n, 2) as unknown as number[]},
    params: {rate: 0.3 + 0.2 * n},
    data: {target: listed(n, saveAt.length, 2)},
  }),
});

const rows = 6;
const manyRows = (more: object, saved: number): Case => ({
  make: others => prepared(wideField, {y: listed(0, rows, 2)}, {scheme: tsit5(), dt: 0.1, ...more, ...others}),
  loss: squares,
  at: n => ({initial: {y: listed(n, rows, 2)}, data: {target: numbers(n, saved, rows, 2) as NumericParams[string]}}),
});

const encoded = ({data}: {readonly data: unknown}): {y: tf.Tensor} => ({
  y: tf.reshape(encoder.apply(tf.reshape((data as Data).weight, [1, 3])), [2]),
});
const latent = (more: object, saved: number): Case => ({
  make: others =>
    prepared(
      field,
      {y: [0, 0]},
      {
        scheme: tsit5(),
        dt: 0.05,
        params: {rate: 0.4},
        observe: ({y, params}: {readonly y: tf.Tensor; readonly params: unknown}) =>
          tf.mul(decoder.apply(tf.reshape(y, [1, 2])), tf.add(1, (params as {rate: tf.Tensor}).rate)),
        ...more,
        ...others,
      },
    ),
  loss: observed,
  at: n => ({
    initial: encoded,
    params: {rate: 0.1 * n},
    data: {target: listed(n, 3 * saved), weight: listed(n, 3)} as unknown as NumericParams,
  }),
});

const cases: {readonly [name: string]: Case} = {
  'tsit5 along a grid': onGrid(tsit5()),
  'rk4 without the start': onGrid(rk4(), steps, {saveAt: Array.from({length: steps}, (_, n) => 0.05 * (n + 1))}),
  'explicit Euler': onGrid(explicitEuler()),
  'kept layers, along a grid': manyRows({steps: 12}, 13),
  'kept layers, adaptive': manyRows(
    {t1: 1.2, control: adaptive({rtol: 1e-4, atol: 1e-6}), saveAt: times},
    times.length,
  ),
  'implicit Euler': mechanical(implicitEuler()),
  'implicit midpoint': mechanical(implicitMidpoint()),
  'its velocities': mechanical(implicitMidpoint(), velocities),
  'more steps than go without a measurement': mechanical(implicitMidpoint(), positions, 600),
  trapezoid: mechanical(trapezoid()),
  newmark: mechanical(newmark()),
  verlet: mechanical(verlet()),
  'adaptive steps, the start saved': adaptively(times),
  'adaptive steps, a few times': adaptively([0.4, 0.9]),
  'encoder and observations, along a grid': latent({steps: 20}, 21),
  'encoder and observations, adaptive': latent(
    {t1: 1.2, control: adaptive({rtol: 1e-5, atol: 1e-7}), saveAt: times},
    times.length,
  ),
};

/** In one call from the second evaluation on. */
function inCalls(model: Simulation, loss: Loss, at: ObjectiveValues): ReturnType<Simulation['valueAndVariables']> {
  model.valueAndVariables(loss, at);
  return model.valueAndVariables(loss, at);
}

const variablesOf = (values: ReadonlyMap<tf.Variable, Float64Array>): (readonly [string, number[]])[] =>
  [...values].map(([{name}, gradient]) => [name, [...gradient]] as const);

const errorOf = (work: () => unknown): StiffgradError | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return error as StiffgradError;
  }
};

describe('a loss and its gradient in one call', () => {
  const {after: milliseconds} = Calls;
  const {at} = LossCall.prototype;
  let [made, kept] = [0, 0];
  before(() => {
    Calls.after = 0;
    LossCall.prototype.at = function count(this: LossCall, given): ReturnType<typeof at> {
      const value = at.call(this, given);
      made++;
      if (typeof value === 'number') kept++;
      return value;
    };
  });
  beforeEach(() => ([made, kept] = [0, 0]));
  after(() => {
    Calls.after = milliseconds;
    LossCall.prototype.at = at;
  });

  for (const [name, one] of Object.entries(cases)) {
    it(`${name}: the bits of valueAndGrad and of the interpreter`, () => {
      const [model, plain] = [one.make({}), one.make({engine: 'interpreter'})];
      for (const n of [0, 1, 2, 3]) {
        const given = one.at(n);
        const found = inCalls(model, one.loss, given);
        const {value, gradient} = model.valueAndGrad(one.loss, given);
        expect([found.value, variablesOf(found.variables)]).to.deep.equal([value, variablesOf(gradient.variables)]);
        const other = plain.valueAndVariables(one.loss, given);
        expect([found.value, variablesOf(found.variables)]).to.deep.equal([other.value, variablesOf(other.variables)]);
      }
      // All but the first.
      expect([made, kept]).to.deep.equal([7, 7]);
    });
    it(`${name}, in single precision: the bits of valueAndGrad`, () => {
      const model = one.make({precision: 'single'});
      for (const n of [0, 1]) {
        const found = inCalls(model, one.loss, one.at(n));
        const {value, gradient} = model.valueAndGrad(one.loss, one.at(n));
        expect([found.value, variablesOf(found.variables)]).to.deep.equal([value, variablesOf(gradient.variables)]);
      }
      expect([made, kept]).to.deep.equal([3, 3]);
    });
  }

  it('takes values of variables in double precision, and reads the others from tfjs each time', () => {
    const one = cases['tsit5 along a grid'];
    const model = one.make({});
    const [weights] = network.variables;
    const own = Float64Array.from(draw(stream(1), weights.size), x => 0.1 + x / 3);
    for (const variables of [new Map<tf.Variable, Float64Array>([[weights, own]]), undefined]) {
      for (const value of [0.3, 0.9]) {
        scale.assign(tf.scalar(value));
        const given = {...one.at(1), variables};
        const found = inCalls(model, one.loss, given);
        const {value: expected, gradient} = model.valueAndGrad(one.loss, given);
        expect(found.value).to.equal(expected);
        expect(variablesOf(found.variables)).to.deep.equal(variablesOf(gradient.variables));
      }
    }
    expect(kept).to.equal(7);
  });

  it('has arrays of its own, which the next call writes anew, and leaves no tensor behind', () => {
    const one = cases['adaptive steps, the start saved'];
    const model = one.make({});
    const {gradient} = model.valueAndGrad(one.loss, one.at(1));
    const earlier = variablesOf(gradient.variables);
    const first = inCalls(model, one.loss, one.at(1)).variables;
    const {numTensors} = tf.memory();
    const second = inCalls(model, one.loss, one.at(2)).variables;
    expect(tf.memory().numTensors).to.equal(numTensors);
    expect(second).to.equal(first);
    expect(variablesOf(second)).not.to.deep.equal(earlier);
    expect(variablesOf(gradient.variables)).to.deep.equal(earlier);
  });

  it('serves data of other shapes, of any kind, and other losses and encoders, one after another', () => {
    const one = cases['tsit5 along a grid'];
    const model = one.make({});
    const weighted: Loss = given => tf.mul(squares(given), tf.sum(dataOf(given).weight));
    const target = listed(1, steps + 1, 2);
    const tensor = tf.tensor2d(target);
    const others: [Loss, ObjectiveValues][] = [
      [squares, {data: {target}}],
      [squares, {data: {target: tensor}}],
      [squares, {data: {target: [[0.5, 0.25]]}}],
      [weighted, {data: {target, weight: Float64Array.of(1, 2)}}],
      [weighted, {data: {target, weight: 3}}],
      [given => squares({...given, data: (given.data as unknown as {of: Data}).of} as never), {data: {of: {target}}}],
    ];
    for (let turn = 0; turn < 2; turn++)
      for (const [loss, given] of others) {
        const {value, gradient} = model.valueAndGrad(loss, given);
        const found = inCalls(model, loss, given);
        expect([found.value, variablesOf(found.variables)]).to.deep.equal([value, variablesOf(gradient.variables)]);
      }
    // All but the first of each of five.
    expect(kept).to.equal(4 * others.length - 5);
    tensor.dispose();
    expect(errorOf(() => model.valueAndVariables(squares, {data: {target: tensor}}))?.message).to.equal(
      errorOf(() => model.valueAndGrad(squares, {data: {target: tensor}}))?.message,
    );
  });

  it('refuses as valueAndGrad does, and goes on', () => {
    const one = cases['adaptive steps, the start saved'];
    const model = one.make({});
    const good = one.at(1);
    inCalls(model, one.loss, good);
    const [weights] = network.variables;
    const of = (values: number): ObjectiveValues['variables'] =>
      new Map<tf.Variable, Float64Array>([[weights, new Float64Array(weights.size).fill(values)]]);
    const bad: object[] = [
      {...good, data: {target: listed(1, times.length, 2).map(() => [NaN, NaN])}},
      {...good, data: {target: [[1, 2], [3]]}},
      {...good, data: {target: 'x'}},
      {...good, initial: {y: [1, NaN]}},
      {...good, initial: {y: [1, 2, 3]}},
      {...good, params: {rates: 1}},
      {...good, params: {rate: Infinity}},
      {...good, params: {rate: -1e6}},
      {...good, variables: of(NaN)},
      {...good, variables: new Map([[weights, new Float64Array(1)]])},
      {...good, dta: {}},
    ];
    for (const given of bad) {
      const expected = errorOf(() => model.valueAndGrad(one.loss, given));
      expect(expected?.code).to.be.a('string');
      const found = errorOf(() => model.valueAndVariables(one.loss, given));
      expect([found?.name, found?.code]).to.deep.equal([expected?.name, expected?.code]);
      kept = 0;
      expect(model.valueAndVariables(one.loss, good).value).to.equal(model.valueAndGrad(one.loss, good).value);
      expect(kept).to.equal(1);
    }
  });

  it('of more steps than there is room for is taken by the loops, and then with more room', () => {
    const one = adaptively([0.4, 1.5]);
    const model = one.make({scheme: tsit5(), control: adaptive({rtol: 1e-10, atol: 1e-12})});
    const given = (rate: number): ObjectiveValues => ({params: {rate}, data: {target: listed(1, 2, 2)}});
    const both = (rate: number): void => {
      const found = model.valueAndVariables(one.loss, given(rate));
      const {value, gradient} = model.valueAndGrad(one.loss, given(rate));
      expect([found.value, variablesOf(found.variables)]).to.deep.equal([value, variablesOf(gradient.variables)]);
    };
    // e^(−200 t) down to 1e-12 asks for many times the steps.
    for (const rate of [0.1, 0.1]) both(rate);
    expect(kept).to.equal(1);
    both(400);
    expect(kept).to.equal(1);
    both(400);
    both(400);
    expect(kept).to.be.greaterThan(1);
  });

  it('of steps that are not like most is taken by the loops', () => {
    // Steps this long ask for more iterations than are allowed, and are halved.
    const one = mechanical(implicitMidpoint());
    const model = one.make({newton: newton({maxIterations: 3, onFailure: 'halve'}), dt: 0.3});
    const given = {...one.at(0), params: {k: 30}};
    const found = inCalls(model, one.loss, given);
    const {value, gradient} = model.valueAndGrad(one.loss, given);
    expect(
      simulate(
        springs,
        {q: displaced, v: [0, 0.1, 0, 0, -0.1]},
        {
          scheme: implicitMidpoint(),
          dt: 0.3,
          steps,
          params: {k: 30},
          newton: newton({maxIterations: 3, onFailure: 'halve'}),
        },
      ).stats.rejectedSteps,
    ).to.be.greaterThan(0);
    expect([found.value, variablesOf(found.variables)]).to.deep.equal([value, variablesOf(gradient.variables)]);
    expect([made > 0, kept]).to.deep.equal([true, 0]);
  });

  it('is not made of runs that are watched, saved at some steps, or beyond the memory of their adjoint', () => {
    const one = onGrid(tsit5());
    for (const more of [
      {onProgress: () => undefined},
      {signal: new AbortController().signal},
      {adjoint: implicitAdjoint({memory: 1000})},
      {saveAt: {every: 2}},
      {saveAt: 'end'},
      {engine: 'interpreter'},
    ]) {
      const model = one.make(more);
      const loss: Loss = ({y}) => tf.sum(tf.square(y));
      const found = inCalls(model, loss, {});
      const {value, gradient} = model.valueAndGrad(loss, {});
      expect([found.value, variablesOf(found.variables)]).to.deep.equal([value, variablesOf(gradient.variables)]);
    }
    // What these carry is made by a start that has equations of its own.
    for (const scheme of [generalizedAlpha(), bdf2()]) {
      const own = mechanical(scheme);
      const model = own.make({});
      const found = inCalls(model, own.loss, own.at(1));
      expect(found.value).to.equal(model.valueAndGrad(own.loss, own.at(1)).value);
    }
    expect(made).to.equal(0);
  });
});
