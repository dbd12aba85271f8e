/**
 * One part of a multibody system at a time, in one short step and closed form. Motions: joints.slow.spec.ts and its
 * neighbours.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitMidpoint, rk4, simulate} from '../../../lib/index.js';
import {
  axisTorque,
  distanceJoint,
  jointForce,
  joints,
  multibody,
  prismatic,
  rigidContact,
  simulateNear,
  torsionSpring,
  type Multibody,
  type MultibodySpec,
} from '../../../models/index.js';
import {plane, sphere} from '../../../models/multibody/shapes.js';

const h = 2 ** -10;
const z: [number, number, number] = [0, 0, 1];
const wheel = {mass: 1, inertia: [1, 1, 2]} as const;

/** Velocities after one step, six numbers for a body in maximal coordinates: linear, then angular. */
function stepped(spec: MultibodySpec, scheme = implicitMidpoint()): {v: number[]; system: Multibody} {
  const system = multibody(spec);
  const path = simulate(system, system.initial, {scheme, dt: h, steps: 1, engine: 'interpreter'});
  path.dispose();
  const v = path.values('v');
  return {v: [...v.slice(v.length / 2)], system};
}

describe('parts of multibody systems', () => {
  it('torsionSpring and axisTorque turn a body with their torques', () => {
    const forces = [
      torsionSpring('ground', 'a', {axis: z, stiffness: 3, angle: 0.5}),
      axisTorque('ground', 'a', {axis: z, torque: () => tf.scalar(-0.5)}),
    ];
    const {v} = stepped({bodies: {a: {...wheel}}, forces}, rk4());
    // 3·½ − ½ = 1 on a moment of inertia of 2.
    expect(v[5] / h).to.be.closeTo(0.5, 1e-6);
  });

  it('jointForce pushes along its joint', () => {
    const {v} = stepped(
      {
        coordinates: 'minimal',
        bodies: {a: {...wheel, mass: 4}},
        joints: {rail: prismatic('ground', 'a', {axis: [1, 0, 0]})},
        forces: [jointForce('rail', {force: () => tf.scalar(2)})],
      },
      rk4(),
    );
    expect(v[0]).to.be.closeTo(h / 2, 1e-15);
  });

  it('distanceJoint holds what hangs from it', () => {
    const {v} = stepped({
      gravity: [0, 0, -9],
      bodies: {a: {...wheel, position: [0, 0, -1]}},
      joints: {rod: distanceJoint('ground', 'a', {from: [0, 0, 0], to: [0, 0, -1]})},
    });
    v.forEach(x => expect(x).to.be.closeTo(0, 1e-12));
  });

  it('gear shares a torque between two wheels', () => {
    const {v} = stepped({
      bodies: {a: {...wheel}, b: {...wheel, position: [3, 0, 0]}},
      joints: {gear: joints.gear('a', 'b', {axes: [z, z], ratio: -2})},
      forces: [axisTorque('ground', 'a', {axis: z, torque: () => tf.scalar(5)})],
    });
    // 5 on 2 + (−2)²·2 = 10.
    expect(v[5] / h).to.be.closeTo(0.5, 1e-6);
    expect(v[11] / h).to.be.closeTo(-1, 1e-6);
  });

  it('motor turns at its rate', () => {
    const {v} = stepped({
      bodies: {a: {...wheel, angularVelocity: [0, 0, 0.75]}},
      joints: {drive: joints.motor('ground', 'a', {axis: z, angle: ({t}) => tf.mul(0.75, t)})},
    });
    expect(v[5]).to.be.closeTo(0.75, 1e-9);
  });

  it('rolling keeps a ball rolling', () => {
    const {v} = stepped({
      bodies: {
        a: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 0.5], velocity: [2, 0, 0], angularVelocity: [0, 4, 0]},
      },
      joints: {floor: joints.rolling('ground', 'a', {radius: 0.5})},
    });
    [2, 0, 0, 0, 4, 0].forEach((x, i) => expect(v[i]).to.be.closeTo(x, 1e-9));
  });

  it('simulateNear lets fall what is near nothing', () => {
    const run = simulateNear(
      {
        system: {gravity: [0, 0, -8], bodies: {a: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 9]}}},
        reach: {a: 0.5},
        planes: [plane()],
        contact: (a, b, wall) => rigidContact(a, b, {shapes: [wall!, sphere({radius: 0.5})], friction: 0}),
        margin: 0.1,
      },
      {dt: 0.25, steps: 2},
    );
    expect(run.pieces.map(({contacts, steps}) => [contacts, steps])).to.deep.equal([[0, 2]]);
    expect(run.v[run.v.length - 4]).to.be.closeTo(-4, 1e-12);
  });
});
