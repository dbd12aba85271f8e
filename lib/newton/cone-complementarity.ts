/**
 * Impulses of many contacts with Coulomb's friction: A v = b + Gᵀp with, for every contact, u = G v + c,
 *
 *     0 ≤ p_N ⟂ u_N ≥ 0,     p_T = projection of p_T − ρ u_T on the disc of radius μ p_N.
 *
 * Newton steps (alart-curnier.ts) from the last impulses suffice for bodies that lie or roll. Otherwise an
 * interior-point method (cone-interior.ts) comes near a solution from anywhere, sweeps over the contacts
 * (cone-sweeps.ts) come nearer where it goes slowly, and Newton steps from there give the digits.
 */
import {AlartCurnier} from './alart-curnier.js';
import {ConeContacts} from './cone-contacts.js';
import type {ConeStructure} from './contact-table.js';
import {ConeInterior, type InteriorRun} from './cone-interior.js';
import {ConeSweeps} from './cone-sweeps.js';

/**
 * Runs of the interior-point method, the next where one fails. Of 53 steps of piles the first solved all but four, and
 * of forty jammed heaps of 64 balls all together 39. Which of them solves a hard step is chance; the last three brought
 * one step of a pile of a thousand that the others did not.
 */
const runs: readonly InteriorRun[] = [
  {caution: 0.1, begin: 1, proximal: true},
  {caution: 10, begin: 1, proximal: false},
  {caution: 10, begin: 1, proximal: true},
  {caution: 0.1, begin: 1, proximal: false},
  {caution: 0.1, begin: 0.1, proximal: false},
  {caution: 1, begin: 1, proximal: true},
  {caution: 0.1, begin: 10, proximal: false},
  {caution: 10, begin: 0.1, proximal: true},
];
/**
 * The share of the approach below which Newton steps and rounds are tried, again where a third of the error is left,
 * and how often before smaller gaps count as closed.
 */
const [near, nearer, mostTries] = [1e-5, 1 / 3, 2];
/**
 * Sweeps after the interior-point method at most, until an error of this share of the approach, and so many in which
 * the error has to be halved. On twelve hard steps of a pile of a thousand, 80 iterations without sweeps took 5635
 * matrices, and 40 with sweeps 3684; a sweep takes a hundredth of a matrix.
 */
const [mostSweeps, sweptTo, judgedAfter, atOnce] = [4000, 1e-7, 2000, 100];
/** Newton steps at most; so many that bring nothing, from the last impulses and from elsewhere. */
const [mostSteps, firstSteps, steps] = [12, 5, 4];
/** Contacts that part by less than this share of the speed press in the first of all. */
const ties = 1e-9;
/**
 * Wedged bodies may have impulses that are told apart by the smallest gaps alone, which come of rounding and of the
 * curvature of bodies that roll. Gaps that close at less than the accepted error count as closed; where no impulses are
 * found, or only excessive ones, those that close at these shares of the approach, and at last, for all runs anew, of
 * the last one.
 */
const closed = [[1e-6, 1e-5, 1e-4], [1e-3]] as const;
/**
 * Impulses are excessive that give more than this many times what all contacts meet with: there are others where
 * nothing but a tiny gap asks for them.
 */
const excessive = 10;
/** An error so many times the speed is no way to a solution. */
const lost = 100;
/** Softness of contacts in single Newton steps. Their error is rounding over it: 1e-7 left laws off by 1e-9 m/s. */
const softness = 1e-5;
/**
 * Rounds of the proximal point method: where bodies are wedged, laws may tell impulses only by gaps that are nearly
 * closed, and a round moves impulses by such a gap's velocity over the softness. So contacts become firmer, down to
 * `firmest`, while two Newton steps are enough for a round, and softer where eight are not. On 104 steps of piles 6
 * Newton steps left one unsolved, and firmer contacts after each round took a tenth more steps.
 */
const [firmer, firmest, softest, fewSteps, mostInRound] = [0.1, 1e-8, 1e-2, 2, 8];
/**
 * The softness of the first round over the error's share of the approach, as firmer rounds failed: six hard steps of a
 * pile took 1182 matrices in place of the 1885 that they took when all rounds began with the softness of single steps.
 */
const softer = 30;
/**
 * An error below a share of the speed that stays the same to a hundredth, so often in turn that single steps follow
 * rounds, is of a gap that asks for impulses without bound: more rounds would not end it, closing the gap does. Ten
 * hard steps of a pile of a thousand took 1428 matrices in place of 2073.
 */
const [stuck, same, mostStuck] = [1e-7, 0.01, 2];
/**
 * So many Newton steps have to halve the error, or no more rounds follow: forty jammed heaps took 9015 matrices in
 * place of 10,662.
 */
const slow = 60;
/**
 * Iterations of the interior-point method, `most` Newton steps of all rounds, and `above` of them after which a round
 * is given up that is no nearer than where it began, of the first run and of others. Of 53 steps of piles two needed
 * more than 90 with it, and jammed heaps need up to 250. Five steps of a pile of a thousand took 871 matrices in place
 * of 1377 by giving up; of forty jammed heaps two more were not solved by giving up always. With 40 iterations in all
 * runs 35 of them were solved, with 60 in the later ones 38, with 80 39.
 */
const [first, others] = [
  {interior: 40, most: 90, above: 3},
  {interior: 80, most: 250, above: mostInRound},
] as const;
/** A round ends at this share of the error, or at rounding: this share of the speed over the softness. */
const [roundEnds, rounding] = [0.2, 4e-16];
/**
 * Single steps follow a round where a third of the error is left, below this share of the speed, or after this many
 * rounds.
 */
const [fine, rhythm] = [5e-9, 3];

/**
 * Contacts count at first that part by no more than this share of the approach, and then those that would close, too.
 * In a thousand balls that fall together none pressed of those that parted by more than a fifth.
 */
const attended = 0.3;

type Effort = typeof first | typeof others;

interface Aim {
  readonly speed: number;
  readonly tolerance: number;
  readonly enough: number;
  readonly accepted: number;
}

export class ConeComplementarity {
  readonly cones: ConeContacts;
  private readonly newton: AlartCurnier;
  private readonly interior: ConeInterior;
  private readonly sweeps: ConeSweeps;
  private readonly best: Float64Array;
  /** The best impulses, with gaps as they were closed for them. */
  private readonly found: Float64Array;
  private readonly closings: Float64Array;
  private least = Infinity;
  /** Whether a gap asks for impulses without bound. */
  private asks = false;

  /** Undefined where A couples too many unknowns. */
  static of(structure: ConeStructure): ConeComplementarity | undefined {
    const cones = ConeContacts.of(structure);
    return cones === undefined ? undefined : new ConeComplementarity(cones);
  }

  private constructor(cones: ConeContacts) {
    this.cones = cones;
    this.newton = new AlartCurnier(cones);
    this.interior = new ConeInterior(cones);
    this.sweeps = new ConeSweeps(cones);
    [this.best, this.found, this.closings] = [0, 1, 2].map(() => new Float64Array(cones.p.length));
  }

  /**
   * From the impulses in p.
   * @param speed the velocity of contacts that errors are relative to
   * @param tolerance Newton steps go on to this error while they double the digits
   * @param enough the error that ends other steps
   * @param accepted the error that is accepted where they do not come to that
   * @returns the error of the laws that is left, a velocity
   */
  solve(speed: number, tolerance: number, enough: number, accepted = enough): number {
    const {cones} = this;
    cones.factorizations = 0;
    cones.attend(attended * cones.approach);
    for (;;) {
      const error = this.among(speed, tolerance, enough, accepted);
      if (!cones.attendMissed(enough)) return error;
    }
  }

  /** Among the contacts that count. @returns the error of their laws that is left */
  private among(speed: number, tolerance: number, enough: number, accepted: number): number {
    const {cones} = this;
    cones.close(Math.min(closed[0][0] * cones.approach, accepted));
    cones.project();
    const error = this.polish(cones.error(), tolerance, enough, firstSteps, ties * speed);
    const most = excessive * cones.contacts.length * cones.approach;
    if (!(cones.approach > 0) || (error <= enough && cones.given() <= most)) return error;
    this.least = Infinity;
    this.keep(error, accepted);
    const aim = {speed, tolerance, enough, accepted};
    for (const levels of closed) if (this.search(levels, aim, most)) break;
    cones.p.set(this.found);
    cones.apart.set(this.closings);
    return cones.error();
  }

  /** @returns whether impulses were found that give no contact more than `mostGiven` */
  private search(levels: readonly number[], aim: Aim, mostGiven: number): boolean {
    const {cones} = this;
    const {accepted} = aim;
    let level = 0;
    const closeMore = (): boolean => cones.close(levels[level++] * cones.approach);
    for (const run of runs) {
      const effort = run === runs[0] ? first : others;
      let error = this.fromInterior(run, aim, effort);
      this.keep(error, accepted);
      // Impulses settle where none were found, and are sought anew where they were excessive.
      while (error > accepted && level < levels.length) {
        if (!closeMore()) continue;
        error = this.settle(cones.error(), aim, effort);
        this.keep(error, accepted);
      }
      if (error <= accepted && cones.given() <= mostGiven) return true;
      if (level < levels.length) closeMore();
    }
    return false;
  }

  /** What is left of an error is least, or the impulses of those whose errors are accepted. */
  private keep(error: number, accepted: number): void {
    const {cones, found, closings} = this;
    const worth = error <= accepted ? -1 / cones.given() : error;
    if (!(worth < this.least)) return;
    this.least = worth;
    found.set(cones.p);
    closings.set(cones.apart);
  }

  /** @returns the error that is left, of the impulses in p */
  private fromInterior(run: InteriorRun, aim: Aim, effort: Effort): number {
    const {cones, interior} = this;
    interior.begin(run);
    let below = near * cones.approach;
    let [error, tries] = [Infinity, 0];
    for (let k = 0; k < effort.interior && tries < mostTries && interior.step(); k++) {
      cones.project();
      error = cones.error();
      if (error > below) continue;
      below = nearer * error;
      tries++;
      error = this.settle(tries === 1 ? error : this.relax(error), aim, effort);
      if (error <= aim.enough || this.asks) return error;
    }
    return tries === mostTries ? error : this.settle(this.relax(error), aim, effort);
  }

  /** Sweeps; p is left at the least error. @returns it */
  private relax(from: number): number {
    const {cones, sweeps, best} = this;
    best.set(cones.p);
    let [least, judged] = [cones.error(), from];
    for (let done = atOnce; done <= mostSweeps && least > sweptTo * cones.approach; done += atOnce) {
      for (let k = 0; k < atOnce; k++) sweeps.sweep();
      const error = cones.error();
      if (error < least) {
        least = error;
        best.set(cones.p);
      }
      if (done % judgedAfter !== 0) continue;
      if (least > judged / 2) break;
      judged = least;
    }
    cones.p.set(best);
    return cones.error();
  }

  /**
   * Newton steps, then rounds of the proximal point method (Rockafellar 1976), with so many steps at most.
   * @returns the error that is left, of the impulses in p
   */
  private settle(from: number, {speed, tolerance, enough}: Aim, {most, above}: Effort): number {
    const {cones} = this;
    let error = from > near * cones.approach ? from : this.polish(from, tolerance, enough, steps);
    this.asks = false;
    let share = Math.min(softest, Math.max(firmer * softness, (softer * error) / cones.approach));
    let [judged, waiting, still] = [error, false, 0];
    const last = cones.factorizations + most;
    let [look, before] = [cones.factorizations + slow, error];
    for (let round = 0; error > enough && cones.factorizations < last; round++) {
      const tries = this.round(share, Math.max(roundEnds * error, (rounding * speed) / share), lost * speed, above);
      if (tries === undefined) {
        share /= firmer;
        waiting = true;
        if (share > softest) break;
        continue;
      }
      if (waiting) waiting = false;
      else if (tries <= fewSteps) share = Math.max(firmest, share * firmer);
      error = cones.error();
      if (error > nearer * judged && error > fine * speed && round % rhythm !== rhythm - 1) continue;
      error = this.polish(error, tolerance, enough, 1);
      if (cones.factorizations >= look) {
        if (error > before / 2) break;
        [look, before] = [cones.factorizations + slow, error];
      }
      still = Math.abs(error - judged) < same * judged ? still + 1 : 0;
      judged = error;
      this.asks = still >= mostStuck && error < stuck * speed;
      if (this.asks) break;
    }
    return error;
  }

  /** @returns the Newton steps it took; undefined where they do not come to `end`, and p is as it was */
  private round(share: number, end: number, most: number, above: number): number | undefined {
    const {cones, newton} = this;
    cones.anchor.set(cones.p);
    cones.softness = share;
    const from = cones.error();
    let off = 0;
    let tries = 0;
    while (tries < mostInRound && off <= most && newton.step()) {
      tries++;
      off = cones.error();
      if (off <= end || (tries >= above && off > from)) break;
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
