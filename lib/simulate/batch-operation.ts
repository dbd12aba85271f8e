/**
 * A batch as one tfjs operation: all members' series in one flat tensor, which `split` takes apart, so
 * that the tape asks for all gradients at once and they can be computed on several threads. What members
 * share gets the sum in double precision, in the members' order.
 */
import * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/backward.js';
import type {Done} from './ensemble.js';
import {secondDerivative, sources} from './operation.js';
import type {Prepared} from './prepare.js';
import {seriesOf} from './series.js';

/** A tensor, and where its gradients stand among the members'. */
interface Shared {
  readonly tensor: tf.Tensor;
  readonly parts: {readonly member: number; gradient(gradient: Gradient): Float64Array}[];
}

function sharedSources(members: readonly Prepared[]): Shared[] {
  const found = new Map<tf.Tensor, Shared>();
  members.forEach((prepared, member) => {
    for (const {tensor, gradient} of sources(prepared)) {
      const shared = found.get(tensor) ?? {tensor, parts: []};
      found.set(tensor, shared);
      shared.parts.push({member, gradient});
    }
  });
  return [...found.values()];
}

function total({tensor, parts}: Shared, gradients: readonly Gradient[]): tf.Tensor {
  const sum = new Float64Array(tensor.size);
  for (const {member, gradient} of parts) gradient(gradients[member]).forEach((value, i) => (sum[i] += value));
  return tf.tensor(Float32Array.from(sum), tensor.shape);
}

/** The series of every member as tensors [saved, ...shape], by name, on the tape that is running. */
export function batchOnTape(members: readonly Prepared[], done: readonly Done[], pull: (bars: (Float64Array | undefined)[]) => Gradient[]): {[name: string]: tf.Tensor}[] {
  const shared = sharedSources(members);
  const ends: number[] = [];
  for (const {matrix} of done) ends.push((ends.at(-1) ?? 0) + matrix.length);
  const values = new Float32Array(ends.at(-1) ?? 0);
  done.forEach(({matrix}, i) => values.set(matrix, ends[i] - matrix.length));
  return tf.tidy(() => {
    const operation = tf.customGrad((..._inputs: (tf.Tensor | tf.GradSaveFunc)[]) => ({
      value: tf.tensor1d(values),
      gradFunc: (dy: tf.Tensor) => {
        if (tf.engine().state.gradientDepth > 0) throw secondDerivative();
        const bar = Float64Array.from(dy.dataSync());
        // A member that the loss does not look at costs nothing.
        const gradients = pull(done.map(({matrix}, i) => bar.slice(ends[i] - matrix.length, ends[i])).map(part => (part.some(value => value !== 0) ? part : undefined)));
        return shared.map(source => total(source, gradients));
      },
    }));
    const packed = operation(...shared.map(({tensor}) => tensor));
    return tf.split(packed, done.map(({matrix}) => matrix.length)).map((flat, i) => named(members[i], done[i], flat));
  });
}

function named(prepared: Prepared, {run: {times}}: Done, flat: tf.Tensor): {[name: string]: tf.Tensor} {
  const {blocks, width} = seriesOf(prepared);
  const saved = times.length;
  const matrix = tf.reshape(flat, [saved, width]);
  return Object.fromEntries(blocks.map(({name, shape, offset, size}) => [name, tf.reshape(tf.slice(matrix, [0, offset], [saved, size]), [saved, ...shape])]));
}
