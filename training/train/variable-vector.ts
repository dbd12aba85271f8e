/** Trained variables as one flat vector in double precision, and tfjs's variables that it belongs to. */
import * as tf from '@tensorflow/tfjs';
import {numbersOf} from '../../lib/read.js';

export class VariableVector {
  /** By variable, its part of the values. */
  readonly views: ReadonlyMap<tf.Variable, Float64Array>;

  /** @param values where they lie: the memory of the program that changes them */
  constructor(
    readonly variables: readonly tf.Variable[],
    readonly values: Float64Array,
  ) {
    this.views = partsOf(variables, values);
    this.read();
  }

  read(): void {
    for (const [variable, values] of this.views) values.set(numbersOf(variable));
  }

  write(): void {
    for (const [variable, values] of this.views)
      tf.tidy(() => variable.assign(tf.tensor(Float32Array.from(values), variable.shape, 'float32')));
  }
}

/** Views of a flat vector by variable, one after another. */
export function partsOf(
  variables: readonly tf.Variable[],
  vector: Float64Array,
): ReadonlyMap<tf.Variable, Float64Array> {
  let offset = 0;
  return new Map(variables.map(variable => [variable, vector.subarray(offset, (offset += variable.size))] as const));
}
