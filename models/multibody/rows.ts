/**
 * The constraint equations of joints on poses and velocities, of all joints at once: rows of one kind are one batch of
 * tensors, whatever their number. Kinds are the primitive constraints of Haug (1989, §9.4): points that coincide,
 * directions that keep their angle, a point that stays in a plane, a distance; and those of screws, drives, wheels and
 * gears.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/index.js';
import {compoundRows} from './compound.js';
import {customGap, type CustomJoint} from './custom-joint.js';
import type {Angle, KnownJoint} from './joints.js';
import type {V3} from './numbers.js';
import {frameAlong, inner, minus, norm, outer, turnedBack} from './numbers.js';
import type {Place} from './bodies.js';
import {Choice, constants, difference, pointOf, pointVelocity, sidesOf, type Instant, type Pose} from './state.js';
import {add, dot, length, rotate, rotateBack, scale, sub, type Vec} from './vectors.js';

/** Numbers of bodies, the ground's included. */
interface Pair {
  readonly a: number;
  readonly b: number;
}
/** The same point at the start, in each body's axes from its centre. */
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
  | ({readonly kind: 'screw'; readonly turning: Turning; readonly pitch: number} & Points)
  | ({readonly kind: 'motor'; readonly turning: Turning; readonly angle: Angle} & Pair)
  | {readonly kind: 'custom'; readonly own: CustomJoint; readonly a: Place; readonly b: Place}
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
  /** Of a wheel, body axes of b. */
  readonly axis: V3 | undefined;
}

type Kind = Row['kind'];
type RowOf<K extends Kind> = Extract<Row, {kind: K}>;

/** [rows]: zero where the constraint holds. */
type Gaps<K extends Kind> = (rows: readonly RowOf<K>[], ground: number) => (at: Instant) => tf.Tensor[];

/** From the point of a to that of b, world axes. */
function separations(rows: readonly Points[], ground: number): (pose: Pose) => Vec {
  const [a, b] = sidesOf(rows, ground);
  return pose => {
    const onA = constants(rows.map(row => row.onA));
    const onB = constants(rows.map(row => row.onB));
    return sub(pointOf(b.pose(pose), onB), pointOf(a.pose(pose), onA));
  };
}

/** Cosine and sine of the angles by which b has turned. */
export function turns(
  rows: readonly (Pair & {readonly turning: Turning})[],
  ground: number,
): (pose: Pose) => [tf.Tensor, tf.Tensor] {
  const [a, b] = sidesOf(rows, ground);
  return pose => {
    const side = a.rotation(pose);
    const of = (name: keyof Turning): Vec => constants(rows.map(row => row.turning[name]));
    const other = rotate(b.rotation(pose), of('firstOfB'));
    return [dot(rotate(side, of('firstOfA')), other), dot(rotate(side, of('secondOfA')), other)];
  };
}

const numbers = (values: readonly number[]): tf.Tensor => constantTensor(Float64Array.from(values), [values.length]);

/** From the centre of what rolls to the point of contact, and the normal: world axes. */
function contact(
  rows: readonly Rolling[],
  pose: Pose,
  a: Choice,
  b: Choice,
): {arm: Vec; normal: Vec; height: tf.Tensor} {
  const side = a.pose(pose);
  const normal = rotate(side.rotation, constants(rows.map(row => row.normal)));
  const centre = difference(b.position(pose), pointOf(side, constants(rows.map(row => row.onA))));
  const axis = rotate(b.rotation(pose), constants(rows.map(row => row.axis ?? [0, 0, 0])));
  // Down the wheel: against the normal, across its axis. A ball has none, and is as deep everywhere.
  const down = sub(scale(dot(normal, axis), axis), normal);
  const arm = scale(tf.div(numbers(rows.map(row => row.radius)), length(down)), down);
  return {arm, normal, height: tf.add(dot(normal, centre), dot(normal, arm))};
}

/**
 * One tensor [rows] for each equation of a row, as some kinds have several; of custom joints one tensor for each joint.
 */
const gaps: {readonly [K in Kind]: Gaps<K>} = {
  point: (rows, ground) => {
    const separation = separations(rows, ground);
    return ({pose}) => [...separation(pose)];
  },
  angle: (rows, ground) => {
    const [a, b] = sidesOf(rows, ground);
    return ({pose}) => {
      const u = rotate(a.rotation(pose), constants(rows.map(row => row.ofA)));
      const w = rotate(b.rotation(pose), constants(rows.map(row => row.ofB)));
      return [tf.sub(dot(u, w), numbers(rows.map(({cosine}) => cosine)))];
    };
  },
  plane: (rows, ground) => {
    const separation = separations(rows, ground);
    const [a] = sidesOf(rows, ground);
    return ({pose}) => [dot(rotate(a.rotation(pose), constants(rows.map(row => row.ofA))), separation(pose))];
  },
  // (|d|² − l²)/(2l) is |d| − l to first order: the multiplier is the force along the rod.
  distance: (rows, ground) => {
    const separation = separations(rows, ground);
    return ({pose}) => {
      const d = separation(pose);
      const l = numbers(rows.map(row => row.length));
      return [tf.div(tf.sub(dot(d, d), tf.square(l)), tf.mul(2, l))];
    };
  },
  custom: (rows, ground) => {
    const all = rows.map(({own, a, b}) => customGap(own, a, b, ground));
    return at => all.map(gap => gap(at));
  },
  // The sine of the difference of rotation and advance: it has no jump after a full turn, as the angle itself has.
  screw: (rows, ground) => {
    const separation = separations(rows, ground);
    const [a] = sidesOf(rows, ground);
    const turn = turns(rows, ground);
    return ({pose}) => {
      const axis = constants(rows.map(({turning}) => outer(turning.firstOfA, turning.secondOfA)));
      const lead = numbers(rows.map(({pitch}) => pitch / (2 * Math.PI)));
      const advance = tf.div(dot(rotate(a.rotation(pose), axis), separation(pose)), lead);
      const [c, s] = turn(pose);
      return [tf.mul(lead, tf.sub(tf.mul(s, tf.cos(advance)), tf.mul(c, tf.sin(advance))))];
    };
  },
  motor: (rows, ground) => {
    const turn = turns(rows, ground);
    return ({pose, t, params}) => {
      const angle = tf.stack(rows.map(row => tf.reshape(row.angle({t, params}), [])));
      const [c, s] = turn(pose);
      return [tf.sub(tf.mul(s, tf.cos(angle)), tf.mul(c, tf.sin(angle)))];
    };
  },
  above: (rows, ground) => {
    const [a, b] = sidesOf(rows, ground);
    return ({pose}) => [contact(rows, pose, a, b).height];
  },
  rolling: (rows, ground) => {
    const [a, b] = sidesOf(rows, ground);
    return ({pose, twist}) => {
      const {arm} = contact(rows, pose, a, b);
      const here = b.pose(pose);
      const there = a.pose(pose);
      const touching = add(here.position as Vec, arm);
      const own = pointVelocity(here, b.twist(twist), rotateBack(here.rotation, arm));
      const under = rotateBack(there.rotation, difference(touching, there.position));
      const slip = difference(own, pointVelocity(there, a.twist(twist), under));
      return [0, 1].map(i => dot(rotate(there.rotation, constants(rows.map(({tangents}) => tangents[i]))), slip));
    };
  },
  gear: (rows, ground) => {
    const [a, b] = sidesOf(rows, ground);
    const carrier = new Choice(
      rows.map(row => row.carrier),
      ground,
    );
    return ({pose, twist}) => {
      const frame = carrier.rotation(pose);
      const rate = (choice: Choice, i: 0 | 1): tf.Tensor =>
        dot(
          rotate(frame, constants(rows.map(({axes}) => axes[i]))),
          difference(choice.spin(pose, twist), carrier.spin(pose, twist)),
        );
      return [tf.sub(rate(b, 1), tf.mul(numbers(rows.map(({ratio}) => ratio)), rate(a, 0)))];
    };
  },
};

const ofVelocities: ReadonlySet<Kind> = new Set<Kind>(['rolling', 'gear']);
const kinds = Object.keys(gaps) as Kind[];

/** What a row holds, for messages; of kinds with several rows by row. Coordinates are the world's. */
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
  readonly positions: Rows | undefined;
  readonly velocities: Rows | undefined;
}

/** Rows that are of positions, or of velocities. */
export interface Rows {
  readonly count: number;
  gap(at: Instant): tf.Tensor;
  /** The rows of a joint, by its number. */
  readonly of: readonly (readonly number[])[];
  /** What messages call each row. */
  readonly names: readonly string[];
}

/**
 * @param places where bodies are at the start; the ground last
 * @param which joints have rows; default all
 */
export function jointRows(
  joints: readonly (readonly [string, KnownJoint])[],
  places: (name: string) => Place,
  which: ReadonlySet<number> = new Set(joints.keys()),
): JointRows {
  const ground = places('ground').index;
  const all = joints.flatMap(([, joint], owner) =>
    which.has(owner) ? rowsOf(joint, places).map(row => ({row, owner})) : [],
  );
  const collect = (velocities: boolean): Rows | undefined => {
    const of: number[][] = joints.map(() => []);
    const names: string[] = [];
    const parts: ((at: Instant) => tf.Tensor[])[] = [];
    for (const kind of kinds) {
      const mine = all.filter(({row}) => row.kind === kind);
      if (mine.length === 0 || ofVelocities.has(kind) !== velocities) continue;
      parts.push(
        (gaps[kind] as (rows: readonly Row[], ground: number) => (at: Instant) => tf.Tensor[])(
          mine.map(({row}) => row),
          ground,
        ),
      );
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

/** In the axes of a body, from its centre. */
const local = ({position, rotation}: Place, point: V3): V3 => turnedBack(rotation, minus(point, position));

/** The directions by which turning about an axis is seen. */
export function turningAbout(axis: V3, a: Place, b: Place): Turning {
  const [first, second] = frameAlong(axis);
  return {
    firstOfA: turnedBack(a.rotation, first),
    secondOfA: turnedBack(a.rotation, second),
    firstOfB: turnedBack(b.rotation, first),
  };
}

/** The point about which a joint's torque is given, in world coordinates at the start. */
export function pointOfJoint(joint: KnownJoint, places: (name: string) => Place): V3 {
  const [a, b] = [places(joint.a), places(joint.b)];
  if (joint.kind === 'distance') return joint.to;
  if (joint.kind === 'rolling') return b.position;
  if (joint.kind === 'custom') return joint.points[0];
  if ('at' in joint && joint.at !== undefined) return joint.at;
  return joint.b === 'ground' ? a.position : b.position;
}

function rowsOf(joint: KnownJoint, places: (name: string) => Place): Row[] {
  const compound = joint.kind === 'compound' ? compoundRows(joint.steps, `${joint.a} – ${joint.b}`) : undefined;
  const sides = [places(joint.a), places(joint.b)];
  const [from, to] = compound?.swapped === true ? sides.reverse() : sides;
  const pair: Pair = {a: from.index, b: to.index};
  const points = (at: V3, other = at): Points => ({...pair, onA: local(from, at), onB: local(to, other)});
  const ofA = (axis: V3): V3 => turnedBack(from.rotation, axis);
  const ofB = (axis: V3): V3 => turnedBack(to.rotation, axis);
  const at = compound?.at ?? pointOfJoint(joint, places);
  const point = (): Row => ({kind: 'point', ...points(at)});
  const perpendicular = (u: V3, w: V3): Row => ({kind: 'angle', ...pair, ofA: ofA(u), ofB: ofB(w), cosine: 0});
  const plane = (u: V3): Row => ({kind: 'plane', ...points(at), ofA: ofA(u)});
  const between = (u: V3, w: V3): Row => ({kind: 'angle', ...pair, ofA: ofA(u), ofB: ofB(w), cosine: inner(u, w)});
  const [e, f, g] = frameAlong(
    compound?.turns?.[0] ?? ('axis' in joint && joint.axis !== undefined ? joint.axis : [0, 0, 1]),
  );
  const parallel = (): Row[] => [perpendicular(e, g), perpendicular(f, g)];
  const alike = (): Row[] => [perpendicular(e, f), perpendicular(f, g), perpendicular(g, e)];
  switch (joint.kind) {
    case 'revolute':
      return [point(), ...parallel()];
    case 'spherical':
      return [point()];
    case 'prismatic':
      return [plane(e), plane(f), ...alike()];
    case 'cylindrical':
      return [plane(e), plane(f), ...parallel()];
    case 'planar':
      return [plane(g), ...parallel()];
    case 'fixed':
      return [point(), ...alike()];
    case 'universal':
      return [point(), between(...joint.axes)];
    case 'compound': {
      const {normals, turns} = compound as NonNullable<typeof compound>;
      const place = normals.length === 3 ? [point()] : normals.map(plane);
      const turning = [alike, parallel, (): Row[] => [between(turns?.[0] as V3, turns?.[1] as V3)], (): Row[] => []];
      return [...place, ...turning[turns?.length ?? 3]()];
    }
    case 'screw':
      return [
        plane(e),
        plane(f),
        ...parallel(),
        {kind: 'screw', ...points(at), turning: turningAbout(joint.axis, from, to), pitch: joint.pitch},
      ];
    case 'motor':
      return [{kind: 'motor', ...pair, turning: turningAbout(joint.axis, from, to), angle: joint.angle}];
    case 'distance':
      return [
        {kind: 'distance', ...points(joint.from, joint.to), length: joint.length ?? norm(minus(joint.to, joint.from))},
      ];
    case 'rolling': {
      const [s, t, n] = frameAlong(joint.normal);
      const rolls: Rolling = {
        ...pair,
        onA: local(from, joint.at),
        normal: ofA(n),
        tangents: [ofA(s), ofA(t)],
        radius: joint.radius,
        axis: joint.axis === undefined ? undefined : ofB(joint.axis),
      };
      return [
        {kind: 'above', ...rolls},
        {kind: 'rolling', ...rolls},
      ];
    }
    case 'custom':
      return [{kind: 'custom', own: joint, a: from, b: to}];
    case 'gear': {
      const carrier = places(joint.carrier);
      const axes = joint.axes.map(axis => turnedBack(carrier.rotation, axis)) as unknown as [V3, V3];
      return [{kind: 'gear', ...pair, carrier: carrier.index, axes, ratio: joint.ratio}];
    }
  }
}
