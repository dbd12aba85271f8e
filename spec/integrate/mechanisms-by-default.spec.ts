/** Textbook mechanisms with every default, on constant and on adaptive steps: runs end, energy and multipliers to the scheme's order. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, SimulateOptions} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  bilateral,
  blendedEuler,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  radauIIA5,
  sdirk2,
  simulate,
  theta,
  trapezoid,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const g = 9.81;
const weight = ({q}: {q: tf.Tensor}): tf.Tensor => tf.add(tf.zerosLike(q), tf.tensor1d([0, -g]));
const pendulum = mechanics({
  mass: 1,
  forces: weight,
  constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
});
/** [2, 2]: the second hangs on the first. */
const double = mechanics({
  mass: 1,
  forces: weight,
  constraints: [
    bilateral(({q}) => {
      const [first, second] = tf.unstack(q);
      return tf.stack([tf.sub(tf.sum(tf.square(first)), 1), tf.sub(tf.sum(tf.square(tf.sub(second, first))), 1)]);
    }),
  ],
});
/** Crank (0, 0)–A of length 1, coupler A–B of 2, rocker B–(2.5, 0) of 2, masses at A and B. */
const fourBar = mechanics({
  mass: 1,
  forces: weight,
  constraints: [
    bilateral(({q}) => {
      const [a, b] = tf.unstack(q);
      const off = (p: tf.Tensor, length: number): tf.Tensor => tf.sub(tf.sum(tf.square(p)), length ** 2);
      return tf.stack([off(a, 1), off(tf.sub(b, a), 2), off(tf.sub(b, [2.5, 0]), 2)]);
    }),
  ],
});
/** Order of q and of λ as it is saved: the θ-schemes' is the mean over the step, half a step behind. */
const schemes: readonly (readonly [Scheme, number, number])[] = [
  [theta(0.6), 1, 1],
  [implicitEuler(), 1, 1],
  [implicitEuler({unknown: 'acceleration'}), 1, 1],
  [blendedEuler({alpha: 0.7, beta: 0.7}), 1, 1],
  [trapezoid(), 2, 1],
  [implicitMidpoint(), 2, 1],
  [newmark(), 2, 2],
  [generalizedAlpha(), 2, 2],
  [hht(), 2, 2],
  [bdf2(), 2, 2],
  [sdirk2(), 2, 2],
  [kvaerno3(), 3, 3],
  [kvaerno5(), 5, 5],
  [gaussLegendre({stages: 1}), 2, 2],
  [gaussLegendre({stages: 2}), 4, 4],
  [gaussLegendre({stages: 3}), 6, 6],
  [radauIIA5(), 5, 2],
];

/** Of unit masses: the largest change of the energy over the run, as a share of g. */
function energyLoss(q: Float64Array, v: Float64Array, n: number): number {
  const energy = (k: number): number => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += v[k * n + i] ** 2 / 2 + (i % 2 === 1 ? g * q[k * n + i] : 0);
    return sum;
  };
  let worst = 0;
  for (let k = 0; k < q.length / n; k++) worst = Math.max(worst, Math.abs(energy(k) - energy(0)));
  return worst / g;
}

/** 2λ|q|² = v² − g·q: λ = 3/2 g y from rest at y = 0. */
function pendulumErrors(options: SimulateOptions): {
  energy: number;
  lambda: number;
  completed: boolean;
  warnings: readonly string[];
} {
  const path = simulate(pendulum, {q: [1, 0], v: [0, 0]}, options);
  const [q, v, lambda] = [path.values('q'), path.values('v'), path.values('lambda')];
  const off = lambda.map((value, k) => Math.abs(value - 1.5 * g * q[2 * k + 1]));
  return {
    energy: energyLoss(q, v, 2),
    lambda: off.reduce((a, b) => Math.max(a, b), 0) / (1.5 * g),
    completed: path.status === 'completed',
    warnings: path.warnings,
  };
}

describe('mechanisms by default', () => {
  for (const [scheme, order, orderOfLambda] of schemes) {
    it(`a pendulum, ${scheme.name}: constant steps, order ${order} and of λ ${orderOfLambda}`, () => {
      const h = order >= 4 ? 0.02 : 0.004;
      const [coarse, fine] = [h, h / 2].map(dt => pendulumErrors({scheme, dt, t1: 2}));
      expect(fine.completed).to.equal(true);
      // Half an order of leeway: h is not zero. What the energy has more than its order is welcome, and it may be rounding.
      expect(
        Math.log2(coarse.energy / fine.energy) > order - 0.5 || fine.energy < 1e-11,
        `energy ${coarse.energy} ${fine.energy}`,
      ).to.equal(true);
      expect(
        Math.log2(coarse.lambda / fine.lambda) > orderOfLambda - 0.5 || fine.lambda < 1e-9,
        `λ ${coarse.lambda} ${fine.lambda}`,
      ).to.equal(true);
    });

    it(`a pendulum, ${scheme.name}: adaptive steps`, () => {
      const rtol = 1e-4;
      const {completed, energy, lambda} = pendulumErrors({scheme, dt: 1e-3, t1: 4, control: adaptive({rtol})});
      expect(completed).to.equal(true);
      // Errors per step of 1e-4 add up over the run; λ of first order is off by λ' h/2.
      expect(energy).to.be.below(0.1);
      expect(lambda).to.be.below(0.1);
    });
  }

  it('the default tolerance and dt that used to end at t = 0.587, and newmark at rtol 1e-3', () => {
    for (const scheme of [trapezoid(), implicitMidpoint(), newmark(), generalizedAlpha()]) {
      for (const control of [adaptive(), adaptive({rtol: 1e-3})])
        expect(pendulumErrors({scheme, dt: 1e-3, t1: 4, control}).completed).to.equal(true);
    }
  });

  it('multipliers of adaptive runs by default: generalized-α within 0.1 %', () => {
    expect(pendulumErrors({scheme: generalizedAlpha(), dt: 1e-3, t1: 4, control: adaptive()}).lambda).to.be.below(1e-3);
  });

  it('adaptive steps that hold positions alone say so; Runge–Kutta methods hold velocities anyway', () => {
    const warned = (scheme: Scheme, stabilization?: 'none' | 'ggl'): readonly string[] =>
      pendulumErrors({scheme, stabilization, dt: 1e-3, t1: 0.02, control: adaptive()}).warnings;
    expect(warned(generalizedAlpha(), 'none')).to.have.length(1);
    expect(warned(generalizedAlpha(), 'none')[0]).to.match(/multipliers of generalizedAlpha\(0\.8\) are off/);
    for (const scheme of [generalizedAlpha(), kvaerno3()]) expect(warned(scheme)).to.deep.equal([]);
    expect(warned(kvaerno3(), 'none')).to.deep.equal([]);
  });

  for (const [name, system, initial] of [
    [
      'a double pendulum',
      double,
      {
        q: [
          [1, 0],
          [2, 0],
        ],
        v: [
          [0, 0],
          [0, 0],
        ],
      },
    ],
    // B above the ground at the distances 2 from A = (0, 1) and 2 from (2.5, 0).
    [
      'a four-bar linkage',
      fourBar,
      {
        q: [
          [0, 1],
          [1.25 + 0.5478583125, 0.5 + 1.3696457812],
        ],
        v: [
          [0, 0],
          [0, 0],
        ],
      },
    ],
  ] as const) {
    slow(`${name}: every scheme of second order or more, constant and adaptive`, () => {
      for (const [scheme] of schemes.filter(([, order]) => order >= 2)) {
        for (const control of [undefined, adaptive({rtol: 1e-4})]) {
          const path = simulate(system, initial, {scheme, dt: 2e-3, t1: 0.5, control, consistent: 'project'});
          expect(path.status, scheme.name).to.equal('completed');
          // A tolerance of 1e-4 a step, some hundred steps.
          expect(
            energyLoss(path.values('q'), path.values('v'), 4),
            `${scheme.name} ${control?.kind ?? 'constant'}`,
          ).to.be.below(2e-2);
        }
      }
    });
  }
});
