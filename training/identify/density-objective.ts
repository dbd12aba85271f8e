/** The cost that a fit minimizes under a density of one's own: −ln of the likelihood and of the priors. */
import {Density, isDensity, type DensityRows, type NoiseModel, type RowLosses} from './density.js';
import {evaluate, type Evaluation} from './evaluation.js';
import type {Fit} from './fit.js';
import {lbfgs} from './lbfgs.js';
import type {FitRecord} from './fit-record.js';
import {withFactor, type LeastSquaresMethod, type ResidualLinearization} from './least-squares-problem.js';
import {levenbergMarquardt} from './least-squares.js';
import {densityNoise, white} from './noise.js';
import {ResidualObjective, type LinearFit} from './objective.js';
import {priorCost, priorGradient, priorMatrix, priorRows} from './priors.js';
import type {NoiseState} from './weighing.js';

/** The objective of a fit under its noise. @param held the noise of an earlier fit, taken as it was found */
export const objectiveOf = (fit: Fit, noise: NoiseModel = white(), held?: NoiseState): ResidualObjective =>
  isDensity(noise)
    ? new DensityObjective(fit, new Density(noise, fit.noiseNames))
    : new ResidualObjective(fit, noise, held);

/** A likelihood that is no sum of squares is descended along its gradient. */
export const methodOf = ({method, noise}: {method?: LeastSquaresMethod; noise?: NoiseModel}): LeastSquaresMethod =>
  method ?? (isDensity(noise) ? lbfgs() : levenbergMarquardt());

class DensityObjective extends ResidualObjective {
  override readonly kinked = true;
  private readonly rows: readonly Omit<DensityRows, 'residuals'>[];
  /** By parameter of the density, its coordinate; undefined where it is fixed. */
  private readonly columns: readonly (number | undefined)[];

  constructor(
    fit: Fit,
    private readonly density: Density,
  ) {
    super(fit, densityNoise);
    this.rows = Array.from({length: fit.records}, (_, record) => fit.rowsOf(record));
    this.columns = density.names.map(name => {
      const i = fit.space.labels.indexOf(name);
      return i < 0 ? undefined : i;
    });
  }

  /** Rows whose derivatives are the scores, and residuals of 1: Jᵀr is the gradient, and JᵀJ the information. */
  override *linearize(x: Float64Array): Evaluation<ResidualLinearization> {
    const {fit} = this;
    const {residuals, jacobian} = yield* fit.linearize(x);
    const p = x.length;
    const slopes = fit.space.derivative(x);
    for (let record = 0; record < fit.records; record++) {
      const first = fit.firstRow(record);
      const {slope, byParameter} = this.lossesAt(x, residuals, record);
      const {weights} = this.rows[record];
      slope.forEach((psi, k) => {
        const row = first + k;
        for (let j = row * p; j < (row + 1) * p; j++) jacobian[j] *= psi;
        this.columns.forEach((column, i) => {
          if (column !== undefined) jacobian[row * p + column] += byParameter[i][k] * slopes[column];
        });
        residuals[row] = weights[k] === 0 ? 0 : 1;
      });
    }
    const priors = priorRows(fit.space, x);
    if (priors.length === 0) return {residuals, jacobian};
    return {
      residuals: Float64Array.from([...residuals, ...priors.map(({residual}) => residual)]),
      jacobian: Float64Array.from([...jacobian, ...priorMatrix(priors, p, 1)]),
    };
  }

  override *gradient(x: Float64Array): Evaluation<{cost: number; gradient: Float64Array}> {
    const {fit} = this;
    const slopes = fit.space.derivative(x);
    const own = new Float64Array(x.length);
    const found = yield* fit.gradient(x, (residuals, record) => {
      const {loss, slope, byParameter} = this.lossesAt(x, residuals, record, 0);
      this.columns.forEach((column, i) => {
        if (column !== undefined) own[column] += slopes[column] * sum(byParameter[i]);
      });
      return {cost: sum(loss), gradient: slope};
    });
    const prior = priorGradient(fit.space, x, 1);
    return {
      cost: found.cost + prior.cost,
      gradient: found.gradient.map((value, i) => value + own[i] + prior.gradient[i]),
    };
  }

  override likelihood({x, cost}: FitRecord): ReturnType<ResidualObjective['likelihood']> {
    return this.penalized ? undefined : {logLikelihood: -cost, estimated: x.length};
  }

  override logLikelihood(x: Float64Array): ReturnType<ResidualObjective['logLikelihood']> {
    const {cost, gradient} = evaluate(this.gradient(x));
    return {value: -cost, gradient: gradient.map(g => -g), byLogScale: 0, byPartial: []};
  }

  override linearFit({x}: FitRecord): LinearFit {
    const at = withFactor(evaluate(this.linearize(x)), x.length);
    const rows = priorRows(this.fit.space, x);
    const cost = at.residuals.reduce((all, r) => all + r * r, 0) / 2 - priorCost(rows);
    return {...at, cost, priorRows: priorMatrix(rows, x.length, 1)};
  }

  /** @param first row of the record among the residuals */
  private lossesAt(
    x: Float64Array,
    residuals: Float64Array,
    record: number,
    first = this.fit.firstRow(record),
  ): RowLosses {
    const {density, fit, rows} = this;
    const values = fit.space.values(x);
    const own = residuals.slice(first, first + rows[record].t.length);
    return density.at(
      {...rows[record], residuals: own},
      density.names.map(name => values[name][0]),
    );
  }
}

const sum = (values: Float64Array): number => values.reduce((all, value) => all + value, 0);
