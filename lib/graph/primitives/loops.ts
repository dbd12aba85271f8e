/**
 * The loops over functions of numbers. Each has its own: in one loop for all of them V8 calls the function
 * through a pointer, ten times slower for an addition, and puts every result on the heap.
 */
import type {BinaryName, UnaryName} from '../node.js';
import type {Kernel} from './primitive.js';
import {erf, floorMod, roundHalfEven, sigmoid, sign} from './special.js';
import {cos, exp, expm1, log, log1p, log1pOfUnit, sin, tanh} from './transcendental.js';

type UnaryLoop = (x: Float64Array, out: Float64Array) => void;
/** p and q are 1 for an array and 0 for a single number, which stands for all elements. */
type BinaryLoop = (a: Float64Array, p: number, b: Float64Array, q: number, out: Float64Array) => void;

const unaryLoops: {readonly [F in UnaryName]: UnaryLoop} = {
  neg: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = -x[i];
  },
  abs: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.abs(x[i]);
  },
  sign: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = sign(x[i]);
  },
  square: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = x[i] * x[i];
  },
  sqrt: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.sqrt(x[i]);
  },
  rsqrt: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = 1 / Math.sqrt(x[i]);
  },
  reciprocal: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = 1 / x[i];
  },
  exp: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = exp(x[i]);
  },
  expm1: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = expm1(x[i]);
  },
  log: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = log(x[i]);
  },
  log1p: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = log1p(x[i]);
  },
  sin: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = sin(x[i]);
  },
  cos: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = cos(x[i]);
  },
  tan: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.tan(x[i]);
  },
  asin: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.asin(x[i]);
  },
  acos: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.acos(x[i]);
  },
  atan: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.atan(x[i]);
  },
  sinh: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.sinh(x[i]);
  },
  cosh: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.cosh(x[i]);
  },
  tanh: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = tanh(x[i]);
  },
  asinh: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.asinh(x[i]);
  },
  acosh: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.acosh(x[i]);
  },
  atanh: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.atanh(x[i]);
  },
  sigmoid: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = sigmoid(x[i]);
  },
  // One function at a time: V8 does not put all three in one loop, and what a call returns goes on the heap.
  softplus: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = exp(-Math.abs(x[i]));
    for (let i = 0; i < out.length; i++) out[i] = Math.max(x[i], 0) + log1pOfUnit(out[i]);
  },
  erf: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = erf(x[i]);
  },
  relu: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.max(x[i], 0);
  },
  positive: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = x[i] > 0 ? 1 : 0;
  },
  floor: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.floor(x[i]);
  },
  ceil: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.ceil(x[i]);
  },
  round: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = roundHalfEven(x[i]);
  },
  truncate: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.trunc(x[i]);
  },
  isNaN: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number.isNaN(x[i]) ? 1 : 0;
  },
  isInf: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.abs(x[i]) === Infinity ? 1 : 0;
  },
  isFinite: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number.isFinite(x[i]) ? 1 : 0;
  },
  not: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = x[i] === 0 ? 1 : 0;
  },
  nonzero: (x, out) => {
    for (let i = 0; i < out.length; i++) out[i] = x[i] !== 0 ? 1 : 0;
  },
};

const binaryLoops: {readonly [F in BinaryName]: BinaryLoop} = {
  add: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] + b[i * q];
  },
  sub: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] - b[i * q];
  },
  mul: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] * b[i * q];
  },
  div: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] / b[i * q];
  },
  pow: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.pow(a[i * p], b[i * q]);
  },
  maximum: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.max(a[i * p], b[i * q]);
  },
  minimum: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.min(a[i * p], b[i * q]);
  },
  mod: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = floorMod(a[i * p], b[i * q]);
  },
  floorDiv: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.floor(a[i * p] / b[i * q]);
  },
  atan2: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.atan2(a[i * p], b[i * q]);
  },
  equal: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] === b[i * q] ? 1 : 0;
  },
  notEqual: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] !== b[i * q] ? 1 : 0;
  },
  less: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] < b[i * q] ? 1 : 0;
  },
  lessEqual: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] <= b[i * q] ? 1 : 0;
  },
  greater: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] > b[i * q] ? 1 : 0;
  },
  greaterEqual: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] >= b[i * q] ? 1 : 0;
  },
  and: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] !== 0 && b[i * q] !== 0 ? 1 : 0;
  },
  or: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] !== 0 || b[i * q] !== 0 ? 1 : 0;
  },
  bitwiseAnd: (a, p, b, q, out) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i * p] & b[i * q];
  },
};

export function unaryKernel(fn: UnaryName): Kernel {
  const loop = unaryLoops[fn];
  return (operands, out) => loop(operands[0], out);
}

/** An operand of one element stands for an array of it, so that no engine has to spread it out. */
export function binaryKernel(fn: BinaryName): Kernel {
  const loop = binaryLoops[fn];
  return (operands, out) => {
    const a = operands[0];
    const b = operands[1];
    loop(a, a.length === 1 ? 0 : 1, b, b.length === 1 ? 0 : 1, out);
  };
}
