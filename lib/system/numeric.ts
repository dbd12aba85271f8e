/**
 * Numbers as users give them, read once at the door: plain numbers, nested arrays and Float64Arrays
 * keep double precision; a tensor carries what float32 holds and stays known, so that gradients can
 * return to it.
 */
import type * as tf from '@tensorflow/tfjs';
import {Tensor} from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {shown} from '../given.js';
import type {Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';

export type NestedNumbers = readonly (number | NestedNumbers)[];
export type Numeric = number | NestedNumbers | Float64Array | tf.Tensor;

export interface NumericValue {
  readonly values: Float64Array;
  readonly shape: Shape;
  /** The tensor it came from, where it did. */
  readonly tensor?: tf.Tensor;
}

export function isNumeric(x: unknown): x is Numeric {
  return typeof x === 'number' || Array.isArray(x) || x instanceof Float64Array || x instanceof Tensor;
}

/**
 * @param name what the value is, for the error
 * @throws ShapeError 'ragged-array' where nested arrays differ in length; OptionError 'not-numeric'
 */
export function readNumeric(x: Numeric, name: string): NumericValue {
  if (typeof x === 'number') return {values: Float64Array.of(x), shape: []};
  if (x instanceof Float64Array) return {values: x.slice(), shape: [x.length]};
  if (x instanceof Tensor) {
    if (x.isDisposed) throw new OptionError('disposed-tensor', `${name} is a tensor that was disposed; keep it (tf.keep) or pass a new one.`);
    return {values: Float64Array.from(x.dataSync()), shape: [...x.shape], tensor: x};
  }
  if (ArrayBuffer.isView(x)) return readNumeric(Float64Array.from(x as unknown as ArrayLike<number>), name);
  if (!Array.isArray(x)) throw new OptionError('not-numeric', `${name} must be a number, an array of numbers or a tensor, not ${shown(x)}.`);
  const shape = arrayShape(x);
  const values = new Float64Array(sizeOf(shape));
  fill(x, shape, 0, values, 0, name);
  return {values, shape};
}

function arrayShape(x: NestedNumbers): number[] {
  const shape: number[] = [];
  let level: number | NestedNumbers = x;
  while (Array.isArray(level)) {
    shape.push(level.length);
    level = (level as NestedNumbers)[0];
  }
  return shape;
}

/** What is often put into an array as one of its columns. */
const isColumn = (x: unknown): boolean => ArrayBuffer.isView(x) || (typeof x === 'object' && x !== null && 'dataSync' in x);

function fill(x: number | NestedNumbers, shape: Shape, depth: number, values: Float64Array, at: number, name: string): void {
  if (depth === shape.length) {
    if (typeof x !== 'number') throw new OptionError('not-numeric', `${name} holds ${shown(x)} where a number belongs.${isColumn(x) ? ' Typed arrays and tensors do not go inside an array: write their numbers as plain arrays, row by row.' : ''}`);
    values[at] = x;
    return;
  }
  if (!Array.isArray(x) || x.length !== shape[depth]) {
    throw new ShapeError('ragged-array', `${name} is not a full array: at depth ${depth} one entry has ${shape[depth]} elements and another ${Array.isArray(x) ? x.length : 'none'}.`);
  }
  const step = sizeOf(shape.slice(depth + 1));
  x.forEach((part: number | NestedNumbers, i: number) => fill(part, shape, depth + 1, values, at + i * step, name));
}
