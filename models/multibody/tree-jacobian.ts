/** The Jacobian of all bodies' velocities by those of a tree's joints, as a dense matrix: axes that constant masks choose. */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/index.js';
import type {TreeAt, TreeMotion} from './tree-motion.js';
import type {Tree} from './tree.js';
import {add, cross, scale, sub, type Vec} from './vectors.js';

/** [bodies + 1, velocities]: a velocity turns the body, or shifts it along its axis by so much. */
interface Masks {
  readonly turns: Float64Array;
  readonly shifts: Float64Array;
}

function masksOf({branches, velocities}: Tree): Masks {
  const bodies = branches.length;
  const [turns, shifts] = [0, 1].map(() => new Float64Array((bodies + 1) * velocities));
  for (const {
    body,
    parent,
    freedoms,
    velocities: [from],
  } of branches) {
    for (const mask of [turns, shifts])
      mask.copyWithin(body * velocities, parent * velocities, (parent + 1) * velocities);
    let next = body * velocities + from;
    for (const freedom of freedoms) {
      if (freedom.kind === 'ball') for (let i = 0; i < 3; i++) turns[next++] = 1;
      else {
        turns[next] = freedom.kind === 'slide' ? 0 : 1;
        shifts[next++] = freedom.kind === 'slide' ? 1 : freedom.kind === 'screw' ? freedom.lead : 0;
      }
    }
  }
  return {turns, shifts};
}

/** Velocities of bodies by those of joints, each entry [bodies + 1, velocities], world axes. */
export interface Jacobian {
  readonly linear: Vec;
  readonly angular: Vec;
}

const rows = (a: Vec): Vec => a.map(x => tf.expandDims(x, 0)) as unknown as Vec;
const columns = (a: Vec): Vec => a.map(x => tf.expandDims(x, 1)) as unknown as Vec;

export function jacobianOf(tree: Tree, motion: TreeMotion): (at: TreeAt) => Jacobian {
  let known: Masks | undefined;
  const shape = [tree.branches.length + 1, tree.velocities];
  return at => {
    const masks = (known ??= masksOf(tree));
    const [turns, shifts] = [constantTensor(masks.turns, shape), constantTensor(masks.shifts, shape)];
    const {axis, point} = motion.axes(at);
    const e = rows(axis);
    const swept = cross(e, sub(columns(at.pose.position), rows(point)));
    return {linear: add(scale(turns, swept), scale(shifts, e)), angular: scale(turns, e)};
  };
}
