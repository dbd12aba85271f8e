/**
 * The LuGre friction model: bristles that bend like springs and slip (Canudas de Wit, Olsson, Åström & Lischinsky, A
 * new model for control of systems with friction, IEEE TAC 40, 1995). It has presliding displacement, break-away, the
 * Stribeck curve and frictional lag, and is smooth enough for Newton's method; a body that sticks does not creep by a
 * velocity scale.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, text, typed, type Options} from '../lib/checks.js';
import type {Numeric} from '../lib/index.js';
import {quantity} from './coefficient.js';
import type {TermAt, TermWithStates} from './states.js';
import {actingOptions, coordinate, oneState, stateOf} from './states.js';

const luGreOptions = {
  /** σ₀ [force / length]: stiffness of the bristles, and so of presliding. */
  stiffness: quantity('positive'),
  /** σ₁ [force · time / length]: damping of the bristles; default 0. */
  damping: optional(quantity('non-negative'), 0),
  /** σ₂ [force · time / length]; default 0. */
  viscous: optional(quantity('non-negative'), 0),
  /** F_c [force]: friction at speed. */
  coulomb: quantity('positive'),
  /** F_s [force]: breakaway friction; default F_c. */
  static: optional(quantity('positive')),
  /**
   * v_s [length / time]: the speed over which friction falls from F_s to F_c; default 1, without effect if they are
   * equal.
   */
  stribeckVelocity: optional(quantity('positive'), 1),
  /** Initial deflection of the bristles, of the shape of the coordinates it acts on; default 0. */
  initial: optional(typed<Numeric>(), 0),
  /** Name of the state; default 'bristle'. */
  name: optional(text, 'bristle'),
  ...actingOptions,
};

/** The argument of `luGre`. @interface */
export type LuGreSpec<Z extends string = 'bristle'> = Options<typeof luGreOptions> & {readonly name?: Z};

/**
 * LuGre friction, f = −(σ₀ z + σ₁ z' + σ₂ v) with z' = v − σ₀ |v| z / g(v), g(v) = F_c + (F_s − F_c) exp(−(v/v_s)²).
 * In steady sliding it is f = −g(v) sgn v − σ₂ v. It is passive if σ₂ ≥ σ₁ (F_s − F_c)/F_c (Barabanov & Ortega,
 * IEEE TAC 45, 2000), always with F_s = F_c; with a larger σ₁ it can return some energy while it slips at speed.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function luGre<const Z extends string = 'bristle'>(spec: LuGreSpec<Z>): TermWithStates<Z> {
  const {coulomb, static: breakaway = coulomb, ...read} = readOptions(spec, luGreOptions, 'luGre');
  const name = read.name as Z;
  const on = coordinate(spec, 'luGre');
  const parts = (at: TermAt<Z>): {v: tf.Tensor; bristles: tf.Tensor; rate: tf.Tensor} => {
    const {params} = at;
    const v = on.of(at.v);
    const low = coulomb(params, v.shape);
    const share = tf.exp(tf.neg(tf.square(tf.div(v, read.stribeckVelocity(params, v.shape)))));
    const g = tf.add(low, tf.mul(tf.sub(breakaway(params, v.shape), low), share));
    const bristles = tf.mul(read.stiffness(params, v.shape), stateOf(at, name));
    return {v, bristles, rate: tf.sub(v, tf.div(tf.mul(tf.abs(v), bristles), g))};
  };
  return {
    force: at => {
      const {v, bristles, rate} = parts(at);
      const lag = tf.mul(read.damping(at.params, v.shape), rate);
      const oil = tf.mul(read.viscous(at.params, v.shape), v);
      return on.force(tf.neg(tf.add(tf.add(bristles, lag), oil)), at.q);
    },
    states: oneState(name, read.initial, at => parts(at).rate),
  };
}
