/**
 * Many adaptive steps of an explicit scheme as one routine (lib/routine): attempts, their errors, and the record of
 * those that are accepted. How long a step is, and what is saved of it, is decided in JavaScript
 * (step-size-controller.ts, saver.ts), once an attempt. What the text does not handle ends it before that attempt.
 */
import type {Element, MoveKernels, Callee, Routine} from '../../routine/routine.js';
import {
  add,
  and,
  atLeast,
  atMost,
  element,
  isSet,
  less,
  not,
  or,
  place,
  RoutineBuilder,
} from '../../routine/routine.js';
import type {BlockNumber} from '../../step/adaptive-block-layout.js';
import {controlIndex} from '../../step/adaptive-block-layout.js';
import {rowHeaderSize} from '../../step/block-layout.js';
import type {StepOperations} from '../emit-step.js';
import {writeAttempt} from '../emit-step.js';

/** Arrays of a block (step/adaptive-block-layout.ts). */
export interface AdaptiveRoom {
  readonly control: Float64Array;
  /** Room for `capacity` rows: time, length, state, and the layers where these are kept. */
  readonly rows: Float64Array;
  readonly capacity: number;
  readonly layers?: Float64Array | undefined;
  /** What the scheme tells of each step, and where it tells it. */
  readonly stiffness?: {readonly to: Float64Array; readonly from: Float64Array} | undefined;
  readonly x: Float64Array;
  readonly next: Float64Array;
  readonly kernels?: MoveKernels | undefined;
}

export interface AdaptiveParts {
  readonly step: StepOperations;
  /**
   * The error of the last attempt over its tolerance; arguments: rtol, and the number of components with an estimate.
   */
  readonly error: Callee;
  /**
   * Accepts or rejects an attempt by its error, saves states, and sets t, h and stop for the next; returns 0 if none.
   */
  readonly judge: Callee;
}

/** Attempts from x on, as many as the numbers in `control` say; what was done is left there. */
export function attemptsRoutine({step, error, judge}: AdaptiveParts, room: AdaptiveRoom): Routine {
  const {control, rows, layers, stiffness, x, next, kernels} = room;
  const size = x.length;
  const width = rowHeaderSize + size + (layers?.length ?? 0);
  const b = new RoutineBuilder();
  const at = (name: BlockNumber): Element => element(control, controlIndex[name]);
  const leave = (): void => b.return(0);
  const [t, h, row] = [b.local(), b.local(), b.local(0)];

  const commit = (): void => {
    b.set(element(rows, row), t);
    b.set(element(rows, add(row, 1)), h);
    b.copy(place(rows, add(row, rowHeaderSize)), place(x), size, kernels);
    if (layers !== undefined)
      b.copy(place(rows, add(row, rowHeaderSize + size)), place(layers), layers.length, kernels);
    if (stiffness !== undefined) b.set(element(stiffness.to, at('rows')), element(stiffness.from));
    b.copy(place(x), place(next), size, kernels);
    b.increment(row, width);
    b.increment(at('rows'));
  };

  for (const name of ['attempts', 'rows'] as const) b.set(at(name), 0);
  b.loop(() => {
    b.if(or(atLeast(at('attempts'), at('mostAttempts')), atLeast(at('rows'), room.capacity)), leave);
    b.set(t, at('t'));
    b.set(h, at('h'));
    if (step.t !== undefined) b.set(element(step.t), t);
    if (step.h !== undefined) b.set(element(step.h), h);
    writeAttempt(b, step, leave);
    const found = b.result(error, at('rtol'), at('judged'));
    b.unless(less(found, Infinity), leave);
    if (step.possibleEvents !== undefined) b.if(and(atMost(found, 1), isSet(element(step.possibleEvents))), leave);
    b.increment(at('attempts'));
    const goesOn = b.result(judge, found);
    b.if(atMost(found, 1), commit);
    b.if(not(isSet(goesOn)), leave);
  });
  return b.routine;
}
