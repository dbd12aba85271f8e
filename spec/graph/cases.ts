/**
 * One random application of each primitive: shapes, attributes, and values from where the primitive
 * is defined and, away from isolated kinks, differentiable.
 */
import {
  argExtreme,
  binary,
  broadcastTo,
  cholesky,
  concat,
  constant,
  cumsum,
  brownian,
  declared,
  eigen,
  gather,
  gatherAt,
  input,
  leastSquares,
  lu,
  luPermutation,
  mapped,
  matMul,
  max,
  min,
  place,
  reshape,
  scatter,
  scatterAt,
  searchSorted,
  select,
  semidefinite,
  slice,
  solve,
  sparseSolve,
  sum,
  svd,
  transpose,
  triangularSolve,
  unary,
} from '../../lib/graph/build.js';
import type {BinaryName, DType, Node, Op, Shape, UnaryName} from '../../lib/graph/node.js';
import {binaryNames, sizeOf, unaryNames} from '../../lib/graph/node.js';
import {declarationOf} from '../../lib/graph/declarations.js';
import {xExpXy} from './mapped.js';
import type {Choices} from './choices.js';

export interface CaseInput {
  readonly node: Node<'input'>;
  /** Values of one operand, different at each call. */
  readonly draw: (random: () => number) => Float64Array;
}

export interface Case {
  readonly inputs: readonly CaseInput[];
  readonly node: Node;
}

type Draw = (random: () => number, index: number, values: Float64Array) => number;

function operand(k: number, shape: Shape, draw: Draw, dtype: DType = 'float'): CaseInput {
  const node = input(`x${k}`, shape, dtype);
  return {
    node,
    draw: random => {
      const values = new Float64Array(node.size);
      for (let i = 0; i < values.length; i++) values[i] = draw(random, i, values);
      return values;
    },
  };
}

function application(inputs: readonly CaseInput[], build: (...nodes: Node[]) => Node): Case {
  return {inputs, node: build(...inputs.map(({node}) => node))};
}

// ------------------------------------------------------------------ where values come from

const between =
  (low: number, high: number): Draw =>
  random =>
    low + (high - low) * random();
/**
 * Off the whole and half numbers, where roundings, signs and truncations jump: sixteenths plus an offset
 * that differs from operand to operand, so that differences of operands are no whole numbers either.
 */
const grid =
  (low: number, high: number, offset: number): Draw =>
  random =>
    Math.floor(16 * (low + (high - low) * random())) / 16 + offset / 64;
const wide = grid(-3, 3, 2);
const whole =
  (low: number, high: number): Draw =>
  random =>
    low + Math.floor((high - low + 1) * random());
const truth: Draw = random => (random() < 0.5 ? 0 : 1);
/** All different by at least 1/16: extremes have no ties. */
const distinct: Draw = (random, index, values) => {
  for (;;) {
    const value = (Math.floor((16 * values.length + 32) * random()) - 8 * values.length) / 16;
    if (!values.subarray(0, index).includes(value)) return value;
  }
};

/** Ties, half of the time, and quarters between them. */
const few: Draw = random => Math.floor(5 * random()) - 2 + (random() < 0.5 ? 0 : 0.25);

export const unaryDomains: {readonly [F in UnaryName]: Draw} = {
  neg: wide,
  abs: wide,
  sign: wide,
  square: wide,
  sqrt: between(0.4, 4),
  rsqrt: between(0.4, 4),
  reciprocal: (random, ...rest) => (random() < 0.5 ? -1 : 1) * between(0.4, 4)(random, ...rest),
  exp: wide,
  expm1: wide,
  log: between(0.4, 4),
  log1p: between(-0.6, 4),
  sin: wide,
  cos: wide,
  tan: between(-1.2, 1.2),
  asin: between(-0.8, 0.8),
  acos: between(-0.8, 0.8),
  atan: wide,
  sinh: wide,
  cosh: wide,
  tanh: wide,
  asinh: wide,
  acosh: between(1.3, 4),
  atanh: between(-0.8, 0.8),
  sigmoid: wide,
  softplus: wide,
  erf: wide,
  relu: wide,
  positive: wide,
  floor: wide,
  ceil: wide,
  round: wide,
  truncate: wide,
  isNaN: wide,
  isInf: wide,
  isFinite: wide,
  not: few,
  nonzero: few,
};

const other = grid(-3, 3, 1);
const divisor: Draw = (random, ...rest) => (random() < 0.5 ? -1 : 1) * grid(0.5, 3, 1)(random, ...rest);

export const binaryDomains: {readonly [F in BinaryName]: readonly [Draw, Draw]} = {
  add: [wide, other],
  sub: [wide, other],
  mul: [wide, other],
  div: [wide, divisor],
  pow: [between(0.4, 3), wide],
  maximum: [wide, other],
  minimum: [wide, other],
  mod: [wide, divisor],
  floorDiv: [wide, divisor],
  atan2: [wide, divisor],
  equal: [few, few],
  notEqual: [few, few],
  less: [few, few],
  lessEqual: [few, few],
  greater: [few, few],
  greaterEqual: [few, few],
  and: [few, few],
  or: [few, few],
  bitwiseAnd: [whole(-100, 100), whole(-100, 100)],
};

// ------------------------------------------------------------------ attributes

/** Begins and strides of a random strided view of a shape, and the view's own shape. */
function view(choices: Choices, shape: Shape): {begin: number[]; strides: number[]; size: number[]} {
  const size = shape.map(n => (n === 0 ? 0 : choices.integer(1, n)));
  const strides = shape.map((n, axis) => {
    const reach = size[axis] > 1 ? Math.floor((n - 1) / (size[axis] - 1)) : 2;
    const stride = choices.integer(1, reach);
    return choices.flag() ? -stride : stride;
  });
  const begin = shape.map((n, axis) => {
    const length = (size[axis] - 1) * Math.abs(strides[axis]);
    const low = choices.integer(0, Math.max(0, n - 1 - length));
    return size[axis] === 0 ? 0 : strides[axis] < 0 ? low + length : low;
  });
  return {begin, strides, size};
}

/** Random positions below the range, −1 among them. */
function table(choices: Choices, length: number, range: number): Int32Array {
  const random = choices.random();
  return Int32Array.from({length}, () => Math.floor((range + 1) * random()) - 1);
}

interface Matrices {
  readonly batch: number;
  readonly n: number;
  readonly columns: number;
}

const matrices = (choices: Choices): Matrices => ({
  batch: choices.integer(1, 3),
  n: choices.integer(1, 4),
  columns: choices.integer(1, 3),
});

/**
 * Random entries with n + 1 added on a diagonal: strictly dominant, so of condition below ~20 for n ≤ 4, whichever
 * triangle is read. With the diagonal moved right by `shift` (around the edge) the pivots are not where they
 * are looked for first.
 */
const dominant =
  (n: number, shift = 0): Draw =>
  (random, index) =>
    2 * random() - 1 + ((Math.floor(index / n) + shift) % n === index % n ? n + 1 : 0);

/** Entries below 0.2 beside 2, 4, 6, … on the diagonal: eigenvalues and singular values at least 0.4 apart, for n ≤ 4 (Gershgorin, Weyl). */
const spaced =
  (m: number, n: number): Draw =>
  (random, index) => {
    const [row, column] = [Math.floor(index / n) % m, index % n];
    return 0.4 * random() - 0.2 + (row === column ? 2 * (row + 1) : 0);
  };

/** Rows and columns of the lower triangle. */
export function lowerTriangle(n: number): [rows: Int32Array, columns: Int32Array] {
  const pairs = Array.from({length: n}, (_, i) => Array.from({length: i + 1}, (_x, j) => [i, j])).flat();
  return [Int32Array.from(pairs, ([i]) => i), Int32Array.from(pairs, ([, j]) => j)];
}

/** Applies an elementwise function to operands that broadcast to a random shape, with one of them of that very shape. */
function elementwise(
  choices: Choices,
  domains: readonly Draw[],
  types: readonly DType[],
  build: (...nodes: Node[]) => Node,
): Case {
  const shape = choices.shape();
  const full = choices.integer(0, domains.length - 1);
  return application(
    domains.map((draw, k) => operand(k, k === full ? shape : choices.narrower(shape), draw, types[k])),
    build,
  );
}

const extreme =
  (build: (x: Node, axes: readonly number[]) => Node) =>
  (choices: Choices): Case => {
    const shape = choices.shape();
    const axes = choices.subset(shape.length);
    return application([operand(0, shape, distinct)], x => build(x, axes));
  };

const argument =
  (op: 'argMax' | 'argMin') =>
  (choices: Choices): Case => {
    const shape = choices.shape(1);
    const axis = choices.integer(0, shape.length - 1);
    return application([operand(0, shape, distinct)], x => argExtreme(op, x, axis));
  };

// ------------------------------------------------------------------ the cases

export function unaryCase(fn: UnaryName, choices: Choices): Case {
  return application([operand(0, choices.shape(), unaryDomains[fn])], x => unary(fn, x));
}

export function binaryCase(fn: BinaryName, choices: Choices): Case {
  const dtype: DType = fn === 'bitwiseAnd' ? 'int' : 'float';
  return elementwise(choices, binaryDomains[fn], [dtype, dtype], (a, b) => binary(fn, a, b));
}

/** A primitive without a row here does not compile. */
export const cases: {readonly [O in Op]: (choices: Choices) => Case} = {
  input: choices => application([operand(0, choices.shape(), wide)], x => x),
  constant(choices) {
    const shape = choices.shape();
    const random = choices.random();
    return {
      inputs: [],
      node: constant(
        Float64Array.from({length: sizeOf(shape)}, () => random()),
        shape,
      ),
    };
  },

  unary: choices => unaryCase(choices.pick(unaryNames), choices),
  binary: choices => binaryCase(choices.pick(binaryNames), choices),
  select: choices => elementwise(choices, [truth, wide, other], ['bool', 'float', 'float'], select),

  reshape(choices) {
    const shape = choices.shape();
    const target = choices.regrouped(shape);
    return application([operand(0, shape, wide)], x => reshape(x, target));
  },
  transpose(choices) {
    const shape = choices.shape();
    const permutation = choices.permutation(shape.length);
    return application([operand(0, shape, wide)], x => transpose(x, permutation));
  },
  broadcast(choices) {
    const shape = choices.shape();
    return application([operand(0, choices.narrower(shape), wide)], x => broadcastTo(x, shape));
  },
  slice(choices) {
    const shape = choices.shape();
    const {begin, size, strides} = view(choices, shape);
    return application([operand(0, shape, wide)], x => slice(x, begin, size, strides));
  },
  place(choices) {
    const shape = choices.shape();
    const {begin, size, strides} = view(choices, shape);
    return application([operand(0, size, wide)], x => place(x, begin, shape, strides));
  },
  concat(choices) {
    const shape = choices.shape(1);
    const axis = choices.integer(0, shape.length - 1);
    const lengths = Array.from({length: choices.integer(1, 4)}, () => choices.integer(0, 3));
    const parts = lengths.map((length, k) =>
      operand(
        k,
        shape.map((n, i) => (i === axis ? length : n)),
        wide,
      ),
    );
    return application(parts, (...nodes) => concat(nodes, axis));
  },

  gather(choices) {
    const [from, to] = [choices.shape(), choices.shape()];
    const positions = table(choices, sizeOf(to), sizeOf(from));
    return application([operand(0, from, wide)], x => gather(x, positions, to));
  },
  scatter(choices) {
    const [from, to] = [choices.shape(), choices.shape()];
    const positions = table(choices, sizeOf(from), sizeOf(to));
    return application([operand(0, from, wide)], x => scatter(x, positions, to));
  },
  gatherAt(choices) {
    const [from, to] = [choices.shape(), choices.shape()];
    return application([operand(0, from, wide), operand(1, to, whole(-2, sizeOf(from) + 1), 'int')], gatherAt);
  },
  scatterAt(choices) {
    const [from, to] = [choices.shape(), choices.shape()];
    return application([operand(0, from, wide), operand(1, from, whole(-2, sizeOf(to) + 1), 'int')], (x, positions) =>
      scatterAt(x, positions, to),
    );
  },
  searchSorted(choices) {
    const [rows, n, m] = [choices.integer(1, 3), choices.integer(1, 6), choices.integer(1, 4)];
    const side = choices.pick(['left', 'right'] as const);
    // Steps of 0 or 1, so that values are met exactly and more than once.
    const sorted: Draw = (random, index, values) =>
      index % n === 0 ? -2 : values[index - 1] + whole(0, 1)(random, index, values);
    return application([operand(0, [rows, n], sorted), operand(1, [rows, m], few)], (a, b) => searchSorted(a, b, side));
  },

  sum(choices) {
    const shape = choices.shape();
    const axes = choices.subset(shape.length);
    return application([operand(0, shape, wide)], x => sum(x, axes));
  },
  max: extreme(max),
  min: extreme(min),
  argMax: argument('argMax'),
  argMin: argument('argMin'),
  cumsum(choices) {
    const shape = choices.shape(1);
    const [axis, exclusive, reverse] = [choices.integer(0, shape.length - 1), choices.flag(), choices.flag()];
    return application([operand(0, shape, wide)], x => cumsum(x, axis, exclusive, reverse));
  },

  matMul(choices) {
    const [b, m, k, n] = [choices.integer(1, 3), choices.integer(1, 4), choices.integer(1, 4), choices.integer(1, 4)];
    const [transposeA, transposeB] = [choices.flag(), choices.flag()];
    const left = operand(0, transposeA ? [b, k, m] : [b, m, k], wide);
    const right = operand(1, transposeB ? [b, n, k] : [b, k, n], other);
    return application([left, right], (x, y) => matMul(x, y, transposeA, transposeB));
  },
  solve(choices) {
    const {batch, n, columns} = matrices(choices);
    const adjoint = choices.flag();
    const shift = choices.integer(0, n - 1);
    return application([operand(0, [batch, n, n], dominant(n, shift)), operand(1, [batch, n, columns], wide)], (a, b) =>
      solve(a, b, adjoint),
    );
  },
  cholesky(choices) {
    const {batch, n} = matrices(choices);
    return application([operand(0, [batch, n, n], dominant(n))], cholesky);
  },
  triangularSolve(choices) {
    const {batch, n, columns} = matrices(choices);
    const [lower, adjoint] = [choices.flag(), choices.flag()];
    return application([operand(0, [batch, n, n], dominant(n)), operand(1, [batch, n, columns], wide)], (t, b) =>
      triangularSolve(t, b, lower, adjoint),
    );
  },
  lu(choices) {
    const {batch, n} = matrices(choices);
    return application([operand(0, [batch, n, n], dominant(n, choices.integer(0, n - 1)))], lu);
  },
  luPermutation(choices) {
    const {batch, n} = matrices(choices);
    return application([operand(0, [batch, n, n], dominant(n, choices.integer(0, n - 1)))], luPermutation);
  },
  semidefinite(choices) {
    const {batch, n} = matrices(choices);
    // Not all of them: the tangent of what is zero all around would be a difference of equals.
    const [form, negative] = [choices.pick(['zero', 'turned'] as const), choices.integer(0, n - 1)];
    const draw = dominant(n);
    // Rows of the first few are strictly dominant with a negative diagonal: Sylvester's law counts as many negative eigenvalues, none near zero.
    const signed: Draw = (random, index, values) => {
      const [row, column] = [Math.floor(index / n) % n, index % n];
      return row === column && row < negative ? -draw(random, index, values) : draw(random, index, values);
    };
    return application([operand(0, [batch, n, n], signed)], a => semidefinite(a, form));
  },
  eigen(choices) {
    const {batch, n} = matrices(choices);
    return application([operand(0, [batch, n, n], spaced(n, n))], a => eigen(a));
  },
  svd(choices) {
    const {batch, n, columns} = matrices(choices);
    const [tall, fullMatrices] = [choices.flag(), choices.flag()];
    const [rows, width] = tall ? [n, columns] : [columns, n];
    // Two or more columns that complete a factor may turn among themselves: differences of them say nothing.
    const full = fullMatrices && Math.abs(rows - width) < 2;
    return application([operand(0, [batch, rows, width], spaced(rows, width))], a => svd(a, full));
  },
  brownian(choices) {
    const shape = choices.shape(0, 2);
    const count = choices.integer(1, 3);
    // Times without a derivative, as seeds have none.
    return application([operand(0, shape, whole(0, 9), 'int'), operand(1, shape, whole(-3, 9), 'int')], (seed, t) =>
      brownian(seed, t, count),
    );
  },
  declared(choices) {
    // x ↦ the rows of x times those of y, with the derivatives they have.
    const shape = choices.shape(1, 3);
    const [x, y] = [operand(0, shape, wide), operand(1, shape, other)];
    const node = declared(sum(binary('mul', x.node, y.node), [0]), [x.node, y.node], c => [
      binary('mul', broadcastTo(c, shape), y.node),
      binary('mul', broadcastTo(c, shape), x.node),
    ]);
    return {inputs: [x, y, {node: declarationOf(node).cotangent, draw: operand(2, node.shape, wide).draw}], node};
  },
  mapped(choices) {
    const shape = choices.shape(0, 3);
    return application([operand(0, shape, between(-1, 1)), operand(1, shape, between(-2, 2))], (x, y) =>
      mapped(xExpXy, [x, y]),
    );
  },
  sparseSolve(choices) {
    // The lower triangle by rows: dominant where both triangles have small entries.
    const {batch, n} = matrices(choices);
    const [rows, columns] = lowerTriangle(n);
    const draw: Draw = (random, index) => {
      const k = index % rows.length;
      return 2 * random() - 1 + (rows[k] === columns[k] ? 2 * n : 0);
    };
    return application([operand(0, [batch, rows.length], draw), operand(1, [batch, n], wide)], (a, b) =>
      sparseSolve(a, b, {rows, columns}),
    );
  },
  leastSquares(choices) {
    const {batch, n, columns} = matrices(choices);
    const rows = choices.integer(1, 4);
    return application(
      [operand(0, [batch, rows, n], spaced(rows, n)), operand(1, [batch, rows, columns], wide)],
      (a, b) => leastSquares(a, b),
    );
  },
};
