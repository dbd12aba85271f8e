/**
 * Reads a table of measurements, CSV or TSV, row by row through the streaming parser `csv-parse`
 * (quotes, comments, byte order marks, either line end); NPZ, NPY and Parquet by readers of
 * their own. Numbers become
 * Float64Arrays. A bad row is an error that names its line in the file, its column and its text. The
 * parser is loaded at the call, and Node's file system is no import, so that the module can be imported in a browser.
 */
import type {Options as ParserOptions} from 'csv-parse';
import {builtin} from '../../lib/builtin.js';
import {DataError, OptionError} from '../../lib/errors.js';
import {Column, type ReadColumn} from './column.js';
import {positiveInteger, optional, readOptions, refuseUnknownOptions, shown, type Options} from '../../lib/checks.js';
import {excerpt} from './excerpt.js';
import {Budget} from './limits.js';
import {arrayColumns, isArrayFile} from './npz.js';
import {isParquet, parquetColumns} from './parquet.js';
import {tableOptions, type TableOptions} from './table-options.js';
import {allBytes, beginning, chunksOf, following, nameOf, textOf, type TableSource} from './table-source.js';
import {chosenNames, malformed, missingColumn, notNumbers, unnamed, wrongLength} from './table-errors.js';

/** Columns of numbers by name; made by `readTable`. */
export interface Table {
  /** The header, trimmed, in the file's order. */
  readonly columns: readonly string[];
  /** Number of rows of data, without the header. */
  readonly rows: number;
  /** The numbers of a column, [rows]; DataError where it does not exist or holds text. */
  column(name: string): Float64Array;
  /** A column as text, [rows]; numbers in their shortest form. */
  text(name: string): string[];
  has(name: string): boolean;
}

const chunkOptions = {
  ...tableOptions,
  /** Rows of each chunk; the last one may have fewer. Default 65536: half a MB per column. */
  rows: optional(positiveInteger, 65536),
};

/** Options of `readTable.chunks`. @interface */
export type ChunkOptions = Options<typeof chunkOptions>;

/**
 * Reads a CSV or TSV file with a header line. Blank lines and comment lines are skipped, fields are
 * trimmed; a column without a name and without content (a delimiter at the end of every line) is
 * dropped. An NPZ or NPY file gives a column for each array [rows], and for each of [rows, k] the
 * columns 'name[0]' … 'name[k−1]'; a Parquet file its flat columns. Throws DataError with `data.file` and, for a row,
 * `data.line` (from 1, counted in the file), `data.column` and `data.text`.
 */
export async function readTable(source: TableSource, options: TableOptions = {}): Promise<Table> {
  refuseUnknownOptions(options, tableOptions, 'readTable');
  const path = nameOf(source, 'readTable');
  const budget = new Budget(path, options.limits);
  const chunks = chunksOf(source, budget);
  const start = await beginning(path, chunks);
  if ((options.skip ?? 0) > 0 && (isArrayFile(start) || isParquet(start)))
    throw new OptionError('bad-option', `readTable: skip leaves out lines of a text, but ${path} is not a text file.`, {
      option: 'skip',
    });
  if (isArrayFile(start)) {
    const {rows, columns} = arrayColumns(await allBytes(start, chunks), budget, options);
    return tableOf(path, columns, rows);
  }
  if (isParquet(start)) {
    const {rows, columns} = await parquetColumns(await allBytes(start, chunks), budget, options);
    return tableOf(path, columns, rows);
  }
  const builder = new TableBuilder(path, options, budget);
  for await (const {record, line} of rowsOf(path, start, chunks, options, budget)) builder.push(record, line);
  return builder.finish();
}

/**
 * Reads the same files as consecutive tables of `rows` rows each, for files larger than the memory. Not for NPZ
 * files, which store their arrays one after another.
 */
readTable.chunks = async function* (source: TableSource, options: ChunkOptions = {}): AsyncGenerator<Table, void> {
  const {rows} = readOptions(options, chunkOptions, 'readTable.chunks');
  const path = nameOf(source, 'readTable.chunks');
  const budget = new Budget(
    path,
    {bytes: Infinity, rows: Infinity, seconds: Infinity, ...options.limits},
    'readTable.chunks',
  );
  const chunks = chunksOf(source, budget);
  const start = await beginning(path, chunks);
  if (isArrayFile(start) || isParquet(start))
    throw new DataError(
      'table-binary',
      `${path} is not a text file: readTable.chunks reads CSV and TSV; use readTable for this one.`,
      {file: path},
    );
  const builder = new TableBuilder(path, options, budget);
  for await (const {record, line} of rowsOf(path, start, chunks, options, budget)) {
    builder.push(record, line);
    if (builder.size === rows) yield builder.take();
  }
  const rest = builder.finish();
  if (rest.rows > 0) yield rest;
};

async function* rowsOf(
  path: string,
  begin: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
  options: TableOptions,
  budget: Budget,
): AsyncGenerator<TextRecord> {
  const {comment = '#', decimal = '.', skip = 0} = options;
  const chunks = textOf(begin, rest, skip);
  let start = (await chunks.next()).value ?? '';
  if (skip > 0) start += (await chunks.next()).value ?? '';
  const delimiter = options.delimiter ?? delimiterOf(start, comment, decimal);
  if (options.delimiter === decimal) {
    throw new OptionError('bad-option', `readTable: '${decimal}' cannot be both the delimiter and the decimal point.`, {
      option: 'decimal',
    });
  }
  yield* records(path, following(start, chunks), {delimiter, comment}, budget);
}

interface TextRecord {
  readonly record: readonly string[];
  readonly line: number;
}

async function* records(
  path: string,
  chunks: AsyncIterable<string>,
  dialect: Pick<ParserOptions, 'delimiter' | 'comment'>,
  budget: Budget,
): AsyncGenerator<TextRecord> {
  const blanks = dialect.delimiter === ' ';
  const options: ParserOptions = {
    ...dialect,
    ...(blanks ? {delimiter: [' ', '\t']} : {}),
    comment_no_infix: true, // a '#' inside a field is not a comment
    trim: true,
    skip_empty_lines: true,
    relax_column_count: true, // the length of a row is checked here, with the columns' names at hand
    info: true,
    max_record_size: Number.isFinite(budget.limit('record')) ? budget.limit('record') : 0, // 0 is none
  };
  try {
    const parsed = builtin === undefined ? parsedWhole(chunks, options) : parsedStream(chunks, options, builtin);
    for await (const {record, info} of parsed) {
      yield {record: blanks ? record.filter(field => field !== '') : record, line: info.lines - lineEnds(record)};
    }
  } catch (cause) {
    if ((cause as {code?: string}).code === 'CSV_MAX_RECORD_SIZE') {
      const {lines} = cause as {lines?: number};
      throw budget.exceeded(
        'record',
        `the row in line ${lines ?? 1} has more than ${budget.limit('record')} characters: look for a quote that is `
          + 'opened and never closed',
        {line: lines},
      );
    }
    throw cause instanceof DataError ? cause : malformed(path, cause);
  }
}

type Parsed = AsyncIterable<{record: string[]; info: {lines: number}}>;

async function* parsedStream(
  chunks: AsyncIterable<string>,
  options: ParserOptions,
  node: NonNullable<typeof builtin>,
): Parsed {
  const {parse} = await import('csv-parse');
  const {Readable, pipeline} = node('node:stream');
  const parser = parse(options);
  // The reader sees the parser fail, as an exception of its iteration: the callback has nothing to add.
  pipeline(Readable.from(chunks), parser, () => {});
  yield* parser as Parsed;
}

/** Without Node's streams, in a page: what a reader chose there lies in the memory already. */
async function* parsedWhole(chunks: AsyncIterable<string>, options: ParserOptions): Parsed {
  const {parse} = await import('csv-parse/browser/esm/sync');
  const parts: string[] = [];
  for await (const part of chunks) parts.push(part);
  yield* parse(parts.join(''), options as object) as unknown as Iterable<
    Parsed extends AsyncIterable<infer Row> ? Row : never
  >;
}

/** Line ends inside quoted fields: the parser counts to the record's last line, a reader looks for its first. */
function lineEnds(record: readonly string[]): number {
  let count = 0;
  for (const field of record) if (field.includes('\n')) count += field.split('\n').length - 1;
  return count;
}

const isNumber = (cell: string): boolean => cell !== '' && Number.isFinite(Number(cell.replace(',', '.')));

/** The delimiter of the first line that is neither blank nor a comment; see `TableOptions.delimiter`. */
function delimiterOf(text: string, comment: string, decimal: '.' | ','): string {
  const lines = text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\r|\n/)
    .filter(line => line.trim() !== '' && !(comment !== '' && line.startsWith(comment)));
  const [header = '', below = ''] = lines.map(line => line.replace(/"[^"]*"/g, ''));
  // Decimal commas within quotes leave the comma to stand between fields.
  const commas = (line: string): number => line.split(',').length - 1;
  const quoted = decimal === ',' && /"[^"]*,[^"]*"/.test(lines[1] ?? '') && !/[\t;]/.test(header);
  if (quoted && commas(header) > 0 && commas(header) === commas(below)) return ',';
  const usual = ['\t', ';', ','].find(delimiter => delimiter !== decimal && header.includes(delimiter));
  if (usual !== undefined) return usual;
  const numbers = below.trim().split(/\s+/);
  const words = header.trim().split(/\s+/).length;
  if (words > 1 && numbers.length === words && numbers.every(isNumber)) return ' ';
  return decimal === ',' ? ';' : ',';
}

class TableBuilder {
  private columns: Column[] = [];
  private headerLine = 0;
  private rows = 0;
  /** Number of rows that were taken already. */
  private taken = 0;
  private readonly textNames: ReadonlySet<string>;
  /** The row before which the memory is looked at again. */
  private nextCheck = 0;

  constructor(
    private readonly file: string,
    private readonly options: TableOptions,
    private readonly budget: Budget,
  ) {
    this.textNames = new Set(options.text);
  }

  push(record: readonly string[], line: number): void {
    if (this.headerLine === 0 && this.options.header === false) this.nameColumns(record, line);
    else if (this.headerLine === 0) this.begin(record, line);
    else this.pushRow(record, line);
  }

  /** Rows since the last `take`. */
  get size(): number {
    return this.rows - this.taken;
  }

  /** The rows so far, which are then forgotten; the columns keep their kind. */
  take(): Table {
    const rows = this.size;
    this.taken = this.rows;
    return tableOf(
      this.file,
      this.wanted.map(column => column.take()),
      rows,
    );
  }

  finish(): Table {
    const {file, rows, headerLine} = this;
    const {skip = 0} = this.options;
    if (headerLine === 0)
      throw new DataError(
        'table-empty',
        `${file} has no header line${skip > 0 ? ` after the first ${skip}, which skip leaves out` : ''}, only comments `
          + 'or blank lines.',
        {file},
      );
    if (rows === 0)
      throw new DataError('table-empty', `${file} has a header (line ${headerLine}) but no rows.`, {
        file,
        line: headerLine,
      });
    return this.take();
  }

  private get wanted(): Column[] {
    return this.columns.filter(column => column.kind !== 'ignored' && !(column.name === '' && column.isBlank));
  }

  /** Names the columns of a file without a header, of which none is left out. */
  private nameColumns(first: readonly string[], line: number): void {
    const {columns = first.map((_, i) => `c${i}`)} = this.options;
    if (columns.length !== first.length) {
      throw new OptionError(
        'bad-option',
        `readTable: columns names ${columns.length}, but line ${line} of ${this.file} has ${first.length} cells: `
          + 'without a header every column needs a name.',
        {option: 'columns'},
      );
    }
    this.begin(columns, line);
    this.pushRow(first, line);
  }

  private begin(header: readonly string[], line: number): void {
    this.headerLine = line;
    const {file} = this;
    const names = header.map(name => name.trim());
    this.budget.require('columns', names.length, `the header in line ${line} has`);
    if (this.options.header === undefined && names.every(isNumber)) {
      throw new DataError(
        'table-header',
        `${file}, line ${line}: the header is a row of numbers (${shown(names.slice(0, 3).join(', '))}), which would `
          + 'be lost as names. Read it with {header: false}, with columns: [...] to name them; or with {header: true} '
          + 'if these are the names.',
        {file, line},
      );
    }
    const wanted = chosenNames(file, names, this.options, line);
    const {missing = 'error', decimal} = this.options;
    const kind = (name: string): 'text' | 'undecided' | 'ignored' =>
      !wanted.has(name) ? 'ignored' : this.textNames.has(name) ? 'text' : 'undecided';
    this.columns = names.map(name => new Column(name, kind(name), missing === 'nan', decimal));
  }

  private pushRow(record: readonly string[], line: number): void {
    const {file, columns} = this;
    if (record.length !== columns.length) throw wrongLength(file, line, record, columns);
    if (this.rows >= this.nextCheck) this.checkSize();
    this.rows++;
    columns.forEach((column, i) => {
      if (column.name === '' && record[i] !== '' && column.kind !== 'ignored') throw unnamed(file, line, i, record[i]);
      const bad = column.push(record[i], line);
      if (bad === undefined) return;
      const because =
        bad.line === line && line !== column.decidedAt
          ? ` (the column holds numbers since line ${column.decidedAt})`
          : '';
      throw new DataError(
        'table-cell',
        `${file}, line ${bad.line}, column '${excerpt(column.name)}': '${excerpt(bad.text)}' ${bad.what}${because}. `
          + `${bad.remedy}`,
        {
          file,
          line: bad.line,
          column: column.name,
          text: excerpt(bad.text, 1000),
        },
      );
    });
  }

  /** Every 8 Ki cells: what they can add between is small beside the budget. */
  private checkSize(): void {
    const {budget, columns, rows} = this;
    budget.require('rows', rows + 1, 'the table has at least');
    budget.require(
      'memory',
      columns.reduce((sum, column) => sum + column.bytes, 0),
      'the table takes',
    );
    this.nextCheck = Math.min(rows + Math.max(1, Math.floor(2 ** 13 / columns.length)), budget.limit('rows'));
  }
}

function tableOf(file: string, columns: readonly ReadColumn[], rows: number): Table {
  const names = columns.map(column => column.name);
  const byName = new Map(columns.map(column => [column.name, column]));
  const numbers = new Map<string, Float64Array>();
  const find = (name: string): ReadColumn => {
    const column = byName.get(name);
    if (column === undefined) throw missingColumn(file, name, names);
    return column;
  };
  return {
    columns: names,
    rows,
    has: name => byName.has(name),
    column(name) {
      const column = find(name);
      if (column.kind !== 'number') throw notNumbers(file, column);
      const values = numbers.get(name) ?? column.values;
      numbers.set(name, values);
      return values;
    },
    text(name) {
      const column = find(name);
      return column.kind === 'number' ? Array.from(column.values, String) : [...column.text];
    },
  };
}
