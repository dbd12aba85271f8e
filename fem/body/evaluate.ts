/** Functions of a body's state, evaluated in double precision. */
import * as tf from '@tensorflow/tfjs';
import {ShapeError, type Numeric, type NumericParams, type Params} from '../../lib/index.js';
import {compileCapturing, constantTensor, readNumeric, transposedProduct} from '../../lib/internal.js';

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

/** The inputs of a state by name: 'q', 't', 'params.E'. */
const inputsOf = (state: NumericState): {name: string; values: Float64Array; shape: readonly number[]}[] => [
  {name: 'q', ...readNumeric(state.q, 'evaluate: q')},
  ...(state.v === undefined ? [] : [{name: 'v', ...readNumeric(state.v, 'evaluate: v')}]),
  {name: 't', ...readNumeric(state.t ?? 0, 'evaluate: t')},
  ...leavesOf(state.params ?? {}).map(({name, value}) => ({name, ...readNumeric(value, `evaluate: ${name}`)})),
];

/** A function of named tensors compiled for states of the shapes of this one; it returns the numbers of each output. */
function compiledFor<Out extends string>(
  f: (at: {readonly [name: string]: tf.Tensor}) => {readonly [name in Out]?: tf.Tensor},
  first: NumericState,
): (state: NumericState) => (name: Out) => Float64Array {
  const shapes = Object.fromEntries(inputsOf(first).map(({name, shape}) => [name, shape]));
  const {executable, captured} = compileCapturing<string, Out>(f, shapes);
  return state => {
    for (const {name, values} of inputsOf(state)) executable.optionalBuffer(name)?.set(values);
    for (const {name, tensor} of captured) executable.optionalBuffer(name)?.set(readNumeric(tensor, 'evaluate').values);
    executable.run('value');
    return name => executable.buffer(name).slice();
  };
}

/** A function of the state as one of named tensors. */
const ofTensors =
  (f: StateFunction, params: NumericParams = {}) =>
  (at: {readonly [name: string]: tf.Tensor}): tf.Tensor =>
    f({q: at.q, v: at.v ?? tf.zerosLike(at.q), t: at.t, params: treeOf(params, at)});

/** A function compiled for states of the shapes of this one; it returns what f does, row-major. */
export function evaluator(f: StateFunction, first: NumericState): (state: NumericState) => Float64Array {
  const value = ofTensors(f, first.params);
  const run = compiledFor<'value'>(at => ({value: value(at)}), first);
  return state => run(state)('value');
}

/** What f returns at a state, row-major. */
export const evaluated = (f: StateFunction, state: NumericState): Float64Array => evaluator(f, state)(state);

/** A number of a state, and its derivatives by displacements and by parameters. */
export interface StateGradient {
  readonly value: number;
  readonly gradient: {
    /** [free] */
    readonly q: Float64Array;
    /** The tree of the state's params; what the function does not read has zeros. */
    readonly params: {readonly [name: string]: Float64Array | StateGradient['gradient']['params']};
  };
}

/** @throws ShapeError 'not-scalar' where f does not return one number */
export function valueAndGradient(f: StateFunction, state: NumericState): StateGradient {
  const {params = {}} = state;
  const value = ofTensors(f, params);
  const names = ['q', ...leavesOf(params).map(({name}) => name)];
  const numbers = compiledFor<string>(at => {
    const found = value(at);
    if (found.size !== 1)
      throw new ShapeError('not-scalar', `valueAndGrad: f returned [${found.shape.join(', ')}]; return one number.`, {
        shape: found.shape,
      });
    const one = constantTensor(1, found.shape);
    const slopes = names.map(name => [`by.${name}`, transposedProduct(value, at, name, one)] as const);
    return {value: found, ...Object.fromEntries(slopes)};
  }, state)(state);
  const tree = (of: NumericParams, path: string): StateGradient['gradient']['params'] =>
    Object.fromEntries(
      Object.entries(of).map(([key, leaf]) => {
        const name = `${path}.${key}`;
        return [key, names.includes(name) ? numbers(`by.${name}`) : tree(leaf as NumericParams, name)];
      }),
    );
  return {value: numbers('value')[0], gradient: {q: numbers('by.q'), params: tree(params, 'params')}};
}
