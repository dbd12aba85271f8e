/**
 * Sweeps of Gauss & Seidel over contacts with Coulomb's friction (nonsmooth contact dynamics: Jourdan, Alart & Jean
 * 1998): each contact in turn gets the impulse that its own laws ask for, with those of the others as they are. A sweep
 * takes a hundredth of the time of a matrix.
 */
import type {ConeContacts} from './cone-contacts.js';

export class ConeSweeps {
  constructor(private readonly cones: ConeContacts) {}

  /** From p and the v of it; v is kept up. */
  sweep(): void {
    const {cones} = this;
    const {contacts, p, v, friction, give, table} = cones;
    const {sizes, rows, begins, starts, support, y, w} = table;
    for (const i of contacts) {
      const [k, from, to, start] = [sizes[i], begins[i], begins[i + 1], starts[i]];
      const s = to - from;
      const [normal, first, second] = [rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]];
      const u = cones.slip(i);
      const push = Math.max(0, p[normal] - u[0] / (w[9 * i] + give[normal]));
      const more = push - p[normal];
      p[normal] = push;
      let [d1, d2] = [0, 0];
      if (k > 1) {
        const yields = table.tangentialGive(i);
        const [p1, p2] = [p[first], k === 3 ? p[second] : 0];
        const x = p1 - (u[1] + w[9 * i + 3] * more) / yields;
        const z = k === 3 ? p2 - (u[2] + w[9 * i + 6] * more) / yields : 0;
        const [size, room] = [Math.sqrt(x * x + z * z), friction[normal] * push];
        const share = size > room ? room / size : 1;
        [d1, d2] = [share * x - p1, share * z - p2];
        p[first] += d1;
        if (k === 3) p[second] += d2;
      }
      if (more === 0 && d1 === 0 && d2 === 0) continue;
      for (let l = 0; l < s; l++) {
        let change = y[start + l] * more;
        if (k > 1) change += y[start + s + l] * d1;
        if (k === 3) change += y[start + 2 * s + l] * d2;
        v[support[from + l]] += change;
      }
    }
  }
}
