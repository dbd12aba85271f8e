/** Trained variables as one flat vector in double precision, and tfjs's variables that it belongs to. */
import * as tf from '@tensorflow/tfjs';
import {numbersOf} from '../../lib/read.js';

export class VariableVector {
  /** By variable, its part of the values. */
  readonly views: ReadonlyMap<tf.Variable, Float64Array>;
  private other: {readonly vector: Float64Array; readonly parts: ReadonlyMap<tf.Variable, Float64Array>} | undefined;

  /** @param values where they lie: the memory of the program that changes them */
  constructor(
    readonly variables: readonly tf.Variable[],
    readonly values: Float64Array,
  ) {
    this.views = partsOf(variables, values);
    this.read();
  }

  /** Views by variable of another vector like the values; those of the same one are made once. */
  partsOf(vector: Float64Array): ReadonlyMap<tf.Variable, Float64Array> {
    if (this.other?.vector !== vector) this.other = {vector, parts: partsOf(this.variables, vector)};
    return this.other.parts;
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
function partsOf(variables: readonly tf.Variable[], vector: Float64Array): ReadonlyMap<tf.Variable, Float64Array> {
  let offset = 0;
  return new Map(variables.map(variable => [variable, vector.subarray(offset, (offset += variable.size))] as const));
}
