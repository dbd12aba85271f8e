/**
 * Sparse LU in supernodes, for meshes whose matrix is not symmetric: a follower force, friction, advection, the
 * stages of a radau scheme. It works on the pattern of A + Aᵀ with a fixed order, as sparse-ldlt.ts does, so that a new
 * factorization is dense arithmetic on blocks; rows are exchanged within blocks only (supernodal-ldu.ts).
 *
 * Is that stable? Pivots and their columns say so, in the matrix with rows and columns scaled to 1. Where each
 * pivot is at least PIVOT_THRESHOLD of its column, the factor is as good as that of sparse-lu.ts. Below it, or where
 * entries grew a hundredfold, solves are refined, which costs one residual where nothing was lost. Below
 * KEEP_THRESHOLD, or where entries grew by its reciprocal, a solve each way must prove, with refinement, that the
 * factor is of use. A matrix that fails this goes to the scalar LU with full threshold pivoting. Refinement comes first
 * because it is cheap: a few weak pivots cost a mesh two or three solves, each a small part of a factorization, while
 * full pivoting fills up and costs ten to a hundred times as much. It is safe, since every solve is then judged by its
 * own backward error, and one that fails is made by the scalar LU. All this depends on the values alone, on no earlier
 * matrix.
 */
import {FactorAnalysis} from './analysis.js';
import {Equilibration} from './equilibration.js';
import {FallbackFactor} from './fallback.js';
import type {LduBlocks} from './ldu-blocks.js';
import {KEEP_THRESHOLD, PIVOT_THRESHOLD} from './lu-plan.js';
import {PROBED} from './refinement.js';
import {withRecipe} from './recipe.js';
import {examine, SUSPICIOUS_PIVOT} from './singularity.js';
import {EPSILON, type Factor, type LinearSolver, type Pattern, type PivotMemory} from './solver.js';
import {analyzeLu, type SparseLuFactor} from './sparse-lu.js';
import {judgeByNullVector, LU_IN_REACH} from './static-null.js';
import {
  checkSupernodalOptions,
  SupernodalAnalysis,
  SupernodalFactor,
  type SupernodalOptions,
} from './supernodal-factor.js';
import {SupernodalLdu} from './supernodal-ldu.js';

/** The kind of these analyses and factors. */
export const SUPERNODAL = 'supernodal-lu';

/** Options of `supernodalLu`. */
export type SupernodalLuOptions = SupernodalOptions;

/**
 * Growth of the entries that costs two digits at most: LU with threshold pivoting, which does not look at it, has as
 * much now and then.
 */
const SOUND_GROWTH = 100;

/**
 * Entries may grow so far, from at most 2 as they are scaled: what one pivot enlarged to √ε gives. Beyond it the
 * elimination's own rounding is above what was added to the pivots.
 */
const MOST_GROWTH = 4 / Math.sqrt(EPSILON);

/**
 * A probe has to come to its end in as many steps, so that each gains five digits, and other right-hand sides, which
 * may take more of them, hardly ever fail: of 1000 matrices with rows and columns shuffled apart, and a third of their
 * pivots zeros therefore, 20 passed a probe of five steps or more and failed later; of 4000 that passed one of three,
 * none.
 */
const PROBE_STEPS = 3;

/**
 * Sparse LU in supernodes. A matrix that needs pivots from outside its blocks goes to sparseLu().
 * @throws SingularMatrixError of a factorization, with the dependent rows; StiffgradError 'unstable-pivots' where the
 *   matrix needs those pivots and is too large for them.
 */
export function supernodalLu(options: SupernodalLuOptions = {}): LinearSolver {
  checkSupernodalOptions('supernodalLu', options);
  return withRecipe(
    {name: 'supernodal-lu', analyze: pattern => analyzeSupernodalLu(pattern, options)},
    'supernodalLu',
    options,
  );
}

/** With the scalar LU behind it, which is analyzed when a matrix needs it. */
export function analyzeSupernodalLu(
  pattern: Pattern,
  options: SupernodalLuOptions = {},
): FactorAnalysis & {readonly scalarWork: number} {
  const symbolic = new Symbolic(pattern, options);
  const {nodes, scalarWork} = symbolic;
  const createFactor = (): Factor =>
    new FallbackFactor(new SupernodalLuFactor(pattern, symbolic), () => symbolic.scalar.createFactor());
  const counts = {n: pattern.n, nonzeros: 2 * nodes.size, work: 2 * nodes.work};
  return Object.assign(new FactorAnalysis({kind: SUPERNODAL, ...counts, createFactor, pivots: symbolic}), {
    scalarWork,
  });
}

class Symbolic extends SupernodalAnalysis<SupernodalLdu> implements PivotMemory {
  readonly equilibration: Equilibration;
  private scalarLu: FactorAnalysis<SparseLuFactor> | undefined;

  constructor(
    private readonly pattern: Pattern,
    options: SupernodalLuOptions,
  ) {
    super(pattern, options, 2, SupernodalLdu);
    this.equilibration = new Equilibration(pattern);
  }

  /** Analyzed when a matrix needs it. */
  get scalar(): FactorAnalysis<SparseLuFactor> {
    return (this.scalarLu ??= analyzeLu(this.pattern));
  }

  get scalarInReach(): boolean {
    return this.nodes.work <= LU_IN_REACH;
  }

  save(): unknown {
    return this.scalarLu?.pivots?.save();
  }

  restore(saved: unknown): void {
    if (saved !== undefined || this.scalarLu !== undefined) this.scalar.pivots?.restore(saved);
  }
}

export class SupernodalLuFactor extends SupernodalFactor<LduBlocks> {
  readonly kind = SUPERNODAL;
  declare protected readonly rowScale: Float64Array;
  declare protected readonly columnScale: Float64Array;
  private rescuer: SparseLuFactor | undefined;
  private rescuerIsReady = false;
  /** By solving: the pivots alone did not say that the factor is of use. */
  private proved = false;

  constructor(
    pattern: Pattern,
    private readonly symbolic: Symbolic,
  ) {
    super(pattern, symbolic, true);
  }

  override get size(): number {
    return super.size + 2 * this.n + (this.rescuer?.size ?? 0);
  }

  /** False when the matrix needs pivots from outside the blocks, or is singular in a way only those can tell. */
  tryRefactor(values: Float64Array): boolean {
    this.forget();
    this.proved = this.rescuerIsReady = false;
    if (!this.symbolic.equilibration.scale(values, this.rowScale, this.columnScale)) return false;
    this.load(values);
    const {numeric, nodes} = this.symbolic;
    numeric.factor(this.blocks);
    const {weakest, largest, smallest} = numeric.pivots;
    if (!(weakest >= PIVOT_THRESHOLD && largest <= SOUND_GROWTH)) this.refine(values);
    this.proved = !(weakest >= KEEP_THRESHOLD && largest <= 1 / KEEP_THRESHOLD);
    const holds = (): boolean => largest <= MOST_GROWTH && this.proves(values, false) && this.proves(values, true);
    if (this.proved && !holds()) return false;
    if (!(smallest > SUSPICIOUS_PIVOT)) {
      // A factor that lost digits is no judge where there is a better one.
      if (this.refined && this.symbolic.scalarInReach) return false;
      // A term of its sums is rounded twice as often as in an LU: L D U divides what it multiplies again.
      examine(this.pattern, values, this, 2 * nodes.tallest);
    }
    this.usable = true;
    return true;
  }

  /** Also throws where the scalar LU would take minutes. */
  override refuse(values: Float64Array): void {
    super.refuse(values);
    if (this.symbolic.scalarInReach) return;
    judgeByNullVector(
      this.pattern,
      values,
      x => this.substituteOnce(x, 0, true),
      this.rowScale,
      this.columnScale,
      true,
    );
  }

  private load(values: Float64Array): void {
    const {rowScale, columnScale} = this;
    const {
      numeric,
      scatter: {target},
    } = this.symbolic;
    const {n, rowPointers, columns} = this.pattern;
    const numbers = numeric.clear(this.blocks);
    for (let i = 0; i < n; i++) {
      const scale = rowScale[i];
      const end = rowPointers[i + 1];
      for (let p = rowPointers[i]; p < end; p++) numbers[target[p]] = values[p] * (scale * columnScale[columns[p]]);
    }
  }

  private proves(values: Float64Array, transposed: boolean): boolean {
    return this.probe(values, transposed) <= PROBED && this.linearIterations <= PROBE_STEPS;
  }

  /**
   * What a probe could not foresee: this right-hand side alone goes to the scalar LU, whichever were solved for before.
   */
  protected override inaccurate(x: Float64Array, at: number, transposed: boolean, error: number): void {
    // While a matrix is being examined whatever comes is an answer.
    if (!this.proved || !this.usable) return;
    const {symbolic, values} = this;
    if (values === undefined || !symbolic.scalarInReach) this.refuseSolution('supernodal LU', error);
    for (let i = 0; i < this.n; i++) x[at + i] = symbolic.refinement.right[i];
    this.rescuer ??= symbolic.scalar.createFactor();
    if (!this.rescuerIsReady) this.rescuer.refactor(values);
    this.rescuerIsReady = true;
    if (transposed) this.rescuer.solveTransposedAt(x, at);
    else this.rescuer.solveAt(x, at);
  }
}
