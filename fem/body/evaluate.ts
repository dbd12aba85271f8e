/** Functions of a body's state, evaluated in double precision. */
import * as tf from '@tensorflow/tfjs';
import type {Numeric, NumericParams, Params} from '../../lib/index.js';
import {compileCapturing, readNumeric} from '../../lib/internal.js';

/** A state in numbers: free degrees of freedom, their rates and the time (default 0), and parameters. */
export interface NumericState {
  readonly q: Numeric;
  readonly v?: Numeric;
  readonly t?: number;
  readonly params?: NumericParams;
}

/** Leaves of parameters by their paths. */
function leavesOf(params: NumericParams, path = 'params'): {name: string; value: Numeric}[] {
  return Object.entries(params).flatMap(([key, value]) => {
    const name = `${path}.${key}`;
    const isTree = typeof value === 'object' && !Array.isArray(value) && !ArrayBuffer.isView(value);
    return isTree && !(value instanceof tf.Tensor)
      ? leavesOf(value as NumericParams, name)
      : [{name, value: value as Numeric}];
  });
}

/** The tree of parameters with tensors in the place of numbers. */
function treeOf(params: NumericParams, at: {readonly [name: string]: tf.Tensor}, path = 'params'): Params {
  return Object.fromEntries(
    Object.entries(params).map(([key, value]) => {
      const name = `${path}.${key}`;
      return [key, at[name] ?? treeOf(value as NumericParams, at, name)];
    }),
  );
}

type StateFunction = (at: {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}) => tf.Tensor;

/** A function compiled for states of the shapes of this one; it returns what f does, row-major. */
export function evaluator(f: StateFunction, {q, v, params = {}}: NumericState): (state: NumericState) => Float64Array {
  const read = (state: NumericState): {name: string; values: Float64Array; shape: readonly number[]}[] => [
    {name: 'q', ...readNumeric(state.q, 'evaluate: q')},
    ...(state.v === undefined ? [] : [{name: 'v', ...readNumeric(state.v, 'evaluate: v')}]),
    {name: 't', ...readNumeric(state.t ?? 0, 'evaluate: t')},
    ...leavesOf(state.params ?? {}).map(({name, value}) => ({name, ...readNumeric(value, `evaluate: ${name}`)})),
  ];
  const {executable, captured} = compileCapturing(
    (at: {readonly [name: string]: tf.Tensor}) => ({
      value: f({q: at.q, v: at.v ?? tf.zerosLike(at.q), t: at.t, params: treeOf(params, at)}),
    }),
    Object.fromEntries(read({q, v, params}).map(({name, shape}) => [name, shape])),
  );
  return state => {
    for (const {name, values} of read(state)) executable.optionalBuffer(name)?.set(values);
    for (const {name, tensor} of captured) executable.optionalBuffer(name)?.set(readNumeric(tensor, 'evaluate').values);
    executable.run('value');
    return executable.buffer('value').slice();
  };
}

/** What f returns at a state, row-major. */
export const evaluated = (f: StateFunction, state: NumericState): Float64Array => evaluator(f, state)(state);
