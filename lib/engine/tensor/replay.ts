/**
 * Each primitive as tfjs operations. Every value is a float32 tensor, whole numbers and truth values
 * too (exact up to 2²⁴, which bounds computed positions); where the active backend has no kernel for a
 * function, the interpreter's loop runs on the values read back.
 */
import * as tf from '@tensorflow/tfjs';
import {operandTable, sliceTable, viewTable} from '../../graph/build.js';
import {OptionError} from '../../errors.js';
import type {Node, Op, Shape} from '../../graph/node.js';
import {sizeOf, stridesOf} from '../../graph/node.js';
import {runCholesky, runLu, runSolve, runTriangularSolve} from '../../linalg/kernels.js';
import {numbersOf} from '../../read.js';
import {functionOf, hasKernels, onHost, toFloat, upload} from './functions.js';

/** Computes a node's tensor from its operands'. */
export type Computation = (operands: readonly tf.Tensor[]) => tf.Tensor;
export type Replay<O extends Op> = (node: Node<O>) => Computation;

/** tfjs backends move axes of tensors up to this rank; values of more axes are kept flat. */
const largestRank = 4;

/** The shape a value is kept in. */
export function held(shape: Shape): number[] {
  return shape.length <= largestRank ? [...shape] : [sizeOf(shape)];
}

const isHeld = (...nodes: readonly Node[]): boolean => nodes.every(node => node.shape.length <= largestRank);

const flat = (x: tf.Tensor): tf.Tensor1D => tf.reshape(x, [x.size]);
const positions = (table: Int32Array): tf.Tensor1D => tf.tensor1d(table, 'int32');
const withZero = (x: tf.Tensor): tf.Tensor1D => tf.concat([flat(x), tf.zeros([1])]);

/** x at known flat positions, −1 for zero. */
function takeFrom(table: Int32Array, shape: Shape): Computation {
  const size = sizeOf(shape);
  if (!table.includes(-1)) return ([x]) => tf.reshape(tf.gather(flat(x), positions(table)), held(shape));
  const missing = new Int32Array(size);
  return ([x]) => {
    for (let i = 0; i < size; i++) missing[i] = table[i] < 0 ? x.size : table[i];
    return tf.reshape(tf.gather(withZero(x), positions(missing)), held(shape));
  };
}

/** Zeros with x added at known flat positions, −1 for nowhere. */
function addInto(table: Int32Array, shape: Shape): Computation {
  const kept = Int32Array.from(table.keys()).filter(i => table[i] >= 0);
  const targets = table.filter(at => at >= 0);
  if (kept.length === 0) return () => tf.zeros(held(shape));
  const take = kept.length === table.length ? undefined : takeFrom(kept, [kept.length]);
  return ([x]) => {
    const values = take === undefined ? flat(x) : take([x]);
    return tf.reshape(
      tf.scatterND(tf.tensor2d(targets, [targets.length, 1], 'int32'), values, [sizeOf(shape)]),
      held(shape),
    );
  };
}

/** Computed positions as whole numbers; those outside the range all become its end. */
function within(at: tf.Tensor, range: number): tf.Tensor1D {
  const inside = tf.logicalAnd(tf.greaterEqual(at, 0), tf.less(at, range));
  return tf.cast(flat(tf.where(inside, at, tf.scalar(range))), 'int32');
}

/** Reduces axes, moved to the end first where tfjs cannot do it in place. */
function reduce(
  node: Node<'sum' | 'max' | 'min'>,
  reduction: (x: tf.Tensor, axes: number[]) => tf.Tensor,
): Computation {
  const {axes} = node.attributes;
  const [operand] = node.operands;
  if (isHeld(operand)) return ([x]) => reduction(x, [...axes]);
  const strides = stridesOf(operand.shape);
  const order = [...operand.shape.keys()].filter(axis => !axes.includes(axis)).concat(axes);
  const moved = takeFrom(
    viewTable(
      order.map(axis => operand.shape[axis]),
      0,
      order.map(axis => strides[axis]),
    ),
    [node.size, operand.size / node.size],
  );
  return ([x]) => tf.reshape(reduction(moved([x]), [1]), held(node.shape));
}

/** Sizes before, along and after an axis: three axes are enough for what happens along one. */
function around(shape: Shape, axis: number): [outer: number, length: number, inner: number] {
  return [sizeOf(shape.slice(0, axis)), shape[axis], sizeOf(shape.slice(axis + 1))];
}

function alongAxis(node: Node, axis: number, operation: (x: tf.Tensor3D) => tf.Tensor): Computation {
  const shape = around(node.operands[0].shape, axis);
  return ([x]) => tf.reshape(toFloat(operation(tf.reshape(x, shape))), held(node.shape));
}

/** A row for every primitive but the inputs, which are uploaded: one without does not compile. */
const replays: {readonly [O in Exclude<Op, 'input'>]: Replay<O>} = {
  constant(node) {
    return () => upload(node.attributes.values, held(node.shape));
  },

  unary(node) {
    const {kernels, apply} = functionOf(node.attributes.fn);
    const host = onHost(node, held(node.shape));
    return operands => (hasKernels(kernels) ? apply(operands[0]) : host(operands));
  },
  binary(node) {
    const {kernels, apply} = functionOf(node.attributes.fn);
    const host = onHost(node, held(node.shape));
    // Without axes: tfjs's cpu backend takes six times as long for [1, 1] beside [64, 32].
    const plain = (x: tf.Tensor): tf.Tensor => (x.size === 1 && node.size > 1 ? tf.reshape(x, []) : x);
    return ([a, b]) =>
      hasKernels(kernels) ? apply(plain(a), plain(b)) : host([a, b].map(x => tf.broadcastTo(x, held(node.shape))));
  },
  select:
    () =>
    ([condition, a, b]) =>
      tf.where(tf.notEqual(condition, 0), a, b),

  reshape:
    node =>
    ([x]) =>
      tf.reshape(x, held(node.shape)),
  transpose(node) {
    if (!isHeld(node)) return takeFrom(operandTable(node), node.shape);
    return ([x]) => tf.transpose(x, [...node.attributes.permutation]);
  },
  broadcast(node) {
    if (node.operands[0].size === 1) return ([x]) => tf.reshape(tf.broadcastTo(flat(x), [node.size]), held(node.shape));
    if (!isHeld(node)) return takeFrom(operandTable(node), node.shape);
    return ([x]) => tf.broadcastTo(x, held(node.shape));
  },
  slice(node) {
    const {begin, strides} = node.attributes;
    if (!isHeld(node) || strides.some(stride => stride !== 1)) return takeFrom(operandTable(node), node.shape);
    return ([x]) => tf.slice(x, [...begin], [...node.shape]);
  },
  place(node) {
    const {begin, strides} = node.attributes;
    const {shape} = node.operands[0];
    if (!isHeld(node) || strides.some(stride => stride !== 1)) {
      const table = new Int32Array(node.size).fill(-1);
      sliceTable(shape, node.attributes, stridesOf(node.shape)).forEach((at, i) => (table[at] = i));
      return takeFrom(table, node.shape);
    }
    const margins = node.shape.map((n, axis): [number, number] => [begin[axis], n - begin[axis] - shape[axis]]);
    return ([x]) => tf.pad(x, margins);
  },
  concat(node) {
    const {axis} = node.attributes;
    const widths = node.operands
      .map(part => around(part.shape, axis))
      .map(([outer, length, inner]): [number, number] => [outer, length * inner]);
    return parts =>
      tf.reshape(
        tf.concat(
          parts.map((part, k) => tf.reshape(part, widths[k])),
          1,
        ),
        held(node.shape),
      );
  },

  gather: node => takeFrom(node.attributes.table, node.shape),
  scatter: node => addInto(node.attributes.table, node.shape),
  gatherAt:
    node =>
    ([x, at]) =>
      tf.reshape(tf.gather(withZero(x), within(at, x.size)), held(node.shape)),
  scatterAt:
    node =>
    ([x, at]) => {
      // One more element takes what is dropped.
      const sums = tf.scatterND(tf.reshape(within(at, node.size), [x.size, 1]), flat(x), [node.size + 1]);
      return tf.reshape(tf.slice(sums, [0], [node.size]), held(node.shape));
    },
  searchSorted(node) {
    const host = onHost(node, held(node.shape));
    return ([sorted, values]) =>
      hasKernels(['SearchSorted'])
        ? toFloat(tf.searchSorted(sorted, values, node.attributes.side))
        : host([sorted, values]);
  },

  sum: node => reduce(node, (x, axes) => tf.sum(x, axes)),
  max: node => reduce(node, (x, axes) => tf.max(x, axes)),
  min: node => reduce(node, (x, axes) => tf.min(x, axes)),
  argMax: node => alongAxis(node, node.attributes.axis, x => tf.argMax(x, 1)),
  argMin: node => alongAxis(node, node.attributes.axis, x => tf.argMin(x, 1)),
  cumsum: node =>
    alongAxis(node, node.attributes.axis, x => tf.cumsum(x, 1, node.attributes.exclusive, node.attributes.reverse)),

  matMul:
    node =>
    ([a, b]) =>
      tf.matMul(a, b, node.attributes.transposeA, node.attributes.transposeB),
  solve:
    node =>
    ([a, b]) =>
      runSolve(a, b, node.attributes.adjoint),
  cholesky:
    () =>
    ([a]) =>
      runCholesky(a),
  triangularSolve:
    node =>
    ([t, b]) =>
      runTriangularSolve(t, b, node.attributes.lower, node.attributes.adjoint),
  lu:
    () =>
    ([a]) =>
      runLu(a)[0],
  luPermutation:
    () =>
    ([a]) =>
      toFloat(runLu(a)[1]),
  semidefinite: node => onHost(node, held(node.shape)),
  eigen: node => onHost(node, held(node.shape)),
  svd: node => onHost(node, held(node.shape)),
  leastSquares: node => onHost(node, held(node.shape)),
  sparseSolve: node => onHost(node, held(node.shape)),
  brownian: node => {
    const path = onHost(node, held(node.shape));
    return operands => {
      requireHeld(numbersOf(operands[0]));
      return path(operands);
    };
  },
  mapped: node => onHost(node, held(node.shape)),
  declared:
    node =>
    ([value]) =>
      tf.reshape(value, held(node.shape)),
};

/**
 * A seed that was rounded would be another path's.
 * @throws OptionError 'bad-seed'
 */
function requireHeld(seeds: Float64Array): void {
  const wholes = tf.backend().floatPrecision() === 16 ? 2 ** 11 : 2 ** 24;
  const beyond = seeds.find(seed => seed >= wholes);
  if (beyond === undefined) return;
  throw new OptionError(
    'bad-seed',
    `sde: the seed is about ${beyond}, but engine 'tensor' holds whole numbers below ${wholes} only, and would `
      + "run along the path of another: use a smaller seed, or engine 'auto'.",
    {seed: beyond},
  );
}

/** The extreme of no numbers; every other primitive makes zeros of none. */
const ofNothing: {readonly [O in Op]?: number} = {max: -Infinity, min: Infinity};

export function replay(node: Node): Computation {
  const shape = held(node.shape);
  // tfjs's kernels are not made for empty tensors.
  if (node.size === 0) return () => tf.zeros(shape);
  if (node.operands.some(operand => operand.size === 0)) return () => tf.fill(shape, ofNothing[node.op] ?? 0);
  // Each row takes the nodes of its own name, which the table guarantees and the type cannot say.
  return (replays as unknown as Readonly<Record<Op, Replay<Op>>>)[node.op](node);
}
