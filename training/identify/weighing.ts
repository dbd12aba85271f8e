/**
 * How residuals weigh in a cost: whitened where the noise is an autoregression, bent where it has outliers, in units of
 * a scale that is found where it is not known. What is not known is estimated anew from the residuals of a fit, by
 * turns with the parameters (Seber & Wild, Nonlinear Regression, §6.2; of outliers Huber, Robust Statistics, §7.8).
 */
import type {Predictors, ScalarSeries, SeriesStretch} from './autoregression.js';
import {burg, likeliest, predictorsOf, unbiased, whiten, whitenBack} from './autoregression.js';
import type {Noise} from './noise.js';
import {isRobust, lossAt, medianScale, scaleOf} from './noise.js';

/** Scale and correlations of the noise, known or estimated. */
export interface NoiseState {
  /** Scale of a weighted residual; with an autoregression, of what its past does not tell. */
  readonly sd: number;
  /** Partial autocorrelations of lags 1 … p, by group of outputs. */
  readonly partial: readonly Float64Array[];
}

/** Rows of one output that an autoregression joins. */
export interface WhitenedStretch extends SeriesStretch {
  readonly group: number;
}

/** The residuals that are weighed. */
export interface Weighed {
  /** By row; of weight 0 is what was not measured. */
  readonly weights: Float64Array;
  /** None but for an autoregression. */
  readonly stretches: readonly WhitenedStretch[];
  /** ½ Σ (weight · measured)² */
  readonly magnitude: number;
  /** Whether priors stand beside them, so that their scale matters. */
  readonly penalized: boolean;
}

/** A cost of residuals with its gradient, and Σ ψ(z) z less that of z = 0: its derivative by the scale. */
export interface Measure {
  readonly cost: number;
  readonly gradient: Float64Array;
  readonly tension: number;
  /** ln of the determinant of the whitening, which the likelihood has. */
  readonly logDeterminant: number;
}

/** The fifth root of a double's rounding, of the distance to the next bound of a partial autocorrelation, ±1. */
const PARTIAL_STEP = 1e-3;

export class NoiseWeights {
  /** Whether nothing about the noise is left to find, so that one round is all. */
  readonly settled: boolean;
  private predictors: readonly Predictors[];
  private current: NoiseState;

  /** @param held of an earlier fit: the noise is then taken as it was found there */
  constructor(
    readonly noise: Noise,
    private readonly weighed: Weighed,
    held?: NoiseState,
  ) {
    const groups = weighed.stretches.reduce((most, {group}) => Math.max(most, group + 1), 0);
    this.settled = held !== undefined || (noise.order === 0 && (noise.sd !== undefined || !this.scaleMatters));
    this.current = held ?? {
      sd: noise.sd ?? NaN,
      partial: Array.from({length: groups}, () => new Float64Array(noise.order)),
    };
    this.predictors = this.current.partial.map(predictorsOf);
  }

  /** The noise as it is taken now. */
  get state(): NoiseState {
    return this.current;
  }

  get sd(): number {
    return this.current.sd;
  }

  /** Coefficients φ of the autoregressions, output by output. */
  get coefficients(): Float64Array[] {
    return this.predictors.map(({weights}) => weights[weights.length - 1]);
  }

  /** Whether the cost is ½ Σ r². */
  get plain(): boolean {
    return this.weighed.stretches.length === 0 && !isRobust(this.noise);
  }

  /** Whether a scale has to be known before the cost is, and is not yet. */
  get unscaled(): boolean {
    return Number.isNaN(this.current.sd) && this.scaleMatters;
  }

  private get scaleMatters(): boolean {
    return this.weighed.penalized || isRobust(this.noise);
  }

  /** The value of f with another state of the noise. */
  at<T>(state: NoiseState, f: () => T): T {
    const [before, predictors] = [this.current, this.predictors];
    [this.current, this.predictors] = [state, state.partial.map(predictorsOf)];
    try {
      return f();
    } finally {
      [this.current, this.predictors] = [before, predictors];
    }
  }

  /**
   * Rows [rows, width] in place, each of a stretch without what its past tells.
   * @returns ln of the determinant
   */
  whiten(rows: Float64Array, width: number, stretches: readonly WhitenedStretch[] = this.weighed.stretches): number {
    return stretches.reduce((sum, stretch) => sum + whiten(rows, width, stretch, this.predictors[stretch.group]), 0);
  }

  /**
   * ln of the likelihood of an autoregression's residuals, −½ Σ (e/s)² + ln of the whitening's determinant, by each
   * partial autocorrelation, [groups][order]: central differences of order 4, whose error is that of rounding, some
   * 1e-12 of the value.
   */
  byPartial(residuals: Float64Array, stretches: readonly WhitenedStretch[]): Float64Array[] {
    const {sd, partial} = this.current;
    const likelihood = (own: readonly WhitenedStretch[], group: number, i: number, move: number): number => {
      const moved = partial.map((values, g) =>
        values.map((kappa, k) => (g === group && k === i ? kappa + move : kappa)),
      );
      return this.at({sd, partial: moved}, () => {
        const white = residuals.slice();
        const logDeterminant = this.whiten(white, 1, own);
        const rows = own.flatMap(stretch => [...stretch.rows]);
        return logDeterminant - rows.reduce((sum, row) => sum + (white[row] / sd) ** 2 / 2, 0);
      });
    };
    return partial.map((values, group) => {
      const own = stretches.filter(stretch => stretch.group === group);
      return values.map((kappa, i) => {
        const h = PARTIAL_STEP * (1 - Math.abs(kappa));
        const [near, far] = [1, 2].map(k => likelihood(own, group, i, k * h) - likelihood(own, group, i, -k * h));
        return (8 * near - far) / (12 * h);
      });
    });
  }

  /** Rows whose half squares are s²ρ, with their derivatives: least squares on them has the robust cost. */
  bend(residuals: Float64Array, jacobian: Float64Array, p: number): void {
    if (!isRobust(this.noise)) return;
    const {sd} = this.current;
    residuals.forEach((r, i) => {
      const {rho, psi, slope: curvature} = lossAt(this.noise, r / sd, sd);
      const bent = Math.sign(r) * Math.sqrt(2 * rho);
      const slope = bent === 0 ? Math.sqrt(curvature) : psi / bent;
      residuals[i] = sd * bent;
      for (let j = i * p; j < (i + 1) * p; j++) jacobian[j] *= slope;
    });
  }

  /** The cost of residuals and its gradient by them. @param stretches as their rows are numbered */
  measure(residuals: Float64Array, stretches: readonly WhitenedStretch[] = this.weighed.stretches): Measure {
    const gradient = residuals.slice();
    const logDeterminant = this.whiten(gradient, 1, stretches);
    let [cost, tension] = [0, 0];
    const {sd} = this.current;
    const robust = isRobust(this.noise);
    const rest = lossAt(this.noise, 0, sd).tension;
    gradient.forEach((r, i) => {
      const {rho, psi, tension: own} = lossAt(this.noise, r / sd, sd);
      tension += own - rest; // nothing of what was not measured
      cost += robust ? sd * sd * rho : (r * r) / 2;
      if (robust) gradient[i] = sd * psi;
    });
    for (const stretch of stretches) whitenBack(gradient, stretch, this.predictors[stretch.group]);
    return {cost, gradient, tension, logDeterminant};
  }

  /**
   * In place of robust residuals pseudo-residuals s ψ / mean ψ′. How much a rounded reading tells depends on where it
   * is between two steps: there each has its own, s ψ/√ψ′, and √ψ′ times its derivatives, whose squares are Fisher's
   * information.
   */
  pseudo(residuals: Float64Array, jacobian: Float64Array, p: number): void {
    if (!isRobust(this.noise)) return;
    const {sd} = this.current;
    const mean = this.steepness(residuals);
    residuals.forEach((r, i) => {
      if (this.weighed.weights[i] === 0) return;
      const {psi, slope} = lossAt(this.noise, r / sd, sd);
      if (!this.ownSlopes) {
        residuals[i] = (sd * psi) / mean;
        return;
      }
      const root = Math.sqrt(Math.max(slope, Number.MIN_VALUE));
      residuals[i] = (sd * psi) / root;
      for (let j = i * p; j < (i + 1) * p; j++) jacobian[j] *= root;
    });
  }

  /** The mean of ψ′ where `pseudo` divides by it, else 1: the cost's steepness over that of ½ Σ of squares. */
  steepness(residuals: Float64Array): number {
    if (!isRobust(this.noise) || this.ownSlopes) return 1;
    const {sd} = this.current;
    const counted = this.counted(residuals);
    return counted.reduce((sum, r) => sum + lossAt(this.noise, r / sd, sd).slope, 0) / counted.length;
  }

  /** Whether the information of a reading depends on the reading. */
  private get ownSlopes(): boolean {
    return this.noise.name === 'quantized';
  }

  /**
   * The noise anew, from the residuals of a fit.
   * @param effective numbers that were fitted to them
   * @returns by how much it changed: of the scale in parts of itself, of correlations as they are
   */
  update(residuals: Float64Array, effective: number): number {
    if (this.settled) return 0;
    const before = this.current;
    const observations = this.weighed.weights.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
    const share = effective / Math.max(observations, 1);
    const {order} = this.noise;
    const partial = this.seriesOf(residuals).map(series => {
      const found = series.some(({lags}) => lags !== undefined)
        ? likeliest(series, order)
        : burg(
            series.map(({values}) => values),
            order,
          );
      return unbiased(found, series, share);
    });
    this.predictors = partial.map(predictorsOf);
    const white = residuals.slice();
    this.whiten(white, 1);
    const counted = this.counted(white);
    const degrees = Math.max(counted.length - effective, 1);
    const sd = this.noise.sd ?? scaleOf(this.noise, counted, degrees, before.sd || medianScale(counted));
    this.current = {sd: this.scaled(sd), partial};
    return Math.max(Math.abs(sd - before.sd) / sd || 0, moved(before.partial, partial));
  }

  /**
   * The partial autocorrelations of the largest likelihood at the scale as it is, without the corrections of `update`.
   * @returns by how much they changed
   */
  correlate(residuals: Float64Array): number {
    const {sd, partial: before} = this.current;
    const partial = this.seriesOf(residuals).map(series => likeliest(series, this.noise.order, sd));
    this.predictors = partial.map(predictorsOf);
    this.current = {sd, partial};
    return moved(before, partial);
  }

  /**
   * ln of the Gaussian likelihood of weighted residuals, at the most likely scale and correlations where these are not
   * known: without the corrections of `update`, which make it a little less.
   */
  logLikelihood(residuals: Float64Array): number {
    const {sd, order} = this.noise;
    const partial = this.seriesOf(residuals).map(series => likeliest(series, order, sd));
    return this.at({sd: this.sd, partial}, () => {
      const white = residuals.slice();
      const logDeterminant = this.whiten(white, 1);
      const counted = this.counted(white);
      const squares = counted.reduce((sum, e) => sum + e * e, 0);
      return logDeterminant + normalLogLikelihood(counted.length, squares, sd);
    });
  }

  /** Before the first fit: what the residuals at the guess tell, outliers or a wrong guess as they may be. */
  requireScale(residuals: Float64Array): void {
    if (!Number.isNaN(this.current.sd)) return;
    const counted = this.counted(residuals);
    this.current = {
      ...this.current,
      sd: this.scaled(medianScale(counted) || scaleOf({...this.noise, name: 'white'}, counted, counted.length, 1)),
    };
  }

  /** By group of outputs. */
  private seriesOf(residuals: Float64Array): ScalarSeries[][] {
    return this.current.partial.map((_, group) =>
      this.weighed.stretches
        .filter(one => one.group === group)
        .map(({rows, lags}) => ({values: Float64Array.from(rows, row => residuals[row]), lags})),
    );
  }

  private counted(residuals: Float64Array): Float64Array {
    return residuals.filter((_, i) => this.weighed.weights[i] > 0);
  }

  /** A model that meets the data to roundoff has the noise of roundoff, to weigh priors against. */
  private scaled(sd: number): number {
    const {magnitude, weights} = this.weighed;
    const least = Number.EPSILON * Math.sqrt((2 * magnitude) / Math.max(weights.length, 1));
    return Math.max(sd, least, Number.MIN_VALUE);
  }
}

/** ln of the likelihood of n normal numbers, by the sum of their squares; by default at their most likely scale. */
export const normalLogLikelihood = (n: number, squares: number, sd?: number): number =>
  sd === undefined
    ? (-n / 2) * (Math.log((2 * Math.PI * squares) / n) + 1)
    : (-n / 2) * Math.log(2 * Math.PI * sd ** 2) - squares / (2 * sd ** 2);

const moved = (before: readonly Float64Array[], after: readonly Float64Array[]): number =>
  Math.max(
    0,
    ...after.flatMap((values, group) => Array.from(values, (value, i) => Math.abs(value - before[group][i]))),
  );
