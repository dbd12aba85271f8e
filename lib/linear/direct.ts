/**
 * What direct factors share: several right-hand sides, b and x in one array, and the judgement of
 * singular matrices. A concrete factor only eliminates and substitutes, in place and at an offset.
 */
import {ShapeError, StiffgradError} from '../errors.js';
import {examine, SUSPICIOUS_PIVOT, throwIfNotFinite} from './singularity.js';
import type {Factor, Pattern} from './solver.js';

export abstract class DirectFactor implements Factor {
  abstract readonly kind: string;
  abstract readonly size: number;
  readonly n: number;
  protected usable = false;

  constructor(protected readonly pattern: Pattern) {
    this.n = pattern.n;
  }

  get linearIterations(): number {
    return 0;
  }

  abstract refactor(values: Float64Array): void;
  /** x[at … at + n) ← A⁻¹ x. */
  protected abstract substitute(x: Float64Array, at: number): void;
  /** x[at … at + n) ← A⁻ᵀ x. */
  protected abstract substituteTransposed(x: Float64Array, at: number): void;

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    this.prepare(b, x, count);
    for (let k = 0; k < count; k++) this.substitute(x, k * this.n);
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    this.prepare(b, x, count);
    for (let k = 0; k < count; k++) this.substituteTransposed(x, k * this.n);
  }

  /** One solve in place, unchecked: for factors made of factors, and for the examination of singular ones. */
  solveAt(x: Float64Array, at: number): void {
    this.substitute(x, at);
  }

  solveTransposedAt(x: Float64Array, at: number): void {
    this.substituteTransposed(x, at);
  }

  private prepare(b: Float64Array, x: Float64Array, count: number): void {
    if (!this.usable) throwNotFactored();
    const length = count * this.n;
    if (b.length < length || x.length < length) throwTooShort(b, x, length);
    if (b !== x) for (let i = 0; i < length; i++) x[i] = b[i];
  }
}

/** A factor that takes every regular matrix, so its refusal is a judgement: the matrix is singular. */
export abstract class GeneralFactor extends DirectFactor {
  /**
   * Factors `values`; a pivot that is exactly zero is replaced so that the elimination can be finished
   * and examined. Returns the smallest pivot relative to the largest entry of its row (not above it:
   * a value too small only costs an examination), or NaN when something was not finite.
   */
  protected abstract eliminate(values: Float64Array): number;
  /** Terms in the longest sum of the elimination; see `examine`. */
  protected abstract get width(): number;

  refactor(values: Float64Array): void {
    this.usable = false;
    const smallest = this.eliminate(values);
    if (!(smallest > SUSPICIOUS_PIVOT)) examine(this.pattern, values, this, this.width);
    this.usable = true;
  }
}

/** A faster factor for some matrices only: definite ones, or ones that need no row exchanges. */
export abstract class SpecialFactor extends DirectFactor {
  /** False, without an error, when the matrix needs a more general method. */
  abstract tryRefactor(values: Float64Array): boolean;

  /** Solves with the present matrix are judged one by one, and may be refused as inaccurate. */
  get isJudged(): boolean {
    return false;
  }

  /** After a refusal: throws where the matrix is not to be given to a general method either. */
  refuse(values: Float64Array): void {
    throwIfNotFinite(this.pattern, values);
  }

  refactor(values: Float64Array): void {
    if (!this.tryRefactor(values)) {
      throw new StiffgradError(
        'needs-pivoting',
        `${this.kind} cannot factor this matrix, because it needs row exchanges.`,
        {
          kind: this.kind,
        },
      );
    }
  }
}

export function throwNotFactored(): never {
  throw new StiffgradError(
    'not-factored',
    'This factor holds no matrix: call refactor first, and again after it has thrown.',
    {},
  );
}

function throwTooShort(b: Float64Array, x: Float64Array, length: number): never {
  throw new ShapeError('bad-length', `b and x need ${length} numbers each; they have ${b.length} and ${x.length}.`, {
    length,
    b: b.length,
    x: x.length,
  });
}
