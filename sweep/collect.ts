/** All results of a store as one table: JSON lines, or numbers by columns in CSV, which readTable of stiffgrad/training reads. */
import {createWriteStream} from 'node:fs';
import {mkdir, rename} from 'node:fs/promises';
import path from 'node:path';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {OptionError} from '../lib/errors.js';
import {canonical} from './canonical.js';
import type {Row, Store} from './store.js';

/**
 * Writes all results in the order of their names, a row a line; the file is there when it is whole.
 * @param to '.jsonl': the whole rows; '.csv': the numbers of cases and results by name, 'result.loss', 'case.k[0]', and the seed
 * @returns how many rows there are
 * @throws OptionError where the file's ending is neither
 */
export async function collect(store: Store, to: string): Promise<number> {
  const ending = path.extname(to);
  if (ending !== '.jsonl' && ending !== '.csv')
    throw new OptionError('bad-ending', `collect writes .jsonl and .csv, not ${to}.`);
  await mkdir(path.dirname(path.resolve(to)), {recursive: true});
  let count = 0;
  const lines = ending === '.csv' ? csv(store) : jsonLines(store);
  const counted = async function* (): AsyncGenerator<string, void> {
    for await (const {text, rows} of lines) {
      count += rows;
      yield text;
    }
  };
  await pipeline(Readable.from(counted()), createWriteStream(`${to}.partial`));
  await rename(`${to}.partial`, to);
  return count;
}

interface Line {
  readonly text: string;
  readonly rows: number;
}

async function* jsonLines(store: Store): AsyncGenerator<Line, void> {
  for await (const row of store.rows()) yield {text: `${canonical(row, 'A row')}\n`, rows: 1};
}

/** Twice through the store: the columns are all that any row has. */
async function* csv(store: Store): AsyncGenerator<Line, void> {
  const columns = new Set<string>();
  for await (const row of store.rows()) for (const name of numbersOf(row).keys()) columns.add(name);
  const names = [...columns].sort();
  yield {text: `${names.map(quoted).join(',')}\n`, rows: 0};
  for await (const row of store.rows()) {
    const numbers = numbersOf(row);
    yield {text: `${names.map(name => numbers.get(name) ?? '').join(',')}\n`, rows: 1};
  }
}

const quoted = (name: string): string => (/[",\n]/.test(name) ? `"${name.replace(/"/g, '""')}"` : name);

/** The numbers of a row by their paths. */
export function numbersOf(row: Pick<Row, 'case' | 'result' | 'seed'>): Map<string, number> {
  const found = new Map<string, number>();
  const visit = (value: unknown, name: string): void => {
    if (typeof value === 'number') found.set(name, value);
    else if (typeof value === 'boolean') found.set(name, Number(value));
    else if (Array.isArray(value) || ArrayBuffer.isView(value))
      Array.from(value as number[]).forEach((entry, i) => visit(entry, `${name}[${i}]`));
    else if (typeof value === 'object' && value !== null)
      for (const [key, entry] of Object.entries(value)) visit(entry, `${name}.${key}`);
  };
  visit(row.case, 'case');
  visit(row.result, 'result');
  found.set('seed', row.seed);
  return found;
}
