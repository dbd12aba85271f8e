/**
 * The posterior of data and priors: draws of the parameters, by the No-U-Turn sampler on the exact gradients of the
 * fit, or by Laplace's approximation. The chains run in coordinates in which the fit's own covariance is the unit
 * matrix. Where the fit takes its residuals to be correlated in time, the likelihood of independent ones is stretched
 * about the estimate until its curvature is that of the robust covariance (Ribatet, Cooley & Davison, Bayesian
 * inference from composite likelihoods, Statistica Sinica 22, 2012), so that posterior and standard errors are of one
 * model. Unknown parameters of the noise are drawn too: its scale with the prior 1/s, partial autocorrelations with a
 * flat one (Barndorff-Nielsen & Schou, On the parametrization of autoregressive models by partial autocorrelations,
 * Journal of Multivariate Analysis 3, 1973), which for order 1 is flat in φ.
 */
import {OptionError} from '../../lib/errors.js';
import {oneOf, optional, readOptions, type Options} from '../../lib/checks.js';
import {Random} from '../train/random.js';
import {showing} from '../report/displayed.js';
import {choleskyFactor} from './nuts-metric.js';
import {bulkSize, meanSize, rHat, tailSize} from './draws.js';
import {objectiveOf} from '../identify/density-objective.js';
import {isFailedSimulation} from '../identify/failed-simulation.js';
import type {Fit} from '../identify/fit.js';
import {sourceOf, type FitResult} from '../identify/identification.js';
import type {NoiseState} from '../identify/weighing.js';
import {computed, heldProblem, sweepCheck, type HeldProblem} from '../identify/part.js';
import type {FitProblem} from '../identify/solve.js';
import {posteriorCharts, posteriorPage, posteriorText, type Posterior} from './posterior-page.js';
import {quantile} from '../identify/quantiles.js';
import {priorWarnings} from '../identify/report-notes.js';
import type {LogDensity} from './nuts.js';
import {chainSeeds, oneChain, samplingChecks, type Chain, type ChainOptions} from './sample-density.js';

const posteriorOptions = {
  ...samplingChecks,
  /** 'nuts' (default) draws from the posterior; 'laplace' from the normal distribution of the estimate. */
  method: optional(oneOf('nuts', 'laplace'), 'nuts'),
  /** Engine that computes the chains: made by `fitSweep` of stiffgrad/sweep. `onProgress` is then that of the sweep. */
  sweep: optional(sweepCheck),
};

/** Options of `posterior`. @interface */
export type PosteriorOptions = Options<typeof posteriorOptions>;

/**
 * Draws from the posterior of a fit.
 * @param found the result of `identify`; parameters without a prior have a flat one, positive ones in their logarithm
 * @throws OptionError if data and priors do not determine a direction, or a parameter lies at its bound; errors of
 *   `simulate` at the estimate
 */
export async function posterior(
  found: FitResult<unknown, unknown, unknown>,
  options: PosteriorOptions = {},
): Promise<Posterior> {
  const {method, sweep, ...sampling} = readOptions(options, posteriorOptions, 'posterior');
  const {problem, fit, record} = sourceOf(found, 'posterior');
  requireIdentified(found);
  const {
    uncertainty: {covariance, independent, inflation, variance},
    noise: {sd, partial},
  } = found;
  const centre = {x: record.x, noise: {sd, partial}, covariance, independent, inflation, variance};
  const target = targetOf(problem, fit, centre);
  const {chains, draws, seed, onProgress, signal, ...tuning} = sampling;
  const drawn =
    method === 'laplace'
      ? laplaceChains(target.scales.length, chains, draws, seed)
      : await computed(
          sweep,
          'chain',
          heldProblem({...problem, signal}, fit),
          startsOf(target, sampling).map((start, chain, {length}): ChainData => {
            return {centre, chain, start, seed: chainSeeds(length, seed)[chain], sampling: {draws, ...tuning}};
          }),
          (_, {chain, start, seed: own}) =>
            oneChain(target.density, start, own, chain, {draws, ...tuning, onProgress, signal}),
        );
  return posteriorOf(target, drawn, method, found.assumption);
}

interface Target {
  readonly labels: readonly string[];
  readonly density: LogDensity;
  /** Deviations of the starts: 1 each, of all that is drawn. */
  readonly scales: Float64Array;
  /** Parameters of a draw. */
  readonly natural: (z: Float64Array) => Float64Array;
  readonly warnings: readonly string[];
}

/** The estimate of a fit, about which its posterior is drawn, as plain data. */
export interface Centre {
  /** Coordinates of the estimate. */
  readonly x: Float64Array;
  readonly covariance: Float64Array;
  readonly independent: Float64Array;
  readonly inflation: Float64Array;
  readonly variance: number;
  readonly noise: NoiseState;
}

/** A chain, as plain data. */
export interface ChainData {
  readonly centre: Centre;
  readonly chain: number;
  readonly start: Float64Array;
  readonly seed: number;
  readonly sampling: Omit<ChainOptions, 'onProgress' | 'signal'>;
}

/** One chain, wherever it is computed. */
export function posteriorChain(
  {problem, fit}: HeldProblem,
  {centre, chain, start, seed, sampling}: ChainData,
): Promise<Chain> {
  return oneChain(targetOf(problem, fit, centre).density, start, seed, chain, {
    ...sampling,
    onProgress: undefined,
    signal: problem.signal,
  });
}

/** The posterior of z: x = x̂ + L z in the likelihood, L of independent residuals, x̂ + K z in what is told. */
function targetOf(
  problem: FitProblem,
  fit: Fit,
  {x: centre, covariance, independent, inflation, variance, noise}: Centre,
): Target {
  const objective = objectiveOf(fit, problem.noise, noise);
  const {space} = fit;
  const against = space.runaway(centre);
  if (against !== undefined)
    throw new OptionError(
      'at-bound',
      `posterior: ${against} in the fit, and there is nothing to start chains from: the posterior lies against the `
        + 'bound. Widen the bound, or fix the parameter there.',
    );
  const p = space.size;
  const told = choleskyFactor(covariance, p);
  const sharp = inflation.some(value => value !== 1) ? choleskyFactor(independent, p) : told;
  const known = objective.noise.sd;
  const sd = known ?? (Number.isFinite(noise.sd) ? noise.sd : Math.sqrt(variance));
  // ln s has the deviation 1/√(2n) (Fisher's information of a scale): by it the last coordinate.
  const spread = 1 / Math.sqrt(2 * fit.observations);
  const at = (factor: Float64Array, z: Float64Array): Float64Array =>
    centre.map((value, i) => {
      let sum = value;
      for (let j = 0; j <= i; j++) sum += factor[i * p + j] * z[j];
      return sum;
    });
  const orders = noise.partial.flatMap((values, group) => Array.from(values.keys(), i => ({group, i})));
  const scaled = known === undefined ? 1 : 0;
  // ar tanh κ has the deviation 1/√(n (1 − κ²)), n the samples of one output (of order 1: Fisher's information).
  const samples = fit.observations / Math.max(1, noise.partial.length);
  const centreOf = ({group, i}: (typeof orders)[number]): number => Math.atanh(noise.partial[group][i]);
  const spreadOf = ({group, i}: (typeof orders)[number]): number =>
    1 / Math.sqrt(samples * (1 - noise.partial[group][i] ** 2));
  const stateAt = (z: Float64Array): NoiseState => {
    const partial = noise.partial.map(values => values.slice());
    orders.forEach((one, k) => {
      partial[one.group][one.i] = Math.tanh(centreOf(one) + spreadOf(one) * z[p + scaled + k]);
    });
    return {sd: known ?? sd * Math.exp(spread * z[p]), partial};
  };
  const density: LogDensity = z => {
    const x = at(sharp, z);
    const state = stateAt(z);
    // tanh rounds to 1 where nothing but rounding is left of the noise.
    if (!state.partial.every(values => values.every(kappa => Math.abs(kappa) < 1))) return undefined;
    try {
      const {value, gradient, byLogScale, byPartial} = objective.logLikelihood(x, state);
      const volume = space.logVolume(x);
      const bar = gradient.map((g, i) => g + volume.gradient[i]);
      const back = new Float64Array(z.length);
      for (let j = 0; j < p; j++) for (let i = j; i < p; i++) back[j] += sharp[i * p + j] * bar[i];
      if (known === undefined) back[p] = spread * byLogScale;
      let ofNoise = 0;
      orders.forEach((one, k) => {
        // dκ = (1 − κ²) d ar tanh κ, and its logarithm is in the density.
        const kappa = state.partial[one.group][one.i];
        ofNoise += Math.log1p(-kappa * kappa);
        back[p + scaled + k] = spreadOf(one) * ((1 - kappa * kappa) * byPartial[one.group][one.i] - 2 * kappa);
      });
      return {value: value + volume.value + ofNoise, gradient: back};
    } catch (error) {
      if (isFailedSimulation(error)) return undefined;
      throw error;
    }
  };
  return {
    labels: space.labels,
    density,
    scales: new Float64Array(p + scaled + orders.length).fill(1),
    natural: z => space.natural(at(told, z)),
    warnings: priorWarnings(space, centre, {
      inflation,
      standardError: Float64Array.from({length: p}, (_, i) => Math.sqrt(covariance[i * p + i])),
    }),
  };
}

function requireIdentified({
  uncertainty: {standardError, unidentified},
  correlation,
}: FitResult<unknown, unknown, unknown>): void {
  const open = standardError.findIndex(error => !Number.isFinite(error));
  if (open < 0) return;
  const among = unidentified.flatMap(({parameters}) => parameters.map(i => correlation.labels[i]));
  throw new OptionError(
    'not-identified',
    'posterior: the data do not determine '
      + `${among.length > 0 ? [...new Set(among)].slice(0, 4).join(', ') : correlation.labels[open]}, so there is no `
      + 'distribution to draw from. Give a prior, or fix it.',
    {parameter: correlation.labels[open]},
  );
}

/** Chains that start as far apart as the posterior is wide, so that R̂ can tell whether they meet. */
function startsOf(
  {density, scales}: Target,
  {chains, seed}: {readonly chains: number; readonly seed: number},
): Float64Array[] {
  const random = new Random(seed + 1);
  return Array.from({length: chains}, () => {
    // A start that cannot be simulated is drawn again nearer to the estimate, where the fit could be.
    for (let reach = 1; ; reach /= 2) {
      const z = scales.map(scale => reach * scale * random.normal());
      if (reach < 1e-3 || density(z) !== undefined) return z;
    }
  });
}

function laplaceChains(size: number, chains: number, draws: number, seed: number): Chain[] {
  const random = new Random(seed);
  return Array.from({length: chains}, () => ({
    draws: Array.from({length: draws}, () => Float64Array.from({length: size}, () => random.normal())),
    divergences: 0,
    longest: 0,
    evaluations: 0,
    warmUpEvaluations: 0,
    step: NaN,
  }));
}

/** Vehtari et al. 2021, §4: R̂ above it, or fewer effective draws a chain, and the numbers are not to be used. */
const R_HAT = 1.01;
const EFFECTIVE = 100;

function posteriorOf(
  {labels, natural, warnings: ofTarget}: Target,
  chains: readonly Chain[],
  method: 'nuts' | 'laplace',
  assumption: string,
): Posterior {
  const theta = chains.map(({draws}) => draws.map(natural));
  const series = labels.map((_, i) => theta.map(chain => Float64Array.from(chain, draw => draw[i])));
  const pooled = series.map(one => Float64Array.from(one.flatMap(chain => [...chain])));
  const sorted = pooled.map(values => values.slice().sort());
  const byLabel = <T>(of: (i: number) => T): {[label: string]: T} =>
    Object.fromEntries(labels.map((label, i) => [label, of(i)]));
  const means = pooled.map(values => values.reduce((sum, value) => sum + value, 0) / values.length);
  const sds = pooled.map((values, i) =>
    Math.sqrt(values.reduce((sum, value) => sum + (value - means[i]) ** 2, 0) / (values.length - 1)),
  );
  const sizes = series.map(bulkSize);
  const hats = series.map(rHat);
  const total = (of: (chain: Chain) => number): number => chains.reduce((sum, chain) => sum + of(chain), 0);
  const at = (label: string, p: number): number => {
    const i = labels.indexOf(label);
    if (i < 0 || !(p >= 0 && p <= 1))
      throw new OptionError(
        'bad-option',
        `quantile: there is no quantile ${p} of '${label}'; there are ${labels.join(', ')}.`,
        {label, p},
      );
    return quantile(sorted[i], p);
  };
  const divergences = total(chain => chain.divergences);
  const longest = total(chain => chain.longest);
  const apart = labels.filter((_, i) => hats[i] > R_HAT);
  const few = labels.filter((_, i) => sizes[i] < EFFECTIVE * chains.length);
  const warnings = [
    ...ofTarget,
    ...(divergences === 0
      ? []
      : [
          `${divergences} trajectories diverged: the draws miss a part of the posterior that is steeper than the `
            + 'rest. Increase targetAcceptance to 0.95, or give a prior.',
        ]),
    ...(longest === 0 ? [] : [`${longest} trajectories reached maxDepth: use metric: 'dense'.`]),
    ...(apart.length === 0
      ? []
      : [
          `R̂ is above ${R_HAT} for ${apart.slice(0, 4).join(', ')}: the chains have not converged to the same `
            + 'distribution. Draw more, or look for several minima with starts.',
        ]),
    ...(few.length === 0
      ? []
      : [`There are fewer than ${EFFECTIVE} effective draws per chain of ${few.slice(0, 4).join(', ')}: draw more.`]),
  ];
  const result: Omit<Posterior, 'html' | 'charts'> = {
    labels,
    draws: byLabel(i => pooled[i]),
    chains: chains.length,
    mean: byLabel(i => means[i]),
    sd: byLabel(i => sds[i]),
    assumption,
    median: byLabel(i => quantile(sorted[i], 0.5)),
    interval: byLabel(i => [quantile(sorted[i], 0.025), quantile(sorted[i], 0.975)] as const),
    rHat: byLabel(i => hats[i]),
    effectiveSize: byLabel(i => sizes[i]),
    tailSize: byLabel(i => tailSize(series[i])),
    monteCarloError: byLabel(i => sds[i] / Math.sqrt(meanSize(series[i]))),
    divergences,
    evaluations: total(chain => chain.evaluations),
    warmUpEvaluations: total(chain => chain.warmUpEvaluations),
    method,
    warnings,
    quantile: at,
  };
  return showing(
    result,
    fragment => posteriorPage(result, fragment),
    () => posteriorText(result),
    {charts: (label: string) => posteriorCharts(result, label)},
  );
}
