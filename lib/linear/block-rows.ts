/**
 * Compressed rows of dense blocks: one block for each pair of nodes that are neighbours, since the unknowns of a node
 * (displacements, temperatures, modes of an aggregate) have the same neighbours. A product then reads one index for
 * each block, and smoothers invert the diagonal blocks.
 */
import {OptionError} from '../errors.js';
import type {Operator} from './operator.js';
import type {Pattern} from './solver.js';

/** Where the blocks of a matrix are: compressed rows of blocks, columns ascending. */
export interface BlockPattern {
  /** Rows of blocks. */
  readonly count: number;
  /** Columns of blocks. */
  readonly across: number;
  /** Each block is `height` × `width` numbers, row after row. */
  readonly height: number;
  readonly width: number;
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
}

/** A matrix in blocks: those of `pattern`, one after the other. */
export interface BlockRows {
  readonly pattern: BlockPattern;
  readonly values: Float64Array;
}

/** Blocks of a pattern are those of its nodes if at most this share of their numbers is not in it. */
const LARGEST_FILL = 0.1;

/** The largest number of unknowns that a node has: displacements and rotations. */
const LARGEST_BLOCK = 6;

/** The number of unknowns at each node, as the pattern shows it: the largest of 6 … 2 whose blocks are full, else 1. */
export function blockSizeOf(pattern: Pattern): number {
  const {n, columns} = pattern;
  for (let size = LARGEST_BLOCK; size > 1; size--) {
    if (n % size !== 0 || pattern.dense) continue;
    const blocks = blockPattern(pattern, size).columns.length;
    if (columns.length >= (1 - LARGEST_FILL) * size * size * blocks) return size;
  }
  return 1;
}

/** @throws OptionError 'bad-linear' where the rows are no multiple of the block size */
export function blockPattern({n, rowPointers, columns}: Pattern, size: number): BlockPattern {
  if (n % size !== 0)
    throw new OptionError('bad-linear', `a matrix of ${n} rows has no blocks of ${size} unknowns.`, {n, size});
  const count = n / size;
  const shape = {count, across: count, height: size, width: size};
  if (size === 1) return {...shape, rowPointers, columns};
  const pointers = new Int32Array(count + 1);
  const seen = new Int32Array(count).fill(-1);
  const visit = (row: number, found: (column: number) => void): void => {
    for (let p = rowPointers[row * size]; p < rowPointers[(row + 1) * size]; p++) {
      const column = Math.floor(columns[p] / size);
      if (seen[column] === row) continue;
      seen[column] = row;
      found(column);
    }
  };
  for (let row = 0; row < count; row++) {
    let found = 0;
    visit(row, () => found++);
    pointers[row + 1] = pointers[row] + found;
  }
  const blocks = new Int32Array(pointers[count]);
  seen.fill(-1);
  for (let row = 0; row < count; row++) {
    let at = pointers[row];
    visit(row, column => (blocks[at++] = column));
    blocks.subarray(pointers[row], at).sort();
  }
  return {...shape, rowPointers: pointers, columns: blocks};
}

/** A square matrix in blocks as an operator; `load` gives it the values of the scalar pattern. */
export class BlockOperator implements Operator, BlockRows {
  readonly n: number;
  readonly pattern: BlockPattern;
  readonly values: Float64Array;

  constructor(
    private readonly scalars: Pattern,
    blocks: BlockPattern,
  ) {
    this.n = scalars.n;
    this.pattern = blocks;
    this.values = new Float64Array(blocks.columns.length * blocks.height * blocks.width);
  }

  get size(): number {
    return this.values.length;
  }

  load(from: Float64Array): void {
    const {
      values,
      scalars: {rowPointers, columns},
      pattern: {count, height: size, rowPointers: pointers, columns: blocks},
    } = this;
    if (size === 1) {
      values.set(from.length === values.length ? from : from.subarray(0, values.length));
      return;
    }
    if (columns.length < values.length) values.fill(0);
    for (let row = 0, i = 0; row < count; row++) {
      for (let r = 0; r < size; r++, i++) {
        let q = pointers[row];
        let first = blocks[q] * size;
        const end = rowPointers[i + 1];
        for (let p = rowPointers[i]; p < end; p++) {
          while (columns[p] >= first + size) first = blocks[++q] * size;
          values[(q * size + r) * size + columns[p] - first] = from[p];
        }
      }
    }
  }

  apply(x: Float64Array, y: Float64Array): void {
    multiplyBlocks(this, x, y);
  }

  applyTransposed(x: Float64Array, y: Float64Array): void {
    y.fill(0);
    addTransposedProduct(this, x, y);
  }

  diagonal(d: Float64Array): void {
    const {
      values,
      pattern: {count, height: size, rowPointers, columns},
    } = this;
    d.fill(0);
    for (let row = 0; row < count; row++)
      for (let q = rowPointers[row]; q < rowPointers[row + 1]; q++)
        if (columns[q] === row) for (let r = 0; r < size; r++) d[row * size + r] = values[(q * size + r) * size + r];
  }
}

/** The largest sum of absolute values of a row, which no eigenvalue exceeds. */
export function normOf({pattern: {count, height, width, rowPointers}, values}: BlockRows): number {
  let largest = 0;
  for (let row = 0; row < count; row++) {
    for (let r = 0; r < height; r++) {
      let sum = 0;
      for (let q = rowPointers[row]; q < rowPointers[row + 1]; q++)
        for (let c = 0; c < width; c++) sum += Math.abs(values[(q * height + r) * width + c]);
      largest = Math.max(largest, sum);
    }
  }
  return largest;
}

/** y ← A x. */
export function multiplyBlocks({pattern, values}: BlockRows, x: Float64Array, y: Float64Array): void {
  const {height, width} = pattern;
  if (height === 1 && width === 1) {
    multiplyScalars(pattern, values, x, y);
    return;
  }
  if (height === 3 && width === 3) {
    multiplyThrees(pattern, values, x, y);
    return;
  }
  y.fill(0);
  addProduct({pattern, values}, x, y);
}

function multiplyScalars(pattern: BlockPattern, values: Float64Array, x: Float64Array, y: Float64Array): void {
  const {count, rowPointers, columns} = pattern;
  for (let i = 0; i < count; i++) {
    let sum = 0;
    const end = rowPointers[i + 1];
    for (let p = rowPointers[i]; p < end; p++) sum += values[p] * x[columns[p]];
    y[i] = sum;
  }
}

function multiplyThrees(pattern: BlockPattern, values: Float64Array, x: Float64Array, y: Float64Array): void {
  const {count, rowPointers, columns} = pattern;
  for (let row = 0; row < count; row++) {
    let y0 = 0;
    let y1 = 0;
    let y2 = 0;
    const end = rowPointers[row + 1];
    for (let q = rowPointers[row]; q < end; q++) {
      const from = 3 * columns[q];
      const at = 9 * q;
      const x0 = x[from];
      const x1 = x[from + 1];
      const x2 = x[from + 2];
      y0 += values[at] * x0 + values[at + 1] * x1 + values[at + 2] * x2;
      y1 += values[at + 3] * x0 + values[at + 4] * x1 + values[at + 5] * x2;
      y2 += values[at + 6] * x0 + values[at + 7] * x1 + values[at + 8] * x2;
    }
    y[3 * row] = y0;
    y[3 * row + 1] = y1;
    y[3 * row + 2] = y2;
  }
}

/** y ← y + Aᵀ x. */
export function addTransposedProduct({pattern, values}: BlockRows, x: Float64Array, y: Float64Array): void {
  const {count, height, width, rowPointers, columns} = pattern;
  for (let row = 0; row < count; row++) {
    for (let q = rowPointers[row]; q < rowPointers[row + 1]; q++) {
      const to = columns[q] * width;
      for (let r = 0; r < height; r++) {
        const value = x[row * height + r];
        const at = (q * height + r) * width;
        for (let c = 0; c < width; c++) y[to + c] += values[at + c] * value;
      }
    }
  }
}

/** y ← y + A x. */
export function addProduct({pattern, values}: BlockRows, x: Float64Array, y: Float64Array): void {
  const {count, height, width, rowPointers, columns} = pattern;
  for (let row = 0; row < count; row++) {
    const begin = rowPointers[row];
    const end = rowPointers[row + 1];
    for (let r = 0; r < height; r++) {
      let sum = 0;
      for (let q = begin; q < end; q++) {
        const at = (q * height + r) * width;
        const from = columns[q] * width;
        for (let c = 0; c < width; c++) sum += values[at + c] * x[from + c];
      }
      y[row * height + r] += sum;
    }
  }
}

/**
 * The inverses of the diagonal blocks, one after the other.
 * @param definite whether pivots have to be positive, else not zero
 * @returns the first row of blocks whose block has no such inverse, −1 where all have
 */
export function invertDiagonal({pattern, values}: BlockRows, inverses: Float64Array, definite: boolean): number {
  const {count, height: size, rowPointers, columns} = pattern;
  const square = size * size;
  for (let row = 0; row < count; row++) {
    const to = row * square;
    inverses.fill(0, to, to + square);
    for (let q = rowPointers[row]; q < rowPointers[row + 1]; q++)
      if (columns[q] === row) for (let k = 0; k < square; k++) inverses[to + k] = values[q * square + k];
    if (!invert(inverses, to, size, definite)) return row;
  }
  return -1;
}

/** Gauss–Jordan elimination in place, with pivots on the diagonal. False where one of them is none. */
function invert(a: Float64Array, at: number, size: number, definite: boolean): boolean {
  for (let k = 0; k < size; k++) {
    const pivot = a[at + k * size + k];
    if (!(Math.abs(pivot) < Infinity) || pivot === 0 || (definite && pivot < 0)) return false;
    const reciprocal = 1 / pivot;
    a[at + k * size + k] = 1;
    for (let c = 0; c < size; c++) a[at + k * size + c] *= reciprocal;
    for (let r = 0; r < size; r++) {
      if (r === k) continue;
      const factor = a[at + r * size + k];
      a[at + r * size + k] = 0;
      for (let c = 0; c < size; c++) a[at + r * size + c] -= factor * a[at + k * size + c];
    }
  }
  return true;
}

/** z ← D⁻¹ r for the inverses of diagonal blocks. */
export function multiplyDiagonal(inverses: Float64Array, size: number, r: Float64Array, z: Float64Array): void {
  if (size === 1) {
    for (let i = 0; i < r.length; i++) z[i] = inverses[i] * r[i];
    return;
  }
  for (let row = 0, at = 0; row < r.length; row += size) {
    for (let i = 0; i < size; i++) {
      let sum = 0;
      for (let c = 0; c < size; c++) sum += inverses[at++] * r[row + c];
      z[row + i] = sum;
    }
  }
}
