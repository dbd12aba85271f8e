/**
 * The gradient of a run: cotangents of the saved states go back step by step, each step's cotangent
 * pulled through by the implicit or the unrolled adjoint (equations.md §5).
 */
import type {Gradient} from './gradient.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startOf} from '../step/context.js';
import {addTo} from './add-to.js';
import {implicitPull} from './implicit.js';
import type {Adjoint} from './index.js';
import type {Watch} from './not-finite.js';
import type {StepRecord} from './record.js';
import {unrolledPull} from './unrolled.js';

/** Shows the steps of a run from last to first, in pieces of consecutive steps; returns how many had to be taken again. */
export type Backwards = (visit: (piece: StepRecord) => void) => number;

/** Steps are recorded by what the implicit adjoint needs of them (step/kept.ts); else by state and unknown. */
export function keepsNarrow({compiled}: StepContext, {kind}: Adjoint): boolean {
  return kind === 'implicit' || (kind === 'unrolled' && !compiled.implicit);
}

/**
 * The gradient for cotangents of the saved states ([saved, state], row-major).
 * @param start the step that began the run
 * @param watch looks at every step
 * @throws OptionError where the unrolled adjoint cannot follow the iteration that was run
 */
export function sweepBack(context: StepContext, adjoint: Adjoint, start: StepRecord, backwards: Backwards, cotangents: Float64Array, watch?: Watch): Gradient {
  const unrolled = !keepsNarrow(context, adjoint);
  const executable = unrolled ? context.compiled.unrolled : context.compiled.adjoint(context.compiled.sweepSolver(context.linear));
  loadParameters(executable, context);
  const ofParameters = new ParameterCotangents(context, executable, !unrolled && context.compiled.addsUp);
  const pull = (unrolled ? unrolledPull : implicitPull)(context, executable, ofParameters);
  const {size} = context.traced.state;
  // In the programs' own memory, where they read it.
  const xCotangent = executable.find('nextCotangent')?.fill(0) ?? new Float64Array(size);
  let isNew = true;
  const addSaved = (record: StepRecord, k: number): void => {
    const saved = record.savedAfter.get(k);
    if (saved === undefined) return;
    addTo(xCotangent, cotangents, 1, saved * size);
    isNew = true;
  };
  const recomputedSteps = backwards(piece => {
    for (let k = piece.count; k > 0; k--) {
      addSaved(piece, k);
      pull(piece, k - 1, xCotangent, isNew);
      isNew = false;
      watch?.(piece.time(k - 1), xCotangent, executable);
    }
    addSaved(piece, 0);
  });
  const parameters = ofParameters.finish();
  return {initial: pullStart(startOf(context), start, xCotangent, parameters), parameters, recomputedSteps};
}

/** Through the start of the run: what the scheme carries depends on the initial state and parameters too. */
export function pullStart(context: StepContext, record: StepRecord, xCotangent: Float64Array, totals: readonly Float64Array[]): Float64Array {
  if (context.resumed === true) return xCotangent.slice();
  const adjoint = context.compiled.wholeAdjoint(context.linear);
  loadParameters(adjoint, context);
  const ofParameters = new ParameterCotangents(context, adjoint, context.compiled.addsUp);
  implicitPull(context, adjoint, ofParameters)(record, 0, xCotangent, true);
  ofParameters.finish().forEach((cotangent, i) => addTo(totals[i], cotangent));
  return xCotangent.slice(0, context.given.length);
}
