/**
 * precision: 'single': states and gradients agree with double precision's to single precision's rounding; what has none
 * refuses.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import type {AnySystem} from '../../lib/simulate/kinds.js';
import {
  adaptive,
  batch,
  dde,
  dopri5,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sde,
  simulate,
  trapezoid,
  tsit5,
  verlet,
  stochastic,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const layer = (rows: number, columns: number): number[][] =>
  Array.from({length: rows}, (_, i) => Array.from({length: columns}, (__, j) => Math.sin(3 * i + 7 * j + 1) / rows));
const weights = {w0: layer(2, 19), b0: layer(1, 19)[0], w1: layer(19, 2), b1: [0.1, -0.1]};

/** A network 2–19–2 on rows of two numbers. */
const learnt = (activation: (x: tf.Tensor) => tf.Tensor): AnySystem =>
  ode<{w0: tf.Tensor2D; b0: tf.Tensor; w1: tf.Tensor2D; b1: tf.Tensor}>(({y, params}) =>
    tf.add(
      tf.matMul(activation(tf.add(tf.matMul(y as tf.Tensor2D, params.w0), params.b0)) as tf.Tensor2D, params.w1),
      params.b1,
    ),
  );

/** Springs in a row that harden, with gravity. */
const chain = mechanics<{k: tf.Tensor}>({
  mass: [1, 1, 1, 1, 1, 1, 1, 1],
  forces: ({q, v, params}) => {
    const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [7])]));
    const force = tf.mul(params.k, tf.add(d, tf.mul(tf.mul(tf.square(d), d), 0.5)));
    const pull = tf.sub(tf.concat([tf.slice(force, [1], [7]), tf.zeros([1])]), force);
    return tf.sub(tf.add(pull, 1), tf.mul(v, 0.1));
  },
});

/** Robertson's reaction. */
const robertson = ode<{k: tf.Tensor1D}>(({y, params}) => {
  const [a, b, c] = tf.unstack(y);
  const [k1, k2, k3] = tf.unstack(params.k);
  const [first, second, third] = [tf.mul(k1, a), tf.mul(k2, tf.mul(b, c)), tf.mul(k3, tf.mul(b, b))];
  return tf.stack([tf.sub(second, first), tf.sub(tf.sub(first, second), third), third]);
});

const numbers = (tree: unknown): number[] =>
  typeof tree === 'number'
    ? [tree]
    : Array.isArray(tree) || ArrayBuffer.isView(tree)
      ? Array.from(tree as ArrayLike<unknown>).flatMap(numbers)
      : Object.values(tree as object).flatMap(numbers);

/** The largest difference beside the largest number. */
function apart(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(actual.length).to.equal(expected.length);
  let [most, largest] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    most = Math.max(most, Math.abs(actual[i] - expected[i]));
    largest = Math.max(largest, Math.abs(expected[i]));
  }
  return most / largest;
}

interface Run {
  readonly states: Float64Array;
  readonly gradient: number[];
}

/** Saved states, and the gradient of their sum of squares with respect to the start and all parameters. */
function runIn(precision: 'double' | 'single', system: AnySystem, initial: object, options: object, name: string): Run {
  const run = simulate.vjp(system as never, initial as never, {...options, precision} as never) as unknown as {
    trajectory: {values(name: string): Float64Array};
    pullback(cotangents: object): {params: object; initial: object};
  };
  const states = run.trajectory.values(name);
  const {params, initial: start} = run.pullback({[name]: states.map(value => 2 * value)});
  return {states, gradient: [...numbers(params), ...numbers(start)]};
}

const starts = Array.from({length: 9}, (_, i) => [Math.cos(i), Math.sin(i)]);
const cases: readonly (readonly [string, AnySystem, object, object, string])[] = [
  ...([rk4(), tsit5(), dopri5()] as Scheme[]).map(
    scheme =>
      [
        `${scheme.name}, a network of tanh`,
        learnt(tf.tanh),
        {y: starts},
        {scheme, dt: 0.1, steps: 20, params: weights},
        'y',
      ] as const,
  ),
  [
    'tsit5, adaptive steps and saved times between',
    learnt(tf.softplus),
    {y: starts},
    {
      scheme: tsit5(),
      dt: 0.1,
      t1: 2,
      control: adaptive({rtol: 1e-6, atol: 1e-8}),
      saveAt: [0.3, 1.1, 2],
      params: weights,
    },
    'y',
  ],
  [
    'implicit midpoint, a chain',
    chain,
    {q: new Array(8).fill(0), v: new Array(8).fill(0)},
    {scheme: implicitMidpoint(), dt: 0.01, steps: 200, params: {k: new Array(8).fill(1e4)}},
    'q',
  ],
  [
    'the trapezoid rule, a chain',
    chain,
    {q: new Array(8).fill(0), v: new Array(8).fill(0)},
    {scheme: trapezoid(), dt: 0.01, steps: 200, params: {k: new Array(8).fill(1e4)}},
    'q',
  ],
  [
    'kvaerno5, a stiff reaction',
    robertson,
    {y: [1, 0, 0]},
    {
      scheme: kvaerno5(),
      dt: 1e-4,
      t1: 100,
      control: adaptive({rtol: 1e-6, atol: 1e-10}),
      params: {k: [0.04, 1e4, 3e7]},
      saveAt: 'end',
    },
    'y',
  ],
];

describe("precision: 'single'", () => {
  for (const [name, system, initial, options, state] of cases) {
    slow(`${name}: states and gradient are double precision's to five digits`, () => {
      const double = runIn('double', system, initial, options, state);
      const single = runIn('single', system, initial, options, state);
      // A hundred roundings of 2⁻²³: what was measured is 1e-7 to 3e-6.
      expect(apart(single.states, double.states)).to.be.within(1e-12, 1e-5);
      expect(apart(single.gradient, double.gradient)).to.be.below(1e-5);
    });
  }

  slow('runs in batches on threads', () => {
    const members = [starts, starts.map(([a, b]) => [b, a])].map(y => ({initial: {y}}));
    const [double, single] = (['double', 'single'] as const).map(precision => {
      const options = {scheme: tsit5(), dt: 0.1, steps: 10, params: weights, precision, workers: 2};
      return batch(learnt(tf.tanh) as never, members as never, options as never) as unknown as {
        values(name: string): Float64Array;
        stats: {thread: string};
      }[];
    });
    expect(single.map(({stats}) => stats.thread)).to.deep.equal(['worker', 'worker']);
    single.forEach((path, i) => expect(apart(path.values('y'), double[i].values('y'))).to.be.within(1e-12, 1e-6));
  });

  it('is refused where programs are not compiled, and by another name', () => {
    const falling = ode(({y}) => tf.neg(y));
    const run = (options: object) => (): void =>
      void simulate(falling, {y: 1}, {scheme: rk4(), dt: 0.1, steps: 1, ...options});
    for (const engine of ['interpreter', 'tensor'] as const)
      expect(run({engine, precision: 'single'}))
        .to.throw(OptionError, `the engine is '${engine}'`)
        .with.property('code', 'bad-precision');
    expect(run({precision: 'half'})).to.throw(OptionError, 'precision');
  });

  describe('times and decisions are double', () => {
    it('the phase of a drive at a late time, y′ = y sin(ωt), in runs, batches and observations', () => {
      const driven = ode(({y, t}) => tf.mul(y, tf.sin(tf.mul(10, t))));
      const observe = ({t}: {t: tf.Tensor}): tf.Tensor => tf.sin(tf.mul(10, t));
      // Single precision has steps of 1/16 at t = 10⁶: the phase would be off by up to 0.3.
      const members = Array.from({length: 5}, (_, i) => ({initial: {y: [1, 2], t: 1e6 + 0.013 * i}}));
      const options = {scheme: rk4(), dt: 0.01, t1: 1e6 + 1, precision: 'single', observe} as const;
      const runs = [
        ...batch.prepare(driven, {y: [1, 2]}, options).run(members),
        ...members.map(({initial}) => simulate(driven, initial, options)),
      ];
      for (const run of runs) {
        const [t, y, observed] = [run.values('t'), run.values('y'), run.values('observed')];
        const phase = (time: number): number => Math.cos(10 * t[0]) - Math.cos(10 * time);
        t.forEach((time, i) => {
          // What 10t is rounded to in double precision is 2e-9, the scheme's error 1e-8.
          expect(observed[i]).to.be.closeTo(Math.sin(10 * time), 1e-6);
          expect(y[2 * i]).to.be.closeTo(Math.exp(phase(time) / 10), 1e-6);
        });
        run.dispose();
      }
    });

    it('the seed of a path that members of a batch share, which single precision has no number for', () => {
      const seed = 2 ** 40 + 12345;
      const walk = sde<{seed: tf.Tensor}>({
        drift: ({y}) => tf.sin(y),
        diffusion: ({y}) => tf.add(0.3, tf.mul(0.1, tf.square(y))),
        calculus: 'ito',
        seed: ({seed: own}) => own,
      });
      const options = {scheme: stochastic.milstein(), dt: 0.07, t1: 1, saveAt: 'end', params: {seed}} as const;
      const members = [0, 1, 2, 3, 4].map(i => ({initial: {y: [1, 0.5], t: 0.1 * i}}));
      const runs = batch.prepare(walk, {y: [1, 0.5]}, {...options, precision: 'single'}).run(members);
      runs.forEach((run, i) => {
        const exact = simulate(walk, members[i].initial, options);
        expect(apart(run.values('y'), exact.values('y'))).to.be.below(1e-6);
        exact.dispose();
        run.dispose();
      });
    });

    it('the increments of a path, differences of values that grow with time', () => {
      const count = 8;
      const scale = Array.from({length: count}, (_, i) => 1 + i / 10);
      // v = cW and x' = v, which sra1 integrates exactly: x is c times the integral of W − W(t₀).
      const walk = sde<{scale: tf.Tensor1D}>({
        drift: ({y}) => tf.concat([tf.zeros([count]), tf.slice(y, [0], [count])]),
        diffusion: ({params}) => tf.concat([params.scale, tf.zeros([count])]),
        noise: 'additive',
        seed: 5,
      });
      const path = stochastic.brownianPath(5, [2 * count]);
      for (const t of [0, 1e4]) {
        const options = {
          scheme: stochastic.sra1(),
          dt: 1 / 1024,
          steps: 256,
          saveAt: 'end',
          precision: 'single',
        } as const;
        const start = {y: new Float64Array(2 * count), t};
        const {trajectory, pullback} = simulate.vjp(walk, start, {...options, params: {scale}});
        const end = trajectory.values('y').slice(-2 * count);
        const slope = pullback({y: Float64Array.from({length: 4 * count}, (_, i) => (i < 3 * count ? 0 : 1))}).params
          .scale;
        const [w, before, after] = [path.at(t), path.integral(t), path.integral(t + 1 / 4)];
        scale.forEach((c, i) => {
          // Of numbers of up to 0.2. In single precision it would be off by 0.01.
          const integral = after[i] - before[i] - w[i] / 4;
          expect(end[count + i]).to.be.closeTo(c * integral, 1e-6);
          expect((slope as Float64Array)[i]).to.be.closeTo(integral, 1e-6);
        });
        trajectory.dispose();
      }
    });

    for (const scheme of [rk4(), tsit5()])
      slow(`${scheme.name}: breaking points of a delay, at which the state jumps from its history`, () => {
        const delayed = dde<{rate: tf.Tensor; delay: tf.Tensor}>({
          derivative: ({y, delayed: [past], params}) => tf.sub(tf.mul(params.rate, tf.tanh(past)), y),
          delays: [({delay}) => delay],
          maxDelay: 0.5,
          history: ({t, params}) => tf.mul(params.rate, tf.stack([tf.cos(t), tf.sin(t)])),
        });
        for (let i = 0; i < 4; i++) {
          const params = {rate: 0.6 + 0.15 * i, delay: 0.21 + 0.03 * i};
          const [double, single] = (['double', 'single'] as const).map(precision => {
            const options = {scheme, dt: 0.043 + 0.007 * i, t1: 1, saveAt: 'end', params, precision} as const;
            const run = simulate(delayed, {y: [-0.4, 0.7], t: 0.037 * i}, options);
            run.dispose();
            return run.values('y');
          });
          expect(apart(single, double)).to.be.below(1e-6);
        }
      });
  });

  describe('short steps', () => {
    // The slope is a parameter, so that it is no constant of the program; nine numbers are two vectors and one left
    // over.
    const slopes = Array.from({length: 9}, (_, i) => 1 + i / 10);
    const from = new Array<number>(9).fill(1000);
    const steps = {dt: 1e-3, steps: 1000, saveAt: 'end', precision: 'single', params: {slopes}} as const;
    const off = (ends: Float64Array): number =>
      Math.max(...slopes.map((slope, i) => Math.abs(ends[9 + i] - 1000 - slope)));

    for (const scheme of [rk4(), tsit5(), implicitMidpoint(), kvaerno5(), radauIIA5()])
      it(`${scheme.name}: a state keeps what a step adds, though far below single precision's rounding`, () => {
        const line = ode<{slopes: tf.Tensor}>(({y, params}) => tf.add(tf.mul(y, 0), params.slopes));
        const run = simulate(line, {y: from}, {...steps, scheme});
        run.dispose();
        // In single precision a step of 10⁻³ from 1000 is rounded by up to 3·10⁻⁵.
        expect(off(run.values('y'))).to.be.below(2e-6);
      });

    for (const scheme of [verlet(), trapezoid(), newmark()])
      it(`${scheme.name}: so does a position`, () => {
        const free = mechanics<{slopes: tf.Tensor}>({
          mass: 1,
          forces: ({q, params}) => tf.mul(tf.mul(q, 0), params.slopes),
        });
        const run = simulate(free, {q: from, v: slopes}, {...steps, scheme});
        run.dispose();
        expect(off(run.values('q'))).to.be.below(2e-6);
      });

    const many = 20_000;
    const lengths: {readonly [name: string]: object} = {
      'rk4, a grid': {scheme: rk4(), dt: 1 / many, steps: many},
      'implicit midpoint, a grid': {scheme: implicitMidpoint(), dt: 1 / many, steps: many},
      'tsit5, adaptive steps': {scheme: tsit5(), dt: 1 / many, t1: 1, control: adaptive({max: 1 / many})},
    };
    for (const [name, options] of Object.entries(lengths))
      it(`${name}: cotangents are added in double precision, also those of products`, () => {
        const inputs = slopes.map((_, i) => 2 ** -i);
        const driven = ode<{slopes: tf.Tensor; weights: tf.Tensor2D}>(({y, params: {slopes: each, weights: W}}) =>
          tf.add(tf.add(tf.mul(y, 0), each), tf.reshape(tf.matMul(tf.tensor2d([inputs]), W), [9])),
        );
        const {gradient} = runIn(
          'single',
          driven,
          {y: slopes},
          {
            ...options,
            saveAt: [1],
            params: {slopes, weights: slopes.map(() => slopes)},
          },
          'y',
        );
        // y(1) = y(0) + p + Wᵀu, whose cotangent is 2y: by p that is 2y, by W the outer product of u and 2y.
        const cotangent = slopes.map(slope => 2 * (2 * slope + slope * inputs.reduce((sum, u) => sum + u)));
        const expected = [...cotangent, ...inputs.flatMap(u => cotangent.map(x => u * x)), ...cotangent];
        // Summed in single precision, 5·10⁻⁵ at a time, they would be off by some 10⁻⁴.
        expect(apart(gradient, expected)).to.be.below(3e-7);
      });
  });
});
