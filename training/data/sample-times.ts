/** The times of a record as a column has them, checked: ascending, without gaps, and in the unit that is meant. */
import {DataError} from '../../lib/errors.js';
import {numberText} from '../report/number-text.js';
import {oneOf, optional, positive, readOptions, type Options} from '../../lib/checks.js';

/** Seconds in a unit. */
const units = {ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400} as const;
/** Units of time. */
export type TimeUnit = keyof typeof units;
const unitCheck = oneOf(...(Object.keys(units) as TimeUnit[]));

/** How the units are written in names of columns, in lower case. The micro sign has two code points. */
const spellings: Readonly<Record<TimeUnit, RegExp>> = {
  ns: /^(?:ns|nsecs?|nanos|nanosec(?:ond)?s?)$/,
  us: /^(?:[uµμ]s|[uµμ]secs?|micros|microsec(?:ond)?s?)$/,
  ms: /^(?:ms|msecs?|millis|millisec(?:ond)?s?)$/,
  s: /^(?:s|secs?|seconds?)$/,
  min: /^(?:mins?|minutes?)$/,
  h: /^(?:h|hrs?|hours?)$/,
  d: /^(?:d|days?)$/,
};

/** Units of time that are not read, and never meant as seconds. */
const unread = /^(?:weeks?|months?|years?)$/;

const sampleTimesOptions = {
  /**
   * Unit of the column; the returned times are in seconds. Default: the unit at the end of the column's name
   * ('time_ms', 't [us]', 'time (hours)', 't/ms', 'timeMs', or 'ms' alone), in the usual spellings; without any,
   * seconds.
   */
  unit: optional(unitCheck),
  /** The sampling interval of the instrument, in s: the times are checked against it. */
  interval: optional(positive),
  /**
   * 'refuse' (default): an interval of more than 1.5 times the usual one is an error; 'allow': samples may be missing.
   */
  gaps: optional(oneOf('refuse', 'allow')),
};

/** Options of `samples.times`. @interface */
export type SampleTimesOptions = Options<typeof sampleTimesOptions>;

/** Half a sample more than usual is not jitter any more: a sample is missing. */
const gap = 1.5;

/** Another unit is meant where the interval is off by more than this; the units lie at least 24 apart. */
const unitFactor = 20;

/**
 * Times of a column in seconds, checked for their unit and for gaps.
 * @param times [samples]; `column` is their name, for the unit and for errors
 * @returns seconds, [samples]
 * @throws DataError 'time-order', 'time-gap', 'not-finite' with the row; 'time-unit' also where brackets or a slash end
 *   the name with what is no unit of time
 */
export function times(times: Float64Array, column: string, options: SampleTimesOptions = {}): Float64Array {
  const {interval, gaps, unit = unitOf(column)} = readOptions(options, sampleTimesOptions, 'samples.times');
  requireAscending(times, column);
  const seconds = times.map(time => time * units[unit]);
  if (seconds.length < 2) return seconds;
  const usual = medianInterval(seconds);
  if (interval !== undefined) requireInterval(usual, interval, unit, column);
  if (gaps !== 'allow') requireNoGaps(seconds, usual, column);
  return seconds;
}

function unitOf(column: string): TimeUnit {
  const name = column
    .replace(/\[\d+\]$/, '') // the index of a column of an array
    .replace(/(?<=[a-z]{2}|\bt)[A-Z]/g, '_$&') // 'timeMs', but not 'mS'
    .trim();
  const bracket = /[([]([^()[\]]*)[)\]]?$/.exec(name)?.[1];
  const word = /(?:^|[\s_/.,:-])([a-zµμ]+)\.?$/i.exec((bracket ?? name).trim())?.[1].toLowerCase();
  const unit = (Object.keys(spellings) as TimeUnit[]).find(one => word !== undefined && spellings[one].test(word));
  const slash = /\/\s*([^/]*)$/.exec(name)?.[1];
  // The text in the place of a unit; 'imu/time' and 'header/stamp' are paths to the times.
  const named = bracket ?? (/^(?:t$|t_|t\d|time|stamp|clock)/i.test(slash ?? 't') ? undefined : slash);
  const place = named ?? (word !== undefined && unread.test(word) ? word : undefined);
  // '(10 ms)' is a multiple.
  if (unit !== undefined && !/\d/.test(place ?? '')) return unit;
  if (place === undefined) return 's';
  const known = Object.keys(units).join(', ');
  throw new DataError(
    'time-unit',
    `Column '${column}': '${place}' is not a unit of time. Say which one is meant with unit: one of ${known}.`,
    {column, unit: place},
  );
}

function requireAscending(t: Float64Array, column: string): void {
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(t[i]))
      throw new DataError('not-finite', `Column '${column}': the time of row ${i + 1} is ${t[i]}.`, {
        column,
        row: i + 1,
      });
    if (i > 0 && !(t[i] > t[i - 1]))
      throw new DataError(
        'time-order',
        `Column '${column}': time does not increase in row ${i + 1}, from ${t[i - 1]} to ${t[i]}. Sort the rows, and `
          + 'remove repeated ones.',
        {column, row: i + 1},
      );
  }
}

function medianInterval(t: Float64Array): number {
  const intervals = Float64Array.from({length: t.length - 1}, (_, i) => t[i + 1] - t[i]).sort();
  return intervals[Math.floor(intervals.length / 2)];
}

function requireInterval(usual: number, wanted: number, unit: TimeUnit, column: string): void {
  const ratio = usual / wanted;
  if (ratio < unitFactor && ratio > 1 / unitFactor) return;
  const better = (Object.keys(units) as TimeUnit[]).find(
    other => Math.abs(Math.log(((usual / units[unit]) * units[other]) / wanted)) < Math.log(gap),
  );
  const advice =
    better === undefined
      ? 'No unit of time explains it: is it a column of times?'
      : `In '${better}' it would fit: give unit: '${better}'.`;
  throw new DataError(
    'time-unit',
    `Column '${column}', taken as times in ${unit}: samples come every ${numberText(usual)} s, but every `
      + `${numberText(wanted)} s were expected. ${advice}`,
    {column, unit, better},
  );
}

function requireNoGaps(t: Float64Array, usual: number, column: string): void {
  const at = t.findIndex((time, i) => i > 0 && time - t[i - 1] > gap * usual);
  if (at < 0) return;
  const missing = Math.round((t[at] - t[at - 1]) / usual) - 1;
  throw new DataError(
    'time-gap',
    `Column '${column}': ${missing === 1 ? 'a sample is' : `${missing} samples are`} missing before row ${at + 1}, `
      + `from ${numberText(t[at - 1], 7)} s to ${numberText(t[at], 7)} s; the usual interval is ${numberText(usual)} `
      + "s. If this is intended, give gaps: 'allow'; identify compares only what was measured, and signal interpolates "
      + 'across the gap.',
    {column, row: at + 1, missing},
  );
}
