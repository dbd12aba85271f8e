/** Records of inputs and outputs, normalized, and cut into sections that begin with a past for the encoder. */
import type {Numeric} from '../../lib/index.js';
import {DataError, OptionError, ShapeError} from '../../lib/index.js';
import {readNumeric} from '../../lib/internal.js';
import {any, refuseUnknownOptions, text} from '../../lib/checks.js';

/** Inputs and outputs at evenly spaced times. */
export interface InputOutputRecord {
  /** [samples], evenly spaced. */
  readonly t: Numeric;
  /** [samples] or [samples, inputs]. */
  readonly u: Numeric;
  /** [samples] or [samples, outputs]. */
  readonly y: Numeric;
  readonly name?: string;
}

/** A record as read; row-major. */
export interface ReadRecord {
  readonly name: string;
  readonly samples: number;
  readonly start: number;
  readonly interval: number;
  readonly u: Float64Array;
  readonly y: Float64Array;
  readonly inputs: number;
  readonly outputs: number;
}

/** Allowed deviation of a sample's time in intervals; clocks written with a few digits stay within it. */
const UNEVEN = 1e-3;

/** @throws DataError, ShapeError, OptionError */
export function readRecord(record: InputOutputRecord, index: number): ReadRecord {
  const name = record?.name ?? `record ${index + 1}`;
  refuseUnknownOptions(record, {t: any, u: any, y: any, name: text}, name);
  for (const key of ['t', 'u', 'y'] as const)
    if (record[key] === undefined)
      throw new OptionError('missing-option', `${name} needs ${key}.`, {record: name, option: key});
  const {values: t} = readNumeric(record.t, `${name}: t`);
  const samples = t.length;
  if (samples < 2) throw new DataError('too-short', `${name} has ${samples} samples.`, {record: name});
  const interval = (t[samples - 1] - t[0]) / (samples - 1);
  const off = t.findIndex((time, i) => !(Math.abs(time - t[0] - i * interval) <= UNEVEN * interval));
  if (off >= 0 || !(interval > 0))
    throw new DataError(
      'uneven-clock',
      `${name}: its times are not evenly spaced, t[${Math.max(off, 0)}] = ${t[Math.max(off, 0)]}. Use resample(…) to `
        + 'make them so.',
      {record: name, index: off},
    );
  const series = (key: 'u' | 'y'): {values: Float64Array; width: number} => {
    const {values, shape} = readNumeric(record[key], `${name}: ${key}`);
    if (shape[0] !== samples || shape.length > 2)
      throw new ShapeError(
        'data-shape',
        `${name}: ${key} has shape [${shape.join(', ')}] for ${samples} times; it needs [${samples}] or [${samples}, `
          + '…].',
        {record: name, series: key},
      );
    const bad = values.findIndex(value => !Number.isFinite(value));
    if (bad >= 0)
      throw new DataError(
        'not-finite',
        `${name}: ${key} is ${values[bad]} in sample ${Math.floor((bad * samples) / values.length)}.`,
        {record: name, series: key},
      );
    return {values, width: values.length / samples};
  };
  const [u, y] = [series('u'), series('y')];
  return {
    name,
    samples,
    start: t[0],
    interval,
    u: u.values,
    y: y.values,
    inputs: u.width,
    outputs: y.width,
  };
}

/** Mean and standard deviation of each column. */
export interface Scale {
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
}

/** A deviation that is a smaller share of the mean is rounding of what is constant. */
const rounding = 1e-12;

/** Over all records together; a constant column has the deviation one. */
export function scaleOf(records: readonly {readonly values: Float64Array; readonly width: number}[]): Scale {
  const {width} = records[0];
  const rows = records.reduce((sum, {values}) => sum + values.length / width, 0);
  const each = (of: (value: number, column: number) => number): Float64Array => {
    const sums = new Float64Array(width);
    for (const {values} of records) values.forEach((value, i) => (sums[i % width] += of(value, i % width) / rows));
    return sums;
  };
  const mean = each(value => value);
  const deviation = each((value, column) => (value - mean[column]) ** 2).map(Math.sqrt);
  return {mean, deviation: deviation.map((x, column) => (x > rounding * Math.abs(mean[column]) ? x : 1))};
}

export const normalized = (values: Float64Array, {mean, deviation}: Scale): Float64Array =>
  values.map((value, i) => (value - mean[i % mean.length]) / deviation[i % mean.length]);

/** Normalized series of one record. */
export interface NormalizedRecord extends ReadRecord {
  readonly nu: Float64Array;
  readonly ny: Float64Array;
}

/** Numbers of several sections side by side, as a batch of one simulation takes them. */
export interface Sections {
  /** [count, past · (inputs + outputs)] */
  readonly past: number[][];
  /** [samples, count, inputs] */
  readonly u: number[][][];
  /** [samples, count, outputs] */
  readonly y: number[][][];
}

/** Sections that begin at these samples, `past` samples being there before each. */
export function sectionsAt(
  places: readonly {readonly record: NormalizedRecord; readonly at: number}[],
  past: number,
  samples: number,
): Sections {
  const row = (values: Float64Array, width: number, k: number): number[] =>
    Array.from(values.subarray(k * width, (k + 1) * width));
  const along = (of: (place: (typeof places)[number], k: number) => number[]): number[][][] =>
    Array.from({length: samples}, (_, k) => places.map(place => of(place, k)));
  return {
    past: places.map(({record, at}) =>
      Array.from({length: past}, (_, k) => [
        ...row(record.nu, record.inputs, at - past + k),
        ...row(record.ny, record.outputs, at - past + k),
      ]).flat(),
    ),
    u: along(({record, at}, k) => row(record.nu, record.inputs, at + k)),
    y: along(({record, at}, k) => row(record.ny, record.outputs, at + k)),
  };
}
