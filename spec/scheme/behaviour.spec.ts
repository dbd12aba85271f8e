/** What schemes conserve, damp and approach: statements known in closed form. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, MechanicalSystem, Scheme} from '../../lib/index.js';
import {
  blendedEuler,
  explicitEuler,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  ode,
  rk4,
  simulate,
  symplecticEuler,
  theta,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {formulationOf} from '../../lib/step/formulation.js';
import {largest} from '../simulate/numbers.js';
import {firstOrder, mechanical} from './problems.js';
import {slow} from '../tiers.js';

interface Path {
  readonly q: Float64Array;
  readonly v: Float64Array;
}

/** To rounding: an invariant is kept as well as the step's equations are solved. */
const exact = newton({tolerance: {absolute: 1e-15, relative: 1e-15}});

function path(system: MechanicalSystem, initial: Initial, scheme: Scheme, dt: number, steps: number): Path {
  const trajectory = simulate(system, initial, {scheme, dt, steps, newton: exact, engine: 'interpreter'});
  trajectory.dispose();
  return {q: trajectory.values('q'), v: trajectory.values('v')};
}

/** f(q, v) of every saved state of n numbers. */
function along({q, v}: Path, n: number, f: (q: Float64Array, v: Float64Array) => number): Float64Array {
  return Float64Array.from({length: q.length / n}, (_, i) =>
    f(q.subarray(i * n, (i + 1) * n), v.subarray(i * n, (i + 1) * n)),
  );
}

/** The largest departure from the first value, relative to it. */
const drift = (values: Float64Array): number => largest(values.map(value => value / values[0] - 1));

/** Rounding of a thousand steps, one after another. */
const rounding = 1e-12;

const unit = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
const unitEnergy = (p: Path): Float64Array => along(p, 1, ([q], [v]) => q * q + v * v);

describe('conserved quantities', () => {
  // M = [[2, ½], [½, 1]], K = [[5, −1], [−1, 3]]
  const linear = mechanics({
    mass: [
      [2, 0.5],
      [0.5, 1],
    ],
    forces: ({q}) =>
      tf.neg(
        tf.reshape(
          tf.matMul(
            tf.tensor2d([
              [5, -1],
              [-1, 3],
            ]),
            tf.reshape(q, [2, 1]),
          ),
          [2],
        ),
      ),
  });
  const energy = ([a, b]: Float64Array, [u, w]: Float64Array): number =>
    (2 * u * u + u * w + w * w) / 2 + (5 * a * a - 2 * a * b + 3 * b * b) / 2;

  for (const scheme of [implicitMidpoint(), trapezoid(), newmark()]) {
    it(`${scheme.name}: the energy of a linear system`, () => {
      expect(drift(along(path(linear, {q: [1, -0.5], v: [0, 2]}, scheme, 0.1, 1000), 2, energy))).to.be.below(rounding);
    });
  }

  /** A particle in the plane on a hardening spring to the origin: the angular momentum is a quadratic invariant. */
  const central = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(q, tf.add(1, tf.sum(tf.square(q)))))});
  const momentum = ([x, y]: Float64Array, [u, w]: Float64Array): number => x * w - y * u;

  it('implicit midpoint: quadratic invariants of a nonlinear system', () => {
    expect(
      drift(along(path(central, {q: [1, 0], v: [0.3, 0.8]}, implicitMidpoint(), 0.1, 1000), 2, momentum)),
    ).to.be.below(rounding);
  });

  it('... which the trapezoid keeps only nearly', () => {
    expect(drift(along(path(central, {q: [1, 0], v: [0.3, 0.8]}, trapezoid(), 0.1, 1000), 2, momentum))).to.be.within(
      1e-6,
      0.05,
    );
  });

  for (const scheme of [symplecticEuler(), verlet()]) {
    it(`${scheme.name}: angular momentum`, () => {
      expect(drift(along(path(central, {q: [1, 0], v: [0.3, 0.8]}, scheme, 0.05, 1000), 2, momentum))).to.be.below(
        rounding,
      );
    });
  }

  it("implicit midpoint: |y|² and the energy of a free rigid body, Euler's equations", () => {
    // Moments of inertia 1, 2, 3: y₁' = (1/3 − 1/2) y₂y₃ and so on, y the angular momentum.
    const body = ode(({y}) => {
      const [a, b, c] = tf.split(y, 3);
      return tf.concat([
        tf.mul(1 / 3 - 1 / 2, tf.mul(b, c)),
        tf.mul(1 - 1 / 3, tf.mul(c, a)),
        tf.mul(1 / 2 - 1, tf.mul(a, b)),
      ]);
    });
    const trajectory = simulate(
      body,
      {y: [1, 1.2, 0.8]},
      {scheme: implicitMidpoint(), dt: 0.1, steps: 1000, newton: exact, engine: 'interpreter'},
    );
    trajectory.dispose();
    const y = trajectory.values('y');
    const each = (f: (y: Float64Array) => number): Float64Array => along({q: y, v: y}, 3, f);
    expect(drift(each(([a, b, c]) => a * a + b * b + c * c))).to.be.below(rounding);
    expect(drift(each(([a, b, c]) => a * a + (b * b) / 2 + (c * c) / 3))).to.be.below(rounding);
  });

  it('a net of springs in space: linear momentum, by every scheme', () => {
    const pair = mechanics({
      mass: [
        [1, 1, 1],
        [2, 2, 2],
      ],
      forces: ({q}) => {
        const [a, b] = tf.split(q, 2);
        const d = tf.sub(b, a);
        const pull = tf.mul(d, tf.sub(5, tf.div(4, tf.norm(d))));
        return tf.concat([pull, tf.neg(pull)]);
      },
    });
    for (const scheme of [
      explicitEuler(),
      symplecticEuler(),
      verlet(),
      rk4(),
      trapezoid(),
      implicitMidpoint(),
      implicitEuler(),
      newmark(),
    ]) {
      const {v} = path(
        pair,
        {
          q: [
            [0, 0, 0],
            [1, 0.5, 0],
          ],
          v: [
            [0.5, 0, 0.3],
            [0, 0.4, 0],
          ],
        },
        scheme,
        0.02,
        100,
      );
      for (let axis = 0; axis < 3; axis++) {
        const total = along({q: v, v}, 6, (_, w) => w[axis] + 2 * w[3 + axis]);
        expect(drift(total), `${scheme.name}, axis ${axis}`).to.be.below(rounding);
      }
    }
  });

  // q'' = −q: what one step does to the energy or to a nearby quadratic form is a rational function of h.
  const h = 0.1;

  it('explicit Euler gains and implicit Euler loses the factor 1 + h² a step', () => {
    const gain = unitEnergy(path(unit, {q: 1, v: 0.5}, explicitEuler(), h, 100));
    const loss = unitEnergy(path(unit, {q: 1, v: 0.5}, implicitEuler(), h, 100));
    const total = (1 + h * h) ** 100;
    expect(gain[100] / gain[0] / total).to.be.closeTo(1, rounding);
    expect((loss[100] / loss[0]) * total).to.be.closeTo(1, rounding);
  });

  it('symplectic Euler conserves q² + v² − h q v', () => {
    expect(
      drift(along(path(unit, {q: 1, v: 0.5}, symplecticEuler(), h, 1000), 1, ([q], [v]) => q * q + v * v - h * q * v)),
    ).to.be.below(rounding);
  });

  it('Verlet conserves (1 − h²/4) q² + v²', () => {
    expect(
      drift(along(path(unit, {q: 1, v: 0.5}, verlet(), h, 1000), 1, ([q], [v]) => (1 - (h * h) / 4) * q * q + v * v)),
    ).to.be.below(rounding);
  });
});

describe('reversibility', () => {
  const system = mechanics({mass: [1, 2], forces: [({q}) => tf.mul(-3, tf.sin(q)), ({q}) => tf.sub(tf.reverse(q), q)]});
  for (const scheme of [implicitMidpoint(), trapezoid(), trapezoid({form: 'coupled'}), newmark(), verlet()]) {
    it(`${scheme.name} comes back when the velocities are turned`, () => {
      const there = path(system, {q: [1, 0.5], v: [0, 1]}, scheme, 0.1, 100);
      const back = path(system, {q: there.q.slice(-2), v: there.v.slice(-2).map(v => -v)}, scheme, 0.1, 100);
      expect(largest([back.q[200] - 1, back.q[201] - 0.5, back.v[200], back.v[201] + 1])).to.be.below(rounding);
    });
  }
});

describe('very long steps', () => {
  for (const h of [1, 1e3, 1e6, 1e10]) {
    it(`implicit Euler with h = ${h}: (q + hv)/(1 + hc + h²k), and towards rest`, () => {
      const stiff = mechanics({mass: 1, forces: [({q}) => tf.mul(q, -100), ({v}) => tf.mul(v, -2)]});
      for (const scheme of [
        implicitEuler(),
        implicitEuler({form: 'coupled'}),
        implicitEuler({unknown: 'acceleration'}),
        theta(1),
      ]) {
        const {q, v} = path(stiff, {q: 1, v: 3}, scheme, h, 1);
        // v⁺ (1 + hc + h²k) = v − hkq
        const denominator = 1 + 2 * h + 100 * h * h;
        const velocity = (3 - 100 * h) / denominator;
        // v⁺ = v + ha⁺ cancels where a⁺ is the unknown: then the rounding of v is left, and h times that in q⁺.
        const left = formulationOf(scheme, stiff).unknown.includes('acceleration') ? 1e-15 : 0;
        expect(v[1]).to.be.closeTo(velocity, 1e-9 * Math.abs(velocity) + left);
        // So does q⁺ = q + hv⁺: the rounding of q.
        expect(q[1]).to.be.closeTo((1 + 5 * h) / denominator, 1e-9 / h + 1e-15 + h * left);
      }
    });
  }

  it('theta(θ) damps an infinitely stiff decay by −(1 − θ)/θ: implicit Euler at once, trapezoid never', () => {
    const decay = ode(({y}) => tf.mul(y, -1e8));
    for (const value of [0.5, 0.6, 0.8, 1]) {
      const trajectory = simulate(decay, {y: 1}, {scheme: theta(value), dt: 1, steps: 1, engine: 'interpreter'});
      trajectory.dispose();
      // (1 − (1−θ)·1e8)/(1 + θ·1e8): within 1/(θ²·1e8) of the limit.
      expect(trajectory.values('y')[1]).to.be.closeTo(-(1 - value) / value, 5e-8);
    }
  });

  it('implicit Euler stays on the slow solution of a stiff problem that explicit Euler leaves', () => {
    // Prothero and Robinson: y' = −1e6 (y − cos t) − sin t, y = cos t.
    const system = ode(({y, t}) => tf.sub(tf.mul(-1e6, tf.sub(y, tf.cos(t))), tf.sin(t)));
    const last = (scheme: Scheme): number => {
      const trajectory = simulate(system, {y: 1}, {scheme, dt: 0.1, steps: 10, saveAt: 'end', engine: 'interpreter'});
      trajectory.dispose();
      return trajectory.values('y')[1];
    };
    // The local error h²/2 is divided by 1 + 1e6 h.
    expect(last(implicitEuler())).to.be.closeTo(Math.cos(1), 1e-7);
    expect(Math.abs(last(explicitEuler()))).to.be.above(1e10);
  });
});

describe('very short steps', () => {
  const schemes = [
    explicitEuler(),
    symplecticEuler(),
    verlet(),
    rk4(),
    implicitEuler(),
    implicitEuler({form: 'coupled'}),
    implicitEuler({unknown: 'acceleration'}),
    theta(0.6),
    trapezoid(),
    trapezoid({form: 'coupled'}),
    implicitMidpoint(),
    newmark(),
    blendedEuler({alpha: 0.3, beta: 0.9, unknown: 'increment'}),
  ];
  for (const scheme of schemes) {
    slow(`${scheme.name} tends to the derivative`, () => {
      for (const {system, initial, title} of [...mechanical, ...firstOrder]) {
        if (scheme[system.kind] === undefined) continue;
        const series = (dt: number, by: Scheme): Float64Array => {
          const trajectory = simulate(system, initial, {scheme: by, dt, steps: 1, engine: 'interpreter'});
          trajectory.dispose();
          const block = trajectory.values(system.kind === 'ode' ? 'y' : 'v');
          const n = block.length / 2;
          return Float64Array.from({length: n}, (_, i) => (block[n + i] - block[i]) / dt);
        };
        // h = 1e-7: an error of order h, and the rounding of the difference, 1e-16/h.
        const slope = series(1e-7, scheme);
        const derivative = series(1e-4, rk4());
        expect(largest(slope.map((value, i) => value - derivative[i])), title).to.be.below(1e-3);
        // The shortest of steps is no failure: v changes by h a, a of order ten.
        expect(largest(series(1e-300, scheme).map(value => value * 1e-300)), title).to.be.below(1e-298);
      }
    });
  }
});
