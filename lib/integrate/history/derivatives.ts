/** The derivatives of a run along its step history. */
import type {Gradient} from '../../adjoint/gradient.js';
import type {HistoryCotangents} from '../../adjoint/history-backward.js';
import {sweepHistoryBack} from '../../adjoint/history-backward.js';
import type {HistoryTangents} from '../../adjoint/history-tangent.js';
import {sweepHistoryForward} from '../../adjoint/history-tangent.js';
import type {Watch} from '../../adjoint/not-finite.js';
import type {Directions} from '../../adjoint/directions.js';
import type {Runnable} from '../runnable.js';
import type {Keep, Path} from '../path.js';
import {noCounts} from '../counters.js';
import {restart} from './integrator.js';

type Kept = Extract<Keep, {history: unknown}>;

export function pullHistory(prepared: Runnable, {start}: Path, {history, checkpointer, end}: Kept, cotangents: HistoryCotangents, watch?: Watch): Gradient {
  return sweepHistoryBack(prepared, history, start, restart(prepared, noCounts()), checkpointer.backwards(history, end), cotangents, watch);
}

export function pushHistory(prepared: Runnable, {start}: Path, {history, checkpointer, end}: Kept, directions: Directions): HistoryTangents {
  const record = checkpointer.whole;
  if (record === undefined) throw new Error('a run for a tangent keeps its steps');
  return sweepHistoryForward(prepared, history, start, restart(prepared, noCounts()), {record, first: 0, end}, directions);
}
