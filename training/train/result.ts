/** What a training leaves. */
import type {Shows} from '../report/displayed.js';
import type {Report} from '../report/report.js';
import type {EpochMetrics} from './metrics.js';

/** The result of `train`. */
export interface TrainingResult extends Shows {
  /** Of the whole run, including the part before a resumption. */
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
  /** Of this process. */
  readonly seconds: number;
  /** Warnings, for example of variables that no loss of this process depended on: they are unchanged. */
  readonly warnings: readonly string[];
  /** Writes a self-contained HTML page. */
  report(path: string, details?: TrainingReportDetails): Promise<void>;
}

/** What a page says beside what the training knows: title and description take the place of the usual ones, the rest follows. */
export type TrainingReportDetails = Partial<
  Pick<
    Report,
    'title' | 'description' | 'charts' | 'statistics' | 'warnings' | 'notes' | 'fits' | 'parameters' | 'referenceName'
  >
>;
