/** What draws of a posterior tell. */
import type {Shows} from '../report/displayed.js';

/** One number per estimated number: 'k', 'w[0,1]', 'record 2: load'. */
export interface ByLabel {
  readonly [label: string]: number;
}

/** Draws of the parameters, and their statistics; all by label. */
export interface Posterior extends Shows {
  readonly labels: readonly string[];
  /** [chains · draws], chain by chain. */
  readonly draws: {readonly [label: string]: Float64Array};
  readonly chains: number;
  readonly mean: ByLabel;
  readonly sd: ByLabel;
  /** What the width of the posterior assumes of the residuals, in a sentence: `residuals` of the problem. */
  readonly assumption: string;
  readonly median: ByLabel;
  /** Between the 2.5 % and the 97.5 % quantile. */
  readonly interval: {readonly [label: string]: readonly [number, number]};
  /** Rank-normalized split-R̂: above 1.01 the chains have not converged. */
  readonly rHat: ByLabel;
  /** Effective sample size of the bulk. */
  readonly effectiveSize: ByLabel;
  readonly tailSize: ByLabel;
  /** Standard error of `mean` from the number of draws. */
  readonly monteCarloError: ByLabel;
  readonly divergences: number;
  /** Number of gradients, for the draws and for the warm-up. */
  readonly evaluations: number;
  readonly warmUpEvaluations: number;
  readonly method: 'nuts' | 'laplace';
  /** Warnings about the reliability of the draws. */
  readonly warnings: readonly string[];
  /** A quantile of the draws, 0 ≤ p ≤ 1. @throws OptionError for an unknown label */
  quantile(label: string, p: number): number;
}
