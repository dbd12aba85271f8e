/**
 * A matrix that is given with intermediate unknowns: [A B; C D] stands for A − B D⁻¹ C (`Pattern.schurSize`). The
 * right-hand side of D's rows is zero, and of the solution the first part is asked for; transposed, the same. All of it
 * is factored as one sparse matrix.
 */
import {SingularMatrixError} from '../errors.js';
import {FactorAnalysis} from './analysis.js';
import type {Analysis, Factor, LinearSolver, Pattern} from './solver.js';

/** As `solver.analyze`, of all patterns. */
export function analyze(solver: LinearSolver, pattern: Pattern): Analysis {
  const {schurSize} = pattern;
  const whole = solver.analyze(pattern);
  if (schurSize === undefined) return whole;
  return new FactorAnalysis({
    kind: () => whole.kind,
    n: schurSize,
    nonzeros: whole.nonzeros,
    work: whole.work,
    solveWork: whole.solveWork,
    createFactor: () => new ExtendedFactor(schurSize, whole.createFactor()),
    pivots: whole.pivots,
  });
}

/** The factor of the whole matrix where it is an extended one. */
export const wholeOf = (factor: Factor): Factor => (factor instanceof ExtendedFactor ? factor.whole : factor);

class ExtendedFactor implements Factor {
  private from = new Float64Array(0);
  private to = new Float64Array(0);

  constructor(
    readonly n: number,
    readonly whole: Factor,
  ) {}

  get kind(): string {
    return this.whole.kind;
  }

  get size(): number {
    return this.whole.size;
  }

  get linearIterations(): number {
    return this.whole.linearIterations;
  }

  /** @throws SingularMatrixError whose rows are those of the matrix that is meant */
  refactor(values: Float64Array): void {
    try {
      this.whole.refactor(values);
    } catch (error) {
      if (!(error instanceof SingularMatrixError)) throw error;
      const own = (lines: unknown): number[] => ((lines ?? []) as number[]).filter(line => line < this.n);
      const {rows, columns} = error.data;
      throw new SingularMatrixError(error.code, error.message, {...error.data, rows: own(rows), columns: own(columns)});
    }
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    this.padded(b, x, count, (from, to) => this.whole.solve(from, to, count));
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    this.padded(b, x, count, (from, to) => this.whole.solveTransposed(from, to, count));
  }

  private padded(
    b: Float64Array,
    x: Float64Array,
    count: number,
    solve: (from: Float64Array, to: Float64Array) => void,
  ): void {
    const {n, whole} = this;
    const length = count * whole.n;
    if (this.from.length < length) [this.from, this.to] = [new Float64Array(length), new Float64Array(length)];
    const {from, to} = this;
    from.fill(0);
    for (let d = 0; d < count; d++) for (let i = 0; i < n; i++) from[d * whole.n + i] = b[d * n + i];
    solve(from, to);
    for (let d = 0; d < count; d++) for (let i = 0; i < n; i++) x[d * n + i] = to[d * whole.n + i];
  }
}
