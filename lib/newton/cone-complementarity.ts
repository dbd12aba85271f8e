/**
 * Impulses of many contacts with Coulomb's friction: A v = b + Gᵀp with, for every contact, u = G v + c,
 *
 *     0 ≤ p_N ⟂ u_N ≥ 0,     p_T = projection of p_T − ρ u_T on the disc of radius μ p_N.
 *
 * Newton steps (alart-curnier.ts) from the last impulses suffice for bodies that lie or roll. Otherwise an interior-point method (cone-interior.ts)
 * comes near a solution from anywhere, and Newton steps from there give the digits.
 */
import {AlartCurnier} from './alart-curnier.js';
import {ConeContacts, type ConeStructure} from './cone-contacts.js';
import {ConeInterior} from './cone-interior.js';

/**
 * How far products of impulses and slacks stay behind residuals, in the first run of the interior-point method and in a second one, which takes longer and
 * fails less: of 79 steps of a pile of a hundred balls 78 were solved in 19 iterations each with 0.1, and all in 26 with 10.
 */
const cautions = [0.1, 10];
/** Iterations of a run at most, and the share of the speed below which Newton steps are tried, again where half of the error is left. */
const [mostInterior, near, nearer] = [80, 1e-5, 1 / 3];
/** Newton steps at most, as long as they bring nothing, and as long as they double the digits; */
const [firstSteps, steps, mostSteps] = [5, 4, 12];
/** contacts that part by less than this share of the speed press in the first of all; */
const ties = 1e-9;
/** an error so many times the speed is no way to a solution. */
const lost = 100;
const TRACE = typeof process !== 'undefined' && process.env.TRACE !== undefined;
const [firmer, firmest, softest, mostRounds, SLACK] = [1e-1, 1e-8, 1e-2, 30, 0.2];
/** The softness of all other steps: a step is off by rounding over it. With 1e-7 laws stayed off by 1e-9 m/s. */
const softness = 1e-5;

export class ConeComplementarity {
  readonly cones: ConeContacts;
  private readonly newton: AlartCurnier;
  private readonly interior: ConeInterior;
  private readonly best: Float64Array;
  private readonly found: Float64Array;

  /** Undefined where A couples too many unknowns. */
  static of(structure: ConeStructure): ConeComplementarity | undefined {
    const cones = ConeContacts.of(structure);
    return cones === undefined ? undefined : new ConeComplementarity(cones);
  }

  private constructor(cones: ConeContacts) {
    this.cones = cones;
    this.newton = new AlartCurnier(cones);
    this.interior = new ConeInterior(cones);
    [this.best, this.found] = [new Float64Array(cones.p.length), new Float64Array(cones.p.length)];
  }

  /**
   * From the impulses in p.
   * @param speed the velocity of contacts that errors are relative to
   * @param tolerance Newton steps go on to this error while they double the digits
   * @param enough the error that is accepted
   * @returns the error of the laws that is left, a velocity
   */
  solve(speed: number, tolerance: number, enough: number): number {
    const {cones, found} = this;
    cones.factorizations = 0;
    cones.project();
    let least = this.polish(cones.error(), tolerance, enough, firstSteps, ties * speed);
    if (least <= enough || !(cones.approach > 0)) return least;
    found.set(cones.p);
    for (const caution of cautions) {
      const error = this.fromInterior(caution, speed, tolerance, enough);
      if (error < least) {
        least = error;
        found.set(cones.p);
      }
      if (least <= enough) break;
    }
    cones.p.set(found);
    return cones.error();
  }

  /** @returns the error that is left, of the impulses in p */
  private fromInterior(caution: number, speed: number, tolerance: number, enough: number): number {
    const {cones, interior} = this;
    interior.begin(cones.approach, caution);
    let tried = near * cones.approach;
    let error = Infinity;
    for (let k = 0; k < mostInterior && interior.step(); k++) {
      cones.project();
      error = cones.error();
      if (error > tried) continue;
      tried = nearer * error;
      error = this.settle(error, speed, tolerance, enough);
      if (error <= enough) return error;
    }
    return this.settle(error, speed, tolerance, enough);
  }

  /**
   * Rounds of the proximal point method (Rockafellar 1976), each by Newton steps to its end, firmer and firmer while these find it.
   * @returns the error that is left, of the impulses in p
   */
  private settle(from: number, speed: number, tolerance: number, enough: number): number {
    const {cones, newton} = this;
    const {p, anchor} = cones;
    let error = this.polish(from, tolerance, enough, steps);
    let [share, judged] = [firmer * softness, error];
    for (let round = 0; round < mostRounds && error > enough; round++) {
      anchor.set(p);
      cones.softness = share;
      let [off, tries] = [Infinity, 0];
      const slack = Math.max(SLACK * error, (4e-16 * speed) / share);
      for (; tries < mostSteps && newton.step(); tries++) {
        off = cones.error();
        if (off <= slack || off > lost * speed) break;
      }
      cones.softness = 0;
      if (TRACE) console.log('   round', share.toExponential(0), tries, off.toExponential(1), cones.error().toExponential(1));
      if (off > slack) {
        p.set(anchor);
        cones.accelerate();
        share *= 10;
        if (share > softest) break;
        continue;
      }
      if (tries < 2) share = Math.max(firmest, share * firmer);
      error = cones.error();
      if (error < judged / 3 || error < 5e-9 * speed || round % 3 === 2) judged = error = this.polish(error, tolerance, enough, 1);
    }
    return cones.error();
  }

  /** Newton steps; p is left as it was where they bring nothing. @returns the error that is left */
  private polish(from: number, tolerance: number, enough: number, patience: number, parting = 0): number {
    const {cones, newton, best} = this;
    if (from <= tolerance) return from;
    best.set(cones.p);
    let least = from;
    for (let tries = 0; tries < mostSteps; tries++) {
      cones.softness = softness;
      cones.anchor.set(cones.p);
      const moved = newton.step(tries === 0 ? parting : 0);
      cones.softness = 0;
      if (!moved) break;
      const error = cones.error();
      const halved = error <= least / 2;
      if (error < least) {
        least = error;
        best.set(cones.p);
      }
      if (least <= tolerance || (!halved && (least <= enough || tries >= patience))) break;
    }
    cones.p.set(best);
    return cones.error();
  }
}
