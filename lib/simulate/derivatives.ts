/** Gradients and tangents of runs as users get them: checked where steps are adaptive (gradient-check.ts). */
import type {Gradient} from '../adjoint/gradient.js';
import type {Directions} from '../adjoint/directions.js';
import type {PreparedAdjoint} from '../integrate/adjoints/index.js';
import type {Run} from '../integrate/path.js';
import type {RunContext} from '../integrate/run-context.js';
import {checkGradient, checkTangents, rememberTolerance, withRightTangents} from './gradient-check.js';
import {pullSeries, runAndPush, type RunAndTangents, type SeriesCotangents} from './series.js';

/** As `pullSeries`; a warning is added to the run where the gradient is wrong. */
export function pullChecked(prepared: RunContext, done: Run, cotangents: SeriesCotangents): Gradient {
  const gradient = pullSeries(prepared, done, cotangents);
  checkGradient(prepared, done, cotangents, gradient);
  return gradient;
}

/**
 * Gradients of one run for one cotangent after another, as `pullChecked`. What the run kept may serve
 * another run's record after the first; it is then taken again, the same to the bit.
 */
export function pullOf(
  prepared: RunContext & {readonly adjoint: PreparedAdjoint},
  first: Run,
): (cotangents: SeriesCotangents) => Gradient {
  let path = first;
  return cotangents => {
    if (path.tape?.record?.isLost === true) {
      const again = prepared.adjoint.run({
        ...prepared,
        options: {...prepared.options, onProgress: undefined, signal: undefined},
      });
      path = {...again, warnings: first.warnings};
    }
    const gradient = pullChecked(prepared, path, cotangents);
    path.tape?.record?.release();
    return gradient;
  };
}

/**
 * As `runAndPush`, with tighter tolerances where the tangents are wrong with those of the run, or a warning.
 * @param throws whether a run that fails has none
 */
export function runAndPushChecked(prepared: RunContext, directions: Directions, throws: boolean): RunAndTangents {
  for (;;) {
    const {prepared: known, factor} = withRightTangents(prepared, false);
    const found = tightened(runAndPush(known, directions, throws), factor);
    if (areTangentsRight(prepared, found.run, directions, found.tangents)) return found;
  }
}

/** False where tighter tolerances are known to give right ones: `runAndPushChecked` takes them. */
export function areTangentsRight(
  prepared: RunContext,
  done: Run,
  directions: Directions,
  tangents: readonly Float64Array[],
): boolean {
  const factor = done.error === undefined ? checkTangents(prepared, done, directions, tangents) : undefined;
  if (factor !== undefined) rememberTolerance(prepared, factor);
  return factor === undefined;
}

const tightened = (found: RunAndTangents, factor: number | undefined): RunAndTangents =>
  factor === undefined ? found : {...found, run: {...found.run, tightened: factor}};

/** The adjoint of runs with tolerances that give right tangents, too. */
export function withSensitivities(adjoint: PreparedAdjoint): PreparedAdjoint {
  return {
    ...adjoint,
    inOneCall: undefined,
    sharedAmong: runs => withSensitivities(adjoint.sharedAmong?.(runs) ?? adjoint),
    run(prepared) {
      const {prepared: right, factor} = withRightTangents(prepared, true);
      const done = adjoint.run(right);
      return factor === undefined ? done : {...done, tightened: factor};
    },
  };
}
