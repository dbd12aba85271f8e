/** Rest: closed forms, the implicit gradient against them, on the tape and in double precision. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {equilibrium, mechanics, NewtonError, ode, SingularMatrixError} from '../../lib/index.js';

/** k q + c q³ = g, its real root by Cardano. */
function cubicRoot(k: number, c: number, g: number): number {
  const p = k / c;
  const half = g / (2 * c);
  const root = Math.sqrt(half * half + (p / 3) ** 3);
  return Math.cbrt(half + root) + Math.cbrt(half - root);
}

const spring = mechanics({
  mass: 1,
  forces: ({q, params}) => {
    const {k, c, g} = params as {[name: string]: tf.Tensor};
    return tf.sub(g, tf.add(tf.mul(k, q), tf.mul(c, tf.mul(q, tf.square(q)))));
  },
});
const params = {k: 3, c: 2, g: 9.81};

describe('equilibrium', () => {
  it('takes the start of a run, velocities and all, which count as zero', () => {
    const rest = equilibrium(spring, {q: [1.5], v: [7]}, {params});
    expect(rest.values('q')[0]).to.be.closeTo(cubicRoot(3, 2, 9.81), 1e-14 * 4);
    rest.dispose();
  });

  it('finds the root, from near and far', () => {
    const exact = cubicRoot(3, 2, 9.81);
    for (const start of [0, 1.5, 100, -40]) {
      const rest = equilibrium(spring, {q: [start]}, {params});
      expect(rest.values('q')[0], `from ${start}`).to.be.closeTo(exact, 1e-14 * 4);
      rest.dispose();
    }
  });

  it('has the gradient of the implicit function', () => {
    const q = cubicRoot(3, 2, 9.81);
    const slope = 3 + 3 * 2 * q * q;
    const {equilibrium: rest, pullback} = equilibrium.vjp(spring, {q: [1]}, {params});
    const cotangents = pullback({q: [1]}).params as {[name: string]: Float64Array};
    expect(cotangents.g[0]).to.be.closeTo(1 / slope, 1e-15);
    expect(cotangents.k[0]).to.be.closeTo(-q / slope, 1e-15);
    expect(cotangents.c[0]).to.be.closeTo(-(q ** 3) / slope, 1e-14);
    rest.dispose();
  });

  it("is differentiable on tfjs's tape, and leaves nothing behind", () => {
    const g = tf.variable(tf.scalar(9.81));
    const system = mechanics({mass: 1, forces: ({q}) => tf.sub(g, tf.mul(q, 4))});
    const before = tf.memory().numTensors;
    const {value, grads} = tf.variableGrads(
      () =>
        tf.sum(
          equilibrium(system, {
            q: [
              [0, 1],
              [2, 3],
            ],
          }).q,
        ) as tf.Scalar,
      [g],
    );
    expect(value.dataSync()[0]).to.be.closeTo(9.81, 1e-5, 'four times 9.81/4, in float32');
    expect(grads[g.name].dataSync()[0]).to.be.closeTo(1, 1e-6);
    tf.dispose([value, grads]);
    expect(tf.memory().numTensors).to.equal(before);
    const rest = equilibrium(system, {
      q: [
        [0, 1],
        [2, 3],
      ],
    });
    expect(rest.q.shape).to.deep.equal([2, 2]);
    rest.dispose();
    expect(tf.memory().numTensors).to.equal(before);
    g.dispose();
  });

  it('is the fixed point of an ode', () => {
    // Lotka–Volterra rests at (c/d, a/b).
    const system = ode(({y, params: p}) => {
      const {a, b, c, d} = p as {[name: string]: tf.Tensor};
      const [prey, hunters] = [tf.gather(y, 0), tf.gather(y, 1)];
      return tf.stack([tf.mul(prey, tf.sub(a, tf.mul(b, hunters))), tf.mul(hunters, tf.sub(tf.mul(d, prey), c))]);
    });
    const rest = equilibrium(system, {y: [30, 25]}, {params: {a: 0.55, b: 0.028, c: 0.84, d: 0.026}});
    expect(rest.values('y')[0]).to.be.closeTo(0.84 / 0.026, 1e-11);
    expect(rest.values('y')[1]).to.be.closeTo(0.55 / 0.028, 1e-11);
    rest.dispose();
  });

  it('says so where there is none, or more than one', () => {
    const none = mechanics({mass: 1, forces: ({q}) => tf.add(tf.square(q), 1)});
    expect(() => equilibrium(none, {q: [0.3]})).to.throw(NewtonError);
    const free = mechanics({
      mass: 1,
      forces: ({q}) => tf.mul(tf.sub(tf.gather(q, 0), tf.gather(q, 1)), tf.tensor1d([-1, 1])),
    });
    expect(() => equilibrium(free, {q: [0, 1]})).to.throw(SingularMatrixError, /q\[0\], q\[1\]/);
  });
});
