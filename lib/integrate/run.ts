/**
 * A run: from the start to the end, one implicit (or explicit) step after another, in double
 * precision throughout. It stores what a derivative will need.
 */
import {SingularMatrixError} from '../errors.js';
import {throwIfAborted} from '../checks.js';
import {StepRecord} from '../adjoint/record.js';
import {noCounts} from './counters.js';
import {RunFailure, captureFailure} from './run-failure.js';
import {inUserTime} from './path.js';
import {GridLoop} from './grid-loop.js';
import {HistoryLoop} from './history/history-loop.js';
import {knownSteps} from './history/plan.js';
import type {BackwardTape, BackwardPolicy, Run} from './path.js';
import type {RunContext} from './run-context.js';
import {requireScaledRows} from './start.js';
import {drive} from './time-loop.js';

/**
 * @param keeping for a derivative; undefined where none is wanted
 * @throws AbortError
 */
export function run(prepared: RunContext, keeping?: BackwardPolicy): Run {
  const {
    compiled,
    options: {signal},
  } = prepared;
  throwIfAborted(signal);
  const storage = keeping?.storagePolicy?.(prepared);
  compiled.inUse = true;
  compiled.expectedSteps = knownSteps(prepared.options);
  try {
    return relieved(prepared, context =>
      runOnce(storage === context.storage ? context : {...context, storage}, keeping),
    );
  } finally {
    compiled.inUse = false;
  }
}

function runOnce(prepared: RunContext, keeping: BackwardPolicy | undefined): Run {
  const begin = performance.now();
  const {
    compiled,
    redundancy,
    options: {plan, grid},
  } = prepared;
  keeping?.requireMemory?.(prepared);
  compiled.matrices.restorePivots(undefined);
  const loop = captureFailure(() =>
    plan === undefined ? new GridLoop(prepared, keeping) : new HistoryLoop(prepared, plan, keeping),
  );
  if (loop instanceof RunFailure) return unstarted(prepared, loop, keeping, performance.now() - begin);
  // By name: V8 takes microseconds to spread an object.
  const result = drive(loop, prepared.options, begin);
  const {states, status, error, warnings, counters, completed, start, resumeState, tape} = result;
  const {times, events} = inUserTime(grid, result);
  return {
    states,
    times,
    status,
    error,
    warnings,
    counters,
    milliseconds: performance.now() - begin,
    completed,
    start,
    redundancy,
    tape,
    resumeState,
    events,
    pivotStates: compiled.matrices.pivotStates,
  };
}

/** A run that has reached nothing. */
const unstarted = (
  {redundancy, compiled}: RunContext,
  {status, error}: RunFailure,
  keeping: BackwardPolicy | undefined,
  milliseconds: number,
): Run => ({
  states: none,
  times: none,
  status,
  error,
  warnings: [],
  counters: noCounts(),
  milliseconds,
  completed: 0,
  start: new StepRecord(0, 0, 1),
  redundancy,
  tape: keeping === undefined ? undefined : keptNothing,
  pivotStates: compiled.matrices.pivotStates,
});

const none = new Float64Array(0);

/** A tape for a run without saved states: every derivative is zero. */
const keptNothing: BackwardTape = {
  pull: ({initialValues, parameterValues}) => ({
    initial: new Float64Array(initialValues.length),
    parameters: parameterValues.map(({length}) => new Float64Array(length)),
    recomputedSteps: 0,
  }),
  push: (_prepared, _path, {count}) => ({count, states: []}),
};

/**
 * Compliance given to every rigid row once some are found redundant, as a share of h²/m: it moves
 * positions by this share of what the multipliers do in a step, far below the error of any scheme. Where
 * a mechanism passes a singular position rows are soft as long as the square of their least singular
 * value is below this: within 1e-4 rad, which steps of a milliradian leap over (with 1e-6 the 2-four-bar
 * mechanism loses second order at h = 0.0025, measured). And it leaves four digits to multipliers that
 * only rounding tells apart where h²/m is 1e-4.
 */
const regularization = 3e-8;

/**
 * Redundant constraints make the Newton matrix singular in rows of λ. Where that is found the run is
 * taken again, with multipliers of least norm from its start on, so that all of it is one function of
 * its parameters.
 */
function relieved(prepared: RunContext, attempt: (prepared: RunContext) => Run): Run {
  const run = attempt(prepared);
  const {error} = run;
  const rows =
    error instanceof SingularMatrixError && error.code === 'singular-step'
      ? (error.data.multipliers as readonly string[])
      : [];
  if (rows.length === 0) return run;
  requireScaledRows(prepared);
  return attempt({...prepared, redundancy: {regularization, rows}});
}
