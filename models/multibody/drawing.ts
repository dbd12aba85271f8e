/**
 * Bodies as points with bars between them, for `animate`: from every joint's point to the centres of its bodies, and
 * the outlines of shapes: balls, capsules by their ends, boxes by their edges, ellipsoids by three ellipses, hulls by
 * their points.
 */
import * as tf from '@tensorflow/tfjs';
import type {Edge} from '../edges.js';
import type {Figure, Ground} from '../figure.js';
import type {BodyPose} from './bodies.js';
import type {KnownJoint} from './joints.js';
import {inner, local, minus, norm, turned, type V3} from './numbers.js';
import {pointOfJoint} from './rows.js';
import {cornersOf, type Shape} from './shapes.js';
import {Choice, constants, pointOf, poseOf, type Pose} from './state.js';
import type {TouchingShapes} from './pairs.js';

/** Points that ride on one body, with what joins them. */
export interface Outline {
  /** Number of the body; the ground has the number of bodies. */
  readonly body: number;
  /** From the centre, body axes. */
  readonly points: readonly V3[];
  readonly radius: number;
  readonly edges: readonly Edge[];
}

const corners = cornersOf([1, 1, 1]);
/** Corners that differ in one sign. */
const boxEdges: readonly Edge[] = corners.flatMap((a, i) =>
  corners.flatMap((b, k): Edge[] => (k > i && norm(minus(a, b)) === 2 ? [[i, k]] : [])),
);

/** The edges of a box of eight points in the order of `corners`, and the axis of a capsule. */
const edgesOf: {readonly [kind in Shape['kind']]?: readonly Edge[]} = {box: boxEdges, capsule: [[0, 1]]};

const outlineOf = (shape: Shape, {index, position, rotation}: BodyPose): Outline[] => {
  if (shape.kind === 'ellipsoid') return [ellipses(shape, {index, position, rotation})];
  const balls = shape.balls(position, axis => turned(rotation, axis));
  if (balls.length === 0) return [];
  const points = balls.map(({centre}) => local({position, rotation}, centre));
  // Corners, which have no radius, are drawn as wide as an edge, and not as the dot of a body without shapes.
  const size = Math.max(...points.map(point => norm(minus(point, points[0]))));
  const radius = balls[0].radius > 0 ? balls[0].radius : size / 100;
  return [{body: index, points, radius, edges: edgesOf[shape.kind] ?? []}];
};

/** Points of each ellipse that an ellipsoid has in its three planes: one every 30°. */
const around = 12;

function ellipses(shape: Shape, {index, position, rotation}: BodyPose): Outline {
  const [half, middle] = [shape.half as V3, local({position, rotation}, shape.at ?? position)];
  const points: V3[] = [];
  const edges: Edge[] = [];
  for (const plane of [0, 1, 2]) {
    const first = points.length;
    for (let k = 0; k < around; k++) {
      const angle = (2 * Math.PI * k) / around;
      const on = [0, 0, 0];
      on[plane] = Math.cos(angle);
      on[(plane + 1) % 3] = Math.sin(angle);
      points.push([middle[0] + on[0] * half[0], middle[1] + on[1] * half[1], middle[2] + on[2] * half[2]]);
      edges.push([first + k, first + ((k + 1) % around)]);
    }
  }
  return {body: index, points, radius: norm(half) / 100, edges};
}

/** Shapes of contacts but for planes. */
export const contactOutlines = (contacts: readonly TouchingShapes[], places: (name: string) => BodyPose): Outline[] =>
  contacts.flatMap(({a, b, shapes}) => [a, b].flatMap((name, side) => outlineOf(shapes[side], places(name))));

/** Planes of contacts with the ground, each once. */
export function groundOf(contacts: readonly TouchingShapes[]): Ground[] {
  const found = contacts.flatMap(({a, b, shapes}) =>
    [a, b].flatMap((name, side): Ground[] => {
      const {at, normal, kind} = shapes[side];
      if (name !== 'ground' || kind !== 'plane' || at === undefined || normal === undefined) return [];
      return [{normal, offset: inner(normal, at)}];
    }),
  );
  return [...new Map(found.map(one => [JSON.stringify(one), one])).values()];
}

/** Shapes by the names of bodies. @throws OptionError 'unknown-body' */
export const outlinesOf = (
  shapes: {readonly [body: string]: readonly Shape[]},
  places: (name: string) => BodyPose,
): Outline[] => Object.entries(shapes).flatMap(([name, own]) => own.flatMap(shape => outlineOf(shape, places(name))));

/**
 * @param barred bodies that are drawn by bars from their centres to their joints
 * @param pose of all bodies, at a state
 */
export function figureOf(
  bodies: number,
  joints: readonly KnownJoint[],
  barred: ReadonlySet<number>,
  outlines: readonly Outline[],
  places: (name: string) => BodyPose,
  pose: (q: tf.Tensor) => tf.Tensor,
  ground: readonly Ground[],
): Figure {
  // The centres of bodies that have shapes are marked only where bars lead to them.
  const shaped = new Set(outlines.map(outline => outline.body));
  const linked = new Set(joints.flatMap(({a, b}) => [a, b].map(name => places(name).index)).filter(i => barred.has(i)));
  const body: number[] = Array.from({length: bodies}, (_, i) => i).filter(i => linked.has(i) || !shaped.has(i));
  const arms: V3[] = body.map(() => [0, 0, 0]);
  const radius = body.map(() => 0);
  const rods: Edge[] = [];
  const fixed: number[] = [];
  const mark = (index: number, at: V3, size: number): number => {
    radius.push(size);
    arms.push(at);
    return body.push(index) - 1;
  };
  for (const joint of joints) {
    const [a, b] = [places(joint.a), places(joint.b)];
    if (![a, b].some(({index}) => barred.has(index))) continue;
    const side = joint.b === 'ground' ? a : b;
    const at = mark(side.index, local(side, pointOfJoint(joint, places)), 0);
    for (const {index} of [a, b]) if (barred.has(index)) rods.push([at, body.indexOf(index)]);
    // Where a joint with the ground holds its point, that is drawn as a support.
    if (
      (a.index === bodies || b.index === bodies)
      && ['revolute', 'spherical', 'universal', 'fixed'].includes(joint.kind)
    )
      fixed.push(at);
  }
  for (const {body: index, points, radius: size, edges} of outlines) {
    const first = body.length;
    points.forEach(point => mark(index, point, size));
    for (const [i, k] of edges) rods.push([first + i, first + k]);
  }
  const riders = new Choice(body, bodies);
  return {
    points: ({q}) => {
      const all: Pose = poseOf(pose(q));
      return tf.stack([...pointOf(riders.pose(all), constants(arms))], 1);
    },
    rods,
    fixed,
    radius,
    ground,
  };
}
