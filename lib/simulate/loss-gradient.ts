/** A loss of a run's saved series and its cotangents, with those of what encodes the start: one text for every way of running. */
import * as tf from '@tensorflow/tfjs';
import {gradientNotFinite} from '../adjoint/not-finite.js';
import {GradientError} from '../errors.js';
import type {Run} from '../integrate/path.js';
import type {Prepared} from './prepare.js';
import type {Leaf} from '../system/params.js';
import {firstNotFinite} from '../system/places.js';
import type {LossArgument} from './objective-kinds.js';
import {copyColumn, seriesOf, setColumn} from './series.js';
import type {SourceCotangents, TracedFunction} from './traced-function.js';

/** What a run shows a loss (series.ts), and room for the cotangents of that, zero where the loss does not read it. */
export interface LossSeries extends Pick<Run, 'times' | 'events'> {
  readonly matrix: Float64Array;
  readonly cotangents: Float64Array;
}

/**
 * The loss, its sources being loaded, with the cotangent of the start.
 * @param sums the cotangents of parameters and variables are added to these
 * @param pullRun pulls the cotangents of the series, and of the times of events, back to the start
 * @throws GradientError 'loss-not-finite'
 */
export function differentiateLoss(
  prepared: Prepared,
  loss: TracedFunction<LossArgument>,
  encoder: TracedFunction<'given'> | undefined,
  series: LossSeries,
  sums: SourceCotangents,
  pullRun: (happened: Float64Array | undefined) => Float64Array,
): {readonly value: number; readonly initial: Float64Array} {
  const {executable} = loss;
  loadSeries(loss, prepared, series);
  executable.run('pull');
  const value = executable.buffer('loss')[0];
  requireFiniteLoss(value);
  setSeriesCotangents(loss, prepared, series.cotangents);
  const initial = pullRun(happenedCotangents(loss, prepared));
  loss.addTo(sums);
  if (encoder !== undefined) {
    encoder.executable.find('givenCotangent')?.set(initial);
    encoder.executable.run('pull');
    encoder.addTo(sums);
  }
  return {value, initial};
}

/** Sets the saved series that a loss is a function of. */
export function loadSeries(
  {executable}: TracedFunction<LossArgument>,
  prepared: Prepared,
  {times, events, matrix}: Pick<LossSeries, 'times' | 'events' | 'matrix'>,
): void {
  const {blocks, width} = seriesOf(prepared);
  executable.find('t')?.set(times);
  executable.find('events')?.set((events ?? []).map(({t}) => t));
  for (const block of blocks) {
    const buffer = executable.find(block.name as LossArgument);
    if (buffer !== undefined) copyColumn(matrix, width, block, buffer);
  }
}

/** Writes the cotangents of the saved series, [saved, width], after the loss was pulled, where it reads them. */
export function setSeriesCotangents(
  loss: TracedFunction<LossArgument>,
  prepared: Prepared,
  cotangents: Float64Array,
): void {
  const {blocks, width} = seriesOf(prepared);
  for (let i = 0; i < blocks.length; i++) {
    const cotangent = loss.cotangentOf(1 + i);
    if (cotangent !== undefined) setColumn(cotangents, width, blocks[i], cotangent);
  }
}

/** Of the times of events, where the run has any. */
export function happenedCotangents(loss: TracedFunction<LossArgument>, prepared: Prepared): Float64Array | undefined {
  const {blocks} = seriesOf(prepared);
  return prepared.options.events.length > 0 ? loss.cotangentOf(1 + blocks.length)?.slice() : undefined;
}

export function requireFiniteLoss(value: number): void {
  if (Number.isFinite(value)) return;
  throw new GradientError(
    'loss-not-finite',
    `The loss is ${value}. Look for NaN in the data (use tf.where to leave out missing values), or for a division by zero in the loss.`,
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
