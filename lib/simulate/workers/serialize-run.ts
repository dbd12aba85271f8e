/** Runs as plain values: what a worker thread sends back of one, and what it needs to go back through one. */
import {StepRecord} from '../../adjoint/record.js';
import type {StiffgradError} from '../../errors.js';
import type {PreparedAdjoint} from '../../integrate/adjoints/adjoint.js';
import type {BackwardTape, Path, SerializedTape, Run} from '../../integrate/path.js';
import type {RunContext} from '../../integrate/run-context.js';
import {solverOf} from '../../integrate/run-context.js';
import type {SerializedPath, SerializedRun} from './messages.js';
import {deserializeError, serializeError} from './serialize-error.js';

export function serializeRun(runnable: RunContext, run: Run): SerializedRun {
  return {
    ...run,
    start: run.start.serialize(),
    tape: run.tape?.serialize?.(),
    error: serializeError(run.error),
    compileTime: runnable.compiled.compileTime,
    ...solverOf(runnable),
  };
}

/** The run, and what a worker tells of it. */
export function deserializeRun(
  {error, compileTime, nonzeros, linear, engine, start, tape, ...rest}: SerializedRun,
  adjoint: PreparedAdjoint,
): Run {
  const failure: StiffgradError | undefined = error === undefined ? undefined : deserializeError(error);
  return {
    ...rest,
    start: StepRecord.deserialize(start),
    tape: deserializeRunTape(tape, rest.completed, adjoint),
    error: failure,
    workerFacts: {compileTime, nonzeros, linear, engine},
  };
}

/** States and times are asked for by observations alone. */
export function serializePath(
  {traced}: RunContext,
  {states, times, completed, start, redundancy, tape, pivotStates}: Run,
): SerializedPath {
  const observed = traced.functions.observed !== undefined;
  return {
    states: observed ? states : new Float64Array(0),
    times: observed ? times : new Float64Array(0),
    completed,
    start: start.serialize(),
    redundancy,
    tape: tape?.serialize?.(),
    pivotStates,
  };
}

export function deserializePath({start, tape, ...path}: SerializedPath, adjoint: PreparedAdjoint): Path {
  return {...path, start: StepRecord.deserialize(start), tape: deserializeRunTape(tape, path.completed, adjoint)};
}

export function deserializeRunTape(
  tape: SerializedTape | undefined,
  completed: number,
  {threads}: PreparedAdjoint,
): BackwardTape | undefined {
  return tape === undefined ? undefined : threads?.deserializeTape(tape, completed);
}
