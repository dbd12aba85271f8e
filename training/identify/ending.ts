/** The end of a fit as plain data, which travels, and back: what the data do not carry is evaluated again at the same place, to the same bits. */
import type {NoiseModel} from './density.js';
import {objectiveOf} from './density-objective.js';
import {evaluate} from './evaluation.js';
import type {Fit} from './fit.js';
import type {Solved} from './identification.js';
import {denseFactor, factorized} from './least-squares-problem.js';
import type {NoiseState} from './weighing.js';

/** What of an end travels. */
export interface Ending extends Pick<
  Solved,
  'x' | 'cost' | 'status' | 'converged' | 'message' | 'history' | 'evaluations' | 'remarks'
> {
  readonly noise: NoiseState;
  /** R of the Jacobian, [p, p]. */
  readonly r: Float64Array;
  /** Residuals. */
  readonly rows: number;
}

export function endingOf({
  x,
  cost,
  status,
  converged,
  message,
  history,
  evaluations,
  remarks,
  objective,
  factor,
  residuals,
}: Solved): Ending {
  return {
    x,
    cost,
    status,
    converged,
    message,
    history,
    evaluations,
    remarks,
    noise: objective.state,
    r: factor.r,
    rows: residuals.length,
  };
}

/** The whole end again. */
export function solvedOf(
  fit: Fit,
  noise: NoiseModel | undefined,
  {noise: state, r: _r, rows: _rows, ...ending}: Ending,
): Solved {
  const objective = objectiveOf(fit, noise, state);
  const at = factorized(evaluate(objective.linearize(ending.x)), ending.x.length);
  return {...ending, ...at, factor: denseFactor(at.factor), objective};
}
