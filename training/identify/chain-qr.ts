/**
 * The least-squares problem of multiple shooting without its zeros. The rows of a segment have derivatives by its own
 * start, by the next one's (where a gap closes them) and by the parameters that all segments share; so the Jacobian is
 * block-bidiagonal with a border, and its QR factorization goes from segment to segment (Golub & Van Loan, Matrix
 * Computations, §4.3 and §5.2; Bock's condensing, 1983, with orthogonal steps in place of the recursion, which
 * magnifies rounding along a chaotic motion). For s segments of n numbers and q shared parameters it takes s (2n + q)³
 * operations and s (2n + q)² numbers; a dense one (ns + q)³ and squared.
 */
import type {Factorization, Projection} from './row-qr.js';
import {RowQr} from './row-qr.js';

/** Where the columns of a segment's rows, [own, next, shared], are among those of the problem. */
export interface SegmentColumns {
  /** Where its own start has its columns, and how many: none where that is among the shared ones. */
  readonly own: number;
  readonly size: number;
  /** Where the next one's start has its; a chain ends where there is none. */
  readonly next: number;
  readonly nextSize: number;
}

/** The problem's column of a segment's column j. */
export const columnOf = ({own, size, next, nextSize}: SegmentColumns, j: number): number =>
  j < size ? own + j : j < size + nextSize ? next + j - size : j - size - nextSize;

/** A segment's rows as a triangle. */
interface Link extends SegmentColumns {
  /** [p, p] row-major, upper triangular, and the right side. */
  readonly r: Float64Array;
  readonly c: Float64Array;
}

/** A link whose own start has been eliminated: it follows from the next one's. */
interface Eliminated {
  readonly link: Link;
  readonly r: Float64Array;
  readonly c: Float64Array;
}

/** No damping: the square of roundoff keeps a column without influence from a division by 0. */
const UNDAMPED = Number.EPSILON ** 2;

export class ChainQr implements Factorization {
  private readonly links: Link[] = [];

  /**
   * @param p of all columns
   * @param shared how many of them, the first ones, are no segment's start
   */
  constructor(
    readonly p: number,
    private readonly shared: number,
  ) {}

  /**
   * Takes in the next segment.
   * @param place columns of its own start and of the next one's
   * @param rows [m, size + nextSize + shared] row-major
   * @param rightSide [m]
   */
  append(place: SegmentColumns, rows: Float64Array, rightSide: Float64Array): this {
    const {r, c} = new RowQr(place.size + place.nextSize + this.shared).append(rows, rightSide);
    this.links.push({...place, r, c});
    return this;
  }

  damped(scale: Float64Array, mu: number): Float64Array {
    const {shared} = this;
    const root = Math.sqrt(mu);
    const {border, done} = this.eliminate(scale, root);
    border.append(
      diagonal(shared, 0, shared, j => root * scale[j]),
      new Float64Array(shared),
    );
    const delta = new Float64Array(this.p);
    delta.set(border.solve());
    for (const one of done.reverse()) this.solveOwn(one, delta);
    return delta.map(d => -d);
  }

  /** The factor for the shared columns with all starts eliminated: (RᵀR)⁻¹ is their part of that of all columns. */
  condensed(): RowQr {
    return this.eliminate(new Float64Array(this.p).fill(1), Math.sqrt(UNDAMPED)).border;
  }

  private eliminate(scale: Float64Array, root: number): {readonly border: RowQr; readonly done: Eliminated[]} {
    const border = new RowQr(this.shared);
    const done: Eliminated[] = [];
    let carry: Carry | undefined;
    for (const link of this.links) {
      const factor = this.eliminated(link, carry, scale, root);
      done.push({link, r: factor.r, c: factor.c});
      carry = carried(link, factor, this.shared);
      if (link.nextSize > 0) continue;
      border.append(carry.rows, carry.rightSide);
      carry = undefined;
    }
    return {border, done};
  }

  /** Its own rows, what the links before left of theirs, and the damping of its own start. */
  private eliminated(
    {size, own, nextSize, r, c}: Link,
    carry: Carry | undefined,
    scale: Float64Array,
    root: number,
  ): RowQr {
    const p = c.length;
    const factor = new RowQr(p, p).append(r, c);
    if (carry !== undefined) {
      const {rows, rightSide} = carry;
      const width = size + this.shared;
      const count = rightSide.length;
      const wide = new Float64Array(count * p);
      for (let i = 0; i < count; i++)
        for (let j = 0; j < width; j++) wide[i * p + (j < size ? j : j + nextSize)] = rows[i * width + j];
      factor.append(wide, rightSide);
    }
    return factor.append(
      diagonal(size, 0, p, j => root * scale[own + j]),
      new Float64Array(size),
    );
  }

  /** Back substitution: the start of a segment from the next one's and the shared parameters. */
  private solveOwn({link, r, c}: Eliminated, delta: Float64Array): void {
    const p = c.length;
    for (let i = link.size - 1; i >= 0; i--) {
      let value = c[i];
      for (let j = i + 1; j < p; j++) value -= r[i * p + j] * delta[columnOf(link, j)];
      delta[columnOf(link, i)] = value / r[i * p + i];
    }
  }

  projected(norms: Float64Array): Projection {
    const delta = this.damped(
      norms.map(norm => norm || 1),
      UNDAMPED,
    );
    const gradient = this.gradient();
    return {
      delta: delta.map((d, j) => d * norms[j]),
      inside: -delta.reduce((sum, d, j) => sum + d * gradient[j], 0),
      rank: norms.reduce((count, norm) => count + (norm > 0 ? 1 : 0), 0),
    };
  }

  gradient(): Float64Array {
    const gradient = new Float64Array(this.p);
    for (const link of this.links) {
      const {r, c} = link;
      const p = c.length;
      for (let i = 0; i < p; i++) for (let j = i; j < p; j++) gradient[columnOf(link, j)] += r[i * p + j] * c[i];
    }
    return gradient;
  }

  columnNorms(): Float64Array {
    const squares = new Float64Array(this.p);
    for (const link of this.links) {
      const {r, c} = link;
      const p = c.length;
      for (let i = 0; i < p; i++) for (let j = i; j < p; j++) squares[columnOf(link, j)] += r[i * p + j] ** 2;
    }
    return squares.map(Math.sqrt);
  }
}

/** Rows over the next start and the shared parameters. */
interface Carry {
  readonly rows: Float64Array;
  readonly rightSide: Float64Array;
}

/** The rows of a factor below those of the start that it eliminates. */
function carried({size, nextSize}: Link, {p, r, c}: RowQr, shared: number): Carry {
  const width = nextSize + shared;
  const rows = new Float64Array(width * width);
  for (let i = 0; i < width; i++) for (let j = i; j < width; j++) rows[i * width + j] = r[(size + i) * p + size + j];
  return {rows, rightSide: c.slice(size)};
}

/** So many rows with one entry each. */
function diagonal(count: number, first: number, width: number, value: (j: number) => number): Float64Array {
  const rows = new Float64Array(count * width);
  for (let j = 0; j < count; j++) rows[j * width + first + j] = value(j);
  return rows;
}
