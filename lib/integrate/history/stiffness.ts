/**
 * Whether step lengths are limited by the scheme's stability and not by their error (Hairer & Wanner, Solving
 * ODEs II, §IV.2): h|λ| is repeatedly at the border of the stability region.
 */
import {toUserTime} from '../../step/time-direction.js';
import type {TracedStep} from '../../step/traced-step.js';

/** Hairer and Wanner's DOPRI5: after so many steps at the border a problem is called stiff, */
const often = 15;
/** and so many well within it, one after another, forget those before. */
const calm = 6;
/** Steps that only stability limits go up and down about the border; DOPRI5 counts from 3.25 of 3.31. */
const border = 0.98;

export class StiffnessWatch {
  private atBorder = 0;
  private within = 0;
  private since = NaN;
  private found: string | undefined;

  constructor(private readonly scheme: Pick<TracedStep, 'name' | 'backwards'>) {}

  /**
   * After a step.
   * @param share h|λ| over what is stable
   */
  note(share: number, t: number): void {
    if (share >= border) {
      if (this.atBorder === 0) this.since = t;
      this.within = 0;
      if (++this.atBorder === often) this.found ??= this.told();
    } else if (++this.within === calm) {
      this.atBorder = 0;
    }
  }

  /** What to tell the user; undefined where there is nothing. */
  get sentence(): string | undefined {
    return this.found;
  }

  private told(): string {
    return (
      `From t = ${Number(toUserTime(this.scheme, this.since).toPrecision(6))} on the steps of `
      + `${this.scheme.name} are as short as its stability asks, not its error: the problem is stiff there. Take `
      + 'an implicit scheme, as kvaerno5() or radauIIA5().'
    );
  }
}
