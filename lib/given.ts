/** What users give, in the sentences of errors, and refused where nobody asked for it. */
import {AbortError, OptionError} from './errors.js';
import {shortened} from './text.js';

/** Letters of a user's own text that a sentence shows: enough to know it again. */
const longestText = 80;

/** A value in a sentence; text in quotes, so that '0.1' is not taken for 0.1. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${shortened(value, longestText)}'`;
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/**
 * A misspelt option would otherwise be a default in silence.
 * @param owner what the options are given to, as the sentence begins: 'newton'
 * @throws OptionError
 */
export function refuseUnknownOptions(given: object, known: readonly string[], owner: string, code = 'unknown-option'): void {
  if (typeof (given as unknown) !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new OptionError(code, `${owner} takes an object with ${known.join(', ')}, not ${shown(given)}.`);
  }
  const unknown = Object.keys(given).find(name => !known.includes(name));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, known);
  throw new OptionError(code, `${owner} has no option '${unknown}'; it has ${known.join(', ')}.${nearest === undefined ? '' : ` Did you mean '${nearest}'?`}`, {option: unknown});
}

/** @throws OptionError where a name is given that is not one of these */
export function refuseUnknownName(what: string, given: string | undefined, known: readonly string[], code = 'bad-linear'): void {
  if (given !== undefined && !known.includes(given)) throw new OptionError(code, `${what} must be one of ${known.join(', ')}, not ${shown(given)}.`);
}

/**
 * The known name nearest to `wanted`, or undefined where none is near enough to be meant: optimal string alignment
 * distance (Damerau 1964: insertion, deletion, substitution, swap of neighbours), without regard to case.
 */
export function nearestName(wanted: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters wrong is the usual limit of a spelling suggestion (git, TypeScript: 0.4).
  let least = Math.floor(Math.max(wanted.length, 3) / 3) + 1;
  for (const name of known) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Fewest insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({length: b.length + 1}, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length];
}

/** @throws OptionError 'bad-option' */
export function readSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  const given: unknown = signal;
  if (given === undefined || (typeof given === 'object' && given !== null && 'aborted' in given && 'addEventListener' in given)) return signal;
  throw new OptionError('bad-option', `signal must be an AbortSignal, as that of new AbortController(), not ${shown(given)}.`);
}

export function aborted(reason: unknown): AbortError {
  const error = new AbortError('aborted', 'The run was ended by its signal before it was done.');
  error.cause = reason;
  return error;
}

/** @throws AbortError where the signal has been aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal.reason);
}
