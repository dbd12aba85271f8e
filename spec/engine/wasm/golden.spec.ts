/**
 * The code generated for small programs of each family of primitives, as text: a change in it is
 * meant to be seen. GOLDEN=write writes the files anew.
 */
import {readFileSync, writeFileSync} from 'node:fs';
import {expect} from 'chai';
import wabt from 'wabt';
import {
  add,
  argExtreme,
  binary,
  broadcastTo,
  brownian,
  cholesky,
  concat,
  constant,
  cumsum,
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
  scale,
  scatter,
  scatterAt,
  searchSorted,
  select,
  semidefinite,
  slice,
  solve,
  sparseSolve,
  sub,
  sum,
  svd,
  transpose,
  triangularSolve,
  unary,
  zeros,
} from '../../../lib/graph/build.js';
import type {Graph, Node} from '../../../lib/graph/node.js';
import {topological} from '../../../lib/graph/node.js';
import {primitives} from '../../../lib/graph/primitives/index.js';
import {xExpXy} from '../../graph/mapped.js';
import {generate} from '../../../lib/engine/wasm/wasm.js';

const x = input('x', [5]);
const y = input('y', [5]);
const m = input('m', [3, 4]);
const a = input('a', [1, 3, 4]);
const b = input('b', [1, 4, 3]);
const c = input('c', [1, 6]);
const s = input('s', [1, 3, 3]);
const r = input('r', [1, 3, 1]);
const row = input('row', [37]);
const seed = input('seed', []);
const clock = input('t', []);

const graph = (inputs: readonly Node[], ...outputs: readonly Node[]): Graph => ({
  inputs: inputs as Graph['inputs'],
  outputs: outputs.map((node, i) => ({name: `out${i}`, node})),
});

const stretch = sub(x, concat([zeros([1]), slice(x, [0], [4])], 0));

const families: Readonly<Record<string, Graph>> = {
  elementwise: graph([x, y], add(mul(x, y), scale(unary('sqrt', x), 0.5))),
  'comparison-and-select': graph([x, y], select(binary('less', x, y), x, unary('abs', y))),
  'function-of-the-host': graph([x], unary('atan', x)),
  'function-of-pairs': graph([x], unary('exp', x)),
  'function-of-function': graph([row], unary('softplus', row)),
  'chain-with-ends': graph([x, y], mul(y, add(stretch, scale(mul(mul(stretch, stretch), stretch), 0.5)))),
  'broadcast-and-transpose': graph(
    [m, y],
    mul(transpose(m, [1, 0]), broadcastTo(reshape(slice(y, [0], [4]), [4, 1]), [4, 3])),
  ),
  place: graph([x], place(x, [1], [7])),
  'place-spread': graph([x], place(x, [1], [11], [2])),
  gather: graph([x], gather(x, Int32Array.of(3, -1, 0, 0, 4, 2), [6])),
  'gather-rows': graph([m], gather(m, Int32Array.of(8, 9, 10, 11, 0, 1, 2, 3), [2, 4])),
  scatter: graph([x], scatter(x, Int32Array.of(1, 0, 1, -1, 2), [3])),
  'computed-positions': graph([x, y], gatherAt(x, y), scatterAt(x, y, [3])),
  sum: graph([x, m], sum(mul(x, x), [0]), sum(m, [0])),
  'sum-in-pairs': graph([row], sum(slice(row, [0], [9]), [0])),
  'sum-in-chains': graph([row], sum(row, [0])),
  extreme: graph([m], max(m, [1]), min(m, [0])),
  'first-extreme': graph([m], argExtreme('argMin', m, 1), argExtreme('argMax', m, 0)),
  'running-sum': graph([x], cumsum(x, 0, false, true)),
  search: graph([x, y], searchSorted(reshape(x, [1, 5]), reshape(y, [1, 5]), 'left')),
  'product-by-columns': graph([a, b], matMul(a, b)),
  'product-by-dots': graph([a, m], matMul(a, reshape(m, [1, 3, 4]), false, true)),
  'product-by-rows': graph([a, b], matMul(transpose(b, [0, 2, 1]), transpose(a, [0, 2, 1]))),
  'product-in-parts': graph([m, r], matMul(transpose(reshape(m, [1, 3, 4]), [0, 2, 1]), r)),
  factorization: graph(
    [s, r],
    solve(s, r),
    cholesky(s),
    triangularSolve(s, r, true),
    lu(s),
    luPermutation(s),
    semidefinite(s, 'zero'),
  ),
  'sparse-factorization': graph(
    [c, x],
    sparseSolve(c, reshape(x, [1, 5]), {
      rows: Int32Array.of(0, 1, 1, 2, 3, 4),
      columns: Int32Array.of(0, 0, 1, 2, 3, 4),
    }),
  ),
  declared: graph(
    [x],
    declared(unary('abs', x), [x], c => [c]),
  ),
  'users-function': graph([x, y], mapped(xExpXy, [x, y])),
  spectrum: graph([s, r], eigen(s), svd(s, false), leastSquares(s, r)),
  noise: graph([seed, clock], brownian(seed, clock, 3)),
  'computed-once': graph([x], mul(x, cumsum(constant(Float64Array.of(1, 2, 3, 4, 5), [5]), 0, false, false))),
};

describe('wasm engine: golden texts', () => {
  it('show every primitive', () => {
    const shown = new Set(
      Object.values(families).flatMap(program => topological(program.outputs.map(({node}) => node)).map(({op}) => op)),
    );
    expect([...shown].sort()).to.deep.equal(Object.keys(primitives).sort());
  });

  for (const [name, program] of Object.entries(families)) {
    it(name, async () => {
      const toolkit = await wabt();
      const module = toolkit.readWasm(generate({[name]: program}).bytes, {readDebugNames: false});
      module.validate();
      const text = module.toText({foldExprs: true, inlineExport: true});
      module.destroy();
      const file = new URL(`golden/${name}.wat`, import.meta.url);
      if (process.env['GOLDEN'] === 'write') writeFileSync(file, text);
      expect(text).to.equal(readFileSync(file, 'utf8'));
    });
  }
});
