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
import {BlockOperator} from './block-rows.js';
import {throwIndefinite, throwNotFinite} from './krylov-errors.js';
import {incompleteCholesky} from './incomplete-cholesky.js';
import {multigrid} from './multigrid.js';
import {CsrOperator, type Coupling, type Operator} from './operator.js';
import {blockJacobi, type MatrixPreconditioner, type PreconditionerFactor} from './preconditioner.js';
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
  | MatrixPreconditionerName
  | MatrixPreconditioner
  | ((r: Float64Array, z: Float64Array) => void)
  | Pick<Factor, 'solve' | 'solveTransposed'>;

/**
 * Preconditioners made from the assembled matrix: inverses of the nodes' diagonal blocks, IC(0), smoothed aggregation.
 */
export type MatrixPreconditionerName = 'block-jacobi' | 'incomplete-cholesky' | 'multigrid';

const byName: Readonly<Record<MatrixPreconditionerName, () => MatrixPreconditioner>> = {
  'block-jacobi': () => blockJacobi,
  'incomplete-cholesky': () => incompleteCholesky,
  multigrid,
};

/** The preconditioner that needs the matrix; undefined for the others. */
function matrixPreconditioner(given: Preconditioner | undefined): MatrixPreconditioner | undefined {
  if (typeof given === 'string') return (byName as Partial<Record<string, () => MatrixPreconditioner>>)[given]?.();
  return typeof given === 'object' && 'analyzeBlocks' in given ? given : undefined;
}

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
    private readonly preconditioner: Exclude<Preconditioner, MatrixPreconditioner> | AssembledPreconditioner,
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
    if (this.preconditioner instanceof AssembledPreconditioner) this.preconditioner.refresh(this.sign === 'positive');
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

/** A preconditioner made from the values of an assembled matrix. */
class AssembledPreconditioner {
  private readonly factor: PreconditionerFactor;

  constructor(
    private readonly matrix: BlockOperator,
    make: () => PreconditionerFactor,
  ) {
    this.factor = make();
  }

  get size(): number {
    return this.factor.size;
  }

  refresh(definite: boolean): void {
    this.factor.refactor(this.matrix, definite);
  }

  solve(r: Float64Array, z: Float64Array): void {
    this.factor.solve(r, z);
  }

  solveTransposed(r: Float64Array, z: Float64Array): void {
    if (this.factor.solveTransposed === undefined) this.factor.solve(r, z);
    else this.factor.solveTransposed(r, z);
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
  private readonly assembled: AssembledPreconditioner | undefined;
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
    options: Omit<KrylovOptions, 'preconditioner'> & {
      readonly preconditioner?: Exclude<Preconditioner, MatrixPreconditioner> | AssembledPreconditioner;
    },
    kind = method.name,
  ) {
    const n = operator.n;
    this.n = n;
    this.kind = kind;
    this.own = Math.max(options.tolerance ?? 1e-10, reach * (operator.epsilon ?? 0));
    this.tolerance = this.own;
    this.maxIterations = options.maxIterations ?? Math.max(100, 10 * n);
    const {preconditioner = 'none'} = options;
    this.assembled = preconditioner instanceof AssembledPreconditioner ? preconditioner : undefined;
    this.system = new PreconditionedSystem(operator, preconditioner, method.diagonal, method.name);
    this.cycle = {system: this.system, residual: new Float64Array(n), correction: new Float64Array(n)};
    this.right = new Float64Array(n);
    this.solution = new Float64Array(n);
  }

  get size(): number {
    const {operator, assembled} = this;
    return 4 * this.n + this.method.size + (isLoaded(operator) ? operator.size : 0) + (assembled?.size ?? 0);
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
    if (!isLoaded(this.operator)) {
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
    // A transposed product of compressed rows takes longer, and a method for symmetric matrices needs none.
    this.solveAll(b, x, count, !(this.assembled !== undefined && this.method.diagonal !== 'any'));
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

type LoadedOperator = CsrOperator | BlockOperator;

const isLoaded = (operator: Operator): operator is LoadedOperator => 'load' in operator;

/** A Krylov method with a preconditioner that needs the matrix has no way to work without it. */
export type SolverOf<Options extends KrylovOptions> = Options extends {
  readonly preconditioner: MatrixPreconditionerName | MatrixPreconditioner;
}
  ? LinearSolver
  : KrylovSolver;

/** A solver from a method; every factor gets a workspace of its own. */
export function krylovSolver<Options extends KrylovOptions>(
  name: string,
  method: (n: number) => KrylovMethod,
  options: Options,
  own: OptionSchema = {},
): SolverOf<Options> {
  refuseUnknownOptions(
    options,
    {tolerance: positive, maxIterations: positiveInteger, preconditioner: any, ...own},
    name,
    'bad-linear',
  );
  const {preconditioner = 'none', ...rest} = options;
  const assembled = matrixPreconditioner(preconditioner);
  if (assembled !== undefined)
    return withRecipe(assembledSolver(name, method, rest, assembled), name, options) as SolverOf<Options>;
  if (typeof preconditioner === 'string' && !['none', 'diagonal', 'constraint'].includes(preconditioner)) {
    throw new OptionError(
      'bad-linear',
      `${name}: preconditioner must be 'none', 'diagonal', 'constraint', 'block-jacobi', 'incomplete-cholesky', `
        + `'multigrid', a function or a factor, not '${String(preconditioner)}'.`,
    );
  }
  const free = options as typeof rest & {readonly preconditioner?: Exclude<Preconditioner, MatrixPreconditioner>};
  return withRecipe<KrylovSolver>(
    {
      name,
      bind(operator) {
        const factor = new KrylovFactor(operator, method(operator.n), free);
        factor.refresh();
        return factor;
      },
      analyze(pattern) {
        // There is no factorization: the work is that of one product with A.
        const counts = {n: pattern.n, nonzeros: pattern.columns.length, work: 2 * pattern.columns.length};
        const createFactor = (): KrylovFactor => new KrylovFactor(new CsrOperator(pattern), method(pattern.n), free);
        return new FactorAnalysis({kind: name, ...counts, createFactor});
      },
    },
    name,
    options,
  );
}

/** A Krylov method on compressed rows. */
function assembledSolver(
  name: string,
  method: (n: number) => KrylovMethod,
  options: Omit<KrylovOptions, 'preconditioner'>,
  preconditioner: MatrixPreconditioner,
): LinearSolver {
  if (preconditioner.isSymmetric && name === 'gmres')
    throw new OptionError(
      'bad-linear',
      `${name}: preconditioner '${preconditioner.name}' is for symmetric matrices. Use cg() or minres().`,
      {},
    );
  const kind = `${name}, ${preconditioner.name}`;
  return {
    name: kind,
    analyze(pattern) {
      const counts = {n: pattern.n, nonzeros: pattern.columns.length, work: 2 * pattern.columns.length};
      const blocks = preconditioner.blocks(pattern);
      const make = preconditioner.analyzeBlocks(blocks, pattern);
      const createFactor = (): KrylovFactor => {
        const matrix = new BlockOperator(pattern, blocks);
        const assembled = new AssembledPreconditioner(matrix, make);
        return new KrylovFactor(matrix, method(pattern.n), {...options, preconditioner: assembled}, kind);
      };
      return new FactorAnalysis({kind, ...counts, createFactor});
    },
  };
}

export function dot(x: Float64Array, y: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

export function norm(x: Float64Array): number {
  return Math.sqrt(dot(x, x));
}
