/** Sums, extremes and products over axes, and their running forms along one. */
import * as tf from '@tensorflow/tfjs';
import {
  argExtreme,
  cast,
  concat,
  cumsum,
  div,
  full,
  max,
  min,
  mul,
  reshape,
  scalar,
  slice,
  sum,
  transpose,
} from '../../graph/build.js';
import {TraceError} from '../../errors.js';
import type {Node, Shape} from '../../graph/node.js';
import {sizeOf} from '../../graph/node.js';
import type {Lowering, Lowerings, Unary} from '../lowering.js';
import {axisOf, lower} from '../lowering.js';

interface ReductionAttributes {
  readonly axis?: number | number[];
  readonly reductionIndices?: number | number[];
  readonly keepDims: boolean;
}

function axesOf(axis: number | number[] | undefined, shape: Shape): number[] {
  // Without an axis tfjs reduces over all of them, which its types do not say.
  return tf.util.parseAxisParam(axis as number | number[], [...shape]);
}

function reduction(f: (x: Node, axes: readonly number[]) => Node): Lowering {
  return lower<Unary, ReductionAttributes>(({x}, {axis, reductionIndices, keepDims}) => {
    const axes = axesOf(reductionIndices ?? axis, x.shape);
    const reduced = f(x, axes);
    return keepDims
      ? reshape(
          reduced,
          x.shape.map((n, i) => (axes.includes(i) ? 1 : n)),
        )
      : reduced;
  });
}

const counted = (x: Node): Node => (x.dtype === 'bool' ? cast(x, 'int') : x);

function mean(x: Node, axes: readonly number[]): Node {
  const count = axes.reduce((product, axis) => product * x.shape[axis], 1);
  return div(sum(cast(x, 'float'), axes), scalar(count));
}

/** `all` of nothing is true and `any` false, as in logic; tfjs says false of both. */
function truth(extreme: typeof max, x: Node, axes: readonly number[], ofNone: 0 | 1): Node {
  const truths = cast(x, 'bool');
  if (axes.every(axis => x.shape[axis] > 0)) return extreme(truths, axes);
  return full(
    ofNone,
    x.shape.filter((_, axis) => !axes.includes(axis)),
    'bool',
  );
}

/** @throws TraceError 'empty-axis': among no elements there is no position, and tfjs's 0 would be outside of them */
function position(op: 'argMax' | 'argMin'): Lowering {
  return lower<Unary, tf.ArgMaxAttrs>(({x}, {axis}) => {
    const [along] = axesOf(axis, x.shape);
    if (x.shape[along] === 0)
      throw new TraceError(
        'empty-axis',
        `tf.${op} of a tensor of shape [${x.shape.join(', ')}] looks for a position along axis ${along}, which `
          + 'has no elements. Leave it out there, or give the axis an element.',
        {shape: [...x.shape], axis: along},
      );
    return argExtreme(op, x, along);
  });
}

/** Products as a tree, half times half, so that derivatives hold where factors are zero. */
function product(x: Node, axes: readonly number[]): Node {
  const kept = x.shape.map((_, axis) => axis).filter(axis => !axes.includes(axis));
  const shape = kept.map(axis => x.shape[axis]);
  const rows = sizeOf(shape);
  const count = axes.reduce((total, axis) => total * x.shape[axis], 1);
  let factors = reshape(transpose(counted(x), [...kept, ...axes]), [rows, count]);
  if (count === 0) return full(1, shape, factors.dtype);
  while (factors.shape[1] > 1) {
    const n = factors.shape[1];
    const half = Math.floor(n / 2);
    const pairs = mul(columns(factors, 0, half), columns(factors, half, half));
    factors = n % 2 === 1 ? concat([pairs, columns(factors, n - 1, 1)], 1) : pairs;
  }
  return reshape(factors, shape);
}

function columns(x: Node, begin: number, count: number): Node {
  return slice(x, [0, begin], [x.shape[0], count]);
}

/** The part of x from `begin` on, `count` long, along one axis. */
function part(x: Node, axis: number, begin: number, count: number): Node {
  return slice(
    x,
    x.shape.map((_, i) => (i === axis ? begin : 0)),
    x.shape.map((n, i) => (i === axis ? count : n)),
  );
}

function reversed(x: Node, axis: number): Node {
  return slice(
    x,
    x.shape.map((n, i) => (i === axis ? n - 1 : 0)),
    x.shape,
    x.shape.map((_, i) => (i === axis ? -1 : 1)),
  );
}

/** Running products by doubling (Hillis and Steele 1986): log₂ n products of whole arrays, none divided. */
function cumprod(x: Node, axis: number, exclusive: boolean, reverse: boolean): Node {
  const n = x.shape[axis];
  if (n === 0) return x;
  let y = reverse ? reversed(x, axis) : x;
  if (exclusive)
    y = concat(
      [
        full(
          1,
          y.shape.map((m, i) => (i === axis ? 1 : m)),
          y.dtype,
        ),
        part(y, axis, 0, n - 1),
      ],
      axis,
    );
  for (let step = 1; step < n; step *= 2) {
    y = concat([part(y, axis, 0, step), mul(part(y, axis, step, n - step), part(y, axis, 0, n - step))], axis);
  }
  return reverse ? reversed(y, axis) : y;
}

export const reductions: Lowerings = {
  Sum: reduction((x, axes) => sum(counted(x), axes)),
  Mean: reduction(mean),
  Max: reduction(max),
  Min: reduction(min),
  Prod: reduction(product),
  All: reduction((x, axes) => truth(min, x, axes, 1)),
  Any: reduction((x, axes) => truth(max, x, axes, 0)),
  ArgMax: position('argMax'),
  ArgMin: position('argMin'),
  Cumsum: lower<Unary, tf.CumsumAttrs>(({x}, {axis, exclusive, reverse}) =>
    cumsum(counted(x), axisOf(axis, x.shape), exclusive, reverse),
  ),
  Cumprod: lower<Unary, tf.CumprodAttrs>(({x}, {axis, exclusive, reverse}) =>
    cumprod(counted(x), axisOf(axis, x.shape), exclusive, reverse),
  ),
};
