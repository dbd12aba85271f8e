/**
 * Arithmetic, comparison and logic, element by element. Whole numbers stay whole where the function
 * keeps them so; of exp, sin and their like the result is real here, where tfjs cuts it off to int32.
 */
import type * as tf from '@tensorflow/tfjs';
import {
  addAll,
  binary,
  cast,
  full,
  mapped as usersFunction,
  mul,
  reshape,
  scalar,
  select,
  sub,
  unary,
} from '../../graph/build.js';
import type {BinaryName, Node, UnaryName} from '../../graph/node.js';
import type {Binary, Lowering, Lowerings, Unary} from '../lowering.js';
import {lower, lowerList, typeOf} from '../lowering.js';

/** tfjs kernels that are one of our functions of one value. */
export const unaries: Readonly<Record<string, UnaryName>> = {
  Abs: 'abs',
  Acos: 'acos',
  Acosh: 'acosh',
  Asin: 'asin',
  Asinh: 'asinh',
  Atan: 'atan',
  Atanh: 'atanh',
  Cos: 'cos',
  Cosh: 'cosh',
  Erf: 'erf',
  Exp: 'exp',
  Expm1: 'expm1',
  IsFinite: 'isFinite',
  IsInf: 'isInf',
  IsNan: 'isNaN',
  Log: 'log',
  Log1p: 'log1p',
  LogicalNot: 'not',
  Neg: 'neg',
  Reciprocal: 'reciprocal',
  Relu: 'relu',
  Rsqrt: 'rsqrt',
  Sigmoid: 'sigmoid',
  Sign: 'sign',
  Sin: 'sin',
  Sinh: 'sinh',
  Softplus: 'softplus',
  Sqrt: 'sqrt',
  Square: 'square',
  Tan: 'tan',
  Tanh: 'tanh',
};

/** Roundings leave whole numbers, and their type, as they are. */
export const roundings: Readonly<Record<string, UnaryName>> = {Ceil: 'ceil', Floor: 'floor', Round: 'round'};

export const binaries: Readonly<Record<string, BinaryName>> = {
  Add: 'add',
  Atan2: 'atan2',
  BitwiseAnd: 'bitwiseAnd',
  Equal: 'equal',
  Greater: 'greater',
  GreaterEqual: 'greaterEqual',
  Less: 'less',
  LessEqual: 'lessEqual',
  LogicalAnd: 'and',
  LogicalOr: 'or',
  Maximum: 'maximum',
  Minimum: 'minimum',
  Mod: 'mod',
  Multiply: 'mul',
  NotEqual: 'notEqual',
  Pow: 'pow',
  RealDiv: 'div',
  Sub: 'sub',
};

/** x held between two bounds; at a bound the derivative is x's, as in tfjs. */
export function clip(x: Node, low: number, high: number): Node {
  return cast(binary('maximum', binary('minimum', x, scalar(high, x.dtype)), scalar(low, x.dtype)), x.dtype);
}

/** tfjs lets a condition of one axis choose whole rows. */
function where(condition: Node, a: Node, b: Node): Node {
  const rows = condition.shape.length === 1 && a.shape.length > 1;
  const chooser = rows ? reshape(condition, [condition.size, ...a.shape.slice(1).map(() => 1)]) : condition;
  const dtype = a.dtype === b.dtype ? a.dtype : a.dtype === 'float' || b.dtype === 'float' ? 'float' : 'int';
  return select(chooser, cast(a, dtype), cast(b, dtype));
}

function mapped<T>(names: Readonly<Record<string, T>>, lowering: (fn: T) => Lowering): Lowerings {
  return Object.fromEntries(Object.entries(names).map(([kernel, fn]) => [kernel, lowering(fn)]));
}

export const elementwise: Lowerings = {
  ...mapped(unaries, fn => lower<Unary>(({x}) => unary(fn, x))),
  ...mapped(roundings, fn => lower<Unary>(({x}) => (x.dtype === 'float' ? unary(fn, x) : x))),
  ...mapped(binaries, fn => lower<Binary>(({a, b}) => binary(fn, a, b))),
  AddN: lowerList(parts => addAll(parts) ?? scalar(0)),
  Cast: lower<Unary, tf.CastAttrs>(({x}, {dtype}) => cast(x, typeOf(dtype))),
  ClipByValue: lower<Unary, tf.ClipByValueAttrs>(({x}, {clipValueMin, clipValueMax}) =>
    clip(x, clipValueMin, clipValueMax),
  ),
  FloorDiv: lower<Binary>(({a, b}) => cast(binary('floorDiv', a, b), 'int')),
  Identity: lower<Unary>(({x}) => x),
  OnesLike: lower<Unary>(({x}) => full(1, x.shape, x.dtype)),
  Select: lower<{condition: Node; t: Node; e: Node}>(({condition, t, e}) => where(condition, t, e)),
  SquaredDifference: lower<Binary>(({a, b}) => unary('square', sub(a, b))),
  Step: lower<Unary, tf.StepAttrs>(({x}, {alpha}) => {
    const positive = unary('positive', x);
    return alpha === 0 ? positive : select(positive, full(1, x.shape), full(alpha, x.shape));
  }),
  // A user's function, see define-primitive.ts.
  StiffgradMapped: (operands, attributes) =>
    usersFunction((attributes as {fn: number}).fn, Object.values(operands as Readonly<Record<string, Node>>)),
  ZerosLike: lower<Unary>(({x}) => full(0, x.shape, x.dtype)),
  // The linear part of elu's derivative, in terms of elu's result.
  EluGrad: lower<{dy: Node; y: Node}>(({dy, y}) =>
    select(binary('greaterEqual', y, scalar(0)), dy, mul(dy, binary('add', y, scalar(1)))),
  ),
};
