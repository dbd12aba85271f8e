/** Chains of the No-U-Turn sampler for any density, each from its own start and with its own random numbers. */
import {OptionError} from '../../lib/errors.js';
import {
  abortSignal,
  callable,
  count,
  oneOf,
  positive,
  refuseUnknownOptions,
  throwIfAborted,
  whole,
} from '../../lib/checks.js';
import {Random} from '../train/random.js';
import type {LogDensity, Place} from './nuts.js';
import {transition} from './nuts.js';
import {tune} from './nuts-adaptation.js';

/** Options of sampling. */
export interface SamplingOptions {
  /** Default 4. */
  readonly chains?: number;
  /** Draws per chain, after its warm-up; default 1000. */
  readonly draws?: number;
  /** Draws that adapt the step length and the metric, and are discarded; default 1000. */
  readonly warmUp?: number;
  /** Default 1. */
  readonly seed?: number;
  /** 'diagonal' (default), or 'dense' for strongly correlated parameters. */
  readonly metric?: 'diagonal' | 'dense';
  /** Target acceptance rate of the step length adaptation: nearer to 1 if transitions diverge. Default 0.8. */
  readonly targetAcceptance?: number;
  /** Largest number of doublings of a trajectory; default 10, 1023 steps. */
  readonly maxDepth?: number;
  /** Called after each draw with its chain and its number (negative in the warm-up). */
  readonly onProgress?: (at: {readonly chain: number; readonly draw: number}) => void;
  /** Ends the sampling with an AbortError. */
  readonly signal?: AbortSignal;
}

export const samplingChecks = {
  chains: count,
  draws: count,
  warmUp: whole,
  seed: whole,
  metric: oneOf('diagonal', 'dense'),
  targetAcceptance: {
    what: 'a number between 0 and 1',
    test: (value: unknown): boolean => positive.test(value) && (value as number) < 1,
  },
  maxDepth: count,
  onProgress: callable,
  signal: abortSignal,
};

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
export async function sampleDensity(
  density: LogDensity,
  start: Float64Array | readonly Float64Array[],
  options: SamplingOptions = {},
): Promise<Chain[]> {
  refuseUnknownOptions(options, samplingChecks, 'sampleDensity');
  const {chains = 4, seed} = options;
  const list: Chain[] = [];
  for (const [chain, own] of chainSeeds(chains, seed).entries())
    list.push(await oneChain(density, start instanceof Float64Array ? start : start[chain], own, chain, options));
  return list;
}

/** Of each chain, its own. */
export function chainSeeds(chains: number, seed = 1): number[] {
  const seeds = new Random(seed);
  return Array.from({length: chains}, () => seeds.below(2 ** 31));
}

/** Chain number `chain`, which does not depend on the others. */
export async function oneChain(
  density: LogDensity,
  x: Float64Array,
  seed: number,
  chain: number,
  {
    draws = 1000,
    warmUp = 1000,
    metric = 'diagonal',
    targetAcceptance = 0.8,
    maxDepth = 10,
    onProgress,
    signal,
  }: SamplingOptions,
): Promise<Chain> {
  const random = new Random(seed);
  const at = density(x);
  if (at === undefined || !Number.isFinite(at.value))
    throw new OptionError(
      'start-not-evaluable',
      `sampleDensity: the density cannot be evaluated at the start of chain ${chain + 1}.`,
      {chain},
    );
  throwIfAborted(signal);
  const tuning = {warmUp, metric, targetAcceptance, maxDepth};
  const tuned = await tune(density, {x, ...at}, tuning, random, async draw => {
    onProgress?.({chain, draw: draw - warmUp});
    if (draw % PAUSE === 0) await pause(signal);
  });
  let place: Place = tuned.place;
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
