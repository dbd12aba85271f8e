/** The steps of a run from last to first: read from its record, or taken again from the states it kept. */
import type {Backwards} from '../adjoint/backward.js';
import {keepsNarrow} from '../adjoint/backward.js';
import {revolve} from '../adjoint/schedule.js';
import type {Runnable} from './runnable.js';
import type {Keep, Path} from './path.js';
import {newRecord} from './run.js';
import {Stepper} from './stepper.js';

export function backwards(prepared: Runnable, {kept, completed}: Path): Backwards {
  if (kept === undefined || !('states' in kept || 'record' in kept)) throw new Error('a run for a gradient keeps its steps');
  if ('states' in kept) return visit => takeAgain({...prepared, narrow: keepsNarrow(prepared, prepared.options.adjoint)}, kept, completed, visit);
  return visit => {
    visit(kept.record);
    return 0;
  };
}

function takeAgain(prepared: Runnable, {states: first, room}: Extract<Keep, {states: unknown}>, completed: number, visit: Parameters<Backwards>[0]): number {
  const {grid, saved, adjoint, poll} = prepared.options;
  // A run cut short left states where the whole schedule wanted them; only its start is of use to the shorter one.
  const states = new Map(completed === grid.steps ? first : [...first].filter(([n]) => n === 0));
  const savedAt = new Map(Array.from(saved, (n, index) => [n, index]));
  const stepper = new Stepper(prepared, new Float64Array(prepared.traced.state.size), adjoint.kind === 'unrolled', true);
  const piece = newRecord(prepared, 1);
  let taken = 0;
  const stepFrom = (n: number): void => {
    poll?.();
    const status = stepper.step(n);
    if (status !== 'completed') throw stepper.error ?? new Error('a step that had succeeded failed when taken again');
    taken++;
  };
  const load = (n: number): void => {
    const state = states.get(n);
    if (state === undefined) throw new Error(`the schedule asks for state ${n}, which is not kept`);
    stepper.state.set(state);
  };
  revolve(0, completed, room, {
    has: n => states.has(n),
    drop: n => states.delete(n),
    advance(from, to) {
      load(from);
      stepper.record = undefined;
      for (let n = from; n < to; n++) stepFrom(n);
      states.set(to, stepper.state.slice());
    },
    reverse(n) {
      load(n);
      piece.clear();
      stepper.record = piece;
      if (n === 0 && savedAt.has(0)) piece.savedAfter.set(0, savedAt.get(0) as number);
      stepFrom(n);
      const index = savedAt.get(n + 1);
      if (index !== undefined) piece.savedAfter.set(piece.count, index);
      visit(piece);
    },
  });
  return taken;
}
