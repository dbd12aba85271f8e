/**
 * Constructors of nodes: shapes are inferred and checked here, and what is plainly the same value
 * is not built twice (adding zero, reshaping to the shape at hand, a transpose of a transpose, a
 * function of a broadcast value). Nothing here evaluates; folding of constants and common
 * subexpressions is `simplify.ts`.
 */
import {ShapeError} from '../errors.js';
import type {Attributes, BinaryName, DType, Node, Op, Shape, UnaryName} from './node.js';
import {isOp, sameShape, sizeOf, stridesOf} from './node.js';

function make<O extends Op>(op: O, operands: readonly Node[], attributes: Attributes[O], shape: Shape, dtype: DType): Node<O> {
  return {op, operands, attributes, shape, size: sizeOf(shape), dtype};
}

function mismatch(what: string, ...nodes: readonly Node[]): ShapeError {
  const shapes = nodes.map(node => `[${node.shape.join(', ')}]`);
  return new ShapeError('shape-mismatch', `${what}: shapes ${shapes.join(' and ')} do not fit.`, {shapes: nodes.map(node => [...node.shape])});
}

// ------------------------------------------------------------------ leaves

export function input(name: string, shape: Shape, dtype: DType = 'float'): Node<'input'> {
  return make('input', [], {name}, [...shape], dtype);
}

/** Values in row-major order; the array is kept, not copied. */
export function constant(values: Float64Array, shape: Shape, dtype: DType = 'float'): Node {
  if (values.length !== sizeOf(shape)) {
    throw new ShapeError('shape-mismatch', `A constant of shape [${shape.join(', ')}] needs ${sizeOf(shape)} values, not ${values.length}.`);
  }
  if (values.length > 1 && values.every(value => Object.is(value, values[0]))) return full(values[0], shape, dtype);
  return make('constant', [], {values}, [...shape], dtype);
}

export function scalar(value: number, dtype: DType = 'float'): Node<'constant'> {
  return make('constant', [], {values: Float64Array.of(value)}, [], dtype);
}

/** One value everywhere: a broadcast scalar, so that no engine stores it. */
export function full(value: number, shape: Shape, dtype: DType = 'float'): Node {
  return broadcastTo(scalar(value, dtype), shape);
}

export function zeros(shape: Shape): Node {
  return full(0, shape);
}

/** The one value a node holds everywhere, where that is known: a constant scalar, reshaped and broadcast. */
export function uniformValue(node: Node): number | undefined {
  if (isOp(node, 'constant')) return node.size === 1 ? node.attributes.values[0] : undefined;
  if (node.op === 'broadcast' || node.op === 'reshape') return uniformValue(node.operands[0]);
  return undefined;
}

// ------------------------------------------------------------------ elementwise

/** Functions whose result is a truth value. */
const truths = new Set<UnaryName | BinaryName>([
  'isNaN', 'isInf', 'isFinite', 'not', 'nonzero',
  'equal', 'notEqual', 'less', 'lessEqual', 'greater', 'greaterEqual', 'and', 'or',
]);
/** Functions that keep whole numbers whole. */
const whole = new Set<UnaryName | BinaryName>([
  'neg', 'abs', 'sign', 'square', 'relu', 'positive', 'truncate', 'add', 'sub', 'mul', 'maximum', 'minimum', 'mod', 'floorDiv', 'pow', 'bitwiseAnd',
]);

function resultType(fn: UnaryName | BinaryName, ...operands: readonly Node[]): DType {
  if (truths.has(fn)) return 'bool';
  if (fn === 'truncate') return 'int';
  return whole.has(fn) && operands.every(node => node.dtype !== 'float') ? 'int' : 'float';
}

export function unary(fn: UnaryName, x: Node): Node {
  if (fn === 'neg') {
    if (isOp(x, 'unary') && x.attributes.fn === 'neg') return relabel(x.operands[0], x.dtype);
    if (isOp(x, 'constant') && x.size === 1) return constant(x.attributes.values.map(value => -value), x.shape, resultType(fn, x));
  }
  // A function of a repeated value is the repeated function of it.
  if (x.op === 'broadcast') return broadcastTo(unary(fn, x.operands[0]), x.shape);
  return make('unary', [x], {fn}, x.shape, resultType(fn, x));
}

/** Elementwise, with the usual broadcasting of shapes. */
export function binary(fn: BinaryName, a: Node, b: Node): Node {
  const shape = sameShape(a.shape, b.shape) ? a.shape : broadcastShape(a, b);
  const shortcut = identity(fn, a, b, shape);
  if (shortcut !== undefined) return shortcut;
  const operands = [broadcastTo(a, shape), broadcastTo(b, shape)];
  const [left, right] = unrepeated(operands, shape) ?? [];
  if (left !== undefined && right !== undefined) return broadcastTo(binary(fn, left, right), shape);
  return make('binary', operands, {fn}, shape, resultType(fn, a, b));
}

/** Where all operands are repeated along a common axis: what they repeat, so as to compute once and repeat the result. */
function unrepeated(operands: readonly Node[], shape: Shape): readonly Node[] | undefined {
  if (!operands.every(operand => operand.op === 'broadcast')) return undefined;
  const inner = operands.map(operand => operand.operands[0]);
  return sameShape(inner.map(({shape}) => shape).reduce(broadcastShapes), shape) ? undefined : inner;
}

/** x + 0, x − 0, x·1, x·0, x/1, x^1, x^2, a + (−b), … without building a node. */
function identity(fn: BinaryName, a: Node, b: Node, shape: Shape): Node | undefined {
  const whenA = uniformValue(a);
  const whenB = uniformValue(b);
  const same = (node: Node): Node => broadcastTo(node, shape);
  const negated = (node: Node): Node | undefined => (isOp(node, 'unary') && node.attributes.fn === 'neg' ? node.operands[0] : undefined);
  switch (fn) {
    case 'add': {
      if (whenA === 0 && b.dtype === 'float') return same(b);
      if (whenB === 0 && a.dtype === 'float') return same(a);
      const minusB = negated(b);
      if (minusB !== undefined) return binary('sub', a, minusB);
      const minusA = negated(a);
      return minusA !== undefined ? binary('sub', b, minusA) : sideBySide(a, b) ?? sideBySide(b, a);
    }
    case 'sub': {
      if (whenB === 0 && a.dtype === 'float') return same(a);
      if (whenA === 0 && b.dtype === 'float') return same(unary('neg', b));
      const minusB = negated(b);
      return minusB !== undefined ? binary('add', a, minusB) : undefined;
    }
    case 'mul':
      if (whenA === 1 && b.dtype === 'float') return same(b);
      if (whenB === 1 && a.dtype === 'float') return same(a);
      if (whenA === -1 && b.dtype === 'float') return same(unary('neg', b));
      if (whenB === -1 && a.dtype === 'float') return same(unary('neg', a));
      // A factor that is zero by construction removes the dependence, as sparsity needs; 0·∞ is then 0.
      if (whenA === 0 || whenB === 0) return full(0, shape, resultType(fn, a, b));
      return rescaled(whenA, b, shape) ?? rescaled(whenB, a, shape);
    case 'div':
      if (whenB === 1 && a.dtype === 'float') return same(a);
      if (whenA === 0) return zeros(shape);
      return undefined;
    case 'pow':
      if (whenB === 0) return full(1, shape, resultType(fn, a, b));
      if (whenB === 1) return same(relabel(a, resultType(fn, a, b)));
      if (whenB === 2) return same(relabel(unary('square', a), resultType(fn, a, b)));
      // Two roundings for a call of some fifty times their time: hardening springs are written so.
      if (whenB === 3 && a.dtype === 'float') return same(mul(a, unary('square', a)));
      if (whenB === 0.5) return same(unary('sqrt', a));
      if (whenB === -1) return same(unary('reciprocal', a));
      return undefined;
    default:
      return undefined;
  }
}

/** factor·(other·x) as one product, where that rounds no differently: one of the two is a power of two, as the ½ and the 2 of a derived square. */
function rescaled(factor: number | undefined, x: Node, shape: Shape): Node | undefined {
  if (factor === undefined || x.dtype !== 'float' || !isOp(x, 'binary') || x.attributes.fn !== 'mul') return undefined;
  const [a, b] = x.operands;
  const [other, rest] = uniformValue(a) !== undefined ? [uniformValue(a), b] : [uniformValue(b), a];
  if (other === undefined || rest.dtype !== 'float' || !(isPowerOfTwo(factor) || isPowerOfTwo(other))) return undefined;
  return broadcastTo(binary('mul', rest, scalar(factor * other)), shape);
}

/** Of moderate size, so that the product of two factors neither over- nor underflows. */
function isPowerOfTwo(value: number): boolean {
  const exponent = Math.round(Math.log2(Math.abs(value)));
  return Math.abs(exponent) <= 64 && 2 ** exponent === Math.abs(value);
}

export const add = (a: Node, b: Node): Node => binary('add', a, b);
export const sub = (a: Node, b: Node): Node => binary('sub', a, b);
export const mul = (a: Node, b: Node): Node => binary('mul', a, b);
export const div = (a: Node, b: Node): Node => binary('div', a, b);
export const neg = (x: Node): Node => unary('neg', x);
export const scale = (x: Node, factor: number): Node => binary('mul', x, scalar(factor));

/** condition ? a : b, with broadcasting. */
export function select(condition: Node, a: Node, b: Node): Node {
  let shape = sameShape(a.shape, b.shape) ? a.shape : broadcastShape(a, b);
  if (!sameShape(condition.shape, shape)) shape = broadcastShapes(condition.shape, shape);
  const dtype = commonType([a, b]);
  const known = uniformValue(condition);
  if (known !== undefined) return broadcastTo(relabel(known !== 0 ? a : b, dtype), shape);
  const operands = [condition, a, b].map(operand => broadcastTo(operand, shape));
  const [when, left, right] = unrepeated(operands, shape) ?? [];
  if (when !== undefined && left !== undefined && right !== undefined) return broadcastTo(select(when, left, right), shape);
  return make('select', operands, {}, shape, dtype);
}

/** What values of several types count as together. */
function commonType(nodes: readonly Node[]): DType {
  if (nodes.some(node => node.dtype === 'float')) return 'float';
  return nodes.every(node => node.dtype === 'bool') ? 'bool' : 'int';
}

/** The sum of several values of one shape; nothing is zero of that shape. */
export function addAll(values: readonly (Node | undefined)[]): Node | undefined {
  let total: Node | undefined;
  for (const value of values) {
    if (value !== undefined) total = total === undefined ? value : add(total, value);
  }
  return total;
}

// ------------------------------------------------------------------ shapes

export function broadcastShapes(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  const shape = new Array<number>(rank);
  for (let i = 1; i <= rank; i++) {
    const m = a[a.length - i] ?? 1;
    const n = b[b.length - i] ?? 1;
    if (m !== n && m !== 1 && n !== 1) {
      throw new ShapeError('shape-mismatch', `Shapes [${a.join(', ')}] and [${b.join(', ')}] cannot be broadcast together.`, {shapes: [[...a], [...b]]});
    }
    shape[rank - i] = m === 1 ? n : m;
  }
  return shape;
}

function broadcastShape(a: Node, b: Node): Shape {
  return broadcastShapes(a.shape, b.shape);
}

/** Repeats a value to a larger shape, adding leading axes where it has fewer. */
export function broadcastTo(x: Node, shape: Shape): Node {
  if (sameShape(x.shape, shape)) return x;
  if (!sameShape(broadcastShapes(x.shape, shape), shape)) throw mismatch(`broadcast to [${shape.join(', ')}]`, x);
  const missing = shape.length - x.shape.length;
  const aligned = missing === 0 ? x : reshape(x, [...new Array<number>(missing).fill(1), ...x.shape]);
  if (sameShape(aligned.shape, shape)) return aligned;
  if (aligned.op === 'broadcast') return make('broadcast', aligned.operands, {}, [...shape], x.dtype);
  return make('broadcast', [aligned], {}, [...shape], x.dtype);
}

export function reshape(x: Node, shape: Shape): Node {
  if (sizeOf(shape) !== x.size) throw mismatch(`reshape to [${shape.join(', ')}]`, x);
  return view(x, shape, x.dtype);
}

/** The same numbers counted as another type. */
function relabel(x: Node, dtype: DType): Node {
  return view(x, x.shape, dtype);
}

/** The same numbers in another shape or counted as another type: one node however many of them follow each other. */
function view(x: Node, shape: Shape, dtype: DType): Node {
  if (sameShape(x.shape, shape) && x.dtype === dtype) return x;
  if (x.op === 'reshape') return view(x.operands[0], shape, dtype);
  if (isOp(x, 'constant')) return make('constant', [], x.attributes, [...shape], dtype);
  if (x.op === 'broadcast') {
    if (x.operands[0].size === 1) return broadcastTo(view(x.operands[0], [], dtype), shape);
    // Axes of size 1 more or less do not disturb a broadcast.
    const trimmed = shape.filter(n => n !== 1);
    if (sameShape(trimmed, x.shape.filter(n => n !== 1))) return rebroadcast(x, shape, dtype);
  }
  return make('reshape', [x], {}, [...shape], dtype);
}

/** View of a broadcast that only adds or removes axes of size 1: the operand takes it instead. */
function rebroadcast(x: Node, shape: Shape, dtype: DType): Node {
  const inner = x.operands[0];
  const kept = inner.shape.filter((_, axis) => x.shape[axis] !== 1);
  let next = 0;
  const operandShape = shape.map(n => (n === 1 ? 1 : kept[next++]));
  return broadcastTo(view(inner, operandShape, dtype), shape);
}

export function transpose(x: Node, permutation: readonly number[]): Node {
  if (permutation.every((axis, i) => axis === i)) return x;
  if (isOp(x, 'transpose')) return transpose(x.operands[0], permutation.map(axis => x.attributes.permutation[axis]));
  const shape = permutation.map(axis => x.shape[axis]);
  if (x.op === 'broadcast') return broadcastTo(transpose(x.operands[0], permutation), shape);
  // Moving axes of size 1 alone does not move any number.
  const moving = permutation.filter(axis => x.shape[axis] !== 1);
  if (moving.every((axis, i) => i === 0 || moving[i - 1] < axis)) return reshape(x, shape);
  return make('transpose', [x], {permutation: [...permutation]}, shape, x.dtype);
}

/** Whether begin + i·strides, i < size, are different places inside a shape, axis by axis. */
function fits(begin: readonly number[], size: Shape, strides: readonly number[], shape: Shape): boolean {
  if (begin.length !== shape.length || size.length !== shape.length || strides.length !== shape.length) return false;
  return shape.every((n, axis) => {
    const last = begin[axis] + (size[axis] - 1) * strides[axis];
    const inside = begin[axis] >= 0 && begin[axis] < n && last >= 0 && last < n;
    return size[axis] === 0 || (size[axis] > 0 && inside && (strides[axis] !== 0 || size[axis] === 1));
  });
}

/** x[begin + i·strides], i < size. */
export function slice(x: Node, begin: readonly number[], size: Shape, strides: readonly number[] = begin.map(() => 1)): Node {
  if (!fits(begin, size, strides, x.shape)) {
    throw mismatch(`slice from [${begin.join(', ')}] of size [${size.join(', ')}] and strides [${strides.join(', ')}]`, x);
  }
  if (sameShape(size, x.shape) && strides.every((stride, axis) => stride === 1 || size[axis] <= 1)) return x;
  if (x.op === 'broadcast') {
    const inner = x.operands[0];
    const repeated = x.shape.map((n, axis) => inner.shape[axis] !== n);
    const innerBegin = begin.map((b, axis) => (repeated[axis] ? 0 : b));
    const innerSize = size.map((n, axis) => (repeated[axis] ? 1 : n));
    if (sizeOf(size) > 0) return broadcastTo(slice(inner, innerBegin, innerSize, strides.map((s, axis) => (repeated[axis] ? 1 : s))), size);
  }
  if (isOp(x, 'slice')) {
    const from = x.attributes;
    return slice(x.operands[0], begin.map((b, axis) => from.begin[axis] + b * from.strides[axis]), size, strides.map((s, axis) => s * from.strides[axis]));
  }
  return make('slice', [x], {begin: [...begin], strides: [...strides]}, [...size], x.dtype);
}

/** Zeros of the given shape with x at begin + i·strides: the transpose of slice. */
export function place(x: Node, begin: readonly number[], shape: Shape, strides: readonly number[] = begin.map(() => 1)): Node {
  if (!fits(begin, x.shape, strides, shape)) {
    throw mismatch(`place at [${begin.join(', ')}] with strides [${strides.join(', ')}] in [${shape.join(', ')}]`, x);
  }
  if (sameShape(x.shape, shape) && strides.every((stride, axis) => stride === 1 || shape[axis] <= 1)) return x;
  if (uniformValue(x) === 0) return full(0, shape, x.dtype);
  return make('place', [x], {begin: [...begin], strides: [...strides]}, [...shape], x.dtype);
}

/** The sum of two placed values of which the second begins where the first ends along one axis: both as one. So the parts of a state's cotangent come together. */
function sideBySide(first: Node, second: Node): Node | undefined {
  if (!isOp(first, 'place') || !isOp(second, 'place') || first.dtype !== second.dtype) return undefined;
  const [a, b] = [first.operands[0], second.operands[0]];
  const [begin, next] = [first.attributes.begin, second.attributes.begin];
  if ([...first.attributes.strides, ...second.attributes.strides].some(stride => stride !== 1)) return undefined;
  const different = begin.map((_, axis) => axis).filter(axis => begin[axis] !== next[axis]);
  const [axis] = different;
  if (different.length !== 1 || next[axis] !== begin[axis] + a.shape[axis]) return undefined;
  if (a.shape.some((n, i) => i !== axis && n !== b.shape[i])) return undefined;
  return place(concat([a, b], axis), begin, first.shape);
}

export function concat(parts: readonly Node[], axis: number): Node {
  const dtype = commonType(parts);
  const kept = parts.flatMap(part => (isOp(part, 'concat') && part.attributes.axis === axis && part.dtype === dtype ? part.operands : [part])).filter(part => part.shape[axis] > 0);
  if (kept.length <= 1) return relabel(kept[0] ?? parts[0], dtype);
  const first = kept[0];
  for (const part of kept) {
    if (part.shape.length !== first.shape.length || part.shape.some((n, i) => i !== axis && n !== first.shape[i])) throw mismatch(`concat along axis ${axis}`, first, part);
  }
  const total = kept.reduce((sum, part) => sum + part.shape[axis], 0);
  return make('concat', kept, {axis}, first.shape.map((n, i) => (i === axis ? total : n)), dtype);
}

// ------------------------------------------------------------------ indexing

function requireTable(what: string, x: Node, table: Int32Array, length: number, range: number): void {
  if (table.length === length && table.every(at => at >= -1 && at < range)) return;
  throw mismatch(`${what} with a table of ${table.length} positions, which should be ${length} below ${range}`, x);
}

/** y[i] = x[table[i]] over flat positions, zero where the table says −1. */
export function gather(x: Node, table: Int32Array, shape: Shape): Node {
  requireTable('gather', x, table, sizeOf(shape), x.size);
  if (isOp(x, 'gather')) {
    const inner = x.attributes.table;
    return gather(x.operands[0], table.map(at => (at < 0 ? -1 : inner[at])), shape);
  }
  if (x.op === 'reshape') return relabel(gather(x.operands[0], table, shape), x.dtype);
  if (table.length === x.size && table.every((at, i) => at === i)) return reshape(x, shape);
  return make('gather', [x], {table}, [...shape], x.dtype);
}

/** y[table[i]] += x[i] over flat positions of zeros. */
export function scatter(x: Node, table: Int32Array, shape: Shape): Node {
  requireTable('scatter', x, table, x.size, sizeOf(shape));
  if (uniformValue(x) === 0) return full(0, shape, x.dtype);
  if (table.length === sizeOf(shape) && table.every((at, i) => at === i)) return reshape(x, shape);
  return make('scatter', [x], {table}, [...shape], x.dtype);
}

/** x flat at computed positions (any shape, which the result takes). */
export function gatherAt(x: Node, positions: Node): Node {
  return make('gatherAt', [x, positions], {}, positions.shape, x.dtype);
}

/** Zeros of the given shape; x added at computed flat positions, one for each element of x. */
export function scatterAt(x: Node, positions: Node, shape: Shape): Node {
  if (!sameShape(x.shape, positions.shape)) throw mismatch('scatter', x, positions);
  return make('scatterAt', [x, positions], {}, [...shape], x.dtype);
}

export function searchSorted(sorted: Node, values: Node, side: 'left' | 'right'): Node {
  if (sorted.shape.length !== 2 || values.shape.length !== 2 || sorted.shape[0] !== values.shape[0]) throw mismatch('searchSorted', sorted, values);
  return make('searchSorted', [sorted, values], {side}, values.shape, 'int');
}

// ------------------------------------------------------------------ reductions

function droppedAxes(shape: Shape, axes: readonly number[]): Shape {
  return shape.filter((_, axis) => !axes.includes(axis));
}

/** Truth values add up to a count. */
const summedType = (x: Node): DType => (x.dtype === 'float' ? 'float' : 'int');

/** Sum over axes, which are dropped. */
export function sum(x: Node, axes: readonly number[]): Node {
  const sorted = [...axes].sort((a, b) => a - b);
  if (sorted.length === 0) return x;
  const shape = droppedAxes(x.shape, sorted);
  if (sorted.every(axis => x.shape[axis] === 1)) return view(x, shape, summedType(x));
  const dtype = summedType(x);
  if (uniformValue(x) === 0) return full(0, shape, dtype);
  return make('sum', [x], {axes: sorted}, shape, dtype);
}

function extreme(op: 'max' | 'min', x: Node, axes: readonly number[]): Node {
  const sorted = [...axes].sort((a, b) => a - b);
  const shape = droppedAxes(x.shape, sorted);
  if (sorted.every(axis => x.shape[axis] === 1)) return reshape(x, shape);
  return make(op, [x], {axes: sorted}, shape, x.dtype);
}

export const max = (x: Node, axes: readonly number[]): Node => extreme('max', x, axes);
export const min = (x: Node, axes: readonly number[]): Node => extreme('min', x, axes);

export function argExtreme(op: 'argMax' | 'argMin', x: Node, axis: number): Node {
  return make(op, [x], {axis}, droppedAxes(x.shape, [axis]), 'int');
}

export function cumsum(x: Node, axis: number, exclusive: boolean, reverse: boolean): Node {
  return make('cumsum', [x], {axis, exclusive, reverse}, x.shape, summedType(x));
}

/** Sums away the axes that broadcasting added or stretched: the transpose of broadcastTo. */
export function sumTo(x: Node, shape: Shape): Node {
  const lead = x.shape.length - shape.length;
  const axes: number[] = [];
  for (let axis = 0; axis < x.shape.length; axis++) {
    if (axis < lead || (shape[axis - lead] === 1 && x.shape[axis] !== 1)) axes.push(axis);
  }
  return reshape(sum(x, axes), shape);
}

/** Puts reduced axes back, as size 1, and repeats to the unreduced shape. */
export function expandReduced(reduced: Node, shape: Shape, axes: readonly number[]): Node {
  return broadcastTo(reshape(reduced, shape.map((n, axis) => (axes.includes(axis) ? 1 : n))), shape);
}

// ------------------------------------------------------------------ contraction and factorization

export function matMul(a: Node, b: Node, transposeA = false, transposeB = false): Node {
  if (a.shape.length !== 3 || b.shape.length !== 3 || a.shape[0] !== b.shape[0]) throw mismatch('matMul', a, b);
  const m = a.shape[transposeA ? 2 : 1];
  const k = a.shape[transposeA ? 1 : 2];
  const n = b.shape[transposeB ? 1 : 2];
  if (k !== b.shape[transposeB ? 2 : 1]) throw mismatch('matMul', a, b);
  if (uniformValue(a) === 0 || uniformValue(b) === 0) return zeros([a.shape[0], m, n]);
  return make('matMul', [a, b], {transposeA, transposeB}, [a.shape[0], m, n], 'float');
}

function requireSquare(what: string, a: Node): void {
  if (a.shape.length !== 3 || a.shape[1] !== a.shape[2]) throw mismatch(`${what} of a matrix that is not square`, a);
}

export function solve(a: Node, b: Node, adjoint = false): Node {
  requireSquare('solve', a);
  if (b.shape.length !== 3 || b.shape[0] !== a.shape[0] || b.shape[1] !== a.shape[1]) throw mismatch('solve', a, b);
  return make('solve', [a, b], {adjoint}, b.shape, 'float');
}

export function triangularSolve(t: Node, b: Node, lower: boolean, adjoint = false): Node {
  requireSquare('triangularSolve', t);
  if (b.shape.length !== 3 || b.shape[0] !== t.shape[0] || b.shape[1] !== t.shape[1]) throw mismatch('triangularSolve', t, b);
  return make('triangularSolve', [t, b], {lower, adjoint}, b.shape, 'float');
}

export function cholesky(a: Node): Node {
  requireSquare('cholesky', a);
  return make('cholesky', [a], {}, a.shape, 'float');
}

export function lu(a: Node): Node {
  requireSquare('lu', a);
  return make('lu', [a], {}, a.shape, 'float');
}

export function luPermutation(a: Node): Node {
  requireSquare('luPermutation', a);
  return make('luPermutation', [a], {}, [a.shape[0], a.shape[1]], 'int');
}

export function semidefinite(a: Node, negative: Attributes['semidefinite']['negative']): Node {
  requireSquare('semidefinite', a);
  return make('semidefinite', [a], {negative}, a.shape, 'float');
}

export function eigen(a: Node): Node {
  requireSquare('eigen', a);
  return make('eigen', [a], {}, [a.shape[0], a.shape[1] + 1, a.shape[1]], 'float');
}

export function svd(a: Node, fullMatrices: boolean): Node {
  if (a.shape.length !== 3) throw mismatch('svd of what is no matrix', a);
  const [batch, m, n] = a.shape;
  const k = Math.min(m, n);
  return make('svd', [a], {fullMatrices}, [batch, k + (fullMatrices ? m * m + n * n : (m + n) * k)], 'float');
}

export function leastSquares(a: Node, b: Node): Node {
  if (a.shape.length !== 3 || b.shape.length !== 3 || b.shape[0] !== a.shape[0] || b.shape[1] !== a.shape[1]) throw mismatch('leastSquares', a, b);
  return make('leastSquares', [a, b], {}, [a.shape[0], a.shape[2], b.shape[2]], 'float');
}

/** A cast that changes what a value counts as: to int it truncates, to bool it asks whether it is not zero. */
export function cast(x: Node, dtype: DType): Node {
  if (x.dtype === dtype) return x;
  if (dtype === 'bool') return unary('nonzero', x);
  if (dtype === 'int' && x.dtype === 'float') return unary('truncate', x);
  return relabel(x, dtype);
}

// ------------------------------------------------------------------ generic reconstruction

/** The same primitive on other operands of the same shapes, through the constructors above. */
export function rebuild(node: Node, operands: readonly Node[]): Node {
  const [a, b, c] = operands;
  const built = ((): Node => {
    if (isOp(node, 'unary')) return unary(node.attributes.fn, a);
    if (isOp(node, 'binary')) return binary(node.attributes.fn, a, b);
    if (isOp(node, 'slice')) return slice(a, node.attributes.begin, node.shape, node.attributes.strides);
    if (isOp(node, 'place')) return place(a, node.attributes.begin, node.shape, node.attributes.strides);
    if (isOp(node, 'transpose')) return transpose(a, node.attributes.permutation);
    if (isOp(node, 'concat')) return concat(operands, node.attributes.axis);
    if (isOp(node, 'gather')) return gather(a, node.attributes.table, node.shape);
    if (isOp(node, 'scatter')) return scatter(a, node.attributes.table, node.shape);
    if (isOp(node, 'sum')) return sum(a, node.attributes.axes);
    if (isOp(node, 'matMul')) return matMul(a, b, node.attributes.transposeA, node.attributes.transposeB);
    switch (node.op) {
      case 'select': return select(a, b, c);
      case 'reshape': return reshape(a, node.shape);
      case 'broadcast': return broadcastTo(a, node.shape);
      default: return make(node.op, operands, node.attributes, node.shape, node.dtype);
    }
  })();
  return relabel(built, node.dtype);
}

/** Row-major flat positions of every element of a strided view. */
export function viewTable(shape: Shape, offset: number, strides: readonly number[]): Int32Array {
  const table = new Int32Array(sizeOf(shape));
  const index = new Array<number>(shape.length).fill(0);
  let at = offset;
  for (let i = 0; i < table.length; i++) {
    table[i] = at;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return table;
}

/** Flat positions in the operand of each element of a transpose, broadcast or slice. */
export function operandTable(node: Node): Int32Array {
  const operand = node.operands[0];
  const strides = stridesOf(operand.shape);
  if (isOp(node, 'transpose')) return viewTable(node.shape, 0, node.attributes.permutation.map(axis => strides[axis]));
  if (isOp(node, 'broadcast')) return viewTable(node.shape, 0, operand.shape.map((n, axis) => (n === node.shape[axis] ? strides[axis] : 0)));
  if (isOp(node, 'slice')) return sliceTable(node.shape, node.attributes, strides);
  throw new ShapeError('not-a-view', `${node.op} is not a view of its operand.`);
}

/** Flat positions in the large side of a slice or place. */
export function sliceTable(small: Shape, at: {begin: readonly number[]; strides: readonly number[]}, largeStrides: readonly number[]): Int32Array {
  let offset = 0;
  for (let axis = 0; axis < small.length; axis++) offset += at.begin[axis] * largeStrides[axis];
  return viewTable(small, offset, at.strides.map((stride, axis) => stride * largeStrides[axis]));
}
