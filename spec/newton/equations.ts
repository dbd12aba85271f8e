/** Equations written by hand, without a trace: what Newton's iteration alone makes of them. */
import type {Factor, LinearSolver} from '../../lib/linear/index.js';
import {densePattern, lu} from '../../lib/linear/index.js';
import type {NewtonCounters, NewtonStatus, NonlinearSystem} from '../../lib/newton/index.js';
import {NewtonIteration} from '../../lib/newton/index.js';
import type {NewtonOptions} from '../../lib/newton/index.js';
import {newton} from '../../lib/newton/index.js';

export interface Equations {
  readonly n: number;
  readonly f: (z: Float64Array, out: Float64Array) => void;
  /** Row-major. */
  readonly jacobian: (z: Float64Array, out: Float64Array) => void;
}

/** One equation in one unknown. */
export function scalar(f: (z: number) => number, slope: (z: number) => number): Equations {
  return {
    n: 1,
    f: (z, out) => (out[0] = f(z[0])),
    jacobian: (z, out) => (out[0] = slope(z[0])),
  };
}

/** Broyden's tridiagonal equations (Math. Comp. 19, 1965; problem 30 of Moré, Garbow & Hillstrom 1981), its start at −1. */
export function broyden(n: number): Equations {
  return {
    n,
    f: (z, out) => {
      for (let i = 0; i < n; i++)
        out[i] = (3 - 2 * z[i]) * z[i] + 1 - (i > 0 ? z[i - 1] : 0) - 2 * (i < n - 1 ? z[i + 1] : 0);
    },
    jacobian: (z, out) => {
      out.fill(0);
      for (let i = 0; i < n; i++) {
        out[i * n + i] = 3 - 4 * z[i];
        if (i > 0) out[i * n + i - 1] = -1;
        if (i < n - 1) out[i * n + i + 1] = -2;
      }
    },
  };
}

export interface Solved {
  readonly status: NewtonStatus;
  readonly z: Float64Array;
  readonly history: readonly number[];
  readonly counters: NewtonCounters;
  readonly iteration: NewtonIteration;
}

export interface Setting {
  readonly epsilon?: number;
  readonly linear?: LinearSolver;
  /** A model of the Jacobian, row-major; `only` where the Jacobian itself cannot be solved with. */
  readonly model?: {readonly matrix: (z: Float64Array, out: Float64Array) => void; readonly only: boolean};
  /** As with a Krylov method: each correction by the Jacobian where it begins, and no matrix to scale rows by. */
  readonly matrixFree?: boolean;
  /** Solve so many times from the same start, without dropping the factor. */
  readonly times?: number;
}

/** Solves from `start` and tells what it took. */
export function solve(
  equations: Equations,
  start: readonly number[],
  options: NewtonOptions = {},
  {epsilon = Number.EPSILON, linear = lu(), times = 1, model, matrixFree = false}: Setting = {},
): Solved {
  const {n} = equations;
  const analysis = linear.analyze(densePattern(n));
  const values = new Float64Array(n * n);
  const counters: NewtonCounters = {
    newtonIterations: 0,
    residualEvaluations: 0,
    jacobianEvaluations: 0,
    factorizations: 0,
    linearIterations: 0,
  };
  const system: NonlinearSystem = {
    hasApproximateJacobian: model !== undefined,
    z: new Float64Array(n),
    residual: new Float64Array(n),
    epsilon,
    matrixFree: matrixFree || model?.only === true,
    evaluateResidual: () => equations.f(system.z, system.residual),
    factor: (_, byModel): Factor => {
      if (model !== undefined && byModel) model.matrix(system.z, values);
      else equations.jacobian(system.z, values);
      return analysis.factor(values);
    },
    scaleRows: (weights, scale) => {
      if (matrixFree) return false;
      for (let i = 0; i < n; i++) {
        scale[i] = 0;
        for (let j = 0; j < n; j++) scale[i] += Math.abs(values[i * n + j]) * weights[j];
      }
      return true;
    },
  };
  const iteration = new NewtonIteration(newton(options), system, counters);
  let status: NewtonStatus = 'converged';
  for (let k = 0; k < times; k++) {
    system.z.set(start);
    status = iteration.solve();
  }
  return {status, z: system.z, history: iteration.history, counters, iteration};
}

/** The root in [a, b], where f changes sign, by bisection: to the last bit of the arithmetic in f. */
export function bisect(f: (z: number) => number, a: number, b: number): number {
  const rising = f(a) < 0;
  for (;;) {
    const middle = (a + b) / 2;
    if (middle <= Math.min(a, b) || middle >= Math.max(a, b)) return middle;
    if (f(middle) < 0 === rising) a = middle;
    else b = middle;
  }
}
