import {expect} from 'chai';
import {auto, cg, multigrid} from '../../lib/linear/index.js';
import {multiply} from './matrices.js';
import {elasticity, poisson} from './meshes.js';

describe('linear: multigrid on large meshes', () => {
  it('iterations grow at most 10 % from 27,744 to 295,704 unknowns', () => {
    // PyAMG 5.3, smoothed_aggregation_solver(A, B) with rigid-body modes and cg to 1e-10: 25 and 37.
    const [coarse, fine] = [16, 36].map(n => {
      const {pattern, values, coordinates} = elasticity([2 * n, n, n]);
      const b = Float64Array.from({length: pattern.n}, (_, i) => (i % 3 === 2 ? -1 : 0));
      const factor = cg({preconditioner: multigrid({coordinates})})
        .analyze(pattern)
        .factor(values);
      factor.solve(b, new Float64Array(pattern.n));
      return factor.linearIterations;
    });
    expect(coarse).to.be.at.most(20);
    expect(fine).to.be.at.most(1.1 * coarse);
  });

  it('auto() takes it for large definite matrices whose near null space is known, and says so', () => {
    const {pattern, values} = poisson([44, 44, 44]);
    const {n} = pattern;
    const known = {...pattern, symmetric: false, nearNullSpace: [new Float64Array(n).fill(1)]};
    const b = new Float64Array(n).fill(1);
    const x = new Float64Array(n);
    /** The kind of the method, once the solution is seen to be exact to rounding. */
    const kindOf = (taken: typeof pattern, matrix: Float64Array): string => {
      const analysis = auto().analyze(taken);
      analysis.factor(matrix).solve(b, x);
      const product = multiply({pattern, values: matrix}, x);
      const largest = Math.max(...x.map(Math.abs));
      // Sums of absolute values of rows are at most 16 here.
      expect(Math.max(...product.map((value, i) => Math.abs(value - b[i])))).to.be.below(64 * 2 ** -52 * 16 * largest);
      return analysis.kind;
    };
    expect(kindOf(known, values)).to.equal('cg, multigrid');
    // Without what is known of the matrix, and where it is not definite: a direct method.
    const indefinite = values.slice();
    for (let i = 0; i < n; i++)
      for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++)
        if (pattern.columns[p] === i) indefinite[p] -= 0.02;
    expect(kindOf(known, indefinite)).to.equal('sparse');
  });
});
