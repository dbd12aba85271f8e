/**
 * A user's module, or a sentence that says why there is none: no such file, a mistake in its text, an import that is
 * missing.
 */
import {existsSync} from 'node:fs';
import {OptionError, StiffgradError} from '../lib/errors.js';
import {loadModule} from '../sweep/load-module.js';
import {Usage} from './usage.js';

/** @throws Usage where the file does not exist or cannot be loaded; StiffgradError that its own statements throw */
export async function loaded(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (!existsSync(file)) throw new Usage(`There is no file ${file}.`);
  try {
    return await loadModule(file);
  } catch (error) {
    if (error instanceof OptionError && error.code === 'no-tsx') throw new Usage(error.message);
    if (error instanceof StiffgradError) throw error;
    throw new Usage(`${file} cannot be loaded: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const {name, message, code} = error as Error & {code?: string};
  // A transformation of TypeScript names the places in its message.
  const [, line, column, text] = /:(\d+):(\d+): ERROR: (.*)/.exec(message) ?? [];
  if (text !== undefined) return `line ${line}, column ${Number(column) + 1}: ${text}.`;
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') {
    const [, missing = '?'] = /'([^']+)'/.exec(message) ?? [];
    return `it imports ${missing}, which is not there. Install the package, or correct the path.`;
  }
  return `${name}: ${message}${placeOf(error)}`;
}

/** The first place of a user's own in a stack: neither Node's nor a package's. */
export function placeOf(error: unknown): string {
  const places = String((error as Error).stack).match(/(?:file:\/\/)?\/[^\s()]+:\d+:\d+/g) ?? [];
  const own = places.find(place => !place.includes('node_modules') && !place.includes('node:'));
  return own === undefined ? '' : ` (${own.replace('file://', '')})`;
}
