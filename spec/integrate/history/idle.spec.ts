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
import {Integrator} from '../../../lib/integrate/history/integrator.js';

/** How often steps were searched, while f runs. */
function looks<T>(f: () => T): {readonly result: T; readonly count: number} {
  const own = Integrator.prototype.eventsOnDense;
  let count = 0;
  Integrator.prototype.eventsOnDense = function (this: Integrator, theta: number) {
    if (theta === 0) count++;
    return own.call(this, theta);
  };
  try {
    return {result: f(), count};
  } finally {
    Integrator.prototype.eventsOnDense = own;
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

const told = (path: Trajectory<typeof swing>): unknown => ({
  states: [...path.values('y')],
  times: [...path.values('t')],
  events: path.events.map(({t, index, direction, before, after}) => ({t, index, direction, before, after})),
  status: path.status,
});

describe('Steps without events', () => {
  for (const [name, options] of Object.entries(runs))
    for (const saveAt of ['all', 'end', [0, 0.31, 0.9, 1.77, 3]] as const)
      it(`give what a search of every step gives: ${name}, saving ${String(saveAt)}`, () => {
        const given = {...options, params: {w: 4}, saveAt} as never;
        const run = (all: readonly Event[]): Trajectory<typeof swing> =>
          simulate(swing as never, {y: [1, 0]} as never, Object.assign({}, given, {events: all}));
        const searched = looks(() => run([...events, alwaysSearched as Event]));
        const tested = looks(() => run(events));
        assert.deepEqual(told(tested.result), told(searched.result));
        assert.isAbove(tested.result.events.length, 8);
        assert.isBelow(tested.count, 0.8 * searched.count);
      });
});
