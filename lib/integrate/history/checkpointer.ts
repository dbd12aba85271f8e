/**
 * What a step history keeps for its gradient: the state and unknown of every transition while the budget of the
 * adjoint lasts; beyond it, states alone, of every second transition, of every fourth, and so on, as many
 * as half the budget holds. The number of steps need not be known. The other half serves the way back
 * (backwards.ts), which takes the transitions between two kept states again, with the lengths they had.
 */
import type {StepHistory, HistoryBackwards} from '../../adjoint/step-history.js';
import {StepRecord} from '../../adjoint/record.js';
import {revolve} from '../../adjoint/schedule.js';
import {bytesPerNumber, mostStates} from '../memory.js';
import type {Runnable} from '../runnable.js';
import {noCounts} from '../counters.js';
import {Integrator} from './integrator.js';

export class Checkpointer {
  private record: StepRecord | undefined;
  private readonly states = new Map<number, Float64Array>();
  private stride = 1;
  /** Steps that a record within the budget holds, and states. */
  private readonly most: number;
  private readonly room: number;

  constructor(private readonly prepared: Runnable, memory: number) {
    const {traced, compiled} = prepared;
    const unknown = !compiled.implicit ? 0 : traced.unknown.size;
    this.most = memory / ((2 + traced.state.size + unknown) * bytesPerNumber);
    this.room = Math.max(4, Math.min(mostStates, Math.floor(memory / (traced.state.size * bytesPerNumber))));
    this.record = new StepRecord(traced.state.size, unknown, 16);
  }

  /** The whole record, where it was kept. */
  get whole(): StepRecord | undefined {
    return this.record;
  }

  /** Transition n, from x. */
  append(n: number, t: number, h: number, x: Float64Array, z: Float64Array | undefined): void {
    if (this.record !== undefined) {
      this.record.append(t, h, x, z);
      if (this.record.count > this.most) this.thin(this.record);
      return;
    }
    if (n % this.stride !== 0) return;
    this.states.set(n, x.slice());
    while (this.states.size > this.room / 2) this.widen();
  }

  private thin(record: StepRecord): void {
    this.record = undefined;
    while (record.count / this.stride > this.room / 2) this.stride *= 2;
    for (let n = 0; n < record.count; n += this.stride) {
      const state = new Float64Array(record.stateSize);
      record.load(n, {x: state});
      this.states.set(n, state);
    }
  }

  private widen(): void {
    this.stride *= 2;
    for (const n of this.states.keys()) if (n % this.stride !== 0) this.states.delete(n);
  }

  /** @param end the state after the last transition */
  backwards(history: StepHistory, end: Float64Array): HistoryBackwards {
    const {record} = this;
    if (record === undefined) return visit => this.takeAgain(history, visit);
    return visit => {
      visit({record, first: 0, end});
      return 0;
    };
  }

  private takeAgain(history: StepHistory, visit: Parameters<HistoryBackwards>[0]): number {
    const {prepared} = this;
    const {traced, compiled} = prepared;
    const states = new Map(this.states);
    const integrator = new Integrator(prepared, noCounts(), true);
    const piece = new StepRecord(traced.state.size, !compiled.implicit ? 0 : traced.unknown.size, 1);
    const before = new Float64Array(traced.state.size);
    let taken = 0;
    const load = (n: number): void => {
      const state = states.get(n);
      if (state === undefined) throw new Error(`the schedule asks for state ${n}, which is not kept`);
      integrator.state.set(state);
    };
    const repeat = (n: number): void => {
      if (integrator.repeat(history, n) !== 'completed') throw new Error('a step that had succeeded failed when taken again');
      taken++;
    };
    const reversal = {
      has: (n: number) => states.has(n),
      drop: (n: number) => void states.delete(n),
      advance(from: number, to: number) {
        load(from);
        for (let n = from; n < to; n++) repeat(n);
        states.set(to, integrator.state.slice());
      },
      reverse(n: number) {
        load(n);
        before.set(integrator.state);
        repeat(n);
        piece.clear();
        piece.append(history.t[n], history.h[n], before, integrator.stepper.z);
        visit({record: piece, first: n, end: integrator.state});
      },
    };
    let to = history.count;
    for (const from of [...this.states.keys()].sort((a, b) => b - a)) {
      revolve(from, to, Math.max(2, this.room - states.size + 1), reversal);
      states.delete(from);
      to = from;
    }
    return taken;
  }
}
