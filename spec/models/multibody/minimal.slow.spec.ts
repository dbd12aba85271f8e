/** The same model in maximal and in minimal coordinates: motion, reactions, loops. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {gaussLegendre, simulate} from '../../../lib/index.js';
import type {BodySpec, Multibody, MultibodySpec} from '../../../models/index.js';
import type {SavedMotion} from '../../../models/multibody/multibody.js';
import {
  customJoint,
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
  universal,
  type Joint,
} from '../../../models/index.js';
import {largest, stream} from '../../simulate/numbers.js';

const body = (position: [number, number, number]): BodySpec => ({
  mass: 1.5,
  inertia: [
    [0.1, 0.01, 0],
    [0.01, 0.2, 0.02],
    [0, 0.02, 0.15],
  ],
  position,
});
const at: [number, number, number] = [1, 0.2, 0];
const axis: [number, number, number] = [0.2, 1, 0.3];

/** A swinging arm that carries a body by the joint. */
const carrying = (joint: Joint): MultibodySpec => ({
  gravity: [0, 0, -9.81],
  bodies: {arm: body([0.5, 0, 0]), load: {...body([1.5, 0.3, 0.1]), rotation: [0.9, 0.1, -0.2, 0.3]}},
  joints: {root: revolute('ground', 'arm', {at: [0, 0, 0], axis: [0, 1, 0]}), joint},
  forces: [
    springDamper('ground', 'load', {from: [1.5, 0.5, 1.5], to: [1.5, 0.3, 0.1], stiffness: 30, damping: 0.3}),
    jointFriction('ground', 'arm', {axis: [0, 1, 0], viscous: 0.2}),
  ],
});

const carriers: {readonly [name: string]: Joint} = {
  revolute: revolute('arm', 'load', {at, axis}),
  'revolute, the other way round': revolute('load', 'arm', {at, axis}),
  spherical: spherical('arm', 'load', {at}),
  prismatic: prismatic('arm', 'load', {at, axis}),
  cylindrical: cylindrical('arm', 'load', {at, axis}),
  'cylindrical, the other way round': cylindrical('load', 'arm', {at, axis}),
  universal: universal('arm', 'load', {at, axes: [axis, [1, 0, 0.3]]}),
  planar: planar('arm', 'load', {at, axis}),
  'planar, the other way round': planar('load', 'arm', {at, axis}),
  screw: screw('arm', 'load', {at, axis, pitch: 0.4}),
  fixed: fixed('arm', 'load', {at}),
  'compound, slides before a turn': joints.compound('arm', 'load', {
    steps: [{slide: [1, 0, 0]}, {slide: [0, 1, 0.2]}, {turn: axis, at}],
  }),
  'compound, a turn before slides': joints.compound('arm', 'load', {steps: [{turn: axis, at}, {slide: [1, 0.2, 0]}]}),
  'compound, three turns about a point': joints.compound('arm', 'load', {
    steps: [
      {turn: axis, at},
      {turn: [1, 0, 0.3], at},
      {turn: [0, 0, 1], at},
    ],
  }),
  'compound, the other way round': joints.compound('load', 'arm', {
    steps: [{slide: [1, 0, 0]}, {turn: axis, at}, {turn: [1, 0, 0.3], at}],
  }),
  'compound, a slide alone': joints.compound('arm', 'load', {steps: [{slide: axis}]}),
};

/** Saved values of one body as a row of q and a row of v. */
const rows = (system: Multibody, path: SavedMotion, name: string): [number[], number[]] => {
  const {position, rotation, velocity, angularVelocity} = system.pose(path, name);
  return [
    [...position, ...rotation],
    [...velocity, ...angularVelocity],
  ];
};
const reactions = (system: Multibody, path: SavedMotion, names: readonly string[]): number[] =>
  names.flatMap(name => {
    const {force, torque} = system.reaction(path, name);
    return [...force, ...torque];
  });
const still = {dt: 1, steps: 0} as const;

describe('minimal coordinates', () => {
  for (const [name, joint] of Object.entries(carriers)) {
    it(`${name}: in motion, every reaction is that of maximal coordinates to 1e-8`, () => {
      // Reactions hold the accelerations of all bodies: where they agree, the equations of motion do.
      const next = stream(3);
      const minimal = multibody({...carrying(joint), coordinates: 'minimal'});
      const [q, v] = [minimal.initial.q as number[], minimal.initial.v as number[]];
      const moved = q.map(x => x + 0.3 * next());
      if (q.length > v.length) {
        const size = Math.hypot(...moved.slice(1));
        for (let i = 1; i < 5; i++) moved[i] /= size;
      }
      const state = {q: moved, v: v.map(() => 2 * next())};
      const seen = simulate(minimal, state, still);
      seen.dispose();
      const bodies = ['arm', 'load'].map(one => rows(minimal, seen, one));
      const maximal = multibody(carrying(joint));
      const path = simulate(maximal, {q: bodies.map(([place]) => place), v: bodies.map(([, speed]) => speed)}, still);
      path.dispose();
      const expected = reactions(maximal, path, ['root', 'joint']);
      const found = reactions(minimal, seen, ['root', 'joint']);
      expect(largest(expected)).to.be.above(1);
      expect(largest(found.map((x, i) => x - expected[i]))).to.be.below(1e-8);
    });
  }

  it('spherical: the motion is that of maximal coordinates to 1e-8', () => {
    const ends = (['maximal', 'minimal'] as const).map(coordinates => {
      const system = multibody({...carrying(carriers.spherical), coordinates});
      const path = simulate(system, system.initial, {
        scheme: gaussLegendre({stages: 2}),
        dt: 0.002,
        t1: 0.04,
        saveAt: 'end',
      });
      path.dispose();
      return rows(system, path, 'load').flat();
    });
    expect(largest(ends[0].map((x, i) => x - ends[1][i]))).to.be.below(1e-8);
  });

  it('free bodies have six coordinates, and start with their velocities', () => {
    const spec: MultibodySpec = {
      bodies: {card: {...body([1, 2, 3]), velocity: [0.5, 0, 1], angularVelocity: [1, 2, 3]}},
    };
    const [one, other] = (['maximal', 'minimal'] as const).map(coordinates => {
      const system = multibody({...spec, coordinates});
      const path = simulate(system, system.initial, {
        scheme: gaussLegendre({stages: 3}),
        dt: 0.01,
        t1: 0.5,
        observe: at => tf.reshape(system.energy(at), [1]),
      });
      path.dispose();
      return [...system.pose(path, 'card').rotation, ...system.pose(path, 'card').position, ...path.values('observed')];
    });
    expect(largest(one.map((x, i) => x - other[i]))).to.be.below(1e-8);
  });

  it('two arms on a floating base: M is that of the kinetic energy, also far from the origin', () => {
    const limb = (x: number, y: number): BodySpec => ({...body([x, y, 0.1]), rotation: [0.9, 0.2, -0.1, 0.1]});
    const spec = (shift: readonly [number, number, number]): MultibodySpec => {
      const moved = ([x, y, z]: readonly number[]): [number, number, number] => [
        x + shift[0],
        y + shift[1],
        z + shift[2],
      ];
      const placed = (one: BodySpec): BodySpec => ({...one, position: moved(one.position as readonly number[])});
      return {
        bodies: {base: placed(body([0, 0, 0])), a: placed(limb(1, 0)), b: placed(limb(2, 0)), c: placed(limb(0, 1)), d: placed(limb(0, 2))}, // prettier-ignore
        joints: {
          one: spherical('base', 'a', {at: moved([0.5, 0, 0])}),
          two: screw('a', 'b', {at: moved([1.5, 0, 0]), axis, pitch: 0.4}),
          three: universal('base', 'c', {at: moved([0, 0.5, 0]), axes: [axis, [1, -0.2, 0]]}),
          four: cylindrical('c', 'd', {at: moved([0, 1.5, 0]), axis}),
        },
        coordinates: 'minimal',
      };
    };
    const energies = (
      [
        [0, 0, 0],
        [3e5, -2e5, 1e5],
      ] as const
    ).map(shift => {
      const system = multibody(spec(shift));
      const next = stream(4);
      const q = (system.initial.q as number[]).map((x, i) => (i < 3 || i > 10 ? x + 0.3 * next() : x));
      const v = (system.initial.v as number[]).map(() => next());
      const mass = system.mass as (at: {q: tf.Tensor; params: object}) => tf.Tensor;
      const path = simulate(
        system,
        {q, v},
        {
          dt: 1,
          steps: 0,
          observe: at => {
            const {q, v, params} = at;
            const row = tf.reshape(v, [1, v.size]);
            const kinetic = tf.mul(0.5, tf.matMul(tf.matMul(row, mass({q, params}) as tf.Tensor2D), row, false, true));
            return tf.stack([tf.reshape(kinetic, []), tf.reshape(system.energy(at), [])]);
          },
        },
      );
      path.dispose();
      return [...path.values('observed')];
    });
    const [[one, energy], [far, farEnergy]] = energies;
    expect(energy).to.be.above(1);
    expect(one / energy - 1).to.be.within(-1e-13, 1e-13);
    // Positions of 3e5 are rounded to 6e-11.
    expect(far / farEnergy - 1).to.be.within(-1e-9, 1e-9);
    expect(far / one - 1).to.be.within(-1e-9, 1e-9);
  });

  it('a loop closed by a rod: it bears the same, and so do the joints of the tree', () => {
    const rod = (x: number, z: number): BodySpec => ({mass: 1, inertia: [0.02, 0.1, 0.1], position: [x, 0, z]});
    const y: [number, number, number] = [0, 1, 0];
    const spec: MultibodySpec = {
      gravity: [0, 0, -9.81],
      bodies: {left: rod(0.25, 0.5), right: rod(1.25, 0.5)},
      joints: {
        a: revolute('ground', 'left', {at: [0, 0, 0], axis: y}),
        b: revolute('ground', 'right', {at: [1, 0, 0], axis: y}),
        rod: distanceJoint('left', 'right', {from: [0.5, 0, 1], to: [1.5, 0, 1]}),
      },
    };
    const [one, other] = (['maximal', 'minimal'] as const).map(coordinates => {
      const system = multibody({...spec, coordinates});
      const path = simulate(system, system.initial, still);
      path.dispose();
      return reactions(system, path, ['rod', 'a', 'b']);
    });
    expect(largest(one)).to.be.above(1);
    expect(largest(one.map((x, i) => x - other[i]))).to.be.below(1e-8);
  });

  it('reactions take params as simulate does: a mass that hangs, and a loop whose height is one', () => {
    const all = {of: {load: 2.1}, level: 0.7};
    const load: BodySpec = {mass: ({of}) => (of as {load: tf.Tensor}).load, inertia: [1, 1, 1], position: [0, 0, 0.7]};
    const held = (joints: MultibodySpec['joints'], coordinates: 'maximal' | 'minimal' = 'minimal'): Multibody =>
      multibody({coordinates, gravity: [0, 0, -9.81], bodies: {load}, joints});
    const pin = revolute('ground', 'load', {at: [0, 0, 1], axis: [0, 1, 0]});
    // Beside its centre a shelf bears the load: the slide bears the moment, 1 times the weight.
    const shelf = customJoint('ground', 'load', {
      points: [[1, 0, 0.7]],
      rows: ['height'],
      gap: ({points, params: {level}}) => tf.sub(tf.slice(points, [0, 2], [1, 1]), level as tf.Tensor),
    });
    const borne = held({slide: prismatic('ground', 'load', {axis: [0, 0, 1]}), shelf});
    const weight = 2.1 * 9.81;
    for (const [system, joint, expected] of [
      [held({pin}), 'pin', [0, 0, weight, 0, 0, 0]],
      [held({pin}, 'maximal'), 'pin', [0, 0, weight, 0, 0, 0]],
      [borne, 'shelf', [0, 0, weight, 0, 0, 0]],
      [borne, 'slide', [0, 0, 0, 0, weight, 0]],
    ] as const) {
      const params = system === borne ? all : {of: all.of};
      const path = simulate(system, system.initial, {...still, params});
      path.dispose();
      const {force, torque} = system.reaction(path, joint, params);
      // 2.1 is no number of single precision.
      [...force, ...torque].forEach((x, i) => expect(x, `${joint} ${i}`).to.be.closeTo(expected[i], 1e-12 * weight));
    }
  });
});
