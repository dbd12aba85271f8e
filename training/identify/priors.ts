/** Priors as rows of the least squares, beside those of the data. */
import type {ParameterSpace} from './parameters.js';
import type {RowQr} from './row-qr.js';

/** A prior's row: its coordinate, its residual (c(x) − mean)/sd there and the derivative of that. */
export interface PriorRow {
  readonly column: number;
  readonly residual: number;
  readonly derivative: number;
}

/** The rows of all priors at x; ½ Σ residual² is −ln of their density, but for a constant. */
export function priorRows(space: ParameterSpace, x: Float64Array): PriorRow[] {
  const natural = space.natural(x);
  const slope = space.derivative(x);
  return space.moving.flatMap(({kind, prior}, column) => {
    if (prior === undefined) return [];
    const {mean, sd} = prior;
    const logarithmic = kind === 'positive';
    return [
      {
        column,
        residual: ((logarithmic ? x[column] : natural[column]) - mean) / sd,
        derivative: (logarithmic ? 1 : slope[column]) / sd,
      },
    ];
  });
}

/** ½ Σ of the squares. */
export const priorCost = (rows: readonly PriorRow[]): number =>
  rows.reduce((sum, {residual}) => sum + residual ** 2 / 2, 0);

/** s² times the cost of all priors, and its gradient. */
export function priorGradient(
  space: ParameterSpace,
  x: Float64Array,
  sd: number,
): {readonly cost: number; readonly gradient: Float64Array} {
  const rows = priorRows(space, x);
  const gradient = new Float64Array(x.length);
  for (const {column, residual, derivative} of rows) gradient[column] += sd ** 2 * residual * derivative;
  return {cost: rows.length === 0 ? 0 : sd ** 2 * priorCost(rows), gradient};
}

/** Their derivatives, [rows, p], in the scale of the residuals. */
export function priorMatrix(rows: readonly PriorRow[], p: number, sd: number): Float64Array {
  const jacobian = new Float64Array(rows.length * p);
  rows.forEach(({column, derivative}, k) => (jacobian[k * p + column] = sd * derivative));
  return jacobian;
}

/**
 * Numbers that the data determine: of a fit's, those that the priors do not (MacKay, Neural Computation 4, 1992).
 * @param factor of the data's rows and the priors'
 * @param prior the latter, [rows, p]
 */
export function effective(factor: RowQr, prior: Float64Array): number {
  const {p} = factor;
  let count = p;
  for (let k = 0; k < prior.length / p; k++) count -= leverage(factor, prior.subarray(k * p, (k + 1) * p));
  return Math.max(count, 0);
}

/** ‖R⁻ᵀ a‖²: what a row of the matrix behind the factor has to say beside all others, 0 … 1. */
function leverage({r, p}: RowQr, row: Float64Array): number {
  const y = row.slice();
  let sum = 0;
  for (let i = 0; i < p; i++) {
    for (let j = 0; j < i; j++) y[i] -= r[j * p + i] * y[j];
    y[i] = r[i * p + i] === 0 ? 0 : y[i] / r[i * p + i];
    sum += y[i] ** 2;
  }
  return Math.min(sum, 1);
}

/** Whether anything is known beforehand of what is looked for. */
export const hasPriors = (space: ParameterSpace): boolean => space.moving.some(({prior}) => prior !== undefined);
