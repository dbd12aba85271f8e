/** Functions of one, two or three values, element by element, with the usual broadcasting of shapes. */
import type {BinaryName, DType, Node, Shape, UnaryName} from '../node.js';
import {isOp, sameShape} from '../node.js';
import {commonType, make, scalar, uniformValue} from './make.js';
import {broadcastShape, broadcastShapes, broadcastTo, concat, constant, full, place, relabel, zeros} from './shapes.js';

/** Functions whose result is a truth value. */
const truths = new Set<UnaryName | BinaryName>([
  'isNaN',
  'isInf',
  'isFinite',
  'not',
  'nonzero',
  'equal',
  'notEqual',
  'less',
  'lessEqual',
  'greater',
  'greaterEqual',
  'and',
  'or',
]);

/** Functions that keep whole numbers whole. */
const whole = new Set<UnaryName | BinaryName>([
  'neg',
  'abs',
  'sign',
  'square',
  'relu',
  'positive',
  'truncate',
  'add',
  'sub',
  'mul',
  'maximum',
  'minimum',
  'mod',
  'floorDiv',
  'pow',
  'bitwiseAnd',
]);

function resultType(fn: UnaryName | BinaryName, ...operands: readonly Node[]): DType {
  if (truths.has(fn)) return 'bool';
  if (fn === 'truncate') return 'int';
  return whole.has(fn) && operands.every(node => node.dtype !== 'float') ? 'int' : 'float';
}

export function unary(fn: UnaryName, x: Node): Node {
  if (fn === 'neg') {
    if (isOp(x, 'unary') && x.attributes.fn === 'neg') return relabel(x.operands[0], x.dtype);
    if (isOp(x, 'constant') && x.size === 1)
      return constant(
        x.attributes.values.map(value => -value),
        x.shape,
        resultType(fn, x),
      );
  }
  // A function of a repeated value is the repeated function of it.
  if (x.op === 'broadcast') return broadcastTo(unary(fn, x.operands[0]), x.shape);
  return make('unary', [x], {fn}, x.shape, resultType(fn, x));
}

/** A user's function of operands of one shape, see primitives/mapped.ts. */
export function mapped(fn: number, operands: readonly Node[]): Node<'mapped'> {
  return make('mapped', operands, {fn}, operands[0].shape, 'float');
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

/** Operands that are all repeated along a common axis, without it: to compute once and repeat the result. */
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
  const negated = (node: Node): Node | undefined =>
    isOp(node, 'unary') && node.attributes.fn === 'neg' ? node.operands[0] : undefined;
  switch (fn) {
    case 'add': {
      if (whenA === 0 && b.dtype === 'float') return same(b);
      if (whenB === 0 && a.dtype === 'float') return same(a);
      const minusB = negated(b);
      if (minusB !== undefined) return binary('sub', a, minusB);
      const minusA = negated(a);
      return minusA !== undefined ? binary('sub', b, minusA) : (sideBySide(a, b) ?? sideBySide(b, a));
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

/** factor·(other·x) as one product where that rounds no differently: one of the two is a power of two. */
function rescaled(factor: number | undefined, x: Node, shape: Shape): Node | undefined {
  if (factor === undefined || x.dtype !== 'float' || !isOp(x, 'binary') || x.attributes.fn !== 'mul') return undefined;
  const [a, b] = x.operands;
  const [other, rest] = uniformValue(a) !== undefined ? [uniformValue(a), b] : [uniformValue(b), a];
  if (other === undefined || rest.dtype !== 'float' || !(isPowerOfTwo(factor) || isPowerOfTwo(other))) return undefined;
  return broadcastTo(binary('mul', rest, scalar(factor * other)), shape);
}

/** Whether a factor is of moderate size, so that the product of two neither over- nor underflows. */
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
  if (when !== undefined && left !== undefined && right !== undefined)
    return broadcastTo(select(when, left, right), shape);
  return make('select', operands, {}, shape, dtype);
}

/** The sum of several values of one shape; nothing is zero of that shape. */
export function addAll(values: readonly (Node | undefined)[]): Node | undefined {
  let total: Node | undefined;
  for (const value of values) {
    if (value !== undefined) total = total === undefined ? value : add(total, value);
  }
  return total;
}

/** The sum of two placed values as one, where the second begins where the first ends along an axis. */
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

/** A cast that changes what a value counts as: to int it truncates, to bool it asks whether it is not zero. */
export function cast(x: Node, dtype: DType): Node {
  if (x.dtype === dtype) return x;
  if (dtype === 'bool') return unary('nonzero', x);
  if (dtype === 'int' && x.dtype === 'float') return unary('truncate', x);
  return relabel(x, dtype);
}
