/**
 * The dense solve through the active tfjs backend's linear algebra: LAPACK's on tfjs-node, a GPU's
 * where a backend has one. Those work in float32, so every solve is refined in double precision: the
 * residual b − Ax is computed here from the double values, and solved for again, which gains the
 * backend's seven digits a round (Wilkinson 1963; Higham, Accuracy and Stability, ch. 12).
 */
import * as tf from '@tensorflow/tfjs';
import {StiffgradError} from '../errors.js';
import {linalg} from '../linalg/index.js';
import {FactorAnalysis} from './analysis.js';
import {norm} from './krylov.js';
import {CsrOperator} from './operator.js';
import type {Factor, LinearSolver, Pattern} from './solver.js';
import {EPSILON} from './solver.js';
import {numbersOf} from '../read.js';

/** Rounds of refinement: a matrix that float32 can factor gains at least a digit a round, 16 at most. */
const mostRounds = 30;

/** Dense solves by tfjs's own `linalg`, in float32. */
export function tensorflow(): LinearSolver {
  return {
    name: 'tensorflow',
    analyze(pattern) {
      const {n} = pattern;
      const createFactor = (): Factor => new TensorFactor(pattern);
      return new FactorAnalysis({kind: 'tensorflow', n, nonzeros: n ** 2, work: (2 / 3) * n ** 3, createFactor});
    },
  };
}

class TensorFactor implements Factor {
  readonly n: number;
  readonly kind = 'tensorflow';
  readonly size: number;
  linearIterations = 0;
  private readonly operator: CsrOperator;
  private readonly dense: Float32Array;
  private readonly right: Float64Array;
  private readonly residual: Float64Array;
  private readonly product: Float64Array;
  private readonly best: Float64Array;

  constructor(private readonly pattern: Pattern) {
    const {n} = pattern;
    this.n = n;
    this.size = n * n;
    this.operator = new CsrOperator(pattern);
    this.dense = new Float32Array(n * n);
    this.right = new Float64Array(n);
    this.residual = new Float64Array(n);
    this.product = new Float64Array(n);
    this.best = new Float64Array(n);
  }

  refactor(values: Float64Array): void {
    const {n, rowPointers, columns} = this.pattern;
    for (const value of values) {
      if (!Number.isFinite(value)) throw new StiffgradError('not-finite', `The matrix holds ${value}.`);
    }
    this.operator.load(values);
    this.dense.fill(0);
    for (let i = 0; i < n; i++) {
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) this.dense[i * n + columns[p]] = values[p];
    }
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    this.solveAll(b, x, count, false);
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    this.solveAll(b, x, count, true);
  }

  private solveAll(b: Float64Array, x: Float64Array, count: number, transposed: boolean): void {
    this.linearIterations = 0;
    const {n} = this;
    for (let k = 0; k < count; k++) {
      this.right.set(b.subarray(k * n, (k + 1) * n));
      this.refine(transposed);
      x.set(this.best, k * n);
    }
  }

  /** The best x this arithmetic reaches, in `best`. */
  private refine(transposed: boolean): void {
    const {right, residual, product, best} = this;
    best.fill(0);
    residual.set(right);
    let size = norm(residual);
    const target = EPSILON * size;
    for (let round = 0; round < mostRounds && size > target; round++) {
      const correction = this.solveOnce(residual, size, transposed);
      this.linearIterations++;
      for (let i = 0; i < best.length; i++) best[i] += correction[i];
      if (transposed) this.operator.applyTransposed(best, product);
      else this.operator.apply(best, product);
      for (let i = 0; i < residual.length; i++) residual[i] = right[i] - product[i];
      const next = norm(residual);
      if (!Number.isFinite(next))
        throw new StiffgradError(
          'not-converged',
          'tensorflow(): the solution is not finite; the matrix is singular to float32. Use lu().',
        );
      // No longer halving: as good as it gets. Beyond the first rounds that is rounding, before it failure.
      if (next > 0.5 * size) {
        if (next > 1e-6 * norm(right))
          throw new StiffgradError(
            'not-converged',
            `tensorflow(): refinement stalled at a relative residual of `
              + `${(next / norm(right)).toExponential(1)}; the matrix is too badly conditioned for float32. Use lu().`,
          );
        return;
      }
      size = next;
    }
  }

  /** A⁻¹r in float32; r is scaled to norm 1 first, as its size may lie outside float32's range. */
  private solveOnce(r: Float64Array, size: number, transposed: boolean): Float64Array {
    const {n} = this;
    const solution = tf.tidy(() => {
      const a = tf.tensor2d(this.dense, [n, n]);
      const b = tf.tensor2d(
        Float32Array.from(r, value => value / size),
        [n, 1],
      );
      return linalg.solve(a, b, {adjoint: transposed});
    });
    const scaled = numbersOf(solution);
    solution.dispose();
    return scaled.map(value => value * size);
  }
}
