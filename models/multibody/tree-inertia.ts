/**
 * The inertia matrix of a tree and the generalized forces of wrenches on its bodies. A velocity moves all bodies beyond
 * its joint as one rigid body, so that their masses and wrenches are summed first, about the tree's first body, and
 * then meet the velocities' axes (the composite-rigid-body algorithm: Featherstone 2008, §6.2).
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/internal.js';
import {pick} from './path-sums.js';
import type {TreeAt, TreeMotion} from './tree-motion.js';
import type {BodyTree} from './tree.js';
import {add, cross, dot, rotate, scale, sub, times, type Matrix3, type Quat, type Vec} from './vectors.js';

/** Inertia and forces of a tree, from those of its bodies, [bodies] each. */
export interface TreeInertia {
  /** Jᵀ M_b J, [velocities, velocities], with the Jacobian J of the bodies' velocities; inertia in body axes. */
  mass(at: TreeAt, mass: tf.Tensor, inertia: Matrix3): tf.Tensor;
  /** Jᵀ w, [velocities]: forces in world axes at the centres, torques in body axes. */
  force(at: TreeAt, force: Vec, torque: Vec): tf.Tensor;
}

/** Constants: which bodies a velocity moves, and how. */
interface Reach {
  /** [velocities, bodies], 1 where the velocity moves the body. */
  readonly moved: Float64Array;
  /** [velocities, velocities], 1 where the second lies beyond the first, or is it; of one joint's the later ones. */
  readonly beyond: Float64Array;
  /** [velocities]: 1 where it turns, and how far it shifts along its axis. */
  readonly turns: Float64Array;
  readonly shifts: Float64Array;
  /** The first body of the tree of every body, and of every velocity's. */
  readonly firstOfBody: readonly number[];
  readonly firstOfVelocity: readonly number[];
}

function reachOf({branches, velocities}: BodyTree): Reach {
  const n = branches.length;
  const moved = new Float64Array(velocities * n);
  const beyond = new Float64Array(velocities * velocities);
  const [turns, shifts] = [new Float64Array(velocities), new Float64Array(velocities)];
  const firstOfBody = new Array<number>(n);
  const firstOfVelocity = new Array<number>(velocities);
  const movers = new Map<number, readonly number[]>([[n, []]]);
  for (const {
    body,
    parent,
    freedoms,
    velocities: [from, to],
  } of branches) {
    firstOfBody[body] = parent === n ? body : firstOfBody[parent];
    const own = [...(movers.get(parent) as readonly number[])];
    for (let k = from; k < to; k++) {
      own.push(k);
      firstOfVelocity[k] = firstOfBody[body];
      for (const j of own) beyond[j * velocities + k] = 1;
    }
    movers.set(body, own);
    for (const k of own) moved[k * n + body] = 1;
    let next = from;
    for (const freedom of freedoms) {
      const count = freedom.kind === 'ball' ? 3 : 1;
      if (freedom.kind !== 'slide') turns.fill(1, next, next + count);
      if (freedom.kind === 'slide') shifts[next] = 1;
      else if (freedom.kind === 'screw') shifts[next] = freedom.lead;
      next += count;
    }
  }
  return {moved, beyond, turns, shifts, firstOfBody, firstOfVelocity};
}

export function treeInertia(tree: BodyTree, motion: TreeMotion): TreeInertia {
  const [n, m] = [tree.branches.length, tree.velocities];
  const bodies = [...Array(n).keys()];
  let known: Reach | undefined;
  const reach = (): Reach => (known ??= reachOf(tree));
  /** Sums over the bodies that a velocity moves, [velocities] of each column. */
  const summed = (columns: readonly tf.Tensor[]): tf.Tensor[] =>
    tf.unstack(tf.matMul<tf.Tensor2D>(constantTensor(reach().moved, [m, n]), tf.stack([...columns], 1)), 1);
  const rotationOf = ({pose}: TreeAt): Quat => pick(pose.rotation, bodies);
  /** Where bodies are from the first of their tree. */
  const centres = ({pose: {position}}: TreeAt): Vec => sub(pick(position, bodies), pick(position, reach().firstOfBody));
  /** The velocity that a unit of each gives to what it moves, at the first body's place, and the angular one. */
  const axes = (at: TreeAt): {linear: Vec; angular: Vec} => {
    const {turns, shifts, firstOfVelocity} = reach();
    const {axis, point} = motion.axes(at);
    const angular = scale(constantTensor(turns, [m]), axis);
    const swept = cross(angular, sub(pick(at.pose.position, firstOfVelocity), point));
    if (shifts.every(shift => shift === 0)) return {linear: swept, angular};
    return {linear: add(swept, scale(constantTensor(shifts, [m]), axis)), angular};
  };
  return {
    mass: (at, mass, inertia) => {
      const rotation = rotationOf(at);
      const c = centres(at);
      // R I Rᵀ, symmetric: R acts on the columns of I, then on the rows of that.
      const half = [0, 1, 2].map(i => rotate(rotation, inertia.map(row => row[i]) as unknown as Vec));
      const world = [0, 1, 2].map(i => rotate(rotation, half.map(column => column[i]) as unknown as Vec));
      const moments = scale(mass, c);
      const square = dot(moments, c);
      const about = (i: number, j: number): tf.Tensor => {
        const carried = tf.sub(world[i][j], tf.mul(moments[i], c[j]));
        return i === j ? tf.add(carried, square) : carried;
      };
      const [total, hx, hy, hz, xx, xy, xz, yy, yz, zz] = summed([
        mass,
        ...moments,
        ...[about(0, 0), about(0, 1), about(0, 2), about(1, 1), about(1, 2), about(2, 2)],
      ]);
      const h: Vec = [hx, hy, hz];
      const {linear, angular} = axes(at);
      const momentum = add(scale(total, linear), cross(angular, h));
      const spin = add(times([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], angular), cross(h, linear)); // prettier-ignore
      const all = tf.matMul<tf.Tensor2D>(
        tf.stack([...linear, ...angular], 1),
        tf.stack([...momentum, ...spin], 1),
        false,
        true,
      );
      const {beyond} = reach();
      const strictly = Float64Array.from(beyond, (x, i) => (i % (m + 1) === 0 ? 0 : x));
      const upper = tf.mul(constantTensor(beyond, [m, m]), all);
      return tf.add(upper, tf.transpose(tf.mul(constantTensor(strictly, [m, m]), all)));
    },
    force: (at, force, torque) => {
      const turning = add(rotate(rotationOf(at), torque), cross(centres(at), force));
      const [fx, fy, fz, tx, ty, tz] = summed([...force, ...turning]);
      const {linear, angular} = axes(at);
      return tf.add(dot(linear, [fx, fy, fz]), dot(angular, [tx, ty, tz]));
    },
  };
}
