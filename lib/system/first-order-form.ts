/**
 * A mechanical system with hidden states or kinematics as an ode in y = (q, v, z), flat: for schemes that know no
 * better way to move its positions than to add to them, Runge–Kutta methods above all.
 */
import * as tf from '@tensorflow/tfjs';
import type {Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';
import {constantTensor} from '../trace/trace.js';
import type {Blocks, Equations, UserBlock} from './equations.js';
import {diagonal} from './ode-mass.js';

/** @param massless some masses are zero: then it is M y' = f with M = diag(1, M, 1) */
export function firstOrderEquations(
  mechanics: Equations,
  [{shape}, ...moving]: readonly UserBlock[],
  massless = false,
): Equations {
  const size = sizeOf(shape);
  const velocities = moving.length === 1 ? moving[0].shape : [moving.reduce((sum, {shape: s}) => sum + sizeOf(s), 0)];
  const parts = (y: tf.Tensor): {q: tf.Tensor; v: tf.Tensor} => ({
    q: tf.reshape(tf.slice(y, [0], [size]), [...shape]),
    v: tf.reshape(tf.slice(y, [size], [y.size - size]), [...velocities]),
  });
  const join = ({q, v}: Blocks): tf.Tensor => tf.concat([tf.reshape(q, [q.size]), tf.reshape(v, [v.size])]);
  const whole: Equations = {
    ...mechanics,
    kind: 'ode',
    mass: (_, w) => w,
    rate: ({y}, t) => ({y: join(mechanics.rate(parts(y), t))}),
    rightHandSide: ({y}, t) => ({y: join(mechanics.rate(parts(y), t))}),
    projectState: ({y, ...carried}) => {
      const {q, v} = parts(y);
      return {...carried, y: join({q: mechanics.project(q), v})};
    },
  };
  if (!massless) return whole;
  const one = (shapeOf: Shape): tf.Tensor => constantTensor(1, shapeOf);
  const masses = (): tf.Tensor => join({q: one([size]), v: mechanics.mass(constantTensor(0, shape), one(velocities))});
  return {
    ...whole,
    hasMassMatrix: true,
    massAt: masses,
    mass: (_, w) => tf.mul(masses(), w),
    rightHandSide: ({y}, t) => {
      const {q, v} = parts(y);
      return {y: join({q: mechanics.positionRate(q, v, t), v: mechanics.force(q, v, t)})};
    },
    rangeComplement: f => diagonal(masses()).known.beside(f),
    particularRate: f => diagonal(masses()).known.someRate(f),
  };
}
