/**
 * Newton's iteration as one call of the engine (engine/wasm/newton-calls.ts), and the same operation by operation: states,
 * gradients and counts are the same to the bit, for every factor that has such calls, and where a matrix is not one for it.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Engine, Executable} from '../../lib/engine/engine.js';
import {refused} from '../../lib/engine/engine.js';
import {wasm} from '../../lib/engine/index.js';
import type {MechanicalSystem, Scheme} from '../../lib/index.js';
import {
  bdf2,
  gaussLegendre,
  generalizedAlpha,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  simulate,
  trapezoid,
} from '../../lib/index.js';

import {draw, stream} from '../simulate/numbers.js';
import {coupled, stepByStep} from '../simulate/step-by-step.js';
import {runs} from '../property.js';

/** The engine with another `newtonCalls`, and every step by itself. */
const withCalls = (name: string, calls: (executable: Executable) => Executable['newtonCalls']): Engine =>
  stepByStep(wasm, name, executable => ({newtonCalls: {value: calls(executable)}}));

let [taken, refusals] = [0, 0];
const counting = withCalls('one call', executable => analysis => {
  const calls = executable.newtonCalls?.(analysis);
  return (
    calls && {
      ...calls,
      correct(absolute, relative) {
        const share = calls.correct(absolute, relative);
        if (share === refused) refusals++;
        else taken++;
        return share;
      },
    }
  );
});
const apart = withCalls('operation by operation', () => undefined);

/** Springs k(d + c d³) along a row: a tridiagonal Jacobian. */
const row: (n: number, seed: number) => MechanicalSystem = (n, seed) => {
  const masses = draw(stream(seed), n).map(x => 2 + x);
  return mechanics({
    mass: Array.from(masses),
    forces: ({q, v, params}) => {
      const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]));
      const tension = tf.mul(params.k as tf.Tensor, tf.add(d, tf.pow(d, 3)));
      return tf.sub(tf.sub(tf.concat([tf.slice(tension, [1]), tf.zeros([1])]), tension), tf.mul(v, 0.1));
    },
  });
};

const gauss = 'gaussLegendre, 2 stages';
const schemes: {readonly [name: string]: Scheme} = {
  implicitEuler: implicitEuler(),
  implicitMidpoint: implicitMidpoint(),
  trapezoid: trapezoid(),
  newmark: newmark(),
  generalizedAlpha: generalizedAlpha(),
  bdf2: bdf2(),
  [gauss]: gaussLegendre({stages: 2}),
};

/** States, gradient and counts of a run of 12 steps. */
function numbers(system: MechanicalSystem, n: number, seed: number, scheme: Scheme, engine: Engine): unknown {
  const next = stream(seed + 1);
  const {trajectory, pullback} = simulate.vjp(
    system,
    {q: draw(next, n), v: draw(next, n)},
    {scheme, dt: 0.05, steps: 12, engine, newton: newton(), params: {k: draw(next, n).map(x => 4 + x)}},
  );
  const [q, v] = [trajectory.values('q'), trajectory.values('v')];
  const {initial, params} = pullback({q, v});
  const {newtonIterations, residualEvaluations, jacobianEvaluations, factorizations, linear} = trajectory.stats;
  trajectory.dispose();
  return {q, v, initial, params, newtonIterations, residualEvaluations, jacobianEvaluations, factorizations, linear};
}

describe("newton: an iteration as one call of the engine's", () => {
  for (const [kind, make, sizes] of [
    ['tridiagonal', row, [4, 12]],
    ['dense, written out', coupled, [4, 8]],
    ['dense', coupled, [9, 12]],
  ] as const)
    for (const [name, scheme] of Object.entries(schemes)) {
      // Two stages of a row are a band, which has no kernels.
      if (kind === 'tridiagonal' && scheme === schemes[gauss]) continue;
      it(`${kind}, ${name}: the same bits as operation by operation`, () => {
        fc.assert(
          fc.property(fc.integer({min: sizes[0], max: sizes[1]}), fc.nat(1e6), (n, seed) => {
            [taken, refusals] = [0, 0];
            const system = make(n, seed);
            const one = numbers(system, n, seed, scheme, counting);
            expect(taken).to.be.above(5);
            expect(one).to.deep.equal(numbers(system, n, seed, scheme, apart));
          }),
          runs(2),
        );
      });
    }

  it('a matrix with pivots that lose digits goes to the general factor, with the same bits', () => {
    // Without pivoting the first pivot, 1 − h²k/4 of a spring that pushes, is nearly nothing.
    const pushing = mechanics({
      mass: 1,
      forces: ({q, params}) => {
        const [left, right] = [tf.slice(q, [0], [3]), tf.slice(q, [1], [3])];
        const coupled = tf.add(tf.concat([right, tf.zeros([1])]), tf.concat([tf.zeros([1]), left]));
        return tf.add(tf.mul(params.k as tf.Tensor, tf.add(q, tf.mul(tf.pow(q, 3), 1e-9))), tf.mul(coupled, 300));
      },
    });
    const of = (engine: Engine): unknown => {
      const {trajectory, pullback} = simulate.vjp(
        pushing,
        {q: [1e-3, 2e-3, -1e-3, 3e-3], v: [0, 0, 0, 0]},
        {scheme: implicitMidpoint(), dt: 0.1, steps: 3, engine, params: {k: 400}},
      );
      const q = trajectory.values('q');
      trajectory.dispose();
      return {q, gradient: pullback({q}).params};
    };
    [taken, refusals] = [0, 0];
    const one = of(counting);
    expect(refusals).to.be.above(0);
    expect(one).to.deep.equal(of(apart));
  });
});
