/** `npm run fuzz -- systems --count 10000 --seed 1`: random systems, every answer right or an error that names its reason. */
import type {FuzzOptions, FuzzResult} from './run.js';
import {check} from './systems/check.js';

export async function fuzz({count, seed, log}: FuzzOptions): Promise<FuzzResult> {
  const failures: string[] = [];
  const refused = new Map<string, number>();
  const unjudged = new Map<string, number>();
  const add = (of: Map<string, number>, name: string): void => void of.set(name, (of.get(name) ?? 0) + 1);
  for (let k = 0; k < count; k++) {
    const verdict = check(seed + k);
    if (verdict.code !== undefined) add(refused, verdict.code);
    for (const reason of verdict.unjudged) add(unjudged, reason);
    failures.push(...verdict.wrong);
    if ((k + 1) % 500 === 0) log(`${k + 1} systems, ${failures.length} failures`);
    // Timers and signals get their turn.
    if (k % 50 === 0) await new Promise(resolve => setImmediate(resolve));
  }
  const table = (of: Map<string, number>): string =>
    [...of].map(([name, times]) => `${name} ${times}`).join(', ') || 'none';
  log(`refused: ${table(refused)}; not judged in part: ${table(unjudged)}`);
  return {tried: count, failures};
}
