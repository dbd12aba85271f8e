/**
 * Where boxes meet balls and boxes: the signed distance of a point from a box, and the faces of two boxes clipped
 * against each other, along the axis of the fifteen that keeps them furthest apart (Gottschalk, Lin & Manocha, SIGGRAPH
 * 1996; Ericson, Real-Time Collision Detection, 2005, §4.4 and §5.5).
 */
import * as tf from '@tensorflow/tfjs';
import {norm, units, type V3} from './numbers.js';
import {ballCentres, ballRadii, centreIn, type Meet, type Meeting, type Pair} from './pairs.js';
import {constants, numbers, pointOf, type SomePose} from './state.js';
import {add, cross, dot, neg, rotate, rotateBack, scale, sub, sum, type Vec} from './vectors.js';

const map3 = (f: (i: 0 | 1 | 2) => tf.Tensor): Vec => [f(0), f(1), f(2)];
const choose = (condition: tf.Tensor, a: Vec, b: Vec): Vec => map3(i => tf.where(condition, a[i], b[i]));
/** The sign, 1 for zero. */
const signOf = (x: tf.Tensor): tf.Tensor => tf.where(tf.less(x, 0), tf.fill(x.shape, -1), tf.fill(x.shape, 1));
/** 1 for the largest (the first of equal ones), 0 for the others. */
function largest(values: readonly tf.Tensor[]): tf.Tensor[] {
  const maximum = values.reduce((a, b) => tf.maximum(a, b));
  const none = tf.zerosLike(maximum);
  let taken: tf.Tensor = none;
  return values.map(value => {
    const mine = tf.where(tf.greaterEqual(value, maximum), tf.sub(1, taken), none);
    taken = tf.add(taken, mine);
    return mine;
  });
}
/** The value whose mark is 1. */
const picked = (marks: readonly tf.Tensor[], values: readonly tf.Tensor[]): tf.Tensor =>
  tf.addN(values.map((value, i) => tf.mul(marks[i], value)));
const pickedVec = (marks: readonly tf.Tensor[], values: readonly Vec[]): Vec =>
  map3(i => {
    const components = values.map(value => value[i]);
    return picked(marks, components);
  });

/**
 * A ball on a box. If the centre is outside, the distance to the nearest point of the box; if it is inside, the least
 * distance to a face, of equal ones that of the first axis.
 */
export function ballOnBox(pairs: readonly Pair[]): Meet {
  return (under, over) => {
    const centre = pointOf(over, ballCentres(pairs));
    const middle = pointOf(under, constants(pairs.map(pair => centreIn(pair.under, pair.on))));
    const x = rotateBack(under.rotation, sub(centre, middle));
    const half = constants(pairs.map(pair => pair.under.half as V3));
    const sides = map3(i => signOf(x[i]));
    const beyond = map3(i => tf.sub(tf.mul(sides[i], x[i]), half[i]));
    const outside = tf.greater(tf.maximum(beyond[0], tf.maximum(beyond[1], beyond[2])), 0);
    const from = map3(i => tf.mul(sides[i], tf.relu(beyond[i])));
    const square = dot(from, from);
    const distance = tf.sqrt(tf.where(outside, square, tf.onesLike(square)));
    const faces = largest(beyond);
    const depth = picked(faces, beyond);
    const inward = map3(i => tf.mul(faces[i], sides[i]));
    const normal = rotate(under.rotation, choose(outside, scale(tf.div(1, distance), from), inward));
    const radius = ballRadii(pairs);
    return {
      gap: tf.sub(tf.where(outside, distance, depth), radius),
      normal,
      point: sub(centre, scale(radius, normal)),
    };
  };
}

/** A box in the world: half edges h along axes. */
interface Box {
  readonly centre: Vec;
  readonly axes: readonly [Vec, Vec, Vec];
  readonly half: Vec;
}

function boxesAt(pose: SomePose, pairs: readonly Pair[], side: 'under' | 'over'): Box {
  const place = (pair: Pair) => (side === 'under' ? pair.on : pair.of);
  const axis = (i: number): Vec => rotate(pose.rotation, constants(pairs.map(() => units[i])));
  return {
    centre: pointOf(pose, constants(pairs.map(pair => centreIn(pair[side], place(pair))))),
    axes: [axis(0), axis(1), axis(2)],
    half: constants(pairs.map(pair => pair[side].half as V3)),
  };
}

/** How far a box reaches along a direction from its centre. */
const reachOf = ({axes, half}: Box, direction: Vec): tf.Tensor =>
  tf.addN(axes.map((axis, i) => tf.mul(half[i], tf.abs(dot(axis, direction)))));

// Several directions or corners of every pair are computed as one batch, all pairs for the first, then for the second:
// the time to compile a program grows with the number of its operations.
const stackedVec = (vectors: readonly Vec[]): Vec => map3(i => tf.concat(vectors.map(vector => vector[i])));
const tiled = (x: tf.Tensor, times: number): tf.Tensor => tf.tile(x, [times]);
const tiledVec = (x: Vec, times: number): Vec => map3(i => tiled(x[i], times));
const tiledBox = ({centre, axes, half}: Box, times: number): Box => ({
  centre: tiledVec(centre, times),
  axes: [tiledVec(axes[0], times), tiledVec(axes[1], times), tiledVec(axes[2], times)],
  half: tiledVec(half, times),
});
const unbatched = (x: tf.Tensor, times: number): tf.Tensor[] => tf.split(x, times);

/** The two ends of each of four edges, and four corners of the other face. */
export const boxSlots = 12;
/**
 * Two edges are in contact only if their axis separates the boxes by this share of the smallest edge more than the best
 * face does: edges of faces that lie on each other are separated by as much.
 */
const edgeGain = 1e-3;
/**
 * A face of the upper box is the reference face only if it separates the boxes more than those of the lower box, by
 * this share of the smallest edge: for boxes that lie flat on each other the choice does not alternate.
 */
const faceGain = 1e-6;
/** Edges whose angle has a smaller sine count as parallel, and their cross product is not used as an axis. */
const parallelEdges = 1e-4;
/** Faces are widened by this share, so that edges which coincide count as inside. */
const wider = 1e-9;

/**
 * A box on a box: up to eight points. The axis of largest separation, of fifteen, belongs either to a face or to two
 * edges. For a face, the opposite face is clipped by it, and the points are the corners of the result. For edges, the
 * point is where they are nearest. The gap of unused slots is as large as the boxes.
 */
export function boxOnBox(pairs: readonly Pair[]): Meet {
  const sizes = pairs.map(({under, over}) => [norm(under.half as V3), norm(over.half as V3)]);
  const smallestHalves = pairs.map(({under, over}) => Math.min(...(under.half as V3), ...(over.half as V3)));
  return (belowPose, abovePose) => {
    const [below, above] = [boxesAt(belowPose, pairs, 'under'), boxesAt(abovePose, pairs, 'over')];
    const far = numbers(sizes.map(([a, b]) => 2 * (a + b)));
    const smallest = numbers(smallestHalves);
    const apart = sub(above.centre, below.centre);
    const {belowFaces, aboveFaces, edges} = separations(below, above, apart);
    const best = (values: readonly tf.Tensor[]): tf.Tensor => values.reduce((a, b) => tf.maximum(a, b));
    const upper = tf.greater(best(aboveFaces), tf.add(best(belowFaces), tf.mul(faceGain, smallest)));
    const faced = tf.where(upper, best(aboveFaces), best(belowFaces));
    const edged = tf.greater(best(edges), tf.add(faced, tf.mul(edgeGain, smallest)));
    const faces = facesMeet(below, above, [belowFaces, aboveFaces], upper, far);
    // Two edges meet in the first point alone.
    const edge = edgesMeet(below, above, largest(edges), apart);
    const all = tiled(edged, boxSlots);
    return {
      gap: tf.where(all, tf.concat([edge.gap, tiled(far, boxSlots - 1)]), faces.gap),
      normal: choose(all, tiledVec(edge.normal, boxSlots), faces.normal),
      point: choose(all, tiledVec(edge.point, boxSlots), faces.point),
    };
  };
}

function productOf(a: Vec, b: Vec): {readonly direction: Vec; readonly askew: tf.Tensor} {
  const product = cross(a, b);
  const square = dot(product, product);
  const askew = tf.greater(square, parallelEdges ** 2);
  return {direction: scale(tf.rsqrt(tf.where(askew, square, tf.onesLike(square))), product), askew};
}

/** The separation of the boxes along the axes of both and along their cross products. */
function separations(
  below: Box,
  above: Box,
  apart: Vec,
): {
  readonly belowFaces: readonly tf.Tensor[];
  readonly aboveFaces: readonly tf.Tensor[];
  readonly edges: readonly tf.Tensor[];
} {
  const {direction, askew} = productOf(
    stackedVec(below.axes.flatMap(axis => [axis, axis, axis])),
    stackedVec([0, 1, 2].flatMap(() => above.axes)),
  );
  const directions = stackedVec([...below.axes, ...above.axes, direction]);
  const [one, other] = [tiledBox(below, 15), tiledBox(above, 15)];
  const along = tf.abs(dot(tiledVec(apart, 15), directions));
  const values = unbatched(tf.sub(along, tf.add(reachOf(one, directions), reachOf(other, directions))), 15);
  const real = unbatched(askew, 9);
  return {
    belowFaces: values.slice(0, 3),
    aboveFaces: values.slice(3, 6),
    edges: values.slice(6).map((value, i) => tf.where(real[i], value, tf.fill(value.shape, -1e30))),
  };
}

/** The nearest points of two edges. @param marks the selected pair of axes, of nine */
function edgesMeet(below: Box, above: Box, marks: readonly tf.Tensor[], apart: Vec): Meeting {
  const ofBelow = [0, 1, 2].map(i => tf.addN(marks.slice(3 * i, 3 * i + 3)));
  const ofAbove = [0, 1, 2].map(j => tf.addN([marks[j], marks[3 + j], marks[6 + j]]));
  const [a, b] = [pickedVec(ofBelow, below.axes), pickedVec(ofAbove, above.axes)];
  const {direction} = productOf(a, b);
  const normal = scale(signOf(dot(direction, apart)), direction);
  /** The middle of the edge that reaches furthest along a direction. */
  const middle = ({centre, axes, half}: Box, along: readonly tf.Tensor[], towards: Vec): Vec =>
    sum([
      centre,
      ...axes.map((axis, i) => scale(tf.mul(tf.sub(1, along[i]), tf.mul(half[i], signOf(dot(axis, towards)))), axis)),
    ]);
  const [onBelow, onAbove] = [middle(below, ofBelow, normal), middle(above, ofAbove, neg(normal))];
  const between = sub(onAbove, onBelow);
  const c = dot(a, b);
  const skew = tf.sub(1, tf.square(c));
  const safe = tf.where(tf.greater(skew, parallelEdges ** 2), skew, tf.onesLike(skew));
  // Along the upper edge, to where it is nearest to the lower.
  const along = tf.div(tf.sub(tf.mul(c, dot(a, between)), dot(b, between)), safe);
  return {gap: dot(normal, between), normal, point: add(onAbove, scale(along, b))};
}

/** Contact of a reference face with the face that is clipped by it. */
function facesMeet(
  below: Box,
  above: Box,
  [belowFaces, aboveFaces]: readonly (readonly tf.Tensor[])[],
  upper: tf.Tensor,
  far: tf.Tensor,
): Meeting {
  const either = (a: Vec, b: Vec): Vec => choose(upper, b, a);
  const axesOf = (one: Box, other: Box): [Vec, Vec, Vec] =>
    one.axes.map((axis, i) => either(axis, other.axes[i])) as [Vec, Vec, Vec];
  const clip: Box = {
    centre: either(below.centre, above.centre),
    axes: axesOf(below, above),
    half: either(below.half, above.half),
  };
  const other: Box = {
    centre: either(above.centre, below.centre),
    axes: axesOf(above, below),
    half: either(above.half, below.half),
  };
  const apart = sub(other.centre, clip.centre);
  const marks = largest(belowFaces.map((value, i) => tf.where(upper, aboveFaces[i], value)));
  const outward = pickedVec(marks, clip.axes);
  const normal = scale(signOf(dot(outward, apart)), outward);
  const turnedTo = other.axes.map(axis => dot(axis, normal));
  const facing = largest(turnedTo.map(tf.abs));
  const behind = scale(tf.neg(signOf(picked(facing, turnedTo))), pickedVec(facing, other.axes));
  const face = rectangle(clip, marks, normal);
  const opposite = rectangle(other, facing, behind);
  const {point, valid} = clipped(face, opposite, normal, behind);
  const gap = dot(tiledVec(normal, boxSlots), sub(point, tiledVec(face.centre, boxSlots)));
  // From the lower to the upper box.
  const outwards = choose(upper, neg(normal), normal);
  return {gap: tf.where(valid, gap, tiled(far, boxSlots)), normal: tiledVec(outwards, boxSlots), point};
}

/** A face: its centre, the directions of its edges, and half their lengths. */
interface Rectangle {
  readonly centre: Vec;
  readonly axes: readonly [Vec, Vec];
  readonly half: readonly [tf.Tensor, tf.Tensor];
}

/** @param marks the axis that it is at right angles to */
function rectangle({centre, axes, half}: Box, marks: readonly tf.Tensor[], outward: Vec): Rectangle {
  // The other two in cyclic order.
  const next = (by: number) => [0, 1, 2].map(i => marks[(i - by + 3) % 3]);
  return {
    centre: add(centre, scale(picked(marks, half), outward)),
    axes: [pickedVec(next(1), axes), pickedVec(next(2), axes)],
    half: [picked(next(1), half), picked(next(2), half)],
  };
}

const signs: readonly (readonly [number, number])[] = [
  [1, 1],
  [-1, 1],
  [-1, -1],
  [1, -1],
];

/** Corners of the overlap of two faces, projected along the normal of the first; the points lie on the second. */
function clipped(
  face: Rectangle,
  opposite: Rectangle,
  normal: Vec,
  behind: Vec,
): {readonly point: Vec; readonly valid: tf.Tensor} {
  const cornersOf = ({centre, axes, half}: Rectangle): Vec[] =>
    signs.map(([s, t]) => sum([centre, scale(tf.mul(s, half[0]), axes[0]), scale(tf.mul(t, half[1]), axes[1])]));
  const corners = cornersOf(opposite);
  const [from, to] = [corners, [...corners.slice(1), corners[0]]].map(stackedVec);
  const four = (x: tf.Tensor): tf.Tensor => tiled(x, 4);
  const four3 = (x: Vec): Vec => tiledVec(x, 4);
  const seen = sub(from, four3(face.centre));
  const edge = sub(to, from);
  let [enters, leaves]: [tf.Tensor, tf.Tensor] = [tf.zerosLike(seen[0]), tf.onesLike(seen[0])];
  const flat = ([0, 1] as const).map(axis => {
    const [along, half] = [four3(face.axes[axis]), four(face.half[axis])];
    const [begin, way] = [dot(along, seen), dot(along, edge)];
    const wide = tf.mul(half, 1 + wider);
    // For an edge along the border the component is rounding; the whole edge is then inside or outside.
    const threshold = tf.mul(half, wider * 1e-3);
    const safe = tf.where(tf.greater(tf.abs(way), threshold), way, threshold);
    const [one, two] = [tf.neg(wide), wide].map(border => tf.div(tf.sub(border, begin), safe));
    enters = tf.maximum(enters, tf.minimum(one, two));
    leaves = tf.minimum(leaves, tf.maximum(one, two));
    return {begin, way, half};
  });
  const there = tf.less(enters, leaves);
  const at = (t: tf.Tensor): Vec => add(from, scale(tf.where(there, t, tf.zerosLike(t)), edge));
  // Where an edge leaves by its own end, that is where the next begins.
  const ended = tf.logicalAnd(there, tf.less(leaves, 1));
  // The clipping face's corners, seen on the other.
  const own = stackedVec(cornersOf(face));
  const onto = four3(behind);
  const height = tf.div(dot(onto, sub(four3(opposite.centre), own)), dot(four3(normal), onto));
  return {
    point: stackedVec([at(enters), at(leaves), add(own, scale(height, four3(normal)))]),
    valid: tf.concat([there, ended, inside(flat)]),
  };
}

/**
 * Which corners of a face lie within four others, by more than rounding: a corner on the border is there as an end of
 * an edge.
 * @param flat along both axes of the face: where the others' edges begin, their ways, and the half edges
 */
function inside(
  flat: readonly {readonly begin: tf.Tensor; readonly way: tf.Tensor; readonly half: tf.Tensor}[],
): tf.Tensor {
  const [x, y] = flat.map(({half}, axis) => tf.concat(unbatched(half, 4).map((one, i) => tf.mul(one, signs[i][axis]))));
  const least = tf.mul(1e-6, tf.mul(flat[0].half, flat[1].half));
  const [ax, ay, bx, by] = [flat[0].begin, flat[1].begin, flat[0].way, flat[1].way].map(all => unbatched(all, 4));
  const turns = ax.map((_, i) =>
    tf.sub(tf.mul(tiled(bx[i], 4), tf.sub(y, tiled(ay[i], 4))), tf.mul(tiled(by[i], 4), tf.sub(x, tiled(ax[i], 4)))),
  );
  const all = (signed: readonly tf.Tensor[]): tf.Tensor =>
    signed.map(turn => tf.greater(turn, least)).reduce((a, b) => tf.logicalAnd(a, b));
  return tf.logicalOr(all(turns), all(turns.map(turn => tf.neg(turn))));
}
