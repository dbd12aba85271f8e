/**
 * A zero of a function of one number within a bracket: Chandrupatla's method (1997), inverse quadratic
 * interpolation if the function is smooth enough, otherwise bisection. It needs no derivative
 * and never more than about the square of bisection's evaluations, in practice a few.
 */

/** Bisection alone meets the spacing of doubles in 60 from any bracket in [0, 1]. */
const mostEvaluations = 120;

/** @param tolerance half the width of the bracket that is left */
export function root(
  f: (x: number) => number,
  low: number,
  atLow: number,
  high: number,
  atHigh: number,
  tolerance: number,
): number {
  let [x0, f0, x1, f1] = [high, atHigh, low, atLow];
  let [x2, f2] = [x1, f1];
  let share = 0.5;
  for (let k = 0; k < mostEvaluations; k++) {
    const x = x0 + share * (x1 - x0);
    const value = f(x);
    if (Math.sign(value) === Math.sign(f0)) [x2, f2] = [x0, f0];
    else [x2, f2, x1, f1] = [x1, f1, x0, f0];
    [x0, f0] = [x, value];
    const best = Math.abs(f0) < Math.abs(f1) ? x0 : x1;
    const least = (2 * Number.EPSILON * Math.abs(best) + tolerance) / Math.abs(x1 - x0);
    if (least > 0.5 || f0 === 0) return best;
    share = Math.min(Math.max(interpolated(x0, f0, x1, f1, x2, f2), least), 1 - least);
  }
  return Math.abs(f0) < Math.abs(f1) ? x0 : x1;
}

function interpolated(x0: number, f0: number, x1: number, f1: number, x2: number, f2: number): number {
  const xi = (x0 - x1) / (x2 - x1);
  const phi = (f0 - f1) / (f2 - f1);
  if (!(phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)) return 0.5;
  return (f0 / (f1 - f0)) * (f2 / (f1 - f2)) + ((x2 - x0) / (x1 - x0)) * (f0 / (f2 - f0)) * (f1 / (f2 - f1));
}
