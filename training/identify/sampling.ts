/**
 * Measured times against the grid t₀ + n·dt of a simulation. They have to meet it, unless the simulation is to be
 * read between its steps; where they do not, the error says why and which dt would do.
 */
import {DataError, OptionError} from '../../lib/index.js';

/** Treatment of times between the steps: an error, or the simulated state there by the scheme's dense output. */
export type OffGrid = 'refuse' | 'interpolate';

/** `simulate` meets a time within this share of a step. */
const gridSlack = 1e-6;

/** A common step shorter than this part of the wanted dt is rather the rounding of the times. */
const leastShare = 1 / 50;

/** Samples whose clock is even, but for this part of an interval, are called evenly spaced. */
const evenness = 0.05;

/**
 * @param t ascending; the last one is always met, the last step is shortened for it
 * @param offGrid whether times between the steps are refused
 * @throws OptionError 'off-grid' with the dt to choose; DataError where the record begins before its start or ends at
 *   it
 */
export function requireGrid(
  t: Float64Array,
  start: number,
  dt: number,
  record: string,
  offGrid: OffGrid = 'refuse',
): void {
  const last = t[t.length - 1];
  if (t[0] < start)
    throw new DataError(
      'before-start',
      `${record}: its first sample is at ${t[0]}, before the start of the simulation at ${start}. Omit t from the `
        + 'initial state to start at the first sample.',
      {record, index: 0, t: start},
    );
  if (!(last > start))
    throw new DataError(
      'too-short',
      `${record} has one sample, which is the start itself: nothing is left to simulate.`,
      {record},
    );
  if (!(dt > 0)) return; // simulate's own error says it
  const rounding = 4 * Number.EPSILON * Math.max(Math.abs(start), Math.abs(last));
  if (rounding > gridSlack * dt) {
    throw new OptionError(
      'off-grid',
      `${record}: its times, up to ${last}, are so large that double precision resolves only ${shortText(rounding)}, `
        + `too coarse for steps of ${dt}. Count time from the start of the record.`,
      {record, dt},
    );
  }
  if (offGrid === 'interpolate') return;
  const off = t.findIndex(
    (time, i) => i < t.length - 1 && Math.abs(start + Math.round((time - start) / dt) * dt - time) > gridSlack * dt,
  );
  if (off < 0) return;
  const suggestion = commonStep(t, start, dt);
  throw new OptionError(
    'off-grid',
    `${record}: t[${off}] = ${t[off]} is not on the grid ${start} + n·${dt} of the simulation. `
      + `${remedy(t, dt, suggestion)}`,
    {record, index: off, dt, suggestion},
  );
}

/** So many steps between two samples are hardly ever meant: thousands are what milliseconds against seconds make. */
export const stepsASample = 500;

/** So many steps altogether would run for minutes an iteration. */
export const mostSteps = 1e7;

/** Steps from one sample to the next, on the average. */
export function stepsEach(t: Float64Array, start: number, dt: number): number {
  return (t[t.length - 1] - start) / dt / Math.max(1, t.length - 1);
}

/** @throws OptionError 'too-many-steps' where the times' unit is most likely not that of dt */
export function requireFewSteps(t: Float64Array, start: number, dt: number, record: string): void {
  const steps = (t[t.length - 1] - start) / dt;
  const each = stepsEach(t, start, dt);
  if (!(dt > 0 && steps >= mostSteps && each >= stepsASample)) return;
  throw new OptionError(
    'too-many-steps',
    `${record} has ${steps.toPrecision(2)} steps of dt = ${dt}, ${Math.round(each)} from one sample to the next: are `
      + `its times in the same unit as dt? samples.times(t, 'time_ms') gives seconds. If this is intended, add samples `
      + 'of weight 0 in between.',
    {record, dt, steps},
  );
}

/** The largest step up to dt that divides all times; undefined where there is none, or a very short one. */
export function commonStep(t: Float64Array, start: number, dt: number): number | undefined {
  const tolerance = leastShare * dt;
  let common = 0;
  let from = start;
  for (const time of t) {
    common = commonDivisor(common, time - from, tolerance);
    from = time;
  }
  // The divisor gathers the rounding of many differences; the whole length in whole steps is known better.
  const length = t[t.length - 1] - start;
  const exact = length / Math.round(length / common);
  const step = exact / Math.ceil(exact / dt - gridSlack);
  return t.every(time => Math.abs(start + Math.round((time - start) / step) * step - time) <= gridSlack * step)
    ? step
    : undefined;
}

/** Euclid's algorithm with remainders up to the tolerance taken for zero. */
function commonDivisor(a: number, b: number, tolerance: number): number {
  while (b > tolerance) [a, b] = [b, Math.min(a % b, b - (a % b))];
  return a;
}

function remedy(t: Float64Array, dt: number, suggestion: number | undefined): string {
  if (suggestion !== undefined)
    return (
      `dt = ${shortText(suggestion)} would meet all its times. Or use offGrid: 'interpolate', which reads the `
      + 'simulation between its steps.'
    );
  const mean = (t[t.length - 1] - t[0]) / (t.length - 1);
  // The clock that dt belongs to, where it explains the times; else the one they show.
  for (const spacing of [dt * Math.max(1, Math.round(mean / dt)), mean]) {
    const deviation = t.reduce((worst, time, i) => Math.max(worst, Math.abs(time - (t[0] + i * spacing))), 0);
    if (deviation > evenness * spacing) continue;
    const step = spacing / Math.ceil(spacing / dt - gridSlack);
    return (
      `Its samples are evenly spaced except for ${deviation.toPrecision(2)} (rounded when they were written?): give t `
      + `as ${t[0]} + i·${shortText(spacing)}${step === dt ? '' : `, and dt = ${shortText(step)}`}.`
    );
  }
  return (
    "Its times have no common step that is not far shorter. Use offGrid: 'interpolate', which reads the simulation "
    + 'between its steps, with the order of the scheme.'
  );
}

/** Digits enough to be used, without the noise of the last ones. */
function shortText(value: number): string {
  return String(Number(value.toPrecision(12)));
}
