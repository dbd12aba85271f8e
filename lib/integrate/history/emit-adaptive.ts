/**
 * Many adaptive steps of an explicit scheme as one routine (lib/routine): attempts, their errors, saved states. How
 * long a step is, is decided in JavaScript (step-size-controller.ts), once an attempt. What the text does not handle
 * ends it before that attempt.
 */
import type {Element, MoveKernels, Part, Routine, Value} from '../../routine/routine.js';
import {
  abs,
  add,
  and,
  atLeast,
  atMost,
  div,
  element,
  equal,
  floor,
  greater,
  isSet,
  less,
  max,
  mul,
  not,
  or,
  place,
  RoutineBuilder,
  sub,
} from '../../routine/routine.js';
import type {BlockNumber} from '../../step/adaptive-block-layout.js';
import {controlIndex, timeRoundoff} from '../../step/adaptive-block-layout.js';
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
  /** Saved states, where each lies in its step, and how many of the steps were begun before it. */
  readonly states: Float64Array;
  readonly theta: Float64Array;
  readonly after: Float64Array;
  /** Times to be saved. */
  readonly times: Float64Array;
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
  readonly error: Part;
  /** Accepts or rejects an attempt by its error, and sets t, h and stop for the next; returns 0 if there is none. */
  readonly judge: Part;
  /** Loads a step for dense output, and D at θ. */
  readonly between?: Part | undefined;
  readonly dense?: {readonly run: Part; readonly theta: Float64Array; readonly D: Float64Array} | undefined;
}

/** Attempts from x on, as many as the numbers in `control` say; what was done is left there. */
export function attemptsRoutine({step, error, judge, between, dense}: AdaptiveParts, room: AdaptiveRoom): Routine {
  const {control, rows, layers, stiffness, x, next, kernels} = room;
  const size = x.length;
  const width = rowHeaderSize + size + (layers?.length ?? 0);
  const b = new RoutineBuilder();
  const at = (name: BlockNumber): Element => element(control, controlIndex[name]);
  const [t, h, stop] = [at('t'), at('h'), at('stop')];
  const leave = (): void => b.return(0);
  const smallest = (time: Value): Value => mul(timeRoundoff, max(abs(time), Number.MIN_VALUE / timeRoundoff));

  /** A saved state in the last step, at its end or at θ within. */
  const save = (from: Float64Array, theta: Value): void => {
    b.copy(place(room.states, mul(at('saved'), size)), place(from), size, kernels);
    b.set(element(room.theta, at('saved')), theta);
    b.set(element(room.after, at('saved')), add(at('rows'), 1));
    b.increment(at('saved'));
  };

  const saveTimes = (): void => {
    const [first, isLoaded, close] = [b.local(at('saved')), b.local(0), b.local(smallest(stop))];
    const time = element(room.times, at('saved'));
    const more = less(at('saved'), at('times'));
    if (dense !== undefined)
      b.while(and(more, less(time, sub(stop, close))), () => {
        const theta = b.local(max(div(sub(time, t), h), 0));
        b.if(
          equal(theta, 0),
          () => save(x, theta),
          () => {
            if (between !== undefined)
              b.unless(isSet(isLoaded), () => {
                b.call(between);
                b.set(isLoaded, 1);
              });
            b.set(element(dense.theta), theta);
            b.call(dense.run);
            save(dense.D, theta);
          },
        );
      });
    b.while(and(more, atMost(time, add(stop, close))), () => save(next, 1));
    // Those that lie here are used up, and the step may hold more.
    b.if(and(atLeast(at('saved'), at('times')), isSet(at('moreTimes'))), () => {
      b.set(at('saved'), first);
      b.increment(at('attempts'), -1);
      leave();
    });
  };

  const saveEnds = (): void => {
    const [boundaries, every] = [at('boundaries'), at('every')];
    b.increment(boundaries);
    b.if(greater(every, 0), () =>
      b.if(equal(mul(floor(div(boundaries, every)), every), boundaries), () => save(next, 1)),
    );
  };

  const commit = (): void => {
    saveTimes();
    saveEnds();
    const row = b.local(mul(at('rows'), width));
    b.set(element(rows, row), t);
    b.set(element(rows, add(row, 1)), h);
    b.copy(place(rows, add(row, rowHeaderSize)), place(x), size, kernels);
    if (layers !== undefined)
      b.copy(place(rows, add(row, rowHeaderSize + size)), place(layers), layers.length, kernels);
    if (stiffness !== undefined) b.set(element(stiffness.to, at('rows')), element(stiffness.from));
    b.copy(place(x), place(next), size, kernels);
    b.increment(at('rows'));
  };

  for (const name of ['attempts', 'rows', 'saved'] as const) b.set(at(name), 0);
  b.loop(() => {
    b.if(or(atLeast(at('attempts'), at('mostAttempts')), atLeast(at('rows'), room.capacity)), leave);
    if (step.t !== undefined) b.set(element(step.t), t);
    if (step.h !== undefined) b.set(element(step.h), h);
    writeAttempt(b, step, leave);
    const found = b.result(error, at('rtol'), at('judged'));
    b.unless(less(found, Infinity), leave);
    b.increment(at('attempts'));
    b.if(atMost(found, 1), commit);
    const goesOn = b.result(judge, found);
    b.if(not(isSet(goesOn)), leave);
  });
  return b.routine;
}
