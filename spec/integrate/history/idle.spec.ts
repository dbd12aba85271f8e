/** Steps whose own test says that no event can happen in them (step/idle.ts) are not searched for crossings. */
import * as tf from '@tensorflow/tfjs';
import {assert} from 'chai';
import {
  adaptive,
  bdf2,
  event,
  kvaerno5,
  ode,
  rk4,
  simulate,
  trapezoid,
  tsit5,
  type Event,
  type Trajectory,
} from '../../../lib/index.js';
import {wasm} from '../../../lib/engine/index.js';
import {AdaptiveBlocks} from '../../../lib/integrate/history/adaptive-blocks.js';
import {Integrator} from '../../../lib/integrate/history/integrator.js';

interface Watched<T> {
  readonly result: T;
  /** How many steps were searched, and how many were taken one by one. */
  readonly searches: number;
  readonly steps: number;
}

function watched<T>(f: () => T): Watched<T> {
  const {eventsOnDense: own, take} = Integrator.prototype;
  let [searches, steps] = [0, 0];
  Integrator.prototype.take = function (this: Integrator, ...given) {
    steps++;
    return take.apply(this, given);
  };
  Integrator.prototype.eventsOnDense = function (this: Integrator, theta: number) {
    if (theta === 0) searches++;
    return own.call(this, theta);
  };
  try {
    return {result: f(), searches, steps};
  } finally {
    Integrator.prototype.eventsOnDense = own;
    Integrator.prototype.take = take;
  }
}

/** Zero throughout: it never happens, and its side of zero is never known, so that every step is searched. */
const alwaysSearched = event({when: ({t}) => tf.mul(t, 0), then: 'record', name: 'zero'});

const record = (when: Event['when'], direction: Event['direction'] = 'both'): Event =>
  event({when, direction, then: 'record'}) as Event;

/** Two zeros within one step, a touch, a crossing near a step's end, functions of time alone, one that jumps. */
const events: readonly Event[] = [
  record(({y, t}) => tf.sub(tf.slice(y, 0, 1), tf.add(0.5, tf.mul(0.1, t)))),
  record(({t}) => tf.sub(tf.square(tf.sub(t, 1.0123)), 1e-4)),
  record(({t}) => tf.square(tf.sub(t, 0.7))),
  record(({t}) => tf.sub(tf.sin(tf.mul(t, 9)), 0.9), 'rising'),
  record(({y}) => tf.sub(tf.sum(tf.square(y)), 0.81)),
  record(({y, t}) => tf.sub(tf.exp(tf.mul(-400, tf.square(tf.sub(t, 1.525)))), tf.slice(y, 1, 1))),
  event({
    when: ({y}) => tf.add(tf.slice(y, 1, 1), 0.6),
    direction: 'falling',
    then: ({y}) => ({y: tf.mul(y, tf.tensor1d([1, -0.8]))}),
  }) as Event,
  record(({t}) => tf.sub(t, 0.9)),
];

const swing = ode<{w: tf.Tensor}>(({y, t, params}) => {
  const [a, b] = [tf.slice(y, 0, 1), tf.slice(y, 1, 1)];
  return tf.concat([b, tf.sub(tf.mul(0.1, tf.sin(t)), tf.mul(params.w, a))]);
});

const runs = {
  rk4: {scheme: rk4(), dt: 0.05, steps: 60},
  trapezoid: {scheme: trapezoid(), dt: 0.05, steps: 60},
  bdf2: {scheme: bdf2(), dt: 0.05, steps: 60},
  'tsit5 on a grid': {scheme: tsit5(), dt: 0.03, steps: 100},
  'tsit5, adaptive': {scheme: tsit5(), dt: 0.05, t1: 3, control: adaptive({rtol: 1e-9})},
  'kvaerno5, adaptive': {scheme: kvaerno5(), dt: 0.05, t1: 3, control: adaptive({rtol: 1e-8})},
  'trapezoid, adaptive': {scheme: trapezoid(), dt: 0.05, t1: 3, control: adaptive({rtol: 1e-4})},
};

/** Those whose steps are taken in blocks. */
const inBlocks = {rk4: true, trapezoid: true, bdf2: true, 'tsit5 on a grid': true, 'tsit5, adaptive': true};

const told = (path: Trajectory<typeof swing>): unknown => ({
  states: [...path.values('y')],
  times: [...path.values('t')],
  events: path.events.map(({t, index, direction, before, after}) => ({t, index, direction, before, after})),
  status: path.status,
});

const savings = ['all', 'end', [0, 0.31, 0.9, 1.77, 3]] as const;
const {after} = AdaptiveBlocks;

describe('Steps without events', () => {
  beforeEach(() => (AdaptiveBlocks.after = 0));
  afterEach(() => (AdaptiveBlocks.after = after));

  for (const [name, options] of Object.entries(runs))
    for (const saveAt of savings)
      it(`give what a search of every step gives: ${name}, saving ${String(saveAt)}`, () => {
        const given = {...options, params: {w: 4}, saveAt, engine: wasm} as never;
        const run = (all: readonly Event[]): Trajectory<typeof swing> =>
          simulate(swing as never, {y: [1, 0]} as never, Object.assign({}, given, {events: all}));
        const searched = watched(() => run([...events, alwaysSearched as Event]));
        const tested = watched(() => run(events));
        assert.deepEqual(told(tested.result), told(searched.result));
        assert.isAbove(tested.result.events.length, 8);
        assert.isBelow(tested.searches, 0.9 * searched.searches);
      });

  const never = [
    record(({y}) => tf.sub(tf.slice(y, 0, 1), 7)),
    event({when: ({t}) => tf.sub(tf.sin(t), 1.5), then: ({y}) => ({y: tf.mul(y, 2)})}) as Event,
    record(({y, t}) => tf.add(tf.sum(tf.square(y)), tf.add(t, 0.3))),
  ];

  for (const [name, options] of Object.entries(runs))
    for (const saveAt of savings)
      it(`are those of a run that has none: ${name}, saving ${String(saveAt)}`, () => {
        const given = {...options, params: {w: 4}, saveAt, engine: wasm} as never;
        const asked = (all: readonly Event[]): typeof given =>
          Object.assign({}, given, all.length === 0 ? {} : {events: all});
        const run = (all: readonly Event[]): readonly number[] => {
          const {trajectory, pullback} = simulate.vjp(swing as never, {y: [1, 0]} as never, asked(all));
          const path = trajectory as unknown as Trajectory<typeof swing>;
          const {params, initial} = pullback({y: path.values('y').map((_, i) => Math.sin(i))} as never) as unknown as {
            params: {w: ArrayLike<number>};
            initial: {y: Float64Array};
          };
          return [...path.values('t'), ...path.values('y'), ...Array.from(params.w), ...initial.y];
        };
        const plain = run([]);
        const idle = run(never);
        const {searches, steps} = watched(() => simulate(swing as never, {y: [1, 0]} as never, asked(never)));
        // Estimates of errors are differences, whose rounding depends on what else their program computes.
        const close = 'control' in options ? 1e-8 : 1e-13;
        idle.forEach((value, i) => assert.closeTo(value, plain[i], close * (1 + Math.abs(value))));
        // The sides of zero are found in the first step, or in its two halves.
        assert.isAtMost(searches, 2);
        if (name in inBlocks && saveAt !== 'all') assert.isBelow(steps, 12);
      });

  it('are not searched for borders that cannot be crossed at present, before and after a motion slides', () => {
    const relay = ode(({y, t}) => {
      const [a, b] = [tf.slice(y, 0, 1), tf.slice(y, 1, 1)];
      return tf.concat([
        tf.where(tf.greater(a, b), tf.fill([1], -2), tf.fill([1], 1)),
        tf.reshape(tf.mul(tf.cos(t), 0.5), [1]),
      ]);
    });
    const options = {scheme: rk4(), dt: 0.01, steps: 400, engine: wasm, switches: 'locate', saveAt: 'end'} as const;
    const {result, searches, steps} = watched(() => simulate(relay, {y: [3, 0]}, options));
    // Down by 2t until 3 − 2t = sin(t)/2, and along b from there.
    const b = Math.sin(4) / 2;
    assert.closeTo(result.values('y')[2], b, 1e-9);
    assert.closeTo(result.values('y')[3], b, 1e-9);
    assert.isAtMost(searches, 12);
    assert.isBelow(steps, 60);
  });
});
