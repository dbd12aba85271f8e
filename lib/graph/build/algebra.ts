/** Products of matrices and their factorizations, batched. */
import type {Attributes, Node} from '../node.js';
import {make, mismatch, uniformValue} from './make.js';
import {zeros} from './shapes.js';

export function matMul(a: Node, b: Node, transposeA = false, transposeB = false): Node {
  if (a.shape.length !== 3 || b.shape.length !== 3 || a.shape[0] !== b.shape[0]) throw mismatch('matMul', a, b);
  const m = a.shape[transposeA ? 2 : 1];
  const k = a.shape[transposeA ? 1 : 2];
  const n = b.shape[transposeB ? 1 : 2];
  if (k !== b.shape[transposeB ? 2 : 1]) throw mismatch('matMul', a, b);
  if (uniformValue(a) === 0 || uniformValue(b) === 0) return zeros([a.shape[0], m, n]);
  return make('matMul', [a, b], {transposeA, transposeB}, [a.shape[0], m, n], 'float');
}

function requireSquare(what: string, a: Node): void {
  if (a.shape.length !== 3 || a.shape[1] !== a.shape[2]) throw mismatch(`${what} of a matrix that is not square`, a);
}

export function solve(a: Node, b: Node, adjoint = false): Node {
  requireSquare('solve', a);
  if (b.shape.length !== 3 || b.shape[0] !== a.shape[0] || b.shape[1] !== a.shape[1]) throw mismatch('solve', a, b);
  return make('solve', [a, b], {adjoint}, b.shape, 'float');
}

export function triangularSolve(t: Node, b: Node, lower: boolean, adjoint = false): Node {
  requireSquare('triangularSolve', t);
  if (b.shape.length !== 3 || b.shape[0] !== t.shape[0] || b.shape[1] !== t.shape[1])
    throw mismatch('triangularSolve', t, b);
  return make('triangularSolve', [t, b], {lower, adjoint}, b.shape, 'float');
}

export function cholesky(a: Node): Node {
  requireSquare('cholesky', a);
  return make('cholesky', [a], {}, a.shape, 'float');
}

export function lu(a: Node): Node {
  requireSquare('lu', a);
  return make('lu', [a], {}, a.shape, 'float');
}

export function luPermutation(a: Node): Node {
  requireSquare('luPermutation', a);
  return make('luPermutation', [a], {}, [a.shape[0], a.shape[1]], 'int');
}

export function semidefinite(a: Node, negative: Attributes['semidefinite']['negative']): Node {
  requireSquare('semidefinite', a);
  return make('semidefinite', [a], {negative}, a.shape, 'float');
}

export function eigen(a: Node, epsilon = Number.EPSILON): Node {
  requireSquare('eigen', a);
  return make('eigen', [a], {epsilon}, [a.shape[0], a.shape[1] + 1, a.shape[1]], 'float');
}

export function svd(a: Node, fullMatrices: boolean, epsilon = Number.EPSILON): Node {
  if (a.shape.length !== 3) throw mismatch('svd of what is no matrix', a);
  const [batch, m, n] = a.shape;
  const k = Math.min(m, n);
  const vectors = fullMatrices ? m * m + n * n : (m + n) * k;
  return make('svd', [a], {fullMatrices, epsilon}, [batch, k + vectors], 'float');
}

export function leastSquares(a: Node, b: Node, epsilon = Number.EPSILON): Node {
  if (a.shape.length !== 3 || b.shape.length !== 3 || b.shape[0] !== a.shape[0] || b.shape[1] !== a.shape[1])
    throw mismatch('leastSquares', a, b);
  return make('leastSquares', [a, b], {epsilon}, [a.shape[0], a.shape[2], b.shape[2]], 'float');
}

export function sparseSolve(a: Node, b: Node, {rows, columns}: Attributes['sparseSolve']): Node {
  if (a.shape.length !== 2 || b.shape.length !== 2 || a.shape[0] !== b.shape[0] || a.shape[1] !== rows.length)
    throw mismatch('sparseSolve', a, b);
  return make('sparseSolve', [a, b], {rows, columns}, b.shape, 'float');
}
