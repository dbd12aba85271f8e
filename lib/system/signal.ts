/**
 * A quantity known at some times as a function of all times, for use inside forces and as an input of a run: found by
 * bisection among its samples, interpolated in tfjs operations, so that it is traced like everything else. Outside
 * its samples it keeps its first and last value.
 */
import * as tf from '@tensorflow/tfjs';
import {DataError, OptionError, ShapeError} from '../errors.js';
import {oneOf, optional, positiveOrInfinite, readOptions, type Options} from '../checks.js';
import {constantTensor, isTracing} from '../trace/trace.js';
import type {Breaks} from './breaks.js';
import {noteBreaks, timeOfPiece} from './breaks.js';
import {readPieces} from './switches.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import {numbersOf} from '../read.js';

/** How a signal is interpolated between its samples. */
export type SignalKind = 'linear' | 'hold' | 'cubic' | 'hermite';

/** A quantity that has a value at any time. */
export interface Input {
  /** [samples], increasing: the signal is known from the first to the last. */
  readonly t: Float64Array;
  /** The value at a time []; in double precision inside a force. */
  at(t: tf.Tensor): tf.Tensor;
}

/** A measured input, or one to be estimated; made by `signal`. */
export interface Signal extends Input {
  readonly kind: SignalKind;
  /** [samples, ...shape], row-major. */
  readonly values: Float64Array;
  /** Shape of one sample: [] for one number per time. */
  readonly shape: readonly number[];
  /**
   * Its rate of change, also an input: zero beyond the samples, and everywhere for 'hold'; at a corner of 'linear',
   * that of the piece after it.
   */
  readonly derivative: Input;
}

const signalOptions = {
  /**
   * A sample that is NaN: 'refuse' (default) throws an error, 'bridge' omits it and interpolates between its
   * neighbours.
   */
  missing: optional(oneOf('refuse', 'bridge'), 'refuse'),
  /** The longest gap in time that may be bridged, from one sample to the next; default: any. */
  maxGap: optional(positiveOrInfinite, Infinity),
};

/** Options of `signal`. @interface */
export type SignalOptions = Options<typeof signalOptions>;

/**
 * 'linear' (default) interpolates linearly, 'hold' keeps each sample until the next (what a digital output
 * does), 'cubic' is the natural spline (twice continuously differentiable; de Boor 1978), 'hermite' the cubic whose
 * slope at a sample is that of the line from the previous sample: once differentiable, and independent of what comes
 * after the next sample (Morrill, Kidger, Yang & Lyons, Neural controlled differential equations for online prediction
 * tasks, 2021).
 * @param t [samples], strictly increasing, in the system's unit of time
 * @param values [samples, ...shape]: one number or one array per time. A tf.Variable, and inside a force a
 *   tensor made from `params`, is read in every run and has gradients; the cost of a step is then proportional to the
 *   number of samples
 * @throws ShapeError if the lengths differ; DataError if times do not increase, a number is not finite,
 *   or a gap is longer than allowed, with the sample's index
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, signal, simulate} from 'stiffgrad';
 *
 * const pushed = mechanics({mass: 1, forces: ({params: {push}}) => push as tf.Tensor});
 * const push = signal([0, 1], [0, 6]);
 * const path = simulate(pushed, {q: 0, v: 0}, {inputs: {push}, dt: 0.01, steps: 100});
 * console.log(path.values('v')[100]); // → 3.00
 * ```
 */
export function signal(t: Numeric, values: Numeric, kind: SignalKind = 'linear', options: SignalOptions = {}): Signal {
  const {missing, maxGap} = readOptions(options, signalOptions, 'signal');
  const times = readNumeric(t, 'signal: t').values;
  return values instanceof tf.Tensor && (values instanceof tf.Variable || isTracing())
    ? ofTensor(times, values, kind)
    : ofNumbers(times, values, kind, missing === 'bridge' ? maxGap : undefined);
}

/** @param maxGap that may be bridged, where samples may be missing */
function ofNumbers(t: Float64Array, given: Numeric, kind: SignalKind, maxGap: number | undefined): Signal {
  const read = {times: t, ...readNumeric(given, 'signal: values')};
  const {
    times,
    values,
    shape: [, ...shape],
    shape: all,
  } = maxGap === undefined ? read : bridged(read, maxGap);
  check(times, values.length, all, kind);
  requireFinite(times, values);
  return {
    kind,
    t: times,
    values,
    shape,
    ...interpolated(kind, new Knots(times, tableOf(times, values, shape), values)),
  };
}

function ofTensor(t: Float64Array, tensor: tf.Tensor, kind: SignalKind): Signal {
  const [, ...shape] = tensor.shape;
  check(t, tensor.size, tensor.shape, kind);
  if (kind === 'cubic' && t.length > maxKnots)
    throw new OptionError(
      'signal-kind',
      `signal: with kind 'cubic' and samples that are variables or functions of params, ${t.length} samples need a `
        + `matrix of ${t.length} rows and columns. At most ${maxKnots} are allowed; 'linear' has no limit.`,
      {samples: t.length},
    );
  return {
    kind,
    t,
    shape,
    ...interpolated(kind, new Knots(t, tableOf(t, tensor, shape))),
    get values() {
      return numbersOf(tensor);
    },
  };
}

function interpolated(kind: SignalKind, knots: Knots): Pick<Signal, 'at' | 'derivative'> {
  const {at, rate} = interpolators[kind](knots);
  const read = (f: (time: tf.Tensor) => tf.Tensor, jumps: boolean) => (time: tf.Tensor) =>
    tf.tidy(() => readPieces(f, jumps, time));
  return {at: read(at, kind === 'hold'), derivative: {t: knots.t, at: read(rate, kind === 'linear')}};
}

interface Given {
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly shape: readonly number[];
}

/** Without the samples of which a number is NaN. */
function bridged(given: Given, maxGap: number): Given {
  const {times, values, shape} = given;
  const width = values.length / times.length;
  if (!Number.isInteger(width)) return given; // the lengths' own error comes first
  const kept = [...times.keys()].filter(i => !values.subarray(i * width, (i + 1) * width).some(Number.isNaN));
  if (kept.length === 0)
    throw new DataError('signal-not-finite', `signal: all ${times.length} samples are missing.`, {
      samples: times.length,
    });
  const from = kept.findIndex(
    (sample, k) => k > 0 && sample > kept[k - 1] + 1 && times[sample] - times[kept[k - 1]] > maxGap,
  );
  if (from >= 0) {
    const [before, after] = [kept[from - 1], kept[from]];
    throw new DataError(
      'signal-gap',
      `signal: samples ${before + 1} to ${after - 1} are missing: a gap of ${times[after] - times[before]}, `
        + `from ${times[before]} to ${times[after]}, which is longer than the allowed ${maxGap}. `
        + 'Cut the record there, or measure again.',
      {index: before + 1, missing: after - before - 1},
    );
  }
  return {
    times: Float64Array.from(kept, i => times[i]),
    values: Float64Array.from(kept.flatMap(i => [...values.subarray(i * width, (i + 1) * width)])),
    shape: shape.length === 0 ? shape : [kept.length, ...shape.slice(1)],
  };
}

/** @param size of all samples together, whose shape is [samples, ...] */
function check(t: Float64Array, size: number, shape: readonly number[], kind: SignalKind): void {
  if (!Object.hasOwn(interpolators, kind))
    throw new OptionError(
      'signal-kind',
      `signal: kind must be 'linear', 'hold', 'cubic' or 'hermite', not '${String(kind)}'.`,
      {
        kind,
      },
    );
  const samples = shape[0] ?? 1;
  if (t.length !== samples || size === 0) {
    throw new ShapeError(
      'signal-length',
      `signal: ${t.length} times, but values of shape [${shape.join(', ')}]; give one value (or one array) a time, `
        + 'and at least one.',
      {times: t.length, values: [...shape]},
    );
  }
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(t[i]))
      throw new DataError(
        'signal-not-finite',
        `signal: the time of sample ${i} is ${t[i]}; every number must be finite.`,
        {index: i},
      );
    if (i > 0 && !(t[i] > t[i - 1]))
      throw new DataError(
        'signal-order',
        `signal: times must ascend, but sample ${i} is at ${t[i]} after ${t[i - 1]}. Sort the samples, `
          + 'and remove repeated ones.',
        {index: i},
      );
  }
}

function requireFinite(t: Float64Array, values: Float64Array): void {
  const bad = values.findIndex(value => !Number.isFinite(value));
  if (bad < 0) return;
  const sample = Math.floor((bad * t.length) / values.length);
  throw new DataError(
    'signal-not-finite',
    `signal: the value of sample ${sample}, at ${t[sample]}, is ${values[bad]}; every number must be finite. `
      + "Remove the sample, or interpolate across it with missing: 'bridge'.",
    {index: sample},
  );
}

/** The spline through so many unknown samples is made by a matrix of as many rows and columns: 8 MB of constants. */
const maxKnots = 1000;

/** Samples as an interpolator reads them, by index. */
interface Table {
  /** Shape of one sample. */
  readonly shape: readonly number[];
  value(index: tf.Tensor): tf.Tensor;
  /** From one sample to the next. */
  rise(index: tf.Tensor): tf.Tensor;
  /** Second derivative of the natural spline, which is linear in the samples. */
  bend(index: tf.Tensor): tf.Tensor;
}

/** @param samples as numbers, or as a tensor if they are unknowns or depend on them: [samples, ...shape] */
function tableOf(t: Float64Array, samples: tf.Tensor | Float64Array, shape: readonly number[]): Table {
  const n = t.length;
  const constant = (numbers: Float64Array): tf.Tensor => constantTensor(numbers, [n, ...shape]);
  const identity = (): Float64Array => new Float64Array(n * n).map((_, i) => (i % (n + 1) === 0 ? 1 : 0));
  const second = once(() => secondDerivatives(t, samples instanceof tf.Tensor ? identity() : samples));
  const bends = (): tf.Tensor => {
    if (!(samples instanceof tf.Tensor)) return constant(second());
    const rows = tf.reshape(samples, [n, samples.size / n]);
    return tf.reshape(tf.matMul(constantTensor(second(), [n, n]), rows), samples.shape);
  };
  const value = (index: tf.Tensor): tf.Tensor =>
    rowOf(samples instanceof tf.Tensor ? samples : constant(samples), index);
  return {
    shape,
    value,
    rise: index => tf.sub(value(tf.add(index, 1)), value(index)),
    bend: index => rowOf(bends(), index),
  };
}

const rowOf = (table: tf.Tensor, index: tf.Tensor): tf.Tensor => tf.gather(table, tf.cast(index, 'int32'));

/** Where a time lies: in the interval from sample `index` on, `share` of its `width` behind its start. */
interface Place {
  readonly index: tf.Tensor;
  readonly share: tf.Tensor;
  readonly width: tf.Tensor;
  /** Whether it is within the samples. */
  readonly known: tf.Tensor;
}

/**
 * Times within a step are moved into it by this share of the shortest interval: at the step's ends they choose the
 * piece inside.
 */
const sampleSlack = 1e-6;

/** Outside of steps, times computed as t₀ + n·h meet a sample's time up to so many roundings. */
const timeSlack = 4;

/** Slopes of neighbouring pieces that differ by less, as a share of the larger one, are those of one line. */
const sameSlope = 1e-9;

/** The samples, and the search among them. */
class Knots {
  readonly count: number;
  /** Time from each sample to the next. */
  readonly widths: Float64Array;
  readonly slack: number;
  /** Rounding of the samples' times. */
  private readonly rounding: number;

  /** @param values undefined where they are unknowns */
  constructor(
    readonly t: Float64Array,
    readonly table: Table,
    private readonly values?: Float64Array,
  ) {
    this.count = t.length;
    this.widths = differences(t, 1);
    const shortest = this.widths.reduce((least, width) => Math.min(least, width), Infinity);
    this.rounding = timeSlack * Number.EPSILON * Math.max(Math.abs(t[0]), Math.abs(t[t.length - 1]));
    this.slack = Number.isFinite(shortest) ? Math.max(sampleSlack * shortest, this.rounding) : 0;
  }

  /** Samples that differ from the one before. */
  readonly steps = once(() => this.jumpsAt(this.where(i => i > 0 && this.change(i - 1) > 0)));

  /** Samples at which the slope changes. */
  readonly corners = once(() => this.jumpsAt(this.where(i => this.bends(i))));

  /** Breaks of rates that are continuous between the first and the last sample. */
  readonly edges = once(() => this.jumpsAt(Float64Array.of(this.t[0], this.t[this.count - 1])));

  /**
   * Samples at which it begins to move after a rest, and those that follow them; at which it comes to rest, and those
   * before.
   */
  readonly onsets = once((): Breaks => {
    const {values, count, slack} = this;
    const moves = (i: number): boolean => i >= 0 && i + 1 < count && this.change(i) > 0;
    const begins = (i: number): boolean => moves(i) && !moves(i - 1);
    const ends = (i: number): boolean => moves(i - 1) && !moves(i);
    if (values === undefined) return this.jumpsAt(none);
    return {
      jumps: none,
      onsets: this.where(i => begins(i) || begins(i - 1)),
      ends: this.where(i => ends(i) || ends(i + 1)),
      slack,
    };
  });

  private jumpsAt(jumps: Float64Array): Breaks {
    return {jumps, onsets: none, ends: none, slack: this.slack};
  }

  private where(isOne: (sample: number) => boolean): Float64Array {
    return this.t.filter((_, i) => isOne(i));
  }

  /** The largest change of a number from one sample to the next; infinite where they are unknowns. */
  private change(sample: number): number {
    const {values, count} = this;
    if (values === undefined) return Infinity;
    const size = values.length / count;
    let largest = 0;
    for (let k = sample * size; k < (sample + 1) * size; k++)
      largest = Math.max(largest, Math.abs(values[k + size] - values[k]));
    return largest;
  }

  private bends(sample: number): boolean {
    const {values, count, widths} = this;
    if (values === undefined) return true;
    const size = values.length / count;
    for (let k = 0; k < size; k++) {
      const slope = (i: number): number =>
        i < 0 || i + 1 === count ? 0 : (values[(i + 1) * size + k] - values[i * size + k]) / widths[i];
      const [before, after] = [slope(sample - 1), slope(sample)];
      if (Math.abs(after - before) > sameSlope * Math.max(Math.abs(before), Math.abs(after))) return true;
    }
    return false;
  }

  /**
   * A time by which the piece is chosen; outside of steps what is less than a sample's time by rounding counts as that,
   * if `met`.
   */
  timeOfPiece(time: tf.Tensor, met = false): tf.Tensor {
    return timeOfPiece(time, this.slack) ?? (met ? tf.add(time, this.rounding) : time);
  }

  /**
   * The last sample at or before a time, −1 before the first; not an integer tensor, which has no arithmetic with
   * others.
   */
  lastUpTo(time: tf.Tensor): tf.Tensor {
    const found = tf.searchSorted(constantTensor(this.t, [1, this.count]), tf.reshape(time, [1, 1]), 'right');
    return tf.sub(tf.cast(tf.reshape(found, []), 'float32'), 1);
  }

  /**
   * The end intervals' ends for times beyond them. A stage beyond the end of its step goes on with the piece in which
   * the step ends, so that a step which ends at a sample keeps its order.
   */
  place(time: tf.Tensor): Place {
    const [first, last] = [this.t[0], this.t[this.count - 1]];
    const by = this.timeOfPiece(time);
    const known = tf.logicalAnd(tf.greaterEqual(by, first), tf.lessEqual(by, last));
    const inside = tf.clipByValue(by, first, last);
    const index = tf.clipByValue(this.lastUpTo(inside), 0, this.count - 2);
    const width = pick(this.widths, index);
    return {index, width, share: tf.div(tf.sub(tf.where(known, time, inside), pick(this.t, index)), width), known};
  }

  /** A rate of change, zero beyond the samples. */
  rate(time: tf.Tensor, breaks: () => Breaks, of: (place: Place) => tf.Tensor): tf.Tensor {
    noteBreaks(breaks, time);
    const place = this.place(time);
    const rate = of(place);
    return tf.where(place.known, rate, tf.zerosLike(rate));
  }
}

const none = new Float64Array(0);

function once<T>(make: () => T): () => T {
  let made: {readonly value: T} | undefined;
  return () => (made ??= {value: make()}).value;
}

function differences(values: Float64Array, size: number): Float64Array {
  return Float64Array.from({length: values.length - size}, (_, i) => values[i + size] - values[i]);
}

const pick = (numbers: Float64Array, index: tf.Tensor): tf.Tensor =>
  rowOf(constantTensor(numbers, [numbers.length]), index);

/** The value at a time, and its rate of change. */
interface Interpolator {
  at(t: tf.Tensor): tf.Tensor;
  rate(t: tf.Tensor): tf.Tensor;
}

function hold(knots: Knots): Interpolator {
  const {count, table} = knots;
  return {
    at(time) {
      noteBreaks(knots.steps, time);
      return table.value(tf.clipByValue(knots.lastUpTo(knots.timeOfPiece(time, true)), 0, count - 1));
    },
    rate: () => tf.zeros([...table.shape]),
  };
}

function linear(knots: Knots): Interpolator {
  if (knots.count === 1) return hold(knots);
  const {table} = knots;
  return {
    at(time) {
      noteBreaks(knots.onsets, time);
      const {index, share} = knots.place(time);
      return tf.add(table.value(index), tf.mul(share, table.rise(index)));
    },
    rate: time => knots.rate(time, knots.corners, ({index, width}) => tf.div(table.rise(index), width)),
  };
}

/** What a cubic piece adds to the line from sample to sample, and the slope of that by the share u of the width. */
interface Bulge {
  readonly value: tf.Tensor;
  readonly slope: tf.Tensor;
}

/** With v = 1 − u. */
const bulges: {readonly [kind in 'cubic' | 'hermite']: (knots: Knots, place: Place) => Bulge} = {
  /** w²/6 · [(v³ − v) A + (u³ − u) B], with the width w and the second derivatives A and B at the ends. */
  cubic: ({table}, {index, share: u, width}) => {
    const v = tf.sub(1, u);
    const [a, b] = [table.bend(index), table.bend(tf.add(index, 1))];
    const unit = tf.div(tf.square(width), 6);
    const hump = (x: tf.Tensor): tf.Tensor => tf.sub(tf.mul(x, tf.square(x)), x);
    const slope = (x: tf.Tensor): tf.Tensor => tf.sub(tf.mul(3, tf.square(x)), 1);
    return {
      value: tf.mul(unit, tf.add(tf.mul(hump(v), a), tf.mul(hump(u), b))),
      slope: tf.mul(unit, tf.sub(tf.mul(slope(u), b), tf.mul(slope(v), a))),
    };
  },
  /** u v² (δ − Δ): the rise Δ, and the width times the slope before, δ. The first piece is a line. */
  hermite: ({table, widths}, {index, share: u, width}) => {
    const v = tf.sub(1, u);
    const last = tf.maximum(tf.sub(index, 1), 0);
    const before = tf.mul(table.rise(last), tf.div(width, pick(widths, last)));
    const turn = tf.sub(before, table.rise(index));
    return {
      value: tf.mul(tf.mul(u, tf.square(v)), turn),
      slope: tf.mul(tf.mul(v, tf.sub(1, tf.mul(3, u))), turn),
    };
  },
};

const piecewise =
  (kind: keyof typeof bulges) =>
  (knots: Knots): Interpolator => {
    if (knots.count < 3) return linear(knots);
    const {table} = knots;
    return {
      at(time) {
        noteBreaks(knots.onsets, time);
        const place = knots.place(time);
        const {index, share: u} = place;
        // Rounds alike whichever way time runs.
        const line = tf.add(tf.mul(tf.sub(1, u), table.value(index)), tf.mul(u, table.value(tf.add(index, 1))));
        return tf.add(line, bulges[kind](knots, place).value);
      },
      rate(time) {
        noteBreaks(knots.onsets, time);
        return knots.rate(time, knots.edges, place =>
          tf.div(tf.add(table.rise(place.index), bulges[kind](knots, place).slope), place.width),
        );
      },
    };
  };

/**
 * Second derivatives of the natural spline, [samples, ...shape]: a tridiagonal, diagonally dominant system, solved
 * without pivoting (Thomas).
 */
function secondDerivatives(t: Float64Array, values: Float64Array): Float64Array {
  const n = t.length;
  const size = values.length / n;
  const widths = differences(t, 1);
  const bends = new Float64Array(n * size);
  const upper = new Float64Array(n);
  const slope = (i: number, k: number): number => (values[(i + 1) * size + k] - values[i * size + k]) / widths[i];
  for (let i = 1; i < n - 1; i++) {
    const pivot = 2 * (widths[i - 1] + widths[i]) - widths[i - 1] * upper[i - 1];
    upper[i] = widths[i] / pivot;
    for (let k = 0; k < size; k++) {
      bends[i * size + k] = (6 * (slope(i, k) - slope(i - 1, k)) - widths[i - 1] * bends[(i - 1) * size + k]) / pivot;
    }
  }
  for (let i = n - 2; i > 0; i--)
    for (let k = 0; k < size; k++) bends[i * size + k] -= upper[i] * bends[(i + 1) * size + k];
  return bends;
}

const interpolators: {readonly [K in SignalKind]: (knots: Knots) => Interpolator} = {
  linear,
  hold,
  cubic: piecewise('cubic'),
  hermite: piecewise('hermite'),
};
