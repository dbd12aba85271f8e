/**
 * Impulses of many contacts with Coulomb's friction: A v = b + Gᵀp with, of every contact, u = G v + c,
 *
 *     0 ≤ p_N ⟂ u_N ≥ 0,     p_T = projection of p_T − ρ u_T on the disc of radius μ p_N.
 *
 * Gauss–Seidel sweeps over the contacts (Jourdan, Alart & Jean 1998) find out which press and which slip; steps of the
 * semismooth Newton method of Alart & Curnier (1991) on what they found give the digits, which sweeps alone do not in reasonable time.
 * Every Newton step is one of the proximal point method, too: contacts yield a little to what their impulses differ by from the
 * present ones, so that redundant ones make no matrix singular. Its matrix is that of the velocities, A + Gᵀ D G.
 */
import type {Analysis, Pattern} from '../linear/index.js';
import {csrPattern} from '../linear/index.js';

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
  /** Of matrices with the pattern of `matrixPattern`. */
  readonly analysis: Analysis;
  readonly pattern: Pattern;
}

/** Unknowns that A couples directly or through others are solved for together; contacts of large such groups fill matrices. */
export const mostCoupled = 24;

/**
 * Contacts yield this share of the velocity that their impulses give by themselves. A Newton step is off by rounding over it: with 1e-7 laws
 * stayed off by 1e-9 m/s, and sweeps had to do the rest.
 */
const softness = 1e-5;
/** Sweeps before the first Newton step. */
const firstSweeps = 4;
/** Sweeps after Newton steps that lead nowhere: first so many, then twice as many each time. */
const [fewSweeps, mostSweeps] = [8, 128];
const mostRounds = 12;
/** Newton steps that may lead uphill, until contacts have found on which side of their borders they are. */
const patience = 8;

/** A contact with what it needs in sweeps: G and A⁻¹Gᵀ on the unknowns that it moves. */
interface Contact {
  readonly rows: Int32Array;
  readonly support: Int32Array;
  /** Where row and column of the support are among the values of the matrix. */
  readonly scatter: Int32Array;
  /** [rows, support] each. */
  readonly g: Float64Array;
  readonly y: Float64Array;
  /** G A⁻¹ Gᵀ, [rows, rows]. */
  readonly w: Float64Array;
}

/** Unknowns that A couples. */
interface Group {
  readonly unknowns: Int32Array;
  /** Where row and column are in A, −1 where it has nothing. */
  readonly entries: Int32Array;
  readonly inverse: Float64Array;
}

export class ConeComplementarity {
  readonly v: Float64Array;
  readonly p: Float64Array;
  /** c, and μ at normal rows. */
  readonly apart: Float64Array;
  readonly friction: Float64Array;
  readonly b: Float64Array;
  private a: Float64Array = new Float64Array(0);
  /** The velocity that a normal impulse of one takes from u: u = G v + c + give p_N. */
  give = 0;
  /** Newton steps of the last `solve`. */
  newtonSteps = 0;
  private readonly contacts: readonly Contact[];
  private readonly groups: readonly Group[];
  private readonly groupOf: Int32Array;
  private readonly matrix: Float64Array;
  /** Of the entries of A among the values of the matrix. */
  private readonly fromA: Int32Array;
  private readonly right: Float64Array;
  private readonly kept: {readonly v: Float64Array; readonly p: Float64Array};
  private readonly before: Float64Array;
  private readonly local = new Float64Array(3);
  private readonly d = new Float64Array(9);
  private readonly anchored: Float64Array;

  /** Undefined where A couples too many unknowns. */
  static of(structure: ConeStructure): ConeComplementarity | undefined {
    const groups = groupsOf(structure);
    return groups.some(({unknowns}) => unknowns.length > mostCoupled)
      ? undefined
      : new ConeComplementarity(structure, groups);
  }

  private constructor(
    private readonly structure: ConeStructure,
    groups: readonly Group[],
  ) {
    const {n, rowPointers, columns, contacts, places, pattern} = structure;
    this.groups = groups;
    this.groupOf = new Int32Array(n);
    groups.forEach(({unknowns}, i) => unknowns.forEach(k => (this.groupOf[k] = i)));
    const supports = contacts.map(({normal, tangential}) => {
      const touched = new Set<number>();
      for (const row of [normal, ...tangential]) for (const k of places[row]) touched.add(this.groupOf[k]);
      return Int32Array.from([...touched].flatMap(group => [...groups[group].unknowns]));
    });
    const at = (row: number, column: number): number => {
      let [low, high] = [pattern.rowPointers[row], pattern.rowPointers[row + 1]];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (pattern.columns[middle] < column) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    this.contacts = contacts.map(({normal, tangential}, i) => {
      const support = supports[i];
      const rows = Int32Array.from([normal, ...tangential]);
      const scatter = new Int32Array(support.length ** 2);
      support.forEach((row, k) => support.forEach((column, l) => (scatter[k * support.length + l] = at(row, column))));
      return {
        rows,
        support,
        scatter,
        g: new Float64Array(rows.length * support.length),
        y: new Float64Array(rows.length * support.length),
        w: new Float64Array(rows.length ** 2),
      };
    });
    this.fromA = new Int32Array(columns.length);
    for (let row = 0; row < n; row++)
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) this.fromA[k] = at(row, columns[k]);
    this.matrix = new Float64Array(pattern.columns.length);
    const m = places.length;
    [this.v, this.b, this.right] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
    [this.p, this.apart, this.friction] = [new Float64Array(m), new Float64Array(m), new Float64Array(m)];
    this.before = new Float64Array(n);
    this.anchored = new Float64Array(m);
    this.kept = {v: new Float64Array(n), p: new Float64Array(m)};
  }

  /** New numbers of A, in its pattern's order, and of G, by row at its places. @returns false where A is singular */
  load(a: Float64Array, g: readonly Float64Array[]): boolean {
    const {structure, contacts, groups} = this;
    this.a = a;
    for (const {unknowns, entries, inverse} of groups) if (!invert(a, entries, inverse, unknowns.length)) return false;
    const place = new Int32Array(structure.n);
    for (const contact of contacts) {
      const {rows, support, g: own, y, w} = contact;
      const [k, s] = [rows.length, support.length];
      support.forEach((unknown, i) => (place[unknown] = i));
      own.fill(0);
      rows.forEach((row, i) => {
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
      if (!(w[0] > 0)) return false;
    }
    return true;
  }

  /**
   * From the impulses in p.
   * @param tolerance of velocities
   * @param enough what is taken where Newton's steps bring no more
   * @returns how far the laws are off, a velocity
   */
  solve(tolerance: number, enough: number): number {
    const {v, p, kept} = this;
    this.newtonSteps = 0;
    this.project();
    this.accelerate();
    this.sweep(firstSweeps);
    let error = this.error();
    let sweeps = fewSweeps;
    for (let round = 0; round < mostRounds && error > tolerance; round++) {
      kept.v.set(v);
      kept.p.set(p);
      let found = error;
      for (let tries = 0; tries < patience && found >= error / 2; tries++) {
        if (!this.newton()) break;
        found = this.error();
      }
      if (!(found < error / 2)) {
        if (error <= enough) {
          v.set(kept.v);
          p.set(kept.p);
          break;
        }
        v.set(kept.v);
        p.set(kept.p);
        this.sweep(sweeps);
        found = this.error();
        sweeps = Math.min(mostSweeps, 2 * sweeps);
      }
      error = found;
    }
    this.project();
    error = this.error();
    return error;
  }

  /** The largest velocity that contacts meet with: without their impulses, or that one's impulse gives. In `v` is what they are without. */
  speed(): number {
    const {p} = this;
    const pressed = p.slice();
    p.fill(0);
    this.accelerate();
    p.set(pressed);
    let most = 0;
    for (const contact of this.contacts) {
      const u = this.slip(contact);
      const k = contact.rows.length;
      for (let i = 0; i < k; i++)
        most = Math.max(
          most,
          Math.abs(u[i] - this.apart[contact.rows[i]]),
          contact.w[i * k + i] * Math.abs(p[contact.rows[i]]),
        );
    }
    return most;
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

  /** v = A⁻¹(b + Gᵀp) */
  private accelerate(): void {
    const {b, right, v, p, contacts, groups} = this;
    right.set(b);
    for (const {rows, support, g} of contacts) {
      const s = support.length;
      for (let i = 0; i < rows.length; i++) {
        const push = p[rows[i]];
        if (push !== 0) for (let l = 0; l < s; l++) right[support[l]] += g[i * s + l] * push;
      }
    }
    for (const {unknowns, inverse} of groups) {
      const size = unknowns.length;
      for (let r = 0; r < size; r++) {
        let sum = 0;
        for (let c = 0; c < size; c++) sum += inverse[r * size + c] * right[unknowns[c]];
        v[unknowns[r]] = sum;
      }
    }
  }

  /** Impulses into their cones. */
  private project(): void {
    const {p, friction} = this;
    for (const {rows} of this.contacts) {
      const normal = rows[0];
      p[normal] = Math.max(0, p[normal]);
      const room = friction[normal] * p[normal];
      const size =
        rows.length === 3 ? Math.hypot(p[rows[1]], p[rows[2]]) : rows.length === 2 ? Math.abs(p[rows[1]]) : 0;
      if (size > room) for (let i = 1; i < rows.length; i++) p[rows[i]] *= room / size;
    }
  }

  /** G v + c of a contact, in `local`. */
  private slip({rows, support, g}: Contact): Float64Array {
    const {local, v, p, apart, give} = this;
    const s = support.length;
    for (let i = 0; i < rows.length; i++) {
      let sum = apart[rows[i]];
      for (let l = 0; l < s; l++) sum += g[i * s + l] * v[support[l]];
      local[i] = sum;
    }
    local[0] += give * p[rows[0]];
    return local;
  }

  /** There and back over all contacts, so many times. */
  private sweep(times: number): void {
    const {contacts} = this;
    for (let k = 0; k < times; k++) {
      for (let i = 0; i < contacts.length; i++) this.relax(contacts[i]);
      for (let i = contacts.length - 1; i >= 0; i--) this.relax(contacts[i]);
    }
  }

  private relax(contact: Contact): void {
    const {p, v, friction} = this;
    const {rows, support, y, w} = contact;
    const [k, s] = [rows.length, support.length];
    const u = this.slip(contact);
    const normal = rows[0];
    const push = Math.max(0, p[normal] - u[0] / (w[0] + this.give));
    const gained = push - p[normal];
    p[normal] = push;
    let [first, second] = [0, 0];
    if (k > 1) {
      const give = tangentialGive(w, k);
      const room = friction[normal] * push;
      const x = p[rows[1]] - (u[1] + w[k] * gained) / give;
      const z = k === 3 ? p[rows[2]] - (u[2] + w[2 * k] * gained) / give : 0;
      const size = Math.sqrt(x * x + z * z);
      const share = size > room ? room / size : 1;
      first = share * x - p[rows[1]];
      p[rows[1]] = share * x;
      if (k === 3) {
        second = share * z - p[rows[2]];
        p[rows[2]] = share * z;
      }
    }
    if (gained === 0 && first === 0 && second === 0) return;
    for (let l = 0; l < s; l++) v[support[l]] += y[l] * gained;
    if (k > 1) for (let l = 0; l < s; l++) v[support[l]] += y[s + l] * first;
    if (k === 3) for (let l = 0; l < s; l++) v[support[l]] += y[2 * s + l] * second;
  }

  /** The largest of what the laws ask each impulse to change by, as the velocity that it gives. */
  private error(): number {
    const {p, friction} = this;
    let worst = 0;
    this.accelerate();
    for (const contact of this.contacts) {
      const {rows, w} = contact;
      const k = rows.length;
      const u = this.slip(contact);
      const push = p[rows[0]];
      worst = Math.max(worst, Math.abs(Math.min(u[0], w[0] * push)));
      if (k === 1) continue;
      const give = tangentialGive(w, k);
      const room = friction[rows[0]] * push;
      const x = p[rows[1]] - u[1] / give;
      const z = k === 3 ? p[rows[2]] - u[2] / give : 0;
      const size = Math.sqrt(x * x + z * z);
      const share = size > room ? room / size : 1;
      worst = Math.max(worst, give * Math.abs(share * x - p[rows[1]]));
      if (k === 3) worst = Math.max(worst, give * Math.abs(share * z - p[rows[2]]));
    }
    return Number.isNaN(worst) ? Infinity : worst;
  }

  /**
   * One step: what presses is held, what slips goes on slipping that way, p⁺ = q − D (G v⁺ + c) of each contact. False where the
   * matrix is refused.
   */
  private newton(): boolean {
    const {p, v, b, right, matrix, contacts, fromA, a, apart, anchored} = this;
    matrix.fill(0);
    for (let k = 0; k < a.length; k++) matrix[fromA[k]] += a[k];
    right.set(b);
    for (const contact of contacts) {
      const {rows, support, scatter, g} = contact;
      const [k, s] = [rows.length, support.length];
      const d = this.yields(contact);
      if (d === undefined) continue;
      for (let i = 0; i < k; i++) {
        let force = anchored[rows[i]];
        for (let j = 0; j < k; j++) force -= d[i * k + j] * apart[rows[j]];
        for (let l = 0; l < s; l++) right[support[l]] += g[i * s + l] * force;
        for (let j = 0; j < k; j++) {
          const stiffness = d[i * k + j];
          if (stiffness === 0) continue;
          for (let r = 0; r < s; r++) {
            const left = stiffness * g[i * s + r];
            if (left !== 0) for (let c = 0; c < s; c++) matrix[scatter[r * s + c]] += left * g[j * s + c];
          }
        }
      }
    }
    const before = this.before;
    before.set(v);
    try {
      this.structure.analysis.factor(matrix).solve(right, v);
    } catch {
      return false;
    }
    this.newtonSteps++;
    // With D of the point before: v there again, v⁺ set aside.
    right.set(v);
    v.set(before);
    for (const contact of contacts) {
      const {rows, support, g} = contact;
      const [k, s] = [rows.length, support.length];
      const d = this.yields(contact);
      for (let i = 0; i < k; i++) this.local[i] = 0;
      if (d !== undefined) {
        for (let i = 0; i < k; i++) {
          let u = apart[rows[i]];
          for (let l = 0; l < s; l++) u += g[i * s + l] * right[support[l]];
          this.local[i] = u;
        }
        for (let i = 0; i < k; i++) {
          let force = anchored[rows[i]];
          for (let j = 0; j < k; j++) force -= d[i * k + j] * this.local[j];
          p[rows[i]] = force;
        }
      } else for (let i = 0; i < k; i++) p[rows[i]] = 0;
    }
    if (!p.every(Number.isFinite)) return false;
    return true;
  }

  /** D of a contact, and in `anchored` its q; undefined where it is open. */
  private yields(contact: Contact): Float64Array | undefined {
    const {d, p, friction, anchored} = this;
    const {rows, w} = contact;
    const k = rows.length;
    const u = this.slip(contact);
    const normal = rows[0];
    if (p[normal] - u[0] / w[0] <= 0) return undefined;
    d.fill(0);
    const stiff = 1 / (softness * w[0] + this.give);
    d[0] = stiff;
    anchored[normal] = p[normal] * softness * w[0] * stiff;
    if (k === 1) return d;
    const give = tangentialGive(w, k);
    const mu = friction[normal];
    const [p1, p2] = [p[rows[1]], k === 3 ? p[rows[2]] : 0];
    const [x, z] = [p1 - u[1] / give, k === 3 ? p2 - u[2] / give : 0];
    const size = Math.sqrt(x * x + z * z);
    const room = mu * p[normal];
    if (mu > 0 && size <= room) {
      const held = 1 / (softness * give);
      for (let i = 1; i < k; i++) {
        d[i * k + i] = held;
        anchored[rows[i]] = p[rows[i]];
      }
      return d;
    }
    for (let i = 1; i < k; i++) anchored[rows[i]] = 0;
    if (mu === 0 || size === 0) return d;
    // p_T⁺ = (μ p_N⁺) t + the change of direction, κρ/(1 − κ) of the slip across t.
    const t = [x / size, z / size];
    const kappa = room / size;
    const turning = Math.min(1 / (softness * give), kappa / ((1 - kappa) * give));
    const across = k === 3 ? [-t[1], t[0]] : [0, 0];
    // What p_T lacks of lying along t, and the slip at which that turns.
    const off = across[0] * p1 + across[1] * p2;
    const slipping = k === 3 ? across[0] * u[1] + across[1] * u[2] : 0;
    // Linear in u: p_s⁺ = p_s − r_s/(1−κ) − turning (u_s⁺ − u_s), with r_s = p_s.
    const base = off - off / Math.max(1 - kappa, softness) + turning * slipping;
    for (let i = 1; i < k; i++) {
      d[i * k] = mu * stiff * t[i - 1];
      anchored[rows[i]] = mu * p[normal] * t[i - 1] + across[i - 1] * base;
      for (let j = 1; j < k; j++) d[i * k + j] = turning * across[i - 1] * across[j - 1];
    }
    return d;
  }
}

/** At least the largest eigenvalue of the tangential block. */
function tangentialGive(w: Float64Array, k: number): number {
  return k === 2 ? w[3] : Math.max(w[4], w[8]) + Math.abs(w[5]);
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

/** Of A + GᵀDG, on unknowns that belong together and those that a contact moves. */
export function matrixPattern({
  n,
  rowPointers,
  columns,
  contacts,
  places,
}: Omit<ConeStructure, 'analysis' | 'pattern'>): Pattern {
  const groups = groupsOf({n, rowPointers, columns});
  const groupOf = new Int32Array(n);
  groups.forEach(({unknowns}, i) => unknowns.forEach(k => (groupOf[k] = i)));
  const beside = groups.map((_, i) => new Set([i]));
  for (const {normal, tangential} of contacts) {
    const touched = new Set<number>();
    for (const row of [normal, ...tangential]) for (const k of places[row]) touched.add(groupOf[k]);
    for (const one of touched) for (const other of touched) beside[one].add(other);
  }
  const of = groups.map((_, i) => Int32Array.from([...beside[i]].flatMap(other => [...groups[other].unknowns])).sort());
  const pointers = new Int32Array(n + 1);
  for (let row = 0; row < n; row++) pointers[row + 1] = pointers[row] + of[groupOf[row]].length;
  const all = new Int32Array(pointers[n]);
  for (let row = 0; row < n; row++) all.set(of[groupOf[row]], pointers[row]);
  return csrPattern(pointers, all);
}

/** Gauss & Jordan's elimination with pivots by columns. @returns false where it is singular */
function invert(values: Float64Array, entries: Int32Array, inverse: Float64Array, n: number): boolean {
  const a = new Float64Array(n * n);
  for (let i = 0; i < n * n; i++) a[i] = entries[i] < 0 ? 0 : values[entries[i]];
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
