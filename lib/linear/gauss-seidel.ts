/** Gauss–Seidel sweeps over nodes: each takes the unknowns of a node that satisfy its own equations. */
import type {BlockRows} from './block-rows.js';

/**
 * A sweep from the first node to the last.
 * @param inverses of the diagonal blocks
 * @param residual where given, x is zero before the sweep whatever it holds, and b − A x goes there: what is right of
 * the diagonal
 */
export function sweepForward(
  matrix: BlockRows,
  inverses: Float64Array,
  b: Float64Array,
  x: Float64Array,
  residual?: Float64Array,
): void {
  const {count} = matrix.pattern;
  if (residual === undefined) {
    for (let row = 0; row < count; row++) relax(matrix, inverses, b, x, row);
    return;
  }
  startForward(matrix, inverses, b, x);
  multiplyRight(matrix, x, residual);
}

/** A sweep from the last node to the first. */
export function sweepBackward(matrix: BlockRows, inverses: Float64Array, b: Float64Array, x: Float64Array): void {
  if (matrix.pattern.height === 3) {
    sweepThrees(matrix, inverses, b, x);
    return;
  }
  for (let row = matrix.pattern.count - 1; row >= 0; row--) relax(matrix, inverses, b, x, row);
}

const sums = new Float64Array(16);

/** x_i ← x_i + D⁻¹ (b − A x)_i for one node. */
function relax(
  {pattern: {height, rowPointers, columns}, values}: BlockRows,
  inverses: Float64Array,
  b: Float64Array,
  x: Float64Array,
  row: number,
): void {
  const begin = rowPointers[row];
  const end = rowPointers[row + 1];
  const to = row * height;
  if (height === 1) {
    let sum = b[row];
    for (let q = begin; q < end; q++) sum -= values[q] * x[columns[q]];
    x[row] += inverses[row] * sum;
    return;
  }
  const residual = height <= sums.length ? sums : new Float64Array(height);
  for (let r = 0; r < height; r++) {
    let sum = b[to + r];
    for (let q = begin; q < end; q++) {
      const from = columns[q] * height;
      const at = (q * height + r) * height;
      for (let c = 0; c < height; c++) sum -= values[at + c] * x[from + c];
    }
    residual[r] = sum;
  }
  addInverse(inverses, to * height, height, residual, x, to);
}

function addInverse(
  inverses: Float64Array,
  at: number,
  height: number,
  residual: Float64Array,
  x: Float64Array,
  to: number,
): void {
  for (let r = 0; r < height; r++) {
    let sum = 0;
    for (let c = 0; c < height; c++) sum += inverses[at + r * height + c] * residual[c];
    x[to + r] += sum;
  }
}

function sweepThrees(
  {pattern: {count, rowPointers, columns}, values}: BlockRows,
  inverses: Float64Array,
  b: Float64Array,
  x: Float64Array,
): void {
  for (let row = count - 1; row >= 0; row--) {
    const to = 3 * row;
    let r0 = b[to];
    let r1 = b[to + 1];
    let r2 = b[to + 2];
    const end = rowPointers[row + 1];
    for (let q = rowPointers[row]; q < end; q++) {
      const from = 3 * columns[q];
      const at = 9 * q;
      const x0 = x[from];
      const x1 = x[from + 1];
      const x2 = x[from + 2];
      r0 -= values[at] * x0 + values[at + 1] * x1 + values[at + 2] * x2;
      r1 -= values[at + 3] * x0 + values[at + 4] * x1 + values[at + 5] * x2;
      r2 -= values[at + 6] * x0 + values[at + 7] * x1 + values[at + 8] * x2;
    }
    const d = 9 * row;
    x[to] += inverses[d] * r0 + inverses[d + 1] * r1 + inverses[d + 2] * r2;
    x[to + 1] += inverses[d + 3] * r0 + inverses[d + 4] * r1 + inverses[d + 5] * r2;
    x[to + 2] += inverses[d + 6] * r0 + inverses[d + 7] * r1 + inverses[d + 8] * r2;
  }
}

/** The first sweep, from zero: only what is left of the diagonal counts. */
function startForward(
  {pattern: {count, height, rowPointers, columns}, values}: BlockRows,
  inverses: Float64Array,
  b: Float64Array,
  x: Float64Array,
): void {
  const residual = height <= sums.length ? sums : new Float64Array(height);
  for (let row = 0; row < count; row++) {
    const begin = rowPointers[row];
    const end = rowPointers[row + 1];
    const to = row * height;
    if (height === 3) {
      let r0 = b[to];
      let r1 = b[to + 1];
      let r2 = b[to + 2];
      for (let q = begin; q < end && columns[q] < row; q++) {
        const from = 3 * columns[q];
        const at = 9 * q;
        const x0 = x[from];
        const x1 = x[from + 1];
        const x2 = x[from + 2];
        r0 -= values[at] * x0 + values[at + 1] * x1 + values[at + 2] * x2;
        r1 -= values[at + 3] * x0 + values[at + 4] * x1 + values[at + 5] * x2;
        r2 -= values[at + 6] * x0 + values[at + 7] * x1 + values[at + 8] * x2;
      }
      const d = 9 * row;
      x[to] = inverses[d] * r0 + inverses[d + 1] * r1 + inverses[d + 2] * r2;
      x[to + 1] = inverses[d + 3] * r0 + inverses[d + 4] * r1 + inverses[d + 5] * r2;
      x[to + 2] = inverses[d + 6] * r0 + inverses[d + 7] * r1 + inverses[d + 8] * r2;
      continue;
    }
    for (let r = 0; r < height; r++) {
      let sum = b[to + r];
      for (let q = begin; q < end && columns[q] < row; q++) {
        const from = columns[q] * height;
        const at = (q * height + r) * height;
        for (let c = 0; c < height; c++) sum -= values[at + c] * x[from + c];
      }
      residual[r] = sum;
    }
    x.fill(0, to, to + height);
    addInverse(inverses, to * height, height, residual, x, to);
  }
}

/** y ← −U x, U what is right of the diagonal. */
function multiplyRight(
  {pattern: {count, height, rowPointers, columns}, values}: BlockRows,
  x: Float64Array,
  y: Float64Array,
): void {
  for (let row = 0; row < count; row++) {
    const begin = rowPointers[row];
    const end = rowPointers[row + 1];
    const to = row * height;
    if (height === 3) {
      let y0 = 0;
      let y1 = 0;
      let y2 = 0;
      for (let q = end - 1; q >= begin && columns[q] > row; q--) {
        const from = 3 * columns[q];
        const at = 9 * q;
        const x0 = x[from];
        const x1 = x[from + 1];
        const x2 = x[from + 2];
        y0 -= values[at] * x0 + values[at + 1] * x1 + values[at + 2] * x2;
        y1 -= values[at + 3] * x0 + values[at + 4] * x1 + values[at + 5] * x2;
        y2 -= values[at + 6] * x0 + values[at + 7] * x1 + values[at + 8] * x2;
      }
      y[to] = y0;
      y[to + 1] = y1;
      y[to + 2] = y2;
      continue;
    }
    for (let r = 0; r < height; r++) {
      let sum = 0;
      for (let q = end - 1; q >= begin && columns[q] > row; q--) {
        const from = columns[q] * height;
        const at = (q * height + r) * height;
        for (let c = 0; c < height; c++) sum -= values[at + c] * x[from + c];
      }
      y[to + r] = sum;
    }
  }
}
