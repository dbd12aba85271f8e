/**
 * How many digits solves with a matrix lose, measured: an x that is known, b = A x with its terms rounded much more
 * coarsely than they are, and how far off the factor's solution then is. That is a condition number of Skeel's, along
 * one direction: what the rounding of entries (a mass beside h²K, of which their sum keeps few digits) and of the
 * elimination grow by, for one product and one solve.
 */
import {Equilibration} from './equilibration.js';
import type {Pattern} from './solver.js';

/**
 * Rounding that grows by more than this costs a derivative digits: of two free masses on a spring the gradient of 100
 * Newmark steps is off by 1e-10 where it grows 50 times, by 4e-9 at this limit, by 1e-6 at twenty times as much and by
 * 100 at 10⁷. Chains and meshes at steps that resolve them stay below 30.
 */
export const MAX_AMPLIFICATION = 256;

/**
 * Pivots of at least this share of their row (the sum of its entries' sizes, 4 of which a chain's pivot is at most)
 * show that elimination cancels no digits, for less than a measurement.
 */
export const SAFE_PIVOT_RATIO = 4 / MAX_AMPLIFICATION;

/** A diagonal entry has grown, or a row's sum shrunk, by so much: what is stiff beside a mass has, too. */
const GROWN = 4;

/** Below this share of the sum of its entries' sizes the sum of a row is rounding, or zero by design: x_i = x_j. */
const CANCELLED = 2 ** -40;

/** Stands for the arithmetic's rounding: far above it, and small even when it has grown by `MAX_AMPLIFICATION`. */
const COARSE = 2 ** -30;

/** Off-diagonal entries up to this share ρ of the diagonal: growth is below (1 + ρ)/(1 − ρ) (Varah 1975). */
const DOMINANT = (MAX_AMPLIFICATION - 1) / (MAX_AMPLIFICATION + 1);

const found = new WeakMap<Pattern, ErrorAmplification>();

/**
 * A matrix when it was last measured, by rows: the size of its diagonal entry, which grows with a stiffness, and the
 * share of its sum, which is what the rigid motion of free masses feels, and falls with their mass.
 */
export class RowMonitor {
  private readonly largest: Float64Array;
  private readonly least: Float64Array;
  /** Where each row has its diagonal entry, or else any entry. */
  private readonly diagonal: Int32Array;

  /** @param room for two numbers of each row: what is compared with, `largest` before `least` */
  constructor(
    private readonly pattern: Pattern,
    room: Float64Array = new Float64Array(2 * pattern.n),
  ) {
    const {n, rowPointers, columns} = pattern;
    this.largest = room.subarray(0, n).fill(Infinity);
    this.least = room.subarray(n).fill(0);
    this.diagonal = new Int32Array(n);
    for (let i = 0; i < n; i++)
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) if (columns[p] === i) this.diagonal[i] = p;
  }

  remember(values: Float64Array): void {
    const {largest, least, diagonal, pattern} = this;
    for (let i = 0; i < largest.length; i++) {
      const share = this.share(values, i);
      least[i] = share > CANCELLED ? share / GROWN : 0;
      if (pattern.columns[diagonal[i]] === i) largest[i] = GROWN * Math.abs(values[diagonal[i]]);
    }
  }

  /** Digits may be lost that were not. */
  haveChanged(values: Float64Array): boolean {
    const {largest, least, diagonal} = this;
    for (let i = 0; i < largest.length; i++)
      if (Math.abs(values[diagonal[i]]) > largest[i] || this.share(values, i) < least[i]) return true;
    return false;
  }

  /** The sum of a row beside that of its entries' sizes. */
  private share(values: Float64Array, row: number): number {
    const {rowPointers} = this.pattern;
    let sum = 0;
    let sizes = 0;
    for (let p = rowPointers[row], end = rowPointers[row + 1]; p < end; p++) {
      sum += values[p];
      sizes += Math.abs(values[p]);
    }
    return sizes > 0 ? Math.abs(sum) / sizes : 1;
  }
}

/** One for all that ask about matrices of a pattern. */
export function errorAmplification(pattern: Pattern): ErrorAmplification {
  let known = found.get(pattern);
  if (known === undefined) found.set(pattern, (known = new ErrorAmplification(pattern)));
  return known;
}

export class ErrorAmplification {
  private scratch: Scratch | undefined;

  constructor(private readonly pattern: Pattern) {}

  /** A glance that settles it for many matrices: whether the diagonal outweighs the rest of every row. */
  isDominant(values: Float64Array): boolean {
    const {n, rowPointers, columns} = this.pattern;
    for (let i = 0, p = 0; i < n; i++) {
      let own = 0;
      let others = 0;
      for (const end = rowPointers[i + 1]; p < end; p++) {
        const size = Math.abs(values[p]);
        if (columns[p] === i) own = size;
        else others += size;
      }
      if (!(others <= DOMINANT * own)) return false;
    }
    return true;
  }

  /** b ← A x, or Aᵀx, so rounded, of an x of either sign in the scales of the unknowns, the same every time. */
  right(values: Float64Array, b: Float64Array, transposed: boolean): void {
    const {n, rowPointers, columns: column} = this.pattern;
    const {signs, roundings, known, sizes, equilibration, rows, columns} = (this.scratch ??= new Scratch(this.pattern));
    equilibration.scale(values, rows, columns);
    const scale = transposed ? rows : columns;
    for (let i = 0; i < n; i++) {
      known[i] = scale[i] * signs[i];
      b[i] = sizes[i] = 0;
    }
    for (let i = 0; i < n; i++) {
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
        const term = values[p] * known[transposed ? i : column[p]];
        const to = transposed ? column[p] : i;
        b[to] += term;
        sizes[to] += Math.abs(term);
      }
    }
    for (let i = 0; i < n; i++) b[i] += COARSE * roundings[i] * sizes[i];
  }

  /** Growth of the rounding in the solution, in the scales of the unknowns that are asked for. */
  amplification(x: Float64Array, transposed: boolean): number {
    const {known, rows, columns} = (this.scratch ??= new Scratch(this.pattern));
    const scale = transposed ? rows : columns;
    const {schurSize = known.length} = this.pattern;
    let worst = 0;
    for (let i = 0; i < schurSize; i++) worst = Math.max(worst, Math.abs(x[i] - known[i]) / scale[i]);
    return worst / COARSE;
  }
}

class Scratch {
  readonly signs: Float64Array;
  readonly roundings: Float64Array;
  readonly known: Float64Array;
  readonly sizes: Float64Array;
  readonly rows: Float64Array;
  readonly columns: Float64Array;
  readonly equilibration: Equilibration;

  constructor(pattern: Pattern) {
    const {n} = pattern;
    // Numerical Recipes' linear congruence; numbers of either sign between ½ and 3/2.
    let seed = 1;
    const numbers = (): Float64Array =>
      Float64Array.from({length: n}, () => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        const x = seed / 2 ** 31 - 1;
        return x + Math.sign(x) / 2;
      });
    this.signs = numbers();
    this.roundings = numbers();
    [this.known, this.sizes, this.rows, this.columns] = [0, 1, 2, 3].map(() => new Float64Array(n));
    this.equilibration = new Equilibration(pattern);
  }
}
