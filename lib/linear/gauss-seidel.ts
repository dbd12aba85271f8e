/** Gauss–Seidel sweeps over nodes: each takes the unknowns of a node that satisfy its own equations. */
import type {BlockPattern, BlockRows} from './block-rows.js';

/**
 * A sweep from the first node to the last.
 * @param inverses of the diagonal blocks
 * @param residual where given, x is zero before the sweep whatever it holds, and b − A x goes there: what is right of
 * the diagonal
 */
export function sweepForward(
  {pattern, values}: BlockRows,
  inverses: Float64Array,
  b: Float64Array,
  x: Float64Array,
  residual?: Float64Array,
): void {
  const {count, height, rowPointers, columns} = pattern;
  const sum = sumOf(height);
  for (let row = 0; row < count; row++) {
    const to = row * height;
    let end = rowPointers[row + 1];
    if (residual !== undefined) {
      // Of a zero x only what is left of the diagonal counts.
      for (let r = 0; r < height; r++) x[to + r] = 0;
      while (columns[end - 1] >= row) end--;
    }
    for (let r = 0; r < height; r++) sum[r] = b[to + r];
    subtractBlocks(pattern, values, rowPointers[row], end, x, sum);
    addInverse(inverses, height, sum, x, to);
  }
  if (residual !== undefined) multiplyRight(pattern, values, x, residual, sum);
}

/** A sweep from the last node to the first. */
export function sweepBackward(
  {pattern, values}: BlockRows,
  inverses: Float64Array,
  b: Float64Array,
  x: Float64Array,
): void {
  const {count, height, rowPointers} = pattern;
  const sum = sumOf(height);
  for (let row = count - 1; row >= 0; row--) {
    const to = row * height;
    for (let r = 0; r < height; r++) sum[r] = b[to + r];
    subtractBlocks(pattern, values, rowPointers[row], rowPointers[row + 1], x, sum);
    addInverse(inverses, height, sum, x, to);
  }
}

/** y ← −U x, U what is right of the diagonal. */
function multiplyRight(
  pattern: BlockPattern,
  values: Float64Array,
  x: Float64Array,
  y: Float64Array,
  sum: Float64Array,
): void {
  const {count, height, rowPointers, columns} = pattern;
  for (let row = 0; row < count; row++) {
    const end = rowPointers[row + 1];
    let begin = end;
    while (begin > rowPointers[row] && columns[begin - 1] > row) begin--;
    for (let r = 0; r < height; r++) sum[r] = 0;
    subtractBlocks(pattern, values, begin, end, x, sum);
    for (let r = 0; r < height; r++) y[row * height + r] = sum[r];
  }
}

const sums = new Float64Array(16);

const sumOf = (height: number): Float64Array => (height <= sums.length ? sums : new Float64Array(height));

/** sum ← sum − A x of the blocks from `begin` to `end` of one row. */
function subtractBlocks(
  {height, columns}: BlockPattern,
  values: Float64Array,
  begin: number,
  end: number,
  x: Float64Array,
  sum: Float64Array,
): void {
  if (height === 3) {
    subtractThrees(columns, values, begin, end, x, sum);
    return;
  }
  if (height === 1) {
    let rest = sum[0];
    for (let q = begin; q < end; q++) rest -= values[q] * x[columns[q]];
    sum[0] = rest;
    return;
  }
  for (let r = 0; r < height; r++) {
    let rest = sum[r];
    for (let q = begin; q < end; q++) {
      const from = columns[q] * height;
      const at = (q * height + r) * height;
      for (let c = 0; c < height; c++) rest -= values[at + c] * x[from + c];
    }
    sum[r] = rest;
  }
}

/** x ← x + D⁻¹ sum of the node whose unknowns begin at `to`. */
function addInverse(inverses: Float64Array, height: number, sum: Float64Array, x: Float64Array, to: number): void {
  for (let r = 0, at = to * height; r < height; r++) {
    let change = 0;
    for (let c = 0; c < height; c++) change += inverses[at++] * sum[c];
    x[to + r] += change;
  }
}

function subtractThrees(
  columns: Int32Array,
  values: Float64Array,
  begin: number,
  end: number,
  x: Float64Array,
  sum: Float64Array,
): void {
  let [r0, r1, r2] = [sum[0], sum[1], sum[2]];
  for (let q = begin; q < end; q++) {
    const from = 3 * columns[q];
    const at = 9 * q;
    const x0 = x[from];
    const x1 = x[from + 1];
    const x2 = x[from + 2];
    r0 -= values[at] * x0 + values[at + 1] * x1 + values[at + 2] * x2;
    r1 -= values[at + 3] * x0 + values[at + 4] * x1 + values[at + 5] * x2;
    r2 -= values[at + 6] * x0 + values[at + 7] * x1 + values[at + 8] * x2;
  }
  sum[0] = r0;
  sum[1] = r1;
  sum[2] = r2;
}
