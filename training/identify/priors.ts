/** Priors as rows of the least squares, beside those of the data. */
import type {Parameter, ParameterSpace} from './parameters.js';

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
  return Array.from(x.keys()).flatMap(column => {
    const {kind, prior} = space.parameterAt(column);
    if (prior === undefined) return [];
    const entry = space.entryAt(column);
    const [mean, sd] = [prior.mean[entry], prior.sd[entry]];
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

/** Whether anything is known beforehand of what is looked for. */
export const hasPriors = (space: ParameterSpace): boolean =>
  Array.from(space.labels.keys()).some(i => space.parameterAt(i).prior !== undefined);

/** ½ residual² of a parameter that is one number, at a value; 0 without a prior. */
export function priorCostOf({kind, prior}: Parameter, value: number): number {
  if (prior === undefined) return 0;
  return (((kind === 'positive' ? Math.log(value) : value) - prior.mean[0]) / prior.sd[0]) ** 2 / 2;
}
