/** Tensors made from numbers, and from the positions of others. */
import * as tf from '@tensorflow/tfjs';
import {binary, cast, constant, full, place, reshape, select} from '../../graph/build.js';
import type {Node} from '../../graph/node.js';
import type {Lowerings, Unary} from '../lowering.js';
import {lower, typeOf} from '../lowering.js';

/** tfjs's rules: a step against the direction gives nothing, but a step of 1 turns around by itself. */
function range(start: number, stop: number, step: number): Float64Array {
  if (start === stop || (start < stop && step < 0) || (stop < start && step > 1)) return new Float64Array(0);
  const count = Math.abs(Math.ceil((stop - start) / step));
  const stride = stop < start && step === 1 ? -1 : step;
  return Float64Array.from({length: count}, (_, i) => start + i * stride);
}

function linSpace(start: number, stop: number, count: number): Float64Array {
  const step = count > 1 ? (stop - start) / (count - 1) : 0;
  return Float64Array.from({length: count}, (_, i) => start + i * step);
}

function oneHot(indices: Node, {depth, onValue, offValue, dtype}: tf.OneHotAttrs): Node {
  const classes = constant(range(0, depth, 1), [depth], 'int');
  const hit = binary('equal', reshape(indices, [...indices.shape, 1]), classes);
  return cast(
    onValue === 1 && offValue === 0 ? hit : select(hit, full(onValue, hit.shape), full(offValue, hit.shape)),
    typeOf(dtype),
  );
}

/** x spread over the diagonal of a matrix of its size squared, whose axes are then x's, twice. */
function diag(x: Node): Node {
  const flat = place(reshape(x, [x.size]), [0], [x.size * x.size], [x.size + 1]);
  return reshape(flat, [...x.shape, ...x.shape]);
}

export const creation: Lowerings = {
  Fill: lower<unknown, tf.FillAttrs>((_, {shape, value, dtype}) =>
    full(Number(value), shape, typeOf(dtype ?? tf.util.inferDtype(value))),
  ),
  Range: lower<unknown, tf.RangeAttrs>((_, {start, stop, step, dtype}) => {
    const values = range(start, stop, step);
    return constant(values, [values.length], typeOf(dtype));
  }),
  LinSpace: lower<unknown, tf.LinSpaceAttrs>((_, {start, stop, num}) => constant(linSpace(start, stop, num), [num])),
  OneHot: lower<{indices: Node}, tf.OneHotAttrs>(({indices}, attributes) => oneHot(indices, attributes)),
  Diag: lower<Unary>(({x}) => diag(x)),
};
