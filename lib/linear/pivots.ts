/** The pivots of an L D Lᵀ, judged one by one and on record. */

/** When to give up: at a pivot that is not positive, at one below its floor, or never (enlarge it). */
export type PivotRule = 'positive' | 'above-floor' | 'enlarge';

/** The judgement of pivots, and its record. */
export class Pivots {
  negative = 0;
  enlarged = 0;
  /** min |pivot| / scale. */
  smallest = Infinity;

  begin(): void {
    this.negative = 0;
    this.enlarged = 0;
    this.smallest = Infinity;
  }

  /** The pivot to use, or 0 to give up. */
  accept(pivot: number, scale: number, rule: PivotRule, floor: number): number {
    const size = Math.abs(pivot);
    const ratio = size / scale;
    this.smallest = Math.min(this.smallest, ratio);
    if (rule === 'positive') return pivot > 0 ? pivot : 0;
    if (pivot < 0) this.negative++;
    if (ratio >= floor) return pivot;
    if (rule === 'above-floor') return 0;
    this.enlarged++;
    return pivot < 0 ? -floor * scale : floor * scale;
  }
}
