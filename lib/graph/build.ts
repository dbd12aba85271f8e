/**
 * Constructors of nodes: shapes are inferred and checked here, and what is plainly the same value
 * is not built twice (adding zero, reshaping to the shape at hand, a transpose of a transpose, a
 * function of a broadcast value). Nothing here evaluates; folding of constants and common
 * subexpressions is `simplify.ts`.
 */
export {input, lastNode, make, scalar, uniformValue} from './build/make.js';
export {
  constant,
  full,
  zeros,
  broadcastShapes,
  broadcastTo,
  reshape,
  transpose,
  partRead,
  slice,
  place,
  concat,
} from './build/shapes.js';
export {unary, binary, add, sub, mul, div, neg, scale, select, addAll, cast, mapped} from './build/elementwise.js';
export {
  gather,
  scatter,
  gatherAt,
  scatterAt,
  searchSorted,
  viewTable,
  operandTable,
  sliceTable,
} from './build/indexing.js';
export {sum, max, min, argExtreme, cumsum, expandReduced} from './build/reductions.js';
export {
  matMul,
  solve,
  triangularSolve,
  cholesky,
  lu,
  luPermutation,
  semidefinite,
  eigen,
  svd,
  leastSquares,
  sparseSolve,
} from './build/algebra.js';
export {brownian} from './build/brownian.js';
export {declared} from './build/declared.js';
export {otherOperands, rebuild} from './build/rebuild.js';
