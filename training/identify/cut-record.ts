/**
 * A record cut into segments for multiple shooting: each with its samples, its start, and what an autoregression of the
 * noise joins in it.
 */
import {OptionError} from '../../lib/errors.js';
import {free, type Parameters} from './parameters.js';
import {type Block, type Traced, RecordModel, recordKey} from './record-model.js';
import type {Model} from './model.js';
import {type Channel, type CheckedRecord, slicedRecord, stateNames} from './records.js';
import type {WhitenedStretch} from './weighing.js';

/** A segment, and by which keys its start is looked for; the first of a record starts as the record does. */
export interface Piece {
  readonly model: RecordModel;
  readonly follows: boolean;
  readonly keys: readonly string[];
  readonly stretches: readonly Within[];
}

/** A stretch in a segment's rows, behind which stand the first ones of the next segment. */
export interface Within extends WhitenedStretch {
  /** Rows that are white here; the first ones of a stretch that began before are so in the segment before. */
  readonly whole: readonly number[];
}

export interface Whole {
  readonly model: Model;
  readonly record: CheckedRecord;
  /** What an autoregression of the noise joins, in the record's rows. */
  readonly stretches: readonly WhitenedStretch[];
  readonly shapeOf: (block: Block) => readonly number[];
  /** The motion at the guess, [samples, …], for starts that were not measured; empty if it cannot be simulated. */
  readonly guess: () => {readonly [block in Block]?: Float64Array};
}

/** A record in segments. */
export interface Cut {
  readonly pieces: readonly Piece[];
  readonly parameters: Parameters;
  readonly starts: readonly Float64Array[];
  /** From a row of the record to that of its segments, one after another. */
  readonly rowOf: (row: number) => number;
}

/**
 * Neighbours share a sample: it ends the one and starts the other, and weighs in the latter alone.
 * @param order of the noise's autoregression
 * @throws OptionError where nothing says how a segment starts, or it is shorter than the noise remembers
 */
export function cutRecord(whole: Whole, segments: number, order: number): Cut {
  const {record, model} = whole;
  const traced: Traced = {};
  const blocks = stateNames(model.system);
  const intervals = record.t.length - 1;
  const count = Math.min(segments, intervals);
  const bounds = Array.from({length: count + 1}, (_, s) => Math.round((s * intervals) / count));
  requireLonger(record, intervals / count, order);
  const parameters: {[key: string]: Parameters[string]} = {};
  const starts: Float64Array[] = [];
  const pieces = bounds.slice(0, -1).map((from, s): Piece => {
    const to = bounds[s + 1];
    const last = s === count - 1;
    const stretches = whole.stretches.flatMap(one => within(one, {from, to, last, order}, record.channels));
    if (s === 0)
      return {
        model: new RecordModel(model, sliced(record, from, to, last, record.name), traced),
        follows: false,
        keys: [],
        stretches,
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
      stretches,
    };
  });
  const {width} = pieces[0].model;
  // Each segment before has a sample that is not its own.
  const segmentOf = (sample: number): number => Math.min(firstAbove(bounds, sample) - 1, count - 1);
  return {pieces, parameters, starts, rowOf: row => row + segmentOf(Math.floor(row / width)) * width};
}

/** The first of ascending numbers that is above x; their number where none is. */
function firstAbove(ascending: readonly number[], x: number): number {
  const found = ascending.findIndex(value => value > x);
  return found < 0 ? ascending.length : found;
}

function requireLonger({name}: CheckedRecord, intervals: number, order: number): void {
  if (intervals >= order + 1 || order === 0) return;
  throw new OptionError(
    'bad-shooting',
    `identify: segments of ${name} have ${intervals.toPrecision(3)} samples, too few for noise of order ${order}: use `
      + 'fewer segments.',
    {record: name, order},
  );
}

/** Samples from one on, up to another, which is with them in the last segment alone. */
interface Samples {
  readonly from: number;
  readonly to: number;
  readonly last: boolean;
  readonly order: number;
}

/** A segment's part of a stretch, in its own rows, and the next one's first rows as far as they depend on it. */
function within(
  {group, rows}: WhitenedStretch,
  {from, to, last, order}: Samples,
  channels: readonly Channel[],
): Within[] {
  const width = channels.reduce((sum, {outputs}) => sum + outputs, 0);
  const sampleOf = (row: number): number => Math.floor(row / width);
  const own = rows.filter(row => sampleOf(row) >= from && (sampleOf(row) < to || (last && sampleOf(row) === to)));
  if (own.length === 0) return [];
  const ahead = last ? [] : rows.filter(row => sampleOf(row) >= to && sampleOf(row) < to + order);
  const before = sampleOf(rows[0]) < from ? order : 0;
  const local = (row: number): number => row - from * width;
  // The shared sample, of weight 0 here, has its rows between.
  return [
    {
      group,
      rows: [...own.map(local), ...ahead.map(row => local(row) + width)],
      whole: [...own.slice(before).map(local), ...ahead.map(row => local(row) + width)],
    },
  ];
}

/** What is the record's start is not the segment's. */
const withoutStart = (parameters: Parameters): Parameters =>
  Object.fromEntries(Object.entries(parameters).filter(([key]) => !key.startsWith('initial.')));

function sliced(record: CheckedRecord, from: number, to: number, last: boolean, name: string): CheckedRecord {
  const segment = slicedRecord(record, from, to + 1);
  if (!last) for (const {weights, outputs} of segment.channels) weights.fill(0, weights.length - outputs);
  return {...segment, name};
}

/** As measured; a velocity from the positions beside it, where those were; else from the simulation at the guess. */
function startOf({record, guess}: Whole, block: Block, sample: number): Float64Array {
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

/** Of the weighted measurements: what a wholly wrong segment costs a residual. */
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
