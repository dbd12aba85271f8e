import {expect} from 'chai';
import {cg, multigrid} from '../../lib/linear/index.js';
import {elasticity} from './meshes.js';

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
});
