/**
 * Which few of many terms make a quantity: sequentially thresholded least squares, the regression of SINDy (Brunton,
 * Proctor & Kutz, Discovering governing equations from data by sparse identification of nonlinear dynamical systems,
 * PNAS 113, 2016; its convergence: Zhang & Schaeffer 2019). For derivatives of measured states, and for what a network
 * has learnt.
 */
import {
  positiveInteger as countCheck,
  nonNegative,
  object,
  optional,
  readOptions,
  requireValue,
  typed,
  type Options,
  type OptionValues,
} from '../../lib/checks.js';
import {DataError, OptionError, ShapeError, type Numeric} from '../../lib/index.js';
import {readSeries} from '../data/series.js';
import {RowQr, singularValues} from './row-qr.js';

/** Columns of numbers by name, [samples] each. */
export type Columns = {readonly [name: string]: Numeric};

const regressionProblem = {
  /** Candidate terms. `polynomials` makes some. */
  features: typed<Columns>(object),
  /** The quantities to express by the terms. */
  targets: typed<Columns>(object),
  /** Coefficients below this are removed, in the target's unit divided by the feature's; or give `share`. */
  threshold: optional(nonNegative),
  /** Terms whose root mean square is less than this fraction of the target's are removed; between 0 and 1. */
  share: optional(nonNegative),
  /** Weight of the squares of coefficients, each in units of its feature's norm; default 0. */
  ridge: optional(nonNegative, 0),
  /** Default: as many as there are features, which is always enough without a ridge. */
  maxIterations: optional(countCheck),
};

/** The argument of `sindy.fit`. @interface */
export type SparseRegressionProblem = Options<typeof regressionProblem>;

/** The terms of one target. */
export interface FoundTerms {
  /** Coefficients of the remaining features, by name. */
  readonly coefficients: {readonly [feature: string]: number};
  /**
   * Standard errors of these coefficients, by name: those of least squares on the features that were kept, for
   * residuals that are independent and of equal variance. That the features were selected by the same samples is not
   * in them, nor is the bias of a ridge. Infinite where the samples leave a coefficient open.
   */
  readonly standardError: {readonly [feature: string]: number};
  /** The terms as text: '10·y − 10·x'. */
  readonly text: string;
  /** Root mean square of the residual. */
  readonly residual: number;
  /** 1 − residual over total sum of squares. */
  readonly r2: number;
  readonly iterations: number;
  /** Warnings, for example of features that the data do not distinguish. */
  readonly warnings: readonly string[];
}

/**
 * The terms of each target: least squares on all features, then on those whose coefficients are not below the
 * threshold, until none is removed.
 * @throws OptionError; ShapeError where columns differ in length; DataError where a number is not finite, or there are
 *   fewer samples than features
 */
export function fit(problem: SparseRegressionProblem): {readonly [target: string]: FoundTerms} {
  const read = readOptions(problem, regressionProblem, 'sindy.fit');
  const {features, targets, threshold, share} = read;
  if ((threshold === undefined) === (share === undefined))
    throw new OptionError('missing-option', 'sindy.fit needs one of threshold and share.');
  const columns = columnsOf(features, 'sindy.fit: features');
  const wanted = columnsOf(targets, 'sindy.fit: targets');
  const samples = requireAlike([...columns, ...wanted]);
  if (columns.length === 0 || samples < columns.length)
    throw new DataError(
      'too-few-samples',
      `sindy.fit: ${samples} samples for ${columns.length} features; give at least one feature, and at least `
        + 'as many samples as features.',
    );
  return Object.fromEntries(wanted.map(({key, values}) => [key, found(columns, values, read)]));
}

interface Column {
  readonly key: string;
  /** For errors. */
  readonly name: string;
  readonly values: Float64Array;
}

const columnsOf = (columns: Columns, owner: string): Column[] =>
  Object.entries(columns).map(([key, given]) => ({
    key,
    name: `${owner}.${key}`,
    values: readSeries(given, `${owner}.${key}`, {outputs: 'one', missing: false}).values,
  }));

/** @returns how many samples all columns have @throws ShapeError where they differ */
function requireAlike(columns: readonly Column[]): number {
  const samples = columns[0]?.values.length ?? 0;
  const other = columns.find(({values}) => values.length !== samples);
  if (other !== undefined)
    throw new ShapeError('column-length', `${other.name} has ${other.values.length} samples, others have ${samples}.`, {
      name: other.name,
    });
  return samples;
}

/** The power of two below the largest number: divided by it, numbers keep their bits, and have squares. */
function unitOf(values: Float64Array): number {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return largest === 0 ? 1 : 2 ** Math.min(Math.floor(Math.log2(largest)), 1023);
}

/** A column over its unit. */
interface Scaled extends Column {
  readonly unit: number;
}

function inUnits(column: Column): Scaled {
  const unit = unitOf(column.values);
  return {...column, unit, values: column.values.map(value => value / unit)};
}

const norm = (x: Float64Array): number => Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));

function found(
  columns: readonly Column[],
  given: Float64Array,
  {threshold, share = 0, ridge, maxIterations}: OptionValues<typeof regressionProblem>,
): FoundTerms {
  const warnings: string[] = [];
  const unit = unitOf(given);
  const target = given.map(value => value / unit);
  let active = columns.map(inUnits).filter(({values}) => norm(values) > 0);
  // Coefficients are those of columns and target in their units until the end.
  let coefficients: Float64Array = new Float64Array(0);
  let iterations = 0;
  for (const most = maxIterations ?? columns.length + 1; iterations < most;) {
    iterations++;
    const fit = leastSquares(active, target, ridge);
    coefficients = fit.coefficients;
    warnings.length = 0;
    if (fit.rank < active.length)
      warnings.push(
        `The terms ${active.map(({key}) => key).join(', ')} depend on each other in these samples: their coefficients `
          + 'are those of minimum norm.',
      );
    const least = threshold ?? share * norm(target);
    const size = (k: number): number =>
      Math.abs(coefficients[k]) * (threshold === undefined ? norm(active[k].values) : unit / active[k].unit);
    const kept = [...active.keys()].filter(k => size(k) >= least && coefficients[k] !== 0);
    if (kept.length === active.length) break;
    active = kept.map(k => active[k]);
    coefficients = Float64Array.from(kept, k => coefficients[k]);
    if (iterations === most)
      warnings.push(
        'Terms were removed in the last iteration, so the other coefficients were not fitted again without them: '
          + 'increase maxIterations.',
      );
  }
  const rest = target.map((value, i) =>
    active.reduce((left, {values}, k) => left - coefficients[k] * values[i], value),
  );
  const errors = standardErrors(active, norm(rest), target.length, ridge);
  const mean = target.reduce((sum, value) => sum + value, 0) / target.length;
  const spread = norm(target.map(value => value - mean));
  const own = active.map((column, k) => coefficients[k] * (unit / column.unit));
  return {
    coefficients: Object.fromEntries(active.map(({key}, k) => [key, own[k]])),
    standardError: Object.fromEntries(active.map((column, k) => [column.key, errors[k] * (unit / column.unit)])),
    text: textOf(
      active.map(({key}) => key),
      own,
    ),
    residual: (norm(rest) * unit) / Math.sqrt(target.length),
    r2: spread === 0 ? NaN : 1 - (norm(rest) / spread) ** 2,
    iterations,
    warnings,
  };
}

/** On columns of norm 1, by QR; of dependent columns the solution of least norm. */
function leastSquares(
  active: readonly Column[],
  target: Float64Array,
  ridge: number,
): {coefficients: Float64Array; rank: number} {
  const p = active.length;
  const norms = active.map(({values}) => norm(values));
  const qr = factored(active, norms, target);
  const ones = new Float64Array(p).fill(1);
  const {delta, rank} = ridge > 0 ? {delta: qr.damped(ones, ridge), rank: p} : qr.projected(ones);
  return {coefficients: delta.map((value, j) => value / norms[j]), rank};
}

/** The factor of the columns over their norms, with minus the target. */
function factored(active: readonly Column[], norms: readonly number[], target: Float64Array): RowQr {
  const p = active.length;
  const rows = new Float64Array(target.length * p);
  active.forEach(({values}, j) => values.forEach((value, i) => (rows[i * p + j] = value / norms[j])));
  return new RowQr(p).append(
    rows,
    target.map(value => -value),
  );
}

/** A singular value below this share of the largest is rounding; as in RowQr. */
const RANK_TOLERANCE = 1e-10;

/**
 * σ² (XᵀX)⁻¹ with X = U S Vᵀ and σ² the residual sum of squares over n − p; with a ridge λ, of (XᵀX + λ)⁻¹ Xᵀy, it is
 * σ² V S² (S² + λ)⁻² Vᵀ, and the residuals have n − tr(2H − HHᵀ) degrees of freedom, H having the eigenvalues
 * s²/(s² + λ) (Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 2009, §5.4.1).
 * @param rest the norm of the residuals
 */
function standardErrors(active: readonly Column[], rest: number, samples: number, ridge: number): Float64Array {
  const p = active.length;
  const norms = active.map(({values}) => norm(values));
  const {values, vectors} = singularValues(factored(active, norms, new Float64Array(samples)).r, p);
  const variance = new Float64Array(p);
  let freedom = samples;
  for (const [k, s] of values.entries()) {
    const open = ridge === 0 && !(s > RANK_TOLERANCE * values[0]);
    const share = open ? 1 : s ** 2 / (s ** 2 + ridge);
    freedom -= share * (2 - share);
    for (let j = 0; j < p; j++) {
      const along = vectors[j * p + k];
      // In a direction that is open, components below the root of the tolerance are rounding.
      if (!open) variance[j] += (along * share) ** 2 / s ** 2;
      else if (Math.abs(along) > Math.sqrt(RANK_TOLERANCE)) variance[j] = Infinity;
    }
  }
  // As many terms as samples: nothing is left to estimate σ from.
  if (!(freedom > samples * Number.EPSILON)) return variance.fill(Infinity);
  return variance.map((value, j) => (value === Infinity ? Infinity : (rest / norms[j]) * Math.sqrt(value / freedom)));
}

function textOf(names: readonly string[], coefficients: readonly number[]): string {
  if (names.length === 0) return '0';
  return names
    .map((name, k) => {
      const size = Number(Math.abs(coefficients[k]).toPrecision(4));
      const term = name === '1' ? String(size) : `${size}·${name}`;
      return coefficients[k] < 0 ? `${k === 0 ? '−' : ' − '}${term}` : `${k === 0 ? '' : ' + '}${term}`;
    })
    .join('');
}

/**
 * Products of powers of the variables up to a degree, by their names: '1', 'x', 'y', 'x²', 'x y', …
 * @param variables [samples] each
 * @throws ShapeError if their lengths differ; DataError where a number is not finite; OptionError if the degree is not
 *   a whole number of at least 1; 'name-clash' for a variable with the name of a product, such as 'x²'
 * @example
 * ```ts
 * import {sindy} from 'stiffgrad/training';
 *
 * console.log(Object.keys(sindy.polynomials({x: [0, 1, 2]}, 2))); // → ['1', 'x', 'x²']
 * ```
 */
export function polynomials(variables: Columns, degree: number): {readonly [name: string]: Float64Array} {
  requireValue(degree, countCheck, 'polynomials: degree');
  const own = columnsOf(variables, 'polynomials: variables');
  requireAlike(own);
  if (own.length === 0) throw new OptionError('missing-option', 'polynomials needs at least one variable.');
  interface Product {
    readonly powers: readonly number[];
    /** Its last variable: what multiplies it comes from there on, so that none is made twice. */
    readonly last: number;
    readonly values: Float64Array;
  }
  let products: readonly Product[] = [{powers: own.map(() => 0), last: 0, values: own[0].values.map(() => 1)}];
  const all = [...products];
  for (let made = 0; made < degree; made++) {
    products = products.flatMap(({powers, last, values}) =>
      own.slice(last).map(({values: factor}, i) => ({
        powers: powers.map((power, k) => power + Number(k === last + i)),
        last: last + i,
        values: values.map((value, sample) => value * factor[sample]),
      })),
    );
    all.push(...products);
  }
  const nameOf = (powers: readonly number[]): string =>
    own
      .flatMap(({key}, k) => (powers[k] === 0 ? [] : [powers[k] === 1 ? key : `${key}${superscript(powers[k])}`]))
      .join(' ') || '1';
  const named = all.map(({powers, values}) => [nameOf(powers), values] as const);
  const twice = named.find(([name], i) => named.findIndex(([other]) => other === name) < i);
  if (twice !== undefined)
    throw new OptionError(
      'name-clash',
      `polynomials: two terms would be named '${twice[0]}', a variable and a product; rename the variable.`,
      {name: twice[0]},
    );
  return Object.fromEntries(named);
}

const superscript = (power: number): string => [...String(power)].map(digit => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('');

/**
 * The derivative of samples by the parabola through each and its neighbours: of second order in the interval, on any
 * grid. Noise of deviation s becomes one of about s/(√2 Δt): smooth noisy data, or use the rates of a fitted model.
 * @param t [samples], strictly increasing; at least three
 * @param values [samples]
 * @throws ShapeError if the lengths differ, or are less than three; DataError if times do not increase, or a number is
 *   not finite
 */
export function differences(t: Numeric, values: Numeric): Float64Array {
  const [times, y] = [
    readSeries(t, 'differences: t', {outputs: 'one', missing: false}).values,
    readSeries(values, 'differences: values', {outputs: 'one', missing: false}).values,
  ];
  if (times.length !== y.length || y.length < 3)
    throw new ShapeError(
      'column-length',
      `differences: ${times.length} times and ${y.length} values; give as many of each, and at least three.`,
    );
  const wrong = times.findIndex((time, i) => i > 0 && !(time > times[i - 1]));
  if (wrong >= 0)
    throw new DataError(
      'time-order',
      `differences: times must increase, but sample ${wrong} is at ${times[wrong]} after ${times[wrong - 1]}.`,
      {index: wrong},
    );
  return times.map((time, i) => {
    const k = Math.min(Math.max(i, 1), y.length - 2);
    const [before, after] = [times[k] - times[k - 1], times[k + 1] - times[k]];
    const [left, right] = [(y[k] - y[k - 1]) / before, (y[k + 1] - y[k]) / after];
    // The parabola's slope at sample k, and from there by its second derivative.
    const slope = (after * left + before * right) / (before + after);
    return slope + ((time - times[k]) * 2 * (right - left)) / (before + after);
  });
}
