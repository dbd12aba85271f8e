/**
 * Analyses in parts: starts of a fit, sides of a profile, replicates of a bootstrap, folds of a cross-validation, chains of
 * a posterior. A part is a function of the problem and of plain data, so that it can be computed wherever a module that
 * exports the same problem can be loaded; `sweep` of these analyses says where, and changes no bit of what they find.
 */
import {OptionError} from '../../lib/errors.js';
import type {Checks} from '../../lib/checks.js';
import {checkRecords, Fit} from './fit.js';
import type {Solvable} from './solve.js';
import type {MeasuredRecord} from './records.js';

/** One part of an analysis: its kind, its problem, and its data. */
export interface PartCase {
  readonly part: string;
  /** Fingerprint of the problem's records and parameters: a task with another problem refuses the part. */
  readonly of: string;
  readonly [name: string]: unknown;
}

/** Where parts are computed; made by `fitSweep` of stiffgrad/sweep. */
export interface PartSweep {
  /** The parts' results in their order. @throws (rejects) if one has none */
  compute(parts: readonly PartCase[], signal?: AbortSignal): Promise<readonly unknown[]>;
}

export const sweepCheck: Checks[string] = {
  what: 'made by fitSweep of stiffgrad/sweep',
  test: value => typeof value === 'object' && value !== null && 'compute' in value,
};

/** A problem as its parts ask for it. */
export interface DividedProblem extends Solvable {
  readonly data: MeasuredRecord | readonly MeasuredRecord[];
  readonly sweep?: PartSweep;
}

/** A problem, and what is made of it once. */
export interface HeldProblem<P extends DividedProblem = DividedProblem> {
  readonly problem: P;
  readonly fit: Fit;
  readonly of: string;
}

export function heldProblem<P extends DividedProblem>(
  problem: P,
  fit = new Fit(problem, checkRecords(problem, problem.data)),
): HeldProblem<P> {
  const {scheme, dt, method, noise, shooting, events, control, stabilization, consistent, precision} = problem;
  const {space, observations, magnitude} = fit;
  const of = JSON.stringify([
    space.labels,
    Array.from(space.start),
    [observations, magnitude, dt, shooting?.segments ?? 1],
    [scheme?.name, method?.name, noise?.name].map(name => name ?? 'default'),
    ...(events === undefined ? [] : [events.map(({name, direction}) => [name, direction])]),
    ...[control, stabilization, consistent, precision].filter(option => option !== undefined),
  ]);
  return {problem, fit, of};
}

/** The results of parts with these data, in their order. */
export async function swept<R>(
  sweep: PartSweep,
  part: string,
  {of, problem: {signal}}: HeldProblem,
  data: readonly object[],
): Promise<readonly R[]> {
  return (await sweep.compute(
    data.map(one => ({...one, part, of})),
    signal,
  )) as readonly R[];
}

/** @throws OptionError 'other-problem' */
export function requireSameProblem(held: HeldProblem, {of}: PartCase): void {
  if (held.of === of) return;
  throw new OptionError(
    'other-problem',
    `The task's problem is not the analysed one: records, parameters, guesses, method or noise differ (${held.of} there, ${of} here). Import the same problem in both.`,
  );
}
