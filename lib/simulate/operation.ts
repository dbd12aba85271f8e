/**
 * `simulate` as an ordinary tfjs operation: under a gradient tape its result is one node whose
 * gradient is the adjoint sweep, with respect to every tensor it was given and every one captured.
 */
import * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/backward.js';
import {OptionError} from '../errors.js';
import type {Prepared} from './prepare.js';
import type {Run} from './run.js';
import {column, pullOf, seriesOf, setColumn} from './series.js';

/** What the tape may ask gradients for: a tensor, and where its gradient stands in the sweep's result. */
export interface Source {
  readonly tensor: tf.Tensor;
  gradient(gradient: Gradient): Float64Array;
}

/** Everything of a run that is a tensor of numbers. */
export function sources({initial, traced}: Prepared): Source[] {
  const list: Source[] = [];
  let offset = 0;
  for (const {tensor, values} of initial) {
    const from = offset;
    offset += values.length;
    if (tensor !== undefined) list.push({tensor, gradient: g => g.initial.subarray(from, from + values.length)});
  }
  traced.parameters.forEach(({leaf, tensor}, i) => {
    const source = tensor ?? leaf?.tensor;
    if (source !== undefined) list.push({tensor: source, gradient: g => g.parameters[i]});
  });
  return list.filter(({tensor}) => tensor.dtype === 'float32');
}

export const secondDerivative = (): OptionError => new OptionError(
  'second-derivative',
  'simulate stands within two gradients, a tf.grad inside another, and tfjs\'s tape carries one derivative of it: use simulate.jvp and simulate.vjp together for second derivatives.',
);

/**
 * A gradient tape is running, and the run depends on something a gradient may be asked for.
 * @throws OptionError 'second-derivative'
 */
export function taping(prepared: Prepared): boolean {
  const depth = tf.engine().state.gradientDepth;
  if (depth === 0 || sources(prepared).length === 0) return false;
  // Said here, before the gradient is asked for: what a tape has saved is lost when one of its gradients throws.
  if (depth > 1) throw secondDerivative();
  return true;
}

/** The saved series as tensors [saved, ...shape], by name; on the tape where one is running and the run kept its steps. */
export function asTensors(prepared: Prepared, run: Run, matrix: Float64Array): {[name: string]: tf.Tensor} {
  const list = run.kept === undefined ? [] : sources(prepared);
  return list.length > 0 ? onTape(prepared, run, matrix, list) : plain(prepared, run, matrix);
}

function plain(prepared: Prepared, {times}: Run, matrix: Float64Array): {[name: string]: tf.Tensor} {
  const {blocks, width} = seriesOf(prepared);
  return Object.fromEntries(blocks.map(block => [
    block.name, tf.tensor(new Float32Array(column(matrix, width, block)), [times.length, ...block.shape]),
  ]));
}

/** One operation gives the series where there is one; else the whole matrix, of which slices give the series. The tape does the rest. */
function onTape(prepared: Prepared, run: Run, matrix: Float64Array, list: readonly Source[]): {[name: string]: tf.Tensor} {
  const {blocks, width} = seriesOf(prepared);
  const saved = run.times.length;
  const pull = pullOf(prepared, run);
  const only = blocks.length === 1 ? blocks[0] : undefined;
  const {offset: first, size: columns, shape: rest} = only ?? {offset: 0, size: width, shape: [width]};
  return tf.tidy(() => {
    const operation = tf.customGrad((..._inputs: (tf.Tensor | tf.GradSaveFunc)[]) => ({
      value: tf.tensor(new Float32Array(column(matrix, width, {offset: first, size: columns})), [saved, ...rest]),
      gradFunc: (dy: tf.Tensor) => {
        // An inner gradient may reach a run of the outer tape.
        if (tf.engine().state.gradientDepth > 0) throw secondDerivative();
        const bars = new Float64Array(saved * width);
        setColumn(bars, width, {offset: first, size: columns}, Float64Array.from(dy.dataSync()));
        const gradient = pull(bars);
        return list.map(source => tf.tensor(new Float32Array(source.gradient(gradient)), source.tensor.shape));
      },
    }));
    const packed = operation(...list.map(({tensor}) => tensor));
    if (only !== undefined) return {[only.name]: packed};
    return Object.fromEntries(blocks.map(({name, shape, offset, size}) => [
      name, tf.reshape(tf.slice(packed, [0, offset], [saved, size]), [saved, ...shape]),
    ]));
  });
}
