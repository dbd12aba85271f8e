/** A posterior as text and as a page: a row and two pictures for each parameter, its distribution and its chains. */
import {object, requireValue, shown, suggestion} from '../../lib/checks.js';
import {OptionError} from '../../lib/errors.js';
import {errorText, measuredText, numberText} from '../report/number-text.js';
import type {Chart} from '../report/plot.js';
import {renderFragment, page, type Report} from '../report/report.js';
import {histogram} from '../report/residual-statistics.js';
import type {Shows} from '../report/displayed.js';

type Numbers = Omit<Posterior, 'html' | 'charts'>;

/** Parameters that have pictures: of a network's weights there are too many to look at. */
const PICTURED = 12;

/** Draws of a chain in its picture. */
const SHOWN = 500;

export function posteriorText(found: Numbers): string {
  const {labels, mean, sd, interval, rHat, effectiveSize, divergences, warnings, method, assumption} = found;
  return [
    `Posterior (${method === 'nuts' ? 'No-U-Turn sampler' : "Laplace's approximation"}), ${found.chains} chains, `
      + `${divergences} divergences`,
    ...labels.map(
      label =>
        `${label} = ${measuredText(mean[label], sd[label])} ± ${errorText(sd[label])} (95 %: `
        + `${numberText(interval[label][0])} … ${numberText(interval[label][1])}; R̂ ${rHat[label].toFixed(3)}, `
        + `${Math.round(effectiveSize[label])} effective draws)`,
    ),
    `±: standard deviations of the draws, if ${assumption}`,
    ...warnings.map(warning => `warning: ${warning}`),
  ].join('\n  ');
}

export function posteriorPage(found: Numbers, fragment: boolean): string {
  return (fragment ? renderFragment : page)(posteriorReport(found));
}

function posteriorReport(found: Numbers): Report {
  const {labels, mean, sd, assumption, interval, warnings, divergences, evaluations, method, chains} = found;
  const least = (of: {readonly [label: string]: number}): number => Math.min(...labels.map(label => of[label]));
  return {
    title: 'Posterior',
    parameters: labels.map(name => ({name, estimate: mean[name], standardError: sd[name], interval: interval[name]})),
    parameterNote: `Standard deviations and intervals of the draws, if ${assumption}.`,
    fits: [],
    statistics: [
      {name: 'method', value: method === 'nuts' ? 'No-U-Turn sampler' : "Laplace's approximation"},
      {name: 'chains', value: chains},
      {name: 'draws', value: found.draws[labels[0]].length},
      {name: 'greatest R̂', value: Number(Math.max(...labels.map(label => found.rHat[label])).toFixed(4))},
      {name: 'least effective draws', value: Math.round(least(found.effectiveSize))},
      {name: 'fewest effective draws in the tails', value: Math.round(least(found.tailSize))},
      {name: 'divergences', value: divergences},
      {name: 'gradients', value: evaluations},
    ],
    charts: labels.slice(0, PICTURED).flatMap(label => posteriorCharts(found, label)),
    warnings,
    notes: [
      'Intervals are between the 2.5 % and the 97.5 % quantiles of the draws; errors are their standard deviations.',
    ],
  };
}

/**
 * The histogram of a parameter's draws and its chains, for a report's `charts`.
 * @param label one of the posterior's `labels`
 * @throws OptionError 'bad-option' for what is no posterior, 'unknown-option' for a label that it has not
 */
export function posteriorCharts(found: Numbers, label: string): Chart[] {
  requireValue((found as Partial<Numbers> | undefined)?.draws, object, 'charts: draws of the posterior');
  const {draws, chains} = found;
  if (!Object.hasOwn(draws, label)) {
    const labels = Object.keys(draws);
    throw new OptionError(
      'unknown-option',
      `charts: label must be that of a parameter, ${labels.join(', ')}, not ${shown(label)}.`
        + suggestion(String(label), labels),
      {label},
    );
  }
  const values = draws[label];
  const {centers, share, width} = histogram(values);
  const length = values.length / chains;
  const every = Math.max(1, Math.ceil(length / SHOWN));
  const count = Math.ceil(length / every);
  return [
    {
      title: `Posterior of ${label}`,
      x: {label},
      y: {label: 'density'},
      series: [{name: 'density', x: centers, y: share.map(part => part / width)}],
      legend: false,
    },
    {
      title: `Chains of ${label}`,
      x: {label: 'draw'},
      y: {label},
      series: Array.from({length: chains}, (_, c) => ({
        name: `chain ${c + 1}`,
        x: Float64Array.from({length: count}, (_unused, k) => k * every),
        y: Float64Array.from({length: count}, (_unused, k) => values[c * length + k * every]),
      })),
    },
  ];
}

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
  /** The assumption on the residuals behind the posterior's width, in a sentence: `residuals` of the problem. */
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
  /**
   * The histogram of a parameter's draws and its chains, for a report's `charts`.
   * @param label one of `labels`
   * @throws OptionError 'unknown-option' for another label
   */
  charts(label: string): Chart[];
}
