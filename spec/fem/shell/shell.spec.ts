/** Shells: patch tests, rigid rotations, rotations as supports, and bad input. */
import {expect} from 'chai';
import {box, loads, mapped, shell, supports, type Mesh} from '../../../fem/index.js';
import {boundary} from '../../../fem/mesh/topology.js';
import {nodesOf} from '../../../fem/body/places.js';
import {OptionError, traced} from '../../../lib/index.js';
import {distorted} from '../solid/distorted.js';
import {displacementOf, hemisphere} from './problems.js';

/** A rotation of space by 0.7 about x and then by 0.7 about z. */
const [c, s] = [Math.cos(0.7), Math.sin(0.7)];
const turned = ([x, y, z]: readonly number[]): number[] => {
  const [v, w] = [c * y - s * z, s * y + c * z];
  return [c * x - s * v, s * x + c * v, w];
};
const material = {thickness: 0.1, E: 10, nu: 0.3, density: 1};
const flat = (mesh: Mesh): Mesh => mapped(mesh, ([x, y]) => [x, y, 0]);

/** States of uniform strain: displacements, changes of the director, and twice the energy by area. */
const planeStress = (xx: number, yy: number, xy: number): number =>
  (10 / 0.91) * ((xx + yy) ** 2 - 1.4 * (xx * yy - xy ** 2));
const patches = {
  membrane: {
    state: (x: number, y: number) => [0.2 * x + 0.3 * y, 0.1 * x - 0.4 * y, 0, 0, 0, 0],
    energy: 0.1 * planeStress(0.2, -0.4, 0.2),
  },
  bending: {
    state: (x: number, y: number) => [
      ...[0, 0, -(0.15 * x * x + 0.1 * y * y + 0.4 * x * y)],
      ...[0.3 * x + 0.4 * y, 0.2 * y + 0.4 * x, 0],
    ],
    energy: (0.1 ** 3 / 12) * planeStress(0.3, 0.2, 0.4),
  },
  // Directors lag behind the slope by (0.4, 0.2). Couples by area keep this state in balance.
  shear: {
    state: (x: number, y: number) => [0, 0, 0.3 * x - 0.2 * y, 0.1, 0.4, 0],
    energy: (5 / 6) * 0.1 * (10 / 2.6) * (0.4 ** 2 + 0.2 ** 2),
  },
};

describe('a shell', function () {
  this.timeout(60_000);
  for (const cell of ['quad4', 'tri3'] as const)
    for (const [name, {state, energy}] of Object.entries(patches))
      it(`of distorted ${cell} cells has uniform ${name}, with its energy`, () => {
        const plane = distorted(cell);
        const body = shell({...material, mesh: mapped(flat(plane), turned)});
        const nodes = plane.points.length / 2;
        const q = Array.from({length: nodes}, (_, i) => {
          const values = state(plane.points[2 * i], plane.points[2 * i + 1]);
          return [...turned(values.slice(0, 3)), ...turned(values.slice(3))];
        }).flat();
        const force = body.evaluate(
          ({q: along, t, params}) =>
            traced.derivativeAlong(
              at => body.forces[0]({q: at.q, v: at.q, t, params}),
              {q: traced.constantTensor(new Float64Array(q.length), [q.length])},
              {q: along},
            ),
          {q},
        );
        const work = force.reduce((sum, f, i) => sum - f * q[i], 0);
        expect(work / energy).to.be.closeTo(1, 1e-12);
        const rim = new Set(nodesOf(boundary(plane)));
        force.forEach((f, i) => {
          if (rim.has(Math.floor(i / 6)) || (name === 'shear' && i % 6 >= 3)) return;
          expect(Math.abs(f)).to.be.below(1e-14);
        });
      });

  it('has no energy and no forces after a large rigid rotation', () => {
    const {mesh} = hemisphere(4, 'quad4').body;
    const body = shell({...material, mesh});
    const directors = body.evaluate(at => body.directors(at), {q: body.start.q});
    const q = Array.from({length: mesh.points.length / 3}, (_, node) =>
      [mesh.points, directors].flatMap(all => {
        const row = Array.from(all.subarray(3 * node, 3 * node + 3));
        return turned(row).map((x, k) => x - row[k]);
      }),
    ).flat();
    expect(body.evaluate(at => body.energy(at), {q})[0]).to.be.within(0, 1e-25);
    const force = body.evaluate(({q: at, t, params}) => body.forces[0]({q: at, v: at, t, params}), {q});
    expect(Math.max(...force.map(Math.abs))).to.be.below(1e-12);
  });

  it('bends by F L³/(3 E I), and tells which rigid motions are free', () => {
    const strip = flat(box([10, 1], [12, 1]));
    const made = (axes?: ('x' | 'y' | 'z' | 'rx' | 'ry' | 'rz')[]): ReturnType<typeof shell> =>
      shell({
        ...material,
        nu: 0,
        mesh: strip,
        supports: [supports.held('left', axes)],
        loads: [loads.traction('right', [0, 0, 1e-7])],
      });
    const tip = displacementOf({body: made(), place: [10, 0.5, 0], component: 2, scale: 1e-8});
    // The shear adds F L/(κ G A), and the chords of 12 cells take 1/(4 · 12²) off the bending.
    const exact = (1000 / (30 * (0.001 / 12))) * (1 - 1 / (4 * 144)) + 10 / ((5 / 6) * 5 * 0.1);
    expect(tip / exact).to.be.closeTo(1, 1e-6);
    expect(made(['x', 'y', 'z']).freeMotions).to.deep.equal(['rotation about y']);
    expect(made(['x', 'y', 'z', 'ry']).freeMotions).to.deep.equal([]);
    expect(made(['x', 'ry', 'rz']).freeMotions).to.deep.equal([
      'translation along y',
      'translation along z',
      'rotation about x',
    ]);
  });

  it('refuses folds, cells in opposite senses, planar meshes, and rotations that no component holds', () => {
    const folded = mapped(box([2, 1], [2, 1]), ([x, y]) => [Math.min(x, 1), y, Math.max(x - 1, 0)]);
    expect(() => shell({...material, mesh: folded})).to.throw(OptionError, /45° away.*folds/);
    const quad = flat(box([2, 1], [2, 1]));
    const flipped = {...quad, cells: {quad4: Int32Array.of(0, 1, 4, 3, 1, 4, 5, 2)}};
    expect(() => shell({...material, mesh: flipped})).to.throw(OptionError, /opposite senses/);
    expect(() => shell({...material, mesh: box([2, 1], [2, 1])})).to.throw(OptionError, /three coordinates/);
    expect(() => shell({...material, mesh: flat(box([1, 1], [1, 1], 'quad9'))})).to.throw(OptionError, /quad9 cells/);
    const oblique = mapped(quad, turned);
    expect(() => shell({...material, mesh: oblique, supports: [supports.held('left', ['rx'])]})).to.throw(
      OptionError,
      /rotations about x alone cannot be held/,
    );
  });
});
