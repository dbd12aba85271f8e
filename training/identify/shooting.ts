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
import {OptionError} from '../../lib/errors.js';
import {any, refuseUnknownOptions} from '../../lib/checks.js';
import {ChainQr} from './chain-qr.js';
import {type Cut, type Piece, type Whole, type Within, cutRecord, meanSquare, spread} from './cut-record.js';
import type {Evaluation} from './evaluation.js';
import {
  Stopped,
  stepsOf,
  type EvaluatedProblem,
  type Factorized,
  type LeastSquaresMethod,
  type Report,
} from './least-squares-problem.js';
import {type Noise, white} from './noise.js';
import {ParameterSpace, type Parameters} from './parameters.js';
import {effective, hasPriors, priorGradient, priorMatrix, priorRows} from './priors.js';
import type {End, Values} from './record-model.js';
import {type NoiseState, type Weighed, Weighing} from './weighing.js';

/** The initial number of segments of records; made by `single` or `multiple`. */
export interface Shooting {
  /** Of each record. 1 is single shooting. */
  readonly segments: number;
}

/** Simulates each record from its initial state: the default. */
export const single = (): Shooting => ({segments: 1});

/**
 * Divides records into segments at first, each with its own initial state; then simulates them whole.
 * @param spec.segments of each record, at least 2; so many that a segment is shorter than the time in which a wrong
 *   guess loses the data
 */
export function multiple(spec: {readonly segments: number}): Shooting {
  refuseUnknownOptions(spec, {segments: any}, 'multiple');
  const {segments} = spec;
  if (!Number.isInteger(segments) || segments < 2)
    throw new OptionError(
      'bad-option',
      `multiple: segments is ${segments}, but must be a whole number of at least 2.`,
      {segments},
    );
  return {segments};
}

/** Gaps at first weigh this part of a segment's data: segments find the data before each other. */
const FIRST = 0.01;

export class MultipleShooting implements EvaluatedProblem {
  /** Of all that is looked for, the segments' starts too. */
  readonly space: ParameterSpace;
  private readonly pieces: readonly Piece[];
  private readonly columns = new Map<string, number>();
  /** The first columns: what is no segment's start. */
  private readonly shared: number;
  private readonly dataRows: number;
  /** Of each number of the state: what a gap of it is measured by. */
  private readonly scales: Float64Array;
  private readonly gaps: number;
  private readonly multipliers: Float64Array;
  private readonly weighing: Weighing;
  private penalty: number;

  /** @param held noise of an earlier fit, taken as it was found there */
  constructor(
    wholes: readonly Whole[],
    private readonly parameters: Parameters,
    segments: number,
    private readonly noise: Noise = white(),
    held?: NoiseState,
  ) {
    const cut = wholes.map(whole => cutRecord(whole, segments, noise.order));
    this.scales = spread(cut.flatMap(({starts}) => starts));
    this.pieces = cut.flatMap(({pieces}) => pieces);
    const all: Parameters = Object.assign({}, parameters, ...cut.map(({parameters: own}) => own)) as Parameters;
    this.space = new ParameterSpace(all);
    let column = 0;
    for (const [key, {kind, guess}] of Object.entries(all)) {
      this.columns.set(key, column);
      if (kind !== 'fixed') column += guess.length;
    }
    this.shared = new ParameterSpace(parameters).size;
    this.dataRows = this.pieces.reduce((sum, {model}) => sum + model.rows, 0);
    this.gaps = this.pieces.filter(({follows}) => follows).length * this.scales.length;
    this.multipliers = new Float64Array(this.gaps);
    const channels = wholes.flatMap(({record}) => record.channels);
    const square = meanSquare(channels);
    this.penalty = FIRST * square * (this.dataRows / this.pieces.length);
    this.weighing = new Weighing(noise, this.weighed(cut, wholes, square), held);
  }

  /** Segment by segment: of each the residuals stay, and the triangle of its derivatives. */
  *linearize(x: Float64Array): Evaluation<Factorized> {
    const {residuals, factor} = yield* this.at(x);
    return {residuals, factor};
  }

  /** The same with the data's residuals as they are before the noise weighs them. */
  private *at(
    x: Float64Array,
  ): Evaluation<{readonly residuals: Float64Array; readonly raw: Float64Array; readonly factor: ChainQr}> {
    const {space, dataRows, gaps, pieces, shared, weighing} = this;
    if (weighing.unscaled) weighing.requireScale(yield* this.data(x));
    const priors = priorRows(space, x);
    const residuals = new Float64Array(dataRows + gaps + priors.length);
    const factor = new ChainQr(space.size, shared);
    const slopes = space.toCoordinates(new Float64Array(space.size).fill(1), x);
    const values = space.values(x);
    let [row, gap] = [0, 0];
    let open: Rows | undefined;
    const close = (next?: Rows): void => {
      if (open === undefined) return;
      if (next !== undefined) this.lookAhead(open, next);
      this.weigh(open, slopes);
      factor.append(open.link, open.local, open.right);
    };
    for (const i of pieces.keys()) {
      const rows = yield* this.rows(i, gap, values);
      const {right, count, ahead} = rows;
      residuals.set(right.subarray(0, count), row);
      residuals.set(right.subarray(count + ahead), dataRows + gap);
      row += count;
      gap += right.length - count - ahead;
      close(rows);
      open = rows;
    }
    close();
    const raw = residuals.slice(0, dataRows);
    const data = residuals.subarray(0, dataRows);
    weighing.whiten(data, 1);
    weighing.bend(data, none, 0);
    residuals.set(
      priors.map(({residual}) => weighing.sd * residual),
      dataRows + gaps,
    );
    if (priors.length > 0)
      factor.append(alone, priorMatrix(priors, shared, weighing.sd), residuals.slice(dataRows + gaps));
    return {residuals, raw, factor};
  }

  /** Rows of a segment as they come from its simulation; those of the next one's first samples are left empty. */
  private *rows(i: number, gap: number, values: Values): Evaluation<Rows> {
    const {pieces, shared, noise, scales} = this;
    const {model, keys, stretches} = pieces[i];
    const next = pieces[i + 1]?.follows ? pieces[i + 1] : undefined;
    const link = this.link(keys, next?.keys ?? []);
    const width = link.size + link.nextSize + shared;
    const ahead = next === undefined ? 0 : noise.order * model.width;
    const count = model.rows;
    const all = count + ahead + (next === undefined ? 0 : scales.length);
    const local = new Float64Array(all * width);
    const right = new Float64Array(all);
    const columnOf = (key: string): number => {
      const column = this.columns.get(key) ?? NaN;
      return column < shared ? link.size + link.nextSize + column : column - link.own;
    };
    const end = yield* model.linearize(
      values,
      right.subarray(0, count),
      local.subarray(0, count * width),
      width,
      columnOf,
    );
    const rows = {right, local, count, ahead, width, link, stretches};
    if (next !== undefined) this.gap(rows, gap, values, end, next.keys);
    return rows;
  }

  /** The next segment's first rows, of which an autoregression of the noise tells from those before. */
  private lookAhead({right, local, count, ahead, width, link}: Rows, next: Rows): void {
    const {shared} = this;
    right.set(next.right.subarray(0, ahead), count);
    for (let i = 0; i < ahead; i++) {
      const [to, from] = [(count + i) * width, i * next.width];
      local.set(next.local.subarray(from, from + next.link.size), to + link.size);
      local.set(next.local.subarray(from + next.width - shared, from + next.width), to + width - shared);
    }
  }

  /** As the noise weighs them, by the coordinates. */
  private weigh({right, local, count, ahead, width, link, stretches}: Rows, slopes: Float64Array): void {
    const {weighing} = this;
    weighing.whiten(local, width, stretches);
    weighing.whiten(right, 1, stretches);
    if (weighing.noise.order > 0) {
      const kept = new Set(stretches.flatMap(({whole}) => whole));
      for (let i = 0; i < count + ahead; i++) {
        if (kept.has(i)) continue;
        right[i] = 0;
        local.fill(0, i * width, (i + 1) * width);
      }
    }
    weighing.bend(right.subarray(0, count), local, width);
    for (let j = 0; j < width; j++) {
      const slope = slopes[columnOfLink(link, j)];
      if (slope !== 1) for (let k = j; k < local.length; k += width) local[k] *= slope;
    }
  }

  private link(own: readonly string[], next: readonly string[]): Place {
    const first = (keys: readonly string[]): number => (keys.length === 0 ? 0 : (this.columns.get(keys[0]) as number));
    const size = (keys: readonly string[]): number => (keys.length === 0 ? 0 : this.scales.length);
    return {own: first(own), size: size(own), next: first(next), nextSize: size(next)};
  }

  /** The data's residuals alone. */
  private *data(x: Float64Array): Evaluation<Float64Array> {
    const values = this.space.values(x);
    const all = new Float64Array(this.dataRows);
    let row = 0;
    for (const {model} of this.pieces) {
      all.set(yield* model.residuals(values), row);
      row += model.rows;
    }
    return all;
  }

  /** The data in the rows of all segments. */
  private weighed(cut: readonly Cut[], wholes: readonly Whole[], square: number): Weighed {
    const weights = new Float64Array(this.dataRows);
    let row = 0;
    const stretches = cut.flatMap(({pieces, rowOf}, i) => {
      const first = row;
      for (const {model} of pieces) {
        weights.set(model.weights, row);
        row += model.rows;
      }
      return wholes[i].stretches.map(({group, rows}) => ({group, rows: rows.map(r => first + rowOf(r))}));
    });
    const counted = weights.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
    return {weights, stretches, magnitude: (counted * square) / 2, penalized: hasPriors(this.space)};
  }

  /** The cost and its gradient by one sweep back a segment; its gap is a cotangent of its last state. */
  *gradient(x: Float64Array): Evaluation<{cost: number; gradient: Float64Array}> {
    const {space, pieces, scales, multipliers, penalty, weighing} = this;
    const values = space.values(x);
    const gradient = new Float64Array(space.size);
    const add = (key: string, part: ArrayLike<number>): void => {
      const column = this.columns.get(key) as number;
      if (space.moves(key)) for (let i = 0; i < part.length; i++) gradient[column + i] += part[i];
    };
    const raw = weighing.plain && !weighing.unscaled ? none : yield* this.data(x);
    if (weighing.unscaled) weighing.requireScale(raw);
    // Residuals of a segment weigh with those before it: their cotangents are made of all.
    const measure = weighing.plain ? undefined : weighing.measure(raw);
    let cost = measure?.cost ?? 0;
    let [row, gap] = [0, 0];
    for (const [i, {model}] of pieces.entries()) {
      const next = pieces[i + 1] as Piece | undefined;
      const first = gap;
      const closing =
        next?.follows !== true
          ? undefined
          : (state: Float64Array): {cost: number; gradient: Float64Array} => {
              const start = Float64Array.from(next.keys.flatMap(key => [...values[key]]));
              const off = scales.map((scale, k) => (state[k] - start[k]) / scale + multipliers[first + k] / penalty);
              const pull = off.map((value, k) => (penalty * value) / scales[k]);
              let from = 0;
              for (const key of next.keys) {
                add(
                  key,
                  pull.slice(from, from + values[key].length).map(value => -value),
                );
                from += values[key].length;
              }
              return {cost: (penalty / 2) * off.reduce((sum, value) => sum + value * value, 0), gradient: pull};
            };
      if (closing !== undefined) gap += scales.length;
      const part = measure?.gradient.subarray(row, row + model.rows);
      const found = yield* model.gradient(values, closing, part && (() => ({cost: 0, gradient: part})));
      cost += found.cost;
      row += model.rows;
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
  estimate(x: Float64Array): Values {
    const values = this.space.values(x);
    return Object.fromEntries(Object.keys(this.parameters).map(key => [key, values[key]]));
  }

  /** Rows √ρ (c + λ/ρ) of a gap below those of the data, by both starts and the parameters. */
  private gap(
    {right, local, count, ahead, width, link: {size}}: Rows,
    gap: number,
    values: Values,
    end: End,
    keys: readonly string[],
  ): void {
    const {scales, multipliers, penalty} = this;
    const root = Math.sqrt(penalty);
    const start = Float64Array.from(keys.flatMap(key => [...values[key]]));
    scales.forEach((scale, k) => {
      const row = count + ahead + k;
      right[row] = root * ((end.state[k] - start[k]) / scale + multipliers[gap + k] / penalty);
      for (const {column, values: tangent} of end.derivatives)
        local[row * width + column] += (root * tangent[k]) / scale;
      local[row * width + size + k] -= root / scale;
    });
  }
}

const none = new Float64Array(0);

/** Rows of the shared columns alone. */
const alone: Place = {own: 0, size: 0, next: 0, nextSize: 0};

/** Columns of a segment's own start and of the next one's. */
interface Place {
  readonly own: number;
  readonly size: number;
  readonly next: number;
  readonly nextSize: number;
}

/** A segment's rows: `count` of its data, `ahead` for the next one's first samples, and those of the gap. */
interface Rows {
  readonly right: Float64Array;
  readonly local: Float64Array;
  readonly count: number;
  readonly ahead: number;
  readonly width: number;
  readonly link: Place;
  readonly stretches: readonly Within[];
}

/** Of a segment's column, the problem's. */
const columnOfLink = ({own, size, next, nextSize}: Place, j: number): number =>
  j < size ? own + j : j < size + nextSize ? next + j - size : j - size - nextSize;

/** What multiple shooting came to. */
export interface Shot {
  /** The parameters that were looked for, without the segments' starts. */
  readonly values: Values;
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
export function* shoot(shooting: MultipleShooting, method: LeastSquaresMethod, report: Report): Evaluation<Shot> {
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
  report: Report,
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
