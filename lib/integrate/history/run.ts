/** A whole run along a step history. */
import {throwIfAborted} from '../../given.js';
import type {Keep, Keeping, Run} from '../path.js';
import type {Runnable} from '../runnable.js';
import {Follower} from './follower.js';
import {HistoryLoop} from './loop.js';
import type {Plan} from './plan.js';

/** Progress is told at most this often, in milliseconds. */
const progressInterval = 100;

/** @param keeping for a gradient; undefined where none is wanted */
export function runHistory(prepared: Runnable, plan: Plan, keeping: Keeping): Run {
  const begin = performance.now();
  const {onProgress, signal, grid} = prepared.options;
  prepared.compiled.recall(undefined);
  const loop = new HistoryLoop(prepared, plan, keeping);
  let told = begin;
  while (loop.advance()) {
    if (onProgress === undefined) continue;
    const now = performance.now();
    if (now - told <= progressInterval && !loop.pace.done(loop.t)) continue;
    told = now;
    onProgress({t: loop.t, step: loop.boundaries, steps: Number.isFinite(grid.steps) ? grid.steps : undefined});
    throwIfAborted(signal);
  }
  const {saver, integrator, counters, log, contacts, stiff, standing} = loop;
  // Trials of the error and of an event's time are no steps of the run.
  counters.steps = loop.taken;
  return {
    states: saver.states, times: saver.times, status: loop.status, error: loop.error, warnings: [...contacts.warnings, ...log.warnings, ...(stiff.sentence === undefined ? [] : [stiff.sentence])], counters, milliseconds: performance.now() - begin,
    completed: loop.boundaries, start: integrator.start, redundancy: prepared.redundancy, standing, events: log.records,
    kept: keptBy(loop, standing.x), history: prepared.compiled.learned,
  };
}

function keptBy({history, checkpointer}: HistoryLoop, end: Float64Array): Keep | undefined {
  if (checkpointer instanceof Follower) return {sensitivities: checkpointer.finish(end)};
  return checkpointer === undefined ? undefined : {history, checkpointer, end};
}
