/**
 * Sparse LU for matrices without symmetry. The first matrix chooses pivots (lu-plan.ts); later ones
 * follow that plan for as long as its pivots stay acceptable, as in KLU (Davis & Palamadai Natarajan,
 * ACM TOMS 907), and when they do not, new pivots are chosen.
 *
 * Plans are kept in the order they were made, and a matrix takes the first that accepts it. So a matrix
 * that comes again, in a checkpointed sweep or in the next run, takes the plan it had and gives the same
 * bits, whatever came between.
 */
import {refuseUnknownName, refuseUnknownOptions, text} from '../checks.js';
import {FactorAnalysis} from './analysis.js';
import type {PivotMemory} from './solver.js';
import {GeneralFactor} from './direct.js';
import {eliminate} from './elimination.js';
import {denseLimit, symmetricGraph, type AdjacencyGraph} from './graph.js';
import {pairedOrdering} from './kkt-ordering.js';
import {follow, KEEP_THRESHOLD, plan, planSolve, planSolveTransposed, type LuNumbers, type LuPlan} from './lu-plan.js';
import {ordering} from './ordering.js';
import {structuralSymmetry, transpose, type Transpose} from './pattern.js';
import {withRecipe} from './recipe.js';
import {rowScales} from './row-scales.js';
import {throwIfNotFinite} from './singularity.js';
import type {LinearSolver, Pattern} from './solver.js';

/** Options of `sparseLu`. */
export interface SparseLuOptions {
  /**
   * 'symmetric': least fill for A + Aᵀ with pivots on the diagonal, right where the pattern is nearly
   * symmetric. 'column': least fill for AᵀA, whatever the row exchanges. 'natural': as given. Default:
   * 'symmetric' where the pattern is nearly so (isNearlySymmetric). Dense rows and columns go last, by either order.
   */
  readonly ordering?: 'symmetric' | 'column' | 'natural';
}

/** Plans kept: after a few changes of regime, what comes is likely to be new again. */
const MAX_PLANS = 4;

/** Sparse LU factorization with partial pivoting, column by column (Gilbert & Peierls 1988). */
export function sparseLu(options: SparseLuOptions = {}): LinearSolver {
  refuseUnknownOptions(options, {ordering: text}, 'sparseLu', 'bad-linear');
  refuseUnknownName('sparseLu: ordering', options.ordering, ['symmetric', 'column', 'natural']);
  return withRecipe({name: 'sparse-lu', analyze: pattern => analyzeLu(pattern, options)}, 'sparseLu', options);
}

export function analyzeLu(pattern: Pattern, options: SparseLuOptions = {}): FactorAnalysis<SparseLuFactor> {
  const {order, nonzeros, work} = columnOrder(pattern, options.ordering);
  const symbolic = new Symbolic(pattern, order);
  const createFactor = (): SparseLuFactor => new SparseLuFactor(pattern, symbolic);
  return new FactorAnalysis({kind: 'sparse', n: pattern.n, nonzeros, work, createFactor, pivots: symbolic});
}

/** At least half of the off-diagonal entries have their mirror image, as in UMFPACK, dense rows and columns apart. */
export function isNearlySymmetric(pattern: Pattern): boolean {
  return structuralSymmetry(pattern, denseLimit(pattern.n)) >= 0.5;
}

/** The column order, and the factor it would have if all pivots were on the diagonal. */
function columnOrder(
  pattern: Pattern,
  wanted: SparseLuOptions['ordering'],
): {order: Int32Array; nonzeros: number; work: number} {
  const name = wanted ?? (isNearlySymmetric(pattern) ? 'symmetric' : 'column');
  const graph = name === 'column' ? columnGraph(pattern) : symmetricGraph(pattern);
  const first =
    name === 'symmetric'
      ? pairedOrdering(pattern, graph, 'amd')
      : ordering(graph, name === 'column' ? 'amd' : 'natural');
  const {order, below, squares} = eliminate(graph, first);
  const {n, rowPointers} = pattern;
  const sorted = name === 'natural' ? first : order;
  // AᵀA leaves dense rows out: their columns, and so their pivots, come last.
  const isLast = (i: number): boolean => name === 'column' && rowPointers[i + 1] - rowPointers[i] > denseLimit(n);
  return {
    order: Int32Array.from([...sorted.filter(i => !isLast(i)), ...sorted.filter(isLast)]),
    nonzeros: 2 * below + n,
    work: below + 2 * squares,
  };
}

/** The graph of AᵀA: columns that share a row. Dense rows are left out, as in COLAMD. */
function columnGraph(pattern: Pattern): AdjacencyGraph {
  const {n, rowPointers, columns} = pattern;
  const {columnPointers, rows} = transpose(pattern);
  const dense = denseLimit(n);
  const pointers = new Int32Array(n + 1);
  const adjacent: number[] = [];
  const seen = new Int32Array(n).fill(-1);
  for (let j = 0; j < n; j++) {
    seen[j] = j;
    for (let p = columnPointers[j]; p < columnPointers[j + 1]; p++) {
      const i = rows[p];
      if (rowPointers[i + 1] - rowPointers[i] > dense) continue;
      for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) {
        if (seen[columns[q]] === j) continue;
        seen[columns[q]] = j;
        adjacent.push(columns[q]);
      }
    }
    pointers[j + 1] = adjacent.length;
  }
  return {n, pointers, adjacent: Int32Array.from(adjacent)};
}

/** Shared by the factors of an analysis: order, plans and scratch. The plans are what its history holds. */
class Symbolic implements PivotMemory {
  readonly columns: Transpose;
  readonly plans: LuPlan[] = [];
  readonly scale: Float64Array;
  readonly placed: Float64Array;
  /** Zero between uses. */
  readonly work: Float64Array;
  readonly solution: Float64Array;

  constructor(
    pattern: Pattern,
    readonly order: Int32Array,
  ) {
    this.columns = transpose(pattern);
    this.scale = new Float64Array(pattern.n);
    this.placed = new Float64Array(pattern.n);
    this.work = new Float64Array(pattern.n);
    this.solution = new Float64Array(pattern.n);
  }

  save(): readonly LuPlan[] | undefined {
    return this.plans.length === 0 ? undefined : [...this.plans];
  }

  restore(saved: unknown): void {
    this.plans.splice(0, this.plans.length, ...((saved ?? []) as readonly LuPlan[]));
  }
}

const NOTHING: LuNumbers = {lower: new Float64Array(0), upper: new Float64Array(0), reciprocals: new Float64Array(0)};

export class SparseLuFactor extends GeneralFactor {
  readonly kind = 'lu';
  private plan: LuPlan | undefined;
  private numbers = NOTHING;

  constructor(
    pattern: Pattern,
    private readonly symbolic: Symbolic,
  ) {
    super(pattern);
  }

  get size(): number {
    return this.numbers.lower.length + this.numbers.upper.length + this.n;
  }

  protected get width(): number {
    return this.plan?.width ?? 1;
  }

  protected eliminate(values: Float64Array): number {
    const {plans, scale, work, placed, columns, order} = this.symbolic;
    if (!rowScales(this.pattern, values, scale)) throwIfNotFinite(this.pattern, values);
    for (let p = 0; p < plans.length; p++) {
      this.take(plans[p]);
      const smallest = follow(plans[p], values, this.numbers, scale, KEEP_THRESHOLD, work, placed);
      if (smallest > 0) return smallest;
    }
    const found = plan(this.pattern, columns, order, values);
    this.take(found);
    const smallest = follow(found, values, this.numbers, scale, 0, work, placed);
    // The plan of a singular matrix is good for nothing else.
    if (smallest > 0 && plans.length < MAX_PLANS) plans.push(found);
    return smallest;
  }

  /** Makes room for a plan's numbers where the last plan had less, or other, room. */
  private take(next: LuPlan): void {
    if (this.plan === next) return;
    this.plan = next;
    const {lower, upper} = this.numbers;
    if (lower.length >= next.lowerRows.length && upper.length >= next.upperRows.length && this.numbers !== NOTHING)
      return;
    this.numbers = {
      lower: new Float64Array(next.lowerRows.length),
      upper: new Float64Array(next.upperRows.length),
      reciprocals: new Float64Array(this.n),
    };
  }

  protected substitute(x: Float64Array, at: number): void {
    if (this.plan !== undefined) planSolve(this.plan, this.numbers, x, at, this.symbolic.solution);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    if (this.plan !== undefined) planSolveTransposed(this.plan, this.numbers, x, at, this.symbolic.solution);
  }
}
