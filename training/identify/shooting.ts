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
import type {Inputs, Signal} from '../../lib/index.js';
import {signal} from '../../lib/index.js';
import {ChainQr} from './chain-qr.js';
import {advanced, type Evaluation, type Steps} from './evaluation.js';
import {
  stepsOf,
  type EvaluatedProblem,
  type Factorized,
  type LeastSquaresIteration,
  type LeastSquaresMethod,
} from './least-squares-problem.js';
import {free, ParameterSpace, type Parameters} from './parameters.js';
import {nestedNumbers} from './nested.js';
import type {Block, End, Model, Values} from './record-model.js';
import {recordKey, RecordModel} from './record-model.js';
import type {Channel, CheckedRecord} from './records.js';
import {slicedRecord, stateNames} from './records.js';

/** Into how many segments records are cut at first; made by `single` or `multiple`. */
export interface Shooting {
  /** Of each record. 1 is single shooting. */
  readonly segments: number;
}

/** The whole record from its start: the default. */
export const single = (): Shooting => ({segments: 1});

/**
 * Records in segments at first, each with a start of its own; then whole.
 * @param spec.segments of each record, at least 2; as many that a segment is shorter than the time in which a wrong guess loses the data
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

/** A segment, and by which keys its start is looked for; the first of a record starts as the record does. */
interface Piece {
  readonly model: RecordModel;
  readonly follows: boolean;
  readonly keys: readonly string[];
}

export interface Whole {
  readonly model: Model;
  readonly record: CheckedRecord;
  readonly shapeOf: (block: Block) => readonly number[];
  /** The record's motion at the guess, [samples, …]: for starts that were not measured. Empty where it cannot be simulated. */
  readonly guess: () => {readonly [block in Block]?: Float64Array};
}

/** Gaps at first weigh this part of what the data of a segment do: the segments shall find the data before each other. */
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
  private penalty: number;

  constructor(
    wholes: readonly Whole[],
    private readonly parameters: Parameters,
    segments: number,
  ) {
    const cut = wholes.map(whole => cutRecord(whole, segments));
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
    this.penalty =
      FIRST * meanSquare(wholes.flatMap(({record}) => record.channels)) * (this.dataRows / this.pieces.length);
  }

  /** Segment by segment: of each the residuals stay, and the triangle of its derivatives. */
  *linearize(x: Float64Array): Evaluation<Factorized> {
    const {space, dataRows, gaps, pieces, shared} = this;
    const residuals = new Float64Array(dataRows + gaps);
    const factor = new ChainQr(space.size, shared);
    const slopes = space.toCoordinates(new Float64Array(space.size).fill(1), x);
    const values = space.values(x);
    let row = 0;
    let gapRow = dataRows;
    for (const [i, {model, keys}] of pieces.entries()) {
      const next = pieces[i + 1]?.follows ? pieces[i + 1] : undefined;
      const link = this.link(keys, next?.keys ?? []);
      const gapCount = next === undefined ? 0 : this.scales.length;
      const width = link.size + link.nextSize + shared;
      const local = new Float64Array((model.rows + gapCount) * width);
      const right = new Float64Array(model.rows + gapCount);
      const columnOf = (key: string): number => {
        const column = this.columns.get(key) ?? NaN;
        return column < shared ? link.size + link.nextSize + column : column - link.own;
      };
      const end = yield* model.linearize(
        values,
        right.subarray(0, model.rows),
        local.subarray(0, model.rows * width),
        width,
        columnOf,
      );
      residuals.set(right.subarray(0, model.rows), row);
      row += model.rows;
      if (next !== undefined) {
        this.gap({right, local, first: model.rows, width, size: link.size}, gapRow - dataRows, values, end, next.keys);
        residuals.set(right.subarray(model.rows), gapRow);
        gapRow += gapCount;
      }
      for (let j = 0; j < width; j++) {
        const slope = slopes[columnOfLink(link, j)];
        if (slope !== 1) for (let k = j; k < local.length; k += width) local[k] *= slope;
      }
      factor.append(link, local, right);
    }
    return {residuals, factor};
  }

  private link(own: readonly string[], next: readonly string[]): Place {
    const first = (keys: readonly string[]): number => (keys.length === 0 ? 0 : (this.columns.get(keys[0]) as number));
    const size = (keys: readonly string[]): number => (keys.length === 0 ? 0 : this.scales.length);
    return {own: first(own), size: size(own), next: first(next), nextSize: size(next)};
  }

  /** The cost and its gradient by one sweep back a segment, into which its gap enters as a cotangent of its last state. */
  *gradient(x: Float64Array): Evaluation<{cost: number; gradient: Float64Array}> {
    const {space, pieces, scales, multipliers, penalty} = this;
    const values = space.values(x);
    const gradient = new Float64Array(space.size);
    const add = (key: string, part: ArrayLike<number>): void => {
      const column = this.columns.get(key) as number;
      if (space.moves(key)) for (let i = 0; i < part.length; i++) gradient[column + i] += part[i];
    };
    let cost = 0;
    let gap = 0;
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
      const found = yield* model.gradient(values, closing);
      cost += found.cost;
      for (const [key, part] of Object.entries(found.gradient)) add(key, part);
    }
    return {cost, gradient: space.toCoordinates(gradient, x)};
  }

  bound(x: Float64Array): string | undefined {
    return this.space.runaway(x);
  }

  /** Multipliers and penalty for the next round. @returns the largest gap, in parts of the state's spread */
  *tighten(x: Float64Array): Evaluation<number> {
    const root = Math.sqrt(this.penalty);
    const {residuals} = yield* this.linearize(x);
    let largest = 0;
    for (let k = 0; k < this.gaps; k++) {
      const gap = residuals[this.dataRows + k] / root - this.multipliers[k] / this.penalty;
      largest = Math.max(largest, Math.abs(gap));
      this.multipliers[k] += this.penalty * gap;
    }
    // Ten at a time (Nocedal & Wright, §17.4): the multipliers do the rest.
    this.penalty *= 10;
    return largest;
  }

  /** The parameters that were looked for, without the segments' starts: coordinates of the plain fit. */
  estimate(x: Float64Array): Values {
    const values = this.space.values(x);
    return Object.fromEntries(Object.keys(this.parameters).map(key => [key, values[key]]));
  }

  /** Rows √ρ (c + λ/ρ) of a gap below those of the data, over the starts of the segment and of the next one, and the parameters. */
  private gap(
    {right, local, first, width, size}: Rows,
    gap: number,
    values: Values,
    end: End,
    keys: readonly string[],
  ): void {
    const {scales, multipliers, penalty} = this;
    const root = Math.sqrt(penalty);
    const start = Float64Array.from(keys.flatMap(key => [...values[key]]));
    scales.forEach((scale, k) => {
      const row = first + k;
      right[row] = root * ((end.state[k] - start[k]) / scale + multipliers[gap + k] / penalty);
      for (const {column, values: tangent} of end.derivatives)
        local[row * width + column] += (root * tangent[k]) / scale;
      local[row * width + size + k] -= root / scale;
    });
  }
}

/** Columns of a segment's own start and of the next one's. */
interface Place {
  readonly own: number;
  readonly size: number;
  readonly next: number;
  readonly nextSize: number;
}

/** A segment's rows, of which the gap's begin at `first`; before the next start's columns there are `size`. */
interface Rows {
  readonly right: Float64Array;
  readonly local: Float64Array;
  readonly first: number;
  readonly width: number;
  readonly size: number;
}

/** Of a segment's column, the problem's. */
const columnOfLink = ({own, size, next, nextSize}: Place, j: number): number =>
  j < size ? own + j : j < size + nextSize ? next + j - size : j - size - nextSize;

interface Cut {
  readonly pieces: readonly Piece[];
  readonly parameters: Parameters;
  readonly starts: readonly Float64Array[];
}

/** Neighbours share a sample: it ends the one and starts the other, and weighs in the latter alone. */
function cutRecord(whole: Whole, segments: number): Cut {
  const {record} = whole;
  const {inputs: shared, ...model} = whole.model;
  const inputs = {...shared, ...record.inputs};
  const blocks = stateNames(model.system);
  const intervals = record.t.length - 1;
  const count = Math.min(segments, intervals);
  const bounds = Array.from({length: count + 1}, (_, s) => Math.round((s * intervals) / count));
  const parameters: {[key: string]: Parameters[string]} = {};
  const starts: Float64Array[] = [];
  const within = (from: number, to: number): Inputs => inputsWithin(inputs, record.t[from], record.t[to]);
  const pieces = bounds.slice(0, -1).map((from, s): Piece => {
    const to = bounds[s + 1];
    const last = s === count - 1;
    if (s === 0)
      return {
        model: new RecordModel(model, {...sliced(record, from, to, last, record.name), inputs: within(from, to)}),
        follows: false,
        keys: [],
      };
    const name = `${record.name}, segment ${s + 1}`;
    const own = Object.fromEntries(
      blocks.map(block => [
        `initial.${block}`,
        {...free([...startOf(whole, block, from)]), shape: whole.shapeOf(block)},
      ]),
    );
    for (const [key, parameter] of Object.entries(own)) parameters[recordKey(name, key)] = parameter;
    starts.push(Float64Array.from(Object.values(own).flatMap(({guess}) => [...guess])));
    const piece: CheckedRecord = {
      ...sliced(record, from, to, last, name),
      owner: record.name,
      initial: {t: record.t[from]},
      inputs: within(from, to),
      parameters: {...withoutStart(record.parameters), ...own},
    };
    return {
      model: new RecordModel({...model, parameters: withoutStart(model.parameters)}, piece),
      follows: true,
      keys: blocks.map(block => recordKey(name, `initial.${block}`)),
    };
  });
  return {pieces, parameters, starts};
}

/** What is the record's start is not the segment's. */
const withoutStart = (parameters: Parameters): Parameters =>
  Object.fromEntries(Object.entries(parameters).filter(([key]) => !key.startsWith('initial.')));

function sliced(record: CheckedRecord, from: number, to: number, last: boolean, name: string): CheckedRecord {
  const segment = slicedRecord(record, from, to + 1);
  if (!last) for (const {weights, outputs} of segment.channels) weights.fill(0, weights.length - outputs);
  return {...segment, name};
}

/** What is far away does not move a spline: a bend falls by 2 − √3 from sample to sample (de Boor 1978), to rounding within so many. */
const splineReach = 30;

/** Inputs without their samples far from a segment, each of which would hold all of them. What is no plain signal stays as it is. */
function inputsWithin(inputs: Inputs, from: number, to: number): Inputs {
  return Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, inputWithin(input, from, to)]));
}

function inputWithin(input: Inputs[string] & Partial<Signal>, from: number, to: number): Inputs[string] {
  const {t, kind, shape} = input;
  // The values of unknown samples are read anew each time, by a getter.
  const known = Object.getOwnPropertyDescriptor(input, 'values')?.value as Float64Array | undefined;
  if (kind === undefined || shape === undefined || known === undefined) return input;
  const reach = kind === 'cubic' ? splineReach : 1;
  const first = Math.max(0, firstAfter(t, from) - 1 - reach);
  const last = Math.min(t.length, Math.max(firstAfter(t, to) + 1 + reach, first + 2));
  const size = known.length / t.length;
  const values = known.slice(first * size, last * size);
  return signal(
    t.slice(first, last),
    size === 1 && shape.length === 0 ? values : nestedNumbers(Array.from(values), [last - first, ...shape]),
    kind,
  );
}

/** The first of ascending times that is later, by bisection; their number where none is. */
function firstAfter(t: Float64Array, time: number): number {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** As measured; a velocity from the positions beside it, where those were; else from the simulation at the guess. */
function startOf({record, guess}: Whole, block: Block, sample: number): Float64Array {
  const at = measuredAt(
    record.channels.find(({simulated}) => simulated === block),
    sample,
  );
  if (at !== undefined) return at;
  const places = record.channels.find(({simulated}) => simulated === 'q');
  const [before, after] = [Math.max(0, sample - 1), Math.min(record.t.length - 1, sample + 1)];
  const [low, high] = [measuredAt(places, before), measuredAt(places, after)];
  if (block === 'v' && low !== undefined && high !== undefined)
    return low.map((value, k) => (high[k] - value) / (record.t[after] - record.t[before]));
  const simulated = guess()[block];
  if (simulated === undefined)
    throw new OptionError(
      'bad-shooting',
      `identify: multiple shooting needs a start for ${block} within ${record.name}: it was not measured, and the record cannot be simulated at the guess. Measure it, or take a better guess.`,
      {record: record.name, block},
    );
  const width = simulated.length / record.t.length;
  return simulated.subarray(sample * width, (sample + 1) * width);
}

function measuredAt(channel: Channel | undefined, sample: number): Float64Array | undefined {
  if (channel === undefined) return undefined;
  const {outputs, weights, measured} = channel;
  if (weights.subarray(sample * outputs, (sample + 1) * outputs).some(weight => weight === 0)) return undefined;
  return measured.subarray(sample * outputs, (sample + 1) * outputs);
}

/** Standard deviations of the starts' numbers; 1 where all are the same. */
function spread(starts: readonly Float64Array[]): Float64Array {
  const n = starts.length;
  return (starts[0] ?? new Float64Array()).map((_, k) => {
    const mean = starts.reduce((sum, start) => sum + start[k], 0) / n;
    return Math.sqrt(starts.reduce((sum, start) => sum + (start[k] - mean) ** 2, 0) / n) || Math.abs(mean) || 1;
  });
}

/** Of the weighted measurements: what a wholly wrong segment costs a residual. */
function meanSquare(channels: readonly Channel[]): number {
  let [sum, count] = [0, 0];
  for (const {measured, weights} of channels) {
    measured.forEach((value, i) => {
      if (weights[i] === 0) return;
      sum += (weights[i] * value) ** 2;
      count++;
    });
  }
  return count === 0 ? 1 : sum / count || 1;
}

/** Gaps closed to this part of the state's spread need no more rounds: single shooting starts from there. */
const CLOSED = 1e-4;

/** Rounds of ten times the penalty each; what is not closed after them will not be. */
const ROUNDS = 6;

/**
 * A round of Gauss–Newton ends when a step lowers its cost by less than this part: the multipliers of the next one change the
 * cost by more (Nocedal & Wright, algorithm 17.4, has it loose at first too). Methods that descend along gradients have
 * small steps on the way, and end by their own tests.
 */
const ENOUGH = 1e-3;

/** The rounds, iteration by iteration, for callers that wait between them. @returns coordinates of the plain fit */
export function* shoot(shooting: MultipleShooting, method: LeastSquaresMethod): Steps<LeastSquaresIteration, Values> {
  let x = shooting.space.start;
  for (let round = 0; round < ROUNDS; round++) {
    x = yield* roundOf(shooting, method, x);
    if ((yield* shooting.tighten(x)) < CLOSED) break;
  }
  return shooting.estimate(x);
}

function* roundOf(
  shooting: MultipleShooting,
  method: LeastSquaresMethod,
  start: Float64Array,
): Steps<LeastSquaresIteration, Float64Array> {
  const steps = stepsOf(method, shooting, start);
  let cost = Infinity;
  for (;;) {
    const next = yield* advanced(steps);
    if (next.done === true) return next.value.x;
    yield next.value;
    const {accepted, cost: reached, x, iteration} = next.value;
    if (method.name !== 'levenbergMarquardt' || !accepted) continue;
    if (iteration > 0 && cost - reached < ENOUGH * reached) return x;
    cost = reached;
  }
}
