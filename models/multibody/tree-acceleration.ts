/**
 * Accelerations of a tree's coordinates in a time linear in its bodies. Unknown are the accelerations of all bodies and
 * what their joints bear: Newton's and Euler's equations of every body and the rows that its joint asks, in body axes,
 * a system as sparse as the tree (Featherstone 2008, §3.7 and §7.1). The mass matrix of a chain, which is full, is not
 * made.
 */
import * as tf from '@tensorflow/tfjs';
import {linalg} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {units} from './numbers.js';
import {constants} from './state.js';
import {pick} from './path-sums.js';
import {eliminationOf, solveTree} from './tree-elimination.js';
import type {JointFrame, BodyMotion, TreeAt, TreeMotion, Velocities} from './tree-motion.js';
import type {BodyTree} from './tree.js';
import {add, cross, rotate, rotateBack, scale, sub, type Matrix3, type Vec} from './vectors.js';

/** Matrices of a group's joints [branches, …], in axes of the bodies that they carry. */
interface JointBlocks {
  /** S [6, velocities], what the joint's rates do, and its pseudoinverse; undefined of a joint without coordinates. */
  readonly freedom: {readonly axes: tf.Tensor; readonly inverse: tf.Tensor} | undefined;
  /** X [6, 6], the acceleration that the body before gives this one. */
  readonly carried: tf.Tensor;
  /** [6, 1], the acceleration beyond both. */
  readonly bias: tf.Tensor;
}

/** [count, 6, 6] by rows of two vectors. */
const blockRows = (given: readonly (readonly [Vec, Vec])[]): tf.Tensor =>
  tf.reshape(
    tf.stack(
      given.flatMap(([a, b]) => [...a, ...b]),
      1,
    ),
    [-1, 6, 6],
  );
const columnOf = (a: Vec, b: Vec): tf.Tensor => tf.expandDims(tf.stack([...a, ...b], 1), 2);
const unitBlocks = (count: number): tf.Tensor =>
  constantTensor(
    Float64Array.from({length: 36 * count}, (_, i) => ((i % 36) % 7 === 0 ? 1 : 0)),
    [count, 6, 6],
  );

/** S⁺ = (SᵀS)⁻¹Sᵀ. */
function pseudoinverse(S: tf.Tensor): tf.Tensor {
  if (S.shape[2] === 1) return tf.transpose(tf.div(S, tf.sum(tf.square(S), 1, true)), [0, 2, 1]);
  return linalg.solve(tf.matMul(S, S, true), tf.transpose(S, [0, 2, 1]));
}

function blocksOf({group, moves, position, rotation}: JointFrame, bias: BodyMotion): JointBlocks {
  const own = (a: Vec): Vec => rotateBack(rotation, a);
  const still = constants(group.branches.map(() => [0, 0, 0] as const));
  const columns = moves.flatMap(({axes, point, turns, lead}) =>
    axes.map(axis => {
      const swept = turns ? cross(axis, sub(position, point)) : still;
      const linear = lead === undefined ? swept : add(swept, lead === 1 ? axis : scale(lead, axis));
      return columnOf(own(linear), turns ? own(axis) : still);
    }),
  );
  const axes = columns.length === 0 ? undefined : tf.concat(columns, 2);
  const directions = units.map(unit => rotate(rotation, constants(group.branches.map(() => unit))));
  return {
    freedom: axes === undefined ? undefined : {axes, inverse: pseudoinverse(axes)},
    carried: blockRows([
      ...directions.map((e): [Vec, Vec] => [e, cross(position, e)]),
      ...directions.map((e): [Vec, Vec] => [still, e]),
    ]),
    bias: columnOf(own(bias.linear), own(bias.angular)),
  };
}

/**
 * Loads on the bodies, [bodies] each, forces in world axes and torques in body axes; and on the joints, [velocities].
 */
export interface TreeLoads {
  readonly mass: tf.Tensor;
  readonly inertia: Matrix3;
  readonly force: Vec;
  readonly torque: Vec;
  readonly joints: tf.Tensor | undefined;
}

/** The effect of loads, at a position and in a motion. */
export interface Accelerated {
  /** q'' [velocities]. */
  readonly rates: tf.Tensor;
  /** Accelerations of all bodies and the loads of their joints on them, body axes, six numbers each. */
  readonly bodies: readonly tf.Tensor[];
  readonly borne: readonly tf.Tensor[];
}

export type Accelerations = (at: TreeAt, v: tf.Tensor, motion: Velocities, loads: TreeLoads) => Accelerated;

export function treeAccelerations(tree: BodyTree, kinematics: TreeMotion): Accelerations {
  const count = tree.branches.length;
  const {groups} = kinematics;
  // A joint that leaves a body free asks nothing of it.
  const binds = groups.map(({branches: [{velocities}]}) => velocities[1] - velocities[0] < 6);
  const branches = groups.flatMap((group, i) => (binds[i] ? group.branches : []));
  const hung = [...branches.keys()].filter(i => branches[i].parent < count);
  const elimination = eliminationOf({
    bodies: count,
    joints: branches.map(({body, parent}) => ({body, parent: parent < count ? parent : -1})),
  });
  const goFirst = [...hung.keys()].filter(i => elimination.first[i]);
  const goLast = [...hung.keys()].filter(i => !elimination.first[i]);
  const inOrder = new Array<number>(hung.length);
  [...goFirst, ...goLast].forEach((i, place) => (inOrder[i] = place));

  return (at, v, motion, loads) => {
    const bias = kinematics.relativeBias(at, v, motion);
    const blocks = at.joints.map((local, i) => blocksOf(local, bias[i]));
    const asking = blocks.filter((_, i) => binds[i]);
    const driven = drives(kinematics, at, blocks, loads);
    const wrenches = tf.add(onBodies(at, loads), onJoints(driven, count));
    const masses = massBlocks(loads);
    const inverses = linalg.solve(masses, unitBlocks(count));
    let accelerations: tf.Tensor;
    let borne = driven.map(({group, push}) => ({to: group.bodies, wrench: push}));
    if (asking.length === 0) accelerations = tf.matMul(inverses, wrenches);
    else {
      // S S⁺ projects on what a joint allows, 1 − S S⁺ on what it holds.
      const projections = asking.map(({freedom, bias: {shape}}) =>
        freedom === undefined ? zeroBlocks(shape[0]) : tf.matMul(freedom.axes, freedom.inverse),
      );
      const allowed = concat(projections);
      const held = tf.sub(unitBlocks(branches.length), allowed);
      const carried = concat(asking.map(block => block.carried));
      const onOthers = tf.neg(tf.matMul(pickRows(held, hung), pickRows(carried, hung)));
      const ordered = [
        ...(goFirst.length === 0 ? [] : [pickRows(onOthers, goFirst)]),
        ...(goLast.length === 0 ? [] : [tf.transpose(pickRows(onOthers, goLast), [0, 2, 1])]),
      ];
      const solution = solveTree(
        elimination,
        tf.concat([masses, tf.neg(allowed)]),
        inverses,
        concat([held, ...(hung.length === 0 ? [] : [pickRows(concat(ordered), inOrder)])]),
        tf.concat([wrenches, tf.matMul(held, concat(asking.map(block => block.bias)))]),
      );
      accelerations = tf.slice(solution, [0, 0, 0], [count, 6, 1]);
      const holding = tf.matMul(held, tf.slice(solution, [count, 0, 0], [branches.length, 6, 1]));
      borne = [...borne, {to: branches.map(({body}) => body), wrench: tf.neg(holding)}];
    }
    const all = tf.concat([accelerations, constantTensor(new Float64Array(6), [1, 6, 1])]);
    const rates = blocks.map(({freedom, carried, bias: c}, i) => {
      if (freedom === undefined) return [];
      const {bodies, parents} = groups[i];
      const own = tf.sub(pickRows(all, bodies), c);
      const onGround = parents.every(parent => parent === count);
      const beyond = onGround ? own : tf.sub(own, tf.matMul(carried, pickRows(all, parents)));
      return tf.unstack(tf.squeeze(tf.matMul(freedom.inverse, beyond), [2]), 1).map(rate => [rate]);
    });
    return {
      rates: kinematics.byVelocity(rates)[0],
      bodies: columnsOf(accelerations),
      borne: columnsOf(addedUp(borne, count)),
    };
  };
}

/** Wrenches [k, 6, 1] added up by body. */
function addedUp(
  parts: readonly {readonly to: readonly number[]; readonly wrench: tf.Tensor}[],
  count: number,
): tf.Tensor {
  if (parts.length === 0) return constantTensor(new Float64Array(6 * count), [count, 6, 1]);
  const to = tf.tensor1d(
    parts.flatMap(part => [...part.to]),
    'int32',
  );
  const all = concat(parts.map(({wrench}) => wrench));
  return tf.slice(tf.unsortedSegmentSum(all, to, count + 1), [0, 0, 0], [count, 6, 1]);
}

const columnsOf = (wrenches: tf.Tensor): tf.Tensor[] => tf.unstack(tf.squeeze(wrenches, [2]), 1);

const zeroBlocks = (count: number): tf.Tensor => constantTensor(new Float64Array(36 * count), [count, 6, 6]);
const concat = (parts: readonly tf.Tensor[]): tf.Tensor => (parts.length === 1 ? parts[0] : tf.concat([...parts]));
const pickRows = (x: tf.Tensor, which: readonly number[]): tf.Tensor => pick([x], which)[0];

/** [bodies, 6, 6], body axes. */
function massBlocks({mass, inertia}: TreeLoads): tf.Tensor {
  const zero = tf.zerosLike(mass);
  const none: Vec = [zero, zero, zero];
  const masses: Matrix3 = [
    [mass, zero, zero],
    [zero, mass, zero],
    [zero, zero, mass],
  ];
  return blockRows([...masses.map((row): [Vec, Vec] => [row, none]), ...inertia.map((row): [Vec, Vec] => [none, row])]);
}

/** [bodies, 6, 1], body axes. */
function onBodies({pose: {rotation}}: TreeAt, {force, torque}: TreeLoads): tf.Tensor {
  const bodies = [...Array(force[0].shape[0]).keys()];
  return columnOf(rotateBack(pick(rotation, bodies), force), torque);
}

/** Wrenches of joints' generalized forces: of the bodies that they carry, and of those these hang on, body axes. */
interface Driven {
  readonly group: JointFrame['group'];
  readonly push: tf.Tensor;
  readonly back: tf.Tensor;
}

function drives(
  kinematics: TreeMotion,
  {joints}: TreeAt,
  blocks: readonly JointBlocks[],
  {joints: forces}: TreeLoads,
): Driven[] {
  if (forces === undefined) return [];
  return blocks.flatMap(({freedom, carried}, i) => {
    if (freedom === undefined) return [];
    const own = tf.expandDims(tf.stack(kinematics.rates(forces, joints[i]).flat(), 1), 2);
    const push = tf.matMul(freedom.inverse, own, true);
    return [{group: joints[i].group, push, back: tf.neg(tf.matMul(carried, push, true))}];
  });
}

/** Wrenches of joints' forces on the bodies on both sides, [bodies, 6, 1]. */
const onJoints = (driven: readonly Driven[], count: number): tf.Tensor =>
  addedUp(
    driven.flatMap(({group: {bodies, parents}, push, back}) => [
      {to: bodies, wrench: push},
      {to: parents, wrench: back},
    ]),
    count,
  );
