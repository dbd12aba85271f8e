/**
 * Impulses of many contacts with Coulomb's friction: A v = b + Gᵀp with, of every contact, u = G v + c,
 *
 *     0 ≤ p_N ⟂ u_N ≥ 0,     p_T = projection of p_T − ρ u_T on the disc of radius μ p_N.
 *
 * Newton steps (alart-curnier.ts) from the last impulses find those of bodies that lie or roll. Otherwise iterations with one matrix (cone-splitting.ts) come
 * near the solution, with long proximal steps (proximal-contacts.ts) for impulses that laws hardly tell apart and that have far to go, and Newton steps from
 * there give the digits. Wedged bodies for which these take too long are left to an interior-point method (cone-interior.ts).
 */
import {AlartCurnier} from './alart-curnier.js';
import {ConeContacts, type ConeStructure} from './cone-contacts.js';
import {ConeInterior} from './cone-interior.js';
import {ConeSplitting} from './cone-splitting.js';
import {ProximalContacts} from './proximal-contacts.js';

/** Iterations of the interior-point method at most, and the share of the speed that is to be left before Newton's method is tried. */
const [mostInterior, near] = [80, 1e-3];
/**
 * Iterations between looks at what is left; so many looks before the interior-point method, and after it. A hundred balls, 130 steps, took 38 s with
 * as few as 8 before it and up to 101 with fewer; a thousand, 60 steps, 118 s with 30.
 */
const [iterations, firstLooks, mostLooks] = [50, 30, 150];
/** Newton steps; so many may lead uphill, until contacts have found on which side of their borders they are: at first, and after iterations; */
const mostSteps = 12;
const [hasty, uphill] = [5, 10];
/** contacts that part by less than this share of the speed press in the first of all; */
const ties = 1e-9;
/** not twice in turn by more than this factor. */
const far = 300;
/** Newton's method is tried again when this share of the error of its last try is left. */
const nearer = 1 / 3;
/** Impulses that go on in one direction, so far that a look leaves this share of the error, */
const [steady, left] = [0.98, 0.7];
/** at errors below this share of the velocity, */
const small = 1e-4;
/** go further as contacts that yield by this share. */
const softness = 1e-6;
/** Extrapolated by so many looks at most; what is nearer to the border of its cone than this share slides along it. */
const [level, still] = [0.98, 1e-3];
const [longest, slack] = [1e8, 1e-9];

export class ConeComplementarity {
  readonly cones: ConeContacts;
  private readonly newton: AlartCurnier;
  private readonly interior: ConeInterior;
  private readonly splitting: ConeSplitting;
  private readonly proximal: ProximalContacts;
  private readonly best: Float64Array;
  private readonly start: Float64Array;
  private readonly moved: Float64Array;
  private readonly found: Float64Array;
  /** What a look moves impulses by, as a share of what the last one did in that direction. */
  private ratio = 0;

  /** Undefined where A couples too many unknowns. */
  static of(structure: ConeStructure): ConeComplementarity | undefined {
    const cones = ConeContacts.of(structure);
    return cones === undefined ? undefined : new ConeComplementarity(cones);
  }

  private constructor(cones: ConeContacts) {
    this.cones = cones;
    this.newton = new AlartCurnier(cones);
    this.interior = new ConeInterior(cones);
    this.splitting = new ConeSplitting(cones);
    this.proximal = new ProximalContacts(cones);
    [this.best, this.start, this.moved, this.found] = [0, 1, 2, 3].map(() => new Float64Array(cones.p.length));
  }

  /**
   * From the impulses in p.
   * @param speed of contacts, what errors are shares of
   * @param tolerance what Newton's steps go on for
   * @param enough what is taken
   * @returns how far the laws are off, a velocity
   */
  solve(speed: number, tolerance: number, enough: number): number {
    const {cones} = this;
    cones.factorizations = 0;
    cones.project();
    let error = this.polish(cones.error(), tolerance, enough, hasty, ties * speed);
    if (error > enough) error = this.iterate(error, speed, tolerance, enough, firstLooks);
    if (error > enough && cones.approach > 0) error = this.fromInterior(tolerance, enough);
    if (error > enough) error = this.iterate(error, speed, tolerance, enough, mostLooks);
    return error;
  }

  /** Iterations with one matrix, with Newton steps where they have come nearer. @returns the error that is left */
  private iterate(from: number, speed: number, tolerance: number, enough: number, looks: number): number {
    const {cones, splitting, start, moved, found} = this;
    const {p} = cones;
    splitting.begin();
    let error = from;
    let tried = error;
    moved.fill(0);
    let strides = 0;
    let least = Infinity;
    for (let look = 0; look < looks && error > enough; look++) {
      const before = error;
      start.set(p);
      if (!splitting.run(iterations)) return error;
      error = cones.error();
      const turn = this.turn();
      if (error < least) {
        least = error;
        found.set(p);
      }
      if (turn > steady && error > left * before && error < small * speed) {
        if (strides++ % 2 === 0)
          this.extrapolate(
            error > level * before ? longest : Math.min(longest, this.ratio / Math.max(1e-9, 1 - this.ratio)),
          );
        else this.stride(error);
        error = cones.error();
        moved.fill(0);
      } else if (turn < 0.5 && error > left * before && look > 0) splitting.slower();
      if (error <= nearer * tried) {
        tried = error;
        error = this.polish(error, tolerance, enough);
      }
    }
    if (error > least) {
      p.set(found);
      error = cones.error();
    }
    return error <= enough ? this.polish(error, tolerance, enough) : error;
  }

  /** Newton steps from where the interior-point method comes to. @returns the error that is left */
  private fromInterior(tolerance: number, enough: number): number {
    const {cones, interior, found} = this;
    interior.begin(cones.approach);
    let [tried, least] = [near * cones.approach, Infinity];
    for (let k = 0; k < mostInterior && interior.step(); k++) {
      cones.project();
      let error = cones.error();
      if (error <= tried) {
        tried = error / 10;
        error = this.polish(error, tolerance, enough);
      }
      if (error < least) {
        least = error;
        found.set(cones.p);
      }
      if (least <= enough) break;
    }
    if (least < Infinity) cones.p.set(found);
    return cones.error();
  }

  /** The cosine between what impulses have moved by and what they moved by before. */
  private turn(): number {
    const {cones, start, moved} = this;
    let [product, now, before] = [0, 0, 0];
    for (let i = 0; i < start.length; i++) {
      const d = cones.p[i] - start[i];
      product += d * moved[i];
      now += d * d;
      before += moved[i] ** 2;
      moved[i] = d;
    }
    this.ratio = before === 0 ? 0 : product / before;
    return product === 0 ? 0 : product / Math.sqrt(now * before);
  }

  /** As far as impulses have moved in the last look, times what it takes to the next border of a cone. */
  private extrapolate(times: number): void {
    const {cones, moved} = this;
    const {p, friction} = cones;
    let most = times;
    const least = moved.reduce((sum, d) => Math.max(sum, Math.abs(d)), 0) * still;
    for (const {rows} of cones.contacts) {
      const normal = rows[0];
      const push = p[normal];
      if (!(push > 0)) continue;
      let far = 0;
      for (const row of rows) far = Math.max(far, Math.abs(moved[row]));
      if (far < least) continue;
      if (moved[normal] < 0) most = Math.min(most, push / -moved[normal]);
      if (rows.length === 1) continue;
      // |p_T + t d_T|² = μ² (p_N + t d_N)² of what sticks.
      const mu = friction[normal];
      let [a, b, c] = [-((mu * moved[normal]) ** 2), -mu * mu * push * moved[normal], -((mu * push) ** 2)];
      for (let i = 1; i < rows.length; i++) {
        a += moved[rows[i]] ** 2;
        b += moved[rows[i]] * p[rows[i]];
        c += p[rows[i]] ** 2;
      }
      const inside = b * b - a * c;
      if (c >= -slack * (mu * push) ** 2 || inside <= 0) continue;
      const q = -(b + (b >= 0 ? 1 : -1) * Math.sqrt(inside));
      for (const root of [q / a, c / q]) if (root > 0) most = Math.min(most, root);
    }
    for (let i = 0; i < p.length; i++) p[i] += most * moved[i];
    cones.project();
  }

  private stride(error: number): void {
    const {cones, proximal, start} = this;
    start.set(cones.p);
    if (!proximal.round(softness, error / 100)) cones.p.set(start);
  }

  /** Newton steps; p is left as it was, where they bring nothing. @returns the error that is left */
  private polish(from: number, tolerance: number, enough: number, patience = uphill, parting = 0): number {
    const {cones, newton, best} = this;
    if (from <= tolerance) return from;
    best.set(cones.p);
    let least = from;
    let higher = 0;
    for (let tries = 0; tries < mostSteps; tries++) {
      if (!newton.step(tries === 0 ? parting : 0)) break;
      const error = cones.error();
      const halved = error <= least / 2;
      if (error < least) {
        least = error;
        best.set(cones.p);
      }
      if (least <= tolerance || (least <= enough && !halved)) break;
      higher = error > far * from ? higher + 1 : 0;
      if (higher > 1 || (tries >= patience && least === from)) break;
    }
    cones.p.set(best);
    return cones.error();
  }
}
