/** Runs as plain values: what a worker thread sends back of one, and what it needs to go back through one. */
import {StepRecord} from '../../adjoint/record.js';
import type {StiffgradError} from '../../errors.js';
import type {Keep, Run} from '../../integrate/path.js';
import type {Runnable} from '../../integrate/runnable.js';
import {solverOf} from '../../integrate/runnable.js';
import type {PlainKeep, PlainPath, PlainRun} from './messages.js';
import {errorFromPlain, plainError} from './plain-error.js';

export function plainKeep(kept: Keep | undefined): PlainKeep | undefined {
  if (kept === undefined) return undefined;
  if ('history' in kept) throw new Error('a run along a history stays in its thread');
  if ('warnings' in kept) throw new Error('a run for backsolveAdjoint stays in its thread');
  if ('sensitivities' in kept) return kept;
  return 'record' in kept ? {record: kept.record.plain()} : {states: kept.states, room: kept.room};
}

export function keepFromPlain(kept: PlainKeep | undefined): Keep | undefined {
  if (kept?.record !== undefined) return {record: StepRecord.fromPlain(kept.record)};
  if (kept?.sensitivities !== undefined) return {sensitivities: kept.sensitivities};
  return kept?.states === undefined ? undefined : {states: new Map(kept.states), room: kept.room ?? kept.states.size};
}

export function plainRun(runnable: Runnable, run: Run): PlainRun {
  return {...run, start: run.start.plain(), kept: plainKeep(run.kept), error: plainError(run.error), compileTime: runnable.compiled.compileTime, ...solverOf(runnable)};
}

/** The run, and what a worker tells of it. */
export function runFromPlain({start, kept, error, compileTime, nonzeros, linear, engine, ...rest}: PlainRun): Run {
  const failure: StiffgradError | undefined = error === undefined ? undefined : errorFromPlain(error);
  return {...rest, start: StepRecord.fromPlain(start), kept: keepFromPlain(kept), error: failure, elsewhere: {compileTime, nonzeros, linear, engine}};
}

/** States and times are asked for by observations alone. */
export function plainPath({traced}: Runnable, {states, times, completed, start, redundancy, kept, history}: Run): PlainPath {
  const observed = traced.functions.observed !== undefined;
  return {states: observed ? states : new Float64Array(0), times: observed ? times : new Float64Array(0), completed, start: start.plain(), redundancy, kept: plainKeep(kept), history};
}
