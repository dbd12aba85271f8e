/**
 * LU in supernodes: against dense LU, by backward errors, plain loops and WebAssembly bit for bit, and what it leaves
 * to the scalar LU.
 */
import {expect} from 'chai';
import fc from 'fast-check';
import {SingularMatrixError} from '../../lib/errors.js';
import {auto, lu, sparseLu, supernodalLu, type Factor} from '../../lib/linear/index.js';
import {LU_IN_REACH} from '../../lib/linear/static-null.js';
import {analyzeSupernodalLu} from '../../lib/linear/supernodal-lu.js';
import {
  advection,
  backwardError,
  banded,
  fromEntries,
  grid,
  type Matrix,
  permuted,
  random,
  randomMatrix,
  refusal,
  rowOf,
  scaled,
  shuffle,
  unsymmetric,
  vector,
} from './matrices.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** As in sparse.spec.ts. */
const bound = (n: number): number => 40 * Math.max(n, 4) * Number.EPSILON;

const solvers = (['plain', 'compiled'] as const).map(arithmetic => supernodalLu({arithmetic}));

/** One right-hand side and five at once, each way, by both arithmetics: the same bits. Returns the first factor. */
function check(matrix: Matrix, seed = 1, limit = bound(matrix.pattern.n)): Factor {
  const {n} = matrix.pattern;
  const b = vector(5 * n, random(seed));
  const factors = solvers.map(solver => solver.analyze(matrix.pattern).factor(matrix.values));
  for (const transposed of [false, true]) {
    for (const count of [1, 5]) {
      const [plain, compiled] = factors.map(factor => {
        const x = new Float64Array(count * n);
        if (transposed) factor.solveTransposed(b, x, count);
        else factor.solve(b, x, count);
        return x;
      });
      for (let k = 0; k < count; k++)
        expect(
          backwardError(matrix, plain.subarray(k * n, (k + 1) * n), b.subarray(k * n, (k + 1) * n), transposed),
        ).to.be.at.most(limit);
      expect(compiled).to.deep.equal(plain);
    }
  }
  return factors[0];
}

const entriesOf = ({pattern, values}: Matrix): [number, number, number][] =>
  Array.from(values, (value, p) => [rowOf({pattern, values}, p), pattern.columns[p], value]);

/**
 * Blocks of `size` unknowns on a k × k grid, coupled each way by numbers of their own; `share` of the diagonal entries
 * are zeros.
 */
function mesh(k: number, size: number, next: () => number, share = 0): Matrix {
  const entries: [number, number, number][] = [];
  const couple = (i: number, j: number): void => {
    for (let a = 0; a < size; a++)
      for (let b = 0; b < size; b++) entries.push([size * i + a, size * j + b, next() - 0.5]);
  };
  for (let i = 0; i < k * k; i++) {
    couple(i, i);
    for (let a = 0; a < size; a++) entries.push([size * i + a, size * i + a, 2 * size]);
    for (const j of [i % k === 0 ? -1 : i - 1, i - k]) {
      if (j < 0) continue;
      couple(i, j);
      couple(j, i);
    }
  }
  const matrix = fromEntries(size * k * k, entries);
  for (let p = 0; p < matrix.values.length; p++)
    if (matrix.pattern.columns[p] === rowOf(matrix, p) && next() < share) matrix.values[p] = 0;
  return matrix;
}

describe('linear: LU in supernodes', () => {
  const size = fc.integer({min: 1, max: 60});

  slow('solves random systems of any pattern, well and badly scaled', () => {
    fc.assert(
      fc.property(size, fc.double({min: 0, max: 0.3, noNaN: true}), fc.integer(), (n, density, seed) => {
        const next = random(seed);
        const matrix = randomMatrix(n, density, next);
        check(matrix, seed);
        const [rows, columns] = [0, 1].map(() => Float64Array.from({length: n}, () => 10 ** (30 * next() - 15)));
        const bad = scaled(matrix, rows, columns);
        const b = vector(n, next);
        const x = new Float64Array(n);
        for (const solver of solvers) {
          solver
            .analyze(bad.pattern)
            .factor(bad.values)
            .solve(
              b.map((value, i) => value * rows[i]),
              x,
            );
          expect(
            backwardError(
              matrix,
              x.map((value, j) => value * columns[j]),
              b,
            ),
          ).to.be.at.most(bound(n));
        }
      }),
      runs(60),
    );
  });

  it('solves what has no diagonal to pivot on, by exchanges within blocks or by the scalar LU', () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(size, fc.integer(), (n, seed) => {
        const next = random(seed);
        kinds.add(check(permuted(banded(n, 1, 2, next, 4), shuffle(n, next), shuffle(n, next)), seed).kind);
      }),
      runs(60),
    );
    expect([...kinds].sort()).to.deep.equal(['lu', 'supernodal-lu']);
  });

  slow('solves meshes of all shapes of blocks, a fifth of their diagonal entries zeros', () => {
    fc.assert(
      fc.property(
        fc.integer({min: 2, max: 6}),
        fc.integer({min: 1, max: 7}),
        fc.constantFrom(0, 0.2),
        fc.integer(),
        (k, unknowns, share, seed) => {
          check(mesh(k, unknowns, random(seed), share), seed);
        },
      ),
      runs(60),
    );
  });

  it('agrees with dense LU', () => {
    for (const matrix of [mesh(5, 3, random(4)), advection(12)]) {
      const {n} = matrix.pattern;
      const b = vector(n, random(2));
      const [dense, sparse] = [lu(), supernodalLu()].map(solver => {
        const x = new Float64Array(2 * n);
        const factor = solver.analyze(matrix.pattern).factor(matrix.values);
        factor.solve(b, x.subarray(0, n));
        factor.solveTransposed(b, x.subarray(n));
        return x;
      });
      dense.forEach((value, i) => expect(sparse[i]).to.be.closeTo(value, 1e-13));
    }
  });

  it('passes through wide blocks, and exchanges rows across their panels', () => {
    // A full block of 150 with nothing on its diagonal, beside a grid that leans on it: more columns than a panel, and
    // deeper than what is packed at once.
    const next = random(4);
    const entries: [number, number, number][] = [];
    for (const [i, j, value] of entriesOf(advection(10))) entries.push([i, j, value]);
    for (let i = 0; i < 100; i++) entries.push([i, 100 + i, -0.1 - next()], [100 + i, i, -0.1]);
    for (let i = 0; i < 150; i++)
      for (let j = 0; j < 150; j++) entries.push([100 + i, 100 + j, i === j ? 0 : next() - 0.5]);
    const factor = check(permuted(fromEntries(250, entries), shuffle(250, next)));
    expect(factor.kind).to.equal('supernodal-lu');
  });

  it('refines where pivots are weak, and gives up none of the digits', () => {
    // A diagonal of nearly nothing, so that each pivot is what the elimination made of it.
    const matrix = advection(20);
    const values = matrix.values.map((value, p) =>
      matrix.pattern.columns[p] === rowOf(matrix, p) ? 1e-3 * value : value,
    );
    const factor = check({...matrix, values});
    expect(factor.kind).to.equal('supernodal-lu');
    expect(factor.linearIterations).to.be.within(1, 5);
  });

  it('gives the same bits whatever came between, and keeps factors apart', () => {
    const next = random(5);
    const tame = mesh(5, 2, next);
    // The third one needs the scalar LU, whose plan is what the history holds.
    const wild = {...tame, values: tame.values.map(() => (2 * next() - 1) * 10 ** (30 * next() - 15))};
    const matrices = [tame, {...tame, values: mesh(5, 2, next).values}, wild];
    const {n} = tame.pattern;
    const b = vector(n, next);
    for (const solver of [...solvers, auto()]) {
      const analysis = solver.analyze(tame.pattern);
      const solve = (k: number): Float64Array => {
        const x = new Float64Array(n);
        analysis.factor(matrices[k].values).solve(b, x);
        return x;
      };
      const alone = [0, 1, 2].map(solve);
      for (const k of [2, 0, 1, 1, 0, 2]) expect(solve(k)).to.deep.equal(alone[k]);
      const saved = analysis.pivots?.save();
      analysis.pivots?.restore(undefined);
      expect(solve(0)).to.deep.equal(alone[0]);
      analysis.pivots?.restore(saved);
      const factors = matrices.map(({values}) => {
        const factor = analysis.createFactor();
        factor.refactor(values);
        return factor;
      });
      for (const k of [1, 2, 0]) {
        const x = new Float64Array(n);
        factors[k].solve(b, x);
        expect(x).to.deep.equal(alone[k]);
      }
    }
  });

  it('names dependent rows in the numbering it was given', () => {
    const base = permuted(advection(9), shuffle(81, random(1)));
    // Row 40 becomes twice row 3 minus row 17.
    const entries = entriesOf(base).flatMap(([i, j, value]): [number, number, number][] => [
      ...(i === 40 ? [] : [[i, j, value] as [number, number, number]]),
      ...(i === 3 ? [[40, j, 2 * value] as [number, number, number]] : []),
      ...(i === 17 ? [[40, j, -value] as [number, number, number]] : []),
    ]);
    const singular = fromEntries(81, entries);
    for (const solver of solvers) {
      const error = refusal(() => solver.analyze(singular.pattern).factor(singular.values));
      expect(error).to.be.instanceOf(SingularMatrixError);
      expect(error.data.rows).to.deep.equal([3, 17, 40]);
    }
  });

  describe('of a large mesh', function () {
    this.timeout(60_000);
    const k = 220;
    const {pattern, values} = advection(k);
    const analysis = analyzeSupernodalLu(pattern);
    const row = (i: number): number[] =>
      Array.from({length: pattern.rowPointers[i + 1] - pattern.rowPointers[i]}, (_, p) => pattern.rowPointers[i] + p);

    slow('names dependent rows without the scalar LU', () => {
      expect(analysis.work / 2).to.be.above(LU_IN_REACH);
      // Two rows are left with the entry of the corner's column alone.
      const singular = values.slice();
      for (const i of [1, k]) for (const p of row(i)) if (pattern.columns[p] !== 0) singular[p] = 0;
      for (const of of [analysis, auto().analyze(pattern)]) {
        const error = refusal(() => of.factor(singular));
        expect(error).to.be.instanceOf(SingularMatrixError);
        expect(error.data.rows).to.deep.equal([1, k]);
      }
    });

    slow('solves, and auto() says by what', () => {
      const chosen = auto().analyze(pattern);
      const b = vector(k * k, random(1));
      const x = new Float64Array(k * k);
      const factor = chosen.factor(values);
      factor.solveTransposed(b, x);
      expect(backwardError({pattern, values}, x, b, true)).to.be.at.most(bound(4));
      factor.solve(b, x);
      expect(backwardError({pattern, values}, x, b)).to.be.at.most(bound(4));
      expect(factor.kind).to.equal('supernodal-lu');
      expect(chosen.kind).to.equal('supernodal-lu');
    });
  });

  it('auto() counts it against the scalar LU, and shows what it took', () => {
    const lean = (matrix: Matrix): Matrix =>
      fromEntries(matrix.pattern.n, [...entriesOf(matrix), [0, matrix.pattern.n - 1, 0.1]]);
    // One entry without its mirror image.
    expect(auto().analyze(lean(advection(40)).pattern).kind).to.equal('supernodal-lu');
    // Less than half of them with one: an order for AᵀA, and the scalar LU.
    expect(auto().analyze(randomMatrix(400, 0.004, random(1), 3).pattern).kind).to.equal('sparse');
    // A pattern for both: the values decide.
    const analysis = auto().analyze(advection(40).pattern);
    expect(analysis.kind).to.equal('sparse');
    expect(analysis.factor(advection(40).values).kind).to.equal('supernodal-lu');
    expect(analysis.kind).to.equal('supernodal-lu');
    expect(analysis.factor(unsymmetric(grid(40)).values).kind).to.equal('ldlt');
    expect(analysis.kind).to.equal('sparse');
  });

  it('has the fill of its order, counted by elimination without exchanges, and the zeros of its blocks', () => {
    for (const k of [20, 40]) {
      const {pattern} = advection(k);
      const scalar = sparseLu({ordering: 'symmetric'}).analyze(pattern).nonzeros;
      const {nonzeros} = supernodalLu().analyze(pattern);
      // Beside them the blocks' triangles in both panels: of blocks up to 48 wide and merged for at most 40 % of zeros.
      expect(nonzeros).to.be.within(scalar, 1.8 * scalar);
    }
  });
});
