/** Functions of one, two or three values, element by element. */
import {
  add,
  addAll,
  binary,
  broadcastTo,
  div,
  full,
  mul,
  neg,
  scalar,
  scale,
  select,
  sub,
  unary,
  uniformValue,
  zeros,
} from '../build.js';
import type {BinaryName, Node, UnaryName} from '../node.js';
import {binaryKernel, unaryKernel} from './loops.js';
import type {Primitive} from './primitive.js';
import {erf, floorMod, roundHalfEven, sigmoid, sign, softplus} from './special.js';
import {cos, exp, expm1, log, log1p, sin, tanh} from './transcendental.js';

interface UnaryRule {
  readonly value: (x: number) => number;
  /** dy/dx in terms of operand and result; absent where it is zero almost everywhere. */
  readonly derivative?: (x: Node, y: Node) => Node;
}

const one = scalar(1);

/** 1 − x² as a product: exact to rounding also next to ±1, where the difference of squares is not. */
const oneMinusSquare = (x: Node): Node => mul(sub(one, x), add(one, x));

/**
 * ±1, never 0: so |x|² has the second derivative 2 at 0 too, as a product of slopes; tf.norm is made of
 * it, and a spring along an axis has zeros there. −1 at 0 as tfjs has it: a traced tf.grad and this agree.
 */
const slopeOfAbs = (x: Node): Node => select(unary('positive', x), one, scalar(-1));

/** Value and derivative of every function of one argument. */
export const unaryRules: {readonly [F in UnaryName]: UnaryRule} = {
  neg: {value: x => -x, derivative: x => full(-1, x.shape)},
  abs: {value: Math.abs, derivative: slopeOfAbs},
  sign: {value: sign},
  square: {value: x => x * x, derivative: x => scale(x, 2)},
  sqrt: {value: Math.sqrt, derivative: (_, y) => div(scalar(0.5), y)},
  rsqrt: {value: x => 1 / Math.sqrt(x), derivative: (x, y) => scale(div(y, x), -0.5)},
  reciprocal: {value: x => 1 / x, derivative: (_, y) => neg(unary('square', y))},
  exp: {value: exp, derivative: (_, y) => y},
  expm1: {value: expm1, derivative: x => unary('exp', x)},
  log: {value: log, derivative: x => unary('reciprocal', x)},
  log1p: {value: log1p, derivative: x => unary('reciprocal', add(x, one))},
  sin: {value: sin, derivative: x => unary('cos', x)},
  cos: {value: cos, derivative: x => neg(unary('sin', x))},
  tan: {value: Math.tan, derivative: (_, y) => add(unary('square', y), one)},
  asin: {value: Math.asin, derivative: x => unary('rsqrt', oneMinusSquare(x))},
  acos: {value: Math.acos, derivative: x => neg(unary('rsqrt', oneMinusSquare(x)))},
  atan: {value: Math.atan, derivative: x => unary('reciprocal', add(unary('square', x), one))},
  sinh: {value: Math.sinh, derivative: x => unary('cosh', x)},
  cosh: {value: Math.cosh, derivative: x => unary('sinh', x)},
  tanh: {value: tanh, derivative: (_, y) => sub(one, unary('square', y))},
  asinh: {value: Math.asinh, derivative: x => unary('rsqrt', add(unary('square', x), one))},
  acosh: {value: Math.acosh, derivative: x => unary('rsqrt', mul(sub(x, one), add(x, one)))},
  atanh: {value: Math.atanh, derivative: x => unary('reciprocal', oneMinusSquare(x))},
  sigmoid: {value: sigmoid, derivative: (_, y) => mul(y, sub(one, y))},
  softplus: {value: softplus, derivative: x => unary('sigmoid', x)},
  erf: {value: erf, derivative: x => scale(unary('exp', neg(unary('square', x))), 2 / Math.sqrt(Math.PI))},
  relu: {value: x => Math.max(x, 0), derivative: x => unary('positive', x)},
  positive: {value: x => (x > 0 ? 1 : 0)},
  floor: {value: Math.floor},
  ceil: {value: Math.ceil},
  round: {value: roundHalfEven},
  truncate: {value: Math.trunc},
  isNaN: {value: x => (Number.isNaN(x) ? 1 : 0)},
  isInf: {value: x => (Math.abs(x) === Infinity ? 1 : 0)},
  isFinite: {value: x => (Number.isFinite(x) ? 1 : 0)},
  not: {value: x => (x === 0 ? 1 : 0)},
  nonzero: {value: x => (x !== 0 ? 1 : 0)},
};

interface BinaryRule {
  readonly value: (a: number, b: number) => number;
  readonly tangent?: (a: Node, b: Node, y: Node, da: Node | undefined, db: Node | undefined) => Node | undefined;
}

const times = (factor: Node, tangent: Node | undefined): Node | undefined =>
  tangent === undefined ? undefined : mul(factor, tangent);
const choose = (condition: Node, a: Node | undefined, b: Node | undefined): Node | undefined =>
  a === undefined && b === undefined
    ? undefined
    : select(condition, a ?? zeros(condition.shape), b ?? zeros(condition.shape));

/** Value and tangent of every function of two arguments; at a tie, maximum and minimum follow the first. */
export const binaryRules: {readonly [F in BinaryName]: BinaryRule} = {
  add: {value: (a, b) => a + b, tangent: (_a, _b, _y, da, db) => addAll([da, db])},
  sub: {
    value: (a, b) => a - b,
    tangent: (_a, _b, _y, da, db) => (db === undefined ? da : da === undefined ? neg(db) : sub(da, db)),
  },
  mul: {value: (a, b) => a * b, tangent: (a, b, _y, da, db) => addAll([times(b, da), times(a, db)])},
  div: {
    value: (a, b) => a / b,
    tangent: (_a, b, y, da, db) => {
      const numerator = db === undefined ? da : da === undefined ? neg(mul(y, db)) : sub(da, mul(y, db));
      return numerator === undefined ? undefined : div(numerator, b);
    },
  },
  pow: {value: Math.pow, tangent: powTangent},
  maximum: {value: Math.max, tangent: (a, b, _y, da, db) => choose(binary('greaterEqual', a, b), da, db)},
  minimum: {value: Math.min, tangent: (a, b, _y, da, db) => choose(binary('lessEqual', a, b), da, db)},
  mod: {value: floorMod, tangent: (a, b, _y, da, db) => addAll([da, times(neg(binary('floorDiv', a, b)), db)])},
  floorDiv: {value: (a, b) => Math.floor(a / b)},
  atan2: {
    value: Math.atan2,
    tangent: (a, b, _y, da, db) => {
      const squared = add(unary('square', a), unary('square', b));
      return addAll([times(div(b, squared), da), times(neg(div(a, squared)), db)]);
    },
  },
  equal: {value: (a, b) => (a === b ? 1 : 0)},
  notEqual: {value: (a, b) => (a !== b ? 1 : 0)},
  less: {value: (a, b) => (a < b ? 1 : 0)},
  lessEqual: {value: (a, b) => (a <= b ? 1 : 0)},
  greater: {value: (a, b) => (a > b ? 1 : 0)},
  greaterEqual: {value: (a, b) => (a >= b ? 1 : 0)},
  and: {value: (a, b) => (a !== 0 && b !== 0 ? 1 : 0)},
  or: {value: (a, b) => (a !== 0 || b !== 0 ? 1 : 0)},
  bitwiseAnd: {value: (a, b) => a & b},
};

/**
 * d(aᵇ) = b a^(b−1) da + aᵇ log a db; the second only where a > 0, as its limit at a = 0⁺ is 0. Where
 * b = 0 the first is zero, also at a = 0, where a^(b−1) is infinite.
 */
function powTangent(a: Node, b: Node, y: Node, da: Node | undefined, db: Node | undefined): Node | undefined {
  const exponent = uniformValue(b);
  const less = exponent !== undefined ? scalar(exponent - 1) : select(binary('equal', b, scalar(0)), one, sub(b, one));
  const byBase = da === undefined || exponent === 0 ? undefined : mul(mul(b, binary('pow', a, less)), da);
  if (db === undefined) return byBase;
  const positive = binary('greater', a, scalar(0));
  const logarithm = unary('log', select(positive, a, full(1, a.shape)));
  return addAll([byBase, mul(mul(y, logarithm), db)]);
}

/** Operands without the leading axis take it by repetition; the others have it. */
export function aligned(operands: readonly Node[], batched: readonly boolean[], size: number): Node[] {
  return operands.map((operand, k) => (batched[k] ? operand : broadcastTo(operand, [size, ...operand.shape])));
}

export const unaryPrimitive: Primitive<'unary'> = {
  evaluate: node => unaryKernel(node.attributes.fn),
  tangent(node, [dx]) {
    if (dx === undefined) return undefined;
    if (node.attributes.fn === 'neg') return neg(dx);
    const derivative = unaryRules[node.attributes.fn].derivative;
    return derivative === undefined ? undefined : mul(derivative(node.operands[0], node), dx);
  },
  transpose(node, cotangent) {
    if (node.attributes.fn !== 'neg') throw new Error(`${node.attributes.fn} is not linear`);
    return [neg(cotangent)];
  },
  dependence: node => (unaryRules[node.attributes.fn].derivative === undefined ? 'none' : 'same'),
  batch: (node, [x]) => unary(node.attributes.fn, x),
};

export const binaryPrimitive: Primitive<'binary'> = {
  evaluate: node => binaryKernel(node.attributes.fn),
  tangent(node, [da, db]) {
    if (da === undefined && db === undefined) return undefined;
    const [a, b] = node.operands;
    return binaryRules[node.attributes.fn].tangent?.(a, b, node, da, db);
  },
  transpose(node, cotangent, linear) {
    const [a, b] = node.operands;
    switch (node.attributes.fn) {
      case 'add':
        return [linear[0] ? cotangent : undefined, linear[1] ? cotangent : undefined];
      case 'sub':
        return [linear[0] ? cotangent : undefined, linear[1] ? neg(cotangent) : undefined];
      case 'mul':
        if (linear[0] && linear[1]) break;
        return [linear[0] ? mul(cotangent, b) : undefined, linear[1] ? mul(cotangent, a) : undefined];
      case 'div':
        if (linear[1]) break;
        return [div(cotangent, b), undefined];
      default:
    }
    throw new Error(`${node.attributes.fn} is not linear in these operands`);
  },
  dependence: node => (binaryRules[node.attributes.fn].tangent === undefined ? 'none' : 'same'),
  batch(node, operands, batched, size) {
    const [a, b] = aligned(operands, batched, size);
    return binary(node.attributes.fn, a, b);
  },
};

export const selectPrimitive: Primitive<'select'> = {
  evaluate:
    () =>
    ([condition, a, b], out) => {
      for (let i = 0; i < out.length; i++) out[i] = condition[i] !== 0 ? a[i] : b[i];
    },
  tangent: (node, [, da, db]) => choose(node.operands[0], da, db),
  transpose(node, cotangent, linear) {
    const nothing = zeros(node.shape);
    const [condition] = node.operands;
    return [
      undefined,
      linear[1] ? select(condition, cotangent, nothing) : undefined,
      linear[2] ? select(condition, nothing, cotangent) : undefined,
    ];
  },
  dependence: (_, operand) => (operand === 0 ? 'none' : 'same'),
  batch(_, operands, batched, size) {
    const [condition, a, b] = aligned(operands, batched, size);
    return select(condition, a, b);
  },
};
