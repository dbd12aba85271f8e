/**
 * The wasm engine in single precision: every primitive against the interpreter's doubles, within single precision's
 * rounding; functions over their ranges in units of the last place; products at every edge of a tile and a block.
 */
import {setFlagsFromString} from 'node:v8';
import {expect} from 'chai';
import * as fc from 'fast-check';
import {interpreter} from '../../../lib/engine/interpreter.js';
import {single} from '../../../lib/engine/wasm/format.js';
import {ordinary} from '../../../lib/engine/wasm/memory.js';
import {engineIn, generate, wasmSingle} from '../../../lib/engine/wasm/wasm.js';
import {add, broadcastTo, input, matMul, mul, slice, sum, transpose, unary} from '../../../lib/graph/build.js';
import type {Graph, UnaryName} from '../../../lib/graph/node.js';
import {compare, execute} from './agreement.js';
import {cases, graphOf, long, x, y} from './cases.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

/** Single precision's unit roundoff. */
const epsilon = 2 ** -24;

/**
 * Compares outputs relative to the largest number of each; inputs are numbers in single precision.
 * @param cancels an output may be small beside the sum of absolute values it is made of, to which its rounding is relative (Higham 2002,
 *   §4.2): at most 2 for every number of the inputs
 */
function agreeInSingle(graph: Graph, seed: number, roundings: number, cancels = false): void {
  const rounded = ({buffer}: {buffer: (name: string) => Float64Array}): void =>
    graph.inputs.forEach(node => {
      const values = buffer(node.attributes.name);
      values.set(Float32Array.from(values));
    });
  const expected = execute(interpreter, {main: graph}, seed, rounded);
  const actual = execute(wasmSingle, {main: graph}, seed, rounded);
  const given = graph.inputs.reduce((total, node) => total + node.size, 0);
  for (const {name} of graph.outputs) {
    const terms = cancels ? Math.max(1, (2 * given) / actual.buffer(name).length) : 1;
    compare(name, actual.buffer(name), expected.buffer(name), roundings * epsilon * terms);
  }
}

/** Units in the last place of single precision at a number. */
function unitsOff(actual: number, expected: number): number {
  const rounded = Math.fround(expected);
  if (Object.is(actual, rounded) || actual === rounded) return 0;
  const unit = 2 ** Math.max(Math.floor(Math.log2(Math.abs(expected))) - 23, -149);
  return Math.abs(actual - expected) / unit;
}

describe('wasm engine in single precision', () => {
  // The linear algebra of ill-conditioned matrices loses digits that single precision has fewer of from the start.
  const loose = new Set([
    'leastSquares',
    'sparseSolve',
    'eigen',
    'svd',
    'semidefinite',
    'solve',
    'triangularSolve',
    'cholesky',
  ]);
  for (const [op, graphs] of Object.entries(cases)) {
    slow(`${op} gives the interpreter's numbers, rounded`, () => {
      fc.assert(
        fc.property(graphs, fc.nat(100), (graph, seed) =>
          agreeInSingle(graph, seed, loose.has(op) ? 64 : 16, op === 'sum'),
        ),
        runs(60),
      );
    });
  }

  slow('sums along either axis and functions of functions, four side by side', () => {
    fc.assert(
      fc.property(long, long, fc.nat(100), (rows, columns, seed) => {
        const m = x([rows, columns]);
        const bent = unary('tanh', add(unary('softplus', add(m, broadcastTo(y([columns]), [rows, columns]))), m));
        const outputs = [bent, sum(bent, [0]), sum(bent, [1]), sum(mul(m, bent), [0, 1]), transpose(bent, [1, 0])];
        agreeInSingle(graphOf([m, y([columns])], ...outputs), seed, 300);
      }),
      runs(30),
    );
  });

  const ranges: readonly (readonly [UnaryName, number, number, number])[] = [
    ['exp', -104, 88.7, 2],
    ['expm1', -30, 88.7, 3],
    ['expm1', -1, 1, 3],
    ['tanh', -12, 12, 3],
    ['tanh', -0.5, 0.5, 3],
    ['log', 1e-42, 1e-37, 2],
    ['log', 0.01, 100, 2],
    ['log', 0.9, 1.1, 2],
    ['log1p', -0.99, 10, 3],
    ['log1p', -1e-3, 1e-3, 3],
    ['softplus', -20, 20, 3],
    ['sigmoid', -80, 80, 4],
  ];
  for (const [fn, low, high, units] of ranges) {
    it(`${fn} on [${low}, ${high}] is right to ${units} units in the last place`, () => {
      const n = 100_000;
      const node = x([n]);
      const executable = wasmSingle.compile({main: graphOf([node], unary(fn, node))});
      const reference = interpreter.compile({main: graphOf([node], unary(fn, node))});
      for (const {buffer} of [executable, reference])
        buffer('x').forEach((_, i, all) => (all[i] = Math.fround(low + (high - low) * ((i * 0.6180339887498949) % 1))));
      for (const each of [executable, reference]) each.run('main');
      const [actual, expected] = [executable.buffer('y0'), reference.buffer('y0')];
      let worst = 0;
      for (let i = 0; i < n; i++) worst = Math.max(worst, unitsOff(actual[i], expected[i]));
      expect(worst).to.be.below(units);
    });
  }

  it('sine and cosine are right to 2⁻²³ at any angle', () => {
    const n = 50_000;
    let worst = 0;
    for (const largest of [4, 8000, 1e6]) {
      const node = x([n]);
      const graph = graphOf([node], unary('sin', node), unary('cos', node));
      const executable = wasmSingle.compile({main: graph});
      const angles = executable.buffer('x');
      angles.forEach((_, i) => (angles[i] = Math.fround(largest * (2 * ((i * 0.6180339887498949) % 1) - 1))));
      executable.run('main');
      const [sine, cosine] = [executable.buffer('y0'), executable.buffer('y1')];
      angles.forEach((angle, i) => {
        worst = Math.max(worst, Math.abs(sine[i] - Math.sin(angle)), Math.abs(cosine[i] - Math.cos(angle)));
      });
    }
    expect(worst).to.be.below(2 ** -23);
  });

  it('functions at the ends of their ranges are what they are in double precision', () => {
    const special = [0, -0, 1, -1, Infinity, -Infinity, NaN, 200, -200, 2 ** -149, 0.5];
    for (const fn of ['exp', 'expm1', 'log', 'log1p', 'tanh', 'sin', 'cos', 'sigmoid', 'softplus'] as const) {
      const node = x([12]);
      const executable = wasmSingle.compile({main: graphOf([node], unary(fn, node))});
      const reference = interpreter.compile({main: graphOf([node], unary(fn, node))});
      for (const each of [executable, reference]) {
        each.buffer('x').set(special);
        each.run('main');
      }
      special.forEach((at, i) => {
        const expected = Math.fround(reference.buffer('y0')[i]);
        const actual = executable.buffer('y0')[i];
        const same = Object.is(actual, expected) || Math.abs(actual - expected) <= 2 ** -22 * Math.abs(expected);
        expect(same, `${fn}(${at}) is ${actual}, should be ${expected}`).to.equal(true);
      });
    }
  });

  describe('products', () => {
    function agreeProduct(m: number, k: number, n: number, transposeA: boolean, transposeB: boolean): void {
      const a = input('a', transposeA ? [1, k, m] : [1, m, k]);
      const b = input('b', transposeB ? [1, n, k] : [1, k, n]);
      const graph = graphOf([a, b], matMul(a, b, transposeA, transposeB));
      // Terms are below 4: their sums' roundings, relative to the largest element.
      agreeInSingle(graph, 7, 4 * Math.sqrt(k) + 16);
    }

    slow('of every small size', () => {
      const size = fc.integer({min: 1, max: 19});
      fc.assert(
        fc.property(size, fc.integer({min: 1, max: 40}), size, fc.boolean(), fc.boolean(), agreeProduct),
        runs(150),
      );
    });

    for (const [m, k, n] of [
      [16, 512, 260],
      [67, 259, 258],
      [257, 257, 19],
    ])
      it(`[${m}, ${k}]·[${k}, ${n}] in blocks`, () => {
        for (const transposeA of [false, true])
          for (const transposeB of [false, true]) agreeProduct(m, k, n, transposeA, transposeB);
      });

    it('with the fused multiply-add of relaxed SIMD, where the runtime has it', function () {
      // Node 20 has it behind this flag, later ones as they are.
      setFlagsFromString('--experimental-wasm-relaxed-simd');
      const fused = {...single, fused: 'f32x4.relaxed_madd'} as const;
      const [a, b] = [input('a', [1, 67, 259]), input('b', [1, 259, 258])];
      const [c, d] = [input('c', [1, 7, 60]), input('d', [1, 60, 9])];
      const graph = graphOf([a, b, c, d], matMul(a, b), matMul(c, d), matMul(d, d, true, false));
      if (!WebAssembly.validate(generate({main: graph}, {}, ordinary, fused).bytes)) this.skip();
      const expected = execute(interpreter, {main: graph}, 3);
      const actual = execute(engineIn(fused, 2 ** -23), {main: graph}, 3);
      for (const {name} of graph.outputs) compare(name, actual.buffer(name), expected.buffer(name), 100 * epsilon);
    });

    it('of batches and of parts of larger matrices, one after another', () => {
      const [a, b] = [input('a', [2, 9, 30]), input('b', [2, 29, 28])];
      const part = slice(a, [0, 1, 2], [2, 7, 28]);
      const first = matMul(part, transpose(slice(b, [0, 1, 0], [2, 27, 28]), [0, 2, 1]));
      agreeInSingle(graphOf([a, b], first, matMul(first, first, true, false)), 5, 400);
    });
  });
});
