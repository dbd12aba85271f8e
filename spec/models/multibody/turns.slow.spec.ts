/** Torques that depend on an angle, near half a turn and beyond: one motion in both coordinates, or an error. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {gaussLegendre, NewtonError, rk4, simulate} from '../../../lib/index.js';
import {axisTorque, jointForce, multibody, revolute, torsionSpring} from '../../../models/index.js';

type Coordinates = 'maximal' | 'minimal';
const axis: [number, number, number] = [0, 0, 1];
const stiffness = 0.4;

const forces = {
  jointForce: jointForce('hinge', {force: ({position}) => tf.mul(-stiffness, position)}),
  torsionSpring: torsionSpring('ground', 'wheel', {axis, stiffness}),
  axisTorque: axisTorque('ground', 'wheel', {axis, torque: ({angle}) => tf.mul(-stiffness, angle)}),
  periodic: jointForce('hinge', {force: ({position}) => tf.mul(-stiffness, tf.sin(position))}),
};

/** The wheel's rate after a time; it turns with `spin` at the start, and its moment of inertia is one. */
function rate(force: keyof typeof forces, coordinates: Coordinates, spin: number, t1: number, scheme = rk4()): number {
  const model = multibody({
    coordinates,
    bodies: {wheel: {mass: 1, inertia: [1, 1, 1], rotation: [0.6, 0, 0, 0.8], angularVelocity: [0, 0, spin]}},
    joints: {hinge: revolute('ground', 'wheel', {at: [0, 0, 0], axis})},
    forces: [forces[force]],
  });
  const run = simulate(model, model.initial, {scheme, dt: t1 / 150, steps: 150});
  return model.pose(run, 'wheel').angularVelocity.at(-1) as number;
}

const omega = Math.sqrt(stiffness);

describe('torques of an angle', () => {
  for (const force of ['jointForce', 'torsionSpring', 'axisTorque'] as const)
    for (const coordinates of ['maximal', 'minimal'] as const)
      it(`passes half a turn and comes back: ${force}, ${coordinates}`, () => {
        // To 3.4 radians and back: spin cos ωt.
        const sign = coordinates === 'maximal' ? 1 : -1;
        const [spin, t1] = [3.4 * omega * sign, 4];
        const found = rate(
          force,
          coordinates,
          spin,
          t1,
          coordinates === 'maximal' ? gaussLegendre({stages: 2}) : rk4(),
        );
        expect(found).to.be.closeTo(spin * Math.cos(omega * t1), 1e-6);
      });

  for (const [force, coordinates] of [
    ['jointForce', 'maximal'],
    ['torsionSpring', 'maximal'],
    ['torsionSpring', 'minimal'],
    ['axisTorque', 'minimal'],
  ] as const)
    it(`says that turns are not counted: ${force}, ${coordinates}`, () => {
      const scheme = coordinates === 'maximal' ? gaussLegendre({stages: 2}) : rk4();
      expect(() => rate(force, coordinates, 5, 1.5, scheme)).to.throw(NewtonError, 'beyond half a turn');
    });

  it('counts turns of a jointForce in minimal coordinates', () => {
    expect(rate('jointForce', 'minimal', 5, 1.5)).to.be.closeTo(5 * Math.cos(omega * 1.5), 1e-7);
  });

  it('lets torques of a sine turn on', () => {
    const [maximal, minimal] = [
      rate('periodic', 'maximal', 5, 3, gaussLegendre({stages: 2})),
      rate('periodic', 'minimal', 5, 3, gaussLegendre({stages: 2})),
    ];
    expect(maximal).to.be.closeTo(minimal, 1e-6);
  });
});
