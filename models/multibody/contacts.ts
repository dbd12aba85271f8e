/**
 * Contacts that yield: a normal force after Hunt & Crossley (J. Appl. Mech. 42, 1975), k δ^(3/2) (1 + (3/2) c δ') where
 * that is positive, and Coulomb's friction smoothed at small slip, −μ N w/√(|w|² + w₀²). Spheres, capsules and boxes
 * on planes (a capsule touches by the ends of its axis, a box by its corners: exact for planes) and spheres on spheres.
 */
import * as tf from '@tensorflow/tfjs';
import {any, refuseUnknownOptions} from '../../lib/checks.js';
import type {Coefficient} from '../coefficient.js';
import type {Place} from './bodies.js';
import {column, type ForceGroup, type Instant} from './force-groups.js';
import {requireShapes, type Shape} from './shapes.js';
import type {Choice, Wrench} from './state.js';
import {touchesOf, type Sort} from './touches.js';
import {add, cross, dot, neg, rotateBack, scale, sub, type Vec} from './vectors.js';

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
  requireShapes(shapes, 'contact');
  return {a, b, shapes, stiffness, dissipation, friction, slip};
}

/** @throws OptionError 'unknown-body' */
export function contactGroups(
  contacts: readonly BodyContact[],
  places: (name: string, asked: string) => Place,
): ForceGroup[] {
  return touchesOf(contacts, places).map(touchGroup);
}

function touchGroup({contacts: list, touches}: Sort<BodyContact>): ForceGroup {
  const {of, on} = touches;
  const coefficient = (name: 'stiffness' | 'dissipation' | 'friction' | 'slip') =>
    column(
      list.map(one => one[name]),
      `contact: ${name}`,
      name === 'slip' ? 'positive' : 'non-negative',
    );
  const [stiffness, dissipation, friction, slip] = (['stiffness', 'dissipation', 'friction', 'slip'] as const).map(
    coefficient,
  );
  /** k δ^(3/2) and δ, zero apart. */
  const pressed = (gap: tf.Tensor, k: tf.Tensor): tf.Tensor => {
    const closed = tf.less(gap, 0);
    const depth = tf.where(closed, tf.neg(gap), tf.onesLike(gap));
    return tf.where(closed, tf.mul(k, tf.mul(depth, tf.sqrt(depth))), tf.zerosLike(gap));
  };
  return {
    wrench: at => {
      const place = touches.gapAt(at);
      const {gap, normal, arms} = place;
      const {params} = at;
      const moving = touches.velocity(at, place);
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
      const {gap} = touches.gapAt(at);
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
