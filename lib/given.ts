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
  const unknown = Object.keys(given).find(name => !known.includes(name));
  if (unknown !== undefined) throw new OptionError(code, `${owner} has no option '${unknown}'; it has ${known.join(', ')}.`, {option: unknown});
}
