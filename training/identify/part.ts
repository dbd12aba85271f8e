/**
 * Analyses in parts: starts of a fit, sides of a profile, replicates of a bootstrap, folds of a cross-validation,
 * chains of a posterior. A part is a function of the problem and of plain data, so that it can be computed wherever a
 * module that exports the same problem can be loaded; `sweep` of these analyses says where, and changes no bit of what
 * they find.
 */
import {OptionError, StiffgradError} from '../../lib/errors.js';
import type {Check} from '../../lib/checks.js';
import {ContentHash} from '../data/fingerprint.js';
import {Density, isDensity, type NoiseDensity} from './density.js';
import {checkRecords, Fit} from './fit.js';
import {withoutLinearization, type Attempt} from './fit-record.js';
import {attempt, gathered, type FitProblem, type Fits, type PartCase, type PartSweep} from './solve.js';

export const sweepCheck: Check<PartSweep> = {
  what: 'made by fitSweep of stiffgrad/sweep',
  test: value => typeof value === 'object' && value !== null && 'compute' in value,
};

/** A problem, and what is made of it once. */
export interface HeldProblem {
  readonly problem: FitProblem;
  readonly fit: Fit;
  /** The identity of the problem, computed at the first call. */
  readonly of: () => Promise<string>;
}

export function heldProblem(
  problem: FitProblem,
  fit = new Fit(problem, checkRecords(problem, problem.data)),
): HeldProblem {
  let of: Promise<string> | undefined;
  return {problem, fit, of: () => (of ??= contentsOf(problem, fit))};
}

/** Options that belong to a single part, or that change no number. */
const notOfProblem = ['sweep', 'starts', 'seed', 'workers', 'signal', 'onProgress'];
/** Options whose functions are traced: they count by their graphs. */
const traced = ['system', 'observe', 'events', 'scheme', 'inputs', 'initial', 'data', 'earlyStopping'];
/** Digits of each option's hash: no two problems ever meet. */
const digits = 16;

/** By option a hash of its contents, 'data=0123456789abcdef dt=…'. */
async function contentsOf(problem: FitProblem, fit: Fit): Promise<string> {
  const options = Object.entries(problem).filter(
    ([name, value]) =>
      value !== undefined && !notOfProblem.includes(name) && !(name === 'noise' && isDensity(problem.noise)),
  );
  const known = [
    ...options,
    ['simulation', simulationOf(fit)] as const,
    ...(isDensity(problem.noise) ? [['noise', probed(problem.noise, fit)] as const] : []),
  ];
  const hashes = known.map(async ([name, value]) => {
    const contents = new ContentHash();
    // A method of this package has its settings as data. What else has functions counts by their text.
    const isKnown = traced.includes(name) || (name === 'method' && 'settings' in (value as object));
    await contents.add(value, isKnown ? undefined : String);
    return `${name}=${(await contents.end()).slice(0, digits)}`;
  });
  return (await Promise.all(hashes)).sort().join(' ');
}

/** A density counts by its values about what was measured, as its text does not tell the constants that it reads. */
function probed(noise: NoiseDensity, fit: Fit): object {
  const density = new Density(noise, fit.noiseNames);
  const guess = fit.space.values(fit.space.start);
  return Array.from({length: fit.records}, (_, record) => {
    const rows = fit.rowsOf(record);
    const residuals = rows.measured.map((value, i) => ((i % 7) - 3) * (1 + Math.abs(value)) * 0.1);
    return density.at(
      {...rows, residuals},
      density.names.map(name => guess[name][0]),
    );
  });
}

/** A guess at which the problem cannot be simulated is an error of its part, not of its identity. */
function simulationOf(fit: Fit): unknown {
  try {
    return fit.contents();
  } catch (error) {
    if (!(error instanceof StiffgradError)) throw error;
    return error.message;
  }
}

/**
 * The results of parts with these data, in their order: by a sweep, or here one after another.
 * @param kind of the parts, by which a task finds `compute`
 */
export async function computed<Data extends object, R>(
  sweep: PartSweep | undefined,
  kind: string,
  held: HeldProblem,
  data: readonly Data[],
  compute: (held: HeldProblem, data: Data) => Promise<R>,
): Promise<readonly R[]> {
  if (sweep !== undefined) {
    const of = await held.of();
    const parts = data.map(one => ({...one, part: kind, of}));
    return (await sweep.compute(parts, held.problem.signal)) as readonly R[];
  }
  const results: R[] = [];
  for (const one of data) results.push(await compute(held, one));
  return results;
}

/** @throws OptionError 'other-problem' */
export async function requireSameProblem(held: HeldProblem, {of}: PartCase): Promise<void> {
  const own = await held.of();
  if (own === of) return;
  const [here, there] = [own, of].map(text => text.split(' '));
  const differ = [...here.filter(one => !there.includes(one)), ...there.filter(one => !here.includes(one))];
  const names = [...new Set(differ.map(one => one.split('=')[0]))];
  throw new OptionError(
    'other-problem',
    `The task's problem is not the analysed one: these options differ: ${names.join(', ')} (simulation: what its `
      + 'functions compute). Import the same problem in both, with the same files.',
    {differ: names},
  );
}

/** A start of a fit, as plain data. */
export interface StartData {
  readonly number: number;
  readonly x: Float64Array;
  /** The only one: its failure is the fit's. */
  readonly only: boolean;
}

/** As `solveAll`, by the processes of a sweep. */
export async function sweepAll(
  problem: FitProblem,
  fit: Fit,
  points: readonly Float64Array[],
  sweep: PartSweep,
): Promise<Fits> {
  const starts = points.map((x, number): StartData => ({number, x, only: points.length === 1}));
  return gathered(await computed(sweep, 'start', heldProblem(problem, fit), starts, startPart));
}

/** One start, wherever it is computed. */
export async function startPart({problem, fit}: HeldProblem, {number, x, only}: StartData): Promise<Attempt> {
  const found = await attempt(problem, fit, x, {number, only});
  return 'failure' in found ? found : withoutLinearization(found);
}
