/**
 * A physical parameter as users give it: numbers (kept in double precision), a tensor or variable
 * (captured, so tfjs differentiates and trains it), or a function of `params` (so that it can be
 * identified). Read once when a model is built; its shape meets that of q when the model is traced.
 */
import * as tf from '@tensorflow/tfjs';
import {calledWithParams, readBy, type Check} from '../lib/checks.js';
import type {Numeric, Params} from '../lib/index.js';
import {type Bivariant, readNumeric, constantTensor} from '../lib/internal.js';
import {OptionError, ShapeError} from '../lib/index.js';

/**
 * Numbers, a tensor or variable, or a function of `params`, which may declare what it reads: `({k}: {k: tf.Tensor}) =>
 * k`.
 */
export type Coefficient = Numeric | Bivariant<Params, tf.Tensor>;

/** The allowed range of a coefficient's numbers. Tensors and functions are not checked, because their values change. */
export type Sign = 'any' | 'non-negative' | 'positive' | 'share';

const allowed: {readonly [sign in Sign]: (x: number) => boolean} = {
  any: x => Number.isFinite(x),
  'non-negative': x => Number.isFinite(x) && x >= 0,
  positive: x => Number.isFinite(x) && x > 0,
  share: x => x >= 0 && x <= 1,
};

const demands: {readonly [sign in Sign]: string} = {
  any: 'finite',
  'non-negative': 'finite and not negative',
  positive: 'finite and positive',
  share: 'from 0 to 1',
};

/**
 * The coefficient as a tensor, inside or outside a force. The function that is returned takes the params, and
 * optionally a shape that the tensor must broadcast to, with the name of what has this shape (default 'q').
 * @param name what it is, for errors: 'spring: stiffness'
 * @throws OptionError 'bad-coefficient' if a number is out of the range of `sign`, or a function does not return a
 *   tensor; ShapeError 'coefficient-shape' when traced
 */
export function coefficient(
  value: Coefficient,
  name: string,
  sign: Sign = 'any',
): (params: Params, shape?: readonly number[], of?: string) => tf.Tensor {
  const read = readCoefficient(value, name, sign);
  return (params, shape, of) => (shape === undefined ? read(params) : fitting(read(params), shape, name, of));
}

/** A coefficient as an option. A required one that is missing is an error of `coefficient`. */
export const quantity = (sign: Sign = 'any'): Check<Coefficient, ReturnType<typeof coefficient>> =>
  readBy((value, name) => coefficient(value, name, sign));

function readCoefficient(value: Coefficient, name: string, sign: Sign): (params: Params) => tf.Tensor {
  if (typeof value === 'function') return params => requireTensor(calledWithParams(value, params, name), name);
  if (value instanceof tf.Tensor) return () => value;
  if (value === undefined || value === null)
    throw new OptionError(
      'bad-coefficient',
      `${name} is missing: give a number, an array, a tensor, or a function of params.`,
      {name},
    );
  const {values, shape} = readNumeric(value, name);
  if (values.length === 0)
    throw new OptionError('bad-coefficient', `${name} is an empty array: give at least one number.`, {name});
  const bad = values.findIndex(x => !allowed[sign](x));
  if (bad >= 0)
    throw new OptionError(
      'bad-coefficient',
      `${name} must be ${demands[sign]}; ${values.length === 1 ? 'it' : `number ${bad}`} is ${values[bad]}.`,
      {name, index: bad, value: values[bad]},
    );
  return () => constantTensor(values, shape);
}

/** @throws OptionError 'bad-coefficient' where a user's function gave none */
export function requireTensor(value: tf.Tensor | undefined, name: string): tf.Tensor {
  if (value instanceof tf.Tensor) return value;
  throw new OptionError(
    'bad-coefficient',
    `${name} is a function that returned ${value === undefined ? 'undefined' : typeof value}, not a tensor: `
      + 'is the parameter it reads in options.params?',
    {name},
  );
}

/** Known to be zero when the model is built, so that its term can be left out. */
export const isZero = (value: Coefficient | undefined): boolean => value === undefined || value === 0;

/**
 * The tensor as it is, once its shape is known to broadcast to `shape` (aligned at the last axis).
 * @throws ShapeError 'coefficient-shape'
 */
export function fitting(tensor: tf.Tensor, shape: readonly number[], name: string, of = 'q'): tf.Tensor {
  const offset = shape.length - tensor.shape.length;
  if (offset >= 0 && tensor.shape.every((n, axis) => n === 1 || n === shape[axis + offset])) return tensor;
  throw new ShapeError(
    'coefficient-shape',
    `${name} has shape [${tensor.shape.join(', ')}], which does not broadcast to [${shape.join(', ')}], `
      + `the shape of ${of}.`,
    {name, coefficient: [...tensor.shape], expected: [...shape]},
  );
}
