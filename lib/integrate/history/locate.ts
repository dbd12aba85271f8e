/**
 * The step that ends where an event's function is zero: its length is found with actual steps of the
 * scheme, starting from the zero of the dense output, so that the state there is the scheme's own
 * and the event's time an exact function of the preceding run.
 */
import type {Failure} from '../counters.js';
import type {Integrator, CompletedStep} from './integrator.js';
import type {Crossing} from './watch.js';

/**
 * The dense output's place is good to the scheme's order, and a few secants follow; where the function is flat
 * bisection goes on to the rounding, in 60.
 */
const mostSteps = 100;

/** Lengths this close in share of the step give differences of the event's function that are rounding, and no slope. */
const tooClose = 1e-7;

/** What is left at a zero, in share of the step's length, where the function's own rounding allows no less. */
const roundingShare = 1e-6;

export type Located = {readonly step: CompletedStep} | {readonly failed: Failure} | 'none';

/**
 * @param tolerance of the event's time
 * @returns 'none' where the scheme's own states do not reach zero: the dense output grazed it
 */
export function locate(integrator: Integrator, whole: CompletedStep, crossing: Crossing, tolerance: number): Located {
  const {t, h: H, x} = whole;
  const sign = crossing.rising ? -1 : 1;
  let [low, high] = [crossing.low * H, crossing.high * H];
  let slope = crossing.slope / H;
  let h = crossing.theta * H;
  // The step's own end is a state of the scheme; a turn within it is known from the dense output alone.
  let crossed = crossing.high === 1;
  let uncrossed = !crossing.later;
  let [lastH, lastE, lastMove] = [NaN, NaN, Infinity];
  for (let k = 0; k < mostSteps; k++) {
    const status = integrator.take(x, t, h);
    if (status !== 'completed') return {failed: status as Failure};
    const e = integrator.events(integrator.state, t + h).e[crossing.event];
    if (Math.abs(h - lastH) > tooClose * H) {
      const secant = (e - lastE) / (h - lastH);
      if (Math.sign(secant) === -sign) slope = secant;
    }
    const move = -e / slope;
    const stalled = Math.abs(move) <= roundingShare * H && Math.abs(move) > lastMove / 2;
    if (e === 0 || Math.abs(move) <= tolerance || stalled) return found(integrator, whole, h);
    if (Math.sign(e) === sign) {
      low = Math.max(low, h);
      uncrossed = true;
    } else {
      high = Math.min(high, h);
      crossed = true;
    }
    if (high - low <= tolerance) break;
    [lastH, lastE, lastMove] = [h, e, Math.abs(move)];
    const next = h + move;
    h = next > low && next < high ? next : (low + high) / 2;
  }
  if (!crossed || !uncrossed) return 'none';
  // A function that jumps has crossed at the end of its step, or it would at once cross again.
  if (crossing.jumps && h !== high) {
    h = high;
    const status = integrator.take(x, t, h);
    if (status !== 'completed') return {failed: status as Failure};
  }
  return found(integrator, whole, h);
}

function found(integrator: Integrator, {t, h: H, x, end}: CompletedStep, h: number): Located {
  return {step: integrator.completedStep(x, t, h, h === H ? end : t + h)};
}
