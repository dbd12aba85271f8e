/** Published problems: Cook's membrane, NAFEMS LE1, and Turek and Hron's elastic flag. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, loads, mapped, materials, solid, supports, type CellType, type Mesh} from '../../../fem/index.js';
import {equilibrium, full, newton} from '../../../lib/index.js';

const cook = (divisions: number, cell: CellType): Mesh =>
  mapped(box([1, 1], [divisions, divisions], cell), ([s, t]) => [48 * s, 44 * s + t * (44 - 28 * s)]);

/** The vertical displacement in the middle of the loaded edge, or of its upper corner. */
function tip(body: ReturnType<typeof solid>, place = [48, 52]): number {
  const {q} = equilibrium(body, {q: body.start.q});
  const probe = body.probe([place]);
  const value = body.evaluate(probe, {q})[1];
  q.dispose();
  return value;
}

describe('published problems of plane elasticity', function () {
  this.timeout(60_000);

  it("Cook's membrane, linear, in plane strain", () => {
    // solids4foam/solid-benchmarks: Code_Aster 32.20, CalculiX 32.27, Elmer 32.28 at the upper corner.
    const value = tip(
      solid({
        mesh: cook(16, 'quad9'),
        material: materials.linearElastic({E: 70, nu: 1 / 3}),
        density: 1,
        supports: [supports.held('left')],
        loads: [loads.traction('right', [0, 6.25])],
      }),
      [48, 60],
    );
    expect(value).to.be.within(32.1, 32.35);
  });

  it('NAFEMS LE1: an elliptic membrane under pressure, 92.7 MPa', () => {
    const mesh = mapped(box([1, 1], [16, 24], 'quad8'), ([s, t]) => {
      const angle = (t * Math.PI) / 2;
      return [(2 + 1.25 * s) * Math.cos(angle), (1 + 1.75 * s) * Math.sin(angle)];
    });
    const body = solid({
      mesh,
      material: materials.linearElastic({E: 210e3, nu: 0.3}),
      density: 1,
      plane: 'stress',
      thickness: 0.1,
      supports: [supports.held('bottom', ['y']), supports.held('top', ['x'])],
      loads: [loads.pressure('right', -10)],
    });
    const {q} = equilibrium(body, {q: body.start.q});
    const stress = body.evaluate(at => body.stress('cauchy', at), {q});
    const D = Array.from({length: mesh.points.length / 2}, (_, i) => i).find(
      i => Math.abs(mesh.points[2 * i] - 2) < 1e-9 && Math.abs(mesh.points[2 * i + 1]) < 1e-9,
    )!;
    expect(stress[9 * D + 4]).to.be.closeTo(92.7, 0.7);
    q.dispose();
  });

  it('CSM1 of Turek and Hron: an elastic flag under its weight', () => {
    const mesh = mapped(box([1, 0.02], [40, 4], 'quad9'), ([s, y]) => {
      const root = 0.2 + Math.sqrt(0.05 ** 2 - (y - 0.01) ** 2);
      return [root + s * (0.6 - root), 0.19 + y];
    });
    const body = solid({
      mesh,
      material: materials.stVenantKirchhoff({E: 1.4e6, nu: 0.4}),
      density: 1000,
      supports: [supports.held('left')],
      loads: [loads.gravity([0, -2])],
    });
    const {q} = equilibrium(body, {q: body.start.q}, {newton: newton({step: full(), maxIterations: 30})});
    const [x, y] = body.evaluate(body.probe([[0.6, 0.2]]), {q});
    expect(1e3 * x).to.be.closeTo(-7.187, 0.04);
    expect(1e3 * y).to.be.closeTo(-66.1, 0.2);
    q.dispose();
  });

  it("nearly incompressible: F-bar and 'mixed' do not lock", () => {
    const at = (divisions: number, formulation: 'displacement' | 'F-bar' | 'mixed'): number => {
      const body = solid({
        mesh: cook(divisions, 'quad4'),
        material: materials.neoHookean({E: 240.565, nu: 0.4999}),
        density: 1,
        formulation,
        supports: [supports.held('left')],
        loads: [loads.traction('right', ({t}) => tf.mul(t, [0, 2]))],
      });
      let q = body.start.q;
      for (const t of [0.2, 0.4, 0.6, 0.8, 1])
        q = equilibrium(body, {q, t}, {newton: newton({step: full(), maxIterations: 30})}).values('q');
      return body.evaluate(body.probe([[48, 60]]), {q})[1];
    };
    const [coarse, middle, fine] = [4, 8, 16].map(divisions => at(divisions, 'F-bar'));
    expect(fine).to.be.within(2.4, 2.46);
    expect((fine - middle) / (middle - coarse)).to.be.within(0.2, 0.4);
    expect(at(8, 'mixed')).to.be.closeTo(middle, 0.02 * middle);
    expect(at(8, 'displacement')).to.be.below(0.4 * fine);
  });
});
