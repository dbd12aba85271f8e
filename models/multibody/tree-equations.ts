/**
 * The equations of a tree from body to body, for implicit steps (Featherstone 2008, §5.3, the recursions of Newton and
 * Euler): each pose and velocity from that of the body before and the joint, each joint's force from those beyond it. A
 * step takes them for unknowns (`lifted`), and its matrix is as sparse as the tree; by coordinates alone it would be
 * full.
 */
import * as tf from '@tensorflow/tfjs';
import {lifted} from '../../lib/internal.js';
import {pick} from './path-sums.js';
import type {Accelerated, TreeLoads} from './tree-acceleration.js';
import {grounded, type JointFrame, type TreeAt, type TreeMotion, type Velocities} from './tree-motion.js';
import {add, cross, dot, product, rotate, rotateBack, scale, sub, times, type Quat, type Vec} from './vectors.js';

/** Values of all bodies, given, with the equations that they satisfy. */
export interface TreeEquations {
  places(at: TreeAt): TreeAt;
  velocities(at: TreeAt, v: tf.Tensor, found: Velocities): Velocities;
  /** @returns q'' [velocities] */
  accelerations(at: TreeAt, v: tf.Tensor, motion: Velocities, loads: TreeLoads, found: Accelerated): tf.Tensor;
}

const vec = ([x, y, z]: readonly tf.Tensor[]): Vec => [x, y, z];
const still = [0, 0, 0];

/**
 * Generalized forces on a group's joints of the forces and torques that bodies get from theirs, in body axes about
 * their centres.
 */
function alongAxes({group, moves, position, rotation}: JointFrame, force: Vec, torque: Vec): tf.Tensor[][] {
  const [f, n] = [force, torque].map(all => rotate(rotation, pick(all, group.bodies)));
  return moves.flatMap(({axes, point, turns, lead}) => {
    const about = turns ? add(n, cross(sub(position, point), f)) : undefined;
    return axes.map(axis => {
      const shift = lead === undefined ? undefined : lead === 1 ? dot(axis, f) : tf.mul(lead, dot(axis, f));
      if (about === undefined) return [shift as tf.Tensor];
      return [shift === undefined ? dot(axis, about) : tf.add(dot(axis, about), shift)];
    });
  });
}

export function treeEquations(motion: TreeMotion): TreeEquations {
  const {before} = motion;
  const count = before.length;
  // If the ground is the parent of every body, the equations are separate already.
  if (before.every(parent => parent === count))
    return {
      places: at => at,
      velocities: (_at, _v, found) => found,
      accelerations: (_at, _v, _motion, _loads, found) => found.rates,
    };
  const own = [...before.keys()];
  const bodies = <T extends readonly tf.Tensor[]>(columns: T): T => pick(columns, own);
  const parents = (columns: readonly tf.Tensor[], ground: readonly number[]): readonly tf.Tensor[] =>
    pick(grounded(columns, ground), before);
  /** Sums of values over the children of each body. */
  const carriedBy = (columns: Vec): Vec =>
    columns.map(column =>
      tf.slice(tf.unsortedSegmentSum(column, tf.tensor1d([...before], 'int32'), count + 1), [0], [count]),
    ) as unknown as Vec;
  const byBody = (parts: readonly {readonly linear: Vec; readonly angular: Vec}[]): {linear: Vec; angular: Vec} => {
    const all = motion.byBody(parts.map(({linear, angular}) => [...linear, ...angular]));
    return {linear: vec(all), angular: vec(all.slice(3))};
  };

  const places = (at: TreeAt): TreeAt => {
    const {position: y, rotation: s} = at.relative;
    const rotation = lifted('rotations', bodies(at.pose.rotation), unknown => {
      const next = product(parents(unknown, [1, 0, 0, 0]) as unknown as Quat, s);
      return unknown.map((r, i) => tf.sub(r, next[i]));
    });
    const turned = rotate(parents(rotation, [1, 0, 0, 0]) as unknown as Quat, y);
    const position = lifted('positions', bodies(at.pose.position), unknown =>
      sub(unknown, add(vec(parents(unknown, still)), turned)),
    );
    return {
      ...at,
      pose: {position: vec(grounded(position, still)), rotation: grounded(rotation, [1, 0, 0, 0]) as unknown as Quat},
    };
  };

  const velocities = (at: TreeAt, v: tf.Tensor, found: Velocities): Velocities => {
    const {position: y, rotation: s} = at.relative;
    const relative = byBody(motion.relativeVelocities(at, v));
    const spin = lifted('angular velocities', bodies(found.spin), unknown =>
      sub(unknown, rotateBack(s, add(vec(parents(unknown, still)), relative.angular))),
    );
    const swept = add(cross(vec(parents(spin, still)), y), relative.linear);
    const turned = rotate(pick(at.pose.rotation, before), swept);
    const linear = lifted('velocities', bodies(found.linear), unknown =>
      sub(unknown, add(vec(parents(unknown, still)), turned)),
    );
    const all = vec(grounded(spin, still));
    return {linear: vec(grounded(linear, still)), angular: rotate(at.pose.rotation, all), spin: all};
  };

  const accelerations = (
    at: TreeAt,
    v: tf.Tensor,
    moving: Velocities,
    {mass, inertia, force, torque, joints}: TreeLoads,
    found: Accelerated,
  ): tf.Tensor => {
    const {position: y, rotation: s} = at.relative;
    const bias = byBody(motion.relativeBias(at, v, moving));
    const onBody = rotateBack(bodies(at.pose.rotation), force);
    const values = [...found.bodies, ...found.borne, found.rates];
    const all = lifted('accelerations and forces of joints', values, unknowns => {
      const rates = unknowns[12];
      const [a, alpha, f, n] = [0, 3, 6, 9].map(from => vec(unknowns.slice(from)));
      const byJoints = byBody(motion.relativeVelocities(at, rates));
      const [aBefore, alphaBefore] = [vec(parents(a, still)), vec(parents(alpha, still))];
      const linear = add(add(aBefore, cross(alphaBefore, y)), add(bias.linear, byJoints.linear));
      const angular = add(alphaBefore, add(bias.angular, byJoints.angular));
      const [passed, twisted] = [rotate(s, f), rotate(s, n)];
      const needed = add(sub(scale(mass, a), onBody), carriedBy(passed));
      const turning = add(sub(times(inertia, alpha), torque), carriedBy(add(twisted, cross(y, passed))));
      const driven = motion.byVelocity(at.joints.map(local => alongAxes(local, f, n)))[0];
      return [
        ...sub(a, rotateBack(s, linear)),
        ...sub(alpha, rotateBack(s, angular)),
        ...sub(f, needed),
        ...sub(n, turning),
        joints === undefined ? driven : tf.sub(driven, joints),
      ];
    });
    return all[12];
  };
  return {places, velocities, accelerations};
}
