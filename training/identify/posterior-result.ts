/** What draws of a posterior tell. */
import type {Shows} from '../report/displayed.js';

/** One number for each that was looked for: 'k', 'w[0,1]', 'record 2: load'. */
export interface ByLabel {
  readonly [label: string]: number;
}

/** Draws of the parameters, and what they tell; all by label. */
export interface Posterior extends Shows {
  readonly labels: readonly string[];
  /** [chains · draws], chain by chain. */
  readonly draws: {readonly [label: string]: Float64Array};
  readonly chains: number;
  readonly mean: ByLabel;
  readonly sd: ByLabel;
  readonly median: ByLabel;
  /** Between the 2.5 % and the 97.5 % quantile. */
  readonly interval: {readonly [label: string]: readonly [number, number]};
  /** Rank-normalized split-R̂: above 1.01 the chains have not met. */
  readonly rHat: ByLabel;
  /** In the bulk: draws of the median's error. */
  readonly effectiveSize: ByLabel;
  readonly tailSize: ByLabel;
  /** Standard error of `mean` from the number of draws. */
  readonly monteCarloError: ByLabel;
  readonly divergences: number;
  /** Gradients that were taken for the draws, and for the warm-up before. */
  readonly evaluations: number;
  readonly warmUpEvaluations: number;
  readonly method: 'nuts' | 'laplace';
  /** What to know before the draws are believed. */
  readonly warnings: readonly string[];
  /** A quantile of the draws, 0 ≤ p ≤ 1. @throws OptionError of another label */
  quantile(label: string, p: number): number;
}
