/**
 * Cross-validation (Stone, Journal of the Royal Statistical Society B 36, 1974): each part of the data is left out of a
 * fit once, and tells how well that fit meets what it has not seen. Several records are left out whole; one record in
 * blocks of samples.
 */
import {OptionError} from '../../lib/errors.js';
import {listed} from '../../lib/text.js';
import {positiveInteger, optional, readOptions, nonNegativeInteger, type Options} from '../../lib/checks.js';
import {domainOf, extrapolation, type Visit} from '../data/extrapolation.js';
import {Fit} from '../identify/fit.js';
import {sourceOf, type FitResult, type Identification} from '../identify/identification.js';
import {identifyFit, identifyWith} from '../identify/identify.js';
import {computed, heldProblem, sweepCheck, type HeldProblem} from '../identify/part.js';
import type {Channel, CheckedRecord, MeasuredRecord} from '../identify/records.js';
import {slicedVisit} from '../identify/visit.js';
import {goodnessOfFit, together} from '../report/residual-statistics.js';

const foldOptions = {
  /** Default 5, or the number of records if that is smaller. */
  folds: optional(positiveInteger),
  /**
   * Number of first samples of a left-out record that determine its own initial state and parameters, as in `validate`;
   * they are not compared. Default 0: the record's own parameters are estimated from all of its samples, with a
   * warning. Without effect for a single record.
   */
  warmUp: optional(nonNegativeInteger, 0),
  /** Engine that computes the folds: made by `fitSweep` of stiffgrad/sweep. */
  sweep: optional(sweepCheck),
};

/** Options of `crossValidate`. @interface */
export type CrossValidationOptions = Options<typeof foldOptions>;

/** One fold. */
export interface Fold {
  /** The left-out data: names of records, or 'samples 20 … 39'. */
  readonly leftOut: string;
  /** Root mean square of measured − simulated over the left-out data, unweighted. */
  readonly rmse: number;
  /** Number of compared values. */
  readonly samples: number;
  readonly estimate: Identification['estimate'];
  readonly converged: boolean;
  /** Warnings of the validation on the left-out data, also of what goes beyond the other data. */
  readonly warnings: readonly string[];
}

/**
 * Errors of fits on data that they were not fitted to. The blocks of a single record share its conditions: its slow
 * drifts, its amplitudes, its temperature. Their error is that of a gap in this record, and does not tell of another.
 */
export interface CrossValidation {
  readonly folds: readonly Fold[];
  /** Root mean square over all left-out data. */
  readonly rmse: number;
  readonly warnings: readonly string[];
}

/** A fold, as plain data. */
export interface FoldData {
  /** Records left out, by number; none of a single record. */
  readonly records: readonly number[];
  /** For a single record: its samples from … to − 1. */
  readonly from: number;
  readonly to: number;
  readonly warmUp: number;
  /** Options of each fit, as in `identify`. */
  readonly starts: number;
  readonly seed: number;
}

/**
 * Fits without each part of the data in turn, and evaluates the fit on that part. Records left out whole tell of new
 * records; blocks of a single record do not.
 * @param found the result of `identify`, whose problem is fitted again
 * @throws OptionError; (rejects) errors of `identify` in a fold
 */
export async function crossValidate(
  found: FitResult<unknown, unknown, unknown>,
  options: CrossValidationOptions = {},
): Promise<CrossValidation> {
  const {warmUp, sweep, ...asked} = readOptions(options, foldOptions, 'crossValidate');
  const {problem, fit} = sourceOf(found, 'crossValidate');
  const held = heldProblem(problem, fit);
  const {starts = 1, seed = 1} = problem;
  const parts = foldsOf(fit.measured, asked.folds).map(one => ({...one, warmUp, starts, seed}));
  const folds = await computed(sweep, 'fold', held, parts, fold);
  const total = folds.reduce((sum, {samples}) => sum + samples, 0);
  const lost = folds.filter(({converged}) => !converged).map(({leftOut}) => leftOut);
  return {
    folds,
    rmse: Math.sqrt(folds.reduce((sum, {rmse, samples}) => sum + samples * rmse ** 2, 0) / total),
    warnings: [
      ...(lost.length === 0 ? [] : [`The fits without ${listed(lost, 4)} did not converge.`]),
      ...folds.flatMap(({warnings}) => warnings),
    ],
  };
}

/** Default folds: 5 or 10 are usual (Hastie, Tibshirani & Friedman, Elements of Statistical Learning, §7.10). */
const USUAL = 5;

function foldsOf(
  records: readonly CheckedRecord[],
  asked: number | undefined,
): Pick<FoldData, 'records' | 'from' | 'to'>[] {
  const single = records.length === 1;
  const most = single ? records[0].t.length : records.length;
  const folds = asked ?? Math.min(USUAL, most);
  if (folds < 2 || folds > most)
    throw new OptionError(
      'bad-option',
      `crossValidate: folds is ${folds}, but must be from 2 to ${most}, the number of `
        + `${single ? 'samples' : 'records'}.`,
      {option: 'folds', value: folds},
    );
  const bound = (k: number): number => Math.round((k * most) / folds);
  return Array.from({length: folds}, (_, k) => {
    const [from, to] = [bound(k), bound(k + 1)];
    return single
      ? {records: [], from, to}
      : {records: Array.from({length: to - from}, (_one, i) => from + i), from: 0, to: 0};
  });
}

/** One fold, wherever it is computed. */
export function fold(held: HeldProblem, data: FoldData): Promise<Fold> {
  const {records, starts, seed} = data;
  const own = {...held, problem: {...held.problem, starts, seed, sweep: undefined, onProgress: undefined}};
  return records.length > 0 ? withoutRecords(own, data) : withoutSamples(own, data);
}

async function withoutRecords({problem, fit}: HeldProblem, data: FoldData): Promise<Fold> {
  const all = problem.data as readonly MeasuredRecord[];
  const named = all.map((record, i) => ({...record, name: fit.measured[i].name}));
  const out = (_: unknown, i: number): boolean => data.records.includes(i);
  const found = await identifyWith({
    ...problem,
    data: named.filter((one, i) => !out(one, i)),
  });
  for (const trajectory of found.trajectories) trajectory.dispose();
  const judged = await found.validate(named.filter(out), {warmUp: data.warmUp});
  const numbers = judged.flatMap(({series}) => series);
  return {
    ...errorOf(numbers),
    leftOut: named
      .filter(out)
      .map(({name}) => name)
      .join(', '),
    estimate: {...found.estimate},
    converged: found.converged,
    warnings: judged.flatMap(({warnings}) => warnings),
  };
}

async function withoutSamples({problem, fit}: HeldProblem, {from, to}: FoldData): Promise<Fold> {
  const [record] = fit.measured;
  const channels = record.channels.map((channel): Channel => {
    const {weights, outputs} = channel;
    return {...channel, weights: weights.map((weight, i) => (i >= from * outputs && i < to * outputs ? 0 : weight))};
  });
  const seen = new Fit(problem, [{...record, channels}], fit);
  const found = await identifyFit(problem, seen);
  const [path] = found.trajectories;
  const pairs = record.channels.map(({simulated, measured, weights, outputs}) => {
    const series = path.values(simulated);
    const kept = Array.from({length: (to - from) * outputs}, (_, i) => from * outputs + i).filter(i => weights[i] > 0);
    return {measured: Float64Array.from(kept, i => measured[i]), simulated: Float64Array.from(kept, i => series[i])};
  });
  // The whole record's measurements, with the states by the fit without the block.
  const {x} = sourceOf(found, 'crossValidate').record;
  const [visit] = fit.visits(x, found.trajectories);
  for (const trajectory of found.trajectories) trajectory.dispose();
  const part = (first: number, end: number): Visit => slicedVisit(visit, first, end);
  const others = [part(0, from), part(to, record.t.length)];
  const leftOut = `samples ${from} … ${to - 1}`;
  return {
    ...errorOf(pairs),
    leftOut,
    estimate: {...found.estimate},
    converged: found.converged,
    warnings: [...extrapolation(domainOf(others), part(from, to), leftOut).warnings],
  };
}

function errorOf(
  pairs: readonly {readonly measured: Float64Array; readonly simulated: Float64Array}[],
): Pick<Fold, 'rmse' | 'samples'> {
  const {rmse, samples} = together(pairs.map(({measured, simulated}) => goodnessOfFit(measured, simulated)));
  return {rmse: samples === 0 ? 0 : rmse, samples};
}
