/**
 * The adjoint of dense output: pulls cotangents of states within a step back to everything that its interpolation uses.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import {addTo} from './add-to.js';
import type {Looked} from './gradient.js';
import type {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** What such cotangents ask of all but the step's end; the arrays are the next step's, too. */
export interface Between {
  readonly xCotangent: Float64Array;
  readonly zCotangent?: Float64Array;
  readonly insideCotangent?: Float64Array;
  readonly tCotangent: number;
  readonly hCotangent: number;
}

export type PullWithin = (
  record: StepRecord,
  k: number,
  h: number,
  end: Float64Array,
  looked: readonly Looked[],
  endCotangent: Float64Array,
) => Between;

/**
 * @param executable the context's historyAdjoint, of a run with dense output
 * @returns adds to the cotangent of the step's end, and gives what the rest is asked; the step then lies in the executable's buffers
 */
export function withinStep(
  context: StepContext,
  executable: StepExecutable<HistoryAdjointProgram>,
  cotangents: ParameterCotangents,
): PullWithin {
  const buffers = stepBuffers(executable);
  const pull = executable.program('pullDense');
  const look = executable.has('inside') ? executable.program('inside') : undefined;
  const [next, thetas, denseCotangent] = (['next', 'theta', 'denseCotangent'] as const).map(name =>
    executable.find(name),
  );
  const [endCotangents, xCotangents, tCotangents, hCotangents, thetaCotangents] = (
    ['denseNextCotangent', 'denseXCotangent', 'denseTCotangent', 'denseHCotangent', 'denseThetaCotangent'] as const
  ).map(name => executable.buffer(name));
  const zCotangents = !context.compiled.implicit ? undefined : executable.buffer('denseZCotangent');
  const insideCotangents = executable.find('denseInsideCotangent');
  const xCotangent = new Float64Array(xCotangents.length);
  const zCotangent = zCotangents?.slice();
  const insideCotangent = insideCotangents?.slice();
  return (record, k, h, end, looked, endCotangent) => {
    for (const sum of [xCotangent, zCotangent, insideCotangent]) sum?.fill(0);
    let [tCotangent, hCotangent] = [0, 0];
    record.load(k, buffers);
    look?.();
    next?.set(end);
    for (const {theta, cotangent} of looked) {
      thetas?.fill(theta);
      denseCotangent?.set(cotangent);
      pull();
      cotangents.add('pullDense');
      addTo(endCotangent, endCotangents);
      addTo(xCotangent, xCotangents);
      addTo(zCotangent, zCotangents);
      addTo(insideCotangent, insideCotangents);
      // The saved time is a constant: θ = (time − t)/h.
      tCotangent += tCotangents[0] - thetaCotangents[0] / h;
      hCotangent += hCotangents[0] - (thetaCotangents[0] * theta) / h;
    }
    return {xCotangent, zCotangent, insideCotangent, tCotangent, hCotangent};
  };
}
