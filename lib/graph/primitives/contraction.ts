/** Products of matrices, batched: [b, m, k]·[b, k, n]. */
import {addAll, broadcastTo, constant, matMul, mul, reshape, transpose} from '../build.js';
import type {Node} from '../node.js';
import {isOp} from '../node.js';
import type {Kernel, Primitive} from './primitive.js';
import {evenRows} from './primitive.js';

interface Sizes {
  readonly batch: number;
  readonly m: number;
  readonly k: number;
  readonly n: number;
}

function sizes(node: Node<'matMul'>): Sizes {
  const [a] = node.operands;
  return {batch: node.shape[0], m: node.shape[1], n: node.shape[2], k: a.shape[node.attributes.transposeA ? 1 : 2]};
}

/**
 * Of more numbers in an operand or the result than these, compiled code packs blocks of the operands for the caches;
 * with fewer rows or columns of the result each packed number would be used too few times. Packed products have 17
 * GFLOP/s in double precision. Read where they lie A B has 15.5 at 192 × 192 and 12 at 256 × 256, Aᵀ B 17 at 96 × 96
 * and 9 to 12 from 128 × 128 on, as columns meet in few lines of the cache.
 */
const blockedFrom = {numbers: 2 ** 15, transposed: 2 ** 13, side: 16};

/** Whether the product is computed in blocks, each element's terms in order: by shapes and attributes alone. */
export function isBlocked(node: Node<'matMul'>): boolean {
  const {m, k, n} = sizes(node);
  const {numbers, transposed, side} = blockedFrom;
  const most = node.attributes.transposeA ? transposed : numbers;
  return Math.min(m, n) >= side && Math.max(m * k, k * n, m * n) > most;
}

/**
 * Whether an element's even and odd terms are summed apart and joined at the end, as vector instructions
 * take them along the inner index where both operands have it last; else one term follows another, as in blocks. Given
 * by the node alone, so that every engine finds the same bits.
 */
export function sumsApart(node: Node<'matMul'>): boolean {
  const {transposeA, transposeB} = node.attributes;
  const {m, n} = sizes(node);
  if (isBlocked(node)) return false;
  return (!transposeA || m === 1) && (transposeB || n === 1);
}

function kernel(node: Node<'matMul'>): Kernel {
  const {batch, m, k, n} = sizes(node);
  if (sumsApart(node)) return dots(node);
  const [rowA, colA] = node.attributes.transposeA ? [1, m] : [k, 1];
  const [rowB, colB] = node.attributes.transposeB ? [1, k] : [n, 1];
  return ([a, b], out) => {
    for (let s = 0; s < batch; s++) {
      const baseA = s * m * k;
      const baseB = s * k * n;
      const baseC = s * m * n;
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let total = 0;
          for (let l = 0; l < k; l++) total += a[baseA + i * rowA + l * colA] * b[baseB + l * rowB + j * colB];
          out[baseC + i * n + j] = total;
        }
      }
    }
  };
}

/** Rows of A by rows of B. */
function dots(node: Node<'matMul'>): Kernel {
  const {batch, m, k, n} = sizes(node);
  return ([a, b], out) => {
    for (let row = 0; row < batch * m; row++) {
      const matrix = Math.floor(row / m);
      for (let j = 0; j < n; j++) {
        let l = row * k;
        let at = (matrix * n + j) * k;
        const end = l + k;
        let even = 0;
        let odd = 0;
        for (; l + 1 < end; l += 2, at += 2) {
          even += a[l] * b[at];
          odd += a[l + 1] * b[at + 1];
        }
        out[row * n + j] = l < end ? even + odd + a[l] * b[at] : even + odd;
      }
    }
  };
}

/**
 * Constant matrices [size, 1, ...] with `k` places along the inner axis; the first size / k of them are zero but at the
 * first place, the next ones but at the second, and so on: what they have there, [size, other axis].
 */
function singleRows(matrices: Node, k: number, isInnerFirst: boolean): Node | undefined {
  const below = matrices.op === 'reshape' ? matrices.operands[0] : matrices;
  const size = matrices.shape[0];
  if (!isOp(below, 'constant') || k === 0 || size % k !== 0) return undefined;
  const {values} = below.attributes;
  const width = values.length / (size * k);
  const rows = new Float64Array(size * width);
  for (let s = 0, at = 0; s < size; s++)
    for (let i = 0; i < width * k; i++, at++) {
      const [inner, free] = isInnerFirst ? [Math.floor(i / width), i % width] : [i % k, Math.floor(i / k)];
      if (inner === Math.floor((s * k) / size)) rows[s * width + free] = values[at];
      else if (values[at] !== 0) return undefined;
    }
  return constant(rows, [size, width]);
}

export const matMulPrimitive: Primitive<'matMul'> = {
  evaluate: kernel,
  tangent(node, [da, db]) {
    const [a, b] = node.operands;
    const {transposeA, transposeB} = node.attributes;
    return addAll([
      da === undefined ? undefined : matMul(da, b, transposeA, transposeB),
      db === undefined ? undefined : matMul(a, db, transposeA, transposeB),
    ]);
  },
  /** C = op(A) op(B): op(A)‾ = C‾ op(B)ᵀ, op(B)‾ = op(A)ᵀ C‾, stored as the operand is. */
  transpose(node, cotangent, linear) {
    const [a, b] = node.operands;
    const {transposeA, transposeB} = node.attributes;
    const forA = (): Node =>
      transposeA ? matMul(b, cotangent, transposeB, true) : matMul(cotangent, b, false, !transposeB);
    const forB = (): Node =>
      transposeB ? matMul(cotangent, a, true, transposeA) : matMul(a, cotangent, !transposeA, false);
    return [linear[0] ? forA() : undefined, linear[1] ? forB() : undefined];
  },
  dependence(node, operand) {
    const {m, k, n} = sizes(node);
    const {transposeA, transposeB} = node.attributes;
    const matrix = (element: number): number => Math.floor(element / (m * n));
    const row = (element: number): number => Math.floor(element / n) % m;
    const column = (element: number): number => element % n;
    return evenRows(
      node.size,
      k,
      operand === 0
        ? (element, l) => matrix(element) * m * k + (transposeA ? l * m + row(element) : row(element) * k + l)
        : (element, l) => matrix(element) * k * n + (transposeB ? column(element) * k + l : l * n + column(element)),
    );
  },
  /**
   * A plain product with one matrix folds the new axis into its rows; one with matrices of a single row each, such as
   * the unit vectors that a matrix is derived along, is an outer product; any other joins the batch.
   */
  batch(node, [a, b], batched, size) {
    const {batch, m, k, n} = sizes(node);
    const {transposeA, transposeB} = node.attributes;
    if (batch === 1 && batched[0] !== batched[1]) {
      const [many, one] = batched[0] ? [a, b] : [b, a];
      const [isInnerFirst, isInnerFirstOfOne] = batched[0] ? [transposeA, !transposeB] : [!transposeB, transposeA];
      const rows = singleRows(many, k, isInnerFirst);
      if (rows !== undefined) {
        const width = one.size / k;
        const each = reshape(isInnerFirstOfOne ? one : transpose(one, [0, 2, 1]), [k, 1, width]);
        const other = broadcastTo(each, [k, size / k, width]);
        return batched[0]
          ? mul(reshape(rows, [size, 1, m, 1]), reshape(other, [size, 1, 1, n]))
          : mul(reshape(other, [size, 1, m, 1]), reshape(rows, [size, 1, 1, n]));
      }
    }
    if (batched[0] && !batched[1] && batch === 1 && !transposeA) {
      return reshape(matMul(reshape(a, [1, size * m, k]), b, false, transposeB), [size, 1, m, n]);
    }
    const joined = (x: Node, isBatched: boolean): Node => {
      const shape = isBatched ? x.shape.slice(1) : x.shape;
      return reshape(isBatched ? x : broadcastTo(x, [size, ...shape]), [size * batch, shape[1], shape[2]]);
    };
    return reshape(matMul(joined(a, batched[0]), joined(b, batched[1]), transposeA, transposeB), [size, batch, m, n]);
  },
};
