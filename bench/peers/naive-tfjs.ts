/**
 * The naive way: Newton with tfjs's own operations, the Jacobian from n VJPs, tf.linalg.qr, and for the gradient
 * an adjoint step by hand from the same parts. Single precision, on tfjs's cpu backend. A few steps are
 * timed and scaled to 200; what it finds is checked with all of them where that is quick enough.
 */
import * as tf from '@tensorflow/tfjs';
import {serve} from './protocol.js';

const [h, all, few, iterations] = [0.01, 200, 5, 2];

function force(q: tf.Tensor1D, v: tf.Tensor1D, k: tf.Tensor1D): tf.Tensor1D {
  const n = q.size;
  const d = q.sub(tf.concat([tf.zeros([1]), q.slice([0], [n - 1])]));
  const tension = k.mul(d.add(d.mul(d).mul(d).mul(0.5)));
  return tf
    .concat([tension.slice([1], [n - 1]), tf.zeros([1])])
    .sub(tension)
    .sub(v.mul(0.1))
    .add(1);
}

function residual(z: tf.Tensor1D, q: tf.Tensor1D, v: tf.Tensor1D, k: tf.Tensor1D): tf.Tensor1D {
  const mean = v.add(z).mul<tf.Tensor1D>(0.5);
  return z.sub(v).sub(force(q.add(mean.mul(h / 2)), mean, k).mul(h));
}

/** Rows ∂R_i/∂z, one VJP each. */
function jacobian(z: tf.Tensor1D, q: tf.Tensor1D, v: tf.Tensor1D, k: tf.Tensor1D): tf.Tensor2D {
  const pull = tf.grad(x => residual(x as tf.Tensor1D, q, v, k));
  return tf.stack(
    Array.from({length: z.size}, (_, i) => pull(z, tf.oneHot(tf.scalar(i, 'int32'), z.size).toFloat())),
  ) as tf.Tensor2D;
}

/** QR, then back substitution a row at a time, as tfjs has none. */
function solve(matrix: tf.Tensor2D, b: tf.Tensor1D): tf.Tensor1D {
  const n = b.size;
  const [q, r] = tf.linalg.qr(matrix);
  const right = tf.dot(q.transpose(), b).dataSync();
  const upper = r.dataSync();
  const x = new Float32Array(n);
  for (let i = n - 1; i >= 0; i--) {
    let sum = right[i];
    for (let j = i + 1; j < n; j++) sum -= upper[i * n + j] * x[j];
    x[i] = sum / upper[i * n + i];
  }
  return tf.tensor1d(x);
}

function run(n: number, steps: number, gradient: boolean): {loss: number; gradientNorm: number} {
  return tf.tidy(() => {
    const k = tf.fill([n], 1e4) as tf.Tensor1D;
    let [q, v] = [tf.zeros([n]) as tf.Tensor1D, tf.zeros([n]) as tf.Tensor1D];
    const states: [tf.Tensor1D, tf.Tensor1D, tf.Tensor1D][] = [];
    for (let step = 0; step < steps; step++) {
      const [next, z] = tf.tidy(() => {
        let x = v;
        for (let i = 0; i < iterations; i++) x = x.sub(solve(jacobian(x, q, v, k), residual(x, q, v, k)));
        return [q.add<tf.Tensor1D>(v.add(x).mul(h / 2)), x];
      });
      if (gradient) states.push([q, v, z]);
      [q, v] = [next, z];
    }
    const loss = q.square().sum().add(v.square().sum()).dataSync()[0];
    if (!gradient) return {loss, gradientNorm: NaN};
    let [toQ, toV] = [q.mul<tf.Tensor1D>(2), v.mul<tf.Tensor1D>(2)];
    let toK = tf.zeros([n]) as tf.Tensor1D;
    for (const [q0, v0, z] of states.reverse()) {
      [toQ, toV, toK] = tf.tidy(() => {
        const w = solve(jacobian(z, q0, v0, k).transpose(), toV.add(toQ.mul(h / 2)));
        const [byQ, byV, byK] = tf.grads((a, b, c) =>
          residual(z, a as tf.Tensor1D, b as tf.Tensor1D, c as tf.Tensor1D),
        )([q0, v0, k], w.neg());
        return [toQ.add(byQ), toQ.mul(h / 2).add(byV), toK.add(byK)] as [tf.Tensor1D, tf.Tensor1D, tf.Tensor1D];
      });
    }
    return {loss, gradientNorm: tf.norm(toK).dataSync()[0]};
  });
}

await tf.setBackend('cpu');
await serve((workload, n) => {
  if (workload !== 'chain') return 'written for the chain alone';
  let checked = false;
  return {
    forward: () => void run(n, few, false),
    gradient: () => {
      if (checked) return run(n, few, true);
      checked = true;
      return n > 8 ? {...run(n, few, true), loss: null as unknown as number} : run(n, all, true);
    },
    details: {scale: all / few, single: true},
  };
});
