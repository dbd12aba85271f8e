/**
 * General kinematics q' = N(q, t) v: positions on a manifold, of another shape than the velocities where need be, as
 * quaternions are beside angular velocities. What schemes ask of it are three functions of tensors: the rate; the
 * retraction, which moves a position by an increment of the shape of v; and the projection back onto the manifold.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {callable, object, optional, readOptions, shown} from '../checks.js';
import type {Bivariant, Params} from './params.js';
import {ofShape, returned} from './returned.js';

/** q' at position q, velocity v and time t [], linear in v, of the shape of q; v may have any shape. */
export type PositionRate<P = Params> = (at: {q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: P}) => tf.Tensor;

/** How position rates depend on velocities. */
export interface Kinematics<P = Params> {
  /** q' = N(q, t) v: of the shape of q, linear in v. */
  readonly rate: Bivariant<{q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: P}, tf.Tensor>;
  /**
   * The position after unit time at the constant velocity `increment`, to at least second order in the increment:
   * for a group q∘exp(increment). The time is that of the midpoint. Default: the midpoint rule,
   * q + N(q + ½N(q)u)u, projected.
   */
  readonly retract?: Bivariant<{q: tf.Tensor; increment: tf.Tensor; t: tf.Tensor; params: P}, tf.Tensor>;
  /**
   * The nearest position on the manifold, for a position that is off it by a step's error: |quaternion| = 1. Default:
   * q.
   */
  readonly project?: Bivariant<{q: tf.Tensor; params: P}, tf.Tensor>;
}

/** @throws OptionError 'bad-kinematics' */
export function checkKinematics<P>(given: PositionRate<P> | Kinematics<P>): Kinematics<P> {
  if (typeof given === 'function') return {rate: given};
  if (!object.test(given))
    throw new OptionError(
      'bad-kinematics',
      "kinematics must be a function of {q, v, t, params} giving q', or {rate, retract, project} of such, "
        + `not ${shown(given)}.`,
    );
  const schema = {rate: callable, retract: optional(callable), project: optional(callable)};
  readOptions(given, schema, 'kinematics', 'bad-kinematics');
  return given;
}

/** The three functions with their parameters, complete. */
export interface KinematicMotion {
  rate(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /** @param t the middle of the way */
  retract(q: tf.Tensor, increment: tf.Tensor, t: tf.Tensor): tf.Tensor;
  project(q: tf.Tensor): tf.Tensor;
}

/** @throws ShapeError in a trace where one does not give the shape of q */
export function motionOf({rate, retract, project}: Kinematics, params: Params): KinematicMotion {
  const move = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor =>
    position('kinematics.rate', q, () => rate({q, v, t, params}));
  const settle = (q: tf.Tensor): tf.Tensor =>
    project === undefined ? q : position('kinematics.project', q, () => project({q, params}));
  return {
    rate: move,
    project: settle,
    retract: (q, increment, t) =>
      retract === undefined
        ? settle(tf.add(q, move(tf.add(q, tf.mul(0.5, move(q, increment, t))), increment, t)))
        : position('kinematics.retract', q, () => retract({q, increment, t, params})),
  };
}

const position = (name: string, q: tf.Tensor, of: () => tf.Tensor): tf.Tensor =>
  returned(name, of, {code: 'kinematics-shape', ...ofShape(q.shape, 'q'), data: {term: name, q: q.shape}});
