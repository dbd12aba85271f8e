/**
 * The end of a fit where records that it does not see are met no better any more (Prechelt, Early Stopping — But When?,
 * 1998): a regularization by itself, for networks beside physics. Each accepted step is judged by a free run of the
 * records.
 */
import {OptionError} from '../../lib/errors.js';
import {any, positiveInteger, refuseUnknownOptions} from '../../lib/checks.js';
import {evaluate, type Evaluation} from './evaluation.js';
import {isFailedSimulation, prefixed} from './failed-simulation.js';
import {checkRecords, Fit} from './fit.js';
import {recordOf, type FitRecord} from './fit-record.js';
import {
  Stopped,
  type LeastSquaresIteration,
  type LeastSquaresResult,
  type ResidualReport,
} from './least-squares-problem.js';
import type {ResidualObjective} from './objective.js';
import type {Model} from './model.js';
import type {MeasuredRecord} from './records.js';
import {RowQr} from './row-qr.js';

/** Held-out records, which stop a fit. */
export interface EarlyStopping {
  /**
   * One or several; with their own initial states if these differ from the problem's, and without parameters of their
   * own.
   */
  readonly data: MeasuredRecord | readonly MeasuredRecord[];
  /** Number of accepted steps without a lower cost of these records before the fit stops; default 10. */
  readonly patience?: number;
}

/** @throws OptionError */
export function checkEarlyStopping(given: EarlyStopping): void {
  refuseUnknownOptions(given, {data: any, patience: positiveInteger}, 'identify: earlyStopping');
  if (given.data === undefined)
    throw new OptionError('missing-option', "identify: earlyStopping needs 'data', the held-out records.", {
      option: 'data',
    });
}

/** Keeps the estimate that meets the held-out records best. */
export class HeldOut {
  /** Where the held-out records were met best so far. */
  private met: {readonly x: Float64Array; readonly cost: number; readonly iteration: number} | undefined;
  private since = 0;
  private readonly patience: number;
  private readonly held: Fit;

  /** @throws OptionError, DataError of records that do not fit the problem */
  constructor(
    model: Model,
    {data, patience = 10}: EarlyStopping,
    private readonly objective: ResidualObjective,
  ) {
    this.patience = patience;
    const records = checkRecords(model, data);
    const own = records.find(({parameters}) => Object.keys(parameters).length > 0);
    if (own !== undefined)
      throw new OptionError(
        'bad-option',
        `identify: ${own.name} of earlyStopping has parameters of its own, which the fit would not estimate.`,
        {record: own.name},
      );
    this.held = new Fit(model, records);
  }

  /** @returns whether to go on */
  private *judge({iteration, accepted, x}: LeastSquaresIteration): Evaluation<boolean> {
    if (!accepted) return true;
    const cost = yield* this.cost(x, iteration === 0);
    if (cost < (this.met?.cost ?? Infinity)) {
      this.met = {x, cost, iteration};
      this.since = 0;
    } else this.since++;
    return this.since < this.patience;
  }

  /**
   * A fit that ends when the held-out records are met no better; its record is that of where they were met best.
   * @param run the fit, with the report that it is to give
   */
  *fit(told: ResidualReport, run: (report: ResidualReport) => Evaluation<FitRecord>): Evaluation<FitRecord> {
    const history: LeastSquaresIteration[] = [];
    const judge = (iteration: LeastSquaresIteration): Evaluation<boolean> => this.judge(iteration);
    let last: FitRecord | undefined;
    try {
      last = yield* run(function* (iteration) {
        history.push(iteration);
        yield* told(iteration);
        if (!(yield* judge(iteration))) throw new Stopped();
      });
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    return this.best(history, last);
  }

  private best(history: readonly LeastSquaresIteration[], last: FitRecord | undefined): FitRecord {
    const {x, cost, iteration} = this.met ?? {x: history[0].x, cost: NaN, iteration: 0};
    if (last !== undefined && last.x.every((value, i) => value === x[i])) return {...last, history, remarks: []};
    const {objective} = this;
    const at = evaluate(objective.linearize(x));
    const found: LeastSquaresResult = {
      ...at,
      factor: new RowQr(x.length).append(at.jacobian, at.residuals),
      x,
      cost: at.residuals.reduce((sum, r) => sum + r * r, 0) / 2,
      status: 'stopped-early',
      converged: false,
      message:
        `Stopped early: the held-out records were fitted best after ${iteration} iterations, with cost `
        + `${cost.toPrecision(4)}. This is not a minimum of the fit's own cost, which its standard errors assume.`,
      history,
      evaluations: last?.evaluations ?? {residuals: 0, jacobians: history.length, failed: 0},
    };
    return recordOf(found, objective.state);
  }

  /** ½ Σ r² of a free run; infinite where it fails, but an error at the guess. */
  private *cost(x: Float64Array, atGuess: boolean): Evaluation<number> {
    const {held, objective} = this;
    try {
      const residuals = yield* held.residuals(held.space.coordinates(objective.fit.space.values(x)));
      return residuals.reduce((sum, r) => sum + r * r, 0) / 2;
    } catch (error) {
      if (!isFailedSimulation(error)) throw error;
      if (atGuess)
        throw prefixed(error, 'identify: earlyStopping: the held-out records cannot be simulated at the guess');
      return Infinity;
    }
  }
}
