/** Full rows and columns beside a sparse rest: how many products they take, and that the entries are right. */
import {expect} from 'chai';
import {bicolor} from '../../lib/graph/bicoloring.js';
import {add, concat, constant, input, matMul, mul, reshape, slice, sub, sum, unary} from '../../lib/graph/build.js';
import {pullback} from '../../lib/graph/differentiate.js';
import type {Node} from '../../lib/graph/node.js';
import type {SparsityPattern} from '../../lib/graph/sparsity.js';
import {jacobianProgram} from '../../lib/step/jacobian-program.js';
import {evaluate} from './evaluate.js';

function patternOf(n: number, has: (row: number, column: number) => boolean): SparsityPattern {
  const rows = Array.from({length: n}, (_, row) =>
    Array.from({length: n}, (_unused, column) => column).filter(column => has(row, column)),
  );
  const pointers = new Int32Array(n + 1);
  rows.forEach((row, i) => (pointers[i + 1] = pointers[i] + row.length));
  return {rows: n, columns: n, pointers, indices: Int32Array.from(rows.flat())};
}

const products = (pattern: SparsityPattern): [columns: number, rows: number] => {
  const {columns, rows} = bicolor(pattern);
  return [columns.colors, rows];
};

describe('bicolouring', () => {
  const n = 40;

  it('of an arrow takes two column colours and one row, whatever its size; by columns alone it would be n', () => {
    expect(products(patternOf(n, (i, j) => i === j || i === 0 || j === 0))).to.deep.equal([2, 1]);
    expect(products(patternOf(3 * n, (i, j) => i === j || i === 0 || j === 0))).to.deep.equal([2, 1]);
  });

  it('of a band is the band width, by columns', () => {
    for (const width of [1, 2, 3])
      expect(products(patternOf(n, (i, j) => Math.abs(i - j) <= width))).to.deep.equal([2 * width + 1, 0]);
  });

  it('of full rows alone is one product each; of full columns one colour each', () => {
    expect(products(patternOf(n, (i, j) => i === j || i < 3))).to.deep.equal([1, 3]);
    expect(products(patternOf(n, (i, j) => i === j || j < 3))).to.deep.equal([4, 0]);
  });

  it('groups full rows that meet in no column', () => {
    const halves = (second: number) =>
      patternOf(n, (i, j) => i === j || (i === 0 && j < n / 2) || (i === second && j >= n / 2));
    expect(products(halves(n - 1))).to.deep.equal([1, 1]);
    // Row 1 has its own diagonal in the first half.
    expect(products(halves(1))).to.deep.equal([1, 2]);
  });
});

describe('the Jacobian of a chain with one mass coupled to all', () => {
  it('takes five products for a thousand masses, and its entries are those of the closed form', () => {
    const n = 1000;
    const z = input('z', [n]);
    const first = slice(z, [0], [1]);
    const total = reshape(sum(z, [0]), [1]);
    const left = concat([constant(Float64Array.of(0), [1]), slice(z, [0], [n - 1])], 0);
    // rᵢ = sin zᵢ − zᵢ₋₁ + z₀², and z₀ times the sum of all more in the first row.
    const chain = add(sub(unary('sin', z), left), mul(first, first));
    const residual = add(chain, concat([mul(first, total), constant(new Float64Array(n - 1), [n - 1])], 0));
    const {pattern, values, colors} = jacobianProgram(residual, z);
    expect(colors).to.be.at.most(5);
    const at = Float64Array.from({length: n}, (_, i) => Math.cos(i));
    const [found] = evaluate([values], [z], [at]);
    const whole = at.reduce((a, b) => a + b);
    const expected = (i: number, j: number): number =>
      (i === j ? Math.cos(at[i]) : 0)
      - (j === i - 1 ? 1 : 0)
      + (j === 0 ? 2 * at[0] : 0)
      + (i === 0 ? at[0] + (j === 0 ? whole : 0) : 0);
    for (let row = 0; row < n; row++) {
      for (let k = pattern.rowPointers[row]; k < pattern.rowPointers[row + 1]; k++)
        expect(found[k]).to.be.closeTo(expected(row, pattern.columns[k]), 1e-13);
    }
    expect(pattern.columns.length).to.equal(n + (n - 1) + (n - 1) + (n - 2));
  });
});

describe('the Jacobian of an energy between one mass and all others, each spring a sum of sixteen functions', () => {
  const n = 12;
  const width = 16;
  const weights = Float64Array.from({length: width}, (_, k) => Math.cos(k + 1));
  const z = input('z', [n]);
  /** Σ_i Σ_k cosh(w_k (z_i − z_0)), whose products with w entries one by one would not follow. */
  const energy = (): Node => {
    const stretch = reshape(sub(slice(z, [1], [n - 1]), slice(z, [0], [1])), [1, n - 1, 1]);
    return sum(unary('cosh', matMul(stretch, constant(weights, [1, 1, width]))), [0, 1, 2]);
  };
  const at = Float64Array.from({length: n}, (_, i) => Math.sin(i));
  const curvature = (i: number): number =>
    weights.reduce((total, w) => total + w * w * Math.cosh(w * (at[i] - at[0])), 0);
  const expected = (i: number, j: number): number => {
    if (i === 0 && j === 0) return Array.from({length: n - 1}, (_, e) => curvature(e + 1)).reduce((a, b) => a + b);
    return (i === j ? 1 : -1) * curvature(Math.max(i, j));
  };
  const check = (residual: Node, factor: (row: number) => number): number => {
    const {pattern, values, colors} = jacobianProgram(residual, z);
    const [found] = evaluate([values], [z], [at]);
    expect(pattern.columns.length).to.equal(3 * n - 2);
    for (let row = 0; row < n; row++) {
      for (let k = pattern.rowPointers[row]; k < pattern.rowPointers[row + 1]; k++) {
        const value = factor(row) * expected(row, pattern.columns[k]);
        expect(found[k], `${row}, ${pattern.columns[k]}`).to.be.closeTo(value, 1e-13 * Math.abs(value) + 1e-13);
      }
    }
    return colors;
  };

  it('takes three products, by columns and a full row', () => {
    const [gradient] = pullback([energy()], [z], [constant(Float64Array.of(1), [])]);
    expect(check(gradient as Node, () => 1)).to.equal(3);
    const scale = Float64Array.from({length: n}, (_, i) => 1 + i);
    expect(check(mul(gradient as Node, constant(scale, [n])), row => scale[row])).to.equal(3);
  });
});
