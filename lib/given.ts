/** What users give, in the sentences of errors, and refused where nobody asked for it. */
import {OptionError} from './errors.js';

/** A value in a sentence; text in quotes, so that '0.1' is not taken for 0.1. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/**
 * A misspelt option would otherwise be a default in silence.
 * @param owner what the options are given to, as the sentence begins: 'newton'
 * @throws OptionError
 */
export function refuseUnknownOptions(given: object, known: readonly string[], owner: string, code: string): void {
  if (typeof (given as unknown) !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new OptionError(code, `${owner} takes an object with ${known.join(', ')}, not ${shown(given)}.`);
  }
  const unknown = Object.keys(given).find(name => !known.includes(name));
  if (unknown !== undefined) throw new OptionError(code, `${owner} has no option '${unknown}'; it has ${known.join(', ')}.`, {option: unknown});
}

/** @throws OptionError where a name is given that is not one of these */
export function refuseUnknownName(what: string, given: string | undefined, known: readonly string[], code = 'bad-linear'): void {
  if (given !== undefined && !known.includes(given)) throw new OptionError(code, `${what} must be one of ${known.join(', ')}, not ${shown(given)}.`);
}
