/**
 * Which coordinates linear constraints leave free, and how all follow from them: elimination with complete pivoting.
 */

/**
 * A pivot below this share of the largest entry of the matrix is none: its row follows from the others. Constraints of
 * mechanisms that are independent have pivots of the order of their lengths, and rounding leaves 10⁻¹⁵ of those that
 * are not.
 */
const dependent = 1e-9;

/** Pivots may be this much smaller than the largest where that keeps a preferred coordinate free. */
const preference = 1e-3;

export interface FreeCoordinates {
  /** Numbers of the free coordinates, ascending. */
  readonly free: readonly number[];
  /** [coordinates][free]: all coordinates from the free ones. */
  readonly basis: readonly (readonly number[])[];
}

/**
 * @param columns [coordinates][rows] of G in G x = 0
 * @param bound coordinates that should rather follow than be free
 */
export function freeCoordinates(columns: readonly ArrayLike<number>[], bound: readonly boolean[]): FreeCoordinates {
  const n = columns.length;
  const rows = Array.from({length: columns[0].length}, (_, i) => columns.map(column => column[i]));
  const limit = dependent * Math.max(0, ...rows.map(row => Math.max(...row.map(Math.abs))));
  const pivots: {readonly row: number[]; readonly column: number}[] = [];
  const left = new Set(rows);
  const open = new Set(columns.keys());
  for (;;) {
    let best: {row: number[]; column: number; weight: number} | undefined;
    for (const row of left) {
      for (const column of open) {
        const size = Math.abs(row[column]);
        const weight = bound[column] ? size : size * preference;
        if (size > limit && (best === undefined || weight > best.weight)) best = {row, column, weight};
      }
    }
    if (best === undefined) break;
    const {row, column} = best;
    left.delete(row);
    open.delete(column);
    const pivot = row[column];
    for (let k = 0; k < n; k++) row[k] /= pivot;
    for (const other of rows) {
      const factor = other[column];
      if (other !== row && factor !== 0) for (let k = 0; k < n; k++) other[k] -= factor * row[k];
    }
    pivots.push({row, column});
  }
  const free = [...open].sort((a, b) => a - b);
  const basis: number[][] = Array.from({length: n}, (_, k) => free.map(f => (f === k ? 1 : 0)));
  for (const {row, column} of pivots) basis[column] = free.map(f => -row[f]);
  return {free, basis};
}
