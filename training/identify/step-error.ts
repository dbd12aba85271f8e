/**
 * Whether the scheme's own error shows in the estimates. Standard errors describe the data alone; with half the step the
 * estimates would move by −(JᵀJ)⁻¹JᵀΔ, where Δ is the change of the simulated outputs: one Gauss–Newton step.
 */
import {evaluate} from './evaluation.js';
import {isFailedSimulation, type Fit} from './fit.js';
import type {Judgeable, Objective} from './objective.js';
import type {Uncertainty} from './uncertainty.js';

/** Residuals this small beside the data, as norms, are those of a simulation by the same steps; no instrument has six more digits. */
const SIMULATED = 1e-6;

/** A sentence where half the step would move an estimate by more than its standard error. */
export function stepWarnings(
  fit: Fit,
  {x, converged, objective}: {readonly x: Float64Array; readonly converged: boolean; readonly objective: Objective},
  {jacobian, cost}: Judgeable,
  {independent, variance, standardError}: Uncertainty,
): string[] {
  const p = x.length;
  if (!converged || p === 0 || !(variance > 0) || cost <= SIMULATED ** 2 * fit.magnitude) return [];
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
  return [
    `The error of the steps is larger than that of the data: with half of dt = ${fit.step} the estimates would move by ${count} standard errors (${fit.space.labels[worst]}). Take a smaller dt, or a scheme of higher order.`,
  ];
}
