/**
 * Banded matrices: chains, beams, rods, anything whose unknowns have neighbours on a line. The band is
 * found by reverse Cuthill–McKee where the order given is not as good. Methods from fast to general, and
 * each matrix gets the first that is safe for it: tridiagonal elimination from both ends, or Cholesky
 * within the band, then LU without exchanges; LU with partial pivoting takes the rest.
 */
import {bandCholeskyWork, BandCholeskyFactor, bandTargets} from './band-cholesky.js';
import {bandLuWork, BandLuFactor} from './band-lu.js';
import {BandPlainLuFactor} from './band-plain-lu.js';
import {bandOrder, gather, scatter, type BandOrder} from './band-order.js';
import {FactorAnalysis} from './analysis.js';
import {SpecialFactor} from './direct.js';
import {FallbackFactor} from './fallback.js';
import {structurallySymmetric} from './pattern.js';
import {withRecipe} from './recipe.js';
import type {Factor, LinearSolver, Pattern} from './solver.js';
import {specialFor} from './symmetrized.js';
import {
  factorTridiagonal,
  solveTridiagonal,
  solveTridiagonalTransposed,
  type TridiagonalNumbers,
  type TridiagonalPlaces,
} from './tridiagonal.js';

/** LU factorization within the matrix's band, with row pivoting. */
export function band(): LinearSolver {
  return withRecipe({name: 'band', analyze: pattern => analyzeBand(pattern)}, 'band');
}

export function analyzeBand(pattern: Pattern, order = bandOrder(pattern)): FactorAnalysis {
  const {n} = pattern;
  const {lower, upper} = order;
  const pivoting = (): Factor => new BandLuFactor(pattern, order);
  const general =
    lower > 0 && upper > 0
      ? (): Factor => new FallbackFactor(new BandPlainLuFactor(pattern, order), pivoting)
      : pivoting;
  if (lower <= 1 && upper <= 1) {
    const places = tridiagonalPlaces(pattern, order);
    // Rows in their own order, and no entry of the band missing: then nothing is moved before the elimination.
    const plain = order.natural && pattern.columns.length === 3 * n - 2;
    // A row takes a division, five multiplications and two subtractions.
    return new FactorAnalysis({
      kind: 'tridiagonal',
      n,
      nonzeros: 3 * n,
      work: 8 * n,
      createFactor: () => new FallbackFactor(new TridiagonalFactor(pattern, order, places), pivoting),
      method: plain ? {name: 'tridiagonal', symmetric: pattern.symmetric} : undefined,
    });
  }
  if (structurallySymmetric(pattern)) {
    const targets = bandTargets(order);
    const definite = specialFor(pattern, symmetricPattern => new BandCholeskyFactor(symmetricPattern, targets));
    return new FactorAnalysis({
      kind: 'band',
      n,
      nonzeros: n * (upper + 1),
      work: bandCholeskyWork(n, order),
      createFactor: () => new FallbackFactor(definite(), general),
    });
  }
  const nonzeros = n * (lower + upper + 1);
  return new FactorAnalysis({kind: 'band', n, nonzeros, work: bandLuWork(n, order), createFactor: general});
}

/** Places of the three diagonals; entries that the pattern lacks point behind the values, at a zero. */
function tridiagonalPlaces(pattern: Pattern, {rows, columns}: BandOrder): TridiagonalPlaces {
  const missing = rows.length;
  const lower = new Int32Array(pattern.n).fill(missing);
  const diagonal = new Int32Array(pattern.n).fill(missing);
  const upper = new Int32Array(pattern.n).fill(missing);
  for (let p = 0; p < rows.length; p++)
    (columns[p] < rows[p] ? lower : columns[p] > rows[p] ? upper : diagonal)[rows[p]] = p;
  // These two are read and not used; any place inside the values will do.
  if (pattern.n > 0) lower[0] = upper[pattern.n - 1] = 0;
  return {lower, diagonal, upper};
}

class TridiagonalFactor extends SpecialFactor {
  readonly kind = 'tridiagonal';
  private readonly numbers: TridiagonalNumbers;
  /** The values and a zero behind them, where the pattern lacks entries. */
  private readonly padded: Float64Array | undefined;
  /** The permuted solution, where rows are not in the order of the band. */
  private readonly y: Float64Array | undefined;

  constructor(
    pattern: Pattern,
    private readonly band: BandOrder,
    private readonly places: TridiagonalPlaces,
  ) {
    super(pattern);
    const {n} = pattern;
    const entries = pattern.columns.length;
    this.numbers = {lower: new Float64Array(n), reciprocals: new Float64Array(n), upper: new Float64Array(n)};
    this.padded = entries < 3 * n - 2 ? new Float64Array(entries + 1) : undefined;
    this.y = band.natural ? undefined : new Float64Array(n);
  }

  get size(): number {
    return 3 * this.n + (this.padded?.length ?? 0) + (this.y?.length ?? 0);
  }

  tryRefactor(values: Float64Array): boolean {
    const padded = this.padded;
    if (padded !== undefined) for (let p = 0; p + 1 < padded.length; p++) padded[p] = values[p];
    this.usable = factorTridiagonal(padded ?? values, this.places, this.numbers, this.pattern.symmetric);
    return this.usable;
  }

  protected substitute(x: Float64Array, at: number): void {
    const y = this.y;
    if (y === undefined) {
      solveTridiagonal(this.numbers, x, at);
    } else {
      gather(this.band, x, at, y);
      solveTridiagonal(this.numbers, y, 0);
      scatter(this.band, y, x, at);
    }
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    const y = this.y;
    if (y === undefined) {
      solveTridiagonalTransposed(this.numbers, x, at);
    } else {
      gather(this.band, x, at, y);
      solveTridiagonalTransposed(this.numbers, y, 0);
      scatter(this.band, y, x, at);
    }
  }
}
