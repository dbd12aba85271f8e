/**
 * Work and precision on stiff problems: every contestant at tolerances from 1e-3 to 1e-10, its error at the end
 * against published references and the time of a run, warm, in turns with the others.
 */
import {loadavg} from 'node:os';
import type {Entry} from './contestant.js';
import {Contestant} from './contestant.js';
import type {StiffRow} from './results.js';

const problems = ['HIRES', 'ROBER', 'vanDerPol'] as const;
const digits = [3, 4, 5, 6, 7, 8, 9, 10];

/** A turn lasts about this long; what takes longer is run once a turn. */
const turnMilliseconds = 40;
/** V8 has optimised a run after so long. */
const warmUpMilliseconds = 400;
/** What takes longer than this is not run again at tighter tolerances, nor timed more than twice. */
const longestMilliseconds = 4000;

/** @param rounds turns of each contestant, of which the fastest run counts */
export async function raceStiff(entries: readonly Entry[], rounds: number): Promise<StiffRow[]> {
  const rows: StiffRow[] = [];
  for (const problem of problems) {
    const contestants = entries.map(entry => ({
      contestant: new Contestant(entry),
      points: [] as StiffRow['contestants'][number]['points'][number][],
      out: false,
    }));
    const skipped: Record<string, string> = {};
    for (const one of digits) {
      const present = [];
      for (const each of contestants) {
        if (each.out) continue;
        const preparation = await each.contestant.prepare(problem as never, one);
        if ('skip' in preparation) {
          skipped[each.contestant.entry.name] = String(preparation.skip);
          each.out = true;
          continue;
        }
        // A run that failed says so by a large number.
        const error = preparation.loss;
        if (error === null || !(error < 1)) continue;
        let [last] = await each.contestant.time('forward', 1);
        for (let spent = last; spent < warmUpMilliseconds;) {
          const times = await each.contestant.time('forward', Math.ceil(turnMilliseconds / last));
          last = Math.min(last, ...times);
          spent += times.reduce((sum, x) => sum + x, 0);
        }
        if (last > longestMilliseconds) each.out = true;
        present.push({
          each,
          error,
          steps: preparation.gradientNorm,
          repeats: Math.max(1, Math.round(turnMilliseconds / last)),
          least: last,
          slow: last > longestMilliseconds / 4,
        });
      }
      for (let round = 0; round < rounds; round++) {
        for (const turn of present) {
          if (turn.slow && round > 0) continue;
          turn.least = Math.min(turn.least, ...(await turn.each.contestant.time('forward', turn.repeats)));
        }
      }
      for (const {each, error, steps, least} of present) {
        each.points.push({rtol: Number(`1e-${one}`), error, steps, milliseconds: least});
        console.log(
          `${problem} 1e-${one} ${each.contestant.entry.name.padEnd(28)} error ${error.toExponential(1)} ${least.toPrecision(3).padStart(8)} ms, ${steps} steps`,
        );
      }
    }
    for (const {contestant} of contestants) contestant.end();
    for (const [name, why] of Object.entries(skipped)) console.log(`  ${name} skipped: ${why}`);
    rows.push({
      problem,
      load: loadavg()[0],
      skipped,
      contestants: contestants
        .map(({contestant, points}) => ({name: contestant.entry.name, points}))
        .filter(({points}) => points.length > 0),
    });
  }
  return rows;
}
