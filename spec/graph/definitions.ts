/**
 * What each primitive means, said a second time and in another way: through multi-indices instead of
 * tables and strides, and through other formulas for the functions of numbers. Each checks a result
 * against its operands.
 */
import {brownianPath} from '../../lib/graph/primitives/brownian-path.js';
import {expect} from 'chai';
import {input, luPermutation, solve} from '../../lib/graph/build.js';
import type {BinaryName, Node, Op, Shape, UnaryName} from '../../lib/graph/node.js';
import {sizeOf} from '../../lib/graph/node.js';
import {evaluate} from './evaluate.js';

type Index = readonly number[];

/** Every index of a shape in row-major order. */
function indices(shape: Shape): Index[] {
  return shape.reduce<Index[]>(
    (list, n) => list.flatMap(index => Array.from({length: n}, (_, i) => [...index, i])),
    [[]],
  );
}

function flat(index: Index, shape: Shape): number {
  return index.reduce((at, i, axis) => at * shape[axis] + i, 0);
}

/** The result as a function of the index. */
const map = (shape: Shape, value: (index: Index) => number): number[] => indices(shape).map(value);

/** Sums of a few terms in another order, and other formulas of a few operations: within some units of the last place of the largest. */
export const roundoff = 1e-14;

function expectClose(result: Float64Array, expected: readonly number[], tolerance = roundoff): void {
  expect(result.length).to.equal(expected.length);
  const scale = expected.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 1);
  expected.forEach((value, i) => {
    if (Number.isFinite(value)) expect(result[i], `element ${i}`).to.be.closeTo(value, tolerance * scale);
    else expect(result[i], `element ${i}`).to.deep.equal(value);
  });
}

function expectSame(result: Float64Array, expected: readonly number[]): void {
  expect(Array.from(result)).to.deep.equal(expected);
}

// ------------------------------------------------------------------ functions of numbers

/** erf by Simpson's rule on its integral: error h⁴/180·3·max|f⁗| < 1e-13 with 4000 intervals on |x| ≤ 3.2. */
function erfByQuadrature(x: number): number {
  const n = 4000;
  const h = x / n;
  let total = 1 + Math.exp(-x * x);
  for (let i = 1; i < n; i++) total += (i % 2 === 1 ? 4 : 2) * Math.exp(-((i * h) ** 2));
  return (2 / Math.sqrt(Math.PI)) * (h / 3) * total;
}

/** 1.5·2⁵² has no room for fractions: adding it rounds to the nearest, halves to even, in the arithmetic itself. */
const rounder = 1.5 * 2 ** 52;

export const unaryDefinitions: {readonly [F in UnaryName]: (x: number) => number} = {
  neg: x => 0 - x,
  abs: x => (x < 0 ? -x : x),
  sign: x => (x === 0 ? 0 : x / Math.abs(x)),
  square: x => x ** 2,
  sqrt: x => x ** 0.5,
  rsqrt: x => x ** -0.5,
  reciprocal: x => x ** -1,
  exp: x => Math.E ** x,
  expm1: x => 2 * Math.sinh(x / 2) * Math.exp(x / 2),
  log: x => Math.log2(x) * Math.LN2,
  log1p: x => 2 * Math.atanh(x / (2 + x)),
  sin: x => Math.cos(x - Math.PI / 2),
  cos: x => 1 - 2 * Math.sin(x / 2) ** 2,
  tan: x => Math.sin(x) / Math.cos(x),
  asin: x => Math.atan2(x, Math.sqrt((1 - x) * (1 + x))),
  acos: x => 2 * Math.atan2(Math.sqrt(1 - x), Math.sqrt(1 + x)),
  atan: x => Math.asin(x / Math.hypot(1, x)),
  sinh: x => (Math.exp(x) - Math.exp(-x)) / 2,
  cosh: x => (Math.exp(x) + Math.exp(-x)) / 2,
  tanh: x => 1 - 2 / (Math.exp(2 * x) + 1),
  asinh: x => Math.log(x + Math.hypot(1, x)),
  acosh: x => Math.log(x + Math.sqrt(x * x - 1)),
  atanh: x => Math.log((1 + x) / (1 - x)) / 2,
  sigmoid: x => (1 + Math.tanh(x / 2)) / 2,
  softplus: x => Math.log(1 + Math.exp(x)),
  erf: erfByQuadrature,
  relu: x => (x + Math.abs(x)) / 2,
  positive: x => Number(x > 0),
  floor: x => x - (((x % 1) + 1) % 1),
  ceil: x => x + (((-x % 1) + 1) % 1),
  round: x => x + rounder - rounder,
  truncate: x => x | 0,
  isNaN: x => Number(x !== x),
  isInf: x => Number(x === x && x - x !== 0),
  isFinite: x => Number(x - x === 0),
  not: x => Number(!x),
  nonzero: x => Number(x < 0 || x > 0),
};

export const binaryDefinitions: {readonly [F in BinaryName]: (a: number, b: number) => number} = {
  add: (a, b) => a - -b,
  sub: (a, b) => a + -b,
  mul: (a, b) => a / (1 / b),
  div: (a, b) => a * b ** -1,
  pow: (a, b) => Math.exp(b * Math.log(a)),
  maximum: (a, b) => (a > b ? a : b),
  minimum: (a, b) => (a < b ? a : b),
  mod: (a, b) => a - b * Math.floor(a / b),
  floorDiv: (a, b) => (a - (((a % b) + b) % b)) / b,
  atan2: (a, b) => 2 * Math.atan(a / (Math.hypot(a, b) + b)),
  equal: (a, b) => Number(a === b),
  notEqual: (a, b) => Number(a !== b),
  less: (a, b) => Number(b > a),
  lessEqual: (a, b) => Number(!(a > b)),
  greater: (a, b) => Number(b < a),
  greaterEqual: (a, b) => Number(!(a < b)),
  and: (a, b) => Number(a * b !== 0),
  or: (a, b) => Number(a * a + b * b > 0),
  bitwiseAnd: (a, b) => Number(BigInt.asIntN(32, BigInt(a) & BigInt(b))),
};

// ------------------------------------------------------------------ matrices

type Matrix = readonly (readonly number[])[];

/** Matrix s of a batch. */
function matrix(values: Float64Array, shape: Shape, s: number): number[][] {
  const [, m, n] = shape;
  return Array.from({length: m}, (_, i) => Array.from({length: n}, (_unused, j) => values[(s * m + i) * n + j]));
}

const turned = (a: Matrix, transposed = true): Matrix => (transposed ? a[0].map((_, j) => a.map(row => row[j])) : a);
const product = (a: Matrix, b: Matrix): Matrix =>
  a.map(row => b[0].map((_, j) => row.reduce((total, value, k) => total + value * b[k][j], 0)));
const triangle = (a: Matrix, keep: (i: number, j: number) => boolean): Matrix =>
  a.map((row, i) => row.map((value, j) => (keep(i, j) ? value : 0)));
const flatten = (a: Matrix): number[] => a.flat();

/** The diagonal that elimination without exchanges leaves. */
function pivots(a: Matrix): number[] {
  const [[pivot, ...row], ...below] = a;
  if (below.length === 0) return [pivot];
  return [pivot, ...pivots(below.map(([first, ...rest]) => rest.map((value, j) => value - (first / pivot) * row[j])))];
}

/** op(A) X = B, matrix by matrix. */
function expectSolution(
  node: Node,
  [a, b]: readonly Float64Array[],
  result: Float64Array,
  adjoint: boolean,
  keep: (i: number, j: number) => boolean,
): void {
  for (let s = 0; s < node.shape[0]; s++) {
    const left = turned(triangle(matrix(a, node.operands[0].shape, s), keep), adjoint);
    const rebuilt = product(left, matrix(result, node.shape, s));
    expectClose(Float64Array.from(flatten(rebuilt)), flatten(matrix(b, node.shape, s)), 1e-13);
  }
}

// ------------------------------------------------------------------ primitives

/** Columns of length 1, orthogonal to one another. */
function expectOrthonormal(a: Matrix): void {
  const inner = product(turned(a), a);
  expectClose(
    Float64Array.from(flatten(inner)),
    inner.flatMap((row, i) => row.map((_, j) => (i === j ? 1 : 0))),
  );
}

const dropped = (index: Index, axes: readonly number[]): Index => index.filter((_, axis) => !axes.includes(axis));

/** The members of each group that a reduction joins, in order. */
function groups(node: Node, axes: readonly number[], x: Float64Array): number[][] {
  const {shape} = node.operands[0];
  const lists = Array.from({length: node.size}, (): number[] => []);
  indices(shape).forEach((index, i) => lists[flat(dropped(index, axes), node.shape)].push(x[i]));
  return lists;
}

type Definition<O extends Op> = (node: Node<O>, operands: readonly Float64Array[], result: Float64Array) => void;

export const definitions: {readonly [O in Op]: Definition<O>} = {
  input: () => undefined,
  constant: (node, _, result) => expectSame(result, Array.from(node.attributes.values)),
  unary: (node, [x], result) => expectClose(result, Array.from(x, unaryDefinitions[node.attributes.fn])),
  binary: (node, [a, b], result) =>
    expectClose(
      result,
      Array.from(a, (value, i) => binaryDefinitions[node.attributes.fn](value, b[i])),
    ),
  select: (_, [condition, a, b], result) =>
    expectSame(
      result,
      Array.from(condition, (flag, i) => (flag ? a : b)[i]),
    ),

  reshape: (_, [x], result) => expectSame(result, Array.from(x)),
  transpose(node, [x], result) {
    const {shape} = node.operands[0];
    expectSame(
      result,
      map(node.shape, index => {
        const from = new Array<number>(index.length);
        node.attributes.permutation.forEach((axis, i) => (from[axis] = index[i]));
        return x[flat(from, shape)];
      }),
    );
  },
  broadcast(node, [x], result) {
    const {shape} = node.operands[0];
    expectSame(
      result,
      map(
        node.shape,
        index =>
          x[
            flat(
              index.map((i, axis) => i % shape[axis]),
              shape,
            )
          ],
      ),
    );
  },
  slice(node, [x], result) {
    const {begin, strides} = node.attributes;
    expectSame(
      result,
      map(
        node.shape,
        index =>
          x[
            flat(
              index.map((i, axis) => begin[axis] + i * strides[axis]),
              node.operands[0].shape,
            )
          ],
      ),
    );
  },
  place(node, [x], result) {
    const {begin, strides} = node.attributes;
    const {shape} = node.operands[0];
    expectSame(
      result,
      map(node.shape, index => {
        const from = index.map((i, axis) => (i - begin[axis]) / strides[axis]);
        return from.every((i, axis) => Number.isInteger(i) && i >= 0 && i < shape[axis]) ? x[flat(from, shape)] : 0;
      }),
    );
  },
  concat(node, parts, result) {
    const {axis} = node.attributes;
    expectSame(
      result,
      map(node.shape, index => {
        let [part, at] = [0, index[axis]];
        while (at >= node.operands[part].shape[axis]) at -= node.operands[part++].shape[axis];
        return parts[part][
          flat(
            index.map((i, k) => (k === axis ? at : i)),
            node.operands[part].shape,
          )
        ];
      }),
    );
  },

  gather: (node, [x], result) =>
    expectSame(
      result,
      Array.from(node.attributes.table, at => (at === -1 ? 0 : x[at])),
    ),
  scatter: (node, [x], result) =>
    expectClose(
      result,
      Array.from(result, (_, i) =>
        x.reduce((total, value, k) => total + (node.attributes.table[k] === i ? value : 0), 0),
      ),
    ),
  gatherAt: (_, [x, positions], result) =>
    expectSame(
      result,
      Array.from(positions, at => x[at] ?? 0),
    ),
  scatterAt: (_, [x, positions], result) =>
    expectClose(
      result,
      Array.from(result, (_unused, i) => x.reduce((total, value, k) => total + (positions[k] === i ? value : 0), 0)),
    ),
  searchSorted(node, [sorted, values], result) {
    const [n, m] = [node.operands[0].shape[1], node.shape[1]];
    expectSame(
      result,
      Array.from(values, (value, i) => {
        const row = Math.floor(i / m);
        return sorted
          .subarray(row * n, (row + 1) * n)
          .filter(entry => (node.attributes.side === 'left' ? entry < value : entry <= value)).length;
      }),
    );
  },

  sum: (node, [x], result) =>
    expectClose(
      result,
      groups(node, node.attributes.axes, x).map(group => group.reduceRight((total, value) => total + value, 0)),
    ),
  max: (node, [x], result) =>
    expectSame(
      result,
      groups(node, node.attributes.axes, x).map(group => Math.max(...group)),
    ),
  min: (node, [x], result) =>
    expectSame(
      result,
      groups(node, node.attributes.axes, x).map(group => Math.min(...group)),
    ),
  argMax: (node, [x], result) =>
    expectSame(
      result,
      groups(node, [node.attributes.axis], x).map(group => group.indexOf(Math.max(...group))),
    ),
  argMin: (node, [x], result) =>
    expectSame(
      result,
      groups(node, [node.attributes.axis], x).map(group => group.indexOf(Math.min(...group))),
    ),
  cumsum(node, [x], result) {
    const {axis, exclusive, reverse} = node.attributes;
    expectClose(
      result,
      map(node.shape, index => {
        let total = 0;
        for (let k = 0; k < node.shape[axis]; k++) {
          const before = reverse ? k > index[axis] : k < index[axis];
          if (before || (k === index[axis] && !exclusive))
            total +=
              x[
                flat(
                  index.map((i, j) => (j === axis ? k : i)),
                  node.shape,
                )
              ];
        }
        return total;
      }),
    );
  },

  matMul(node, [a, b], result) {
    const {transposeA, transposeB} = node.attributes;
    const [left, right] = node.operands;
    for (let s = 0; s < node.shape[0]; s++) {
      const expected = product(
        turned(matrix(a, left.shape, s), transposeA),
        turned(matrix(b, right.shape, s), transposeB),
      );
      const size = node.size / node.shape[0];
      expectClose(result.subarray(s * size, (s + 1) * size), flatten(expected));
    }
  },
  solve: (node, operands, result) => expectSolution(node, operands, result, node.attributes.adjoint, () => true),
  triangularSolve: (node, operands, result) =>
    expectSolution(node, operands, result, node.attributes.adjoint, (i, j) =>
      node.attributes.lower ? i >= j : i <= j,
    ),
  cholesky(node, [a], result) {
    for (let s = 0; s < node.shape[0]; s++) {
      const factor = matrix(result, node.shape, s);
      expect(
        factor.every((row, i) => row[i] > 0 && row.every((value, j) => j <= i || value === 0)),
        'lower with a positive diagonal',
      ).to.equal(true);
      const given = matrix(a, node.shape, s);
      const symmetric = given.map((row, i) => row.map((_, j) => (i >= j ? given[i][j] : given[j][i])));
      expectClose(Float64Array.from(flatten(product(factor, turned(factor)))), flatten(symmetric));
    }
  },
  lu(node, [a], result) {
    const input = node.operands[0] as Node<'input'>;
    const [permutation] = evaluate([luPermutation(input)], [input], [a]);
    const n = node.shape[1];
    for (let s = 0; s < node.shape[0]; s++) {
      const factors = matrix(result, node.shape, s);
      const lower = factors.map((row, i) => row.map((value, j) => (i === j ? 1 : i > j ? value : 0)));
      expect(Math.max(...flatten(lower).map(Math.abs)), 'partial pivoting bounds the multipliers').to.equal(1);
      const given = matrix(a, node.shape, s);
      const rows = Array.from(permutation.subarray(s * n, (s + 1) * n), at => given[at]);
      expectClose(
        Float64Array.from(
          flatten(
            product(
              lower,
              triangle(factors, (i, j) => i <= j),
            ),
          ),
        ),
        flatten(rows),
      );
    }
  },
  semidefinite(node, [a], result) {
    // |S| is the one semidefinite root of S² (Higham, Functions of Matrices, Theorem 1.29), and the projection is (S + |S|)/2.
    for (let s = 0; s < node.shape[0]; s++) {
      const given = matrix(a, node.shape, s);
      const symmetric = given.map((row, i) => row.map((value, j) => (value + given[j][i]) / 2));
      const found = matrix(result, node.shape, s);
      expect(flatten(found)).to.deep.equal(flatten(turned(found)));
      const {negative} = node.attributes;
      const absolute =
        negative === 'turned' ? found : found.map((row, i) => row.map((value, j) => 2 * value - symmetric[i][j]));
      expectClose(Float64Array.from(flatten(product(absolute, absolute))), flatten(product(symmetric, symmetric)));
      expect(Math.min(...pivots(absolute)), 'pivots of a semidefinite matrix').to.be.at.least(-1e-12);
    }
  },
  eigen(node, [a], result) {
    const n = node.shape[2];
    for (let s = 0; s < node.shape[0]; s++) {
      const given = matrix(a, [node.shape[0], n, n], s);
      const [values, ...vectors] = matrix(result, node.shape, s);
      expect(values).to.deep.equal([...values].sort((x, y) => x - y));
      expectClose(
        Float64Array.from(
          flatten(
            product(
              vectors.map(row => row.map((value, k) => value * values[k])),
              turned(vectors),
            ),
          ),
        ),
        flatten(given.map((row, i) => row.map((value, j) => (value + given[j][i]) / 2))),
      );
      expectOrthonormal(vectors);
    }
  },
  svd(node, [a], result) {
    const [batch, m, n] = node.operands[0].shape;
    const k = Math.min(m, n);
    const [wide, tall] = node.attributes.fullMatrices ? [m, n] : [k, k];
    for (let s = 0; s < batch; s++) {
      const own = result.subarray(s * node.shape[1], (s + 1) * node.shape[1]);
      const values = Array.from(own.subarray(0, k));
      const [u, v] = [matrix(own.subarray(k), [1, m, wide], 0), matrix(own.subarray(k + m * wide), [1, n, tall], 0)];
      expect(values).to.deep.equal([...values].sort((x, y) => y - x));
      expect(Math.min(...values)).to.be.at.least(0);
      expectOrthonormal(u);
      expectOrthonormal(v);
      const scaled = u.map(row => values.map((value, r) => row[r] * value));
      expectClose(
        Float64Array.from(flatten(product(scaled, turned(v).slice(0, k)))),
        flatten(matrix(a, [batch, m, n], s)),
      );
    }
  },
  leastSquares(node, [a, b], result) {
    // Of full rank: AᵀA x = Aᵀb, and where there are more unknowns than equations x = Aᵀy, which is orthogonal to all that A makes zero.
    const [batch, m, n] = node.operands[0].shape;
    for (let s = 0; s < batch; s++) {
      const [given, right, x] = [
        matrix(a, [batch, m, n], s),
        matrix(b, node.operands[1].shape, s),
        matrix(result, node.shape, s),
      ];
      expectClose(
        Float64Array.from(flatten(product(turned(given), product(given, x)))),
        flatten(product(turned(given), right)),
      );
      if (m >= n) continue;
      const [g, r] = [input('g', [1, m, m]), input('r', [1, m, node.shape[2]])];
      const [solution] = evaluate(
        [solve(g, r)],
        [g, r],
        [Float64Array.from(flatten(product(given, turned(given)))), Float64Array.from(flatten(right))],
      );
      const y = matrix(solution, [1, m, node.shape[2]], 0);
      expectClose(Float64Array.from(flatten(product(turned(given), y))), flatten(x));
    }
  },
  sparseSolve({attributes: {rows, columns}, shape: [batch, n]}, [a, b], result) {
    const product = new Float64Array(batch * n);
    for (let s = 0; s < batch; s++)
      rows.forEach((i, k) => {
        const j = columns[k];
        product[s * n + i] += a[s * rows.length + k] * result[s * n + j];
        if (i !== j) product[s * n + j] += a[s * rows.length + k] * result[s * n + i];
      });
    expectClose(product, Array.from(b));
  },
  mapped: (_, [x, y], result) =>
    expectClose(
      result,
      Array.from(x, (a, i) => a * Math.exp(a * y[i])),
    ),
  brownian({attributes: {count}}, [seeds, times], result) {
    // Each path from its seed and time alone; what a path is, spec/graph/brownian.spec.ts asks.
    const expected = new Float64Array(result.length);
    seeds.forEach((seed, i) => brownianPath(seed, times[i], count, expected, 2 * count * i));
    expectSame(result, Array.from(expected));
  },
  declared: (_, [value], result) => expectSame(result, Array.from(value)),
  luPermutation(node, _, result) {
    const n = node.shape[1];
    for (let s = 0; s < node.shape[0]; s++) {
      expect(Array.from(result.subarray(s * n, (s + 1) * n)).sort()).to.deep.equal(
        Array.from({length: n}, (_unused, i) => i),
      );
    }
  },
};

/** Checks a result of a node against what its primitive means. */
export function expectDefined(node: Node, operands: readonly Float64Array[], result: Float64Array): void {
  expect(result.length).to.equal(sizeOf(node.shape));
  // Each row takes the nodes of its own name, which the table guarantees and the type cannot say.
  (definitions[node.op] as unknown as Definition<Op>)(node, operands, result);
}
