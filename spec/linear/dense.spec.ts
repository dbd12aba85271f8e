import {expect} from 'chai';
import fc from 'fast-check';
import {SingularMatrixError, StiffgradError} from '../../lib/errors.js';
import {auto, cholesky, densePattern, lu, type LinearSolver} from '../../lib/linear/index.js';
import {denseLuWork} from '../../lib/linear/dense-lu.js';
import {
  backwardError,
  fromRows,
  hilbert,
  type Matrix,
  multiply,
  random,
  randomDefinite,
  randomMatrix,
  scaled,
  vector,
} from './matrices.js';
import {runs} from '../property.js';

/**
 * Gaussian elimination with partial pivoting has a backward error of a few n ε in practice (Higham,
 * §9.4); 4 n ε leaves room for the growth factor of random matrices, about n^(2/3) at these sizes.
 */
const bound = (n: number): number => 4 * Math.max(n, 4) * Number.EPSILON;

function check(solver: LinearSolver, matrix: Matrix, seed = 1): void {
  const {n} = matrix.pattern;
  const b = vector(n, random(seed));
  const factor = solver.analyze(matrix.pattern).factor(matrix.values);
  const x = new Float64Array(n);
  factor.solve(b, x);
  expect(backwardError(matrix, x, b)).to.be.at.most(bound(n));
  factor.solveTransposed(b, x);
  expect(backwardError(matrix, x, b, true)).to.be.at.most(bound(n));
}

function refusal(solver: LinearSolver, matrix: Matrix): StiffgradError {
  const error = outcome(solver, matrix);
  if (error === undefined) throw new Error('the matrix was accepted');
  return error;
}

function outcome(solver: LinearSolver, matrix: Matrix): StiffgradError | undefined {
  try {
    solver.analyze(matrix.pattern).factor(matrix.values);
    return undefined;
  } catch (error) {
    if (error instanceof StiffgradError) return error;
    throw error;
  }
}

describe('linear: dense', () => {
  it('solves random systems to the backward error of partial pivoting, also transposed', () => {
    fc.assert(
      fc.property(fc.integer({min: 1, max: 70}), fc.integer(), (n, seed) => {
        check(lu(), randomMatrix(n, 1, random(seed)), seed);
      }),
      runs(60),
    );
  });

  it('solves definite systems by Cholesky, at every size round the block of four', () => {
    fc.assert(
      fc.property(fc.integer({min: 1, max: 45}), fc.integer(), (n, seed) => {
        const matrix = randomDefinite(n, 1, random(seed));
        check(cholesky(), matrix, seed);
        check(auto(), matrix, seed);
      }),
      runs(40),
    );
  });

  it('solves, refuses and names alike at one to three unknowns', () => {
    // Entries from a few values, zero among them, so that every pivot order and every rank occurs.
    const entry = fc.constantFrom(0, 1, -1, 2, 1e-3, 5e7);
    fc.assert(
      fc.property(
        fc
          .integer({min: 1, max: 3})
          .chain(n => fc.array(fc.array(entry, {minLength: n, maxLength: n}), {minLength: n, maxLength: n})),
        rows => {
          const matrix = fromRows(rows);
          const general = outcome(lu(), matrix);
          const tiny = outcome(auto(), matrix);
          if (general instanceof StiffgradError) {
            expect(tiny).to.be.instanceOf(StiffgradError);
            expect((tiny as StiffgradError).data.rows).to.deep.equal(general.data.rows);
          } else {
            expect(tiny).to.equal(undefined);
            check(auto(), matrix);
          }
        },
      ),
      runs(1000),
    );
  });

  it('reads a sparse pattern as it reads a full one', () => {
    const matrix = randomMatrix(12, 0.3, random(5), 2);
    check(lu(), matrix);
    expect(matrix.pattern.dense).to.equal(false);
  });

  it('does not mistake bad scaling for singularity: rows over 40 orders of magnitude, columns over six', () => {
    fc.assert(
      fc.property(fc.integer({min: 2, max: 20}), fc.integer(), (n, seed) => {
        const next = random(seed);
        const matrix = randomMatrix(n, 1, next, 3);
        const rows = Float64Array.from({length: n}, () => 10 ** (40 * next() - 20));
        const columns = Float64Array.from({length: n}, () => 10 ** (6 * next() - 3));
        const bad = scaled(matrix, rows, columns);
        const x = vector(n, next);
        const b = multiply(matrix, x).map((value, i) => value * rows[i]);
        const solution = new Float64Array(n);
        lu().analyze(bad.pattern).factor(bad.values).solve(b, solution);
        // Row by row, because a norm would let the large rows hide the small ones. Column scales blur the
        // row scales that pivots are compared by, so growth is larger, with a long tail: one in 15,000
        // matrices exceeds 20 × the bound.
        const residual = multiply(
          matrix,
          solution.map((value, j) => value * columns[j]),
        ).map((value, i) => value - b[i] / rows[i]);
        const size = Math.max(...x.map(Math.abs)) * (n + 4);
        expect(Math.max(...residual.map(Math.abs)) / size).to.be.at.most(100 * bound(n));
      }),
      runs(40),
    );
  });

  it('falls from Cholesky to LU for an indefinite symmetric matrix', () => {
    const larger = fromRows(
      [
        [1, 2, 0, 1],
        [2, 1, 3, 0],
        [0, 3, 1, 1],
        [1, 0, 1, 1],
      ],
      true,
    );
    check(auto(), larger);
    expect(auto().analyze(larger.pattern).factor(larger.values).kind).to.equal('lu');
    const matrix = fromRows(
      [
        [1, 2],
        [2, 1],
      ],
      true,
    );
    const error = refusal(cholesky(), matrix);
    expect(error.code).to.equal('not-positive-definite');
    expect(error.data.rows).to.deep.equal([1]);
  });

  it('solves several right-hand sides at once, in one array', () => {
    const matrix = randomMatrix(9, 1, random(3));
    const factor = lu().analyze(matrix.pattern).factor(matrix.values);
    const b = vector(27, random(4));
    const x = b.slice();
    factor.solve(x, x, 3);
    for (let k = 0; k < 3; k++) {
      expect(backwardError(matrix, x.slice(9 * k, 9 * k + 9), b.slice(9 * k, 9 * k + 9))).to.be.at.most(bound(9));
    }
  });

  it('refactors in place, and keeps factors of a pool independent', () => {
    const [one, two] = [randomMatrix(6, 1, random(1)), randomMatrix(6, 1, random(2))];
    for (const solver of [lu(), auto()]) {
      const analysis = solver.analyze(one.pattern);
      expect(analysis.factor(one.values)).to.equal(analysis.factor(two.values));
      const [first, second] = [analysis.createFactor(), analysis.createFactor()];
      first.refactor(one.values);
      second.refactor(two.values);
      const b = vector(6, random(3));
      const x = new Float64Array(6);
      first.solve(b, x);
      expect(backwardError(one, x, b)).to.be.at.most(bound(6));
    }
  });

  it('solves Hilbert systems with small residuals up to n = 10, and refuses n = 14', () => {
    for (let n = 2; n <= 10; n++) {
      check(lu(), hilbert(n));
      check(cholesky(), hilbert(n));
    }
    expect(refusal(lu(), hilbert(14)).code).to.equal('singular-matrix');
    expect(refusal(auto(), hilbert(14)).code).to.equal('singular-matrix');
  });

  it('names the rows that depend on one another', () => {
    const next = random(8);
    const rows = Array.from({length: 30}, () => [...vector(30, next)]);
    rows[17] = rows[4].map((value, j) => 2 * value - rows[11][j]);
    const error = refusal(lu(), fromRows(rows));
    expect(error).to.be.instanceOf(SingularMatrixError);
    expect(error.code).to.equal('singular-matrix');
    expect(error.data.rows).to.deep.equal([4, 11, 17]);
    expect(error.message).to.contain('rows 4, 11, 17');
  });

  it('names the union of several dependencies, whatever the units of the rows', () => {
    const next = random(9);
    const rows = Array.from({length: 12}, () => [...vector(12, next)]);
    rows[3] = rows[7].map(value => 1e-9 * value);
    rows[10] = rows[2].map(value => 1e6 * value);
    expect(refusal(lu(), fromRows(rows)).data.rows).to.deep.equal([2, 3, 7, 10]);
  });

  it('names zero rows and unknowns that appear nowhere', () => {
    const zeroRow = refusal(
      lu(),
      fromRows([
        [1, 2, 3],
        [0, 0, 0],
        [1, 0, 1],
      ]),
    );
    expect(zeroRow.data.rows).to.deep.equal([1]);
    const zeroColumn = refusal(
      lu(),
      fromRows([
        [1, 0, 3],
        [2, 0, 5],
        [1, 0, 1],
      ]),
    );
    expect(zeroColumn.data.columns).to.deep.equal([1]);
    expect(zeroColumn.message).to.contain('unknown 1 appears in no equation');
    for (const solver of [lu(), auto()])
      for (const n of [2, 3])
        expect(
          refusal(
            solver,
            fromRows(
              Array.from({length: n}, (_, i) =>
                new Array<number>(n).fill(0).map((_z, j) => (i === n - 1 ? 0 : i === j ? 1 : 2)),
              ),
            ),
          ).data.rows,
        ).to.deep.equal([n - 1]);
    expect(refusal(auto(), fromRows([[0]], true)).data.rows).to.deep.equal([0]);
  });

  it('names a rank-deficient symmetric matrix the same way', () => {
    // A free chain: rigid translation is in the null space, so all rows take part.
    const error = refusal(
      auto(),
      fromRows(
        [
          [1, -1, 0],
          [-1, 2, -1],
          [0, -1, 1],
        ],
        true,
      ),
    );
    expect(error.code).to.equal('singular-matrix');
    expect(error.data.rows).to.deep.equal([0, 1, 2]);
  });

  it('refuses what is not finite, wherever it stands', () => {
    for (const solver of [lu(), cholesky(), auto()])
      for (const n of [1, 2, 3, 5]) {
        for (const bad of [NaN, Infinity, -Infinity]) {
          for (let p = 0; p < n * n; p++) {
            const {pattern, values} = randomDefinite(n, 1, random(p + 1));
            values[p] = bad;
            const [i, j] = [Math.floor(p / n), p % n];
            values[j * n + i] = bad;
            const error = refusal(solver, {pattern, values});
            expect(error.code).to.equal('not-finite');
            expect(error.data.rows).to.include(i);
          }
        }
      }
  });

  it('says so when asked to solve without a matrix, or with arrays too short', () => {
    const analysis = lu().analyze(densePattern(3));
    const b = new Float64Array(3);
    expect(() => analysis.createFactor().solve(b, b)).to.throw(StiffgradError, 'holds no matrix');
    expect(() => analysis.factor(new Float64Array(9))).to.throw(SingularMatrixError);
    const factor = analysis.factor(Float64Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1));
    expect(() => factor.solve(b, b, 2)).to.throw(StiffgradError, 'need 6 numbers');
  });

  it('counts the work of LU as the loops do', () => {
    for (const n of [1, 2, 5, 9]) {
      let flops = 0;
      for (let k = 0; k < n; k++) for (let i = k + 1; i < n; i++) flops += 1 + 2 * (n - k - 1);
      expect(denseLuWork(n)).to.equal(flops);
    }
  });
});
