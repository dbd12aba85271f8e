/** Lagrange's equations by differentiation: against equations by hand, closed forms, and gradients by differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {bilateral, gaussLegendre, NewtonError, OptionError, ShapeError, simulate} from '../../lib/index.js';
import {damper, doublePendulum, lagrangian, mlp, neuralMass, type Lagrangian} from '../../models/index.js';
import {difference, largest} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const part = (x: tf.Tensor, i: number): tf.Tensor => tf.reshape(tf.slice(x, [i], [1]), []);
const half = (x: tf.Tensor): tf.Tensor => tf.mul(0.5, tf.sum(tf.square(x)));

/** Two bobs of mass 1 on rods of length 1; angles from the downward vertical. */
const twoBobs: Lagrangian<{g: tf.Tensor}> = ({q, v, params: {g}}) => {
  const [a, b, va, vb] = [part(q, 0), part(q, 1), part(v, 0), part(v, 1)];
  const kinetic = tf.addN([tf.square(va), tf.mul(0.5, tf.square(vb)), tf.mul(tf.mul(va, vb), tf.cos(tf.sub(a, b)))]);
  const height = tf.add(tf.mul(2, tf.sub(1, tf.cos(a))), tf.sub(1, tf.cos(b)));
  return tf.sub(kinetic, tf.mul(g, height));
};

const exact = gaussLegendre({stages: 3});
const swing = {q: [2, 2.5], v: [0.3, -1]};

describe('lagrangian', () => {
  slow('moves a double pendulum as the equations by hand do', () => {
    const options = {scheme: exact, dt: 0.01, steps: 100, params: {g: 9.81}};
    const byHand = doublePendulum({lengths: [1, 1], g: ({g}) => g as tf.Tensor});
    const system = lagrangian(twoBobs);
    const made = simulate(system, swing, {...options, observe: system.energy});
    expect(largest(difference(made.values('q'), simulate(byHand, swing, options).values('q')))).to.be.below(1e-12);
    const energy = made.values('observed');
    expect(Math.max(...energy) - Math.min(...energy)).to.be.below(1e-8);
  });

  slow('has the gradients of its parameters', () => {
    const end = (g: number): number =>
      simulate(lagrangian(twoBobs), swing, {scheme: exact, dt: 0.02, steps: 20, params: {g}, saveAt: 'end'}).values(
        'q',
      )[2];
    const {pullback} = simulate.vjp(lagrangian(twoBobs), swing, {
      scheme: exact,
      dt: 0.02,
      steps: 20,
      params: {g: 9.81},
      saveAt: 'end',
    });
    const [slope] = pullback({q: [0, 0, 1, 0]}).params.g as Float64Array;
    expect(slope).to.be.closeTo((end(9.81 + 1e-4) - end(9.81 - 1e-4)) / 2e-4, 1e-8);
  });

  it('turns a charge in a magnetic field at qB/m: terms linear in the velocity', () => {
    const charge = lagrangian(({q, v}) => {
      const swept = tf.sub(tf.mul(part(q, 0), part(v, 1)), tf.mul(part(q, 1), part(v, 0)));
      return tf.add(half(v), tf.mul(1.5, swept));
    });
    const v = simulate(charge, {q: [1, 0], v: [0, 1]}, {scheme: exact, dt: 0.01, steps: 200, saveAt: 'end'}).values(
      'v',
    );
    expect(v[2]).to.be.closeTo(Math.sin(6), 1e-12);
    expect(v[3]).to.be.closeTo(Math.cos(6), 1e-12);
  });

  it('has fictitious forces of a frame that speeds up: terms that depend on time and velocity', () => {
    // Seen from a floor at s(t) = t³: T = ½(v + 3t²)², so v′ = −6t.
    const floor = lagrangian(({v, t}) => half(tf.add(v, tf.mul(3, tf.square(t)))));
    const run = simulate(floor, {q: [0], v: [2]}, {scheme: exact, dt: 0.1, steps: 10, saveAt: 'end'});
    expect(run.values('v')[1]).to.be.closeTo(2 - 3, 1e-13);
    expect(run.values('q')[1]).to.be.closeTo(2 - 1, 1e-13);
  });

  it('takes forces and constraints beside, and coordinates of any shape', () => {
    const spread =
      (): Lagrangian =>
      ({q, v}) =>
        tf.sub(half(v), tf.mul(2, half(q)));
    const damped = lagrangian(spread(), {forces: damper({coefficient: 0.2})});
    const run = simulate(damped, {q: [[1, 0]], v: [[0, 1]]}, {scheme: exact, dt: 0.01, steps: 100, saveAt: 'end'});
    const w = Math.sqrt(2 - 0.01);
    const x = Math.exp(-0.1) * (Math.cos(w) + (0.1 / w) * Math.sin(w));
    const y = (Math.exp(-0.1) * Math.sin(w)) / w;
    expect(largest(difference(run.values('q').slice(2), Float64Array.of(x, y)))).to.be.below(1e-12);
    const bound = lagrangian(spread(), {constraints: [bilateral(({q}) => tf.sub(part(q, 0), part(q, 1)))]});
    const both = simulate(bound, {q: [1, 1], v: [0, 0]}, {dt: 0.01, steps: 10, saveAt: 'end'}).values('q');
    expect(both[2]).to.be.closeTo(both[3], 1e-12);
    const one = simulate(lagrangian(spread()), {q: 1, v: 0}, {scheme: exact, dt: 0.1, steps: 10, saveAt: 'end'});
    expect(one.values('q')[1]).to.be.closeTo(Math.cos(Math.SQRT2), 1e-9);
  });

  it('does not go on where L is of higher degree in v, and says what is wrong with others', () => {
    const relativistic = lagrangian(({v}) => tf.neg(tf.sqrt(tf.sub(1, tf.sum(tf.square(v))))));
    expect(() => simulate(relativistic, {q: [0], v: [0.5]}, {dt: 0.1, steps: 3})).to.throw(NewtonError, /NaN/);
    expect(() =>
      simulate(
        lagrangian(({v}) => v),
        {q: [0, 1], v: [1, 1]},
        {dt: 0.1, steps: 1},
      ),
    ).to.throw(ShapeError, /L must be one number, but has shape \[2\]/);
    expect(() => lagrangian(3 as never)).to.throw(OptionError);
    expect(() => lagrangian(twoBobs, {force: []} as never)).to.throw(OptionError, /force/);
  });

  it('leaves no tensors', () => {
    const before = tf.memory().numTensors;
    simulate(lagrangian(twoBobs), swing, {dt: 0.01, steps: 2, params: {g: 9.81}}).dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });
});

describe('neuralMass', () => {
  it('is LLᵀ of the lower triangle that the network gives', () => {
    const system = lagrangian(({q, v, params}) => {
      const M = neuralMass(() => tf.tensor2d([[2, 3, 1]]), {minEigenvalue: 0.5})({q, params});
      return tf.mul(0.5, tf.dot(v, tf.reshape(tf.matMul(M, tf.reshape(v, [2, 1])), [2])));
    });
    // L = [2 0; 3 1], LLᵀ + ½ = [4.5 6; 6 10.5]: a constant mass, of which the energy at v = (1, −1) is ½(4.5 − 12 +
    // 10.5).
    const run = simulate(system, {q: [0, 0], v: [1, -1]}, {dt: 0.1, steps: 1, observe: system.energy});
    expect(run.values('observed')[0]).to.be.closeTo(1.5, 1e-14);
    expect([...run.values('v').slice(2)]).to.deep.equal([1, -1]);
  });

  slow('keeps the energy of a Lagrangian network, whatever its weights', () => {
    const inertia = neuralMass(mlp({sizes: [2, 8, 3], activation: 'tanh', seed: 1}), {minEigenvalue: 0.3});
    const potential = mlp({sizes: [2, 8, 1], activation: 'tanh', seed: 2});
    const system = lagrangian(({q, v, params}) => {
      const column = tf.reshape(v, [2, 1]);
      const kinetic = tf.mul(0.5, tf.sum(tf.mul(column, tf.matMul(inertia({q, params}), column))));
      return tf.sub(kinetic, tf.sum(potential.apply(tf.reshape(q, [1, 2]))));
    });
    const run = simulate(
      system,
      {q: [0.3, -0.2], v: [1, 0.5]},
      {scheme: exact, dt: 0.05, steps: 60, observe: system.energy},
    );
    const energy = run.values('observed');
    expect(Math.max(...energy) - Math.min(...energy)).to.be.below(1e-8);
    expect(Math.max(...run.values('q')) - Math.min(...run.values('q'))).to.be.above(0.5);
  });

  it('refuses a network of another size', () => {
    const wrong = neuralMass(mlp({sizes: [2, 4, 4], seed: 1}));
    expect(() => wrong({q: tf.zeros([2]), params: {}})).to.throw(ShapeError, /3 numbers, the lower triangle/);
    expect(() => neuralMass(mlp({sizes: [1, 1], seed: 1}), {minEigenvalue: 0})).to.throw(OptionError, /minEigenvalue/);
  });
});
