/**
 * Single runs of a prepared simulation by worker threads: ensembles of one, of which several may be under way at once.
 */
import {requireValue, nonNegativeInteger} from '../checks.js';
import {Ensemble, type Done} from './ensemble.js';
import type {Cotangent, NamedValues, Pullback, Tangent} from './kinds.js';
import {namedGradient, namedTangents, packDirections, readPullbackOptions, runCotangents} from './named.js';
import {asTensors} from './operation.js';
import type {PreparedRun} from './prepare.js';
import type {AnyTrajectory} from './trajectory.js';
import {trajectoryOf} from './trajectory.js';

/** The threads of asynchronous runs. */
export interface RunThreads {
  /**
   * Number of threads that all concurrent runs share; default as many as the machine runs at once; 0: none, all in this
   * thread.
   */
  readonly workers?: number;
}

/** @throws (rejects) as the run would here */
export async function runThere(prepared: PreparedRun, {workers}: RunThreads): Promise<AnyTrajectory> {
  const [done] = await alone(prepared, workers).runAsync(false);
  return trajectory(prepared, done);
}

/** The run and its way back, which may be asked for again. */
export async function vjpThere(
  prepared: PreparedRun,
  {workers}: RunThreads,
): Promise<{
  readonly trajectory: AnyTrajectory;
  pullback(cotangent: Cotangent, also?: {readonly t0?: boolean}): Promise<Pullback>;
}> {
  const ensemble = alone(prepared, workers);
  const [done] = await ensemble.runAsync(true);
  // One at a time: the way back takes along what the next one needs.
  let last: Promise<unknown> = Promise.resolve();
  return {
    trajectory: trajectory(prepared, done),
    pullback(cotangent, also) {
      const row = {...runCotangents(prepared, done.run, cotangent), asked: readPullbackOptions(also)};
      const pulled = last.then(() => ensemble.pullAsync([row])).then(([gradient]) => namedGradient(prepared, gradient));
      last = pulled.catch(() => undefined);
      return pulled;
    },
  };
}

/** The run and its tangents. */
export async function jvpsThere(
  prepared: PreparedRun,
  {workers}: RunThreads,
  directions: readonly Tangent[],
): Promise<{readonly trajectory: AnyTrajectory; readonly tangents: NamedValues[]}> {
  const [done] = await alone(prepared, workers).pushAsync([packDirections(prepared, directions)]);
  return {trajectory: trajectory(prepared, done), tangents: namedTangents(prepared, done.tangents)};
}

function alone(prepared: PreparedRun, workers: number | undefined): Ensemble {
  if (workers !== undefined) requireValue(workers, nonNegativeInteger, 'workers', 'bad-workers');
  return new Ensemble([prepared], workers, true);
}

/** Off the tape. */
function trajectory(prepared: PreparedRun, {run, matrix}: Done): AnyTrajectory {
  return trajectoryOf(prepared, run, matrix, asTensors(prepared, {...run, tape: undefined}, matrix));
}
