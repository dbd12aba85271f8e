/**
 * Dry friction as a smooth function of velocity. The sign of the velocity becomes tanh(v/v_s), which
 * has a derivative for Newton and for gradients. Its price is creep: under a load F below the friction
 * force F_c a body that should stick moves at v = v_s artanh(F/F_c). Choose the velocity scale v_s one
 * or two orders below the speeds that matter. Around v = 0 the term is a damper of F_c/v_s: stiff, so an
 * implicit scheme is wanted (an explicit one needs a step below 2 m v_s/F_c), and Newton needs more
 * iterations the more of the scale one step crosses.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, type Options} from '../lib/checks.js';
import type {ForceTerm} from '../lib/index.js';
import {quantity} from './coefficient.js';

const coulombOptions = {
  /** F_c [force], not negative. */
  force: quantity('non-negative'),
  /** v_s [length / time]: at v_s friction has tanh 1 = 76 % of its full size, at 3 v_s 99.5 %. */
  velocityScale: quantity('positive'),
};

/** The argument of `coulomb`. @interface */
export type CoulombSpec = Options<typeof coulombOptions>;

/**
 * Smooth Coulomb friction on every coordinate, f = −F_c tanh(v/v_s); coefficients are numbers or
 * broadcast to q. (Regularised Coulomb friction: Olsson et al., Friction models and friction
 * compensation, European Journal of Control 4, 1998.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {coulomb} from 'stiffgrad/models';
 *
 * const sliding = mechanics({mass: 1, forces: [coulomb({force: 1, velocityScale: 1e-3})]});
 * console.log(simulate(sliding, {q: 0, v: 1}, {dt: 0.01, steps: 50}).values('v')[50]); // → 0.500
 * ```
 */
export function coulomb(spec: CoulombSpec): ForceTerm {
  const {force, velocityScale} = readOptions(spec, coulombOptions, 'coulomb');
  return ({v, params}) => tf.neg(tf.mul(force(params, v.shape), tf.tanh(tf.div(v, velocityScale(params, v.shape)))));
}

const stribeckOptions = {
  /** F_c [force]: friction at speed, not negative. */
  coulomb: quantity('non-negative'),
  /** F_s [force]: friction that must be overcome to break away, not negative, usually above F_c. */
  static: quantity('non-negative'),
  /** v_S [length / time]: the speed over which friction falls from F_s to F_c. */
  stribeckVelocity: quantity('positive'),
  /** F_v [force · time / length]; default 0. */
  viscous: optional(quantity('non-negative'), 0),
  /** v_s [length / time], well below v_S: otherwise the peak F_s is not reached. */
  velocityScale: quantity('positive'),
};

/** The argument of `stribeck`. @interface */
export type StribeckSpec = Options<typeof stribeckOptions>;

/**
 * Friction with a Stribeck curve on every coordinate,
 *
 *     f = −[F_c + (F_s − F_c) exp(−(v/v_S)²)] tanh(v/v_s) − F_v v;
 *
 * coefficients are numbers or broadcast to q. The falling part of the curve makes a slowly
 * driven body stick and slip. (Armstrong-Hélouvry, Dupont & Canudas de Wit, A survey of models, analysis
 * tools and compensation methods for the control of machines with friction, Automatica 30, 1994: Bo and
 * Pavelescu's exponential with Armstrong's exponent 2, the one that is smooth at v = 0.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function stribeck(spec: StribeckSpec): ForceTerm {
  const read = readOptions(spec, stribeckOptions, 'stribeck');
  return ({v, params}) => {
    const low = read.coulomb(params, v.shape);
    const share = tf.exp(tf.neg(tf.square(tf.div(v, read.stribeckVelocity(params, v.shape)))));
    const size = tf.add(low, tf.mul(tf.sub(read.static(params, v.shape), low), share));
    const sign = tf.tanh(tf.div(v, read.velocityScale(params, v.shape)));
    return tf.neg(tf.add(tf.mul(size, sign), tf.mul(read.viscous(params, v.shape), v)));
  };
}
