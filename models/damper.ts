/** Viscous damping of coordinates, and damping in proportion to mass and stiffness. */
import * as tf from '@tensorflow/tfjs';
import {callable, listOf, numeric, optional, readOptions, typed, type Options} from '../lib/checks.js';
import type {ForceTerm, Mass} from '../lib/index.js';
import {quantity} from './coefficient.js';
import type {ConservativeTerm} from './energy.js';
import {massTimes} from './energy.js';

const damperOptions = {
  /** c [force · time / length], a number or broadcasting to q; a negative one adds energy. */
  coefficient: quantity(),
};

/**
 * A viscous damper to ground on every coordinate: f = −c v.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {damper} from 'stiffgrad/models';
 *
 * const sliding = mechanics({mass: 1, forces: [damper({coefficient: 1})]});
 * const path = simulate(sliding, {q: 0, v: 1}, {dt: 0.01, steps: 100});
 * console.log(path.values('v')[100]); // → 0.368
 * ```
 */
export function damper(spec: Options<typeof damperOptions>): ForceTerm {
  const {coefficient} = readOptions(spec, damperOptions, 'damper');
  return ({v, params}) => tf.neg(tf.mul(coefficient(params, v.shape), v));
}

const rayleighOptions = {
  /** The mass as `mechanics` takes it. */
  mass: typed<Mass>(numeric),
  /** The terms whose stiffness is used; they must be conservative, so that it is symmetric. */
  elastic: listOf('force terms', typed<ConservativeTerm>(callable)),
  /** α [1 / time], mass-proportional damping; default 0. */
  alpha: optional(quantity('non-negative'), 0),
  /** β [time], stiffness-proportional damping; default 0. */
  beta: optional(quantity('non-negative'), 0),
};

/** The argument of `rayleigh`. @interface */
export type RayleighSpec = Options<typeof rayleighOptions>;

/**
 * Rayleigh damping f = −(α M + β K(q)) v with the stiffness at the current position, K = −∂f/∂q of the
 * elastic terms (Rayleigh, The Theory of Sound, vol. 1, 1877). A mode of frequency ω is damped by the
 * ratio ζ = (α/ω + βω)/2 of critical damping. K is symmetric, so that K v = −∂(f·v)/∂q is one gradient.
 * @throws OptionError 'bad-coefficient'; ShapeError when traced
 */
export function rayleigh(spec: RayleighSpec): ForceTerm {
  const {mass, elastic, alpha, beta} = readOptions(spec, rayleighOptions, 'rayleigh');
  return ({q, v, t, params}) => {
    const inertial = tf.mul(alpha(params, [], 'a number'), massTimes(mass, v, {q, params}));
    if (elastic.length === 0) return tf.neg(inertial);
    const power = (x: tf.Tensor): tf.Tensor => {
      const force = elastic.map(term => term({q: x, v, t, params})).reduce((sum, f) => tf.add(sum, f));
      return tf.sum(tf.mul(force, v));
    };
    return tf.sub(tf.mul(beta(params, [], 'a number'), tf.grad(power)(q)), inertial);
  };
}
