/**
 * A + GᵀDG of some of the contacts of cone-contacts.ts, with a block D for each: its pattern, its numbers and their factor. A is block diagonal, of groups of
 * unknowns that it couples, as those of a body.
 */
import {StiffgradError} from '../errors.js';
import {auto, csrPattern, type Factor, type Pattern} from '../linear/index.js';

/** A contact with what it needs: G and A⁻¹Gᵀ on the unknowns that it moves. */
export interface Contact {
  readonly rows: Int32Array;
  readonly support: Int32Array;
  /** [rows, support] each. */
  readonly g: Float64Array;
  readonly y: Float64Array;
  /** G A⁻¹ Gᵀ, [rows, rows]. */
  readonly w: Float64Array;
}

/** Unknowns that A couples. */
export interface Group {
  readonly unknowns: Int32Array;
  /** Where row and column are in A, −1 where it has nothing. */
  readonly entries: Int32Array;
  readonly inverse: Float64Array;
}

/** A by compressed rows. */
export interface BlockDiagonal {
  readonly n: number;
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
  readonly groups: readonly Group[];
  /** By unknown. */
  readonly groupOf: Int32Array;
}

export class ConeMatrix {
  private readonly values: Float64Array;
  private readonly own: Factor;
  /** Of the entries of A among the values. */
  private readonly fromA: Int32Array;
  /** Where row and column of a contact's support are among the values. */
  private readonly scatter: ReadonlyMap<Contact, Int32Array>;
  /** D G of a contact, [rows, support]. */
  private product = new Float64Array(0);

  constructor({n, rowPointers, columns, groups, groupOf}: BlockDiagonal, contacts: readonly Contact[]) {
    const pattern = patternOf(n, groups, groupOf, contacts);
    const at = (row: number, column: number): number => {
      let [low, high] = [pattern.rowPointers[row], pattern.rowPointers[row + 1]];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (pattern.columns[middle] < column) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    this.scatter = new Map(
      contacts.map(contact => {
        const {support} = contact;
        const places = new Int32Array(support.length ** 2);
        support.forEach((row, k) => support.forEach((column, l) => (places[k * support.length + l] = at(row, column))));
        return [contact, places];
      }),
    );
    this.fromA = new Int32Array(columns.length);
    for (let row = 0; row < n; row++)
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) this.fromA[k] = at(row, columns[k]);
    this.values = new Float64Array(pattern.columns.length);
    this.own = auto().analyze(pattern).createFactor();
  }

  get size(): number {
    return this.scatter.size;
  }

  has(contact: Contact): boolean {
    return this.scatter.has(contact);
  }

  /**
   * @param contacts of those that it was made for
   * @param stiffness D of a contact, [rows, rows], undefined where it is zero
   * @returns false where the matrix is refused
   */
  factor(
    a: Float64Array,
    contacts: readonly Contact[],
    stiffness: (contact: Contact, index: number) => Float64Array | undefined,
  ): boolean {
    const {values, fromA} = this;
    values.fill(0);
    for (let k = 0; k < a.length; k++) values[fromA[k]] += a[k];
    for (let index = 0; index < contacts.length; index++) {
      const contact = contacts[index];
      const d = stiffness(contact, index);
      if (d === undefined) continue;
      const {rows, support, g} = contact;
      const [k, s, places] = [rows.length, support.length, this.scatter.get(contact) as Int32Array];
      const product = this.product.length < k * s ? (this.product = new Float64Array(k * s)) : this.product;
      for (let i = 0; i < k; i++)
        for (let c = 0; c < s; c++) {
          let sum = 0;
          for (let j = 0; j < k; j++) sum += d[i * k + j] * g[j * s + c];
          product[i * s + c] = sum;
        }
      for (let r = 0; r < s; r++)
        for (let c = 0; c < s; c++) {
          let sum = 0;
          for (let i = 0; i < k; i++) sum += g[i * s + r] * product[i * s + c];
          values[places[r * s + c]] += sum;
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
function patternOf(n: number, groups: readonly Group[], groupOf: Int32Array, contacts: readonly Contact[]): Pattern {
  const beside = groups.map((_, i) => new Set([i]));
  for (const {support} of contacts) {
    const touched = new Set<number>();
    for (const k of support) touched.add(groupOf[k]);
    for (const one of touched) for (const other of touched) beside[one].add(other);
  }
  const of = groups.map((_, i) => Int32Array.from([...beside[i]].flatMap(other => [...groups[other].unknowns])).sort());
  const pointers = new Int32Array(n + 1);
  for (let row = 0; row < n; row++) pointers[row + 1] = pointers[row] + of[groupOf[row]].length;
  const all = new Int32Array(pointers[n]);
  for (let row = 0; row < n; row++) all.set(of[groupOf[row]], pointers[row]);
  return csrPattern(pointers, all);
}
