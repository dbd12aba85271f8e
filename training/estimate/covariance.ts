/** Covariances as users give them: numbers for all, variances in a row, a matrix, or one of these for each block. */
import type {Numeric} from '../../lib/index.js';
import {OptionError, ShapeError} from '../../lib/index.js';
import {readNumeric} from '../../lib/internal.js';
import {refuseUnknownOptions} from '../../lib/checks.js';
import {isByName} from '../identify/records.js';
import {rootOf} from './roots.js';

/**
 * A covariance of n numbers: one variance for all of them, one per number, or the matrix,
 * [n, n]. Or one of these for each block by name, without covariance between blocks; an omitted block has zero
 * covariance.
 */
export type Covariance = Numeric | {readonly [block: string]: Numeric | undefined};

/** A part of what a covariance belongs to. */
export interface CovarianceBlock {
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

/**
 * @returns the matrix, [n, n]
 * @throws ShapeError, OptionError naming `what`
 */
export function covarianceMatrix(given: Covariance, parts: readonly CovarianceBlock[], what: string): Float64Array {
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  const matrix = new Float64Array(size * size);
  if (isByName(given)) {
    refuseUnknownOptions(
      given,
      parts.map(({name}) => name),
      what,
    );
    for (const part of parts) {
      const own = given[part.name];
      if (own !== undefined) place(matrix, size, square(own, part.size, `${what}.${part.name}`), part);
    }
  } else place(matrix, size, square(given, size, what), {offset: 0, size});
  return matrix;
}

/** @throws OptionError where the covariance is none */
export function covarianceRoot(given: Covariance, parts: readonly CovarianceBlock[], what: string): Float64Array {
  const matrix = covarianceMatrix(given, parts, what);
  return requireRoot(matrix, Math.sqrt(matrix.length), what);
}

export function requireRoot(matrix: Float64Array, size: number, what: string): Float64Array {
  const bad = matrix.findIndex(value => !Number.isFinite(value));
  const root = bad < 0 ? rootOf(matrix, size) : undefined;
  if (root === undefined)
    throw new OptionError(
      'not-a-covariance',
      bad < 0
        ? `${what} is not a covariance: it must be symmetric, and no direction may have a negative variance.`
        : `${what} is not a covariance: a number of it is ${matrix[bad]}.`,
      {option: what},
    );
  return root;
}

function square(given: Numeric, n: number, what: string): Float64Array {
  const {values, shape} = readNumeric(given, what);
  const matrix = new Float64Array(n * n);
  if (values.length === 1 || (values.length === n && shape.length === 1)) {
    for (let i = 0; i < n; i++) matrix[i * n + i] = values[values.length === 1 ? 0 : i];
    return matrix;
  }
  if (shape.length === 2 && shape[0] === n && shape[1] === n) return values;
  throw new ShapeError(
    'covariance-shape',
    `${what} has shape [${shape.join(', ')}]: give one variance, ${n} of them, or a matrix [${n}, ${n}].`,
    {option: what, shape: [...shape], size: n},
  );
}

function place(
  into: Float64Array,
  n: number,
  from: Float64Array,
  {offset, size}: Pick<CovarianceBlock, 'offset' | 'size'>,
): void {
  for (let i = 0; i < size; i++)
    for (let j = 0; j < size; j++) into[(offset + i) * n + offset + j] = from[i * size + j];
}
