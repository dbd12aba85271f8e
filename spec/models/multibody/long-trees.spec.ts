/** Trees of more velocities than a mass matrix is made for: the order of elimination, accelerations, reactions, gradients. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {explicitEuler, implicitMidpoint, rk4, simulate, type Scheme} from '../../../lib/index.js';
import type {BodySpec, Joint, MultibodySpec} from '../../../models/index.js';
import {
  cylindrical,
  fixed,
  jointForce,
  joints,
  multibody,
  planar,
  prismatic,
  revolute,
  screw,
  spherical,
  springDamper,
  universal,
} from '../../../models/index.js';
import {eliminationOf} from '../../../models/multibody/tree-elimination.js';
import {dot, largest, moved, slope, stream} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

/** Parents by body, −1 for the ground. */
const shapes: {readonly [name: string]: (i: number, next: () => number) => number} = {
  'a chain': i => i - 1,
  'a star': i => (i === 0 ? -1 : 0),
  'a binary tree': i => (i === 0 ? -1 : (i - 1) >> 1),
  'bodies on the ground': () => -1,
  'a chain with a leg at every body': i => (i < 2 ? i - 1 : i % 2 === 0 ? i - 2 : i - 1),
  'a random tree': (i, next) => (i === 0 ? -1 : Math.floor(((next() + 1) / 2) * i * 0.999)),
};

/** A tree of so many bodies, on joints of these kinds in turn. */
function treeOf(
  count: number,
  parentOf: (i: number, next: () => number) => number,
  kinds: readonly (keyof typeof make)[],
): MultibodySpec {
  const next = stream(5);
  const bodies: {[name: string]: BodySpec} = {};
  const joints: {[name: string]: Joint} = {};
  const forces: ReturnType<typeof jointForce>[] = [];
  for (let i = 0; i < count; i++) {
    bodies[`b${i}`] = {
      mass: 1.5 + next(),
      inertia: [
        [0.1, 0.01, 0],
        [0.01, 0.2, 0.02],
        [0, 0.02, 0.15],
      ],
      position: [i + 0.5, 0.1 * next(), 0.1 * next()],
      rotation: [1, 0.1 * next(), 0.1 * next(), 0.2],
    };
    const parent = parentOf(i, next);
    const kind = kinds[i % kinds.length];
    const axis: [number, number, number] = [0.5 * next(), 1, 0.5 * next()];
    const joint = make[kind](parent < 0 ? 'ground' : `b${parent}`, `b${i}`, [i, 0.1 * next(), 0], axis);
    if (joint !== undefined) joints[`j${i}`] = joint;
    if (kind === 'revolute')
      forces.push(jointForce(`j${i}`, {force: ({position, rate}) => tf.add(tf.mul(-3, position), tf.mul(-0.5, rate))}));
  }
  return {gravity: [0, 0, -9.81], bodies, joints, forces};
}

type V3 = [number, number, number];
const make = {
  revolute: (a: string, b: string, at: V3, axis: V3) => revolute(a, b, {at, axis}),
  spherical: (a: string, b: string, at: V3) => spherical(a, b, {at}),
  prismatic: (a: string, b: string, at: V3, axis: V3) => prismatic(a, b, {at, axis}),
  backwards: (a: string, b: string, at: V3, axis: V3) => revolute(b, a, {at, axis}),
  cylindrical: (a: string, b: string, at: V3, axis: V3) => cylindrical(a, b, {at, axis}),
  universal: (a: string, b: string, at: V3, axis: V3) => universal(a, b, {at, axes: [axis, [axis[1], -axis[0], 0]]}),
  planar: (a: string, b: string, at: V3, axis: V3) => planar(a, b, {at, axis}),
  screw: (a: string, b: string, at: V3, axis: V3) => screw(a, b, {at, axis, pitch: 0.4}),
  fixed: (a: string, b: string, at: V3) => fixed(a, b, {at}),
  compound: (a: string, b: string, at: V3, axis: V3) =>
    joints.compound(a, b, {steps: [{slide: [1, 0, 0]}, {turn: axis, at}, {turn: [1, 0, 0.3], at}]}),
  free: () => undefined,
};
const everyKind = Object.keys(make) as (keyof typeof make)[];

describe('elimination along a tree', () => {
  for (const [name, parentOf] of Object.entries(shapes))
    it(`${name}: every node goes once, and what is left shrinks by a share in each round`, () => {
      const next = stream(2);
      for (const count of [1, 2, 9, 1000]) {
        const joints = Array.from({length: count}, (_, body) => ({body, parent: parentOf(body, next)}));
        const {rounds} = eliminationOf({bodies: count, joints});
        const left = rounds.map(({places}) => places.length);
        expect(left[0]).to.equal(2 * count);
        expect(rounds[rounds.length - 1].nodes).to.have.length(0);
        for (const {places, nodes, leaving} of rounds)
          expect(nodes.length + leaving.flatMap(one => one.nodes).length).to.equal(places.length);
        // Linear work, logarithmic depth: a chain halves, others lose a third of their nodes in two rounds.
        expect(left.reduce((sum, size) => sum + size)).to.be.below(6 * 2 * count);
        expect(rounds.length).to.be.below(4 * Math.log2(2 * count) + 4);
      }
    });
});

describe('minimal coordinates of large trees', () => {
  slow('every kind of joint in one tree: reactions in motion are those of maximal coordinates to 1e-8', () => {
    const next = stream(3);
    const spec = treeOf(22, shapes['a random tree'], everyKind);
    const minimal = multibody({...spec, coordinates: 'minimal'});
    const [q, v] = [minimal.initial.q as number[], minimal.initial.v as number[]];
    expect(v.length).to.be.above(40);
    // Quaternions stay at the start, where a moved tree's are those of its other joints.
    const balls = new Set(q.flatMap((x, i) => (x === 1 ? [i, i + 1, i + 2, i + 3] : [])));
    const state = {q: q.map((x, i) => (balls.has(i) ? x : 0.3 * next())), v: v.map(() => next())};
    const seen = simulate(minimal, state, {dt: 1, steps: 0});
    seen.dispose();
    const poses = Object.keys(spec.bodies).map(body => minimal.pose(seen, body));
    const maximal = multibody(spec);
    const path = simulate(
      maximal,
      {
        q: poses.map(({position, rotation}) => [...position, ...rotation]),
        v: poses.map(({velocity, angularVelocity}) => [...velocity, ...angularVelocity]),
      },
      {dt: 1, steps: 0},
    );
    path.dispose();
    const names = ['j1', 'j12'];
    const [found, expected] = (
      [
        [minimal, seen],
        [maximal, path],
      ] as const
    ).map(([system, trajectory]) =>
      names.flatMap(joint => {
        const {force, torque} = system.reaction(trajectory, joint);
        return [...force, ...torque];
      }),
    );
    expect(largest(expected)).to.be.above(10);
    expect(largest(found.map((x, i) => x - expected[i]))).to.be.below(1e-8 * largest(expected));
  });

  slow('the gradient of a chain of 45 hinges is that of differences', () => {
    const chain = multibody({...treeOf(45, shapes['a chain'], ['revolute']), coordinates: 'minimal'});
    const v = (chain.initial.v as number[]).map((_, i) => 0.5 * Math.sin(i));
    const options = {scheme: explicitEuler(), dt: 0.02, steps: 3, saveAt: 'end'} as const;
    const c = Float64Array.from({length: 90}, (_, i) => (i < 45 ? 0 : Math.cos(i)));
    const direction = v.map((_, i) => Math.sin(3 * i));
    const {trajectory, pullback} = simulate.vjp(chain, {q: chain.initial.q, v}, options);
    const gradient = pullback({q: c}).initial.v as Float64Array;
    trajectory.dispose();
    const along = slope(by => {
      const path = simulate(chain, {q: chain.initial.q, v: moved(v, by, direction)}, options);
      path.dispose();
      return dot(c, path.values('q'));
    }, 1e-3);
    expect(Math.abs(dot(gradient, direction) - along)).to.be.below(1e-9 * Math.abs(along));
  });

  slow('a step of the midpoint rule on a tree with every kind of joint has an error of h³', () => {
    const next = stream(7);
    const system = multibody({...treeOf(22, shapes['a random tree'], everyKind), coordinates: 'minimal'});
    const start = {q: system.initial.q as number[], v: (system.initial.v as number[]).map(() => 0.3 * next())};
    const end = (options: {readonly scheme: Scheme; readonly dt: number; readonly steps: number}): Float64Array => {
      const path = simulate(system, start, {...options, saveAt: 'end'});
      path.dispose();
      return path.values('v').slice(-start.v.length);
    };
    const [whole, half] = [0.01, 0.005].map(dt => {
      const found = end({scheme: implicitMidpoint(), dt, steps: 1});
      const expected = end({scheme: rk4(), dt: dt / 10, steps: 10});
      return largest(found.map((x, i) => x - expected[i]));
    });
    expect(whole / half).to.be.within(7, 9);
  });

  slow('matrices of implicit steps are as sparse as the tree: entries and their factor grow with the bodies', () => {
    const nonzeros = [40, 80, 160].map(count => {
      const chain = multibody({...treeOf(count + 5, shapes['a chain'], ['revolute']), coordinates: 'minimal'});
      const path = simulate(chain, chain.initial, {dt: 0.001, steps: 1, saveAt: 'end'});
      path.dispose();
      return path.stats.nonzeros;
    });
    expect((nonzeros[2] - nonzeros[1]) / (nonzeros[1] - nonzeros[0])).to.be.within(1.9, 2.1);
  });

  slow("implicit steps: a branched tree's gradient by its start and a stiffness is that of differences", () => {
    const spec = treeOf(21, shapes['a binary tree'], ['revolute', 'spherical']);
    const tree = multibody({
      ...spec,
      coordinates: 'minimal',
      forces: [
        ...(spec.forces ?? []),
        springDamper('b5', 'b20', {
          from: [5.5, 0, 0],
          to: [20.5, 0, 0],
          stiffness: ({k}: {k: tf.Tensor}) => k,
          damping: 0.3,
          length: 12,
        }),
      ],
    });
    const v = (tree.initial.v as number[]).map((_, i) => 0.5 * Math.sin(i));
    const q = tree.initial.q as number[];
    const c = Float64Array.from({length: 2 * q.length}, (_, i) => (i < q.length ? 0 : Math.cos(i)));
    const direction = v.map((_, i) => Math.sin(3 * i));
    const options = {
      scheme: implicitMidpoint(),
      dt: 0.02,
      steps: 3,
      saveAt: 'end',
      params: {k: tf.scalar(30)},
    } as const;
    const prepared = simulate.prepare(tree, {q, v}, options);
    const {trajectory, pullback} = prepared.vjp();
    const gradient = pullback({q: c});
    trajectory.dispose();
    const end = (by: number, k: number): number => {
      const path = prepared.run({initial: {q, v: moved(v, by, direction)}, params: {k: tf.scalar(k)}});
      path.dispose();
      return dot(c, path.values('q'));
    };
    const byStart = slope(by => end(by, 30), 1e-3);
    expect(Math.abs(dot(gradient.initial.v as Float64Array, direction) - byStart)).to.be.below(
      1e-8 * Math.abs(byStart),
    );
    const byStiffness = slope(by => end(0, 30 + by), 3);
    expect(Math.abs((gradient.params.k as Float64Array)[0] - byStiffness)).to.be.below(1e-6 * Math.abs(byStiffness));
  });
});
