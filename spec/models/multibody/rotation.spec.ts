/** Bodies that turn: free ones against Jacobi's elliptic functions, tops against an integration of Euler's equations. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../../lib/index.js';
import {gaussLegendre, generalizedAlpha, implicitMidpoint, kvaerno5, simulate} from '../../../lib/index.js';
import {multibody, spherical} from '../../../models/index.js';
import {largest, order} from '../../simulate/numbers.js';
import {freeRotation} from './elliptic.js';
import {slow} from '../../tiers.js';

describe('free rotation', () => {
  const inertia = [0.3, 0.35, 0.4] as const;
  const start = [0.1, 15, 0.1] as const;
  const card = multibody({bodies: {card: {mass: 1, inertia: [...inertia], angularVelocity: start}}});

  slow("Dzhanibekov's body tumbles as elliptic functions say, to 1e-9 over three turns", () => {
    const exact = freeRotation(inertia, start);
    expect(largest(exact(0).map((w, i) => w - start[i]))).to.be.below(1e-11);
    const path = simulate(card, card.initial, {
      scheme: gaussLegendre({stages: 4}),
      dt: 0.01,
      t1: 5,
      observe: card.momentum,
    });
    path.dispose();
    const omega = card.pose(path, 'card').angularVelocity;
    const errors = Array.from(path.values('t'), (t, k) => largest(exact(t).map((w, i) => w - omega[3 * k + i])));
    expect(largest(errors)).to.be.below(1e-9);
    // It does turn over.
    expect(Math.min(...omega.filter((_, i) => i % 3 === 1))).to.be.below(-14.5);
    const momentum = path.values('observed');
    expect(largest(momentum.map((p, i) => p - momentum[i % 6]))).to.be.below(1e-11);
  });

  it('midpoint keeps energy and angular momentum of a free body to rounding, with default options', () => {
    const path = simulate(card, card.initial, {dt: 0.01, t1: 2, observe: card.energy});
    path.dispose();
    const energy = path.values('observed');
    expect(energy[0]).to.be.closeTo(0.5 * (0.3 * 0.01 + 0.35 * 225 + 0.4 * 0.01), 1e-13);
    expect(largest(energy.map(e => e - energy[0]))).to.be.below(1e-10);
  });

  it('a symmetric body: ω goes round its axis in 2π J₁/(ω₃ |J₃ − J₁|)', () => {
    const [across, axial, spin] = [0.3, 0.5, 4];
    const period = (2 * Math.PI * across) / (spin * (axial - across));
    // The axis of symmetry is (1, 0, 1)/√2: J = across·1 + (axial − across) e eᵀ.
    const [diagonal, product] = [(across + axial) / 2, (axial - across) / 2];
    const s = Math.SQRT1_2;
    const top = multibody({
      bodies: {
        top: {
          mass: 2,
          inertia: [
            [diagonal, 0, product],
            [0, across, 0],
            [product, 0, diagonal],
          ],
          angularVelocity: [spin * s, 0.7, spin * s],
        },
      },
    });
    const path = simulate(top, top.initial, {scheme: gaussLegendre({stages: 3}), dt: period / 100, steps: 100});
    path.dispose();
    const omega = top.pose(path, 'top').angularVelocity;
    expect(largest([0, 1, 2].map(i => omega[300 + i] - omega[i]))).to.be.below(1e-9);
    // Half-way it is on the other side.
    expect(omega[151]).to.be.closeTo(-0.7, 1e-9);
  });
});

/** Euler's equations of a body that turns about the origin by the classic Runge–Kutta method: ω (body axes), quaternion. */
function eulerTop(
  J: readonly number[],
  torque: (r: readonly number[]) => number[],
  w0: readonly number[],
  t1: number,
  steps: number,
): number[] {
  const rate = ([a, b, c, w, x, y, z]: readonly number[]): number[] => {
    const m = torque([w, x, y, z]);
    return [
      (m[0] + (J[1] - J[2]) * b * c) / J[0],
      (m[1] + (J[2] - J[0]) * c * a) / J[1],
      (m[2] + (J[0] - J[1]) * a * b) / J[2],
      (-x * a - y * b - z * c) / 2,
      (w * a + y * c - z * b) / 2,
      (w * b + z * a - x * c) / 2,
      (w * c + x * b - y * a) / 2,
    ];
  };
  const h = t1 / steps;
  let state = [...w0];
  const moved = (k: readonly number[], s: number): number[] => state.map((x, i) => x + s * k[i]);
  for (let n = 0; n < steps; n++) {
    const a = rate(state);
    const b = rate(moved(a, h / 2));
    const c = rate(moved(b, h / 2));
    const d = rate(moved(c, h));
    state = state.map((x, i) => x + (h / 6) * (a[i] + 2 * b[i] + 2 * c[i] + d[i]));
  }
  return state;
}

/** Rows of the rotation matrix times a vector, and the transpose. */
const matrixOf = ([w, x, y, z]: readonly number[]): number[][] => [
  [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
];
const cross = (a: readonly number[], b: readonly number[]): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

// Brüls & Cardona 2010: 15 kg, its centre 1 m along y from the fixed point, ω = (0, 150, −4.61538) rad/s.
describe('the heavy top', () => {
  const [mass, g, t1] = [15, 9.81, 0.1];
  const own = [0.234375, 0.46875, 0.234375];
  const about = [own[0] + mass, own[1], own[2] + mass];
  const spin = [0, 150, -4.61538];
  const top = multibody({
    gravity: [0, 0, -g],
    bodies: {
      top: {
        mass,
        inertia: own,
        position: [0, 1, 0],
        velocity: [4.61538, 0, 0],
        angularVelocity: [0, 150, -4.61538],
      },
    },
    joints: {pivot: spherical('ground', 'top', {at: [0, 0, 0]})},
  });
  /** m g e₂ × of the weight in body axes. */
  const weight = (r: readonly number[]): number[] => {
    const down = matrixOf(r)[2].map(x => -mass * g * x);
    return cross([0, 1, 0], down);
  };
  const state = eulerTop(about, weight, [...spin, 1, 0, 0, 0], t1, 20000);
  const [omega, rotation] = [state.slice(0, 3), state.slice(3)];
  const R = matrixOf(rotation);
  const centre = R.map(row => row[1]);
  /** The force on the pivot from m (x'' − g), x'' = R(α×e₂ + ω×(ω×e₂)). */
  const alpha = [0, 1, 2].map(i => {
    const [j, k] = [(i + 1) % 3, (i + 2) % 3];
    return (weight(rotation)[i] + (about[j] - about[k]) * omega[j] * omega[k]) / about[i];
  });
  const turn = cross(alpha, [0, 1, 0]).map((x, i) => x + cross(omega, cross(omega, [0, 1, 0]))[i]);
  const force = R.map((row, i) => mass * (row.reduce((sum, x, k) => sum + x * turn[k], 0) + (i === 2 ? g : 0)));

  const errors = (scheme: Scheme | undefined, steps: number): number[] => {
    const path = simulate(top, top.initial, {scheme, dt: t1 / steps, steps, saveAt: 'end'});
    path.dispose();
    const {position, angularVelocity, rotation: q} = top.pose(path, 'top');
    const pivot = top.reaction(path, 'pivot');
    expect(largest(pivot.torque)).to.be.below(1e-9);
    expect(Math.hypot(...q.slice(4))).to.be.closeTo(1, 1e-13);
    return [
      largest(centre.map((x, i) => x - position[3 + i])),
      largest(omega.map((w, i) => w - angularVelocity[3 + i])),
      largest(force.map((f, i) => f - pivot.force[3 + i])),
    ];
  };

  slow('in constrained form is of order 2 in position, velocity and force', () => {
    const [coarse, fine] = [400, 800].map(steps => errors(generalizedAlpha(), steps));
    coarse.forEach((error, i) => expect(order(error, fine[i]), `${i}`).to.be.within(1.8, 2.2));
    expect(fine[0]).to.be.below(1e-3);
  });

  slow('Gauss meets the reference to rounding', () => {
    const [position, velocity, lambda] = errors(gaussLegendre({stages: 3}), 200);
    expect(position).to.be.below(1e-8);
    expect(velocity).to.be.below(1e-6);
    expect(lambda).to.be.below(1e-4);
  });
});

// Simo & Wong 1991: about the fixed point J = (5, 5, 1), m g l = 20, spun with 50 rad/s at 0.05 rad from upright.
describe('the steady top', () => {
  const [weight, tilt] = [20, 0.05];
  const top = multibody({
    bodies: {
      top: {
        mass: 1,
        inertia: [5, 5, 1],
        rotation: [Math.cos(tilt / 2), Math.sin(tilt / 2), 0, 0],
        angularVelocity: [0, 0, 50],
      },
    },
    joints: {pivot: spherical('ground', 'top', {at: [0, 0, 0]})},
    forces: [
      // The third axis in the world is (…, …, 1 − 2(x² + y²)): its weight turns about e₃ × Rᵀ(−e₃).
      ({q}) => {
        const [w, x, y, z] = [3, 4, 5, 6].map(i => tf.reshape(tf.slice(q, [0, i], [1, 1]), [1]));
        const up = [tf.mul(2, tf.sub(tf.mul(x, z), tf.mul(w, y))), tf.mul(2, tf.add(tf.mul(y, z), tf.mul(w, x)))];
        const none = tf.zerosLike(w);
        return tf.stack([none, none, none, tf.mul(weight, up[1]), tf.mul(-weight, up[0]), none], 1);
      },
    ],
  });

  it('keeps 1269.975 J', () => {
    const path = simulate(top, top.initial, {
      scheme: implicitMidpoint(),
      dt: 0.002,
      t1: 1,
      observe: at => {
        const [x, y] = [4, 5].map(i => tf.sum(tf.square(tf.slice(at.q, [0, i], [1, 1]))));
        return tf.add(top.energy(at), tf.mul(weight, tf.sub(1, tf.mul(2, tf.add(x, y)))));
      },
    });
    path.dispose();
    const energy = path.values('observed');
    expect(energy[0]).to.be.closeTo(1269.975, 5e-4);
    expect(largest(energy.map(e => e - energy[0]))).to.be.below(1e-3);
  });
});

describe('a top between its steps', () => {
  const [arm, turn] = [
    [0.7, 0, -0.7],
    [0.5, 1, 4],
  ];
  const top = multibody({
    gravity: [0, 0, -9.81],
    bodies: {
      body: {
        ...{mass: 1, inertia: [0.1, 0.1, 0.02], position: arm as [number, number, number]},
        // ω × r.
        velocity: [0, 1, 2].map(i => {
          const [j, k] = [(i + 1) % 3, (i + 2) % 3];
          return turn[j] * arm[k] - turn[k] * arm[j];
        }) as [number, number, number],
        angularVelocity: turn as [number, number, number],
      },
    },
    joints: {point: spherical('ground', 'body', {at: [0, 0, 0]})},
  });
  const saveAt = [0.312, 0.551, 0.807, 0.963];
  const run = (scheme: Scheme, dt: number) => simulate(top, top.initial, {scheme, dt, t1: 1, saveAt});

  slow('has its pose with order 5 and its velocity with 4, of schemes with as much', () => {
    const exact = run(gaussLegendre({stages: 4}), 0.005);
    for (const scheme of [kvaerno5(), gaussLegendre({stages: 3})]) {
      const errors = [0.1, 0.025].map(dt => {
        const path = run(scheme, dt);
        return (['q', 'v'] as const).map(name => largest(path.values(name).map((x, i) => x - exact.values(name)[i])));
      });
      // With a cubic for the pose it was 3.
      expect(order(errors[0][0], errors[1][0]) / 2, scheme.name).to.be.above(4.8);
      expect(order(errors[0][1], errors[1][1]) / 2, scheme.name).to.be.above(3.6);
    }
  });

  slow('has derivatives there that are those of differences', () => {
    const options = {scheme: kvaerno5(), dt: 0.05, t1: 1, saveAt};
    const [q, v] = [top.initial.q as number[][], top.initial.v as number[][]];
    const prepared = simulate.prepare(top, top.initial, {...options, consistent: 'project'});
    const spin = (by: number): number =>
      prepared.run({initial: {q, v: [v[0].map((x, i) => (i === 5 ? x + by : x))]}}).values('q')[2 * 7 + 4];
    const cotangent = saveAt.map((_, k) => [[0, 0, 0, 0, k === 2 ? 1 : 0, 0, 0]]);
    const {initial} = prepared.vjp({initial: {q, v}}).pullback({q: cotangent});
    const slope = (spin(1e-5) - spin(-1e-5)) / 2e-5;
    expect(Math.abs(slope)).to.be.above(1e-3);
    expect((initial.v as Float64Array)[5]).to.be.closeTo(slope, 1e-7);
  });
});
