/**
 * One step of the proximal point method (Rockafellar 1976) for contacts with De Saxcé's correction held: a convex problem, strictly so as contacts yield to
 * what their impulses differ by from the present ones, by semismooth Newton steps with a line search (Castro et al., IEEE Trans. Robot. 39, 2023), which
 * find its solution from anywhere. Impulses of wedged bodies that the laws hardly tell go a long way in one.
 */
import type {Factor} from '../linear/index.js';
import {tangentialGive, type ConeContacts, type Contact} from './cone-contacts.js';
import {ontoCone} from './cone-projection.js';
import {tangential} from './cone-splitting.js';

const mostSteps = 50;
/** Steps that do not halve what is left, at rounding. */
const idleSteps = 4;
const [mostTrials, flat] = [30, 0.1];

export class ProximalContacts {
  private readonly factor: Factor;
  private readonly anchor: Float64Array;
  private readonly shift: Float64Array;
  private readonly slips: Float64Array;
  private readonly turn: Float64Array;
  private readonly forces: Float64Array;
  private readonly gradient: Float64Array;
  private readonly step: Float64Array;
  private readonly product: Float64Array;
  private readonly d = new Float64Array(9);
  private readonly x = new Float64Array(3);

  constructor(private readonly cones: ConeContacts) {
    const {structure, p} = cones;
    this.factor = structure.analysis.createFactor();
    [this.anchor, this.shift, this.slips, this.turn, this.forces] = [0, 1, 2, 3, 4].map(
      () => new Float64Array(p.length),
    );
    [this.gradient, this.step, this.product] = [0, 1, 2].map(() => new Float64Array(structure.n));
  }

  /**
   * From p and v, which it replaces.
   * @param softness the share of the velocity that impulses give themselves by which contacts yield
   * @returns false where its solution is not found to the tolerance, of velocities
   */
  round(softness: number, tolerance: number): boolean {
    const {cones, factor, anchor, shift, slips, turn, forces, gradient, step, product} = this;
    const {contacts, v, p, b, apart, friction} = cones;
    anchor.set(p);
    const slipping = (): void => {
      cones.along(v, slips);
      for (let i = 0; i < slips.length; i++) slips[i] += apart[i];
    };
    slipping();
    for (const {rows} of contacts) shift[rows[0]] = friction[rows[0]] * tangential(slips, rows);
    let [idle, last] = [0, Infinity];
    for (let tries = 0; tries < mostSteps; tries++) {
      slipping();
      this.press(softness, 0);
      cones.multiply(v, product);
      for (let i = 0; i < gradient.length; i++) gradient[i] = product[i] - b[i];
      cones.push(forces, -1, gradient);
      const off = cones.largestMove(gradient, 0);
      idle = off > last / 2 ? idle + 1 : 0;
      last = off;
      if (off <= tolerance || (idle === idleSteps && off <= 100 * tolerance)) {
        p.set(forces);
        return true;
      }
      if (!cones.factor(factor, contact => this.stiffness(contact, softness))) return false;
      for (let i = 0; i < gradient.length; i++) gradient[i] = -gradient[i];
      factor.solve(gradient, step);
      for (let i = 0; i < gradient.length; i++) gradient[i] = product[i] - b[i];
      cones.along(step, turn);
      cones.multiply(step, product);
      const share = this.search(softness);
      for (let i = 0; i < v.length; i++) v[i] += share * step[i];
    }
    return false;
  }

  /** Impulses at v + t step, in `forces`. */
  private press(softness: number, t: number): void {
    const {cones, forces, x} = this;
    for (const contact of cones.contacts) {
      this.reach(contact, softness, t);
      ontoCone(x, contact.rows.length, cones.friction[contact.rows[0]]);
      for (let i = 0; i < contact.rows.length; i++) forces[contact.rows[i]] = x[i];
    }
  }

  /** What is projected, in `x`. */
  private reach(contact: Contact, softness: number, t: number): void {
    const {anchor, shift, slips, turn, x, cones} = this;
    const {rows} = contact;
    const give = softness * largestGive(contact);
    for (let i = 0; i < rows.length; i++) {
      const slip = slips[rows[i]] + (t === 0 ? 0 : t * turn[rows[i]]) + (i === 0 ? shift[rows[0]] : 0);
      x[i] = anchor[rows[i]] - slip / give;
    }
    x[0] /= 1 + cones.give / give;
  }

  /** −∂p/∂u */
  private stiffness(contact: Contact, softness: number): Float64Array | undefined {
    const {d, x, cones} = this;
    const k = contact.rows.length;
    const mu = cones.friction[contact.rows[0]];
    const stiff = 1 / (softness * largestGive(contact));
    this.reach(contact, softness, 0);
    d.fill(0);
    if (k === 1) {
      if (!(x[0] > 0)) return undefined;
      d[0] = stiff / (1 + cones.give * stiff);
      return d;
    }
    const [x1, x2] = [x[1], k === 3 ? x[2] : 0];
    const size = Math.sqrt(x1 * x1 + x2 * x2);
    const border = ontoCone(x, k, mu);
    if (!(x[0] > 0)) return undefined;
    if (!border) {
      for (let i = 0; i < k; i++) d[i * (k + 1)] = stiff;
      return d;
    }
    const t = [x1 / size, x2 / size];
    const [along, across] = [(mu * mu) / (1 + mu * mu), (mu * x[0]) / size];
    d[0] = stiff / (1 + mu * mu);
    for (let i = 1; i < k; i++) {
      d[i * k] = d[i] = (stiff * mu * t[i - 1]) / (1 + mu * mu);
      for (let j = 1; j < k; j++)
        d[i * k + j] = stiff * ((along - across) * t[i - 1] * t[j - 1] + (i === j ? across : 0));
    }
    return d;
  }

  /** The share of the step at which what is minimized is flat, or all of it; `gradient` is A v − b, `product` A step. */
  private search(softness: number): number {
    const {turn, forces, gradient, step, product} = this;
    const slope = (t: number): number => {
      this.press(softness, t);
      let sum = 0;
      for (let i = 0; i < step.length; i++) sum += step[i] * (gradient[i] + t * product[i]);
      for (let i = 0; i < turn.length; i++) sum -= turn[i] * forces[i];
      return sum;
    };
    let [low, high] = [0, 1];
    let [below, above] = [slope(0), slope(1)];
    const enough = flat * Math.abs(below);
    if (!(above > enough)) return 1;
    let t = 1;
    for (let k = 0; k < mostTrials; k++) {
      t = low + (high - low) * Math.min(0.9, Math.max(0.1, below / (below - above)));
      const now = slope(t);
      if (Math.abs(now) <= enough) break;
      if (now > 0) [high, above] = [t, now];
      else [low, below] = [t, now];
    }
    return t;
  }
}

function largestGive(contact: Contact): number {
  return contact.rows.length === 1 ? contact.w[0] : Math.max(contact.w[0], tangentialGive(contact));
}
