/**
 * Columns of a symmetric matrix grouped so that each entry off the diagonal can be read from one product,
 * in its own row or in its mirror's: neighbours differ in colour, and no path over four columns has two
 * (a star colouring: Coleman & Moré 1984; Gebremedhin, Manne & Pothen 2005, "What color is your Jacobian?",
 * §4.3, and their greedy algorithm 4.1). A tridiagonal matrix takes three, an arrow two, whatever their size.
 */
import type {Coloring} from './coloring.js';
import type {SparsityPattern} from './sparsity.js';
import {transposePattern} from './sparsity.js';

/** @param pattern structurally symmetric */
export function starColoring(pattern: SparsityPattern): Coloring {
  const {columns: n, pointers} = pattern;
  const degree = (v: number): number => pointers[v + 1] - pointers[v];
  const ofColumn = new Int32Array(n).fill(-1);
  const forbidden = new Int32Array(n + 1).fill(-1);
  let colors = 0;
  // Many neighbours first, as for columns.
  for (const v of Int32Array.from({length: n}, (_, i) => i).sort((a, b) => degree(b) - degree(a) || a - b)) {
    forbid(pattern, ofColumn, v, forbidden);
    let color = 0;
    while (forbidden[color] === v) color++;
    ofColumn[v] = color;
    colors = Math.max(colors, color + 1);
  }
  return {colors, ofColumn};
}

/** Steps of the search for colours that are worth taking for a product less: some 20 ms. */
const searchLimit = 1e7;

/** Whether fewer products than these are possible, and found without a long search. */
export function starPays({rows, columns, pointers, indices}: SparsityPattern, products: number): boolean {
  if (rows !== columns || products < 3) return false;
  const mirrored = transposePattern({rows, columns, pointers, indices});
  if (!indices.every((column, k) => mirrored.indices[k] === column)) return false;
  const degree = (v: number): number => pointers[v + 1] - pointers[v];
  let steps = 0;
  for (let w = 0; w < columns && steps <= searchLimit; w++) {
    let around = 0;
    for (let k = pointers[w]; k < pointers[w + 1]; k++) around += degree(indices[k]);
    steps += degree(w) * around;
  }
  return steps <= searchLimit;
}

/** Marks with v the colours that would give v an equal neighbour or a path v–w–x–y, in either direction, of two colours. */
function forbid({pointers, indices}: SparsityPattern, color: Int32Array, v: number, forbidden: Int32Array): void {
  for (let k = pointers[v]; k < pointers[v + 1]; k++) {
    const w = indices[k];
    if (w === v) continue;
    if (color[w] >= 0) forbidden[color[w]] = v;
    for (let l = pointers[w]; l < pointers[w + 1]; l++) {
      const x = indices[l];
      if (x === v || x === w || color[x] < 0) continue;
      // An end of the path has v's colour where w has none yet, or where the colour of w is met again behind x.
      if (color[w] < 0 || meets(pointers, indices, color, x, w)) forbidden[color[x]] = v;
    }
  }
}

/** Whether x has a neighbour other than w of the colour of w. */
function meets(pointers: Int32Array, indices: Int32Array, color: Int32Array, x: number, w: number): boolean {
  for (let m = pointers[x]; m < pointers[x + 1]; m++) {
    const y = indices[m];
    if (y !== x && y !== w && color[y] === color[w]) return true;
  }
  return false;
}

/**
 * Where each entry is read: in the product of a column's colour, at a row. An entry (i, j) stands alone in row i of
 * j's product, or in row j of i's; one of the two, as a star has one centre.
 * @returns colour · n + row, in the pattern's order
 */
export function starPlaces(pattern: SparsityPattern, {ofColumn}: Coloring): Int32Array {
  const {columns: n, pointers, indices} = pattern;
  const places = new Int32Array(indices.length);
  for (let row = 0; row < n; row++) {
    for (let k = pointers[row]; k < pointers[row + 1]; k++) {
      const column = indices[k];
      places[k] = alone(pattern, ofColumn, row, column) ? ofColumn[column] * n + row : ofColumn[row] * n + column;
    }
  }
  return places;
}

/** Whether no other column of the same colour has an entry in the row. */
function alone({pointers, indices}: SparsityPattern, ofColumn: Int32Array, row: number, column: number): boolean {
  for (let k = pointers[row]; k < pointers[row + 1]; k++)
    if (indices[k] !== column && ofColumn[indices[k]] === ofColumn[column]) return false;
  return true;
}
