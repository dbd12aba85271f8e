/** Events whose zero lies at a step's end but for rounding, and events closer together than dense output tells: each happens once. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {EventSpec, RunState, Scheme, StepControl} from '../../../lib/index.js';
import {
  adaptive,
  batch,
  event,
  explicitEuler,
  generalizedAlpha,
  implicitEuler,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  rk4,
  simulate,
  trapezoid,
  tsit5,
} from '../../../lib/index.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

interface Places {
  readonly at: tf.Tensor;
  readonly scale: tf.Tensor;
}

/** y' = 1 and q' = 1, so that y and q are the time. */
const clock = ode<Places>(({y}) => tf.onesLike(y));
const moving = mechanics<Places>({mass: 1, forces: ({q}) => tf.zerosLike(q)});

/** `scale` times the distance from `at`, by the time or by the state. */
const when: {readonly [of: string]: EventSpec<Places>['when']} = {
  t: ({t, params}) => tf.mul(params.scale, tf.sub(t, params.at)),
  y: ({y, params}) => tf.mul(params.scale, tf.sub(y, params.at)),
  q: ({q, params}) => tf.mul(params.scale, tf.sub(q, params.at)),
};
const thens: {readonly [kind: string]: EventSpec<Places>['then']} = {
  stop: 'stop',
  record: 'record',
  jump: () => ({}),
};

/** A multiple of dt, as users write it and as it rounds. */
const place = fc
  .record({
    dt: fc.oneof(fc.constantFrom(0.1, 0.3, 0.07, 0.7, 1 / 3, 0.6), fc.double({min: 0.01, max: 2, noNaN: true})),
    k: fc.integer({min: 1, max: 25}),
    t0: fc.constantFrom(0, 0.1, -1, 1e3),
    as: fc.constantFrom(
      (x: number) => x,
      (x: number) => Number(x.toPrecision(12)),
      (x: number) => x * (1 + Number.EPSILON),
      (x: number) => x * (1 - Number.EPSILON),
    ),
  })
  .map(({dt, k, t0, as}) => ({dt, k, t0, at: t0 + as(k * dt)}));
const crossing = fc.record({
  scale: fc.constantFrom(1, -1, 1e3, -1e-3),
  both: fc.boolean(),
  then: fc.constantFrom('stop', 'record', 'jump'),
});

interface Case {
  readonly dt: number;
  readonly t0: number;
  readonly at: number;
  readonly scale: number;
  readonly both: boolean;
  readonly then: string;
}

/** Times at which the event happened in a run whose parts take `lengths` in turn. */
function times(
  scheme: Scheme,
  of: 't' | 'y' | 'q',
  {dt, t0, at, scale, both, then}: Case,
  lengths: readonly RunLength[],
): number[] {
  const direction = both ? 'both' : scale > 0 ? 'rising' : 'falling';
  const options = {scheme, dt, params: {at, scale}, events: [event({when: when[of], direction, then: thens[then]})]};
  const found: number[] = [];
  let state: RunState | undefined;
  for (const length of lengths) {
    const settings = {...options, saveAt: 'end', ...length} as const;
    const run =
      of === 'q'
        ? simulate(moving, state ?? {q: t0, v: 1, t: t0}, settings)
        : simulate(clock, state ?? {y: t0, t: t0}, settings);
    found.push(...run.events.map(({t}) => t));
    state = run.state();
    run.dispose();
    if (run.status === 'event') break;
  }
  return found;
}

type RunLength = {readonly steps: number} | {readonly t1: number; readonly control: StepControl};

const once = (found: readonly number[], {at}: Case): void => {
  expect(found).to.have.lengthOf(1);
  expect(found[0]).to.be.closeTo(at, 1e-12 * Math.max(1, Math.abs(at)));
};

describe('an event at the end of a step happens once', () => {
  const given = fc.tuple(place, crossing).map(([{k, ...where}, how]) => ({k, case: {...where, ...how}}));
  const motions: readonly (readonly [Scheme, 't' | 'y' | 'q'])[] = [
    [rk4(), 't'],
    [tsit5(), 'y'],
    [trapezoid(), 'y'],
    [kvaerno5(), 't'],
    [newmark(), 'q'],
    [generalizedAlpha(), 'q'],
  ];
  for (const [scheme, of] of motions) {
    it(`${scheme.name}, ${of}: on the grid, in one run or one that ends there and goes on`, () => {
      fc.assert(
        fc.property(given, fc.boolean(), ({k, case: each}, parted) =>
          once(times(scheme, of, each, parted ? [{steps: k}, {steps: 2}] : [{steps: k + 2}]), each),
        ),
        runs(15),
      );
    });
  }

  it('adaptive steps, that end there or go on', () => {
    fc.assert(
      fc.property(given, fc.integer({min: 0, max: 2}), ({k, case: each}, more) => {
        const {dt, t0} = each;
        const t1 = Math.max(t0 + (k + more) * dt, each.at);
        once(times(tsit5(), 't', each, [{t1, control: adaptive({rtol: 1e-6, max: dt})}]), each);
      }),
      runs(15),
    );
  });

  it('members of a batch, each at a time of its own', () => {
    const events = [event({when: when.y, direction: 'rising', then: thens.jump})];
    const places = [3, 7, 10, 13, 20].map(k => Number((0.3 * k).toPrecision(12)));
    const paths = batch(
      clock,
      places.map(at => ({initial: {y: 0}, params: {at, scale: 1}})),
      {scheme: rk4(), dt: 0.3, steps: 22, saveAt: 'end', events},
    );
    expect(paths.map(path => path.events.length)).to.deep.equal(places.map(() => 1));
    for (const path of paths) path.dispose();
  });

  it('of several, what the others do leaves it as it is', () => {
    // Multiples of 0.3, one of them twice; others jump at the ends of steps before and after it, and one only records.
    const at = [2.1, 3, 3, 3.9, 2.4];
    const events = at.map((place, i) =>
      event({
        when: ({t}) => tf.sub(t, place),
        direction: i % 2 === 0 ? 'rising' : 'both',
        then: i === 2 ? 'record' : () => ({}),
      }),
    );
    const run = simulate(
      ode(({y}) => tf.onesLike(y)),
      {y: 0},
      {scheme: rk4(), dt: 0.3, steps: 15, saveAt: 'end', events},
    );
    run.dispose();
    expect(run.events.map(({index}) => index).sort()).to.deep.equal([0, 1, 2, 3, 4]);
  });
});

describe('two events closer than dense output tells', () => {
  // y' = −y² from 1 by steps of 1: the time at which y is c is the scheme's own, found by a run with this event alone.
  const decay = ode(({y}) => tf.neg(tf.square(y)));
  const level = event<{readonly at: tf.Tensor}>({
    when: ({y}) => tf.sub(y, 0.7),
    direction: 'falling',
    then: () => ({}),
  });
  for (const scheme of [implicitEuler(), trapezoid(), rk4(), explicitEuler()]) {
    slow(`each happens once, at its time: ${scheme.name}`, () => {
      const options = {scheme, dt: 1, steps: 3, saveAt: 'end'} as const;
      const [{t}] = simulate(decay, {y: 1}, {...options, events: [level]}).events;
      for (const gap of [-0.01, -1e-4, 1e-9, 1e-3]) {
        const moment = event({when: at => tf.sub(at.t, t + gap), then: () => ({})});
        for (const events of [
          [level, moment],
          [moment, level],
        ]) {
          const run = simulate(decay, {y: 1}, {...options, events});
          run.dispose();
          const found = run.events.map(({index, t: time}) => ({of: events[index], time}));
          expect(found.map(({of}) => of)).to.deep.equal(gap < 0 ? [moment, level] : [level, moment]);
          expect(found.find(({of}) => of === moment)?.time).to.be.closeTo(t + gap, 1e-13);
          // Where the other one cuts a step, this one's time is that of two steps of the scheme.
          if (gap > 0) expect(found[0].time).to.be.closeTo(t, 1e-13);
        }
      }
    });
  }
});

describe('a jump that turns the function of its own event back', () => {
  // x' = 0.2 − 0.9 m, with the mode m toggled at x = 0, a border that both modes push towards.
  const relay = ode(({y}) => {
    const [x, m] = tf.unstack(y);
    return tf.stack([tf.sub(0.2, tf.mul(0.9, m)), tf.zerosLike(x)]);
  });
  const border = (direction?: 'rising' | 'falling', mode?: number) =>
    event({
      name: direction ?? 'toggle',
      direction,
      when: ({y}) => tf.gather(y, 0),
      then: ({y}) => ({y: mode === undefined ? tf.mul(y, [1, -1]) : tf.concat([tf.slice(y, [0], [1]), [mode]])}),
    });
  const run = (events: ReturnType<typeof border>[]) => {
    const path = simulate(relay, {y: [0.4, 1]}, {scheme: rk4(), dt: 0.05, t1: 2, saveAt: 'end', events});
    path.dispose();
    return path.warnings;
  };

  it('is told, with its name, where both directions count', () => {
    const told = run([border()]);
    expect(told).to.have.lengthOf(1);
    expect(told[0]).to.match(/^The jump of events\[0\] \(toggle\) at t = 0.571428571429 turned its function back/);
  });

  it('is an error that names the event where each direction has one', () => {
    for (const events of [
      [border('rising', 1), border('falling', -1)],
      [border('falling', -1), border('rising', 1)],
    ])
      expect(() => run(events)).to.throw(/events\[[01]\] \((rising|falling)\) happened/);
  });

  it('and is what a bounce does, in its direction', () => {
    expect(run([border('falling')])).to.deep.equal([]);
  });
});
