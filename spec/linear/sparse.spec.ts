import {expect} from 'chai';
import fc from 'fast-check';
import {SingularMatrixError, StiffgradError} from '../../lib/errors.js';
import {auto, band, type LinearSolver, lu, sparseLdlt, sparseLu} from '../../lib/linear/index.js';
import {analyzeLdlt} from '../../lib/linear/sparse-ldlt.js';
import {
  arrow,
  backwardError,
  banded,
  fromEntries,
  grid,
  hilbert,
  mirror,
  type Matrix,
  multiply,
  permuted,
  random,
  randomDefinite,
  randomMatrix,
  rowOf,
  saddle,
  scaled,
  shuffle,
  unsymmetric,
  vector,
} from './matrices.js';
import {runs} from '../property.js';

/**
 * As for dense LU, with the growth that threshold pivoting allows: 0.1 admits multipliers of 10, which
 * random matrices do reach now and then; 40 n ε held in at least 6,000 runs of each property.
 */
const bound = (n: number): number => 40 * Math.max(n, 4) * Number.EPSILON;

function check(solver: LinearSolver, matrix: Matrix, seed = 1, limit = bound(matrix.pattern.n)): Float64Array {
  const {n} = matrix.pattern;
  const b = vector(n, random(seed));
  const factor = solver.analyze(matrix.pattern).factor(matrix.values);
  const x = new Float64Array(n);
  factor.solveTransposed(b, x);
  expect(backwardError(matrix, x, b, true)).to.be.at.most(limit);
  factor.solve(b, x);
  expect(backwardError(matrix, x, b)).to.be.at.most(limit);
  return x;
}

function refusal(solver: LinearSolver, matrix: Matrix): StiffgradError {
  try {
    solver.analyze(matrix.pattern).factor(matrix.values);
  } catch (error) {
    if (error instanceof StiffgradError) return error;
    throw error;
  }
  throw new Error('the matrix was accepted');
}

const size = fc.integer({min: 1, max: 60});
const seeds = fc.integer();

describe('linear: sparse LU', () => {
  it('solves random systems of any pattern, in every ordering', () => {
    fc.assert(
      fc.property(size, fc.double({min: 0, max: 0.3, noNaN: true}), seeds, (n, density, seed) => {
        const matrix = randomMatrix(n, density, random(seed));
        for (const ordering of ['symmetric', 'column', 'natural'] as const) check(sparseLu({ordering}), matrix, seed);
      }),
      runs(100),
    );
  });

  it('solves rows and columns shuffled apart, where no diagonal can serve', () => {
    fc.assert(
      fc.property(size, seeds, (n, seed) => {
        const next = random(seed);
        check(sparseLu(), permuted(banded(n, 1, 2, next, 4), shuffle(n, next), shuffle(n, next)), seed);
      }),
      runs(100),
    );
  });

  it('agrees with dense LU', () => {
    const next = random(11);
    const matrix = randomMatrix(50, 0.1, next, 3);
    const dense = check(lu(), matrix);
    const sparse = check(sparseLu(), matrix);
    expect(Math.max(...dense.map((value, i) => Math.abs(value - sparse[i])))).to.be.below(1e-12);
  });

  it('solves unsymmetric KKT systems [A −Gᵀ; G 0]', () => {
    fc.assert(
      fc.property(fc.integer({min: 2, max: 60}), seeds, (n, seed) => {
        const next = random(seed);
        const matrix = saddle(n, Math.ceil(n / 3), next, 100);
        const signs = new Float64Array(matrix.pattern.n).fill(1).fill(-1, n);
        check(sparseLu(), unsymmetric(scaled(matrix, signs, signs.map(Math.abs))), seed);
      }),
      runs(60),
    );
  });

  it('bears bad row scaling', () => {
    fc.assert(
      fc.property(size, seeds, (n, seed) => {
        const next = random(seed);
        const matrix = randomMatrix(n, 0.2, next, 3);
        const rows = Float64Array.from({length: n}, () => 10 ** (40 * next() - 20));
        const bad = scaled(matrix, rows, new Float64Array(n).fill(1));
        const b = vector(n, next);
        const x = new Float64Array(n);
        sparseLu()
          .analyze(bad.pattern)
          .factor(bad.values)
          .solve(
            b.map((value, i) => value * rows[i]),
            x,
          );
        expect(backwardError(matrix, x, b)).to.be.at.most(bound(n));
      }),
      runs(60),
    );
  });

  it('follows its plan bit for bit, and leaves it when the pivots fade', () => {
    const first = banded(30, 1, 1, random(1), 4);
    const second = {
      ...first,
      values: first.values.map((value, p) => (first.pattern.columns[p] === rowOf(first, p) ? 1e-6 * value : value)),
    };
    const analysis = sparseLu().analyze(first.pattern);
    const b = vector(30, random(2));
    const solve = (matrix: Matrix): Float64Array => {
      const x = new Float64Array(30);
      analysis.factor(matrix.values).solve(b, x);
      expect(backwardError(matrix, x, b)).to.be.at.most(bound(30));
      return x;
    };
    const [x1, x2] = [solve(first), solve(second)];
    // Whatever came between, the same matrix gives the same bits.
    expect(solve(first)).to.deep.equal(x1);
    expect(solve(second)).to.deep.equal(x2);
    expect(solve(first)).to.deep.equal(x1);
  });

  it('copes with more changes of regime than it keeps plans for, and keeps factors independent', () => {
    const next = random(5);
    const pattern = randomMatrix(25, 0.3, next).pattern;
    const analysis = sparseLu().analyze(pattern);
    const matrices = Array.from({length: 12}, () => ({
      pattern,
      values: Float64Array.from(pattern.columns, () => (2 * next() - 1) * 10 ** (6 * next() - 3)),
    }));
    const factors = matrices.map(() => analysis.createFactor());
    matrices.forEach(({values}, k) => factors[k].refactor(values));
    const b = vector(25, next);
    const x = new Float64Array(25);
    matrices.forEach((matrix, k) => {
      factors[k].solve(b, x);
      expect(backwardError(matrix, x, b)).to.be.at.most(bound(25));
    });
  });

  it('names dependent rows in the numbering it was given', () => {
    const base = permuted(grid(7), shuffle(49, random(1)));
    const entries: [number, number, number][] = [];
    // Row 40 becomes twice row 3 minus row 17.
    for (let i = 0; i < 49; i++) {
      for (let p = base.pattern.rowPointers[i]; p < base.pattern.rowPointers[i + 1]; p++) {
        const [j, value] = [base.pattern.columns[p], base.values[p]];
        if (i !== 40) entries.push([i, j, value]);
        if (i === 3) entries.push([40, j, 2 * value]);
        if (i === 17) entries.push([40, j, -value]);
      }
    }
    const error = refusal(sparseLu(), fromEntries(49, entries));
    expect(error).to.be.instanceOf(SingularMatrixError);
    expect(error.data.rows).to.deep.equal([3, 17, 40]);
  });

  it('finds structural singularity: two equations for one unknown', () => {
    const error = refusal(
      sparseLu(),
      fromEntries(4, [
        [0, 0, 1],
        [1, 1, 2],
        [2, 1, 3],
        [3, 2, 1],
        [3, 3, 1],
        [0, 3, 5],
      ]),
    );
    expect(error.code).to.equal('singular-matrix');
    expect(error.data.rows).to.deep.equal([1, 2]);
    // Unknown 2 and 3 meet in row 3 alone; row 0 fixes 0 and 3 together: the null vector is in 0, 2, 3.
    expect(error.data.columns).to.deep.equal([0, 2, 3]);
  });

  it('names zero rows and not-finite entries', () => {
    expect(
      refusal(
        sparseLu(),
        fromEntries(3, [
          [0, 0, 1],
          [1, 1, 0],
          [2, 2, 1],
        ]),
      ).data.rows,
    ).to.deep.equal([1]);
    expect(
      refusal(
        sparseLu(),
        fromEntries(3, [
          [0, 0, 1],
          [0, 2, NaN],
          [1, 1, 1],
          [2, 2, 1],
        ]),
      ).data,
    ).to.include({row: 0, column: 2});
  });

  it('finds singularity under bad column scales as well', () => {
    const next = random(3);
    const matrix = randomMatrix(12, 0.4, next, 2);
    for (let p = matrix.pattern.rowPointers[5]; p < matrix.pattern.rowPointers[6]; p++)
      matrix.values[p] = matrix.pattern.columns[p] === 5 ? 3 : 0;
    for (let p = matrix.pattern.rowPointers[8]; p < matrix.pattern.rowPointers[9]; p++)
      matrix.values[p] = matrix.pattern.columns[p] === 8 ? 0 : 0;
    const entries: [number, number, number][] = [[8, 5, 1]];
    for (let i = 0; i < 12; i++)
      for (let p = matrix.pattern.rowPointers[i]; p < matrix.pattern.rowPointers[i + 1]; p++)
        entries.push([i, matrix.pattern.columns[p], matrix.values[p]]);
    const columns = Float64Array.from({length: 12}, (_, j) => 10 ** (4 * j - 24));
    const bad = scaled(fromEntries(12, entries), new Float64Array(12).fill(1), columns);
    for (const solver of [lu(), sparseLu()]) expect(refusal(solver, bad).data.rows).to.deep.equal([5, 8]);
  });
});

describe('linear: sparse LDLᵀ', () => {
  it('solves definite systems, also shuffled, badly scaled and of every ordering', () => {
    fc.assert(
      fc.property(size, fc.double({min: 0, max: 0.1, noNaN: true}), seeds, (n, density, seed) => {
        const next = random(seed);
        const matrix = randomDefinite(n, density, next);
        for (const ordering of ['amd', 'rcm', 'natural'] as const) check(sparseLdlt({ordering}), matrix, seed);
        const scale = Float64Array.from({length: n}, () => 10 ** (20 * next() - 10));
        check(sparseLdlt(), permuted(scaled(matrix, scale, scale), shuffle(n, next)), seed);
      }),
      runs(60),
    );
  });

  it('solves grids and arrows, and counts no negative pivots', () => {
    for (const matrix of [grid(2), grid(13), grid(30, 5), arrow(50)]) {
      const analysis = analyzeLdlt(matrix.pattern);
      check(sparseLdlt(), matrix);
      const factor = analysis.createFactor();
      factor.refactor(matrix.values);
      expect(factor.negativePivots).to.equal(0);
    }
  });

  it('agrees with dense Cholesky on a grid', () => {
    const matrix = grid(9);
    const dense = check(lu(), matrix);
    const sparse = check(sparseLdlt(), matrix);
    expect(Math.max(...dense.map((value, i) => Math.abs(value - sparse[i])))).to.be.below(1e-13);
  });

  it('solves KKT systems: as many negative pivots as constraints, none enlarged', () => {
    fc.assert(
      fc.property(fc.integer({min: 2, max: 80}), fc.constantFrom(1, 1e6, 1e-6), seeds, (n, stiffness, seed) => {
        const next = random(seed);
        const m = 1 + Math.floor(next() * (n / 2));
        const matrix = permuted(saddle(n, m, next, stiffness), shuffle(n + m, next));
        check(sparseLdlt(), matrix, seed);
        const factor = analyzeLdlt(matrix.pattern).createFactor();
        factor.refactor(matrix.values);
        // Sylvester: [A Gᵀ; G 0] with A definite and G of full rank has exactly m negative eigenvalues.
        expect(factor.negativePivots).to.equal(m);
        expect(factor.enlargedPivots).to.equal(0);
      }),
      runs(80),
    );
  });

  it('enlarges a pivot that vanishes by accident, and refines it away', () => {
    // [0 1; 1 0] with the zeros in the pattern: the first pivot is zero whatever the order.
    const swap = fromEntries(
      2,
      [
        [0, 0, 0],
        [0, 1, 1],
        [1, 0, 1],
        [1, 1, 0],
      ],
      true,
    );
    const factor = analyzeLdlt(swap.pattern).createFactor();
    factor.refactor(swap.values);
    expect(factor.enlargedPivots).to.be.greaterThan(0);
    const x = new Float64Array(2);
    factor.solve(Float64Array.of(3, 5), x);
    expect(x[0]).to.be.closeTo(5, 1e-14);
    expect(x[1]).to.be.closeTo(3, 1e-14);
    expect(factor.linearIterations).to.be.within(1, 3);
  });

  it('solves random indefinite matrices, by itself or by saying that it cannot', () => {
    let solved = 0;
    fc.assert(
      fc.property(fc.integer({min: 2, max: 50}), seeds, (n, seed) => {
        const next = random(seed);
        const half = randomMatrix(n, 0.15, next);
        const entries: [number, number, number][] = [];
        for (let i = 0; i < n; i++) {
          for (let p = half.pattern.rowPointers[i]; p < half.pattern.rowPointers[i + 1]; p++) {
            entries.push([i, half.pattern.columns[p], half.values[p]], [half.pattern.columns[p], i, half.values[p]]);
          }
        }
        const matrix = fromEntries(n, entries, true);
        check(auto(), matrix, seed);
        try {
          check(sparseLdlt(), matrix, seed);
          solved++;
        } catch (error) {
          expect(error).to.be.instanceOf(StiffgradError);
          expect((error as StiffgradError).code).to.equal('unstable-pivots');
        }
      }),
      runs(80),
    );
    expect(solved).to.be.greaterThan(70);
  });

  it('names redundant constraints by their rows', () => {
    const matrix = saddle(12, 3, random(2));
    const entries: [number, number, number][] = [];
    for (let i = 0; i < 15; i++) {
      for (let p = matrix.pattern.rowPointers[i]; p < matrix.pattern.rowPointers[i + 1]; p++) {
        const [j, value] = [matrix.pattern.columns[p], matrix.values[p]];
        entries.push([i, j, value]);
        // Constraint 15 says what 13 says, in other units.
        if (i === 13) entries.push([15, j, 1e3 * value], [j, 15, 1e3 * value]);
      }
    }
    for (const solver of [sparseLdlt(), sparseLu(), auto(), lu()]) {
      const error = refusal(solver, fromEntries(16, entries, true));
      expect(error.code).to.equal('singular-matrix');
      expect(error.data.rows).to.deep.equal([13, 15]);
    }
  });

  it('names a free body: all rows of a grid without supports', () => {
    const matrix = grid(4);
    for (let i = 0; i < 16; i++) {
      const {rowPointers, columns} = matrix.pattern;
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++)
        if (columns[p] === i) matrix.values[p] = rowPointers[i + 1] - rowPointers[i] - 1;
    }
    const error = refusal(sparseLdlt(), matrix);
    expect(error.code).to.equal('singular-matrix');
    expect(error.data.rows).to.deep.equal([...Array(16).keys()]);
  });

  it('refuses what is not finite or not symmetric by name', () => {
    const matrix = grid(4);
    for (let p = 0; p < matrix.values.length; p++) {
      const values = matrix.values.slice();
      values[p] = NaN;
      values[mirror(matrix, p)] = NaN;
      expect(refusal(sparseLdlt(), {...matrix, values}).code).to.equal('not-finite');
    }
    check(sparseLdlt(), unsymmetric(matrix));
    const spoiled = unsymmetric(grid(4));
    spoiled.values[mirror(spoiled, 1)] = -2;
    const error = refusal(sparseLdlt(), spoiled);
    expect(error.code).to.equal('not-symmetric');
    expect(error.data.rows).to.deep.equal([0, 1]);
    expect(
      refusal(sparseLdlt(), {...spoiled, values: spoiled.values.map((value, p) => (p === 3 ? NaN : value))}).code,
    ).to.equal('not-finite');
    expect(() =>
      sparseLdlt().analyze(
        fromEntries(2, [
          [0, 0, 1],
          [0, 1, 1],
          [1, 1, 1],
        ]).pattern,
      ),
    ).to.throw(StiffgradError, 'lacks some');
  });

  it('does not lose digits of an ill-conditioned definite matrix to perturbation', () => {
    // A clamped beam's bending matrix (1, −4, 6, −4, 1): condition ~ n⁴ = 1e10, pivots fade, nothing is enlarged.
    const n = 300;
    const entries: [number, number, number][] = [];
    for (let i = 0; i < n; i++) {
      for (const [d, value] of [
        [-2, 1],
        [-1, -4],
        [0, 6],
        [1, -4],
        [2, 1],
      ])
        if (i + d >= 0 && i + d < n) entries.push([i, i + d, value]);
    }
    const matrix = fromEntries(n, entries, true);
    check(sparseLdlt({ordering: 'natural'}), matrix);
    check(sparseLdlt(), matrix);
    const factor = analyzeLdlt(matrix.pattern).createFactor();
    factor.refactor(matrix.values);
    expect(factor.enlargedPivots).to.equal(0);
    check(sparseLdlt(), hilbert(9));
  });

  it('solves several right-hand sides, each refined', () => {
    const matrix = saddle(20, 6, random(7));
    const factor = sparseLdlt().analyze(matrix.pattern).factor(matrix.values);
    const b = vector(26 * 3, random(8));
    const x = b.slice();
    factor.solve(x, x, 3);
    for (let k = 0; k < 3; k++)
      expect(backwardError(matrix, x.slice(26 * k, 26 * k + 26), b.slice(26 * k, 26 * k + 26))).to.be.at.most(
        bound(26),
      );
  });
});

describe('linear: banded', () => {
  it('solves tridiagonal systems of every size, dominant or not', () => {
    for (let n = 1; n <= 12; n++) {
      check(band(), banded(n, 1, 1, random(n), 4));
      check(band(), banded(n, 1, 1, random(n), 0));
      check(band(), banded(n, 1, 0, random(n), 2));
      check(band(), banded(n, 0, 1, random(n), 2));
    }
    fc.assert(
      fc.property(fc.integer({min: 1, max: 200}), fc.constantFrom(0, 1, 4), seeds, (n, diagonal, seed) => {
        check(band(), banded(n, 1, 1, random(seed), diagonal), seed);
      }),
      runs(100),
    );
  });

  it('says which tridiagonal kernel it took', () => {
    const dominant = banded(20, 1, 1, random(1), 4);
    expect(band().analyze(dominant.pattern).kind).to.equal('tridiagonal');
    expect(band().analyze(dominant.pattern).factor(dominant.values).kind).to.equal('tridiagonal');
    const exchange = fromEntries(3, [
      [0, 0, 1e-3],
      [0, 1, 1],
      [1, 0, 1],
      [1, 1, 1],
      [1, 2, 1],
      [2, 1, 1],
      [2, 2, 2],
    ]);
    expect(band().analyze(exchange.pattern).factor(exchange.values).kind).to.equal('band-lu');
    check(band(), exchange);
  });

  it('agrees with the discrete Poisson equation in closed form', () => {
    // −x'' = 1 with x = 0 at both ends on n inner points: x_i = (i + 1)(n − i) / 2 exactly.
    const n = 101;
    const entries: [number, number, number][] = [];
    for (let i = 0; i < n; i++) {
      entries.push([i, i, 2]);
      if (i > 0) entries.push([i, i - 1, -1], [i - 1, i, -1]);
    }
    const x = new Float64Array(n);
    const matrix = fromEntries(n, entries, true);
    band().analyze(matrix.pattern).factor(matrix.values).solve(new Float64Array(n).fill(1), x);
    x.forEach((value, i) => expect(value).to.be.closeTo(((i + 1) * (n - i)) / 2, 1e-9));
  });

  it('solves bands of any shape, with exchanges, and shuffled', () => {
    fc.assert(
      fc.property(size, fc.integer({min: 0, max: 5}), fc.integer({min: 0, max: 5}), seeds, (n, lower, upper, seed) => {
        const next = random(seed);
        // Neighbouring rows exchanged, so that the large entries are off the diagonal.
        const swapped = Int32Array.from({length: n}, (_, i) => ((i ^ 1) < n ? i ^ 1 : i));
        const identity = Int32Array.from({length: n}, (_, i) => i);
        check(band(), permuted(banded(n, lower, upper, next, 8), swapped, identity), seed);
        check(band(), permuted(banded(n, lower, upper, next, 8), shuffle(n, next)), seed);
      }),
      runs(100),
    );
  });

  it('solves definite and indefinite symmetric bands', () => {
    const definite = grid(3, 20);
    check(band(), definite);
    expect(band().analyze(definite.pattern).factor(definite.values).kind).to.equal('band-cholesky');
    const indefinite = saddle(12, 4, random(3));
    check(band(), indefinite);
    expect(band().analyze(indefinite.pattern).factor(indefinite.values).kind).to.equal('band-lu');
    const dominant = banded(40, 3, 2, random(4), 7);
    check(band(), dominant);
    expect(band().analyze(dominant.pattern).factor(dominant.values).kind).to.equal('band-plain-lu');
  });

  it('refuses singular bands with their rows, and what is not finite', () => {
    // A free chain.
    const entries: [number, number, number][] = [];
    for (let i = 0; i + 1 < 8; i++) entries.push([i, i, 1], [i + 1, i + 1, 1], [i, i + 1, -1], [i + 1, i, -1]);
    for (const symmetric of [true, false]) {
      const error = refusal(band(), fromEntries(8, entries, symmetric));
      expect(error.code).to.equal('singular-matrix');
      expect(error.data.rows).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7]);
    }
    const chain = banded(9, 1, 1, random(1), 4);
    for (let p = 0; p < chain.values.length; p++) {
      const values = chain.values.slice();
      values[p] = Infinity;
      expect(refusal(band(), {...chain, values}).code).to.equal('not-finite');
    }
    const wide = grid(3, 8);
    wide.values[7] = wide.values[mirror(wide, 7)] = NaN;
    expect(refusal(band(), wide).code).to.equal('not-finite');
  });
});

describe('linear: auto', () => {
  const kindOf = (matrix: Matrix): string => auto().analyze(matrix.pattern).kind;

  it('chooses by the work', () => {
    expect(kindOf(banded(50, 1, 1, random(1), 4))).to.equal('tridiagonal');
    expect(kindOf(permuted(banded(50, 1, 1, random(1), 4), shuffle(50, random(2))))).to.equal('tridiagonal');
    expect(kindOf(grid(2, 100))).to.equal('band');
    expect(kindOf(grid(40))).to.equal('sparse');
    expect(kindOf(unsymmetric(grid(40)))).to.equal('sparse');
    expect(kindOf(arrow(300))).to.equal('sparse');
    expect(kindOf(randomMatrix(30, 1, random(1)))).to.equal('dense');
    expect(kindOf(randomMatrix(40, 0.5, random(1)))).to.equal('dense');
    expect(kindOf(grid(2))).to.equal('dense');
  });

  it('solves all of them', () => {
    const next = random(9);
    for (const matrix of [
      banded(50, 1, 1, next, 4),
      banded(60, 3, 1, next, 2),
      grid(2, 100),
      grid(15),
      unsymmetric(grid(15)),
      arrow(80),
      unsymmetric(arrow(80)),
      randomMatrix(40, 0.5, next),
      randomMatrix(120, 0.02, next, 2),
      saddle(60, 20, next),
      unsymmetric(saddle(60, 20, next)),
      randomDefinite(50, 0.05, next),
      hilbert(6),
    ]) {
      check(auto(), matrix);
    }
  });

  it('finds symmetry that nobody promised, also behind a row scaling', () => {
    const kind = (matrix: Matrix): string => {
      const m = unsymmetric(matrix);
      check(auto(), m);
      return auto().analyze(m.pattern).factor(m.values).kind;
    };
    const next = random(4);
    const ones = (n: number): Float64Array => new Float64Array(n).fill(1);
    const masses = (n: number): Float64Array => Float64Array.from({length: n}, () => 10 ** (4 * next() - 2));
    expect(kind(grid(30))).to.equal('ldlt');
    expect(kind(grid(2, 50))).to.equal('band-cholesky');
    expect(kind(randomDefinite(40, 1, next))).to.equal('lu');
    // I − h² M⁻¹ K, and rounding of its entries.
    expect(kind(scaled(grid(30), masses(900), ones(900)))).to.equal('ldlt');
    const rounded = grid(30);
    rounded.values.forEach((value, p) => (rounded.values[p] = value * (1 + 4 * Number.EPSILON * (next() - 0.5))));
    expect(kind(rounded)).to.equal('ldlt');
    // [A −hGᵀ; G 0].
    const saddlePoint = permuted(saddle(300, 90, next), shuffle(390, next));
    const rows = ones(390);
    for (let i = 0; i < 390; i++) if (!hasDiagonal(saddlePoint, i)) rows[i] = -0.01;
    expect(kind(scaled(saddlePoint, rows, ones(390)))).to.equal('ldlt');
    // A real difference in one entry, one entry without its mirror image, and a scaling too wide.
    const spoiled = grid(30);
    spoiled.values[1] *= 1 + 1e-12;
    expect(kind(spoiled)).to.equal('supernodal-lu');
    expect(kind(fromEntries(900, [...entriesOf(grid(30)), [0, 899, 0.1]]))).to.equal('supernodal-lu');
    expect(
      kind(
        scaled(
          grid(30),
          Float64Array.from({length: 900}, (_, i) => 10 ** (i / 60)),
          ones(900),
        ),
      ),
    ).to.equal('supernodal-lu');
    // The scalar LU is the faster one where columns are short.
    expect(kind(fromEntries(80, [...entriesOf(arrow(80)), [1, 2, 0.5], [2, 1, 0.3]]))).to.equal('lu');
  });

  it('leaves a matrix to LU when the symmetric method cannot take it', () => {
    // The pairs (2i, 2i + 1) form [0 1; 1 0] with zeros in the pattern, loosely coupled: no diagonal pivot to begin with.
    const entries: [number, number, number][] = [];
    const side = 12;
    const base = grid(side);
    for (const [i, j, value] of entriesOf(base))
      entries.push([2 * i, 2 * j + 1, value], [2 * j + 1, 2 * i, value], [2 * i, 2 * j, 0], [2 * i + 1, 2 * j + 1, 0]);
    const matrix = fromEntries(2 * side * side, entries, true);
    check(auto(), matrix);
    check(auto(), unsymmetric(matrix));
  });

  it('is as good on a system as its product says: A (A⁻¹ b) = b', () => {
    const matrix = grid(25);
    const b = vector(625, random(1));
    const x = check(auto(), matrix);
    multiply(matrix, x).forEach((value, i) => expect(value).to.be.closeTo(b[i], 1e-13));
  });
});

function entriesOf({pattern, values}: Matrix): [number, number, number][] {
  const entries: [number, number, number][] = [];
  for (let i = 0; i < pattern.n; i++) {
    for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++)
      entries.push([i, pattern.columns[p], values[p]]);
  }
  return entries;
}

function hasDiagonal({pattern}: Matrix, i: number): boolean {
  return pattern.columns.subarray(pattern.rowPointers[i], pattern.rowPointers[i + 1]).includes(i);
}
