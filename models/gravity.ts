/** Uniform gravity. */
import * as tf from '@tensorflow/tfjs';
import {numeric, optional, readOptions, typed, type Options} from '../lib/checks.js';
import type {Mass, Params} from '../lib/index.js';
import {quantity} from './coefficient.js';
import type {ConservativeTerm} from './energy.js';
import {conservative, massTimes} from './energy.js';

/** m/s², the conventional standard value (3rd CGPM, 1901). */
export const standardGravity = 9.80665;

const gravityOptions = {
  /** The mass as `mechanics` takes it; it may depend on params, not on q. */
  mass: typed<Mass>(numeric),
  /** [length / time²]; default 9.80665, in SI. */
  g: optional(quantity(), standardGravity),
  /**
   * Direction of gravity: a unit vector that broadcasts to q, such as [0, -1] or [0, 0, -1] for [particles, dim], or ±1
   * for coordinates along the vertical.
   */
  direction: quantity(),
};

/** The argument of `gravity`. @interface */
export type GravitySpec = Options<typeof gravityOptions>;

/**
 * Weight: f = M · g·direction, for a scalar, lumped or consistent mass. The energy is zero at q = 0.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape', 'mass-shape' when traced
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {gravity} from 'stiffgrad/models';
 *
 * const falling = mechanics({mass: 2, forces: [gravity({mass: 2, g: 9.81, direction: -1})]});
 * const path = simulate(falling, {q: 0, v: 0}, {dt: 0.01, steps: 100});
 * console.log(path.values('v')[100]); // → -9.81
 * ```
 */
export function gravity(spec: GravitySpec): ConservativeTerm {
  const {mass, g, direction} = readOptions(spec, gravityOptions, 'gravity');
  const weight = (q: tf.Tensor, params: Params): tf.Tensor => {
    const acceleration = tf.mul(g(params, [], 'a number'), direction(params, q.shape));
    return massTimes(mass, tf.broadcastTo(acceleration, q.shape), {q, params});
  };
  return conservative(
    ({q, params}) => weight(q, params),
    ({q, params}) => tf.neg(tf.sum(tf.mul(weight(q, params), q))),
  );
}
