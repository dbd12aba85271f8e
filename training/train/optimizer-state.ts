/**
 * Everything one of tfjs's optimizers remembers, read and put back to the bit. tfjs's own getWeights and
 * setWeights do not do that: Adam's running powers of β come back as β^(n+1), which is not what n rounded
 * multiplications gave, and Adamax has neither. So the fields themselves are taken: variables (accBeta1),
 * lists of {originalName, variable} (moments), and the count of iterations.
 */
import * as tf from '@tensorflow/tfjs';
import {CheckpointError} from '../../lib/errors.js';
import type {NamedArray} from './checkpoint-file.js';

interface Slot {
  originalName: string;
  variable: tf.Variable;
}

/** A tfjs optimizer as its fields. */
type Fields = Record<string, unknown>;
const fieldsOf = (optimizer: tf.Optimizer): Fields => optimizer as unknown as Fields;

const isVariable = (value: unknown): value is tf.Variable => value instanceof tf.Variable;
const isSlots = (value: unknown): value is Slot[] =>
  Array.isArray(value) && value.every(entry => isVariable((entry as Partial<Slot> | null)?.variable));

/** The variables of an optimizer, 'accBeta1', and its moments by the place of their variable, 'accumulators/0'. */
export function optimizerArrays(optimizer: tf.Optimizer): NamedArray[] {
  return Object.entries(fieldsOf(optimizer)).flatMap(([field, value]) => {
    if (isVariable(value)) return [arrayOf(field, value)];
    return isSlots(value) ? value.map(({variable}, i) => arrayOf(`${field}/${i}`, variable)) : [];
  });
}

/** The settings of an optimizer without its learning rate: β, ε, the momentum, and so on. */
export function hyperparametersOf(optimizer: tf.Optimizer): {[name: string]: number | boolean} {
  const own = Object.entries(fieldsOf(optimizer)).filter(
    ([name, value]) =>
      (typeof value === 'number' || typeof value === 'boolean') && !['learningRate', 'iterations_'].includes(name),
  );
  return Object.fromEntries(own) as {[name: string]: number | boolean};
}

/**
 * Puts the arrays of `optimizerArrays` back. Nothing is changed where they do not fit.
 * @param shapes shapes of the trained variables, in the order of the moments
 * @throws CheckpointError 'checkpoint-mismatch' where the arrays are not those of this optimizer and these variables
 */
export function restoreOptimizer(
  optimizer: tf.Optimizer,
  arrays: readonly NamedArray[],
  iterations: number,
  shapes: readonly (readonly number[])[],
  file: string,
): void {
  const fields = fieldsOf(optimizer);
  const given = new Map(arrays.map(array => [array.name, array]));
  const assignments: (() => void)[] = [];
  for (const [field, value] of Object.entries(fields)) {
    const places = isVariable(value) ? [value.shape] : isSlots(value) ? shapes : [];
    const names = places.map((_, i) => (isVariable(value) ? field : `${field}/${i}`));
    // Moments of all variables or, before the first step, of none.
    const found = isSlots(value) && !names.some(name => given.has(name)) ? [] : names.map(name => given.get(name));
    if (!found.every((array, i) => array?.shape.join() === places[i].join())) throw mismatch(optimizer, field, file);
    for (const name of names) given.delete(name);
    if (isVariable(value)) assignments.push(() => assign(value, found[0] as NamedArray));
    else if (isSlots(value))
      assignments.push(() => {
        for (const {variable} of value) variable.dispose();
        fields[field] = (found as NamedArray[]).map(array => ({originalName: array.name, variable: variableOf(array)}));
      });
  }
  for (const name of given.keys()) throw mismatch(optimizer, name, file);
  for (const put of assignments) put();
  fields.iterations_ = iterations;
}

const mismatch = (optimizer: tf.Optimizer, name: string, file: string): CheckpointError =>
  new CheckpointError(
    'checkpoint-mismatch',
    `'${name}' in ${file} is not as the optimizer ${optimizer.getClassName()} of these variables has it: was the file `
      + 'written with another version of tfjs?',
    {file},
  );

export function learningRateOf(optimizer: tf.Optimizer): number | undefined {
  const {learningRate} = fieldsOf(optimizer);
  return typeof learningRate === 'number' ? learningRate : undefined;
}

/** SGD and momentum keep a tensor of it, which their own method replaces; the others read the number at each step. */
export function setLearningRate(optimizer: tf.Optimizer, rate: number): void {
  const sgd = optimizer as Partial<tf.SGDOptimizer>;
  if (typeof sgd.setLearningRate === 'function') sgd.setLearningRate(rate);
  fieldsOf(optimizer).learningRate = rate;
}

/** The values of a variable, as they are in memory. */
export function arrayOf(name: string, variable: tf.Tensor): NamedArray {
  return {name, shape: [...variable.shape], values: variable.dataSync().slice()};
}

/** Puts values back into a variable. */
export function assign(variable: tf.Variable, {values, shape}: NamedArray): void {
  tf.tidy(() => variable.assign(tf.tensor(values as Float32Array, [...shape], variable.dtype)));
}

function variableOf({values, shape}: NamedArray): tf.Variable {
  return tf.tidy(() => tf.variable(tf.tensor(values as Float32Array, [...shape]), false));
}
