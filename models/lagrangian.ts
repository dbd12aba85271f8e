/**
 * Motion from a Lagrangian: kinetic minus potential energy in any coordinates, and Lagrange's equations
 * d/dt ∂L/∂v − ∂L/∂q = Q by derivatives of the traced function (Goldstein, Classical Mechanics, ch. 1 and 2). With
 * networks in it, it is a Lagrangian network (Lutter, Ritter & Peters 2019; Cranmer et al. 2020).
 */
import * as tf from '@tensorflow/tfjs';
import {callable, optional, readOptions, requireValue, typed, type Options} from '../lib/checks.js';
import type {Constraint, ForceTerm, Mass, MechanicalSystem, Params} from '../lib/index.js';
import {mechanics, ShapeError} from '../lib/index.js';
import type {Energy, SystemWithEnergy} from './energy.js';

/** L(q, v, t) [J] as a scalar tensor, of at most second degree in v. */
export type Lagrangian<P extends Params = Params> = (at: {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: P;
}) => tf.Tensor;

const lagrangianOptions = {
  /** Generalized forces that have no potential, of the shape of q: damping, drives. */
  forces: optional(typed<ForceTerm | readonly ForceTerm[]>(), []),
  constraints: optional(typed<readonly Constraint[]>(), []),
};

/** Forces in addition to the Lagrangian. @interface */
export type LagrangianOptions = Options<typeof lagrangianOptions>;

/**
 * How far ∂L/∂v may be from linear in v, as a share of its terms: above the rounding of single precision, in which the
 * tensor engine may run, and below what a term of higher degree makes of an ordinary speed.
 */
const straight = 1e-5;

/**
 * The system M(q) a = ∂L/∂q − (∂²L/∂v∂q) v − ∂²L/∂v∂t + Q with M = ∂²L/∂v², a matrix [n, n] for the n numbers of q,
 * intended for few coordinates. Terms that are linear in v (a charge in a magnetic field, rotating axes) or depend on t
 * are supported. M must be positive definite and may depend only on q: if L is of higher degree in v, the forces are
 * NaN, and the run fails as 'not-finite'. The energy is v·∂L/∂v − L, which is conserved if L does not depend on t and
 * there are no forces.
 * @throws ShapeError 'lagrangian-shape' when traced, if L is not one number
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {simulate} from 'stiffgrad';
 * import {lagrangian} from 'stiffgrad/models';
 *
 * const oscillator = lagrangian(({q, v}) => tf.mul(0.5, tf.sub(tf.square(v), tf.square(q))));
 * console.log(simulate(oscillator, {q: 1, v: 0}, {dt: 0.01, steps: 100}).values('q')[100]); // → 0.540
 * ```
 */
export function lagrangian<P extends Params = Params>(
  L: Lagrangian<P>,
  options: LagrangianOptions = {},
): SystemWithEnergy {
  requireValue(L, callable, 'lagrangian');
  const {forces, constraints} = readOptions(options, lagrangianOptions, 'lagrangian');
  const value = (at: At): tf.Scalar => scalar(L(at as Parameters<Lagrangian<P>>[0]));
  const system: MechanicalSystem = mechanics({
    mass: massOf(value),
    forces: [inertialForce(value), ...(typeof forces === 'function' ? [forces] : forces)],
    constraints,
  });
  return {...system, energy: energyOf(value)};
}

type At = Parameters<ForceTerm>[0];
type Value = (at: At) => tf.Scalar;

function scalar(energy: tf.Tensor): tf.Scalar {
  if (energy instanceof tf.Tensor && energy.size === 1) return tf.reshape(energy, []);
  const got = energy instanceof tf.Tensor ? `shape [${energy.shape.join(', ')}]` : typeof energy;
  throw new ShapeError(
    'lagrangian-shape',
    `lagrangian: L must be one number, but has ${got}. Sum its terms with tf.sum.`,
  );
}

/**
 * The gradient of a scalar at x: of a copy, so that x itself, where f reads it too, counts as a constant. Zero where f
 * does not depend on it, which tfjs would refuse.
 */
const gradient = (f: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor): tf.Tensor =>
  tf.grad(y => tf.add(f(y), tf.sum(tf.mul(0, y))))(tf.clone(x));

const dot = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.sum(tf.mul(a, b));

const momentum = (value: Value, at: At, v = at.v): tf.Tensor => gradient(w => value({...at, v: w}), v);

/** ∂²L/∂v² at rest, row by row. */
function massOf(value: Value): Mass {
  return ({q, params}) => {
    const rest = tf.zerosLike(q);
    const at = {q, v: rest, t: tf.scalar(0), params};
    const row = (i: number): tf.Tensor =>
      gradient(v => tf.reshape(tf.slice(tf.reshape(momentum(value, at, v), [-1]), [i], [1]), []), rest);
    const rows = Array.from({length: q.size}, (_, i) => tf.reshape(row(i), [q.size]));
    return q.size === 1 ? tf.reshape(rows[0], q.shape) : tf.stack(rows);
  };
}

/** ∂L/∂q − (∂²L/∂v∂q) v − ∂²L/∂v∂t. */
function inertialForce(value: Value): ForceTerm {
  return at => {
    const {q, v, t} = at;
    const slope = (w: tf.Tensor): tf.Tensor => gradient(x => value({...at, q: x, v: w}), q);
    const rate = (w: tf.Tensor): tf.Tensor => gradient(s => value({...at, t: s, v: w}), t);
    const turning = gradient(w => tf.add(dot(slope(w), v), rate(w)), v);
    return tf.where(tf.less(bend(value, at), straight), tf.sub(slope(v), turning), NaN);
  };
}

/** ∂L/∂v − ∂L/∂v at rest − M v, which is zero where L is of second degree, as a share of its terms. */
function bend(value: Value, at: At): tf.Tensor {
  const {v} = at;
  const rest = tf.zerosLike(v);
  const [whole, still] = [momentum(value, at), momentum(value, at, rest)];
  const linear = gradient(w => dot(momentum(value, at, w), v), rest);
  const sizes = tf.addN([tf.abs(whole), tf.abs(still), tf.abs(linear)]);
  const left = tf.abs(tf.sub(tf.sub(whole, still), linear));
  return tf.div(tf.max(left), tf.maximum(tf.max(sizes), 1e-30));
}

function energyOf(value: Value): Energy {
  return at => {
    const {t = tf.scalar(0)} = at as {readonly t?: tf.Tensor};
    const whole = {...at, t};
    return tf.sub(dot(at.v, momentum(value, whole)), value(whole));
  };
}
