/**
 * Minimal coordinates: a spanning tree of the joints, each with its own coordinates (Featherstone, Rigid Body Dynamics
 * Algorithms, 2008, chapter 4). How bodies move along it: tree-motion.ts.
 */
import type {BodyPose} from './bodies.js';
import type {KnownJoint} from './joints.js';
import {composed, conjugate, minus, turnedBack, type Q4, type V3} from './numbers.js';
import {pointOfJoint} from './rows.js';

/** One degree of freedom, or the three of a ball; axes in the parent's axes at the start. */
export type Freedom = (
  | {readonly kind: 'turn' | 'slide'; readonly axis: V3}
  | {readonly kind: 'screw'; readonly axis: V3; readonly lead: number}
  | {readonly kind: 'ball'}
) & {
  /** Where it acts, in the world at the start, if not where the one before it does. */
  readonly at?: V3;
  /** From where the one before it acts, in the parent's axes. */
  readonly offset?: V3;
};

/** A body, its parent, and the joint between them. */
export interface Branch {
  readonly body: number;
  /** Indices of bodies; that of the ground is their number. */
  readonly parent: number;
  /** Index of the joint; undefined for a free body. */
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
  /** The first of its numbers in q. */
  readonly position: number;
  /** The first of its velocities in v, and the one after the last. */
  readonly velocities: readonly [number, number];
  /** For each of these velocities 1 if it is a translation, 0 if it is a rotation. */
  readonly slides: readonly (0 | 1)[];
}

type Hung = Omit<Branch, 'position' | 'velocities' | 'slides'>;

/** A spanning tree, and the joints that close its loops. */
export interface BodyTree {
  readonly branches: readonly Branch[];
  /** Numbers in q and in v. */
  readonly positions: number;
  readonly velocities: number;
  /** Indices of joints that are not in the tree. */
  readonly loops: readonly number[];
  /** Where the balls' quaternions begin in q, and their angular velocities in v. */
  readonly balls: readonly {readonly q: number; readonly v: number}[];
  /** For each joint in the tree the indices of its coordinates, from a to b. */
  readonly coordinates: ReadonlyMap<number, readonly Coordinate[]>;
  /** At the start: zero, quaternions one. */
  readonly start: readonly number[];
}

/**
 * A coordinate's first number in q and in v; −1 where the tree runs from b to a, and its numbers are of a against b.
 */
export interface Coordinate {
  readonly q: number;
  readonly v: number;
  readonly sign: 1 | -1;
}

const free: readonly Freedom[] = [
  {kind: 'slide', axis: [1, 0, 0]},
  {kind: 'slide', axis: [0, 1, 0]},
  {kind: 'slide', axis: [0, 0, 1]},
  {kind: 'ball'},
];

/** @param bodies without the ground */
export function treeOf(
  bodies: readonly BodyPose[],
  joints: readonly KnownJoint[],
  places: (name: string) => BodyPose,
): BodyTree {
  const ground = places('ground');
  const reached = new Set([ground.index]);
  const loops = new Set(joints.keys());
  const branches: Hung[] = [];
  const hang = (
    parent: BodyPose,
    body: BodyPose,
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
        const freedoms = 'steps' in joint ? joint.steps : undefined;
        if (freedoms === undefined || reached.has(a.index) === reached.has(b.index)) return;
        found = true;
        const at = pointOfJoint(joint, places);
        if (reached.has(a.index)) hang(a, b, number, at, freedoms);
        else hang(b, a, number, at, [...freedoms].reverse(), true);
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

function counted(hung: readonly Hung[], loops: readonly number[]): BodyTree {
  const start: number[] = [];
  const balls: {q: number; v: number}[] = [];
  const coordinates = new Map<number, readonly Coordinate[]>();
  let velocities = 0;
  const branches = hung.map((branch): Branch => {
    const {freedoms, joint, backwards} = branch;
    const own: Coordinate[] = [];
    const [position, first] = [start.length, velocities];
    for (const {kind} of freedoms) {
      own.push({q: start.length, v: velocities, sign: backwards ? -1 : 1});
      if (kind === 'ball') balls.push({q: start.length, v: velocities});
      start.push(...(kind === 'ball' ? [1, 0, 0, 0] : [0]));
      velocities += kind === 'ball' ? 3 : 1;
    }
    if (joint !== undefined) coordinates.set(joint, backwards ? own.reverse() : own);
    const slides = freedoms.flatMap(({kind}): (0 | 1)[] => (kind === 'ball' ? [0, 0, 0] : [kind === 'slide' ? 1 : 0]));
    return {...branch, position, velocities: [first, velocities], slides};
  });
  return {branches, positions: start.length, velocities, loops, balls, coordinates, start};
}
