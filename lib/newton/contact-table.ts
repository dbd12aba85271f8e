/**
 * What the solvers of cone-complementarity.ts need of contacts, one after the other in arrays: their rows of G on the
 * unknowns that they move, with A⁻¹Gᵀ and G A⁻¹Gᵀ. Blocks of a contact have room for three rows, so that those of
 * contact i begin at 3i and 9i.
 */
import type {BlockDiagonal, SparseRows} from './block-diagonal.js';

/** The rows of one contact among those of G: two tangential ones in space, one in the plane. */
export interface ContactTableRows {
  readonly normal: number;
  readonly tangential: readonly number[];
}

/** What stays as it is while numbers change. */
export interface ConeStructure {
  /** The pattern of A. */
  readonly a: SparseRows;
  /** The pattern of G, [rows, n]. */
  readonly g: SparseRows;
  readonly contacts: readonly ContactTableRows[];
}

export class ContactTable {
  readonly count: number;
  /** How many rows, 1 to 3. */
  readonly sizes: Int32Array;
  /** The rows of G of every contact, [count, 3]. */
  readonly rows: Int32Array;
  /** Offset in `support` of the unknowns that a contact moves, whole groups of A, [count + 1]. */
  readonly begins: Int32Array;
  readonly support: Int32Array;
  /** Offset of a contact's g and y, [rows, support] each. */
  readonly starts: Int32Array;
  readonly g: Float64Array;
  /** A⁻¹Gᵀ, transposed. */
  readonly y: Float64Array;
  /** G A⁻¹ Gᵀ, [count, 3, 3]. */
  readonly w: Float64Array;
  /** Indices in g of G's entries, contact by contact and row by row. */
  private readonly places: Int32Array;
  private readonly rowPointers: Int32Array;

  constructor(
    {contacts, g: {rowPointers, columns}}: ConeStructure,
    private readonly a: BlockDiagonal,
  ) {
    const count = (this.count = contacts.length);
    this.sizes = new Int32Array(count);
    this.rows = new Int32Array(3 * count);
    this.begins = new Int32Array(count + 1);
    this.starts = new Int32Array(count + 1);
    const [support, places]: [number[], number[]] = [[], []];
    const place = new Int32Array(a.pattern.n);
    contacts.forEach(({normal, tangential}, i) => {
      const rows = [normal, ...tangential];
      this.rows.set(rows, 3 * i);
      this.sizes[i] = rows.length;
      const touched = new Set<number>();
      for (const row of rows)
        for (let e = rowPointers[row]; e < rowPointers[row + 1]; e++) touched.add(a.groupOf[columns[e]]);
      const own = [...touched].flatMap(group => [...a.unknowns.subarray(a.begins[group], a.begins[group + 1])]);
      own.forEach((unknown, k) => (place[unknown] = k));
      rows.forEach((row, j) => {
        for (let e = rowPointers[row]; e < rowPointers[row + 1]; e++)
          places.push(this.starts[i] + j * own.length + place[columns[e]]);
      });
      for (const unknown of own) support.push(unknown);
      this.begins[i + 1] = support.length;
      this.starts[i + 1] = this.starts[i] + rows.length * own.length;
    });
    [this.support, this.places] = [Int32Array.from(support), Int32Array.from(places)];
    [this.g, this.y] = [0, 1].map(() => new Float64Array(this.starts[count]));
    this.w = new Float64Array(9 * count);
    this.rowPointers = rowPointers;
  }

  /** New numbers of G in its pattern's order, with those of A. @returns false where they are not finite */
  load(values: Float64Array): boolean {
    const {count, sizes, rows, begins, support, starts, g, y, w, places, rowPointers} = this;
    const {groupOf, begins: ofGroup, squares, inverse} = this.a;
    let next = 0;
    for (let i = 0; i < count; i++) {
      const [k, s, start] = [sizes[i], begins[i + 1] - begins[i], starts[i]];
      for (let j = 0; j < k; j++) {
        const row = rows[3 * i + j];
        for (let e = rowPointers[row]; e < rowPointers[row + 1]; e++) g[places[next++]] = values[e];
      }
      for (let from = 0; from < s;) {
        const group = groupOf[support[begins[i] + from]];
        const size = ofGroup[group + 1] - ofGroup[group];
        for (let j = 0; j < k; j++) {
          const at = start + j * s + from;
          let of = squares[group];
          for (let r = 0; r < size; r++) {
            let sum = 0;
            for (let c = 0; c < size; c++) sum += inverse[of++] * g[at + c];
            y[at + r] = sum;
          }
        }
        from += size;
      }
      for (let r = 0; r < k; r++)
        for (let c = 0; c < k; c++) {
          const [ofRow, ofColumn] = [start + r * s, start + c * s];
          let sum = 0;
          for (let l = 0; l < s; l++) sum += g[ofRow + l] * y[ofColumn + l];
          w[9 * i + 3 * r + c] = sum;
        }
      if (Number.isNaN(w[9 * i])) return false;
    }
    return true;
  }

  /** At least the largest eigenvalue of the tangential block of w; 0 of a contact without one. */
  tangentialGive(i: number): number {
    const {w, sizes} = this;
    if (sizes[i] === 1) return 0;
    return sizes[i] === 2 ? w[9 * i + 4] : Math.max(w[9 * i + 4], w[9 * i + 8]) + Math.abs(w[9 * i + 5]);
  }

  /** G x of a contact. */
  along(i: number, x: Float64Array, product: Float64Array): void {
    const {sizes, begins, starts, support, g} = this;
    const [from, to] = [begins[i], begins[i + 1]];
    let at = starts[i];
    for (let j = 0; j < sizes[i]; j++) {
      let sum = 0;
      for (let l = from; l < to; l++) sum += g[at++] * x[support[l]];
      product[j] = sum;
    }
  }
}
