/** All results of a store as one table: JSON lines, or columns in CSV or Parquet, which readTable of stiffgrad/training reads. */
import {createWriteStream} from 'node:fs';
import {mkdir, rename, rm} from 'node:fs/promises';
import path from 'node:path';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {listOf, refuseUnknownOptions, requireValue, text, type Check} from '../lib/checks.js';
import {DataError, OptionError} from '../lib/errors.js';
import {canonical} from './canonical.js';
import {Store, type Row} from './store.js';

/** Options of `collect`. */
export interface CollectOptions {
  /** Results of other versions of tasks are left out; default none may be there, but in '.jsonl', whose rows have theirs. */
  readonly versions?: readonly string[];
}

/**
 * Writes all results in the order of their names, one row per line; the file appears when it is complete.
 * @param given a store made by `openStore`, or its folder or address, as `sweep` takes it
 * @param to '.jsonl': the whole rows; '.csv': the numbers of cases and results by name, 'result.loss', 'case.k[0]', and the seed;
 *   '.parquet': these, the texts, and the case's name
 * @returns the number of rows
 * @throws OptionError if the file has another extension, or there is no store
 * @throws DataError 'several-versions' where the columns would hold results of several versions of a task, which nothing there tells apart
 */
export async function collect(given: Store | string, to: string, options: CollectOptions = {}): Promise<number> {
  refuseUnknownOptions(options, {versions: listOf('versions', text)}, 'collect');
  requireValue(given, aStore, 'collect: the store');
  requireValue(to, text, 'collect: the file');
  const store = typeof given === 'string' ? new Store(given) : given;
  const ending = path.extname(to);
  if (ending !== '.jsonl' && ending !== '.csv' && ending !== '.parquet')
    throw new OptionError('bad-ending', `collect writes .jsonl, .csv and .parquet, not ${to}.`);
  await mkdir(path.dirname(path.resolve(to)), {recursive: true});
  const partial = `${to}.partial`;
  const rows = (): Rows => chosen(store, options);
  try {
    const count = ending === '.parquet' ? await writeParquet(rows, partial) : await writeLines(rows, ending, partial);
    await rename(partial, to);
    return count;
  } catch (error) {
    await rm(partial, {force: true});
    throw error;
  }
}

const aStore: Check = {
  what: "a folder's path, or a store made by openStore",
  test: value => value instanceof Store || (typeof value === 'string' && value !== ''),
};

type Rows = AsyncGenerator<Row, void>;

async function* chosen(store: Store, {versions}: CollectOptions): Rows {
  for await (const row of store.rows()) if (versions?.includes(row.task.version) ?? true) yield row;
}

/** The same rows; at their end it is seen whether they are of one version of each task. */
async function* ofOneVersion(rows: Rows): Rows {
  const counts = new Map<string, Map<string, number>>();
  for await (const row of rows) {
    const {name, version} = row.task;
    const known = counts.get(name) ?? new Map<string, number>();
    counts.set(name, known.set(version, (known.get(version) ?? 0) + 1));
    yield row;
  }
  for (const [task, versions] of counts)
    if (versions.size > 1)
      throw new DataError(
        'several-versions',
        `The store has results of ${versions.size} versions of the task '${task}': ${[...versions].map(([version, count]) => `${version} (${count})`).join(', ')}. Choose with versions (--versions on the command line), or remove the others with prune.`,
        {task, versions: Object.fromEntries(versions)},
      );
}

async function writeLines(rows: () => Rows, ending: '.jsonl' | '.csv', file: string): Promise<number> {
  let count = 0;
  const lines = ending === '.csv' ? csv(rows) : jsonLines(rows());
  const counted = async function* (): AsyncGenerator<string, void> {
    for await (const {line, size} of lines) {
      count += size;
      yield line;
    }
  };
  await pipeline(Readable.from(counted()), createWriteStream(file));
  return count;
}

interface Line {
  readonly line: string;
  /** How many rows it has: 0 of a header. */
  readonly size: number;
}

async function* jsonLines(rows: Rows): AsyncGenerator<Line, void> {
  for await (const row of rows) yield {line: `${canonical(row, 'A row')}\n`, size: 1};
}

/** Twice through the store: the columns are all that any row has. */
async function* csv(rows: () => Rows): AsyncGenerator<Line, void> {
  const columns = new Set<string>();
  for await (const row of ofOneVersion(rows())) for (const name of numbersOf(row).keys()) columns.add(name);
  const names = [...columns].sort();
  yield {line: `${names.map(quoted).join(',')}\n`, size: 0};
  for await (const row of rows()) {
    const numbers = numbersOf(row);
    yield {line: `${names.map(name => numbers.get(name) ?? '').join(',')}\n`, size: 1};
  }
}

const quoted = (name: string): string => (/[",\n]/.test(name) ? `"${name.replace(/"/g, '""')}"` : name);

/** Numbers that are written at once: some ten megabytes. */
const groupNumbers = 1_000_000;

/** Twice through the store, too: a column has numbers where all of its values are, else texts; null is what a row lacks. */
async function writeParquet(all: () => Rows, file: string): Promise<number> {
  const {fileWriter, ParquetWriter} = await import('hyparquet-writer');
  const kinds = new Map<string, 'DOUBLE' | 'STRING'>([['name', 'STRING']]);
  for await (const row of ofOneVersion(all()))
    for (const [name, value] of valuesOf(row))
      if (typeof value === 'string' || !kinds.has(name))
        kinds.set(name, typeof value === 'string' ? 'STRING' : 'DOUBLE');
  const columns = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1));
  const writer = new ParquetWriter({
    writer: fileWriter(file),
    schema: [
      {name: 'root', num_children: columns.length},
      ...columns.map(([name, kind]) =>
        kind === 'DOUBLE'
          ? ({name, type: 'DOUBLE', repetition_type: 'OPTIONAL'} as const)
          : ({name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL'} as const),
      ),
    ],
  });
  const groupRows = Math.max(1, Math.floor(groupNumbers / columns.length));
  let rows: Map<string, number | string>[] = [];
  let count = 0;
  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    await writer.write({
      columnData: columns.map(([name, kind]) => ({
        name,
        data: rows.map(row => {
          const value = row.get(name);
          return value === undefined ? null : kind === 'STRING' ? String(value) : value;
        }),
      })),
      rowGroupSize: rows.length,
    });
    count += rows.length;
    rows = [];
  };
  for await (const row of all()) {
    rows.push(valuesOf(row).set('name', row.name));
    if (rows.length === groupRows) await flush();
  }
  await flush();
  await writer.finish();
  return count;
}

/** The numbers of a row by their paths. */
export function numbersOf(row: Pick<Row, 'case' | 'result' | 'seed'>): Map<string, number> {
  return new Map([...valuesOf(row)].filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}

/** The numbers and texts of a row by their paths; truth values are 0 and 1. */
function valuesOf(row: Pick<Row, 'case' | 'result' | 'seed'>): Map<string, number | string> {
  const found = new Map<string, number | string>();
  const visit = (value: unknown, name: string): void => {
    if (typeof value === 'number' || typeof value === 'string') found.set(name, value);
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
