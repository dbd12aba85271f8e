/** Routines that serve all runs of one compiled step: what tells two runs apart makes two routines. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {NewtonOptions, StepLength} from '../../lib/index.js';
import {full, implicitMidpoint, lu, mechanics, newton, simulate, unrolledAdjoint} from '../../lib/index.js';

describe('newton: routines shared by runs', () => {
  const weights = (rows: number, columns: number): number[][] =>
    Array.from({length: rows}, (_, i) =>
      Array.from({length: columns}, (__, j) => Math.sin(1 + 7 * i + 13 * j) / Math.sqrt(rows)),
    );
  const [w, u, o] = [weights(16, 24), weights(24, 24), weights(24, 8)];
  // A Jacobian of a network is so expensive that it is kept by default.
  const network = mechanics({
    mass: 1,
    forces: ({q, v}) => {
      const hidden = tf.tanh(tf.matMul(tf.reshape(tf.concat([q, v]), [1, 16]), tf.tensor2d(w)));
      const pull = tf.matMul(tf.tanh(tf.matMul(hidden, tf.tensor2d(u))), tf.tensor2d(o));
      return tf.sub(tf.reshape(pull, [8]), tf.mul(q, 100));
    },
  });
  const linear = lu();
  const jacobians = (options: NewtonOptions, unrolled = false): number => {
    const path = simulate(
      network,
      {q: new Float64Array(8).fill(0.1), v: new Float64Array(8)},
      {
        scheme: implicitMidpoint(),
        dt: 0.02,
        steps: 9,
        newton: newton({linear, ...options}),
        ...(unrolled ? {adjoint: unrolledAdjoint()} : {}),
      },
    );
    path.dispose();
    return path.stats.jacobianEvaluations;
  };

  it('an adjoint that asks for a Jacobian in every iteration gets it after a run that keeps one', () => {
    const kept = jacobians({});
    const fresh = jacobians({jacobian: 'fresh'});
    expect(kept).to.be.below(4);
    expect(fresh).to.be.at.least(9);
    expect(jacobians({}, true)).to.equal(fresh);
    expect(jacobians({})).to.equal(kept);
  });

  it("a step length of one's own called 'full' is damped after a run with full()", () => {
    const halves: StepLength = {
      name: 'full',
      choose(trial) {
        trial(0.5);
        return 0.5;
      },
    };
    const whole = jacobians({step: full(), jacobian: 'fresh'});
    expect(jacobians({step: halves, jacobian: 'fresh'})).to.be.greaterThan(3 * whole);
    expect(jacobians({step: full(), jacobian: 'fresh'})).to.equal(whole);
  });
});
