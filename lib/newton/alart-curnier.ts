/**
 * Steps of the semismooth Newton method of Alart & Curnier (1991) for contacts with Coulomb's friction: what presses is
 * held, what slips goes on slipping that way. Contacts yield a little to what their impulses differ by from an anchor,
 * so that redundant ones make no matrix singular; with the present impulses as anchor every step is one of the proximal
 * point method, too. Near a solution they give the digits, from elsewhere they may lead nowhere.
 */
import type {ConeContacts} from './cone-contacts.js';

export class AlartCurnier {
  private readonly right: Float64Array;
  private readonly found: Float64Array;
  /** What p is at u = 0: p⁺ = anchored − D u⁺. */
  private readonly anchored: Float64Array;
  private readonly next: Float64Array;
  private readonly slips = new Float64Array(3);

  constructor(private readonly cones: ConeContacts) {
    const {n} = cones.structure.a;
    [this.right, this.found] = [new Float64Array(n), new Float64Array(n)];
    [this.anchored, this.next] = [new Float64Array(cones.p.length), new Float64Array(cones.p.length)];
  }

  /**
   * One step of p, with the softness of the contacts, not zero, and their anchor; v is left as it was.
   * @param ties contacts that part by no more than this velocity press: of bodies that fall together all at once, not
   *   one after the other
   * @returns false where there is none
   */
  step(ties = 0): boolean {
    const {cones, right, found, anchored, next, slips} = this;
    const {apart, p, table, stiffness} = cones;
    const {rows, sizes, begins, starts, support, g} = table;
    right.set(cones.b);
    const pressing = cones.contacts.filter(i => this.linearize(i, ties));
    for (const i of pressing) {
      let at = starts[i];
      for (let r = 0; r < sizes[i]; r++) {
        let force = anchored[rows[3 * i + r]];
        for (let j = 0; j < sizes[i]; j++) force -= stiffness[9 * i + 3 * r + j] * apart[rows[3 * i + j]];
        for (let l = begins[i]; l < begins[i + 1]; l++) right[support[l]] += g[at++] * force;
      }
    }
    if (!cones.factor(pressing)) return false;
    cones.solve(right, found);
    next.fill(0);
    for (const i of pressing) {
      table.along(i, found, slips);
      for (let j = 0; j < sizes[i]; j++) slips[j] += apart[rows[3 * i + j]];
      for (let r = 0; r < sizes[i]; r++) {
        let force = anchored[rows[3 * i + r]];
        for (let j = 0; j < sizes[i]; j++) force -= stiffness[9 * i + 3 * r + j] * slips[j];
        if (!Number.isFinite(force)) return false;
        next[rows[3 * i + r]] = force;
      }
    }
    p.set(next);
    return true;
  }

  /** D of a contact and `anchored`. @returns false where it is open */
  private linearize(i: number, ties: number): boolean {
    const {anchored, cones} = this;
    const {p, friction, anchor, softness, give: yielding, table, stiffness: d} = cones;
    const {rows, sizes, w} = table;
    const [k, normal, first, second, at] = [sizes[i], rows[3 * i], rows[3 * i + 1], rows[3 * i + 2], 9 * i];
    const own = w[at];
    const u = cones.slip(i);
    if (p[normal] - (u[0] - ties) / own <= 0) return false;
    for (let j = 0; j < 9; j++) d[at + j] = 0;
    const stiff = 1 / (softness * own + yielding[normal]);
    d[at] = stiff;
    anchored[normal] = anchor[normal] * softness * own * stiff;
    if (k === 1) return true;
    const give = table.tangentialGive(i);
    const mu = friction[normal];
    const [p1, p2] = [p[first], k === 3 ? p[second] : 0];
    const [x, z] = [p1 - u[1] / give, k === 3 ? p2 - u[2] / give : 0];
    const size = Math.sqrt(x * x + z * z);
    const room = mu * p[normal];
    if (mu > 0 && size <= room) {
      const held = 1 / (softness * give);
      for (let j = 1; j < k; j++) {
        d[at + 4 * j] = held;
        anchored[rows[3 * i + j]] = anchor[rows[3 * i + j]];
      }
      return true;
    }
    for (let j = 1; j < k; j++) anchored[rows[3 * i + j]] = 0;
    if (mu === 0 || size === 0) return true;
    // p_T⁺ = (μ p_N⁺) t + the change of direction, κρ/(1 − κ) of the slip across t.
    const [t1, t2] = [x / size, z / size];
    const kappa = room / size;
    const rest = 1 - kappa * (1 - softness);
    const turning = kappa / (rest * give);
    d[at + 3] = mu * stiff * t1;
    // The share of p_N⁺ that does not depend on u.
    anchored[first] = mu * anchored[normal] * t1;
    if (k === 2) return true;
    // Across t: what p_T lacks of lying along it, and the slip at which that turns.
    const off = t1 * p2 - t2 * p1;
    const slipping = t1 * u[2] - t2 * u[1] - softness * give * (off + t2 * anchor[first] - t1 * anchor[second]);
    // Linear in u: p_s⁺ = p_s − r_s/(1 − κ(1 − σ)) − turning (u_s⁺ − u_s), with r_s = p_s.
    const base = off - off / rest + turning * slipping;
    d[at + 6] = mu * stiff * t2;
    anchored[first] -= t2 * base;
    anchored[second] = mu * anchored[normal] * t2 + t1 * base;
    d[at + 4] = turning * t2 * t2;
    d[at + 8] = turning * t1 * t1;
    d[at + 5] = d[at + 7] = -turning * t1 * t2;
    return true;
  }
}
