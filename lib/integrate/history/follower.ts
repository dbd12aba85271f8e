/** In place of a checkpointer (checkpointer.ts), for forward sensitivities: tangents go along with the step history, which keeps nothing but its last transition. */
import type {StepHistory} from '../../adjoint/step-history.js';
import {HistoryPush} from '../../adjoint/history-tangent.js';
import type {Sensitivities} from '../../adjoint/forward.js';
import {unitDirections} from '../../adjoint/forward.js';
import {StepRecord} from '../../adjoint/record.js';
import type {Runnable} from '../runnable.js';
import {noCounts} from '../counters.js';
import {restart} from './integrator.js';

export class Follower {
  private readonly push: HistoryPush;
  /** The last transition: what is saved in it and after it is not known before the next one comes. */
  private readonly record: StepRecord;
  private first = 0;

  /** @param start the step that began the run */
  constructor(prepared: Runnable, history: StepHistory, start: StepRecord) {
    const {traced, compiled} = prepared;
    this.record = new StepRecord(traced.state.size, !compiled.implicit ? 0 : traced.unknown.size, 1);
    this.push = new HistoryPush(prepared, history, restart(prepared, noCounts()), unitDirections(prepared), start);
  }

  /** Transition n, from x. */
  append(n: number, t: number, h: number, x: Float64Array, z: Float64Array | undefined): void {
    this.goOn(x);
    this.first = n;
    this.record.append(t, h, x, z);
  }

  /** @param end the state after the last transition */
  finish(end: Float64Array): Sensitivities {
    this.goOn(end);
    return this.push.finish();
  }

  private goOn(end: Float64Array): void {
    const {record, first, push} = this;
    if (record.count === 0) {
      push.saveStart();
      return;
    }
    push.follow({record, first, end});
    record.clear();
  }
}
