/** Steps as routines (lib/routine): one attempt at a step, and many steps of a grid. */
import type {MoveKernels, Callee, Routine, Value} from '../routine/routine.js';
import {add, element, greater, isSet, less, notEqual, place, RoutineBuilder} from '../routine/routine.js';
import {rowHeaderSize} from '../step/block-layout.js';

/** What an attempt consists of. */
export interface StepOperations {
  readonly t?: Float64Array | undefined;
  readonly h?: Float64Array | undefined;
  /** Writes how the unknown is found; gives the number of a status of Newton's method. Absent: an explicit scheme. */
  readonly solve?: ((b: RoutineBuilder) => Value) | undefined;
  readonly update: Callee;
  readonly largestNext: Callee;
  /** What is made of a step once its end is finite: an estimate of its error. */
  readonly after?: Callee | undefined;
  /** How many events may happen in the step (step/idle.ts), which the update tells. */
  readonly possibleEvents?: Float64Array | undefined;
}

/** The number of an attempt whose end is not finite; smaller ones are those of Newton's method. */
export const nonFiniteEnd = 4;

/** The number of an attempt that is good, but in which an event may happen. */
export const eventPossible = 5;

/** Writes an attempt at a step. @param fail ends it with the number of a status */
export function writeAttempt(b: RoutineBuilder, parts: StepOperations, fail: (status: Value) => void): void {
  const {solve, update, largestNext, after} = parts;
  if (solve !== undefined) {
    const status = solve(b);
    b.if(notEqual(status, 0), () => fail(status));
  }
  b.call(update);
  // An explicit scheme's unknowns are looked at by no iteration.
  b.unless(less(b.result(largestNext), Infinity), () => fail(nonFiniteEnd));
  if (after !== undefined) b.call(after);
}

/** One attempt from x at (t, h), which leaves x⁺ in `next`; returns the number of its status. */
export function attemptRoutine(parts: StepOperations): Routine {
  const b = new RoutineBuilder(2);
  if (parts.t !== undefined) b.set(element(parts.t), b.parameter(0));
  if (parts.h !== undefined) b.set(element(parts.h), b.parameter(1));
  writeAttempt(b, parts, status => b.return(status));
  return b.routine;
}

/** Arrays that several steps read and write. */
export interface StepsRoom {
  /** Times and lengths of the steps; what is recorded of each follows these, so that a row has `width` numbers. */
  readonly rows: Float64Array;
  readonly width: number;
  /** What is recorded, in this order. */
  readonly recorded: readonly Float64Array[];
  /** States at the ends of steps, where these are asked for. */
  readonly ends: Float64Array;
  readonly x: Float64Array;
  readonly next: Float64Array;
  /** How many steps were taken. */
  readonly taken: Float64Array;
  /** Where all of these lie in one memory. */
  readonly kernels?: MoveKernels | undefined;
}

/**
 * Steps from x on: (count, whether states at the ends are kept). Returns 0, or the number of an attempt that failed, or
 * in which an event may happen; `taken` tells how many came before.
 */
export function stepsRoutine(parts: StepOperations, room: StepsRoom): Routine {
  const {rows, width, recorded, ends, x, next, kernels} = room;
  const b = new RoutineBuilder(2);
  const [count, keepEnds] = [b.parameter(0), b.parameter(1)];
  const [row, end, taken] = [b.local(0), b.local(0), b.local(0)];
  b.set(element(room.taken), 0);
  b.while(greater(count, taken), () => {
    if (parts.t !== undefined) b.set(element(parts.t), element(rows, row));
    if (parts.h !== undefined) b.set(element(parts.h), element(rows, add(row, 1)));
    writeAttempt(b, parts, status => b.return(status));
    if (parts.possibleEvents !== undefined) b.if(isSet(element(parts.possibleEvents)), () => b.return(eventPossible));
    let offset = rowHeaderSize;
    for (const array of recorded) {
      b.copy(place(rows, add(row, offset)), place(array), array.length, kernels);
      offset += array.length;
    }
    b.copy(place(x), place(next), x.length, kernels);
    b.if(isSet(keepEnds), () => {
      b.copy(place(ends, end), place(x), x.length, kernels);
      b.increment(end, x.length);
    });
    b.increment(row, width);
    b.increment(taken);
    b.set(element(room.taken), taken);
  });
  b.return(0);
  return b.routine;
}
