/**
 * Solutions with sparse symmetric positive definite matrices that their diagonal nearly tells, such as consistent
 * masses: D⁻¹M of a finite element has eigenvalues within fixed bounds, whatever the mesh (Wathen, IMA J. Numer. Anal.
 * 7, 1987). Conjugate gradients with D take some tens of products there, and no factor.
 */
import {addAll, broadcastTo, gather, mul, neg, reshape, scatter, sparseSolve} from '../build.js';
import type {Attributes, Node} from '../node.js';
import {evenRows, type Kernel, type Primitive} from './primitive.js';

/** The residual, in the norm of D⁻¹, is reduced to this share: what is left of it is rounding. */
const reduction = 1e-16;
/** Iterations at most for each unknown; in exact arithmetic one would do. A matrix that needs more gives NaN. */
const mostIterations = 10;

/** y ← A x */
function product(
  {rows, columns}: Attributes['sparseSolve'],
  a: Float64Array,
  at: number,
  x: Float64Array,
  y: Float64Array,
): void {
  y.fill(0);
  for (let k = 0; k < rows.length; k++) {
    const i = rows[k];
    const j = columns[k];
    const value = a[at + k];
    y[i] += value * x[j];
    if (i !== j) y[j] += value * x[i];
  }
}

function sparseSolveKernel({attributes, shape: [batch, n]}: Node<'sparseSolve'>): Kernel {
  const {rows, columns} = attributes;
  const [diagonal, x, residual, step, image] = Array.from({length: 5}, () => new Float64Array(n));
  /** Whether the residual has been reduced. */
  const solved = (a: Float64Array, at: number): boolean => {
    diagonal.fill(0);
    for (let k = 0; k < rows.length; k++) if (rows[k] === columns[k]) diagonal[rows[k]] += a[at + k];
    x.fill(0);
    let size = 0;
    for (let i = 0; i < n; i++) {
      if (!(diagonal[i] > 0)) return false;
      step[i] = residual[i] / diagonal[i];
      size += step[i] * residual[i];
    }
    const limit = reduction * reduction * size;
    for (let iteration = 0; size > limit && iteration < mostIterations * n; iteration++) {
      product(attributes, a, at, step, image);
      let curvature = 0;
      for (let i = 0; i < n; i++) curvature += step[i] * image[i];
      if (!(curvature > 0)) return false;
      const length = size / curvature;
      let next = 0;
      for (let i = 0; i < n; i++) {
        x[i] += length * step[i];
        residual[i] -= length * image[i];
        next += (residual[i] * residual[i]) / diagonal[i];
      }
      for (let i = 0; i < n; i++) step[i] = residual[i] / diagonal[i] + (next / size) * step[i];
      size = next;
    }
    return size <= limit;
  };
  return ([a, b], out) => {
    for (let s = 0; s < batch; s++) {
      for (let i = 0; i < n; i++) residual[i] = b[s * n + i];
      if (!solved(a, s * rows.length)) x.fill(NaN);
      for (let i = 0; i < n; i++) out[s * n + i] = x[i];
    }
  };
}

/** A x of entries [batch, entries] and x [batch, n]. */
export function symmetricProduct({rows, columns}: Attributes['sparseSolve'], entries: Node, x: Node): Node {
  const [batch, count] = entries.shape;
  const n = x.shape[1];
  const beside = Int32Array.from(rows.keys()).filter(k => rows[k] !== columns[k]);
  /** The places of entries, and of their mirror images, in each of the batch. */
  const table = (direct: Int32Array, mirrored: Int32Array, stride: number): Int32Array => {
    const places = new Int32Array(batch * (count + beside.length));
    let at = 0;
    for (let s = 0; s < batch; s++) {
      for (const place of direct) places[at++] = s * stride + place;
      for (const k of beside) places[at++] = s * stride + mirrored[k];
    }
    return places;
  };
  const all = Int32Array.from(rows.keys());
  const shape = [batch * (count + beside.length)];
  const values = gather(entries, table(all, all, count), shape);
  return scatter(mul(values, gather(x, table(columns, rows, n), shape)), table(rows, columns, n), x.shape);
}

export const sparseSolvePrimitive: Primitive<'sparseSolve'> = {
  evaluate: sparseSolveKernel,
  /** A x = b: x˙ = A⁻¹(b˙ − A˙ x) */
  tangent(node, [da, db]) {
    const {attributes} = node;
    const right = addAll([db, da === undefined ? undefined : neg(symmetricProduct(attributes, da, node))]);
    return right === undefined ? undefined : sparseSolve(node.operands[0], right, attributes);
  },
  transpose: (node, cotangent) => [undefined, sparseSolve(node.operands[0], cotangent, node.attributes)],
  dependence(node, operand) {
    const width = node.operands[operand].shape[1];
    return evenRows(node.size, width, (element, k) => Math.floor(element / node.shape[1]) * width + k);
  },
  batch(node, operands, batched, size) {
    const [a, b] = operands.map((x, k) => {
      const shape = batched[k] ? x.shape.slice(1) : x.shape;
      return reshape(batched[k] ? x : broadcastTo(x, [size, ...shape]), [size * shape[0], shape[1]]);
    });
    return reshape(sparseSolve(a, b, node.attributes), [size, ...node.shape]);
  },
};
