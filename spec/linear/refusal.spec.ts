/** What is refused, and how fast: numbers that are not finite, large matrices that LDLᵀ cannot take; and what is not refused: symmetry but for rounding. */
import {expect} from 'chai';
import {SingularMatrixError} from '../../lib/errors.js';
import {
  auto,
  band,
  cholesky,
  cg,
  gmres,
  lu,
  minres,
  sparseLdlt,
  sparseLu,
  supernodalLu,
  type LinearSolver,
} from '../../lib/linear/index.js';
import {LU_IN_REACH} from '../../lib/linear/static-null.js';
import {fromEntries, grid, type Matrix, mirror, refusal, saddle, random, unsymmetric} from './matrices.js';
import {slow} from '../tiers.js';

const direct: readonly LinearSolver[] = [
  auto(),
  band(),
  lu(),
  sparseLu(),
  sparseLdlt(),
  sparseLdlt({arithmetic: 'compiled'}),
  supernodalLu(),
  supernodalLu({arithmetic: 'compiled'}),
];

function chain(n: number): Matrix {
  const entries: [number, number, number][] = [];
  for (let i = 0; i < n; i++) {
    entries.push([i, i, 4]);
    if (i > 0) entries.push([i, i - 1, -1], [i - 1, i, -1]);
  }
  return fromEntries(n, entries);
}

const full = (n: number): Matrix =>
  fromEntries(
    n,
    Array.from({length: n * n}, (_, k) => [Math.floor(k / n), k % n, k % (n + 1) === 0 ? 2 * n : 1]),
  );

describe('linear: refusals', () => {
  const kinds: readonly (readonly [string, Matrix])[] = [
    ['a few unknowns', full(3)],
    ['dense', full(12)],
    ['tridiagonal', chain(11)],
    ['a grid', grid(5)],
    ['a grid without proof of symmetry', unsymmetric(grid(5))],
    ['KKT', unsymmetric(saddle(12, 4, random(1)))],
  ];
  for (const [name, matrix] of kinds) {
    it(`numbers that are not finite, ${name}: wherever they stand, before anything is solved`, () => {
      for (const solver of direct) {
        const analysis = solver.analyze(matrix.pattern);
        for (let p = 0; p < matrix.values.length; p++) {
          for (const bad of [NaN, Infinity, -Infinity]) {
            const values = matrix.values.slice();
            values[p] = values[mirror(matrix, p)] = bad;
            expect(refusal(() => analysis.factor(values)).code, `${solver.name}, ${bad} at ${p}`).to.equal(
              'not-finite',
            );
          }
        }
        // And the analysis is good for the next matrix.
        const x = new Float64Array(matrix.pattern.n).fill(1);
        analysis.factor(matrix.values).solve(x, x);
        expect(x.every(Number.isFinite)).to.equal(true);
      }
    });
  }

  it('numbers that are not finite, in a definite method and in the Krylov methods', () => {
    const matrix = grid(4);
    const x = new Float64Array(16).fill(1);
    for (const solver of [cholesky(), cg(), minres(), gmres(), gmres({preconditioner: 'diagonal'})]) {
      const values = matrix.values.slice();
      values[0] = NaN;
      expect(
        refusal(() => solver.analyze(matrix.pattern).factor(values).solve(x, x.slice())).code,
        solver.name,
      ).to.be.oneOf(['not-finite', 'not-definite']);
    }
  });

  it('takes for symmetric what rounding alone made different, where the diagonal cancelled as well', () => {
    // Entry pairs as a buckled cloth of springs showed them: terms of size 0.1 that cancel to 5e-4 and, on the diagonal, to 5e-5.
    const entries: [number, number, number][] = [];
    for (let i = 0; i < 12; i++)
      for (let j = 0; j < 12; j++) if (Math.abs(i - j) % 4 < 2) entries.push([i, j, i === j ? 1 + i : 0.1]);
    const matrix = fromEntries(12, entries);
    const at = (i: number, j: number): number => matrix.pattern.columns.indexOf(j, matrix.pattern.rowPointers[i]);
    const values = matrix.values.slice();
    values[at(3, 3)] = 4.9e-5;
    values[at(4, 4)] = -7.9e-3;
    values[at(3, 4)] = 5.731096741942235e-4;
    values[at(4, 3)] = 5.731096741942408e-4;
    expect(sparseLdlt().analyze(matrix.pattern).factor(values).kind).to.equal('ldlt');
    // A difference above the rounding of the row is one of the matrix.
    values[at(4, 3)] += 1e-13;
    expect(refusal(() => sparseLdlt().analyze(matrix.pattern).factor(values)).code).to.equal('not-symmetric');
    // The row's own scale counts, not that of another row.
    values[at(4, 3)] = values[at(3, 4)];
    values[at(0, 0)] = 1e9;
    values[at(3, 4)] += 1e-13;
    expect(refusal(() => sparseLdlt().analyze(matrix.pattern).factor(values)).code).to.equal('not-symmetric');
  });

  describe('a large symmetric matrix that LDLᵀ cannot take', function () {
    this.timeout(60_000);
    const k = 220;
    const n = k * k;
    const next = random(3);
    const {pattern: gridPattern, values: gridValues} = grid(k);
    const base: [number, number, number][] = [];
    for (let i = 0; i < n; i++)
      for (let p = gridPattern.rowPointers[i]; p < gridPattern.rowPointers[i + 1]; p++)
        base.push([i, gridPattern.columns[p], gridValues[p]]);
    // Constraints: 0 and 1 of their own, 2 = 0 + 2·1, and 3 of its own.
    const rows: ReadonlyMap<number, number>[] = [
      new Map([
        [5, 1],
        [900, -1],
      ]),
      new Map([
        [7000, 1],
        [7001, 0.5],
      ]),
    ];
    rows.push(
      new Map([
        [5, 1],
        [900, -1],
        [7000, 2],
        [7001, 1],
      ]),
      new Map([[40, 1]]),
    );
    rows.forEach((row, c) => row.forEach((g, j) => base.push([n + c, j, g], [j, n + c, g])));
    const matrix = fromEntries(n + rows.length, base, true);
    const analysis = sparseLdlt().analyze(matrix.pattern);

    slow('is singular in these rows, without an LU', () => {
      expect(analysis.work).to.be.above(LU_IN_REACH);
      for (const of of [analysis, auto().analyze({...matrix.pattern, symmetric: false})]) {
        const error = refusal(() => of.factor(matrix.values));
        expect(error).to.be.instanceOf(SingularMatrixError);
        expect(error.data.rows).to.deep.equal([n, n + 1, n + 2]);
      }
    });

    slow('or too far from what it can take, which is told as such', () => {
      // Entries over twenty decades, of any sign: regular, but no pivot on the diagonal is sound.
      const scattered = base
        .filter(([i, j]) => j <= i)
        .flatMap(([i, j]): [number, number, number][] => {
          const value = (next() - 0.5) * 10 ** (20 * next());
          return i === j
            ? [[i, j, value]]
            : [
                [i, j, value],
                [j, i, value],
              ];
        });
      const {values} = fromEntries(n + rows.length, scattered, true);
      expect(refusal(() => analysis.factor(values)).code).to.be.oneOf(['unstable-pivots', 'singular-matrix']);
    });
  });
});
