/**
 * All results of a store as one table: JSON lines, or columns in CSV or Parquet, as readTable of stiffgrad/training
 * reads.
 */
import {createWriteStream} from 'node:fs';
import path from 'node:path';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {listOf, optional, readOptions, requireValue, text, type Options} from '../lib/checks.js';
import {DataError, OptionError} from '../lib/errors.js';
import {canonical} from './canonical.js';
import {csvLine} from './csv.js';
import {writeWhole} from './files.js';
import {storeOption, type Row, type Store} from './store.js';

const collectOptions = {
  /**
   * Results of other versions of tasks are left out. By default a table may have only one version of a task; '.jsonl'
   * may have several, as its rows tell theirs.
   */
  versions: optional(listOf('versions', text)),
};

/** Options of `collect`. @interface */
export type CollectOptions = Options<typeof collectOptions>;

/**
 * Writes all results in the order of their names, one row per line; the file appears when it is complete.
 * @param given a store made by `openStore`, or its folder or address, as `sweep` takes it
 * @param to '.jsonl': the whole rows; '.csv': the numbers of cases and results by name, 'result.loss', 'case.k[0]', and
 *   the seed; '.parquet': these, the texts, and the case's name. A name with a dot or a bracket is in brackets:
 *   'case["a.b"]'. Tables are built in memory, some eight bytes per number
 * @returns the number of rows
 * @throws OptionError if the file has another extension, or there is no store
 * @throws DataError 'damaged-result' where results are damaged, which are moved aside: the next call writes the others;
 *   'file-unwritable'; 'several-versions' where the columns would hold results of several versions of a task
 */
export async function collect(given: Store | string, to: string, options: CollectOptions = {}): Promise<number> {
  const {versions} = readOptions(options, collectOptions, 'collect');
  const {store} = readOptions({store: given}, {store: storeOption}, 'collect');
  requireValue(to, text, 'collect: the file');
  const ending = path.extname(to);
  if (ending !== '.jsonl' && ending !== '.csv' && ending !== '.parquet')
    throw new OptionError('bad-ending', `collect writes .jsonl, .csv and .parquet, not ${to}.`);
  await store.requireThere();
  return writeWhole(to, async file => {
    const rows = rowsOf(store, versions);
    if (ending === '.jsonl') return writeJsonLines(rows, file);
    const table = await tableOf(rows);
    await (ending === '.csv' ? writeCsv(table, file) : writeParquet(table, file));
    return table.rows;
  });
}

type Rows = AsyncGenerator<Row, void>;

async function* rowsOf(store: Store, versions: readonly string[] | undefined): Rows {
  for await (const row of store.rows()) if (versions?.includes(row.task.version) !== false) yield row;
}

async function writeJsonLines(rows: Rows, file: string): Promise<number> {
  let count = 0;
  const lines = async function* (): AsyncGenerator<string, void> {
    for await (const row of rows) {
      count++;
      yield `${canonical(row, 'A row')}\n`;
    }
  };
  await pipeline(Readable.from(lines()), createWriteStream(file));
  return count;
}

/** Values by column; what a row lacks is undefined. */
interface Table {
  readonly rows: number;
  readonly columns: readonly {readonly name: string; readonly values: readonly (number | string | undefined)[]}[];
}

/** @throws DataError 'several-versions' */
async function tableOf(rows: Rows): Promise<Table> {
  const columns = new Map<string, (number | string | undefined)[]>([['name', []]]);
  const versions = new Map<string, Map<string, number>>();
  let count = 0;
  for await (const row of rows) {
    const {name, version} = row.task;
    const known = versions.get(name) ?? new Map<string, number>();
    versions.set(name, known.set(version, (known.get(version) ?? 0) + 1));
    for (const [column, value] of valuesOf(row).set('name', row.name)) {
      let values = columns.get(column);
      if (values === undefined) columns.set(column, (values = new Array<undefined>(count).fill(undefined)));
      values.push(value);
    }
    count++;
    for (const values of columns.values()) if (values.length < count) values.push(undefined);
  }
  for (const [task, found] of versions) if (found.size > 1) throw severalVersions(task, found);
  const sorted = [...columns].sort(([a], [b]) => byPath(a, b));
  return {rows: count, columns: sorted.map(([name, values]) => ({name, values}))};
}

function severalVersions(task: string, versions: ReadonlyMap<string, number>): DataError {
  const counts = [...versions].map(([version, count]) => `${version} (${count})`).join(', ');
  return new DataError(
    'several-versions',
    `The store has results of ${versions.size} versions of the task '${task}': ${counts}. `
      + 'Choose with versions (--versions on the command line), or remove the others with prune.',
    {task, versions: Object.fromEntries(versions)},
  );
}

const isText = ({values}: Table['columns'][number]): boolean => values.some(value => typeof value === 'string');

async function writeCsv({rows, columns}: Table, file: string): Promise<void> {
  const kept = columns.filter(({values}) => values.some(value => typeof value === 'number'));
  const lines = function* (): Generator<string, void> {
    yield csvLine(kept.map(({name}) => name));
    for (let i = 0; i < rows; i++)
      yield csvLine(kept.map(({values}) => (typeof values[i] === 'number' ? (values[i] as number) : '')));
  };
  await pipeline(Readable.from(lines()), createWriteStream(file));
}

/** A column has numbers where all of its values are numbers, else texts. */
async function writeParquet({columns}: Table, file: string): Promise<void> {
  const {parquetWriteFile} = await import('hyparquet-writer');
  parquetWriteFile({
    filename: file,
    columnData: columns.map(column => {
      const texts = isText(column);
      const data = column.values.map(value => (value === undefined ? null : texts ? String(value) : value));
      return {name: column.name, data, type: texts ? 'STRING' : 'DOUBLE'} as const;
    }),
  });
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

/**
 * From an object to its entry: '.k', or '["k.0"]' where the name could be read as a path, or loses blanks at its ends.
 */
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
