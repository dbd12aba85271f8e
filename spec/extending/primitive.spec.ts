/** Primitives from outside: Bessel's functions J₀ and J₁, each in the other's derivative, and log(eᵃ + eᵇ) of two arguments. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  batch,
  definePrimitive,
  implicitMidpoint,
  mechanics,
  OptionError,
  simulate,
  ShapeError,
  TraceError,
  type SimulateOptions,
} from '../../lib/index.js';

/** Jₙ(x) = (1/π)∫₀^π cos(nτ − x sin τ) dτ by the trapezoidal rule, which converges faster than any power (Trefethen & Weideman 2014): 64 points give 16 digits for |x| < 20. */
const bessel =
  (n: number) =>
  (x: number): number => {
    let sum = 0;
    for (let i = 0; i < 64; i++) sum += Math.cos((n * 2 * Math.PI * i) / 64 - x * Math.sin((2 * Math.PI * i) / 64));
    return sum / 64;
  };
const j0: (x: tf.Tensor | number) => tf.Tensor = definePrimitive({
  name: 'besselJ0',
  value: bessel(0),
  derivatives: [([x]) => tf.neg(j1(x))],
});
const j1: (x: tf.Tensor | number) => tf.Tensor = definePrimitive({
  name: 'besselJ1',
  value: bessel(1),
  // J₀ − J₁/x, ½ at 0.
  derivatives: [
    ([x], y) =>
      tf.sub(
        j0(x),
        tf.where(tf.equal(x, 0), tf.onesLike(x).mul(0.5), tf.div(y, tf.where(tf.equal(x, 0), tf.onesLike(x), x))),
      ),
  ],
});
const logAddExp = definePrimitive({
  name: 'logAddExp',
  value: (a, b) => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))),
  derivatives: [([a], y) => tf.exp(tf.sub(a, y)), ([, b], y) => tf.exp(tf.sub(b, y))],
});

// Abramowitz & Stegun, table 9.1.
const [j0At1, j0At25, j1At1] = [0.7651976865579666, -0.0483837764681979, 0.4400505857449335];

describe('a primitive from outside', () => {
  it('is a tfjs operation: value, gradient and second gradient', () => {
    tf.tidy(() => {
      const x = tf.tensor1d([1, 2.5]);
      // float32 keeps seven digits.
      expect([...j0(x).dataSync()][0]).to.be.closeTo(j0At1, 1e-7);
      expect([...j0(x).dataSync()][1]).to.be.closeTo(j0At25, 1e-7);
      expect(
        tf
          .grad(x => tf.sum(j0(x)))(x)
          .dataSync()[0],
      ).to.be.closeTo(-j1At1, 1e-6);
      // J₀'' = J₁/x − J₀
      expect(
        tf
          .grad(x => tf.sum(tf.grad(x => tf.sum(j0(x)))(x)))(x)
          .dataSync()[0],
      ).to.be.closeTo(j1At1 - j0At1, 1e-6);
      const [ga, gb] = tf.grads((a, b) => tf.sum(logAddExp(a, b)))([tf.tensor2d([[0], [1]]), tf.tensor1d([0, 1, 2])]);
      expect([ga.shape, gb.shape]).to.deep.equal([[2, 1], [3]]);
      const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
      expect(gb.dataSync()[1]).to.be.closeTo(sigmoid(1) + sigmoid(0), 1e-6);
    });
  });

  /** A field of potentials J₀(k|q|), and a soft floor. */
  const field = mechanics({
    mass: 1,
    forces: [
      ({q, params}) => tf.neg(tf.grad(q => tf.sum(j0(tf.mul(params.k as tf.Tensor, q))))(q)),
      ({q}) => tf.mul(0.3, tf.sub(1, logAddExp(q, 0.2))),
    ],
  });
  const start = {q: [0.9, 0, -1.7], v: [0.1, 1, 0.2]};
  const options: SimulateOptions = {scheme: implicitMidpoint(), dt: 0.05, steps: 40, params: {k: 1.4}};
  const loss = (q: Float64Array): number => q.reduce((sum, x) => sum + Math.sin(x), 0);

  it('moves a system on all engines: as plain JavaScript does, and to the bit alike', () => {
    const paths = (['wasm', 'interpreter', 'tensor'] as const).map(engine =>
      simulate(field, start, {...options, engine}),
    );
    for (const path of paths) path.dispose();
    const [wasm, interpreter, tensor] = paths.map(path => path.values('q'));
    expect(wasm).to.deep.equal(interpreter);
    // float32, over 40 steps.
    tensor.forEach((x, i) => expect(x).to.be.closeTo(wasm[i], 2e-4));
    // The midpoint rule by fixed-point iteration, which contracts by (h/2)²k² here.
    const force = (q: number): number => 1.4 * bessel(1)(1.4 * q) + 0.3 * (1 - Math.log(Math.exp(q) + Math.exp(0.2)));
    for (let i = 0; i < 3; i++) {
      let [q, v] = [start.q[i], start.v[i]];
      for (let n = 0; n < 40; n++) {
        let middle = q;
        for (let k = 0; k < 30; k++) middle = q + 0.025 * (v + 0.025 * force(middle));
        const gain = 0.05 * force(middle);
        q += 0.05 * (v + gain / 2);
        v += gain;
      }
      expect(wasm[120 + i]).to.be.closeTo(q, 1e-12);
    }
  });

  it('is differentiated: backwards, forwards, and twice', () => {
    const at = (k: number): {value: number; gradient: number} => {
      const {trajectory, pullback} = simulate.vjp(field, start, {...options, params: {k}});
      const q = trajectory.values('q');
      const gradient = (pullback({q: Float64Array.from(q, Math.cos)}).params.k as Float64Array)[0];
      trajectory.dispose();
      return {value: loss(q), gradient};
    };
    const {gradient} = at(1.4);
    // Central differences of fourth order: truncation and rounding are near 1e-11 of the loss.
    const h = 1e-3;
    const [a, b, c, d] = [1.4 - 2 * h, 1.4 - h, 1.4 + h, 1.4 + 2 * h].map(at);
    expect(gradient).to.be.closeTo(
      (a.value - 8 * b.value + 8 * c.value - d.value) / (12 * h),
      1e-9 * Math.abs(gradient),
    );
    const {trajectory, tangent} = simulate.jvp(field, start, options, {params: {k: 1}});
    const q = trajectory.values('q');
    trajectory.dispose();
    expect((tangent.q as Float64Array).reduce((sum, dx, i) => sum + Math.cos(q[i]) * dx, 0)).to.be.closeTo(
      gradient,
      1e-11 * Math.abs(gradient),
    );
    const second = simulate.hvp(field, start, options, ({q}) => tf.sum(tf.sin(q)), {params: {k: 1}});
    expect((second.product.params.k as Float64Array)[0]).to.be.closeTo(
      (a.gradient - 8 * b.gradient + 8 * c.gradient - d.gradient) / (12 * h),
      1e-7 * Math.abs(gradient),
    );
  });

  it('takes any number of arguments, some without a derivative; left out where it is not chosen', () => {
    // −k(q − c)|q − c|^(p−1) with p fixed: √ has an infinite slope where q = c.
    const power = definePrimitive({
      name: 'power',
      value: (k, x, p) => -k * x ** p,
      derivatives: [
        ([k], y) => tf.div(y, k),
        ([k, x, p]) => tf.neg(tf.mul(tf.mul(k, p), tf.pow(x, tf.sub(p, 1)))),
        undefined,
      ],
    });
    const rubber = mechanics({
      mass: 1,
      forces: ({q, params}) =>
        tf.where(tf.greater(q, 0), power(params.k as tf.Tensor, tf.relu(q), 0.5), tf.zerosLike(q)),
    });
    const plain = mechanics({
      mass: 1,
      forces: ({q, params}) =>
        tf.where(tf.greater(q, 0), tf.neg(tf.mul(params.k as tf.Tensor, tf.sqrt(tf.relu(q)))), tf.zerosLike(q)),
    });
    const [mine, theirs] = [rubber, plain].map(system => {
      const {trajectory, pullback} = simulate.vjp(
        system,
        {q: [0.5, -1, 0], v: [0, 0.1, 0]},
        {...options, engine: 'wasm'},
      );
      const gradient = pullback({q: Float64Array.from(trajectory.values('q'), Math.cos)});
      trajectory.dispose();
      return [
        ...trajectory.values('q'),
        ...(gradient.params.k as Float64Array),
        ...(gradient.initial.q as Float64Array),
      ];
    });
    expect(mine.every(Number.isFinite)).to.equal(true);
    // Pow is not the square root to the last bit.
    mine.forEach((x, i) => expect(x).to.be.closeTo(theirs[i], 1e-11));
  });

  it('runs in this thread, where the function is', () => {
    const starts = Array.from({length: 8}, (_, i) => ({q: [0.1 * i], v: [1]}));
    const paths = batch(field, starts, options);
    const single = simulate(field, starts[3], options);
    expect(paths[3].values('q')).to.deep.equal(single.values('q'));
    expect(paths.map(({stats}) => stats.thread)).to.deep.equal(starts.map(() => 'own'));
    for (const path of [...paths, single]) path.dispose();
  });

  it('is refused where it is none', () => {
    const one = (x: number): number => x;
    expect(() => definePrimitive({name: 'f', value: one, derivatives: []})).to.throw(
      OptionError,
      'one for each argument',
    );
    expect(() => definePrimitive({name: 'f', value: one, derivative: []} as never)).to.throw(
      OptionError,
      "Did you mean 'derivatives'?",
    );
    const listed = definePrimitive({
      name: 'listed',
      value: x => x ** 2,
      derivatives: [x => tf.mul(2, x as unknown as tf.Tensor)],
    });
    const square = mechanics({mass: 1, forces: ({q}) => listed(q)});
    expect(() => simulate(square, {q: 1, v: 0}, {dt: 0.1, steps: 1})).to.throw(
      ShapeError,
      /^the derivative of listed: .* Was a list of tensors given in place of a tensor\? Take it apart, \(\[x\]\) => …/,
    );
    expect(() => logAddExp(1)).to.throw(OptionError, 'logAddExp takes 2 arguments, not 1');
    const outside = tf.scalar(2);
    const captures = definePrimitive({name: 'captures', value: x => 2 * x, derivatives: [() => outside]});
    const system = mechanics({mass: 1, forces: ({q}) => captures(q)});
    expect(() => simulate(system, {q: 1, v: 0}, {...options, params: {}})).to.throw(
      TraceError,
      'The derivative of captures with respect to argument 0 captures a tensor from outside',
    );
    outside.dispose();
  });
});
