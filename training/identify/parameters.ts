/**
 * The kinds of parameters: free, positive, between bounds, or fixed. Least squares runs
 * in a coordinate of its own for each, that may be any real number: θ itself, ln θ for a positive one, the
 * logit of its place between the bounds for a bounded one (Gill, Murray & Wright, Practical Optimization, §7.4).
 * So no step can leave the domain. The derivative dθ/dx carries Jacobians in and standard errors out (the delta
 * method). A normal prior of mean m and deviation σ on θ is one more measurement, (θ − m)/σ (Tarantola, Inverse Problem
 * Theory, §3.2), in the coordinates of the fit: that of a positive parameter is lognormal.
 */
import {any, object, refuseUnknownOptions, shown} from '../../lib/checks.js';
import {InconsistentStateError, OptionError} from '../../lib/errors.js';

/** Made by `free`, `positive`, `bounded` and `fixed`; plain data. Its shape is [] for a number. */
export interface Parameter<Shape extends readonly number[] = readonly number[]> {
  readonly kind: ParameterKind;
  /** The guess, or the fixed value, [size] row-major. */
  readonly guess: Float64Array;
  /** [] for a number. */
  readonly shape: Shape;
  /** −∞ and ∞ where there are none. */
  readonly low: number;
  readonly high: number;
  /** The prior of each number. */
  readonly prior?: Prior;
}

/** Options of a parameter. */
export interface ParameterOptions {
  /** The prior; see `PriorGiven`. Its residuals are added to those of the data in the cost. */
  readonly prior?: PriorGiven;
}

/** The shape of a value as far as its type tells: that of a number is []. */
export type ShapeOf<V extends ParameterValue> = V extends number
  ? readonly []
  : V extends Float64Array | readonly ParameterValue[]
    ? readonly [number, ...number[]]
    : readonly number[];

/**
 * Any real number. A prior is normal.
 * @example
 * ```ts
 * import {free} from 'stiffgrad/training';
 *
 * const parameters = {offset: free(0), centre: free([0, 1])};
 * console.log(Object.keys(parameters)); // → ['offset', 'centre']
 * ```
 */
export function free<V extends ParameterValue>(guess: V, options?: ParameterOptions): Parameter<ShapeOf<V>> {
  return parameter('free', guess, -Infinity, Infinity, options);
}

/**
 * Greater than zero: masses, stiffnesses, times. Steps are relative, so a guess may be wrong by a factor. A prior is
 * lognormal, with the given mean and standard deviation.
 * @example
 * ```ts
 * import {positive} from 'stiffgrad/training';
 *
 * const parameters = {stiffness: positive(40), lengths: positive([1, 2])};
 * console.log(Object.keys(parameters)); // → ['stiffness', 'lengths']
 * ```
 */
export function positive<V extends ParameterValue>(guess: V, options?: ParameterOptions): Parameter<ShapeOf<V>> {
  return parameter('positive', guess, 0, Infinity, options);
}

/**
 * Strictly between two finite numbers. A prior is normal, truncated at the bounds.
 * @example
 * ```ts
 * import {bounded} from 'stiffgrad/training';
 *
 * const parameters = {ratio: bounded(0, 1, 0.5)};
 * console.log(Object.keys(parameters)); // → ['ratio']
 * ```
 */
export function bounded<V extends ParameterValue>(
  low: number,
  high: number,
  guess: V,
  options?: ParameterOptions,
): Parameter<ShapeOf<V>> {
  return parameter('bounded', guess, low, high, options);
}

/**
 * A known value: used in the model, not estimated.
 * @example
 * ```ts
 * import {fixed, positive} from 'stiffgrad/training';
 *
 * const parameters = {mass: fixed(2), stiffness: positive(40)};
 * console.log(Object.keys(parameters)); // → ['mass', 'stiffness']
 * ```
 */
export function fixed<V extends ParameterValue>(value: V): Fixed<ShapeOf<V>> {
  return parameter('fixed', value, -Infinity, Infinity) as Fixed<ShapeOf<V>>;
}

function parameter<V extends ParameterValue>(
  kind: ParameterKind,
  value: V,
  low: number,
  high: number,
  options: ParameterOptions = {},
): Parameter<ShapeOf<V>> {
  const flat = flatten(value);
  refuseUnknownOptions(options, {prior: object}, kind);
  const prior = options.prior === undefined ? {} : {prior: readPrior(kind, options.prior, flat)};
  return {kind, low, high, ...flat, ...prior} as Parameter<ShapeOf<V>>;
}

/** The parameters with other guesses. */
export function guessing(parameters: Parameters, values: {readonly [name: string]: number | Float64Array}): Parameters {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => {
      const value = values[name];
      return [name, {...parameter, guess: typeof value === 'number' ? Float64Array.of(value) : value}];
    }),
  );
}

/** A parameter that is known. */
export type Fixed<Shape extends readonly number[] = readonly number[]> = Parameter<Shape> & {readonly kind: 'fixed'};

/** The parameters of a problem by name. */
export type Parameters = {readonly [name: string]: Parameter};

/**
 * Values of the parameters T by name: numbers for scalars, arrays (row-major) otherwise. Those of one record are
 * 'record 1: name'.
 */
export type Estimates<T> = {
  readonly [K in keyof T]: T[K] extends Parameter<infer Shape> ? EstimateOf<Shape> : never;
} & {
  readonly [own: `${string}: ${string}`]: number | Float64Array;
};
/** Standard errors of the parameters T: like their estimates, without fixed ones. */
export type Errors<T> = {
  readonly [K in keyof T as T[K] extends Fixed ? never : K]: T[K] extends Parameter<infer Shape>
    ? EstimateOf<Shape>
    : never;
} & {
  readonly [own: `${string}: ${string}`]: number | Float64Array;
};
type EstimateOf<Shape extends readonly number[]> = Shape extends readonly []
  ? number
  : Shape extends readonly [number, ...number[]]
    ? Float64Array
    : number | Float64Array;

/** Where a parameter's numbers are among the coordinates. */
interface Slot {
  readonly shape: readonly number[];
  readonly offset: number;
  readonly size: number;
}

/** One estimated number. */
export interface MovingNumber extends Pick<Parameter, 'kind' | 'low' | 'high'> {
  readonly guess: number;
  /** That of θ, for a positive parameter of ln θ. */
  readonly prior?: {readonly mean: number; readonly sd: number};
}

/**
 * The way between named values θ and the one vector x that least squares moves. `size` counts the
 * coordinates: every number of every parameter that is not fixed, in the order of the names.
 */
export class ParameterSpace {
  readonly size: number;
  /** One label a coordinate: `k`, or `k[2]`, `k[0,1]` for entries of arrays. */
  readonly labels: readonly string[];
  /** x of the guesses, [size]. */
  readonly start: Float64Array;
  /** The number of each coordinate. */
  readonly moving: readonly MovingNumber[];
  /** By name, without fixed parameters. */
  private readonly slots = new Map<string, Slot>();

  constructor(private readonly parameters: Parameters) {
    const moving: MovingNumber[] = [];
    const labels: string[] = [];
    for (const [name, parameter] of Object.entries(parameters)) {
      check(name, parameter);
      const {kind, low, high, guess, shape, prior} = parameter;
      if (kind === 'fixed') continue;
      this.slots.set(name, {shape, offset: moving.length, size: guess.length});
      labels.push(...entryLabels(name, shape));
      guess.forEach((value, i) =>
        moving.push({kind, low, high, guess: value, prior: prior && {mean: prior.mean[i], sd: prior.sd[i]}}),
      );
    }
    this.moving = moving;
    this.size = moving.length;
    this.labels = labels;
    this.start = this.each((number, i) => toCoordinate(number, moving[i].guess));
  }

  /**
   * Every parameter's value by name, row-major, the fixed ones too.
   * @throws InconsistentStateError where rounding has put one onto its bound, or to infinity: there is no model
   */
  values(x: Float64Array): {[name: string]: Float64Array} {
    const theta = this.natural(x);
    this.requireInside(theta);
    const values: {[name: string]: Float64Array} = {};
    for (const [name, {kind, guess}] of Object.entries(this.parameters))
      if (kind === 'fixed') values[name] = guess.slice();
    for (const [name, {offset, size}] of this.slots) values[name] = theta.slice(offset, offset + size);
    return values;
  }

  /** Estimates by name: numbers for scalars, arrays otherwise; the fixed ones too. */
  estimates(x: Float64Array): Estimates<Parameters> {
    const values = this.values(x);
    return Object.fromEntries(
      Object.entries(this.parameters).map(([name, {shape}]) => [name, numberOrArray(values[name], shape)]),
    );
  }

  /** Numbers that belong to the coordinates, under the names of their parameters. */
  byName(numbers: Float64Array): Estimates<Parameters> {
    return Object.fromEntries(
      Array.from(this.slots, ([name, {shape, offset, size}]) => [
        name,
        numberOrArray(numbers.slice(offset, offset + size), shape),
      ]),
    );
  }

  /** x of named values; those of fixed parameters are not looked at. */
  coordinates(values: {readonly [name: string]: ArrayLike<number>}): Float64Array {
    const theta = new Float64Array(this.size);
    for (const [name, {offset}] of this.slots) theta.set(values[name], offset);
    return this.each((number, i) => toCoordinate(number, theta[i]));
  }

  /** θ(x), entry by entry: the values of the parameters that move, [size]. */
  natural(x: Float64Array): Float64Array {
    return this.each((number, i) => fromCoordinate(number, x[i]));
  }

  private requireInside(theta: Float64Array): void {
    const out = this.moving.findIndex(({low, high}, i) => !(theta[i] > low && theta[i] < high));
    if (out < 0) return;
    const [parameter, value] = [this.labels[out], theta[out]];
    throw new InconsistentStateError(
      'out-of-domain',
      `${parameter} is ${value}, which its kind of parameter excludes: the step was too long.`,
      {parameter, value},
    );
  }

  /** The coordinate i of a value θ. */
  coordinateOf(value: number, i: number): number {
    return toCoordinate(this.moving[i], value);
  }

  /** dθ/dx, entry by entry, [size]. */
  derivative(x: Float64Array): Float64Array {
    return this.each((number, i) => slope(number, x[i]));
  }

  /** ln of the volume of dx in the priors' measure: dθ of free and bounded parameters, d ln θ of positive ones. */
  logVolume(x: Float64Array): {value: number; gradient: Float64Array} {
    let value = 0;
    const gradient = this.each((number, i) => {
      if (number.kind !== 'bounded') return 0;
      value += Math.log(slope(number, x[i]));
      return -Math.tanh(x[i] / 2);
    });
    return {value, gradient};
  }

  /** ∂r/∂x from ∂r/∂θ, [m, size] row-major, in place. */
  toCoordinates(jacobian: Float64Array, x: Float64Array): Float64Array {
    const derivative = this.derivative(x);
    for (let i = 0; i < jacobian.length; i++) jacobian[i] *= derivative[i % this.size];
    return jacobian;
  }

  /** The standard errors of θ from those of x: |dθ/dx| σ. */
  naturalErrors(standardError: Float64Array, x: Float64Array): Float64Array {
    // A derivative that underflowed makes no infinite error finite.
    return this.derivative(x).map((d, i) =>
      standardError[i] === Infinity ? Infinity : Math.abs(d) * standardError[i],
    );
  }

  /** The interval of 95 %, x ± z σ, carried over to θ: it stays inside the domain where θ ± z σ would not. */
  intervals(
    {standardError, quantile: z}: {readonly standardError: Float64Array; readonly quantile: Float64Array},
    x: Float64Array,
  ): {low: Float64Array; high: Float64Array} {
    const at = (sign: number): Float64Array =>
      this.natural(x.map((value, i) => value + sign * z[i] * standardError[i]));
    return {low: at(-1), high: at(1)};
  }

  /**
   * Sentences on estimates that lie against a bound: what a fit does when the bound is wrong, or the model.
   * @param standardError of x, [size]; of a positive parameter it is the relative one, which tells whether zero is far
   */
  boundWarnings(x: Float64Array, standardError?: Float64Array): string[] {
    const theta = this.natural(x);
    return this.labels.flatMap((label, i) => {
      const {kind, low, high, guess} = this.moving[i];
      if (kind === 'positive') {
        const error = standardError?.[i] ?? NaN;
        if (Number.isFinite(error) ? error < 1 / AGAINST : theta[i] >= VANISHING * guess) return [];
        return [
          `${label} converged to 0 (${theta[i].toPrecision(2)}): the data suggest a value that is zero or negative, `
            + 'which positive(guess) excludes. Use free(guess) to see which, or look for what the model lacks.',
        ];
      }
      if (kind !== 'bounded') return [];
      const place = (theta[i] - low) / (high - low);
      if (place > AGAINST && place < 1 - AGAINST) return [];
      return [
        `${label} is at its ${place < 0.5 ? 'lower' : 'upper'} bound ${place < 0.5 ? low : high}: widen the bounds if `
          + 'they are not physical.',
      ];
    });
  }

  /** The first coordinate that has run off towards a bound it cannot reach, as a part of a sentence. */
  runaway(x: Float64Array): string | undefined {
    const theta = this.natural(x);
    for (const [i, {kind, low, high, guess}] of this.moving.entries()) {
      const label = this.labels[i];
      if (kind === 'positive' && theta[i] < VANISHING * guess)
        return `${label} = ${theta[i].toPrecision(2)} runs towards 0`;
      const place = (theta[i] - low) / (high - low);
      if (kind === 'bounded' && Math.min(place, 1 - place) < VANISHING)
        return `${label} runs towards its ${place < 0.5 ? 'lower' : 'upper'} bound ${place < 0.5 ? low : high}`;
    }
    return undefined;
  }

  /**
   * A start for other data: coordinates that stand against a bound are set back to where a parameter feels what it is
   * pushed by, a positive one that has vanished to its guess. From the bound itself a fit would not come away.
   */
  released(x: Float64Array): Float64Array {
    const theta = this.natural(x);
    return x.map((value, i) => {
      const {kind, low, high, guess} = this.moving[i];
      if (kind === 'positive') return theta[i] < VANISHING * guess ? Math.log(guess) : value;
      if (kind !== 'bounded') return value;
      const place = (theta[i] - low) / (high - low);
      return place > AGAINST && place < 1 - AGAINST ? value : Math.sign(value) * RELEASED;
    });
  }

  /** Where a parameter's first coordinate is; NaN for one that is fixed or not there. */
  columnOf(name: string): number {
    return this.slots.get(name)?.offset ?? NaN;
  }

  private each(value: (number: MovingNumber, i: number) => number): Float64Array {
    return Float64Array.from(this.moving, value);
  }
}

/** At a thousandth of the interval the logistic slope is a thousandth too: the fit moves only if pushed. */
const AGAINST = 1e-3;

/** The coordinate of a fiftieth of the interval: fits come away from there in a few steps. */
const RELEASED = Math.log(49);

/** Part of a positive guess, or of the interval: nobody guesses wrong by eight orders of magnitude. */
const VANISHING = 1e-8;

const numberOrArray = (values: Float64Array, shape: readonly number[]): number | Float64Array =>
  shape.length === 0 ? values[0] : values;

function toCoordinate({kind, low, high}: MovingNumber, value: number): number {
  if (kind === 'positive') return Math.log(value);
  if (kind === 'bounded') return Math.log((value - low) / (high - value));
  return value;
}

function fromCoordinate({kind, low, high}: MovingNumber, x: number): number {
  if (kind === 'positive') return Math.exp(x);
  // Each half from its nearer bound, so that neither loses digits.
  if (kind === 'bounded')
    return x < 0
      ? low + (high - low) * (Math.exp(x) / (1 + Math.exp(x)))
      : high - (high - low) * (Math.exp(-x) / (1 + Math.exp(-x)));
  return x;
}

function slope({kind, low, high}: MovingNumber, x: number): number {
  if (kind === 'positive') return Math.exp(x);
  if (kind === 'bounded') {
    const e = Math.exp(-Math.abs(x));
    return ((high - low) * e) / (1 + e) ** 2;
  }
  return 1;
}

/** `k`, or `k[2]`, `k[0,1]` for the entries of an array. */
export function entryLabels(name: string, shape: readonly number[]): string[] {
  if (shape.length === 0) return [name];
  let indices: number[][] = [[]];
  for (const length of shape) indices = indices.flatMap(index => Array.from({length}, (_, i) => [...index, i]));
  return indices.map(index => `${name}[${index.join(',')}]`);
}

/** @throws OptionError where a value is given in place of what is known of it */
export function requireParameters(parameters: Parameters): void {
  for (const [name, parameter] of Object.entries(parameters) as [
    string,
    {readonly guess?: unknown} | null | undefined,
  ][]) {
    if (parameter?.guess instanceof Float64Array) continue;
    const given = typeof parameter === 'object' ? 'an object of another kind' : String(parameter);
    throw new OptionError(
      'parameter-guess',
      `Parameter ${name} is ${given}: define it by free(guess), positive(guess), bounded(low, high, guess) or `
        + 'fixed(value).',
      {parameter: name},
    );
  }
}

/** A guess that its own coordinate cannot express is an error before anything runs. */
function check(name: string, {kind, guess, shape, low, high}: Parameter): void {
  const labels = entryLabels(name, shape);
  const refuse = (i: number, demand: string): never => {
    throw new OptionError(
      'parameter-guess',
      `Parameter ${labels[i] ?? name}: ${kind === 'fixed' ? 'its value' : 'the guess'} ${guess[i]} ${demand}.`,
      {parameter: name, index: i, guess: guess[i], low, high},
    );
  };
  if (kind === 'bounded' && !(Number.isFinite(low) && Number.isFinite(high) && low < high)) {
    throw new OptionError(
      'parameter-bounds',
      `Parameter ${name}: bounded(low, high, guess) needs two finite bounds, the lower one first, not low = ${low} `
        + `and high = ${high}. Use positive or free where there is no bound.`,
      {parameter: name, low, high},
    );
  }
  guess.forEach((value, i) => {
    if (!Number.isFinite(value)) refuse(i, 'is not a finite number');
    if (kind === 'positive' && value <= 0) refuse(i, 'is not greater than zero');
    if (kind === 'bounded' && !(value > low && value < high))
      refuse(i, `is not strictly between its bounds ${low} and ${high}`);
  });
}

/** A number, an array of any depth, or anything with a shape and its values, such as a tensor. */
export type ParameterValue =
  | number
  | Float64Array
  | readonly ParameterValue[]
  | {readonly shape: readonly number[]; dataSync(): ArrayLike<number>};

/** The kind of a parameter. */
export type ParameterKind = 'free' | 'positive' | 'bounded' | 'fixed';

/** Row-major numbers of a value, with its shape. @throws OptionError of what is no value */
export function flatten(value: ParameterValue): {guess: Float64Array; shape: readonly number[]} {
  if (typeof value === 'number') return {guess: Float64Array.of(value), shape: []};
  if (value instanceof Float64Array) return {guess: value.slice(), shape: [value.length]};
  if (!isArray(value) && typeof (value as {dataSync?: unknown} | null | undefined)?.dataSync !== 'function') {
    throw new OptionError(
      'parameter-guess',
      `A parameter's guess must be a number, an array or a tensor, not ${shown(value)}: free(guess), positive(guess), `
        + 'bounded(low, high, guess), fixed(value).',
    );
  }
  if (!isArray(value)) return {guess: Float64Array.from(value.dataSync()), shape: [...value.shape]};
  const parts = value.map(flatten);
  const inner = parts.length === 0 ? [] : parts[0].shape;
  const odd = parts.findIndex(({shape}) => shape.join() !== inner.join());
  if (odd >= 0) {
    throw new OptionError(
      'parameter-ragged',
      `A parameter's guess is not a regular array: its entry ${odd} has shape [${parts[odd].shape}], but the first `
        + `has [${inner}].`,
      {entry: odd},
    );
  }
  return {guess: Float64Array.from(parts.flatMap(({guess}) => [...guess])), shape: [value.length, ...inner]};
}

/** `Array.isArray` does not narrow a readonly array out of a union. */
function isArray(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}

/**
 * A prior as given: one number for all numbers of a parameter, or one each. Both refer to the parameter itself, in
 * its unit; for a positive one they are the mean and the standard deviation of the lognormal distribution, for a
 * bounded one those of the normal distribution before truncation.
 */
export interface PriorGiven {
  /** Default: the guess. */
  readonly mean?: ParameterValue;
  /** Standard deviation, greater than 0. */
  readonly sd: ParameterValue;
}

/** The prior of each number, [size] each: of θ, for a positive parameter of ln θ. */
export interface Prior {
  readonly mean: Float64Array;
  readonly sd: Float64Array;
}

/** @throws OptionError 'bad-prior' */
export function readPrior(
  kind: ParameterKind,
  given: PriorGiven,
  {guess, shape}: {readonly guess: Float64Array; readonly shape: readonly number[]},
): Prior {
  refuseUnknownOptions(given, {mean: any, sd: any}, `${kind}: prior`, 'bad-prior');
  const each = (name: 'mean' | 'sd', value: ParameterValue | undefined): Float64Array => {
    const {guess: numbers} = flatten(value as ParameterValue);
    const bad = numbers.find(
      number => !(Number.isFinite(number) && (number > 0 || (name === 'mean' && kind !== 'positive'))),
    );
    if (bad !== undefined)
      throw new OptionError(
        'bad-prior',
        `${kind}: the ${name} of the prior is ${bad}, but must be `
          + `finite${name === 'sd' || kind === 'positive' ? ' and greater than 0' : ''}.`,
        {name, value: bad},
      );
    if (numbers.length === guess.length) return numbers;
    if (numbers.length === 1) return new Float64Array(guess.length).fill(numbers[0]);
    throw new OptionError(
      'bad-prior',
      `${kind}: the ${name} of the prior has ${numbers.length} numbers for a parameter of shape `
        + `[${shape.join(', ')}]: give one, or ${guess.length}.`,
      {name},
    );
  };
  const mean = given.mean === undefined ? guess.slice() : each('mean', given.mean);
  const sd = each('sd', given.sd);
  if (kind !== 'positive') return {mean, sd};
  // A lognormal variable with mean m and deviation s has σ² = ln(1 + s²/m²), μ = ln m − σ²/2.
  const variance = sd.map((s, i) => Math.log1p((s / mean[i]) ** 2));
  return {mean: mean.map((m, i) => Math.log(m) - variance[i] / 2), sd: variance.map(Math.sqrt)};
}
