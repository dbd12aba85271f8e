/** A spring that has play: nothing within the gap, a stiffness beyond it. Gears, joints, stops. */
import * as tf from '@tensorflow/tfjs';
import {any, refuseUnknownOptions} from '../lib/checks.js';
import type {ForceTerm} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting} from './coefficient.js';
import type {Acting} from './states.js';
import {coordinate} from './states.js';

/** The argument of `clearance`. */
export interface ClearanceSpec extends Acting {
  /** k [force / length] beyond the gap. */
  readonly stiffness: Coefficient;
  /** g [length]: half the play, the free travel to each side. */
  readonly gap: Coefficient;
  /** c [force · time / length] beyond the gap; default 0. */
  readonly damping?: Coefficient;
  /**
   * s [length], well below g: the width over which the corner is rounded; 4 s from the edge the difference is e⁻⁴ s.
   */
  readonly smoothing: Coefficient;
}

/**
 * f = −k (x − g) if x > g, −k (x + g) if x < −g, otherwise 0, each corner rounded as s ln(1 + e^((x − g)/s)); damping
 * in contact. Without damping it has a potential; damping only dissipates energy. (Nordin & Gutman, Controlling
 * mechanical systems with backlash: a survey, Automatica 38, 2002: the dead-zone model.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function clearance(spec: ClearanceSpec): ForceTerm {
  refuseUnknownOptions(spec, {stiffness: any, gap: any, damping: any, smoothing: any, along: any}, 'clearance');
  const stiffness = coefficient(spec.stiffness, 'clearance: stiffness', 'non-negative');
  const gap = coefficient(spec.gap, 'clearance: gap', 'non-negative');
  const damping = coefficient(spec.damping ?? 0, 'clearance: damping', 'non-negative');
  const smoothing = coefficient(spec.smoothing, 'clearance: smoothing', 'positive');
  const on = coordinate(spec, 'clearance');
  return ({q, v, params}) => {
    const x = on.of(q);
    const fit = (value: tf.Tensor, what: string): tf.Tensor => fitting(value, x.shape, `clearance: ${what}`);
    const [g, s] = [fit(gap(params), 'gap'), fit(smoothing(params), 'smoothing')];
    const [above, below] = [tf.div(tf.sub(x, g), s), tf.div(tf.neg(tf.add(x, g)), s)];
    const depth = tf.mul(s, tf.sub(tf.softplus(above), tf.softplus(below)));
    const touching = tf.add(tf.sigmoid(above), tf.sigmoid(below));
    const elastic = tf.mul(fit(stiffness(params), 'stiffness'), depth);
    const viscous = tf.mul(tf.mul(fit(damping(params), 'damping'), touching), on.of(v));
    return on.force(tf.neg(tf.add(elastic, viscous)), q);
  };
}
