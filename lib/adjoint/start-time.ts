/**
 * The derivative of a run by the time t₀ of its start, at a fixed initial state: the beginning of the first step moves,
 * and all other times of the run, its end and its saved times among them, stay. With t̄ and h̄ the cotangents of the
 * time and the length of a step it is t̄ − h̄ of the first step, and of what makes the state that it begins with. So an
 * event's time enters, too (timed-pull.ts).
 */
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import type {StartTimePull} from './sweep-back.js';
import {historyAdjoint, noPathDerivative, readsPath} from './timed-pull.js';
import {timedStep} from './timed-step.js';

/** t̄ − h̄ of row 0, the later rows of a step that was taken in parts having fixed times. */
function beginningCotangent(context: StepContext, record: StepRecord, xCotangent: Float64Array): number {
  const executable = historyAdjoint(context);
  loadParameters(executable, context);
  const cotangents = new ParameterCotangents(context, executable, context.compiled.canAccumulate, true);
  const step = timedStep(context, executable, cotangents);
  for (let k = record.count - 1; k > 0; k--) step.pull(record, k, xCotangent);
  const {tCotangent, hCotangent} = step.pull(record, 0, xCotangent);
  return tCotangent - hCotangent;
}

/**
 * @param start the step that began the run
 * @param first the rows of the first step with its whole state and unknown; or what its pull has found
 * @throws GradientError 'no-time-derivative' of an sde
 */
export function startTimePull(
  context: StepContext,
  start: StepRecord,
  first: (() => StepRecord) | {readonly startCotangent: number},
): StartTimePull {
  if (readsPath(context.traced)) throw noPathDerivative('by t0');
  return {
    start: xCotangent => (context.resumed === true ? 0 : beginningCotangent(startContext(context), start, xCotangent)),
    first: xCotangent =>
      typeof first === 'function'
        ? beginningCotangent({...context, storage: undefined}, first(), xCotangent)
        : first.startCotangent,
  };
}
