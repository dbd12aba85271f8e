import {expect} from 'chai';
import fc from 'fast-check';
import {StiffgradError} from '../../lib/errors.js';
import {cg, CsrOperator, gmres, type KrylovSolver, lu, minres, type Operator} from '../../lib/linear/index.js';
import {fromRows, grid, type Matrix, multiply, random, randomDefinite, randomMatrix, vector} from './matrices.js';
import {runs} from '../property.js';

function relativeResidual(matrix: Matrix, x: Float64Array, b: Float64Array, transposed = false): number {
  const residual = multiply(matrix, x, transposed).map((value, i) => b[i] - value);
  return Math.hypot(...residual) / Math.hypot(...b);
}

function check(solver: KrylovSolver, matrix: Matrix, tolerance: number): void {
  const {n} = matrix.pattern;
  const b = vector(n, random(n));
  const x = new Float64Array(n);
  const factor = solver.analyze(matrix.pattern).factor(matrix.values);
  factor.solve(b, x);
  expect(relativeResidual(matrix, x, b)).to.be.at.most(tolerance);
  factor.solveTransposed(b, x);
  expect(relativeResidual(matrix, x, b, true)).to.be.at.most(tolerance);
}

function failure(action: () => void): StiffgradError {
  try {
    action();
  } catch (error) {
    if (error instanceof StiffgradError) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

/** Definite saddle: the grid above, its first nodes held by multipliers. */
function saddle(k: number, constraints: number): Matrix {
  const a = grid(k);
  const n = k * k + constraints;
  const rows = Array.from({length: n}, () => new Array<number>(n).fill(0));
  for (let i = 0; i < k * k; i++) {
    for (let p = a.pattern.rowPointers[i]; p < a.pattern.rowPointers[i + 1]; p++)
      rows[i][a.pattern.columns[p]] = a.values[p];
  }
  for (let c = 0; c < constraints; c++) rows[k * k + c][3 * c] = rows[3 * c][k * k + c] = 1;
  return fromRows(rows, true);
}

describe('linear: Krylov methods', () => {
  it('GMRES reaches the true residual it was asked for, in both directions', () => {
    fc.assert(
      fc.property(fc.integer({min: 1, max: 40}), fc.integer(), (n, seed) => {
        const matrix = randomMatrix(n, 0.5, random(seed), n);
        for (const preconditioner of ['none', 'diagonal'] as const)
          check(gmres({tolerance: 1e-12, preconditioner}), matrix, 1e-12);
        check(gmres({tolerance: 1e-10, restart: 7}), matrix, 1e-10);
      }),
      runs(25),
    );
  });

  it('CG and MINRES reach theirs on definite matrices', () => {
    fc.assert(
      fc.property(fc.integer({min: 1, max: 40}), fc.integer(), (n, seed) => {
        const matrix = randomDefinite(n, 0.2, random(seed), 1);
        for (const preconditioner of ['none', 'diagonal'] as const) {
          check(cg({tolerance: 1e-11, preconditioner}), matrix, 1e-11);
          check(minres({tolerance: 1e-11, preconditioner}), matrix, 1e-11);
        }
      }),
      runs(25),
    );
  });

  it('MINRES solves an indefinite KKT system', () => {
    check(minres({tolerance: 1e-10}), saddle(6, 8), 1e-10);
    check(minres({tolerance: 1e-10, preconditioner: 'diagonal'}), saddle(6, 8), 1e-10);
  });

  it('ends after as many steps as there are distinct eigenvalues', () => {
    // diag(1, 1, 2, 2, 3, 3): the minimal polynomial has degree three.
    const matrix = fromRows(
      [1, 1, 2, 2, 3, 3].map((value, i) => [0, 0, 0, 0, 0, 0].map((_, j) => (i === j ? value : 0))),
      true,
    );
    const x = new Float64Array(6);
    for (const solver of [gmres(), cg(), minres()]) {
      const factor = solver.analyze(matrix.pattern).factor(matrix.values);
      factor.solve(Float64Array.of(1, 2, 3, 4, 5, 6), x);
      expect(factor.linearIterations).to.equal(3);
      expect(x[5]).to.be.closeTo(2, 1e-14);
    }
  });

  it('CG keeps to the bound of the condition number on a grid', () => {
    // Eigenvalues 4 − 2cos − 2cos: κ = cot²(π/2(k+1)). ‖e‖_A falls as 2((√κ−1)/(√κ+1))^j (Saad, eq. 6.128).
    const k = 20;
    const root = 1 / Math.tan(Math.PI / (2 * (k + 1)));
    const matrix = grid(k);
    const factor = cg({tolerance: 1e-8}).analyze(matrix.pattern).factor(matrix.values);
    factor.solve(vector(k * k, random(1)), new Float64Array(k * k));
    // ‖r‖ ≤ √κ · (relative error in the A-norm) · ‖b‖.
    const steps = Math.ceil(Math.log(1e-8 / (2 * root)) / Math.log((root - 1) / (root + 1)));
    expect(factor.linearIterations).to.be.at.most(steps);
  });

  it('works on an operator without a matrix, whose values may change', () => {
    let shift = 3;
    const operator: Operator = {
      n: 50,
      apply: (x, y) =>
        x.forEach((value, i) => (y[i] = shift * value - (i > 0 ? x[i - 1] : 0) - (i < 49 ? 0.5 * x[i + 1] : 0))),
      applyTransposed: (x, y) =>
        x.forEach((value, i) => (y[i] = shift * value - (i < 49 ? x[i + 1] : 0) - (i > 0 ? 0.5 * x[i - 1] : 0))),
      diagonal: d => void d.fill(shift),
    };
    const factor = gmres({preconditioner: 'diagonal'}).bind(operator);
    const b = vector(50, random(1));
    const x = b.slice();
    for (const next of [3, 7]) {
      shift = next;
      factor.refresh();
      x.set(b);
      factor.solve(x, x);
      const y = new Float64Array(50);
      operator.apply(x, y);
      expect(Math.hypot(...y.map((value, i) => value - b[i])) / Math.hypot(...b)).to.be.at.most(1e-10);
      expect(factor.residual).to.be.at.most(1e-10);
    }
    expect(failure(() => factor.refactor(b)).code).to.equal('matrix-free');
  });

  it('takes the stale factor of a nearby matrix as preconditioner: a few iterations, both directions', () => {
    const next = random(4);
    const old = randomMatrix(40, 1, next, 4);
    const matrix = {pattern: old.pattern, values: old.values.map(value => value * (1 + 1e-3 * (next() - 0.5)))};
    const stale = lu().analyze(old.pattern).factor(old.values);
    const solver = gmres({preconditioner: stale, tolerance: 1e-12});
    check(solver, matrix, 1e-12);
    const factor = solver.analyze(matrix.pattern).factor(matrix.values);
    factor.solve(vector(40, next), new Float64Array(40));
    expect(factor.linearIterations).to.be.at.most(8);
  });

  it('takes a function as preconditioner', () => {
    const matrix = grid(8);
    check(cg({preconditioner: (r, z) => r.forEach((value, i) => (z[i] = value / 4))}), matrix, 1e-10);
  });

  it('solves several right-hand sides and reports the largest residual', () => {
    const matrix = grid(5);
    const factor = cg().bind(bound(matrix));
    const b = vector(75, random(2));
    const x = new Float64Array(75);
    factor.solve(b, x, 3);
    const residuals = [0, 1, 2].map(k =>
      relativeResidual(matrix, x.slice(25 * k, 25 * k + 25), b.slice(25 * k, 25 * k + 25)),
    );
    expect(factor.residual).to.be.closeTo(Math.max(...residuals), 1e-13);
    factor.solve(new Float64Array(25), x);
    expect(x.slice(0, 25).every(value => value === 0)).to.equal(true);
  });

  it('fails by name: too few iterations, indefinite, singular, not finite', () => {
    const matrix = grid(12);
    const b = vector(144, random(3));
    const x = new Float64Array(144);
    for (const solver of [cg({maxIterations: 5}), minres({maxIterations: 5}), gmres({maxIterations: 5})]) {
      const error = failure(() => solver.analyze(matrix.pattern).factor(matrix.values).solve(b, x));
      expect(error.code).to.equal('linear-not-converged');
      expect(error.data.iterations).to.equal(5);
      expect(error.data.residual).to.be.within(1e-10, 1);
    }
    const indefinite = fromRows(
      [
        [1, 2],
        [2, 1],
      ],
      true,
    );
    expect(
      failure(() => cg().analyze(indefinite.pattern).factor(indefinite.values).solve(Float64Array.of(1, -1), x)).code,
    ).to.equal('not-positive-definite');
    const negative = fromRows(
      [
        [1, 2],
        [2, -1],
      ],
      true,
    );
    expect(
      failure(() => cg({preconditioner: 'diagonal'}).analyze(negative.pattern).factor(negative.values)).data.rows,
    ).to.deep.equal([1]);
    const singular = fromRows(
      [
        [1, -1],
        [-1, 1],
      ],
      true,
    );
    for (const solver of [gmres(), minres()]) {
      const {code} = failure(() =>
        solver.analyze(singular.pattern).factor(singular.values).solve(Float64Array.of(1, 2), new Float64Array(2)),
      );
      expect(code).to.be.oneOf(['breakdown', 'linear-stagnation', 'linear-not-converged']);
    }
    expect(
      failure(() =>
        gmres()
          .bind(bound(matrix))
          .solve(
            b.map(() => NaN),
            x,
          ),
      ).code,
    ).to.equal('not-finite');
    expect(
      failure(() =>
        gmres()
          .bind({...plain(bound(matrix)), apply: (_x, y) => void y.fill(NaN)})
          .solve(b, x),
      ).code,
    ).to.equal('not-finite');
    expect(failure(() => gmres({tolerance: 1e-20}).bind(bound(matrix)).solve(b, x)).code).to.be.oneOf([
      'linear-stagnation',
      'linear-not-converged',
    ]);
    expect(
      failure(() => gmres({preconditioner: 'diagonal'}).bind({...plain(bound(matrix)), diagonal: undefined})).code,
    ).to.equal('no-diagonal');
  });
});

function bound(matrix: Matrix): CsrOperator {
  const operator = new CsrOperator(matrix.pattern);
  operator.load(matrix.values);
  return operator;
}

function plain(operator: Operator): Operator {
  return {
    n: operator.n,
    apply: (x, y) => operator.apply(x, y),
    applyTransposed: (x, y) => operator.applyTransposed(x, y),
  };
}
