/**
 * The cost that a fit minimizes: the records' residuals as the model of their noise weighs them, and the rows of the
 * priors. With s the noise's scale it is s² (Σ ρ(e/s) + −ln prior), e the whitened residuals: for white noise
 * without priors ½Σ r², whatever s is. What is not known of the noise is estimated between rounds of the fit, by turns
 * with the parameters (Seber & Wild, Nonlinear Regression, §6.2; of outliers Huber, Robust Statistics, §7.8): each turn
 * lowers the same negative logarithm of the likelihood.
 */
import type {Fit} from './fit.js';
import {evaluate, type Evaluation} from './evaluation.js';
import type {FitRecord} from './fit-record.js';
import {
  withFactor,
  type EvaluatedProblem,
  type LeastSquaresResult,
  type ResidualLinearization,
} from './least-squares-problem.js';
import type {Noise} from './noise.js';
import {groundOf, isRobust, lossAt} from './noise.js';
import {effective, hasPriors, priorCost, priorGradient, priorMatrix, priorRows} from './priors.js';
import {RowQr} from './row-qr.js';
import type {NoiseState, WhitenedStretch} from './weighing.js';
import {normalLogLikelihood, NoiseWeights} from './weighing.js';

/** The noise model of the fit. */
export interface NoiseFound extends NoiseState {
  readonly model: Noise['name'];
  /** For an autoregression: φ₁ … φₚ, by output. */
  readonly coefficients: readonly Float64Array[];
}

/** The argument of `reports.uncertainty`, with the rows of the priors apart from those of the data. */
export interface LinearFit extends ResidualLinearization {
  readonly factor: RowQr;
  readonly cost: number;
  readonly priorRows: Float64Array;
}

export class ResidualObjective implements EvaluatedProblem {
  readonly magnitude: number;
  readonly kinked: boolean = false;
  protected readonly penalized: boolean;
  private readonly weighing: NoiseWeights;
  /** By record, in its own rows. */
  private readonly stretches: readonly (readonly WhitenedStretch[])[];

  /** @param held of an earlier fit: the noise is then taken as it was found there */
  constructor(
    readonly fit: Fit,
    readonly noise: Noise,
    held?: NoiseState,
  ) {
    this.magnitude = fit.magnitude;
    this.penalized = hasPriors(fit.space);
    this.stretches = noise.order > 0 ? fit.stretches() : Array.from({length: fit.records}, () => []);
    const stretches = this.stretches.flatMap((own, record) => {
      const first = fit.firstRow(record);
      return own.map(one => ({...one, rows: one.rows.map(row => first + row)}));
    });
    const {weights, magnitude} = fit;
    this.weighing = new NoiseWeights(noise, {weights, stretches, magnitude, penalized: this.penalized}, held);
  }

  /** The noise as it is taken now. */
  get state(): NoiseState {
    return this.weighing.state;
  }

  /** Coefficients φ of the autoregressions, output by output. */
  get coefficients(): Float64Array[] {
    return this.weighing.coefficients;
  }

  /** Whether the scale of the noise is in the cost, or known: else it is what the residuals at the guess were like. */
  get weighed(): boolean {
    return this.noise.sd !== undefined || this.noise.order > 0 || isRobust(this.noise) || this.penalized;
  }

  /** Variance of a residual if known; rounded ones are judged by the information of their likelihood. */
  get knownVariance(): number | undefined {
    if (this.noise.name === 'quantized') return this.weighing.sd ** 2;
    return this.noise.sd === undefined || isRobust(this.noise) ? undefined : this.noise.sd ** 2;
  }

  /** The curvature of the cost at x over that of ½ Σ of the squares of what is `judged`. */
  *steepness(x: Float64Array): Evaluation<number> {
    return isRobust(this.noise) ? this.weighing.steepness(yield* this.fit.residuals(x)) : 1;
  }

  *linearize(x: Float64Array): Evaluation<ResidualLinearization> {
    const {weighing} = this;
    const {residuals, jacobian} = yield* this.fit.linearize(x);
    const p = x.length;
    weighing.requireScale(residuals);
    weighing.whiten(residuals, 1);
    weighing.whiten(jacobian, p);
    weighing.bend(residuals, jacobian, p);
    return this.penalized ? this.withPriors(residuals, jacobian, x) : {residuals, jacobian};
  }

  *gradient(x: Float64Array): Evaluation<{cost: number; gradient: Float64Array}> {
    const {fit, weighing, penalized} = this;
    if (weighing.unscaled) weighing.requireScale(yield* fit.residuals(x));
    const found = yield* fit.gradient(
      x,
      weighing.plain ? undefined : (residuals, record) => weighing.measure(residuals, this.stretches[record]),
    );
    if (!penalized) return found;
    const prior = priorGradient(fit.space, x, weighing.sd);
    return {cost: found.cost + prior.cost, gradient: found.gradient.map((value, i) => value + prior.gradient[i])};
  }

  /**
   * ln of the likelihood with the priors at a state of the noise, up to constants: −n ln s − Σ ρ(e/s) + ln det W + ln
   * prior, e = W r the whitened residuals; with its gradient in the coordinates, in ln s and in the partial
   * autocorrelations.
   */
  logLikelihood(
    x: Float64Array,
    noise: NoiseState,
  ): {value: number; gradient: Float64Array; byLogScale: number; byPartial: Float64Array[]} {
    const {fit, weighing} = this;
    const {sd} = noise;
    let [tension, logDeterminant] = [0, 0];
    const byPartial = noise.partial.map(values => new Float64Array(values.length));
    const {cost, gradient} = weighing.at(noise, () =>
      evaluate(
        fit.gradient(x, (residuals, record) => {
          const stretches = this.stretches[record];
          const measured = weighing.measure(residuals, stretches);
          tension += measured.tension;
          logDeterminant += measured.logDeterminant;
          weighing
            .byPartial(residuals, stretches)
            .forEach((part, group) => part.forEach((value, i) => (byPartial[group][i] += value)));
          return measured;
        }),
      ),
    );
    const variance = sd ** 2;
    const rows = this.penalized ? priorRows(fit.space, x) : [];
    const total = gradient.map(g => -g / variance);
    for (const {column, residual, derivative} of rows) total[column] -= residual * derivative;
    const n = fit.observations;
    const rest = lossAt(this.noise, 0, sd).tension;
    const ground = n * (Math.log(sd) + groundOf(this.noise, sd));
    return {
      value: -cost / variance + logDeterminant - ground - priorCost(rows),
      gradient: total,
      byLogScale: tension + n * (rest - 1),
      byPartial,
    };
  }

  /**
   * ln of the likelihood of the measurements at the end of a fit, with how many numbers were estimated, those of the
   * noise included. Undefined with priors, which are not measurements, and where the noise is no density of its own or
   * has a scale that is not the most likely one: with outliers and with rounded readings.
   */
  likelihood({x, cost}: FitRecord): {readonly logLikelihood: number; readonly estimated: number} | undefined {
    const {fit, noise, weighing} = this;
    if (this.penalized || isRobust(noise)) return undefined;
    // The density of a measurement is that of its weighted residual times the weight.
    const logWeights = fit.weights.reduce((sum, weight) => sum + (weight > 0 ? Math.log(weight) : 0), 0);
    const ofNoise = weighing.state.partial.reduce((sum, values) => sum + values.length, noise.sd === undefined ? 1 : 0);
    const ofResiduals =
      noise.order === 0
        ? normalLogLikelihood(fit.observations, 2 * cost, noise.sd)
        : weighing.logLikelihood(evaluate(fit.residuals(x)));
    return {logLikelihood: ofResiduals + logWeights, estimated: fit.space.size + ofNoise};
  }

  bound(x: Float64Array): string | undefined {
    return this.fit.bound(x);
  }

  /** Differences of the records' residuals, as `judged` has residuals. */
  whitened(differences: Float64Array): Float64Array {
    const own = differences.slice();
    this.weighing.whiten(own, 1);
    return own;
  }

  /**
   * The noise anew, from the residuals of a fit.
   * @returns by how much it changed: of the scale in parts of itself, of correlations as they are
   */
  *update(found: LeastSquaresResult): Evaluation<number> {
    const {weighing, fit} = this;
    return weighing.settled ? 0 : weighing.update(yield* fit.residuals(found.x), this.effective(found));
  }

  /** The likeliest correlations of the noise at x, also of a held noise. @returns by how much they changed */
  *correlate(x: Float64Array): Evaluation<number> {
    return this.noise.order === 0 ? 0 : this.weighing.correlate(yield* this.fit.residuals(x));
  }

  /** The likelihood's term for correlations of the noise that vary, −s² ln det W; the cost is without it. */
  get determinantCost(): number {
    const {fit, noise, weighing} = this;
    return noise.order === 0 ? 0 : -(weighing.sd ** 2) * weighing.whiten(new Float64Array(fit.weights.length), 1);
  }

  /**
   * The linear model for the uncertainty of a fit: whitened residuals; in place of robust ones pseudo-residuals
   * s ψ / mean ψ′, by which the covariance of least squares is that of the M-estimate (Huber, Robust Statistics, §7.6).
   */
  linearFit({x, cost: found, linearization}: FitRecord): LinearFit {
    const {weighing} = this;
    const p = x.length;
    const at = linearization ?? withFactor(evaluate(this.linearize(x)), p);
    if (weighing.plain && !this.penalized) return {...at, cost: found, priorRows: new Float64Array(0)};
    const {residuals, jacobian} = evaluate(this.fit.linearize(x));
    weighing.whiten(residuals, 1);
    weighing.whiten(jacobian, p);
    weighing.pseudo(residuals, jacobian, p);
    const cost = residuals.reduce((sum, r) => sum + r * r, 0) / 2;
    // In the scale of the pseudo-residuals, which is not that of the noise where it has outliers.
    const degrees = Math.max(this.fit.observations - this.effective({x, factor: at.factor}), 1);
    const scale =
      isRobust(this.noise) && this.noise.name !== 'quantized' ? Math.sqrt((2 * cost) / degrees) : weighing.sd;
    const prior = this.priorJacobian(x, scale);
    const factor = new RowQr(p).append(jacobian, residuals);
    if (prior.length > 0) factor.append(prior, new Float64Array(prior.length / p));
    return {residuals, jacobian, factor, cost, priorRows: prior};
  }

  private withPriors(residuals: Float64Array, jacobian: Float64Array, x: Float64Array): ResidualLinearization {
    const rows = priorRows(this.fit.space, x);
    const all = new Float64Array(residuals.length + rows.length);
    all.set(residuals);
    rows.forEach(({residual}, k) => (all[residuals.length + k] = this.weighing.sd * residual));
    const wide = new Float64Array(all.length * x.length);
    wide.set(jacobian);
    wide.set(this.priorJacobian(x), jacobian.length);
    return {residuals: all, jacobian: wide};
  }

  /** [rows, p], in the scale of the residuals. */
  private priorJacobian(x: Float64Array, scale = this.weighing.sd): Float64Array {
    return this.penalized ? priorMatrix(priorRows(this.fit.space, x), x.length, scale) : new Float64Array(0);
  }

  private effective({x, factor}: Pick<LeastSquaresResult, 'x' | 'factor'>): number {
    return effective(factor, this.priorJacobian(x));
  }
}
