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
 * Runs of the interior-point method, the next where one fails: the share of what residuals make of them below which products of impulses and slacks do
 * not fall, and that of the approach which slacks begin with. Of 104 steps of piles the first two solved all, of forty jammed heaps of 64 balls 35,
 * and all four 37.
 */
const runs = [
  [0.1, 1],
  [10, 1],
  [1, 1],
  [0.1, 0.1],
] as const;
/** Iterations of a run at most, and the share of the speed below which Newton steps are tried, again where a third of the error is left. */
const [mostInterior, near, nearer] = [80, 1e-5, 1 / 3];
/** Newton steps at most; so many that bring nothing, from the last impulses and from elsewhere. */
const [mostSteps, firstSteps, steps] = [12, 5, 4];
/** Contacts that part by less than this share of the speed press in the first of all. */
const ties = 1e-9;
/** An error so many times the speed is no way to a solution. */
const lost = 100;
/** Of contacts in single Newton steps. A step is off by rounding over it: with 1e-7 laws stayed off by 1e-9 m/s. */
const softness = 1e-5;
/**
 * Rounds of the proximal point method: where bodies are wedged, laws may tell impulses only by gaps that are nearly closed, and a round moves impulses
 * by such a gap's velocity over the softness. So contacts become firmer, down to `firmest`, while two Newton steps are enough for a round, and softer
 * where eight are not. On 104 steps of piles 6 Newton steps left one unsolved, and firmer contacts after each round took a tenth more steps.
 */
const [firmer, firmest, softest, mostRounds, fewSteps, mostInRound] = [0.1, 1e-8, 1e-2, 30, 2, 8];
/** A round ends at this share of the error, or at rounding: this share of the speed over the softness. */
const [roundEnds, rounding] = [0.2, 4e-16];
/** Single steps follow a round where a third of the error is left, below this share of the speed, or after this many rounds. */
const [fine, rhythm] = [5e-9, 3];

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
    for (const [caution, share] of runs) {
      const error = this.fromInterior(caution, share * cones.approach, speed, tolerance, enough);
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
  private fromInterior(caution: number, begin: number, speed: number, tolerance: number, enough: number): number {
    const {cones, interior} = this;
    interior.begin(begin, caution);
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

  /** Newton steps, then rounds of the proximal point method (Rockafellar 1976). @returns the error that is left, of the impulses in p */
  private settle(from: number, speed: number, tolerance: number, enough: number): number {
    const {cones} = this;
    let error = this.polish(from, tolerance, enough, steps);
    let [share, judged, waiting] = [firmer * softness, error, false];
    for (let round = 0; round < mostRounds && error > enough; round++) {
      const tries = this.round(share, Math.max(roundEnds * error, (rounding * speed) / share), lost * speed);
      if (tries === undefined) {
        share /= firmer;
        waiting = true;
        if (share > softest) break;
        continue;
      }
      if (waiting) waiting = false;
      else if (tries <= fewSteps) share = Math.max(firmest, share * firmer);
      error = cones.error();
      if (error <= nearer * judged || error <= fine * speed || round % rhythm === rhythm - 1)
        judged = error = this.polish(error, tolerance, enough, 1);
    }
    return error;
  }

  /** @returns the Newton steps it took; undefined where they do not come to `end`, and p is as it was */
  private round(share: number, end: number, most: number): number | undefined {
    const {cones, newton} = this;
    cones.anchor.set(cones.p);
    cones.softness = share;
    let off = 0;
    let tries = 0;
    while (tries < mostInRound && off <= most && newton.step()) {
      tries++;
      off = cones.error();
      if (off <= end) break;
    }
    cones.softness = 0;
    if (tries > 0 && off <= end) return tries;
    cones.p.set(cones.anchor);
    cones.accelerate();
    return undefined;
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
