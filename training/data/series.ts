/** Series of numbers as public functions take them: one number or one row per sample. */
import type {Numeric} from '../../lib/index.js';
import {DataError, ShapeError} from '../../lib/index.js';
import {readNumeric} from '../../lib/internal.js';

/** One number or one row per sample; arrays of numbers of any kind. */
export type SeriesValues = Numeric | ArrayLike<number>;

/** Requirements on a series. */
export interface SeriesDemands {
  /** 'one': a number per sample, [samples]; 'any': a row of them, too, [samples, ...]. */
  readonly outputs: 'one' | 'any';
  /** Whether NaN is a missing sample; otherwise it is an error. */
  readonly missing: boolean;
}

/** A series as read. */
export interface ReadSeries {
  /** [samples · outputs] */
  readonly values: Float64Array;
  readonly samples: number;
  /** Numbers per sample. */
  readonly outputs: number;
}

/**
 * @param name what the series is, as the sentence begins: 'histogram: values'
 * @throws ShapeError 'series-shape'; DataError 'not-finite' with the sample
 */
export function readSeries(given: SeriesValues, name: string, {outputs, missing}: SeriesDemands): ReadSeries {
  const {values, shape} = readNumeric(given as Numeric, name);
  const width = shape.slice(1).reduce((product, length) => product * length, 1);
  const wanted =
    outputs === 'one'
      ? 'give one number per sample, [samples], and call once per column'
      : 'give one row per sample, [samples, ...]';
  if (shape.length === 0 || (outputs === 'one' && width !== 1))
    throw new ShapeError('series-shape', `${name} has shape [${shape.join(', ')}]; ${wanted}.`, {shape: [...shape]});
  const bad = values.findIndex(value => !Number.isFinite(value) && !(missing && Number.isNaN(value)));
  if (bad >= 0)
    throw new DataError(
      'not-finite',
      `${name} is ${values[bad]} in sample ${Math.floor(bad / width)}. `
        + `${missing ? 'Make it NaN if the sample is missing.' : 'Remove the sample, or interpolate it (resample).'}`,
      {index: Math.floor(bad / width)},
    );
  return {values, samples: shape[0], outputs: width};
}

/** One column of a series. */
export const columnOf = ({values, samples, outputs}: ReadSeries, k: number): Float64Array =>
  outputs === 1 ? values : Float64Array.from({length: samples}, (_, i) => values[i * outputs + k]);
