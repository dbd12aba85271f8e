/**
 * The LuGre friction model: bristles that bend like springs and slip (Canudas de Wit, Olsson, Åström & Lischinsky, A new
 * model for control of systems with friction, IEEE TAC 40, 1995). It has presliding displacement, break-away, the Stribeck
 * curve and frictional lag, and is smooth enough for Newton's method; a body that sticks does not creep by a velocity scale.
 */
import * as tf from '@tensorflow/tfjs';
import {any, refuseUnknownOptions, text} from '../lib/checks.js';
import type {Numeric} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting} from './coefficient.js';
import type {Acting, TermAt, TermWithStates} from './states.js';
import {coordinate, oneState, stateOf} from './states.js';

/** The argument of `luGre`. */
export interface LuGreSpec<Z extends string = 'bristle'> extends Acting {
  /** σ₀ [force / length]: stiffness of the bristles, and so of presliding. */
  readonly stiffness: Coefficient;
  /** σ₁ [force · time / length]: damping of the bristles; default 0. */
  readonly damping?: Coefficient;
  /** σ₂ [force · time / length]; default 0. */
  readonly viscous?: Coefficient;
  /** F_c [force]: friction at speed. */
  readonly coulomb: Coefficient;
  /** F_s [force]: breakaway friction; default F_c. */
  readonly static?: Coefficient;
  /**
   * v_s [length / time]: the speed over which friction falls from F_s to F_c; default 1, without effect if they are
   * equal.
   */
  readonly stribeckVelocity?: Coefficient;
  /** Initial deflection of the bristles, of the shape of the coordinates it acts on; default 0. */
  readonly initial?: Numeric;
  /** Name of the state; default 'bristle'. */
  readonly name?: Z;
}

const specChecks = {
  stiffness: any,
  damping: any,
  viscous: any,
  coulomb: any,
  static: any,
  stribeckVelocity: any,
  initial: any,
  name: text,
  along: any,
};

/**
 * LuGre friction, f = −(σ₀ z + σ₁ z' + σ₂ v) with z' = v − σ₀ |v| z / g(v), g(v) = F_c + (F_s − F_c) exp(−(v/v_s)²).
 * In steady sliding it is f = −g(v) sgn v − σ₂ v. It is passive if σ₂ ≥ σ₁ (F_s − F_c)/F_c (Barabanov & Ortega,
 * IEEE TAC 45, 2000), always with F_s = F_c; with a larger σ₁ it can return some energy while it slips at speed.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function luGre<const Z extends string = 'bristle'>(spec: LuGreSpec<Z>): TermWithStates<Z> {
  refuseUnknownOptions(spec, specChecks, 'luGre');
  const {initial = 0, name = 'bristle' as Z} = spec;
  const stiffness = coefficient(spec.stiffness, 'luGre: stiffness', 'positive');
  const damping = coefficient(spec.damping ?? 0, 'luGre: damping', 'non-negative');
  const viscous = coefficient(spec.viscous ?? 0, 'luGre: viscous', 'non-negative');
  const kinetic = coefficient(spec.coulomb, 'luGre: coulomb', 'positive');
  const breakaway = coefficient(spec.static ?? spec.coulomb, 'luGre: static', 'positive');
  const speed = coefficient(spec.stribeckVelocity ?? 1, 'luGre: stribeckVelocity', 'positive');
  const on = coordinate(spec, 'luGre');
  const parts = (at: TermAt<Z>): {v: tf.Tensor; bristles: tf.Tensor; rate: tf.Tensor} => {
    const {params} = at;
    const v = on.of(at.v);
    const z = stateOf(at, name);
    const fit = (value: tf.Tensor, what: string): tf.Tensor => fitting(value, v.shape, `luGre: ${what}`);
    const low = fit(kinetic(params), 'coulomb');
    const share = tf.exp(tf.neg(tf.square(tf.div(v, fit(speed(params), 'stribeckVelocity')))));
    const g = tf.add(low, tf.mul(tf.sub(fit(breakaway(params), 'static'), low), share));
    const bristles = tf.mul(fit(stiffness(params), 'stiffness'), z);
    return {v, bristles, rate: tf.sub(v, tf.div(tf.mul(tf.abs(v), bristles), g))};
  };
  return {
    force: at => {
      const {v, bristles, rate} = parts(at);
      const {params} = at;
      const lag = tf.mul(fitting(damping(params), v.shape, 'luGre: damping'), rate);
      const oil = tf.mul(fitting(viscous(params), v.shape, 'luGre: viscous'), v);
      return on.force(tf.neg(tf.add(tf.add(bristles, lag), oil)), at.q);
    },
    states: oneState(name, initial, at => parts(at).rate),
  };
}
