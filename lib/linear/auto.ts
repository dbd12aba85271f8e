/**
 * The default: chooses a method from the pattern, and among its two forms from the values. Symmetric
 * matrices try Cholesky, which costs half and proves positive definiteness on the way; where that fails
 * LU takes over. The choice depends on the values alone, never on earlier matrices, so that a step
 * computed again (checkpointing) gives the same bits.
 */
import { choleskyWork, CholeskyFactor } from './cholesky.js';
import { DenseLuFactor, denseLuWork } from './dense-lu.js';
import { throwNotFactored } from './direct.js';
import type { Analysis, Factor, LinearSolver, Pattern } from './solver.js';

export function auto(): LinearSolver {
  return { name: 'auto', analyze: (pattern) => new DenseAnalysis(pattern) };
}

class DenseAnalysis implements Analysis {
  readonly kind = 'dense';
  readonly n: number;
  readonly nonzeros: number;
  readonly work: number;
  private readonly own: Factor;

  constructor(private readonly pattern: Pattern) {
    const { n, symmetric } = pattern;
    this.n = n;
    this.nonzeros = symmetric ? (n * (n + 1)) / 2 : n * n;
    this.work = symmetric ? choleskyWork(n) : denseLuWork(n);
    this.own = this.createFactor();
  }

  factor(values: Float64Array): Factor {
    this.own.refactor(values);
    return this.own;
  }

  createFactor(): Factor {
    return this.pattern.symmetric ? new CholeskyOrLu(this.pattern) : new DenseLuFactor(this.pattern);
  }
}

class CholeskyOrLu implements Factor {
  readonly n: number;
  readonly linearIterations = 0;
  private readonly definite: CholeskyFactor;
  private general: DenseLuFactor | undefined;
  private current: CholeskyFactor | DenseLuFactor | undefined;

  constructor(private readonly pattern: Pattern) {
    this.n = pattern.n;
    this.definite = new CholeskyFactor(pattern);
  }

  get kind(): string {
    return this.current?.kind ?? 'cholesky';
  }

  get size(): number {
    return this.definite.size + (this.general?.size ?? 0);
  }

  refactor(values: Float64Array): void {
    this.current = undefined;
    if (this.definite.tryRefactor(values)) {
      this.current = this.definite;
      return;
    }
    this.general ??= new DenseLuFactor(this.pattern);
    this.general.refactor(values);
    this.current = this.general;
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    if (this.current === undefined) throwNotFactored();
    this.current.solve(b, x, count);
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    if (this.current === undefined) throwNotFactored();
    this.current.solveTransposed(b, x, count);
  }
}
