/**
 * What the Krylov methods share. Each method offers one *cycle*: from a residual r it builds a space
 * and returns a correction. The loop round it is the same for all: add the correction, compute the
 * residual b − A x anew, and go on from there. So what is called converged is a true residual, never
 * the method's own recurrence, which drifts from it by rounding (Greenbaum 1997), and a failure always
 * has a name and a number.
 */
import {OptionError, ShapeError, StiffgradError} from '../errors.js';
import type {OptionSchema} from '../checks.js';
import {any, positiveInteger, positive, refuseUnknownOptions} from '../checks.js';
import {FactorAnalysis} from './analysis.js';
import {CsrOperator, type Coupling, type Operator} from './operator.js';
import {withRecipe} from './recipe.js';
import type {Factor, LinearSolver} from './solver.js';

/**
 * z ≈ A⁻¹ r. A function serves both directions (right for symmetric matrices, and never wrong, only
 * slow, for others); any factor will do too, such as the stale one of a chord iteration.
 */
export type Preconditioner =
  | 'none'
  | 'diagonal'
  /** [D −Gᵀ; G C] of a constrained step, D the diagonal of A: its multipliers' rows and columns as they are. */
  | 'constraint'
  | ((r: Float64Array, z: Float64Array) => void)
  | Pick<Factor, 'solve' | 'solveTransposed'>;

/** Options of `cg` and `minres`. */
export interface KrylovOptions {
  /**
   * ‖b − A x‖₂ ≤ tolerance · ‖b‖₂. Default 1e-10: with steps this exact, Newton's method needs no additional iteration.
   */
  readonly tolerance?: number;
  /** Largest number of products with A. Default max(100, 10 n): rounding delays the theory's n by a small factor. */
  readonly maxIterations?: number;
  /** Default 'none'. */
  readonly preconditioner?: Preconditioner;
}

/** A Krylov method: a linear solver like the others, and one for operators without a matrix. */
export interface KrylovSolver extends LinearSolver {
  /** Solves with an operator whose values live elsewhere; call `refresh` when they have changed. */
  bind(operator: Operator): KrylovFactor;
}

/** Arrays of one cycle, all of length n; they belong to the factor. */
export interface Cycle {
  readonly system: PreconditionedSystem;
  /** In: the residual to reduce. The cycle may destroy it. */
  readonly residual: Float64Array;
  /** Out: the complete correction. */
  readonly correction: Float64Array;
}

/** An iterative method on Krylov spaces, one cycle after another. */
export interface KrylovMethod {
  readonly name: string;
  /** Doubles of workspace. */
  readonly size: number;
  /** Methods for definite matrices refuse a diagonal that is not positive; symmetric ones use its absolute value. */
  readonly diagonal: 'any' | 'absolute' | 'positive';
  /** Reduces the residual's 2-norm to `target` in at most `budget` products. Returns the products used. */
  cycle(cycle: Cycle, target: number, budget: number): number;
}

/** A and M⁻¹ in the direction of the present solve. */
export class PreconditionedSystem {
  transposed = false;
  private readonly reciprocals: Float64Array | undefined;
  private readonly coupling: Coupling | undefined;

  constructor(
    readonly operator: Operator,
    private readonly preconditioner: Preconditioner,
    private readonly sign: KrylovMethod['diagonal'],
    private readonly method: string,
  ) {
    this.coupling = preconditioner === 'constraint' ? operator.coupling : undefined;
    // An operator that knows no constraints (the compressed rows of a special first iteration) has its diagonal.
    if (preconditioner !== 'diagonal' && (preconditioner !== 'constraint' || this.coupling !== undefined)) return;
    if (operator.diagonal === undefined) {
      throw new OptionError(
        'no-diagonal',
        `${method}: the operator has no diagonal(d), which preconditioner 'diagonal' needs.`,
        {method},
      );
    }
    this.reciprocals = new Float64Array(operator.n);
  }

  refresh(): void {
    this.coupling?.refresh();
    const d = this.reciprocals;
    if (d === undefined) return;
    this.operator.diagonal?.(d);
    for (let i = 0; i < d.length; i++) {
      if (!Number.isFinite(d[i])) throwNotFinite(this.method, `its diagonal entry ${i} is ${d[i]}`, {rows: [i]});
      if (this.sign === 'positive' && !(d[i] > 0))
        throwIndefinite(this.method, `its diagonal entry ${i} is ${d[i]}`, {rows: [i]});
      // A zero on the diagonal (a multiplier's row) is left unscaled.
      d[i] = d[i] === 0 ? 1 : 1 / (this.sign === 'absolute' ? Math.abs(d[i]) : d[i]);
    }
  }

  multiply(x: Float64Array, y: Float64Array): void {
    if (this.transposed) this.operator.applyTransposed(x, y);
    else this.operator.apply(x, y);
  }

  precondition(r: Float64Array, z: Float64Array): void {
    const m = this.preconditioner;
    const d = this.reciprocals;
    if (this.coupling !== undefined) this.coupling.solve(r, z, this.transposed);
    else if (d !== undefined) for (let i = 0; i < d.length; i++) z[i] = r[i] * d[i];
    else if (typeof m === 'function') m(r, z);
    else if (typeof m === 'string') for (let i = 0; i < r.length; i++) z[i] = r[i];
    else if (this.transposed) m.solveTransposed(r, z);
    else m.solve(r, z);
  }
}

/**
 * A true residual falls to a few ε‖A‖‖x‖ and no further: 64 ε‖b‖ leaves room for a condition of some
 * ten, and Newton's iteration, which asks in single precision, corrects what is left.
 */
const reach = 64;

/** An iterative method with the interface of a factor. */
export class KrylovFactor implements Factor {
  readonly n: number;
  readonly kind: string;
  private readonly system: PreconditionedSystem;
  private readonly cycle: Cycle;
  private readonly right: Float64Array;
  private readonly solution: Float64Array;
  private readonly own: number;
  private tolerance: number;
  private readonly maxIterations: number;
  private iterations = 0;
  private relative = 0;

  constructor(
    private readonly operator: Operator,
    private readonly method: KrylovMethod,
    options: KrylovOptions,
  ) {
    const n = operator.n;
    this.n = n;
    this.kind = method.name;
    this.own = Math.max(options.tolerance ?? 1e-10, reach * (operator.epsilon ?? 0));
    this.tolerance = this.own;
    this.maxIterations = options.maxIterations ?? Math.max(100, 10 * n);
    this.system = new PreconditionedSystem(operator, options.preconditioner ?? 'none', method.diagonal, method.name);
    this.cycle = {system: this.system, residual: new Float64Array(n), correction: new Float64Array(n)};
    this.right = new Float64Array(n);
    this.solution = new Float64Array(n);
  }

  get size(): number {
    return 4 * this.n + this.method.size + (this.operator instanceof CsrOperator ? this.operator.size : 0);
  }

  get linearIterations(): number {
    return this.iterations;
  }

  relax(eta: number): void {
    this.tolerance = Math.max(this.own, eta);
  }

  /** ‖b − A x‖₂ / ‖b‖₂ of the last solve, computed from x; the largest of several right-hand sides. */
  get residual(): number {
    return this.relative;
  }

  refactor(values: Float64Array): void {
    if (!(this.operator instanceof CsrOperator)) {
      throw new OptionError(
        'matrix-free',
        `${this.kind}: this operator holds its own values. Change them there and call refresh().`,
        {},
      );
    }
    this.operator.load(values);
    this.system.refresh();
  }

  /** The operator's values have changed: reads its diagonal anew where the preconditioner wants it. */
  refresh(): void {
    this.system.refresh();
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    this.solveAll(b, x, count, false);
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    this.solveAll(b, x, count, true);
  }

  private solveAll(b: Float64Array, x: Float64Array, count: number, transposed: boolean): void {
    const {n, right, solution} = this;
    if (b.length < count * n || x.length < count * n) {
      throw new ShapeError(
        'bad-length',
        `b and x need ${count * n} numbers each; they have ${b.length} and ${x.length}.`,
        {b: b.length, x: x.length},
      );
    }
    this.system.transposed = transposed;
    this.iterations = 0;
    this.relative = 0;
    for (let at = 0; at < count * n; at += n) {
      for (let i = 0; i < n; i++) right[i] = b[at + i];
      this.solveOne();
      for (let i = 0; i < n; i++) x[at + i] = solution[i];
    }
  }

  private solveOne(): void {
    const {right, solution, system, tolerance} = this;
    const {residual, correction} = this.cycle;
    solution.fill(0);
    residual.set(right);
    const size = norm(right);
    if (size === 0) return;
    if (!(size < Infinity)) this.fail('not-finite', 'the right-hand side is not finite', NaN);
    let remaining = this.maxIterations;
    let before = size;
    for (let stalled = 0; ;) {
      const used = this.method.cycle(this.cycle, tolerance * size, remaining);
      remaining -= used;
      this.iterations += used;
      for (let i = 0; i < solution.length; i++) solution[i] += correction[i];
      system.multiply(solution, residual);
      for (let i = 0; i < residual.length; i++) residual[i] = right[i] - residual[i];
      const now = norm(residual);
      if (now <= tolerance * size) {
        this.relative = Math.max(this.relative, now / size);
        return;
      }
      if (!(now < Infinity))
        this.fail('not-finite', 'the operator or the preconditioner returned a number that is not finite', NaN);
      if (remaining <= 0)
        this.fail(
          'linear-not-converged',
          `the residual is still ${(now / size).toExponential(2)} of the right-hand side `
            + `after ${this.maxIterations} iterations`,
          now / size,
        );
      // Two cycles in a row that do not even gain a tenth: rounding or a singular matrix, not slowness.
      stalled = now > 0.9 * before ? stalled + 1 : 0;
      if (stalled === 2)
        this.fail(
          'linear-stagnation',
          `the residual stays at ${(now / size).toExponential(2)} of the right-hand side`,
          now / size,
        );
      before = now;
    }
  }

  private fail(code: string, what: string, residual: number): never {
    throw new StiffgradError(
      code,
      `${this.method.name}: ${what} (tolerance ${this.tolerance}). `
        + 'Give a preconditioner, allow more iterations or a larger tolerance, or use a direct solver.',
      {method: this.method.name, iterations: this.iterations, residual, tolerance: this.tolerance},
    );
  }
}

/** A solver from a method; every factor gets a workspace of its own. */
export function krylovSolver(
  name: string,
  method: (n: number) => KrylovMethod,
  options: KrylovOptions,
  own: OptionSchema = {},
): KrylovSolver {
  refuseUnknownOptions(
    options,
    {tolerance: positive, maxIterations: positiveInteger, preconditioner: any, ...own},
    name,
    'bad-linear',
  );
  const {preconditioner = 'none'} = options;
  if (typeof preconditioner === 'string' && !['none', 'diagonal', 'constraint'].includes(preconditioner)) {
    throw new OptionError(
      'bad-linear',
      `${name}: preconditioner must be 'none', 'diagonal', 'constraint', a function or a factor, `
        + `not '${String(preconditioner)}'.`,
    );
  }
  return withRecipe(
    {
      name,
      bind(operator) {
        const factor = new KrylovFactor(operator, method(operator.n), options);
        factor.refresh();
        return factor;
      },
      analyze(pattern) {
        // There is no factorization: the work is that of one product with A.
        const counts = {n: pattern.n, nonzeros: pattern.columns.length, work: 2 * pattern.columns.length};
        const createFactor = (): KrylovFactor => new KrylovFactor(new CsrOperator(pattern), method(pattern.n), options);
        return new FactorAnalysis({kind: name, ...counts, createFactor});
      },
    },
    name,
    options,
  );
}

export function dot(x: Float64Array, y: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

export function norm(x: Float64Array): number {
  return Math.sqrt(dot(x, x));
}

export function throwIndefinite(method: string, what: string, data: Record<string, unknown>): never {
  throw new StiffgradError(
    'not-positive-definite',
    `${method}: the matrix or its preconditioner is not positive definite: ${what}. `
      + 'Use minres() for symmetric matrices, gmres() for others.',
    data,
  );
}

/** An operator cannot be looked at entry by entry: it shows in what is computed with it. */
export function throwNotFinite(method: string, what: string, data: Record<string, unknown>): never {
  throw new StiffgradError(
    'not-finite',
    `${method}: the matrix or its preconditioner is not finite: ${what}. `
      + 'Check the state at which it was computed, and divisions, roots and logarithms in the forces.',
    data,
  );
}
