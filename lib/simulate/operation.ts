/**
 * `simulate` as an ordinary tfjs operation: under a gradient tape its result is one node whose
 * gradient is the adjoint sweep, with respect to every tensor it was given and every one captured.
 */
import * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/backward.js';
import {sweepBack} from '../adjoint/backward.js';
import {OptionError} from '../errors.js';
import type {Prepared} from './prepare.js';
import type {Run} from './run.js';
import {blockSeries, shownBlocks} from './trajectory.js';

/** What the tape may ask gradients for: a tensor, and where its gradient stands in the sweep's result. */
interface Source {
  readonly tensor: tf.Tensor;
  gradient(gradient: Gradient): Float64Array;
}

function sources({initial, traced}: Prepared): Source[] {
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

/** A gradient tape is running and would record. */
export function taping(): boolean {
  return tf.engine().state.gradientDepth > 0;
}

/** The run's blocks as tensors [saved, ...shape]; on the tape where one is running. */
export function asTensors(prepared: Prepared, run: Run): {[name: string]: tf.Tensor} {
  const list = run.record === undefined ? [] : sources(prepared);
  return list.length > 0 ? onTape(prepared, run, list) : plain(prepared, run);
}

function plain({traced}: Prepared, {states, times}: Run): {[name: string]: tf.Tensor} {
  const tensors: {[name: string]: tf.Tensor} = {};
  for (const block of shownBlocks(traced.state)) {
    tensors[block.name] = tf.tensor(Float32Array.from(blockSeries(states, traced.state, block)), [times.length, ...block.shape]);
  }
  return tensors;
}

/** One operation gives all states in one tensor; slices of it give the blocks, and the tape does the rest. */
function onTape(prepared: Prepared, run: Run, list: readonly Source[]): {[name: string]: tf.Tensor} {
  const {traced} = prepared;
  const {states, times, record} = run;
  const width = traced.state.size;
  return tf.tidy(() => {
    const operation = tf.customGrad((..._inputs: (tf.Tensor | tf.GradSaveFunc)[]) => ({
      value: tf.tensor2d(Float32Array.from(states), [times.length, width]),
      gradFunc: (dy: tf.Tensor) => {
        if (tf.engine().state.gradientDepth > 0) {
          throw new OptionError('second-derivative', 'simulate is differentiated twice by tfjs\'s tape, which carries one derivative: use simulate.jvp and simulate.vjp together for second derivatives.');
        }
        if (record === undefined) throw new Error('a run on a tape keeps its steps');
        const gradient = sweepBack(prepared, prepared.options.adjoint, record, Float64Array.from(dy.dataSync()));
        return list.map(source => tf.tensor(Float32Array.from(source.gradient(gradient)), source.tensor.shape));
      },
    }));
    const packed = operation(...list.map(({tensor}) => tensor));
    const tensors: {[name: string]: tf.Tensor} = {};
    for (const {name, shape, offset, size} of shownBlocks(traced.state)) {
      tensors[name] = tf.reshape(tf.slice(packed, [0, offset], [times.length, size]), [times.length, ...shape]);
    }
    return tensors;
  });
}
