/** A long record cut into short ones: what mini-batches of a trajectory are made of. */
import type {Numeric} from '../../lib/index.js';
import {DataError, OptionError, ShapeError} from '../../lib/index.js';
import {readNumeric} from '../../lib/internal.js';
import {positiveInteger, optional, readOptions, type Options} from '../../lib/checks.js';

/** Times, and series with the same number of samples. */
export type SegmentedSeries = {readonly t: Numeric} & {readonly [name: string]: Numeric};

/** A short section of a record. */
export interface Segment<Name extends string> {
  /** [length], from 0: each segment has its own times, so that one prepared simulation serves all. */
  readonly t: Float64Array;
  /** Initial time of the segment in the record. */
  readonly offset: number;
  /** Samples of the segment, [length, ...shape of a sample], row-major. */
  readonly values: {readonly [name in Name]: Float64Array};
  /** The first sample of each series, row-major: an initial state for the simulation. */
  readonly first: {readonly [name in Name]: Float64Array};
}

const segmentOptions = {
  /** Samples of a segment, at least 2. */
  length: positiveInteger,
  /** Samples from one segment's start to the next; default length − 1: every interval is used once. */
  stride: optional(positiveInteger),
};

/** Options of `segments`. @interface */
export type SegmentOptions = Options<typeof segmentOptions>;

/**
 * Remaining samples at the end are omitted. Weights of samples are series like others.
 * @throws ShapeError if a series has another number of samples than t; DataError 'time-order' if times do not ascend;
 *   OptionError 'bad-segments'
 */
export function segments<S extends SegmentedSeries>(
  series: S,
  options: SegmentOptions,
): Segment<Exclude<keyof S & string, 't'>>[] {
  type Name = Exclude<keyof S & string, 't'>;
  const {length, stride = length - 1} = readOptions(options, segmentOptions, 'segments');
  const {t: times, ...others} = series;
  const t = readNumeric(times, 'segments: t').values;
  if (length < 2 || length > t.length)
    throw new OptionError(
      'bad-segments',
      `segments: length is ${length}; it must be a whole number from 2 to ${t.length}, the number of samples.`,
      {length},
    );
  const wrong = t.findIndex((time, i) => !Number.isFinite(time) || (i > 0 && !(time > t[i - 1])));
  if (wrong >= 0)
    throw new DataError(
      'time-order',
      `segments: times must be finite and ascend, but sample ${wrong} is at ${t[wrong]}`
        + `${wrong === 0 ? '' : ` after ${t[wrong - 1]}`}. Sort the samples, and remove repeated ones; cut records `
        + 'that follow each other one by one.',
      {index: wrong},
    );
  const read = Object.entries(others as {readonly [name: string]: Numeric}).map(([name, given]) => {
    const {values, shape} = readNumeric(given, `segments: ${name}`);
    const width = values.length / t.length;
    if (shape.length === 0 || !Number.isInteger(width) || (shape.length > 1 && shape[0] !== t.length))
      throw new ShapeError(
        'segment-length',
        `segments: ${name} has shape [${shape.join(', ')}] for ${t.length} times.`,
        {name},
      );
    return {name, values, width};
  });
  const take = (from: number, count: number): {[name in Name]: Float64Array} =>
    Object.fromEntries(
      read.map(({name, values, width}) => [name, values.slice(from * width, (from + count) * width)]),
    ) as {[name in Name]: Float64Array};
  return Array.from({length: Math.floor((t.length - length) / stride) + 1}, (_, k) => {
    const from = k * stride;
    return {
      t: t.slice(from, from + length).map(time => time - t[from]),
      offset: t[from],
      values: take(from, length),
      first: take(from, 1),
    };
  });
}
