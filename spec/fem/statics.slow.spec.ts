/** Published problems of large displacements, from their whole load at once and along their paths. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, loads, mapped, materials, rod, solid, supports} from '../../fem/index.js';
import {equilibrium} from '../../lib/index.js';

describe('published problems of statics', function () {
  this.timeout(120_000);

  it('the elastica under P = 1, 2, 5, 10, by solids of slenderness 1/100 and their whole load, at order four', () => {
    // Mattiasson, Int. J. Numer. Meth. Engng 17, 1981: deflection of the tip.
    const exact = {1: 0.30172077, 2: 0.49345748, 5: 0.71379152, 10: 0.81060902};
    const h = 0.01;
    const errorOf = (P: keyof typeof exact, n: number): number => {
      const beam = solid({
        mesh: box([1, h], [n, 1], 'quad9'),
        plane: 'stress',
        material: materials.stVenantKirchhoff({E: 12 / h ** 3, nu: 0}),
        density: 1,
        supports: [supports.held('left')],
        loads: [loads.traction('right', [0, P / h])],
      });
      const rest = equilibrium(beam, {q: beam.start.q});
      const down = beam.evaluate(beam.probe([[1, h / 2]]), {q: rest.values('q')})[1];
      rest.dispose();
      return Math.abs(down - exact[P]);
    };
    for (const P of [1, 2, 5, 10] as const) {
      const [coarse, fine] = [errorOf(P, 20), errorOf(P, 40)];
      expect(fine).to.be.below(2e-4);
      expect(Math.log2(coarse / fine)).to.be.above(4);
    }
  });

  it("Cook's membrane, neo-Hookean: the share of the limit that each mesh of deal.II's code gallery reaches", () => {
    const [mu, nu] = [0.4225, 0.3];
    const kappa = (2 * mu * (1 + nu)) / (3 * (1 - 2 * nu));
    const at = (F: tf.Tensor, i: number, j: number): tf.Tensor =>
      tf.reshape(tf.slice(F, [0, i, j], [F.shape[0], 1, 1]), [F.shape[0]]);
    const corner = (cell: 'quad4' | 'quad9', n: number): number => {
      const body = solid({
        mesh: mapped(box([1, 1], [n, n], cell), ([s, t]) => [48 * s, 44 * s + t * (44 - 28 * s)]),
        material: ({F}) => {
          const J = tf.sub(tf.mul(at(F, 0, 0), at(F, 1, 1)), tf.mul(at(F, 0, 1), at(F, 1, 0)));
          const shape = tf.sub(tf.mul(tf.pow(J, -2 / 3), tf.sum(tf.square(F), [1, 2])), 3);
          const volume = tf.sub(tf.sub(tf.square(J), 1), tf.mul(2, tf.log(J)));
          return tf.add(tf.mul(kappa / 4, volume), tf.mul(mu / 2, shape));
        },
        density: 1,
        supports: [supports.held('left')],
        loads: [loads.traction('right', [0, 1 / 16])],
      });
      const rest = equilibrium(body, {q: body.start.q});
      const up = body.evaluate(body.probe([[48, 60]]), {q: rest.values('q')})[1];
      rest.dispose();
      return up;
    };
    const limit = corner('quad9', 16);
    const published = {quad4: [8.72, 12.02, 13.61], quad9: [13.83, 14.22, 14.3]} as const;
    for (const cell of ['quad4', 'quad9'] as const)
      [2, 4, 8].forEach((n, i) =>
        expect(corner(cell, n) / limit, `${cell} ${n}`).to.be.closeTo(published[cell][i] / 14.33, 5e-3),
      );
  });

  it("Lee's frame snaps through at 18.552 EI/L², and a column by solids buckles at π²EI/(4L²)", () => {
    // Lee, Manuel & Rossow, J. Engng Mech. Div. ASCE 94, 1968: L = 120, EI = 1440, an inextensible frame.
    const n = 5;
    const corner = Array.from({length: 5 * n + 1}, (_, i) => [0, (24 / n) * i]);
    const beam = Array.from({length: 5 * n}, (_, i) => [(24 / n) * (i + 1), 120]);
    const frame = rod({
      centreline: [...corner, ...beam],
      EA: 4320,
      EI: 1440,
      density: 1,
      supports: [supports.held('start', ['x', 'y']), supports.held('end', ['x', 'y'])],
      loads: [loads.pointLoad([6 * n], ({t}) => tf.mul(t, [0, -1]))],
    });
    const options = {step: 0.2, points: 80, until: ({load, unstable}: {load: number; unstable?: number}) =>
      unstable === 0 && load < 0}; // prettier-ignore
    const {critical} = equilibrium.path(frame, {q: frame.start.q}, options);
    expect(critical.map(({kind}) => kind)).to.deep.equal(['limit', 'limit']);
    expect(critical[0].load).to.be.closeTo(1.8552, 0.003);

    // Shear and compression lower the load by a share of h².
    const buckling = (h: number): number => {
      const column = solid({
        mesh: box([1, h], [20, 2], 'quad9'),
        plane: 'stress',
        material: materials.stVenantKirchhoff({E: 12 / h ** 3, nu: 0}),
        density: 1,
        supports: [supports.held('left')],
        loads: [loads.traction('right', ({t}) => tf.mul(t, [-1 / h, 0]))],
      });
      return equilibrium.path(column, {q: column.start.q}, {step: 1, to: 4}).critical[0].load;
    };
    const [thick, thin] = [buckling(0.1), buckling(0.05)];
    expect(thin).to.be.closeTo(Math.PI ** 2 / 4, 0.006);
    expect((4 * thin - thick) / 3).to.be.closeTo(Math.PI ** 2 / 4, 5e-4);
  });
});
