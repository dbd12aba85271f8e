/**
 * Adaptive steps in blocks of one call against the same steps one by one, by an engine that has no such calls and by the interpreter: states, times,
 * counters, errors and gradients to the bit, over random systems, tolerances, controllers, saved times and budgets.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Engine} from '../../../lib/engine/engine.js';
import {TimedBlocks} from '../../../lib/adjoint/timed-blocks.js';
import {AdaptiveBlocks} from '../../../lib/integrate/history/adaptive-blocks.js';
import {wasm, wasmSingle} from '../../../lib/engine/wasm/wasm.js';
import {interpreter} from '../../../lib/engine/interpreter.js';
import type {AdaptiveOptions, SaveAt, SimulateOptions} from '../../../lib/index.js';
import {adaptive, dopri5, event, implicitAdjoint, mechanics, ode, simulate, tsit5} from '../../../lib/index.js';
import {stepByStep} from '../../simulate/step-by-step.js';
import {cases, runs} from '../../property.js';
import {slow} from '../../tiers.js';

const count = cases(60);

type P = Readonly<Record<string, tf.Tensor>>;

/** Blocks that were run, forwards and back. */
const called = {steps: 0, pulls: 0};

/** Runs that came to a gradient. */
let completed = 0;

const pairs = [wasm, wasmSingle].map(engine => [engine, stepByStep(engine, `${engine.name}, step by step`)] as const);

/** A network of two layers, driven or not, of n numbers. */
const network = (n: number, driven: boolean) =>
  ode(({y, t, params}) => {
    const {w, b} = params as P;
    const slope = tf.tanh(tf.add(tf.sum(tf.mul(w, tf.reshape(y, [1, n])), 1), b));
    return driven
      ? tf.add(tf.mul(slope, 3), tf.mul(y, tf.cos(tf.mul(t, 5))))
      : tf.sub(tf.mul(slope, 3), tf.mul(y, 0.3));
  });
const springs = mechanics({
  mass: [1, 2],
  forces: [
    ({q, params}) => tf.neg(tf.mul((params as P).k, tf.sinh(q))),
    ({v, t}) => tf.add(tf.mul(v, -0.2), tf.mul(tf.cos(tf.mul(t, 3)), 0.4)),
  ],
});

const numbers = (seed: number, count: number): number[] =>
  Array.from({length: count}, (_, i) => Math.fround(Math.sin(12.9898 * (i + 1) + seed) * 1.5));

/** All that a run and its gradient say. */
function outcome(run: Parameters<typeof simulate.vjp>, seed: number): unknown {
  const [system, initial, options] = run;
  try {
    const {trajectory, pullback} = simulate.vjp(system, initial, options);
    const {stats, status, warnings} = trajectory;
    const series = options.params !== undefined && 'k' in options.params ? ['q', 'v'] : ['y'];
    const values = series.map(name => [...trajectory.values(name as 'y')]);
    const times = [...trajectory.values('t')];
    const gradient = pullback(
      Object.fromEntries(series.map((name, i) => [name, numbers(seed + i, values[i].length)])) as never,
    );
    const {milliseconds: _m, engine: _e, ...counted} = stats as unknown as Record<string, unknown>;
    const state = JSON.stringify(trajectory.state());
    trajectory.dispose();
    completed++;
    return {values, times, state, status, warnings, counted, gradient: plain(gradient)};
  } catch (error) {
    return {error: (error as Error).message};
  }
}

const plain = (tree: unknown): unknown =>
  tree instanceof Float64Array
    ? [...tree]
    : typeof tree === 'object' && tree !== null
      ? Object.fromEntries(
          Object.entries(tree)
            .filter(([name]) => name !== 'recomputedSteps')
            .map(([name, one]) => [name, plain(one)]),
        )
      : tree;

const settings = fc.record({
  seed: fc.integer({min: 0, max: 1e6}),
  n: fc.integer({min: 1, max: 5}),
  kind: fc.constantFrom('network', 'driven', 'springs'),
  scheme: fc.constantFrom(tsit5(), dopri5()),
  rtol: fc.constantFrom(0, 1e-2, 1e-4, 1e-7),
  atol: fc.constantFrom(1e-3, 1e-5, 1e-8),
  dt: fc.constantFrom(2, 0.1, 0.003),
  backwards: fc.boolean(),
  control: fc.constantFrom<AdaptiveOptions>(
    {},
    {max: 0.07},
    {growth: 20, controller: {integral: 1}},
    {controller: {proportional: 0.2, integral: 0.4, derivative: 0.05}, safety: 0.7},
    {shrinking: 0.5, growth: 1.5},
    {first: 'auto'},
    {min: 0.02},
  ),
  end: fc.constantFrom<Pick<SimulateOptions, 't1' | 'steps'>>(
    {t1: 2},
    {t1: 0.05},
    {steps: 23},
    {steps: 150},
    {t1: 2, steps: 9},
  ),
  saving: fc.constantFrom<'all' | 'third' | 'end' | 'few' | 'many'>('all', 'third', 'end', 'few', 'many'),
  memory: fc.constantFrom(Infinity, 4000, 300),
});

const [take, pull, blocksAfter] = [AdaptiveBlocks.prototype.take, TimedBlocks.prototype.pull, AdaptiveBlocks.after];

describe('adaptive steps in blocks', () => {
  before(() => {
    AdaptiveBlocks.after = 0;
    AdaptiveBlocks.prototype.take = function (...given) {
      const attempts = take.apply(this, given);
      if (attempts > 0) called.steps++;
      return attempts;
    };
    TimedBlocks.prototype.pull = function (...given) {
      called.pulls++;
      return pull.apply(this, given);
    };
  });
  after(() => {
    AdaptiveBlocks.after = blocksAfter;
    AdaptiveBlocks.prototype.take = take;
    TimedBlocks.prototype.pull = pull;
  });

  slow('are those taken one by one, to the bit', function () {
    this.timeout(600_000);
    fc.assert(
      fc.property(
        settings,
        fc.constantFrom<readonly [Engine, Engine]>(...pairs, [pairs[0][0], interpreter]),
        (s, [together, apart]) => {
          const way = s.backwards ? -1 : 1;
          const end = {...s.end, ...(s.end.t1 === undefined ? {} : {t1: way * s.end.t1})};
          const inside = (count: number): number[] =>
            Array.from({length: count}, (_, i) => (way * (s.end.t1 ?? 1) * (i + (i % 3) / 7)) / count);
          const saveAt: SaveAt =
            s.saving === 'third'
              ? {every: 3}
              : s.saving === 'few' || s.saving === 'many'
                ? s.end.t1 === undefined
                  ? 'all'
                  : inside(s.saving === 'few' ? 7 : 400)
                : s.saving;
          const common = {
            scheme: s.scheme,
            dt: way * s.dt,
            ...end,
            saveAt,
            control: adaptive({rtol: s.rtol, atol: s.atol, ...s.control}),
            adjoint: implicitAdjoint({memory: s.memory}),
          } as unknown as SimulateOptions;
          const {n} = s;
          const run = (engine: Engine): Parameters<typeof simulate.vjp> =>
            s.kind === 'springs'
              ? [springs, {q: [1, -0.4], v: [0.2, 0.3]}, {...common, engine, params: {k: [3, 5]}}]
              : [
                  network(n, s.kind === 'driven'),
                  {y: numbers(s.seed, n)},
                  {
                    ...common,
                    engine,
                    params: {
                      w: [numbers(s.seed, n), ...Array.from({length: n - 1}, (_, i) => numbers(s.seed + i, n))],
                      b: numbers(s.seed + 9, n),
                    },
                  },
                ];
          expect(outcome(run(together), s.seed)).to.deep.equal(outcome(run(apart), s.seed));
        },
      ),
      runs(60, 20240229),
    );
    expect(completed).to.be.above(count);
    expect(called.steps).to.be.above(count);
    expect(called.pulls).to.be.above(count / 4);
  });

  slow('give the bits of the interpreter', () => {
    const run = (engine: Engine): Parameters<typeof simulate.vjp> => [
      network(3, true),
      {y: [0.3, -0.4, 1]},
      {
        scheme: tsit5(),
        engine,
        dt: 0.05,
        t1: 3,
        saveAt: [0, 0.1, 0.11, 0.5, 2.9, 3],
        control: adaptive({rtol: 1e-6, atol: 1e-6}),
        params: {
          w: [
            [1, 2, -1],
            [0.3, 0.1, 2],
            [-2, 1, 0.4],
          ],
          b: [0.1, 0.2, 0.3],
        },
      },
    ];
    expect(outcome(run(pairs[0][0]), 3)).to.deep.equal(outcome(run(interpreter), 3));
  });

  it('end before a state that is not finite, and go on with a shorter step', () => {
    const before = called.steps;
    // √(1 − y²) is none beyond y = 1, which long steps try.
    const circle = ode(({y}) => tf.sqrt(tf.sub(1, tf.square(y))));
    const options = {scheme: tsit5(), dt: 3, t1: 1.4, control: adaptive({rtol: 1e-3, atol: 1e-3, max: 3})};
    const [together, apart] = pairs[0].map(engine => outcome([circle, {y: 0}, {...options, engine}], 1));
    expect(together).to.deep.equal(apart);
    expect(JSON.stringify(together)).to.include('not-finite');
    expect(called.steps).to.be.above(before);
  });

  it('fail where the steps one by one fail, in the same way', () => {
    const before = called.steps;
    // y = 1/(1 − t), of which no step reaches beyond t = 1.
    const growing = ode(({y}) => tf.square(y));
    const options = {scheme: tsit5(), dt: 0.1, t1: 2, saveAt: [0.5, 1.5], control: adaptive({rtol: 1e-6, atol: 1e-6})};
    const [together, apart, oracle] = [...pairs[0], interpreter].map(engine =>
      outcome([growing, {y: 1}, {...options, engine}], 1),
    );
    expect(together).to.deep.equal(apart);
    expect(together).to.deep.equal(oracle);
    expect(JSON.stringify(together)).to.match(/^{"error":"The next step of tsit5/);
    expect(called.steps).to.be.above(before);
  });

  it('are short in time: a long run tells its progress and is aborted', () => {
    const controller = new AbortController();
    const told: number[] = [];
    const run = (): unknown =>
      simulate(
        network(4, true),
        {y: [1, 2, 3, 4]},
        {
          scheme: tsit5(),
          engine: pairs[0][0],
          dt: 1e-3,
          t1: 1e6,
          saveAt: 'end',
          control: adaptive({rtol: 1e-9, atol: 1e-9}),
          params: {w: [numbers(1, 4), numbers(2, 4), numbers(3, 4), numbers(4, 4)], b: numbers(5, 4)},
          signal: controller.signal,
          onProgress: ({step}) => {
            if (told.push(step) === 3) controller.abort();
          },
        },
      );
    expect(run).to.throw().with.property('name', 'AbortError');
    // Between two reports lie far more steps than a block holds, as a report comes by time.
    expect(told).to.have.length(3);
    expect(told[2] - told[1]).to.be.above(64);
  });

  it('end before a step in which an event happens', () => {
    const before = called.steps;
    const crossing = event({when: ({y}) => tf.sub(y, 0.5), then: 'record'});
    const [found, alone] = pairs[0].map(engine => {
      const options = {scheme: tsit5(), dt: 0.1, t1: 1, control: adaptive({rtol: 1e-4}), events: [crossing], engine};
      const path = simulate(
        ode(({y}) => tf.neg(y)),
        {y: 1},
        options,
      );
      path.dispose();
      return [path.events[0].t, ...path.values('t'), ...path.values('y')];
    });
    expect(found[0]).to.be.closeTo(Math.LN2, 1e-4);
    expect(found).to.deep.equal(alone);
    expect(called.steps).to.be.above(before);
  });
});
