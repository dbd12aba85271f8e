/** Joints: motions in closed form, drift, and reactions against statics and dynamics by hand. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Observe, Scheme} from '../../../lib/index.js';
import {generalizedAlpha, InconsistentStateError, OptionError, simulate} from '../../../lib/index.js';
import type {Joint, Multibody, BodySpec, BodyForce} from '../../../models/index.js';
import {
  axisTorque,
  cylindrical,
  distanceJoint,
  fixed,
  jointFriction,
  joints,
  multibody,
  planar,
  prismatic,
  revolute,
  screw,
  spherical,
  springDamper,
  torsionSpring,
  universal,
} from '../../../models/index.js';
import {largest} from '../../simulate/numbers.js';

const g = 9.81;
const box: BodySpec = {mass: 2, inertia: [0.2, 0.3, 0.4]};

const one = (body: BodySpec, joint: Joint, forces: readonly BodyForce[] = []): Multibody =>
  multibody({gravity: [0, 0, -g], bodies: {body}, joints: {joint}, forces});

function run(
  system: Multibody,
  options: {scheme?: Scheme; dt?: number; t1?: number; observe?: Observe; consistent?: 'project'} = {},
) {
  const path = simulate(system, system.initial, {dt: 0.01, t1: 0.5, ...options});
  path.dispose();
  return path;
}

const last = (series: Float64Array, width: number): number[] => Array.from(series.slice(-width));
const close = (found: ArrayLike<number>, expected: readonly number[], tolerance: number): Chai.Assertion =>
  expect(largest(expected.map((x, i) => x - found[i])), `${Array.from(found).join(' ')}`).to.be.below(tolerance);

describe('joints', () => {
  it('revolute: a rod let go from the horizontal presses its pivot with a quarter of its weight', () => {
    const [mass, length] = [3, 2];
    const rod = {
      mass,
      inertia: [1e-3, (mass * length ** 2) / 12, (mass * length ** 2) / 12],
      position: [1, 0, 0],
    } as const;
    const system = one(
      {...rod, inertia: [...rod.inertia]},
      revolute('ground', 'body', {at: [0, 0, 0], axis: [0, 1, 0]}),
    );
    const path = run(system, {observe: system.energy});
    const {force, torque} = system.reaction(path, 'joint');
    close(force.slice(0, 3), [0, 0, (mass * g) / 4], 1e-9);
    close(torque.slice(0, 3), [0, 0, 0], 1e-9);
    // θ'' = (3/2)(g/l) cos θ: at an angle θ the speed is θ'² = 3 (g/l) sin θ, along the rod the pull is (5/2) m g sin θ.
    const {position, angularVelocity} = system.pose(path, 'body');
    const [x, , z] = last(position, 3);
    expect(Math.hypot(x, z)).to.be.closeTo(1, 1e-9);
    expect(last(angularVelocity, 3)[1] ** 2).to.be.closeTo((3 * g * -z) / length, 2e-3);
    expect(largest(path.values('observed'))).to.be.below(1e-3);
  });

  it('prismatic: on an incline a = g sin θ, and the rail bears m g cos θ', () => {
    const tilt = 0.4;
    const axis: [number, number, number] = [Math.cos(tilt), 0, -Math.sin(tilt)];
    const aside: [number, number, number] = [0, 0.5, 0];
    const load: BodyForce = ({q}) =>
      tf.add(tf.zerosLike(tf.slice(q, [0, 0], [1, 6])), tf.tensor2d([[0, 0, -4, 4 * -aside[1], 0, 0]]));
    const system = one({...box, position: [0, 0, 1]}, prismatic('ground', 'body', {axis}), [load]);
    const path = run(system, {scheme: generalizedAlpha()});
    const weight = 2 * g + 4;
    const travelled = (0.5 * weight * Math.sin(tilt) * 0.25) / 2;
    close(last(system.pose(path, 'body').position, 3), [travelled * axis[0], 0, 1 + travelled * axis[2]], 1e-9);
    const {force, torque} = system.reaction(path, 'joint');
    const normal = weight * Math.cos(tilt);
    close(last(force, 3), [normal * Math.sin(tilt), 0, normal * Math.cos(tilt)], 1e-8);
    close(last(torque, 3), [4 * aside[1], 0, 0], 1e-8);
  });

  it('fixed: a cantilever bears weight and moment, with the other sign where b is the ground', () => {
    const at: [number, number, number] = [0, 0, 0];
    const held = one({...box, position: [1.5, 0, 0]}, fixed('ground', 'body', {at}));
    const path = run(held, {t1: 0.1});
    close(last(held.reaction(path, 'joint').force, 3), [0, 0, 2 * g], 1e-8);
    close(last(held.reaction(path, 'joint').torque, 3), [0, -3 * g, 0], 1e-8);
    const holding = one({...box, position: [1.5, 0, 0]}, fixed('body', 'ground', {at}));
    const turned = run(holding, {t1: 0.1});
    close(last(holding.reaction(turned, 'joint').force, 3), [0, 0, -2 * g], 1e-8);
    close(last(holding.reaction(turned, 'joint').torque, 3), [0, 3 * g, 0], 1e-8);
  });

  it("universal: the speed ratio of Hooke's joint, both shafts in bearings, three redundant rows", () => {
    const [speed, bend] = [3, 0.5];
    const [c, s] = [Math.cos(bend), Math.sin(bend)];
    const along: [number, number, number] = [c, s, 0];
    const system = multibody({
      bodies: {
        input: {mass: 1, inertia: [0.1, 0.2, 0.2], position: [-1, 0, 0], angularVelocity: [speed, 0, 0]},
        output: {
          mass: 1,
          inertia: [0.1, 0.2, 0.2],
          position: along,
          rotation: [Math.cos(bend / 2), 0, 0, Math.sin(bend / 2)],
          angularVelocity: [speed * c, 0, 0],
        },
      },
      joints: {
        first: revolute('ground', 'input', {at: [-1, 0, 0], axis: [1, 0, 0]}),
        second: revolute('ground', 'output', {at: along, axis: along}),
        cross: universal('input', 'output', {
          at: [0, 0, 0],
          axes: [
            [0, 0, 1],
            [-s, c, 0],
          ],
        }),
        drive: joints.motor('ground', 'input', {axis: [1, 0, 0], angle: ({t}) => tf.mul(speed, t)}),
      },
    });
    const path = run(system, {t1: 2, dt: 0.005, scheme: generalizedAlpha()});
    const rates = system.pose(path, 'output').angularVelocity;
    const ratio = (t: number): number => (speed * c) / (Math.cos(speed * t) ** 2 + (c * Math.sin(speed * t)) ** 2);
    const errors = Array.from(path.values('t'), (t, k) => rates[3 * k] - ratio(t));
    expect(largest(errors)).to.be.below(1e-4);
    expect(largest(rates.map((w, i) => (i % 3 === 0 ? 0 : w)))).to.be.below(1e-8);
  });

  it('screw: falls with g/(1 + J (2π/p)²/m), many turns without a jump', () => {
    const pitch = 0.05;
    const system = one(box, screw('ground', 'body', {at: [0, 0, 0], axis: [0, 0, 1], pitch}));
    const path = run(system, {dt: 0.02, t1: 6});
    const fall = g / (1 + (0.4 * ((2 * Math.PI) / pitch) ** 2) / 2);
    const {position, angularVelocity} = system.pose(path, 'body');
    expect(last(position, 3)[2]).to.be.closeTo(-0.5 * fall * 36, 1e-6);
    expect(last(angularVelocity, 3)[2]).to.be.closeTo(((-2 * Math.PI) / pitch) * fall * 6, 1e-6);
    expect(0.5 * fall * 36).to.be.above(pitch);
  });

  it('gear: α = τ/(J₁ + ratio² J₂), and its reaction is the torque at the second wheel', () => {
    const ratio = -2;
    const wheel = (x: number): BodySpec => ({mass: 1, inertia: [0.1, 0.1, 0.2], position: [x, 0, 0]});
    const system = multibody({
      bodies: {small: wheel(0), large: wheel(1)},
      joints: {
        one: revolute('ground', 'small', {at: [0, 0, 0], axis: [0, 0, 1]}),
        two: revolute('ground', 'large', {at: [1, 0, 0], axis: [0, 0, 1]}),
        mesh: joints.gear('small', 'large', {
          axes: [
            [0, 0, 1],
            [0, 0, 1],
          ],
          ratio,
        }),
      },
      forces: [axisTorque('ground', 'small', {axis: [0, 0, 1], torque: () => tf.scalar(3)})],
    });
    const path = run(system);
    const alpha = 3 / (0.2 + ratio ** 2 * 0.2);
    expect(last(system.pose(path, 'small').angularVelocity, 3)[2]).to.be.closeTo(alpha * 0.5, 1e-10);
    expect(last(system.pose(path, 'large').angularVelocity, 3)[2]).to.be.closeTo(ratio * alpha * 0.5, 1e-10);
    close(last(system.reaction(path, 'mesh').torque, 3), [0, 0, 0.2 * ratio * alpha], 1e-9);
  });

  it('rolling: a ball on an incline has 5/7 g sin θ; a wheel stands upright and rolls', () => {
    const [tilt, radius, mass] = [0.3, 0.1, 2];
    const normal: [number, number, number] = [Math.sin(tilt), 0, Math.cos(tilt)];
    const inertia = 0.4 * mass * radius ** 2;
    const ball = one(
      {mass, inertia: [inertia, inertia, inertia], position: [radius * normal[0], 0, radius * normal[2]]},
      joints.rolling('ground', 'body', {radius, normal}),
    );
    const path = run(ball, {scheme: generalizedAlpha()});
    const way = (0.5 * 5 * g * Math.sin(tilt) * 0.25) / 7;
    const {position} = ball.pose(path, 'body');
    expect(last(position, 3)[0] - position[0]).to.be.closeTo(way * Math.cos(tilt), 1e-9);
    const push = last(ball.reaction(path, 'joint').force, 3);
    const [friction, pressed] = [(2 / 7) * mass * g * Math.sin(tilt), mass * g * Math.cos(tilt)];
    close(
      push,
      [-friction * Math.cos(tilt) + pressed * normal[0], 0, friction * Math.sin(tilt) + pressed * normal[2]],
      1e-8,
    );
  });

  it('distance: the tension of a conical pendulum', () => {
    const [length, angle, mass] = [2, 0.6, 1.5];
    const omega = Math.sqrt(g / (length * Math.cos(angle)));
    const to: [number, number, number] = [length * Math.sin(angle), 0, -length * Math.cos(angle)];
    const system = one(
      {mass, inertia: [1, 1, 1], position: to, velocity: [0, omega * length * Math.sin(angle), 0]},
      distanceJoint('ground', 'body', {from: [0, 0, 0], to}),
    );
    const path = run(system, {scheme: generalizedAlpha()});
    const {force, torque} = system.reaction(path, 'joint');
    expect(Math.hypot(...last(force, 3))).to.be.closeTo((mass * g) / Math.cos(angle), 1e-3);
    expect(last(system.pose(path, 'body').position, 3)[2]).to.be.closeTo(to[2], 1e-4);
    expect(largest(torque)).to.be.below(1e-12);
  });

  it('reactions on the ground are about a point of the ground', () => {
    const to: [number, number, number] = [0.6, 0, -0.8];
    for (const coordinates of ['maximal', 'minimal'] as const) {
      const rod = multibody({
        coordinates,
        gravity: [0, 0, -g],
        bodies: {body: {mass: 2, inertia: [0.1, 0.2, 0.3], position: to}},
        joints: {joint: distanceJoint('body', 'ground', {from: to, to: [0, 0, 0]})},
      });
      const swung = run(rod, {scheme: generalizedAlpha()});
      const pulled = rod.reaction(swung, 'joint');
      expect(largest(pulled.force)).to.be.above(10);
      expect(largest(pulled.torque)).to.be.below(1e-9);
      const slide = multibody({
        coordinates,
        gravity: [0, 0, -g],
        bodies: {body: {...box, velocity: [1, 0, 0]}},
        joints: {joint: prismatic('body', 'ground', {at: [0, 0, 0], axis: [1, 0, 0]})},
      });
      const slid = run(slide, {scheme: generalizedAlpha()});
      const away = last(slide.pose(slid, 'body').position, 3)[0];
      const {force, torque} = slide.reaction(slid, 'joint');
      close(last(force, 3), [0, 0, -2 * g], 1e-8);
      close(last(torque, 3), [0, 2 * g * away, 0], 1e-8);
    }
  });

  it('planar, cylindrical and spherical leave free what they should', () => {
    const moving: BodySpec = {...box, velocity: [1, 2, 0], angularVelocity: [0, 0, 3]};
    const sheet = one(moving, planar('ground', 'body', {at: [0, 0, 0], axis: [0, 0, 1]}));
    const path = run(sheet);
    close(last(sheet.pose(path, 'body').position, 3), [0.5, 1, 0], 1e-12);
    close(last(sheet.pose(path, 'body').angularVelocity, 3), [0, 0, 3], 1e-12);
    close(last(sheet.reaction(path, 'joint').force, 3), [0, 0, 2 * g], 1e-8);
    const sleeve = one(
      {...box, angularVelocity: [0, 0, 3]},
      cylindrical('ground', 'body', {at: [0, 0, 0], axis: [0, 0, 1]}),
    );
    const slid = run(sleeve);
    close(last(sleeve.pose(slid, 'body').position, 3), [0, 0, -g / 8], 1e-12);
    close(last(sleeve.pose(slid, 'body').angularVelocity, 3), [0, 0, 3], 1e-12);
    const ball = one({...box, position: [0, 0, -1]}, spherical('ground', 'body', {at: [0, 0, 0]}));
    close(last(ball.reaction(run(ball), 'joint').force, 3), [0, 0, 2 * g], 1e-8);
  });

  it('motor: to turn as t² it gives 2 J', () => {
    const system = multibody({
      bodies: {wheel: box},
      joints: {
        axle: revolute('ground', 'wheel', {at: [0, 0, 0], axis: [0, 0, 1]}),
        drive: joints.motor('ground', 'wheel', {axis: [0, 0, 1], angle: ({t}) => tf.square(t)}),
      },
    });
    const path = run(system, {t1: 4, dt: 0.02, scheme: generalizedAlpha()});
    close(last(system.reaction(path, 'drive').torque, 3), [0, 0, 0.8], 1e-5);
    expect(last(system.pose(path, 'wheel').angularVelocity, 3)[2]).to.be.closeTo(8, 1e-5);
  });

  it('names what is wrong', () => {
    expect(() => multibody({bodies: {}})).to.throw(OptionError, /bodies is empty/);
    expect(() => multibody({bodies: {ground: box}})).to.throw(OptionError, /'ground' is reserved/);
    expect(() => one({...box, inertia: [1, 1]} as never, fixed('ground', 'body'))).to.throw(OptionError, /2 numbers/);
    expect(() => one({...box, inertia: [1, -1, 1]}, fixed('ground', 'body'))).to.throw(
      OptionError,
      /positive definite/,
    );
    const solid = (inertia: object) => (): Multibody =>
      one({...box, inertia: inertia as never}, fixed('ground', 'body'));
    expect(solid([1, 1, 5])).to.throw(
      OptionError,
      /bodies\.body\.inertia, \[1, 1, 5\].*moments are 1, 1, 5.*other two together/,
    );
    expect(solid([[1, 0.2, 0], [0.1, 1, 0], [0, 0, 1]])).to.throw(OptionError, /0\.2.*not symmetric/); // prettier-ignore
    // Turned by 45°, its moments are 1, 1 and 3.
    expect(solid([[2, 1, 0], [1, 2, 0], [0, 0, 1]])).to.throw(OptionError, /moments are 1, 1, 3/); // prettier-ignore
    expect(solid([1, 1, 2])).not.to.throw();
    expect(() => one({...box, mass: -1}, fixed('ground', 'body'))).to.throw(OptionError, /bodies\.body\.mass.*-1/);
    expect(() => one(box, fixed('ground', 'nobody'))).to.throw(
      OptionError,
      /'nobody', but there are body and 'ground'/,
    );
    expect(() => fixed('body', 'body')).to.throw(OptionError, /two different bodies/);
    expect(() => revolute('ground', 'body', {at: [0, 0, 0], axis: [0, 0, 0]})).to.throw(OptionError, /direction/);
    expect(() => one(box, screw('ground', 'body', {at: [0, 0, 0], axis: [0, 0, 1], pitch: 0}))).to.throw(
      OptionError,
      /pitch/,
    );
    const system = one({...box, velocity: [0, 0, 1]}, fixed('ground', 'body'));
    expect(() => run(system)).to.throw(
      InconsistentStateError,
      "the velocity of lambda[2] (joint 'joint': point, z) is 1.000e+0",
    );
    expect(() => system.reaction(run(system, {consistent: 'project'}), 'hinge')).to.throw(OptionError, /'hinge'/);
    expect(() => multibody({bodies: {body: box}, mas: 1} as never)).to.throw(OptionError, /mas/);
  });
});

describe('rows of joints', () => {
  it('are called by their joints where they are redundant, once each, and not more of them than one reads', () => {
    const warningOf = (joints: {readonly [name: string]: Joint}): string =>
      run(multibody({gravity: [0, 0, -g], bodies: {body: box}, joints})).warnings[0];
    const rod = distanceJoint('ground', 'body', {from: [0, 0, 1], to: [0, 0, 0]});
    expect(warningOf({rod, cable: rod})).to.match(
      /^Redundant constraints: lambda\[0\] \(joint 'rod': distance\), lambda\[1\] \(joint 'cable': distance\) depend/,
    );
    const hinge = revolute('ground', 'body', {at: [0, 0, 0], axis: [0, 0, 1]});
    const many = warningOf({hinge, weld: fixed('ground', 'body')});
    expect(many.match(/\(joint '(hinge|weld)': (point, [xyz]|angle between axes)\)/g)).to.have.length(8);
    expect(many).to.contain(' and 2 more depend on other rows');
  });
});

describe('forces between bodies', () => {
  it('springDamper: two bodies on a spring go by their reduced mass', () => {
    const [k, c] = [50, 0.4];
    const reduced = (1 * 3) / (1 + 3);
    const system = multibody({
      bodies: {
        a: {mass: 1, inertia: [1, 1, 1]},
        b: {mass: 3, inertia: [1, 1, 1], position: [1, 2, 2]},
      },
      forces: [springDamper('a', 'b', {from: [0, 0, 0], to: [1, 2, 2], stiffness: k, damping: c, length: 2})],
    });
    const path = run(system, {dt: 0.002, observe: system.momentum});
    const [decay, base] = [c / (2 * reduced), k / reduced];
    const omega = Math.sqrt(base - decay ** 2);
    const stretch = (t: number): number =>
      Math.exp(-decay * t) * (Math.cos(omega * t) + (decay / omega) * Math.sin(omega * t));
    const [a, b] = ['a', 'b'].map(name => last(system.pose(path, name).position, 3));
    expect(Math.hypot(...a.map((x, i) => x - b[i]))).to.be.closeTo(2 + stretch(0.5), 1e-4);
    expect(largest(path.values('observed'))).to.be.below(1e-12);
  });

  it('torsionSpring: swings with √(k/J), keeps its energy, and rests at its angle', () => {
    const k = 3;
    const system = multibody({
      bodies: {wheel: {...box, angularVelocity: [0, 0, 0.5]}},
      joints: {axle: revolute('ground', 'wheel', {at: [0, 0, 0], axis: [0, 0, 1]})},
      forces: [torsionSpring('ground', 'wheel', {axis: [0, 0, 1], stiffness: k})],
    });
    const path = run(system, {dt: 0.002, observe: system.energy});
    expect(last(system.pose(path, 'wheel').angularVelocity, 3)[2]).to.be.closeTo(
      0.5 * Math.cos(Math.sqrt(k / 0.4) * 0.5),
      1e-5,
    );
    expect(largest(path.values('observed').map(e => e - 0.5 * 0.4 * 0.25))).to.be.below(1e-6);
  });

  it('jointFriction: viscous friction stops exponentially, dry friction linearly', () => {
    const spun = (friction: {viscous?: number; coulomb?: number}): number => {
      const system = multibody({
        bodies: {wheel: {...box, angularVelocity: [0, 0, 2]}},
        joints: {axle: revolute('ground', 'wheel', {at: [0, 0, 0], axis: [0, 0, 1]})},
        forces: [jointFriction('ground', 'wheel', {axis: [0, 0, 1], ...friction})],
      });
      return last(system.pose(run(system, {dt: 0.005}), 'wheel').angularVelocity, 3)[2];
    };
    expect(spun({viscous: 0.3})).to.be.closeTo(2 * Math.exp((-0.3 / 0.4) * 0.5), 1e-5);
    expect(spun({coulomb: 0.6})).to.be.closeTo(2 - (0.6 / 0.4) * 0.5, 1e-9);
  });
});
