/** Programs of the way back of steps in lanes (lanes.ts), derived as those of history-programs.ts. */
import type {Graph} from '../graph/node.js';
import type {ProgramsOf} from './buffers.js';
import {bufferInput, graphOf} from './buffers.js';
import {cotangentsOf} from './history-programs.js';
import type {AdjointProgram} from './programs.js';
import type {TracedStep} from './traced-step.js';

/** Programs of the backward pass of lanes, whose times are constants. Explicit steps have only `pullStep`. */
export type LaneAdjointProgram = AdjointProgram | 'inside' | 'pullDense';

/**
 * pullStep: nextCotangent, insideCotangent → xCotangent; inside → inside, where pullDense reads it; pullDense:
 * denseCotangent → denseNextCotangent, denseXCotangent, denseInsideCotangent; and each the parameters', as in
 * historyAdjointPrograms, without what times ask for.
 */
export function laneAdjointPrograms(step: TracedStep, adding: boolean): ProgramsOf<LaneAdjointProgram> {
  const {
    functions: {update, inside, dense},
    inputs: {x, theta, next, inside: insideInput},
  } = step;
  const outputs = inside === undefined ? [update] : [update, inside];
  const cotangents = [
    bufferInput('nextCotangent', update.shape),
    ...(inside === undefined ? [] : [bufferInput('insideCotangent', inside.shape)]),
  ];
  const pullStep = cotangentsOf(step, outputs, cotangents, {xCotangent: x}, 'pullStep', adding);
  if (dense === undefined || theta === undefined || next === undefined) return {pullStep};
  const pullDense: Graph = cotangentsOf(
    step,
    [dense],
    [bufferInput('denseCotangent', dense.shape)],
    {
      denseNextCotangent: next,
      denseXCotangent: x,
      ...(insideInput === undefined ? {} : {denseInsideCotangent: insideInput}),
    },
    adding ? 'pullStep' : 'pullDense',
    adding,
  );
  const reads = insideInput !== undefined && pullDense.inputs.includes(insideInput);
  return {pullStep, pullDense, ...(reads ? {inside: graphOf({inside})} : {})};
}
