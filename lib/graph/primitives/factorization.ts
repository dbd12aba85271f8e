/**
 * Linear systems and factorizations of small dense matrices, batched. Tangents after Giles (2008),
 * "An extended collection of matrix derivative results", and Murray (2016) for Cholesky.
 */
import {
  add,
  addAll,
  broadcastTo,
  cholesky,
  constant,
  full,
  gatherAt,
  lu,
  luPermutation,
  matMul,
  mul,
  neg,
  reshape,
  solve,
  sub,
  transpose,
  triangularSolve,
} from '../build.js';
import type {Node} from '../node.js';
import type {Kernel, Primitive, CompressedRows} from './primitive.js';
import {evenRows} from './primitive.js';

// ------------------------------------------------------------------ kernels

/**
 * In-place LU with partial pivoting of the n×n matrix at `at`. A column without a pivot is left as it is
 * (LAPACK's getrf): PA = LU still holds, U has a zero on its diagonal, and what divides by it is not finite.
 */
function factorize(a: Float64Array, at: number, n: number, pivots: Int32Array): void {
  for (let i = 0; i < n; i++) pivots[i] = i;
  for (let k = 0; k < n; k++) {
    let p = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[at + i * n + k]) > Math.abs(a[at + p * n + k])) p = i;
    if (p !== k) {
      const row = pivots[k];
      pivots[k] = pivots[p];
      pivots[p] = row;
      for (let j = 0; j < n; j++) {
        const value = a[at + k * n + j];
        a[at + k * n + j] = a[at + p * n + j];
        a[at + p * n + j] = value;
      }
    }
    const pivot = a[at + k * n + k];
    if (pivot === 0) continue;
    for (let i = k + 1; i < n; i++) {
      const factor = a[at + i * n + k] / pivot;
      a[at + i * n + k] = factor;
      for (let j = k + 1; j < n; j++) a[at + i * n + j] -= factor * a[at + k * n + j];
    }
  }
}

/** Solves a triangular system in place for m right-hand sides; unit says the diagonal is one. */
export function substitute(
  t: Float64Array,
  at: number,
  n: number,
  x: Float64Array,
  atX: number,
  m: number,
  lower: boolean,
  adjoint: boolean,
  unit: boolean,
): void {
  const forward = lower !== adjoint;
  for (let step = 0; step < n; step++) {
    const i = forward ? step : n - 1 - step;
    for (let c = 0; c < m; c++) {
      let value = x[atX + i * m + c];
      const from = forward ? 0 : i + 1;
      const to = forward ? i : n;
      for (let j = from; j < to; j++) value -= (adjoint ? t[at + j * n + i] : t[at + i * n + j]) * x[atX + j * m + c];
      x[atX + i * m + c] = unit ? value : value / t[at + i * n + i];
    }
  }
}

function solveKernel(node: Node<'solve'>): Kernel {
  const [batch, n, m] = node.shape;
  const {adjoint} = node.attributes;
  const factors = new Float64Array(n * n);
  const pivots = new Int32Array(n);
  const rhs = new Float64Array(n * m);
  return ([a, b], out) => {
    for (let s = 0; s < batch; s++) {
      for (let i = 0; i < n * n; i++) factors[i] = a[s * n * n + i];
      factorize(factors, 0, n, pivots);
      for (let i = 0; i < n; i++) {
        for (let c = 0; c < m; c++) rhs[i * m + c] = b[s * n * m + (adjoint ? i : pivots[i]) * m + c];
      }
      // PA = LU: A⁻¹ = U⁻¹L⁻¹P and A⁻ᵀ = Pᵀ L⁻ᵀ U⁻ᵀ.
      substitute(factors, 0, n, rhs, 0, m, !adjoint, adjoint, !adjoint);
      substitute(factors, 0, n, rhs, 0, m, adjoint, adjoint, adjoint);
      for (let i = 0; i < n; i++) {
        for (let c = 0; c < m; c++) out[s * n * m + (adjoint ? pivots[i] : i) * m + c] = rhs[i * m + c];
      }
    }
  };
}

function choleskyKernel(node: Node<'cholesky'>): Kernel {
  const [batch, n] = node.shape;
  return ([a], out) => {
    out.fill(0);
    for (let s = 0; s < batch; s++) {
      const at = s * n * n;
      for (let j = 0; j < n; j++) {
        for (let i = j; i < n; i++) {
          let value = a[at + i * n + j];
          for (let k = 0; k < j; k++) value -= out[at + i * n + k] * out[at + j * n + k];
          out[at + i * n + j] = i === j ? Math.sqrt(value) : value / out[at + j * n + j];
        }
      }
    }
  };
}

// ------------------------------------------------------------------ building blocks of the tangents

export const transposed = (x: Node): Node => transpose(x, [0, 2, 1]);

/** The entries of matrices times a rule on row and column. */
export function weighted(x: Node, weight: (i: number, j: number) => number): Node {
  const n = x.shape[1];
  const weights = Float64Array.from({length: n * n}, (_, at) => weight(Math.floor(at / n), at % n));
  return mul(x, constant(weights, [1, n, n]));
}

const lowerPart = (x: Node): Node => weighted(x, (i, j) => (i >= j ? 1 : 0));
const strictlyLower = (x: Node): Node => weighted(x, (i, j) => (i > j ? 1 : 0));
const upperPart = (x: Node): Node => weighted(x, (i, j) => (i <= j ? 1 : 0));
const identityLike = (x: Node): Node => weighted(full(1, x.shape), (i, j) => (i === j ? 1 : 0));
const halfDiagonal = (x: Node): Node => weighted(x, (i, j) => (i > j ? 1 : i === j ? 0.5 : 0));

/** Every element of operand matrix s, for each result element of matrix s. */
export function wholeMatrix(node: Node, perBatch: number, operandPerBatch: number): CompressedRows {
  return evenRows(node.size, operandPerBatch, (element, i) => Math.floor(element / perBatch) * operandPerBatch + i);
}

/** The column of the right-hand side that a solution element belongs to. */
function wholeColumn(node: Node): CompressedRows {
  const [, n, m] = node.shape;
  return evenRows(node.size, n, (element, i) => Math.floor(element / (n * m)) * n * m + i * m + (element % m));
}

/** Right-hand sides with a new leading axis become more columns of the same systems. */
export function manyColumns(b: Node, size: number, solveColumns: (b: Node) => Node): Node {
  const [, batch, n, m] = b.shape;
  const solved = solveColumns(reshape(transpose(b, [1, 2, 0, 3]), [batch, n, size * m]));
  return transpose(reshape(solved, [batch, solved.shape[1], size, m]), [2, 0, 1, 3]);
}

function folded(operands: readonly Node[], batched: readonly boolean[], size: number): Node[] {
  return operands.map((x, k) => {
    const shape = batched[k] ? x.shape.slice(1) : x.shape;
    const repeated = batched[k] ? x : broadcastTo(x, [size, ...shape]);
    return reshape(repeated, [size * shape[0], ...shape.slice(1)]);
  });
}

// ------------------------------------------------------------------ primitives

export const solvePrimitive: Primitive<'solve'> = {
  evaluate: solveKernel,
  /** A X = B: X˙ = A⁻¹(B˙ − A˙ X); with the adjoint, Aᵀ in A's place. */
  tangent(node, [da, db]) {
    const rhs = addAll([db, da === undefined ? undefined : neg(matMul(da, node, node.attributes.adjoint))]);
    return rhs === undefined ? undefined : solve(node.operands[0], rhs, node.attributes.adjoint);
  },
  transpose: (node, cotangent) => [undefined, solve(node.operands[0], cotangent, !node.attributes.adjoint)],
  dependence(node, operand) {
    const [, n, m] = node.shape;
    return operand === 0 ? wholeMatrix(node, n * m, n * n) : wholeColumn(node);
  },
  batch(node, operands, batched, size) {
    const [a, b] = operands;
    const {adjoint} = node.attributes;
    if (!batched[0]) return manyColumns(b, size, columns => solve(a, columns, adjoint));
    const [x, y] = folded(operands, batched, size);
    return reshape(solve(x, y, adjoint), [size, ...node.shape]);
  },
};

export const triangularSolvePrimitive: Primitive<'triangularSolve'> = {
  evaluate(node) {
    const [batch, n, m] = node.shape;
    const {lower, adjoint} = node.attributes;
    return ([t, b], out) => {
      out.set(b);
      for (let s = 0; s < batch; s++) substitute(t, s * n * n, n, out, s * n * m, m, lower, adjoint, false);
    };
  },
  tangent(node, [dt, db]) {
    const {lower, adjoint} = node.attributes;
    const moved = dt === undefined ? undefined : neg(matMul(lower ? lowerPart(dt) : upperPart(dt), node, adjoint));
    const rhs = addAll([db, moved]);
    return rhs === undefined ? undefined : triangularSolve(node.operands[0], rhs, lower, adjoint);
  },
  transpose: (node, cotangent) => [
    undefined,
    triangularSolve(node.operands[0], cotangent, node.attributes.lower, !node.attributes.adjoint),
  ],
  dependence(node, operand) {
    const [, n, m] = node.shape;
    return operand === 0 ? wholeMatrix(node, n * m, n * n) : wholeColumn(node);
  },
  batch(node, operands, batched, size) {
    const [t, b] = operands;
    const {lower, adjoint} = node.attributes;
    if (!batched[0]) return manyColumns(b, size, columns => triangularSolve(t, columns, lower, adjoint));
    const [x, y] = folded(operands, batched, size);
    return reshape(triangularSolve(x, y, lower, adjoint), [size, ...node.shape]);
  },
};

export const choleskyPrimitive: Primitive<'cholesky'> = {
  evaluate: choleskyKernel,
  /** L˙ = L Φ(L⁻¹ A˙ L⁻ᵀ), Φ the lower triangle with half its diagonal; A is read from its lower triangle. */
  tangent(node, [da]) {
    if (da === undefined) return undefined;
    const symmetric = add(lowerPart(da), transposed(strictlyLower(da)));
    const left = triangularSolve(node, symmetric, true);
    const both = triangularSolve(node, transposed(left), true);
    return matMul(node, halfDiagonal(both));
  },
  dependence(node) {
    const perMatrix = node.shape[1] * node.shape[2];
    return wholeMatrix(node, perMatrix, perMatrix);
  },
  batch: (node, operands, batched, size) =>
    reshape(cholesky(folded(operands, batched, size)[0]), [size, ...node.shape]),
};

export const luPrimitive: Primitive<'lu'> = {
  evaluate(node) {
    const [batch, n] = node.shape;
    const pivots = new Int32Array(n);
    return ([a], out) => {
      out.set(a);
      for (let s = 0; s < batch; s++) factorize(out, s * n * n, n, pivots);
    };
  },
  /** PA = LU: with F = L⁻¹ P A˙ U⁻¹, L˙ = L·(F strictly below) and U˙ = (F on and above)·U. */
  tangent(node, [da]) {
    if (da === undefined) return undefined;
    const [a] = node.operands;
    const [batch, n] = node.shape;
    const lowerFactor = add(strictlyLower(node), identityLike(node));
    const upperFactor = upperPart(node);
    const left = triangularSolve(lowerFactor, permuteRows(da, luPermutation(a), batch, n), true);
    const f = transposed(triangularSolve(upperFactor, transposed(left), false, true));
    return add(matMul(lowerFactor, strictlyLower(f)), matMul(sub(f, strictlyLower(f)), upperFactor));
  },
  dependence(node) {
    const perMatrix = node.shape[1] * node.shape[2];
    return wholeMatrix(node, perMatrix, perMatrix);
  },
  batch: (node, operands, batched, size) => reshape(lu(folded(operands, batched, size)[0]), [size, ...node.shape]),
};

/** Row i of the result is row p[i]: flat positions s n² + p[s, i] n + j. */
function permuteRows(x: Node, permutation: Node, batch: number, n: number): Node {
  const origin = constant(
    Float64Array.from({length: batch * n * n}, (_, at) => Math.floor(at / (n * n)) * n * n + (at % n)),
    [batch, n, n],
    'int',
  );
  const row = mul(reshape(permutation, [batch, n, 1]), full(n, [batch, n, 1], 'int'));
  return gatherAt(x, add(row, origin));
}

export const luPermutationPrimitive: Primitive<'luPermutation'> = {
  evaluate(node) {
    const [batch, n] = node.shape;
    const work = new Float64Array(n * n);
    const pivots = new Int32Array(n);
    return ([a], out) => {
      for (let s = 0; s < batch; s++) {
        for (let i = 0; i < n * n; i++) work[i] = a[s * n * n + i];
        factorize(work, 0, n, pivots);
        for (let i = 0; i < n; i++) out[s * n + i] = pivots[i];
      }
    };
  },
  tangent: () => undefined,
  dependence: () => 'none',
  batch: (node, operands, batched, size) =>
    reshape(luPermutation(folded(operands, batched, size)[0]), [size, ...node.shape]),
};
