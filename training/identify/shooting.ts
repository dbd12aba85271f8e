/**
 * Multiple shooting: a record is cut into segments that start where the data are, and what keeps them from being
 * one motion, the gaps between a segment's end and the next one's start, is driven to zero (Bock, Recent Advances
 * in Parameter Identification Techniques for ODEs, 1983). Over a short segment a wrong parameter does little
 * harm, so the fit finds its way from guesses whose one long simulation would follow the data nowhere.
 *
 * The gaps are held by an augmented Lagrangian (Nocedal & Wright, algorithm 17.4), which keeps the problem one
 * of least squares: residuals √ρ (c + λ/ρ) beside those of the data. When they are closed, single shooting goes on
 * from there; so the estimate and its errors are those of the plain fit.
 */
import {positiveInteger, readOptions, type Check, type Options} from '../../lib/checks.js';
import {joined} from '../data/joined.js';
import {ChainQr, columnOf, type SegmentColumns} from './chain-qr.js';
import {cutRecord, meanSquare, spread, type RecordSegment, type UncutRecord} from './cut-record.js';
import type {Evaluation} from './evaluation.js';
import {
  Stopped,
  stepsOf,
  type EvaluatedProblem,
  type Factorized,
  type LeastSquaresMethod,
  type ResidualReport,
} from './least-squares-problem.js';
import {type Noise, white} from './noise.js';
import {ParameterSpace, type Parameters} from './parameters.js';
import {effective, hasPriors, priorGradient, priorMatrix, priorRows} from './priors.js';
import type {RecordValues} from './record-model.js';
import {NoiseWeights} from './weighing.js';

/** The initial number of segments of records; made by `single` or `multiple`. */
export interface Shooting {
  /** Number of segments of each record; 1 is single shooting. */
  readonly segments: number;
}

/** Simulates each record from its initial state: the default. */
export const single = (): Shooting => ({segments: 1});

const several: Check<number> = {
  what: 'a whole number of at least 2',
  test: value => positiveInteger.test(value) && value !== 1,
};

const shootingOptions = {
  /**
   * Number of segments of each record, at least 2: so many that a segment is shorter than the time in which a wrong
   * guess loses the data.
   */
  segments: several,
};

/** Divides records into segments at first, each with its own initial state; then simulates them whole. */
export const multiple = (spec: Options<typeof shootingOptions>): Shooting =>
  readOptions(spec, shootingOptions, 'multiple');

/** Gaps at first weigh this part of a segment's data: segments find the data before each other. */
const FIRST = 0.01;

/**
 * The least-squares problem of all segments at once. An autoregression of the noise is left to the fit of whole
 * records, which starts from what is found here: residuals of segments then count as white.
 */
export class MultipleShooting implements EvaluatedProblem {
  /** The parameters, and the segments' starts. */
  readonly space: ParameterSpace;
  private readonly segments: readonly RecordSegment[];
  /** The first columns: what is no segment's start. */
  private readonly shared: number;
  private readonly dataRows: number;
  /** Unit of a gap, for each number of the state. */
  private readonly scales: Float64Array;
  private readonly gaps: number;
  private readonly multipliers: Float64Array;
  private readonly weighing: NoiseWeights;
  private penalty: number;

  constructor(
    records: readonly UncutRecord[],
    private readonly parameters: Parameters,
    segments: number,
    noise: Noise = white(),
  ) {
    const cut = records.map(record => cutRecord(record, segments));
    this.scales = spread(cut.flatMap(({starts}) => starts));
    this.segments = cut.flatMap(one => one.segments);
    this.space = new ParameterSpace(
      Object.assign({}, parameters, ...cut.map(({parameters: own}) => own)) as Parameters,
    );
    this.shared = new ParameterSpace(parameters).size;
    this.dataRows = this.segments.reduce((sum, {model}) => sum + model.rows, 0);
    this.gaps = this.segments.filter(({follows}) => follows).length * this.scales.length;
    this.multipliers = new Float64Array(this.gaps);
    const square = meanSquare(records.flatMap(({record}) => record.channels));
    this.penalty = FIRST * square * (this.dataRows / this.segments.length);
    const weights = joined(
      Float64Array,
      this.segments.map(({model}) => model.weights),
    );
    const measured = weights.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
    this.weighing = new NoiseWeights(noise.order > 0 ? white() : noise, {
      weights,
      stretches: [],
      magnitude: (measured * square) / 2,
      penalized: hasPriors(this.space),
    });
  }

  /** Each segment leaves its residuals, and the triangle of its derivatives. */
  *linearize(x: Float64Array): Evaluation<Factorized> {
    const {residuals, factor} = yield* this.at(x);
    return {residuals, factor};
  }

  /** Residuals and their factor, and the data's residuals before the noise weighs them. */
  private *at(
    x: Float64Array,
  ): Evaluation<{readonly residuals: Float64Array; readonly raw: Float64Array; readonly factor: ChainQr}> {
    const {space, dataRows, gaps, shared, weighing} = this;
    if (weighing.unscaled) weighing.requireScale(yield* this.data(x));
    const priors = priorRows(space, x);
    const residuals = new Float64Array(dataRows + gaps + priors.length);
    const raw = new Float64Array(dataRows);
    const factor = new ChainQr(space.size, shared);
    const slopes = space.derivative(x);
    const values = space.values(x);
    let [row, gap] = [0, 0];
    for (const i of this.segments.keys()) {
      const {place, jacobian, right, count} = yield* this.rows(i, gap, values);
      const width = jacobian.length / right.length;
      raw.set(right.subarray(0, count), row);
      weighing.bend(right.subarray(0, count), jacobian, width);
      residuals.set(right.subarray(0, count), row);
      residuals.set(right.subarray(count), dataRows + gap);
      row += count;
      gap += right.length - count;
      for (let j = 0; j < width; j++) {
        const slope = slopes[columnOf(place, j)];
        if (slope !== 1) for (let k = j; k < jacobian.length; k += width) jacobian[k] *= slope;
      }
      factor.append(place, jacobian, right);
    }
    if (priors.length > 0) {
      const right = Float64Array.from(priors, ({residual}) => weighing.sd * residual);
      residuals.set(right, dataRows + gaps);
      factor.append(noStarts, priorMatrix(priors, shared, weighing.sd), right);
    }
    return {residuals, raw, factor};
  }

  /** Rows of a segment as its simulation gives them, and those of the gap behind it. */
  private *rows(i: number, gap: number, values: RecordValues): Evaluation<Rows> {
    const {segments, shared, scales, space} = this;
    const {model, keys} = segments[i];
    const next = this.nextOf(i);
    const place = this.placeOf(keys, next?.keys ?? []);
    const width = place.size + place.nextSize + shared;
    const count = model.rows;
    const all = count + place.nextSize;
    const jacobian = new Float64Array(all * width);
    const right = new Float64Array(all);
    const end = yield* model.linearize(
      values,
      right.subarray(0, count),
      jacobian.subarray(0, count * width),
      width,
      key => {
        const column = space.columnOf(key);
        return column < shared ? place.size + place.nextSize + column : column - place.own;
      },
    );
    if (next !== undefined) {
      const root = Math.sqrt(this.penalty);
      this.open(gap, values, next, end.state).forEach((open, k) => {
        const row = (count + k) * width;
        right[count + k] = root * open;
        for (const {column, values: tangent} of end.derivatives)
          jacobian[row + column] += (root * tangent[k]) / scales[k];
        jacobian[row + place.size + k] -= root / scales[k];
      });
    }
    return {right, jacobian, count, place};
  }

  /** The segment that this one has to meet; undefined at a record's end. */
  private nextOf(i: number): RecordSegment | undefined {
    const next = this.segments[i + 1] as RecordSegment | undefined;
    return next?.follows === true ? next : undefined;
  }

  /** c + λ/ρ of the gap between a segment's end and the next one's start. */
  private open(gap: number, values: RecordValues, {keys}: RecordSegment, end: Float64Array): Float64Array {
    const {scales, multipliers, penalty} = this;
    const start = keys.flatMap(key => [...values[key]]);
    return scales.map((scale, k) => (end[k] - start[k]) / scale + multipliers[gap + k] / penalty);
  }

  private placeOf(own: readonly string[], next: readonly string[]): SegmentColumns {
    const first = (keys: readonly string[]): number => (keys.length === 0 ? 0 : this.space.columnOf(keys[0]));
    const size = (keys: readonly string[]): number => (keys.length === 0 ? 0 : this.scales.length);
    return {own: first(own), size: size(own), next: first(next), nextSize: size(next)};
  }

  /** The data's residuals alone. */
  private *data(x: Float64Array): Evaluation<Float64Array> {
    const values = this.space.values(x);
    const parts: Float64Array[] = [];
    for (const {model} of this.segments) parts.push(yield* model.residuals(values));
    return joined(Float64Array, parts);
  }

  /** The cost and its gradient by one sweep back a segment; its gap is a cotangent of its last state. */
  *gradient(x: Float64Array): Evaluation<{cost: number; gradient: Float64Array}> {
    const {space, scales, penalty, weighing} = this;
    const values = space.values(x);
    const gradient = new Float64Array(space.size);
    const add = (key: string, part: ArrayLike<number>): void => {
      const column = space.columnOf(key);
      if (column >= 0) for (let i = 0; i < part.length; i++) gradient[column + i] += part[i];
    };
    if (weighing.unscaled) weighing.requireScale(yield* this.data(x));
    let [cost, gap] = [0, 0];
    for (const [i, {model}] of this.segments.entries()) {
      const next = this.nextOf(i);
      const first = gap;
      const closing = (state: Float64Array, following: RecordSegment): {cost: number; gradient: Float64Array} => {
        const open = this.open(first, values, following, state);
        const pull = open.map((value, k) => (penalty * value) / scales[k]);
        let from = 0;
        for (const key of following.keys) {
          const to = from + values[key].length;
          add(
            key,
            pull.subarray(from, to).map(value => -value),
          );
          from = to;
        }
        return {cost: (penalty / 2) * open.reduce((sum, value) => sum + value * value, 0), gradient: pull};
      };
      if (next !== undefined) gap += scales.length;
      const found = yield* model.gradient(
        values,
        next && (state => closing(state, next)),
        weighing.plain ? undefined : residuals => weighing.measure(residuals),
      );
      cost += found.cost;
      for (const [key, own] of Object.entries(found.gradient)) add(key, own);
    }
    const total = space.toCoordinates(gradient, x);
    const prior = priorGradient(space, x, weighing.sd);
    return {cost: cost + prior.cost, gradient: total.map((value, i) => value + prior.gradient[i])};
  }

  bound(x: Float64Array): string | undefined {
    return this.space.runaway(x);
  }

  /** Multipliers, penalty and noise for the next round. @returns the largest gap, in parts of the state's spread */
  *tighten(x: Float64Array): Evaluation<number> {
    const {weighing, shared, dataRows} = this;
    const root = Math.sqrt(this.penalty);
    const {residuals, raw, factor} = yield* this.at(x);
    let largest = 0;
    for (let k = 0; k < this.gaps; k++) {
      const gap = residuals[dataRows + k] / root - this.multipliers[k] / this.penalty;
      largest = Math.max(largest, Math.abs(gap));
      this.multipliers[k] += this.penalty * gap;
    }
    // Ten at a time (Nocedal & Wright, §17.4): the multipliers do the rest.
    this.penalty *= 10;
    if (!weighing.settled)
      weighing.update(raw, effective(factor.condensed(), priorMatrix(priorRows(this.space, x), shared, weighing.sd)));
    return largest;
  }

  /** The parameters that were looked for, without the segments' starts: coordinates of the plain fit. */
  estimate(x: Float64Array): RecordValues {
    const values = this.space.values(x);
    return Object.fromEntries(Object.keys(this.parameters).map(key => [key, values[key]]));
  }
}

/** Where rows of the shared columns alone have starts. */
const noStarts: SegmentColumns = {own: 0, size: 0, next: 0, nextSize: 0};

/** A segment's rows: `count` of its data, then those of the gap behind it. */
interface Rows {
  readonly right: Float64Array;
  readonly jacobian: Float64Array;
  readonly count: number;
  readonly place: SegmentColumns;
}

/** The result of multiple shooting. */
export interface Shot {
  /** The parameters that were looked for, without the segments' starts. */
  readonly values: RecordValues;
  /** Whether the segments are one motion. */
  readonly closed: boolean;
}

/** Gaps closed to this part of the state's spread need no more rounds: single shooting starts from there. */
const CLOSED = 1e-4;

/** Rounds of ten times the penalty each; what is not closed after them will not be. */
const ROUNDS = 6;

/**
 * A round of Gauss–Newton ends when a step lowers its cost by less than this part: the multipliers of the next one
 * change the cost by more (Nocedal & Wright, algorithm 17.4, has it loose at first too). Methods that descend along
 * gradients have small steps on the way, and end by their own tests.
 */
const ENOUGH = 1e-3;

/** @param report told of every iteration of all rounds */
export function* shoot(
  shooting: MultipleShooting,
  method: LeastSquaresMethod,
  report: ResidualReport,
): Evaluation<Shot> {
  let x = shooting.space.start;
  let closed = false;
  for (let round = 0; round < ROUNDS && !closed; round++) {
    x = yield* roundOf(shooting, method, x, report);
    closed = (yield* shooting.tighten(x)) < CLOSED;
  }
  return {values: shooting.estimate(x), closed};
}

function* roundOf(
  shooting: MultipleShooting,
  method: LeastSquaresMethod,
  start: Float64Array,
  report: ResidualReport,
): Evaluation<Float64Array> {
  let [cost, last] = [Infinity, start];
  try {
    const found = yield* stepsOf(method)(shooting, start, function* (iteration) {
      yield* report(iteration);
      if (method.name !== 'levenbergMarquardt' || !iteration.accepted) return;
      last = iteration.x;
      if (iteration.iteration > 0 && cost - iteration.cost < ENOUGH * iteration.cost) throw new Stopped();
      cost = iteration.cost;
    });
    return found.x;
  } catch (error) {
    if (error instanceof Stopped) return last;
    throw error;
  }
}
