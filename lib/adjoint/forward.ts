/**
 * Gradients by forward sensitivities: the tangents of the saved states along every number that a run
 * depends on, taken beside the steps so that these need not be kept, and contracted with cotangents.
 */
import type {StepContext} from '../step/context.js';
import type {Gradient} from './gradient.js';
import type {HistoryCotangents} from './history-backward.js';
import {StepRecord} from './record.js';
import type {Push} from './tangent.js';
import type {Directions} from './directions.js';
import {startTangent, stepPush} from './tangent.js';

/** Plain values, for every direction `count`. */
export interface Sensitivities {
  readonly count: number;
  /** By saved state: its tangents [count, state]. */
  readonly states: readonly Float64Array[];
  /** By saved state: the tangents of its time [count]; absent where all times are constants. */
  readonly times?: readonly Float64Array[];
  /** By event that happened: the tangents of its time [count]. */
  readonly happened?: readonly Float64Array[];
}

/** A direction for every number of the initial state, then of each parameter. */
export function unitDirections({given, parameterValues}: Pick<StepContext, 'given' | 'parameterValues'>): Directions {
  const count = parameterValues.reduce((sum, values) => sum + values.length, given.length);
  let first = 0;
  const block = (size: number): Float64Array => {
    const rows = new Float64Array(count * size);
    for (let i = 0; i < size; i++) rows[(first + i) * size + i] = 1;
    first += size;
    return rows;
  };
  return {count, initial: block(given.length), parameters: parameterValues.map(values => block(values.length))};
}

/** What goes along with a run on its grid. */
export interface Beside {
  /** Where the steps since the last call are recorded. */
  readonly record: StepRecord;
  /** Step n has been reached, at this state. */
  reach(n: number, state: Float64Array): void;
  /** The present state is the next saved one. */
  save(): void;
}

/** Tangents that go along, for a gradient. */
export class TangentsBeside implements Beside {
  readonly record: StepRecord;
  readonly count: number;
  readonly states: Float64Array[] = [];
  private readonly dx: Float64Array;
  private readonly push: Push;

  /** @param start the step that began the run */
  constructor(context: StepContext, start: StepRecord, directions: Directions) {
    const {traced, compiled} = context;
    this.record = new StepRecord(traced.state.size, !compiled.implicit ? 0 : traced.unknown.size, 1);
    this.count = directions.count;
    this.dx = startTangent(context, start, directions);
    this.push = stepPush(context, directions);
  }

  reach(): void {
    const {record, dx, push} = this;
    for (let k = 0; k < record.count; k++) dx.set(push(record, k, dx));
    record.clear();
  }

  save(): void {
    this.states.push(this.dx.slice());
  }
}

const dot = (a: Float64Array, at: number, b: Float64Array, from: number, count: number): number => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += a[at + i] * b[from + i];
  return sum;
};

/** The gradient for cotangents of the saved states, from the tangents along `unitDirections`. */
export function contract({given, parameterValues, traced}: StepContext, {count, states, times, happened}: Sensitivities, cotangents: HistoryCotangents): Gradient {
  const {size} = traced.state;
  const flat = new Float64Array(count);
  for (let d = 0; d < count; d++) {
    states.forEach((tangents, saved) => (flat[d] += dot(tangents, d * size, cotangents.states, saved * size, size)));
    if (cotangents.times !== undefined) times?.forEach((tangents, saved) => (flat[d] += tangents[d] * (cotangents.times as Float64Array)[saved]));
    if (cotangents.happened !== undefined) happened?.forEach((tangents, event) => (flat[d] += tangents[d] * (cotangents.happened as Float64Array)[event]));
  }
  let at = given.length;
  return {
    initial: flat.slice(0, at), recomputedSteps: 0,
    parameters: parameterValues.map(({length}) => flat.slice(at, (at += length))),
  };
}
