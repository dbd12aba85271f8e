/** KKT matrices [A Gᵀ; G −C] near and at the edge of singularity: solved to rounding, or refused with the rows that depend. */
import {expect} from 'chai';
import fc from 'fast-check';
import {SingularMatrixError, StiffgradError} from '../../lib/errors.js';
import {auto, type Factor, type LinearSolver, sparseLdlt, sparseLu, supernodalLu} from '../../lib/linear/index.js';
import {
  backwardError,
  fromEntries,
  type Matrix,
  permuted,
  random,
  scaled,
  shuffle,
  unsymmetric,
  vector,
} from './matrices.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** As in sparse.spec.ts. */
const bound = (n: number): number => 40 * Math.max(n, 4) * Number.EPSILON;

/** A chain of stiffness 1 to 2 for A, and rows of G as they are given; `compliance` on the multipliers' diagonal where it is not 0. */
function kkt(n: number, constraints: readonly (readonly number[])[], next: () => number, compliance = 0): Matrix {
  const entries: [number, number, number][] = [];
  for (let i = 0; i < n; i++) {
    entries.push([i, i, 2.5 + next()]);
    if (i > 0) {
      const k = -1 - 0.2 * next();
      entries.push([i, i - 1, k], [i - 1, i, k]);
    }
  }
  constraints.forEach((row, c) => {
    row.forEach((g, j) => {
      if (g !== 0) entries.push([n + c, j, g], [j, n + c, g]);
    });
    if (compliance !== 0) entries.push([n + c, n + c, -compliance]);
  });
  return fromEntries(n + constraints.length, entries, true);
}

/** In 64ths, so that sums of a few of them are exact: a combination is then one in floating point too. */
const coarse = (x: number): number => Math.round(64 * x) / 64;

/** m rows of two or three entries, each with an unknown of its own: independent. */
function independent(n: number, m: number, next: () => number): number[][] {
  return Array.from({length: m}, (_, c) => {
    const row = new Array<number>(n).fill(0);
    // Unknowns 0 … m − 1 are one constraint's own each.
    row[c] = coarse(1 + next());
    for (let k = 0; k < 2; k++) row[m + Math.floor(next() * (n - m))] = coarse(2 * next() - 1);
    return row;
  });
}

const sum = (rows: readonly (readonly number[])[], weights: readonly number[]): number[] =>
  rows[0].map((_, j) => rows.reduce((total, row, c) => total + weights[c] * row[j], 0));

const solvers: readonly (readonly [string, LinearSolver])[] = [
  ['auto()', auto()],
  ['sparseLdlt()', sparseLdlt()],
  ['sparseLdlt, compiled', sparseLdlt({arithmetic: 'compiled'})],
  ['sparseLu()', sparseLu()],
  ['supernodalLu()', supernodalLu()],
];

function refusedRows(solver: LinearSolver, {pattern, values}: Matrix): unknown {
  try {
    solver.analyze(pattern).factor(values);
  } catch (error) {
    if (error instanceof SingularMatrixError) return error.data.rows;
    throw error;
  }
  return 'accepted';
}

function factorOf(solver: LinearSolver, {pattern, values}: Matrix): Factor | undefined {
  try {
    return solver.analyze(pattern).factor(values);
  } catch (error) {
    if (solver.name === 'sparse-ldlt' && error instanceof StiffgradError && error.code === 'unstable-pivots')
      return undefined;
    throw error;
  }
}

/** Static pivots do not do for every matrix: sparseLdlt() by itself may say so, and auto() then takes LU. */
function expectSolved(solver: LinearSolver, matrix: Matrix, seed: number): void {
  const {n} = matrix.pattern;
  const factor = factorOf(solver, matrix);
  if (factor === undefined) return;
  const b = vector(n, random(seed));
  const x = new Float64Array(n);
  factor.solve(b, x);
  expect(backwardError(matrix, x, b)).to.be.at.most(bound(n));
  factor.solveTransposed(b, x);
  expect(backwardError(matrix, x, b, true)).to.be.at.most(bound(n));
}

describe('linear: KKT matrices', () => {
  const size = fc.integer({min: 8, max: 40});

  for (const [name, solver] of solvers) {
    it(`${name} refuses a constraint that is a combination of others, and names those and no more`, () => {
      fc.assert(
        fc.property(size, fc.integer({min: 1, max: 3}), fc.integer(), (n, terms, seed) => {
          const next = random(seed);
          const rows = independent(n, 5, next);
          const chosen = [...shuffle(5, next).subarray(0, terms)];
          const combination = sum(
            rows,
            rows.map((_, c) => (chosen.includes(c) ? coarse(0.5 + next()) : 0)),
          );
          const place = shuffle(n + 6, next);
          const matrix = permuted(kkt(n, [...rows, combination], next), place);
          // yᵀ[A Gᵀ; G 0] = 0 with A definite: y is zero but for multipliers, and there it is the combination.
          const dependent = [...chosen, 5].map(c => place[n + c]).sort((a, b) => a - b);
          expect(refusedRows(solver, matrix)).to.deep.equal(dependent);
        }),
        runs(25),
      );
    });

    it(`${name} solves what is only nearly dependent, backward stably`, () => {
      fc.assert(
        fc.property(size, fc.double({min: 1, max: 6, noNaN: true}), fc.integer(), (n, digits, seed) => {
          const next = random(seed);
          const rows = independent(n, 4, next);
          // A row again, but for one entry: the condition number is about 10^(2 digits).
          const again = rows[1].map((g, j) => g + (j === n - 1 ? 10 ** -digits : 0));
          expectSolved(solver, permuted(kkt(n, [...rows, again], next), shuffle(n + 5, next)), seed);
        }),
        runs(25),
      );
    });

    it(`${name} solves the same constraint twice when it is compliant`, () => {
      fc.assert(
        fc.property(size, fc.double({min: 0, max: 4, noNaN: true}), fc.integer(), (n, digits, seed) => {
          const next = random(seed);
          const rows = independent(n, 3, next);
          expectSolved(
            solver,
            permuted(kkt(n, [...rows, rows[0], rows[2]], next, 10 ** -digits), shuffle(n + 5, next)),
            seed,
          );
        }),
        runs(25),
      );
    });
  }

  slow('the Newton matrix of a step, [A −hGᵀ; G 0] with G in other units, is refused and solved alike', () => {
    fc.assert(
      fc.property(size, fc.integer(), (n, seed) => {
        const next = random(seed);
        const rows = independent(n, 4, next);
        const [left, right] = [1, 1e-3].map(h => Float64Array.from({length: n + 5}, (_, i) => (i < n ? 1 : h)));
        right.forEach((h, i) => (right[i] = i < n ? h : -h));
        const newton = (last: number[]): Matrix => unsymmetric(scaled(kkt(n, [...rows, last], next), left, right));
        for (const solver of [auto(), sparseLu(), supernodalLu()]) {
          expect(refusedRows(solver, newton(sum(rows, [0, 1, 0, -2])))).to.deep.equal([n + 1, n + 3, n + 4]);
          expectSolved(solver, newton(rows[0].map((_, j) => (j === n - 1 ? 1 : 0))), seed);
        }
      }),
      runs(25),
    );
  });
});
