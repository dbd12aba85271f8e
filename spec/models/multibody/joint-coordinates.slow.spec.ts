/** Forces, rotors and stops on the coordinates of joints, in maximal and in minimal coordinates. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitEuler, newmark, OptionError, simulate} from '../../../lib/index.js';
import {
  jointForce,
  joints,
  multibody,
  prismatic,
  revolute,
  type Multibody,
  type MultibodySpec,
} from '../../../models/index.js';
import type {SavedMotion} from '../../../models/multibody/multibody.js';
import {largest, stream} from '../../simulate/numbers.js';

const g = 9.81;
const still = {dt: 1, steps: 0} as const;
const both = ['maximal', 'minimal'] as const;
const y: [number, number, number] = [0, 1, 0];

/** A cart on a rail with an arm on it; a spring and a damper on each coordinate, energy with them. */
const cart = (spec: Partial<MultibodySpec> = {}, turned = false): Multibody =>
  multibody({
    gravity: [0.3, 0, -g],
    bodies: {
      cart: {mass: 2, inertia: [0.1, 0.2, 0.3], position: [0.2, 0, 0], rotation: [0.9, 0.1, 0.2, 0.1]},
      arm: {
        mass: 1,
        inertia: [0.1, 0.1, 0.01],
        position: [0.3, 0, -0.5],
        velocity: [0.8, 0, 0],
        angularVelocity: [0, -1.6, 0],
      },
    },
    joints: {
      rail: turned
        ? prismatic('cart', 'ground', {axis: [-1, 0, 0.2]})
        : prismatic('ground', 'cart', {axis: [1, 0, -0.2]}),
      hinge: turned
        ? revolute('arm', 'cart', {at: [0.3, 0, 0], axis: [0, -1, 0]})
        : revolute('cart', 'arm', {at: [0.3, 0, 0], axis: y}),
    },
    forces: [
      jointForce('rail', {
        force: ({position, rate}) => tf.sub(tf.mul(-30, position), tf.mul(0.5, rate)),
        energy: ({position}) => tf.mul(15, tf.square(position)),
      }),
      jointForce('hinge', {force: ({position, t}) => tf.sub(tf.sin(t), tf.mul(4, position))}),
    ],
    ...spec,
  });

describe('coordinates of joints', () => {
  it('are observed alike in both, from a to b: those of the tree, and one that closes a loop', () => {
    const at = (coordinates: 'maximal' | 'minimal', turned: boolean): number[] => {
      const bars = multibody({
        coordinates,
        bodies: {
          crank: {
            mass: 1,
            inertia: [1, 1, 1],
            position: [0, 0, 0.5],
            velocity: [0.5, 0, 0],
            angularVelocity: [0, 1, 0],
          },
          rod: {mass: 1, inertia: [1, 1, 1], position: [1, 0, 1], velocity: [1, 0, 0]},
          rocker: {
            mass: 1,
            inertia: [1, 1, 1],
            position: [2, 0, 0.5],
            velocity: [0.5, 0, 0],
            angularVelocity: [0, 1, 0],
          },
        },
        joints: {
          main: revolute('ground', 'crank', {at: [0, 0, 0], axis: y}),
          pin: turned
            ? revolute('rod', 'crank', {at: [0, 0, 1], axis: y})
            : revolute('crank', 'rod', {at: [0, 0, 1], axis: y}),
          knee: revolute('rod', 'rocker', {at: [2, 0, 1], axis: y}),
          foot: revolute('ground', 'rocker', {at: [2, 0, 0], axis: y}),
        },
      });
      const [main, pin, foot] = ['main', 'pin', 'foot'].map(name => bars.coordinate(name));
      const path = simulate(bars, bars.initial, {
        dt: 0.01,
        t1: 1,
        saveAt: 'end',
        observe: place =>
          tf.stack([main.position, pin.position, foot.position, main.rate, pin.rate, foot.rate].map(of => of(place))),
      });
      return [...path.values('observed').slice(6)];
    };
    for (const coordinates of both) {
      for (const turned of [false, true]) {
        // A parallelogram: the rod only shifts, and nothing acts on it, so it turns evenly by 1 rad/s.
        const sign = turned ? 1 : -1;
        at(coordinates, turned).forEach((value, i) =>
          expect(value, `${coordinates} ${i}`).to.be.closeTo([1, sign, 1][i % 3], 1e-5),
        );
      }
    }
    const {coordinate} = cart();
    expect(() => coordinate('hing')).to.throw(OptionError, "coordinate names joint 'hing', but there are rail, hinge");
  });

  it('forces act alike in both, whichever body is given first: reactions hold all accelerations', () => {
    const found = [false, true].map(turned => {
      const minimal = cart({coordinates: 'minimal'}, turned);
      const sign = turned ? -1 : 1;
      const seen = simulate(
        minimal,
        {q: [0.4, 0.7].map(x => sign * x), v: [1, -2].map(x => sign * x)},
        {...still, observe: minimal.energy},
      );
      const maximal = cart({}, turned);
      const poses = ['cart', 'arm'].map(body => minimal.pose(seen, body));
      const start = {
        q: poses.map(({position, rotation}) => [...position, ...rotation]),
        v: poses.map(({velocity, angularVelocity}) => [...velocity, ...angularVelocity]),
      };
      const path = simulate(maximal, start, {...still, observe: maximal.energy});
      seen.dispose();
      path.dispose();
      const of = (system: Multibody, run: SavedMotion): number[] =>
        ['rail', 'hinge'].flatMap(joint => Array.from(system.reaction(run, joint).force, x => sign * x));
      expect(path.values('observed')[0]).to.be.closeTo(seen.values('observed')[0], 1e-12);
      return [of(minimal, seen), of(maximal, path)];
    });
    const [expected, ...others] = found.flat();
    expect(largest(expected)).to.be.above(5);
    for (const other of others) expect(largest(other.map((x, i) => x - expected[i]))).to.be.below(1e-8);
  });

  it('a rotor adds its inertia and its energy; the joint bears no torque about its axis', () => {
    const [mass, length, moment, rotor] = [2, 0.5, 0.3, 0.7];
    const system = multibody({
      gravity: [0, 0, -g],
      coordinates: 'minimal',
      bodies: {arm: {mass, inertia: [moment, moment, moment], position: [length, 0, 0], angularVelocity: [0, 2, 0], velocity: [0, 0, -2 * length]}},
      joints: {hinge: revolute('ground', 'arm', {at: [0, 0, 0], axis: y, armature: rotor})},
      forces: [jointForce('hinge', {force: () => tf.scalar(3)})],
    }); // prettier-ignore
    const run = simulate(system, system.initial, {scheme: newmark(), dt: 1e-3, steps: 0, observe: system.energy});
    run.dispose();
    const whole = moment + mass * length ** 2 + rotor;
    expect(run.values('a')[0]).to.be.closeTo((mass * g * length + 3) / whole, 1e-12);
    expect(run.values('observed')[0]).to.be.closeTo(0.5 * whole * 4, 1e-12);
    expect(largest(Array.from(system.reaction(run, 'hinge').torque))).to.be.below(1e-12);
  });

  it('the force of an axis is found again in a compound of the same steps', () => {
    const next = stream(4);
    const axes = [y, [1, 0, 0.2], [0, 0.3, 1]] as [number, number, number][];
    const at: [number, number, number] = [0, 0, 0.2];
    const body = {mass: 1, inertia: [0.1, 0.2, 0.3], position: [0.3, 0.1, 0] as [number, number, number]};
    // A compound of a slide and two turns about different points, and links all but massless in its place.
    const light = {mass: 1e-9, inertia: [1e-9, 1e-9, 1e-9]};
    const force = (joint: string, step: number) =>
      jointForce(joint, {step, force: ({position, rate}) => tf.sub(tf.mul(-3 - step, position), tf.mul(0.1, rate))});
    const one = multibody({
      coordinates: 'minimal',
      bodies: {body},
      joints: {all: joints.compound('ground', 'body', {steps: [{slide: axes[0]}, {turn: axes[1], at}, {turn: axes[2], at: [0, 0, 0.5], armature: 0.2}]})},
      forces: [0, 1, 2].map(step => force('all', step)),
    }); // prettier-ignore
    const several = multibody({
      coordinates: 'minimal',
      bodies: {first: light, second: light, body},
      joints: {
        a: prismatic('ground', 'first', {axis: axes[0]}),
        b: revolute('first', 'second', {at, axis: axes[1]}),
        c: revolute('second', 'body', {at: [0, 0, 0.5], axis: axes[2], armature: 0.2}),
      },
      forces: ['a', 'b', 'c'].map((joint, step) =>
        jointForce(joint, {force: ({position, rate}) => tf.sub(tf.mul(-3 - step, position), tf.mul(0.1, rate))}),
      ),
    });
    const state = {q: [0, 0, 0].map(() => next()), v: [0, 0, 0].map(() => next())};
    const [found, expected] = [one, several].map(system => {
      const run = simulate(system, state, {scheme: newmark(), dt: 1e-3, steps: 0});
      run.dispose();
      return Array.from(run.values('a'));
    });
    expect(largest(found)).to.be.above(1);
    expect(largest(found.map((x, i) => x - expected[i]))).to.be.below(1e-6);
  });

  it('a compound bears no torque about a turn that is free, whatever its slides take, in any order', () => {
    const slide = (axis: [number, number, number]) => ({slide: axis});
    const turn = {turn: y, at: [0, 0, 0] as [number, number, number]};
    const [up, along] = [slide([0, 0, 1]), slide([1, 0, 0])];
    for (const steps of [
      [up, along, turn],
      [along, up, turn],
      [turn, along, up],
    ]) {
      // The force holds the weight, or, where the turn comes first, a part of it.
      const held = multibody({
        gravity: [0, 0, -g],
        coordinates: 'minimal',
        bodies: {b: {mass: 2, inertia: [0.3, 0.2, 0.1], position: [0, 0, 0], velocity: [0.5, 0, 0], angularVelocity: [0, 0.8, 0]}}, // prettier-ignore
        joints: {c: joints.compound('ground', 'b', {steps})},
        forces: [jointForce('c', {step: steps.indexOf(up), force: () => tf.scalar(2 * g)})],
      });
      const path = simulate(held, held.initial, {dt: 0.01, t1: 1, saveAt: 'end'});
      path.dispose();
      const {force, torque} = held.reaction(path, 'c');
      expect(Math.abs(torque[torque.length - 2]), 'about the turn').to.be.below(1e-9);
      if (steps[0] !== turn) expect(largest(force.slice(-3))).to.be.below(1e-9);
    }
  });

  for (const coordinates of both)
    it(`${coordinates}: an arm falls on its stop and rests there, which bears what statics say`, () => {
      const system = multibody({
        gravity: [0, 0, -g],
        coordinates,
        bodies: {arm: {mass: 2, inertia: [0.1, 0.1, 0.1], position: [0.5, 0, 0]}},
        joints: {hinge: revolute('ground', 'arm', {at: [0, 0, 0], axis: y, limits: [-1, 0.3]})},
      });
      const run = simulate(system, system.initial, {scheme: implicitEuler(), dt: 0.005, t1: 1});
      run.dispose();
      const lambda = run.values('lambda');
      expect(lambda[lambda.length - 1]).to.be.closeTo(2 * g * 0.5 * Math.cos(0.3), 1e-6);
      const last = system.pose(run, 'arm').position.slice(-3);
      expect(last[0]).to.be.closeTo(0.5 * Math.cos(0.3), 1e-9);
      expect(last[2]).to.be.closeTo(-0.5 * Math.sin(0.3), 1e-9);
      const {force, torque} = system.reaction(run, 'hinge');
      expect(largest([...force.slice(-3)].map((x, i) => x - [0, 0, 2 * g][i]))).to.be.below(1e-6);
      // The stop's torque is not the joint's: about the axis there is none.
      expect(Math.abs(torque[torque.length - 2])).to.be.below(1e-6);
    });

  for (const coordinates of both)
    it(`${coordinates}: a slide is stopped where its range ends`, () => {
      const system = multibody({
        coordinates,
        bodies: {block: {mass: 2, inertia: [1, 1, 1], velocity: [3, 0, 0]}},
        joints: {rail: prismatic('ground', 'block', {axis: [1, 0, 0], limits: [-Infinity, 0.1]})},
      });
      const run = simulate(system, system.initial, {scheme: implicitEuler(), dt: 0.01, t1: 0.1});
      run.dispose();
      expect(Math.abs(system.pose(run, 'block').velocity.slice(-3)[0])).to.be.below(1e-12);
      expect(system.pose(run, 'block').position.slice(-3)[0]).to.be.closeTo(0.1, 1e-9);
    });

  it('what has no place is refused with what to change', () => {
    const bodies = {arm: {mass: 1, inertia: [1, 1, 1]}};
    const joint = (spec: object) => ({hinge: revolute('ground', 'arm', {at: [0, 0, 0], axis: y, ...spec})});
    expect(() => multibody({bodies, joints: joint({armature: 1})})).to.throw(/armature.*minimal/);
    expect(() => multibody({bodies, joints: joint({limits: [-4, 1]})})).to.throw(/half a turn.*minimal/);
    for (const coordinates of ['maximal', 'minimal'] as const) {
      const outside = multibody({bodies, joints: joint({limits: [-1, -0.1]}), coordinates});
      expect(() => simulate(outside, outside.initial, {dt: 0.01, steps: 1})).to.throw(
        /the gap of lambda\[\d\] \(greatest limit of joint \w+\) is -1\.000e-1/,
      );
    }
    expect(() => joint({limits: [2, 1]})).to.throw(/least, greatest/);
    const force = (name: string, step = 0) => jointForce(name, {step, force: () => tf.scalar(1)});
    expect(() => multibody({bodies, joints: joint({}), forces: [force('elbow')]})).to.throw(/'elbow'.*hinge/);
    expect(() => multibody({bodies, joints: joint({}), forces: [force('hinge', 1)]})).to.throw(/coordinate 1/);
    const steps = [
      {turn: y, at: [0, 0, 0]},
      {turn: [1, 0, 0], at: [0, 0, 1]},
    ] as never;
    expect(() => multibody({bodies, joints: {two: joints.compound('ground', 'arm', {steps})}})).to.throw(
      /several points.*minimal/,
    );
    expect(() => joints.compound('ground', 'arm', {steps: []})).to.throw(/one to six/);
  });
});
