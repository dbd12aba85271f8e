/**
 * Randomized smoothing: E f(x + σz), z ~ N(0, I), is smooth in x even where f jumps, as the end of a run does between
 * an impact that happens and one that is missed. Its gradient from samples of f (the score function, in antithetic
 * pairs), from samples of ∇f, or from both: Suh, Simchowitz, Zhang & Tedrake, Do Differentiable Simulators Give Better
 * Policy Gradients?, ICML 2022.
 */
import {OptionError} from '../../lib/errors.js';
import {
  callable,
  finite,
  numbers,
  object,
  oneOf,
  positive,
  refuseUnknownOptions,
  requireValue,
  shown,
  nonNegativeInteger,
  type Check,
} from '../../lib/checks.js';
import {gaussian} from '../data/noise.js';

/** Arrays by name. */
export interface NamedArrays {
  readonly [name: string]: Float64Array;
}

/** The value of an objective at a point, and the gradient there, which 'zeroth' does not need. */
export type ObjectiveEvaluation<X> =
  | number
  | {
      readonly value: number;
      readonly gradient: X extends Float64Array ? ArrayLike<number> : {readonly [name in keyof X]: ArrayLike<number>};
    };

/** Options of `randomizedSmoothing`. */
export interface SmoothingOptions<X extends Float64Array | NamedArrays> {
  /** The point: a vector, or arrays by name. */
  readonly at: X;
  /** Standard deviation of the perturbations, positive: of all entries, or by name. */
  readonly sigma: X extends Float64Array ? number : number | {readonly [name in keyof X]: number};
  /**
   * Number of evaluations: even, as they come in pairs x ± σz, and at least 4, as two pairs are the fewest that have a
   * standard error.
   */
  readonly samples: number;
  /** A seed draws the same samples each time; an iteration that should have its own needs another. Default 1. */
  readonly seed?: number;
  /**
   * - 'zeroth' (default): mean of (f(x + σz) − f(x − σz)) z/2σ. Unbiased whether f is continuous or not, hence the
   *   default; its variance grows with the number of entries.
   * - 'first': mean of ∇f(x + σz). Less variance where f is smooth; biased where f jumps, since no sample sees the
   *   jump, and its standard error does not tell. Where f is continuous but very steep in places, few samples may see
   *   them.
   * - 'interpolated': α first + (1 − α) zeroth, with the α of least variance, as long as this moves the estimate by no
   *   more than two standard errors of 'zeroth'; otherwise α is reduced to that.
   */
  readonly order?: 'zeroth' | 'first' | 'interpolated';
  /** The objective takes lists of this many points (even; the last may be shorter) and returns lists. */
  readonly batch?: number;
}

/** The result of `randomizedSmoothing`. Errors are standard errors of the means over pairs. */
export interface SmoothedEstimate<X> {
  readonly value: number;
  readonly valueError: number;
  readonly gradient: X;
  /**
   * Errors of the sampling alone, at the given α, without the bias of 'first', and what 'interpolated' admits of it.
   * Where there is none, 1.96 of them held the truth in 93 to 94 % of 'interpolated' estimates, as one in twenty meets
   * the limit of α by chance.
   */
  readonly gradientError: X;
  /** Weight of the first-order estimate in the gradient: 0 for 'zeroth', 1 for 'first'. */
  readonly alpha: number;
}

const point: Check = {
  what: 'a Float64Array or an object of them',
  test: value => value instanceof Float64Array || object.test(value),
};
const even = (least: number): Check => ({
  what: `an even whole number of at least ${least}`,
  test: (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) % 2 === 0,
});

const owner = 'randomizedSmoothing';

/** Half of a 95 % interval over its standard error, as for the bound of 'interpolated'. */
const CONFIDENCE = 2;
/** Entries of an array that a sentence shows; all of them are in `data.x`. */
const LONGEST = 8;

/**
 * Value and gradient of E f(x + σz), z ~ N(0, I), with their standard errors.
 * @param objective f, of a point of the form of `at`; with `batch`, of a list of points
 * @throws OptionError for options out of range; where an evaluation is not finite or of another form than `at`, with
 *   the sample's point as `data.x`
 */
export function randomizedSmoothing<X extends Float64Array | NamedArrays>(
  objective: (x: X) => ObjectiveEvaluation<X>,
  options: SmoothingOptions<X> & {readonly batch?: undefined},
): SmoothedEstimate<X>;
export function randomizedSmoothing<X extends Float64Array | NamedArrays>(
  objective: (points: readonly X[]) => readonly ObjectiveEvaluation<X>[],
  options: SmoothingOptions<X> & {readonly batch: number},
): SmoothedEstimate<X>;
export function randomizedSmoothing<X extends Float64Array | NamedArrays>(
  objective: ((x: X) => ObjectiveEvaluation<X>) | ((points: readonly X[]) => readonly ObjectiveEvaluation<X>[]),
  options: SmoothingOptions<X>,
): SmoothedEstimate<X> {
  requireValue(objective, callable, `${owner}: the objective`);
  refuseUnknownOptions(
    options,
    {
      at: point,
      sigma: {what: 'a positive number, or one by name', test: value => positive.test(value) || object.test(value)},
      ...{samples: even(4), seed: nonNegativeInteger, order: oneOf('zeroth', 'first', 'interpolated'), batch: even(2)},
    },
    owner,
  );
  const {at, samples, seed = 1, order = 'zeroth', batch} = options;
  requireValue(at, point, `${owner}: at`);
  requireValue(samples, even(4), `${owner}: samples`);
  const form = formOf(at);
  const {centre} = form;
  const sigma = deviations(form, options.sigma);
  const evaluate =
    batch === undefined
      ? (points: readonly X[]) => points.map(x => (objective as (x: X) => ObjectiveEvaluation<X>)(x))
      : (objective as (points: readonly X[]) => readonly ObjectiveEvaluation<X>[]);
  const normal = gaussian(seed);
  const values = jointMoments(1);
  const gradients = jointMoments(centre.length);
  for (let drawn = 0; drawn < samples; drawn += batch ?? 2) {
    const pairs = Math.min(batch ?? 2, samples - drawn) / 2;
    const z = Array.from({length: pairs}, () => centre.map(normal));
    const points = z.flatMap(one => [1, -1].map(sign => centre.map((x, i) => x + sign * sigma[i] * one[i])));
    const found = evaluate(points.map(form.shaped));
    if (!Array.isArray(found) || found.length !== points.length)
      throw new OptionError(
        'bad-objective',
        `${owner}: with batch, the objective must return a list with an evaluation of each of its ${points.length} `
          + `points, not ${Array.isArray(found) ? `${found.length} of them` : shown(found)}.`,
      );
    const read = points.map((x, i) => readEvaluation(form, found[i] as unknown, order !== 'zeroth', x, drawn + i));
    for (const [k, one] of z.entries()) {
      const [plus, minus] = [read[2 * k], read[2 * k + 1]];
      const value = [(plus.value + minus.value) / 2];
      values.add(value, value);
      gradients.add(
        one.map((zi, i) => ((plus.value - minus.value) * zi) / (2 * sigma[i])),
        one.map((_, i) => (plus.gradient[i] + minus.gradient[i]) / 2),
      );
    }
  }
  const alpha = order === 'interpolated' ? interpolation(gradients, sigma) : order === 'first' ? 1 : 0;
  const [value, gradient] = [values.mixed(0), gradients.mixed(alpha)];
  return {
    value: value.mean[0],
    valueError: value.error[0],
    gradient: form.shaped(gradient.mean),
    gradientError: form.shaped(gradient.error),
    alpha,
  };
}

/**
 * α of least variance, σ₀²/(σ₀² + σ₁²), limited as in Suh et al.: ε + α‖g₁ − g₀‖ ≤ γ, with ε an interval of g₀ and
 * γ = 2ε. The bias is then within the interval of the unbiased estimate, and vanishes with it as samples grow. Norms
 * are of σg, in the unit of f, as entries may have several.
 */
function interpolation(gradients: JointMoments, sigma: Float64Array): number {
  const [zeroth, first] = [gradients.mixed(0), gradients.mixed(1)];
  const norm = (g: Float64Array): number => Math.sqrt(g.reduce((sum, value, i) => sum + (value * sigma[i]) ** 2, 0));
  const [s0, s1] = [norm(zeroth.error), norm(first.error)];
  if (s0 === 0) return 0;
  const apart = norm(first.mean.map((value, i) => value - zeroth.mean[i]));
  return Math.min(1 / (1 + (s1 / s0) ** 2), (CONFIDENCE * s0) / apart);
}

interface JointMoments {
  add(first: ArrayLike<number>, second: ArrayLike<number>): void;
  /** Mean of (1 − α) first + α second, and its standard error. */
  mixed(alpha: number): {readonly mean: Float64Array; readonly error: Float64Array};
}

/** Means, variances and covariance of two series of vectors, updated by each (Welford, Technometrics 4, 1962). */
function jointMoments(size: number): JointMoments {
  const [a, b, aa, ab, bb] = Array.from({length: 5}, () => new Float64Array(size));
  let count = 0;
  return {
    add(first, second) {
      count++;
      for (let i = 0; i < size; i++) {
        const [da, db] = [first[i] - a[i], second[i] - b[i]];
        a[i] += da / count;
        b[i] += db / count;
        aa[i] += da * (first[i] - a[i]);
        ab[i] += da * (second[i] - b[i]);
        bb[i] += db * (second[i] - b[i]);
      }
    },
    mixed(alpha) {
      const beta = 1 - alpha;
      const squares = (i: number): number => beta ** 2 * aa[i] + 2 * alpha * beta * ab[i] + alpha ** 2 * bb[i];
      return {
        mean: a.map((value, i) => beta * value + alpha * b[i]),
        // Rounding can leave a sum of squares that is 0 a little below it.
        error: a.map((_, i) => Math.sqrt(Math.max(squares(i), 0) / (count - 1) / count)),
      };
    },
  };
}

/** Points as one vector, and back. */
interface Form<X> {
  /** By array: its name, 'x' of a vector, and its place in the vector. */
  readonly parts: readonly {readonly name: string; readonly from: number; readonly to: number}[];
  readonly named: boolean;
  readonly centre: Float64Array;
  shaped(values: Float64Array): X;
}

function formOf<X extends Float64Array | NamedArrays>(at: X): Form<X> {
  const named = !(at instanceof Float64Array);
  const arrays = Object.entries<unknown>(named ? at : {x: at});
  let from = 0;
  const parts = arrays.map(([name, array]) => {
    const label = named ? `at.${name}` : 'at';
    if (!(array instanceof Float64Array))
      throw new OptionError('bad-option', `${owner}: ${label} must be a Float64Array, not ${shown(array)}.`, {name});
    const wrong = array.findIndex(value => !Number.isFinite(value));
    if (wrong >= 0)
      throw new OptionError('bad-option', `${owner}: ${label}[${wrong}] must be a finite number, not ${array[wrong]}.`);
    return {name, from, to: (from += array.length)};
  });
  if (from === 0) throw new OptionError('bad-option', `${owner}: at has no entries; give it at least one number.`);
  const slices = (values: Float64Array): [string, Float64Array][] =>
    parts.map(part => [part.name, values.slice(part.from, part.to)]);
  return {
    ...{parts, named},
    centre: Float64Array.from(arrays.flatMap(([, array]) => [...(array as Float64Array)])),
    shaped: values => (named ? Object.fromEntries(slices(values)) : values) as X,
  };
}

/** The deviation of every entry. */
function deviations({parts, named, centre}: Form<unknown>, given: unknown): Float64Array {
  if (typeof given === 'number') return centre.map(() => given);
  const name = `${owner}: sigma`;
  requireValue(given, named ? object : positive, name);
  const byName = given as Readonly<Record<string, number>>;
  refuseUnknownOptions(
    byName,
    parts.map(part => part.name),
    name,
    'bad-option',
  );
  const all = new Float64Array(centre.length);
  for (const part of parts) {
    requireValue(byName[part.name], positive, `${name}.${part.name}`);
    all.fill(byName[part.name], part.from, part.to);
  }
  return all;
}

/** An evaluation at a point. @throws OptionError where it is not finite, or of another form than the point */
function readEvaluation(
  {parts, named, shaped}: Form<unknown>,
  found: unknown,
  withGradient: boolean,
  x: Float64Array,
  sample: number,
): {readonly value: number; readonly gradient: Float64Array} {
  const refused = (code: string, sentence: string): OptionError => {
    const at = parts.map(
      ({name, from, to}) =>
        `${name} = [${x.subarray(from, Math.min(to, from + LONGEST)).join(', ')}${to - from > LONGEST ? ', …' : ''}]`,
    );
    return new OptionError(code, `${owner}: at sample ${sample}, ${at.join(', ')}, ${sentence}`, {
      sample,
      x: shaped(x),
    });
  };
  const evaluation =
    typeof found === 'object' && found !== null ? (found as {value?: unknown; gradient?: unknown}) : {value: found};
  const {value, gradient: given} = evaluation;
  if (typeof value !== 'number')
    throw refused('bad-objective', `the objective must return a number or {value, gradient}, not ${shown(found)}.`);
  const remedy = 'Return a finite value for a run that fails, or make sigma smaller.';
  if (!finite.test(value)) throw refused('objective-not-finite', `the objective is ${value}. ${remedy}`);
  const gradient = new Float64Array(x.length);
  if (!withGradient) return {value, gradient};
  if (given === undefined)
    throw refused(
      'missing-gradient',
      `the objective returned no gradient. Return {value, gradient}, or use order 'zeroth'.`,
    );
  const arrays = (named ? given : {x: given}) as Readonly<Record<string, unknown>>;
  if (!object.test(arrays))
    throw refused('bad-gradient', `the gradient must have the names of at, but is ${shown(given)}.`);
  const other = Object.keys(arrays).find(name => parts.every(part => part.name !== name));
  if (other !== undefined) throw refused('bad-gradient', `the gradient has '${other}', which at has not.`);
  for (const {name, from, to} of parts) {
    const label = named ? `gradient.${name}` : 'gradient';
    const array = arrays[name] as ArrayLike<number>;
    const size = numbers.test(array) ? `of ${array.length}` : shown(array);
    if (size !== `of ${to - from}`)
      throw refused('bad-gradient', `${label} must be an array of ${to - from} numbers, as at is, not ${size}.`);
    gradient.set(array, from);
  }
  const wrong = gradient.findIndex(entry => !Number.isFinite(entry));
  if (wrong >= 0)
    throw refused('objective-not-finite', `entry ${wrong} of its gradient is ${gradient[wrong]}. ${remedy}`);
  return {value, gradient};
}
