/**
 * How far draws of Markov chains can be believed: rank-normalized split-R̂ and effective sample sizes in the bulk and
 * the tails (Vehtari, Gelman, Simpson, Carpenter & Bürkner, Rank-normalization, folding, and localization: an improved
 * R̂, Bayesian Analysis 16, 2021), with Geyer's initial monotone sequence (Statistical Science 7, 1992).
 */
import {ShapeError} from '../../lib/errors.js';
import {normalQuantile, quantile} from '../identify/quantiles.js';

/**
 * Draws of one number, by chain, all of the same length. Statistics are NaN where a draw is not finite,
 * or chains have fewer than four. */
export type Chains = readonly Float64Array[];

/**
 * The larger of the R̂ of the ranks and of the folded ranks: 1 if all halves of all chains have the same distribution.
 * @throws ShapeError 'chains' if there is no chain, or if their lengths differ
 */
export function rHat(chains: Chains): number {
  const all = split(chains);
  const middle = quantile(joined(all).sort(), 0.5);
  return Math.max(
    potentialScaleReduction(ranked(all)),
    potentialScaleReduction(ranked(all.map(x => x.map(value => Math.abs(value - middle))))),
  );
}

/** Effective sample size of the bulk, for the accuracy of the centre. @throws ShapeError as `rHat` */
export function bulkSize(chains: Chains): number {
  return effectiveSize(ranked(split(chains)));
}

/** Effective sample size of the tails: the smaller one of both quantiles. @throws ShapeError as `rHat` */
export function tailSize(chains: Chains): number {
  const sorted = joined(chains).sort();
  const at = (p: number): number => {
    const limit = quantile(sorted, p);
    return effectiveSize(split(chains).map(x => x.map(value => (value <= limit ? 1 : 0))));
  };
  return Math.min(at(0.05), at(0.95));
}

/** Effective sample size of the mean: its Monte Carlo error is sd/√size. @throws ShapeError as `rHat` */
export function meanSize(chains: Chains): number {
  return effectiveSize(split(chains));
}

const joined = (chains: Chains): Float64Array => Float64Array.from(chains.flatMap(chain => [...chain]));

/** Draws of a half chain have a variance from two on. */
const FEWEST = 4;

/** Each chain's halves; an odd draw in the middle is left out. */
function split(chains: Chains): Float64Array[] {
  const odd = chains.findIndex(({length}) => length !== chains[0].length);
  if (chains.length === 0 || odd >= 0) {
    const lengths = chains.map(({length}) => length);
    const found = odd < 0 ? 'there is none' : `chain ${odd + 1} has ${lengths[odd]} draws, the first one ${lengths[0]}`;
    throw new ShapeError('chains', `Statistics of draws need one or more chains of the same length; ${found}.`, {
      lengths,
    });
  }
  if (chains[0].length < FEWEST || !chains.every(chain => chain.every(Number.isFinite)))
    return chains.map(() => new Float64Array(FEWEST).fill(NaN));
  return chains.flatMap(chain => {
    const half = Math.floor(chain.length / 2);
    return [chain.slice(0, half), chain.slice(chain.length - half)];
  });
}

/** Normal scores of the ranks among all draws, equal ones at their mean rank (Blom's 3/8). */
function ranked(chains: Chains): Float64Array[] {
  const all = joined(chains);
  if (all.some(Number.isNaN)) return [...chains];
  const order = Uint32Array.from(all.keys()).sort((i, j) => all[i] - all[j]);
  const scores = new Float64Array(all.length);
  for (let from = 0; from < order.length;) {
    let to = from;
    while (to + 1 < order.length && all[order[to + 1]] === all[order[from]]) to++;
    const score = normalQuantile(((from + to) / 2 + 1 - 0.375) / (all.length + 0.25));
    for (; from <= to; from++) scores[order[from]] = score;
  }
  let offset = 0;
  return chains.map(({length}) => scores.slice(offset, (offset += length)));
}

interface Spread {
  readonly n: number;
  /** Mean of the chains' variances. */
  readonly within: number;
  /** var⁺: of all draws, were they one sample. */
  readonly pooled: number;
}

function spreadOf(chains: Chains): Spread {
  const n = chains[0].length;
  const means = chains.map(mean);
  const centre = mean(Float64Array.from(means));
  const within =
    chains.reduce((sum, chain, c) => sum + chain.reduce((all, value) => all + (value - means[c]) ** 2, 0) / (n - 1), 0)
    / chains.length;
  const between = means.reduce((sum, one) => sum + (one - centre) ** 2, 0) / Math.max(chains.length - 1, 1);
  return {n, within, pooled: ((n - 1) / n) * within + between};
}

const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function potentialScaleReduction(chains: Chains): number {
  const {within, pooled} = spreadOf(chains);
  return within > 0 ? Math.sqrt(pooled / within) : NaN;
}

function effectiveSize(chains: Chains): number {
  const {n, within, pooled} = spreadOf(chains);
  const total = n * chains.length;
  if (!(pooled > 0)) return NaN;
  const means = chains.map(mean);
  const correlation = (lag: number): number => {
    const covariance =
      chains.reduce((sum, chain, c) => {
        let own = 0;
        for (let k = lag; k < n; k++) own += (chain[k] - means[c]) * (chain[k - lag] - means[c]);
        return sum + own / n;
      }, 0) / chains.length;
    return 1 - ((within * (n - 1)) / n - covariance) / pooled;
  };
  // Sums of neighbours are positive and fall, of any reversible chain; where they do not, noise has begun.
  let time = -1;
  let last = Infinity;
  for (let lag = 0; lag + 1 < n - 3; lag += 2) {
    const pair = correlation(lag) + correlation(lag + 1);
    if (pair <= 0) break;
    last = Math.min(last, pair);
    time += 2 * last;
  }
  // An antithetic chain can be better than independent, but not without end (Vehtari et al.: log₁₀ of the draws).
  return total / Math.max(time, 1 / Math.log10(total));
}
