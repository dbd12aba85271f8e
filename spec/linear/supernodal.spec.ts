import {expect} from 'chai';
import fc from 'fast-check';
import wabt from 'wabt';
import {sparseLdlt} from '../../lib/linear/index.js';
import {analyzeLdlt} from '../../lib/linear/sparse-ldlt.js';
import {supernodalBytes} from '../../lib/linear/supernodal-kernels.js';
import {
  backwardError,
  fromEntries,
  grid,
  type Matrix,
  multiply,
  permuted,
  random,
  randomDefinite,
  saddle,
  scaled,
  shuffle,
  vector,
} from './matrices.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** As in sparse.spec.ts. */
const bound = (n: number): number => 40 * Math.max(n, 4) * Number.EPSILON;

/** A definite block matrix on a k × l grid, `size` unknowns a vertex: the pattern of a mesh in space. */
function mesh(k: number, l: number, size: number, next: () => number): Matrix {
  const entries: [number, number, number][] = [];
  const couple = (i: number, j: number): void => {
    for (let a = 0; a < size; a++) {
      for (let b = 0; b < size; b++) {
        const value = next() - 0.5;
        entries.push([size * i + a, size * j + b, value], [size * j + b, size * i + a, value]);
      }
    }
  };
  for (let r = 0; r < k; r++) {
    for (let c = 0; c < l; c++) {
      const i = r * l + c;
      couple(i, i);
      // Four neighbours and itself: a row sums to less than 6 size in absolute value.
      for (let a = 0; a < size; a++) entries.push([size * i + a, size * i + a, 6 * size]);
      if (r > 0) couple(i, i - l);
      if (c > 0) couple(i, i - 1);
    }
  }
  return fromEntries(size * k * l, entries, true);
}

const solvers = (['plain', 'compiled'] as const).map(arithmetic => sparseLdlt({arithmetic}));

function solutions(matrix: Matrix, b: Float64Array, count = 1): Float64Array[] {
  return solvers.map(solver => {
    const x = new Float64Array(b.length);
    solver.analyze(matrix.pattern).factor(matrix.values).solve(b, x, count);
    return x;
  });
}

describe('linear: supernodes in WebAssembly', () => {
  it('is a module that an independent reader takes', async () => {
    const {readWasm} = await wabt();
    const module = readWasm(supernodalBytes(), {simd: true});
    module.validate();
    module.destroy();
  });

  slow('solves definite matrices of all shapes of blocks, as plain loops do to the last bit', () => {
    const size = fc.integer({min: 1, max: 7});
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: 6}),
        fc.integer({min: 1, max: 6}),
        size,
        fc.integer(),
        (k, l, unknowns, seed) => {
          const next = random(seed);
          const matrix = mesh(k, l, unknowns, next);
          const b = vector(matrix.pattern.n, next);
          const [plain, compiled] = solutions(matrix, b);
          expect(backwardError(matrix, plain, b)).to.be.at.most(bound(b.length));
          expect(compiled).to.deep.equal(plain);
        },
      ),
      runs(30),
    );
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: 80}),
        fc.double({min: 0, max: 0.1, noNaN: true}),
        fc.integer(),
        (n, density, seed) => {
          const next = random(seed);
          const matrix = randomDefinite(n, density, next);
          const b = vector(n, next);
          const [plain, compiled] = solutions(matrix, b);
          expect(backwardError(matrix, plain, b)).to.be.at.most(bound(n));
          expect(compiled).to.deep.equal(plain);
        },
      ),
      runs(60),
    );
  });

  it('passes through wide blocks: more columns than a panel and than what is packed at once', () => {
    // A clique of 150 beside a grid that leans on it.
    const next = random(4);
    const base = grid(10);
    const entries: [number, number, number][] = [];
    for (let i = 0; i < 100; i++) {
      for (let p = base.pattern.rowPointers[i]; p < base.pattern.rowPointers[i + 1]; p++)
        entries.push([i, base.pattern.columns[p], base.values[p]]);
      entries.push([i, 100 + i, -0.1], [100 + i, i, -0.1]);
    }
    for (let i = 0; i < 150; i++) {
      entries.push([100 + i, 100 + i, 160]);
      for (let j = 0; j < i; j++) {
        const value = next() - 0.5;
        entries.push([100 + i, 100 + j, value], [100 + j, 100 + i, value]);
      }
    }
    const matrix = permuted(fromEntries(250, entries, true), shuffle(250, next));
    const b = vector(250, next);
    const [plain, compiled] = solutions(matrix, b);
    expect(backwardError(matrix, compiled, b)).to.be.at.most(bound(250));
    expect(compiled).to.deep.equal(plain);
  });

  it('solves KKT matrices, their multipliers of any size, and counts negative pivots', () => {
    fc.assert(
      fc.property(fc.integer({min: 4, max: 60}), fc.integer(), (n, seed) => {
        const next = random(seed);
        const m = Math.ceil(n / 3);
        const units = Float64Array.from({length: n + m}, () => 10 ** (6 * next() - 3));
        const matrix = scaled(permuted(saddle(n, m, next, 1e4), shuffle(n + m, next)), units, units);
        const factor = analyzeLdlt(matrix.pattern, {arithmetic: 'compiled'}).createFactor();
        expect(factor.tryRefactor(matrix.values)).to.equal(true);
        expect(factor.negativePivots).to.equal(m);
        const b = vector(n + m, next);
        const x = new Float64Array(n + m);
        factor.solve(b, x);
        expect(backwardError(matrix, x, b)).to.be.at.most(bound(n + m));
      }),
      runs(60),
    );
  });

  it('refuses singular matrices by the same rows', () => {
    const rows = solvers.map(solver => {
      // A grid whose supports are taken away: the sum of all rows is zero.
      const {pattern, values} = grid(8);
      const free = values.slice();
      for (let i = 0; i < 64; i++) {
        for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++)
          if (pattern.columns[p] === i) free[p] = pattern.rowPointers[i + 1] - pattern.rowPointers[i] - 1;
      }
      try {
        solver.analyze(pattern).factor(free);
      } catch (error) {
        return (error as {data: {rows: number[]}}).data.rows;
      }
      return undefined;
    });
    expect(rows[0]).to.have.length(64);
    expect(rows[1]).to.deep.equal(rows[0]);
  });

  it('solves any number of right-hand sides at once, transposed as well', () => {
    const matrix = mesh(5, 4, 3, random(1));
    const {n} = matrix.pattern;
    for (let count = 1; count <= 9; count++) {
      const b = vector(count * n, random(count));
      for (const x of solutions(matrix, b, count)) {
        for (let k = 0; k < count; k++)
          expect(backwardError(matrix, x.subarray(k * n, (k + 1) * n), b.subarray(k * n, (k + 1) * n))).to.be.at.most(
            bound(n),
          );
      }
    }
    // Rows scaled: not symmetric, but D A is.
    const d = Float64Array.from({length: n}, (_, i) => 1 + (i % 5));
    const leaning = scaled(matrix, d, new Float64Array(n).fill(1));
    const factor = sparseLdlt({arithmetic: 'compiled'})
      .analyze({...leaning.pattern, symmetric: false})
      .factor(leaning.values);
    const b = vector(6 * n, random(2));
    const x = new Float64Array(6 * n);
    for (const transposed of [false, true]) {
      if (transposed) factor.solveTransposed(b, x, 6);
      else factor.solve(b, x, 6);
      for (let k = 0; k < 6; k++)
        expect(
          backwardError(leaning, x.subarray(k * n, (k + 1) * n), b.subarray(k * n, (k + 1) * n), transposed),
        ).to.be.at.most(bound(n));
    }
  });

  it('keeps factors apart that take turns in one memory, and gives the same bits wherever they were', () => {
    const matrices = [1, 2, 3].map(seed => mesh(6, 5, 3, random(seed)));
    const {pattern} = matrices[0];
    const analysis = analyzeLdlt(pattern, {arithmetic: 'compiled'});
    const b = vector(pattern.n, random(7));
    const alone = matrices.map(({values}) => {
      const x = new Float64Array(pattern.n);
      analysis.factor(values).solve(b, x);
      return x;
    });
    const factors = matrices.map(({values}) => {
      const factor = analysis.createFactor();
      factor.refactor(values);
      return factor;
    });
    for (const k of [2, 0, 1, 1, 0, 2]) {
      const x = new Float64Array(pattern.n);
      factors[k].solve(b, x);
      expect(x).to.deep.equal(alone[k]);
    }
    factors[1].refactor(matrices[0].values);
    const x = new Float64Array(pattern.n);
    for (const [factor, expected] of [
      [factors[0], 0],
      [factors[1], 0],
      [factors[2], 2],
    ] as const) {
      factor.solve(b, x);
      expect(x).to.deep.equal(alone[expected]);
    }
  });

  slow('a net of 40² masses: what plain loops give, to rounding', () => {
    const matrix = mesh(40, 40, 3, random(9));
    const b = vector(matrix.pattern.n, random(10));
    const [plain, compiled] = solutions(matrix, b);
    expect(compiled).to.deep.equal(plain);
    multiply(matrix, compiled).forEach((value, i) => expect(value).to.be.closeTo(b[i], 1e-13));
  });
});
