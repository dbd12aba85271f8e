/**
 * A + GᵀDG of some of the contacts of cone-contacts.ts, with a [3, 3] block D for each: its pattern, its numbers and
 * their factor.
 */
import {StiffgradError} from '../errors.js';
import {auto, csrPattern, type Factor, type Pattern} from '../linear/index.js';
import type {BlockDiagonal} from './block-diagonal.js';
import type {ContactTable} from './contact-table.js';

export class ConeMatrix {
  private readonly values: Float64Array;
  private readonly own: Factor;
  /** Indices of A's entries among the values. */
  private readonly fromA: Int32Array;
  /** Offset of a contact's part in `places`; −1 for contacts that are not part of the matrix. */
  private readonly begins: Int32Array;
  /** Indices among the values of the rows and columns of a contact's support. */
  private readonly places: Int32Array;
  /** D G of a contact, [rows, support]. */
  private readonly product: Float64Array;

  constructor(
    private readonly a: BlockDiagonal,
    private readonly table: ContactTable,
    private readonly contacts: Int32Array,
  ) {
    const {n, rowPointers, columns} = a.pattern;
    const pattern = patternOf(a, table, contacts);
    const at = (row: number, column: number): number => {
      let [low, high] = [pattern.rowPointers[row], pattern.rowPointers[row + 1]];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (pattern.columns[middle] < column) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    const {begins, support} = table;
    this.begins = new Int32Array(table.count).fill(-1);
    let [length, largest] = [0, 0];
    for (const i of contacts) {
      const size = begins[i + 1] - begins[i];
      this.begins[i] = length;
      length += size ** 2;
      largest = Math.max(largest, size);
    }
    this.places = new Int32Array(length);
    let next = 0;
    for (const i of contacts) {
      const own = support.subarray(begins[i], begins[i + 1]);
      for (const row of own) for (const column of own) this.places[next++] = at(row, column);
    }
    this.fromA = new Int32Array(columns.length);
    for (let row = 0; row < n; row++)
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) this.fromA[k] = at(row, columns[k]);
    this.values = new Float64Array(pattern.columns.length);
    this.product = new Float64Array(3 * largest);
    this.own = auto().analyze(pattern).createFactor();
  }

  get size(): number {
    return this.contacts.length;
  }

  has(contact: number): boolean {
    return this.begins[contact] >= 0;
  }

  /**
   * @param contacts of those that it was made for; D of others is zero
   * @param stiffness D, [contacts of the table, 3, 3]
   * @returns false where the matrix is refused
   */
  factor(contacts: Int32Array, stiffness: Float64Array): boolean {
    const {values, fromA, places, product, table} = this;
    const {values: a} = this.a;
    const {sizes, begins, starts, g} = table;
    values.fill(0);
    for (let k = 0; k < a.length; k++) values[fromA[k]] += a[k];
    for (const i of contacts) {
      const [k, s, start, d] = [sizes[i], begins[i + 1] - begins[i], starts[i], 9 * i];
      for (let r = 0; r < k; r++)
        for (let c = 0; c < s; c++) {
          let sum = 0;
          for (let j = 0; j < k; j++) sum += stiffness[d + 3 * r + j] * g[start + j * s + c];
          product[r * s + c] = sum;
        }
      let next = this.begins[i];
      for (let r = 0; r < s; r++)
        for (let c = 0; c < s; c++) {
          let sum = 0;
          for (let j = 0; j < k; j++) sum += g[start + j * s + r] * product[j * s + c];
          values[places[next++]] += sum;
        }
    }
    try {
      this.own.refactor(values);
      return true;
    } catch (error) {
      if (error instanceof StiffgradError) return false;
      throw error;
    }
  }

  /** With the matrix factored last. */
  solve(right: Float64Array, x: Float64Array): void {
    this.own.solve(right, x);
  }
}

/** Unknowns that belong together, and those that a contact moves. */
function patternOf(a: BlockDiagonal, table: ContactTable, contacts: Int32Array): Pattern {
  const {groupOf, begins, unknowns, groups} = a;
  const {n} = a.pattern;
  const beside = Array.from({length: groups}, (_, i) => new Set([i]));
  for (const i of contacts) {
    const touched = new Set<number>();
    for (let k = table.begins[i]; k < table.begins[i + 1]; k++) touched.add(groupOf[table.support[k]]);
    for (const one of touched) for (const other of touched) beside[one].add(other);
  }
  const of = beside.map(set =>
    Int32Array.from([...set].flatMap(group => [...unknowns.subarray(begins[group], begins[group + 1])])).sort(),
  );
  const pointers = new Int32Array(n + 1);
  for (let row = 0; row < n; row++) pointers[row + 1] = pointers[row] + of[groupOf[row]].length;
  const all = new Int32Array(pointers[n]);
  for (let row = 0; row < n; row++) all.set(of[groupOf[row]], pointers[row]);
  return csrPattern(pointers, all);
}
