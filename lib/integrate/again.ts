/** Recomputes transitions of a run from a stored state, the same to the bit. */
import type {StepRecord} from '../adjoint/record.js';
import type {StepHistory} from '../adjoint/step-history.js';
import {noCounts} from './counters.js';
import {Integrator} from './history/integrator.js';
import type {Runnable} from './runnable.js';
import {Stepper} from './stepper.js';

export interface Repeated {
  /** Where it stands: set it, and read it. */
  readonly state: Float64Array;
  /** What the next transition goes on from, a copy: set it, and read it. */
  place: Float64Array;
  /** Transition n, whose rows go to the record. */
  take(n: number, record: StepRecord | undefined): void;
}

const failed = 'a step that had succeeded failed when taken again';

/**
 * Steps of the grid.
 * @param iterations Newton's are recorded, too
 * @param apart they depend on the state alone, not on the matrix of the step before
 */
export function repeatGrid(prepared: Runnable, iterations: boolean, apart: boolean): Repeated {
  const {poll} = prepared.options;
  const stepper = new Stepper(prepared, new Float64Array(prepared.traced.state.size), iterations, apart);
  return {
    state: stepper.state,
    get place() {
      return stepper.place;
    },
    set place(place) {
      stepper.place = place;
    },
    take(n, record) {
      poll?.();
      stepper.record = record;
      const status = stepper.step(n);
      // Texts that outlive this hold the stepper.
      stepper.record = undefined;
      if (status !== 'completed') throw stepper.error ?? new Error(failed);
    },
  };
}

/** Transitions of a step history, with the lengths they had. */
export function repeatHistory(prepared: Runnable, history: StepHistory): Repeated {
  const {poll} = prepared.options;
  const integrator = new Integrator(prepared, noCounts(), true);
  const {state, stepper} = integrator;
  const before = new Float64Array(state.length);
  return {
    state,
    get place() {
      return state.slice();
    },
    set place(place) {
      state.set(place);
    },
    take(n, record) {
      poll?.();
      if (record !== undefined) before.set(state);
      if (integrator.repeat(history, n) !== 'completed') throw new Error(failed);
      record?.append(history.t[n], history.h[n], before, stepper.z);
    },
  };
}
