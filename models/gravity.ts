/** Uniform gravity. */
import * as tf from '@tensorflow/tfjs';
import {any, numeric, refuseUnknownOptions} from '../lib/checks.js';
import type {Mass, Numeric, Params} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting} from './coefficient.js';
import type {ConservativeTerm} from './energy.js';
import {conservative, massTimes} from './energy.js';

/** m/s², the conventional standard value (3rd CGPM, 1901). */
export const standardGravity = 9.80665;

/** The argument of `gravity`. */
export interface GravitySpec {
  /** As given to `mechanics`; it may depend on params, not on q. */
  readonly mass: Mass;
  /** [length / time²]; default `standardGravity`, in SI. */
  readonly g?: Coefficient;
  /**
   * Direction of gravity: a unit vector that broadcasts to q, such as [0, -1] or [0, 0, -1] for [particles, dim], or ±1
   * for coordinates along the vertical.
   */
  readonly direction: Numeric;
}

/**
 * Weight: f = M · g·direction, for a scalar, lumped or consistent mass. The energy is zero at q = 0.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape', 'mass-shape' when traced
 */
export function gravity(spec: GravitySpec): ConservativeTerm {
  refuseUnknownOptions(spec, {mass: numeric, g: any, direction: any}, 'gravity');
  const {mass, g = standardGravity, direction} = spec;
  const strength = coefficient(g, 'gravity: g');
  const down = coefficient(direction, 'gravity: direction');
  const weight = (q: tf.Tensor, params: Params): tf.Tensor => {
    const acceleration = tf.mul(
      fitting(strength(params), [], 'gravity: g', 'a number'),
      fitting(down(params), q.shape, 'gravity: direction'),
    );
    return massTimes(mass, tf.broadcastTo(acceleration, q.shape), {q, params});
  };
  return conservative(
    ({q, params}) => weight(q, params),
    ({q, params}) => tf.neg(tf.sum(tf.mul(weight(q, params), q))),
  );
}
