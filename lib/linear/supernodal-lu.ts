/**
 * Sparse LU in supernodes, for meshes whose matrix is not symmetric: a follower force, friction, advection, the
 * stages of a radau scheme. It works on the pattern of A + Aᵀ with a fixed order, as sparse-ldlt.ts does, so that a new
 * factorization is dense arithmetic on blocks; rows are exchanged within blocks only (supernodal-ldu.ts).
 *
 * Is that stable? Pivots and their columns say so, in the matrix with rows and columns scaled to 1. Where each
 * pivot is at least PIVOT_THRESHOLD of its column, the factor is as good as that of sparse-lu.ts. Below it, or where entries grew a
 * hundredfold, solves are refined, which costs one residual where nothing was lost. Below KEEP_THRESHOLD, or where entries grew by its
 * reciprocal, a solve each way must prove, with refinement, that the factor is of use. A matrix that fails this
 * goes to the scalar LU with full threshold pivoting. Refinement comes first because it is cheap: a few weak
 * pivots cost a mesh two or three solves, each a small part of a factorization, while full pivoting fills up
 * and costs ten to a hundred times as much. It is safe, since every solve is then judged by its own backward error,
 * and one that fails is made by the scalar LU. All this depends on the values alone, on no earlier matrix.
 */
import {refuseUnknownName, refuseUnknownOptions, text} from '../checks.js';
import {DirectAnalysis, type Learned, SpecialFactor} from './direct.js';
import {Equilibration} from './equilibration.js';
import {FallbackFactor} from './fallback.js';
import type {LduBlocks} from './ldu-blocks.js';
import {KEEP_THRESHOLD, PIVOT_THRESHOLD} from './lu-plan.js';
import type {OrderingName} from './ordering.js';
import {CompiledPanels} from './panels-compiled.js';
import {PlainPanels} from './panels-plain.js';
import {ACCEPTABLE, PROBED, Refinement, throwInaccurate, type Substitution} from './refinement.js';
import {withRecipe} from './recipe.js';
import {scatter} from './scatter.js';
import {examine, SUSPICIOUS_PIVOT} from './singularity.js';
import {EPSILON, type Factor, type LinearSolver, type Pattern} from './solver.js';
import type {ArithmeticName} from './sparse-ldlt.js';
import {analyzeLu, type SparseLuFactor} from './sparse-lu.js';
import {judgeByNullVector, LU_IN_REACH} from './static-null.js';
import {structureOf} from './structure.js';
import {SupernodalLdu} from './supernodal-ldu.js';
import type {Supernodes} from './supernodes.js';

/** What analyses and factors of this kind call themselves. */
export const SUPERNODAL = 'supernodal-lu';

/** Options of `supernodalLu`. */
export interface SupernodalLuOptions {
  /** Default 'amd'. */
  readonly ordering?: OrderingName;
  /** As in `sparseLdlt`. Plain loops and WebAssembly give the same bits. */
  readonly arithmetic?: ArithmeticName;
}

/**
 * Floating-point operations from which WebAssembly does the work: on grids and meshes of 12 to 3600 unknowns it was twice as
 * fast as plain loops at every size; at this one (a grid of 8²) its memory and instance cost what ten factorizations save.
 */
export const COMPILED_LU_PAYS = 1e4;

/** Growth of the entries that costs two digits at most: LU with threshold pivoting, which does not look at it, has as much now and then. */
const SOUND_GROWTH = 100;

/**
 * Entries may grow so far, from at most 2 as they are scaled: what one pivot enlarged to √ε gives. Beyond it the
 * elimination's own rounding is above what was added to the pivots.
 */
const MOST_GROWTH = 4 / Math.sqrt(EPSILON);

/**
 * A probe has to come to its end in as many steps, so that each gains five digits, and other right-hand sides, which may
 * take more of them, hardly ever fail: of 1000 matrices with rows and columns shuffled apart, and a third of their
 * pivots zeros therefore, 20 passed a probe of five steps or more and failed later; of 4000 that passed one of three, none.
 */
const PROBE_STEPS = 3;

/**
 * Sparse LU in supernodes. A matrix that needs pivots from outside its blocks goes to sparseLu().
 * @throws SingularMatrixError of a factorization, with the dependent rows; StiffgradError 'unstable-pivots' where the
 *   matrix needs those pivots and is too large for them.
 */
export function supernodalLu(options: SupernodalLuOptions = {}): LinearSolver {
  refuseUnknownOptions(options, {ordering: text, arithmetic: text}, 'supernodalLu', 'bad-linear');
  refuseUnknownName('supernodalLu: ordering', options.ordering, ['amd', 'rcm', 'natural']);
  refuseUnknownName('supernodalLu: arithmetic', options.arithmetic, ['auto', 'plain', 'compiled']);
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
): DirectAnalysis & {readonly scalarWork: number} {
  const symbolic = new Symbolic(pattern, options.ordering ?? 'amd', options.arithmetic ?? 'auto');
  const {nodes, scalarWork} = symbolic;
  const createFactor = (): Factor =>
    new FallbackFactor(new SupernodalLuFactor(pattern, symbolic), () => symbolic.scalar.createFactor());
  return Object.assign(
    new DirectAnalysis(SUPERNODAL, pattern.n, 2 * nodes.size, 2 * nodes.work, createFactor, symbolic),
    {scalarWork},
  );
}

/** What the numeric part follows, and the scratch that all factors of an analysis share. */
class Symbolic implements Learned {
  readonly nodes: Supernodes;
  readonly order: Int32Array;
  readonly numeric: SupernodalLdu;
  /** By entry, its place in the blocks. */
  readonly target: Int32Array;
  readonly refinement: Refinement;
  readonly equilibration: Equilibration;
  /** Operations of the scalar LU in this order, if all its pivots are on the diagonal. */
  readonly scalarWork: number;

  private scalarLu: DirectAnalysis<SparseLuFactor> | undefined;

  constructor(
    private readonly pattern: Pattern,
    name: OrderingName,
    arithmetic: ArithmeticName,
  ) {
    const {order, nodes, scalarWork} = structureOf(pattern, name);
    this.order = order;
    this.nodes = nodes;
    this.scalarWork = scalarWork;
    const compiled = arithmetic === 'compiled' || (arithmetic === 'auto' && 2 * this.nodes.work >= COMPILED_LU_PAYS);
    this.numeric = new SupernodalLdu(
      this.nodes,
      (compiled ? CompiledPanels.create(this.nodes, 2) : undefined) ?? new PlainPanels(this.nodes, 2),
    );
    this.target = scatter(pattern, this.order, this.nodes).target;
    this.refinement = new Refinement(pattern);
    this.equilibration = new Equilibration(pattern);
  }

  /** Analyzed when a matrix needs it. */
  get scalar(): DirectAnalysis<SparseLuFactor> {
    return (this.scalarLu ??= analyzeLu(this.pattern));
  }

  get scalarInReach(): boolean {
    return this.nodes.work <= LU_IN_REACH;
  }

  recall(): unknown {
    return this.scalarLu?.history;
  }

  restore(history: unknown): void {
    if (history !== undefined || this.scalarLu !== undefined) this.scalar.history = history;
  }
}

export class SupernodalLuFactor extends SpecialFactor implements Substitution {
  readonly kind = SUPERNODAL;
  private readonly factor: LduBlocks;
  private readonly rowScale: Float64Array;
  private readonly columnScale: Float64Array;
  /** The values themselves, when solves are refined; made at the first matrix that needs it. */
  private values: Float64Array | undefined;
  private rescuer: SparseLuFactor | undefined;
  private rescuerIsReady = false;
  private refined = false;
  /** By solving: the pivots alone did not say that the factor is of use. */
  private proved = false;
  private iterations = 0;

  constructor(
    pattern: Pattern,
    private readonly symbolic: Symbolic,
  ) {
    super(pattern);
    this.factor = symbolic.numeric.createBlocks();
    this.rowScale = new Float64Array(pattern.n);
    this.columnScale = new Float64Array(pattern.n);
  }

  get size(): number {
    return this.factor.size + 2 * this.n + (this.values?.length ?? 0) + (this.rescuer?.size ?? 0);
  }

  override get linearIterations(): number {
    return this.iterations;
  }

  /** False when the matrix needs pivots from outside the blocks, or is singular in a way only those can tell. */
  tryRefactor(values: Float64Array): boolean {
    this.usable = this.refined = this.proved = this.rescuerIsReady = false;
    this.iterations = 0;
    if (!this.symbolic.equilibration.scale(values, this.rowScale, this.columnScale)) return false;
    this.load(values);
    const {numeric, nodes} = this.symbolic;
    numeric.factor(this.factor);
    const {weakest, largest, smallest} = numeric.pivots;
    this.refined = !(weakest >= PIVOT_THRESHOLD && largest <= SOUND_GROWTH);
    if (this.refined) this.keep(values);
    this.proved = !(weakest >= KEEP_THRESHOLD && largest <= 1 / KEEP_THRESHOLD);
    if (this.proved && !(largest <= MOST_GROWTH && this.probe(values, false) && this.probe(values, true))) return false;
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
    const {numeric, target} = this.symbolic;
    const {n, rowPointers, columns} = this.pattern;
    const numbers = numeric.clear(this.factor);
    for (let i = 0; i < n; i++) {
      const scale = rowScale[i];
      const end = rowPointers[i + 1];
      for (let p = rowPointers[i]; p < end; p++) numbers[target[p]] = values[p] * (scale * columnScale[columns[p]]);
    }
  }

  private keep(values: Float64Array): void {
    this.values ??= new Float64Array(this.pattern.columns.length);
    const kept = this.values;
    for (let p = 0; p < kept.length; p++) kept[p] = values[p];
  }

  private probe(values: Float64Array, transposed: boolean): boolean {
    const {refinement} = this.symbolic;
    const error = refinement.probe(this, values, transposed);
    this.iterations = refinement.iterations;
    return error <= PROBED && refinement.iterations <= PROBE_STEPS;
  }

  protected substitute(x: Float64Array, at: number): void {
    this.substituteOneWay(x, at, false);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    this.substituteOneWay(x, at, true);
  }

  private substituteOneWay(x: Float64Array, at: number, transposed: boolean): void {
    if (!this.refined || this.values === undefined) {
      this.substituteOnce(x, at, transposed);
      return;
    }
    const {refinement} = this.symbolic;
    const error = refinement.solve(this, this.values, x, at, transposed);
    this.iterations = refinement.iterations;
    // While a matrix is being examined whatever comes is an answer.
    if (this.proved && this.usable && !(error <= ACCEPTABLE)) this.rescue(x, at, transposed, error);
  }

  /** What a probe could not foresee: this right-hand side alone goes to the scalar LU, whichever were solved for before. */
  private rescue(x: Float64Array, at: number, transposed: boolean, error: number): void {
    const {symbolic, values} = this;
    if (values === undefined || !symbolic.scalarInReach) throwInaccurate('supernodal LU', error, this.iterations);
    for (let i = 0; i < this.n; i++) x[at + i] = symbolic.refinement.right[i];
    this.rescuer ??= symbolic.scalar.createFactor();
    if (!this.rescuerIsReady) this.rescuer.refactor(values);
    this.rescuerIsReady = true;
    if (transposed) this.rescuer.solveTransposedAt(x, at);
    else this.rescuer.solveAt(x, at);
  }

  substituteOnce(x: Float64Array, at: number, transposed: boolean): void {
    const {order, numeric} = this.symbolic;
    const before = transposed ? this.columnScale : this.rowScale;
    const after = transposed ? this.rowScale : this.columnScale;
    const {n} = this;
    const permuted = numeric.kernels.x;
    for (let k = 0; k < n; k++) permuted[k] = x[at + order[k]] * before[order[k]];
    numeric.solve(this.factor, transposed, false);
    for (let k = 0; k < n; k++) x[at + order[k]] = permuted[k] * after[order[k]];
  }

  override solveManyAt(x: Float64Array, at: number, count: number): void {
    this.substituteMany(x, at, count, false);
  }

  override solveManyTransposedAt(x: Float64Array, at: number, count: number): void {
    this.substituteMany(x, at, count, true);
  }

  private substituteMany(x: Float64Array, at: number, count: number, transposed: boolean): void {
    const {n} = this;
    let done = 0;
    // A last group of three costs four, which is still less than three by themselves.
    for (; !this.refined && done + 3 <= count; done += 4)
      this.substituteFour(x, at + done * n, Math.min(4, count - done), transposed);
    for (; done < count; done++) this.substituteOneWay(x, at + done * n, transposed);
  }

  private substituteFour(x: Float64Array, at: number, count: number, transposed: boolean): void {
    const {order, numeric} = this.symbolic;
    const before = transposed ? this.columnScale : this.rowScale;
    const after = transposed ? this.rowScale : this.columnScale;
    const {n} = this;
    const {four} = numeric.kernels;
    for (let c = 0; c < 4; c++) {
      // Numbers of an earlier solve may not stay in an unused place: they might overflow.
      if (c < count) for (let k = 0; k < n; k++) four[4 * k + c] = x[at + c * n + order[k]] * before[order[k]];
      else for (let k = 0; k < n; k++) four[4 * k + c] = 0;
    }
    numeric.solve(this.factor, transposed, true);
    for (let c = 0; c < count; c++)
      for (let k = 0; k < n; k++) x[at + c * n + order[k]] = four[4 * k + c] * after[order[k]];
  }
}
