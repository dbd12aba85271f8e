/**
 * A net under a follower load, a pressure along the normal of each mesh that turns with it: no potential, so Newton's matrix
 * has the pattern of a mesh and no symmetry. Runs and gradients through the supernodal LU against dense LU's, and against
 * finite differences.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {auto, implicitMidpoint, type LinearSolver, lu, mechanics, newton, radauIIA5, simulate, sparseLu, supernodalLu, type MechanicalSystem} from '../../lib/index.js';
import {net} from '../../models/index.js';
import {relative} from '../simulate/numbers.js';

interface Case {
  readonly system: MechanicalSystem;
  readonly q: readonly (readonly number[])[];
}

function inflated(rows: number): Case {
  const held: [number, number][] = [[0, 0], [0, rows - 1]];
  const cloth = net({rows, columns: rows, spacing: 1 / (rows - 1), held, mass: 1 / rows ** 2, g: 9.81, drag: 0.1 / rows ** 2, stiffness: params => params.k as tf.Tensor});
  const knots = Array.from({length: rows * rows}, (_, i) => i).filter(i => !held.some(([r, c]) => r * rows + c === i));
  // A neighbour that is held or missing: the knot itself, and no load there.
  const neighbour = (i: number, r: number, c: number): number => Math.max(knots.indexOf(i % rows + c < rows ? i + r * rows + c : -1), -1);
  const [right, below] = [[0, 1], [1, 0]].map(([r, c]) => knots.map((i, own) => (neighbour(i, r, c) < 0 ? own : neighbour(i, r, c))));
  const pressure = ({q, params}: {q: tf.Tensor; params: Readonly<Record<string, unknown>>}): tf.Tensor => {
    const [a, b] = [right, below].map(indices => tf.unstack(tf.sub(tf.gather(q, indices), q), 1));
    const normal = [0, 1, 2].map(x => tf.sub(tf.mul(a[(x + 1) % 3], b[(x + 2) % 3]), tf.mul(a[(x + 2) % 3], b[(x + 1) % 3])));
    return tf.mul(tf.stack(normal, 1), params.p as tf.Tensor);
  };
  return {system: mechanics({mass: cloth.mass, forces: [...cloth.forces, pressure]}), q: cloth.positions};
}

function run({system, q}: Case, linear: LinearSolver, scheme = implicitMidpoint(), p = 40) {
  const v = q.map(() => [0, 0, 0]);
  const {trajectory, pullback} = simulate.vjp(system, {q, v}, {scheme, dt: 0.02, steps: 3, saveAt: 'end', params: {k: 100, p}, newton: newton({linear})});
  const states = trajectory.values('q');
  const {initial, params} = pullback({q: states.map((x, i) => (i < states.length / 2 ? 0 : 2 * x))});
  trajectory.dispose();
  const end = states.subarray(states.length / 2);
  return {
    end: end.slice(), loss: end.reduce((sum, x) => sum + x * x, 0), linear: trajectory.stats.linear, pressure: (params.p as Float64Array)[0],
    gradient: Float64Array.from([...(initial.q ?? []), ...(initial.v ?? []), ...(params.k as Float64Array), ...(params.p as Float64Array)]),
  };
}

describe('newton: a mesh without symmetry', () => {
  it("auto() takes the supernodal LU; the run and its gradient are dense LU's", () => {
    const mesh = inflated(11);
    const expected = run(mesh, lu());
    const found = run(mesh, auto());
    expect(found.linear).to.equal('supernodal-lu');
    expect(relative(found.end, expected.end)).to.be.below(1e-12);
    expect(relative(found.gradient, expected.gradient)).to.be.below(1e-10);
  });

  it('of a radau scheme, too, by plain loops and by WebAssembly bit for bit', () => {
    const mesh = inflated(4);
    const expected = run(mesh, lu(), radauIIA5());
    const [plain, compiled] = (['plain', 'compiled'] as const).map(arithmetic => run(mesh, supernodalLu({arithmetic}), radauIIA5()));
    expect(plain.linear).to.equal('supernodal-lu');
    expect(relative(plain.gradient, expected.gradient)).to.be.below(1e-10);
    expect(compiled.gradient).to.deep.equal(plain.gradient);
    expect(relative(run(mesh, sparseLu(), radauIIA5()).gradient, expected.gradient)).to.be.below(1e-10);
  });

  it('the gradient is that of finite differences', () => {
    const mesh = inflated(6);
    const step = 1e-3;
    const [above, below] = [step, -step].map(d => run(mesh, supernodalLu(), implicitMidpoint(), 40 + d).loss);
    const {pressure} = run(mesh, supernodalLu());
    // Central differences: an error of the step's square, and rounding of 1e-16 · loss / step.
    expect((above - below) / (2 * step) / pressure).to.be.closeTo(1, 1e-8);
  });
});
