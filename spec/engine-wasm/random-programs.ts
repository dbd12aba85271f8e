/**
 * Programs put together at random from the primitives, for comparing engines. A program is a list of
 * steps; each takes its operands among the values made so far, so a failing list shrinks to a short one.
 * A value is exact when both engines must agree on it to the bit: nothing below it was summed in an
 * order that an engine may choose. Functions with jumps are applied to exact values only.
 */
import * as fc from 'fast-check';
import {
  add, argExtreme, binary, broadcastTo, cholesky, concat, constant, cumsum, div, gather, gatherAt, input, lu, matMul, max, min, mul, place,
  reshape, scalar, scatter, scatterAt, searchSorted, select, slice, solve, sub, sum, transpose, triangularSolve, unary,
} from '../../lib/graph/build.js';
import type {BinaryName, Graph, Node, Shape, UnaryName} from '../../lib/graph/node.js';
import {sizeOf} from '../../lib/graph/node.js';

export interface Step {
  readonly op: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly choices: readonly number[];
}

const natural = fc.nat({max: 2 ** 20});

export const steps = (maxLength: number): fc.Arbitrary<Step[]> =>
  fc.array(fc.record({op: natural, a: natural, b: natural, c: natural, choices: fc.array(natural, {minLength: 8, maxLength: 8})}), {minLength: 1, maxLength});

/** A value and whether engines must agree on it to the bit. */
export interface Value {
  readonly node: Node;
  readonly exact: boolean;
}

/** Draws from a step's choices, round and round. */
class Draw {
  private next = 0;

  constructor(private readonly choices: readonly number[]) {}

  below(n: number): number {
    const value = this.choices[this.next++ % this.choices.length];
    return n <= 0 ? 0 : value % n;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
}

/** The same code in every engine. */
const plain: readonly UnaryName[] = ['neg', 'abs', 'square', 'relu', 'atan'];
/** Engines may differ in the last bit. */
const rounded: readonly UnaryName[] = ['sin', 'cos', 'tanh', 'sigmoid', 'softplus'];
const jumping: readonly UnaryName[] = ['sign', 'floor', 'ceil', 'truncate', 'positive', 'nonzero', 'not', 'isFinite'];
const arithmetic: readonly BinaryName[] = ['add', 'sub', 'mul', 'maximum', 'minimum', 'add'];
const comparing: readonly BinaryName[] = ['less', 'greater', 'lessEqual', 'notEqual', 'and', 'or'];

/** Larger values would only slow the test down. */
const largest = 600;

function fit(x: Node, shape: Shape): Node {
  if (sizeOf(shape) === x.size) return reshape(x, shape);
  return broadcastTo(reshape(sum(x, x.shape.map((_, axis) => axis)), []), shape);
}

type Maker = (draw: Draw, x: Value, y: Value, z: Value) => Value;

const makers: readonly Maker[] = [
  (draw, x) => ({node: unary(draw.pick(plain), x.node), exact: x.exact}),
  (draw, x) => ({node: unary(draw.pick(rounded), x.node), exact: false}),
  (draw, x) => (x.exact ? {node: unary(draw.pick(jumping), x.node), exact: true} : x),
  (draw, x, y) => ({node: binary(draw.pick(arithmetic), x.node, fit(y.node, x.node.shape)), exact: x.exact && y.exact && x.node.size === y.node.size}),
  (draw, x, y) => ({node: binary(draw.pick(arithmetic), x.node, fit(y.node, x.node.shape)), exact: x.exact && y.exact && x.node.size === y.node.size}),
  (_, x, y) => ({node: div(x.node, add(unary('square', fit(y.node, x.node.shape)), scalar(2))), exact: x.exact && y.exact && x.node.size === y.node.size}),
  (draw, x, y) => {
    if (!x.exact || !y.exact || x.node.size !== y.node.size) return x;
    return {node: binary(draw.pick(comparing), x.node, fit(y.node, x.node.shape)), exact: true};
  },
  (_, x, y, z) => {
    if (!x.exact || x.node.size !== y.node.size || x.node.size !== z.node.size) return x;
    return {node: select(binary('greater', x.node, scalar(0.25)), fit(y.node, x.node.shape), fit(z.node, x.node.shape)), exact: y.exact && z.exact};
  },
  // Views.
  (draw, x) => {
    const shape = factorization(x.node.size, draw);
    return {node: reshape(x.node, shape), exact: x.exact};
  },
  (draw, x) => ({node: transpose(x.node, shuffled(x.node.shape.length, draw)), exact: x.exact}),
  (draw, x) => {
    const lead = 1 + draw.below(3);
    if (x.node.size * lead > largest) return x;
    const axis = draw.below(x.node.shape.length + 1);
    const thin = [...x.node.shape.slice(0, axis), 1, ...x.node.shape.slice(axis)];
    return {node: broadcastTo(reshape(x.node, thin), thin.map((n, i) => (i === axis ? lead : n))), exact: x.exact};
  },
  (draw, x) => {
    const parts = x.node.shape.map(n => section(n, draw));
    return {node: slice(x.node, parts.map(p => p.begin), parts.map(p => p.size), parts.map(p => p.stride)), exact: x.exact};
  },
  (draw, x) => {
    const parts = x.node.shape.map(n => ({before: draw.below(3), after: draw.below(2), stride: n > 1 && draw.below(4) === 0 ? 2 : 1}));
    const shape = x.node.shape.map((n, axis) => parts[axis].before + (n - 1) * parts[axis].stride + 1 + parts[axis].after);
    if (sizeOf(shape) > largest || x.node.size === 0) return x;
    return {node: place(x.node, parts.map(p => p.before), shape, parts.map(p => p.stride)), exact: x.exact};
  },
  (draw, x, y) => {
    if (x.node.shape.length === 0 || x.node.size > largest / 3) return x;
    const axis = draw.below(x.node.shape.length);
    const other = fit(y.node, x.node.shape);
    return {node: concat(draw.below(2) === 0 ? [x.node, other] : [other, x.node, x.node], axis), exact: x.exact && y.exact && x.node.size === y.node.size};
  },
  // Indexing.
  (draw, x) => {
    const shape = [1 + draw.below(4), 1 + draw.below(5)];
    const table = Int32Array.from({length: sizeOf(shape)}, (_, i) => ((i * (1 + draw.below(7)) + draw.below(5)) % (x.node.size + 1)) - 1);
    return {node: gather(x.node, table, shape), exact: x.exact};
  },
  (draw, x) => {
    const rows = 1 + draw.below(3);
    const chosen = Int32Array.from({length: rows * x.node.size}, (_, i) => (i % x.node.size) * (draw.below(3) === 0 ? 0 : 1));
    return rows * x.node.size > largest ? x : {node: gather(x.node, chosen, [rows, x.node.size]), exact: x.exact};
  },
  (draw, x) => {
    const size = 1 + draw.below(12);
    const stride = 1 + draw.below(5);
    const table = Int32Array.from({length: x.node.size}, (_, i) => ((i * stride + draw.below(3)) % (size + 1)) - 1);
    return {node: scatter(x.node, table, [size]), exact: false};
  },
  (_, x, y) => {
    if (!y.exact) return x;
    return {node: gatherAt(x.node, unary('floor', mul(y.node, scalar(x.node.size / 2)))), exact: x.exact};
  },
  (draw, x, y) => {
    if (!y.exact || y.node.size !== x.node.size) return x;
    const size = 1 + draw.below(9);
    return {node: scatterAt(x.node, reshape(unary('floor', mul(y.node, scalar(size / 2))), x.node.shape), [size]), exact: false};
  },
  (draw, x, y) => {
    if (!x.exact || !y.exact) return x;
    const sorted = cumsum(reshape(unary('abs', x.node), [1, x.node.size]), 1, false, false);
    return {node: searchSorted(sorted, reshape(y.node, [1, y.node.size]), draw.below(2) === 0 ? 'left' : 'right'), exact: true};
  },
  // Reductions.
  (draw, x) => ({node: sum(x.node, someAxes(x.node.shape, draw)), exact: false}),
  (draw, x) => ({node: sum(mul(x.node, x.node), someAxes(x.node.shape, draw)), exact: false}),
  (draw, x) => ({node: (draw.below(2) === 0 ? max : min)(x.node, someAxes(x.node.shape, draw)), exact: x.exact}),
  (draw, x) => {
    if (!x.exact || x.node.shape.length === 0) return x;
    return {node: argExtreme(draw.below(2) === 0 ? 'argMax' : 'argMin', x.node, draw.below(x.node.shape.length)), exact: true};
  },
  (draw, x) => {
    if (x.node.shape.length === 0) return x;
    return {node: cumsum(x.node, draw.below(x.node.shape.length), draw.below(2) === 0, draw.below(2) === 0), exact: x.exact};
  },
  // Matrices.
  (draw, x, y) => {
    const k = draw.pick(divisors(x.node.size));
    if (y.node.size % k !== 0 || (x.node.size / k) * (y.node.size / k) > largest) return x;
    const [transposeA, transposeB] = [draw.below(2) === 0, draw.below(2) === 0];
    const [m, n] = [x.node.size / k, y.node.size / k];
    const product = matMul(reshape(x.node, transposeA ? [1, k, m] : [1, m, k]), reshape(y.node, transposeB ? [1, n, k] : [1, k, n]), transposeA, transposeB);
    return {node: unary('tanh', product), exact: false};
  },
  (draw, x, y) => {
    // Diagonally dominant, so that every factorization exists and is well conditioned.
    const n = 1 + draw.below(4);
    const raw = unary('sin', gather(x.node, Int32Array.from({length: n * n}, (_, i) => i % x.node.size), [1, n, n]));
    const identity = constant(Float64Array.from({length: n * n}, (_, i) => (i % (n + 1) === 0 ? 2 * n : 0)), [1, n, n]);
    const symmetric = add(identity, mul(scalar(0.5), add(raw, transpose(raw, [0, 2, 1]))));
    const b = unary('sin', gather(y.node, Int32Array.from({length: 2 * n}, (_, i) => i % y.node.size), [1, n, 2]));
    switch (draw.below(5)) {
      case 0: return {node: solve(add(raw, identity), b, draw.below(2) === 0), exact: false};
      case 1: return {node: cholesky(symmetric), exact: false};
      case 2: return {node: triangularSolve(add(raw, identity), b, draw.below(2) === 0, draw.below(2) === 0), exact: false};
      case 3: return {node: lu(add(raw, identity)), exact: false};
      default: return {node: unary('sin', solve(symmetric, b)), exact: false};
    }
  },
  (_, x, y) => ({node: sub(x.node, fit(y.node, x.node.shape)), exact: x.exact && y.exact && x.node.size === y.node.size}),
];

function section(n: number, draw: Draw): {begin: number; size: number; stride: number} {
  if (n === 0) return {begin: 0, size: 0, stride: 1};
  const begin = draw.below(n);
  switch (draw.below(4)) {
    case 0: return {begin: 0, size: n, stride: 1};
    case 1: return {begin, size: begin + 1, stride: -1};
    case 2: return {begin, size: Math.ceil((n - begin) / 2), stride: 2};
    default: return {begin, size: n - begin, stride: 1};
  }
}

function divisors(n: number): number[] {
  const list: number[] = [];
  for (let d = 1; d <= n; d++) if (n % d === 0) list.push(d);
  return list.length === 0 ? [1] : list;
}

function factorization(size: number, draw: Draw): number[] {
  const first = draw.pick(divisors(size));
  const second = draw.pick(divisors(size / first));
  return [first, second, size / first / second];
}

function shuffled(n: number, draw: Draw): number[] {
  const order = Array.from({length: n}, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = draw.below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

function someAxes(shape: Shape, draw: Draw): number[] {
  return shape.map((_, axis) => axis).filter(() => draw.below(2) === 0);
}

export const inputShapes: readonly Shape[] = [[7], [2, 3], [3, 1, 4], [], [8], [4, 4]];

/** The program of a list of steps: several of the last values are outputs. */
export function buildProgram(list: readonly Step[]): {graph: Graph; exact: ReadonlyMap<string, boolean>} {
  const inputs = inputShapes.map((shape, i) => input(`x${i}`, shape));
  const pool: Value[] = inputs.map(node => ({node, exact: true}));
  pool.push({node: constant(Float64Array.from({length: 6}, (_, i) => Math.cos(i)), [6]), exact: true});
  for (const step of list) {
    const pick = (at: number): Value => pool[pool.length - 1 - (at % pool.length)];
    pool.push(makers[step.op % makers.length](new Draw(step.choices), pick(step.a), pick(step.b), pick(step.c)));
  }
  const last = pool.slice(-3);
  return {
    graph: {inputs, outputs: last.map(({node}, i) => ({name: `y${i}`, node}))},
    exact: new Map(last.map(({exact}, i) => [`y${i}`, exact])),
  };
}
