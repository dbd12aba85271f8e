/**
 * Gradients of the kernels of spectral-kernels.ts, under the rules of gradients.ts: they save inputs only and are
 * made of these same kernels and ordinary operations, so that they can be differentiated again.
 *
 * Vectors of equal eigenvalues or singular values have no derivative of their own: any rotation among them is
 * as good. What would be divided by such a difference, equal to rounding, is left out, as TensorFlow does
 * (linalg_grad.py, _SafeReciprocal).
 *
 * Sources: M. Giles (2008), as in gradients.ts; J. Townsend, "Differentiating the singular value
 * decomposition" (2016); G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
 * squares problems whose variables separate", SIAM J. Numer. Anal. 10 (1973), for least squares of constant rank.
 */
import * as tf from '@tensorflow/tfjs';
import {identity, transposed} from './gradients.js';
import {epsilonInUse, LinalgEigh, LinalgLeastSquares, LinalgSvd} from './spectral-kernels.js';

export const runEigh = (a: tf.Tensor): [values: tf.Tensor, vectors: tf.Tensor] =>
  tf.engine().runKernel<[tf.Tensor, tf.Tensor]>(LinalgEigh, {a});

export const runSvd = (a: tf.Tensor, fullMatrices: boolean): [s: tf.Tensor, u: tf.Tensor, v: tf.Tensor] =>
  tf.engine().runKernel<[tf.Tensor, tf.Tensor, tf.Tensor]>(LinalgSvd, {a}, {fullMatrices});

export const runLeastSquares = (a: tf.Tensor, b: tf.Tensor, fast: boolean): tf.Tensor =>
  tf.engine().runKernel(LinalgLeastSquares, {a, b}, {fast});

/** xⱼ in every row, xᵢ in every column of [..., n, n]. */
const inRows = (x: tf.Tensor): tf.Tensor => tf.expandDims(x, -2);
const inColumns = (x: tf.Tensor): tf.Tensor => tf.expandDims(x, -1);

/** 1/x, and 0 where |x| is rounding beside `size`, which broadcasts to it: values are computed to some ε of the largest, n terms each. */
function reciprocal(x: tf.Tensor, size: tf.Tensor, n: number): tf.Tensor {
  const close = tf.lessEqual(tf.abs(x), tf.mul(size, 4 * n * epsilonInUse()));
  return tf.where(close, tf.zerosLike(x), tf.div(1, tf.where(close, tf.onesLike(x), x)));
}

const list = (dy: tf.Tensor | tf.Tensor[]): tf.Tensor[] => (Array.isArray(dy) ? dy : [dy]);

/**
 * With M = VᵀS˙V, S the symmetric part: λ˙ = diag M and V˙ = V(F∘M), F_ij = 1/(λⱼ − λᵢ). So Ā is the symmetric part of
 * V(diag λ̄ + F∘VᵀV̄)Vᵀ.
 */
tf.registerGradient({
  kernelName: LinalgEigh,
  inputsToSave: ['a'],
  gradFunc: (dys, [a]) => ({
    a: () => {
      const n = a.shape[a.rank - 1];
      const [values, vectors] = runEigh(a);
      const [valuesCotangent, vectorsCotangent] = list(dys);
      const f = reciprocal(
        tf.sub(inRows(values), inColumns(values)),
        tf.expandDims(tf.max(tf.abs(values), -1, true), -1),
        n,
      );
      const inner = tf.add(
        tf.mul(inRows(valuesCotangent), identity(n)),
        tf.mul(f, tf.matMul(vectors, vectorsCotangent, true, false)),
      );
      const outer = tf.matMul(vectors, tf.matMul(inner, vectors, false, true));
      return tf.mul(tf.add(outer, transposed(outer)), 0.5);
    },
  }),
});

const columns = (x: tf.Tensor, from: number, count: number): tf.Tensor =>
  tf.slice(x, [...x.shape.slice(0, -1).map(() => 0), from], [...x.shape.slice(0, -1), count]);

/** Columns that complete a factor turn with the others, U₂˙ = −U U˙ᵀU₂: their cotangent is one of the others', −U₂Ū₂ᵀU. */
function withCompletion(all: tf.Tensor, cotangent: tf.Tensor, k: number): {first: tf.Tensor; cotangent: tf.Tensor} {
  const width = all.shape[all.rank - 1];
  const first = columns(all, 0, k);
  if (width === k) return {first, cotangent};
  const rest = columns(all, k, width - k);
  return {
    first,
    cotangent: tf.sub(
      columns(cotangent, 0, k),
      tf.matMul(rest, tf.matMul(columns(cotangent, k, width - k), first, true, false)),
    ),
  };
}

/** (I − UUᵀ)X: zero where U is square. */
function outside(u: tf.Tensor, x: tf.Tensor): tf.Tensor {
  return tf.sub(x, tf.matMul(u, tf.matMul(u, x, true, false)));
}

/**
 * Townsend's equations 45 to 48 put together, F_ij = 1/(sⱼ² − sᵢ²):
 * Ā = U[F∘(UᵀŪ − ŪᵀU) S + diag s̄ + S F∘(VᵀV̄ − V̄ᵀV)]Vᵀ + (I − UUᵀ)ŪS⁻¹Vᵀ + US⁻¹V̄ᵀ(I − VVᵀ).
 */
tf.registerGradient({
  kernelName: LinalgSvd,
  inputsToSave: ['a'],
  gradFunc: (dys, [a], {fullMatrices}) => ({
    a: () => {
      const [s, uAll, vAll] = runSvd(a, fullMatrices === true);
      const [sCotangent, uCotangentAll, vCotangentAll] = list(dys);
      const k = s.shape[s.rank - 1];
      const terms = Math.max(a.shape[a.rank - 2], a.shape[a.rank - 1]);
      const {first: u, cotangent: uCotangent} = withCompletion(uAll, uCotangentAll, k);
      const {first: v, cotangent: vCotangent} = withCompletion(vAll, vCotangentAll, k);
      const largest = tf.max(s, -1, true);
      const matrixLargest = tf.expandDims(largest, -1);
      const f = tf.mul(
        reciprocal(tf.sub(inRows(s), inColumns(s)), matrixLargest, terms),
        reciprocal(tf.add(inRows(s), inColumns(s)), matrixLargest, terms),
      );
      const inverse = inRows(reciprocal(s, largest, terms));
      const turn = (x: tf.Tensor, cotangent: tf.Tensor): tf.Tensor => {
        const product = tf.matMul(x, cotangent, true, false);
        return tf.mul(f, tf.sub(product, transposed(product)));
      };
      const inner = tf.addN([
        tf.mul(turn(u, uCotangent), inRows(s)),
        tf.mul(inRows(sCotangent), identity(k)),
        tf.mul(inColumns(s), turn(v, vCotangent)),
      ]);
      return tf.addN([
        tf.matMul(u, tf.matMul(inner, v, false, true)),
        tf.matMul(tf.mul(outside(u, uCotangent), inverse), v, false, true),
        tf.matMul(u, tf.mul(outside(v, vCotangent), inverse), false, true),
      ]);
    },
  }),
});

/**
 * x = A⁺b: x˙ = A⁺(b˙ − A˙x) + A⁺A⁺ᵀA˙ᵀr + (I − A⁺A)A˙ᵀw with r = b − A x and w = A⁺ᵀx. So b̄ = y = A⁺ᵀx̄ and
 * Ā = −y xᵀ + r (A⁺y)ᵀ + w (x̄ − A⁺A x̄)ᵀ.
 */
tf.registerGradient({
  kernelName: LinalgLeastSquares,
  inputsToSave: ['a', 'b'],
  gradFunc: (dy, [a, b], attrs) => {
    const fast = attrs.fast === true;
    const [xCotangent] = list(dy);
    const y = runLeastSquares(transposed(a), xCotangent, fast);
    return {
      a: () => {
        const x = runLeastSquares(a, b, fast);
        const r = tf.sub(b, tf.matMul(a, x));
        const w = runLeastSquares(transposed(a), x, fast);
        const apart = tf.sub(xCotangent, runLeastSquares(a, tf.matMul(a, xCotangent), fast));
        return tf.addN([
          tf.neg(tf.matMul(y, x, false, true)),
          tf.matMul(r, runLeastSquares(a, y, fast), false, true),
          tf.matMul(w, apart, false, true),
        ]);
      },
      b: () => y,
    };
  },
});
