/** A command line as parseArgs of node:util reads it, and what is wrong with it. */
import {parseArgs} from 'node:util';
import {wrongOption} from '../lib/checks.js';
import {Usage} from './usage.js';

/** Options and arguments of a command. */
export interface Given {
  readonly positionals: readonly string[];
  readonly values: {readonly [name: string]: string | boolean | undefined};
}

/** Output of a command: text for a reader, or an object with --json. */
export interface Out {
  text(lines: string): void;
  json(value: object): void;
  progress(line: string): void;
}

export const text = ({values}: Given, name: string): string | undefined => values[name] as string | undefined;

export function number(given: Given, name: string): number | undefined {
  const value = text(given, name);
  if (value === undefined) return undefined;
  if (value.trim() === '' || !Number.isFinite(Number(value)))
    throw new Usage(`--${name} must be a number, not '${value}'.`);
  return Number(value);
}

export function argument({positionals}: Given, place: number, what: string): string {
  const given = positionals[place];
  if (given === undefined) throw new Usage(`This command needs ${what}.`);
  return given;
}

/**
 * @param texts options with a text, and what it is
 * @param flags options without
 * @throws Usage where an option is unknown, lacks its text, has one that it does not take, or is given twice
 */
export function parsed(
  command: string,
  args: readonly string[],
  texts: {readonly [option: string]: string},
  flags: readonly string[],
): Given {
  const type = (names: readonly string[], kind: 'string' | 'boolean') =>
    Object.fromEntries(names.map(name => [name, {type: kind}]));
  const {positionals, values, tokens} = parseArgs({
    args: [...args],
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: {...type(Object.keys(texts), 'string'), ...type(flags, 'boolean')},
  });
  const wrong = wrongOption(command, tokens, texts, flags);
  if (wrong !== undefined) throw new Usage(`${wrong} See stiffgrad ${command} --help.`);
  return {positionals, values: values};
}
