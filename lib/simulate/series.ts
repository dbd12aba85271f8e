/**
 * What a run shows, as one matrix [saved, width]: the state's blocks and the observations beside
 * them. Values, cotangents and tangents all pass in this form; names and shapes are given here once.
 */
import type {Gradient} from '../adjoint/backward.js';
import {sweepBack} from '../adjoint/backward.js';
import type {Directions} from '../adjoint/tangent.js';
import {sweepForward} from '../adjoint/tangent.js';
import type {Block} from '../step/layout.js';
import {observedValues, pullObserved, pushObserved} from './observed.js';
import {backwards} from './backwards.js';
import type {Runnable} from './runnable.js';
import type {Path, Run} from './run.js';

/** The blocks of the state a trajectory shows; others (a guess's history) stay inside. */
const shown = ['q', 'v', 'y', 'a', 'lambda'];

export interface Series {
  readonly blocks: readonly Block[];
  readonly width: number;
}

export function seriesOf({traced}: Runnable): Series {
  const {state, observed} = traced;
  const blocks = shown.flatMap(name => state.block(name) ?? []);
  if (observed === undefined) return {blocks, width: state.size};
  return {blocks: [...blocks, {name: 'observed', shape: observed.shape, offset: state.size, size: observed.node.size}], width: state.size + observed.node.size};
}

/** One block of a matrix of the given width. */
export function column(matrix: Float64Array, width: number, {offset, size}: Pick<Block, 'offset' | 'size'>): Float64Array {
  const rows = matrix.length / width;
  const series = new Float64Array(rows * size);
  for (let i = 0; i < rows; i++) series.set(matrix.subarray(i * width + offset, i * width + offset + size), i * size);
  return series;
}

/** Writes a block into a matrix of the given width. */
export function setColumn(matrix: Float64Array, width: number, {offset, size}: Pick<Block, 'offset' | 'size'>, values: Float64Array): void {
  for (let i = 0; i * size < values.length; i++) matrix.set(values.subarray(i * size, (i + 1) * size), i * width + offset);
}

/** The columns of the state beside those of the observations. */
function beside(prepared: Runnable, states: Float64Array, observed: Float64Array): Float64Array {
  const {width} = seriesOf(prepared);
  const {size} = prepared.traced.state;
  const matrix = new Float64Array((states.length / size) * width);
  setColumn(matrix, width, {offset: 0, size}, states);
  setColumn(matrix, width, {offset: size, size: width - size}, observed);
  return matrix;
}

export function seriesValues(prepared: Runnable, run: Run): Float64Array {
  return prepared.traced.observed === undefined ? run.states : beside(prepared, run.states, observedValues(prepared, run));
}

/** The gradient for a cotangent of the whole matrix. */
export function pullSeries(runnable: Runnable, run: Path, bars: Float64Array): Gradient {
  const prepared = {...runnable, redundancy: run.redundancy};
  const {traced, options, compiled} = prepared;
  compiled.recall(run.history);
  const steps = backwards(prepared, run);
  if (traced.observed === undefined) return sweepBack(prepared, options.adjoint, run.start, steps, bars);
  const {width} = seriesOf(prepared);
  const {size} = traced.state;
  const stateBars = column(bars, width, {offset: 0, size});
  const direct = pullObserved(prepared, run, column(bars, width, {offset: size, size: width - size}), stateBars);
  const gradient = sweepBack(prepared, options.adjoint, run.start, steps, stateBars);
  return {...gradient, parameters: gradient.parameters.map((bar, p) => bar.map((value, i) => value + direct[p][i]))};
}

/** Tangents of the matrix, one for each direction. */
export function pushSeries(runnable: Runnable, run: Run, directions: Directions): Float64Array[] {
  const prepared = {...runnable, redundancy: run.redundancy};
  const {kept, times, start} = run;
  if (kept === undefined || !('record' in kept)) throw new Error('a run for a tangent keeps its steps');
  const {traced, compiled} = prepared;
  compiled.recall(run.history);
  const {count, parameters} = directions;
  const swept = sweepForward(prepared, start, kept.record, directions, times.length);
  const length = times.length * traced.state.size;
  const states = Array.from({length: count}, (_, k) => swept.subarray(k * length, (k + 1) * length));
  if (traced.observed === undefined) return states;
  const observed = pushObserved(prepared, run, swept, parameters, count);
  return states.map((tangent, k) => beside(prepared, tangent, observed[k]));
}
