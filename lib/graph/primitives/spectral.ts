/**
 * Eigenvalues, singular values and least squares of small dense matrices, batched. Tangents after Giles
 * (2008), "An extended collection of matrix derivative results", Townsend (2016), "Differentiating the singular
 * value decomposition", and Golub & Pereyra (1973) for least squares of constant rank.
 *
 * Vectors of equal eigenvalues or singular values have no derivative of their own: any rotation among them is
 * as good. The terms that would divide by such a difference are zero, as TensorFlow has it: then the
 * derivative of what does not depend on the choice within the equal ones is right where it does not depend on
 * how they part either (the values' sum, a projection on all of them).
 */
import {
  addAll,
  broadcastTo,
  concat,
  div,
  eigen,
  leastSquares,
  matMul,
  max,
  mul,
  neg,
  reshape,
  scale,
  select,
  slice,
  sub,
  sum,
  svd,
  unary,
  binary,
  add,
  full,
} from '../build.js';
import type {Node} from '../node.js';
import {EigenWorkspace, sortedEigen} from './eigen.js';
import {manyColumns, transposed, weighted, wholeMatrix} from './factorization.js';
import type {Primitive} from './primitive.js';
import {evenRows} from './primitive.js';
import {leastNorm, SvdWorkspace, singularValues} from './singular-values.js';

const columnsOf = (x: Node, from: number, count: number): Node =>
  slice(x, [0, 0, from], [x.shape[0], x.shape[1], count]);

/** The diagonal of [batch, k, k] as [batch, k]. */
function diagonal(x: Node): Node {
  return sum(
    weighted(x, (i, j) => (i === j ? 1 : 0)),
    [2],
  );
}

/** x[b, j] in all rows of [batch, rows, k]. */
const inRows = (x: Node, rows: number): Node =>
  broadcastTo(reshape(x, [x.shape[0], 1, x.shape[1]]), [x.shape[0], rows, x.shape[1]]);
const inColumns = (x: Node, columns: number): Node =>
  broadcastTo(reshape(x, [x.shape[0], x.shape[1], 1]), [x.shape[0], x.shape[1], columns]);

/**
 * 1/x, and 0 where |x| is within rounding of zero beside `size` [batch]: values are computed to some ε of the
 * largest, n terms each.
 */
function reciprocal(x: Node, size: Node, n: number, epsilon: number): Node {
  const limit = broadcastTo(
    reshape(scale(size, 4 * n * epsilon), [size.shape[0], ...x.shape.slice(1).map(() => 1)]),
    x.shape,
  );
  const close = binary('lessEqual', unary('abs', x), limit);
  return select(close, full(0, x.shape), div(full(1, x.shape), select(close, full(1, x.shape), x)));
}

/** A leading axis folded into the batch, and taken out of the result again. */
function foldBatch(x: Node, size: number, apply: (x: Node) => Node): Node {
  const [, batch, ...rest] = x.shape;
  const result = apply(reshape(x, [size * batch, ...rest]));
  return reshape(result, [size, batch, ...result.shape.slice(1)]);
}

// ------------------------------------------------------------------ eigenvalues

/** Eigenvalues [batch, n] and vectors [batch, n, n] of what `eigen` packs. */
export function eigenParts(packed: Node): {readonly values: Node; readonly vectors: Node} {
  const [batch, , n] = packed.shape;
  return {
    values: reshape(slice(packed, [0, 0, 0], [batch, 1, n]), [batch, n]),
    vectors: slice(packed, [0, 1, 0], [batch, n, n]),
  };
}

export const eigenPrimitive: Primitive<'eigen'> = {
  evaluate(node) {
    const [batch, , n] = node.shape;
    const workspace = new EigenWorkspace(n);
    return ([a], out) => {
      for (let s = 0; s < batch; s++)
        sortedEigen(a, s * n * n, workspace, out, s * (n + 1) * n, out, s * (n + 1) * n + n);
    };
  },
  /** With M = VᵀS˙V, S the symmetric part: λ˙ = diag M and V˙ = V(F∘M), F_ij = 1/(λ_j − λ_i). */
  tangent(node, [da]) {
    if (da === undefined) return undefined;
    const [batch, , n] = node.shape;
    const {values, vectors} = eigenParts(node);
    const m = matMul(vectors, matMul(scale(add(da, transposed(da)), 0.5), vectors), true);
    const f = reciprocal(
      sub(inRows(values, n), inColumns(values, n)),
      max(unary('abs', values), [1]),
      n,
      node.attributes.epsilon,
    );
    return concat([reshape(diagonal(m), [batch, 1, n]), matMul(vectors, mul(f, m))], 1);
  },
  dependence: node => wholeMatrix(node, node.shape[1] * node.shape[2], node.shape[2] ** 2),
  batch: (node, [a], _, size) => foldBatch(a, size, x => eigen(x, node.attributes.epsilon)),
};

// ------------------------------------------------------------------ singular values

interface Singular {
  readonly s: Node;
  readonly u: Node;
  readonly v: Node;
}

/** s [batch, k], U [batch, m, ·] and V [batch, n, ·] of what `svd` packs for [batch, m, n]. */
export function singularParts(packed: Node, m: number, n: number, fullMatrices: boolean): Singular {
  const batch = packed.shape[0];
  const {q, widths} = shapeOf(m, n, fullMatrices);
  const part = (from: number, rows: number, columns: number): Node =>
    reshape(slice(packed, [0, from], [batch, rows * columns]), [batch, rows, columns]);
  return {s: slice(packed, [0, 0], [batch, q]), u: part(q, m, widths.u), v: part(q + m * widths.u, n, widths.v)};
}

/** Numbers that `svd` packs for a matrix. */
export function singularSize(m: number, n: number, fullMatrices: boolean): number {
  const {q, widths} = shapeOf(m, n, fullMatrices);
  return q + m * widths.u + n * widths.v;
}

function shapeOf(
  m: number,
  n: number,
  fullMatrices: boolean,
): {readonly q: number; readonly widths: {readonly u: number; readonly v: number}} {
  const q = Math.min(m, n);
  return {q, widths: fullMatrices ? {u: m, v: n} : {u: q, v: q}};
}

/**
 * The tangent of the columns of U that belong to singular values, from dP = UᵀA˙V and A˙V:
 * U˙ = U(F∘(dP S + S dPᵀ)) + (I − UUᵀ)A˙V S⁻¹, and of the columns that complete it, U₂˙ = −U U˙ᵀU₂. V's is the same of
 * A˙ᵀ.
 */
function turnedTangent(all: Node, k: number, f: Node, mixed: Node, moved: Node, inverse: Node): Node {
  const [, rows, width] = all.shape;
  const first = columnsOf(all, 0, k);
  const outside = sub(moved, matMul(first, matMul(first, moved, true)));
  const tangent = add(matMul(first, mul(f, mixed)), mul(outside, inRows(inverse, rows)));
  if (width === k) return tangent;
  return concat([tangent, neg(matMul(first, matMul(tangent, columnsOf(all, k, width - k), true)))], 2);
}

export const svdPrimitive: Primitive<'svd'> = {
  evaluate(node) {
    const [batch, m, n] = node.operands[0].shape;
    const workspace = new SvdWorkspace(m, n, node.attributes.fullMatrices);
    const size = node.shape[1];
    return ([a], out) => {
      for (let b = 0; b < batch; b++) singularValues(a, b * m * n, workspace, out, b * size);
    };
  },
  /** s˙ = diag dP, and U˙, V˙ as in `turnedTangent` with F_ij = 1/(s_j² − s_i²). */
  tangent(node, [da]) {
    if (da === undefined) return undefined;
    const [batch, m, n] = node.operands[0].shape;
    const {s, u, v} = singularParts(node, m, n, node.attributes.fullMatrices);
    const k = s.shape[1];
    const [u1, v1] = [columnsOf(u, 0, k), columnsOf(v, 0, k)];
    const [moved, movedBack] = [matMul(da, v1), matMul(da, u1, true)];
    const dp = matMul(u1, moved, true);
    const [inR, inC] = [inRows(s, k), inColumns(s, k)];
    const largest = max(s, [1]);
    const terms = Math.max(m, n);
    const inverseOf = (x: Node): Node => reciprocal(x, largest, terms, node.attributes.epsilon);
    const f = mul(inverseOf(sub(inR, inC)), inverseOf(add(inR, inC)));
    const inverse = inverseOf(s);
    const du = turnedTangent(u, k, f, add(mul(dp, inR), mul(inC, transposed(dp))), moved, inverse);
    const dv = turnedTangent(v, k, f, add(mul(inC, dp), mul(transposed(dp), inR)), movedBack, inverse);
    return concat([diagonal(dp), reshape(du, [batch, du.size / batch]), reshape(dv, [batch, dv.size / batch])], 1);
  },
  dependence(node) {
    const [, m, n] = node.operands[0].shape;
    return wholeMatrix(node, node.shape[1], m * n);
  },
  batch: (node, [a], _, size) => foldBatch(a, size, x => svd(x, node.attributes.fullMatrices, node.attributes.epsilon)),
};

// ------------------------------------------------------------------ least squares

/**
 * The default share of the largest singular value that counts as zero, as LAPACK's and NumPy's: of the longer side,
 * times ε.
 */
export const rankShare = (m: number, n: number, epsilon: number): number => Math.max(m, n) * epsilon;

/** A⁺b for the ranks that a node decides by. */
const solver =
  ({attributes: {epsilon}}: Node<'leastSquares'>) =>
  (a: Node, b: Node): Node =>
    leastSquares(a, b, epsilon);

export const leastSquaresPrimitive: Primitive<'leastSquares'> = {
  evaluate(node) {
    const [batch, m, n] = node.operands[0].shape;
    const k = node.shape[2];
    const workspace = new SvdWorkspace(m, n, false);
    const factors = new Float64Array(singularSize(m, n, false));
    const share = rankShare(m, n, node.attributes.epsilon);
    return ([a, b], out) => {
      for (let s = 0; s < batch; s++)
        leastNorm(a, s * m * n, workspace, factors, share, b, s * m * k, out, s * n * k, k);
    };
  },
  /**
   * x = A⁺b, of a rank that does not change: with r = b − A x and w = A⁺ᵀx,
   * x˙ = A⁺(b˙ − A˙ x) + A⁺A⁺ᵀA˙ᵀr + (I − A⁺A)A˙ᵀw.
   */
  tangent(x, [da, db]) {
    const [a, b] = x.operands;
    const solve = solver(x);
    if (da === undefined) return db === undefined ? undefined : solve(a, db);
    const at = transposed(a);
    const rhs = addAll([db, neg(matMul(da, x))]);
    const bent = matMul(da, sub(b, matMul(a, x)), true);
    const inside = matMul(da, solve(at, x), true);
    return addAll([
      rhs === undefined ? undefined : solve(a, rhs),
      solve(a, solve(at, bent)),
      sub(inside, solve(a, matMul(a, inside))),
    ]);
  },
  transpose: (node, cotangent) => [undefined, solver(node)(transposed(node.operands[0]), cotangent)],
  dependence(node, operand) {
    const [, m, n] = node.operands[0].shape;
    const k = node.shape[2];
    if (operand === 0) return wholeMatrix(node, n * k, m * n);
    return evenRows(node.size, m, (element, i) => Math.floor(element / (n * k)) * m * k + i * k + (element % k));
  },
  batch(node, [a, b], batched, size) {
    const [batch, n, k] = node.shape;
    if (!batched[0]) return manyColumns(b, size, columns => solver(node)(a, columns));
    const right = batched[1] ? b : broadcastTo(b, [size, ...b.shape]);
    const fold = (x: Node): Node => reshape(x, [x.shape[0] * x.shape[1], ...x.shape.slice(2)]);
    return reshape(solver(node)(fold(a), fold(right)), [size, batch, n, k]);
  },
};
