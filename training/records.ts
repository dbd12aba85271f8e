/** Measured records as `identify` takes them: checked once, with what is compared and how it is weighed. */
import type {Initial, Numeric} from '../lib/index.js';
import {DataError, OptionError, readNumeric, ShapeError} from '../lib/index.js';
import type {Signal} from './signal.js';

export interface MeasuredRecord {
  /** [samples], ascending: times of the measurements, on the grid of dt; the first is the start of the simulation. */
  readonly t: Numeric;
  /** What is compared: [samples, ...shape] each, at least one. */
  readonly q?: Numeric;
  readonly v?: Numeric;
  /** An ode's state; or, with `observe`, what that gives. */
  readonly y?: Numeric;
  /** Inverse standard deviations: one number, one an output, or one a measurement; by series, or one for all. */
  readonly weights?: Numeric | {readonly q?: Numeric; readonly v?: Numeric; readonly y?: Numeric};
  /** Inputs of this record, beside or in place of the problem's. */
  readonly inputs?: {readonly [name: string]: Signal};
  /** A start of its own; otherwise the problem's. */
  readonly initial?: Initial;
  /** Shown in the report. */
  readonly name?: string;
}

/** One measured series of a record, and the simulated series it is compared with. */
export interface Channel {
  readonly name: 'q' | 'v' | 'y';
  readonly simulated: 'q' | 'v' | 'y' | 'observed';
  /** Numbers a sample. */
  readonly outputs: number;
  /** [samples · outputs] */
  readonly measured: Float64Array;
  readonly weights: Float64Array;
}

export interface CheckedRecord {
  readonly name: string;
  readonly t: Float64Array;
  readonly channels: readonly Channel[];
  readonly inputs: {readonly [name: string]: Signal};
  readonly initial?: Initial;
}

/** @throws DataError, ShapeError, OptionError naming record, series and sample */
export function checkRecord(record: MeasuredRecord, index: number, observed: boolean): CheckedRecord {
  const name = record.name ?? `record ${index + 1}`;
  const t = readNumeric(record.t, `${name}: t`).values;
  checkTimes(t, name);
  const present = (['q', 'v', 'y'] as const).filter(series => record[series] !== undefined);
  if (present.length === 0) throw new OptionError('no-data', `${name} has nothing to compare with: give q, v or y beside t.`, {record: name});
  const channels = present.map(series => readChannel(record, series, t.length, name, observed && series === 'y'));
  return {name, t, channels, inputs: record.inputs ?? {}, initial: record.initial};
}

function checkTimes(t: Float64Array, name: string): void {
  if (t.length < 2) throw new DataError('too-short', `${name} has ${t.length} samples; at least two are needed.`, {record: name});
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(t[i])) throw new DataError('not-finite', `${name}: t[${i}] is ${t[i]}.`, {record: name, index: i});
    if (i > 0 && !(t[i] > t[i - 1])) throw new DataError('time-order', `${name}: times must ascend, but t[${i}] = ${t[i]} follows ${t[i - 1]}. Sort the record, and remove repeated samples.`, {record: name, index: i});
  }
}

function readChannel(record: MeasuredRecord, series: 'q' | 'v' | 'y', samples: number, name: string, observed: boolean): Channel {
  const {values} = readNumeric(record[series] as Numeric, `${name}: ${series}`);
  if (values.length === 0 || values.length % samples !== 0) {
    throw new ShapeError('data-shape', `${name}: ${series} has ${values.length} numbers for ${samples} times; it needs the shape [${samples}, ...].`, {record: name, series});
  }
  const outputs = values.length / samples;
  const bad = values.findIndex(value => !Number.isFinite(value));
  if (bad >= 0) {
    throw new DataError('not-finite', `${name}: ${series} is ${values[bad]} in sample ${Math.floor(bad / outputs)}. Remove the sample, or give it weight 0 and any finite number.`, {record: name, series, index: Math.floor(bad / outputs)});
  }
  return {name: series, simulated: observed ? 'observed' : series, outputs, measured: values, weights: readWeights(record.weights, series, samples, outputs, name)};
}

function readWeights(weights: MeasuredRecord['weights'], series: 'q' | 'v' | 'y', samples: number, outputs: number, name: string): Float64Array {
  const own = isBySeries(weights) ? weights[series] : weights;
  const {values} = readNumeric(own ?? 1, `${name}: weights`);
  const bad = values.findIndex(value => !(value >= 0 && value < Infinity));
  if (bad >= 0) throw new DataError('bad-weight', `${name}: weight ${bad} of ${series} is ${values[bad]}: weights are finite and not negative.`, {record: name, series, index: bad});
  const total = samples * outputs;
  if (values.length === total) return values;
  if (values.length !== 1 && values.length !== outputs && values.length !== samples) {
    throw new ShapeError('weights-shape', `${name}: ${values.length} weights for ${series} of shape [${samples}, ${outputs}]; give one, ${outputs}, ${samples} or ${total}.`, {record: name, series});
  }
  const bySample = values.length === samples && values.length !== outputs;
  return Float64Array.from({length: total}, (_, i) => values[values.length === 1 ? 0 : bySample ? Math.floor(i / outputs) : i % outputs]);
}

function isBySeries(weights: MeasuredRecord['weights']): weights is {readonly q?: Numeric; readonly v?: Numeric; readonly y?: Numeric} {
  return typeof weights === 'object' && weights !== null && !Array.isArray(weights) && !ArrayBuffer.isView(weights) && !('dataSync' in weights);
}
