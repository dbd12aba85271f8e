/**
 * Where round shapes meet: balls on planes, on balls and on capsules, capsules on capsules, ellipsoids on planes
 * (C. Ericson, Real-Time Collision Detection, 2005, §5.1).
 */
import * as tf from '@tensorflow/tfjs';
import {inner, local, minus, plus, scaled, turnedBack, type V3} from './numbers.js';
import {
  ballCentres,
  ballOf,
  ballRadii,
  ballsIn,
  centreIn,
  joined,
  joinedShares,
  type Meet,
  type Meeting,
  type Pair,
} from './pairs.js';
import {constants, numbers, pointOf, type SomePose} from './state.js';
import {add, cross, dot, length, rotate, rotateBack, scale, sub, type Vec} from './vectors.js';

/** Contact of balls whose centres are at a distance from a point or a plane. */
function round(centre: Vec, distance: tf.Tensor, normal: Vec, radius: tf.Tensor, reach: tf.Tensor): Meeting {
  return {gap: tf.sub(distance, reach), normal, point: sub(centre, scale(radius, normal))};
}

export function ballOnPlane(pairs: readonly Pair[]): Meet {
  return (under, over) => {
    const centre = pointOf(over, ballCentres(pairs));
    const {foot, normal} = planeAt(pairs, under);
    const radius = ballRadii(pairs);
    return round(centre, dot(normal, sub(centre, foot)), normal, radius, radius);
  };
}

/** A point of each plane, and its normal. */
function planeAt(pairs: readonly Pair[], under: SomePose): {readonly foot: Vec; readonly normal: Vec} {
  return {
    foot: pointOf(under, constants(pairs.map(({on, under: {at}}) => local(on, at as V3)))),
    normal: rotate(
      under.rotation,
      constants(pairs.map(({on, under: {normal}}) => turnedBack(on.rotation, normal as V3))),
    ),
  };
}

export function ballOnBall(pairs: readonly Pair[]): Meet {
  const below = pairs.map(({under, on}) => ballsIn(under, on)[0]);
  return (under, over) => {
    const centre = pointOf(over, ballCentres(pairs));
    const apart = sub(centre, pointOf(under, constants(below.map(ball => ball.centre))));
    const distance = length(apart);
    const reach = numbers(pairs.map((pair, i) => ballOf(pair).radius + below[i].radius));
    return round(centre, distance, scale(tf.div(1, distance), apart), ballRadii(pairs), reach);
  };
}

/** Axes of capsules: their middles and half their lengths as vectors, in the axes of their bodies. */
class Segments {
  private readonly middles: readonly V3[];
  private readonly halves: readonly V3[];
  readonly radii: readonly number[];
  constructor(ends: readonly (readonly {readonly centre: V3; readonly radius: number}[])[]) {
    this.middles = ends.map(([a, b]) => scaled(0.5, plus(a.centre, b.centre)));
    this.halves = ends.map(([a, b]) => scaled(0.5, minus(b.centre, a.centre)));
    this.radii = ends.map(([{radius}]) => radius);
  }
  /** 1/a² of the half axes a. Zero for a capsule without length, whose only point is the middle. */
  inverses(): tf.Tensor {
    return numbers(this.halves.map(half => (inner(half, half) > 0 ? 1 / inner(half, half) : 0)));
  }
  squares(): tf.Tensor {
    return numbers(this.halves.map(half => inner(half, half)));
  }
  at(pose: SomePose): {readonly middle: Vec; readonly half: Vec} {
    return {middle: pointOf(pose, constants(this.middles)), half: rotate(pose.rotation, constants(this.halves))};
  }
}

/** To [−1, 1]: from one end of an axis to the other. */
const within = (x: tf.Tensor): tf.Tensor => tf.maximum(tf.minimum(x, 1), -1);

/** Places within [−1, 1], with those that differ from an end by rounding moved to that end (`level`). */
function toEnds(x: tf.Tensor): tf.Tensor {
  const one = tf.onesLike(x);
  return tf.where(tf.greater(x, 1 - level), one, tf.where(tf.less(x, level - 1), tf.neg(one), x));
}

export function ballOnSegment(pairs: readonly Pair[]): Meet {
  const segments = new Segments(pairs.map(({under, on}) => ballsIn(under, on)));
  return (under, over) => {
    const centre = pointOf(over, ballCentres(pairs));
    const {middle, half} = segments.at(under);
    const along = within(tf.mul(segments.inverses(), dot(half, sub(centre, middle))));
    const apart = sub(centre, add(middle, scale(along, half)));
    const distance = length(apart);
    const reach = numbers(pairs.map((pair, i) => ballOf(pair).radius + segments.radii[i]));
    return round(centre, distance, scale(tf.div(1, distance), apart), ballRadii(pairs), reach);
  };
}

/** The nearest points of two axes, and every end of either with what of the other is nearest to it. */
export const segmentSlots = 5;
/** Sines squared of the angle between axes that count as parallel: below it, the crossing of the axes is rounding. */
const parallel = 1e-10;
/**
 * The nearest points of parallel axes may be anywhere along them, and jump from end to end with the tilt's sign: there
 * the ends carry what lies on them. Rigid contacts have the first point lifted away by the radii's sum times (1 −
 * sin²θ/narrow)₊², which has one derivative where it vanishes. Logs that cross at less than 10⁻³ then touch by their
 * ends first: the gap is wrong by L² · 10⁻⁶/(8 d) at most, with the length L and the axes' distance d, 0.6 µm of two
 * logs 1 m long and 0.2 m apart.
 */
const narrow = 1e-6;
/**
 * In contacts that yield each point has its stiffness, and one that is lifted away would take the energy of its spring
 * along. The first one has the share 1 − (1 − sin²θ/wide)₊² of the stiffness instead. It goes from end to end while the
 * tilt changes by sin²θ L/d, and so resists tilts with up to 2 F d/wide under a load of F. With 10⁻³, an angle of 0.03,
 * and d = 0.2 m that is about as much as the ends of logs 1 m long resist where they are 1 mm deep: (3/8) F L²/δ.
 * Narrower, it would be the stiffest of all.
 */
const wide = 1e-3;
/**
 * Places so near to an end are that end. Where ends are level with each other, rounding would decide for each whether
 * its nearest point is an end, and derivatives would be of no side; so they are those of the balls there. A few hundred
 * times the rounding of places; gaps are wrong by its square.
 */
const level = 1e-12;

/** @param yields whether each point has a stiffness, of which it may have a share */
export function segmentOnSegment(pairs: readonly Pair[], yields: boolean): Meet {
  const lower = new Segments(pairs.map(({under, on}) => ballsIn(under, on)));
  const upper = new Segments(pairs.map(({over, of}) => ballsIn(over, of)));
  const reach = pairs.map((_, i) => lower.radii[i] + upper.radii[i]);
  return (under, over) => {
    const [a, b] = [lower.at(under), upper.at(over)];
    const [ofLower, ofUpper] = [lower.inverses(), upper.inverses()];
    const [pq, w] = [dot(a.half, b.half), sub(a.middle, b.middle)];
    const [pw, qw] = [dot(a.half, w), dot(b.half, w)];
    // By the product of the axes, whose length at small angles is not a difference of large numbers.
    const across = cross(a.half, b.half);
    const determinant = dot(across, across);
    const sine2 = tf.mul(determinant, tf.mul(ofLower, ofUpper));
    const askew = tf.greater(sine2, parallel);
    const crossing = tf.div(dot(across, cross(b.half, w)), tf.where(askew, determinant, tf.onesLike(determinant)));
    /** The nearest of one axis to a place of the other. */
    const onUpper = (s: tf.Tensor): tf.Tensor => toEnds(tf.mul(ofUpper, tf.add(tf.mul(s, pq), qw)));
    const onLower = (t: tf.Tensor): tf.Tensor => toEnds(tf.mul(ofLower, tf.sub(tf.mul(t, pq), pw)));
    // For parallel axes, from the middle of the lower.
    const first = onUpper(tf.where(askew, within(crossing), tf.zerosLike(crossing)));
    const ends = [-1, 1].map(end => tf.fill(pq.shape, end));
    const places = [[onLower(first), first], ...ends.map(t => [onLower(t), t]), ...ends.map(s => [s, onUpper(s)])];
    const [nearest, ...atEnds] = places.map(([s, t]) => {
      const centre = add(b.middle, scale(t, b.half));
      const apart = sub(centre, add(a.middle, scale(s, a.half)));
      const distance = length(apart);
      return round(centre, distance, scale(tf.div(1, distance), apart), numbers(upper.radii), numbers(reach));
    });
    const below = (limit: number): tf.Tensor => tf.relu(tf.sub(1, tf.div(sine2, limit)));
    if (!yields) {
      const lifted = tf.add(nearest.gap, tf.mul(numbers(reach), tf.square(below(narrow))));
      return joined([{...nearest, gap: lifted}, ...atEnds]);
    }
    // Where the upper axis turns by φ, sin²θ changes by 2 (a·b)(a × b)·φ/(a² b²).
    const slope = tf.mul(4 / wide, tf.mul(below(wide), tf.mul(pq, tf.mul(ofLower, ofUpper))));
    const none = tf.zerosLike(pq);
    const whole = atEnds.map(() => ({weight: tf.onesLike(pq), slope: [none, none, none] as Vec}));
    return {
      ...joined([nearest, ...atEnds]),
      share: joinedShares([{weight: tf.sub(1, tf.square(below(wide))), slope: scale(slope, across)}, ...whole]),
    };
  };
}

/**
 * With half axes a and the plane's normal m in its axes, an ellipsoid reaches √Σ(aᵢ mᵢ)² from its centre, and touches
 * at −aᵢ² mᵢ over that.
 */
export function ellipsoidOnPlane(pairs: readonly Pair[]): Meet {
  return (under, over) => {
    const {foot, normal} = planeAt(pairs, under);
    const half = constants(pairs.map(pair => pair.over.half as V3));
    const middle = constants(pairs.map(pair => centreIn(pair.over, pair.of)));
    const stretched = rotateBack(over.rotation, normal).map((m, i) => tf.mul(half[i], m)) as unknown as Vec;
    const reach = length(stretched);
    const support = stretched.map((x, i) => tf.div(tf.mul(half[i], x), reach)) as unknown as Vec;
    return {
      gap: tf.sub(dot(normal, sub(pointOf(over, middle), foot)), reach),
      normal,
      point: pointOf(over, sub(middle, support)),
    };
  };
}
