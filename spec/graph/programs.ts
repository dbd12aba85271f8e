/**
 * Random programs: some inputs, then one primitive after another applied to values at hand. Arguments are
 * first brought to where the primitive is defined and well conditioned, so that values and derivatives of
 * ten steps stay of unit scale.
 */
import type * as fc from 'fast-check';
import {
  add,
  argExtreme,
  binary,
  broadcastTo,
  cast,
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
  mul,
  place,
  reshape,
  scalar,
  scale,
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
import type {BinaryName, Graph, Node, Op, Shape, UnaryName} from '../../lib/graph/node.js';
import {binaryNames, sizeOf, unaryNames} from '../../lib/graph/node.js';
import {lowerTriangle} from './cases.js';
import {Choices, draws} from './choices.js';
import {xExpXy} from './mapped.js';

export interface Program {
  readonly inputs: readonly Node<'input'>[];
  readonly outputs: readonly Node[];
  /** The primitive chosen for each step. */
  readonly ops: readonly Op[];
}

const sin = (x: Node): Node => unary('sin', x);
/** In [low, high], smoothly. */
const into = (x: Node, low: number, high: number): Node =>
  add(scale(sin(x), (high - low) / 2), scalar((high + low) / 2));

/** Brings an argument to where a function is defined, away from its poles. */
const preparations: {readonly [F in UnaryName]?: (x: Node) => Node} = {
  exp: sin,
  expm1: sin,
  sinh: sin,
  cosh: sin,
  tan: sin,
  square: sin,
  sqrt: x => into(x, 0.5, 2),
  rsqrt: x => into(x, 0.5, 2),
  reciprocal: x => into(x, 0.5, 2),
  log: x => into(x, 0.5, 2),
  log1p: x => into(x, -0.5, 1),
  asin: x => into(x, -0.7, 0.7),
  acos: x => into(x, -0.7, 0.7),
  atanh: x => into(x, -0.7, 0.7),
  acosh: x => into(x, 1.3, 3),
};

const secondPreparations: {readonly [F in BinaryName]?: (x: Node) => Node} = {
  div: x => into(x, 0.5, 2),
  mod: x => into(x, 1, 2),
  floorDiv: x => into(x, 1, 2),
  pow: x => into(x, -2, 2),
  atan2: x => into(x, 0.5, 2),
};

/** Any value as numbers of another shape: some repeated, some left out. */
function reshaped(x: Node, shape: Shape): Node {
  return gather(
    x,
    Int32Array.from({length: sizeOf(shape)}, (_, i) => (x.size === 0 ? -1 : (7 * i + 3) % x.size)),
    shape,
  );
}

function matrices(x: Node, choices: Choices): Node {
  return reshaped(x, [choices.integer(1, 2), choices.integer(1, 3), choices.integer(1, 3)]);
}

/** Strictly diagonally dominant. */
function dominant(x: Node, batch: number, n: number): Node {
  const diagonal = constant(
    Float64Array.from({length: n * n}, (_, i) => (Math.floor(i / n) === i % n ? n + 1 : 0)),
    [1, n, n],
  );
  return add(into(reshaped(x, [batch, n, n]), -1, 1), diagonal);
}

/** 2, 4, 6, … on the diagonal and little beside it: eigenvalues and singular values apart. */
function spaced(x: Node, batch: number, m: number, n: number): Node {
  const diagonal = constant(
    Float64Array.from({length: m * n}, (_, i) => (Math.floor(i / n) === i % n ? 2 * (1 + (i % n)) : 0)),
    [1, m, n],
  );
  return add(into(reshaped(x, [batch, m, n]), -0.2, 0.2), diagonal);
}

/** Whole numbers from −1 to `range`, by way of values. */
const positions = (x: Node, range: number): Node => cast(into(x, -1, range), 'int');

type Recipe = (x: Node, y: Node, choices: Choices) => Node;

interface Strided {
  readonly begin: number[];
  readonly size: number[];
  readonly strides: number[];
}

/** A section of each axis: all of it turned round, an end or a beginning either way, or every second or third. */
function strided(shape: Shape, choices: Choices): Strided {
  const sections = shape.map(n => {
    const size = choices.integer(1, n);
    const kind = choices.integer(0, 4);
    if (kind === 0) return {begin: n - 1, size: n, stride: -1};
    if (kind === 1) return {begin: n - 1, size, stride: -1};
    if (kind === 2) return {begin: n - size, size, stride: 1};
    const stride = kind === 3 ? 2 : choices.pick([-2, 3]);
    return {begin: stride < 0 ? n - 1 : 0, size: Math.ceil(n / Math.abs(stride)), stride};
  });
  return {
    begin: sections.map(({begin}) => begin),
    size: sections.map(({size}) => size),
    strides: sections.map(({stride}) => stride),
  };
}

/** Where a value stands among zeros: in place but turned round, at an end, or spread out. */
function spread(shape: Shape, choices: Choices): Strided {
  const places = shape.map(n => {
    const [before, after] = [choices.integer(0, 2), choices.integer(0, 2)];
    const kind = choices.integer(0, 3);
    if (kind === 0) return {begin: n - 1, size: n, stride: -1};
    if (kind === 1) return {begin: before, size: before + n + after, stride: 1};
    const size = before + 2 * (n - 1) + 1 + after;
    return kind === 2 ? {begin: before, size, stride: 2} : {begin: size - 1 - after, size, stride: -2};
  });
  return {
    begin: places.map(({begin}) => begin),
    size: places.map(({size}) => size),
    strides: places.map(({stride}) => stride),
  };
}

/** Positions of a table below `range`, −1 for none: at random, even or repeated steps, rows of a matrix. */
function table(length: number, range: number, choices: Choices): Int32Array {
  const random = choices.random();
  const [start, step] = [choices.integer(0, range), choices.integer(0, 5)];
  switch (choices.integer(0, 2)) {
    case 0:
      return Int32Array.from({length}, () => Math.floor(random() * (range + 1)) - 1);
    case 1:
      return Int32Array.from({length}, (_, i) => ((start + step * i) % (range + 1)) - 1);
    default: {
      const row = 1 + (start % 5);
      const first = Array.from({length: Math.ceil(length / row)}, () =>
        Math.floor(random() * Math.max(1, range - row + 1)),
      );
      return Int32Array.from({length}, (_, i) => Math.min(first[Math.floor(i / row)] + (i % row), range - 1));
    }
  }
}

/** A primitive without a row here does not compile. */
const recipes: {readonly [O in Op]: Recipe} = {
  input: (x, y) => add(reshaped(x, y.shape), y),
  constant: (x, _, choices) => {
    const random = choices.random();
    return mul(
      x,
      constant(
        Float64Array.from({length: x.size}, () => 2 * random() - 1),
        x.shape,
      ),
    );
  },
  unary(x, _, choices) {
    const fn = choices.pick(unaryNames);
    return unary(fn, (preparations[fn] ?? (given => given))(x));
  },
  binary(x, y, choices) {
    const fn = choices.pick(binaryNames);
    const second = (secondPreparations[fn] ?? (given => given))(reshaped(y, choices.narrower(x.shape)));
    if (fn === 'bitwiseAnd') return binary(fn, positions(x, 7), positions(second, 7));
    if (fn === 'pow') return binary(fn, into(x, 0.5, 2), choices.flag() ? second : scalar(choices.integer(-2, 3)));
    const result = choices.flag()
      ? binary(fn, x, second)
      : fn in secondPreparations
        ? binary(fn, x, second)
        : binary(fn, second, x);
    return fn === 'mul' ? sin(result) : result;
  },
  select: (x, y) => select(binary('less', x, scalar(0.1)), x, reshaped(y, x.shape)),
  reshape: (x, _, choices) => reshape(x, choices.regrouped(x.shape)),
  transpose: (x, _, choices) => transpose(x, choices.permutation(x.shape.length)),
  broadcast: (x, _, choices) =>
    broadcastTo(x, [choices.integer(1, 3), ...x.shape.map(n => (n === 1 ? choices.integer(1, 3) : n))]),
  slice(x, _, choices) {
    const {begin, size, strides} = strided(x.shape, choices);
    return slice(x, begin, size, strides);
  },
  place(x, _, choices) {
    const {begin, size, strides} = spread(x.shape, choices);
    return place(x, begin, size, strides);
  },
  concat(x, y, choices) {
    if (x.shape.length === 0) return concat([reshape(x, [1]), reshape(y, [y.size])], 0);
    const axis = choices.integer(0, x.shape.length - 1);
    return concat(
      [
        x,
        reshaped(
          y,
          x.shape.map((n, i) => (i === axis ? choices.integer(1, 2) : n)),
        ),
      ],
      axis,
    );
  },
  gather(x, _, choices) {
    const shape = choices.shape(0, 3);
    return gather(x, table(sizeOf(shape), x.size, choices), shape);
  },
  scatter(x, _, choices) {
    const shape = choices.shape(0, 3);
    return sin(scatter(x, table(x.size, sizeOf(shape), choices), shape));
  },
  gatherAt: (x, y) => gatherAt(x, positions(y, x.size)),
  scatterAt: (x, y, choices) => {
    const shape = choices.shape(0, 3);
    return sin(scatterAt(x, positions(reshaped(y, x.shape), sizeOf(shape)), shape));
  },
  searchSorted(x, y, choices) {
    const rows = choices.integer(1, 2);
    const sorted = cumsum(unary('exp', sin(reshaped(x, [rows, 4]))), 1, false, false);
    const place = searchSorted(
      sorted,
      scale(into(reshaped(y, [rows, 3]), 0, 5), 1),
      choices.pick(['left', 'right'] as const),
    );
    return mul(cast(place, 'float'), reshaped(x, [rows, 3]));
  },
  sum: (x, _, choices) => sin(sum(x, choices.subset(x.shape.length))),
  max: (x, _, choices) => max(x, choices.subset(x.shape.length)),
  min: (x, _, choices) => min(x, choices.subset(x.shape.length)),
  argMax: (x, y) => along('argMax', x, y),
  argMin: (x, y) => along('argMin', x, y),
  cumsum: (x, _, choices) =>
    x.shape.length === 0
      ? sin(x)
      : sin(cumsum(x, choices.integer(0, x.shape.length - 1), choices.flag(), choices.flag())),
  matMul(x, y, choices) {
    const a = matrices(x, choices);
    const [b, m, n] = a.shape;
    const columns = choices.integer(1, 3);
    const [transposeA, transposeB] = [choices.flag(), choices.flag()];
    const inner = transposeA ? m : n;
    return sin(matMul(a, reshaped(y, transposeB ? [b, columns, inner] : [b, inner, columns]), transposeA, transposeB));
  },
  solve: (x, y, choices) =>
    ofMatrix(choices, (b, n) => solve(dominant(x, b, n), reshaped(y, [b, n, 2]), choices.flag())),
  cholesky: (x, _, choices) => ofMatrix(choices, (b, n) => cholesky(dominant(x, b, n))),
  triangularSolve: (x, y, choices) =>
    ofMatrix(choices, (b, n) =>
      triangularSolve(dominant(x, b, n), reshaped(y, [b, n, 2]), choices.flag(), choices.flag()),
    ),
  lu: (x, _, choices) => ofMatrix(choices, (b, n) => scale(lu(dominant(x, b, n)), 0.25)),
  semidefinite: (x, _, choices) =>
    ofMatrix(choices, (b, n) => semidefinite(dominant(x, b, n), choices.pick(['zero', 'turned'] as const))),
  eigen: (x, _, choices) => ofMatrix(choices, (b, n) => eigen(spaced(x, b, n, n))),
  svd: (x, _, choices) =>
    ofMatrix(choices, (b, n) => {
      // Of two or more columns that complete a factor only the space has a derivative.
      const m = choices.integer(1, 3);
      return svd(spaced(x, b, m, n), choices.flag() && Math.abs(m - n) < 2);
    }),
  leastSquares: (x, y, choices) =>
    ofMatrix(choices, (b, n) => leastSquares(spaced(x, b, n, choices.integer(1, 3)), reshaped(y, [b, n, 2]))),
  sparseSolve: (x, y, choices) =>
    ofMatrix(choices, (b, n) => {
      const [rows, columns] = lowerTriangle(n);
      const diagonal = constant(
        Float64Array.from(rows, (i, k) => (i === columns[k] ? 2 * n : 0)),
        [1, rows.length],
      );
      const entries = add(into(reshaped(x, [b, rows.length]), -1, 1), diagonal);
      return sparseSolve(entries, reshaped(y, [b, n]), {rows, columns});
    }),
  mapped: (x, y) => mapped(xExpXy, [sin(x), sin(reshaped(y, x.shape))]),
  brownian: (x, y, choices) =>
    brownian(unary('floor', unary('abs', x)), unary('floor', scale(reshaped(y, x.shape), 3)), choices.integer(1, 2)),
  declared: (x, y, choices) => {
    // x sin y with the derivatives it has.
    const z = reshaped(y, x.shape);
    return choices.flag()
      ? declared(sin(x), [x], c => [mul(c, unary('cos', x))])
      : declared(mul(x, sin(z)), [x, z], c => [mul(c, sin(z)), mul(c, mul(x, unary('cos', z)))]);
  },
  luPermutation: (x, y, choices) =>
    ofMatrix(choices, (b, n) => mul(cast(luPermutation(dominant(x, b, n)), 'float'), reshaped(y, [b, n]))),
};

/** The position of an extreme, as a factor. A ramp keeps values that are equal on paper from being told apart by rounding. */
function along(op: 'argMax' | 'argMin', x: Node, y: Node): Node {
  const flat = add(
    reshape(x, [x.size]),
    constant(
      Float64Array.from({length: x.size}, (_, i) => 0.013 * i),
      [x.size],
    ),
  );
  return mul(y, scale(cast(argExtreme(op, flat, 0), 'float'), 1 / x.size));
}

function ofMatrix(choices: Choices, build: (batch: number, n: number) => Node): Node {
  return build(choices.integer(1, 2), choices.integer(1, 3));
}

/** Numbers in a program stay few: a large value is summed along its first axis. */
function bounded(x: Node, largest: number): Node {
  return x.size > largest && x.shape.length > 0 ? bounded(sin(sum(x, [0])), largest) : x;
}

const allOps = Object.keys(recipes) as Op[];

/** Primitives whose derivatives are programs of their own: graphs without them are a tenth of the size. */
const factorizations: ReadonlySet<Op> = new Set<Op>([
  'solve',
  'cholesky',
  'triangularSolve',
  'lu',
  'luPermutation',
  'semidefinite',
  'eigen',
  'svd',
  'leastSquares',
  'sparseSolve',
]);
export const lightOps: readonly Op[] = allOps.filter(op => !factorizations.has(op));

export interface ProgramOptions {
  readonly steps?: number;
  /** Numbers of a value, and of an input whose one axis is long. */
  readonly largest?: number;
  readonly ops?: readonly Op[];
}

export function program(choices: Choices, {steps = 10, largest = 64, ops = allOps}: ProgramOptions = {}): Program {
  const shape = (): number[] => (choices.integer(0, 3) === 3 ? [choices.integer(5, largest)] : choices.shape(0, 3));
  const inputs = Array.from({length: choices.integer(1, 3)}, (_, k) => input(`x${k}`, shape()));
  const values: Node[] = [...inputs];
  const chosen: Op[] = [];
  for (let step = 0; step < steps; step++) {
    const op = choices.pick(ops);
    // The latest value again and again, so that programs are deep.
    const x = choices.flag() ? values[values.length - 1] : choices.pick(values);
    const result = cast(recipes[op](x, choices.pick(values), choices), 'float');
    chosen.push(op);
    values.push(bounded(result, largest));
  }
  const outputs = Array.from({length: choices.integer(1, 3)}, (_, k) => values[Math.max(0, values.length - 1 - 2 * k)]);
  return {inputs, outputs, ops: chosen};
}

/** Draws a program may use. */
export const programDraws = 160;

/** Graphs whose numbers are enough for every way of looping: pairs, interleaved pairs, chains of sums, each with a rest. */
export const graphs = (steps: number): fc.Arbitrary<Graph> =>
  draws(programDraws).map(list => {
    const {inputs, outputs} = program(new Choices(list), {steps, largest: 80});
    return {inputs, outputs: outputs.map((node, k) => ({name: `y${k}`, node}))};
  });
