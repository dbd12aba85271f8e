/** A spring that has play: nothing within the gap, a stiffness beyond it. Gears, joints, stops. */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, type Options} from '../lib/checks.js';
import type {ForceTerm} from '../lib/index.js';
import {quantity} from './coefficient.js';
import {actingOptions, coordinate} from './states.js';

const clearanceOptions = {
  /** k [force / length] beyond the gap. */
  stiffness: quantity('non-negative'),
  /** g [length]: half the play, the free travel to each side. */
  gap: quantity('non-negative'),
  /** c [force · time / length] beyond the gap; default 0. */
  damping: optional(quantity('non-negative'), 0),
  /**
   * s [length], well below g: the width over which the corner is rounded; 4 s from the edge the difference is e⁻⁴ s.
   */
  smoothing: quantity('positive'),
  ...actingOptions,
};

/** The argument of `clearance`. @interface */
export type ClearanceSpec = Options<typeof clearanceOptions>;

/**
 * f = −k (x − g) if x > g, −k (x + g) if x < −g, otherwise 0, each corner rounded as s ln(1 + e^((x − g)/s)); damping
 * in contact. Without damping it has a potential; damping only dissipates energy. (Nordin & Gutman, Controlling
 * mechanical systems with backlash: a survey, Automatica 38, 2002: the dead-zone model.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function clearance(spec: ClearanceSpec): ForceTerm {
  const {stiffness, gap, damping, smoothing} = readOptions(spec, clearanceOptions, 'clearance');
  const on = coordinate(spec, 'clearance');
  return ({q, v, params}) => {
    const x = on.of(q);
    const [g, s] = [gap(params, x.shape), smoothing(params, x.shape)];
    const [above, below] = [tf.div(tf.sub(x, g), s), tf.div(tf.neg(tf.add(x, g)), s)];
    const depth = tf.mul(s, tf.sub(tf.softplus(above), tf.softplus(below)));
    const touching = tf.add(tf.sigmoid(above), tf.sigmoid(below));
    const elastic = tf.mul(stiffness(params, x.shape), depth);
    const viscous = tf.mul(tf.mul(damping(params, x.shape), touching), on.of(v));
    return on.force(tf.neg(tf.add(elastic, viscous)), q);
  };
}
