/** A few dense rows and columns in a sparse matrix: a neural term that sees everything, a global unknown, a driven frame. */
import {expect} from 'chai';
import fc from 'fast-check';
import {auto, sparseLdlt, sparseLu} from '../../lib/linear/index.js';
import {backwardError, fromEntries, type Matrix, permuted, random, shuffle, vector} from './matrices.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** A tridiagonal, dominant chain of n with these rows and columns full; `symmetric`: the rows are the columns' mirror. */
function chainWith(
  n: number,
  rows: readonly number[],
  columns: readonly number[],
  next: () => number,
  symmetric = false,
): Matrix {
  const entries: [number, number, number][] = [];
  const taken = new Set<number>();
  const put = (i: number, j: number, value: number): void => {
    if (taken.has(i * n + j)) return;
    taken.add(i * n + j);
    entries.push([i, j, value]);
  };
  for (let i = 0; i < n; i++) {
    put(i, i, rows.includes(i) && symmetric ? n : 4 + next());
    if (i > 0) {
      const value = -1 - 0.1 * next();
      put(i, i - 1, value);
      put(i - 1, i, symmetric ? value : -1 - 0.1 * next());
    }
  }
  for (let k = 0; k < n; k++) {
    for (const i of rows) {
      const value = next() - 0.5;
      put(i, k, value);
      if (symmetric) put(k, i, value);
    }
    for (const j of columns) put(k, j, next() - 0.5);
  }
  return fromEntries(n, entries, symmetric);
}

/** As in sparse.spec.ts, times the growth that the sum over a dense row's n terms may add. */
const bound = (n: number): number => 40 * n * Number.EPSILON;

const n = 1000;
const lines = fc.uniqueArray(fc.integer({min: 0, max: n - 1}), {minLength: 1, maxLength: 3});

describe('linear: dense rows and columns', () => {
  for (const [name, rowsToo, columnsToo] of [
    ['rows', true, false],
    ['columns', false, true],
    ['rows and other columns', true, true],
  ] as const) {
    it(`a chain of 1000 with one to three dense ${name}: LU has hardly more numbers than the matrix, in every order`, () => {
      fc.assert(
        fc.property(lines, lines, fc.integer(), (rows, columns, seed) => {
          const next = random(seed);
          const matrix = chainWith(n, rowsToo ? rows : [], columnsToo ? columns : [], next);
          const b = vector(n, next);
          for (const solver of [
            auto(),
            sparseLu(),
            sparseLu({ordering: 'column'}),
            sparseLu({ordering: 'symmetric'}),
          ]) {
            const factor = solver.analyze(matrix.pattern).factor(matrix.values);
            // The chain may fill one neighbour a row while columns wait for their rows: 2 n beside the entries.
            if (solver.name !== 'auto') expect(factor.size).to.be.at.most(matrix.values.length + 2 * n);
            const x = new Float64Array(n);
            factor.solve(b, x);
            expect(backwardError(matrix, x, b)).to.be.at.most(bound(n));
            factor.solveTransposed(b, x);
            expect(backwardError(matrix, x, b, true)).to.be.at.most(bound(n));
          }
        }),
        runs(8),
      );
    });
  }

  slow('L D Lᵀ likewise, and auto() counts it as sparse', () => {
    fc.assert(
      fc.property(lines, fc.integer(), (rows, seed) => {
        const next = random(seed);
        const matrix = permuted(chainWith(n, rows, [], next, true), shuffle(n, next));
        const analysis = auto().analyze(matrix.pattern);
        expect(analysis.kind).to.equal('sparse');
        // Half of the matrix, and the zeros supernodes may store (at most 40 % of a block).
        expect(analysis.nonzeros).to.be.at.most((matrix.values.length / 2 + n) / 0.6);
        const b = vector(n, next);
        const x = new Float64Array(n);
        for (const factor of [
          analysis.factor(matrix.values),
          sparseLdlt({arithmetic: 'compiled'}).analyze(matrix.pattern).factor(matrix.values),
        ]) {
          factor.solve(b, x);
          expect(backwardError(matrix, x, b)).to.be.at.most(bound(n));
        }
      }),
      runs(10),
    );
  });

  it('a constraint on all unknowns: the factor of the KKT matrix grows as its unknowns', () => {
    const nonzeros = [n, 2 * n].map(size => {
      const entries: [number, number, number][] = [];
      for (let i = 0; i < size; i++) {
        entries.push([i, i, 2.5], [size, i, 1 + (i % 3)], [i, size, 1 + (i % 3)]);
        if (i > 0) entries.push([i, i - 1, -1], [i - 1, i, -1]);
      }
      const matrix = fromEntries(size + 1, entries, true);
      const analysis = auto().analyze(matrix.pattern);
      const factor = analysis.factor(matrix.values);
      expect(factor.kind).to.equal('ldlt');
      const b = vector(size + 1, random(1));
      const x = new Float64Array(size + 1);
      factor.solve(b, x);
      expect(backwardError(matrix, x, b)).to.be.at.most(bound(size));
      return analysis.nonzeros;
    });
    expect(nonzeros[1] / nonzeros[0]).to.be.within(1.9, 2.1);
  });
});
