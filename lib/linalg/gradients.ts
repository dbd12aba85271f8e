/**
 * Gradients of the four kernels. Each saves inputs only and computes the outputs it needs again, so
 * that they stand on tfjs's tape and the gradient can be differentiated again; each is made of
 * these same kernels and ordinary tfjs operations. Below, cotangents are cotangents, ⟨U, V⟩ = tr(UᵀV),
 * and a cotangent is read off a differential: dX = ... ⟹ ⟨X̄, dX⟩ = ⟨Ā, dA⟩ + ⟨B̄, dB⟩.
 *
 * Sources: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
 * differentiation" (2008); I. Murray, "Differentiation of the Cholesky decomposition" (2016),
 * arXiv:1602.07527; S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra
 * functions with application in optimum experimental design" (2010), arXiv:1001.1654.
 */
import * as tf from '@tensorflow/tfjs';
import {LinalgCholesky, LinalgLu, LinalgSolve, LinalgTriangularSolve} from './kernels.js';

export function runSolve(a: tf.Tensor, b: tf.Tensor, adjoint: boolean): tf.Tensor {
  return tf.engine().runKernel(LinalgSolve, {a, b}, {adjoint});
}

export function runTriangularSolve(a: tf.Tensor, b: tf.Tensor, lower: boolean, adjoint: boolean): tf.Tensor {
  return tf.engine().runKernel(LinalgTriangularSolve, {a, b}, {lower, adjoint});
}

export function runCholesky(a: tf.Tensor): tf.Tensor {
  return tf.engine().runKernel(LinalgCholesky, {a});
}

export function runLu(a: tf.Tensor): [lu: tf.Tensor, p: tf.Tensor] {
  return tf.engine().runKernel<[tf.Tensor, tf.Tensor]>(LinalgLu, {a});
}

/** Transposes the last two dimensions. */
export function transposed(a: tf.Tensor): tf.Tensor {
  const order = a.shape.map((_, i) => i);
  const last = order.length - 1;
  [order[last - 1], order[last]] = [order[last], order[last - 1]];
  return tf.transpose(a, order);
}

/** An n × n constant with a value for each side of the diagonal; multiplied, it selects triangles. */
export function triangles(
  n: number,
  {below, diagonal, above}: {below: number; diagonal: number; above: number},
): tf.Tensor {
  const values = Array.from({length: n * n}, (_, at) => {
    const [row, column] = [Math.floor(at / n), at % n];
    return row > column ? below : row === column ? diagonal : above;
  });
  return tf.tensor(values, [n, n], 'float32');
}

export const identity = (n: number): tf.Tensor => triangles(n, {below: 0, diagonal: 1, above: 0});

const order = (a: tf.Tensor): number => a.shape[a.rank - 1];
const single = (dy: tf.Tensor | tf.Tensor[]): tf.Tensor => (Array.isArray(dy) ? dy[0] : dy);

/**
 * X = A⁻¹B: A dX = dB − dA X, so B̄ = A⁻ᵀX̄ and Ā = −B̄Xᵀ.
 * With the transpose, X = A⁻ᵀB: Aᵀ dX = dB − dAᵀX, so B̄ = A⁻¹X̄ and ⟨B̄, −dAᵀX⟩ gives Ā = −XB̄ᵀ.
 */
tf.registerGradient({
  kernelName: LinalgSolve,
  inputsToSave: ['a', 'b'],
  gradFunc: (dy, [a, b], {adjoint}) => {
    const transposeA = adjoint === true;
    const db = runSolve(a, single(dy), !transposeA);
    return {
      a: () => {
        const x = runSolve(a, b, transposeA);
        return tf.neg(transposeA ? tf.matMul(x, db, false, true) : tf.matMul(db, x, false, true));
      },
      b: () => db,
    };
  },
});

/** As LinalgSolve; the entries of A that are not read have no gradient, so Ā keeps its triangle only. */
tf.registerGradient({
  kernelName: LinalgTriangularSolve,
  inputsToSave: ['a', 'b'],
  gradFunc: (dy, [a, b], attrs) => {
    const lower = attrs.lower !== false;
    const adjoint = attrs.adjoint === true;
    const db = runTriangularSolve(a, single(dy), lower, !adjoint);
    return {
      a: () => {
        const x = runTriangularSolve(a, b, lower, adjoint);
        const full = adjoint ? tf.matMul(x, db, false, true) : tf.matMul(db, x, false, true);
        return tf.mul(full, triangles(order(a), {below: lower ? -1 : 0, diagonal: -1, above: lower ? 0 : -1}));
      },
      b: () => db,
    };
  },
});

/**
 * A = LLᵀ: dA = dL Lᵀ + L dLᵀ, so L⁻¹dA L⁻ᵀ = L⁻¹dL + (L⁻¹dL)ᵀ, where L⁻¹dL is lower triangular: it is
 * Φ(L⁻¹dA L⁻ᵀ), Φ taking the lower triangle with half the diagonal. Hence dL = LΦ(L⁻¹dA L⁻ᵀ) and, Φ being
 * its own adjoint, ⟨L̄, dL⟩ = ⟨Φ(LᵀL̄), L⁻¹dA L⁻ᵀ⟩ gives L⁻ᵀΦ(LᵀL̄)L⁻¹, whose symmetric part is Ā
 * (Murray 2016, equation 10: symmetric A leaves the antisymmetric part undetermined).
 */
tf.registerGradient({
  kernelName: LinalgCholesky,
  inputsToSave: ['a'],
  gradFunc: (dy, [a]) => ({
    a: () => {
      const l = runCholesky(a);
      const phi = tf.mul(
        tf.matMul(l, single(dy), true, false),
        triangles(order(a), {below: 1, diagonal: 0.5, above: 0}),
      );
      const left = runTriangularSolve(l, phi, true, true); // L⁻ᵀΦ
      const both = runTriangularSolve(l, transposed(left), true, true); // (L⁻ᵀΦL⁻¹)ᵀ = L⁻ᵀ(L⁻ᵀΦ)ᵀ
      return tf.mul(tf.add(both, transposed(both)), 0.5);
    },
  }),
});

/**
 * PA = LU: P dA = dL U + L dU, so L⁻¹P dA U⁻¹ = L⁻¹dL + dU U⁻¹, the first strictly lower, the second upper
 * triangular. With M the strict lower triangle of LᵀL̄ plus the upper one of ŪUᵀ this gives
 * ⟨L̄, dL⟩ + ⟨Ū, dU⟩ = ⟨M, L⁻¹P dA U⁻¹⟩, hence Ā = PᵀL⁻ᵀM U⁻ᵀ (Walter & Lehmann 2010). P is locally constant.
 */
tf.registerGradient({
  kernelName: LinalgLu,
  inputsToSave: ['a'],
  gradFunc: (dys, [a]) => ({
    a: () => {
      const n = order(a);
      const [lu, p] = runLu(a);
      const below = triangles(n, {below: 1, diagonal: 0, above: 0});
      const onAndAbove = triangles(n, {below: 0, diagonal: 1, above: 1});
      const l = tf.add(tf.mul(lu, below), identity(n));
      const u = tf.mul(lu, onAndAbove);
      const dlu = single(dys);
      const m = tf.add(
        tf.mul(tf.matMul(l, tf.mul(dlu, below), true, false), below),
        tf.mul(tf.matMul(tf.mul(dlu, onAndAbove), u, false, true), onAndAbove),
      );
      const left = runTriangularSolve(l, m, true, true); // L⁻ᵀM
      const both = transposed(runTriangularSolve(u, transposed(left), false, false)); // L⁻ᵀM U⁻ᵀ
      return tf.matMul(permutation(p, n), both, true, false);
    },
  }),
});

/**
 * P as a matrix: row i has its one in column p[i]. (tfjs refuses a one-hot vector of length one, and its wasm
 * backend writes whole numbers where a float32 one is asked for.)
 */
export function permutation(p: tf.Tensor, n: number): tf.Tensor {
  return n < 2 ? tf.ones([...p.shape, n]) : tf.cast(tf.oneHot(p, n), 'float32');
}
