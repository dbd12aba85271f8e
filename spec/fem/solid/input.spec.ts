/** Bad input of bodies: errors that name the cell, the node or the set; loads, reactions and masses by their sums. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, loads, materials, solid, supports, type Mesh, type SolidSpec} from '../../../fem/index.js';
import {equilibrium, OptionError, ShapeError, SingularMatrixError} from '../../../lib/index.js';
import {massAction} from '../../../lib/internal.js';

const mesh = box([2, 1], [2, 1]);
const steel = materials.linearElastic({E: 100, nu: 0.3});
const made =
  (spec: Partial<SolidSpec>): (() => unknown) =>
  () =>
    solid({mesh, material: steel, density: 1, ...spec});
const sum = (values: ArrayLike<number>, axis: number, d: number): number =>
  Array.from(values).reduce((total, x, i) => total + (i % d === axis ? x : 0), 0);

describe('a body', function () {
  this.timeout(10_000);

  it('refuses what is wrong, and says where', () => {
    expect(made({supports: [supports.held('lefft')]})).to.throw(OptionError, /no set 'lefft'.*Did you mean 'left'/);
    expect(made({loads: [loads.traction('top side', [1, 0])]})).to.throw(OptionError, /traction: the mesh has no set/);
    expect(made({supports: [supports.held([0, 77])]})).to.throw(OptionError, /no node 77; nodes are 0 to 5/);
    const twice = [supports.held('left'), supports.prescribed([0], () => tf.tensor1d([0, 1]), ['y'])];
    expect(made({supports: twice})).to.throw(OptionError, /node 0 at \(0, 0\) is held and prescribed along y/);
    const locked = materials.neoHookean({E: 1, nu: 0.5});
    expect(made({material: locked})).to.throw(OptionError, /neoHookean: nu must be above −1 and below 1\/2/);
    expect(made({material: materials.linearElastic({E: [1, 2, 3] as never, nu: 0})})).to.throw(
      OptionError,
      /3 numbers/,
    );
    expect(() => materials.linearElastic({E: 1, mu: 2} as never)).to.throw(OptionError, /\{E, nu\}/);
    const triangles = box([1, 1], [1, 1], 'tri3');
    expect(made({mesh: triangles, formulation: 'F-bar'})).to.throw(
      OptionError,
      /quad4 and hex8 cells; the mesh has tri3/,
    );
    const rubber = materials.mooneyRivlin({c10: 1, c01: 0.1, kappa: 10});
    expect(made({material: rubber, plane: 'stress'})).to.throw(OptionError, /plane stress is not available/);
    const inverted: Mesh = {...mesh, points: mesh.points.map((x, i) => (i === 2 ? -1 : x))};
    expect(made({mesh: inverted})).to.throw(OptionError, /cell 0 \(quad4\) is inverted/);
    expect(() => solid({mesh, material: steel, density: 1}).probe([[3, 0]])).to.throw(OptionError, /outside/);
  });

  it('names free rigid motions, and warns of locking', () => {
    expect(solid({mesh, material: steel, density: 1}).freeMotions).to.have.length(3);
    expect(solid({mesh, material: steel, density: 1, supports: [supports.held([0])]}).freeMotions).to.deep.equal([
      'rotation about z',
    ]);
    const cube = {mesh: box([1, 1, 1], [1, 1, 1]), density: 1, supports: [supports.held('bottom', ['z'])]};
    expect(solid({...cube, material: steel}).freeMotions).to.deep.equal([
      'translation along x',
      'translation along y',
      'rotation about z',
    ]);
    const pulled = [loads.traction('right', [1, 0])];
    const sliding = solid({mesh, material: steel, density: 1, supports: [supports.held('left', ['x'])], loads: pulled});
    expect(() => equilibrium(sliding, {q: sliding.start.q})).to.throw(
      SingularMatrixError,
      /No support prevents translation along y of the body: hold it/,
    );
    expect(solid({...cube, material: materials.neoHookean({E: 1, nu: 0.495})}).warnings[0]).to.match(/lock/);
  });

  it('has reactions that balance its loads, of every kind', () => {
    const body = solid({
      mesh,
      material: materials.mooneyRivlin({c10: 20, c01: 5, kappa: 100}),
      density: 3,
      supports: [supports.held('left')],
      loads: [
        loads.traction('right', [0.1, 0]),
        loads.gravity([0, -0.01]),
        loads.bodyForce(({X}) => tf.mul(X, 0.01)),
        loads.pointLoad([0], [0, 0.02]),
        loads.pressure('right', 0.05),
      ],
    });
    const q = equilibrium(body, {q: body.start.q}).values('q');
    const reaction = body.evaluate(at => body.reaction(at), {q});
    const u = body.evaluate(body.probe([[2, 0.5]]), {q});
    // The pressure follows the end, which shrinks a little and turns a little: its force is known to a hundredth.
    expect(sum(reaction, 0, 2)).to.be.closeTo(-0.1 - 0.01 * 2 + 0.05, 1e-3);
    expect(sum(reaction, 1, 2)).to.be.closeTo(0.06 - 0.02 - 0.01, 1e-3);
    expect(u).to.have.length(2);
    expect(body.evaluate(at => body.energy(at), {q})[0]).to.be.above(0);
    const stress = body.evaluate(at => body.stress('vonMises', at, 'cells'), {q});
    expect(Math.min(...stress)).to.be.above(0);
    expect(body.evaluate(at => body.strain(at, 'cells'), {q})).to.have.length(18);
  });

  it('stores the energy of a stretch, and none at rest', () => {
    const stretched = {supports: [supports.held(() => true, ['y'])]};
    const q = Float64Array.from([0, 1, 2, 0, 1, 2], x => 0.1 * x);
    const hooke = solid({mesh, density: 1, ...stretched, material: materials.stVenantKirchhoff({mu: 3, lambda: 4})});
    const E = (1.1 ** 2 - 1) / 2;
    expect(hooke.evaluate(at => hooke.energy(at), {q})[0]).to.be.closeTo(2 * (2 + 3) * E ** 2, 1e-12);
    const neural = materials.neuralMaterial({energy: ({I1, J}) => tf.add(tf.square(I1), tf.exp(J))});
    const body = solid({mesh, density: 1, ...stretched, material: neural});
    // N = I₁² + e^J has the slope 2 · 2 I₁ + e^J = 12 + e by J without deformation.
    const N = (1.1 ** 2 + 2) ** 2 + Math.exp(1.1) - 9 - Math.E - (12 + Math.E) * 0.1;
    expect(body.evaluate(at => body.energy(at), {q})[0]).to.be.closeTo(2 * N, 1e-12);
    for (const s of body.evaluate(at => body.stress('cauchy', at), {q: body.start.q}))
      expect(s).to.be.closeTo(0, 1e-12);
  });

  it('has a mass, lumped or consistent, of its density times its volume', () => {
    for (const cell of ['tri6', 'quad4', 'quad9'] as const) {
      const spec = {mesh: box([2, 1], [2, 2], cell), material: steel, density: 3, thickness: 0.5};
      const lumped = solid(spec).mass as Float64Array;
      expect(sum(lumped, 0, 2)).to.be.closeTo(3, 1e-12);
      expect(Math.min(...lumped)).to.be.above(0);
      const consistent = solid({...spec, mass: 'consistent'});
      const total = consistent.evaluate(
        ({q}) => massAction(consistent.mass, {q, params: {}}).times(tf.onesLike(q)),
        consistent.start,
      );
      expect(sum(total, 0, 2)).to.be.closeTo(3, 1e-12);
    }
  });

  it('at rest at an instant is pulled by the velocity and acceleration of its supports', () => {
    // A bar of cells of length h = 1/2, E = 100, ρ = 3, with u = t²/10 at its left end: u̇ = ü = 1/5 at t = 1.
    const tip = (more: Partial<SolidSpec>): number => {
      const body = solid({
        mesh: box([1, 1], [2, 1]),
        material: materials.linearElastic({E: 100, nu: 0}),
        density: 3,
        supports: [supports.prescribed('left', ({t}) => tf.mul(tf.square(t), [0.1, 0]))],
        ...more,
      });
      const q = equilibrium(body, {q: body.start.q, t: 1}).values('q');
      return body.evaluate(body.probe([[1, 0.5]]), {q, t: 1})[0];
    };
    // The force on the next nodes is −(ρ h/6)(ü + α u̇) by a consistent mass, (E/h) β u̇ by damping of stiffness.
    expect(tip({})).to.be.closeTo(0.1, 1e-12);
    expect(tip({mass: 'consistent'})).to.be.closeTo(0.1 - 0.05 / 200, 1e-12);
    expect(tip({mass: 'consistent', damping: {mass: 1}})).to.be.closeTo(0.1 - 0.1 / 200, 1e-12);
    expect(tip({damping: {stiffness: 0.1}})).to.be.closeTo(0.12, 1e-12);
  });

  it('on an elastic foundation sinks by load by stiffness', () => {
    const body = solid({
      mesh,
      material: steel,
      density: 2,
      loads: [loads.elasticFoundation('bottom', 40), loads.gravity([0, -10])],
      supports: [supports.held(() => true, ['x'])],
    });
    const q = equilibrium(body, {q: body.start.q}).values('q');
    expect(body.evaluate(body.probe([[1, 0]]), {q})[1]).to.be.closeTo(-0.5, 1e-9);
  });

  it('values of a body follow the variables of its material', () => {
    const weight = tf.variable(tf.scalar(2));
    const body = solid({
      mesh: box([1, 1], [1, 1]),
      material: materials.neuralMaterial({energy: ({J}) => tf.mul(weight, tf.square(tf.sub(J, 1)))}),
      density: 1,
      supports: [supports.held('left')],
    });
    // J = 1.5 everywhere.
    const energy = (): number => body.evaluate(body.energy, {q: [0.5, 0, 0.5, 0]})[0];
    expect(energy()).to.be.closeTo(2 * 0.25, 1e-14);
    weight.assign(tf.scalar(3));
    expect(energy()).to.be.closeTo(3 * 0.25, 1e-14);
    weight.dispose();
  });

  it('numbers of a state have derivatives, also where they are derivatives of the energy', () => {
    const body = solid({
      mesh: box([1, 1], [1, 1]),
      material: materials.linearElastic({E: ({E}) => E as tf.Tensor, nu: 0}),
      density: 1,
      supports: [supports.held('left')],
    });
    // Pulled by u the body has the stress E u, the energy E u²/2, and half of its reaction at each of two nodes.
    const state = {q: [0.5, 0, 0.5, 0], params: {E: 8}};
    const {value, gradient} = body.valueAndGrad(body.energy, state);
    expect(value).to.be.closeTo(1, 1e-14);
    [2, 0, 2, 0].forEach((wanted, i) => expect(gradient.q[i]).to.be.closeTo(wanted, 1e-13));
    expect((gradient.params.E as Float64Array)[0]).to.be.closeTo(0.125, 1e-14);
    const stress = body.valueAndGrad(at => tf.mean(body.stress('vonMises', at)), state);
    expect(stress.value).to.be.closeTo(4, 1e-13);
    expect(stress.gradient.q[0] + stress.gradient.q[2]).to.be.closeTo(8, 1e-13);
    expect((stress.gradient.params.E as Float64Array)[0]).to.be.closeTo(0.5, 1e-13);
    expect(() => body.valueAndGrad(body.displacement, state)).to.throw(
      ShapeError,
      /returned \[4, 2\]; return one number/,
    );
  });
});
