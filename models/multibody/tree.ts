/**
 * Minimal coordinates: a spanning tree of the joints, each with its own coordinates (Featherstone, Rigid Body Dynamics
 * Algorithms, 2008, chapter 4). The tree gives poses, the Jacobian of all bodies' velocities by the joints' and its rate;
 * forces, contacts and loop joints are those of maximal coordinates, seen through it.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/index.js';
import type {Place} from './bodies.js';
import type {KnownJoint} from './joints.js';
import {composed, conjugate, frameAlong, minus, turnedBack, type Q4, type V3} from './numbers.js';
import {pointOfJoint} from './rows.js';
import type {Pose} from './state.js';
import {add, cross, product, rotate, scale, sub, type Quat, type Vec} from './vectors.js';

/** One degree of freedom, or the three of a ball; axes in the parent's axes at the start. */
type Freedom = (
  | {readonly kind: 'turn' | 'slide'; readonly axis: V3}
  | {readonly kind: 'screw'; readonly axis: V3; readonly lead: number}
  | {readonly kind: 'ball'}
) & {
  /** Where it acts, in the world at the start, if not where the one before it does. */
  readonly at?: V3;
  /** From where the one before it acts, in the parent's axes. */
  readonly offset?: V3;
};

/** A body, how it hangs on one before it, and the joint that says so. */
export interface Branch {
  readonly body: number;
  /** Of bodies, the ground's their number. */
  readonly parent: number;
  /** Of joints; undefined for a body that is free. */
  readonly joint: number | undefined;
  /** From the parent's centre to the joint, in the parent's axes. */
  readonly anchor: V3;
  /** From the joint to the body's centre, in the parent's axes at the start. */
  readonly arm: V3;
  /** From the body's axes to the parent's at the start. */
  readonly turned: Q4;
  readonly freedoms: readonly Freedom[];
  /** The body is the joint's a. */
  readonly backwards: boolean;
  /** The first of its velocities in v, and the one after the last. */
  readonly velocities: readonly [number, number];
  /** Of each of these: 1 where it shifts, 0 where it turns. */
  readonly slides: readonly (0 | 1)[];
}

type Hung = Omit<Branch, 'velocities' | 'slides'>;

/** A spanning tree, and the joints that close its loops. */
export interface Tree {
  readonly branches: readonly Branch[];
  /** Numbers in q and in v. */
  readonly positions: number;
  readonly velocities: number;
  /** Of joints that are no branches. */
  readonly loops: readonly number[];
  /** Where the balls' quaternions begin in q, and their angular velocities in v. */
  readonly balls: readonly {readonly q: number; readonly v: number}[];
  /** Of each joint that is a branch, where its coordinates stand, from a to b. */
  readonly coordinates: ReadonlyMap<number, readonly Coordinate[]>;
  /** At the start: zero, quaternions one. */
  readonly start: readonly number[];
}

/** A coordinate's first number in q and in v; −1 where the tree runs from b to a, and its numbers are of a against b. */
export interface Coordinate {
  readonly q: number;
  readonly v: number;
  readonly sign: 1 | -1;
}

const one = (axis: V3): Freedom[] => [{kind: 'turn', axis}];

/** What b may do against a; undefined where no coordinates of its own say so. */
function freedomsOf(joint: KnownJoint): Freedom[] | undefined {
  switch (joint.kind) {
    case 'revolute':
      return one(joint.axis);
    case 'prismatic':
      return [{kind: 'slide', axis: joint.axis}];
    case 'cylindrical':
      return [{kind: 'slide', axis: joint.axis}, ...one(joint.axis)];
    case 'screw':
      return [{kind: 'screw', axis: joint.axis, lead: joint.pitch / (2 * Math.PI)}];
    case 'planar': {
      const [e, f, g] = frameAlong(joint.axis);
      return [{kind: 'slide', axis: e}, {kind: 'slide', axis: f}, ...one(g)];
    }
    case 'spherical':
      return [{kind: 'ball'}];
    case 'fixed':
      return [];
    case 'universal':
      return [...one(joint.axes[0]), ...one(joint.axes[1])];
    case 'compound':
      return [...joint.steps];
    default:
      return undefined;
  }
}

/** Seen from b: what a may do against it, the last first. */
const reversed = (freedoms: readonly Freedom[]): Freedom[] => [...freedoms].reverse();

const free: readonly Freedom[] = [
  {kind: 'slide', axis: [1, 0, 0]},
  {kind: 'slide', axis: [0, 1, 0]},
  {kind: 'slide', axis: [0, 0, 1]},
  {kind: 'ball'},
];

/** @param bodies without the ground */
export function treeOf(bodies: readonly Place[], joints: readonly KnownJoint[], places: (name: string) => Place): Tree {
  const ground = places('ground');
  const reached = new Set([ground.index]);
  const loops = new Set(joints.keys());
  const branches: Hung[] = [];
  const hang = (
    parent: Place,
    body: Place,
    joint: number | undefined,
    at: V3,
    freedoms: readonly Freedom[],
    backwards = false,
  ): void => {
    reached.add(body.index);
    if (joint !== undefined) loops.delete(joint);
    const local = (a: V3): V3 => turnedBack(parent.rotation, a);
    let last = at;
    const placed = freedoms.map((freedom): Freedom => {
      const {at: next = last} = freedom;
      const offset = local(minus(next, last));
      last = next;
      return {...freedom, ...('axis' in freedom ? {axis: local(freedom.axis)} : {}), offset};
    });
    branches.push({
      body: body.index,
      parent: parent.index,
      joint,
      anchor: local(minus(at, parent.position)),
      arm: local(minus(body.position, last)),
      turned: composed(conjugate(parent.rotation), body.rotation),
      freedoms: placed,
      backwards,
    });
  };
  const grow = (): void => {
    for (let found = true; found;) {
      found = false;
      joints.forEach((joint, number) => {
        const [a, b] = [places(joint.a), places(joint.b)];
        const freedoms = freedomsOf(joint);
        if (freedoms === undefined || reached.has(a.index) === reached.has(b.index)) return;
        found = true;
        const at = pointOfJoint(joint, places);
        if (reached.has(a.index)) hang(a, b, number, at, freedoms);
        else hang(b, a, number, at, reversed(freedoms), true);
      });
    }
  };
  grow();
  for (const body of bodies) {
    if (reached.has(body.index)) continue;
    hang(ground, body, undefined, body.position, free);
    grow();
  }
  return counted(branches, [...loops]);
}

function counted(hung: readonly Hung[], loops: readonly number[]): Tree {
  const start: number[] = [];
  const balls: {q: number; v: number}[] = [];
  const coordinates = new Map<number, readonly Coordinate[]>();
  let velocities = 0;
  const branches = hung.map((branch): Branch => {
    const {freedoms, joint, backwards} = branch;
    const own: Coordinate[] = [];
    const first = velocities;
    for (const {kind} of freedoms) {
      own.push({q: start.length, v: velocities, sign: backwards ? -1 : 1});
      if (kind === 'ball') balls.push({q: start.length, v: velocities});
      start.push(...(kind === 'ball' ? [1, 0, 0, 0] : [0]));
      velocities += kind === 'ball' ? 3 : 1;
    }
    if (joint !== undefined) coordinates.set(joint, backwards ? own.reverse() : own);
    const slides = freedoms.flatMap(({kind}): (0 | 1)[] => (kind === 'ball' ? [0, 0, 0] : [kind === 'slide' ? 1 : 0]));
    return {...branch, velocities: [first, velocities], slides};
  });
  return {branches, positions: start.length, velocities, loops, balls, coordinates, start};
}

/** All bodies and all axes at one position. */
export interface TreeAt {
  /** The ground last. */
  readonly pose: Pose;
  /** Of every velocity, [velocities] each: its axis in the world, and a point that it turns about. */
  readonly axis: Vec;
  readonly point: Vec;
}

/** Forward kinematics, body by body. */
export function treeAt(tree: Tree, q: tf.Tensor): TreeAt {
  const values = tree.positions === 0 ? [] : tf.unstack(q);
  const bodies = tree.branches.length;
  const zero = constantTensor(0, []);
  const still: [Vec, Quat] = [
    [zero, zero, zero],
    [constantTensor(1, []), zero, zero, zero],
  ];
  const places: [Vec, Quat][] = [];
  places[bodies] = still;
  const [axes, points]: [Vec[], Vec[]] = [[], []];
  let next = 0;
  for (const {body, parent, anchor, arm, turned, freedoms} of tree.branches) {
    const [position, rotation] = places[parent];
    let [at, turn] = [add(position, rotate(rotation, scalars(anchor))), rotation];
    const record = (axis: Vec): void => {
      axes.push(axis);
      points.push(at);
    };
    for (const freedom of freedoms) {
      const {offset} = freedom;
      if (offset?.some(x => x !== 0) === true) at = add(at, rotate(turn, scalars(offset)));
      if (freedom.kind === 'ball') {
        turn = product(turn, values.slice(next, next + 4) as unknown as Quat);
        next += 4;
        for (const unit of [
          [1, 0, 0],
          [0, 1, 0],
          [0, 0, 1],
        ] as const)
          record(rotate(turn, scalars(unit)));
        continue;
      }
      const value = values[next++];
      const axis = rotate(turn, scalars(freedom.axis));
      record(axis);
      if (freedom.kind === 'slide') at = add(at, scale(value, axis));
      if (freedom.kind === 'screw') at = add(at, scale(tf.mul(freedom.lead, value), axis));
      if (freedom.kind !== 'slide') {
        const half = tf.mul(0.5, value);
        const spin: Quat = [tf.cos(half), ...scale(tf.sin(half), scalars(freedom.axis))];
        turn = product(turn, spin);
      }
    }
    places[body] = [add(at, rotate(turn, scalars(arm))), product(turn, scalars(turned))];
  }
  const stacked = <T extends readonly tf.Tensor[]>(list: readonly T[]): T =>
    list[0].map((_, i) => tf.stack(list.map(item => item[i]))) as unknown as T;
  return {
    pose: {position: stacked(places.map(([x]) => x)), rotation: stacked(places.map(([, r]) => r))},
    axis: axes.length === 0 ? [zero, zero, zero] : stacked(axes),
    point: points.length === 0 ? [zero, zero, zero] : stacked(points),
  };
}

const scalars = <T extends readonly number[]>(numbers: T): {[K in keyof T]: tf.Tensor} =>
  numbers.map(x => constantTensor(x, [])) as unknown as {[K in keyof T]: tf.Tensor};

/** Which velocities move which bodies, and which of the axes and points: constant numbers. */
export interface Masks {
  /** [bodies + 1, velocities]: the velocity turns the body, or shifts it along its axis by so much. */
  readonly turns: tf.Tensor;
  readonly shifts: tf.Tensor;
  /** [velocities, velocities]: the same for the axis and the point of the first. */
  readonly axisTurns: tf.Tensor;
  readonly axisShifts: tf.Tensor;
}

export function masksOf({branches, velocities}: Tree): () => Masks {
  const bodies = branches.length;
  const [turning, shifting] = [new Float64Array(velocities), new Float64Array(velocities)];
  const above: Set<number>[] = Array.from({length: bodies + 1}, () => new Set<number>());
  const before: Set<number>[] = [];
  let next = 0;
  for (const {body, parent, freedoms} of branches) {
    const known = new Set(above[parent]);
    for (const freedom of freedoms) {
      if (freedom.kind === 'ball') {
        // Its axes turn with the body itself.
        for (let i = 0; i < 3; i++) {
          turning[next] = 1;
          known.add(next++);
        }
        for (let i = 3; i > 0; i--) before[next - i] = new Set(known);
        continue;
      }
      before[next] = new Set(known);
      turning[next] = freedom.kind === 'slide' ? 0 : 1;
      shifting[next] = freedom.kind === 'slide' ? 1 : freedom.kind === 'screw' ? freedom.lead : 0;
      known.add(next++);
    }
    above[body] = known;
  }
  const table = (rows: readonly ReadonlySet<number>[], weights: Float64Array) => (): tf.Tensor =>
    constantTensor(
      Float64Array.from({length: rows.length * velocities}, (_, i) =>
        rows[Math.floor(i / velocities)].has(i % velocities) ? weights[i % velocities] : 0,
      ),
      [rows.length, velocities],
    );
  const [a, b, c, d] = [table(above, turning), table(above, shifting), table(before, turning), table(before, shifting)];
  return () => ({turns: a(), shifts: b(), axisTurns: c(), axisShifts: d()});
}

/** Velocities of bodies by those of joints, each entry [bodies + 1, velocities], world axes. */
export interface Jacobian {
  readonly linear: Vec;
  readonly angular: Vec;
}

const rows = (a: Vec): Vec => a.map(x => tf.expandDims(x, 0)) as unknown as Vec;
const columns = (a: Vec): Vec => a.map(x => tf.expandDims(x, 1)) as unknown as Vec;

/** Of points that go with what the masks say: [rows, velocities]. */
function velocitiesOf({axis, point}: TreeAt, places: Vec, turns: tf.Tensor, shifts: tf.Tensor): Jacobian {
  const e = rows(axis);
  const swept = cross(e, sub(columns(places), rows(point)));
  return {
    linear: add(scale(turns, swept), scale(shifts, e)),
    angular: scale(turns, e),
  };
}

export const jacobianOf = (at: TreeAt, {turns, shifts}: Masks): Jacobian =>
  velocitiesOf(at, at.pose.position, turns, shifts);

const applied = (entries: Vec, v: tf.Tensor): Vec =>
  entries.map(entry => tf.sum(tf.mul(entry, tf.expandDims(v, 0)), 1)) as unknown as Vec;

/** J v of every body: [bodies + 1] each, world axes. */
export const velocityOf = ({linear, angular}: Jacobian, v: tf.Tensor): {linear: Vec; angular: Vec} => ({
  linear: applied(linear, v),
  angular: applied(angular, v),
});

/** J' v of every body, [bodies + 1] each, world axes: accelerations where the joints' own are zero. */
export function biasOf(at: TreeAt, masks: Masks, v: tf.Tensor): {linear: Vec; angular: Vec} {
  const jacobian = jacobianOf(at, masks);
  const bodies = velocityOf(jacobian, v);
  const ofAxes = velocityOf(velocitiesOf(at, at.point, masks.axisTurns, masks.axisShifts), v);
  const e = rows(at.axis);
  const rate = rows(cross(ofAxes.angular, at.axis));
  const arm = sub(columns(at.pose.position), rows(at.point));
  const moving = sub(columns(bodies.linear), rows(ofAxes.linear));
  const swept = add(cross(rate, arm), cross(e, moving));
  const linear = add(scale(masks.turns, swept), scale(masks.shifts, rate));
  return {linear: applied(linear, v), angular: applied(scale(masks.turns, rate), v)};
}
