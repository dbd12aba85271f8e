/** Gradients along a step history: states between steps, jumps, times of events, adaptive steps; by cotangents, tangents and differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, SimulateOptions} from '../../../lib/index.js';
import {
  adaptive,
  bilateral,
  dopri5,
  event,
  gaussLegendre,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  trapezoid,
  tsit5,
  verlet,
} from '../../../lib/index.js';
import {doubleEngines} from '../../simulate/engines.js';
import {dot, slope} from '../../simulate/numbers.js';
import type {P} from './swing.js';
import {hit, pass, swing, times} from './swing.js';
import {slow} from '../../tiers.js';

const kick = event({when: ({v}) => tf.sum(v), then: ({v}) => ({v: tf.add(v, [0.1, -0.3])})});
const halt = event({when: ({q, t}) => tf.sub(tf.sum(q), tf.add(-0.9, tf.mul(0.1, t))), then: 'stop'});

const base = {initial: {q: [1, 0.7], v: [0.2, -0.1]}, params: {k: [3, 5], c: 0.4, e: 0.7}};
const direction = {initial: {q: [0.3, -0.5], v: [0.2, 0.9]}, params: {k: [0.5, -1], c: 0.2, e: -0.4}};
const plus = (s: number, x: readonly number[], d: readonly number[]): number[] => x.map((value, i) => value + s * d[i]);
const movedInitial = (s: number): typeof base.initial => ({
  q: plus(s, base.initial.q, direction.initial.q),
  v: plus(s, base.initial.v, direction.initial.v),
});
const movedParams = (s: number): typeof base.params => ({
  k: plus(s, base.params.k, direction.params.k),
  c: base.params.c + s * direction.params.c,
  e: base.params.e + s * direction.params.e,
});
const weight = (n: number, phase: number): Float64Array =>
  Float64Array.from({length: n}, (_, i) => Math.sin(2 * i + phase));

/** The derivative of one number made of all the run gives, along one direction: by cotangents, by a tangent, by differences. */
function derivatives(options: SimulateOptions): {
  pulled: number;
  pushed: number;
  difference: () => number;
  happened: number;
} {
  const value = (trajectory: {
    values(name: 'q' | 'v'): Float64Array;
    events: readonly {readonly t: number}[];
  }): number => {
    const q = trajectory.values('q');
    const t = trajectory.events.map(one => one.t);
    return dot(weight(q.length, 1), q) + dot(weight(q.length, 2), trajectory.values('v')) + dot(weight(t.length, 3), t);
  };
  const all = {...options, params: base.params};
  const {trajectory, pullback} = simulate.vjp(swing, base.initial, all);
  const n = trajectory.values('q').length;
  const happened = trajectory.events.length;
  const {initial, params} = pullback({q: weight(n, 1), v: weight(n, 2), events: weight(happened, 3)});
  const p = params as Readonly<Record<string, Float64Array>>;
  const {tangent} = simulate.jvp(swing, base.initial, all, direction);
  return {
    happened,
    pulled:
      dot(initial.q as Float64Array, direction.initial.q)
      + dot(initial.v as Float64Array, direction.initial.v)
      + dot(p.k, direction.params.k)
      + p.c[0] * direction.params.c
      + p.e[0] * direction.params.e,
    pushed:
      dot(weight(n, 1), tangent.q) + dot(weight(n, 2), tangent.v) + dot(weight(happened, 3), tangent.events ?? []),
    difference: () => slope(s => value(simulate(swing, movedInitial(s), {...options, params: movedParams(s)})), 1e-3),
  };
}

describe('gradients along a history', () => {
  const schemes: readonly Scheme[] = [
    trapezoid(),
    newmark(),
    rk4(),
    implicitMidpoint(),
    implicitEuler(),
    verlet(),
    dopri5(),
    tsit5(),
    sdirk2(),
    kvaerno3(),
    kvaerno5(),
    radauIIA5(),
    gaussLegendre({stages: 4}),
  ];
  for (const scheme of schemes) {
    slow(`${scheme.name}: jumps, noted events and states between steps`, () => {
      const {pulled, pushed, difference, happened} = derivatives({
        scheme,
        dt: 0.1,
        t1: 1.9,
        saveAt: times,
        events: [hit, pass, kick],
      });
      expect(happened).to.be.at.least(4);
      expect(pulled / pushed).to.be.closeTo(1, 1e-12);
      expect(difference() / pushed).to.be.closeTo(1, 1e-7);
    });
  }

  for (const {name} of doubleEngines) {
    it(`a run that an event stops, all its states saved: ${name}`, () => {
      const {pulled, pushed, difference, happened} = derivatives({
        scheme: newmark(),
        dt: 0.1,
        t1: 5,
        events: [pass, hit, halt],
        engine: name,
      });
      expect(happened).to.be.at.least(3);
      expect(pulled / pushed).to.be.closeTo(1, 1e-12);
      expect(difference() / pushed).to.be.closeTo(1, 1e-7);
    });
  }

  slow('tangent and cotangent are of the same map where steps are adaptive', () => {
    for (const scheme of [...schemes.slice(0, 4), sdirk2(), kvaerno5(), radauIIA5()]) {
      const {pulled, pushed} = derivatives({
        scheme,
        dt: 0.1,
        t1: 1.9,
        saveAt: times,
        events: [hit, kick],
        control: adaptive({rtol: 1e-4}),
      });
      expect(pulled / pushed).to.be.closeTo(1, 1e-12);
    }
  });

  it('with a tolerance that goes to zero they go to the derivative of the motion itself', () => {
    const options = {scheme: rk4(), dt: 0.01, t1: 1.9, saveAt: times, events: [hit, kick]};
    const exact = derivatives({...options, dt: 1 / 400}).pushed;
    // A step's error is of h⁵ and so is that of its derivative; what the lengths' own dependence adds is as small as the tolerance.
    for (const rtol of [1e-6, 1e-9]) {
      const {pulled} = derivatives({...options, control: adaptive({rtol, atol: rtol})});
      expect(Math.abs(pulled / exact - 1)).to.be.below(1e3 * rtol);
    }
  });

  slow('the same bit for bit within every budget of memory', () => {
    for (const [control, scheme] of [
      [undefined, newmark()],
      [adaptive({rtol: 1e-4}), trapezoid()],
      [adaptive({rtol: 1e-4}), rk4()],
      [adaptive({rtol: 1e-4}), kvaerno3()],
      [adaptive({rtol: 1e-4}), radauIIA5()],
    ] as const) {
      const options = {
        scheme,
        control,
        dt: 0.05,
        t1: 1.9,
        saveAt: times,
        events: [hit, pass, kick],
        params: base.params,
      };
      const within = (memory?: number): {bits: string; again: number} => {
        const {trajectory, pullback} = simulate.vjp(swing, base.initial, {
          ...options,
          adjoint: implicitAdjoint({memory}),
        });
        const n = trajectory.values('q').length;
        const {initial, params, recomputedSteps} = pullback({
          q: weight(n, 1),
          v: weight(n, 2),
          events: weight(trajectory.events.length, 3),
        });
        return {bits: JSON.stringify([[...trajectory.values('q')], initial, params]), again: recomputedSteps};
      };
      const whole = within();
      expect(whole.again).to.equal(0);
      for (const memory of [1, 400, 900]) {
        const {bits, again} = within(memory);
        expect(again).to.be.above(0);
        expect(bits).to.equal(whole.bits);
      }
    }
  });

  it('on the tape of tfjs', () => {
    const restitution = tf.variable(tf.scalar(0.8));
    const ball = mechanics({mass: 1, forces: ({q}) => tf.add(tf.zerosLike(q), -8)});
    const bounce = event({
      when: ({q}) => q,
      direction: 'falling',
      then: ({v}) => ({v: tf.mul(v, tf.neg(restitution))}),
    });
    const before = tf.memory().numTensors;
    tf.tidy(() => {
      const height = (): tf.Scalar =>
        tf.sum(
          tf.slice(
            simulate(ball, {q: 10, v: 0}, {scheme: trapezoid(), dt: 0.1, t1: 3, saveAt: [2.345, 3], events: [bounce]})
              .q,
            [1],
            [1],
          ),
        );
      const {value, grads} = tf.variableGrads(height);
      // x = e v τ − g τ²/2, v = √(2 g x₀), τ the time after the impact.
      const [v, tau] = [Math.sqrt(160), 3 - Math.sqrt(2.5)];
      expect(value.arraySync()).to.be.closeTo(0.8 * v * tau - 4 * tau * tau, 1e-5);
      expect(grads[restitution.name].arraySync()).to.be.closeTo(v * tau, 1e-5);
    });
    expect(tf.memory().numTensors).to.equal(before);
    restitution.dispose();
  });

  it('an ode with jumps', () => {
    // y' = −k y from 1; at y = ½ it is set to 1 again: t* = ln 2/k, y(T) = exp(−k T)·2ⁿ, and y does not jump with k.
    const system = ode(({y, params}) => tf.neg(tf.mul((params as P).k, y)));
    const refill = event({when: ({y}) => tf.sub(y, 0.5), direction: 'falling', then: ({y}) => ({y: tf.mul(y, 2)})});
    const options = {scheme: rk4(), dt: 0.01, t1: 2, saveAt: 'end' as const, events: [refill], params: {k: 1.1}};
    const {trajectory, pullback} = simulate.vjp(system, {y: 1}, options);
    const end = 8 * Math.exp(-2.2);
    expect(trajectory.events.map(({t}) => t)).to.have.lengthOf(3);
    expect(trajectory.values('y')[1]).to.be.closeTo(end, 1e-8);
    const {params, initial} = pullback({y: [0, 1]});
    expect((params.k as Float64Array)[0]).to.be.closeTo(-2 * end, 1e-7);
    expect((initial.y as Float64Array)[0]).to.be.closeTo(end, 1e-7);
    expect((pullback({events: [0, 0, 1]}).params.k as Float64Array)[0]).to.be.closeTo((-3 * Math.LN2) / 1.21, 1e-7);
  });

  it('a constrained system with a jump: the pendulum of a rod, struck at its lowest point', () => {
    const rod = mechanics({
      mass: 1,
      forces: ({q}) => tf.mul(tf.onesLike(q), [0, -9.81]),
      constraints: [bilateral(({q, params}) => tf.sub(tf.sum(tf.square(q)), tf.square((params as P).l)))],
    });
    const strike = event({
      when: ({q}) => tf.sum(tf.mul(q, [1, 0])),
      then: ({v, params}) => ({v: tf.mul(v, (params as P).e)}),
    });
    const run = (e: number, l: number): number[] => {
      const path = simulate(rod, {q: [l, 0], v: [0, 0]}, {...options, params: {e, l}});
      return [...path.values('q')];
    };
    const options = {scheme: implicitMidpoint(), dt: 0.01, t1: 1, saveAt: [0.333, 0.8051, 1], events: [strike]};
    const {trajectory, pullback} = simulate.vjp(rod, {q: [1, 0], v: [0, 0]}, {...options, params: {e: 0.7, l: 1}});
    expect(trajectory.events).to.have.lengthOf(1);
    const w = weight(6, 1);
    const {params} = pullback({q: w});
    expect((params.e as Float64Array)[0] / slope(s => dot(w, run(0.7 + s, 1)), 1e-4)).to.be.closeTo(1, 1e-7);
    const {params: again, initial} = pullback({q: w});
    // The start hangs on the rod's length too.
    expect(
      ((again.l as Float64Array)[0] + (initial.q as Float64Array)[0]) / slope(s => dot(w, run(0.7, 1 + s)), 1e-4),
    ).to.be.closeTo(1, 1e-7);
  });

  it('an observed function of time at an event', () => {
    const ball = mechanics({mass: 1, forces: ({q}) => tf.add(tf.zerosLike(q), -8)});
    const landing = event({when: ({q}) => q, then: 'stop'});
    const options = {
      scheme: trapezoid(),
      dt: 0.1,
      t1: 3,
      saveAt: 'end' as const,
      events: [landing],
      observe: ({t, v}: {t: tf.Tensor; v: tf.Tensor}) => tf.add(t, tf.mul(v, 0.5)),
    };
    const {trajectory, pullback} = simulate.vjp(ball, {q: 10, v: 0}, options);
    // t* = √(x₀/4), v = −8 t*: t + v/2 = −3 t*, and dt*/dx₀ = 1/(8 t*).
    const landed = Math.sqrt(2.5);
    expect(trajectory.values('observed')[1]).to.be.closeTo(-3 * landed, 1e-13);
    expect((pullback({observed: [0, 1]}).initial.q as Float64Array)[0]).to.be.closeTo(-3 / (8 * landed), 1e-13);
    expect(simulate.jvp(ball, {q: 10, v: 0}, options, {initial: {q: 1}}).tangent.observed?.[1]).to.be.closeTo(
      -3 / (8 * landed),
      1e-13,
    );
  });
});
