/**
 * The profile of the likelihood along one estimated number: it is held at values around its estimate, all others are
 * fitted anew, and what the cost rises by is compared with χ² (Venzon & Moolgavkar, Applied Statistics 37, 1988;
 * Raue et al., Bioinformatics 25, 2009). Where the standard error is a parabola, this is the likelihood
 * itself: it shows intervals that are not symmetric, and parameters that the data do not bound. Where residuals are
 * related in time the ratio of likelihoods is λχ², with λ the parameter's variance over that of independent residuals
 * (Kent, Biometrika 69, 1982; Chandler & Bate, Biometrika 94, 2007): the deviance is divided by it, so that profile and
 * standard error are of one model. The coefficients of an autoregression are among what is fitted anew. Those of the
 * largest likelihood are too small (Marriott & Pope, Biometrika 41, 1954), which the fit corrects: there λ is the
 * variance with the fit's coefficients over that with the likeliest ones.
 */
import {OptionError} from '../../lib/errors.js';
import {positiveInteger, optional, positive, readOptions, suggestion, type Options} from '../../lib/checks.js';
import {listed} from '../../lib/text.js';
import {showing, type Shows} from '../report/displayed.js';
import {numberText} from '../report/number-text.js';
import {renderFragment, page as reportPage, type Report} from '../report/report.js';
import type {Chart} from '../report/plot.js';
import {methodOf, objectiveOf} from '../identify/density-objective.js';
import {evaluate, evaluateAsync, type Evaluation} from '../identify/evaluation.js';
import {isFailedSimulation} from '../identify/failed-simulation.js';
import type {Fit} from '../identify/fit.js';
import type {FitRecord} from '../identify/fit-record.js';
import {sourceOf, type FitResult} from '../identify/identification.js';
import {denseFactor, factorized, type ResidualLinearization} from '../identify/least-squares-problem.js';
import {computed, heldProblem, sweepCheck, type HeldProblem} from '../identify/part.js';
import {pause, rounds, type NoisyProblem} from '../identify/solve.js';
import {uncertainty} from '../identify/uncertainty.js';
import type {NoiseState} from '../identify/weighing.js';
import type {ResidualObjective} from '../identify/objective.js';

const profileOptions = {
  /** Number of points on each side of the estimate; default 6. */
  points: optional(positiveInteger, 6),
  /**
   * Largest distance from the estimate, in standard errors; default 3, and more where few degrees of freedom make the
   * interval wider. By default a side whose deviance is past half its 95 % point there goes on in the same steps, at
   * most four times as far. Without a standard error, in units of the estimate. For a positive parameter the steps are
   * equal in its logarithm.
   */
  reach: optional(positive),
  /** Engine that computes the two sides: made by `fitSweep` of stiffgrad/sweep. */
  sweep: optional(sweepCheck),
};

/** Options of `likelihoodProfile`. @interface */
export type ProfileOptions = Options<typeof profileOptions>;

/** The minimum cost with one number held at each of several values. */
export interface LikelihoodProfile extends Shows {
  readonly name: string;
  /** Increasing, including the estimate. Values at which the model cannot be simulated are omitted. */
  readonly values: Float64Array;
  /**
   * Twice the increase of the cost, divided by the variance of a residual and by `uncertainty.inflation`: χ² with one
   * degree of freedom. With `autoregressive` the cost is that of the likelihood with the coefficients estimated anew at
   * each value, and the inflation that of the fit's variance over the likelihood's. With `huber` and `studentT` the
   * variance is that of pseudo-residuals, times the mean of ψ′ of the residuals (Heritier & Ronchetti, JASA 89, 1994).
   */
  readonly deviance: Float64Array;
  /** The 95 % point of the deviance: the square of `uncertainty.quantile`, 3.84 where the variance is known well. */
  readonly level: number;
  /** Values at which the deviance crosses `level`; ±Infinity if it does not within `reach`. */
  readonly interval: readonly [number, number];
  /** Warnings: the data do not bound the parameter; a lower cost than the estimate's was found. */
  readonly warnings: readonly string[];
  /** The deviance over the values with its 95 % level, for a report's `charts`; `unit` of the parameter. */
  chart(unit?: string): Chart;
}

type ProfileNumbers = Omit<LikelihoodProfile, 'html' | 'chart'>;

/** A profile reaches half beyond the interval, to show whether it is a parabola: 3 standard errors by default. */
const REACH = 1.53;

/** A side is followed past the default reach from this share of the level on, at most so many times as far. */
const FARTHER = 4;
const RISEN = 0.5;

/** Below the estimate's cost by this deviance, another minimum has been found; less is what a fit leaves. */
const LOWER = 0.01;
/** An autoregression's estimate is not quite the likeliest: a lower cost within a standard error is no minimum. */
const LOWER_CORRECTED = 1;

/**
 * The minimum cost over all other parameters with one number of them held at values around its estimate, which its
 * standard error approximates by a parabola (Bates & Watts 1988, ch. 6). Also exported as `profile`.
 * @param found the result of `identify`
 * @param name of an estimated number, as in `correlation.labels`: a parameter, an element of one, 'rates[1]', or a
 *   parameter of one record, 'record 2: load'
 * @throws OptionError if there is no such number
 */
export async function likelihoodProfile(
  found: FitResult<unknown, unknown, unknown>,
  name: string,
  options: ProfileOptions = {},
): Promise<LikelihoodProfile> {
  const {points, sweep, ...given} = readOptions(options, profileOptions, 'likelihoodProfile');
  const {problem, fit, record} = sourceOf(found, 'likelihoodProfile');
  const {x} = record;
  const {space} = fit;
  const index = space.labels.indexOf(name);
  if (index < 0) throw noProfile(fit, name);
  const held = heldProblem(problem, fit);
  const estimate = space.natural(x)[index];
  const {standardError, quantile} = found.uncertainty;
  const {reach = REACH * quantile[index]} = given;
  const level = quantile[index] ** 2;
  const reference = await referenceOf(held, record, found, index);
  const error = space.naturalErrors(standardError, x)[index];
  const step = ((Number.isFinite(error) ? error : Math.abs(estimate) || 1) * reach) / points;
  const sides = [-1, 1].map(sign => ({
    ...{name, sign, points, step, ...reference, level: given.reach === undefined ? level : 0},
    x,
  }));
  const [below, above] = await computed(sweep, 'side', held, sides, profileSide);
  const all: readonly (readonly [number, number])[] = [...[...below].reverse(), [estimate, 0], ...above];
  const interval = [crossing(estimate, below, level, -Infinity), crossing(estimate, above, level, Infinity)] as const;
  return shownProfile({
    name,
    values: Float64Array.from(all, ([value]) => value),
    deviance: Float64Array.from(all, ([, deviance]) => deviance),
    level,
    interval,
    warnings: warningsOf(name, interval, all, reference.noise.partial.length > 0),
  });
}

/** `likelihoodProfile`, by its short name. */
export const profile = likelihoodProfile;

/** The reference of both sides: the cost at the estimate, and the noise there. */
type Reference = Pick<ProfileSide, 'scale' | 'cost' | 'noise'>;

async function referenceOf(
  {problem, fit}: HeldProblem,
  {x, cost}: FitRecord,
  {noise: {sd, partial}, uncertainty: {variance, inflation, covariance}}: FitResult<unknown, unknown, unknown>,
  index: number,
): Promise<Reference> {
  const noise = {sd, partial};
  const objective = objectiveOf(fit, problem.noise, noise);
  // Where it is not identified the profile is flat, whatever it is divided by.
  const orElse = (scale: number): number => (Number.isFinite(scale) ? scale : variance);
  const found =
    objective.noise.order === 0 ? undefined : await refit(problem, new HeldCoordinate(objective, index, x[index]), x);
  if (found === undefined)
    return {cost, noise, scale: orElse(variance * inflation[index]) * evaluate(objective.steepness(x))};
  const at = factorized(evaluate(objective.linearize(found.x)), x.length);
  const {independent} = uncertainty({...at, factor: denseFactor(at.factor), cost: found.cost}, {variance: 1});
  const diagonal = index * (x.length + 1);
  return {cost: found.cost, noise: objective.state, scale: orElse(covariance[diagonal] / independent[diagonal])};
}

function noProfile({parameters, space: {labels}}: Fit, name: string): OptionError {
  const several = Object.hasOwn(parameters, name) && labels.some(label => label.startsWith(`${name}[`));
  const hint = several ? ' Name one of its numbers.' : suggestion(name, labels);
  const there = labels.length === 0 ? 'there is none' : `these are: ${listed(labels)}`;
  return new OptionError('bad-profile', `likelihoodProfile: '${name}' is not an estimated number; ${there}.${hint}`, {
    name,
  });
}

function shownProfile(found: ProfileNumbers): LikelihoodProfile {
  const {
    name,
    interval: [low, high],
    warnings,
  } = found;
  const sentence = `${name} lies between ${numberText(low)} and ${numberText(high)} with 95 % confidence.`;
  const page = (): Report => ({
    title: `Profile of ${name}`,
    description: sentence,
    parameters: [],
    fits: [],
    charts: [profileChart(found)],
    warnings,
  });
  return showing(
    found,
    fragment => (fragment ? renderFragment : reportPage)(page()),
    () => [`Profile: ${sentence}`, ...warnings].join('\n  '),
    {chart: (unit?: string) => profileChart(found, unit)},
  );
}

/** One side of a profile, as plain data. */
export interface ProfileSide {
  readonly name: string;
  /** −1: below the estimate. */
  readonly sign: number;
  readonly points: number;
  readonly step: number;
  /** The deviance up to which it is followed past `points`; 0 where it is not. */
  readonly level: number;
  /** Twice the cost over this is the deviance. */
  readonly scale: number;
  readonly cost: number;
  /** Coordinates of the estimate. */
  readonly x: Float64Array;
  readonly noise: NoiseState;
}

/** Values and deviances on one side, away from the estimate; each fit starts where its neighbour's ended. */
export async function profileSide(
  {problem, fit}: Pick<HeldProblem, 'problem' | 'fit'>,
  {name, sign, points, step, level, scale, cost, x: from, noise}: ProfileSide,
): Promise<[number, number][]> {
  const {space} = fit;
  const index = space.labels.indexOf(name);
  const {kind, low, high} = space.moving[index];
  const objective = objectiveOf(fit, problem.noise, noise);
  const list: [number, number][] = [];
  let x = from;
  const estimate = space.natural(x)[index];
  const isOpen = (deviance: number): boolean => deviance >= RISEN * level && deviance < level;
  for (let k = 1; k <= points || (k <= FARTHER * points && isOpen(list[k - 2][1])); k++) {
    const value = kind === 'positive' ? estimate * Math.exp((sign * k * step) / estimate) : estimate + sign * k * step;
    if (!(value > low && value < high)) break;
    const held = new HeldCoordinate(objective, index, space.coordinateOf(value, index));
    const found = await refit(problem, held, x);
    if (found === undefined) break;
    list.push([value, (2 * (found.cost - cost)) / scale]);
    x = found.x;
  }
  return list;
}

/** All coordinates, and the cost with what the likelihood adds to it. */
interface Refitted {
  readonly x: Float64Array;
  readonly cost: number;
}

/** The best fit of the others and of the noise's correlations; undefined where there is no simulation. */
async function refit(
  problem: HeldProblem['problem'],
  held: HeldCoordinate,
  x: Float64Array,
): Promise<Refitted | undefined> {
  const {workers = 0, signal} = problem;
  const released = held.objective.fit.space.released(x);
  const starts = released.every((value, i) => value === x[i]) ? [x] : [x, released];
  let best: Refitted | undefined;
  for (const start of starts) {
    try {
      const found = await evaluateAsync(
        rounds(held, methodOf(problem), held.others(start), () => pause(signal)),
        workers > 0 ? {workers} : undefined,
      );
      const cost = found.cost + held.objective.determinantCost;
      if (best === undefined || cost < best.cost) best = {x: held.whole(found.x), cost};
    } catch (error) {
      if (!isFailedSimulation(error)) throw error;
    }
  }
  return best;
}

/** Where the root of the deviance, a straight line for a parabola, passes that of the level. */
function crossing(estimate: number, side: readonly (readonly [number, number])[], level: number, open: number): number {
  let [last, height] = [estimate, 0];
  for (const [value, deviance] of side) {
    const next = Math.sqrt(Math.max(deviance, 0));
    if (deviance >= level) return last + ((value - last) * (Math.sqrt(level) - height)) / (next - height);
    [last, height] = [value, next];
  }
  return open;
}

function warningsOf(
  name: string,
  [low, high]: readonly [number, number],
  all: readonly (readonly [number, number])[],
  correlated: boolean,
): string[] {
  const open = [
    low === -Infinity ? `below, down to ${numberText(all[0][0])}` : '',
    high === Infinity ? `above, up to ${numberText(all[all.length - 1][0])}` : '',
  ].filter(text => text !== '');
  const lower = all.reduce((best, one) => (one[1] < best[1] ? one : best));
  return [
    ...(open.length === 0
      ? []
      : [
          `The data do not bound ${name} ${open.join(', nor ')}: within this range the other `
            + `parameters${correlated ? ', or the correlation of the noise,' : ''} compensate for it.`,
        ]),
    ...(lower[1] < -(correlated ? LOWER_CORRECTED : LOWER)
      ? [
          `At ${name} = ${numberText(lower[0])} the cost is lower than at the estimate: the fit had found another `
            + 'minimum. Start from there.',
        ]
      : []),
  ];
}

/** For a report's `charts`. */
export function profileChart({name, values, deviance, level}: ProfileNumbers, unit?: string): Chart {
  return {
    title: `Profile of the likelihood along ${name}`,
    x: {label: name, unit},
    y: {label: 'deviance'},
    levels: [{y: level, name: '95 %'}],
    series: [
      {name: 'deviance', x: values, y: deviance},
      {name: 'fits', x: values, y: deviance, style: 'points', color: 0},
    ],
    legend: false,
  };
}

/** The objective of a fit with one coordinate held: a problem of the others. */
class HeldCoordinate implements NoisyProblem {
  readonly magnitude: number;
  readonly kinked: boolean;

  /** @param index of the coordinate that is held at `value` */
  constructor(
    readonly objective: ResidualObjective,
    private readonly index: number,
    private readonly value: number,
  ) {
    this.magnitude = objective.magnitude;
    this.kinked = objective.kinked;
  }

  get state(): NoiseState {
    return this.objective.state;
  }

  /** All coordinates. */
  whole(others: Float64Array): Float64Array {
    const {index, value} = this;
    const x = new Float64Array(others.length + 1);
    x.set(others.subarray(0, index));
    x[index] = value;
    x.set(others.subarray(index), index + 1);
    return x;
  }

  /** The others, of rows of `size` numbers. */
  others(rows: Float64Array, size = rows.length): Float64Array {
    return rows.filter((_, i) => i % size !== this.index);
  }

  *linearize(others: Float64Array): Evaluation<ResidualLinearization> {
    const {residuals, jacobian} = yield* this.objective.linearize(this.whole(others));
    return {residuals, jacobian: this.others(jacobian, others.length + 1)};
  }

  *gradient(others: Float64Array): Evaluation<{readonly cost: number; readonly gradient: Float64Array}> {
    const {cost, gradient} = yield* this.objective.gradient(this.whole(others));
    return {cost, gradient: this.others(gradient)};
  }

  /** A profile varies the correlations of the noise as it does the other coordinates. */
  update({x}: {readonly x: Float64Array}): Evaluation<number> {
    return this.objective.correlate(this.whole(x));
  }

  bound(others: Float64Array): string | undefined {
    return this.objective.bound(this.whole(others));
  }
}
