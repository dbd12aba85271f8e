/**
 * Crossings of borders that move with t and parameters alone, found before the steps that end there. A border that is a
 * line in t is solved outright. Others are looked at along the whole run, in cells of an equal length: a cell is
 * divided as a step is (watch.ts), so that crossings closer than the cell are found where the function's bends show
 * them.
 */
import type {SwitchEvent} from '../../system/switches.js';
import type {ModeReader, Modes} from './modes.js';
import {minStep} from './step-size-controller.js';
import {crossings, type EventView} from './watch.js';

/** A line in t crosses zero. */
export interface LineCrossing {
  readonly event: number;
  readonly rising: boolean;
}

/** The crossing that comes next, and the event of its border where that is a line in t. */
interface NextCrossing {
  readonly at: number;
  readonly line?: LineCrossing;
}

const never: NextCrossing = {at: Infinity};

/** Cells of a run: what lies between two of them is divided 2⁷ times where it bends, to a 32,768th of the run. */
const cells = 256;

export class SwitchTimes {
  /** Numbers of the events whose borders are lines in t, and of others. */
  private readonly lines: readonly number[];
  private readonly curves: readonly number[];
  /** The crossing that comes next while these modes are held. */
  private known: {readonly after: number; readonly next: NextCrossing; readonly modes: Float64Array} | undefined;
  private readonly own: readonly number[];
  private readonly width: number;

  /**
   * @param first the number of the first border among the events
   * @param start by the clock
   * @param end of the run; undefined where a number of steps ends it
   */
  constructor(
    private readonly modes: Modes,
    private readonly reader: ModeReader,
    private readonly switches: readonly SwitchEvent[],
    private readonly first: number,
    private readonly start: number,
    private readonly end: number | undefined,
  ) {
    const timed = [...switches.keys()].filter(i => !switches[i].course.state);
    this.own = [...new Set(timed.map(i => switches[i].mode))];
    this.lines = timed.filter(i => switches[i].course.line);
    this.curves = timed.filter(i => !switches[i].course.line);
    this.width = end === undefined ? Infinity : (end - start) / cells;
  }

  /**
   * The first crossing after t, if one is known.
   * @param length of steps, which are looked at as they are where they are shorter than a cell
   */
  next(t: number, length: number): number {
    const {known, own} = this;
    if (own.length === 0) return Infinity;
    const present = this.modes.values;
    if (known !== undefined && t >= known.after && t + minStep(t) < known.next.at)
      if (own.every((mode, i) => present[mode] === known.modes[i])) return known.next.at;
    let next = this.nextOfLines(t);
    if (this.curves.length > 0) {
      const at = this.nextOfCurves(t, next.at, length);
      if (at < next.at) next = {at};
    }
    this.known = {after: t, next, modes: Float64Array.from(own, mode => present[mode])};
    return next.at;
  }

  /** The line that crosses zero at t, if that is the crossing that `next` has found. */
  lineAt(t: number): LineCrossing | undefined {
    const next = this.known?.next;
    return next !== undefined && Math.abs(t - next.at) <= minStep(t) ? next.line : undefined;
  }

  private nextOfLines(t: number): NextCrossing {
    const {reader, lines, first} = this;
    if (lines.length === 0) return never;
    const {e, rates} = reader.events(reader.state, t);
    let [next, event] = [Infinity, -1];
    for (const i of lines) {
      const [value, rate] = [e[first + i], rates[first + i]];
      if (!(value * rate < 0) || !this.modes.isActive(first + i, rate > 0)) continue;
      const at = t - value / rate;
      if (at > t + minStep(t) && at < next) [next, event] = [at, first + i];
    }
    if (event < 0) return never;
    return {at: this.corrected(event, next), line: {event, rising: rates[event] > 0}};
  }

  /** A zero, less the rounding of its way there. */
  private corrected(event: number, at: number): number {
    const {reader} = this;
    const {e, rates} = reader.events(reader.state, at);
    const better = at - e[event] / rates[event];
    return Math.abs(better - at) <= Math.sqrt(Number.EPSILON) * Math.max(Math.abs(at), this.length) ? better : at;
  }

  private get length(): number {
    return Number.isFinite(this.width) ? this.width : 0;
  }

  private nextOfCurves(t: number, before: number, length: number): number {
    const {start, end, width} = this;
    if (end === undefined || length <= width) return before;
    const until = Math.min(before, end);
    for (let from = t; from + minStep(from) < until;) {
      const cell = start + width * (Math.floor((from - start) / width + 1e-9) + 1);
      const to = Math.min(cell, until);
      const found = this.firstIn(from, to);
      if (found !== undefined) return found;
      from = to;
    }
    return before;
  }

  private firstIn(from: number, to: number): number | undefined {
    const {curves, first, modes, switches} = this;
    const present = modes.values;
    const sides = Int8Array.from(curves, i => {
      const {mode, change} = switches[i];
      return change === 'side' ? (present[mode] > 0 ? 1 : -1) : change === 'falls' ? 1 : -1;
    });
    const events = curves.map(() => ({direction: 'both', then: 'switch'}) as const);
    const step = {t: from, h: to - from};
    const rounding = minStep(Math.max(Math.abs(from), Math.abs(to)));
    const {found} = crossings(this.view(step), events, step, new Set(), sides, () => rounding / 8, rounding);
    const crossing = found.find(({event, rising}) => modes.isActive(first + curves[event], rising));
    if (crossing === undefined) return undefined;
    const at = from + crossing.theta * (to - from);
    return at > from + minStep(from) ? this.corrected(first + curves[crossing.event], at) : from + minStep(from);
  }

  /** The borders that are no lines, along a stretch of time. */
  private view({t, h}: {readonly t: number; readonly h: number}): EventView {
    const {curves, first, reader} = this;
    const looked = new Map<number, {readonly g: Float64Array; readonly dg: Float64Array}>();
    return {
      eventsOnDense(theta) {
        let here = looked.get(theta);
        if (here === undefined) {
          const {e, rates} = reader.events(reader.state, t + theta * h);
          here = {
            g: Float64Array.from(curves, i => e[first + i]),
            dg: Float64Array.from(curves, i => h * rates[first + i]),
          };
          looked.set(theta, here);
        }
        return here;
      },
    };
  }
}
