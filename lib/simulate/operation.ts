/**
 * `simulate` as an ordinary tfjs operation: under a gradient tape its result is one node whose
 * gradient is the adjoint sweep, with respect to every tensor it was given and every one captured.
 */
import * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/gradient.js';
import {OptionError} from '../errors.js';
import type {PreparedRun} from './prepare.js';
import type {Run} from '../integrate/path.js';
import {pullOf} from './derivatives.js';
import type {AskedGradient} from './series.js';
import {column, seriesOf, setColumn} from './series.js';
import {numbersOf} from '../read.js';

/** What the tape may ask gradients for: a tensor, and where its gradient stands in the sweep's result. */
export interface Source {
  readonly tensor: tf.Tensor;
  gradient(gradient: Gradient): Float64Array;
}

/** Everything of a run that is a tensor of numbers. */
export function sources({initial, traced, leaves}: PreparedRun): Source[] {
  const list: Source[] = [];
  let offset = 0;
  for (const {tensor, values} of initial) {
    const from = offset;
    offset += values.length;
    if (tensor !== undefined) list.push({tensor, gradient: g => g.initial.subarray(from, from + values.length)});
  }
  traced.parameters.forEach(({tensor}, i) => {
    const source = tensor ?? leaves[i].tensor;
    if (source !== undefined) list.push({tensor: source, gradient: g => g.parameters[i]});
  });
  return list.filter(({tensor}) => tensor.dtype === 'float32');
}

/** The tape asks for no gradient by numbers. */
export const askedByTape = ({initial}: PreparedRun): AskedGradient => ({
  initial: initial.some(({tensor}) => tensor !== undefined),
});

export const secondDerivative = (): OptionError =>
  new OptionError(
    'second-derivative',
    "simulate was called inside two nested gradients, and tfjs's tape supports only its first derivative: use "
      + 'simulate.hvp for second derivatives.',
  );

/**
 * A gradient tape is running, and the run depends on something a gradient may be asked for.
 * @throws OptionError 'second-derivative'
 */
export function taping(prepared: PreparedRun): boolean {
  const depth = tf.engine().state.gradientDepth;
  if (depth === 0 || sources(prepared).length === 0) return false;
  // Said here, before the gradient is asked for: what a tape has saved is lost when one of its gradients throws.
  if (depth > 1) throw secondDerivative();
  return true;
}

/**
 * The saved series as tensors [saved, ...shape], by name; on the tape where one is running and the run kept its steps.
 */
export function asTensors(prepared: PreparedRun, run: Run, matrix: Float64Array): {[name: string]: tf.Tensor} {
  const list = run.tape === undefined ? [] : sources(prepared);
  return list.length > 0 ? onTape(prepared, run, matrix, list) : plain(prepared, run, matrix);
}

function plain(prepared: PreparedRun, {times}: Run, matrix: Float64Array): {[name: string]: tf.Tensor} {
  return named(prepared, seriesTensors(prepared, times.length, matrix));
}

/** The series of a matrix [saved, width] as tensors, block by block. */
export function seriesTensors(prepared: PreparedRun, saved: number, matrix: Float64Array): tf.Tensor[] {
  const {blocks, width} = seriesOf(prepared);
  return blocks.map(block => tf.tensor(new Float32Array(column(matrix, width, block)), [saved, ...block.shape]));
}

/** Such tensors by name. */
export function named(prepared: PreparedRun, series: readonly tf.Tensor[]): {[name: string]: tf.Tensor} {
  return Object.fromEntries(seriesOf(prepared).blocks.map(({name}, i) => [name, series[i]]));
}

/** Their cotangents as one matrix. */
export function packCotangents(prepared: PreparedRun, saved: number, cotangents: readonly tf.Tensor[]): Float64Array {
  const {blocks, width} = seriesOf(prepared);
  const packed = new Float64Array(saved * width);
  blocks.forEach((block, i) => setColumn(packed, width, block, numbersOf(cotangents[i])));
  return packed;
}

/**
 * tfjs's engine as its own `customGrad` calls it, which passes on one output and leaves out that there may be several.
 */
interface KernelCalls {
  runKernelFunc(call: {
    readonly inputs: {readonly [name: string]: tf.Tensor};
    forwardFunc(): tf.Tensor[];
    backwardsFunc(dy: tf.Tensor | tf.Tensor[]): {[name: string]: () => tf.Tensor};
  }): tf.Tensor[];
}

/**
 * One operation on tfjs's tape with several outputs. A matrix of which slices give the series is put together again for
 * the gradient by kernels of the backend: 20 ms for 128 masses and 200 steps, beside 0.8 for the gradient itself.
 * @param gradient the cotangents of the inputs, of those of the outputs
 */
export function operation(
  inputs: readonly tf.Tensor[],
  outputs: () => tf.Tensor[],
  gradient: (cotangents: readonly tf.Tensor[]) => tf.Tensor[],
): tf.Tensor[] {
  const engine = tf.engine() as unknown as KernelCalls;
  return engine.runKernelFunc({
    inputs: Object.fromEntries(inputs.map((tensor, i) => [i, tensor])),
    forwardFunc: outputs,
    backwardsFunc(dy) {
      // An inner gradient may reach a run of the outer tape.
      if (tf.engine().state.gradientDepth > 0) throw secondDerivative();
      const gradients = gradient(Array.isArray(dy) ? dy : [dy]);
      return Object.fromEntries(gradients.map((tensor, i) => [i, () => tensor]));
    },
  });
}

function onTape(
  prepared: PreparedRun,
  run: Run,
  matrix: Float64Array,
  list: readonly Source[],
): {[name: string]: tf.Tensor} {
  const saved = run.times.length;
  const pull = pullOf(prepared, run);
  return named(
    prepared,
    operation(
      list.map(({tensor}) => tensor),
      () => seriesTensors(prepared, saved, matrix),
      cotangents => {
        const gradient = pull({series: packCotangents(prepared, saved, cotangents), asked: askedByTape(prepared)});
        return list.map(source => tf.tensor(new Float32Array(source.gradient(gradient)), source.tensor.shape));
      },
    ),
  );
}
