/**
 * Where events cross zero within a step, on its dense output: by a change of sign between its ends, or,
 * where an event's function turns around inside (its derivatives at the ends point to and from zero), by
 * a change of sign at that extremum.
 */
import type {PlannedEvent} from './plan.js';
import type {Mover, Taken} from './mover.js';
import {root} from './root.js';

export interface Crossing {
  readonly event: number;
  /** Place in the step. */
  readonly theta: number;
  readonly rising: boolean;
  /** Derivative of the event's function by θ there. */
  readonly slope: number;
  /** Where the function has not crossed yet, and where it has. */
  readonly low: number;
  readonly high: number;
}

/** Where the derivatives at the ends do not show an extremum, one is looked for at this many places: a flight and a landing within one step. */
const samples = 16;

const accepts = ({direction}: PlannedEvent, rising: boolean): boolean => direction === 'both' || direction === (rising ? 'rising' : 'falling');

/** One event on the step that the mover has loaded. */
class Watched {
  constructor(private readonly mover: Mover, readonly event: number, private readonly tolerance: number) {}

  at(theta: number): {readonly g: number; readonly dg: number} {
    const {g, dg} = this.mover.watch(theta);
    return {g: g[this.event], dg: dg[this.event]};
  }

  private readonly value = (theta: number): number => this.at(theta).g;
  private readonly derivative = (theta: number): number => this.at(theta).dg;

  extremum(atStart: number, atEnd: number): number {
    return root(this.derivative, 0, atStart, 1, atEnd, this.tolerance);
  }

  /** A place before `high` where the function has the sign it starts with. */
  before(sign: number, high: number, atStart: number, atEnd: number): number | undefined {
    if (Math.sign(atStart) === sign && Math.sign(atEnd) === -sign) {
      const theta = this.extremum(atStart, atEnd);
      return Math.sign(this.value(theta)) === sign ? theta : undefined;
    }
    for (let i = 1; i < samples; i++) {
      const theta = (high * i) / samples;
      if (Math.sign(this.value(theta)) === sign) return theta;
    }
    return undefined;
  }

  crossing(low: number, high: number, rising: boolean): Crossing {
    const atLow = this.value(low);
    const atHigh = this.value(high);
    // An end that is the zero itself, or has lost its sign to rounding, is the place.
    const theta = atHigh === 0 || Math.sign(atLow) === Math.sign(atHigh) ? high : root(this.value, low, atLow, high, atHigh, this.tolerance);
    return {event: this.event, theta, rising, slope: this.derivative(theta), low, high};
  }
}

/**
 * The first crossing of each event within a step, in its direction, by place and then by number.
 * @param settled events that count as zero at the step's beginning: their sign is that of their derivative
 * @param tolerance of an event's time
 */
export function crossings(mover: Mover, events: readonly PlannedEvent[], step: Taken, settled: ReadonlySet<number>, tolerance: (event: number) => number): Crossing[] {
  mover.load(step);
  const copy = ({g, dg}: {readonly g: Float64Array; readonly dg: Float64Array}): {g: Float64Array; dg: Float64Array} => ({g: g.slice(), dg: dg.slice()});
  const start = copy(mover.watch(0));
  const end = copy(mover.watch(1));
  const found: Crossing[] = [];
  events.forEach((event, i) => {
    const watched = new Watched(mover, i, tolerance(i) / Math.abs(step.h));
    const crossing = firstCrossing(event, watched, {g: start.g[i], dg: start.dg[i]}, {g: end.g[i], dg: end.dg[i]}, settled.has(i) || start.g[i] === 0);
    if (crossing !== undefined) found.push(crossing);
  });
  return found.sort((a, b) => a.theta - b.theta || a.event - b.event);
}

interface Value {
  readonly g: number;
  readonly dg: number;
}

function firstCrossing(event: PlannedEvent, watched: Watched, start: Value, end: Value, settled: boolean): Crossing | undefined {
  const sign = settled ? Math.sign(start.dg) || Math.sign(end.g) : Math.sign(start.g);
  const rising = sign < 0;
  if (Math.sign(end.g) !== sign) {
    if (!accepts(event, rising)) return undefined;
    const low = settled ? watched.before(sign, 1, start.dg, end.dg) : 0;
    // From zero to the other side at once: there is nothing between.
    return low === undefined ? {event: watched.event, theta: 0, rising, slope: start.dg, low: 0, high: 0} : watched.crossing(low, 1, rising);
  }
  // Out and back: towards zero at the beginning, away from it at the end.
  if (settled || Math.sign(start.dg) !== -sign || Math.sign(end.dg) !== sign) return undefined;
  const turn = watched.extremum(start.dg, end.dg);
  if (Math.sign(watched.at(turn).g) === sign) return undefined;
  return accepts(event, rising) ? watched.crossing(0, turn, rising) : watched.crossing(turn, 1, !rising);
}
