/** Programs of every primitive on random shapes and attributes. */
import * as fc from 'fast-check';
import {
  add,
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
  mul,
  place,
  reshape,
  scalar,
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
} from '../../../lib/graph/build.js';
import type {Graph, Node, Op, Shape} from '../../../lib/graph/node.js';
import {binaryNames, sizeOf, unaryNames} from '../../../lib/graph/node.js';
import {lowerTriangle} from '../../graph/cases.js';
import {xExpXy} from '../../graph/mapped.js';

export const graphOf = (inputs: readonly Node[], ...outputs: readonly Node[]): Graph => ({
  inputs: inputs as Graph['inputs'],
  outputs: outputs.map((node, i) => ({name: `y${i}`, node})),
});

const size = fc.integer({min: 0, max: 7});
export const long = fc.integer({min: 30, max: 200});
const shapes = (rank: number): fc.Arbitrary<number[]> => fc.array(size, {minLength: rank, maxLength: rank});
const anyShape = fc.integer({min: 0, max: 4}).chain(shapes);
const permutation = (rank: number): fc.Arbitrary<number[]> =>
  fc.shuffledSubarray(
    Array.from({length: rank}, (_, i) => i),
    {minLength: rank, maxLength: rank},
  );
const matrixCase = fc.record({
  batch: fc.integer({min: 1, max: 3}),
  n: fc.integer({min: 1, max: 6}),
  m: fc.integer({min: 1, max: 4}),
  adjoint: fc.boolean(),
  lower: fc.boolean(),
});

/** One node for each name and shape: inputs are told apart by identity. */
const inputs = new Map<string, Node>();
function named(name: string, shape: Shape): Node {
  const key = `${name}[${shape.join()}]`;
  let node = inputs.get(key);
  if (node === undefined) inputs.set(key, (node = input(name, shape)));
  return node;
}
export const x = (shape: Shape): Node => named('x', shape);
export const y = (shape: Shape): Node => named('y', shape);

/** A well-conditioned matrix made of the input's numbers, which lie in [−2, 2). */
function dominant(a: Node): Node {
  const [batch, n] = a.shape;
  const diagonal = constant(
    Float64Array.from({length: batch * n * n}, (_, i) => ((i % (n * n)) % (n + 1) === 0 ? 4 * n : 0)),
    a.shape,
  );
  return add(mul(scalar(0.5), add(a, transpose(a, [0, 2, 1]))), diagonal);
}

function sectionOf(shape: Shape): fc.Arbitrary<{begin: number; size: number; stride: number}[]> {
  return fc.tuple(
    ...shape.map(n =>
      fc
        .record({
          begin: fc.nat({max: Math.max(0, n - 1)}),
          stride: fc.constantFrom(1, 1, -1, 2, -2, 3),
          part: fc.double({min: 0, max: 1, noNaN: true}),
        })
        .map(({begin, stride, part}) => {
          const room = n === 0 ? 0 : Math.floor((stride > 0 ? n - 1 - begin : begin) / Math.abs(stride)) + 1;
          return {begin, stride, size: Math.round(part * room)};
        }),
    ),
  );
}

export const cases: {readonly [O in Op]: fc.Arbitrary<Graph>} = {
  input: anyShape.map(shape => graphOf([x(shape)], x(shape))),
  constant: anyShape.map(shape =>
    graphOf(
      [],
      constant(
        Float64Array.from({length: sizeOf(shape)}, (_, i) => i / 7),
        shape,
      ),
    ),
  ),
  unary: fc
    .tuple(fc.constantFrom(...unaryNames), anyShape)
    .map(([fn, shape]) => graphOf([x(shape)], unary(fn, x(shape)))),
  binary: fc
    .tuple(fc.constantFrom(...binaryNames), anyShape)
    .map(([fn, shape]) => graphOf([x(shape), y(shape)], binary(fn, x(shape), y(shape)))),
  select: anyShape.map(shape =>
    graphOf(
      [x(shape), y(shape)],
      select(binary('less', x(shape), y(shape)), x(shape), y(shape)),
      select(unary('floor', x(shape)), x(shape), y(shape)),
    ),
  ),
  reshape: anyShape.map(shape => graphOf([x(shape)], reshape(x(shape), [sizeOf(shape)]))),
  transpose: fc
    .integer({min: 1, max: 4})
    .chain(rank => fc.tuple(shapes(rank), permutation(rank)))
    .map(([shape, order]) => graphOf([x(shape)], transpose(x(shape), order))),
  broadcast: fc.tuple(anyShape, fc.infiniteStream(fc.boolean())).map(([shape, thin]) => {
    const small = shape.map(n => (thin.next().value ? 1 : n));
    return graphOf([x(small)], broadcastTo(x(small), shape));
  }),
  slice: anyShape
    .chain(shape => fc.tuple(fc.constant(shape), sectionOf(shape)))
    .map(([shape, parts]) =>
      graphOf(
        [x(shape)],
        slice(
          x(shape),
          parts.map(p => p.begin),
          parts.map(p => p.size),
          parts.map(p => p.stride),
        ),
      ),
    ),
  place: anyShape
    .chain(shape => fc.tuple(fc.constant(shape), sectionOf(shape)))
    .map(([shape, parts]) =>
      graphOf(
        [x(parts.map(p => p.size))],
        place(
          x(parts.map(p => p.size)),
          parts.map(p => p.begin),
          shape,
          parts.map(p => p.stride),
        ),
      ),
    ),
  concat: fc
    .integer({min: 1, max: 3})
    .chain(rank => fc.tuple(shapes(rank), fc.nat({max: rank - 1}), fc.array(size, {minLength: 1, maxLength: 6})))
    .map(([shape, axis, widths]) => {
      const parts = widths.map((width, i) =>
        input(
          `x${i}`,
          shape.map((n, a) => (a === axis ? width : n)),
        ),
      );
      const joined = concat(parts, axis);
      return graphOf(parts, joined, unary('neg', joined));
    }),
  gather: fc.tuple(fc.integer({min: 1, max: 9}), shapes(2), fc.nat({max: 50})).map(([n, shape, step]) =>
    graphOf(
      [x([n])],
      gather(
        x([n]),
        Int32Array.from({length: sizeOf(shape)}, (_, i) => ((i * step) % (n + 1)) - 1),
        shape,
      ),
    ),
  ),
  scatter: fc.tuple(fc.integer({min: 1, max: 9}), shapes(2), fc.nat({max: 50})).map(([n, shape, step]) =>
    graphOf(
      [x(shape)],
      scatter(
        x(shape),
        Int32Array.from({length: sizeOf(shape)}, (_, i) => ((i * step) % (n + 1)) - 1),
        [n],
      ),
    ),
  ),
  gatherAt: fc
    .tuple(fc.integer({min: 1, max: 9}), shapes(2))
    .map(([n, shape]) => graphOf([x([n]), y(shape)], gatherAt(x([n]), unary('floor', mul(y(shape), scalar(n)))))),
  scatterAt: fc
    .tuple(fc.integer({min: 1, max: 9}), shapes(2))
    .map(([n, shape]) =>
      graphOf([x(shape), y(shape)], scatterAt(x(shape), unary('floor', mul(y(shape), scalar(n))), [n])),
    ),
  searchSorted: fc
    .tuple(size, size, size, fc.constantFrom('left' as const, 'right' as const))
    .map(([rows, n, m, side]) =>
      graphOf(
        [x([rows, n]), y([rows, m])],
        searchSorted(
          cumsum(unary('abs', unary('floor', x([rows, n]))), 1, false, false),
          unary('floor', mul(y([rows, m]), scalar(4))),
          side,
        ),
      ),
    ),
  sum: reduced(sum),
  max: reduced(max),
  min: reduced(min),
  argMax: extremes('argMax'),
  argMin: extremes('argMin'),
  cumsum: fc
    .integer({min: 1, max: 3})
    .chain(rank => fc.tuple(shapes(rank), fc.nat({max: rank - 1}), fc.boolean(), fc.boolean()))
    .map(([shape, axis, exclusive, reverse]) => graphOf([x(shape)], cumsum(x(shape), axis, exclusive, reverse))),
  matMul: fc
    .tuple(
      fc.integer({min: 1, max: 3}),
      fc.integer({min: 1, max: 9}),
      size,
      fc.integer({min: 1, max: 21}),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([batch, m, k, n, ta, tb]) => {
      const a = x(ta ? [batch, k, m] : [batch, m, k]);
      const b = y(tb ? [batch, n, k] : [batch, k, n]);
      return graphOf([a, b], matMul(a, b, ta, tb));
    }),
  solve: matrixCase.map(({batch, n, m, adjoint}) =>
    graphOf([x([batch, n, n]), y([batch, n, m])], solve(dominant(x([batch, n, n])), y([batch, n, m]), adjoint)),
  ),
  cholesky: matrixCase.map(({batch, n}) => graphOf([x([batch, n, n])], cholesky(dominant(x([batch, n, n]))))),
  triangularSolve: matrixCase.map(({batch, n, m, adjoint, lower}) =>
    graphOf(
      [x([batch, n, n]), y([batch, n, m])],
      triangularSolve(dominant(x([batch, n, n])), y([batch, n, m]), lower, adjoint),
    ),
  ),
  lu: matrixCase.map(({batch, n}) => graphOf([x([batch, n, n])], lu(x([batch, n, n])))),
  semidefinite: matrixCase.map(({batch, n, adjoint}) =>
    graphOf([x([batch, n, n])], semidefinite(x([batch, n, n]), adjoint ? 'zero' : 'turned')),
  ),
  eigen: matrixCase.map(({batch, n}) => graphOf([x([batch, n, n])], eigen(x([batch, n, n])))),
  svd: matrixCase.map(({batch, n, m, adjoint}) => graphOf([x([batch, n, m])], svd(x([batch, n, m]), adjoint))),
  leastSquares: matrixCase.map(({batch, n, m}) =>
    graphOf([x([batch, n, m]), y([batch, n, 2])], leastSquares(x([batch, n, m]), y([batch, n, 2]))),
  ),
  sparseSolve: matrixCase.map(({batch, n}) => {
    const [rows, columns] = lowerTriangle(n);
    const diagonal = constant(
      Float64Array.from(rows, (i, k) => (i === columns[k] ? 4 * n : 0)),
      [1, rows.length],
    );
    const entries = add(x([batch, rows.length]), broadcastTo(diagonal, [batch, rows.length]));
    return graphOf([x([batch, rows.length]), y([batch, n])], sparseSolve(entries, y([batch, n]), {rows, columns}));
  }),
  brownian: fc
    .tuple(shapes(2), fc.integer({min: 1, max: 3}))
    .map(([shape, count]) =>
      graphOf([x(shape), y(shape)], brownian(unary('floor', unary('abs', x(shape))), y(shape), count)),
    ),
  declared: shapes(2).map(shape =>
    graphOf(
      [x(shape)],
      declared(unary('sin', x(shape)), [x(shape)], c => [c]),
    ),
  ),
  mapped: shapes(2).map(shape => graphOf([x(shape), y(shape)], mapped(xExpXy, [x(shape), y(shape)]))),
  luPermutation: matrixCase.map(({batch, n}) => graphOf([x([batch, n, n])], luPermutation(x([batch, n, n])))),
};

function reduced(reduce: (node: Node, axes: readonly number[]) => Node): fc.Arbitrary<Graph> {
  return fc
    .integer({min: 1, max: 4})
    .chain(rank =>
      fc.tuple(
        shapes(rank),
        fc.subarray(
          Array.from({length: rank}, (_, i) => i),
          {minLength: 1},
        ),
      ),
    )
    .map(([shape, axes]) => graphOf([x(shape)], reduce(x(shape), axes)));
}

function extremes(op: 'argMax' | 'argMin'): fc.Arbitrary<Graph> {
  const positive = fc.integer({min: 1, max: 6});
  return fc
    .integer({min: 1, max: 3})
    .chain(rank => fc.tuple(fc.array(positive, {minLength: rank, maxLength: rank}), fc.nat({max: rank - 1})))
    .map(([shape, axis]) => graphOf([x(shape)], argExtreme(op, unary('floor', mul(x(shape), scalar(2))), axis)));
}
