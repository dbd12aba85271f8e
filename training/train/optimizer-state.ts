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

export interface OptimizerState {
  /** Which optimizer it is of: 'Adam', 'SGD', … */
  readonly kind: string;
  readonly iterations: number;
  /** As it was last set; a schedule sets it anew. */
  readonly learningRate?: number;
  readonly arrays: readonly NamedArray[];
}

const isVariable = (value: unknown): value is tf.Variable => value instanceof tf.Variable;
const isSlots = (value: unknown): value is Slot[] =>
  Array.isArray(value) && value.every(entry => isVariable((entry as Partial<Slot> | null)?.variable));

export const kindOf = (optimizer: tf.Optimizer): string => optimizer.getClassName();

export function readOptimizer(optimizer: tf.Optimizer): OptimizerState {
  const arrays = Object.entries(optimizer as unknown as Fields).flatMap(([field, value]) => {
    if (isVariable(value)) return [arrayOf(field, value)];
    return isSlots(value) ? value.map(({variable}, i) => arrayOf(`${field}/${i}`, variable)) : [];
  });
  return {kind: kindOf(optimizer), iterations: optimizer.iterations, learningRate: learningRateOf(optimizer), arrays};
}

/** What it was made with, beside its learning rate: β, ε, the momentum, and so on. */
export function hyperparametersOf(optimizer: tf.Optimizer): {[name: string]: number | boolean} {
  const own = Object.entries(optimizer as unknown as Fields).filter(
    ([name, value]) =>
      (typeof value === 'number' || typeof value === 'boolean') && !['learningRate', 'iterations_'].includes(name),
  );
  return Object.fromEntries(own) as {[name: string]: number | boolean};
}

/**
 * Before anything is put back.
 * @param shapes of the variables, as many and in the order of the moments
 * @throws CheckpointError 'checkpoint-mismatch' where the arrays are not those of this optimizer and these variables
 */
export function requireFitting(
  optimizer: tf.Optimizer,
  state: OptimizerState,
  shapes: readonly (readonly number[])[],
  file: string,
): void {
  const fields = optimizer as unknown as Fields;
  const counts = new Map<string, number>();
  for (const {name, shape} of state.arrays) {
    const [field, index] = name.split('/');
    const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
    const expected =
      index === undefined
        ? isVariable(value)
          ? value.shape
          : undefined
        : isSlots(value) && Number(index) === (counts.get(field) ?? 0)
          ? shapes[Number(index)]
          : undefined;
    counts.set(field, (counts.get(field) ?? 0) + 1);
    if (expected === undefined || expected.join() !== shape.join())
      throw new CheckpointError(
        'checkpoint-mismatch',
        `${file} holds '${name}' of shape [${shape.join(', ')}], which the optimizer ${kindOf(optimizer)} of these `
          + 'variables does not have: was it written with another version of tfjs?',
        {file},
      );
  }
  // Moments of all variables or, before the first step, of none.
  const lacks = Object.entries(fields).find(
    ([field, value]) =>
      (isVariable(value) && !counts.has(field))
      || (isSlots(value) && ![0, shapes.length].includes(counts.get(field) ?? 0)),
  );
  if (lacks !== undefined)
    throw new CheckpointError(
      'checkpoint-mismatch',
      `${file} does not hold all of '${lacks[0]}', a part of the state of the optimizer ${kindOf(optimizer)}.`,
      {file},
    );
}

/** @throws CheckpointError where the state is of another kind of optimizer */
export function restoreOptimizer(optimizer: tf.Optimizer, state: OptimizerState, file: string): void {
  if (kindOf(optimizer) !== state.kind)
    throw new CheckpointError(
      'checkpoint-mismatch',
      `${file} holds the state of the optimizer ${state.kind}, but this run has ${kindOf(optimizer)}.`,
      {file},
    );
  const fields = optimizer as unknown as Fields;
  for (const [field, value] of Object.entries(fields)) if (isSlots(value)) fields[field] = emptied(value);
  for (const array of state.arrays) {
    const [field, index] = array.name.split('/');
    const value = fields[field];
    if (index !== undefined && isSlots(value))
      value[Number(index)] = {originalName: array.name, variable: variableOf(array)};
    else if (isVariable(value)) assign(value, array);
    else
      throw new CheckpointError(
        'checkpoint-mismatch',
        `${file} holds '${array.name}', which the optimizer ${state.kind} does not have: was it written with another `
          + 'version of tfjs?',
        {file},
      );
  }
  fields.iterations_ = state.iterations;
  if (state.learningRate !== undefined) setLearningRate(optimizer, state.learningRate);
}

function emptied(slots: readonly Slot[]): Slot[] {
  for (const {variable} of slots) variable.dispose();
  return [];
}

export function learningRateOf(optimizer: tf.Optimizer): number | undefined {
  const {learningRate} = optimizer as unknown as Fields;
  return typeof learningRate === 'number' ? learningRate : undefined;
}

/** SGD and momentum keep a tensor of it, which their own method replaces; the others read the number at each step. */
export function setLearningRate(optimizer: tf.Optimizer, rate: number): void {
  const sgd = optimizer as Partial<tf.SGDOptimizer>;
  if (typeof sgd.setLearningRate === 'function') sgd.setLearningRate(rate);
  (optimizer as unknown as Fields).learningRate = rate;
}

/** A variable's values, as they are in memory. */
export function arrayOf(name: string, variable: tf.Tensor): NamedArray {
  return {name, shape: [...variable.shape], values: variable.dataSync().slice()};
}

/** Values back into a variable that exists. */
export function assign(variable: tf.Variable, {values, shape}: NamedArray): void {
  tf.tidy(() => variable.assign(tf.tensor(values as Float32Array, [...shape], variable.dtype)));
}

function variableOf({values, shape}: NamedArray): tf.Variable {
  return tf.tidy(() => tf.variable(tf.tensor(values as Float32Array, [...shape]), false));
}
