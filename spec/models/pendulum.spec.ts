/** Pendulums: the period in closed form, Lagrange's equations by differentiation, and published-quality numbers. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ForceTerm, MechanicalSystem, Params, Scheme} from '../../lib/index.js';
import {implicitMidpoint, newton, rk4, ShapeError, simulate} from '../../lib/index.js';
import {doublePendulum, pendulum} from '../../models/index.js';
import {standardGravity} from '../../models/gravity.js';
import {difference, draw, largest, order, richardson, stream} from '../simulate/numbers.js';
import {forcesOf, gradientOf, valueOf} from './evaluate.js';

/** Newton to roundoff, so that what remains is the scheme's own error. */
const tight = newton({tolerance: {absolute: 1e-14, relative: 1e-14}});

describe('pendulum', () => {
  it('swings from 1 rad in 4K(sin ½)/√(g/l) = 2.139137600558688844798 s', () => {
    const period = 2.139137600558688844798;
    const system = pendulum({length: 1, g: 9.81, mass: 3});
    // At the turning point v = q″ δt: the velocity left after one period is the period's error.
    const found = [100, 200, 400, 800].map(steps => {
      const trajectory = simulate(
        system,
        {q: 1, v: 0},
        {scheme: implicitMidpoint(), dt: period / steps, steps, saveAt: 'end', newton: tight},
      );
      trajectory.dispose();
      const [q, v] = [trajectory.values('q')[1], trajectory.values('v')[1]];
      return period + v / (9.81 * Math.sin(q));
    });
    expect(order(found[2] - period, found[3] - period)).to.be.closeTo(2, 0.01);
    expect(richardson(found, [2, 4, 6])).to.be.closeTo(period, 1e-11);
  });

  it('each entry of q is a pendulum of its own, with coefficients of its own', () => {
    const system = pendulum({length: [1, 2], mass: 3, g: 10, damping: [0, 0.5]});
    const f = forcesOf(system, {q: [0.3, 0.4], v: [1, 2]});
    expect(f[0]).to.be.closeTo(-3 * 10 * Math.sin(0.3), 1e-14);
    expect(f[1]).to.be.closeTo(-3 * 10 * 2 * Math.sin(0.4) - 0.5 * 2, 1e-14);
    expect([...valueOf(system.mass as ForceTerm, {q: [0, 0], v: [0, 0]})]).to.deep.equal([3, 12]);
  });

  it('has the energy ½ml²v² + mgl(1 − cos q), with standard gravity unless told', () => {
    const energy = valueOf(pendulum({length: 2}).energy, {q: 1, v: 3})[0];
    expect(energy).to.be.closeTo(0.5 * 4 * 9 + standardGravity * 2 * (1 - Math.cos(1)), 1e-14);
  });

  it('keeps its energy to second order', () => {
    const system = pendulum({length: 0.5, g: 9.81});
    expect(energyOrder(system, {q: 2.5, v: 0}, 0.02)).to.be.closeTo(2, 0.05);
  });
});

function energyOrder(
  system: MechanicalSystem & {energy: ReturnType<typeof doublePendulum>['energy']},
  start: {q: number | number[]; v: number | number[]},
  dt: number,
): number {
  const error = (h: number): number => {
    const trajectory = simulate(system, start, {
      scheme: implicitMidpoint(),
      dt: h,
      t1: 2,
      observe: system.energy,
      newton: tight,
    });
    trajectory.dispose();
    const energies = trajectory.values('observed');
    return largest(energies.map(e => e - energies[0]));
  };
  return order(error(dt), error(dt / 2));
}

describe('double pendulum', () => {
  const [lengths, masses, g] = [[1, 0.7], [1, 0.5], 9.81];
  const system = doublePendulum({lengths, masses, g});
  const start = {q: [1.2, -0.4], v: [0.5, 1]};

  // Hamilton's equations in their explicit textbook form, integrated by mpmath 1.3 (Taylor series, 40
  // digits, tolerance 1e-25); scipy's DOP853 on Newton's form of the accelerations agrees to 1e-12.
  const reference = [-0.729224726913292509, -0.648595359954516005, 1.16138040083508661, -7.94129503998199745];

  for (const {scheme, powers, dt} of [
    {scheme: rk4(), powers: [4, 5, 6], dt: 1 / 200},
    {scheme: implicitMidpoint(), powers: [2, 4, 6], dt: 1 / 200},
  ] as readonly {scheme: Scheme; powers: number[]; dt: number}[]) {
    it(`at t = 1 is where Hamilton's equations have it (${scheme.name})`, () => {
      const ends = [1, 2, 4, 8].map(level => {
        const trajectory = simulate(system, start, {scheme, dt: dt / level, t1: 1, saveAt: 'end', newton: tight});
        trajectory.dispose();
        return [...trajectory.values('q').slice(2), ...trajectory.values('v').slice(2)];
      });
      const errors = ends.map(end => largest(difference(end, reference)));
      expect(order(errors[2], errors[3])).to.be.closeTo(scheme.order, 0.1);
      reference.forEach((value, i) =>
        expect(
          richardson(
            ends.map(end => end[i]),
            powers,
          ),
        ).to.be.closeTo(value, 1e-9),
      );
    });
  }

  it("satisfies Lagrange's equations of its bobs' Cartesian motion, by differentiation", () => {
    const [l1, l2] = lengths;
    const [m1, m2] = masses;
    /** L = T − V from positions and velocities in the plane. */
    const lagrangian = (q: tf.Tensor, v: tf.Tensor): tf.Tensor => {
      const [s, c] = [tf.sin(q), tf.cos(q)];
      const part = (x: tf.Tensor, i: number): tf.Tensor => tf.reshape(tf.slice(x, [i], [1]), []);
      const velocity = (i: number, l: number): [tf.Tensor, tf.Tensor] => [
        tf.mul(l, tf.mul(part(c, i), part(v, i))),
        tf.mul(l, tf.mul(part(s, i), part(v, i))),
      ];
      const [x1, y1] = velocity(0, l1);
      const [x2, y2] = velocity(1, l2).map((u, axis) => tf.add(u, [x1, y1][axis]));
      const height1 = tf.mul(-l1, part(c, 0));
      const height2 = tf.sub(height1, tf.mul(l2, part(c, 1)));
      const square = (x: tf.Tensor, y: tf.Tensor): tf.Tensor => tf.add(tf.square(x), tf.square(y));
      const kinetic = tf.add(tf.mul(m1 / 2, square(x1, y1)), tf.mul(m2 / 2, square(x2, y2)));
      return tf.sub(kinetic, tf.add(tf.mul(m1 * g, height1), tf.mul(m2 * g, height2)));
    };
    /** (∂²L/∂v²)a + (∂²L/∂v∂q)v − ∂L/∂q, with directional derivatives as gradients of products. */
    const lagrange = (q: tf.Tensor, v: tf.Tensor, a: tf.Tensor): tf.Tensor => {
      const momentum = (x: tf.Tensor, u: tf.Tensor): tf.Tensor => tf.grad(w => lagrangian(x, w))(u);
      const slope = (x: tf.Tensor, u: tf.Tensor): tf.Tensor => tf.grad(y => lagrangian(y, u))(x);
      const inertia = tf.grad(u => tf.sum(tf.mul(momentum(q, u), a)))(v);
      // tf.grad hands on the very tensor it is given: held fixed, v must be another one.
      const held = tf.clone(v);
      const transport = tf.grad(u => tf.sum(tf.mul(slope(q, u), held)))(v);
      return tf.sub(tf.add(inertia, transport), slope(q, v));
    };
    const next = stream(2);
    for (let trial = 0; trial < 5; trial++) {
      const [q, v, a] = [draw(next, 2).map(x => 3 * x), draw(next, 2).map(x => 5 * x), draw(next, 2).map(x => 5 * x)];
      const state = {q, v, params: {a}};
      const expected = valueOf(({q, v, params}) => lagrange(q, v, params.a as tf.Tensor), state);
      const inertia = valueOf(
        ({q, params}) =>
          tf.reshape(
            tf.matMul(
              (system.mass as (at: {q: tf.Tensor; params: Params}) => tf.Tensor)({q, params}) as tf.Tensor2D,
              tf.reshape(params.a as tf.Tensor, [2, 1]),
            ),
            [2],
          ),
        state,
      );
      // Sums of terms of order 50 in either form.
      expect(largest(difference(difference(inertia, forcesOf(system, state)), expected))).to.be.below(1e-12);
    }
  });

  it('keeps its energy to second order', () => {
    expect(energyOrder(system, start, 0.005)).to.be.closeTo(2, 0.05);
  });

  it('its energy is zero at rest, hanging, and its slope in q at rest minus the force', () => {
    expect(valueOf(system.energy, {q: [0, 0], v: [0, 0]})[0]).to.equal(0);
    const at = {q: [0.3, -0.8], v: [0, 0]};
    expect(
      largest(
        difference(
          gradientOf(system.energy, at).map(x => -x),
          forcesOf(system, at),
        ),
      ),
    ).to.be.below(1e-14);
  });

  it('its hinges damp: torque of the upper −c₁q₁′, of the lower −c₂(q₂′ − q₁′) and back', () => {
    const damped = doublePendulum({lengths, masses, g, damping: [0.3, 0.2]});
    const at = {q: [0.1, 0.2], v: [1.5, -0.5]};
    const torque = difference(forcesOf(damped, at), forcesOf(system, at));
    expect(torque[0]).to.be.closeTo(-0.3 * 1.5 + 0.2 * (-0.5 - 1.5), 1e-14);
    expect(torque[1]).to.be.closeTo(-0.2 * (-0.5 - 1.5), 1e-14);
  });

  it('with small angles swings in the modes of the textbook: l₁ = l₂, m₁ = m₂, ω² = (2 ± √2) g/l', () => {
    const equal = doublePendulum({lengths: 1, g: 9.81});
    const omega = Math.sqrt((2 + Math.SQRT2) * 9.81);
    const t1 = (2 * Math.PI) / omega;
    const trajectory = simulate(
      equal,
      {q: [1e-4, -1e-4 * Math.SQRT2], v: [0, 0]},
      {scheme: implicitMidpoint(), dt: t1 / 1000, t1, saveAt: 'end', newton: tight},
    );
    trajectory.dispose();
    // The phase errs by 2π(ωh)²/12 = 2e-5, the amplitude in cos by its square; nonlinearity by 1e-8.
    expect(trajectory.values('q')[2] / 1e-4).to.be.closeTo(1, 1e-7);
    expect(trajectory.values('q')[3] / -1e-4 / Math.SQRT2).to.be.closeTo(1, 1e-7);
  });

  it('refuses a state that is not two angles', () => {
    expect(() => simulate(system, {q: [1, 2, 3], v: [0, 0, 0]}, {dt: 0.1, steps: 1}))
      .to.throw(ShapeError)
      .with.property('code', 'double-pendulum-shape');
  });
});
