/**
 * The car axis of the IVP Test Set (Mazzia & Magherini, Bari/CWI): two points on springs, at one end of
 * an axis on a bumpy road, a rigid cotangent between them. Index 3, the constraint depends on time.
 */
import * as tf from '@tensorflow/tfjs';
import type {Initial, MechanicalSystem} from '../../lib/index.js';
import {bilateral, mechanics} from '../../lib/index.js';

const [eps, mass, length, rest, height, omega, gravity] = [1e-2, 10, 1, 0.5, 0.1, 10, 1];
const k = (mass * eps ** 2) / 2;

const parts = (q: tf.Tensor): tf.Tensor[] => [0, 1, 2, 3].map(i => tf.reshape(tf.slice(q, i, 1), []));
const road = (t: tf.Tensor): {x: tf.Tensor; y: tf.Tensor} => {
  const y = tf.mul(height, tf.sin(tf.mul(omega, t)));
  return {x: tf.sqrt(tf.sub(length ** 2, tf.square(y))), y};
};
/** A spring of rest length ½ pulls (x, y) to the origin. */
const pull = (x: tf.Tensor, y: tf.Tensor): tf.Tensor[] => {
  const now = tf.sqrt(tf.add(tf.square(x), tf.square(y)));
  const share = tf.div(tf.sub(rest, now), now);
  return [tf.mul(share, x), tf.sub(tf.mul(share, y), k * gravity)];
};

export const carAxis: MechanicalSystem = mechanics({
  mass: k,
  forces: ({q, t}) => {
    const [xl, yl, xr, yr] = parts(q);
    const {x, y} = road(t);
    return tf.stack([...pull(xl, yl), ...pull(tf.sub(xr, x), tf.sub(yr, y))]);
  },
  constraints: [
    bilateral(({q, t}) => {
      const [xl, yl] = parts(q);
      const {x, y} = road(t);
      return tf.add(tf.mul(x, xl), tf.mul(y, yl));
    }),
    bilateral(({q}) => {
      const [xl, yl, xr, yr] = parts(q);
      return tf.sub(tf.add(tf.square(tf.sub(xl, xr)), tf.square(tf.sub(yl, yr))), length ** 2);
    }),
  ],
});

export const carAxisStart: Initial = {q: [0, 0.5, 1, 0.5], v: [-0.5, 0, -0.5, 0]};

/** At t = 3, recomputed as an index-1 problem in quadruple precision; agrees with the published values to 12 digits. */
export const carAxisEnd = {
  q: [4.934557842752409e-2, 4.969894602300081e-1, 1.041742524885426, 3.739110272653658e-1],
  v: [-7.705836840359208e-2, 7.446866592068416e-3, 1.755681575354174e-2, 7.703410437796011e-1],
  lambda: [-4.736886590853327e-3, -1.104680331259566e-3],
};
