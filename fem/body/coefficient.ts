/** Coefficients of a body: numbers, fields by cells or nodes, and functions of `params` that give such. */
import * as tf from '@tensorflow/tfjs';
import {calledWithParams} from '../../lib/checks.js';
import {OptionError, type Numeric, type Params} from '../../lib/index.js';
import {constantTensor, readNumeric, type Bivariant} from '../../lib/internal.js';

/** A number or a field: [cells] or [nodes]; or a function of `params` that returns a tensor of such a shape. */
export type FieldValue = Numeric | Bivariant<Params, tf.Tensor>;

/**
 * A material's constant, a density or a thickness. Its length says whether a field is by cells or by nodes; where a
 * mesh has as many nodes as cells of the body, write {cells: …} or {nodes: …}.
 */
export type FieldCoefficient = FieldValue | {readonly cells: FieldValue} | {readonly nodes: FieldValue};

/** How many cells and nodes a body has. */
export interface Counts {
  readonly cells: number;
  readonly nodes: number;
}

/** A coefficient's numbers, as a tensor. */
export interface ReadField {
  readonly per: 'body' | 'cells' | 'nodes';
  readonly tensor: tf.Tensor;
}

const bad = (name: string, sentence: string): OptionError =>
  new OptionError('bad-coefficient', `${name} ${sentence}`, {name});

/** Plain numbers of a coefficient; undefined where it is a tensor or a function. */
export function plainNumbers(given: FieldCoefficient): Float64Array | undefined {
  const value = valueOf(given);
  return typeof value === 'function' || value instanceof tf.Tensor ? undefined : readNumeric(value, '').values;
}

function valueOf(given: FieldCoefficient): FieldValue {
  if (typeof given !== 'object' || given instanceof tf.Tensor || ArrayBuffer.isView(given) || Array.isArray(given))
    return given as FieldValue;
  return 'cells' in given ? given.cells : (given as {nodes: FieldValue}).nodes;
}

/**
 * @throws OptionError 'bad-coefficient' where numbers are outside of the range, or are not as many as cells or nodes
 */
export function fieldOf(
  given: FieldCoefficient | undefined,
  name: string,
  counts: Counts,
  allowed: {readonly test: (x: number) => boolean; readonly what: string},
): (params: Params) => ReadField {
  if (given === undefined) throw bad(name, 'is missing: give a number, a field, or a function of params.');
  const value = valueOf(given);
  const said = value === given ? undefined : 'cells' in (given as object) ? 'cells' : 'nodes';
  const placed = (tensor: tf.Tensor): ReadField => ({per: placeOf(tensor.size, name, counts, said), tensor});
  if (typeof value === 'function')
    return params => {
      const tensor: tf.Tensor | undefined = calledWithParams(value, params, name);
      if (tensor instanceof tf.Tensor) return placed(tensor);
      throw bad(name, 'is a function that returned no tensor: is the parameter it reads in options.params?');
    };
  if (value instanceof tf.Tensor) return () => placed(value);
  const {values} = readNumeric(value, name);
  const wrong = values.findIndex(x => !allowed.test(x));
  if (wrong >= 0)
    throw bad(
      name,
      `must be ${allowed.what}; ${values.length === 1 ? 'it' : `number ${wrong} of the field`} is ${values[wrong]}.`,
    );
  const per = placeOf(values.length, name, counts, said);
  return () => ({per, tensor: constantTensor(values, [values.length])});
}

function placeOf(
  size: number,
  name: string,
  {cells, nodes}: Counts,
  said: 'cells' | 'nodes' | undefined,
): ReadField['per'] {
  if (said === undefined && size === 1) return 'body';
  if (said === undefined && size === cells && size === nodes)
    throw bad(name, `has ${size} numbers, and the body has so many cells and so many nodes: write {cells: …}.`);
  if (said !== 'nodes' && size === cells) return 'cells';
  if (said !== 'cells' && size === nodes) return 'nodes';
  throw bad(name, `has ${size} numbers; a field has one for each of ${cells} cells, or of ${nodes} nodes.`);
}

export const ranges = {
  any: {test: Number.isFinite, what: 'finite'},
  nonZero: {test: (x: number) => Number.isFinite(x) && x !== 0, what: 'finite and not 0'},
  positive: {test: (x: number) => Number.isFinite(x) && x > 0, what: 'finite and positive'},
  nonNegative: {test: (x: number) => Number.isFinite(x) && x >= 0, what: 'finite and not negative'},
  poisson: {
    test: (x: number) => x > -1 && x < 0.5,
    what: 'above −1 and below 1/2 (at 1/2 a body is incompressible, and its energy is infinite: give 0.4999)',
  },
};
