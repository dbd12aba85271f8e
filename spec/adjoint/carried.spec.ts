/** A step back leaves the cotangent of the unknown before it: the gradient is the one of steps that each begin anew. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {SaveAt, Scheme} from '../../lib/index.js';
import {
  auto,
  defineScheme,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  simulate,
  trapezoid,
} from '../../lib/index.js';
import {prepare} from '../../lib/simulate/prepare.js';

const pendulums = mechanics({
  mass: ({params}) => params.m as tf.Tensor,
  forces: ({q, v, params}) => tf.sub(tf.mul(tf.sin(q), tf.neg(params.g as tf.Tensor)), tf.mul(v, 0.2)),
});
const initial = {q: [0.4, -1.1, 2], v: [0.3, 0, -0.7]};
const params = {g: [9.81, 5, 12], m: [1, 2, 0.5]};

/** Of Σ q² at the end. */
function gradient(scheme: Scheme, saveAt: SaveAt, t1: number): number[] {
  const {trajectory, pullback} = simulate
    .prepare(pendulums, initial, {scheme, dt: 0.1, t1, saveAt, params})
    .vjp({params});
  const q = trajectory.values('q');
  const size = initial.q.length;
  const cotangent = q.map((x, i) => (i < q.length - size ? 0 : 2 * x));
  const {
    params: {g, m},
    initial: start,
  } = pullback({q: cotangent});
  trajectory.dispose();
  return [g, m, ...Object.values(start)].flatMap(value => [...(value as Float64Array)]);
}

const pullsUnknownBefore = (scheme: Scheme, t1: number): boolean =>
  prepare(pendulums, initial, {scheme, dt: 0.1, t1, params}).compiled.adjoint(auto()).has('pullStepAndUnknown');

describe('adjoint: what a step back leaves', () => {
  for (const scheme of [implicitMidpoint(), trapezoid(), newmark(), implicitEuler()]) {
    // With every state saved, each step begins with the cotangent that is added, here of zeros; the last step of the second run is of half the length.
    for (const t1 of [1, 0.95]) {
      it(`${scheme.name}, to t = ${t1}`, () => {
        const [carried, anew] = [gradient(scheme, 'end', t1), gradient(scheme, 'all', t1)];
        carried.forEach((value, i) => expect(value).to.be.closeTo(anew[i], 1e-13 * Math.max(...anew.map(Math.abs))));
        expect(pullsUnknownBefore(scheme, t1)).to.equal(true);
      });
    }
  }

  it('is made anew where the update is not linear', () => {
    // The midpoint rule, its last half step taken explicitly from the force at the midpoint.
    const scheme = defineScheme({
      name: 'half and half',
      order: 2,
      unknown: ['v'],
      residual: ({v}, {x, t, h, mass, force}) => {
        const q = tf.add(x.q, tf.mul(tf.div(h, 2), v));
        return {v: tf.sub(mass(q, tf.sub(v, x.v)), tf.mul(tf.div(h, 2), force(q, v, tf.add(t, tf.div(h, 2)))))};
      },
      update: ({v}, {x, t, h, acceleration}) => {
        const q = tf.add(x.q, tf.mul(tf.div(h, 2), v));
        return {
          q: tf.add(x.q, tf.mul(h, v)),
          v: tf.add(v, tf.mul(tf.div(h, 2), acceleration(q, v, tf.add(t, tf.div(h, 2))))),
        };
      },
    });
    expect(pullsUnknownBefore(scheme, 1)).to.equal(false);
    const [carried, anew] = [gradient(scheme, 'end', 1), gradient(scheme, 'all', 1)];
    carried.forEach((value, i) => expect(value).to.be.closeTo(anew[i], 1e-13 * Math.max(...anew.map(Math.abs))));
  });
});
