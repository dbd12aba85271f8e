/**
 * Counts and seeds of random tests. A test tries its own number of cases from a fixed seed. RUNS=10 tries ten times as
 * many from a new seed; a failure prints its seed, and SEED=7 tries from that one.
 */
import {randomInt} from 'node:crypto';

const {RUNS, SEED} = process.env;
/** How many times its own number of cases each test tries. */
const factor = Number(RUNS ?? 1);
if (!(factor > 0 && factor < Infinity)) throw new RangeError(`RUNS must be a positive factor such as 10; got ${RUNS}.`);
if (SEED !== undefined && !Number.isSafeInteger(Number(SEED)))
  throw new RangeError(`SEED must be an integer; got ${SEED}.`);

/** The number of cases of a loop over seeds. */
export const cases = (count: number): number => Math.ceil(count * factor);

/** The seed that a test starts from. */
export function startSeed(seed: number): number {
  if (SEED !== undefined) return Number(SEED);
  return RUNS === undefined ? seed : randomInt(2 ** 31);
}

/** Options of fc.assert. Its own default is 100 cases. */
export const runs = (count = 100, seed = 1): {numRuns: number; seed: number} => ({
  numRuns: cases(count),
  seed: startSeed(seed),
});
