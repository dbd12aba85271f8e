/**
 * Steps pulled back, as routines (lib/routine): one; or many whose rows lie in one array, of a grid or each of its own
 * length.
 */
import type {Element, RoutineLocal, MoveKernels, Callee, Routine, Value} from '../routine/routine.js';
import {
  add,
  and,
  element,
  equal,
  greater,
  isSet,
  less,
  mul,
  not,
  place,
  RoutineBuilder,
  sub,
} from '../routine/routine.js';
import {rowHeaderSize} from '../step/block-layout.js';
import type {StepRecord} from './record.js';

/** What the pull of a step consists of. */
export interface PullOperations {
  readonly h?: Float64Array | undefined;
  /** Absent: an explicit scheme. */
  readonly unknown?:
    | {
        readonly pullUnknown: Callee;
        /** Whether `pullStep` leaves zCotangent for the step before it, if that has the same length. */
        readonly pullsUnknownBefore: boolean;
        /** What dense output asks of the unknown, in addition to the step's end. */
        readonly fromDense?: {readonly zCotangent: Float64Array; readonly more: Float64Array} | undefined;
        /** Solves Jᵀw = zCotangent; its argument is the row. */
        readonly solve: Callee;
        /** Set where w lacks something below its last digit, of which the step is pulled back too. */
        readonly hasLowPart: Element;
        readonly pullLowPart: Callee;
      }
    | undefined;
  readonly pullStep: Callee;
  /** Sums up the parameters' cotangents, where the program does not. */
  readonly sum?: Callee | undefined;
}

/** What texts of pulls call in JavaScript. */
export interface Puller {
  /** Row 0 of the next routine is this one of a record. */
  at(record: StepRecord, from: number): void;
  /** Jᵀx = b with the Jacobian of a row. */
  solve(b: Float64Array, x: Float64Array, row: number): void;
  pullLowPart(): void;
  sum(): void;
}

/** @param carried length of the steps whose zCotangent lies there already */
function emitPull(
  b: RoutineBuilder,
  parts: PullOperations,
  row: Value,
  isNew: RoutineLocal,
  carried: RoutineLocal,
): void {
  const {h, unknown, pullStep, sum} = parts;
  if (unknown !== undefined) {
    const length = h === undefined ? 0 : element(h);
    const {pullUnknown, pullsUnknownBefore, fromDense, solve} = unknown;
    const isAtHand = pullsUnknownBefore && and(not(isSet(isNew)), equal(carried, length));
    b.unless(isAtHand, () => b.call(pullUnknown));
    b.set(carried, length);
    if (fromDense !== undefined)
      b.accumulate(place(fromDense.zCotangent), place(fromDense.more), fromDense.more.length);
    b.call(solve, [row]);
  }
  b.call(pullStep);
  if (sum !== undefined) b.call(sum);
  if (unknown !== undefined) b.if(isSet(unknown.hasLowPart), () => b.call(unknown.pullLowPart));
}

/** (row, whether the cotangent is new, carried): a step whose record has been loaded. */
export function pullRoutine(parts: PullOperations): Routine {
  const b = new RoutineBuilder(3);
  emitPull(b, parts, b.parameter(0), b.parameter(1), b.parameter(2));
  return b.routine;
}

/** Arrays that several pulls read and write. */
export interface PullArrays {
  /** Time, length and what is kept of each step, `width` numbers. */
  readonly rows: Float64Array;
  readonly width: number;
  readonly t?: Float64Array | undefined;
  readonly kept?: Float64Array | undefined;
  /** The cotangent of a step's end, and of its beginning, which may be one array. */
  readonly cotangent: Float64Array;
  readonly result: Float64Array;
  /** Cotangents of the states at the ends of the steps but the last. */
  readonly ends: Float64Array;
  readonly kernels?: MoveKernels | undefined;
}

/** (count, whether cotangents stand at ends, whether the last one's is new, carried): steps count − 1 … 0. */
export function batchedPullRoutine(parts: PullOperations, room: PullArrays): Routine {
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
    if (kept !== undefined) b.copy(place(kept), place(rows, add(row, rowHeaderSize)), width - rowHeaderSize, kernels);
    emitPull(b, parts, k, isNew, carried);
    if (result !== cotangent) b.copy(place(cotangent), place(result), size, kernels);
    b.set(isNew, 0);
    b.increment(k, -1);
  });
  return b.routine;
}

/** What the pull of a state within a step consists of, its θ and its cotangent being set. */
export interface DenseParts {
  readonly pullDense: Callee;
  /** Sums up the parameters' cotangents, where the program does not. */
  readonly sum?: Callee | undefined;
  /** Cotangents that the program gives, and what they are added to. */
  readonly added: readonly {readonly from: Float64Array; readonly to: Float64Array}[];
}

/** Those of which both are there. */
export const pairs = (
  given: readonly (readonly [from: Float64Array | undefined, to: Float64Array | undefined])[],
): DenseParts['added'] => given.flatMap(([from, to]) => (from === undefined || to === undefined ? [] : [{from, to}]));

export function emitDensePull(b: RoutineBuilder, {pullDense, sum, added}: DenseParts, kernels?: MoveKernels): void {
  b.call(pullDense);
  if (sum !== undefined) b.call(sum);
  for (const {from, to} of added) b.accumulate(place(to), place(from), from.length, kernels);
}

/** Arrays of many steps with states saved within them. */
export interface TimedRoom {
  /** Rows of a record, `width` numbers each, and one more, whose state is that at the end. */
  readonly rows: Float64Array;
  readonly width: number;
  /** Where a row's state is put, and what follows it there. */
  readonly t?: Float64Array | undefined;
  readonly x?: Float64Array | undefined;
  readonly layers?: Float64Array | undefined;
  /** The cotangent of a step's end, and of its beginning. */
  readonly cotangent: Float64Array;
  readonly result: Float64Array;
  /**
   * Cotangents of the saved states; where they lie in their steps; and, after a −1, how many rows were begun before
   * each.
   */
  readonly states: Float64Array;
  readonly thetas: Float64Array;
  readonly afters: Float64Array;
  /** The cotangent of what dense output reads inside a step: a sum over the states there. */
  readonly insideCotangent?: Float64Array | undefined;
  readonly dense?: TimedDense | undefined;
  readonly kernels?: MoveKernels | undefined;
}

/** States within steps. */
interface TimedDense extends DenseParts {
  /** Is run once for a step. */
  readonly inside?: Callee | undefined;
  readonly next?: Float64Array | undefined;
  readonly theta?: Float64Array | undefined;
  readonly cotangent?: Float64Array | undefined;
  /** The cotangent of a step's beginning: a sum over the states within it. */
  readonly x: Float64Array;
}

function clear(b: RoutineBuilder, array: Float64Array | undefined): void {
  if (array === undefined) return;
  const k = b.local(0);
  b.while(less(k, array.length), () => {
    b.set(element(array, k), 0);
    b.increment(k);
  });
}

/** (rows, saved states in them): steps of which each has its own length, the last one first. */
export function timedPullsRoutine(parts: PullOperations, room: TimedRoom): Routine {
  const {rows, width, t, x, layers, cotangent, result, states, thetas, afters, insideCotangent, dense, kernels} = room;
  const size = cotangent.length;
  const b = new RoutineBuilder(2);
  const [row, saved] = [b.parameter(0), b.parameter(1)];
  const [i, state, to, isWithin] = [b.local(), b.local(), b.local(), b.local()];
  const [isNew, carried, at] = [b.local(1), b.local(NaN), b.local(mul(row, width))];
  const eachSaved = (write: () => void): void => {
    b.set(i, saved);
    b.set(state, mul(saved, size));
    b.while(less(i, to), () => {
      write();
      b.increment(i);
      b.increment(state, size);
    });
  };
  const isAtEnd = equal(element(thetas, i), 1);

  /** Cotangents of states saved at the end are added, those within the step are left for `pullWithin`. */
  const addEnds = (): void => {
    b.set(to, saved);
    b.while(equal(element(afters, saved), add(row, 1)), () => b.increment(saved, -1));
    b.set(isWithin, 0);
    b.if(less(saved, to), () =>
      eachSaved(() =>
        b.if(
          isAtEnd,
          () => b.accumulate(place(cotangent), place(states, state), size, kernels),
          () => b.set(isWithin, 1),
        ),
      ),
    );
  };

  const pullWithin = ({inside, next, theta, cotangent: own, x: sum, ...one}: TimedDense): void => {
    clear(b, sum);
    if (inside !== undefined) b.call(inside);
    if (next !== undefined) b.copy(place(next), place(rows, add(at, width + rowHeaderSize)), size, kernels);
    eachSaved(() =>
      b.unless(isAtEnd, () => {
        if (theta !== undefined) b.set(element(theta), element(thetas, i));
        if (own !== undefined) b.copy(place(own), place(states, state), size, kernels);
        emitDensePull(b, one, kernels);
      }),
    );
  };

  b.while(greater(row, 0), () => {
    b.increment(row, -1);
    b.increment(at, -width);
    addEnds();
    if (t !== undefined) b.set(element(t), element(rows, at));
    if (parts.h !== undefined) b.set(element(parts.h), element(rows, add(at, 1)));
    if (x !== undefined) b.copy(place(x), place(rows, add(at, rowHeaderSize)), size, kernels);
    if (layers !== undefined) b.copy(place(layers), place(rows, add(at, rowHeaderSize + size)), layers.length, kernels);
    clear(b, insideCotangent);
    if (dense !== undefined) b.if(isSet(isWithin), () => pullWithin(dense));
    emitPull(b, parts, row, isNew, carried);
    b.copy(place(cotangent), place(result), size, kernels);
    if (dense !== undefined) b.if(isSet(isWithin), () => b.accumulate(place(cotangent), place(dense.x), size, kernels));
  });
  return b.routine;
}
