/**
 * A loss of a run's saved series and its cotangents, with those of what encodes the start: one text for every way of
 * running.
 */
import * as tf from '@tensorflow/tfjs';
import {gradientNotFinite} from '../adjoint/not-finite.js';
import {GradientError} from '../errors.js';
import type {Run} from '../integrate/path.js';
import type {PreparedRun} from './prepare.js';
import type {Block} from '../step/layout.js';
import type {Leaf} from '../system/params.js';
import {firstNotFinite} from '../system/places.js';
import type {LossArgument} from './objective-kinds.js';
import type {SeriesCotangents} from './series.js';
import {copyColumn, seriesOf, setColumn} from './series.js';
import type {SourceCotangents, TracedFunction} from './traced-function.js';

/** Where a series' rows lie: the numbers of each saved state from `offset` on, `width` from one row to the next. */
interface Rows {
  readonly values: Float64Array;
  readonly width: number;
  readonly offset: number;
}

/** Saved states and what is observed of them, in one matrix (series.ts) or each by itself. */
export interface SavedRows {
  readonly states: Rows;
  readonly observed: Rows | undefined;
}

/** The rows of a whole matrix. */
export function rowsOf(prepared: PreparedRun, values: Float64Array): SavedRows {
  const {width} = seriesOf(prepared);
  return {states: {values, width, offset: 0}, observed: {values, width, offset: prepared.traced.state.size}};
}

/** What a run shows a loss, and room for the cotangents of that, zero where the loss does not read it. */
export interface LossSeries extends Pick<Run, 'times' | 'events'> {
  readonly saved: SavedRows;
  readonly cotangents: SavedRows;
}

/**
 * The loss, its sources being loaded, with the cotangent of the start.
 * @param sums the cotangents of parameters and variables are added to these
 * @param pullRun pulls the cotangents of the series, and of times, back to the start
 * @throws GradientError 'loss-not-finite'
 */
export function differentiateLoss(
  prepared: PreparedRun,
  loss: TracedFunction<LossArgument>,
  encoder: TracedFunction<'given'> | undefined,
  series: LossSeries,
  sums: SourceCotangents,
  pullRun: (times: Pick<SeriesCotangents, 'times' | 'happened'>) => Float64Array,
): {readonly value: number; readonly initial: Float64Array} {
  const {executable} = loss;
  loadSeries(loss, prepared, series);
  executable.run('pull');
  const value = executable.buffer('loss')[0];
  requireFiniteLoss(value);
  setSeriesCotangents(loss, prepared, series.cotangents);
  const initial = pullRun(timeCotangents(loss, prepared));
  loss.addTo(sums);
  if (encoder !== undefined) {
    encoder.executable.optionalBuffer('givenCotangent')?.set(initial);
    encoder.executable.run('pull');
    encoder.addTo(sums);
  }
  return {value, initial};
}

/** Calls `each` with every block of the series, by its number, and where it lies in a row. */
function eachColumn(
  prepared: PreparedRun,
  {states, observed}: SavedRows,
  each: (i: number, rows: Rows, column: Pick<Block, 'offset' | 'size'>) => void,
): void {
  const {size} = prepared.traced.state;
  const {blocks} = seriesOf(prepared);
  for (let i = 0; i < blocks.length; i++) {
    const {offset, size: length} = blocks[i];
    if (offset < size) each(i, states, {offset: states.offset + offset, size: length});
    else if (observed !== undefined) each(i, observed, {offset: observed.offset, size: length});
  }
}

/** Sets the saved series that a loss is a function of (`Objectives.lossOf`). */
export function loadSeries(
  {buffers: {own}}: TracedFunction<LossArgument>,
  prepared: PreparedRun,
  {times, events = [], saved}: Pick<LossSeries, 'times' | 'events' | 'saved'>,
): void {
  const {blocks} = seriesOf(prepared);
  own[0]?.set(times);
  eachColumn(prepared, saved, (i, {values, width}, column) => {
    const buffer = own[1 + i];
    if (buffer !== undefined) copyColumn(values, width, column, buffer);
  });
  if (own.length > 1 + blocks.length) own[1 + blocks.length]?.set(events.map(({t}) => t));
}

/** Writes the cotangents of the saved series, after the loss was pulled, where it reads them. */
export function setSeriesCotangents(
  loss: TracedFunction<LossArgument>,
  prepared: PreparedRun,
  cotangents: SavedRows,
): void {
  eachColumn(prepared, cotangents, (i, {values, width}, column) => {
    const cotangent = loss.cotangentOf(1 + i);
    if (cotangent !== undefined) setColumn(values, width, column, cotangent);
  });
}

/** Cotangents of the times of saved states and of events, if the run has events or switches, which move them. */
export function timeCotangents(
  loss: TracedFunction<LossArgument>,
  prepared: PreparedRun,
): Pick<SeriesCotangents, 'times' | 'happened'> {
  const {blocks} = seriesOf(prepared);
  const hasEvents = prepared.options.events.length > 0;
  return {
    times: hasEvents || prepared.traced.switches !== undefined ? loss.cotangentOf(0)?.slice() : undefined,
    happened: hasEvents ? loss.cotangentOf(1 + blocks.length)?.slice() : undefined,
  };
}

export function requireFiniteLoss(value: number): void {
  if (Number.isFinite(value)) return;
  throw new GradientError(
    'loss-not-finite',
    `The loss is ${value}. Look for NaN in the data (use tf.where to leave out missing values), or for a `
      + 'division by zero in the loss.',
    {value},
  );
}

/** What loss and encoder add is looked at beside what the run did. */
export function requireFiniteSums({params, captured}: SourceCotangents, leaves: readonly Leaf[]): void {
  const check = (values: Float64Array, name: () => string): void => {
    const at = firstNotFinite(values);
    if (at >= 0) throw gradientNotFinite({name: name(), value: values[at]});
  };
  params.forEach((values, i) => check(values, () => `params.${leaves[i].name}`));
  for (const [tensor, values] of captured)
    check(values, () => (tensor instanceof tf.Variable ? `the variable ${tensor.name}` : 'a captured tensor'));
}
