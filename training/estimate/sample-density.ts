/** Chains of the No-U-Turn sampler for any density, each from its own start and with its own random numbers. */
import {OptionError} from '../../lib/errors.js';
import {
  abortSignal,
  callable,
  positiveInteger,
  oneOf,
  optional,
  positive,
  readOptions,
  throwIfAborted,
  typed,
  nonNegativeInteger,
  type Check,
  type Options,
  type OptionValues,
} from '../../lib/checks.js';
import {Random} from '../train/random.js';
import type {LogDensity, DensityPoint} from './nuts.js';
import {transition} from './nuts.js';
import {tune} from './nuts-adaptation.js';

const share: Check<number> = {
  what: 'a number between 0 and 1',
  test: value => positive.test(value) && (value as number) < 1,
};

export const samplingChecks = {
  /** Default 4. */
  chains: optional(positiveInteger, 4),
  /** Draws per chain, after its warm-up; default 1000. */
  draws: optional(positiveInteger, 1000),
  /** Draws that adapt the step length and the metric, and are discarded; default 1000. */
  warmUp: optional(nonNegativeInteger, 1000),
  /** Default 1. */
  seed: optional(nonNegativeInteger, 1),
  /** 'diagonal' (default), or 'dense' for strongly correlated parameters. */
  metric: optional(oneOf('diagonal', 'dense'), 'diagonal'),
  /** Target acceptance rate of the step length adaptation: nearer to 1 if transitions diverge. Default 0.8. */
  targetAcceptance: optional(share, 0.8),
  /** Largest number of doublings of a trajectory; default 10, 1023 steps. */
  maxDepth: optional(positiveInteger, 10),
  /** Called after each draw with its chain and its number (negative in the warm-up). */
  onProgress: optional(typed<(at: {readonly chain: number; readonly draw: number}) => void>(callable)),
  /** Ends the sampling with an AbortError. */
  signal: optional(abortSignal),
};

/** Options of sampling. @interface */
export type SamplingOptions = Options<typeof samplingChecks>;

/** Read, as one chain needs them. */
export type ChainOptions = Omit<OptionValues<typeof samplingChecks>, 'chains' | 'seed'>;

/** One chain. */
export interface Chain {
  /** [draws], each a vector. */
  readonly draws: readonly Float64Array[];
  /**
   * Number of draws whose trajectory diverged: the density is too steep for the step length, and the draws miss a part
   * of it.
   */
  readonly divergences: number;
  /** Number of draws whose trajectory reached `maxDepth` before it turned. */
  readonly longest: number;
  /** Number of gradients, without those of the warm-up. */
  readonly evaluations: number;
  readonly warmUpEvaluations: number;
  readonly step: number;
}

/** Draws between two pauses, in which the page draws. */
const PAUSE = 20;

/**
 * Draws from a density given by its logarithm and the gradient of that, deterministic for a given seed.
 * @param start of all chains, or of each
 * @throws OptionError if the density is 0 at a start
 */
export async function sample(
  density: LogDensity,
  start: Float64Array | readonly Float64Array[],
  options: SamplingOptions = {},
): Promise<Chain[]> {
  const {chains, seed, ...given} = readOptions(options, samplingChecks, 'mcmc.sample');
  const list: Chain[] = [];
  for (const [chain, own] of chainSeeds(chains, seed).entries())
    list.push(await oneChain(density, start instanceof Float64Array ? start : start[chain], own, chain, given));
  return list;
}

/** A seed for each chain. */
export function chainSeeds(chains: number, seed: number): number[] {
  const seeds = new Random(seed);
  return Array.from({length: chains}, () => seeds.below(2 ** 31));
}

/** Chain number `chain`, which does not depend on the others. */
export async function oneChain(
  density: LogDensity,
  x: Float64Array,
  seed: number,
  chain: number,
  {draws, warmUp, metric, targetAcceptance, maxDepth, onProgress, signal}: ChainOptions,
): Promise<Chain> {
  const random = new Random(seed);
  const at = density(x);
  if (at === undefined || !Number.isFinite(at.value))
    throw new OptionError(
      'start-not-evaluable',
      `mcmc.sample: the density cannot be evaluated at the start of chain ${chain + 1}.`,
      {chain},
    );
  throwIfAborted(signal);
  const tuning = {warmUp, metric, targetAcceptance, maxDepth};
  const tuned = await tune(density, {x, ...at}, tuning, random, async draw => {
    onProgress?.({chain, draw: draw - warmUp});
    if (draw % PAUSE === 0) await pause(signal);
  });
  let place: DensityPoint = tuned.place;
  const kept: Float64Array[] = [];
  let [divergences, longest, evaluations] = [0, 0, 0];
  for (let draw = 0; draw < draws; draw++) {
    const made = transition(density, place, {metric: tuned.metric, step: tuned.step, random, maxDepth});
    ({place} = made);
    kept.push(place.x);
    if (made.divergent) divergences++;
    if (made.depth === maxDepth) longest++;
    evaluations += made.evaluations;
    onProgress?.({chain, draw});
    if (draw % PAUSE === 0) await pause(signal);
  }
  return {draws: kept, divergences, longest, evaluations, warmUpEvaluations: tuned.evaluations, step: tuned.step};
}

async function pause(signal: AbortSignal | undefined): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 0));
  throwIfAborted(signal);
}
