/** Tensors that functions of users return in a trace. */
import * as tf from '@tensorflow/tfjs';
import {shown} from '../checks.js';
import {ShapeError} from '../errors.js';
import {sameShape, type Shape} from '../graph/node.js';
import {immediate, within} from '../trace/trace.js';

/** Requirement on the result of a function, and the error if it is not met. */
export interface Expected {
  /** Code of the ShapeError. */
  readonly code: string;
  /** The end of the sentence '… must return …'. */
  readonly must: string;
  /** Default: every tensor fits. */
  readonly fits?: (value: tf.Tensor) => boolean;
  /** The beginning of the sentence; default the term. */
  readonly label?: string;
  /** Data of the error. */
  readonly data?: {readonly [name: string]: unknown};
}

/** A tensor of the shape of something else, with the name of that: 'q'. */
export const ofShape = (shape: Shape, like: string): Pick<Expected, 'must' | 'fits'> => ({
  must: `a tensor of the shape of ${like}, [${shape.join(', ')}]`,
  fits: value => sameShape(value.shape, shape),
});

/** A single number. */
export const scalar: Pick<Expected, 'must' | 'fits'> = {must: 'one number as a tensor', fits: ({size}) => size === 1};

/**
 * The checked result of a user's function.
 * @throws ShapeError where it is no tensor, or one that does not fit
 */
export function checked(result: unknown, term: string, {code, must, fits, label = term, data}: Expected): tf.Tensor {
  const value = immediate(result);
  if (value instanceof tf.Tensor && (fits === undefined || fits(value as tf.Tensor))) return value as tf.Tensor;
  throw new ShapeError(code, `${label} must return ${must}; it returned ${described(value)}.`, {term, ...data});
}

/**
 * Calls a function of a user as a term of the trace.
 * @throws as `checked`
 */
export const returned = (term: string, f: () => unknown, expected: Expected): tf.Tensor =>
  within(term, () => checked(f(), term, expected));

/** A value that was returned, for messages. */
function described(value: unknown): string {
  if (value instanceof tf.Tensor) return `a tensor of shape [${(value as tf.Tensor).shape.join(', ')}]`;
  if (Array.isArray(value)) return 'an array (tf.stack makes a tensor of scalars)';
  return value === undefined ? 'nothing' : `${shown(value)}, of type ${typeof value}`;
}
