/** The kernels of lib/linalg; leading axes fold into one batch. */
import {
  cholesky,
  eigen,
  leastSquares,
  lu,
  luPermutation,
  matMul,
  reshape,
  solve,
  svd,
  triangularSolve,
} from '../../graph/build.js';
import type {Node} from '../../graph/node.js';
import {sizeOf} from '../../graph/node.js';
import {eigenParts, singularParts} from '../../graph/primitives/spectral.js';
import {epsilonInUse} from '../../linalg/spectral-kernels.js';
import type {Binary, Lowerings} from '../lowering.js';
import {lower} from '../lowering.js';

/** Matrices with all leading axes folded into one. */
function folded(x: Node): Node {
  return reshape(x, [sizeOf(x.shape.slice(0, -2)), ...x.shape.slice(-2)]);
}

/** By the normal equations, of full rank. */
function normalEquations(a: Node, b: Node): Node {
  const tall = a.shape[1] >= a.shape[2];
  const l = cholesky(tall ? matMul(a, a, true) : matMul(a, a, false, true));
  const y = triangularSolve(l, triangularSolve(l, tall ? matMul(a, b, true) : b, true), true, true);
  return tall ? y : matMul(a, y, true);
}

export const linalg: Lowerings = {
  LinalgSolve: lower<Binary, {adjoint: boolean}>(({a, b}, {adjoint}) =>
    reshape(solve(folded(a), folded(b), adjoint), b.shape),
  ),
  LinalgTriangularSolve: lower<Binary, {lower: boolean; adjoint: boolean}>(({a, b}, attributes) =>
    reshape(triangularSolve(folded(a), folded(b), attributes.lower, attributes.adjoint), b.shape),
  ),
  LinalgCholesky: lower<{a: Node}>(({a}) => reshape(cholesky(folded(a)), a.shape)),
  LinalgEigh: lower<{a: Node}>(({a}) => {
    const {values, vectors} = eigenParts(eigen(folded(a), epsilonInUse()));
    return [reshape(values, a.shape.slice(0, -1)), reshape(vectors, a.shape)];
  }),
  LinalgSvd: lower<{a: Node}, {fullMatrices: boolean}>(({a}, {fullMatrices}) => {
    const [m, n] = a.shape.slice(-2);
    const {s, u, v} = singularParts(svd(folded(a), fullMatrices, epsilonInUse()), m, n, fullMatrices);
    return [s, u, v].map(part => reshape(part, [...a.shape.slice(0, -2), ...part.shape.slice(1)]));
  }),
  LinalgLeastSquares: lower<Binary, {fast: boolean}>(({a, b}, {fast}) => {
    const x = fast ? normalEquations(folded(a), folded(b)) : leastSquares(folded(a), folded(b), epsilonInUse());
    return reshape(x, [...a.shape.slice(0, -2), ...x.shape.slice(1)]);
  }),
  LinalgLu: lower<{a: Node}>(({a}) => [
    reshape(lu(folded(a)), a.shape),
    reshape(luPermutation(folded(a)), a.shape.slice(0, -1)),
  ]),
};
