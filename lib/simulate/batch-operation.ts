/**
 * A batch as one tfjs operation, all members' series its outputs, so that the tape asks for all gradients at once and
 * they can be computed on several threads. What members share gets the sum in double precision, in the members' order.
 */
import * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/gradient.js';
import type {Done} from './ensemble.js';
import {askedByTape, named, operation, packCotangents, seriesTensors, sources} from './operation.js';
import type {PreparedRun} from './prepare.js';
import type {SeriesCotangents} from './series.js';
import {seriesOf} from './series.js';

/** A tensor, and where its gradients stand among the members'. */
interface Shared {
  readonly tensor: tf.Tensor;
  readonly parts: {readonly member: number; gradient(gradient: Gradient): Float64Array}[];
}

function sharedSources(members: readonly PreparedRun[]): Shared[] {
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
export function batchOnTape(
  members: readonly PreparedRun[],
  done: readonly Done[],
  pull: (cotangents: (SeriesCotangents | undefined)[]) => Gradient[],
): {[name: string]: tf.Tensor}[] {
  const shared = sharedSources(members);
  const series = (i: number): tf.Tensor[] => seriesTensors(members[i], done[i].run.times.length, done[i].matrix);
  const {length: blocks} = seriesOf(members[0]).blocks;
  const outputs = operation(
    shared.map(({tensor}) => tensor),
    () => members.flatMap((_, i) => series(i)),
    cotangents => {
      const packed = members.map((prepared, i) =>
        packCotangents(prepared, done[i].run.times.length, cotangents.slice(i * blocks, (i + 1) * blocks)),
      );
      // A member that the loss does not look at costs nothing.
      const gradients = pull(
        packed.map((series, i) =>
          series.some(value => value !== 0) ? {series, asked: askedByTape(members[i])} : undefined,
        ),
      );
      return shared.map(source => total(source, gradients));
    },
  );
  return members.map((prepared, i) => named(prepared, outputs.slice(i * blocks, (i + 1) * blocks)));
}
