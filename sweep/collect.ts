/** All results of a store as one table: JSON lines, or columns in CSV or Parquet, which readTable of stiffgrad/training reads. */
import {createWriteStream} from 'node:fs';
import path from 'node:path';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {listOf, refuseUnknownOptions, requireValue, text, type Check} from '../lib/checks.js';
import {DataError, OptionError} from '../lib/errors.js';
import {canonical} from './canonical.js';
import {csvLine} from './csv.js';
import {writeWhole} from './files.js';
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
 *   '.parquet': these, the texts, and the case's name. A name with a dot or a bracket is in brackets: 'case["a.b"]'
 * @returns the number of rows
 * @throws OptionError if the file has another extension, or there is no store
 * @throws DataError 'damaged-result' where results are damaged, which are moved aside: the next call writes the others;
 *   'file-unwritable'; 'several-versions' where the columns would hold results of several versions of a task, which nothing there tells apart
 */
export async function collect(given: Store | string, to: string, options: CollectOptions = {}): Promise<number> {
  refuseUnknownOptions(options, {versions: listOf('versions', text)}, 'collect');
  requireValue(given, aStore, 'collect: the store');
  requireValue(to, text, 'collect: the file');
  const store = typeof given === 'string' ? new Store(given) : given;
  const ending = path.extname(to);
  if (ending !== '.jsonl' && ending !== '.csv' && ending !== '.parquet')
    throw new OptionError('bad-ending', `collect writes .jsonl, .csv and .parquet, not ${to}.`);
  await store.requireThere();
  return writeWhole(to, async partial => {
    const seen = new Set<string>();
    const rows = chosen(store, options, seen);
    if (ending === '.jsonl') return writeLines(jsonLines(rows()), partial);
    return ending === '.csv' ? writeLines(csv(rows), partial) : writeParquet(rows, partial);
  });
}

const aStore: Check = {
  what: "a folder's path, or a store made by openStore",
  test: value => value instanceof Store || (typeof value === 'string' && value !== ''),
};

type Rows = AsyncGenerator<Row, void>;

/** The rows of the versions; the second time, the same ones, though a sweep that goes on may have added others. */
function chosen(store: Store, {versions}: CollectOptions, seen: Set<string>): () => Rows {
  let isFirst = true;
  return async function* () {
    const chooses = isFirst;
    isFirst = false;
    for await (const row of store.rows()) {
      if (chooses ? versions?.includes(row.task.version) === false : !seen.has(row.name)) continue;
      seen.add(row.name);
      yield row;
    }
  };
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

async function writeLines(lines: AsyncGenerator<Line, void>, file: string): Promise<number> {
  let count = 0;
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
  const names = [...columns].sort(byPath);
  yield {line: csvLine(names), size: 0};
  for await (const row of rows()) {
    const numbers = numbersOf(row);
    yield {line: csvLine(names.map(name => numbers.get(name) ?? '')), size: 1};
  }
}

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
  const columns = [...kinds].sort(([a], [b]) => byPath(a, b));
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

/** The numbers and texts of a row by their paths, no two of which have the same name; truth values are 0 and 1. */
function valuesOf(row: Pick<Row, 'case' | 'result' | 'seed'>): Map<string, number | string> {
  const found = new Map<string, number | string>();
  const visit = (value: unknown, name: string): void => {
    if (typeof value === 'number' || typeof value === 'string') found.set(name, value);
    else if (typeof value === 'boolean') found.set(name, Number(value));
    else if (Array.isArray(value) || ArrayBuffer.isView(value))
      Array.from(value as number[]).forEach((entry, i) => visit(entry, `${name}[${i}]`));
    else if (typeof value === 'object' && value !== null)
      for (const [key, entry] of Object.entries(value)) visit(entry, `${name}${step(key)}`);
  };
  visit(row.case, 'case');
  visit(row.result, 'result');
  found.set('seed', row.seed);
  return found;
}

/** From an object to its entry: '.k', or '["k.0"]' where the name could be read as a path, or loses blanks at its ends. */
const step = (key: string): string =>
  /^[^.[\]]+$/.test(key) && key.trim() === key ? `.${key}` : `[${JSON.stringify(key)}]`;

/** Orders names of columns as text, but their numbers in brackets as numbers: 'k[2]' before 'k[10]'. */
export function byPath(a: string, b: string): number {
  const [x, y] = [a, b].map(name => name.match(/\[\d+\]|[^[]+|\[/g) ?? []);
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const [m, n] = [indexOf(x[i]), indexOf(y[i])];
    if (m !== n) return m - n;
    if (x[i] !== y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return x.length - y.length;
}

/** A text comes after all numbers. */
const indexOf = (part: string): number => (/^\[\d+\]$/.test(part) ? Number(part.slice(1, -1)) : Number.MAX_VALUE);
