/**
 * The profile of the likelihood along one parameter: it is held at values around its estimate, all others are
 * fitted anew, and what the cost rises by is compared with χ² (Venzon & Moolgavkar, Applied Statistics 37, 1988;
 * Raue et al., Bioinformatics 25, 2009). Where the standard error is a parabola, this is the likelihood
 * itself: it shows intervals that are not symmetric, and parameters that the data do not bound. Where residuals are
 * related in time the ratio of likelihoods is λχ², with λ the parameter's variance over that of independent residuals
 * (Kent, Biometrika 69, 1982; Chandler & Bate, Biometrika 94, 2007): the deviance is divided by it, so that profile and
 * standard error are of one model.
 */
import {OptionError} from '../../lib/errors.js';
import {count, positive, refuseUnknownOptions} from '../../lib/checks.js';
import {showing, type Shows} from '../report/displayed.js';
import {numberText} from '../report/number-text.js';
import {renderFragment, renderReport, type Report} from '../report/report.js';
import type {Chart} from '../report/plot.js';
import type {Found} from './identification.js';
import type {AnyProblem, Identification, IdentificationProblem} from './identify.js';
import {identifyWith} from './identify.js';
import {isFailedSimulation} from './fit.js';
import type {NoiseState} from './weighing.js';
import {heldProblem, swept, sweepCheck, type PartSweep} from './part.js';
import type {Parameter, Parameters} from './parameters.js';
import {fixed, guessing} from './parameters.js';
import {priorCostOf} from './priors.js';

/** Options of `likelihoodProfile`. */
export interface ProfileOptions {
  /** Number of points on each side of the estimate; default 6. */
  readonly points?: number;
  /**
   * Largest distance from the estimate, in standard errors; default 3. Without a standard error, in units of the
   * estimate. For a positive parameter the steps are equal in its logarithm.
   */
  readonly reach?: number;
  /** Where its two sides are computed: made by `fitSweep` of stiffgrad/sweep. */
  readonly sweep?: PartSweep;
}

/** The minimum cost with one parameter fixed at each of several values. */
export interface LikelihoodProfile extends Shows {
  readonly name: string;
  /** Increasing, including the estimate. Values at which the model cannot be simulated are omitted. */
  readonly values: Float64Array;
  /**
   * Twice the increase of the cost, divided by the variance of a residual and by `uncertainty.inflation`: χ² with one
   * degree of freedom.
   */
  readonly deviance: Float64Array;
  /** Where the deviance crosses 3.84, the 95 % point of χ²; ±Infinity if it does not within `reach`. */
  readonly interval: readonly [number, number];
  /** Warnings: the data do not bound the parameter; a lower cost than the estimate's was found. */
  readonly warnings: readonly string[];
}

/** The square of 1.96: 95 % of χ² with one degree of freedom. */
const CHI = 3.841458820694124;

/** Below the estimate's cost by this deviance, another minimum has been found; less is what a fit leaves. */
const LOWER = 0.01;

/**
 * The minimum cost over all other parameters with one of them fixed at values around its estimate, which its standard
 * error approximates by a parabola (Bates & Watts 1988, ch. 6).
 * @param problem the same that was identified
 * @param name of a parameter that is one number and not fixed
 * @throws OptionError if there is no such parameter
 */
export async function likelihoodProfile<T extends Parameters, E, D, R>(
  problem: AnyProblem<T>,
  found: Found<E, D, R>,
  name: string,
  options: ProfileOptions = {},
): Promise<LikelihoodProfile> {
  const identification = found as unknown as Identification;
  refuseUnknownOptions(options, {points: count, reach: positive, sweep: sweepCheck}, 'likelihoodProfile');
  const {points = 6, reach = 3, sweep} = options;
  const parameter = (problem.parameters as Parameters)[name] as Parameter | undefined;
  if (parameter === undefined || parameter.kind === 'fixed' || parameter.guess.length !== 1)
    throw noProfile(problem.parameters, name);
  const estimate = identification.estimate[name] as number;
  const {variance, inflation} = identification.uncertainty;
  const lambda = inflation[identification.correlation.labels.indexOf(name)];
  const scale = variance * (Number.isFinite(lambda) ? lambda : 1); // unidentified: the profile is flat, whatever it is divided by
  const {cost} = identification;
  const error = identification.standardError[name] as number;
  const step = ((Number.isFinite(error) ? error : Math.abs(estimate) || 1) * reach) / points;
  const {sd, partial} = identification.noise;
  const sides = [-1, 1].map(sign => ({
    ...{name, sign, points, step, scale, variance, cost},
    estimate: {...identification.estimate},
    noise: {sd, partial},
  }));
  const [below, above] =
    sweep === undefined
      ? [await profileSide(problem, sides[0]), await profileSide(problem, sides[1])]
      : await swept<[number, number][]>(sweep, 'side', heldProblem(problem), sides);
  const all: readonly (readonly [number, number])[] = [...[...below].reverse(), [estimate, 0], ...above];
  const interval = [crossing(estimate, below, -Infinity), crossing(estimate, above, Infinity)] as const;
  return shownProfile({
    name,
    values: Float64Array.from(all, ([value]) => value),
    deviance: Float64Array.from(all, ([, deviance]) => deviance),
    interval,
    warnings: warningsOf(name, interval, all),
  });
}

function noProfile(parameters: Parameters, name: string): OptionError {
  const estimated = Object.entries(parameters).filter(([, {kind}]) => kind !== 'fixed');
  const named = (test: (numbers: number) => boolean): string =>
    estimated
      .filter(([, {guess}]) => test(guess.length))
      .map(([key]) => key)
      .join(', ');
  const [scalars, vectors] = [named(numbers => numbers === 1), named(numbers => numbers > 1)];
  const those = scalars === '' ? 'there is none' : `these are: ${scalars}`;
  const split =
    vectors === ''
      ? ''
      : ` ${vectors} ${vectors.includes(',') ? 'have' : 'has'} several numbers: make each of them a parameter of its own, and stack them where the system reads them.`;
  return new OptionError(
    'bad-profile',
    `likelihoodProfile: '${name}' is not an estimated parameter of one number; ${those}.${split}`,
    {name},
  );
}

function shownProfile(found: Omit<LikelihoodProfile, 'html'>): LikelihoodProfile {
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
    fragment => (fragment ? renderFragment : renderReport)(page()),
    () => [`Profile: ${sentence}`, ...warnings].join('\n  '),
  );
}

/** One side of a profile, as plain data. */
export interface ProfileSide {
  readonly name: string;
  /** −1: below the estimate. */
  readonly sign: number;
  readonly points: number;
  readonly step: number;
  /** Twice the cost over this is the deviance. */
  readonly scale: number;
  readonly variance: number;
  readonly cost: number;
  readonly estimate: Identification['estimate'];
  readonly noise: NoiseState;
}

/** Values and deviances on one side, away from the estimate. */
export async function profileSide(
  problem: IdentificationProblem,
  {name, sign, points, step, scale, variance, cost, estimate: all, noise}: ProfileSide,
): Promise<[number, number][]> {
  const parameter = problem.parameters[name];
  const estimate = all[name] as number;
  const list: [number, number][] = [];
  let from = all;
  for (let k = 1; k <= points; k++) {
    const value =
      parameter.kind === 'positive' ? estimate * Math.exp((sign * k * step) / estimate) : estimate + sign * k * step;
    if (!(value > parameter.low && value < parameter.high)) break;
    const found = await refit(problem, noise, name, value, from);
    if (found === undefined) break;
    // Held, it is no parameter of the refit, and its prior no row there.
    list.push([value, (2 * (found.cost + variance * priorCostOf(parameter, value) - cost)) / scale]);
    from = found.estimate;
  }
  return list;
}

/** The others' best fit with the parameter held, started where the neighbour's ended. */
async function refit(
  problem: IdentificationProblem,
  noise: NoiseState,
  name: string,
  value: number,
  from: Identification['estimate'],
): Promise<{cost: number; estimate: Identification['estimate']} | undefined> {
  const {shape} = problem.parameters[name];
  const held: Parameter = {...fixed(value), shape};
  const parameters: Parameters = {...guessing(problem.parameters, from), [name]: held};
  try {
    const {estimate, cost, trajectories} = await identifyWith(
      {
        ...problem,
        parameters,
        shooting: undefined,
        starts: undefined,
        earlyStopping: undefined,
        onProgress: undefined,
        sweep: undefined,
      },
      noise,
    );
    for (const trajectory of trajectories) trajectory.dispose();
    return {cost, estimate};
  } catch (error) {
    if (isFailedSimulation(error)) return undefined;
    throw error;
  }
}

/** Where the root of the deviance, a straight line for a parabola, passes that of χ². */
function crossing(estimate: number, side: readonly (readonly [number, number])[], open: number): number {
  let [last, height] = [estimate, 0];
  for (const [value, deviance] of side) {
    const next = Math.sqrt(Math.max(deviance, 0));
    if (deviance >= CHI) return last + ((value - last) * (Math.sqrt(CHI) - height)) / (next - height);
    [last, height] = [value, next];
  }
  return open;
}

function warningsOf(
  name: string,
  [low, high]: readonly [number, number],
  all: readonly (readonly [number, number])[],
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
          `The data do not bound ${name} ${open.join(', nor ')}: within this range the other parameters compensate for it.`,
        ]),
    ...(lower[1] < -LOWER
      ? [
          `At ${name} = ${numberText(lower[0])} the cost is lower than at the estimate: the fit had found another minimum. Start from there.`,
        ]
      : []),
  ];
}

/** For a report's `charts`. */
export function profileChart({name, values, deviance}: Omit<LikelihoodProfile, 'html'>, unit?: string): Chart {
  return {
    title: `Profile of the likelihood along ${name}`,
    x: {label: name, unit},
    y: {label: 'deviance'},
    levels: [{y: CHI, name: '95 %'}],
    series: [
      {name: 'deviance', x: values, y: deviance},
      {name: 'fits', x: values, y: deviance, style: 'points', color: 0},
    ],
    legend: false,
  };
}
