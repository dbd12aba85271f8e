/**
 * Contacts with Coulomb's friction among velocities: A v = b + Gᵀp, and of every contact u = G v + c. What the solvers of cone-complementarity.ts share:
 * the numbers, u, v of p, the matrix A + GᵀDG, and how far the laws are off. A couples few velocities, as those of a body, and is inverted by such groups.
 */
import {ConeMatrix, type Contact, type Group} from './cone-matrix.js';

/** The rows of one contact among those of G. */
export interface ContactRows {
  readonly normal: number;
  readonly tangential: readonly number[];
}

/** What stays as it is while numbers change. */
export interface ConeStructure {
  /** The pattern of A: compressed rows. */
  readonly n: number;
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
  readonly contacts: readonly ContactRows[];
  /** By row of G: where it is not zero. */
  readonly places: readonly Int32Array[];
}

/** Unknowns that A couples directly or through others are solved for together; contacts of large such groups would fill the matrix. */
const mostCoupled = 24;

export class ConeContacts {
  readonly v: Float64Array;
  readonly p: Float64Array;
  /** c, and μ at normal rows. */
  readonly apart: Float64Array;
  readonly friction: Float64Array;
  readonly b: Float64Array;
  /** The velocity that a normal impulse of one takes from u: u = G v + c + give p_N. */
  give = 0;
  /** Contacts yield this share of the velocity that impulses give by themselves to what these differ by from the anchor. */
  softness = 0;
  readonly anchor: Float64Array;
  /** The largest velocity that contacts meet with without their impulses, when last asked for `speed`. */
  approach = 0;
  /** The normal row of the contact whose laws were off most when last asked. */
  worst = -1;
  /** Matrices factored since it was set. */
  factorizations = 0;
  /** Those that count: `attend` says which, after `load` all that move anything. */
  contacts: readonly Contact[];
  private readonly all: readonly Contact[];
  private moving: readonly Contact[];
  private matrix: ConeMatrix | undefined;
  private a: Float64Array = new Float64Array(0);
  /** G by compressed rows; rows of no contact are empty. */
  private readonly g: {readonly pointers: Int32Array; readonly columns: Int32Array; readonly values: Float64Array};
  private readonly groups: readonly Group[];
  private readonly groupOf: Int32Array;
  private readonly right: Float64Array;
  private readonly place: Int32Array;
  private readonly local = new Float64Array(3);

  /** Undefined where A couples too many unknowns. */
  static of(structure: ConeStructure): ConeContacts | undefined {
    const groups = groupsOf(structure);
    return groups.some(({unknowns}) => unknowns.length > mostCoupled) ? undefined : new ConeContacts(structure, groups);
  }

  private constructor(
    readonly structure: ConeStructure,
    groups: readonly Group[],
  ) {
    const {n, contacts, places} = structure;
    this.groups = groups;
    this.groupOf = new Int32Array(n);
    groups.forEach(({unknowns}, i) => unknowns.forEach(k => (this.groupOf[k] = i)));
    this.contacts =
      this.moving =
      this.all =
        contacts.map(({normal, tangential}) => {
          const rows = Int32Array.from([normal, ...tangential]);
          const touched = new Set<number>();
          for (const row of rows) for (const k of places[row]) touched.add(this.groupOf[k]);
          const support = Int32Array.from([...touched].flatMap(group => [...groups[group].unknowns]));
          const [g, y] = [
            new Float64Array(rows.length * support.length),
            new Float64Array(rows.length * support.length),
          ];
          return {rows, support, g, y, w: new Float64Array(rows.length ** 2)};
        });
    const m = places.length;
    const taken = new Uint8Array(m);
    for (const {rows} of this.all) for (const row of rows) taken[row] = 1;
    const pointers = new Int32Array(m + 1);
    for (let row = 0; row < m; row++) pointers[row + 1] = pointers[row] + (taken[row] === 1 ? places[row].length : 0);
    this.g = {pointers, columns: new Int32Array(pointers[m]), values: new Float64Array(pointers[m])};
    for (let row = 0; row < m; row++) if (taken[row] === 1) this.g.columns.set(places[row], pointers[row]);
    [this.v, this.b, this.right] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
    [this.p, this.apart, this.friction, this.anchor] = [0, 1, 2, 3].map(() => new Float64Array(m));
    this.place = new Int32Array(n);
  }

  /** New numbers of A, in its pattern's order, and of G, by row at its places. @returns false where A is singular */
  load(a: Float64Array, g: readonly Float64Array[]): boolean {
    const {structure, all, groups, place} = this;
    this.a = a;
    for (const {unknowns, entries, inverse} of groups) {
      const own = new Float64Array(entries.length);
      for (let k = 0; k < own.length; k++) own[k] = entries[k] < 0 ? 0 : a[entries[k]];
      if (!invert(own, inverse, unknowns.length)) return false;
    }
    for (const {rows, support, g: own, y, w} of all) {
      const [k, s] = [rows.length, support.length];
      support.forEach((unknown, i) => (place[unknown] = i));
      own.fill(0);
      rows.forEach((row, i) => {
        this.g.values.set(g[row], this.g.pointers[row]);
        const where = structure.places[row];
        for (let j = 0; j < where.length; j++) own[i * s + place[where[j]]] = g[row][j];
      });
      y.fill(0);
      for (let i = 0; i < s;) {
        const {unknowns, inverse} = groups[this.groupOf[support[i]]];
        const size = unknowns.length;
        for (let row = 0; row < k; row++)
          for (let r = 0; r < size; r++) {
            let sum = 0;
            for (let c = 0; c < size; c++) sum += inverse[r * size + c] * own[row * s + place[unknowns[c]]];
            y[row * s + place[unknowns[r]]] = sum;
          }
        i += size;
      }
      for (let i = 0; i < k; i++)
        for (let j = 0; j < k; j++) {
          let sum = 0;
          for (let l = 0; l < s; l++) sum += own[i * s + l] * y[j * s + l];
          w[i * k + j] = sum;
        }
      if (Number.isNaN(w[0])) return false;
    }
    // Boxes have points that are not in use, all of whose rows are zero.
    this.contacts = this.moving = all.every(moves) ? all : all.filter(moves);
    return true;
  }

  /** The largest velocity that contacts meet with: without their impulses, or that one's impulse gives. In `v` is what they are without. */
  speed(): number {
    const {p, apart} = this;
    const pressed = p.slice();
    p.fill(0);
    this.accelerate();
    p.set(pressed);
    let given = 0;
    this.approach = 0;
    for (const contact of this.contacts) {
      const {rows, w} = contact;
      const [u, k] = [this.slip(contact), rows.length];
      for (let i = 0; i < k; i++) {
        this.approach = Math.max(this.approach, Math.abs(u[i] - apart[rows[i]]));
        given = Math.max(given, w[i * k + i] * Math.abs(p[rows[i]]));
      }
    }
    return Math.max(given, this.approach);
  }

  /** The largest of A⁻¹ times what lies in an array from a place on. */
  largestMove(values: Float64Array, from: number): number {
    let most = 0;
    for (const {unknowns, inverse} of this.groups) {
      const size = unknowns.length;
      for (let r = 0; r < size; r++) {
        let sum = 0;
        for (let c = 0; c < size; c++) sum += inverse[r * size + c] * values[from + unknowns[c]];
        most = Math.max(most, Math.abs(sum));
      }
    }
    return most;
  }

  /** A x */
  multiply(x: Float64Array, product: Float64Array): void {
    const {rowPointers, columns, n} = this.structure;
    for (let row = 0; row < n; row++) {
      let sum = 0;
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) sum += this.a[k] * x[columns[k]];
      product[row] = sum;
    }
  }

  /** G x */
  along(x: Float64Array, product: Float64Array): void {
    const {pointers, columns, values} = this.g;
    for (let row = 0; row + 1 < pointers.length; row++) {
      let sum = 0;
      for (let k = pointers[row]; k < pointers[row + 1]; k++) sum += values[k] * x[columns[k]];
      product[row] = sum;
    }
  }

  /** Adds factor · Gᵀ f. */
  push(f: Float64Array, factor: number, sum: Float64Array): void {
    const {pointers, columns, values} = this.g;
    for (let row = 0; row + 1 < pointers.length; row++) {
      const force = factor * f[row];
      if (force !== 0) for (let k = pointers[row]; k < pointers[row + 1]; k++) sum[columns[k]] += values[k] * force;
    }
  }

  /** v = A⁻¹(b + Gᵀp) */
  accelerate(): void {
    const {b, right, v, groups} = this;
    right.set(b);
    this.push(this.p, 1, right);
    for (const {unknowns, inverse} of groups) {
      const size = unknowns.length;
      for (let r = 0; r < size; r++) {
        let sum = 0;
        for (let c = 0; c < size; c++) sum += inverse[r * size + c] * right[unknowns[c]];
        v[unknowns[r]] = sum;
      }
    }
  }

  /**
   * From now on contacts count that part by no more than a velocity without motion, and impulses of others are none. Which they are does not depend on steps before,
   * so that a step gives the same when it is computed again.
   */
  attend(velocity: number): void {
    const {all, apart, matrix} = this;
    const near = all.filter(({rows}) => !(apart[rows[0]] > velocity));
    const same = matrix?.size === near.length && near.every(one => matrix.has(one));
    this.count(same ? matrix : this.matrixOf(near));
  }

  /** Contacts count, too, that close faster than this. @returns whether there are any */
  attendMissed(velocity: number): boolean {
    const {all, moving, matrix} = this;
    const missed = new Set(moving.filter(one => matrix?.has(one) !== true && this.slip(one)[0] < -velocity));
    if (missed.size > 0) this.count(this.matrixOf(all.filter(one => missed.has(one) || matrix?.has(one) === true)));
    return missed.size > 0;
  }

  private count(matrix: ConeMatrix): void {
    this.matrix = matrix;
    this.contacts = this.moving.filter(one => matrix.has(one));
    const counted = new Set(this.contacts);
    for (const one of this.all) if (!counted.has(one)) for (const row of one.rows) this.p[row] = 0;
  }

  private matrixOf(contacts: readonly Contact[]): ConeMatrix {
    const {structure, groups, groupOf} = this;
    return new ConeMatrix({...structure, groups, groupOf}, contacts);
  }

  /** @param stiffness D of a contact, [rows, rows], undefined where it is zero. @returns false where A + GᵀDG is refused */
  factor(stiffness: (contact: Contact, index: number) => Float64Array | undefined): boolean {
    this.factorizations++;
    return this.matrix?.factor(this.a, this.contacts, stiffness) === true;
  }

  /** (A + GᵀDG) x = right, with the D of `factor`. */
  solve(right: Float64Array, x: Float64Array): void {
    this.matrix?.solve(right, x);
  }

  /** The largest velocity that a normal impulse gives by itself. */
  given(): number {
    let most = 0;
    for (const {rows, w} of this.contacts) most = Math.max(most, w[0] * this.p[rows[0]]);
    return most;
  }

  /** Gaps that close at no more than a velocity count as closed. @returns whether any was not so before */
  close(velocity: number): boolean {
    const {apart} = this;
    let some = false;
    for (const {rows} of this.contacts)
      if (apart[rows[0]] > 0 && apart[rows[0]] <= velocity) {
        apart[rows[0]] = 0;
        some = true;
      }
    return some;
  }

  /** Impulses into their cones. */
  project(): void {
    const {p, friction} = this;
    for (const {rows} of this.contacts) {
      const normal = rows[0];
      p[normal] = Math.max(0, p[normal]);
      const room = friction[normal] * p[normal];
      let size = 0;
      for (let i = 1; i < rows.length; i++) size += p[rows[i]] ** 2;
      size = Math.sqrt(size);
      if (size > room) for (let i = 1; i < rows.length; i++) p[rows[i]] *= room / size;
    }
  }

  /** u of a contact, the same three numbers each time. */
  slip(contact: Contact): Float64Array {
    const {local, v, p, apart, give, softness, anchor} = this;
    const {rows, support, g} = contact;
    const s = support.length;
    for (let i = 0; i < rows.length; i++) {
      let sum = apart[rows[i]];
      for (let l = 0; l < s; l++) sum += g[i * s + l] * v[support[l]];
      local[i] = sum;
    }
    local[0] += give * p[rows[0]];
    if (softness > 0) {
      const tangential = softness * (rows.length === 1 ? 0 : tangentialGive(contact));
      for (let i = 0; i < rows.length; i++)
        local[i] += (i === 0 ? softness * contact.w[0] : tangential) * (p[rows[i]] - anchor[rows[i]]);
    }
    return local;
  }

  /** The largest of what the laws ask an impulse to change by, as the velocity that it gives; v is made of p first. */
  error(): number {
    const {p, friction} = this;
    let [worst, most] = [0, 0];
    this.accelerate();
    for (const contact of this.contacts) {
      const {rows, w} = contact;
      const k = rows.length;
      const u = this.slip(contact);
      const push = p[rows[0]];
      worst = Math.max(worst, Math.abs(Math.min(u[0], w[0] * push)));
      if (k > 1) {
        const give = tangentialGive(contact);
        const room = friction[rows[0]] * push;
        const x = p[rows[1]] - u[1] / give;
        const z = k === 3 ? p[rows[2]] - u[2] / give : 0;
        const size = Math.sqrt(x * x + z * z);
        const share = size > room ? room / size : 1;
        worst = Math.max(worst, give * Math.abs(share * x - p[rows[1]]));
        if (k === 3) worst = Math.max(worst, give * Math.abs(share * z - p[rows[2]]));
      }
      if (worst > most) {
        most = worst;
        this.worst = rows[0];
      }
    }
    return Number.isNaN(worst) ? Infinity : worst;
  }
}

function moves({w}: Contact): boolean {
  return w[0] > 0;
}

/** At least the largest eigenvalue of the tangential block of w. */
export function tangentialGive({rows, w}: Contact): number {
  return rows.length === 2 ? w[3] : Math.max(w[4], w[8]) + Math.abs(w[5]);
}

function groupsOf({n, rowPointers, columns}: Pick<ConeStructure, 'n' | 'rowPointers' | 'columns'>): Group[] {
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
  return [...members.values()].map(list => {
    const size = list.length;
    if (size > mostCoupled)
      return {unknowns: Int32Array.from(list), entries: new Int32Array(0), inverse: new Float64Array(0)};
    const entries = new Int32Array(size * size).fill(-1);
    const place = new Map(list.map((unknown, i) => [unknown, i]));
    list.forEach((row, i) => {
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++)
        entries[i * size + (place.get(columns[k]) as number)] = k;
    });
    return {unknowns: Int32Array.from(list), entries, inverse: new Float64Array(size * size)};
  });
}

/** Gauss & Jordan's elimination with pivots by columns, which overwrites the matrix. @returns false where it is singular */
export function invert(a: Float64Array, inverse: Float64Array, n: number): boolean {
  inverse.fill(0);
  for (let i = 0; i < n; i++) inverse[i * n + i] = 1;
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(a[r * n + c]) > Math.abs(a[pivot * n + c])) pivot = r;
    const top = a[pivot * n + c];
    if (!(Math.abs(top) > 0)) return false;
    for (let j = 0; j < n; j++) {
      [a[pivot * n + j], a[c * n + j]] = [a[c * n + j], a[pivot * n + j] / top];
      [inverse[pivot * n + j], inverse[c * n + j]] = [inverse[c * n + j], inverse[pivot * n + j] / top];
    }
    for (let r = 0; r < n; r++) {
      const factor = r === c ? 0 : a[r * n + c];
      if (factor === 0) continue;
      for (let j = 0; j < n; j++) {
        a[r * n + j] -= factor * a[c * n + j];
        inverse[r * n + j] -= factor * inverse[c * n + j];
      }
    }
  }
  return true;
}
