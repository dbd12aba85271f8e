/**
 * Starts, profiles, bootstraps, folds and chains of stiffgrad/training as sweeps: their parts are the cases, and the
 * task is the module of the problem. What is in the store is not computed again, also in another run of the program.
 */
import {throwIfAborted} from '../lib/checks.js';
import {DataError} from '../lib/errors.js';
import type {PartCase, PartSweep} from '../training/internal.js';
import {sweep, type SweepOptions} from './sweep.js';
import {jobOf} from './task.js';

/** Options of a sweep without its cases. The task's module has `export default fitTask(problem)`. */
export type FitSweepOptions = Omit<SweepOptions, 'cases' | 'objective'>;

/**
 * For the option `sweep` of `identify`, `likelihoodProfile`, `bootstrap`, `crossValidate` and `posterior`.
 * @throws (rejects, in these) OptionError as `sweep`; DataError 'sweep-failed' where a part has no result,
 *   'sweep-incomplete' where other shares of `indexed` have not computed theirs yet; AbortError
 */
export function fitSweep(options: FitSweepOptions): PartSweep {
  return {
    async compute(parts: readonly PartCase[], signal?: AbortSignal) {
      const either = [options.signal, signal].filter(one => one !== undefined);
      const both = either.length === 0 ? undefined : AbortSignal.any(either);
      const done = await sweep<PartCase>({...options, cases: parts, signal: both});
      throwIfAborted(both);
      for await (const {error, cause} of done.failures())
        throw new DataError(
          'sweep-failed',
          `${done.failed} of ${parts.length} parts have no result, the first because: ${error.name}: `
            + `${error.message} (${cause}). They are tried again after \`stiffgrad sweep prune --failures\`, `
            + 'or openStore(…).prune({failures: true}).',
          {cause},
        );
      const results: unknown[] = [];
      for (const part of parts) {
        const row = await done.store.read(jobOf(done.task, part, options.seed ?? 0).name);
        if (row !== undefined) results.push(row.result);
      }
      if (results.length < parts.length)
        throw new DataError(
          'sweep-incomplete',
          `This share is computed; ${parts.length - results.length} of ${parts.length} parts are not in the store `
            + 'yet. Run the program again when all shares have ended, with engines.local(), which finds their results.',
          {missing: parts.length - results.length},
        );
      return results;
    },
  };
}
