/** Retries of operations that may succeed later: on a full disk, or with a server that is away. */
import {DataError} from '../lib/errors.js';

/**
 * Milliseconds before the first further attempt; each next one waits twice as long, to 5 s: a disk is full for minutes.
 */
const firstWait = 100;
const longestWait = 5000;

/** Advice by the code of the error. */
const advice = {
  'store-unreadable': 'Make it readable and run the sweep again: it continues from here.',
  'store-unwritable': 'Free some space, or allow writing there, and run the sweep again: it continues from here.',
} as const;

/** A failed operation of a store as an error with a sentence. */
export function storeError(code: keyof typeof advice, what: string, {message}: Error): DataError {
  return new DataError(code, `${what}: ${message}. ${advice[code]}`, {cause: message});
}

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
  code: keyof typeof advice = 'store-unwritable',
): Promise<T> {
  const until = performance.now() + 1000 * patience;
  for (let wait = firstWait; ; wait = Math.min(2 * wait, longestWait)) {
    try {
      return await act();
    } catch (error) {
      if (!passing(error)) throw error;
      if (performance.now() + wait > until) throw storeError(code, what, error as Error);
      await new Promise(resolve => setTimeout(resolve, wait));
    }
  }
}
