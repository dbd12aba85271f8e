/**
 * A matrix whose unknowns come in small groups that it couples, as the velocities of a body, and its inverse by groups.
 * Arrays lie one group after the other.
 */

/** The pattern of a matrix by compressed rows. */
export interface SparseRows {
  readonly n: number;
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
}

/**
 * Larger groups would take longer than the matrices that they are in: a contact couples all unknowns of the groups that
 * it touches.
 */
const mostCoupled = 24;

export class BlockDiagonal {
  /** The group of every unknown. */
  readonly groupOf: Int32Array;
  /** The first unknown of every group, [groups + 1]. */
  readonly begins: Int32Array;
  readonly unknowns: Int32Array;
  /** Offset of every group's inverse, [size, size]. */
  readonly squares: Int32Array;
  readonly inverse: Float64Array;
  values: Float64Array = new Float64Array(0);
  /** Indices of the groups' entries among the values; −1 for an entry that is zero by structure. */
  private readonly entries: Int32Array;
  private readonly square: Float64Array;

  /** The block diagonal of a pattern; undefined if a group is too large. */
  static of(pattern: SparseRows): BlockDiagonal | undefined {
    const groups = coupled(pattern);
    return groups.some(({length}) => length > mostCoupled) ? undefined : new BlockDiagonal(pattern, groups);
  }

  private constructor(
    readonly pattern: SparseRows,
    groups: readonly (readonly number[])[],
  ) {
    const {n, rowPointers, columns} = pattern;
    this.groupOf = new Int32Array(n);
    this.begins = new Int32Array(groups.length + 1);
    this.squares = new Int32Array(groups.length + 1);
    groups.forEach(({length}, i) => {
      this.begins[i + 1] = this.begins[i] + length;
      this.squares[i + 1] = this.squares[i] + length ** 2;
    });
    this.unknowns = Int32Array.from(groups.flat());
    this.entries = new Int32Array(this.squares[groups.length]).fill(-1);
    const place = new Int32Array(n);
    groups.forEach((group, i) => {
      group.forEach((unknown, k) => ([this.groupOf[unknown], place[unknown]] = [i, k]));
      group.forEach((row, k) => {
        const at = this.squares[i] + k * group.length;
        for (let e = rowPointers[row]; e < rowPointers[row + 1]; e++) this.entries[at + place[columns[e]]] = e;
      });
    });
    this.inverse = new Float64Array(this.entries.length);
    this.square = new Float64Array(Math.max(0, ...groups.map(({length}) => length ** 2)));
  }

  get groups(): number {
    return this.begins.length - 1;
  }

  /** @param values in the pattern's order, which are not copied. @returns false where the matrix is singular */
  load(values: Float64Array): boolean {
    const {begins, squares, entries, inverse, square, groups} = this;
    this.values = values;
    for (let group = 0; group < groups; group++) {
      const [from, to] = [squares[group], squares[group + 1]];
      for (let k = from; k < to; k++) square[k - from] = entries[k] < 0 ? 0 : values[entries[k]];
      if (!invert(square, inverse, from, begins[group + 1] - begins[group])) return false;
    }
    return true;
  }

  /** x = A⁻¹ right */
  solve(right: Float64Array, x: Float64Array): void {
    const {begins, unknowns, squares, inverse, groups} = this;
    for (let group = 0; group < groups; group++) {
      const [from, to] = [begins[group], begins[group + 1]];
      let at = squares[group];
      for (let r = from; r < to; r++) {
        let sum = 0;
        for (let c = from; c < to; c++) sum += inverse[at++] * right[unknowns[c]];
        x[unknowns[r]] = sum;
      }
    }
  }

  /** The largest number of A⁻¹ times what lies in an array from a place on. */
  largestOfSolution(values: Float64Array, place: number): number {
    const {begins, unknowns, squares, inverse, groups} = this;
    let most = 0;
    for (let group = 0; group < groups; group++) {
      const [from, to] = [begins[group], begins[group + 1]];
      let at = squares[group];
      for (let r = from; r < to; r++) {
        let sum = 0;
        for (let c = from; c < to; c++) sum += inverse[at++] * values[place + unknowns[c]];
        most = Math.max(most, Math.abs(sum));
      }
    }
    return most;
  }

  /** A x */
  multiply(x: Float64Array, product: Float64Array): void {
    const {pattern, values} = this;
    const {rowPointers, columns, n} = pattern;
    for (let row = 0; row < n; row++) {
      let sum = 0;
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) sum += values[k] * x[columns[k]];
      product[row] = sum;
    }
  }
}

/** Unknowns that are coupled directly or through others. */
function coupled({n, rowPointers, columns}: SparseRows): number[][] {
  const root = Int32Array.from({length: n}, (_, i) => i);
  const find = (i: number): number => {
    let k = i;
    while (root[k] !== k) k = root[k] = root[root[k]];
    return k;
  };
  for (let row = 0; row < n; row++)
    for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) root[find(row)] = find(columns[k]);
  const members = new Map<number, number[]>();
  for (let i = 0; i < n; i++) {
    const list = members.get(find(i));
    if (list === undefined) members.set(find(i), [i]);
    else list.push(i);
  }
  return [...members.values()];
}

/**
 * Gauss & Jordan's elimination with pivots by columns of a [n, n] matrix, which it overwrites.
 * @param at where the inverse begins
 * @returns false where it is singular
 */
export function invert(a: Float64Array, inverse: Float64Array, at: number, n: number): boolean {
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) inverse[at + i * n + j] = i === j ? 1 : 0;
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(a[r * n + c]) > Math.abs(a[pivot * n + c])) pivot = r;
    const top = a[pivot * n + c];
    if (!(Math.abs(top) > 0)) return false;
    for (let j = 0; j < n; j++) {
      const [own, ofInverse] = [a[pivot * n + j], inverse[at + pivot * n + j]];
      a[pivot * n + j] = a[c * n + j];
      a[c * n + j] = own / top;
      inverse[at + pivot * n + j] = inverse[at + c * n + j];
      inverse[at + c * n + j] = ofInverse / top;
    }
    for (let r = 0; r < n; r++) {
      const factor = r === c ? 0 : a[r * n + c];
      if (factor === 0) continue;
      for (let j = 0; j < n; j++) {
        a[r * n + j] -= factor * a[c * n + j];
        inverse[at + r * n + j] -= factor * inverse[at + c * n + j];
      }
    }
  }
  return true;
}
