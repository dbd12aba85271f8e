/** Stiff problems with published solutions, at a tolerance of 1e-8; and sensitivities of one of them. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, SimulateOptions} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {adaptive, kvaerno3, kvaerno5, newton, ode, radauIIA5, sdirk2, simulate} from '../../../lib/index.js';
import type {StiffProblem} from './stiff-problems.js';
import {hires, rober, robertson, robertsonRates, stiffProblems, vanDerPol} from './stiff-problems.js';
import {doubleEngines} from '../../simulate/engines.js';
import {slow} from '../../tiers.js';

function end(
  problem: StiffProblem,
  scheme: Scheme,
  rtol: number,
  more: Partial<RunSettings> = {},
): {y: Float64Array; error: number; stats: ReturnType<typeof simulate>['stats']} {
  const path = simulate(
    problem.system,
    {y: [...problem.y]},
    {
      scheme,
      dt: problem.first,
      t1: problem.t1,
      saveAt: 'end',
      control: adaptive({rtol, atol: problem.atol(rtol)}),
      ...more,
    },
  );
  path.dispose();
  const y = path.values('y').slice(-problem.y.length);
  return {y, error: Math.max(...problem.reference.map((value, i) => Math.abs(y[i] / value - 1))), stats: path.stats};
}

describe('stiff odes', () => {
  // V8 compiles here what every test below runs.
  before(() => void end(hires, kvaerno5(), 1e-4));

  for (const problem of stiffProblems) {
    for (const scheme of [kvaerno5(), radauIIA5(), kvaerno3()]) {
      it(`${problem.name} by ${scheme.name}: within 1e-6 of the reference, every component`, () => {
        expect(end(problem, scheme, 1e-8).error).to.be.below(1e-6);
      });
    }
  }

  for (const [scheme, ratio] of [
    [kvaerno5(), 1],
    [radauIIA5(), 5 / 4],
  ] as const)
    it(`${scheme.name}: errors go with the tolerance, from 1e-4 to 1e-10`, () => {
      const error = (rtol: number): number => end(hires, scheme, rtol).error;
      const power = Math.log(error(1e-4) / error(1e-10)) / Math.log(1e6);
      expect(power).to.be.within(ratio - 0.25, ratio + 0.3);
    });

  it('sdirk2 has the same motion at its own price', () => {
    expect(end(hires, sdirk2(), 1e-6).error).to.be.below(1e-4);
    expect(end(vanDerPol, sdirk2(), 1e-6).error).to.be.below(1e-4);
  });

  for (const scheme of [kvaerno5(), radauIIA5()]) {
    it(`${scheme.name}: both engines take the same steps, to the bit`, () => {
      const [one, other] = doubleEngines.map(({name}) => [...end(vanDerPol, scheme, 1e-4, {engine: name}).y]);
      expect(one).to.deep.equal(other);
    });

    it(`${scheme.name}: equations are solved as far as the tolerance asks, with few matrices`, () => {
      const own = end(hires, scheme, 1e-6).stats;
      const stages = scheme.name === 'kvaerno5' ? 6 : 1;
      // Two to three iterations a stage; a matrix a step at most, and where it is dear, of three stages at once, for every second.
      expect(own.residualEvaluations / ((own.steps + own.rejectedSteps) * stages)).to.be.below(2.7);
      expect(own.factorizations).to.be.below((stages === 1 ? 0.5 : 1) * own.steps);
      const exact = end(hires, scheme, 1e-6, {newton: newton({tolerance: {absolute: 1e-14}})}).stats;
      expect(exact.factorizations).to.be.above(2 * own.factorizations);
    });
  }
});

describe('sensitivities of a stiff ode', () => {
  const system = ode(({y, params}) => robertson(y, params.k as tf.Tensor));
  const options = (t1: number, scheme: Scheme, rtol: number): SimulateOptions => ({
    scheme,
    dt: rober.first,
    t1,
    saveAt: 'end',
    control: adaptive({rtol, atol: rober.atol(rtol)}),
    params: {k: [...robertsonRates]},
  });

  /** ∂yᵢ/∂k of the end, [i][k], by the adjoint. */
  const byAdjoint = (t1: number, scheme: Scheme, rtol: number): number[][] => {
    const {trajectory, pullback} = simulate.vjp(system, {y: [...rober.y]}, options(t1, scheme, rtol));
    trajectory.dispose();
    return [0, 1, 2].map(i => {
      const cotangent = new Float64Array(6);
      cotangent[3 + i] = 1;
      return [...(pullback({y: cotangent}).params.k as Float64Array)];
    });
  };

  /** The same by the variational equations S' = J S + ∂f/∂k, J and ∂f/∂k by hand, as an ode of 12 unknowns. */
  const byVariation = (t1: number): number[][] => {
    const [k1, k2, k3] = robertsonRates;
    const whole = ode(({y: all}) => {
      const y = tf.slice(all, [0], [3]);
      const s = tf.reshape(tf.slice(all, [3], [9]), [3, 3]);
      const [y1, y2, y3] = tf.unstack(y);
      const zero = tf.zerosLike(y1);
      const row = (...entries: tf.Tensor[]): tf.Tensor => tf.stack(entries);
      const [a, b] = [tf.mul(y3, k3), tf.mul(y2, k3)];
      const fast = tf.mul(y2, 2 * k2);
      const jacobian = tf.stack([
        row(tf.add(zero, -k1), a, b),
        row(tf.add(zero, k1), tf.neg(tf.add(a, fast)), tf.neg(b)),
        row(zero, fast, zero),
      ]);
      const product = tf.mul(y2, y3);
      const square = tf.square(y2);
      const byRates = tf.stack([
        row(tf.neg(y1), zero, product),
        row(y1, tf.neg(square), tf.neg(product)),
        row(zero, square, zero),
      ]);
      return tf.concat([
        robertson(y, tf.tensor1d([...robertsonRates])),
        tf.reshape(tf.add(tf.matMul(jacobian, s), byRates), [9]),
      ]);
    });
    const scale = [1, 1e-4, 1];
    const rates = [1, 1e-7, 1e-4];
    const atol = [...scale.map(size => 1e-12 * size), ...scale.flatMap(size => rates.map(rate => 1e-12 * size * rate))];
    const path = simulate(
      whole,
      {y: [...rober.y, ...new Array<number>(9).fill(0)]},
      {scheme: radauIIA5(), dt: 1e-6, t1, saveAt: 'end', control: adaptive({rtol: 1e-9, atol})},
    );
    path.dispose();
    const end = path.values('y').slice(-9);
    return [0, 1, 2].map(i => [...end.slice(3 * i, 3 * i + 3)]);
  };

  // cvsRoberts_FSA_dns of SUNDIALS (examples/cvodes/serial, -sensi stg1 t), rtol 1e-4, as printed: by k, y1, y2, y3.
  const published: readonly (readonly [number, readonly (readonly number[])[]])[] = [
    [
      0.4,
      [
        [-3.5595e-1, 3.9025e-4, 3.5556e-1],
        [9.5428e-8, -2.131e-10, -9.5215e-8],
        [-1.5833e-11, -5.2901e-13, 1.6362e-11],
      ],
    ],
    [
      40,
      [
        [-4.2477, 4.5907e-5, 4.2476],
        [1.3732e-5, -2.3569e-10, -1.3731e-5],
        [-2.2885e-9, -1.138e-13, 2.2886e-9],
      ],
    ],
    [
      4e3,
      [
        [-4.75, -5.9955e-6, 4.75],
        [1.8809e-5, 2.3132e-11, -1.8809e-5],
        [-3.1348e-9, -1.8757e-14, 3.1348e-9],
      ],
    ],
    [
      4e6,
      [
        [-2.5661e-2, -5.1039e-8, 2.5661e-2],
        [1.0262e-7, 2.0408e-13, -1.0262e-7],
        [-1.7111e-11, -6.8512e-17, 1.7111e-11],
      ],
    ],
  ];
  // SUNDIALS' k are p₁, p₂ and p₃ of y₁' = −p₁y₁ + p₂y₂y₃, y₂' = −y₁' − p₃y₂².
  const place = [0, 2, 1];

  for (const scheme of [kvaerno5(), radauIIA5()]) {
    slow(`${scheme.name}: those that SUNDIALS prints, by the adjoint`, () => {
      for (const [t, table] of published) {
        const own = byAdjoint(t, scheme, 1e-7);
        // Its errors are some times its tolerance of 1e-4.
        table.forEach((row, p) =>
          row.forEach((value, i) =>
            expect(own[i][place[p]] / value, `t = ${t}, y${i + 1} by p${p + 1}`).to.be.closeTo(1, 2e-3),
          ),
        );
      }
    });

    slow(`${scheme.name}: those of the variational equations, by the adjoint`, () => {
      const exact = byVariation(4e3);
      byAdjoint(4e3, scheme, 1e-9).forEach((row, i) =>
        row.forEach((value, k) => expect(value / exact[i][k]).to.be.closeTo(1, 2e-6)),
      );
    });

    it(`${scheme.name}: those of the steps that were taken, to rounding, where these do not change`, () => {
      // Differences of runs on one grid of lengths: they are differences of one function, which the gradient is exact for.
      const grid = (k: readonly number[]): SimulateOptions => ({
        scheme,
        dt: 1e-3,
        t1: 0.1,
        saveAt: 'end',
        params: {k: [...k]},
        newton: newton({tolerance: {absolute: 1e-18}}),
      });
      const path = (k: readonly number[]): Float64Array => {
        const run = simulate(system, {y: [...rober.y]}, grid(k));
        run.dispose();
        return run.values('y').slice(3);
      };
      const {trajectory, pullback} = simulate.vjp(system, {y: [...rober.y]}, grid(robertsonRates));
      trajectory.dispose();
      const own = pullback({y: [0, 0, 0, 1, 0, 0]}).params.k as Float64Array;
      robertsonRates.forEach((rate, j) => {
        const moved = (s: number): number =>
          path(robertsonRates.map((value, i) => (i === j ? value * (1 + s) : value)))[0];
        expect((moved(1e-4) - moved(-1e-4)) / (2e-4 * rate) / own[j]).to.be.closeTo(1, 1e-6);
      });
    });
  }
});
