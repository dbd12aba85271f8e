/**
 * The record of a fit from one start: what the method found, and the noise that it was found with. Plain data but for
 * `linearization`, so that a fit that was made in another process can be filled in here, to the same bits.
 */
import type {LeastSquaresResult, ResidualLinearization} from './least-squares-problem.js';
import type {RowQr} from './row-qr.js';
import type {NoiseState} from './weighing.js';

export interface FitRecord extends Omit<LeastSquaresResult, keyof ResidualLinearization | 'factor'> {
  /** Sentences of the search beside its message. */
  readonly remarks: readonly string[];
  readonly noise: NoiseState;
  /** R of the Jacobian, [p, p]. */
  readonly r: Float64Array;
  /** Number of residuals. */
  readonly rows: number;
  /** Residuals, their Jacobian and its factor at x; absent where the fit was made in another process. */
  readonly linearization?: ResidualLinearization & {readonly factor: RowQr};
}

/** A fit from one start, or why there was none. */
export type Attempt = FitRecord | {readonly failure: string};

export const recordOf = (
  {residuals, jacobian, factor, ...found}: LeastSquaresResult,
  noise: NoiseState,
  remarks: readonly string[] = [],
): FitRecord => ({
  ...found,
  remarks,
  noise,
  r: factor.r,
  rows: residuals.length,
  linearization: {residuals, jacobian, factor},
});

/** The part of a record that another process sends. */
export const withoutLinearization = ({linearization: _, ...record}: FitRecord): FitRecord => record;
