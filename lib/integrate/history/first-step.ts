/**
 * The length of a first step from the derivative: a hundredth of the time that would double the state, corrected by how
 * the derivative changes over a trial step of explicit Euler (Hairer, Nørsett & Wanner, Solving ODEs I, §II.4,
 * algorithm of Gladwell, Shampine & Brankin). It costs two evaluations of the derivative.
 */
import type {StepControl} from '../control.js';

/** Evaluations of the derivative by `firstStep`. */
export const evaluationsOfFirst = 2;

/** A state, and the derivative of any state at a time. */
export interface StartMotion {
  readonly state: Float64Array;
  slope(x: Float64Array, t: number): Float64Array;
}

/**
 * Below these a norm says nothing of the motion; the length then taken (their d₀, d₁ < 10⁻⁵, h = 10⁻⁶, and max(d₁, d₂)
 * ≤ 10⁻¹⁵).
 */
const smallestNorm = 1e-5;
const blindLength = 1e-6;
const noDerivative = 1e-15;

/**
 * @param absolute tolerances of the user's blocks, with which a state begins
 * @param end of the run, beyond which no step goes
 */
export function firstStep(
  motion: StartMotion,
  t: number,
  absolute: Float64Array,
  {rtol, max}: StepControl,
  order: number,
  end: number | undefined,
): number {
  const x = motion.state.slice();
  const size = absolute.length;
  const norm = (value: (i: number) => number): number => {
    let sum = 0;
    for (let i = 0; i < size; i++) sum += (value(i) / (absolute[i] + rtol * Math.abs(x[i]))) ** 2;
    return Math.sqrt(sum / size);
  };
  const most = Math.min(max, end === undefined ? Infinity : end - t);
  const slope = motion.slope(x, t).slice();
  const [d0, d1] = [norm(i => x[i]), norm(i => slope[i])];
  const h0 = Math.min(d0 < smallestNorm || d1 < smallestNorm ? blindLength : 0.01 * (d0 / d1), most);
  const later = motion.slope(
    x.map((value, i) => value + h0 * slope[i]),
    t + h0,
  );
  const d2 = norm(i => later[i] - slope[i]) / h0;
  const largest = Math.max(d1, d2);
  const h1 = largest <= noDerivative ? Math.max(blindLength, 1e-3 * h0) : (0.01 / largest) ** (1 / (order + 1));
  const length = Math.min(100 * h0, h1, most);
  return Number.isFinite(length) && length > 0 ? length : blindLength;
}
