/** The four kernels of lib/linalg; leading axes fold into one batch. */
import {cholesky, lu, luPermutation, reshape, solve, triangularSolve} from '../../graph/build.js';
import type {Node} from '../../graph/node.js';
import {sizeOf} from '../../graph/node.js';
import type {Binary, Lowerings} from '../lowering.js';
import {lower} from '../lowering.js';

/** Matrices with all leading axes folded into one. */
function folded(x: Node): Node {
  return reshape(x, [sizeOf(x.shape.slice(0, -2)), ...x.shape.slice(-2)]);
}

export const linalg: Lowerings = {
  LinalgSolve: lower<Binary, {adjoint: boolean}>(({a, b}, {adjoint}) => reshape(solve(folded(a), folded(b), adjoint), b.shape)),
  LinalgTriangularSolve: lower<Binary, {lower: boolean; adjoint: boolean}>(({a, b}, attributes) =>
    reshape(triangularSolve(folded(a), folded(b), attributes.lower, attributes.adjoint), b.shape)),
  LinalgCholesky: lower<{a: Node}>(({a}) => reshape(cholesky(folded(a)), a.shape)),
  LinalgLu: lower<{a: Node}>(({a}) => [reshape(lu(folded(a)), a.shape), reshape(luPermutation(folded(a)), a.shape.slice(0, -1))]),
};
