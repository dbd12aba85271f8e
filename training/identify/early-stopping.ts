/**
 * The end of a fit where records that it does not see are met no better any more (Prechelt, Early Stopping — But When?,
 * 1998): a regularization by itself, for networks beside physics. Each accepted step is judged by a free run of the records.
 */
import {OptionError} from '../../lib/errors.js';
import {any, count, refuseUnknownOptions} from '../../lib/checks.js';
import {evaluate, type Evaluation} from './evaluation.js';
import {isFailedSimulation, prefixed} from './failed-simulation.js';
import {checkRecords, Fit} from './fit.js';
import type {LeastSquaresIteration, LeastSquaresResult} from './least-squares-problem.js';
import type {Objective} from './objective.js';
import type {Model} from './model.js';
import type {MeasuredRecord} from './records.js';
import type {Fitted} from './rounds.js';
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
  refuseUnknownOptions(given, {data: any, patience: count}, 'identify: earlyStopping');
  if (given.data === undefined)
    throw new OptionError('missing-option', "identify: earlyStopping needs 'data', the held-out records.", {
      option: 'data',
    });
}

/** Keeps the estimate that meets the held-out records best. */
export class HeldOut {
  private best: {readonly x: Float64Array; readonly cost: number; readonly iteration: number} | undefined;
  private since = 0;
  private readonly patience: number;
  private readonly held: Fit;

  /** @throws OptionError, DataError of records that do not fit the problem */
  constructor(
    model: Model,
    {data, patience = 10}: EarlyStopping,
    private readonly objective: Objective,
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
  *judge({iteration, accepted, x}: LeastSquaresIteration): Evaluation<boolean> {
    if (!accepted) return true;
    const cost = yield* this.cost(x, iteration === 0);
    if (cost < (this.best?.cost ?? Infinity)) {
      this.best = {x, cost, iteration};
      this.since = 0;
    } else this.since++;
    return this.since < this.patience;
  }

  /** The fit where the held-out records were met best. */
  result(history: readonly LeastSquaresIteration[], last: LeastSquaresResult | undefined): Fitted {
    const {x, cost, iteration} = this.best ?? {x: history[0].x, cost: NaN, iteration: 0};
    if (last !== undefined && last.x.every((value, i) => value === x[i])) return {...last, history, remarks: []};
    const {objective} = this;
    const at = evaluate(objective.linearize(x));
    const factor = new RowQr(x.length).append(at.jacobian, at.residuals);
    return {
      ...at,
      x,
      cost: at.residuals.reduce((sum, r) => sum + r * r, 0) / 2,
      status: 'stopped-early',
      converged: false,
      message: `Stopped early: the held-out records were fitted best after ${iteration} iterations, with cost ${cost.toPrecision(4)}. This is not a minimum of the fit's own cost, which its standard errors assume.`,
      factor,
      history,
      evaluations: last?.evaluations ?? {residuals: 0, jacobians: history.length, failed: 0},
      remarks: [],
    };
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
