/**
 * Programs put together at random from the primitives, for comparing engines. A program is a list of
 * steps; each takes its operands among the values made so far, so a failing list shrinks to a short one.
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

const smooth: readonly UnaryName[] = ['neg', 'abs', 'square', 'relu', 'atan', 'sin', 'cos', 'tanh', 'sigmoid', 'softplus'];
const jumping: readonly UnaryName[] = ['sign', 'floor', 'ceil', 'truncate', 'positive', 'nonzero', 'not', 'isFinite'];
const arithmetic: readonly BinaryName[] = ['add', 'sub', 'mul', 'maximum', 'minimum', 'add'];
const comparing: readonly BinaryName[] = ['less', 'greater', 'lessEqual', 'notEqual', 'and', 'or'];

/** Larger values would only slow the test down. */
const largest = 600;

function fit(x: Node, shape: Shape): Node {
  if (sizeOf(shape) === x.size) return reshape(x, shape);
  return broadcastTo(reshape(sum(x, x.shape.map((_, axis) => axis)), []), shape);
}

type Maker = (draw: Draw, x: Node, y: Node, z: Node) => Node;

const makers: readonly Maker[] = [
  (draw, x) => unary(draw.pick(smooth), x),
  (draw, x) => unary(draw.pick(smooth), x),
  (draw, x) => unary(draw.pick(jumping), x),
  (draw, x, y) => binary(draw.pick(arithmetic), x, fit(y, x.shape)),
  (draw, x, y) => binary(draw.pick(arithmetic), x, fit(y, x.shape)),
  (_, x, y) => div(x, add(unary('square', fit(y, x.shape)), scalar(2))),
  (draw, x, y) => {
    if (x.size !== y.size) return x;
    return binary(draw.pick(comparing), x, fit(y, x.shape));
  },
  (_, x, y, z) => {
    if (x.size !== y.size || x.size !== z.size) return x;
    return select(binary('greater', x, scalar(0.25)), fit(y, x.shape), fit(z, x.shape));
  },
  // Views.
  (draw, x) => {
    const shape = factorization(x.size, draw);
    return reshape(x, shape);
  },
  (draw, x) => transpose(x, shuffled(x.shape.length, draw)),
  (draw, x) => {
    const lead = 1 + draw.below(3);
    if (x.size * lead > largest) return x;
    const axis = draw.below(x.shape.length + 1);
    const thin = [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)];
    return broadcastTo(reshape(x, thin), thin.map((n, i) => (i === axis ? lead : n)));
  },
  (draw, x) => {
    const parts = x.shape.map(n => section(n, draw));
    return slice(x, parts.map(p => p.begin), parts.map(p => p.size), parts.map(p => p.stride));
  },
  (draw, x) => {
    const parts = x.shape.map(n => ({before: draw.below(3), after: draw.below(2), stride: n > 1 && draw.below(4) === 0 ? 2 : 1}));
    const shape = x.shape.map((n, axis) => parts[axis].before + (n - 1) * parts[axis].stride + 1 + parts[axis].after);
    if (sizeOf(shape) > largest || x.size === 0) return x;
    return place(x, parts.map(p => p.before), shape, parts.map(p => p.stride));
  },
  (draw, x, y) => {
    if (x.shape.length === 0 || x.size > largest / 3) return x;
    const axis = draw.below(x.shape.length);
    const other = fit(y, x.shape);
    return concat(draw.below(2) === 0 ? [x, other] : [other, x, x], axis);
  },
  // Indexing.
  (draw, x) => {
    const shape = [1 + draw.below(4), 1 + draw.below(5)];
    const table = Int32Array.from({length: sizeOf(shape)}, (_, i) => ((i * (1 + draw.below(7)) + draw.below(5)) % (x.size + 1)) - 1);
    return gather(x, table, shape);
  },
  (draw, x) => {
    const rows = 1 + draw.below(3);
    const chosen = Int32Array.from({length: rows * x.size}, (_, i) => (i % x.size) * (draw.below(3) === 0 ? 0 : 1));
    return rows * x.size > largest ? x : gather(x, chosen, [rows, x.size]);
  },
  (draw, x) => {
    const size = 1 + draw.below(12);
    const stride = 1 + draw.below(5);
    const table = Int32Array.from({length: x.size}, (_, i) => ((i * stride + draw.below(3)) % (size + 1)) - 1);
    return scatter(x, table, [size]);
  },
  (_, x, y) => {
    return gatherAt(x, unary('floor', mul(y, scalar(x.size / 2))));
  },
  (draw, x, y) => {
    if (y.size !== x.size) return x;
    const size = 1 + draw.below(9);
    return scatterAt(x, reshape(unary('floor', mul(y, scalar(size / 2))), x.shape), [size]);
  },
  (draw, x, y) => {
    const sorted = cumsum(reshape(unary('abs', x), [1, x.size]), 1, false, false);
    return searchSorted(sorted, reshape(y, [1, y.size]), draw.below(2) === 0 ? 'left' : 'right');
  },
  // Reductions.
  (draw, x) => sum(x, someAxes(x.shape, draw)),
  (draw, x) => sum(mul(x, x), someAxes(x.shape, draw)),
  (draw, x) => (draw.below(2) === 0 ? max : min)(x, someAxes(x.shape, draw)),
  (draw, x) => {
    if (x.shape.length === 0) return x;
    return argExtreme(draw.below(2) === 0 ? 'argMax' : 'argMin', x, draw.below(x.shape.length));
  },
  (draw, x) => {
    if (x.shape.length === 0) return x;
    return cumsum(x, draw.below(x.shape.length), draw.below(2) === 0, draw.below(2) === 0);
  },
  // Matrices.
  (draw, x, y) => {
    const k = draw.pick(divisors(x.size));
    if (y.size % k !== 0 || (x.size / k) * (y.size / k) > largest) return x;
    const [transposeA, transposeB] = [draw.below(2) === 0, draw.below(2) === 0];
    const [m, n] = [x.size / k, y.size / k];
    const product = matMul(reshape(x, transposeA ? [1, k, m] : [1, m, k]), reshape(y, transposeB ? [1, n, k] : [1, k, n]), transposeA, transposeB);
    return unary('tanh', product);
  },
  (draw, x, y) => {
    // Diagonally dominant, so that every factorization exists and is well conditioned.
    const n = 1 + draw.below(4);
    const raw = unary('sin', gather(x, Int32Array.from({length: n * n}, (_, i) => i % x.size), [1, n, n]));
    const identity = constant(Float64Array.from({length: n * n}, (_, i) => (i % (n + 1) === 0 ? 2 * n : 0)), [1, n, n]);
    const symmetric = add(identity, mul(scalar(0.5), add(raw, transpose(raw, [0, 2, 1]))));
    const b = unary('sin', gather(y, Int32Array.from({length: 2 * n}, (_, i) => i % y.size), [1, n, 2]));
    switch (draw.below(5)) {
      case 0: return solve(add(raw, identity), b, draw.below(2) === 0);
      case 1: return cholesky(symmetric);
      case 2: return triangularSolve(add(raw, identity), b, draw.below(2) === 0, draw.below(2) === 0);
      case 3: return lu(add(raw, identity));
      default: return unary('sin', solve(symmetric, b));
    }
  },
  (_, x, y) => sub(x, fit(y, x.shape)),
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
export function buildProgram(list: readonly Step[]): Graph {
  const inputs = inputShapes.map((shape, i) => input(`x${i}`, shape));
  const pool: Node[] = [...inputs, constant(Float64Array.from({length: 6}, (_, i) => Math.cos(i)), [6])];
  for (const step of list) {
    const pick = (at: number): Node => pool[pool.length - 1 - (at % pool.length)];
    pool.push(makers[step.op % makers.length](new Draw(step.choices), pick(step.a), pick(step.b), pick(step.c)));
  }
  return {inputs, outputs: pool.slice(-3).map((node, i) => ({name: `y${i}`, node}))};
}
