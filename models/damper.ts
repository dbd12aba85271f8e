/** Viscous damping of coordinates, and damping in proportion to mass and stiffness. */
import * as tf from '@tensorflow/tfjs';
import {any, callable, listOf, numeric, refuseUnknownOptions} from '../lib/checks.js';
import type {ForceTerm, Mass} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting} from './coefficient.js';
import type {ConservativeTerm} from './energy.js';
import {massTimes} from './energy.js';

/**
 * A viscous damper to ground on every coordinate: f = −c v.
 * @param spec.coefficient c [force · time / length], a number or broadcasting to q; a negative one adds energy
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function damper(spec: {readonly coefficient: Coefficient}): ForceTerm {
  refuseUnknownOptions(spec, ['coefficient'], 'damper');
  const c = coefficient(spec.coefficient, 'damper: coefficient');
  return ({v, params}) => tf.neg(tf.mul(fitting(c(params), v.shape, 'damper: coefficient'), v));
}

/** The argument of `rayleigh`. */
export interface RayleighSpec {
  /** As given to `mechanics`. */
  readonly mass: Mass;
  /** The terms whose stiffness is used; they must be conservative, so that it is symmetric. */
  readonly elastic: readonly ConservativeTerm[];
  /** α [1 / time], mass-proportional damping; default 0. */
  readonly alpha?: Coefficient;
  /** β [time], stiffness-proportional damping; default 0. */
  readonly beta?: Coefficient;
}

/**
 * Rayleigh damping f = −(α M + β K(q)) v with the stiffness at the current position, K = −∂f/∂q of the
 * elastic terms (Rayleigh, The Theory of Sound, vol. 1, 1877). A mode of frequency ω is damped by the
 * ratio ζ = (α/ω + βω)/2 of critical damping. K is symmetric, so that K v = −∂(f·v)/∂q is one gradient.
 * @throws OptionError 'bad-coefficient'; ShapeError when traced
 */
export function rayleigh(spec: RayleighSpec): ForceTerm {
  refuseUnknownOptions(
    spec,
    {mass: numeric, elastic: listOf('force terms', callable), alpha: any, beta: any},
    'rayleigh',
  );
  const {mass, elastic, alpha = 0, beta = 0} = spec;
  const a = coefficient(alpha, 'rayleigh: alpha', 'non-negative');
  const b = coefficient(beta, 'rayleigh: beta', 'non-negative');
  return ({q, v, t, params}) => {
    const inertial = tf.mul(fitting(a(params), [], 'rayleigh: alpha', 'a number'), massTimes(mass, v, {q, params}));
    if (elastic.length === 0) return tf.neg(inertial);
    const power = (x: tf.Tensor): tf.Tensor =>
      tf.sum(
        tf.mul(
          elastic.map(term => term({q: x, v, t, params})).reduce((sum, f) => tf.add(sum, f)),
          v,
        ),
      );
    return tf.sub(tf.mul(fitting(b(params), [], 'rayleigh: beta', 'a number'), tf.grad(power)(q)), inertial);
  };
}
