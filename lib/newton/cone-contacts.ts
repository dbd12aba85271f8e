/**
 * Contacts with Coulomb's friction among velocities: A v = b + Gᵀp, and of every contact u = G v + c. What the solvers
 * of cone-complementarity.ts share: the numbers, u, v of p, the matrix A + GᵀDG, and how far the laws are off.
 */
import {BlockDiagonal} from './block-diagonal.js';
import {ConeMatrix} from './cone-matrix.js';
import {ContactTable, type ConeStructure} from './contact-table.js';

export class ConeContacts {
  readonly v: Float64Array;
  readonly p: Float64Array;
  /** c, and μ at normal rows. */
  readonly apart: Float64Array;
  readonly friction: Float64Array;
  readonly b: Float64Array;
  /** At normal rows: the velocity that an impulse of one takes from u, u = G v + c + give p_N. */
  readonly give: Float64Array;
  /** Whether that is of springs, and not a softness of all. */
  sprung = false;
  /**
   * Contacts yield this share of the velocity that impulses give by themselves to what these differ by from the anchor.
   */
  softness = 0;
  readonly anchor: Float64Array;
  /** The largest velocity that contacts meet with without their impulses, when last asked for `speed`. */
  approach = 0;
  /** The normal row of the contact whose laws were off most when last asked. */
  worst = -1;
  /** Matrices factored since it was set. */
  factorizations = 0;
  readonly table: ContactTable;
  /** D of contacts, [contacts, 3, 3], which a solver writes before it asks for the matrix. */
  readonly stiffness: Float64Array;
  /** Active contacts: all that move anything after `load`; `attend` chooses among them. */
  contacts: Int32Array;
  private readonly all: Int32Array;
  private moving: Int32Array;
  private matrix: ConeMatrix | undefined;
  /** The numbers of G. */
  private values: Float64Array = new Float64Array(0);
  private readonly right: Float64Array;
  private readonly local = new Float64Array(3);

  /** Undefined where A couples too many unknowns. */
  static of(structure: ConeStructure): ConeContacts | undefined {
    const a = BlockDiagonal.of(structure.a);
    return a === undefined ? undefined : new ConeContacts(structure, a);
  }

  private constructor(
    readonly structure: ConeStructure,
    private readonly a: BlockDiagonal,
  ) {
    const [n, m] = [structure.a.n, structure.g.n];
    this.table = new ContactTable(structure, a);
    this.all = Int32Array.from({length: this.table.count}, (_, i) => i);
    this.contacts = this.moving = this.all;
    this.stiffness = new Float64Array(9 * this.table.count);
    [this.v, this.b, this.right] = [0, 1, 2].map(() => new Float64Array(n));
    [this.p, this.apart, this.give, this.friction, this.anchor] = [0, 1, 2, 3, 4].map(() => new Float64Array(m));
  }

  /** New numbers of A and G, in their patterns' order, which are not copied. @returns false where A is singular */
  load(a: Float64Array, g: Float64Array): boolean {
    const {table, all} = this;
    this.values = g;
    if (!this.a.load(a) || !table.load(g)) return false;
    // Boxes have points that are not in use, all of whose rows are zero.
    const moves = (i: number): boolean => table.w[9 * i] > 0;
    this.contacts = this.moving = all.every(moves) ? all : all.filter(moves);
    return true;
  }

  /**
   * The largest velocity that contacts meet with: without their impulses, or that one's impulse gives. In `v` is what
   * they are without.
   */
  speed(): number {
    const {p, table, a, b, v, local} = this;
    a.solve(b, v);
    let given = 0;
    this.approach = 0;
    for (const i of this.contacts) {
      table.along(i, v, local);
      for (let j = 0; j < table.sizes[i]; j++) {
        const row = table.rows[3 * i + j];
        this.approach = Math.max(this.approach, Math.abs(local[j]));
        given = Math.max(given, table.w[9 * i + 4 * j] * Math.abs(p[row]));
      }
    }
    return Math.max(given, this.approach);
  }

  /** The largest of A⁻¹ times what lies in an array from a place on. */
  largestMove(values: Float64Array, place: number): number {
    return this.a.largestOfSolution(values, place);
  }

  /** A x */
  multiply(x: Float64Array, product: Float64Array): void {
    this.a.multiply(x, product);
  }

  /** Adds factor · Gᵀ f. */
  push(f: Float64Array, factor: number, sum: Float64Array): void {
    const {rowPointers, columns, n} = this.structure.g;
    const {values} = this;
    for (let row = 0; row < n; row++) {
      const force = factor * f[row];
      if (force !== 0)
        for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) sum[columns[k]] += values[k] * force;
    }
  }

  /** v = A⁻¹(b + Gᵀp) */
  accelerate(): void {
    const {b, right, v} = this;
    right.set(b);
    this.push(this.p, 1, right);
    this.a.solve(right, v);
  }

  /**
   * From now on contacts count that part by no more than a velocity without motion, and impulses of others are none.
   * Which they are does not depend on steps before, so that a step gives the same when it is computed again.
   */
  attend(velocity: number): void {
    const {all, apart, matrix, table} = this;
    const near = all.filter(i => !(apart[table.rows[3 * i]] > velocity));
    const same = matrix?.size === near.length && near.every(i => matrix.has(i));
    this.count(same ? matrix : this.matrixOf(near));
  }

  /** Contacts count, too, that close faster than this. @returns whether there are any */
  attendMissed(velocity: number): boolean {
    const {all, moving, matrix} = this;
    const missed = new Set(moving.filter(i => matrix?.has(i) !== true && this.slip(i)[0] < -velocity));
    if (missed.size > 0) this.count(this.matrixOf(all.filter(i => missed.has(i) || matrix?.has(i) === true)));
    return missed.size > 0;
  }

  private count(matrix: ConeMatrix): void {
    const {all, moving, table, p} = this;
    this.matrix = matrix;
    this.contacts = moving.filter(i => matrix.has(i));
    const counted = new Uint8Array(all.length);
    for (const i of this.contacts) counted[i] = 1;
    for (const i of all) if (counted[i] === 0) for (let j = 0; j < table.sizes[i]; j++) p[table.rows[3 * i + j]] = 0;
  }

  private matrixOf(contacts: Int32Array): ConeMatrix {
    return new ConeMatrix(this.a, this.table, contacts);
  }

  /**
   * With the D in `stiffness` of contacts that count, of all of them if not said.
   * @returns false where A + GᵀDG is refused
   */
  factor(contacts = this.contacts): boolean {
    this.factorizations++;
    return this.matrix?.factor(contacts, this.stiffness) === true;
  }

  /** (A + GᵀDG) x = right, with the D of `factor`. */
  solve(right: Float64Array, x: Float64Array): void {
    this.matrix?.solve(right, x);
  }

  /** The largest velocity that a normal impulse gives by itself. */
  given(): number {
    const {p} = this;
    const {rows, w} = this.table;
    let most = 0;
    for (const i of this.contacts) most = Math.max(most, w[9 * i] * p[rows[3 * i]]);
    return most;
  }

  /**
   * Gaps that close at no more than a velocity count as closed, but for those of springs, which tell their impulses
   * apart.
   * @returns whether any was not so before
   */
  close(velocity: number): boolean {
    const {apart, give, sprung} = this;
    const {rows} = this.table;
    let some = false;
    for (const i of this.contacts) {
      const normal = rows[3 * i];
      if ((sprung && give[normal] > 0) || !(apart[normal] > 0) || apart[normal] > velocity) continue;
      apart[normal] = 0;
      some = true;
    }
    return some;
  }

  /** Impulses into their cones. */
  project(): void {
    const {p, friction} = this;
    const {rows, sizes} = this.table;
    for (const i of this.contacts) {
      const normal = rows[3 * i];
      p[normal] = Math.max(0, p[normal]);
      const room = friction[normal] * p[normal];
      let size = 0;
      for (let j = 1; j < sizes[i]; j++) size += p[rows[3 * i + j]] ** 2;
      size = Math.sqrt(size);
      if (size > room) for (let j = 1; j < sizes[i]; j++) p[rows[3 * i + j]] *= room / size;
    }
  }

  /** u of a contact, the same three numbers each time. */
  slip(i: number): Float64Array {
    const {local, v, p, apart, give, softness, anchor, table} = this;
    const {rows, sizes, w} = table;
    table.along(i, v, local);
    for (let j = 0; j < sizes[i]; j++) local[j] += apart[rows[3 * i + j]];
    local[0] += give[rows[3 * i]] * p[rows[3 * i]];
    if (softness > 0) {
      const tangential = softness * table.tangentialGive(i);
      for (let j = 0; j < sizes[i]; j++) {
        const row = rows[3 * i + j];
        local[j] += (j === 0 ? softness * w[9 * i] : tangential) * (p[row] - anchor[row]);
      }
    }
    return local;
  }

  /** The largest of what the laws ask an impulse to change by, as the velocity that it gives; v is made of p first. */
  error(): number {
    const {p, friction, table} = this;
    const {rows, sizes, w} = table;
    let [worst, most] = [0, 0];
    this.accelerate();
    for (const i of this.contacts) {
      const [k, normal] = [sizes[i], rows[3 * i]];
      const u = this.slip(i);
      const push = p[normal];
      worst = Math.max(worst, Math.abs(Math.min(u[0], w[9 * i] * push)));
      if (k > 1) {
        const give = table.tangentialGive(i);
        const room = friction[normal] * push;
        const [p1, p2] = [p[rows[3 * i + 1]], k === 3 ? p[rows[3 * i + 2]] : 0];
        const x = p1 - u[1] / give;
        const z = k === 3 ? p2 - u[2] / give : 0;
        const size = Math.sqrt(x * x + z * z);
        const share = size > room ? room / size : 1;
        worst = Math.max(worst, give * Math.abs(share * x - p1));
        if (k === 3) worst = Math.max(worst, give * Math.abs(share * z - p2));
      }
      if (worst > most) {
        most = worst;
        this.worst = normal;
      }
    }
    return Number.isNaN(worst) ? Infinity : worst;
  }
}
