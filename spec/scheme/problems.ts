/** Smooth nonlinear, damped, driven systems, one for each kind of mass, shape and order that a scheme meets. */
import * as tf from '@tensorflow/tfjs';
import type {ForceTerm, Initial, MechanicalSystem, OdeSystem} from '../../lib/index.js';
import {mechanics, ode} from '../../lib/index.js';

export interface Problem {
  readonly title: string;
  readonly system: MechanicalSystem | OdeSystem;
  /** Starts at a time that is not zero, so that a scheme that forgets t shows. */
  readonly initial: Initial & {readonly t: number};
}

/** Two hardening oscillators, coupled, with linear and cubic damping, driven at two phases. */
const duffing: readonly ForceTerm[] = [
  ({q}) => tf.mul(q, tf.add(tf.mul(tf.square(q), -2), [-3, -1])),
  ({v}) => tf.mul(v, tf.sub(-0.3, tf.mul(0.4, tf.square(v)))),
  ({q}) => tf.sin(tf.sub(tf.reverse(q), q)),
  ({t}) => tf.cos(tf.add(tf.mul(t, 1.7), [0, 1])),
];

const kick = {q: [0.6, -0.4], v: [0.2, 1], t: 0.3};

/** A double pendulum with unit lengths, joint friction and a driven first joint: m₁ = 1.3, m₂ = 0.7. */
const [m1, m2, g] = [1.3, 0.7, 3];

const doublePendulum = mechanics({
  mass: ({q}) => {
    const [first, second] = tf.split(q, 2);
    const coupling = tf.mul(m2, tf.cos(tf.sub(first, second)));
    return tf.reshape(tf.concat([tf.fill([1], m1 + m2), coupling, coupling, tf.fill([1], m2)]), [2, 2]);
  },
  forces: [
    // The inertia's own terms: those of d/dt(M)v and of the kinetic energy's slope.
    ({q, v}) => {
      const [first, second] = tf.split(q, 2);
      const [v1, v2] = tf.split(v, 2);
      const s = tf.mul(m2, tf.sin(tf.sub(first, second)));
      return tf.concat([tf.neg(tf.mul(s, tf.square(v2))), tf.mul(s, tf.square(v1))]);
    },
    ({q}) => tf.mul([-(m1 + m2) * g, -m2 * g], tf.sin(q)),
    ({v}) => tf.mul(v, [-0.2, -0.1]),
    ({t}) => tf.mul(tf.sin(tf.mul(t, 2)), [0.8, 0]),
  ],
});

export const mechanical: readonly Problem[] = [
  {title: 'scalar mass', system: mechanics({mass: 0.8, forces: duffing}), initial: kick},
  {title: 'lumped mass', system: mechanics({mass: [0.8, 1.7], forces: duffing}), initial: kick},
  {
    title: 'consistent mass',
    system: mechanics({
      mass: [
        [1.2, 0.4],
        [0.4, 0.9],
      ],
      forces: duffing,
    }),
    initial: kick,
  },
  {
    title: 'lumped mass that depends on q',
    system: mechanics({
      mass: ({q}) => tf.add(1, tf.mul(0.5, tf.square(q))),
      // −½ m'(q) v² belongs to it.
      forces: [...duffing, ({q, v}) => tf.mul(-0.5, tf.mul(q, tf.square(v)))],
    }),
    initial: kick,
  },
  {title: 'double pendulum, M(q)', system: doublePendulum, initial: {q: [0.5, 0.2], v: [0.2, 0.3], t: 0.3}},
  {
    title: 'q of shape [2, 3], consistent mass [6, 6]',
    system: mechanics({
      mass: Array.from({length: 6}, (_, i) =>
        Array.from({length: 6}, (__, j) => (i === j ? 1 + 0.2 * i : 0.1 / (1 + Math.abs(i - j)))),
      ),
      forces: [
        ({q}) => tf.mul(-2, tf.add(q, tf.mul(tf.square(q), q))),
        ({q}) => tf.sub(tf.reverse(q, [0]), q),
        ({v}) => tf.mul(-0.3, tf.add(v, tf.mul(v, tf.square(v)))),
        ({t, q}) => tf.mul(tf.cos(tf.mul(t, 2)), tf.onesLike(q)),
      ],
    }),
    initial: {
      q: [
        [0.5, -0.3, 0.2],
        [0.1, 0.6, -0.4],
      ],
      v: [
        [0, 1, -0.5],
        [0.3, 0, 0.2],
      ],
      t: 0.3,
    },
  },
];

export const firstOrder: readonly Problem[] = [
  {
    title: 'ode: a driven predator and prey',
    system: ode(({y, t}) =>
      tf.add(tf.mul(y, tf.mul(tf.sub(1, tf.reverse(y)), [1, -1])), tf.mul(0.3, tf.cos(tf.add(tf.mul(t, 2), [0, 1])))),
    ),
    initial: {y: [1.2, 0.6], t: 0.3},
  },
];
