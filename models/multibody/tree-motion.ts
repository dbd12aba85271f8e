/**
 * The kinematics of a tree of joints: poses, velocities and bias accelerations (those at zero joint accelerations) of
 * all bodies at once (Featherstone 2008, §4 and §5). Joints of one kind are one batch of tensors, and sums along the
 * paths from the root are computed by path-sums.ts, so a program for a thousand bodies has few more nodes than one for
 * ten.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/internal.js';
import {units, type V3} from './numbers.js';
import {pathSums, pick} from './path-sums.js';
import {constants, numbers, type Pose} from './state.js';
import type {Branch, Freedom, BodyTree} from './tree.js';
import {add, cross, product, rotate, rotateBack, scale, sub, sum, type Quat, type Vec} from './vectors.js';

/** Branches whose joints have the same degrees of freedom; tensors below are [branches]. */
export interface Group {
  readonly branches: readonly Branch[];
  readonly bodies: readonly number[];
  readonly parents: readonly number[];
  readonly kinds: readonly Freedom['kind'][];
}

/**
 * One motion of a joint in axes of the parent body: a rotation, a translation, both, or the three rotations of a ball.
 */
export interface Move {
  /** The axis of every velocity. */
  readonly axes: readonly Vec[];
  /** On the axes. */
  readonly point: Vec;
  readonly turns: boolean;
  /** Translation along its axis per unit of its rate; undefined for a rotation alone. */
  readonly lead: tf.Tensor | 1 | undefined;
}

/** Poses of bodies relative to their parents, in axes of the parents. */
export interface JointFrame {
  readonly group: Group;
  readonly moves: readonly Move[];
  readonly position: Vec;
  readonly rotation: Quat;
}

/** All bodies at one position. */
export interface TreeAt {
  /** World axes, the ground last. */
  readonly pose: Pose;
  readonly joints: readonly JointFrame[];
  /** The pose of every body relative to its parent, in axes of the parent. */
  readonly relative: {readonly position: Vec; readonly rotation: Quat};
}

/** World axes, the ground last. */
export interface BodyMotion {
  readonly linear: Vec;
  readonly angular: Vec;
}

/** Velocities of bodies. */
export interface Velocities extends BodyMotion {
  /** The angular ones in body axes. */
  readonly spin: Vec;
}

function groupsOf({branches}: BodyTree): readonly Group[] {
  const found = new Map<string, Branch[]>();
  for (const branch of branches) {
    const key = branch.freedoms.map(({kind}) => kind).join(' ');
    const known = found.get(key);
    if (known === undefined) found.set(key, [branch]);
    else known.push(branch);
  }
  return [...found.values()].map(own => ({
    branches: own,
    bodies: own.map(({body}) => body),
    parents: own.map(({parent}) => parent),
    kinds: own[0].freedoms.map(({kind}) => kind),
  }));
}

/** Numbers of q or v, one of each branch of a group. */
const ofEach = (x: tf.Tensor, {branches}: Group, of: (branch: Branch) => number): tf.Tensor =>
  pick([x], branches.map(of))[0];

function localOf(group: Group, q: tf.Tensor): JointFrame {
  const {branches, kinds} = group;
  const of = (entry: (branch: Branch) => V3): Vec => constants(branches.map(entry));
  const moves: Move[] = [];
  let at = of(({anchor}) => anchor);
  let turn: Quat | undefined;
  const turnBy = (own: Quat): void => void (turn = turn === undefined ? own : product(turn, own));
  let number = 0;
  kinds.forEach((kind, i) => {
    const freedom = ({freedoms}: Branch): Freedom => freedoms[i];
    const offset = of(branch => freedom(branch).offset ?? [0, 0, 0]);
    at = add(at, rotate(turn, offset));
    const next = (): tf.Tensor => {
      const own = number++;
      return ofEach(q, group, ({position}) => position + own);
    };
    if (kind === 'ball') {
      turnBy([next(), next(), next(), next()]);
      const axes = units.map(unit => {
        const own = of(() => unit);
        return rotate(turn, own);
      });
      moves.push({axes, point: at, turns: true, lead: undefined});
      return;
    }
    const value = next();
    const given = of(branch => (freedom(branch) as Freedom & {axis: V3}).axis);
    const axis = rotate(turn, given);
    const lead = kind === 'screw' ? leadsOf(group, i) : kind === 'slide' ? 1 : undefined;
    moves.push({axes: [axis], point: at, turns: kind !== 'slide', lead});
    if (lead !== undefined) at = add(at, scale(along(lead, value), axis));
    if (kind === 'slide') return;
    const half = tf.mul(0.5, value);
    turnBy([tf.cos(half), ...scale(tf.sin(half), given)]);
  });
  const turned = [0, 1, 2, 3].map(i => numbers(branches.map(branch => branch.turned[i]))) as unknown as Quat;
  const arm = of(branch => branch.arm);
  const position = add(at, rotate(turn, arm));
  return {group, moves, position, rotation: turn === undefined ? turned : product(turn, turned)};
}

const along = (lead: tf.Tensor | 1, value: tf.Tensor): tf.Tensor => (lead === 1 ? value : tf.mul(lead, value));

const leadsOf = ({branches}: Group, i: number): tf.Tensor =>
  numbers(branches.map(({freedoms}) => (freedoms[i] as Freedom & {lead: number}).lead));

/** Columns of groups, one group after the other. */
const joined = <T extends readonly tf.Tensor[]>(parts: readonly T[]): T =>
  parts.length === 1 ? parts[0] : (parts[0].map((_, i) => tf.concat(parts.map(part => part[i]))) as unknown as T);

const vec = ([x, y, z]: readonly tf.Tensor[]): Vec => [x, y, z];
const frame = ([x, y, z, ...r]: readonly tf.Tensor[]): [Vec, Quat] => [[x, y, z], r as unknown as Quat];
/** Columns of bodies, with the ground's number last. */
export const grounded = (columns: readonly tf.Tensor[], ground: readonly number[]): tf.Tensor[] =>
  columns.map((column, i) => tf.concat([column, constantTensor(ground[i], [1])]));
const zeros = (group: Group): Vec => constants(group.branches.map(() => [0, 0, 0] as const));

/** Angular velocity of a motion, and the speed of its shift. */
function speedsOf({axes, turns, lead}: Move, rates: readonly tf.Tensor[]): {turn?: Vec; shift?: Vec} {
  const by = sum(axes.map((axis, i) => scale(rates[i], axis)));
  return {
    ...(turns ? {turn: by} : {}),
    ...(lead === undefined ? {} : {shift: lead === 1 ? by : scale(lead, by)}),
  };
}

/** The kinematics of a tree. */
export class TreeMotion {
  readonly groups: readonly Group[];
  /** The parent of each body; the ground has the number of bodies. */
  readonly before: readonly number[];
  /** The parent of each body; −1 for the ground. */
  private readonly parents: readonly number[];
  /** The place of every body and of every velocity, with groups one after the other. */
  private readonly bodyPlaces: readonly number[];
  private readonly velocityPlaces: readonly number[];

  constructor(tree: BodyTree) {
    const count = tree.branches.length;
    this.groups = groupsOf(tree);
    const [before, places] = [new Array<number>(count), new Array<number>(count)];
    const velocityPlaces = new Array<number>(tree.velocities);
    let [nextBody, nextVelocity] = [0, 0];
    for (const {branches} of this.groups) {
      for (const {body, parent} of branches) {
        before[body] = parent;
        places[body] = nextBody++;
      }
      const [from, to] = branches[0].velocities;
      for (let i = 0; i < to - from; i++)
        for (const {velocities} of branches) velocityPlaces[velocities[0] + i] = nextVelocity++;
    }
    this.before = before;
    this.parents = before.map(parent => (parent === count ? -1 : parent));
    this.bodyPlaces = places;
    this.velocityPlaces = velocityPlaces;
  }

  /** Values of the groups' branches, ordered by body. */
  byBody<T extends readonly tf.Tensor[]>(parts: readonly T[]): T {
    return pick(joined(parts), this.bodyPlaces);
  }

  /** Values of the groups' velocities, ordered by velocity. */
  byVelocity<T extends readonly tf.Tensor[]>(parts: readonly (readonly T[])[]): T {
    return pick(joined(parts.flat()), this.velocityPlaces);
  }

  /** Rates of a group's joints from those of all: by motion, by axis. */
  rates(v: tf.Tensor, {group, moves}: JointFrame): tf.Tensor[][] {
    let number = 0;
    return moves.map(({axes}) =>
      axes.map(() => {
        const own = number++;
        return ofEach(v, group, ({velocities: [from]}) => from + own);
      }),
    );
  }

  at(q: tf.Tensor): TreeAt {
    const joints = this.groups.map(group => localOf(group, q));
    const own = this.byBody(joints.map(({position, rotation}) => [...position, ...rotation]));
    const all = pathSums(this.parents, own, (before, after) => {
      const [[x, r], [y, s]] = [frame(before), frame(after)];
      return [...add(x, rotate(r, y)), ...product(r, s)];
    });
    const [position, rotation] = frame(grounded(all, [0, 0, 0, 1, 0, 0, 0]));
    const [nextPosition, nextRotation] = frame(own);
    return {pose: {position, rotation}, joints, relative: {position: nextPosition, rotation: nextRotation}};
  }

  /** Velocities of all bodies from rates of the joints: J v. */
  velocities(at: TreeAt, v: tf.Tensor): Velocities {
    const motion = this.summed(at, this.relativeVelocities(at, v));
    return {...motion, spin: rotateBack(at.pose.rotation, motion.angular)};
  }

  /** Velocities of bodies relative to their parents from the joints' rates, in axes of the parents. */
  relativeVelocities(at: TreeAt, v: tf.Tensor): BodyMotion[] {
    return at.joints.map((local): BodyMotion => {
      const rates = this.rates(v, local);
      let [linear, angular] = [zeros(local.group), zeros(local.group)];
      local.moves.forEach((move, i) => {
        const {turn, shift} = speedsOf(move, rates[i]);
        if (turn !== undefined) {
          linear = add(linear, cross(turn, sub(local.position, move.point)));
          angular = add(angular, turn);
        }
        if (shift !== undefined) linear = add(linear, shift);
      });
      return {linear, angular};
    });
  }

  /** Bias accelerations of all bodies, those at zero joint accelerations: J' v. */
  bias(at: TreeAt, v: tf.Tensor, motion: Velocities): BodyMotion {
    return this.summed(at, this.relativeBias(at, v, motion));
  }

  /**
   * Bias accelerations of bodies relative to their parents, in axes of the parents: centripetal and Coriolis
   * accelerations, and the rate of change of the axes.
   */
  relativeBias(at: TreeAt, v: tf.Tensor, motion: Velocities): BodyMotion[] {
    return at.joints.map((local): BodyMotion => {
      const {group, moves, position} = local;
      const rates = this.rates(v, local);
      // The frame that has made the motions so far, with its origin at `place`.
      let omega = pick(motion.spin, group.parents);
      let [place, linear, angular] = [zeros(group), zeros(group), zeros(group)];
      const goTo = (to: Vec): void => {
        const arm = sub(to, place);
        linear = add(linear, add(cross(angular, arm), cross(omega, cross(omega, arm))));
        place = to;
      };
      moves.forEach((move, i) => {
        goTo(move.point);
        const {turn, shift} = speedsOf(move, rates[i]);
        if (shift !== undefined) linear = add(linear, scale(2, cross(omega, shift)));
        if (turn === undefined) return;
        angular = add(angular, cross(omega, turn));
        omega = add(omega, turn);
      });
      goTo(position);
      return {linear, angular};
    });
  }

  /** Motions of all bodies: sums along the paths of motions relative to the parents, in axes of the parents. */
  private summed({pose}: TreeAt, parts: readonly BodyMotion[]): BodyMotion {
    const rotation = pick(pose.rotation, this.before);
    const own = this.byBody(parts.map(({linear, angular}) => [...linear, ...angular]));
    const turns = pathSums(this.parents, rotate(rotation, vec(own.slice(3))), add);
    const angular = vec(grounded(turns, [0, 0, 0]));
    const arm = sub(pick(pose.position, [...this.before.keys()]), pick(pose.position, this.before));
    const moves = add(cross(pick(angular, this.before), arm), rotate(rotation, vec(own)));
    return {linear: vec(grounded(pathSums(this.parents, moves, add), [0, 0, 0])), angular};
  }

  /** For every velocity, [velocities], its axis in the world and a point on it. */
  axes({pose, joints}: TreeAt): {readonly axis: Vec; readonly point: Vec} {
    const parts = joints.map(({group, moves}) => {
      const [x, r] = [pick(pose.position, group.parents), pick(pose.rotation, group.parents)];
      return moves.flatMap(({axes, point}) => {
        const centre = add(x, rotate(r, point));
        return axes.map(axis => [...rotate(r, axis), ...centre]);
      });
    });
    const all = this.byVelocity(parts);
    return {axis: vec(all), point: vec(all.slice(3))};
  }
}
