/**
 * Steps of the semismooth Newton method of Alart & Curnier (1991) for contacts with Coulomb's friction: what presses is held, what slips goes on slipping
 * that way. Contacts yield a little to what their impulses differ by from an anchor, so that redundant ones make no matrix singular; with the present
 * impulses as anchor every step is one of the proximal point method, too. Near a solution they give the digits, from elsewhere they may lead nowhere.
 */
import {tangentialGive, type ConeContacts} from './cone-contacts.js';
import type {Contact} from './cone-matrix.js';

export class AlartCurnier {
  private readonly right: Float64Array;
  private readonly found: Float64Array;
  private readonly anchored: Float64Array;
  private readonly next: Float64Array;
  private readonly d = new Float64Array(9);
  private readonly slips = new Float64Array(3);

  constructor(private readonly cones: ConeContacts) {
    const {n} = cones.structure;
    [this.right, this.found] = [new Float64Array(n), new Float64Array(n)];
    [this.anchored, this.next] = [new Float64Array(cones.p.length), new Float64Array(cones.p.length)];
  }

  /**
   * One step of p, with the softness of the contacts, not zero, and their anchor; v is left as it was.
   * @param ties contacts that part by no more than this velocity press: of bodies that fall together all at once, not one after the other
   * @returns false where there is none
   */
  step(ties = 0): boolean {
    const {cones, right, found, anchored, next, slips} = this;
    const {contacts, apart, p} = cones;
    right.set(cones.b);
    const whole = cones.factor(contact => {
      const {rows, support, g} = contact;
      const [k, s] = [rows.length, support.length];
      const d = this.stiffness(contact, ties);
      if (d === undefined) return undefined;
      for (let i = 0; i < k; i++) {
        let force = anchored[rows[i]];
        for (let j = 0; j < k; j++) force -= d[i * k + j] * apart[rows[j]];
        for (let l = 0; l < s; l++) right[support[l]] += g[i * s + l] * force;
      }
      return d;
    });
    if (!whole) return false;
    cones.solve(right, found);
    next.fill(0);
    for (const contact of contacts) {
      const {rows, support, g} = contact;
      const [k, s] = [rows.length, support.length];
      const d = this.stiffness(contact, ties);
      if (d === undefined) continue;
      for (let i = 0; i < k; i++) {
        let u = apart[rows[i]];
        for (let l = 0; l < s; l++) u += g[i * s + l] * found[support[l]];
        slips[i] = u;
      }
      for (let i = 0; i < k; i++) {
        let force = anchored[rows[i]];
        for (let j = 0; j < k; j++) force -= d[i * k + j] * slips[j];
        next[rows[i]] = force;
      }
    }
    if (!next.every(Number.isFinite)) return false;
    p.set(next);
    return true;
  }

  /** D of a contact, and in `anchored` what p is at u = 0, by p⁺ = anchored − D u⁺; undefined where it is open. */
  private stiffness(contact: Contact, ties: number): Float64Array | undefined {
    const {d, anchored, cones} = this;
    const {p, friction, anchor, softness, give: yielding} = cones;
    const {rows, w} = contact;
    const k = rows.length;
    const u = cones.slip(contact);
    const normal = rows[0];
    if (p[normal] - (u[0] - ties) / w[0] <= 0) return undefined;
    d.fill(0);
    const stiff = 1 / (softness * w[0] + yielding);
    d[0] = stiff;
    anchored[normal] = anchor[normal] * softness * w[0] * stiff;
    if (k === 1) return d;
    const give = tangentialGive(contact);
    const mu = friction[normal];
    const [p1, p2] = [p[rows[1]], k === 3 ? p[rows[2]] : 0];
    const [x, z] = [p1 - u[1] / give, k === 3 ? p2 - u[2] / give : 0];
    const size = Math.sqrt(x * x + z * z);
    const room = mu * p[normal];
    if (mu > 0 && size <= room) {
      const held = 1 / (softness * give);
      for (let i = 1; i < k; i++) {
        d[i * k + i] = held;
        anchored[rows[i]] = anchor[rows[i]];
      }
      return d;
    }
    for (let i = 1; i < k; i++) anchored[rows[i]] = 0;
    if (mu === 0 || size === 0) return d;
    // p_T⁺ = (μ p_N⁺) t + the change of direction, κρ/(1 − κ) of the slip across t.
    const t = [x / size, z / size];
    const kappa = room / size;
    const rest = 1 - kappa * (1 - softness);
    const turning = kappa / (rest * give);
    const across = k === 3 ? [-t[1], t[0]] : [0, 0];
    // What p_T lacks of lying along t, and the slip at which that turns.
    const off = across[0] * p1 + across[1] * p2;
    const anchoring = k === 3 ? softness * give * (off - across[0] * anchor[rows[1]] - across[1] * anchor[rows[2]]) : 0;
    const slipping = k === 3 ? across[0] * u[1] + across[1] * u[2] - anchoring : 0;
    // Linear in u: p_s⁺ = p_s − r_s/(1 − κ(1 − σ)) − turning (u_s⁺ − u_s), with r_s = p_s.
    const base = off - off / rest + turning * slipping;
    for (let i = 1; i < k; i++) {
      d[i * k] = mu * stiff * t[i - 1];
      // The share of p_N⁺ that does not depend on u.
      anchored[rows[i]] = mu * anchored[normal] * t[i - 1] + across[i - 1] * base;
      for (let j = 1; j < k; j++) d[i * k + j] = turning * across[i - 1] * across[j - 1];
    }
    return d;
  }
}
