/** Cuts a record into the segments of multiple shooting, each with its samples and its start. */
import {OptionError} from '../../lib/errors.js';
import {free, type Parameters} from './parameters.js';
import {type RecordBlock, type TracedRecord, RecordModel, recordKey} from './record-model.js';
import type {Model} from './model.js';
import {type Channel, type CheckedRecord, slicedRecord, stateNames} from './records.js';

/** A segment. The first one of a record starts as the record does. */
export interface RecordSegment {
  readonly model: RecordModel;
  readonly follows: boolean;
  /** Keys of the parameters that are its start. */
  readonly keys: readonly string[];
}

/** A record to be cut. */
export interface UncutRecord {
  readonly model: Model;
  readonly record: CheckedRecord;
  readonly shapeOf: (block: RecordBlock) => readonly number[];
  /** The motion at the guess, [samples, …], for starts that were not measured; empty if it cannot be simulated. */
  readonly guess: () => {readonly [block in RecordBlock]?: Float64Array};
}

/** A record in segments. */
export interface Cut {
  readonly segments: readonly RecordSegment[];
  /** The starts of its segments. */
  readonly parameters: Parameters;
  readonly starts: readonly Float64Array[];
}

/**
 * Neighbours share a sample: it ends the one and starts the other, and weighs in the latter alone.
 * @throws OptionError where nothing says how a segment starts
 */
export function cutRecord(whole: UncutRecord, most: number): Cut {
  const {record, model} = whole;
  const traced: TracedRecord = {};
  const blocks = stateNames(model.system);
  const intervals = record.t.length - 1;
  const count = Math.min(most, intervals);
  const bounds = Array.from({length: count + 1}, (_, s) => Math.round((s * intervals) / count));
  const parameters: {[key: string]: Parameters[string]} = {};
  const starts: Float64Array[] = [];
  const segments = bounds.slice(0, -1).map((from, s): RecordSegment => {
    const to = bounds[s + 1];
    const last = s === count - 1;
    if (s === 0)
      return {
        model: new RecordModel(model, sliced(record, from, to, last, record.name), traced),
        follows: false,
        keys: [],
      };
    const name = `${record.name}, segment ${s + 1}`;
    const own = Object.fromEntries(
      blocks.map(block => [
        `initial.${block}`,
        {...free([...startOf(whole, block, from)]), shape: whole.shapeOf(block)},
      ]),
    );
    for (const [key, parameter] of Object.entries(own)) parameters[recordKey(name, key)] = parameter;
    starts.push(Float64Array.from(Object.values(own).flatMap(({guess}) => [...guess])));
    const piece: CheckedRecord = {
      ...sliced(record, from, to, last, name),
      owner: record.name,
      initial: {t: record.t[from]},
      parameters: {...withoutStart(record.parameters), ...own},
    };
    return {
      model: new RecordModel({...model, parameters: withoutStart(model.parameters)}, piece, traced),
      follows: true,
      keys: blocks.map(block => recordKey(name, `initial.${block}`)),
    };
  });
  return {segments, parameters, starts};
}

/** Without parameters of the record's start: the segment has its own. */
const withoutStart = (parameters: Parameters): Parameters =>
  Object.fromEntries(Object.entries(parameters).filter(([key]) => !key.startsWith('initial.')));

function sliced(record: CheckedRecord, from: number, to: number, last: boolean, name: string): CheckedRecord {
  const segment = slicedRecord(record, from, to + 1);
  if (!last) for (const {weights, outputs} of segment.channels) weights.fill(0, weights.length - outputs);
  return {...segment, name};
}

/** As measured; a velocity from the positions beside it, where those were; else from the simulation at the guess. */
function startOf({record, guess}: UncutRecord, block: RecordBlock, sample: number): Float64Array {
  const at = measuredAt(
    record.channels.find(({simulated}) => simulated === block),
    sample,
  );
  if (at !== undefined) return at;
  const places = record.channels.find(({simulated}) => simulated === 'q');
  const [before, after] = [Math.max(0, sample - 1), Math.min(record.t.length - 1, sample + 1)];
  const [low, high] = [measuredAt(places, before), measuredAt(places, after)];
  if (block === 'v' && low !== undefined && high !== undefined)
    return low.map((value, k) => (high[k] - value) / (record.t[after] - record.t[before]));
  const simulated = guess()[block];
  if (simulated === undefined)
    throw new OptionError(
      'bad-shooting',
      `identify: multiple shooting needs values of ${block} within ${record.name}, but it was not measured, and the `
        + 'record cannot be simulated at the guess. Measure it, or use a better guess.',
      {record: record.name, block},
    );
  const width = simulated.length / record.t.length;
  return simulated.subarray(sample * width, (sample + 1) * width);
}

function measuredAt(channel: Channel | undefined, sample: number): Float64Array | undefined {
  if (channel === undefined) return undefined;
  const {outputs, weights, measured} = channel;
  if (weights.subarray(sample * outputs, (sample + 1) * outputs).some(weight => weight === 0)) return undefined;
  return measured.subarray(sample * outputs, (sample + 1) * outputs);
}

/** Standard deviations of the starts' numbers; 1 where all are the same. */
export function spread(starts: readonly Float64Array[]): Float64Array {
  const n = starts.length;
  return (starts[0] ?? new Float64Array()).map((_, k) => {
    const mean = starts.reduce((sum, start) => sum + start[k], 0) / n;
    return Math.sqrt(starts.reduce((sum, start) => sum + (start[k] - mean) ** 2, 0) / n) || Math.abs(mean) || 1;
  });
}

/** Mean square of the weighted measurements: what a wholly wrong segment costs per residual. */
export function meanSquare(channels: readonly Channel[]): number {
  let [sum, count] = [0, 0];
  for (const {measured, weights} of channels) {
    measured.forEach((value, i) => {
      if (weights[i] === 0) return;
      sum += (weights[i] * value) ** 2;
      count++;
    });
  }
  return count === 0 ? 1 : sum / count || 1;
}
