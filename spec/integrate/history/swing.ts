/** A motion with jumps that several specs take gradients along. */
import * as tf from '@tensorflow/tfjs';
import {event, mechanics} from '../../../lib/index.js';

/** Params of it: k [2], c, e. */
export type P = Readonly<Record<string, tf.Tensor>>;
/** Two driven masses on hardening springs. */
export const swing = mechanics({
  mass: [1, 2],
  // Spread, they all count as read: c and e are those of `hit`, which not every run has.
  forces: ({q, v, t, params}) =>
    tf.addN([
      tf.neg(tf.mul(({...params} as P).k, tf.sinh(q))),
      tf.mul(v, -0.1),
      tf.mul(tf.cos(tf.mul(t, 3)), [0.3, 0.3]),
    ]),
});
/** Depends on state, time and parameters, in its function and in its jump. */
export const hit = event({
  when: ({q, t, params}) => tf.sub(tf.sum(q), tf.mul((params as P).c, tf.add(1, tf.mul(0.2, tf.sin(t))))),
  direction: 'falling',
  then: ({q, v, t, params}) => ({q: tf.add(q, tf.mul(0.05, tf.sin(t))), v: tf.mul(v, tf.neg((params as P).e))}),
});
export const pass = event({when: ({q}) => tf.sub(tf.sum(q), 0.9), then: 'record'});
/** Most of them between steps. */
export const times = [0.05, 0.123, 0.5, 0.777, 1, 1.3, 1.9];
