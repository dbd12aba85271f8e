/**
 * How far to go along Newton's correction: z − sΔ. The three strategies of equations.md §3; the merit
 * function of both damped ones is g = ½‖F‖₂², whose slope along −Δ is −‖F‖₂² for an exact correction.
 */
import {OptionError} from '../errors.js';
import {positive, refuseUnknownOptions} from '../checks.js';
import {withRecipe} from '../linear/recipe.js';

/** ½‖F‖² at z − sΔ, Infinity where it is not finite; leaves z and the residual there. */
export type StepLengthTrial = (s: number) => number;

/** Strategy for the length of a step; made by `full`, `subSteps` or `backtracking`. */
export interface StepLength {
  readonly name: string;
  /**
   * It always takes the whole correction, so that Newton's method need not evaluate the merit and does not call
   * `choose`.
   */
  readonly isFull?: boolean;
  /**
   * Chooses s, leaving z and the residual at z − sΔ.
   * @param start ½‖F‖² at s = 0
   * @param size ‖Δ‖₂, and `scale` max(‖z‖₂, n), for the longest step
   * @param smallest the s below which z does not change
   * @returns s > 0, or 0 where no step lowers the merit
   */
  choose(trial: StepLengthTrial, start: number, size: number, scale: number, smallest: number): number;
}

/** The whole correction. */
export function full(): StepLength {
  return withRecipe(
    {
      name: 'full',
      isFull: true,
      choose(trial) {
        trial(1);
        return 1;
      },
    },
    'full',
  );
}

/**
 * Takes a fraction of the correction again and again while the residual falls, to at most the whole of it; the step
 * that raises it is undone (the Compliant note, §5). With a fraction near 1 this is full Newton.
 * @throws OptionError unless 0 < fraction < 1
 */
export function subSteps(fraction: number): StepLength {
  if (!(fraction > 0 && fraction < 1))
    throw new OptionError('bad-newton', `subSteps(fraction): fraction must lie between 0 and 1, not ${fraction}.`);
  const most = Math.ceil(1 / fraction);
  return withRecipe(
    {
      name: 'subSteps',
      choose(trial, start) {
        let best = start;
        let s = 0;
        for (let k = 1; k <= most; k++) {
          const next = Math.min(k * fraction, 1);
          const merit = trial(next);
          if (!(merit < best)) {
            trial(s);
            return s;
          }
          best = merit;
          s = next;
        }
        return s;
      },
    },
    'subSteps',
    {fraction},
  );
}

/** Options of `backtracking`. */
export interface BacktrackingOptions {
  /** Least share of the predicted decrease that is accepted; default 1e-4 (Dennis & Schnabel 1983, §6.3). */
  readonly decrease?: number;
  /** Longest step as a multiple of max(‖z‖, n); default 100 (Numerical Recipes, STPMX). */
  readonly longest?: number;
}

/**
 * The globally convergent line search of Numerical Recipes §9.7: quadratic, then cubic models of the
 * merit, each new step within [0.1, 0.5] of the last.
 */
export function backtracking(options: BacktrackingOptions = {}): StepLength {
  refuseUnknownOptions(options, {decrease: positive, longest: positive}, 'backtracking', 'bad-newton');
  const {decrease = 1e-4, longest = 100} = options;
  if (!(decrease > 0 && decrease < 0.5))
    throw new OptionError('bad-newton', `backtracking: decrease must lie between 0 and 0.5, not ${decrease}.`);
  if (!(longest > 0)) throw new OptionError('bad-newton', `backtracking: longest must be positive, not ${longest}.`);
  return withRecipe(
    {
      name: 'backtracking',
      choose(trial, start, size, scale, smallest) {
        const slope = -2 * start;
        let s = Math.min(1, (longest * scale) / size);
        let previous = 0;
        let before = 0;
        for (;;) {
          const merit = trial(s);
          if (merit <= start + decrease * s * slope) return s;
          if (s <= smallest) {
            trial(0);
            return 0;
          }
          let next = s * 0.5;
          if (merit < Infinity) {
            next =
              previous === 0 || !(before < Infinity)
                ? quadratic(s, merit, start, slope)
                : cubic(s, merit, previous, before, start, slope);
          }
          previous = s;
          before = merit;
          // Values near overflow give models that are not finite.
          s = Number.isNaN(next) ? 0.5 * s : Math.min(Math.max(next, 0.1 * s), 0.5 * s);
        }
      },
    },
    'backtracking',
    {decrease, longest},
  );
}

/** Minimum of the parabola through g(0), g'(0), g(s). */
function quadratic(s: number, merit: number, start: number, slope: number): number {
  return (-slope * s * s) / (2 * (merit - start - slope * s));
}

/** Minimum of the cubic through g(0), g'(0), g(s), g(previous). */
function cubic(s: number, merit: number, previous: number, before: number, start: number, slope: number): number {
  const r1 = (merit - start - slope * s) / (s * s);
  const r2 = (before - start - slope * previous) / (previous * previous);
  const a = (r1 - r2) / (s - previous);
  const b = (s * r2 - previous * r1) / (s - previous);
  if (a === 0) return -slope / (2 * b);
  const discriminant = b * b - 3 * a * slope;
  if (discriminant < 0) return 0.5 * s;
  return b <= 0 ? (-b + Math.sqrt(discriminant)) / (3 * a) : -slope / (b + Math.sqrt(discriminant));
}
