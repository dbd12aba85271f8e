/** Star colourings: the counts theory knows, that no path over four has two colours, and Jacobians read from them. */
import {expect} from 'chai';
import fc from 'fast-check';
import {bicolor} from '../../lib/graph/bicoloring.js';
import {colorColumns} from '../../lib/graph/coloring.js';
import {constant, input, matMul, mul, reshape, slice, sub, sum, unary} from '../../lib/graph/build.js';
import {pullback} from '../../lib/graph/differentiate.js';
import type {Node} from '../../lib/graph/node.js';
import type {SparsityPattern} from '../../lib/graph/sparsity.js';
import {starColoring, starPays, starPlaces} from '../../lib/graph/star-coloring.js';
import {jacobianProgram} from '../../lib/step/jacobian-program.js';
import {evaluate} from './evaluate.js';
import {runs} from '../property.js';

function patternOf(n: number, has: (row: number, column: number) => boolean): SparsityPattern {
  const rows = Array.from({length: n}, (_, row) =>
    Array.from({length: n}, (_unused, column) => column).filter(column => has(row, column)),
  );
  const pointers = new Int32Array(n + 1);
  rows.forEach((row, i) => (pointers[i + 1] = pointers[i] + row.length));
  return {rows: n, columns: n, pointers, indices: Int32Array.from(rows.flat())};
}

const tridiagonal = (n: number): SparsityPattern => patternOf(n, (i, j) => Math.abs(i - j) <= 1);
const arrow = (n: number): SparsityPattern => patternOf(n, (i, j) => i === j || i === 0 || j === 0);
const grid = (m: number): SparsityPattern =>
  patternOf(m * m, (i, j) => Math.abs((i % m) - (j % m)) + Math.abs(Math.floor(i / m) - Math.floor(j / m)) <= 1);

/** The numbers of a matrix with this pattern, read back from its products with the groups' sums. */
function readBack(pattern: SparsityPattern): {found: number[]; given: number[]} {
  const {rows: n, pointers, indices} = pattern;
  const entry = (i: number, j: number): number => Math.sin(1 + Math.min(i, j) * n + Math.max(i, j));
  const coloring = starColoring(pattern);
  const products = new Float64Array(coloring.colors * n);
  const given: number[] = [];
  for (let row = 0; row < n; row++) {
    for (let k = pointers[row]; k < pointers[row + 1]; k++) {
      products[coloring.ofColumn[indices[k]] * n + row] += entry(row, indices[k]);
      given.push(entry(row, indices[k]));
    }
  }
  return {given, found: [...starPlaces(pattern, coloring)].map(place => products[place])};
}

describe('star colouring', () => {
  it('of a tridiagonal matrix takes three colours, of an arrow two, whatever the size', () => {
    for (const n of [5, 40, 200]) {
      expect(starColoring(tridiagonal(n)).colors).to.equal(3);
      expect(starColoring(arrow(n)).colors).to.equal(2);
      expect(colorColumns(arrow(n)).colors).to.equal(n);
    }
  });

  it('of a grid of five points takes at least the five of theory and at most what columns take with it', () => {
    // Fertin, Raspaud & Reed 2004, "Star coloring of graphs": five for grids of at least 4 × 4.
    for (const m of [4, 8, 15]) {
      const {colors} = starColoring(grid(m));
      expect(colors).to.be.within(5, 8);
    }
    expect(starColoring(grid(3)).colors).to.be.at.least(4);
  });

  it('of a full matrix takes all of them', () => {
    expect(starColoring(patternOf(7, () => true)).colors).to.equal(7);
  });

  it('reads every entry of every symmetric matrix back, to the bit', () => {
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: 24}),
        fc.array(fc.tuple(fc.nat(23), fc.nat(23)), {maxLength: 60}),
        fc.boolean(),
        (n, pairs, diagonal) => {
          const edges = new Set(pairs.flatMap(([i, j]) => [`${i},${j}`, `${j},${i}`]));
          const {found, given} = readBack(
            patternOf(n, (i, j) => (i === j ? diagonal || edges.has(`${i},${j}`) : edges.has(`${i},${j}`))),
          );
          expect(found).to.deep.equal(given);
        },
      ),
      runs(300),
    );
  });

  it('is not looked for where the pattern has no mirror, or two products do already', () => {
    expect(starPays(arrow(9), 3)).to.equal(true);
    expect(starPays(arrow(9), 2)).to.equal(false);
    expect(
      starPays(
        patternOf(9, (i, j) => i >= j),
        9,
      ),
    ).to.equal(false);
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

  it('takes two products, as its tangent is proven symmetric', () => {
    const [gradient] = pullback([energy()], [z], [constant(Float64Array.of(1), [])]);
    expect(check(gradient as Node, () => 1)).to.equal(2);
  });

  it('takes three by columns and a full row where each row has a factor of its own', () => {
    const [gradient] = pullback([energy()], [z], [constant(Float64Array.of(1), [])]);
    const scale = Float64Array.from({length: n}, (_, i) => 1 + i);
    expect(check(mul(gradient as Node, constant(scale, [n])), row => scale[row])).to.equal(3);
    const {columns, rows} = bicolor(arrow(n));
    expect(columns.colors + rows).to.equal(3);
  });
});
