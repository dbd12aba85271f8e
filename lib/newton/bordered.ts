/**
 * A nonlinear system R(z, λ) = 0 whose parameter λ is an unknown, too, closed by a plane n · ((z, λ) − p) = 0. Near a
 * turning point in λ, where ∂R/∂z is singular, the whole is not (Keller 1977; Riks, Int. J. Solids Struct. 15, 1979).
 * Its matrix is solved with by blocks, so that only ∂R/∂z is ever factored.
 */
import {dot, type Factor} from '../linear/index.js';
import type {NonlinearSystem} from './system.js';

/** Solves with [A c; wᵀ ω] by a factor of A: x = A⁻¹b − A⁻¹c ξ, where ξ = (β − w·A⁻¹b)/(ω − w·A⁻¹c). */
export class BorderedFactor implements Factor {
  readonly kind: string;
  readonly n: number;
  readonly size: number;
  /** A⁻¹c */
  readonly column: Float64Array;
  private readonly w: Float64Array;
  private readonly omega: number;

  /** @param row [w, ω] */
  constructor(
    readonly inner: Factor,
    private readonly c: Float64Array,
    row: Float64Array,
  ) {
    const n = inner.n;
    this.n = n + 1;
    this.kind = inner.kind;
    this.size = inner.size + n;
    this.w = row.subarray(0, n);
    this.omega = row[n];
    this.column = new Float64Array(n);
    inner.solve(c, this.column);
  }

  get linearIterations(): number {
    return this.inner.linearIterations;
  }

  refactor(values: Float64Array): void {
    this.inner.refactor(values);
    this.inner.solve(this.c, this.column);
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    const {column, w, omega} = this;
    this.each(b, x, count, (first, last, to) => {
      this.inner.solve(first, to);
      const xi = (last - dot(w, to)) / (omega - dot(w, column));
      for (let i = 0; i < to.length; i++) to[i] -= xi * column[i];
      return xi;
    });
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    const {c, column, w, omega} = this;
    const row = new Float64Array(w.length);
    this.inner.solveTransposed(w, row);
    this.each(b, x, count, (first, last, to) => {
      const xi = (last - dot(column, first)) / (omega - dot(c, row));
      this.inner.solveTransposed(first, to);
      for (let i = 0; i < to.length; i++) to[i] -= xi * row[i];
      return xi;
    });
  }

  /** Each right-hand side in its two parts; what is returned is the last number of the solution. */
  private each(
    b: Float64Array,
    x: Float64Array,
    count: number,
    solve: (first: Float64Array, last: number, to: Float64Array) => number,
  ): void {
    const {n} = this;
    for (let at = 0; at < count * n; at += n) {
      const last = at + n - 1;
      x[last] = solve(b.subarray(at, last), b[last], x.subarray(at, last));
    }
  }
}

/** The system that is bordered. */
export interface ParametricSystem extends NonlinearSystem {
  /** Sets the parameter; z may change. */
  setParameter(value: number): void;
}

export class BorderedSystem implements NonlinearSystem {
  /** [z, λ] */
  readonly z: Float64Array;
  readonly residual: Float64Array;
  readonly matrixFree = false;
  readonly hasApproximateJacobian = false;
  /** The plane: its normal n, and a point p of it. */
  readonly normal: Float64Array;
  readonly point: Float64Array;
  private border: Float64Array;

  /** @param difference the distance of λ for ∂R/∂λ by central differences */
  constructor(
    private readonly inner: ParametricSystem,
    private readonly difference: number,
  ) {
    const n = inner.z.length + 1;
    [this.z, this.residual, this.normal, this.point] = Array.from({length: 4}, () => new Float64Array(n));
    this.border = new Float64Array(n - 1);
  }

  get epsilon(): number {
    return this.inner.epsilon;
  }

  /** Takes the inner system to (z, λ), or to another λ. */
  moveInner(parameter = this.z[this.z.length - 1]): void {
    const {inner, z} = this;
    inner.setParameter(parameter);
    inner.z.set(z.subarray(0, inner.z.length));
  }

  evaluateResidual(): void {
    const {inner, z, residual, normal, point} = this;
    this.moveInner();
    inner.evaluateResidual();
    residual.set(inner.residual);
    residual[residual.length - 1] = normal.reduce((sum, n, i) => sum + n * (z[i] - point[i]), 0);
  }

  factor(): BorderedFactor {
    const {inner, z, difference, normal} = this;
    const parameter = z[z.length - 1];
    const at = (s: number): Float64Array => {
      this.moveInner(parameter + s);
      inner.evaluateResidual();
      return inner.residual.slice();
    };
    const [before, after] = [at(-difference), at(difference)];
    this.border = after.map((r, i) => (r - before[i]) / (2 * difference));
    this.moveInner();
    return new BorderedFactor(inner.factor(false, false), this.border, normal);
  }

  scaleRows(weights: Float64Array, scale: Float64Array): boolean {
    const {inner, border, normal} = this;
    const n = border.length;
    if (!inner.scaleRows(weights.subarray(0, n), scale.subarray(0, n))) return false;
    for (let i = 0; i < n; i++) scale[i] += Math.abs(border[i]) * weights[n];
    scale[n] = normal.reduce((sum, w, i) => sum + Math.abs(w) * weights[i], 0);
    return true;
  }

  readonly emitTypicalSizes: NonlinearSystem['emitTypicalSizes'] = (b, to) => {
    const {inner, z} = this;
    const n = inner.z.length;
    inner.emitTypicalSizes?.(b, to.subarray(0, n), () => inner);
    b.call({run: () => (to[n] = Math.abs(z[n]))});
  };
}
