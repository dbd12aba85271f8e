/**
 * The step history of a run: a sequence of transitions, steps and jumps, with what was saved in them. A constant
 * grid is one without jumps and rejections, of which only the saved states need be stored; otherwise all of it is
 * stored (a few numbers per transition). The states at the start of transitions are recorded (record.ts), or recomputed
 * from some of them.
 */
import type {StepRecord} from './record.js';

/** The saved states of a run, in their order; all that there is to know of the history of a grid. */
export interface SavedStates {
  /** How many transitions were begun before each; 0 for the start. */
  readonly after: ArrayLike<number>;
  /** θ of each saved state in its transition: 1 at the end, less within a step. Absent if all are at ends. */
  readonly theta?: ArrayLike<number>;
}

/** Whether some are inside a transition. */
export function savesWithinSteps({after, theta}: SavedStates): boolean {
  if (theta !== undefined) for (let i = 0; i < after.length; i++) if (theta[i] !== 1) return true;
  return false;
}

/** Finds the saved states of one transition after another, in one direction. */
export class SavedCursor {
  /** The saved states of the transition last asked for: from..to−1. */
  from: number;
  to: number;

  /** @param last goes from the last transition to the first, else from the first to the last */
  constructor(
    private readonly saved: SavedStates,
    last: boolean,
  ) {
    this.from = this.to = last ? saved.after.length : 0;
  }

  /** Looks for those of transition n, lower than the ones before it; −1 is the start. Whether there are any. */
  back(n: number): boolean {
    const {
      saved: {after},
    } = this;
    let {from} = this;
    while (from > 0 && after[from - 1] > n + 1) from--;
    this.to = from;
    while (from > 0 && after[from - 1] === n + 1) from--;
    this.from = from;
    return from < this.to;
  }

  /**
   * Finds the saved states of at most `count` transitions before `end`, at most `room` states; returns the first
   * transition.
   */
  backBatch(end: number, count: number, room: number): number {
    const {
      saved: {after},
    } = this;
    let {from} = this;
    while (from > 0 && after[from - 1] > end) from--;
    this.to = from;
    let first = Math.max(end - count, 0);
    if (from > room) first = Math.max(first, after[from - room - 1]);
    while (from > 0 && after[from - 1] > first) from--;
    this.from = from;
    return first;
  }

  /** Finds the saved states of transition n, higher than the ones before it. Whether there are any. */
  forward(n: number): boolean {
    const {
      saved: {after},
    } = this;
    let {to} = this;
    while (to < after.length && after[to] <= n) to++;
    this.from = to;
    while (to < after.length && after[to] === n + 1) to++;
    this.to = to;
    return this.from < to;
  }

  /** How many transitions were begun before the saved state i. */
  after(i: number): number {
    return this.saved.after[i];
  }

  /** θ of the saved state i in its transition. */
  theta(i: number): number {
    return this.saved.theta?.[i] ?? 1;
  }
}

/** In place of a least rate: the time of the event is that at which a function of time jumps, whatever the state. */
export const fixedTime = -Infinity;

/** An event that a step was not cut short for. */
export interface InteriorEvent {
  /** Among the events that happened. */
  readonly record: number;
  readonly event: number;
  readonly theta: number;
  /** See `StepHistory.least`. */
  readonly grazingThreshold: number;
}

export class StepHistory {
  /**
   * Time and length by transition; those of a jump are its time and the length of step that its restart prepares for.
   */
  readonly t: number[] = [];
  readonly h: number[] = [];
  /**
   * Steps that begin, and steps that end, at an event's time, which moves with state and parameters: transition →
   * moment. All other times are constants.
   */
  readonly startsAtEvent = new Map<number, number>();
  readonly endsAtEvent = new Map<number, number>();
  /** Transitions that are jumps → moment. */
  readonly jumps = new Map<number, number>();
  /** The modes of switches after a jump, or, where they alone change, that a step begins with. */
  readonly modes = new Map<number, Float64Array>();
  /** The event of each event time: its function is zero then. */
  readonly eventTimes: number[] = [];
  /**
   * Rates of the event's function below this are grazing, and its time has no derivative; one for each event time.
   * Infinite if the function jumps, or `fixedTime`.
   */
  readonly grazingThresholds: number[] = [];
  /** Events that were noted without cutting a step short: place in step n, found on the dense output. */
  readonly interiorEvents = new Map<number, InteriorEvent[]>();
  /** The event time of each event that occurred, in their order; undefined if no step was cut short for it. */
  readonly occurred: (number | undefined)[] = [];
  /** Saved states whose time is a moment's, by their index. */
  readonly movingSaves = new Map<number, number>();
  readonly saved = {after: [] as number[], theta: [] as number[]} satisfies SavedStates;

  get count(): number {
    return this.t.length;
  }

  /** Whether there are events or jumps in it. */
  get hasEvents(): boolean {
    return this.eventTimes.length + this.interiorEvents.size > 0;
  }

  /** Drops all of it. */
  clear(): void {
    for (const list of [
      this.t,
      this.h,
      this.eventTimes,
      this.grazingThresholds,
      this.occurred,
      this.saved.after,
      this.saved.theta,
    ])
      list.length = 0;
    for (const map of [
      this.startsAtEvent,
      this.endsAtEvent,
      this.jumps,
      this.modes,
      this.interiorEvents,
      this.movingSaves,
    ])
      map.clear();
  }

  append(t: number, h: number): void {
    this.t.push(t);
    this.h.push(h);
  }

  /** What jump n gives to its restart: the last numbers are its modes. @param given as its own function makes it */
  givenBy(n: number, given: Float64Array): Float64Array {
    const [whole, modes] = [given.slice(), this.modes.get(n)];
    if (modes !== undefined) whole.set(modes, whole.length - modes.length);
    return whole;
  }

  /** The next event that happened was noted in transition n. */
  recordEvent(n: number, event: number, theta: number, grazingThreshold: number): void {
    const noted = {record: this.occurred.length, event, theta, grazingThreshold};
    const known = this.interiorEvents.get(n);
    if (known === undefined) this.interiorEvents.set(n, [noted]);
    else known.push(noted);
    this.occurred.push(undefined);
  }

  /**
   * Notes that the next state is saved, in the transition last appended or at the start; its time may be that of a
   * moment.
   */
  save(theta: number, moment?: number, after = this.count): void {
    const {saved} = this;
    if (moment !== undefined) this.movingSaves.set(saved.after.length, moment);
    saved.after.push(after);
    saved.theta.push(theta);
  }
}

/**
 * Shows transition n: rows from..to−1 of a record, several where a step of the grid was halved, and the state that it
 * ended at, where that is known.
 */
export type VisitTransition = (n: number, record: StepRecord, from: number, to: number, end: Float64Array) => void;

/**
 * Shows transitions n, n − 1, …, each a row of a record, the first of them being row n: so many as are taken, or none.
 * @param end the state after transition n, where it is asked for
 */
export type VisitBatch = (n: number, record: StepRecord, most: number, end: () => Float64Array) => number;

/** Shows all transitions from last to first, several at once where it can; returns how many had to be taken again. */
export type BackwardTraversal = (visit: VisitTransition, together?: VisitBatch) => number;

/** Restarts after a jump: the step from the user's blocks to the complete state, as at the start of a run. */
export type Restart = (
  given: Float64Array,
  t: number,
  h: number,
) => {readonly x: Float64Array; readonly record: StepRecord};
