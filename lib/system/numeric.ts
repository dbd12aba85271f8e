/**
 * Numbers as users give them, read once at the door: plain numbers, nested arrays and Float64Arrays
 * keep double precision; a tensor carries what float32 holds and stays known, so that gradients can
 * return to it.
 */
import type * as tf from '@tensorflow/tfjs';
import {Tensor} from '@tensorflow/tfjs';
import {InconsistentStateError, OptionError, ShapeError} from '../errors.js';
import {shown} from '../checks.js';
import type {Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import {newNumbers} from '../memory.js';
import {firstNotFinite, indexText} from './places.js';
import {numbersOf} from '../read.js';

/** Nested arrays of numbers of any depth, with equal lengths at each level. */
export type NestedNumbers = readonly (number | NestedNumbers)[];
/** Numbers of any shape: plain numbers keep double precision; a tensor has float32 and gets a gradient. */
export type Numeric = number | NestedNumbers | Float64Array | tf.Tensor;

/** Numbers as read: flat, with their shape. */
export interface NumericValue {
  readonly values: Float64Array;
  readonly shape: Shape;
  /** The tensor that the numbers come from, if any. */
  readonly tensor?: tf.Tensor;
}

export function isNumeric(x: unknown): x is Numeric {
  return typeof x === 'number' || Array.isArray(x) || isTyped(x) || x instanceof Tensor;
}

/** A typed array of numbers; those of big integers are not. */
const isTyped = (x: unknown): x is ArrayLike<number> & ArrayBufferView =>
  ArrayBuffer.isView(x) && !(x instanceof DataView) && !(x instanceof BigInt64Array) && !(x instanceof BigUint64Array);

/**
 * Numbers as given by a user, flat and with their shape.
 * @param name what the value is, for the error
 * @throws ShapeError 'ragged-array' where nested arrays differ in length; OptionError 'not-numeric'; MemoryError
 */
export function readNumeric(x: Numeric, name: string): NumericValue {
  if (typeof x === 'number') return {values: Float64Array.of(x), shape: []};
  if (x instanceof Float64Array) return {values: x.slice(), shape: [x.length]};
  if (x instanceof Tensor) {
    if (x.isDisposed)
      throw new OptionError('disposed-tensor', `${name} is a disposed tensor; keep it (tf.keep) or pass a new one.`);
    return {values: numbersOf(x), shape: [...x.shape], tensor: x};
  }
  if (isTyped(x)) return {values: Float64Array.from(x), shape: [x.length]};
  if (!Array.isArray(x))
    throw new OptionError('not-numeric', `${name} must be a number, an array of numbers or a tensor, not ${shown(x)}.`);
  const shape = arrayShape(x, name);
  const values = newNumbers(sizeOf(shape), name);
  fill(x, shape, 0, values, 0, name);
  return {values, shape};
}

/** `readNumeric` without copying a Float64Array, for numbers that are read before the caller can change them. */
export const lentNumeric: typeof readNumeric = (x, name) =>
  x instanceof Float64Array ? {values: x, shape: [x.length]} : readNumeric(x, name);

/** Reads numbers of a given shape to where they go; false where they have another, with some written already. */
export function readNumericInto(x: Numeric, shape: Shape, to: Float64Array): boolean {
  if (Array.isArray(x)) return shape.length > 0 && fillFrom(x as NestedNumbers, shape, 0, to, 0) === to.length;
  if (typeof x === 'number') {
    to[0] = x;
    return shape.length === 0;
  }
  if (x instanceof Float64Array) {
    if (shape.length !== 1 || shape[0] !== x.length) return false;
    to.set(x);
    return true;
  }
  if (!isNumeric(x) || (x instanceof Tensor && x.isDisposed)) return false;
  const read = readNumeric(x, '');
  if (!sameShape(read.shape, shape)) return false;
  to.set(read.values);
  return true;
}

/** As `fill`, of arrays that may be others; NaN where they are. */
function fillFrom(x: NestedNumbers, shape: Shape, depth: number, to: Float64Array, at: number): number {
  if (!Array.isArray(x) || x.length !== shape[depth]) return NaN;
  let place = at;
  if (depth < shape.length - 1) {
    for (let i = 0; i < x.length; i++) place = fillFrom(x[i] as NestedNumbers, shape, depth + 1, to, place);
    return place;
  }
  for (let i = 0; i < x.length; i++) {
    const value: unknown = x[i];
    if (typeof value !== 'number') return NaN;
    to[place++] = value;
  }
  return place;
}

/** Levels of nested arrays at most: tfjs's tensors have six axes, and an array that contains itself has no end. */
const maxDepth = 32;
const nested = ' An array may not contain typed arrays or tensors: write their numbers as plain arrays, row by row.';

function arrayShape(x: NestedNumbers, name: string): number[] {
  const shape: number[] = [];
  let level: number | NestedNumbers = x;
  while (Array.isArray(level)) {
    if (shape.length === maxDepth)
      throw new ShapeError(
        'ragged-array',
        `${name} is nested deeper than ${maxDepth} levels; an array may not contain itself.`,
      );
    shape.push(level.length);
    level = (level as NestedNumbers)[0];
  }
  return shape;
}

/** Values that users often put into an array as its columns. */
const isColumn = (x: unknown): boolean =>
  ArrayBuffer.isView(x) || (typeof x === 'object' && x !== null && 'dataSync' in x);

/**
 * Reads the arrays at a depth below one into `values`, from `at` on. Holes of a sparse array are met like undefined.
 * @returns the place after the last number
 */
function fill(
  x: number | NestedNumbers,
  shape: Shape,
  depth: number,
  values: Float64Array,
  at: number,
  name: string,
): number {
  if (!Array.isArray(x) || x.length !== shape[depth]) {
    throw new ShapeError(
      'ragged-array',
      `${name} is not a full array: at depth ${depth} one entry has ${shape[depth]} elements and another `
        + `${Array.isArray(x) ? x.length : 'none'}.`,
    );
  }
  let place = at;
  if (depth < shape.length - 1) {
    for (let i = 0; i < x.length; i++) place = fill((x as NestedNumbers)[i], shape, depth + 1, values, place, name);
    return place;
  }
  for (let i = 0; i < x.length; i++) {
    const value: unknown = x[i];
    if (typeof value !== 'number')
      throw new OptionError(
        'not-numeric',
        `${name}${indexText(shape, place)} is ${shown(value)}, not a number.${isColumn(value) ? nested : ''}`,
        {name, index: place},
      );
    values[place++] = value;
  }
  return place;
}

/** @throws InconsistentStateError with the name and the place of the first number that is not finite */
export function requireFinite(name: string, {values, shape}: Pick<NumericValue, 'values' | 'shape'>): void {
  const at = firstNotFinite(values);
  if (at >= 0)
    throw new InconsistentStateError(
      'not-finite',
      `${name}${indexText(shape, at)} is ${values[at]}: every number must be finite.`,
      {name, index: at},
    );
}
