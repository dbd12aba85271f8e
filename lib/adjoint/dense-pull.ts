/**
 * The adjoint of dense output: pulls cotangents of states within a step back to everything that its interpolation uses.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import {interpret} from '../routine/interpret.js';
import {programPart} from '../routine/parts.js';
import {div, element, mul, RoutineBuilder, sub} from '../routine/routine.js';
import type {InteriorCotangent} from './gradient.js';
import type {ParameterCotangents} from './parameter-cotangents.js';
import {pairs, writeDensePull} from './emit-pull.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** What such cotangents ask of all but the step's end; the arrays are the next step's, too. */
export interface DenseCotangents {
  readonly xCotangent: Float64Array;
  readonly zCotangent?: Float64Array;
  readonly insideCotangent?: Float64Array;
  readonly tCotangent: number;
  readonly hCotangent: number;
}

export type PullDense = (
  record: StepRecord,
  k: number,
  h: number,
  end: Float64Array,
  looked: readonly InteriorCotangent[],
) => DenseCotangents;

/**
 * @param executable the context's historyAdjoint, of a run with dense output
 * @param endCotangent that of the step's end, which is added to
 * @returns gives what all but the end is asked
 */
export function densePull(
  context: StepContext,
  executable: StepExecutable<HistoryAdjointProgram>,
  cotangents: ParameterCotangents,
  endCotangent: Float64Array,
): PullDense {
  const buffers = stepBuffers(executable);
  const look = executable.has('inside') ? executable.program('inside') : undefined;
  const [next, thetas, denseCotangent] = (['next', 'theta', 'denseCotangent'] as const).map(name =>
    executable.find(name),
  );
  const [ofEnd, ofX, ofT, ofH, ofTheta] = (
    ['denseNextCotangent', 'denseXCotangent', 'denseTCotangent', 'denseHCotangent', 'denseThetaCotangent'] as const
  ).map(name => executable.buffer(name));
  const ofZ = !context.compiled.implicit ? undefined : executable.buffer('denseZCotangent');
  const ofInside = executable.find('denseInsideCotangent');
  const [xCotangent, tCotangent, hCotangent] = [ofX, ofT, ofH].map(({length}) => new Float64Array(length));
  const [zCotangent, insideCotangent] = [ofZ, ofInside].map(part => part?.slice());
  const sums = [xCotangent, tCotangent, hCotangent, zCotangent, insideCotangent];
  const b = new RoutineBuilder(2);
  const [h, theta] = [b.parameter(0), b.parameter(1)];
  if (thetas !== undefined) b.set(element(thetas), theta);
  writeDensePull(b, {
    pullDense: programPart(executable, 'pullDense'),
    sum: {run: () => cotangents.add('pullDense')},
    added: pairs([
      [ofEnd, endCotangent],
      [ofX, xCotangent],
      [ofZ, zCotangent],
      [ofInside, insideCotangent],
    ]),
  });
  // The saved time is a constant: θ = (time − t)/h.
  b.increment(element(tCotangent), sub(element(ofT), div(element(ofTheta), h)));
  b.increment(element(hCotangent), sub(element(ofH), div(mul(element(ofTheta), theta), h)));
  const pull = interpret(b.routine);
  return (record, k, length, end, looked) => {
    for (const sum of sums) sum?.fill(0);
    record.load(k, buffers);
    look?.();
    next?.set(end);
    for (const {theta: at, cotangent} of looked) {
      denseCotangent?.set(cotangent);
      pull(length, at);
    }
    return {xCotangent, zCotangent, insideCotangent, tCotangent: tCotangent[0], hCotangent: hCotangent[0]};
  };
}
