/**
 * Forces with a branch that is not chosen and whose slope there is infinite or no number: the gradients of a
 * run are those of the coordinate that moves, alone. Expected: a run of that coordinate by itself.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, newmark, radauIIA5, rk4, simulate} from '../../lib/index.js';
import {engines} from '../simulate/engines.js';

type Force = (q: tf.Tensor) => tf.Tensor;

const where =
  (f: Force): Force =>
  q =>
    tf.where(tf.greater(q, 0), f(q), tf.zerosLike(q));
/** None at coordinates at or below zero. */
const forces: Readonly<Record<string, Force>> = {
  '√q': where(tf.sqrt),
  '1/q': where(q => tf.div(1, q)),
  'q log q': where(q => tf.mul(q, tf.log(q))),
  '√relu(q)': q => tf.sqrt(tf.relu(q)),
};

describe('gradients past branches that are not chosen', () => {
  for (const {name: engine, double} of engines) {
    for (const [name, force] of Object.entries(forces)) {
      it(`${engine}: ${name}`, () => {
        const tolerance = double ? 1e-12 : 1e-5;
        const system = mechanics({mass: 1, forces: ({q, params}) => tf.mul(force(q), params['k'] as tf.Tensor)});
        for (const scheme of name === '√q' ? [newmark(), radauIIA5()] : [rk4()]) {
          const options = {scheme, dt: 0.1, steps: 3, engine, saveAt: 'end', params: {k: -0.7}} as const;
          const one = (q: number[]): number[] => {
            const zeros = q.map(() => 0);
            const start = {q, v: zeros};
            const {params, initial} = simulate.vjp(system, start, options).pullback({q: [zeros, q.map(() => 1)]});
            const {tangent} = simulate.jvp(system, start, options, {params: {k: 1}});
            const {product} = simulate.hvp(system, start, options, ({q: saved}) => tf.sum(tf.slice(saved, 1, 1)), {
              params: {k: 1},
            });
            const moving = q.length - 1;
            // A coordinate that no force reaches keeps the slope 1, and no curvature.
            if (moving > 0) expect([initial.q?.[0], product.initial.q?.[0]]).to.deep.equal([1, 0]);
            return [
              (params['k'] as Float64Array)[0],
              initial.q?.[moving] ?? NaN,
              tangent.q[q.length + moving],
              (product.params['k'] as Float64Array)[0],
              product.initial.q?.[moving] ?? NaN,
            ];
          };
          const alone = one([2]);
          for (const other of [-1, 0])
            one([other, 2]).forEach((value, i) => expect(value).to.be.closeTo(alone[i], tolerance));
        }
      });
    }
  }
});
