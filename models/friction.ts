/**
 * Dry friction as a smooth function of velocity. The sign of the velocity becomes tanh(v/v_s), which
 * has a derivative for Newton and for gradients. Its price is creep: under a load F below the friction
 * force F_c a body that should stick moves at v = v_s artanh(F/F_c). Choose the velocity scale v_s one
 * or two orders below the speeds that matter. Around v = 0 the term is a damper of F_c/v_s: stiff, so an
 * implicit scheme is wanted (an explicit one needs a step below 2 m v_s/F_c), and Newton needs more
 * iterations the more of the scale one step crosses.
 */
import * as tf from '@tensorflow/tfjs';
import {refuseUnknownOptions} from '../lib/checks.js';
import type {ForceTerm} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting} from './coefficient.js';

/** The argument of `coulomb`. */
export interface CoulombSpec {
  /** F_c [force], not negative. */
  readonly force: Coefficient;
  /** v_s [length / time]: at v_s friction has tanh 1 = 76 % of its full size, at 3 v_s 99.5 %. */
  readonly velocityScale: Coefficient;
}

/**
 * Smooth Coulomb friction on every coordinate, f = −F_c tanh(v/v_s); coefficients are numbers or
 * broadcast to q. (Regularised Coulomb friction: Olsson et al., Friction models and friction
 * compensation, European Journal of Control 4, 1998.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function coulomb(spec: CoulombSpec): ForceTerm {
  refuseUnknownOptions(spec, ['force', 'velocityScale'], 'coulomb');
  const force = coefficient(spec.force, 'coulomb: force', 'non-negative');
  const scale = coefficient(spec.velocityScale, 'coulomb: velocityScale', 'positive');
  return ({v, params}) => {
    const sign = tf.tanh(tf.div(v, fitting(scale(params), v.shape, 'coulomb: velocityScale')));
    return tf.neg(tf.mul(fitting(force(params), v.shape, 'coulomb: force'), sign));
  };
}

/** The argument of `stribeck`. */
export interface StribeckSpec {
  /** F_c [force]: friction at speed, not negative. */
  readonly coulomb: Coefficient;
  /** F_s [force]: friction that must be overcome to break away, not negative, usually above F_c. */
  readonly static: Coefficient;
  /** v_S [length / time]: the speed over which friction falls from F_s to F_c. */
  readonly stribeckVelocity: Coefficient;
  /** F_v [force · time / length]; default 0. */
  readonly viscous?: Coefficient;
  /** v_s [length / time], well below v_S: otherwise the peak F_s is not reached. */
  readonly velocityScale: Coefficient;
}

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
  refuseUnknownOptions(spec, ['coulomb', 'static', 'stribeckVelocity', 'viscous', 'velocityScale'], 'stribeck');
  const kinetic = coefficient(spec.coulomb, 'stribeck: coulomb', 'non-negative');
  const breakaway = coefficient(spec.static, 'stribeck: static', 'non-negative');
  const speed = coefficient(spec.stribeckVelocity, 'stribeck: stribeckVelocity', 'positive');
  const viscous = coefficient(spec.viscous ?? 0, 'stribeck: viscous', 'non-negative');
  const scale = coefficient(spec.velocityScale, 'stribeck: velocityScale', 'positive');
  return ({v, params}) => {
    const fit = (value: tf.Tensor, name: string): tf.Tensor => fitting(value, v.shape, `stribeck: ${name}`);
    const low = fit(kinetic(params), 'coulomb');
    const share = tf.exp(tf.neg(tf.square(tf.div(v, fit(speed(params), 'stribeckVelocity')))));
    const size = tf.add(low, tf.mul(tf.sub(fit(breakaway(params), 'static'), low), share));
    const sign = tf.tanh(tf.div(v, fit(scale(params), 'velocityScale')));
    return tf.neg(tf.add(tf.mul(size, sign), tf.mul(fit(viscous(params), 'viscous'), v)));
  };
}
