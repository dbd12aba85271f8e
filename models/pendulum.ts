/** Pendulums in minimal coordinates: angles from the downward vertical, in radians. */
import * as tf from '@tensorflow/tfjs';
import {optional, readBy, readOptions, typed, type Check, type Options} from '../lib/checks.js';
import type {ForceTerm, Mass, Params} from '../lib/index.js';
import {ShapeError} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, isZero, quantity} from './coefficient.js';
import {damper} from './damper.js';
import type {SystemWithEnergy} from './energy.js';
import {conservative, withEnergy} from './energy.js';
import {withFigure, type Drawn, type Figure} from './figure.js';
import {standardGravity} from './gravity.js';

const pendulumOptions = {
  /** [length] */
  length: quantity('positive'),
  /** [mass]; default 1. */
  mass: optional(quantity('positive'), 1),
  /** [length / time²]; default 9.80665, in SI. */
  g: optional(quantity(), standardGravity),
  /** Damping of the hinge [torque · time]; default 0. */
  damping: optional(typed<Coefficient>()),
};

/** The argument of `pendulum`. @interface */
export type PendulumSpec = Options<typeof pendulumOptions>;

/**
 * A bob on a massless rod: m l² q″ = −m g l sin q − c q′. q is a number, or has any shape: then each
 * entry is a separate pendulum, and coefficients are numbers or have the shape of q. The energy is
 * zero at rest, hanging.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 * @example
 * ```ts
 * import {simulate} from 'stiffgrad';
 * import {pendulum} from 'stiffgrad/models';
 *
 * const swing = pendulum({length: 1, mass: 1, g: 9.81});
 * const path = simulate(swing, {q: 0.1, v: 0}, {dt: 0.01, steps: 100});
 * console.log(path.q.shape); // → [101]
 * ```
 */
export function pendulum(spec: PendulumSpec): SystemWithEnergy & Drawn {
  const {length, mass: bob, g, damping} = readOptions(spec, pendulumOptions, 'pendulum');
  const inertia: Mass = ({q, params}) => {
    const product = tf.mul(bob(params, q.shape), tf.square(length(params, q.shape)));
    return product.size === 1 ? product : tf.broadcastTo(product, q.shape);
  };
  const moment = (params: Params): tf.Tensor => tf.mul(tf.mul(bob(params), g(params)), length(params));
  const weight = conservative(
    ({q, params}) => tf.neg(tf.mul(moment(params), tf.sin(q))),
    ({q, params}) => tf.sum(tf.mul(moment(params), versine(q))),
  );
  return withFigure(withEnergy(inertia, [weight, ...hinge(damping)]), {
    points: hungPoint(length),
    rods: [[1, 0]],
    fixed: [1],
    trails: [0],
  });
}

/** The first pendulum's bob and its hinge at the origin. */
function hungPoint(length: (params: Params) => tf.Tensor): Figure['points'] {
  return ({q, params}) => {
    const first = (x: tf.Tensor): tf.Tensor => tf.reshape(tf.slice(tf.reshape(x, [-1]), [0], [1]), [1]);
    const [angle, reach] = [first(q), first(length(params))];
    return tf.concat([
      tf.stack([tf.mul(reach, tf.sin(angle)), tf.neg(tf.mul(reach, tf.cos(angle)))], 1),
      tf.zeros([1, 2]),
    ]);
  };
}

/** 1 − cos q without cancellation at small angles. */
const versine = (q: tf.Tensor): tf.Tensor => tf.mul(2, tf.square(tf.sin(tf.mul(0.5, q))));

const hinge = (damping: Coefficient | undefined): ForceTerm[] =>
  damping === undefined || damping === 0 ? [] : [damper({coefficient: damping})];

/** A pair of numbers, each as a scalar tensor. */
const pair = (sign: 'positive' | 'non-negative'): Check<Coefficient, (params: Params) => [tf.Tensor, tf.Tensor]> =>
  readBy((value, name) => {
    const read = coefficient(value, name, sign);
    return params => entries(tf.broadcastTo(read(params, [2], 'a pair'), [2]));
  });

const doubleOptions = {
  /** [2], the upper rod first. */
  lengths: pair('positive'),
  /** [2]; default [1, 1]. */
  masses: optional(pair('positive'), [1, 1]),
  /** [length / time²]; default 9.80665, in SI. */
  g: optional(quantity(), standardGravity),
  /**
   * Damping of the hinges [2] [torque · time], the upper between rod and ground, the lower between the rods; default
   * none.
   */
  damping: optional(pair('non-negative')),
};

/** The argument of `doublePendulum`. @interface */
export type DoublePendulumSpec = Options<typeof doubleOptions>;

/**
 * Two bobs on massless rods, the second hung on the first; q = (q₁, q₂) [2] are both angles from the
 * downward vertical. With δ = q₁ − q₂ the bobs' speeds give
 *
 *     T = ½(m₁ + m₂) l₁² q₁′² + ½ m₂ l₂² q₂′² + m₂ l₁ l₂ q₁′ q₂′ cos δ,
 *     V = (m₁ + m₂) g l₁ (1 − cos q₁) + m₂ g l₂ (1 − cos q₂).
 *
 * Lagrange's equations d/dt ∂T/∂q′ − ∂T/∂q = −∂V/∂q: the mass matrix is ∂²T/∂q′²,
 *
 *     M = [(m₁ + m₂) l₁²      m₂ l₁ l₂ cos δ]
 *         [m₂ l₁ l₂ cos δ     m₂ l₂²        ]
 *
 * and with c = m₂ l₁ l₂ sin δ, since dM₁₂/dt = −c(q₁′ − q₂′), ∂T/∂q₁ = −c q₁′q₂′ and ∂T/∂q₂ = c q₁′q₂′,
 *
 *     −M′ q′ + ∂T/∂q = (c(q₁′ − q₂′)q₂′ − c q₁′q₂′,  c(q₁′ − q₂′)q₁′ + c q₁′q₂′) = (−c q₂′²,  c q₁′²),
 *
 * the inertia terms in the force. The energy T + V is zero at rest, hanging.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape', 'double-pendulum-shape' when traced
 * @example
 * ```ts
 * import {simulate} from 'stiffgrad';
 * import {doublePendulum} from 'stiffgrad/models';
 *
 * const swing = doublePendulum({lengths: [1, 1], masses: [1, 1]});
 * console.log(simulate(swing, {q: [1, 1], v: [0, 0]}, {dt: 0.01, steps: 10}).q.shape); // → [11, 2]
 * ```
 */
export function doublePendulum(spec: DoublePendulumSpec): SystemWithEnergy & Drawn {
  const {lengths, masses, g, damping} = readOptions(spec, doubleOptions, 'doublePendulum');
  /** (m₁ + m₂) l₁², m₂ l₁ l₂ and m₂ l₂². */
  const inertias = (params: Params): {upper: tf.Tensor; mixed: tf.Tensor; lower: tf.Tensor} => {
    const [l1, l2] = lengths(params);
    const [m1, m2] = masses(params);
    return {
      upper: tf.mul(tf.add(m1, m2), tf.square(l1)),
      mixed: tf.mul(m2, tf.mul(l1, l2)),
      lower: tf.mul(m2, tf.square(l2)),
    };
  };
  const mass: Mass = ({q, params}) => {
    const [q1, q2] = angles(q);
    const {upper, mixed, lower} = inertias(params);
    const coupling = tf.mul(mixed, tf.cos(tf.sub(q1, q2)));
    return tf.reshape(tf.stack([upper, coupling, coupling, lower]), [2, 2]);
  };
  const inertial: ForceTerm = ({q, v, params}) => {
    const [q1, q2] = angles(q);
    const [v1, v2] = angles(v);
    const c = tf.mul(inertias(params).mixed, tf.sin(tf.sub(q1, q2)));
    return tf.stack([tf.neg(tf.mul(c, tf.square(v2))), tf.mul(c, tf.square(v1))]);
  };
  /** g ((m₁ + m₂) l₁, m₂ l₂), [2]. */
  const moments = (params: Params): tf.Tensor => {
    const [l1, l2] = lengths(params);
    const [m1, m2] = masses(params);
    return tf.mul(g(params, [], 'a number'), tf.stack([tf.mul(tf.add(m1, m2), l1), tf.mul(m2, l2)]));
  };
  const weight = conservative(
    ({q, params}) => tf.neg(tf.mul(moments(params), tf.sin(q))),
    ({q, params}) => tf.sum(tf.mul(moments(params), versine(q))),
  );
  const points: Figure['points'] = ({q, params}) => {
    const reach = tf.stack(lengths(params));
    const [x, y] = [tf.cumsum(tf.mul(reach, tf.sin(q))), tf.neg(tf.cumsum(tf.mul(reach, tf.cos(q))))];
    return tf.concat([tf.stack([x, y], 1), tf.zeros([1, 2])]);
  };
  return withFigure(withEnergy(mass, [inertial, weight, ...(isZero(spec.damping) ? [] : hinges(damping))]), {
    points,
    rods: [
      [2, 0],
      [0, 1],
    ],
    fixed: [2],
    trails: [1],
  });
}

const entries = (x: tf.Tensor): [tf.Tensor, tf.Tensor] => [
  tf.reshape(tf.slice(x, [0], [1]), []),
  tf.reshape(tf.slice(x, [1], [1]), []),
];

function angles(q: tf.Tensor): [tf.Tensor, tf.Tensor] {
  if (q.shape.length === 1 && q.shape[0] === 2) return entries(q);
  throw new ShapeError(
    'double-pendulum-shape',
    `doublePendulum: q has shape [${q.shape.join(', ')}]; it must be the two angles, [2].`,
    {q: q.shape},
  );
}

/** The gradient of −½c₁q₁′² − ½c₂(q₂′ − q₁′)². */
function hinges(coefficients: ((params: Params) => [tf.Tensor, tf.Tensor]) | undefined): ForceTerm[] {
  if (coefficients === undefined) return [];
  return [
    ({v, params}) => {
      const [c1, c2] = coefficients(params);
      const [v1, v2] = angles(v);
      const lower = tf.mul(c2, tf.sub(v2, v1));
      return tf.stack([tf.sub(lower, tf.mul(c1, v1)), tf.neg(lower)]);
    },
  ];
}
