/** Propagates tangents along a run, transition by transition, and stores those of the saved states. */
import type {StepContext} from '../step/context.js';
import {toUserTimes} from '../step/time-direction.js';
import type {Directions} from './directions.js';
import type {StepRecord} from './record.js';
import type {SavedStates, VisitTransition} from './step-history.js';
import {SavedCursor} from './step-history.js';
import {heldTangents, negated, StepTangents} from './step-tangents.js';
import {startTangent, stepPush} from './tangent.js';

/** A saved state inside a transition. */
export interface Inside {
  /** Among the saved states. */
  readonly index: number;
  readonly theta: number;
}

/** Takes tangents [count, state] through one transition after another. */
export interface TransitionPush {
  /**
   * Those of the beginning of transition n become those of its end; see `VisitTransition`.
   * @param keep is given those of the saved states inside it
   */
  push(
    n: number,
    record: StepRecord,
    from: number,
    to: number,
    end: Float64Array,
    dx: Float64Array,
    within: readonly Inside[],
    keep: (index: number, tangents: Float64Array) => void,
  ): Float64Array;
  /** The tangents of times that move; none of a grid. */
  times?(saved: number): Pick<Sensitivities, 'times' | 'happened'>;
}

/** Tangents of all that was saved and that happened: plain values, for every direction `count`. */
export interface Sensitivities {
  readonly count: number;
  /** Tangents of each saved state, [count, state]. */
  readonly states: readonly Float64Array[];
  /** Tangents of each saved state's time, [count]; absent if all times are constants. */
  readonly times?: readonly Float64Array[];
  /** Tangents of the time of each event that occurred, [count]. */
  readonly happened?: readonly Float64Array[];
}

const nothing: readonly Inside[] = [];

/**
 * Transitions whose times are constants and that have no saved states inside them: row by row.
 * @param note is shown the tangents before each row
 */
export function pushRows(
  context: StepContext,
  directions: Directions,
  note?: (tangents: Float64Array) => void,
): TransitionPush {
  const push = stepPush(context, directions);
  const {t0} = directions;
  const pushFirst = (record: StepRecord, k: number, dx: Float64Array): Float64Array => {
    const dt = t0 ?? new Float64Array(directions.count);
    const pushed =
      t0 === undefined
        ? push(record, k, dx)
        : new StepTangents(context, directions).push(record, k, dx, dt, negated(dt));
    return heldTangents(context, directions, pushed)?.push(record, k, dx, dt, negated(dt)) ?? pushed;
  };
  return {
    push(n, record, from, to, _end, dx) {
      for (let k = from; k < to; k++) {
        note?.(dx);
        dx.set(n === 0 && k === from ? pushFirst(record, k, dx) : push(record, k, dx));
      }
      return dx;
    },
  };
}

export class SweepForward {
  /** One entry for each saved state. */
  readonly states: Float64Array[] = [];
  /** Those of the state after the last transition. */
  tangents: Float64Array;
  private readonly cursor: SavedCursor;
  private readonly keep = (index: number, tangents: Float64Array): void => {
    this.states[index] = tangents.slice();
  };

  /** @param start the step that began the run */
  constructor(
    private readonly context: StepContext,
    saved: SavedStates,
    start: StepRecord,
    private readonly directions: Directions,
    private readonly push: TransitionPush,
  ) {
    this.cursor = new SavedCursor(saved, false);
    this.tangents = startTangent(context, start, directions);
    // The state that the run began with, where it is a saved one.
    this.cursor.forward(-1);
    this.keepEnd();
  }

  /** Goes on over a transition whose saved states and events are noted. */
  readonly follow: VisitTransition = (n, record, from, to, end) => {
    const {cursor, push, keep} = this;
    cursor.forward(n);
    let within: Inside[] | undefined;
    for (let index = cursor.from; index < cursor.to; index++)
      if (cursor.theta(index) !== 1) (within ??= []).push({index, theta: cursor.theta(index)});
    this.tangents = push.push(n, record, from, to, end, this.tangents, within ?? nothing, keep);
    this.keepEnd();
  };

  finish(): Sensitivities {
    const {
      states,
      push,
      cursor,
      context,
      directions: {count, t0},
    } = this;
    const moving = push.times?.(states.length);
    if (t0 === undefined) return {count, states, ...moving};
    const none = new Float64Array(count);
    const begins = toUserTimes(context.traced, t0);
    const times = states.map((_, i) => (cursor.after(i) === 0 ? begins : (moving?.times?.[i] ?? none)));
    return {count, states, ...moving, times};
  }

  private keepEnd(): void {
    const {cursor} = this;
    for (let index = cursor.from; index < cursor.to; index++)
      if (cursor.theta(index) === 1) this.keep(index, this.tangents);
  }
}

/** Such tangents by direction. */
export interface TangentsByDirection {
  /** Tangents of the saved states, [count, saved, state]. */
  readonly states: Float64Array;
  /** Tangents of the saved states' times, [count, saved]; zero for constant times. */
  readonly times: Float64Array;
  /** Tangents of the times of the events that occurred, [count, events]. */
  readonly happened: Float64Array;
}

export function byDirection({count, states, times, happened = []}: Sensitivities): TangentsByDirection {
  return {
    states: turned(states, count),
    times: times === undefined ? new Float64Array(count * states.length) : turned(times, count),
    happened: turned(happened, count),
  };
}

/** [count, rows, width] from rows [count, width]. */
function turned(rows: readonly Float64Array[], count: number): Float64Array {
  const width = rows.length === 0 ? 0 : rows[0].length / count;
  const result = new Float64Array(count * rows.length * width);
  rows.forEach((row, i) => {
    for (let d = 0; d < count; d++) result.set(row.subarray(d * width, (d + 1) * width), (d * rows.length + i) * width);
  });
  return result;
}
