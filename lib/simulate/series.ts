/**
 * What a run shows, as one matrix [saved, width]: the state's blocks and the observations beside
 * them. Values, cotangents and tangents all pass in this form; names and shapes are given here once.
 */
import {addTo} from '../adjoint/add-to.js';
import type {Gradient} from '../adjoint/gradient.js';
import type {TransitionWatch} from '../adjoint/not-finite.js';
import {gradientNotFinite, notFinitePart, requireFiniteTangents, finiteWatch} from '../adjoint/not-finite.js';
import type {Directions} from '../adjoint/directions.js';
import {byDirection} from '../adjoint/sweep-forward.js';
import type {Block} from '../step/layout.js';
import type {TracedStep} from '../step/traced-step.js';
import {recordSteps} from '../integrate/checkpointer.js';
import {run} from '../integrate/run.js';
import {observedValues, pullObserved, pushObserved} from './observed.js';
import type {RunContext} from '../integrate/run-context.js';
import type {Path, Run} from '../integrate/path.js';

/** The blocks of the state a trajectory shows; others (a guess's history) stay inside. */
const shown = ['q', 'v', 'y', 'a', 'lambda'];

export interface RunSeries {
  readonly blocks: readonly Block[];
  readonly width: number;
}

/** By step: every run asks for it, and each of its gradients. */
const known = new WeakMap<TracedStep, RunSeries>();

export function seriesOf({traced}: Pick<RunContext, 'traced'>): RunSeries {
  let series = known.get(traced);
  if (series === undefined) known.set(traced, (series = shownOf(traced)));
  return series;
}

function shownOf({state, functions: {observed}, observedShape = []}: TracedStep): RunSeries {
  const hidden = state.blocks.filter(({name, partOf}) => (partOf === 'v' || partOf === 'y') && !shown.includes(name));
  const blocks = [...shown.flatMap(name => state.block(name) ?? []), ...hidden];
  if (observed === undefined) return {blocks, width: state.size};
  return {
    blocks: [...blocks, {name: 'observed', shape: observedShape, offset: state.size, size: observed.size}],
    width: state.size + observed.size,
  };
}

/** Up to so many numbers a loop is cheaper than a view and `set` (the same was measured for adjoint/record.ts). */
const short = 32;

type Numbers = Float64Array | Float32Array;

/** Copies `size` numbers of every row of a matrix, from an offset on, to those of another. */
function copyRows(
  size: number,
  from: Numbers,
  fromWidth: number,
  fromOffset: number,
  to: Numbers,
  toWidth: number,
  toOffset: number,
): void {
  const rows = Math.min(from.length / fromWidth, to.length / toWidth);
  if (size === fromWidth && size === toWidth) to.set(from);
  else if (size > short)
    for (let i = 0, at = fromOffset; i < rows; i++, at += fromWidth)
      to.set(from.subarray(at, at + size), i * toWidth + toOffset);
  else
    for (let i = 0, a = fromOffset, b = toOffset; i < rows; i++, a += fromWidth, b += toWidth)
      for (let k = 0; k < size; k++) to[b + k] = from[a + k];
}

/** Copies one block of a matrix of the given width. */
export function copyColumn(
  matrix: Float64Array,
  width: number,
  {offset, size}: Pick<Block, 'offset' | 'size'>,
  to: Float64Array,
): Float64Array {
  copyRows(size, matrix, width, offset, to, size, 0);
  return to;
}

/** One block of a matrix of the given width. */
export const column = (matrix: Float64Array, width: number, block: Pick<Block, 'offset' | 'size'>): Float64Array =>
  copyColumn(matrix, width, block, new Float64Array((matrix.length / width) * block.size));

/** Writes a block into a matrix of the given width. */
export function setColumn(
  matrix: Float64Array,
  width: number,
  {offset, size}: Pick<Block, 'offset' | 'size'>,
  values: Numbers,
): void {
  copyRows(size, values, size, 0, matrix, width, offset);
}

/** The columns of the state beside those of the observations. */
function beside(prepared: RunContext, states: Float64Array, observed: Float64Array): Float64Array {
  const {width} = seriesOf(prepared);
  const {size} = prepared.traced.state;
  const matrix = new Float64Array((states.length / size) * width);
  setColumn(matrix, width, {offset: 0, size}, states);
  setColumn(matrix, width, {offset: size, size: width - size}, observed);
  return matrix;
}

export function seriesValues(prepared: RunContext, path: Path): Float64Array {
  return prepared.traced.functions.observed === undefined
    ? path.states
    : beside(prepared, path.states, observedValues(prepared, path));
}

/** Cotangents of a run: of its whole matrix, of the times of its rows where events move them, and of its events. */
export interface SeriesCotangents {
  readonly series: Float64Array;
  readonly times?: Float64Array;
  readonly happened?: Float64Array;
  readonly asked?: AskedGradient;
}

/** Parts of a gradient that are asked for beside the parameters. */
export interface AskedGradient {
  /** The derivative by the time of the start; default false. */
  readonly t0?: boolean;
  /** That by the initial state; default true. Otherwise it may be infinite, as that of √y at 0. */
  readonly initial?: boolean;
}

/**
 * The gradient for cotangents of a run.
 * @throws GradientError where it is not finite
 */
export function pullSeries(
  runnable: RunContext,
  run: Path,
  {series, times: ofTimes, happened, asked: {t0, initial = true} = {}}: SeriesCotangents,
): Gradient {
  const prepared = run.redundancy === runnable.redundancy ? runnable : {...runnable, redundancy: run.redundancy};
  const {options, compiled} = prepared;
  const {tape} = run;
  if (tape === undefined) throw new Error('a run for a gradient keeps its steps');
  options.poll?.();
  const swept = (states: Float64Array, times?: Float64Array, watch?: TransitionWatch): Gradient => {
    compiled.matrices.restorePivots(run.pivotStates);
    return tape.pull(prepared, run, {states, times, eventTimes: happened, t0}, watch);
  };
  const sweep = (states: Float64Array, times?: Float64Array): Gradient => {
    const gradient = swept(states, times);
    const bad = notFinitePart(prepared, gradient, initial);
    if (bad === undefined) return gradient;
    swept(states, times, finiteWatch(prepared));
    throw gradientNotFinite(bad);
  };
  const {states, times = ofTimes, parameters} = throughObserved(prepared, run, series);
  if (times !== ofTimes) addTo(times, ofTimes);
  const gradient = sweep(states, times);
  if (parameters === undefined) return gradient;
  gradient.parameters.forEach((cotangent, p) => addTo(cotangent, parameters[p]));
  const bad = notFinitePart(prepared, gradient, initial);
  if (bad !== undefined) throw gradientNotFinite(bad);
  return gradient;
}

/**
 * What a cotangent of the whole matrix asks of the saved states, and through the observations of their times and the
 * parameters.
 */
export function throughObserved(
  prepared: RunContext,
  run: Path,
  cotangents: Float64Array,
): {readonly states: Float64Array; readonly times?: Float64Array; readonly parameters?: readonly Float64Array[]} {
  const {traced} = prepared;
  if (traced.functions.observed === undefined) return {states: cotangents};
  const {width} = seriesOf(prepared);
  const {size} = traced.state;
  const states = column(cotangents, width, {offset: 0, size});
  const direct = pullObserved(prepared, run, column(cotangents, width, {offset: size, size: width - size}), states);
  return {states, ...direct};
}

export interface SeriesTangents {
  /** Tangents of the matrix, one for each direction. */
  readonly matrices: Float64Array[];
  /** Tangents of the times of the run's events, one for each direction. */
  readonly happened: Float64Array[];
}

export interface RunAndTangents {
  readonly run: Run;
  /** Tangents of the matrix, one for each direction; none where the run failed. */
  readonly tangents: Float64Array[];
  /** Tangents of the times of the run's events, one for each direction. */
  readonly happened: Float64Array[];
}

/**
 * A run, and the tangents of its matrix.
 * @param throws whether a run that fails has none
 */
export function runAndPush(runnable: RunContext, directions: Directions, throws: boolean): RunAndTangents {
  const result = run(runnable, recordSteps(Infinity));
  if (throws && result.error !== undefined) return {run: result, tangents: [], happened: []};
  const {matrices, happened} = pushSeries(runnable, result, directions);
  return {run: result, tangents: matrices, happened};
}

/** @throws GradientError where a tangent is not finite */
export function pushSeries(runnable: RunContext, run: Path, directions: Directions): SeriesTangents {
  const found = pushed(runnable, run, directions);
  requireFiniteTangents(runnable, found.matrices, seriesOf(runnable).width, run.times, () =>
    seriesValues({...runnable, redundancy: run.redundancy}, run),
  );
  return found;
}

function pushed(runnable: RunContext, run: Path, directions: Directions): SeriesTangents {
  const prepared = {...runnable, redundancy: run.redundancy};
  const {traced, compiled} = prepared;
  compiled.matrices.restorePivots(run.pivotStates);
  const {count, parameters} = directions;
  const tangents = run.tape?.push?.(prepared, run, directions);
  if (tangents === undefined) throw new Error('a run for a tangent keeps its steps');
  const swept = byDirection(tangents);
  const part = (all: Float64Array): Float64Array[] =>
    Array.from({length: count}, (_, k) => all.subarray((k * all.length) / count, ((k + 1) * all.length) / count));
  const states = part(swept.states);
  const happened = part(swept.happened);
  if (traced.functions.observed === undefined) return {matrices: states, happened};
  const observed = pushObserved(prepared, run, swept.states, swept.times, parameters, count);
  return {matrices: states.map((tangent, k) => beside(prepared, tangent, observed[k])), happened};
}
