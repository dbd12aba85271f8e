/**
 * Time as loops count it. A run backwards in time goes along s = −t: its loops, lengths of steps and records are those of a run
 * forwards, and what is traced takes −s and −h for its time and its step. So every scheme steps by a negative h, and nothing else
 * knows of it. Users see t.
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
