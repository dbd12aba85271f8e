/** Charts that pages, notebooks and `plot` show alike: a residual over time, and what a fit or a training came to. */
import {numbers, optional, text, type Options} from '../../lib/checks.js';
import type {EpochMetrics} from '../train/metrics.js';
import type {Chart, Series} from './plot.js';
import {goodnessOfFit} from './residual-statistics.js';

export const fitSchema = {
  name: text,
  unit: optional(text),
  /** [samples]; in s unless `timeUnit` says otherwise. */
  t: numbers,
  measured: numbers,
  simulated: numbers,
  timeUnit: optional(text),
};

/** A measured series and the simulated one. @interface */
export type ReportFit = Options<typeof fitSchema>;

/** Measured − simulated, with ± its root mean square. */
export function residualChart({t, measured, simulated, unit, timeUnit = 's'}: Omit<ReportFit, 'name'>): Chart {
  const {rmse} = goodnessOfFit(measured, simulated);
  return {
    title: 'Residual: measured − simulated (dashed: ± RMSE)',
    x: {label: 'time', unit: timeUnit},
    y: {label: 'residual', unit},
    levels: [{y: rmse}, {y: -rmse}],
    series: [{name: 'residual', x: t, y: Float64Array.from(measured, (value, i) => value - simulated[i]), color: 1}],
  };
}

/** The history of a training by epoch, or of a fit by iteration. */
export type LossHistory = readonly (
  Pick<EpochMetrics, 'epoch' | 'loss' | 'validation'> | {readonly iteration: number; readonly cost: number}
)[];

/** Loss by epoch, or cost by iteration. */
export function historyChart(history: LossHistory): Chart {
  const fit = 'cost' in history[0];
  const x = history.map(one => ('cost' in one ? one.iteration : one.epoch));
  const y = history.map(one => ('cost' in one ? one.cost : one.loss));
  const judged = history.flatMap(one => ('cost' in one || one.validation === undefined ? [] : [one]));
  const series: Series[] = [
    {name: fit ? 'cost' : 'training', x, y},
    ...(fit ? [{name: '', x, y, style: 'points' as const, color: 0}] : []),
    ...(judged.length === 0
      ? []
      : [{name: 'validation', x: judged.map(one => one.epoch), y: judged.map(one => one.validation as number)}]),
  ];
  // A loss may be negative, a likelihood's for one; then there is no logarithm.
  const scale = series.every(one => Array.from(one.y).every(value => !(value <= 0))) ? 'log' : undefined;
  return {
    title: fit ? 'Cost after each iteration' : 'Loss after each epoch',
    x: {label: fit ? 'iteration' : 'epoch', integer: true},
    y: {label: fit ? 'cost' : 'loss', scale},
    legend: judged.length > 0,
    series,
  };
}
