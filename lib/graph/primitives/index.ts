/** The table of primitives: adding a row to `Attributes` without one here does not compile. */
import type {Node, Op} from '../node.js';
import {brownianPrimitive} from './brownian.js';
import {matMulPrimitive} from './contraction.js';
import {declaredPrimitive} from './declared.js';
import {binaryPrimitive, selectPrimitive, unaryPrimitive} from './elementwise.js';
import {
  choleskyPrimitive,
  luPermutationPrimitive,
  luPrimitive,
  solvePrimitive,
  triangularSolvePrimitive,
} from './factorization.js';
import {gatherAtPrimitive, gatherPrimitive, scatterAtPrimitive, scatterPrimitive} from './indexing.js';
import {
  broadcastPrimitive,
  concatPrimitive,
  placePrimitive,
  reshapePrimitive,
  slicePrimitive,
  transposePrimitive,
} from './layout.js';
import {mappedPrimitive} from './mapped.js';
import type {Primitive} from './primitive.js';
import {
  argMaxPrimitive,
  argMinPrimitive,
  cumsumPrimitive,
  maxPrimitive,
  minPrimitive,
  sumPrimitive,
} from './reduction.js';
import {searchSortedPrimitive} from './search.js';
import {semidefinitePrimitive} from './semidefinite.js';
import {sparseSolvePrimitive} from './sparse-solve.js';
import {eigenPrimitive, leastSquaresPrimitive, svdPrimitive} from './spectral.js';

/** Inputs have no operands to depend on, and their values come from outside. */
const inputPrimitive: Primitive<'input'> = {
  evaluate: () => () => undefined,
  tangent: () => undefined,
  dependence: () => 'none',
};

const constantPrimitive: Primitive<'constant'> = {
  evaluate: node => (_, out) => out.set(node.attributes.values),
  tangent: () => undefined,
  dependence: () => 'none',
};

export const primitives: {readonly [O in Op]: Primitive<O>} = {
  input: inputPrimitive,
  constant: constantPrimitive,
  unary: unaryPrimitive,
  binary: binaryPrimitive,
  select: selectPrimitive,
  reshape: reshapePrimitive,
  transpose: transposePrimitive,
  broadcast: broadcastPrimitive,
  slice: slicePrimitive,
  place: placePrimitive,
  concat: concatPrimitive,
  gather: gatherPrimitive,
  scatter: scatterPrimitive,
  gatherAt: gatherAtPrimitive,
  scatterAt: scatterAtPrimitive,
  searchSorted: searchSortedPrimitive,
  sum: sumPrimitive,
  max: maxPrimitive,
  min: minPrimitive,
  argMax: argMaxPrimitive,
  argMin: argMinPrimitive,
  cumsum: cumsumPrimitive,
  matMul: matMulPrimitive,
  solve: solvePrimitive,
  cholesky: choleskyPrimitive,
  triangularSolve: triangularSolvePrimitive,
  lu: luPrimitive,
  luPermutation: luPermutationPrimitive,
  semidefinite: semidefinitePrimitive,
  eigen: eigenPrimitive,
  svd: svdPrimitive,
  leastSquares: leastSquaresPrimitive,
  sparseSolve: sparseSolvePrimitive,
  brownian: brownianPrimitive,
  declared: declaredPrimitive,
  mapped: mappedPrimitive,
};

/** The rules of a node's primitive: each row takes the nodes of its own name, as the table guarantees. */
export function primitiveOf(node: Node): Primitive<Op> {
  return primitives[node.op];
}
