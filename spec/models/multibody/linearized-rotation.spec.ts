/** Bodies that go around, linearized: in coordinates in which the motion is steady the eigenvalues are those of closed forms, and elsewhere a warning says that it is not. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {linearize, ode} from '../../../lib/index.js';
import {joints, multibody, prismatic, revolute, spherical, springDamper} from '../../../models/index.js';
import {slow} from '../../tiers.js';

describe('motion linearized about steady rotation', () => {
  const [W, k] = [3, 50];
  const slide = (coordinates: 'minimal' | 'maximal') =>
    multibody({
      coordinates,
      bodies: {
        shaft: {mass: 1, inertia: [0.1, 0.1, 0.1], angularVelocity: [0, 0, W]},
        ball: {
          ...{mass: 1, inertia: [0.1, 0.1, 0.1], position: [0.5, 0, 0]},
          ...{velocity: [0, 0.5 * W, 0], angularVelocity: [0, 0, W]},
        },
      },
      joints: {
        bearing: revolute('ground', 'shaft', {at: [0, 0, 0], axis: [0, 0, 1]}),
        slide: prismatic('shaft', 'ball', {axis: [1, 0, 0]}),
        motor: joints.motor('ground', 'shaft', {axis: [0, 0, 1], angle: ({t}) => tf.mul(W, t)}),
      },
      forces: [
        springDamper('shaft', 'ball', {
          ...{from: [0, 0, 0], to: [0.5, 0, 0]},
          ...{stiffness: k, length: 0.5 - (0.5 * W * W) / k},
        }),
      ],
    });

  // A pendulum at 0.6 rad that goes around: Ω² = g/(l cos θ), and small deviations with Ω √(1 + 3 cos² θ).
  const [angle, turn] = [0.6, Math.sqrt(9.81 / Math.cos(0.6))];
  const conical = (coordinates: 'minimal' | 'maximal') =>
    multibody({
      ...{gravity: [0, 0, -9.81], coordinates},
      bodies: {
        bob: {
          ...{mass: 1, inertia: [1e-6, 1e-6, 1e-6], position: [Math.sin(angle), 0, -Math.cos(angle)]},
          ...{velocity: [0, Math.sin(angle) * turn, 0], angularVelocity: [0, 0, turn]},
        },
      },
      joints: {hinge: spherical('ground', 'bob', {at: [0, 0, 0]})},
    });

  slow('a ball on a slide that turns: √(k/m − Ω²)', () => {
    const minimal = slide('minimal');
    const {eigenvalues, warnings} = linearize(minimal, minimal.initial);
    expect(eigenvalues[0].imaginary).to.be.closeTo(Math.sqrt(k - W * W), 1e-12);
    expect(warnings).to.deep.equal([]);
    const maximal = slide('maximal');
    expect(linearize(maximal, maximal.initial).warnings.join()).to.match(/not steady at this state: v' is up to 4.5\./);
  });

  slow('a conical pendulum', () => {
    const minimal = conical('minimal');
    const {eigenvalues, warnings} = linearize(minimal, minimal.initial);
    const frequencies = eigenvalues.map(({imaginary}) => imaginary);
    // The bob's own inertia counts with 1e-6.
    const nutation = turn * Math.sqrt(1 + 3 * Math.cos(angle) ** 2);
    expect(Math.min(...frequencies.map(x => Math.abs(x - nutation)))).to.be.below(1e-5);
    expect(warnings).to.deep.equal([]);
    const maximal = conical('maximal');
    expect(linearize(maximal, maximal.initial).warnings.join()).to.match(/not steady/);
  });

  it('y′ = f away from rest', () => {
    const swing = ode(({y}) => tf.stack([tf.gather(y, 1), tf.neg(tf.sin(tf.gather(y, 0)))]));
    expect(linearize(swing, {y: [0, 0]}).warnings).to.deep.equal([]);
    expect(linearize(swing, {y: [1, 0]}).warnings.join()).to.match(/y'' is up to/);
    // A coordinate that grows steadily is no part of A.
    const turning = ode(({y}) => tf.stack([tf.scalar(2), tf.mul(-3, tf.gather(y, 1))]));
    expect(linearize(turning, {y: [7, 0]}).warnings).to.deep.equal([]);
  });
});
