/**
 * What a fit makes small: the records' residuals as the model of their noise weighs them, and the rows of the priors
 * beside them. With s the noise's scale it is s² (Σ ρ(e/s) + −ln prior), e the whitened residuals: for white noise without
 * priors ½Σ r², whatever s is. What is not known of the noise is estimated between rounds of the fit, by turns with the
 * parameters (Seber & Wild, Nonlinear Regression, §6.2; of outliers Huber, Robust Statistics, §7.8): each turn lowers
 * the same negative logarithm of the likelihood.
 */
import type {Fit} from './fit.js';
import {evaluate, type Evaluation} from './evaluation.js';
import type {EvaluatedProblem, LeastSquaresResult, Linearization} from './least-squares-problem.js';
import type {Predictors, Stretch} from './autoregression.js';
import {burg, predictorsOf, unbiased, whiten, whitenBack} from './autoregression.js';
import type {Noise} from './noise.js';
import {isRobust, lossAt, medianScale, scaleOf} from './noise.js';
import {hasPriors, priorCost, priorRows} from './priors.js';
import {RowQr} from './row-qr.js';

/** What is known, or was found, of the noise. */
export interface NoiseState {
  /** Scale of a weighted residual; with an autoregression, of what its past does not tell. */
  readonly sd: number;
  /** Partial autocorrelations of lags 1 … p, by group of outputs. */
  readonly partial: readonly Float64Array[];
}

/** The noise as the fit took it. */
export interface NoiseFound extends NoiseState {
  readonly model: Noise['name'];
  /** Of an autoregression: φ₁ … φₚ, output by output. */
  readonly coefficients: readonly Float64Array[];
}

interface WhitenedStretch {
  readonly group: number;
  readonly record: number;
  readonly rows: Stretch;
}

/** What `uncertainty` takes: rows of the data alone, and those of the priors apart. */
export interface Judgeable extends Linearization {
  readonly factor: RowQr;
  readonly cost: number;
  readonly priorRows: Float64Array;
}

export class Objective implements EvaluatedProblem {
  readonly magnitude: number;
  /** Whether nothing about the noise is left to find, so that one round is all. */
  readonly settled: boolean;
  private readonly penalized: boolean;
  private readonly weights: Float64Array;
  private readonly stretches: readonly WhitenedStretch[];
  private readonly groups: number;
  private predictors: readonly Predictors[];
  private current: NoiseState;
  /** Σ ψ(z) z of the records measured since it was set to 0. */
  private tension = 0;

  /** @param held of an earlier fit: the noise is then taken as it was found there */
  constructor(
    readonly fit: Fit,
    readonly noise: Noise,
    held?: NoiseState,
  ) {
    this.magnitude = fit.magnitude;
    this.penalized = hasPriors(fit.space);
    this.weights = fit.weights;
    const stretches = noise.order > 0 ? fit.stretches() : [];
    this.groups = stretches.reduce((most, {output}) => Math.max(most, output + 1), 0);
    this.stretches = stretches.map(({output, ...rest}) => ({...rest, group: output}));
    this.settled =
      held !== undefined || (noise.order === 0 && (noise.sd !== undefined || !(this.penalized || isRobust(noise))));
    this.current = held ?? {
      sd: noise.sd ?? NaN,
      partial: Array.from({length: this.groups}, () => new Float64Array(noise.order)),
    };
    this.predictors = this.current.partial.map(predictorsOf);
  }

  /** The noise as it is taken now. */
  get state(): NoiseState {
    return this.current;
  }

  /** Coefficients φ of the autoregressions, output by output. */
  get coefficients(): Float64Array[] {
    return this.predictors.map(({weights}) => weights[weights.length - 1]);
  }

  /** Whether the scale of the noise is in the cost, or known: else it is what the residuals at the guess were like. */
  get weighed(): boolean {
    return this.noise.sd !== undefined || this.noise.order > 0 || isRobust(this.noise) || this.penalized;
  }

  /** Of a residual, where the problem says it; residuals with outliers are judged by themselves. */
  get knownVariance(): number | undefined {
    return this.noise.sd === undefined || isRobust(this.noise) ? undefined : this.noise.sd ** 2;
  }

  *linearize(x: Float64Array): Evaluation<Linearization> {
    const {residuals, jacobian} = yield* this.fit.linearize(x);
    const p = x.length;
    this.requireScale(residuals);
    this.whiten(residuals, 1);
    this.whiten(jacobian, p);
    if (isRobust(this.noise)) this.bend(residuals, jacobian, p);
    return this.penalized ? this.withPriors(residuals, jacobian, x) : {residuals, jacobian};
  }

  *gradient(x: Float64Array): Evaluation<{cost: number; gradient: Float64Array}> {
    const {fit, noise, penalized} = this;
    if (Number.isNaN(this.current.sd) && (penalized || isRobust(noise))) this.requireScale(yield* fit.residuals(x));
    const plain = this.stretches.length === 0 && !isRobust(noise);
    const found = yield* fit.gradient(x, plain ? undefined : (residuals, record) => this.measure(residuals, record));
    if (!penalized) return found;
    const rows = priorRows(fit.space, x);
    const variance = this.current.sd ** 2;
    for (const {column, residual, derivative} of rows) found.gradient[column] += variance * residual * derivative;
    return {cost: found.cost + variance * priorCost(rows), gradient: found.gradient};
  }

  /**
   * ln of the likelihood at a scale of the noise and of the priors, up to constants, with its gradient in the coordinates and
   * in ln of the scale: −n ln s − Σ ρ(e/s) + ln prior.
   */
  logLikelihood(x: Float64Array, sd: number): {value: number; gradient: Float64Array; byLogScale: number} {
    const before = this.current;
    this.current = {...before, sd};
    this.tension = 0;
    try {
      const {cost, gradient} = evaluate(this.fit.gradient(x, (residuals, record) => this.measure(residuals, record)));
      const variance = sd ** 2;
      const rows = this.penalized ? priorRows(this.fit.space, x) : [];
      const total = gradient.map(g => -g / variance);
      for (const {column, residual, derivative} of rows) total[column] -= residual * derivative;
      const n = this.fit.observations;
      return {
        value: -cost / variance - n * Math.log(sd) - priorCost(rows),
        gradient: total,
        byLogScale: this.tension - n,
      };
    } finally {
      this.current = before;
    }
  }

  bound(x: Float64Array): string | undefined {
    return this.fit.bound(x);
  }

  /**
   * The noise anew, from the residuals of a fit.
   * @returns by how much it changed: of the scale in parts of itself, of correlations as they are
   */
  *update(found: LeastSquaresResult): Evaluation<number> {
    if (this.settled) return 0;
    const before = this.current;
    const residuals = yield* this.fit.residuals(found.x);
    const share = this.effective(found) / Math.max(this.fit.observations, 1);
    const partial = before.partial.map((_, group) => {
      const series = this.stretches
        .filter(one => one.group === group)
        .map(({rows}) => Float64Array.from(rows, row => residuals[row]));
      return unbiased(burg(series, this.noise.order), series, share);
    });
    this.predictors = partial.map(predictorsOf);
    this.whiten(residuals, 1);
    const counted = residuals.filter((_, i) => this.weights[i] > 0);
    const degrees = Math.max(counted.length - this.effective(found), 1);
    const sd = this.noise.sd ?? scaleOf(this.noise, counted, degrees, before.sd || medianScale(counted));
    this.current = {sd: this.scaled(sd), partial};
    return Math.max(
      Math.abs(sd - before.sd) / sd || 0,
      ...partial.flatMap((values, group) =>
        Array.from(values, (value, i) => Math.abs(value - before.partial[group][i])),
      ),
    );
  }

  /**
   * What the uncertainty of a fit is judged by: whitened residuals; in place of robust ones pseudo-residuals s ψ / mean ψ′, by
   * which the covariance of least squares is that of the M-estimate (Huber, Robust Statistics, §7.6).
   */
  judged(found: LeastSquaresResult): Judgeable {
    if (this.stretches.length === 0 && !isRobust(this.noise) && !this.penalized)
      return {...found, priorRows: new Float64Array(0)};
    const {residuals, jacobian} = evaluate(this.fit.linearize(found.x));
    const p = found.x.length;
    this.whiten(residuals, 1);
    this.whiten(jacobian, p);
    if (isRobust(this.noise)) this.pseudo(residuals);
    const prior = this.priorJacobian(found.x);
    const factor = new RowQr(p).append(jacobian, residuals);
    if (prior.length > 0) factor.append(prior, new Float64Array(prior.length / p));
    const cost = residuals.reduce((sum, r) => sum + r * r, 0) / 2;
    return {residuals, jacobian, factor, cost, priorRows: prior};
  }

  private whiten(rows: Float64Array, width: number): void {
    for (const {group, rows: stretch} of this.stretches) whiten(rows, width, stretch, this.predictors[group]);
  }

  /** Rows whose half squares are s²ρ, and their derivatives: least squares on them has the robust cost and its gradient. */
  private bend(residuals: Float64Array, jacobian: Float64Array, p: number): void {
    const {sd} = this.current;
    residuals.forEach((r, i) => {
      const {rho, psi} = lossAt(this.noise, r / sd);
      const bent = Math.sign(r) * Math.sqrt(2 * rho);
      const slope = bent === 0 ? 1 : psi / bent;
      residuals[i] = sd * bent;
      for (let j = i * p; j < (i + 1) * p; j++) jacobian[j] *= slope;
    });
  }

  /** The cost of one record's residuals and its gradient by them. */
  private measure(residuals: Float64Array, record: number): {cost: number; gradient: Float64Array} {
    const own = this.stretches.filter(one => one.record === record);
    const first = this.fit.firstRow(record);
    const local = own.map(({group, rows}) => ({group, rows: rows.map(row => row - first)}));
    const gradient = residuals.slice();
    for (const {group, rows} of local) whiten(gradient, 1, rows, this.predictors[group]);
    let cost = 0;
    const {sd} = this.current;
    gradient.forEach((r, i) => {
      const {rho, psi} = isRobust(this.noise) ? lossAt(this.noise, r / sd) : {rho: (r / sd) ** 2 / 2, psi: r / sd};
      this.tension += (psi * r) / sd;
      cost += isRobust(this.noise) ? sd * sd * rho : (r * r) / 2;
      if (isRobust(this.noise)) gradient[i] = sd * psi;
    });
    for (const {group, rows} of local) whitenBack(gradient, rows, this.predictors[group]);
    return {cost, gradient};
  }

  private pseudo(residuals: Float64Array): void {
    const {sd} = this.current;
    let [slopes, counted] = [0, 0];
    residuals.forEach((r, i) => {
      if (this.weights[i] === 0) return;
      const {psi, slope} = lossAt(this.noise, r / sd);
      residuals[i] = sd * psi;
      slopes += slope;
      counted++;
    });
    for (let i = 0; i < residuals.length; i++) residuals[i] /= slopes / counted;
  }

  private withPriors(residuals: Float64Array, jacobian: Float64Array, x: Float64Array): Linearization {
    const rows = priorRows(this.fit.space, x);
    const all = new Float64Array(residuals.length + rows.length);
    all.set(residuals);
    rows.forEach(({residual}, k) => (all[residuals.length + k] = this.current.sd * residual));
    const wide = new Float64Array(all.length * x.length);
    wide.set(jacobian);
    wide.set(this.priorJacobian(x), jacobian.length);
    return {residuals: all, jacobian: wide};
  }

  /** [rows, p], in the scale of the residuals. */
  private priorJacobian(x: Float64Array): Float64Array {
    if (!this.penalized) return new Float64Array(0);
    const rows = priorRows(this.fit.space, x);
    const jacobian = new Float64Array(rows.length * x.length);
    rows.forEach(({column, derivative}, k) => (jacobian[k * x.length + column] = this.current.sd * derivative));
    return jacobian;
  }

  /** Numbers that the data determine: of the fit's, those that the priors do not (MacKay, Neural Computation 4, 1992). */
  private effective({x, factor}: LeastSquaresResult): number {
    const prior = this.priorJacobian(x);
    const p = x.length;
    let effective = p;
    for (let k = 0; k < prior.length / p; k++) effective -= leverage(factor, prior.subarray(k * p, (k + 1) * p));
    return Math.max(effective, 0);
  }

  /** Before the first fit: what the residuals at the guess tell, outliers or a wrong guess as they may be. */
  private requireScale(residuals: Float64Array): void {
    if (!Number.isNaN(this.current.sd)) return;
    const counted = residuals.filter((_, i) => this.weights[i] > 0);
    this.current = {
      ...this.current,
      sd: this.scaled(medianScale(counted) || scaleOf({...this.noise, name: 'white'}, counted, counted.length, 1)),
    };
  }

  /** A model that meets the data to roundoff leaves no noise to weigh a prior against: then it is what roundoff would be. */
  private scaled(sd: number): number {
    const least = Number.EPSILON * Math.sqrt((2 * this.magnitude) / Math.max(this.weights.length, 1));
    return Math.max(sd, least, Number.MIN_VALUE);
  }
}

/** ‖R⁻ᵀ a‖²: what a row of the matrix behind the factor has to say beside all others, 0 … 1. */
function leverage({r, p}: RowQr, row: Float64Array): number {
  const y = row.slice();
  let sum = 0;
  for (let i = 0; i < p; i++) {
    for (let j = 0; j < i; j++) y[i] -= r[j * p + i] * y[j];
    y[i] = r[i * p + i] === 0 ? 0 : y[i] / r[i * p + i];
    sum += y[i] ** 2;
  }
  return Math.min(sum, 1);
}
