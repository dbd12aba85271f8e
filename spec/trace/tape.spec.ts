/** tf.grad inside a traced function through what no kernel of tfjs computes. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {elements, implicitMidpoint, ode, rk4, simulate, traced, type Scheme} from '../../lib/index.js';
import {transposedProduct} from '../../lib/trace/differentials.js';

/** f of y = [0.7, −0.4, 1.1], where it stands for a derivative of a run. */
function valueOf(f: (y: tf.Tensor, p: tf.Tensor) => tf.Tensor, scheme: Scheme): number[] {
  const system = ode(({y, params}) => f(y, params.p as tf.Tensor));
  const run = simulate(system, {y: [0.7, -0.4, 1.1]}, {scheme, dt: 1e-6, steps: 1, params: {p: 1.5}});
  const [before, after] = [[0.7, -0.4, 1.1], Array.from(run.values('y').slice(-3))];
  run.dispose();
  return after.map((value, i) => (value - before[i]) / 1e-6);
}

const y0 = [0.7, -0.4, 1.1];

// Of an explicit scheme's first stage y is an input of the step, of an implicit one's an expression.
for (const scheme of [rk4(), implicitMidpoint()])
  describe(`tfjs's tape inside a trace, ${scheme.name}`, () => {
    it('differentiates derivatives along directions, beside other terms', () => {
      // V = Σ y² + d/ds (y + s)³ p = y² + 3 p y², with p = 3/2: the gradient is 11 y.
      const cubes = (y: tf.Tensor, p: tf.Tensor): tf.Tensor => {
        const along = traced.derivativeAlong(({x}) => tf.mul(p, tf.pow(x, 3)), {x: y}, {x: tf.onesLike(y)});
        return tf.sum(tf.add(along, tf.square(y)));
      };
      valueOf((y, p) => tf.grad((x: tf.Tensor) => cubes(x, p))(y), scheme).forEach((value, i) =>
        expect(value).to.be.closeTo(11 * y0[i], 1e-4),
      );
      // By what the function has captured: Σ 3 y².
      const byP = valueOf((y, p) => tf.mul(tf.onesLike(y), tf.grad((own: tf.Tensor) => cubes(y, own))(p)), scheme);
      const sum = y0.reduce((total, y) => total + 3 * y * y, 0);
      for (const value of byP) expect(value).to.be.closeTo(sum, 1e-4);
    });

    it('differentiates products with a transposed Jacobian, by the point and by the cotangent', () => {
      // Jᵀ w of Σ y³/3 is y² w; of Σ y² w with w = y it is Σ y³, whose gradient is 3 y².
      const product = (y: tf.Tensor): tf.Tensor =>
        tf.sum(transposedProduct(({x}) => tf.div(tf.pow(x, 3), 3), {x: y}, 'x', y));
      valueOf(y => tf.grad(product)(y), scheme).forEach((value, i) =>
        expect(value).to.be.closeTo(3 * y0[i] ** 2, 1e-4),
      );
    });

    it('differentiates forces of elements, by positions and by data', () => {
      // Two springs of length 0: V = k/2 Σ Δ², so that force · y = −2 V.
      const springs = (y: tf.Tensor, k: tf.Tensor): tf.Tensor => {
        const force = elements({
          nodes: [
            [0, 1],
            [1, 2],
          ],
          data: {k: tf.mul(k, [1, 2])},
          energy: ({x, data}) =>
            tf.mul(tf.div(data.k, 2), tf.square(tf.sub(tf.slice(x, [0], [1]), tf.slice(x, [1], [1]))).sum()),
        })({q: y, v: y, t: tf.scalar(0), params: {}});
        return tf.sum(tf.mul(force, y));
      };
      const [a, b] = [y0[0] - y0[1], y0[1] - y0[2]];
      const byY = valueOf((y, p) => tf.grad((x: tf.Tensor) => springs(x, p))(y), scheme);
      [-3 * a, 3 * a - 6 * b, 6 * b].forEach((exact, i) => expect(byY[i]).to.be.closeTo(exact, 1e-4));
      const byK = valueOf((y, p) => tf.mul(tf.onesLike(y), tf.grad((own: tf.Tensor) => springs(y, own))(p)), scheme);
      for (const value of byK) expect(value).to.be.closeTo(-(a * a + 2 * b * b), 1e-4);
    });
  });
