import {expect} from 'chai';
import fc from 'fast-check';
import {StiffgradError} from '../../lib/errors.js';
import {auto, band, type LinearSolver, lu, sparseLdlt, sparseLu, supernodalLu} from '../../lib/linear/index.js';
import {fromEntries, grid, type Matrix} from './matrices.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** Columns in which some vector of the null space is not zero, by reduction to echelon form. */
function nullSupport(rows: readonly (readonly number[])[]): number[] {
  const a = rows.map(row => [...row]);
  const n = a[0].length;
  const pivots: number[] = [];
  for (let j = 0; j < n; j++) {
    const r = pivots.length;
    let best = r;
    for (let i = r; i < n; i++) if (Math.abs(a[i][j]) > Math.abs(a[best]?.[j] ?? 0)) best = i;
    // Integers of one digit and at most six rows: what is not zero exceeds 1e-9 by far.
    if (r >= n || Math.abs(a[best][j]) < 1e-9) continue;
    [a[r], a[best]] = [a[best], a[r]];
    a[r] = a[r].map(value => value / a[r][j]);
    for (let i = 0; i < n; i++) if (i !== r) a[i] = a[i].map((value, k) => value - a[i][j] * a[r][k]);
    pivots.push(j);
  }
  const free = [...Array(n).keys()].filter(j => !pivots.includes(j));
  return [...Array(n).keys()].filter(j => free.includes(j) || free.some(f => Math.abs(a[pivots.indexOf(j)][f]) > 1e-9));
}

const transposed = (rows: readonly (readonly number[])[]): number[][] => rows[0].map((_, j) => rows.map(row => row[j]));
const zeroRows = (rows: readonly (readonly number[])[]): number[] =>
  [...rows.keys()].filter(i => rows[i].every(value => value === 0));

/** Zeros are left out of the pattern, so that sparse methods see structure. */
function matrixOf(rows: readonly (readonly number[])[], symmetric = false): Matrix {
  const entries = rows
    .flatMap((row, i) => row.map((value, j) => [i, j, value] as const))
    .filter(([i, j, value]) => value !== 0 || i === j);
  return fromEntries(rows.length, entries, symmetric);
}

function judge(solver: LinearSolver, matrix: Matrix): StiffgradError | undefined {
  try {
    solver.analyze(matrix.pattern).factor(matrix.values);
    return undefined;
  } catch (error) {
    if (error instanceof StiffgradError) return error;
    throw error;
  }
}

function expectJudgement(solver: LinearSolver, rows: readonly (readonly number[])[], symmetric: boolean): void {
  const error = judge(solver, matrixOf(rows, symmetric));
  const dependent = nullSupport(transposed(rows));
  if (dependent.length === 0) {
    expect(error).to.equal(undefined);
    return;
  }
  expect(error?.code).to.equal('singular-matrix');
  const empty = zeroRows(rows);
  expect(error?.data.rows).to.deep.equal(empty.length > 0 ? empty : dependent);
  const nowhere = zeroRows(transposed(rows));
  expect(error?.data.columns).to.deep.equal(nowhere.length > 0 ? nowhere : nullSupport(rows));
}

const entry = fc.constantFrom(0, 0, 0, 1, -1, 2, 3);
const square = fc
  .integer({min: 1, max: 6})
  .chain(n => fc.array(fc.array(entry, {minLength: n, maxLength: n}), {minLength: n, maxLength: n}));

describe('linear: singular matrices', () => {
  slow('are refused, and no others, with the rows and columns of their null vectors: by every general solver', () => {
    fc.assert(
      fc.property(square, rows => {
        for (const solver of [lu(), sparseLu(), sparseLu({ordering: 'column'}), band(), auto(), supernodalLu()])
          expectJudgement(solver, rows, false);
      }),
      runs(300),
    );
  });

  slow('are refused with the same names when symmetric', () => {
    fc.assert(
      fc.property(square, rows => {
        const symmetric = rows.map((row, i) => row.map((value, j) => value + rows[j][i]));
        for (const solver of [auto(), band(), lu(), supernodalLu()]) expectJudgement(solver, symmetric, true);
        // LDLᵀ may say that it needs pivoting, and then auto() does it; but it calls nothing regular singular.
        const error = judge(sparseLdlt(), matrixOf(symmetric, true));
        if (error?.code === 'singular-matrix') expect(nullSupport(symmetric)).to.not.deep.equal([]);
        else if (error !== undefined) expect(error.code).to.equal('unstable-pivots');
        else expect(nullSupport(symmetric)).to.deep.equal([]);
      }),
      runs(300),
    );
  });

  it('are named by inverse iteration where they are large', () => {
    const {pattern, values} = grid(26);
    const entries: [number, number, number][] = [];
    for (let i = 0; i < 676; i++) {
      for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++) {
        if (i !== 500) entries.push([i, pattern.columns[p], values[p]]);
        if (i === 20 || i === 400) entries.push([500, pattern.columns[p], (i === 20 ? 3e-4 : 1e-4) * values[p]]);
      }
    }
    for (const solver of [sparseLu(), auto(), supernodalLu()])
      expect(judge(solver, fromEntries(676, entries))?.data.rows).to.deep.equal([20, 400, 500]);
  });

  it('are described in a sentence', () => {
    expect(
      judge(
        lu(),
        matrixOf([
          [1, 2],
          [2, 4],
        ]),
      )?.message,
    ).to.match(/^The 2 × 2 matrix is singular to working precision: rows 0, 1 depend on one another\. Remove/);
    expect(
      judge(
        lu(),
        matrixOf([
          [1, 2],
          [0, 0],
        ]),
      )?.message,
    ).to.contain('row 1 is zero');
    expect(
      judge(
        lu(),
        matrixOf([
          [1, 0],
          [2, 0],
        ]),
      )?.message,
    ).to.contain('unknown 1 appears in no equation');
  });
});
