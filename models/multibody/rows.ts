/**
 * The constraint equations of joints on poses and velocities, of all joints at once: rows of one kind are one batch of
 * tensors, whatever their number. Kinds are the primitive constraints of Haug (1989, §9.4): points that coincide,
 * directions that keep their angle, a point that stays in a plane, a distance; and those of screws, drives, wheels and
 * gears.
 */
import * as tf from '@tensorflow/tfjs';
import {heldBySteps} from './compound.js';
import {customGap, type CustomJoint} from './custom-joint.js';
import type {Angle, KnownJoint, SteppedJoint} from './joints.js';
import type {V3} from './numbers.js';
import {frameAlong, inner, local, minus, norm, outer, turnedBack} from './numbers.js';
import type {BodyPose} from './bodies.js';
import {Choice, constants, difference, numbers, pointOf, pointVelocity, sidesOf} from './state.js';
import type {Instant, Pose, Sides} from './state.js';
import {add, dot, length, rotate, rotateBack, scale, sub, type Vec} from './vectors.js';

/** Numbers of bodies, the ground's included. */
interface Pair {
  readonly a: number;
  readonly b: number;
}
/** A point at the start, in each body's axes from its centre. */
interface Points extends Pair {
  readonly onA: V3;
  readonly onB: V3;
}

/** One row, or three of 'point'; directions in the body axes of the side they are named for. */
type Row =
  | ({readonly kind: 'point'} & Points)
  | ({readonly kind: 'angle'; readonly ofA: V3; readonly ofB: V3; readonly cosine: number} & Pair)
  | ({readonly kind: 'plane'; readonly ofA: V3} & Points)
  | ({readonly kind: 'distance'; readonly length: number} & Points)
  | ({readonly kind: 'screw'; readonly turning: Turning; readonly lead: number} & Points)
  | ({readonly kind: 'motor'; readonly turning: Turning; readonly angle: Angle} & Pair)
  | ({readonly kind: 'custom'; readonly own: CustomJoint; readonly from: BodyPose; readonly to: BodyPose} & Pair)
  | ({readonly kind: 'above'} & Rolling)
  | ({readonly kind: 'rolling'} & Rolling)
  | ({
      readonly kind: 'gear';
      readonly carrier: number;
      readonly axes: readonly [V3, V3];
      readonly ratio: number;
    } & Pair);

/** Rotation of b about an axis of a, by directions of b that coincide with directions of a at the start. */
export interface Turning {
  readonly firstOfA: V3;
  readonly secondOfA: V3;
  readonly firstOfB: V3;
}

/** A ball or a wheel of b on a plane of a. */
interface Rolling extends Pair {
  readonly onA: V3;
  readonly normal: V3;
  readonly tangents: readonly [V3, V3];
  readonly radius: number;
  /** Axis of a wheel, body axes of b. */
  readonly axis: V3 | undefined;
}

type Kind = Row['kind'];
type RowOf<K extends Kind> = Extract<Row, {kind: K}>;

/** The bodies of some rows at an instant. */
interface Bodies extends Instant {
  readonly a: Choice;
  readonly b: Choice;
  /** Number of the ground. */
  readonly ground: number;
}

/** [rows]: zero where the constraint holds. */
type Gaps<K extends Kind> = (rows: readonly RowOf<K>[], at: Bodies) => readonly tf.Tensor[];

/** From the point of a to that of b, world axes. */
function separation(rows: readonly Points[], {a, b, pose}: Pick<Bodies, 'a' | 'b' | 'pose'>): Vec {
  const onA = constants(rows.map(row => row.onA));
  const onB = constants(rows.map(row => row.onB));
  return sub(pointOf(b.pose(pose), onB), pointOf(a.pose(pose), onA));
}

/** Cosine and sine of the angles by which b has turned. */
export function turns(all: readonly Turning[], [a, b]: Sides, pose: Pose): [tf.Tensor, tf.Tensor] {
  const side = a.rotation(pose);
  const of = (name: keyof Turning): Vec => constants(all.map(turning => turning[name]));
  const other = rotate(b.rotation(pose), of('firstOfB'));
  return [dot(rotate(side, of('firstOfA')), other), dot(rotate(side, of('secondOfA')), other)];
}

/** The sine of the difference of an angle and the turn of b: it does not jump after a full turn. */
function sineOfLag(rows: readonly {readonly turning: Turning}[], {a, b, pose}: Bodies, angle: tf.Tensor): tf.Tensor {
  const turnings = rows.map(row => row.turning);
  const [c, s] = turns(turnings, [a, b], pose);
  return tf.sub(tf.mul(s, tf.cos(angle)), tf.mul(c, tf.sin(angle)));
}

/** From the centre of what rolls to the point of contact, world axes, and how high that is above the plane. */
function contact(rows: readonly Rolling[], {a, b, pose}: Bodies): {arm: Vec; height: tf.Tensor} {
  const side = a.pose(pose);
  const normal = rotate(side.rotation, constants(rows.map(row => row.normal)));
  const centre = difference(b.position(pose), pointOf(side, constants(rows.map(row => row.onA))));
  const axis = rotate(b.rotation(pose), constants(rows.map(row => row.axis ?? [0, 0, 0])));
  // Down the wheel: against the normal, across its axis. A ball has none, and is as deep everywhere.
  const down = sub(scale(dot(normal, axis), axis), normal);
  const arm = scale(tf.div(numbers(rows.map(row => row.radius)), length(down)), down);
  return {arm, height: tf.add(dot(normal, centre), dot(normal, arm))};
}

/** A kind with several equations has one tensor [rows] for each; custom joints have one tensor for each joint. */
const gaps: {readonly [K in Kind]: Gaps<K>} = {
  point: separation,
  angle: (rows, {a, b, pose}) => {
    const u = rotate(a.rotation(pose), constants(rows.map(row => row.ofA)));
    const w = rotate(b.rotation(pose), constants(rows.map(row => row.ofB)));
    return [tf.sub(dot(u, w), numbers(rows.map(({cosine}) => cosine)))];
  },
  plane: (rows, at) => [dot(rotate(at.a.rotation(at.pose), constants(rows.map(row => row.ofA))), separation(rows, at))],
  // (|d|² − l²)/(2l) is |d| − l to first order: the multiplier is the force along the rod.
  distance: (rows, at) => {
    const d = separation(rows, at);
    const l = numbers(rows.map(row => row.length));
    return [tf.div(tf.sub(dot(d, d), tf.square(l)), tf.mul(2, l))];
  },
  custom: (rows, at) => rows.map(({own, from, to}) => customGap(own, from, to, at.ground, at)),
  screw: (rows, at) => {
    const axis = constants(rows.map(({turning}) => outer(turning.firstOfA, turning.secondOfA)));
    const lead = numbers(rows.map(row => row.lead));
    const advance = tf.div(dot(rotate(at.a.rotation(at.pose), axis), separation(rows, at)), lead);
    return [tf.mul(lead, sineOfLag(rows, at, advance))];
  },
  motor: (rows, at) => [sineOfLag(rows, at, tf.stack(rows.map(row => tf.reshape(row.angle(at), []))))],
  above: (rows, at) => [contact(rows, at).height],
  rolling: (rows, at) => {
    const {a, b, pose, twist} = at;
    const {arm} = contact(rows, at);
    const [here, there] = [b.pose(pose), a.pose(pose)];
    const touching = add(here.position as Vec, arm);
    const own = pointVelocity(here, b.twist(twist), rotateBack(here.rotation, arm));
    const under = rotateBack(there.rotation, difference(touching, there.position));
    const slip = difference(own, pointVelocity(there, a.twist(twist), under));
    return [0, 1].map(i => dot(rotate(there.rotation, constants(rows.map(({tangents}) => tangents[i]))), slip));
  },
  gear: (rows, {a, b, ground, pose, twist}) => {
    const carriers = rows.map(row => row.carrier);
    const carrier = new Choice(carriers, ground);
    const frame = carrier.rotation(pose);
    const rate = (choice: Choice, i: 0 | 1): tf.Tensor =>
      dot(
        rotate(frame, constants(rows.map(({axes}) => axes[i]))),
        difference(choice.spin(pose, twist), carrier.spin(pose, twist)),
      );
    return [tf.sub(rate(b, 1), tf.mul(numbers(rows.map(({ratio}) => ratio)), rate(a, 0)))];
  },
};

const ofVelocities: ReadonlySet<Kind> = new Set<Kind>(['rolling', 'gear']);
const kinds = Object.keys(gaps) as Kind[];

/** Names of the rows of each kind in messages. Coordinates are the world's. */
const holding: {readonly [kind in Exclude<Kind, 'custom'>]: readonly string[]} = {
  point: ['point, x', 'point, y', 'point, z'],
  angle: ['angle between axes'],
  plane: ['point in a plane'],
  distance: ['distance'],
  screw: ['pitch'],
  motor: ['angle'],
  above: ['height above the plane'],
  rolling: ['slip along the first tangent', 'slip along the second tangent'],
  gear: ['ratio'],
};

/** The rows of many joints. */
export interface JointRows {
  readonly positions: ConstraintRows | undefined;
  readonly velocities: ConstraintRows | undefined;
}

/** Rows that are of positions, or of velocities. */
export interface ConstraintRows {
  readonly count: number;
  gap(at: Instant): tf.Tensor;
  /** The rows of a joint, by its number. */
  readonly of: readonly (readonly number[])[];
  /** Names of the rows in messages. */
  readonly names: readonly string[];
}

/**
 * @param places where bodies are at the start; the ground last
 * @param which joints have rows; default all
 */
export function jointRows(
  joints: readonly (readonly [string, KnownJoint])[],
  places: (name: string) => BodyPose,
  which: ReadonlySet<number> = new Set(joints.keys()),
): JointRows {
  const ground = places('ground').index;
  const all = joints.flatMap(([, joint], owner) =>
    which.has(owner) ? rowsOf(joint, places).map(row => ({row, owner})) : [],
  );
  const collect = (velocities: boolean): ConstraintRows | undefined => {
    const of: number[][] = joints.map(() => []);
    const names: string[] = [];
    const parts: ((at: Instant) => readonly tf.Tensor[])[] = [];
    for (const kind of kinds) {
      const mine = all.filter(({row}) => row.kind === kind);
      if (mine.length === 0 || ofVelocities.has(kind) !== velocities) continue;
      const rows = mine.map(({row}) => row);
      const [a, b] = sidesOf(rows, ground);
      const gap = gaps[kind] as Gaps<Kind>;
      parts.push(at => gap(rows, {...at, a, b, ground}));
      const add = (owner: number, held: string): void => {
        of[owner].push(names.length);
        names.push(`joint '${joints[owner][0]}': ${held}`);
      };
      if (kind === 'custom')
        for (const {row, owner} of mine) for (const held of row.kind === kind ? row.own.rows : []) add(owner, held);
      else for (const held of holding[kind]) for (const {owner} of mine) add(owner, held);
    }
    if (names.length === 0) return undefined;
    return {count: names.length, of, names, gap: at => tf.concat(parts.flatMap(part => part(at)))};
  };
  return {positions: collect(false), velocities: collect(true)};
}

/** The directions by which turning about an axis is seen. */
export function turningAbout(axis: V3, a: BodyPose, b: BodyPose): Turning {
  const [first, second] = frameAlong(axis);
  return {
    firstOfA: turnedBack(a.rotation, first),
    secondOfA: turnedBack(a.rotation, second),
    firstOfB: turnedBack(b.rotation, first),
  };
}

/** The point about which a joint's torque is given, in world coordinates at the start. */
export function pointOfJoint(joint: KnownJoint, places: (name: string) => BodyPose): V3 {
  const [a, b] = [places(joint.a), places(joint.b)];
  if (joint.kind === 'distance') return joint.to;
  if (joint.kind === 'rolling') return b.position;
  if (joint.kind === 'custom') return joint.points[0];
  if ('at' in joint && joint.at !== undefined) return joint.at;
  return joint.b === 'ground' ? a.position : b.position;
}

/** The rows of a joint that leaves a sequence of freedoms. */
function rowsOfSteps(joint: SteppedJoint, places: (name: string) => BodyPose): Row[] {
  const held = heldBySteps(joint.steps, `${joint.a} – ${joint.b}`);
  const sides = [places(joint.a), places(joint.b)];
  const [from, to] = held.swapped ? sides.reverse() : sides;
  const pair: Pair = {a: from.index, b: to.index};
  const at = held.at ?? pointOfJoint(joint, places);
  const points: Points = {...pair, onA: local(from, at), onB: local(to, at)};
  const ofA = (axis: V3): V3 => turnedBack(from.rotation, axis);
  const angle = (u: V3, w: V3, cosine = 0): Row => {
    return {kind: 'angle', ...pair, ofA: ofA(u), ofB: turnedBack(to.rotation, w), cosine};
  };
  const [e, f, g] = frameAlong(held.along);
  const point: Row = {kind: 'point', ...points};
  const place =
    held.normals.length === 3 ? [point] : held.normals.map((n): Row => ({kind: 'plane', ...points, ofA: ofA(n)}));
  const turning = (turns: readonly V3[]): Row[] => {
    if (turns.length === 0) return [angle(e, f), angle(f, g), angle(g, e)];
    if (turns.length === 1) return [angle(e, g), angle(f, g)];
    return turns.length === 2 ? [angle(turns[0], turns[1], inner(turns[0], turns[1]))] : [];
  };
  const leads = joint.steps.flatMap((step): Row[] =>
    step.kind === 'screw'
      ? [{kind: 'screw', ...points, turning: turningAbout(step.axis, from, to), lead: step.lead}]
      : [],
  );
  return [...place, ...(held.turns === undefined ? [] : turning(held.turns)), ...leads];
}

function rowsOf(joint: KnownJoint, places: (name: string) => BodyPose): Row[] {
  if ('steps' in joint) return rowsOfSteps(joint, places);
  const [from, to] = [places(joint.a), places(joint.b)];
  const pair: Pair = {a: from.index, b: to.index};
  switch (joint.kind) {
    case 'motor':
      return [{kind: 'motor', ...pair, turning: turningAbout(joint.axis, from, to), angle: joint.angle}];
    case 'distance': {
      const length = joint.length ?? norm(minus(joint.to, joint.from));
      return [{kind: 'distance', ...pair, onA: local(from, joint.from), onB: local(to, joint.to), length}];
    }
    case 'rolling': {
      const ofA = (axis: V3): V3 => turnedBack(from.rotation, axis);
      const [s, t, n] = frameAlong(joint.normal);
      const rolls: Rolling = {
        ...pair,
        onA: local(from, joint.at),
        normal: ofA(n),
        tangents: [ofA(s), ofA(t)],
        radius: joint.radius,
        axis: joint.axis === undefined ? undefined : turnedBack(to.rotation, joint.axis),
      };
      return [
        {kind: 'above', ...rolls},
        {kind: 'rolling', ...rolls},
      ];
    }
    case 'custom':
      return [{kind: 'custom', own: joint, ...pair, from, to}];
    case 'gear': {
      const carrier = places(joint.carrier);
      const axes = joint.axes.map(axis => turnedBack(carrier.rotation, axis)) as unknown as [V3, V3];
      return [{kind: 'gear', ...pair, carrier: carrier.index, axes, ratio: joint.ratio}];
    }
  }
}
