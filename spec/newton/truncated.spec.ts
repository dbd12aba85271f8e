/**
 * A step truncated on purpose: its gradient is that of the iterations that were done, which the
 * unrolled adjoint gives; the implicit adjoint answers for the exact step, and so must differ.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Adjoint, MechanicalSystem, Newton, Scheme} from '../../lib/index.js';
import {
  backtracking,
  blendedEuler,
  gmres,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  ode,
  simulate,
  theta,
  trapezoid,
  unrolledAdjoint,
} from '../../lib/index.js';
import type {GuessName, ThetaOptions} from '../../lib/scheme/theta.js';
import {dot, relative, slope} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const guesses: readonly GuessName[] = ['rest', 'current', 'consistent', 'linearized', 'extrapolated'];

/** Two hardening, damped oscillators, stiff enough that one iteration is far from the root. */
const system: MechanicalSystem = mechanics({
  mass: ({params}) => tf.mul(params.m as tf.Tensor, [1, 2]),
  forces: [
    ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.mul(q, tf.add(1, tf.square(q))))),
    ({v}) => tf.mul(-0.4, tf.mul(v, tf.abs(v))),
    ({q, v}) => tf.mul(tf.sin(tf.sub(tf.reverse(q), q)), tf.add(3, tf.square(v))),
  ],
});

const start = [0.7, -0.5, 1.2, -0.8, 30, 45, 1.3];
const steps = 4;

/** Runs from (q, v, k, m) in one vector, with a loss that weighs every saved number. */
function run(
  at: ArrayLike<number>,
  scheme: Scheme,
  how: Newton,
  adjoint: Adjoint,
): {loss: number; gradient: () => number[]} {
  const x = Array.from(at);
  const {trajectory, pullback} = simulate.vjp(
    system,
    {q: x.slice(0, 2), v: x.slice(2, 4)},
    {scheme, dt: 0.1, steps, params: {k: x.slice(4, 6), m: x[6]}, newton: how, adjoint},
  );
  const q = trajectory.values('q');
  const v = trajectory.values('v');
  trajectory.dispose();
  const weights = Float64Array.from(q, (_, i) => Math.cos(3 * i));
  return {
    loss: dot(q, weights) + 0.3 * dot(v, v),
    gradient: () => {
      const {initial, params} = pullback({q: weights, v: v.map(x => 0.6 * x)});
      return [...(initial.q ?? []), ...(initial.v ?? []), ...(params.k as Float64Array), ...(params.m as Float64Array)];
    },
  };
}

function byDifferences(scheme: Scheme, how: Newton): number[] {
  // 1e-3 of each number: the fourth-order formula's error is 1e-12 f⁗′, its rounding 1e-16/1e-3.
  return start.map((value, i) =>
    slope(
      s =>
        run(
          start.map((x, j) => (j === i ? x + s : x)),
          scheme,
          how,
          implicitAdjoint(),
        ).loss,
      1e-3 * Math.abs(value),
    ),
  );
}

const families: readonly (readonly [string, (options: ThetaOptions) => Scheme])[] = [
  ['theta(0.6)', options => theta(0.6, options)],
  ['trapezoid', trapezoid],
  ['implicit midpoint', implicitMidpoint],
  ['blended Euler (0.8, 0.4)', options => blendedEuler({alpha: 0.8, beta: 0.4, ...options})],
];

describe('newton: truncated steps', () => {
  for (const [title, make] of families) {
    slow(`${title}: the unrolled gradient is that of finite differences, from every guess and in both forms`, () => {
      for (const guess of guesses) {
        const how = newton({iterations: 1});
        const expected = byDifferences(make({guess}), how);
        for (const form of ['condensed', 'coupled'] as const) {
          const scheme = make({guess, form});
          // What `byDifferences` resolves, in problems of this curvature.
          expect(
            relative(run(start, scheme, how, unrolledAdjoint()).gradient(), expected),
            `${guess}, ${form}`,
          ).to.be.below(1e-8);
        }
      }
    });
  }

  slow('also with two and three iterations', () => {
    for (const iterations of [2, 3]) {
      for (const guess of ['rest', 'consistent'] as const) {
        const scheme = trapezoid({guess});
        const how = newton({iterations});
        expect(relative(run(start, scheme, how, unrolledAdjoint()).gradient(), byDifferences(scheme, how))).to.be.below(
          1e-8,
        );
      }
    }
  });

  slow('also in the acceleration form, Newmark, and a velocity increment', () => {
    const how = newton({iterations: 1});
    for (const scheme of [
      implicitEuler({unknown: 'acceleration'}),
      newmark(),
      blendedEuler({alpha: 1, beta: 1, unknown: 'increment'}),
      blendedEuler({alpha: 1, beta: 1, unknown: 'acceleration'}),
    ]) {
      expect(
        relative(run(start, scheme, how, unrolledAdjoint()).gradient(), byDifferences(scheme, how)),
        scheme.name,
      ).to.be.below(1e-8);
    }
  });

  for (const guess of guesses)
    it(`the implicit gradient of a truncated step is another one, on purpose, from the guess '${guess}'`, () => {
      const [implicit, unrolled] = [implicitAdjoint(), unrolledAdjoint()].map(adjoint =>
        run(start, trapezoid({guess}), newton({iterations: 1}), adjoint).gradient(),
      );
      // Per cents where one iteration is all there is; 'linearized' has had one more. Finite differences resolve 1e-8.
      expect(relative(implicit, unrolled)).to.be.above(guess === 'linearized' ? 1e-5 : 1e-3);
    });

  it('more iterations bring the two together, squaring the difference', () => {
    const scheme = trapezoid();
    const difference = (iterations: number): number => {
      const how = newton({iterations});
      return relative(
        run(start, scheme, how, implicitAdjoint()).gradient(),
        run(start, scheme, how, unrolledAdjoint()).gradient(),
      );
    };
    const found = [1, 2, 3, 4].map(difference);
    for (let k = 1; k < 3; k++) expect(found[k]).to.be.below(found[k - 1] ** 1.5);
    // Rounding of 4 steps' solves.
    expect(found[3]).to.be.below(1e-11);
  });

  slow('where Newton converged they agree, in every guess, form and strategy', () => {
    for (const guess of guesses) {
      for (const form of ['condensed', 'coupled'] as const) {
        for (const how of [newton(), newton({step: backtracking()})]) {
          const scheme = trapezoid({guess, form});
          // The unrolled derivative lags one iteration behind z: its error is the product of the errors before.
          expect(
            relative(
              run(start, scheme, how, unrolledAdjoint()).gradient(),
              run(start, scheme, how, implicitAdjoint()).gradient(),
            ),
            `${guess}, ${form}, ${how.step.name}`,
          ).to.be.below(1e-11);
        }
      }
    }
  });

  slow("an ode, truncated: van der Pol's equation", () => {
    const vanDerPol = ode(({y, params}) => {
      const [a, b] = tf.split(y, 2);
      return tf.concat([b, tf.sub(tf.mul(params.mu as tf.Tensor, tf.mul(tf.sub(1, tf.square(a)), b)), a)]);
    });
    for (const guess of ['current', 'consistent', 'extrapolated', 'linearized'] as const) {
      const value = (at: readonly number[]): {loss: number; gradient: () => number[]} => {
        const {trajectory, pullback} = simulate.vjp(
          vanDerPol,
          {y: at.slice(0, 2)},
          {
            scheme: trapezoid({guess}),
            dt: 0.1,
            steps,
            params: {mu: at[2]},
            newton: newton({iterations: 1}),
            adjoint: unrolledAdjoint(),
            saveAt: 'end',
          },
        );
        const y = trajectory.values('y');
        trajectory.dispose();
        return {
          loss: y[2] + 2 * y[3],
          gradient: () => {
            const {initial, params} = pullback({y: [0, 0, 1, 2]});
            return [...(initial.y ?? []), ...(params.mu as Float64Array)];
          },
        };
      };
      const at = [1.4, -0.6, 5];
      const expected = at.map((x, i) =>
        slope(s => value(at.map((old, j) => (j === i ? old + s : old))).loss, 1e-3 * Math.abs(x)),
      );
      expect(relative(value(at).gradient(), expected), guess).to.be.below(1e-8);
    }
  });

  it('iterations without a Jacobian of their own cannot be unrolled, and say so', () => {
    for (const how of [newton({jacobian: 'chord'}), newton({jacobian: 'auto'}), newton({linear: gmres()})]) {
      expect(() => run(start, trapezoid(), how, unrolledAdjoint()).gradient())
        .to.throw(/unrolledAdjoint.*implicitAdjoint\(\)/)
        .with.property('code', 'bad-adjoint');
    }
  });
});
