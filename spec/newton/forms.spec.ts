/**
 * The condensed and the coupled form of a step give the same iterates from every initial guess
 * (equations.md §3): also from one that breaks the kinematics, where the condensed step must carry the
 * term −hθK R_q. Both are compared with each other and with the source note's procedure written by hand.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {MechanicalSystem, Scheme} from '../../lib/index.js';
import {
  blendedEuler,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newton,
  simulate,
  theta,
  trapezoid,
} from '../../lib/index.js';
import type {GuessName, ThetaOptions} from '../../lib/scheme/theta.js';
import {slow} from '../tiers.js';

const guesses: readonly GuessName[] = ['rest', 'current', 'consistent', 'linearized', 'extrapolated'];

const schemes: readonly {readonly title: string; readonly make: (options: ThetaOptions) => Scheme}[] = [
  {title: 'theta(0.3)', make: options => theta(0.3, options)},
  {title: 'trapezoid', make: trapezoid},
  {title: 'theta(0.8)', make: options => theta(0.8, options)},
  {title: 'implicit Euler', make: implicitEuler},
  {title: 'implicit midpoint', make: implicitMidpoint},
  {title: 'blended Euler (0.7, 0.4)', make: options => blendedEuler({alpha: 0.7, beta: 0.4, ...options})},
  {title: 'blended Euler (1, 0.5)', make: options => blendedEuler({alpha: 1, beta: 0.5, ...options})},
];

/** Stiff, hardening, with damping that depends on position and velocity, driven in time. */
const forces = [
  ({q}: {q: tf.Tensor}) => tf.mul(q, tf.add(tf.mul(tf.square(q), -40), [-30, -20])),
  ({q, v}: {q: tf.Tensor; v: tf.Tensor}) => tf.neg(tf.mul(v, tf.add(0.3, tf.square(q)))),
  ({v}: {v: tf.Tensor}) => tf.mul(tf.tanh(tf.mul(v, 3)), -0.5),
  ({q}: {q: tf.Tensor}) => tf.mul(3, tf.sin(tf.sub(tf.reverse(q), q))),
  ({t}: {t: tf.Tensor}) => tf.mul(tf.cos(tf.mul(t, 5)), [2, -1]),
];

const systems: readonly {readonly title: string; readonly system: MechanicalSystem}[] = [
  {
    title: 'consistent mass',
    system: mechanics({
      mass: [
        [2, 0.3],
        [0.3, 1],
      ],
      forces,
    }),
  },
  {title: 'mass that depends on q', system: mechanics({mass: ({q}) => tf.add(1, tf.square(q)), forces})},
];

const initial = {q: [0.4, -0.7], v: [1.5, -2], t: 0.2};

function states(system: MechanicalSystem, scheme: Scheme, iterations: number | undefined, steps: number): Float64Array {
  const path = simulate(system, initial, {scheme, dt: 0.08, steps, newton: newton({iterations})});
  const values = Float64Array.from([...path.values('q'), ...path.values('v')]);
  path.dispose();
  return values;
}

describe('newton: condensed and coupled form', () => {
  for (const {title: massTitle, system} of systems) {
    describe(massTitle, () => {
      for (const {title, make} of schemes) {
        slow(title, () => {
          for (const guess of guesses) {
            for (const iterations of [1, 2, 3, undefined]) {
              const condensed = states(system, make({guess}), iterations, 5);
              const coupled = states(system, make({guess, form: 'coupled'}), iterations, 5);
              // States of size 2, ten solves with matrices of condition below 20, amplified at most 1.3 times a step
              // (0.08 times the root of the largest stiffness): 1e-13 is 25 times the rounding of one solve. Converged
              // runs stop at points that differ by the tolerance's margin, 1e-14, in each step.
              coupled.forEach((value, i) =>
                expect(value, `${guess}, ${iterations ?? 'converged'}, entry ${i}`).to.be.closeTo(
                  condensed[i],
                  iterations === undefined ? 3e-13 : 1e-13,
                ),
              );
            }
          }
        });
      }
    });
  }

  it('the guesses differ where they should: truncated after one iteration, not when converged', () => {
    const [{system}] = systems;
    const [{make}] = schemes;
    const once = guesses.map(guess => states(system, make({guess}), 1, 1));
    const converged = guesses.map(guess => states(system, make({guess}), undefined, 1));
    const distance = (a: Float64Array, b: Float64Array): number =>
      Math.max(...a.map((value, i) => Math.abs(value - b[i])));
    once.forEach((a, i) =>
      once.slice(0, i).forEach((b, j) => expect(distance(a, b), `${guesses[i]} and ${guesses[j]}`).to.be.above(1e-5)),
    );
    // The tolerance's margin, 1e-14, on either side.
    converged.forEach(a => expect(distance(a, converged[0])).to.be.below(1e-13));
  });

  slow('linearized with k iterations is current with k + 1', () => {
    for (const {system} of systems) {
      for (const {make} of schemes) {
        // The very same operations: bit for bit.
        expect([...states(system, make({guess: 'linearized'}), 1, 4)]).to.deep.equal([
          ...states(system, make({guess: 'current'}), 2, 4),
        ]);
      }
    }
  });
});

describe('newton: the procedure of the source note, corrected, by hand', () => {
  // One unknown: f = −k q − c q³ − d v|v|-free damping, so that K and B can be written down.
  const [m, k, c, d] = [1.7, 90, 60, 0.8];
  const force = (q: number, v: number): number => -k * q - c * q ** 3 - d * v - 0.5 * Math.tanh(2 * v) * q * q;
  const stiffness = (q: number, v: number): number => -k - 3 * c * q * q - Math.tanh(2 * v) * q;
  const damping = (q: number, v: number): number => -d - (q * q) / Math.cosh(2 * v) ** 2;
  const system = mechanics({
    mass: m,
    forces: [
      ({q, v}) => tf.sub(tf.mul(q, tf.sub(-k, tf.mul(c, tf.square(q)))), tf.mul(d, v)),
      ({q, v}) => tf.mul(-0.5, tf.mul(tf.tanh(tf.mul(2, v)), tf.square(q))),
    ],
  });
  const h = 0.07;

  /** (M − hθB − h²θ²K)Δv = −R_v − hθK R_q, then v⁺ += Δv and q⁺ from v⁺ (theta-method.txt with the θs of equations.md §3). */
  function byHand(q: number, v: number, share: number, guess: GuessName, iterations: number): {q: number; v: number} {
    const starts: Readonly<Record<GuessName, readonly [number, number]>> = {
      rest: [q, 0],
      current: [q, v],
      linearized: [q, v],
      consistent: [q + h * v, v],
      extrapolated: [NaN, NaN],
    };
    let [qNext, vNext] = starts[guess];
    const f = force(q, v);
    for (let n = 0; n < iterations + (guess === 'linearized' ? 1 : 0); n++) {
      const chosen = n === 0 && guess !== 'consistent';
      const fNext = chosen ? f : force(qNext, vNext);
      const K = stiffness(qNext, vNext);
      const B = damping(qNext, vNext);
      const rq = qNext - q - h * ((1 - share) * v + share * vNext);
      const rv = m * (vNext - v) - h * ((1 - share) * f + share * fNext);
      vNext += (-rv - h * share * K * rq) / (m - h * share * B - h * h * share * share * K);
      qNext = q + h * ((1 - share) * v + share * vNext);
    }
    return {q: qNext, v: vNext};
  }

  for (const guess of guesses.filter(name => name !== 'extrapolated')) {
    it(guess, () => {
      for (const share of [0.3, 0.5, 1]) {
        for (const form of ['condensed', 'coupled'] as const) {
          for (const iterations of [1, 2, 3]) {
            const path = simulate(
              system,
              {q: [0.6], v: [-3]},
              {scheme: theta(share, {guess, form}), dt: h, steps: 1, newton: newton({iterations})},
            );
            const expected = byHand(0.6, -3, share, guess, iterations);
            // Rounding of numbers of size 10 in either program.
            expect(path.values('q')[1]).to.be.closeTo(expected.q, 1e-14);
            expect(path.values('v')[1]).to.be.closeTo(expected.v, 1e-13);
            path.dispose();
          }
        }
      }
    });
  }

  it('extrapolated: v⁺₀ = v + h times the mean acceleration of the last step, by hand over two steps', () => {
    const share = 0.5;
    const path = simulate(
      system,
      {q: [0.6], v: [-3]},
      {scheme: theta(share, {guess: 'extrapolated'}), dt: h, steps: 2, newton: newton({iterations: 1})},
    );
    const iterate = (q: number, v: number, trend: number): {q: number; v: number} => {
      const v0 = v + h * trend;
      const q0 = q + h * ((1 - share) * v + share * v0);
      const rv = m * (v0 - v) - h * ((1 - share) * force(q, v) + share * force(q0, v0));
      const vNext = v0 - rv / (m - h * share * damping(q0, v0) - h * h * share * share * stiffness(q0, v0));
      return {v: vNext, q: q + h * ((1 - share) * v + share * vNext)};
    };
    const first = iterate(0.6, -3, force(0.6, -3) / m);
    const second = iterate(first.q, first.v, (first.v + 3) / h);
    expect(path.values('v')[1]).to.be.closeTo(first.v, 1e-13);
    expect(path.values('v')[2]).to.be.closeTo(second.v, 1e-13);
    path.dispose();
  });

  it('dropping the term −hθK R_q is another iterate: it is not dropped', () => {
    // What the note says is commonly omitted: after one iteration from rest it changes v by far more than rounding.
    const share = 0.5;
    const [q, v] = [0.6, -3];
    const f = force(q, v);
    const dropped = (m * v + h * f) / (m - h * share * damping(q, 0) - h * h * share * share * stiffness(q, 0));
    const path = simulate(
      system,
      {q: [q], v: [v]},
      {scheme: theta(share, {guess: 'rest'}), dt: h, steps: 1, newton: newton({iterations: 1})},
    );
    expect(Math.abs(path.values('v')[1] - dropped)).to.be.above(0.1);
    path.dispose();
  });
});
