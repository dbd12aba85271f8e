/**
 * Contacts that yield: a normal force after Hunt & Crossley (J. Appl. Mech. 42, 1975), k δ^(3/2) (1 + (3/2) c δ') where
 * that is positive, and Coulomb's friction smoothed at small slip, −μ N w/√(|w|² + w₀²); couples against rolling and
 * spinning in the same form (Todorov, Erez & Tassa 2012 have them as bounds). Spheres, capsules and boxes on planes (a
 * capsule touches by the ends of its axis, a box by its corners: exact for planes) and spheres on spheres.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, typed, type Options, type OptionValues} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {noEvent} from '../../lib/internal.js';
import type {Coefficient} from '../coefficient.js';
import type {BodyPose} from './bodies.js';
import {column} from './force-groups.js';
import {requireShapes, type Shape} from './shapes.js';
import {actionAndReaction, relativeSpin, type ForceGroup, type Instant} from './state.js';
import {touchesOf, type TouchGap, type Sort} from './touches.js';
import {add, dot, scale, sub, sum, type Vec} from './vectors.js';

const contactOptions = {
  /** The shapes of a and of b: one of the pairs that docs/multibody.md lists. */
  shapes: typed<readonly [Shape, Shape]>(),
  /** k of k δ^(3/2) [force / length^(3/2)]. */
  stiffness: typed<Coefficient>(),
  /** c [time / length]: a ball that lands with a small speed w is thrown back with about (1 − c w) w; default 0. */
  dissipation: optional(typed<Coefficient>(), 0),
  /** μ; default 0. */
  friction: optional(typed<Coefficient>(), 0),
  /**
   * w₀ [length / time]: below it friction is less than Coulomb's, so that what should stick creeps with w₀ s/√(1 − s²),
   * s the share of μN that is asked for; from 22 w₀ on it is Coulomb's to one part in a thousand. Default 10⁻³.
   */
  slip: optional(typed<Coefficient>(), 1e-3),
  /** μ_r [length]: the couple against rolling is up to μ_r N, about the common tangents; default 0. */
  rolling: optional(typed<Coefficient>(), 0),
  /** μ_s [length]: the couple against spinning is up to μ_s N, about the normal; default 0. */
  spinning: optional(typed<Coefficient>(), 0),
  /** w₀ of both couples [1 / time], as `slip` is for friction. Default 10⁻². */
  spin: optional(typed<Coefficient>(), 1e-2),
};

/** Made by `contact`. */
export interface BodyContact extends OptionValues<typeof contactOptions> {
  readonly a: string;
  readonly b: string;
}

/**
 * Contact of a shape of a with one of b. Each corner of a box and each end of a capsule has the stiffness to itself.
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function contact(a: string, b: string, spec: Options<typeof contactOptions>): BodyContact {
  const read = readOptions(spec, contactOptions, 'contact', 'bad-multibody');
  requireShapes(read.shapes, 'contact');
  return {a, b, ...read};
}

/** @throws OptionError 'unknown-body' */
export function contactGroups(
  contacts: readonly BodyContact[],
  places: (name: string, asked: string) => BodyPose,
): ForceGroup[] {
  return touchesOf(contacts, places, true).map(touchGroup);
}

function touchGroup({contacts: list, touches}: Sort<BodyContact>): ForceGroup {
  const {sides} = touches;
  const coefficient = (name: Exclude<keyof BodyContact, 'a' | 'b' | 'shapes'>) =>
    column(
      list.map(one => one[name]),
      `contact: ${name}`,
      name === 'slip' || name === 'spin' ? 'positive' : 'non-negative',
    );
  const [stiffness, dissipation, friction, slip, rolling, spinning, spin] = (
    ['stiffness', 'dissipation', 'friction', 'slip', 'rolling', 'spinning', 'spin'] as const
  ).map(coefficient);
  const turned = list.some(one => one.rolling !== 0 || one.spinning !== 0);
  /** Against the relative angular velocity, on the first bodies. */
  const couple = (at: Instant, normal: Vec, push: tf.Tensor): Vec => {
    const {params} = at;
    const turning = relativeSpin(sides, at);
    const about = dot(turning, normal);
    const across = sub(turning, scale(about, normal));
    const regularization = tf.square(spin(params));
    const against = (share: tf.Tensor, square: tf.Tensor): tf.Tensor =>
      tf.neg(tf.div(tf.mul(share, push), tf.sqrt(tf.add(square, regularization))));
    return add(
      scale(against(rolling(params), dot(across, across)), across),
      scale(tf.mul(against(spinning(params), tf.square(about)), about), normal),
    );
  };
  /** k δ^(3/2), zero apart. */
  const pressed = ({gap, share}: TouchGap, params: Params): tf.Tensor => {
    const closed = tf.less(gap, 0);
    const depth = tf.where(closed, tf.neg(gap), tf.onesLike(gap));
    const all = tf.where(closed, tf.mul(stiffness(params), tf.mul(depth, tf.sqrt(depth))), tf.zerosLike(gap));
    return share === undefined ? all : tf.mul(share.weight, all);
  };
  /** (2/5) k δ^(5/2). */
  const stored = (place: TouchGap, params: Params): tf.Tensor =>
    tf.mul(0.4, tf.mul(pressed(place, params), tf.neg(place.gap)));
  return {
    // It yields, and so is continuous in gap and velocity.
    wrench: at =>
      noEvent(() => {
        const place = touches.gapAt(at);
        const {normal, arms, share} = place;
        const {params} = at;
        const moving = touches.velocity(at, place);
        const approach = tf.neg(dot(moving, normal));
        const damping = tf.relu(tf.add(1, tf.mul(tf.mul(1.5, dissipation(params)), approach)));
        const push = tf.mul(pressed(place, params), damping);
        const sliding = add(moving, scale(approach, normal));
        const smooth = tf.sqrt(tf.add(dot(sliding, sliding), tf.square(slip(params))));
        const rub = tf.div(tf.mul(friction(params), push), smooth);
        const force = sub(scale(push, normal), scale(rub, sliding));
        const couples = [
          ...(turned ? [couple(at, normal, push)] : []),
          // A share that changes with the angle is a spring that is wound up.
          ...(share === undefined ? [] : [scale(tf.neg(stored({...place, share: undefined}, params)), share.slope)]),
        ];
        const turning = couples.length === 0 ? {} : {couple: sum(couples)};
        return actionAndReaction(at.pose, sides, {force, arms, ...turning});
      }),
    energy: at => tf.sum(stored(touches.gapAt(at), at.params)),
  };
}
