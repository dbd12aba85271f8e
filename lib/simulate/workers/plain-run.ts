/** Runs as plain values: what a worker thread sends back of one, and what it needs to go back through one. */
import {StepRecord} from '../../adjoint/record.js';
import type {StiffgradError} from '../../errors.js';
import type {PreparedAdjoint} from '../../integrate/adjoints/adjoint.js';
import type {Kept, Path, PlainKept, Run} from '../../integrate/path.js';
import type {Runnable} from '../../integrate/runnable.js';
import {solverOf} from '../../integrate/runnable.js';
import type {PlainPath, PlainRun} from './messages.js';
import {errorFromPlain, plainError} from './plain-error.js';

export function plainRun(runnable: Runnable, run: Run): PlainRun {
  return {
    ...run,
    start: run.start.plain(),
    kept: run.kept?.plain?.(),
    error: plainError(run.error),
    compileTime: runnable.compiled.compileTime,
    ...solverOf(runnable),
  };
}

/** The run, and what a worker tells of it. */
export function runFromPlain(
  {error, compileTime, nonzeros, linear, engine, start, kept, ...rest}: PlainRun,
  adjoint: PreparedAdjoint,
): Run {
  const failure: StiffgradError | undefined = error === undefined ? undefined : errorFromPlain(error);
  return {
    ...rest,
    start: StepRecord.fromPlain(start),
    kept: keptFromPlain(kept, rest.completed, adjoint),
    error: failure,
    elsewhere: {compileTime, nonzeros, linear, engine},
  };
}

/** States and times are asked for by observations alone. */
export function plainPath(
  {traced}: Runnable,
  {states, times, completed, start, redundancy, kept, history}: Run,
): PlainPath {
  const observed = traced.functions.observed !== undefined;
  return {
    states: observed ? states : new Float64Array(0),
    times: observed ? times : new Float64Array(0),
    completed,
    start: start.plain(),
    redundancy,
    kept: kept?.plain?.(),
    history,
  };
}

export function pathFromPlain({start, kept, ...path}: PlainPath, adjoint: PreparedAdjoint): Path {
  return {...path, start: StepRecord.fromPlain(start), kept: keptFromPlain(kept, path.completed, adjoint)};
}

export function keptFromPlain(
  kept: PlainKept | undefined,
  completed: number,
  {threads}: PreparedAdjoint,
): Kept | undefined {
  return kept === undefined ? undefined : threads?.kept(kept, completed);
}
