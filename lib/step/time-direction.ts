/**
 * The time variable of loops. A run backwards in time goes along s = −t: its loops, step lengths and records are those
 * of a run forwards, and traced functions get −s and −h as time and step. So every scheme steps by a negative h, and
 * nothing else is affected. Users see t.
 */

/** The direction of time of a run, a step or a grid. */
export interface TimeDirection {
  /** Time runs backwards. */
  readonly backwards?: boolean;
}

/** Internal time, or length, as the user's; and the other way round. */
export function toUserTime({backwards}: TimeDirection, t: number): number {
  // Not −t, which makes a negative zero of 0.
  return backwards === true ? 0 - t : t;
}

/** Internal times as the user's; and the other way round. */
export const toUserTimes = ({backwards}: TimeDirection, times: Float64Array): Float64Array =>
  backwards === true ? times.map(t => 0 - t) : times;
