/** Functions of a body's state, evaluated in double precision. */
import * as tf from '@tensorflow/tfjs';
import type {Numeric, NumericParams, Params} from '../../lib/index.js';
import {compilePrograms, readNumeric} from '../../lib/internal.js';

/** A state in numbers: free displacements, the time (default 0), and parameters. */
export interface NumericState {
  readonly q: Numeric;
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

/** What f returns at a state, row-major. */
export function evaluated(
  f: (at: {readonly q: tf.Tensor; readonly t: tf.Tensor; readonly params: Params}) => tf.Tensor,
  {q, t = 0, params = {}}: NumericState,
): Float64Array {
  const inputs = [
    {name: 'q', ...readNumeric(q, 'evaluate: q')},
    {name: 't', ...readNumeric(t, 'evaluate: t')},
    ...leavesOf(params).map(({name, value}) => ({name, ...readNumeric(value, `evaluate: ${name}`)})),
  ];
  const executable = compilePrograms(
    {
      value: (at: {readonly [name: string]: tf.Tensor}) => ({
        value: f({q: at.q, t: at.t, params: treeOf(params, at)}),
      }),
    },
    Object.fromEntries(inputs.map(({name, shape}) => [name, shape])),
  );
  for (const {name, values} of inputs) executable.optionalBuffer(name)?.set(values);
  executable.run('value');
  return executable.buffer('value').slice();
}
