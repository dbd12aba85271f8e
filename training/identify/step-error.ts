/**
 * Whether the scheme's own error shows in the estimates. Standard errors describe the data alone; with half the step
 * the estimates would move by −(JᵀJ)⁻¹JᵀΔ, where Δ is the change of the simulated outputs: one Gauss–Newton step.
 */
import {evaluate} from './evaluation.js';
import {isFailedSimulation} from './failed-simulation.js';
import type {Fit} from './fit.js';
import type {FitRecord} from './fit-record.js';
import type {LinearFit, ResidualObjective} from './objective.js';
import type {Uncertainty} from './uncertainty.js';

/**
 * Residuals this small beside the data, as norms, are rounding. Data of the fit's own scheme and dt leave 4e-16 to
 * 5e-14 after 200 steps of eleven schemes; the rest is for programs that round otherwise in each of 10⁵ steps and more.
 * Data of another model that are as near cannot be told from them: the midpoint rule makes of an oscillator one of
 * another stiffness, to the last digit.
 */
const ROUNDED = 1e-10;

/** No instrument has six digits more than what it measures: the data are another simulation, or a formula. */
const COMPUTED = 1e-6;

/** A sentence where half the step would move an estimate by more than its standard error. */
export function stepWarnings(
  fit: Fit,
  {x, converged}: FitRecord,
  objective: ResidualObjective,
  {jacobian, cost, factor}: LinearFit,
  {independent, variance, standardError}: Uncertainty,
): string[] {
  const p = x.length;
  // Scores of a density do not tell how far an error of the residuals moves the estimate.
  if (!converged || p === 0 || !(variance > 0) || objective.noise.name === 'density') return [];
  // What the parameters could still take away is no difference from the data, but left by a fit that ended before.
  const left = cost - factor.projected(factor.columnNorms()).inside / 2;
  if (left <= Math.max(ROUNDED, fit.rounding) ** 2 * fit.magnitude) return [];
  const finer = fit.finer();
  if (finer === undefined) return [];
  let change: Float64Array;
  try {
    const [coarse, fine] = [fit, finer].map(one => evaluate(one.residuals(x)));
    change = objective.whitened(fine.map((r, i) => r - coarse[i]));
  } catch (error) {
    if (isFailedSimulation(error)) return [];
    throw error;
  }
  const scores = new Float64Array(p);
  change.forEach((r, row) => {
    if (r !== 0) for (let j = 0; j < p; j++) scores[j] += jacobian[row * p + j] * r;
  });
  let [most, worst] = [0, -1];
  for (let i = 0; i < p; i++) {
    let move = 0;
    for (let j = 0; j < p; j++) {
      const covariance = independent[i * p + j];
      if (Number.isFinite(covariance)) move += (covariance / variance) * scores[j];
    }
    const errors = Math.abs(move) / standardError[i];
    if (errors > most) [most, worst] = [errors, i];
  }
  if (most <= 1) return [];
  // The step is linear: of large moves it tells that they are large.
  const count = most < 100 ? `up to ${most.toPrecision(2)}` : 'over 100';
  const computed =
    cost <= COMPUTED ** 2 * fit.magnitude
      ? ' The data agree with the model to six digits and more, so they are computed: if by these very steps, nothing '
        + 'is to be changed.'
      : '';
  return [
    `The error of the steps is larger than that of the data: with half of dt = ${fit.step} the estimates would move `
      + `by ${count} standard errors (${fit.space.labels[worst]}). Take a smaller dt, or a scheme of higher `
      + `order.${computed}`,
  ];
}
