/**
 * The one contract of every linear solver: a pattern is analyzed once, its values are factored many
 * times, and a factor is solved with, forwards and transposed. The cut follows lineax and CHOLMOD
 * (symbolic, numeric, solve); it is what lets Newton refactor without allocating and the adjoint
 * reuse the very factor of the step.
 *
 *     const analysis = auto().analyze(pattern);   // once for a system: ordering, symbolic factor, choice
 *     const factor = analysis.factor(values);     // every iteration: in place, the same object each time
 *     factor.solve(residual, correction);
 *
 * An adjoint sweep that wants the factors of all steps takes a pool of them: `createFactor()` gives an
 * independent factor that owns `size` numbers and shares everything symbolic with its analysis. Newton
 * then refactors the step's own object and nothing is copied. Once a factor has been used, neither
 * `refactor` nor a solve allocates.
 */

/**
 * Where the nonzeros of an n × n matrix are: compressed rows, the columns of each row ascending.
 * The values that go with it are in the same order; of a dense pattern that is row-major n·n.
 */
export interface Pattern {
  readonly n: number;
  /** n + 1 places: row i holds entries rowPointers[i] … rowPointers[i + 1] − 1. */
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
  /** The values are symmetric for every argument (a proof, not an observation). */
  readonly symmetric: boolean;
  /** All n·n entries are present. */
  readonly dense: boolean;
  /** Rows whose diagonal may be next to nothing (multipliers of contacts): pivots only after their neighbours. */
  readonly deferredPivots?: Int32Array | undefined;
  /** The first unknowns, which are asked for; the others are intermediate values (extended.ts). Default: all. */
  readonly schurSize?: number;
  /** Vectors of n numbers that a symmetric matrix takes to next to nothing: the rigid-body modes of an elastic body. */
  readonly nearNullSpace?: readonly Float64Array[];
}

/** How linear systems are solved: a method by its name and its analysis of a pattern. */
export interface LinearSolver {
  readonly name: string;
  /** Everything that depends on the pattern alone. Costs allocations; done once for a system. */
  analyze(pattern: Pattern): Analysis;
}

/** A method that an engine may have as a kernel, with the storage and the tests of pivots of this layer's. */
export type CompiledMethod =
  /** tridiagonal.ts, of a pattern with all 3n − 2 entries in order; `symmetric` where the pattern says so. */
  | {readonly name: 'tridiagonal'; readonly symmetric: boolean}
  /** dense-lu.ts, of a pattern with all entries. */
  | {readonly name: 'dense'};

/** A solver's analysis of a pattern, which makes factors for it. */
export interface Analysis {
  /** 'dense', 'band', 'tridiagonal', 'sparse', … : what was chosen. */
  readonly kind: string;
  readonly n: number;
  /** Numbers in the factor, as predicted before pivoting. */
  readonly nonzeros: number;
  /** Floating-point operations of one factorization, counted (not timed). */
  readonly work: number;
  /** Operations of one solve, where these are not a multiplication and an addition for each of `nonzeros`. */
  readonly solveWork?: number | undefined;
  /** Present if its factors are those of a compiled method, as far as a matrix allows. */
  readonly method?: CompiledMethod | undefined;
  /**
   * Factors in place and returns the analysis' own factor, the same object at every call.
   * @throws SingularMatrixError 'singular-matrix' with `data.rows`; StiffgradError 'not-finite'.
   */
  factor(values: Float64Array): Factor;
  /** Another factor, independent of all others and still empty: fill it with `refactor`. */
  createFactor(): Factor;
  /** Of a solver whose factors depend on the matrices before. */
  readonly pivots?: PivotMemory | undefined;
}

/**
 * What the matrices so far taught that later factors depend on (pivot orders): a run gives the same bits whatever ran
 * before it, and wherever.
 */
export interface PivotMemory {
  /** Plain values that a message can carry; undefined where that is nothing. */
  save(): unknown;
  /** Takes up what was saved; undefined is the first state. */
  restore(saved: unknown): void;
}

/** A factored matrix. */
export interface Factor {
  readonly n: number;
  /** Kind of the current factor: 'lu', 'cholesky', … (`auto` may change it from one matrix to the next). */
  readonly kind: string;
  /** Number of doubles that this factor stores, for memory budgets. */
  readonly size: number;
  /** Number of matrices it has held, if several share it. */
  readonly generation?: number;
  /** Iterations of the last solve: refinements of a direct factor, steps of a Krylov method. */
  readonly linearIterations: number;
  /** Iterative methods: ‖b − A x‖ ≤ η‖b‖ is enough from now on, if their own tolerance is smaller. */
  relax?(eta: number): void;
  /** Factors new values of the same pattern. The values are not kept by reference. */
  refactor(values: Float64Array): void;
  /** A x = b. `b` and `x` may be one array. `count` right-hand sides lie one after the other. */
  solve(b: Float64Array, x: Float64Array, count?: number): void;
  /** Aᵀ x = b, under the same rules. */
  solveTransposed(b: Float64Array, x: Float64Array, count?: number): void;
}

/** ε of double precision: the gap between 1 and the next number. */
export const EPSILON = Number.EPSILON;
