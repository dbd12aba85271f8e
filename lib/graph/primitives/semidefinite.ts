/**
 * The nearest positive semidefinite matrix in the Frobenius norm: negative eigenvalues become zero
 * (Higham 1988), or, in the other form, are turned over. Newton's matrix of a sum over elements is made
 * positive semidefinite in this way, block by block (Teran, Sifakis, Irving & Fedkiw 2005, "Robust
 * quasistatic finite elements and flesh simulation", §6; turned over: Chen et al. 2024, "Stabler
 * neo-Hookean simulation: absolute eigenvalue filtering for projected Newton").
 */
import {
  add,
  broadcastTo,
  constant,
  matMul,
  mul,
  reshape,
  scale,
  semidefinite,
  solve,
  sub,
  transpose,
} from '../build.js';
import type {Node} from '../node.js';
import {diagonalize} from './eigen.js';
import type {Kernel, Primitive} from './primitive.js';
import {evenRows} from './primitive.js';

/**
 * Negative eigenvalues down to this share of the largest diagonal element are left: they are rounding
 * (second derivatives carry some 1e-15), and most blocks then need a Cholesky factorization only.
 */
const shift = 1e-12;

/** Whether A + shift·max(a_ii)·I has a Cholesky factor; `work` holds as many numbers as A. */
function isSemidefinite(a: Float64Array, work: Float64Array, n: number): boolean {
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, a[i * n + i]);
  for (let j = 0; j < n; j++) {
    let pivot = a[j * n + j] + shift * largest;
    for (let k = 0; k < j; k++) pivot -= work[j * n + k] * work[j * n + k];
    // A matrix of zeros is its own projection.
    if (pivot < 0 || (pivot === 0 && largest > 0) || Number.isNaN(pivot)) return false;
    const root = Math.sqrt(pivot);
    for (let i = j + 1; i < n; i++) {
      let value = a[i * n + j];
      for (let k = 0; k < j; k++) value -= work[i * n + k] * work[j * n + k];
      if (root === 0 && value !== 0) return false;
      work[i * n + j] = root === 0 ? 0 : value / root;
    }
  }
  return true;
}

function semidefiniteKernel(node: Node<'semidefinite'>): Kernel {
  const [batch, n] = node.shape;
  const {negative} = node.attributes;
  const gain = negative === 'turned' ? 2 : 1;
  const [block, work, vectors] = [new Float64Array(n * n), new Float64Array(n * n), new Float64Array(n * n)];
  return ([a], out) => {
    for (let s = 0; s < batch; s++) {
      const at = s * n * n;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j <= i; j++) {
          const value = 0.5 * (a[at + i * n + j] + a[at + j * n + i]);
          out[at + i * n + j] = out[at + j * n + i] = block[i * n + j] = block[j * n + i] = value;
        }
      }
      if (isSemidefinite(block, work, n)) continue;
      diagonalize(block, vectors, n);
      for (let k = 0; k < n; k++) {
        const lacking = -gain * block[k * n + k];
        if (lacking <= 0) continue;
        for (let i = 0; i < n; i++) {
          for (let j = 0; j <= i; j++) {
            const value = out[at + i * n + j] + lacking * vectors[i * n + k] * vectors[j * n + k];
            out[at + i * n + j] = out[at + j * n + i] = value;
          }
        }
      }
    }
  };
}

const symmetricPart = (x: Node): Node => scale(add(x, transpose(x, [0, 2, 1])), 0.5);

/** X with |S| X + X |S| = B, by its n² linear equations. */
function sylvester(absolute: Node, b: Node): Node {
  const [batch, n] = absolute.shape;
  const identity = constant(
    Float64Array.from({length: n * n}, (_, at) => (at % (n + 1) === 0 ? 1 : 0)),
    [n, n],
  );
  const spread = (x: Node, shape: number[]): Node => broadcastTo(reshape(x, shape), [batch, n, n, n, n]);
  const place = (x: Node, y: Node): Node =>
    reshape(mul(spread(x, [x.size / (n * n), n, 1, n, 1]), spread(y, [y.size / (n * n), 1, n, 1, n])), [
      batch,
      n * n,
      n * n,
    ]);
  const equations = add(place(absolute, identity), place(identity, absolute));
  return reshape(solve(equations, reshape(b, [batch, n * n, 1])), [batch, n, n]);
}

export const semidefinitePrimitive: Primitive<'semidefinite'> = {
  evaluate: semidefiniteKernel,
  /**
   * With S the symmetric part and |S|² = S²: |S|X + X|S| = S S˙ + S˙ S is the tangent X of |S|, and the
   * projection is (S + |S|)/2. Defined where no two eigenvalues add up to zero in size: S regular.
   */
  tangent(node, [da]) {
    if (da === undefined) return undefined;
    const s = symmetricPart(node.operands[0]);
    const ds = symmetricPart(da);
    const {negative} = node.attributes;
    const absolute = negative === 'turned' ? node : sub(scale(node, 2), s);
    const moved = sylvester(absolute, add(matMul(s, ds), matMul(ds, s)));
    return negative === 'turned' ? moved : scale(add(ds, moved), 0.5);
  },
  dependence(node) {
    const perMatrix = node.shape[1] * node.shape[2];
    return evenRows(node.size, perMatrix, (element, i) => Math.floor(element / perMatrix) * perMatrix + i);
  },
  batch(node, [a], _, size) {
    const [batch, n] = node.shape;
    return reshape(semidefinite(reshape(a, [size * batch, n, n]), node.attributes.negative), [size, ...node.shape]);
  },
};
