/** How a training went, as a page: losses, learning rate, gradient, by epoch. */
import {historyChart} from '../report/charts.js';
import type {Chart} from '../report/plot.js';
import {type Report, renderFragment, page as reportPage, writeReport} from '../report/report.js';
import {showing, type Shows} from '../report/displayed.js';
import {numberText} from '../report/number-text.js';
import type {EpochMetrics} from './metrics.js';

/** The numbers of a training. */
type Counts = Omit<TrainingResult, 'report' | 'html'>;

export function shownTraining(counts: Counts): TrainingResult {
  const report: TrainingResult['report'] = (path, details) => writeReport(path, trainingReport(counts, details));
  const page = (): Report => trainingReport(counts);
  return showing(
    {...counts, report},
    fragment => (fragment ? renderFragment : reportPage)(page()),
    () => sentence(counts),
  );
}

function sentence({epochs, steps, best, history, stopped, warnings}: Counts): string {
  const last = history[history.length - 1];
  const losses = [
    ...(last === undefined ? [] : [`loss ${numberText(last.loss)}`]),
    ...(best === undefined ? [] : [`lowest ${numberText(best.loss)} in epoch ${best.epoch}`]),
  ];
  const early = stopped === 'early' ? ['stopped early'] : [];
  return [
    [`Training: ${epochs} epochs`, `${steps} steps`, ...losses, ...early].join(', '),
    ...warnings.map(warning => `warning: ${warning}`),
  ].join('\n  ');
}

export function trainingReport(
  result: Counts,
  {charts = [], statistics = [], warnings = [], notes = [], ...rest}: TrainingReportDetails = {},
): Report {
  const {epochs, steps, best, skipped, seconds, resumedFrom, stopped, warnings: own} = result;
  return {
    title: 'A training',
    parameters: [],
    fits: [],
    ...rest,
    charts: [...(result.history.length < 2 ? [] : [historyChart(result.history)]), ...rateChart(result), ...charts],
    statistics: [
      {name: 'epochs', value: epochs},
      {name: 'steps', value: steps},
      ...(best === undefined
        ? []
        : [
            {name: 'lowest loss', value: best.loss},
            {name: 'in epoch', value: best.epoch},
          ]),
      {
        name: resumedFrom === undefined ? 'time taken' : 'time since the resumption',
        value: Number(seconds.toPrecision(2)),
        unit: 's',
      },
      ...statistics,
    ],
    warnings: [
      ...(skipped === 0 ? [] : [`${skipped} of ${steps} steps could not be evaluated and were skipped.`]),
      ...own,
      ...warnings,
    ],
    notes: [
      ...(stopped === 'early'
        ? [
            'The training stopped early: the loss no longer decreased, and the variables have the values of the best '
              + 'epoch.',
          ]
        : []),
      ...(resumedFrom === undefined ? [] : [`Resumed from the checkpoint of step ${resumedFrom}.`]),
      ...notes,
    ],
  };
}

function rateChart({history}: Counts): Chart[] {
  const rates = history.map(({learningRate}) => learningRate ?? NaN);
  if (rates.every(rate => Number.isNaN(rate) || rate === rates[0])) return [];
  return [
    {
      title: 'Learning rate',
      height: 180,
      x: {label: 'epoch', integer: true},
      y: {label: 'learning rate'},
      series: [{name: 'learning rate', x: history.map(({epoch}) => epoch), y: rates}],
    },
  ];
}

/** The result of `train`. */
export interface TrainingResult extends Shows {
  /** Number of epochs of the whole run, including the part before a resumption. */
  readonly epochs: number;
  readonly steps: number;
  readonly history: readonly EpochMetrics[];
  /** The evaluation with the lowest loss; with earlyStopping the variables have its values. */
  readonly best?: {readonly epoch: number; readonly loss: number};
  readonly stopped: 'epochs' | 'early';
  /** The step of the checkpoint from which this process resumed. */
  readonly resumedFrom?: number;
  /** Number of batches that were skipped because they could not be evaluated. */
  readonly skipped: number;
  /** Time of this process. */
  readonly seconds: number;
  /** Warnings, for example of variables that no loss of this process depended on: they are unchanged. */
  readonly warnings: readonly string[];
  /** Writes a self-contained HTML page. */
  report(path: string, details?: TrainingReportDetails): Promise<void>;
}

/** Details of a training's page: title and description replace the usual ones, the rest follows. */
export type TrainingReportDetails = Partial<
  Pick<
    Report,
    'title' | 'description' | 'charts' | 'statistics' | 'warnings' | 'notes' | 'fits' | 'parameters' | 'referenceName'
  >
>;
