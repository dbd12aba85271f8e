/**
 * Rest as a scheme whose one step lands on it: its residual is the force, so Newton, adjoint and tfjs operation are
 * those of `simulate`.
 */
import * as tf from '@tensorflow/tfjs';
import {constraintsOf, rowScale} from '../scheme/constrained.js';
import type {Scheme} from '../scheme/index.js';
import type {Formulation, StepPoint} from '../scheme/scheme.js';
import type {Blocks} from '../system/equations.js';
import {constantTensor} from '../trace/trace.js';

/**
 * What gaps weigh beside forces where a line search adds up their squares: a gap of one unit of length
 * as much as the force that gives the whole an acceleration of one. Weighed one to one, the search for a
 * hanging chain of 64 unit masses crawls along the forces' valley (200 steps and not there; so 12).
 */
const wholeMass = ({mass, x}: StepPoint): tf.Tensor => tf.sum(tf.abs(mass(x.q, tf.onesLike(x.v))));

/** The position, and hidden states in a velocity of zero; both are parts of the unknown. */
const restAt = (q: tf.Tensor, {x, unknownPosition, zeroVelocity}: StepPoint): {q: tf.Tensor; v: tf.Tensor} => ({
  q: unknownPosition.at(x.q, q),
  v: zeroVelocity(x.v, q),
});

/** Times between which loads grow, as their steps go from 0 to 1. */
export interface LoadSpan {
  readonly from: number;
  readonly to: number;
}

/**
 * Rest at the time of the step's start; with a span of loads, at the end of a step of a path to rest, f(q, 0, t(τ)) =
 * (1 − τ) f(q₀, 0, t(0)): what is not balanced at the guess is let go in steps (a global homotopy; Allgower & Georg
 * 1990, eq. 1.2.3). Loads that do not depend on q grow with τ, loads and supports that are functions of t follow it,
 * and every guess is on the path where τ = 0.
 */
export function restScheme(span?: LoadSpan): Scheme {
  const progress = ({t, h}: StepPoint): tf.Tensor => tf.add(t, h);
  const time = (at: StepPoint): tf.Tensor =>
    span === undefined ? at.t : tf.add(span.from, tf.mul(span.to - span.from, progress(at)));
  const balance = (force: tf.Tensor, at: StepPoint): tf.Tensor =>
    span === undefined ? force : tf.sub(force, tf.mul(tf.sub(1, progress(at)), at.x.unbalanced));
  const carries = (unbalanced: (at: StepPoint, t: tf.Tensor) => tf.Tensor): Partial<Formulation> =>
    span === undefined ? {} : {carry: at => ({unbalanced: unbalanced(at, constantTensor(span.from, []))})};
  const carried = ({x: {unbalanced}}: StepPoint): Blocks => (span === undefined ? {} : {unbalanced});
  const ofForce = carries(({x, force}, t) => force(x.q, x.v, t));
  // λ starts as that of the system let go where the search begins: without tension a chain has no stiffness.
  const held: Formulation = {
    unknown: ['q'],
    multipliers: ['lambda'],
    supports: {kinematics: true},
    ...ofForce,
    residual: ({q, lambda}, at) => {
      const constraints = constraintsOf(at);
      const place = {...restAt(q, at), t: time(at)};
      const way = at.unknownPosition.increment(at.x.q, q);
      const force = tf.add(at.force(place.q, place.v, place.t), constraints.reaction(place, lambda));
      return {
        q: balance(force, at),
        lambda: tf.mul(wholeMass(at), constraints.restRows(place, way, lambda, rowScale(at, 1, 1))),
      };
    },
    update: ({q, lambda}, at) => ({...restAt(q, at), lambda, ...carried(at)}),
  };
  return {
    name: 'equilibrium',
    order: 0,
    mechanics: {
      unknown: ['q'],
      supports: {kinematics: true},
      ...ofForce,
      residual: (z, at) => {
        const {q, v} = restAt(z.q, at);
        return {q: balance(at.force(q, v, time(at)), at)};
      },
      update: ({q}, at) => ({...restAt(q, at), ...carried(at)}),
    },
    constrained: () => held,
    ode: {
      unknown: ['y'],
      supports: {mass: 2},
      ...carries(({x: {y}, rightHandSide}, t) => rightHandSide({y}, t).y),
      residual: ({y}, at) => ({y: balance(at.rightHandSide({y}, time(at)).y, at)}),
      update: ({y}, at) => ({y, ...carried(at)}),
    },
  };
}
