/**
 * Matrices that are symmetric in fact though nobody promised it, or become so when their rows are scaled:
 * D A = (D A)ᵀ. Newton matrices of mechanical systems mostly are: M − h²K of conservative forces, the same
 * with each row divided by its mass (D = M), and KKT matrices [A −hGᵀ; G C] (D = −h in the rows of the
 * constraints). Found by one pass over the entries, it halves the work of dense and banded factors, and
 * does better than that for sparse ones, whose pivots then need no search.
 *
 * D comes from a spanning forest of the graph: d_j = d_i a_ij / a_ji along its edges. All other edges must
 * then agree. A x = b becomes (D A) x = D b, and Aᵀ y = b becomes y = D (D A)⁻¹ b.
 */
import {StiffgradError} from '../errors.js';
import {SpecialFactor} from './direct.js';
import {transpose} from './pattern.js';
import {throwIfNotFinite} from './singularity.js';
import {EPSILON, type Pattern} from './solver.js';

/**
 * Two mirrored entries are equal when they differ by this share of the larger, of the geometric mean
 * of their diagonal entries, or of the largest entry of either row, the smaller of the two: the rounding
 * of two ways to compute one derivative, each a sum of some terms that may cancel. All three kinds occur:
 * where a cloth buckles the diagonal cancels too, and only its neighbours show how large the terms were.
 * It is the backward error that taking them for equal commits, no more than a pivoted LU leaves in a row.
 */
const SAME = 16 * EPSILON;

/**
 * The largest d may be this many times the smallest. An error of ε in D A is one of up to ε √(d_j / d_i) in
 * row i of A, so four digits at most are risked; and units or masses in one system differ by less.
 */
const WIDEST = 1e8;

/** Mirrored entries, as far as the pattern tells. */
export class Mirror {
  /** Entries above the diagonal, and below it their mirror images. */
  private readonly above: Int32Array;
  private readonly below: Int32Array;
  /** Row of each entry, and the place of each row's diagonal entry or −1. */
  private readonly row: Int32Array;
  private readonly diagonal: Int32Array;
  /** Spanning forest: edge e goes from a vertex already reached, through one entry, to a new vertex. */
  private readonly edges: Int32Array;
  private readonly edgesBack: Int32Array;
  /** D A of the last matrix for which D ≠ I; scratch that the factors of an analysis share. */
  private scaled: Float64Array | undefined;

  /** The pattern must be structurally symmetric. */
  constructor(private readonly pattern: Pattern) {
    const {n, rowPointers, columns} = pattern;
    // Column order of a symmetric pattern is its row order, so `source` is the mirror.
    const mirror = transpose(pattern).source;
    this.row = new Int32Array(columns.length);
    this.diagonal = new Int32Array(n).fill(-1);
    for (let i = 0; i < n; i++) {
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
        this.row[p] = i;
        if (columns[p] === i) this.diagonal[i] = p;
      }
    }
    this.above = new Int32Array((columns.length - this.diagonal.reduce((count, p) => count + (p < 0 ? 0 : 1), 0)) / 2);
    for (let p = 0, e = 0; p < columns.length; p++) if (columns[p] > this.row[p]) this.above[e++] = p;
    this.below = this.above.map(p => mirror[p]);
    this.edges = spanningForest(pattern);
    this.edgesBack = this.edges.map(p => mirror[p]);
  }

  /**
   * D A where there is such a D, which goes into `scale`; the values themselves where D = I. Undefined
   * where there is none, mostly found out early.
   */
  symmetrize(values: Float64Array, scale: Float64Array): Float64Array | undefined {
    const {row} = this;
    scale.fill(1);
    if (this.equal(values)) return values;
    if (!this.spread(values, scale) || !this.equalScaled(values, scale)) return undefined;
    const scaled = (this.scaled ??= new Float64Array(row.length));
    for (let p = 0; p < scaled.length; p++) scaled[p] = values[p] * scale[row[p]];
    return scaled;
  }

  /** Row and column of the first entry that is not equal to its mirror image. */
  firstDifference(values: Float64Array): [number, number] {
    const {above, below} = this;
    const e = above.findIndex(
      (p, k) => values[p] !== values[below[k]] && !this.agree(values, p, values[p], values[below[k]], 1, 1),
    );
    return [this.row[above[e]], this.pattern.columns[above[e]]];
  }

  /** D along the forest. A pair of zeros says nothing, one zero of a pair says no. */
  private spread(values: Float64Array, scale: Float64Array): boolean {
    const {edges, edgesBack, row} = this;
    const {columns} = this.pattern;
    let smallest = 1;
    let largest = 1;
    for (let e = 0; e < edges.length; e++) {
      const p = edges[e];
      const there = values[p];
      const back = values[edgesBack[e]];
      const ratio = there === 0 && back === 0 ? 1 : there / back;
      const next = scale[row[p]] * ratio;
      scale[columns[p]] = next;
      smallest = Math.min(smallest, Math.abs(next));
      largest = Math.max(largest, Math.abs(next));
    }
    // A NaN or a zero of a pair of one fails this too.
    return largest <= WIDEST * smallest;
  }

  /** A is symmetric. */
  private equal(values: Float64Array): boolean {
    const {above, below} = this;
    for (let e = 0; e < above.length; e++) {
      const p = above[e];
      const one = values[p];
      const other = values[below[e]];
      if (one !== other && !this.agree(values, p, one, other, 1, 1)) return false;
    }
    return true;
  }

  /** D A is; it is not formed for this, since most matrices that are not symmetric show it early. */
  private equalScaled(values: Float64Array, scale: Float64Array): boolean {
    const {above, below, row} = this;
    const {columns} = this.pattern;
    for (let e = 0; e < above.length; e++) {
      const p = above[e];
      const di = scale[row[p]];
      const dj = scale[columns[p]];
      const one = values[p] * di;
      const other = values[below[e]] * dj;
      if (one !== other && !this.agree(values, p, one, other, di, dj)) return false;
    }
    return true;
  }

  /** Whether two mirrored entries, in rows scaled by di and dj, are equal but for rounding; p is above. */
  private agree(values: Float64Array, p: number, one: number, other: number, di: number, dj: number): boolean {
    const {diagonal} = this;
    const i = this.row[p];
    const j = this.pattern.columns[p];
    const allowed = Math.abs(one - other) / SAME;
    if (allowed <= Math.max(Math.abs(one), Math.abs(other))) return true;
    const pivot = (k: number, d: number): number => (diagonal[k] < 0 ? 0 : Math.abs(values[diagonal[k]] * d));
    if (allowed <= Math.sqrt(pivot(i, di)) * Math.sqrt(pivot(j, dj))) return true;
    // Rare: where terms cancelled in the diagonal as well.
    return allowed <= Math.min(this.largestOf(values, i) * Math.abs(di), this.largestOf(values, j) * Math.abs(dj));
  }

  /** The largest entry of a row; NaN where one is. */
  private largestOf(values: Float64Array, i: number): number {
    const {rowPointers} = this.pattern;
    let largest = 0;
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) largest = Math.max(largest, Math.abs(values[p]));
    return largest;
  }
}

/** Entries (i, j) through which a breadth-first search of the graph finds j from i. */
function spanningForest({n, rowPointers, columns}: Pattern): Int32Array {
  const reached = new Uint8Array(n);
  const queue = new Int32Array(n);
  const edges = new Int32Array(n);
  let count = 0;
  for (let root = 0; root < n; root++) {
    if (reached[root] === 1) continue;
    reached[root] = 1;
    let length = 1;
    queue[0] = root;
    for (let head = 0; head < length; head++) {
      const i = queue[head];
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
        if (reached[columns[p]] === 1) continue;
        reached[columns[p]] = 1;
        queue[length++] = columns[p];
        edges[count++] = p;
      }
    }
  }
  return edges.slice(0, count);
}

/** A factor for symmetric matrices, put to use where a matrix turns out to be one after row scaling. */
export class SymmetrizedFactor extends SpecialFactor {
  private readonly scale: Float64Array;

  constructor(
    pattern: Pattern,
    private readonly mirror: Mirror,
    private readonly inner: SpecialFactor,
  ) {
    super(pattern);
    this.scale = new Float64Array(pattern.n);
  }

  get kind(): string {
    return this.inner.kind;
  }

  get size(): number {
    return this.inner.size + this.n;
  }

  override get linearIterations(): number {
    return this.inner.linearIterations;
  }

  override get isJudged(): boolean {
    return this.inner.isJudged;
  }

  /** For callers who asked for the symmetric method: what is wrong, by name. */
  override refactor(values: Float64Array): void {
    this.usable = false;
    const symmetric = this.mirror.symmetrize(values, this.scale);
    if (symmetric === undefined) {
      throwIfNotFinite(this.pattern, values);
      const [i, j] = this.mirror.firstDifference(values);
      throw new StiffgradError(
        'not-symmetric',
        `The ${this.n} × ${this.n} matrix is not symmetric, and no scaling of its rows makes it so: entries `
          + `(${i}, ${j}) and (${j}, ${i}) differ. `
          + 'Use auto() or an LU instead. For a structure it means a force without a potential: a gyroscope, a '
          + 'follower load, a coupling that acts one way.',
        {rows: [i, j]},
      );
    }
    this.inner.refactor(symmetric);
    this.usable = true;
  }

  tryRefactor(values: Float64Array): boolean {
    const symmetric = this.mirror.symmetrize(values, this.scale);
    this.usable = symmetric !== undefined && this.inner.tryRefactor(symmetric);
    return this.usable;
  }

  protected substitute(x: Float64Array, at: number): void {
    this.applyScale(x, at);
    this.inner.solveAt(x, at);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    this.inner.solveAt(x, at);
    this.applyScale(x, at);
  }

  private applyScale(x: Float64Array, at: number): void {
    const {scale} = this;
    for (let i = 0; i < scale.length; i++) x[at + i] *= scale[i];
  }
}

/**
 * How to make a symmetric factor for a pattern: as it is where symmetry is promised, else for the
 * matrices that prove to be symmetric. What depends on the pattern alone is done once.
 */
export function specialFor(pattern: Pattern, make: (symmetric: Pattern) => SpecialFactor): () => SpecialFactor {
  if (pattern.symmetric) return () => make(pattern);
  const mirror = new Mirror(pattern);
  const symmetric = {...pattern, symmetric: true};
  return () => new SymmetrizedFactor(pattern, mirror, make(symmetric));
}
