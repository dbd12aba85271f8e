/**
 * The time variable of loops. A run backwards in time goes along s = −t: its loops, step lengths and records are those
 * of a run forwards, and traced functions get −s and −h as time and step. So every scheme steps by a negative h, and
 * nothing else is affected. Users see t.
 */

/** What is of one direction. */
export interface Directed {
  /** Time runs backwards there. */
  readonly backwards?: boolean;
}

/** The clock's time, or length, as the user's; and the other way round. */
export function turned({backwards}: Directed, t: number): number {
  // Not −t, which makes a negative zero of 0.
  return backwards === true ? 0 - t : t;
}

/** The same of many. */
export const turnedAll = ({backwards}: Directed, times: Float64Array): Float64Array =>
  backwards === true ? times.map(t => 0 - t) : times;
