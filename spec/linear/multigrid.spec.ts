import {expect} from 'chai';
import {StiffgradError} from '../../lib/errors.js';
import {
  cg,
  gmres,
  type LinearSolver,
  minres,
  multigrid,
  type MultigridOptions,
  sparseLdlt,
} from '../../lib/linear/index.js';
import {analyzeMultigrid} from '../../lib/linear/multigrid-factor.js';
import {nearNullSpace} from '../../lib/linear/near-null-space.js';
import {fromRows, grid, multiply, random, randomMatrix, vector} from './matrices.js';
import {elasticity, type MeshMatrix, poisson} from './meshes.js';

const TOLERANCE = 1e-10;

/** Solves for a load down at every node; returns the iterations, and holds the true residual to the tolerance. */
function iterations(matrix: MeshMatrix, solver: LinearSolver, transposed = false): number {
  const {n} = matrix.pattern;
  const b = Float64Array.from({length: n}, (_, i) => (i % 3 === 2 ? -1 : 0));
  const x = new Float64Array(n);
  const factor = solver.analyze(matrix.pattern).factor(matrix.values);
  if (transposed) factor.solveTransposed(b, x);
  else factor.solve(b, x);
  const product = multiply(matrix, x, transposed);
  expect(Math.hypot(...b.map((value, i) => value - product[i])) / Math.hypot(...b)).to.be.at.most(1.01 * TOLERANCE);
  return factor.linearIterations;
}

const solver = (options: MultigridOptions = {}): LinearSolver =>
  cg({tolerance: TOLERANCE, preconditioner: multigrid(options)});

const rigidBodyModes = (coordinates: Float64Array): readonly Float64Array[] =>
  nearNullSpace({coordinates}, coordinates.length, 3);

function failure(action: () => unknown): StiffgradError {
  try {
    action();
  } catch (error) {
    if (error instanceof StiffgradError) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

describe('linear: preconditioners of assembled matrices', () => {
  it('multigrid with rigid-body modes takes as many iterations as PyAMG, and hardly more on finer meshes', () => {
    // PyAMG 5.3, smoothed_aggregation_solver(A, B) with rigid-body modes and cg to 1e-10: 20 and 25 iterations.
    const coarse = elasticity([16, 8, 8]);
    const fine = elasticity([32, 16, 16]);
    const counts = [coarse, fine].map(matrix => iterations(matrix, solver({coordinates: matrix.coordinates})));
    expect(counts[0]).to.be.at.most(21);
    expect(counts[1]).to.be.at.most(22);
    expect(iterations(coarse, solver({coordinates: coarse.coordinates, sweeps: 2}))).to.be.at.most(17);
  });

  it('multigrid knows the blocks of a pattern; without rotations it takes more iterations', () => {
    const matrix = elasticity([12, 6, 6]);
    const known = iterations(matrix, solver({coordinates: matrix.coordinates}));
    const constants = iterations(matrix, cg({tolerance: TOLERANCE, preconditioner: 'multigrid'}));
    expect(constants).to.be.above(1.5 * known);
    const nodes = Array.from({length: matrix.pattern.n / 3}, (_, k) => [
      ...matrix.coordinates.subarray(3 * k, 3 * k + 3),
    ]);
    expect(iterations(matrix, solver({coordinates: nodes}))).to.equal(known);
    const vectors = [0, 1, 2].map(c => Float64Array.from({length: matrix.pattern.n}, (_, i) => (i % 3 === c ? 1 : 0)));
    expect(iterations(matrix, solver({nearNullSpace: vectors}))).to.equal(constants);
    expect(iterations(matrix, solver({nearNullSpace: () => vectors}))).to.equal(constants);
  });

  it('multigrid solves plane elasticity, diffusion, and what is small enough to be factored', () => {
    // PyAMG: 25, 17 and 18, with two sweeps.
    const plane = elasticity([60, 30]);
    expect(iterations(plane, solver({coordinates: plane.coordinates}))).to.be.at.most(25);
    expect(iterations(poisson([20, 20, 20]), solver({sweeps: 2}))).to.be.at.most(18);
    expect(iterations(poisson([80, 80]), solver({sweeps: 2}))).to.be.at.most(20);
    expect(iterations(poisson([4, 4, 4]), solver())).to.equal(1);
  });

  it('a mass beside the stiffness needs fewer iterations', () => {
    const heavy = elasticity([16, 8, 8], {mass: 10});
    expect(iterations(heavy, solver({coordinates: heavy.coordinates}))).to.be.at.most(12);
  });

  it('solves the same for a factor used again, for several right-hand sides, and transposed', () => {
    const {pattern, values, coordinates} = elasticity([8, 4, 4]);
    const analysis = cg({tolerance: 1e-12, preconditioner: multigrid({coordinates})}).analyze(pattern);
    const b = vector(2 * pattern.n, random(1));
    const [x, y] = [new Float64Array(2 * pattern.n), new Float64Array(2 * pattern.n)];
    const factor = analysis.factor(values.map(value => 3 * value));
    factor.solve(b, x, 2);
    expect(analysis.factor(values)).to.equal(factor);
    factor.solve(b, x, 2);
    analysis.createFactor().refactor(values.map(value => 2 * value));
    factor.solveTransposed(b, y, 2);
    expect([...y]).to.deep.equal([...x]);
    const direct = new Float64Array(2 * pattern.n);
    sparseLdlt().analyze(pattern).factor(values).solve(b, direct, 2);
    const size = Math.hypot(...direct);
    expect(Math.hypot(...direct.map((value, i) => value - x[i])) / size).to.be.below(1e-10);
  });

  it('takes the near null space that a pattern knows', () => {
    const {pattern, values, coordinates} = elasticity([12, 6, 6]);
    const nearNullSpace = rigidBodyModes(coordinates);
    const told = iterations({pattern, values, coordinates}, solver({coordinates}));
    const known = iterations({pattern: {...pattern, nearNullSpace}, values, coordinates}, solver());
    expect(known).to.equal(told);
  });

  it('in the place of a direct factor it is as exact, and gives back what it cannot solve', () => {
    const {pattern, values, coordinates} = elasticity([16, 8, 8]);
    const {n} = pattern;
    const known = {...pattern, nearNullSpace: rigidBodyModes(coordinates)};
    const factor = analyzeMultigrid(known, 100).factor(values);
    const b = vector(n, random(1));
    const [x, y, direct] = [0, 1, 2].map(() => new Float64Array(n));
    factor.solve(b, x);
    expect(factor.linearIterations).to.be.within(15, 25);
    factor.solveTransposed(b, y);
    expect([...y]).to.deep.equal([...x]);
    const size = Math.hypot(...values.subarray(0, pattern.rowPointers[1])) * Math.hypot(...x) + Math.hypot(...b);
    const product = multiply({pattern, values}, x);
    expect(Math.hypot(...b.map((value, i) => value - product[i])) / size).to.be.below(8 * Number.EPSILON);
    sparseLdlt().analyze(pattern).factor(values).solve(b, direct);
    expect(Math.hypot(...direct.map((value, i) => value - x[i])) / Math.hypot(...direct)).to.be.below(1e-12);
    expect(failure(() => analyzeMultigrid(known, 3).factor(values).solve(b, x)).code).to.equal('inaccurate-solve');
    expect(factor.tryRefactor(values.map(value => -value))).to.equal(false);
  });

  it('block Jacobi and incomplete Cholesky take fewer iterations than the diagonal', () => {
    const matrix = elasticity([12, 6, 6]);
    const by = (preconditioner: 'diagonal' | 'block-jacobi' | 'incomplete-cholesky'): number =>
      iterations(matrix, cg({tolerance: TOLERANCE, preconditioner}));
    const diagonal = by('diagonal');
    expect(by('block-jacobi')).to.be.below(diagonal);
    expect(by('incomplete-cholesky')).to.be.below(0.4 * diagonal);
    expect(iterations(matrix, minres({tolerance: TOLERANCE, preconditioner: 'incomplete-cholesky'}))).to.be.below(
      0.5 * diagonal,
    );
  });

  it('incomplete Cholesky is exact where there is no fill, and shifts the diagonal where a pivot fails', () => {
    const chain = fromRows(
      Array.from({length: 30}, (_, i) => Array.from({length: 30}, (__, j) => [2.1, -1][Math.abs(i - j)] ?? 0)),
    );
    const once = cg({preconditioner: 'incomplete-cholesky'}).analyze(chain.pattern).factor(chain.values);
    once.solve(new Float64Array(30).fill(1), new Float64Array(30));
    expect(once.linearIterations).to.equal(1);
    // Kershaw's matrix (1978), definite, whose incomplete factor has a negative pivot.
    const kershaw = fromRows([
      [3, -2, 0, 2],
      [-2, 3, -2, 0],
      [0, -2, 3, -2],
      [2, 0, -2, 3],
    ]);
    const factor = cg({preconditioner: 'incomplete-cholesky'}).analyze(kershaw.pattern).factor(kershaw.values);
    const x = new Float64Array(4);
    factor.solve(Float64Array.of(1, 2, 3, 4), x);
    expect(Math.hypot(...multiply(kershaw, x).map((value, i) => value - i - 1))).to.be.below(1e-8);
  });

  it('GMRES takes block Jacobi for matrices without symmetry, in both directions', () => {
    const matrix = randomMatrix(24, 0.2, random(3), 24);
    const b = vector(24, random(4));
    const x = new Float64Array(24);
    const factor = gmres({preconditioner: 'block-jacobi'}).analyze(matrix.pattern).factor(matrix.values);
    for (const transposed of [false, true]) {
      if (transposed) factor.solveTransposed(b, x);
      else factor.solve(b, x);
      const product = multiply(matrix, x, transposed);
      expect(Math.hypot(...b.map((value, i) => value - product[i]))).to.be.below(1e-9 * Math.hypot(...b));
    }
  });

  it('refuses what it cannot use', () => {
    const {pattern, values} = grid(40);
    const negative = values.map(value => -value);
    for (const preconditioner of ['block-jacobi', 'incomplete-cholesky', 'multigrid'] as const) {
      const error = failure(() => cg({preconditioner}).analyze(pattern).factor(negative));
      expect(error.code).to.equal('not-positive-definite');
    }
    expect(failure(() => gmres({preconditioner: 'multigrid'})).code).to.equal('bad-linear');
    const short = failure(() => solver({coordinates: new Float64Array(7)}).analyze(pattern));
    expect(short.code).to.equal('bad-near-null-space');
    const wrong = failure(() => solver({nearNullSpace: [new Float64Array(3)]}).analyze(pattern));
    expect(wrong.message).to.include('3 numbers');
    expect(failure(() => solver({nearNullSpace: []}).analyze(pattern)).code).to.equal('bad-linear');
    expect(failure(() => multigrid({coordinates: [], nearNullSpace: []})).code).to.equal('bad-linear');
    expect(failure(() => solver({blockSize: 7}).analyze(pattern)).code).to.equal('bad-linear');
  });
});
