/**
 * How far a record goes beyond those that a model learnt from: the range of states, outputs and inputs, and the
 * frequencies of the inputs. An error there says how well the model extrapolates, not how well it fits.
 */
import {listed} from '../../lib/text.js';
import {numberText} from '../report/number-text.js';
import {spectrumOf} from './spectrum.js';

/** Series side by side. */
export interface LabelledSeries {
  readonly labels: readonly string[];
  /** [samples, labels], row-major; NaN where there is none. */
  readonly values: Float64Array;
}

/** What a record, or a part of it, visits. */
export interface Visit {
  /** States and outputs. */
  readonly series: readonly LabelledSeries[];
  /** Inputs by label over the time of the record, sampled at an interval. */
  readonly inputs: {readonly [label: string]: (interval: number) => Float64Array};
  /** The mean interval of its samples. */
  readonly interval: number;
}

/** What the training records visit. */
export interface Domain {
  readonly ranges: ReadonlyMap<string, readonly [low: number, high: number]>;
  readonly visits: readonly Pick<Visit, 'inputs' | 'interval'>[];
}

/** How far a record goes beyond the training records. */
export interface Extrapolation {
  /** By series and input: how far its values go beyond the range of the training records, as a part of that range. */
  readonly range: {readonly [series: string]: number};
  /** By input: the part of its power at frequencies at which the training inputs have less than a hundredth of it. */
  readonly spectrum: {readonly [input: string]: number};
  readonly warnings: readonly string[];
}

/**
 * A warning begins here, as a part of the training range. Parts of 4,096 samples of one experiment (multisines of
 * Bouc–Wen, Silverbox and F-16) exceed each other's range by a median of 1 to 8 %; by more than a fifth in 3 of 226
 * pairs, by more than a tenth in one of four. What the benchmarks extrapolate exceeds it by 20 to 100 %: the halves of
 * the tanks, the two records of the drives, the Silverbox's arrow, the F-16's level 5 from level 3.
 */
const BEYOND = 0.2;

/** A tenth of the amplitude: what a nonlinear model does to so weak a part is no more than linear. */
const ABSENT = 0.01;

/** A warning begins at this part of an input's power. Parts of the records named above have less than 0.1 %. */
const FOREIGN = 0.1;

/** Bands of a third of an octave (IEC 61260): narrower ones would count the gaps between the lines of a multisine. */
const BANDS = 3;

/** Welch's segments in the shorter record; with those that overlap seven, so that noise leaves no band empty. */
const SEGMENTS = 4;

/** The shortest segment with three octaves. */
const SHORTEST = 16;

/** An excess below this part of a state's largest number is rounding. */
const ROUNDING = 1e-9;

/**
 * Calls back with each series of a record, inputs included: its values without those that are NaN, and the largest
 * absolute number of it and of those beside it.
 */
function eachSeries(
  {series, inputs, interval}: Visit,
  tell: (label: string, each: (see: (value: number) => void) => void, largest: number) => void,
): void {
  const all = [
    ...series,
    ...Object.entries(inputs).map(([name, at]): LabelledSeries => ({labels: [name], values: at(interval)})),
  ];
  for (const {labels, values} of all) {
    const largest = values.reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0);
    labels.forEach((label, k) =>
      tell(
        label,
        see => {
          for (let i = k; i < values.length; i += labels.length) if (!Number.isNaN(values[i])) see(values[i]);
        },
        largest,
      ),
    );
  }
}

/** @param visits of the training records */
export function domainOf(visits: readonly Visit[]): Domain {
  const ranges = new Map<string, readonly [number, number]>();
  for (const visit of visits)
    eachSeries(visit, (label, each) => {
      let [low, high] = ranges.get(label) ?? [Infinity, -Infinity];
      each(value => {
        low = Math.min(low, value);
        high = Math.max(high, value);
      });
      ranges.set(label, [low, high]);
    });
  return {ranges, visits: visits.map(({inputs, interval}) => ({inputs, interval}))};
}

/** @param name of the record, for the warnings */
export function extrapolation({ranges, visits}: Domain, visit: Visit, name: string): Extrapolation {
  const range: {[label: string]: number} = {};
  const far: string[] = [];
  eachSeries(visit, (label, each, largest) => {
    const [low, high] = ranges.get(label) ?? [Infinity, -Infinity];
    let [least, most, outside, samples] = [Infinity, -Infinity, 0, 0];
    each(value => {
      least = Math.min(least, value);
      most = Math.max(most, value);
      if (value < low || value > high) outside++;
      samples++;
    });
    if (!(high >= low) || samples === 0) return;
    const excess = Math.max(0, low - least, most - high);
    range[label] = excess > ROUNDING * largest ? excess / (high - low) : 0;
    if (range[label] > BEYOND)
      far.push(
        `${label} from ${numberText(least, 3)} to ${numberText(most, 3)} in place of ${numberText(low, 3)} to `
          + `${numberText(high, 3)} (${percent(outside / samples)} of its samples are outside)`,
      );
  });
  const warnings =
    far.length === 0
      ? []
      : [`${name} goes beyond the training records: ${listed(far, 3)}. There the model extrapolates.`];
  const spectrum: {[label: string]: number} = {};
  for (const [label, at] of Object.entries(visit.inputs)) {
    const foreign = foreignPower(
      visits.flatMap(({inputs, interval}) => (Object.hasOwn(inputs, label) ? [{at: inputs[label], interval}] : [])),
      {at, interval: visit.interval},
    );
    if (foreign === undefined) continue;
    spectrum[label] = foreign.share;
    if (foreign.share <= FOREIGN) continue;
    const [from, to] = foreign.frequencies.map(frequency => numberText(frequency, 2));
    warnings.push(
      `${name}: ${percent(foreign.share)} of the power of ${label} is at frequencies of ${from} to ${to} per unit of `
        + 'time at which the training records have less than a hundredth of it. There the model extrapolates.',
    );
  }
  return {range, spectrum, warnings};
}

const percent = (share: number): string => `${numberText(100 * share, 2)} %`;

interface SampledInput {
  readonly at: Visit['inputs'][string];
  readonly interval: number;
}

/**
 * The part of an input's power in bands that the training inputs hardly have, and from where to where these are. A
 * record that is stronger at all frequencies is scaled to the training records: the range tells of that.
 * @returns undefined where a record is too short for a spectrum, or an input does not change
 */
function foreignPower(
  training: readonly SampledInput[],
  record: SampledInput,
): {readonly share: number; readonly frequencies: readonly [number, number]} | undefined {
  const interval = Math.min(record.interval, ...training.map(one => one.interval));
  const known = training.map(({at}) => at(interval));
  const values = record.at(interval);
  const length = Math.min(values.length, Math.max(...known.map(one => one.length)));
  const segment = 2 ** Math.floor(Math.log2(length / SEGMENTS));
  if (!(segment >= SHORTEST)) return undefined;
  const {spacing, power} = spectrumOf(values, interval, segment);
  const bandOf = (k: number): number => Math.round(BANDS * Math.log2(k + 1));
  const inBands = (of: Float64Array): Float64Array => {
    const bands = new Float64Array(bandOf(power.length - 1) + 1);
    of.forEach((value, k) => (bands[bandOf(k)] += value));
    return bands;
  };
  const long = known.filter(one => one.length >= segment);
  const samples = long.reduce((sum, one) => sum + one.length, 0);
  const trained = new Float64Array(power.length);
  for (const one of long)
    spectrumOf(one, interval, segment).power.forEach((value, k) => (trained[k] += (value * one.length) / samples));
  const total = (of: Float64Array): number => of.reduce((sum, value) => sum + value, 0);
  const all = total(power);
  if (!(all > 0 && total(trained) > 0)) return undefined;
  const least = ABSENT * Math.min(1, total(trained) / all);
  const [mine, theirs] = [inBands(power), inBands(trained)];
  const absent = (k: number): boolean => theirs[bandOf(k)] < least * mine[bandOf(k)];
  const foreign = Array.from(power.keys()).filter(absent);
  return {
    share: foreign.reduce((sum, k) => sum + power[k], 0) / all,
    // Between 5 and 95 % of that power: bands that hardly have any do not say where it is.
    frequencies: [0, 1].map(end => spacing * (placeOf(foreign, power, end === 0 ? 0.05 : 0.95) + 1)) as [
      number,
      number,
    ],
  };
}

/** The place among these at which a part of their power is reached. */
function placeOf(places: readonly number[], power: Float64Array, part: number): number {
  let left = part * places.reduce((sum, k) => sum + power[k], 0);
  return places.find(k => (left -= power[k]) <= 0) ?? 0;
}

/** A table over time, as a signal has it. */
export interface TimeTable {
  readonly t: Float64Array;
  /** [samples, columns], row-major. */
  readonly values: Float64Array;
  /** Whether each sample holds until the next; otherwise lines join them. */
  readonly hold: boolean;
}

/** One column of a table at from, from + interval, … to. */
export function sampledColumn(
  {t, values, hold}: TimeTable,
  column: number,
  [from, to]: readonly [number, number],
  interval: number,
): Float64Array {
  const columns = values.length / t.length;
  const at = (k: number): number => values[k * columns + column];
  let k = 0;
  return Float64Array.from({length: Math.round((to - from) / interval) + 1}, (_, i) => {
    const time = from + i * interval;
    while (k < t.length - 2 && t[k + 1] <= time) k++;
    if (t.length === 1 || time <= t[0]) return at(0);
    const share = Math.min(1, (time - t[k]) / (t[k + 1] - t[k]));
    return hold ? at(share < 1 ? k : k + 1) : at(k) + share * (at(k + 1) - at(k));
  });
}
