/**
 * How each function of one or two numbers is computed: by instructions for one number and for two
 * at once, by simpler functions, by functions of the module that take two numbers at once, or by
 * calling the very function the interpreter uses (V8 replaces some, such as `Math.pow`, by its own code).
 */
import type {BinaryName, UnaryName} from '../../graph/node.js';
import {unaryRules} from '../../graph/primitives/elementwise.js';
import {log1pOfUnit} from '../../graph/primitives/transcendental.js';
import type {Instruction} from '../../wasm/instructions.js';

/**
 * Functions of one number that code is written for: the graph's, and log(1 + x) for 0 ≤ x ≤ 1, which only softplus is
 * made of.
 */
export type FunctionName = UnaryName | 'log1pOfUnit';

/** The very function the interpreter uses. */
export function valueOf(fn: FunctionName): (x: number) => number {
  return fn === 'log1pOfUnit' ? log1pOfUnit : unaryRules[fn].value;
}

/** The functions that are left when the composed ones are written out. */
export type UnaryForm =
  | {readonly by: 'instruction'; readonly scalar: Instruction; readonly vector: Instruction}
  /** A function of the module, of two numbers at once. */
  | {readonly by: 'function'}
  | {readonly by: 'call'}
  | {readonly by: 'others'};

const instruction = (scalar: Instruction, vector: Instruction): UnaryForm => ({by: 'instruction', scalar, vector});
const call: UnaryForm = {by: 'call'};
const paired: UnaryForm = {by: 'function'};
/** Written out in `expression.ts`. */
const composed: UnaryForm = {by: 'others'};

export const unaryForms: {readonly [F in FunctionName]: UnaryForm} = {
  neg: instruction('f64.neg', 'f64x2.neg'),
  abs: instruction('f64.abs', 'f64x2.abs'),
  sqrt: instruction('f64.sqrt', 'f64x2.sqrt'),
  floor: instruction('f64.floor', 'f64x2.floor'),
  ceil: instruction('f64.ceil', 'f64x2.ceil'),
  truncate: instruction('f64.trunc', 'f64x2.trunc'),
  round: instruction('f64.nearest', 'f64x2.nearest'),
  exp: paired,
  expm1: paired,
  log: paired,
  log1p: paired,
  log1pOfUnit: paired,
  sin: paired,
  cos: paired,
  tan: call,
  asin: call,
  acos: call,
  atan: call,
  sinh: call,
  cosh: call,
  tanh: paired,
  asinh: call,
  acosh: call,
  atanh: call,
  erf: call,
  sigmoid: composed,
  softplus: composed,
  sign: composed,
  square: composed,
  rsqrt: composed,
  reciprocal: composed,
  relu: composed,
  positive: composed,
  isNaN: composed,
  isInf: composed,
  isFinite: composed,
  not: composed,
  nonzero: composed,
};

export type BinaryForm =
  | {readonly by: 'instruction'; readonly scalar: Instruction; readonly vector: Instruction}
  /** A comparison: 1 where it holds, else 0. */
  | {readonly by: 'comparison'; readonly scalar: Instruction; readonly vector: Instruction}
  /** A function of two truth values. */
  | {readonly by: 'logic'; readonly scalar: Instruction; readonly vector: Instruction}
  | {readonly by: 'call'}
  | {readonly by: 'others'};

export const binaryForms: {readonly [F in BinaryName]: BinaryForm} = {
  add: {by: 'instruction', scalar: 'f64.add', vector: 'f64x2.add'},
  sub: {by: 'instruction', scalar: 'f64.sub', vector: 'f64x2.sub'},
  mul: {by: 'instruction', scalar: 'f64.mul', vector: 'f64x2.mul'},
  div: {by: 'instruction', scalar: 'f64.div', vector: 'f64x2.div'},
  maximum: {by: 'instruction', scalar: 'f64.max', vector: 'f64x2.max'},
  minimum: {by: 'instruction', scalar: 'f64.min', vector: 'f64x2.min'},
  equal: {by: 'comparison', scalar: 'f64.eq', vector: 'f64x2.eq'},
  notEqual: {by: 'comparison', scalar: 'f64.ne', vector: 'f64x2.ne'},
  less: {by: 'comparison', scalar: 'f64.lt', vector: 'f64x2.lt'},
  lessEqual: {by: 'comparison', scalar: 'f64.le', vector: 'f64x2.le'},
  greater: {by: 'comparison', scalar: 'f64.gt', vector: 'f64x2.gt'},
  greaterEqual: {by: 'comparison', scalar: 'f64.ge', vector: 'f64x2.ge'},
  and: {by: 'logic', scalar: 'i32.and', vector: 'v128.and'},
  or: {by: 'logic', scalar: 'i32.or', vector: 'v128.or'},
  pow: {by: 'call'},
  mod: {by: 'call'},
  atan2: {by: 'call'},
  bitwiseAnd: {by: 'call'},
  floorDiv: {by: 'others'},
};
