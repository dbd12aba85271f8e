/** Starts of a fit as parts (part.ts): coordinates there, the end of the fit back. */
import {endingOf, type Ending} from './ending.js';
import type {Compared} from './starts.js';
import type {Fit} from './fit.js';
import {heldProblem, swept, type DividedProblem, type HeldProblem, type PartSweep} from './part.js';
import {attempt, gathered, type AllSolved, type Attempt} from './solve.js';

/** A start, as plain data. */
export interface StartData {
  readonly number: number;
  readonly x: Float64Array;
  /** The only one: its failure is the fit's. */
  readonly only: boolean;
}

/** An end that was reached elsewhere. */
export interface SweptEnd extends Compared {
  readonly ending: Ending;
}

/** As `solveAll`, by the processes of a sweep. */
export async function sweepAll(
  problem: DividedProblem,
  fit: Fit,
  points: readonly Float64Array[],
  sweep: PartSweep,
): Promise<AllSolved<SweptEnd>> {
  const starts = points.map((x, number): StartData => ({number, x, only: points.length === 1}));
  const attempts = await swept<Attempt<Ending>>(sweep, 'start', heldProblem(problem, fit), starts);
  const {solved, warnings} = gathered(attempts);
  return {
    warnings,
    solved: solved.map(ending => ({
      ...ending,
      factor: {r: ending.r, p: ending.x.length},
      residuals: {length: ending.rows},
      ending,
    })),
  };
}

/** One start, wherever it is computed. */
export async function startPart({problem, fit}: HeldProblem, {number, x, only}: StartData): Promise<Attempt<Ending>> {
  const found = await attempt(problem, fit, x, {number, only});
  return 'solved' in found ? {solved: endingOf(found.solved)} : found;
}
