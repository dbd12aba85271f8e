/**
 * Linear problems with constant coefficients have one Newton matrix in all steps: it is factored once, and all is as
 * where a term of no value (0·y²) makes the matrix depend on the state and every step factors its own.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {OdeSystem, SimulateOptions} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  gaussLegendre,
  implicitAdjoint,
  implicitMidpoint,
  mechanics,
  newton,
  ode,
  simulate,
  trapezoid,
  unrolledAdjoint,
} from '../../lib/index.js';
import {jacobianFactor} from '../../lib/adjoint/jacobian-factor.js';
import {StepRecord} from '../../lib/adjoint/record.js';
import {prepare} from '../../lib/simulate/prepare.js';
import {loadParameters} from '../../lib/step/context.js';
import {doubleEngines} from '../simulate/engines.js';
import {slow} from '../tiers.js';

type Slope = (y: tf.Tensor, c: tf.Tensor) => tf.Tensor;

/** Heat on a line with ends at zero: tridiagonal. */
const line =
  (n: number): Slope =>
  (y, c) => {
    const wide = tf.pad(y as tf.Tensor1D, [[1, 1]]);
    return tf.mul(c, tf.add(tf.sub(tf.slice(wide, [2], [n]), tf.mul(2, y)), tf.slice(wide, [0], [n])));
  };

/** Heat that a wind carries along, on a square: a sparse matrix without symmetry. */
const wind =
  (k: number): Slope =>
  (y, c) => {
    const wide = tf.pad(y as tf.Tensor2D, [
      [1, 1],
      [1, 1],
    ]);
    const at = (i: number, j: number): tf.Tensor => tf.slice(wide, [i, j], [k, k]);
    const diffusion = tf.sub(tf.add(tf.add(at(0, 1), at(2, 1)), tf.add(at(1, 0), at(1, 2))), tf.mul(4, y));
    return tf.sub(tf.mul(c, diffusion), tf.mul(0.7, tf.sub(at(1, 2), at(1, 0))));
  };

/** Everything on everything: dense. */
const all =
  (n: number): Slope =>
  (y, c) => {
    const matrix = tf.tensor2d(
      Array.from({length: n}, (_, i) =>
        Array.from({length: n}, (__, j) => (i === j ? -2 : Math.sin(1 + i + 3 * j) / n)),
      ),
    );
    return tf.mul(c, tf.reshape(tf.matMul(matrix, tf.reshape(y, [n, 1])), [n]));
  };

const systemOf = (slope: Slope, steady: boolean): OdeSystem =>
  ode(({y, params}) => {
    const {c, nothing} = params as {readonly c: tf.Tensor; readonly nothing: tf.Tensor};
    const rate = slope(y, c);
    return steady ? rate : tf.add(rate, tf.mul(nothing, tf.square(y)));
  });

const params = {c: 3.7, nothing: 0};
const start = (shape: readonly number[]): tf.Tensor =>
  tf.sin(tf.mul(tf.range(1, 1 + shape.reduce((a, b) => a * b)), 1.3)).reshape([...shape]);

function outcome(
  system: OdeSystem,
  shape: readonly number[],
  options: SimulateOptions,
): {factorizations: number; jacobians: number; y: Float64Array; c: Float64Array; initial: Float64Array} {
  const y0 = tf.tidy(() => start(shape));
  const {trajectory, pullback} = simulate.vjp(system, {y: y0}, {...options, params});
  const y = trajectory.values('y');
  const cotangents = pullback({y: y.map((value, i) => value + Math.cos(i))});
  const {factorizations, jacobianEvaluations: jacobians} = trajectory.stats;
  trajectory.dispose();
  y0.dispose();
  return {
    factorizations,
    jacobians,
    y,
    c: (cotangents.params as {readonly c: Float64Array}).c,
    initial: (cotangents.initial as {readonly y: Float64Array}).y,
  };
}

/** But for the rounding of another program. */
function same(a: ReturnType<typeof outcome>, b: ReturnType<typeof outcome>, what: string): void {
  for (const key of ['y', 'initial', 'c'] as const)
    a[key].forEach((value, i) =>
      expect(value, `${what}, ${key}[${i}]`).to.be.closeTo(b[key][i], 1e-14 * (1 + Math.abs(value))),
    );
}

describe('a Newton matrix that is the same in all steps', () => {
  const cases: readonly (readonly [name: string, slope: Slope, shape: readonly number[], kind: string])[] = [
    ['tridiagonal', line(40), [40], 'tridiagonal'],
    ['two unknowns', line(2), [2], 'dense'],
    ['sparse', wind(14), [14, 14], 'sparse'],
    ['dense', all(12), [12], 'dense'],
  ];
  const schemes = {
    implicitMidpoint: implicitMidpoint(),
    trapezoid: trapezoid(),
    gaussLegendre: gaussLegendre({stages: 2}),
  };

  for (const {name: engine} of doubleEngines) {
    for (const [name, slope, shape] of cases) {
      slow(`${name}, ${engine}: is factored once, and gives the same`, () => {
        for (const [scheme, method] of Object.entries(schemes)) {
          const options = {scheme: method, dt: 0.05, steps: 6, engine};
          const [steady, moving] = [true, false].map(isSteady => outcome(systemOf(slope, isSteady), shape, options));
          expect([steady.factorizations, steady.jacobians], scheme).to.deep.equal([1, 1]);
          expect(moving.factorizations, scheme).to.equal(6);
          same(steady, moving, scheme);
        }
      });
    }
  }

  it('is factored again for a step of another length', () => {
    const {factorizations} = outcome(systemOf(line(20), true), [20], {scheme: implicitMidpoint(), dt: 0.05, t1: 0.27});
    expect(factorizations).to.equal(2);
  });

  it('is not one where a coefficient depends on time', () => {
    const drive = ode(({y, t, params: p}) =>
      tf.mul(tf.neg(tf.add(({...p} as {readonly c: tf.Tensor}).c, tf.sin(t as tf.Tensor))), y),
    );
    expect(outcome(drive, [3], {scheme: implicitMidpoint(), dt: 0.05, steps: 5}).factorizations).to.equal(5);
  });

  slow('leaves gradients the same for every budget of memory, and by Newton’s own iterations', () => {
    for (const [name, slope, shape] of cases) {
      const of = (adjoint: SimulateOptions['adjoint'], more: Partial<RunSettings> = {}): ReturnType<typeof outcome> =>
        outcome(systemOf(slope, true), shape, {scheme: implicitMidpoint(), dt: 0.05, steps: 9, ...more, adjoint});
      const whole = of(implicitAdjoint());
      const scarce = of(implicitAdjoint({memory: 3 * 8 * shape.reduce((a, b) => a * b)}));
      for (const key of ['y', 'c', 'initial'] as const)
        expect(scarce[key], `${name}, ${key}`).to.deep.equal(whole[key]);
      const [unrolled, moving] = [true, false].map(isSteady =>
        outcome(systemOf(slope, isSteady), shape, {
          scheme: implicitMidpoint(),
          dt: 0.05,
          steps: 9,
          adjoint: unrolledAdjoint(),
          newton: newton({iterations: 2}),
        }),
      );
      same(unrolled, moving, `${name}, unrolled`);
    }
  });

  it('is seen to be gone where another reader of the same memory has put that of another length there', () => {
    for (const {name: engine} of doubleEngines) {
      const prepared = prepare(
        systemOf(line(40), true),
        {y: new Float64Array(40)},
        {scheme: implicitMidpoint(), dt: 0.05, steps: 2, engine, params},
      );
      const executable = prepared.compiled.fullAdjoint(prepared.linear);
      loadParameters(executable, prepared);
      const [one, other] = [jacobianFactor(prepared, executable), jacobianFactor(prepared, executable)];
      const [h, b, x] = [executable.buffer('h'), executable.buffer('zCotangent'), executable.buffer('w')];
      const noSteps = new StepRecord(0, 0, 1);
      const solution = (of: typeof one, length: number): Float64Array => {
        h[0] = length;
        b.fill(1);
        of?.solveTransposed(b, x, noSteps, 0);
        return x.slice();
      };
      const short = solution(one, 0.1);
      expect(solution(other, 0.2), engine).to.not.deep.equal(short);
      expect(solution(one, 0.1), engine).to.deep.equal(short);
    }
  });

  it('serves runs of one structure with other parameters, in turns', () => {
    const oscillator = mechanics({
      mass: 2,
      forces: ({q, v, params: p}) => tf.sub(tf.mul(tf.neg((p as {readonly k: tf.Tensor}).k), q), tf.mul(0.1, v)),
    });
    const springs = (k: number): Float64Array => {
      const run = simulate(
        oscillator,
        {q: [1, 0.5], v: [0, 0]},
        {scheme: implicitMidpoint(), dt: 0.1, steps: 20, params: {k}},
      );
      const q = run.values('q');
      run.dispose();
      return q;
    };
    const alone = [springs(3), springs(5)];
    const again = [springs(5), springs(3), springs(5)];
    expect(again).to.deep.equal([alone[1], alone[0], alone[1]]);
    // Damped, e^−t/40 (cos ωt + sin ωt/(40 ω)) with ω² = k/2 − 1/1600; the midpoint rule's own error at this step is 0.0125.
    const omega = Math.sqrt(1.5 - 1 / 1600);
    expect(alone[0][2 * 20]).to.be.closeTo(
      Math.exp(-0.05) * (Math.cos(2 * omega) + Math.sin(2 * omega) / (40 * omega)),
      5e-3,
    );
  });
});
