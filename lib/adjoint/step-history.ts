/**
 * The step history of a run whose times are not a grid: a sequence of transitions, steps and jumps, with what
 * was saved on the way. It is kept whole (a few numbers a transition); the states the transitions begin
 * with are recorded with it, or reached again from some of them.
 */
import type {StepRecord} from './record.js';

/** A saved state: at the end of its transition (theta 1), or within its step. */
export interface Save {
  /** Among the saved states. */
  readonly index: number;
  readonly theta: number;
}

/** An event that a step was not cut short for. */
export interface Noted {
  /** Among the events that happened. */
  readonly record: number;
  readonly event: number;
  readonly theta: number;
  /** See `StepHistory.least`. */
  readonly least: number;
}

export class StepHistory {
  /** Time and length by transition; those of a jump are its time and the length of step that its restart prepares for. */
  readonly t: number[] = [];
  readonly h: number[] = [];
  /** Steps that begin, and steps that end, at an event's time, which moves with state and parameters: transition → moment. All other times are constants. */
  readonly from = new Map<number, number>();
  readonly to = new Map<number, number>();
  /** Transitions that are jumps → moment. */
  readonly jumps = new Map<number, number>();
  /** By moment, the event whose function is zero there. */
  readonly moments: number[] = [];
  /** By moment: a rate of the event's function below this is one of a touch, and its time has no derivative. */
  readonly least: number[] = [];
  readonly saves = new Map<number, Save[]>();
  /** Events that were noted without cutting a step short: place in step n, found on the dense output. */
  readonly noted = new Map<number, Noted[]>();
  /** By event that happened, in their order: the moment whose time is the event's; undefined where it was only noted. */
  readonly happened: (number | undefined)[] = [];
  /** Saved states whose time is a moment's, by their index. */
  readonly moving = new Map<number, number>();
  /** The saved state that is the start. */
  start: number | undefined;

  get count(): number {
    return this.t.length;
  }

  /** Drops all of it. */
  forget(): void {
    this.t.length = this.h.length = this.moments.length = this.least.length = this.happened.length = 0;
    for (const map of [this.from, this.to, this.jumps, this.saves, this.noted, this.moving]) map.clear();
  }

  append(t: number, h: number): void {
    this.t.push(t);
    this.h.push(h);
  }

  /** The next event that happened was noted in transition n. */
  note(n: number, event: number, theta: number, least: number): void {
    const noted = {record: this.happened.length, event, theta, least};
    const known = this.noted.get(n);
    if (known === undefined) this.noted.set(n, [noted]);
    else known.push(noted);
    this.happened.push(undefined);
  }

  /** Notes a saved state of the transition last appended, or of the start; its time may be that of a moment. */
  save(index: number, theta: number, moment?: number): void {
    const n = this.count - 1;
    if (moment !== undefined) this.moving.set(index, moment);
    if (n < 0) {
      this.start = index;
      return;
    }
    const saves = this.saves.get(n);
    if (saves === undefined) this.saves.set(n, [{index, theta}]);
    else saves.push({index, theta});
  }
}

/** Consecutive transitions with the states they begin with. */
export interface HistoryPiece {
  /** A row for each transition; z is of no meaning for a jump. */
  readonly record: StepRecord;
  /** Number of its first transition. */
  readonly first: number;
  /** The state after its last one. */
  readonly end: Float64Array;
}

/** Shows a step history from its last transition to its first, in pieces; returns how many had to be taken again. */
export type HistoryBackwards = (visit: (piece: HistoryPiece) => void) => number;

/** Begins anew after a jump: the step from the user's blocks to the whole state, as the start of a run takes it. */
export type Restart = (given: Float64Array, t: number, h: number) => {readonly x: Float64Array; readonly record: StepRecord};
