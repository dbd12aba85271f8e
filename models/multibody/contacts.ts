/**
 * Contacts that yield: a normal force after Hunt & Crossley (J. Appl. Mech. 42, 1975), k δ^(3/2) (1 + (3/2) c δ') where
 * that is positive, and Coulomb's friction smoothed at small slip, −μ N w/√(|w|² + w₀²). Spheres, capsules and boxes
 * on planes (a capsule touches by the ends of its axis, a box by its corners: exact for planes) and spheres on spheres.
 */
import * as tf from '@tensorflow/tfjs';
import {any, positive, refuseUnknownOptions, requireValue} from '../../lib/checks.js';
import {constantTensor, OptionError} from '../../lib/index.js';
import type {Coefficient} from '../coefficient.js';
import type {Place} from './bodies.js';
import {column, type ForceGroup, type Instant} from './force-groups.js';
import {minus, plus, requireDirection, requireVector, scaled, turned, turnedBack, type V3} from './numbers.js';
import {Choice, constants, difference, pointOf, pointVelocity, type Wrench} from './state.js';
import {add, cross, dot, length, neg, rotate, rotateBack, scale, sub, type Vec} from './vectors.js';

/** Made by `sphere`, `capsule`, `box`, `plane`. */
export interface Shape {
  readonly kind: 'sphere' | 'capsule' | 'box' | 'plane';
  /** Balls of which the shape is the hull, with their centres in world coordinates at the start; of a plane none. */
  readonly balls: (centre: readonly [number, number, number], turned: Turned) => readonly Ball[];
  /** A point of a plane and its normal, world coordinates at the start. */
  readonly at?: readonly [number, number, number];
  readonly normal?: readonly [number, number, number];
}

/** From body axes to world axes at the start. */
export type Turned = (a: readonly [number, number, number]) => readonly [number, number, number];

/** A centre in world coordinates at the start, and a radius. */
export interface Ball {
  readonly centre: readonly [number, number, number];
  readonly radius: number;
}

/** Made by `contact`. */
export interface BodyContact {
  readonly a: string;
  readonly b: string;
  readonly shapes: readonly [Shape, Shape];
  readonly stiffness: Coefficient;
  readonly dissipation: Coefficient;
  readonly friction: Coefficient;
  readonly slip: Coefficient;
}

type Point = readonly [number, number, number];

/**
 * A ball.
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function sphere(spec: {readonly radius: number; readonly at?: Point}): Shape {
  refuseUnknownOptions(spec, {radius: any, at: any}, 'sphere', 'bad-multibody');
  requireValue(spec.radius, positive, 'sphere: radius', 'bad-multibody');
  const at = spec.at === undefined ? undefined : requireVector(spec.at, 'sphere: at');
  return {kind: 'sphere', balls: centre => [{centre: at ?? centre, radius: spec.radius}]};
}

/**
 * A cylinder with half balls at its ends; `from` and `to` are the ends of its axis, in world coordinates at the start.
 * @throws OptionError 'bad-multibody'
 */
export function capsule(spec: {readonly radius: number; readonly from: Point; readonly to: Point}): Shape {
  refuseUnknownOptions(spec, {radius: any, from: any, to: any}, 'capsule', 'bad-multibody');
  requireValue(spec.radius, positive, 'capsule: radius', 'bad-multibody');
  const {radius} = spec;
  const ends = [requireVector(spec.from, 'capsule: from'), requireVector(spec.to, 'capsule: to')];
  return {kind: 'capsule', balls: () => ends.map(centre => ({centre, radius}))};
}

/**
 * A box along the axes of its body.
 * @param spec.size of its edges [length]
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function box(spec: {readonly size: Point; readonly at?: Point}): Shape {
  refuseUnknownOptions(spec, {size: any, at: any}, 'box', 'bad-multibody');
  const half = scaled(0.5, requireVector(spec.size, 'box: size'));
  if (!half.every(x => x > 0)) throw new OptionError('bad-multibody', 'box: size must be three positive lengths.');
  const at = spec.at === undefined ? undefined : requireVector(spec.at, 'box: at');
  const corners = [-1, 1].flatMap(x => [-1, 1].flatMap(y => [-1, 1].map((z): V3 => [x, y, z])));
  return {
    kind: 'box',
    balls: (centre, turn) =>
      corners.map(sign => ({
        centre: plus(at ?? centre, turn([sign[0] * half[0], sign[1] * half[1], sign[2] * half[2]])),
        radius: 0,
      })),
  };
}

/**
 * All that lies behind a plane.
 * @param spec.at a point of it, in world coordinates at the start; default the origin
 * @param spec.normal out of what is solid; default [0, 0, 1]
 * @throws OptionError 'bad-multibody'
 */
export function plane(spec: {readonly at?: Point; readonly normal?: Point} = {}): Shape {
  refuseUnknownOptions(spec, {at: any, normal: any}, 'plane', 'bad-multibody');
  return {
    kind: 'plane',
    balls: () => [],
    at: requireVector(spec.at ?? [0, 0, 0], 'plane: at'),
    normal: requireDirection(spec.normal ?? [0, 0, 1], 'plane: normal'),
  };
}

/**
 * Contact of a shape of a with one of b. Each corner of a box and each end of a capsule has the stiffness to itself.
 * @param spec.shapes of a and of b: a plane and anything but a plane, or two spheres
 * @param spec.stiffness k of k δ^(3/2) [force / length^(3/2)]
 * @param spec.dissipation c [time / length]: a ball that lands with a small speed w is thrown back with about (1 − c w) w; default 0
 * @param spec.friction μ; default 0
 * @param spec.slip w₀ [length / time]: below it friction is less than Coulomb's, so that what should stick creeps with
 *   w₀ s/√(1 − s²), s the share of μN that is asked for; from 22 w₀ on it is Coulomb's to one part in a thousand. Default 10⁻³
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function contact(
  a: string,
  b: string,
  spec: {
    readonly shapes: readonly [Shape, Shape];
    readonly stiffness: Coefficient;
    readonly dissipation?: Coefficient;
    readonly friction?: Coefficient;
    readonly slip?: Coefficient;
  },
): BodyContact {
  refuseUnknownOptions(
    spec,
    {shapes: any, stiffness: any, dissipation: any, friction: any, slip: any},
    'contact',
    'bad-multibody',
  );
  const {shapes, stiffness, dissipation = 0, friction = 0, slip = 1e-3} = spec;
  const [one, other] = [shapes?.[0]?.kind, shapes?.[1]?.kind];
  const planes = [one, other].filter(kind => kind === 'plane').length;
  if (!(planes === 1 || (one === 'sphere' && other === 'sphere')))
    throw new OptionError(
      'bad-multibody',
      `contact: ${String(one)} on ${String(other)} is not known; give a plane and a sphere, capsule or box, or two spheres.`,
    );
  return {a, b, shapes, stiffness, dissipation, friction, slip};
}

/** A ball of one body on a plane, or on a ball, of another. */
interface Touch {
  readonly contact: BodyContact;
  readonly on: Place;
  readonly of: Place;
  readonly ball: Ball;
  /** A plane's point and normal, or a ball's centre, in the world at the start; its radius, 0 for a plane. */
  readonly at: V3;
  readonly normal: V3 | undefined;
  readonly radius: number;
}

/** @throws OptionError 'unknown-body' */
export function contactGroups(
  contacts: readonly BodyContact[],
  places: (name: string, asked: string) => Place,
): ForceGroup[] {
  const touches = contacts.flatMap((given): Touch[] => {
    const [a, b] = [places(given.a, 'a contact'), places(given.b, 'a contact')];
    const first = given.shapes[1].kind === 'plane';
    const [on, of] = first ? [b, a] : [a, b];
    const [under, over] = first ? [given.shapes[1], given.shapes[0]] : given.shapes;
    const ballsOf = (shape: Shape, place: Place): readonly Ball[] =>
      shape.balls(place.position, axis => turned(place.rotation, axis));
    const [ball] = ballsOf(under, on);
    return ballsOf(over, of).map(own => ({
      contact: given,
      on,
      of,
      ball: own,
      at: under.at ?? ball.centre,
      normal: under.normal,
      radius: under.normal === undefined ? ball.radius : 0,
    }));
  });
  const ground = places('ground', '').index;
  return [touches.filter(({normal}) => normal !== undefined), touches.filter(({normal}) => normal === undefined)]
    .filter(list => list.length > 0)
    .map(list => touchGroup(list, ground));
}

/** The gap and its direction, in the world. */
interface Gap {
  readonly gap: tf.Tensor;
  readonly normal: Vec;
  /** Where forces act, from the centres of `of` and `on`, in their body axes. */
  readonly arms: readonly [Vec, Vec];
}

function touchGroup(touches: readonly Touch[], ground: number): ForceGroup {
  const on = new Choice(
    touches.map(touch => touch.on.index),
    ground,
  );
  const of = new Choice(
    touches.map(touch => touch.of.index),
    ground,
  );
  const local = ({position, rotation}: Place, point: V3): V3 => turnedBack(rotation, minus(point, position));
  const coefficient = (name: 'stiffness' | 'dissipation' | 'friction' | 'slip') =>
    column(
      touches.map(touch => touch.contact[name]),
      `contact: ${name}`,
    );
  const [stiffness, dissipation, friction, slip] = (['stiffness', 'dissipation', 'friction', 'slip'] as const).map(
    coefficient,
  );
  const flat = touches[0].normal !== undefined;
  const numbers = (values: number[]): tf.Tensor => constantTensor(Float64Array.from(values), [values.length]);

  const gapAt = ({pose}: Instant): Gap => {
    const [under, over] = [on.pose(pose), of.pose(pose)];
    const centre = pointOf(over, constants(touches.map(touch => local(touch.of, touch.ball.centre))));
    const foot = pointOf(under, constants(touches.map(touch => local(touch.on, touch.at))));
    const apart = sub(centre, foot);
    const reach = numbers(touches.map(({ball, radius}) => ball.radius + radius));
    const normal = flat
      ? rotate(under.rotation, constants(touches.map(touch => turnedBack(touch.on.rotation, touch.normal as V3))))
      : scale(tf.div(1, length(apart)), apart);
    const gap = tf.sub(flat ? dot(normal, apart) : length(apart), reach);
    const point = sub(centre, scale(numbers(touches.map(({ball}) => ball.radius)), normal));
    const arm = ({position, rotation}: ReturnType<Choice['pose']>): Vec =>
      rotateBack(rotation, position === undefined ? point : sub(point, position));
    return {gap, normal, arms: [arm(over), arm(under)]};
  };
  /** k δ^(3/2) and δ, zero apart. */
  const pressed = (gap: tf.Tensor, k: tf.Tensor): tf.Tensor => {
    const closed = tf.less(gap, 0);
    const depth = tf.where(closed, tf.neg(gap), tf.onesLike(gap));
    return tf.where(closed, tf.mul(k, tf.mul(depth, tf.sqrt(depth))), tf.zerosLike(gap));
  };
  return {
    wrench: at => {
      const {gap, normal, arms} = gapAt(at);
      const {pose, twist, params} = at;
      const moving = difference(
        pointVelocity(of.pose(pose), of.twist(twist), arms[0]),
        pointVelocity(on.pose(pose), on.twist(twist), arms[1]),
      );
      const approach = tf.neg(dot(moving, normal));
      const damping = tf.relu(tf.add(1, tf.mul(tf.mul(1.5, dissipation(params)), approach)));
      const push = tf.mul(pressed(gap, stiffness(params)), damping);
      const sliding = add(moving, scale(approach, normal));
      const smooth = tf.sqrt(tf.add(dot(sliding, sliding), tf.square(slip(params))));
      const rub = tf.div(tf.mul(friction(params), push), smooth);
      const force = sub(scale(push, normal), scale(rub, sliding));
      return onBodies([of, on], at, force, arms);
    },
    energy: at => {
      const {gap} = gapAt(at);
      return tf.mul(0.4, tf.sum(tf.mul(pressed(gap, stiffness(at.params)), tf.neg(gap))));
    },
  };
}

/** Of forces on the first bodies at their arms, and the opposite ones on the others. */
function onBodies(
  [of, on]: readonly [Choice, Choice],
  {pose}: Instant,
  force: Vec,
  [over, under]: readonly [Vec, Vec],
): Wrench {
  const torque = (choice: Choice, arm: Vec, f: Vec): Vec => cross(arm, rotateBack(choice.rotation(pose), f));
  const gather = (onOne: Vec, onOther: Vec): Vec =>
    [0, 1, 2].map(i => tf.add(of.scatter(onOne[i]), on.scatter(onOther[i]))) as unknown as Vec;
  const back = neg(force);
  return {force: gather(force, back), torque: gather(torque(of, over, force), torque(on, under, back))};
}
