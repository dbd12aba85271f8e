/** Events whose function jumps from one side of zero to the other, with a held input or otherwise. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  event,
  EventError,
  mechanics,
  ode,
  radauIIA5,
  rk4,
  ShapeError,
  signal,
  simulate,
  tsit5,
  type Event,
  type SimulateOptions,
} from '../../../lib/index.js';

const drift = mechanics({mass: 1, forces: ({q}) => tf.zerosLike(q)});
const accurate = adaptive({rtol: 1e-8, atol: 1e-10});
const settings: readonly [string, Pick<SimulateOptions, 'scheme' | 'dt' | 'control'>][] = [
  ['rk4, jumps at ends of steps', {scheme: rk4(), dt: 0.1}],
  ['rk4, jumps within steps', {scheme: rk4(), dt: 0.3}],
  ['tsit5, adaptive', {scheme: tsit5(), dt: 0.1, control: accurate}],
  ['radauIIA5, adaptive', {scheme: radauIIA5(), dt: 0.1, control: accurate}],
];
/** q passes u, which falls from 5 to 0.2 at t = 0.5. */
const passes = (then: Event['then']): Event =>
  event({when: ({q, params}) => tf.sub(q as tf.Tensor, params.u as tf.Tensor), direction: 'rising', then});
const falls = {u: signal([0, 0.5, 2], [5, 0.2, 0.2], 'hold')};

describe('a run without events', () => {
  it('takes a cotangent of none of them, as a batch gives to members where none happened', () => {
    const {trajectory, pullback} = simulate.vjp(drift, {q: 0, v: 1}, {scheme: rk4(), dt: 0.1, t1: 1, saveAt: 'end'});
    const {initial} = pullback({q: [0, 1], events: []});
    expect((initial.v as Float64Array)[0]).to.be.closeTo(1, 1e-14);
    expect(() => pullback({events: [1]})).to.throw(ShapeError, '0 events happened');
    trajectory.dispose();
  });
});

describe('events whose function jumps', () => {
  for (const [name, setting] of settings) {
    it(`${name}: with a held input, happen at its sample, whatever the state, and so are their derivatives`, () => {
      const options = {...setting, t1: 1.2, saveAt: 'end', inputs: falls} as const;
      // q = q₀ + v₀ t up to 0.5, and the rest of the way at half the speed.
      for (const [then, byQ, byV, end] of [
        ['stop', 1, 0.5, 0.5],
        [({v}: {v: tf.Tensor}) => ({v: tf.mul(v, 0.5)}), 1, 0.85, 0.85],
      ] as const) {
        const events = [passes(then as Event['then'])];
        const {trajectory, pullback} = simulate.vjp(drift, {q: 0, v: 1}, {...options, events});
        expect(trajectory.events.map(({t}) => t)).to.deep.equal([0.5]);
        expect(trajectory.values('q')[1]).to.be.closeTo(end, 1e-12);
        const {initial} = pullback({q: [0, 1]});
        expect((initial.q as Float64Array)[0]).to.be.closeTo(byQ, 1e-12);
        expect((initial.v as Float64Array)[0]).to.be.closeTo(byV, 1e-12);
        const ofTime = pullback({events: [1]}).initial;
        expect([(ofTime.q as Float64Array)[0], (ofTime.v as Float64Array)[0]].map(Math.abs)).to.deep.equal([0, 0]);
        const forward = simulate.jvp(drift, {q: 0, v: 1}, {...options, events}, {initial: {v: 1}});
        expect((forward.tangent.q as Float64Array)[1]).to.be.closeTo(byV, 1e-12);
        forward.trajectory.dispose();
        trajectory.dispose();
      }
    });

    it(`${name}: are followed by those that cross`, () => {
      const events = [passes(({q}) => ({q: tf.zerosLike(q as tf.Tensor)}))];
      for (const before of [5, 0.5]) {
        const inputs = {u: signal([0, 0.5, 2], [before, 0.2, 0.2], 'hold')};
        const path = simulate(drift, {q: 0, v: 1}, {...setting, t1: 1.19, saveAt: 'end', inputs, events});
        const times = path.events.map(({t}) => t);
        expect(times.length).to.equal(4);
        [0.5, 0.7, 0.9, 1.1].forEach((t, i) => expect(times[i]).to.be.closeTo(t, 1e-12));
        expect(path.values('q')[1]).to.be.closeTo(0.09, 1e-12);
        path.dispose();
      }
    });
  }

  it('a thermostat whose set point is held switches when it should', () => {
    type Read = {readonly y: tf.Tensor; readonly params: {readonly set: tf.Tensor}};
    const room = ode<{set: tf.Tensor}>(({y}) => {
      const [warmth, on] = tf.unstack(y);
      return tf.stack([tf.sub(tf.mul(on, 10), tf.mul(0.5, warmth)), tf.zerosLike(on)]);
    });
    const off = ({y, params: {set}}: Read): tf.Tensor => tf.sub(tf.gather(y, 0), tf.add(set, 0.5));
    const on = ({y, params: {set}}: Read): tf.Tensor => tf.sub(tf.gather(y, 0), tf.sub(set, 0.5));
    const events = [
      event<{set: tf.Tensor}>({when: at => off(at as unknown as Read), direction: 'rising', then: ({y}) => ({y: tf.mul(y as tf.Tensor, [1, 0])})}), // prettier-ignore
      event<{set: tf.Tensor}>({when: at => on(at as unknown as Read), direction: 'falling', then: ({y}) => ({y: tf.add(tf.mul(y as tf.Tensor, [1, 0]), [0, 1])})}), // prettier-ignore
    ];
    // Solved by hand: x = 20 + (x₀ − 20) e^(−t/2) where it heats, x₀ e^(−t/2) where it does not.
    const set = (t: number): number => (t < 1.5 ? 8 : t < 3 ? 5 : 9);
    const expected: number[] = [];
    let [t, x, heats] = [0, 0, true];
    while (t < 6) {
      const target = set(t) + (heats ? 0.5 : -0.5);
      const reached = heats ? x >= target : x <= target;
      const way = heats ? 2 * Math.log((20 - x) / (20 - target)) : 2 * Math.log(x / target);
      const next = reached ? t : t + way;
      const edge = [1.5, 3, 6].find(time => time > t) as number;
      const stop = Math.min(next, edge);
      x = heats ? 20 + (x - 20) * Math.exp(-(stop - t) / 2) : x * Math.exp(-(stop - t) / 2);
      t = stop;
      if (next > edge) continue;
      if (t >= 6) break;
      expected.push(t);
      heats = !heats;
    }
    const inputs = {set: signal([0, 1.5, 3, 8], [8, 5, 9, 9], 'hold')};
    for (const setting of [
      {scheme: rk4(), dt: 0.01},
      {scheme: tsit5(), dt: 0.1, control: accurate},
    ]) {
      const path = simulate(room, {y: [0, 1]}, {...setting, t1: 6, saveAt: 'end', inputs, events});
      expect(path.events.length).to.equal(expected.length);
      path.events.forEach(({t: at}, i) => expect(at).to.be.closeTo(expected[i], 1e-7));
      path.dispose();
    }
  });

  it('without a known time happen where they should, and their derivative is an error', () => {
    const when = ({q, t}: {q?: tf.Tensor; t: tf.Tensor}): tf.Tensor =>
      tf.sub(q as tf.Tensor, tf.where(tf.less(t, 0.5), tf.fill([], 5), tf.fill([], 0.2)));
    const halved = event({when, direction: 'rising', then: ({v}) => ({v: tf.mul(v as tf.Tensor, 0.5)})});
    for (const [, setting] of settings) {
      const run = simulate.vjp(drift, {q: 0, v: 1}, {...setting, t1: 1.2, saveAt: 'end', events: [halved]});
      expect(run.trajectory.events.length).to.equal(1);
      expect(run.trajectory.values('q')[1]).to.be.closeTo(0.85, 1e-9);
      expect(() => run.pullback({q: [0, 1]}))
        .to.throw(EventError, 'jumps through zero')
        .with.property('code', 'jumping');
      run.trajectory.dispose();
    }
  });
});
