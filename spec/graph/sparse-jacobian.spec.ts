/** Jacobians entry by entry against products with unit vectors. */
import {expect} from 'chai';
import * as fc from 'fast-check';
import {batch} from '../../lib/graph/batch.js';
import {
  add,
  broadcastTo,
  concat,
  constant,
  gather,
  input,
  matMul,
  mul,
  reshape,
  scale,
  scatter,
  slice,
  sub,
  sum,
  unary,
  zeros,
} from '../../lib/graph/build.js';
import {orZeros, pushforward} from '../../lib/graph/differentiate.js';
import type {Graph, Node} from '../../lib/graph/node.js';
import {simplify} from '../../lib/graph/simplify.js';
import type {SparseJacobian} from '../../lib/graph/sparse-jacobian.js';
import {assembledJacobian} from '../../lib/graph/assembled-jacobian.js';
import {sparseJacobian} from '../../lib/graph/sparse-jacobian.js';
import {sparsityPattern} from '../../lib/graph/sparsity.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {wasm} from '../../lib/engine/wasm/wasm.js';
import {compare, execute} from '../engine/wasm/agreement.js';
import {graphs} from './programs.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

function jacobianOf(
  output: Node,
  wrt: Node,
  limit: number,
  method = sparseJacobian,
): {sparse: SparseJacobian | undefined; dense: Node; tangent: Node | undefined; direction: Node} {
  const direction = input('direction', wrt.shape);
  const [tangent] = pushforward([output], new Map([[wrt, direction]]));
  const identity = constant(
    Float64Array.from({length: wrt.size ** 2}, (_, i) => (i % (wrt.size + 1) === 0 ? 1 : 0)),
    [wrt.size, ...wrt.shape],
  );
  const [dense] = batch([orZeros(tangent, output)], new Map([[direction, identity]]), wrt.size);
  return {
    sparse: tangent === undefined ? undefined : method(tangent, direction, {terms: limit, cost: Infinity}),
    dense,
    tangent,
    direction,
  };
}

/** Entries against the columns of the dense matrix; false where no sparse one was made. */
function check(
  output: Node,
  wrt: Node,
  inputs: readonly Node[],
  seed: number,
  limit = 64,
  method = sparseJacobian,
): boolean {
  const {sparse, dense} = jacobianOf(output, wrt, limit, method);
  if (sparse === undefined) return false;
  const graph: Graph = simplify({
    inputs: inputs as Graph['inputs'],
    outputs: [
      {name: 'values', node: sparse.values},
      {name: 'dense', node: dense},
    ],
  });
  for (const engine of [interpreter, wasm]) {
    const run = execute(engine, {graph}, seed);
    const [values, columns] = [run.buffer('values'), run.buffer('dense')];
    const expanded = new Float64Array(columns.length);
    const {rows, pointers, indices} = sparse.pattern;
    for (let row = 0; row < rows; row++)
      for (let k = pointers[row]; k < pointers[row + 1]; k++) expanded[indices[k] * rows + row] = values[k];
    // The same products, added in another order.
    compare(`${engine.name}: entries`, expanded, columns, 1e-11);
  }
  return true;
}

describe('sparse Jacobian', () => {
  const n = 12;
  const [x, k, x13] = [input('x', [n]), input('k', [n]), input('m', [13])];
  const stretch = sub(x, concat([zeros([1]), slice(x, [0], [n - 1])], 0));
  const tension = mul(k, add(stretch, scale(mul(mul(stretch, stretch), stretch), 0.5)));
  const force = sub(concat([slice(tension, [1], [n - 1]), zeros([1])], 0), tension);

  it('of a chain is tridiagonal, three terms, its entries side by side without a table', () => {
    const {sparse} = jacobianOf(force, x, 8);
    expect(sparse?.terms).to.equal(3);
    expect(sparse?.pattern.indices.length).to.equal(3 * n - 2);
    expect(sparse?.values.op).to.equal('concat');
    expect(check(force, x, [x, k], 1)).to.equal(true);
  });

  it('of a net of springs in the plane: gathers, sums over coordinates, scatters', () => {
    const points = 9;
    const ends = [
      [0, 1],
      [1, 2],
      [3, 4],
      [4, 5],
      [6, 7],
      [7, 8],
      [0, 3],
      [3, 6],
      [1, 4],
      [4, 7],
      [2, 5],
      [5, 8],
    ];
    const q = input('q', [points, 2]);
    const table = (which: number): Int32Array =>
      Int32Array.from(ends.flatMap(pair => [2 * pair[which], 2 * pair[which] + 1]));
    const shape = [ends.length, 2];
    const d = sub(gather(q, table(1), shape), gather(q, table(0), shape));
    const length = reshape(unary('sqrt', add(sum(mul(d, d), [1]), constant(Float64Array.of(0.1), []))), [
      ends.length,
      1,
    ]);
    const pull = mul(d, sub(constant(Float64Array.of(1), []), unary('reciprocal', length)));
    const f = sub(scatter(pull, table(0), [points, 2]), scatter(pull, table(1), [points, 2]));
    const {sparse} = jacobianOf(f, q, 64);
    // The middle point has four neighbours: five blocks of 2 × 2.
    expect(
      Math.max(
        ...Array.from(
          {length: 2 * points},
          (_, row) => (sparse?.pattern.pointers[row + 1] ?? 0) - (sparse?.pattern.pointers[row] ?? 0),
        ),
      ),
    ).to.equal(10);
    expect(check(f, q, [q], 2)).to.equal(true);
  });

  it('goes through small products of matrices, either side, stored either way', () => {
    for (const transposeA of [false, true]) {
      for (const transposeB of [false, true]) {
        const a = input('a', transposeA ? [2, 3, 4] : [2, 4, 3]);
        const b = input('b', transposeB ? [2, 2, 3] : [2, 3, 2]);
        const product = matMul(unary('sin', a), unary('cos', b), transposeA, transposeB);
        expect(check(product, a, [a, b], 3)).to.equal(true);
        expect(check(product, b, [a, b], 4)).to.equal(true);
      }
    }
  });

  it('of a sum over elements is assembled: its terms are those of one element, however many meet', () => {
    // A fan of triangles around node 0: eleven of them meet there.
    const fan = Array.from({length: 11}, (_, i) => [0, i + 1, i + 2]);
    const u = input('u', [13]);
    const table = Int32Array.from(fan.flat());
    const local = gather(u, table, [fan.length, 3]);
    const total = reshape(sum(local, [1]), [fan.length, 1]);
    const pull = mul(unary('sin', local), mul(total, total));
    const f = sub(mul(x13, u), scale(scatter(pull, table, [13]), 0.5));
    const entries = jacobianOf(f, u, 64, assembledJacobian).sparse;
    // A node's own, and one for each of the three that are added up.
    expect(entries?.terms).to.equal(4);
    expect(check(f, u, [u, x13], 5, 64, assembledJacobian)).to.equal(true);
    // Two sums of one scatter: each element goes to two rows, which is left to the others.
    expect(
      jacobianOf(concat([scatter(pull, table, [13]), f], 0), u, 64, assembledJacobian).sparse?.pattern.rows,
    ).to.equal(26);
    const once = scatter(pull, table, [13]);
    expect(jacobianOf(concat([once, once], 0), u, 64, assembledJacobian).sparse).to.equal(undefined);
  });

  it('is not made where a value has more terms than asked for', () => {
    expect(jacobianOf(sum(mul(x, x), [0]), x, n).sparse?.terms).to.equal(n);
    expect(jacobianOf(sum(mul(x, x), [0]), x, n - 1).sparse).to.equal(undefined);
  });

  it('is given up where its coefficients cost more than asked for', () => {
    // Twelve sines of neighbours that differ: each has a coefficient of its own.
    const [direction, limit] = [input('direction', [n]), 64];
    const turned = (i: number): Node =>
      gather(
        x,
        Int32Array.from({length: n}, (_, j) => (i * j + i) % n),
        [n],
      );
    const total = Array.from({length: 12}, (_, i) => unary('sin', turned(i))).reduce((a, b) => add(a, b));
    const [tangent] = pushforward([total], new Map([[x, direction]]));
    const found = (cost: number): boolean =>
      sparseJacobian(orZeros(tangent, total), direction, {terms: limit, cost}) !== undefined;
    expect(found(Infinity)).to.equal(true);
    expect(found(100)).to.equal(false);
  });

  it('has one term where a repeated value is summed', () => {
    const repeated = unary(
      'tanh',
      sub(
        broadcastTo(x, [30, n]),
        constant(
          Float64Array.from({length: 30 * n}, (_, i) => Math.sin(i)),
          [30, n],
        ),
      ),
    );
    expect(jacobianOf(sum(repeated, [0]), x, 1).sparse?.terms).to.equal(1);
    expect(check(sum(repeated, [0]), x, [x], 7, 1)).to.equal(true);
  });

  slow('agrees with the columns of random programs, and finds no entry outside the pattern of dependence', () => {
    let made = 0;
    fc.assert(
      fc.property(graphs(8), fc.nat(1000), fc.nat(5), (graph, seed, which) => {
        const [{node: output}] = graph.outputs;
        const wrt = graph.inputs[which % graph.inputs.length];
        if (output.size * wrt.size > 2000 || output.size === 0) return;
        if (check(output, wrt, graph.inputs, seed)) made++;
        check(output, wrt, graph.inputs, seed, 64, assembledJacobian);
        const {sparse, tangent, direction} = jacobianOf(output, wrt, 64);
        if (sparse === undefined) return;
        const {pointers, indices} = sparsityPattern(tangent, direction, output.size);
        for (let row = 0; row < output.size; row++) {
          const allowed = new Set(indices.subarray(pointers[row], pointers[row + 1]));
          for (const column of sparse.pattern.indices.subarray(
            sparse.pattern.pointers[row],
            sparse.pattern.pointers[row + 1],
          ))
            expect(allowed.has(column)).to.equal(true);
        }
      }),
      runs(150),
    );
    expect(made).to.be.greaterThan(20);
  });
});
