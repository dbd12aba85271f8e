/** A fit in rounds: parameters and what is not known of the noise by turns, until neither moves; one round where the noise is known or does not matter. */
import {advanced, type Evaluation, type Steps} from './evaluation.js';
import {
  stepsOf,
  type EvaluatedProblem,
  type LeastSquaresIteration,
  type LeastSquaresMethod,
  type LeastSquaresResult,
} from './least-squares-problem.js';

/** Of the noise's scale, relative, and its correlations: what a fit's own tolerances leave of an estimate. */
const SETTLED = 1e-7;

/** A method that ends without convergence, as Adam does, has that many rounds: one at the guess's noise, and one at its own. */
const UNCONVERGED = 2;

/** Turns converge by the share of the data that the parameters take, a few digits each; a noise that has not settled by then is told. */
const ROUNDS = 50;

/** A problem whose noise is estimated between rounds. */
export interface NoisyProblem extends EvaluatedProblem {
  /** The noise anew from the end of a round. @returns by how much it changed */
  update(found: LeastSquaresResult): Evaluation<number>;
}

export interface Fitted extends LeastSquaresResult {
  /** What the rounds have to say. */
  readonly remarks: readonly string[];
}

/** @returns the last round's result, with the history and the evaluations of all */
export function* rounds(
  objective: NoisyProblem,
  method: LeastSquaresMethod,
  start: Float64Array,
): Steps<LeastSquaresIteration, Fitted> {
  const history: LeastSquaresIteration[] = [];
  let x = start;
  let evaluations: LeastSquaresResult['evaluations'] = {residuals: 0, jacobians: 0, failed: 0};
  for (let round = 1; ; round++) {
    const found = yield* numbered(stepsOf(method, objective, x), history);
    const {residuals, jacobians, failed, failure = evaluations.failure} = found.evaluations;
    evaluations = {
      residuals: evaluations.residuals + residuals,
      jacobians: evaluations.jacobians + jacobians,
      failed: evaluations.failed + failed,
      failure,
    };
    const change = yield* objective.update(found);
    if (change <= SETTLED || (!found.converged && round >= UNCONVERGED))
      return {...found, history, evaluations, remarks: []};
    if (round === ROUNDS)
      return {
        ...found,
        history,
        evaluations,
        remarks: [
          `The noise was estimated ${ROUNDS} times and still changes by ${change.toPrecision(2)}: use a simpler model of the noise, or a known sd.`,
        ],
      };
    x = found.x;
  }
}

/** The iterations numbered on from the rounds before; a round begins where the last one ended, which is not told twice. */
function* numbered(
  iterations: Steps<LeastSquaresIteration, LeastSquaresResult>,
  history: LeastSquaresIteration[],
): Steps<LeastSquaresIteration, LeastSquaresResult> {
  for (;;) {
    const {done, value} = yield* advanced(iterations);
    if (done === true) return value;
    if (history.length > 0 && value.iteration === 0) continue;
    const next = {...value, iteration: history.length};
    history.push(next);
    yield next;
  }
}
