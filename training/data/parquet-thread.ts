/**
 * The thread in which hyparquet reads, and the watch over it. The thread's program is a text, so that it needs no file
 * of its own in a bundle. Its heap is limited by V8, which ends it with an event; buffers lie outside the heap, so the
 * process is looked at while it runs. Where there are no threads, or hyparquet has become a part of a
 * bundle, it reads here, after the same checks of what the file states, but cannot be ended.
 */
import type * as Hyparquet from 'hyparquet';
import {builtin, nodeThreads} from '../../lib/builtin.js';
import type {Budget} from './limits.js';

export type ParquetAnswer =
  | {
      readonly kind: 'read';
      readonly names: readonly string[];
      readonly rows: number;
      readonly cells: ReadonlyMap<string, ArrayLike<unknown>>;
      /** Counts per second of columns of instants and times of day, which are whole counts. */
      readonly perSecond: ReadonlyMap<string, number>;
      /** Columns of whole numbers that have no other type. */
      readonly plain: readonly string[];
      /** Arrow's schema, in base64, if the file has it. */
      readonly arrow?: string;
    }
  | {readonly kind: 'failed'; readonly message: string}
  | {readonly kind: 'too-large'; readonly limit: 'rows' | 'columns' | 'memory'; readonly message: string};

interface Limits {
  readonly rows: number;
  readonly columns: number;
  readonly memory: number;
}

/** Between looks at the memory, in ms: a thread fills less than 0.1 GB in it. */
const LOOK = 20;

/** @throws DataError 'table-limit' where the time or the memory is used up */
export async function readParquet(
  bytes: Uint8Array,
  columns: readonly string[] | undefined,
  budget: Budget,
): Promise<ParquetAnswer> {
  const limits: Limits = {rows: budget.limit('rows'), columns: budget.limit('columns'), memory: budget.limit('memory')};
  const library = libraryFile();
  // A view may be of a larger buffer, and this one is given away.
  const {buffer} = bytes.slice();
  if (nodeThreads === undefined || library === undefined)
    return read(await import('hyparquet'), buffer, columns, limits);
  const program = `const {workerData: {library, buffer, columns, limits}, parentPort} = require('node:worker_threads');
const __name = one => one; // which esbuild writes around functions where names are kept
const read = ${read.toString()};
import(library)
  .then(parquet => read(parquet, buffer, columns, limits))
  .catch(error => ({kind: 'failed', message: String(error)}))
  .then(answer => parentPort.postMessage(answer));`;
  const megabytes = Math.min(limits.memory / 2 ** 20, 2 ** 16);
  const worker = new nodeThreads.Worker(program, {
    eval: true,
    execArgv: [],
    stderr: true,
    workerData: {library, buffer, columns, limits},
    transferList: [buffer],
    resourceLimits: {maxOldGenerationSizeMb: Math.max(32, megabytes), maxYoungGenerationSizeMb: 32},
  });
  const before = process.memoryUsage.rss();
  let [watch, deadline]: (ReturnType<typeof setTimeout> | undefined)[] = [];
  try {
    return await new Promise<ParquetAnswer>((resolve, reject) => {
      const full = (): void =>
        reject(budget.exceeded('memory', `reading it takes more than ${limits.memory} bytes of memory`));
      watch = setInterval(() => {
        if (process.memoryUsage.rss() - before > limits.memory + bytes.length) full();
      }, LOOK);
      // setTimeout counts milliseconds in 31 bits.
      deadline = setTimeout(
        () => reject(budget.overtime(bytes.length)),
        Math.min(1000 * budget.seconds(bytes.length), 2 ** 31 - 1),
      );
      worker.once('message', resolve);
      worker.once('error', (error: Error & {code?: string}) =>
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? full() : resolve({kind: 'failed', message: error.message}),
      );
      worker.once('exit', () => resolve({kind: 'failed', message: 'its reader ended without an answer'}));
    });
  } finally {
    clearInterval(watch);
    clearTimeout(deadline);
    await worker.terminate();
  }
}

/** The file of hyparquet, for a thread; undefined in a bundle that holds it. */
function libraryFile(): string | undefined {
  try {
    const path = builtin?.('node:module')
      .createRequire(import.meta.url)
      .resolve('hyparquet');
    return path === undefined ? undefined : builtin?.('node:url').pathToFileURL(path).href;
  } catch {
    return undefined;
  }
}

/** Complete in itself: the thread gets it as text. */
async function read(
  parquet: typeof Hyparquet,
  buffer: ArrayBuffer,
  columns: readonly string[] | undefined,
  limits: Limits,
): Promise<ParquetAnswer> {
  try {
    const metadata = parquet.parquetMetadata(buffer);
    const elements = parquet.parquetSchema(metadata).children.map(({element}) => element);
    const names = elements.map(element => element.name);
    const rows = Number(metadata.num_rows);
    const wanted = names.filter(name => columns?.includes(name) ?? true);
    const stated = metadata.row_groups.reduce((sum, group) => sum + Number(group.num_rows), 0);
    if (!(rows >= 0) || stated !== rows)
      return {kind: 'failed', message: `its metadata declare ${rows} rows in total and ${stated} in its parts`};
    if (rows > limits.rows)
      return {
        kind: 'too-large',
        limit: 'rows',
        message: `it declares ${rows} rows, but at most ${limits.rows} are allowed`,
      };
    if (names.length > limits.columns)
      return {
        kind: 'too-large',
        limit: 'columns',
        message: `it has ${names.length} columns, but at most ${limits.columns} are allowed`,
      };
    if (8 * rows * wanted.length > limits.memory)
      return {
        kind: 'too-large',
        limit: 'memory',
        message: `its ${rows} rows of ${wanted.length} columns take more than ${limits.memory} bytes of memory`,
      };
    const cells = new Map<string, unknown[]>(wanted.map(name => [name, []]));
    const perSecond = new Map<string, number>();
    for (const {name, type, converted_type: older, logical_type: newer} of elements) {
      if (type === 'INT96' && older === undefined) perSecond.set(name, 1e9);
      else if (older === 'TIMESTAMP_MILLIS' || older === 'TIME_MILLIS') perSecond.set(name, 1e3);
      else if (older === 'TIMESTAMP_MICROS' || older === 'TIME_MICROS') perSecond.set(name, 1e6);
      else if (newer?.type === 'TIMESTAMP' || newer?.type === 'TIME')
        perSecond.set(name, {MILLIS: 1e3, MICROS: 1e6, NANOS: 1e9}[newer.unit]);
    }
    const plain = elements
      .filter(({type, converted_type: older, logical_type: newer}) => type === 'INT64' && !older && !newer)
      .map(({name}) => name);
    const arrow = metadata.key_value_metadata?.find(({key}) => key === 'ARROW:schema')?.value;
    const answer = {kind: 'read', names, rows, cells, perSecond, plain, arrow} as const;
    if (rows === 0 || wanted.length === 0) return answer;
    let excess = false;
    await parquet.parquetRead({
      file: buffer,
      metadata,
      columns: wanted,
      // Its own parsers make Dates, which have whole milliseconds.
      parsers: {
        timestampFromMilliseconds: (count: bigint) => count,
        timestampFromMicroseconds: (count: bigint) => count,
        timestampFromNanoseconds: (count: bigint) => count,
        dateFromDays: (days: number) => 86400 * days,
      },
      onChunk({columnName, columnData, rowStart, rowEnd}) {
        const column = cells.get(columnName);
        if (column === undefined || rowEnd > rows) excess = true;
        else for (let i = rowStart; i < rowEnd; i++) column[i] = columnData[i - rowStart];
      },
    });
    for (const column of cells.values())
      if (excess || column.length !== rows)
        return {kind: 'failed', message: `its columns do not have the ${rows} rows that it declares`};
    return answer;
  } catch (error) {
    return {kind: 'failed', message: error instanceof Error ? error.message : String(error)};
  }
}
