/** What fails for the moment is tried again: a disk that is full, a server that is away. */
import {DataError} from '../lib/errors.js';

/** Milliseconds before the first further attempt; each next one waits twice as long, to 5 s: a disk is full for minutes. */
const firstWait = 100;
const longestWait = 5000;

/**
 * @param passing whether an error may be gone at the next attempt
 * @param patience seconds
 * @param what 'results/done/… cannot be written', for the error
 * @throws what `act` throws and is not passing; DataError 'store-unwritable' where it does not pass in time
 */
export async function patiently<T>(
  act: () => Promise<T>,
  passing: (error: unknown) => boolean,
  patience: number,
  what: string,
): Promise<T> {
  const until = performance.now() + 1000 * patience;
  for (let wait = firstWait; ; wait = Math.min(2 * wait, longestWait)) {
    try {
      return await act();
    } catch (error) {
      if (!passing(error)) throw error;
      if (performance.now() + wait > until)
        throw new DataError(
          'store-unwritable',
          `${what}: ${(error as Error).message}. Free some space and run the sweep again: it continues from here.`,
          {cause: (error as Error).message},
        );
      await new Promise(resolve => setTimeout(resolve, wait));
    }
  }
}
