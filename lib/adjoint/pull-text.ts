/** Steps of a grid pulled back, as routines (lib/routine): one, or many whose rows lie in one array. */
import type {Element, Local, MoveKernels, Part, Routine, Value} from '../routine/routine.js';
import {add, and, element, equal, greater, isSet, mul, not, place, RoutineBuilder, sub} from '../routine/routine.js';
import {rowStart} from '../step/rows.js';
import type {StepRecord} from './record.js';

/** What the pull of a step consists of. */
export interface PullParts {
  readonly h?: Float64Array | undefined;
  /** Absent: an explicit scheme. */
  readonly unknown?:
    | {
        readonly pullUnknown: Part;
        /** Whether the step behind has left zCotangent where both have one length. */
        readonly carriesOn: Part | boolean;
        /** Of (row): Jᵀw = zCotangent. */
        readonly solve: Part;
        /** Set where w lacks something below its last digit, of which the step is pulled back too. */
        readonly hasRest: Element;
        readonly pullRest: Part;
      }
    | undefined;
  readonly pullStep: Part;
  /** Sums up the parameters' cotangents, where the program does not. */
  readonly sum?: Part | undefined;
}

/** What texts of pulls call in JavaScript. */
export interface Puller {
  /** Row 0 of the next routine is this one of a record. */
  at(record: StepRecord, from: number): void;
  /** Jᵀx = b with the Jacobian of a row. */
  solve(b: Float64Array, x: Float64Array, row: number): void;
  pullRest(): void;
  sum(): void;
}

/** Texts serve all gradients of an executable: they call the functions of the one that runs. */
export interface PullHost {
  owner: Puller;
}

/** @param carried length of the steps whose zCotangent lies there already */
function writePull(b: RoutineBuilder, parts: PullParts, row: Value, isNew: Local, carried: Local): void {
  const {h, unknown, pullStep, sum} = parts;
  if (unknown !== undefined) {
    const length = h === undefined ? 0 : element(h);
    const {pullUnknown, carriesOn, solve} = unknown;
    const isAtHand = b.local(0);
    if (carriesOn !== false)
      b.if(and(not(isSet(isNew)), equal(carried, length)), () => {
        if (carriesOn === true) b.set(isAtHand, 1);
        else b.call(carriesOn, [], isAtHand);
      });
    b.unless(isSet(isAtHand), () => b.call(pullUnknown));
    b.set(carried, length);
    b.call(solve, [row]);
  }
  b.call(pullStep);
  if (sum !== undefined) b.call(sum);
  if (unknown !== undefined) b.if(isSet(unknown.hasRest), () => b.call(unknown.pullRest));
}

/** (row, whether the cotangent is new, carried): a step whose record has been loaded. */
export function pullRoutine(parts: PullParts): Routine {
  const b = new RoutineBuilder(3);
  writePull(b, parts, b.parameter(0), b.parameter(1), b.parameter(2));
  return b.routine;
}

/** Arrays that several pulls read and write. */
export interface PullRoom {
  /** Time, length and what is kept of each step, `width` numbers. */
  readonly rows: Float64Array;
  readonly width: number;
  readonly t?: Float64Array | undefined;
  readonly kept?: Float64Array | undefined;
  /** The cotangent of a step's end, and of its beginning where that lies elsewhere. */
  readonly cotangent: Float64Array;
  readonly result?: Float64Array | undefined;
  /** Cotangents of the states at the ends of the steps but the last. */
  readonly ends: Float64Array;
  readonly kernels?: MoveKernels | undefined;
}

/** (count, whether cotangents stand at ends, whether the last one's is new, carried): steps count − 1 … 0. */
export function pullsRoutine(parts: PullParts, room: PullRoom): Routine {
  const {rows, width, t, kept, cotangent, result, ends, kernels} = room;
  const size = cotangent.length;
  const b = new RoutineBuilder(4);
  const [count, atEnds, isNew, carried] = [0, 1, 2, 3].map(i => b.parameter(i));
  const k = b.local(sub(count, 1));
  b.while(greater(k, -1), () => {
    const row = b.local(mul(k, width));
    b.if(and(isSet(atEnds), greater(sub(count, 1), k)), () => {
      b.accumulate(place(cotangent), place(ends, mul(k, size)), size, kernels);
      b.set(isNew, 1);
    });
    if (t !== undefined) b.set(element(t), element(rows, row));
    if (parts.h !== undefined) b.set(element(parts.h), element(rows, add(row, 1)));
    if (kept !== undefined) b.copy(place(kept), place(rows, add(row, rowStart)), width - rowStart, kernels);
    writePull(b, parts, k, isNew, carried);
    if (result !== undefined) b.copy(place(cotangent), place(result), size, kernels);
    b.set(isNew, 0);
    b.increment(k, -1);
  });
  return b.routine;
}
