import {expect} from 'chai';
import {box, materials, solid, supports} from '../../fem/index.js';
import {cg, multigrid, newmark, newton, simulate, type Preconditioner} from '../../lib/index.js';

describe('fem: near null space', () => {
  it('bodies tell multigrid their rigid motions', () => {
    const body = solid({
      mesh: box([2, 1, 1], [12, 6, 6], 'tet4'),
      material: materials.linearElastic({E: 1, nu: 0.3}),
      density: 1e-3,
      supports: [supports.held('left')],
    });
    const [x, y, z, , , aboutZ] = body.nearNullSpace!();
    expect([x, y, z].map(mode => mode.reduce((sum, value) => sum + value, 0))).to.deep.equal(
      [0, 0, 0].map(() => body.free.length / 3),
    );
    // About the middle, over the size: at a corner (2, 1, 1) of a box 2 × 1 × 1.
    const corner = body.free.findIndex(degree => degree % 3 === 0 && body.mesh.points[degree] === 2);
    const [, py] = body.mesh.points.subarray(body.free[corner]);
    [0.5 - py, 1, 0].forEach((value, axis) => expect(aboutZ[corner + axis]).to.be.closeTo(value, 1e-14));
    const iterations = (preconditioner: 'multigrid' | Preconditioner): number =>
      simulate(
        body,
        {q: body.start.q, v: body.start.v.map((_, i) => (i % 3 === 2 ? 1e-3 : 0))},
        {scheme: newmark(), dt: 1, steps: 1, newton: newton({linear: cg({preconditioner})})},
      ).stats.linearIterations;
    expect(iterations('multigrid')).to.be.below(0.75 * iterations(multigrid({nearNullSpace: [x, y, z]})));
  });
});
