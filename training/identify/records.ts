/** Measured records as `identify` takes them: checked once, with what is compared and how it is weighed. */
import type {Inputs, Numeric, System} from '../../lib/index.js';
import {type NumericValue, readNumeric} from '../../lib/internal.js';
import {DataError, OptionError, ShapeError} from '../../lib/index.js';
import type {OptionSchema} from '../../lib/checks.js';
import {
  any,
  finite,
  input as isInput,
  object,
  oneOf,
  refuseUnknownOptions,
  requireValue,
  text,
} from '../../lib/checks.js';
import type {Parameters} from './parameters.js';

/** An initial state; parameters named initial.q, initial.v or initial.y may define parts of it. */
export interface Start {
  readonly q?: Numeric;
  readonly v?: Numeric;
  readonly y?: Numeric;
  /** Default: the time of the first sample. It may be earlier. */
  readonly t?: number;
}

/** A start with hidden states by name; default: the system's initial values. */
export type StartWithStates = Start & {readonly [state: string]: Numeric | undefined};

/** A block of a start. */
export const givenBlock = (start: Start | StartWithStates | undefined, block: string): Numeric | undefined =>
  (start as {readonly [name: string]: Numeric | undefined} | undefined)?.[block];

/** The blocks of a system's state: y, or q, v and the hidden states. */
export const stateNames = (system: System): readonly string[] =>
  system.kind === 'ode' ? ['y'] : ['q', 'v', ...Object.keys(system.states ?? {})];

/** Default start of a hidden state. */
export const startOfState = (system: System, block: string): Numeric | undefined =>
  system.kind === 'mechanics' && system.states !== undefined && Object.hasOwn(system.states, block)
    ? (system.states as {readonly [name: string]: {readonly initial: Numeric}})[block].initial
    : undefined;

/** The measurements of one experiment. */
export interface MeasuredRecord {
  /** [samples], increasing: times of the measurements, on the grid of dt from the initial time. */
  readonly t: Numeric;
  /** Measured series, at least one of them: [samples, ...shape of a sample] each. */
  readonly q?: Numeric;
  readonly v?: Numeric;
  /** An ode's state; or, with `observe`, its values. */
  readonly y?: Numeric;
  /**
   * Inverse standard deviations: one number, one per output, one per sample or one per measurement; by series,
   * or the same for all. Zero excludes a measurement. If a list could be one per output and one per sample, because
   * there are as many of each, give its shape: [1, outputs] or [samples, 1]. Default 1.
   */
  readonly weights?: Numeric | {readonly q?: Numeric; readonly v?: Numeric; readonly y?: Numeric};
  /** A measurement that is NaN: 'refuse' (default) is an error; 'skip' gives it weight 0. */
  readonly missing?: 'refuse' | 'skip';
  /** Inputs of this record, in addition to or in place of the problem's. */
  readonly inputs?: Inputs;
  /**
   * Parameters of this record only, in addition to or in place of the problem's: its initial state ('initial.q'), its
   * load.
   */
  readonly parameters?: Parameters;
  /** The record's own initial state, or parts of it, in place of the problem's. */
  readonly initial?: Start | StartWithStates;
  /** For errors, the report and the names of the results; default 'record 1', 'record 2', … */
  readonly name?: string;
}

export type RecordSeriesName = 'q' | 'v' | 'y';

/** One measured series of a record, and the simulated series it is compared with. */
export interface Channel {
  readonly name: RecordSeriesName;
  readonly simulated: RecordSeriesName | 'observed';
  /** The shape of one sample as far as it was given: a flat array of several samples leaves it open. */
  readonly shape: readonly number[];
  /** Numbers a sample. */
  readonly outputs: number;
  /** [samples · outputs] */
  readonly measured: Float64Array;
  readonly weights: Float64Array;
}

export interface CheckedRecord {
  readonly name: string;
  /** For a segment: the record that it is cut from, to which its parameters belong except its start. */
  readonly owner?: string;
  readonly t: Float64Array;
  readonly channels: readonly Channel[];
  readonly inputs: Inputs;
  readonly parameters: Parameters;
  readonly initial?: Start | StartWithStates;
}

/** Numbers of a sample of all channels: a record's rows are its samples' numbers, channel after channel. */
export const widthOf = (channels: readonly Channel[]): number => channels.reduce((sum, {outputs}) => sum + outputs, 0);

/** Calls back with each channel, and with the record's row of each of its numbers. */
export function eachChannel(
  channels: readonly Channel[],
  tell: (channel: Channel, rowOf: (i: number) => number) => void,
): void {
  const width = widthOf(channels);
  let offset = 0;
  for (const channel of channels) {
    const {outputs} = channel;
    const first = offset;
    tell(channel, i => Math.floor(i / outputs) * width + first + (i % outputs));
    offset += outputs;
  }
}

/** Samples from … to − 1 of a record. */
export function slicedRecord(record: CheckedRecord, from: number, to: number): CheckedRecord {
  const channels = record.channels.map((channel): Channel => {
    const part = (values: Float64Array): Float64Array => values.slice(from * channel.outputs, to * channel.outputs);
    return {...channel, measured: part(channel.measured), weights: part(channel.weights)};
  });
  return {...record, t: record.t.slice(from, to), channels};
}

export const seriesNames = ['q', 'v', 'y'] as const;
const recordChecks: OptionSchema = {
  t: any,
  q: any,
  v: any,
  y: any,
  weights: any,
  missing: oneOf('refuse', 'skip'),
  inputs: object,
  parameters: object,
  initial: object,
  name: text,
};

/**
 * @param compared the simulated series that q, v and y stand for; absent: the system has none
 * @param bare whether it may come without measurements, as a record to be simulated
 * @throws DataError, ShapeError, OptionError naming record, series and sample
 */
export function checkRecord(
  record: MeasuredRecord,
  index: number,
  compared: {readonly [series in RecordSeriesName]?: Channel['simulated']},
  bare = false,
  system?: System,
): CheckedRecord {
  const name =
    typeof (record as MeasuredRecord | null)?.name === 'string' && record.name !== undefined
      ? record.name
      : `record ${index + 1}`;
  refuseUnknownOptions(record, recordChecks, name);
  refuseUnknownOptions(record.initial ?? {}, startChecks(system), `${name}: initial`, 'bad-initial');
  if (record.t === undefined)
    throw new OptionError('missing-option', `${name} needs t, the times of its samples.`, {record: name, option: 't'});
  const t = readTimes(record.t, name);
  const channels = seriesNames.flatMap(series => {
    if (record[series] === undefined) return [];
    const simulated = compared[series];
    if (simulated === undefined) throw notSimulated(series, name, Object.keys(compared));
    return [readChannel(record, series, simulated, t.length, name)];
  });
  if (channels.length === 0 && !bare)
    throw new OptionError(
      'no-data',
      `${name} has nothing to compare with: give ${Object.keys(compared).join(' or ')} in addition to t.`,
      {record: name},
    );
  for (const [input, one] of Object.entries(record.inputs ?? {}))
    requireValue(one, isInput, `${name}: inputs.${input}`, 'not-a-signal');
  return {name, t, channels, inputs: record.inputs ?? {}, parameters: record.parameters ?? {}, initial: record.initial};
}

/** A start by its blocks, of which parameters may give some. */
export const startChecks = (system?: System): OptionSchema => ({
  q: any,
  v: any,
  y: any,
  t: finite,
  ...(system === undefined ? {} : Object.fromEntries(stateNames(system).map(name => [name, any]))),
});

function notSimulated(series: RecordSeriesName, record: string, has: readonly string[]): OptionError {
  const remedy =
    series === 'y'
      ? 'To compare something other than the state, define it by `observe`.'
      : 'For other quantities use `observe` and y.';
  return new OptionError(
    'no-series',
    `${record} has ${series}, but the system's state is ${has.join(' and ')}. ${remedy}`,
    {record, series},
  );
}

function readTimes(given: Numeric, record: string): Float64Array {
  const {values: t, shape} = readNumeric(given, `${record}: t`);
  if (shape.length > 1)
    throw new ShapeError(
      'time-shape',
      `${record}: t has shape [${shape.join(', ')}]; it must have one number per sample, [samples].`,
      {record},
    );
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(t[i]))
      throw new DataError('not-finite', `${record}: t[${i}] is ${t[i]}.`, {record, series: 't', index: i});
    if (i > 0 && !(t[i] > t[i - 1]))
      throw new DataError(
        'time-order',
        `${record}: times must increase, but t[${i}] = ${t[i]} follows ${t[i - 1]}. Sort the record, and remove `
          + 'repeated samples.',
        {record, series: 't', index: i},
      );
  }
  if (t.length === 0) throw new DataError('too-short', `${record} has no samples.`, {record});
  return t;
}

function readChannel(
  record: MeasuredRecord,
  series: RecordSeriesName,
  simulated: Channel['simulated'],
  samples: number,
  name: string,
): Channel {
  const {values, shape} = readNumeric(record[series] as Numeric, `${name}: ${series}`);
  const flat = shape.length <= 1;
  if (values.length === 0 || values.length % samples !== 0 || (!flat && shape[0] !== samples)) {
    throw new ShapeError(
      'data-shape',
      `${name}: ${series} has shape [${shape.join(', ')}] for ${samples} times; it needs the shape [${samples}, ...], `
        + 'one sample per row.',
      {record: name, series, shape: [...shape]},
    );
  }
  const outputs = values.length / samples;
  const missing = record.missing === 'skip' ? Array.from(values.keys()).filter(i => Number.isNaN(values[i])) : [];
  for (const i of missing) values[i] = 0; // any finite number: its weight is 0
  const bad = values.findIndex(value => !Number.isFinite(value));
  if (bad >= 0) {
    throw new DataError(
      'not-finite',
      `${name}: ${series} is ${values[bad]} in sample ${Math.floor(bad / outputs)}. Remove the sample, or `
        + `${record.missing === 'skip' ? 'make it NaN, which is what' : 'leave it out as NaN with'} missing: `
        + `'skip'${record.missing === 'skip' ? ' leaves out' : ''}.`,
      {record: name, series, index: Math.floor(bad / outputs)},
    );
  }
  const own = flat ? (outputs === 1 ? [] : [outputs]) : shape.slice(1);
  const weights = readWeights(record.weights, series, samples, outputs, name);
  for (const i of missing) weights[i] = 0;
  return {name: series, simulated, shape: own, outputs, measured: values, weights};
}

function readWeights(
  weights: MeasuredRecord['weights'],
  series: RecordSeriesName,
  samples: number,
  outputs: number,
  record: string,
): Float64Array {
  const byName = isByName(weights);
  if (byName) refuseUnknownOptions(weights, seriesNames, `${record}: weights`);
  const {values, shape} = readNumeric((byName ? weights[series] : weights) ?? 1, `${record}: weights`);
  const bad = values.findIndex(value => !(value >= 0 && value < Infinity));
  if (bad >= 0)
    throw new DataError(
      'bad-weight',
      `${record}: weight ${bad} of ${series} is ${values[bad]}: weights must be finite and not negative.`,
      {record, series, index: bad},
    );
  const total = samples * outputs;
  if (shape.length === 1 && values.length > 1 && values.length === outputs && outputs === samples)
    throw new ShapeError(
      'weights-shape',
      `${record}: ${values.length} weights for ${series} of ${samples} samples and ${outputs} outputs may be one per `
        + `output or one per sample: give them with the shape [1, ${outputs}] for outputs, or [${samples}, 1] for `
        + 'samples.',
      {record, series, shape: [...shape]},
    );
  const spread = spreadWeights({values, shape}, samples, outputs);
  if (spread === undefined) {
    throw new ShapeError(
      'weights-shape',
      `${record}: weights of shape [${shape.join(', ')}] for ${series}; give one, ${outputs} (one per output), `
        + `${samples} (one per sample) or ${total} (one per measurement).`,
      {record, series, shape: [...shape]},
    );
  }
  return spread;
}

/** One weight a measurement, from what was given; undefined where its shape means nothing. */
function spreadWeights(
  {values, shape}: Pick<NumericValue, 'values' | 'shape'>,
  samples: number,
  outputs: number,
): Float64Array | undefined {
  const total = samples * outputs;
  const each = (of: (i: number) => number): Float64Array => Float64Array.from({length: total}, (_, i) => values[of(i)]);
  if (values.length === 1) return each(() => 0);
  if (shape.length > 1 && shape[0] === samples)
    return values.length === total
      ? values
      : values.length === samples
        ? each(i => Math.floor(i / outputs))
        : undefined;
  if (values.length === outputs) return each(i => i % outputs);
  if (shape.length > 1) return undefined;
  if (values.length === samples) return each(i => Math.floor(i / outputs));
  return values.length === total ? values : undefined;
}

/** Whether numbers are given by the names of what they belong to. */
export const isByName = (given: unknown): given is {readonly [name: string]: Numeric | undefined} =>
  typeof given === 'object'
  && given !== null
  && !Array.isArray(given)
  && !ArrayBuffer.isView(given)
  && !('dataSync' in given);
