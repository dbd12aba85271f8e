/** Errors of tables, each a sentence with its place: file, line, column. */
import {DataError} from '../../lib/errors.js';
import {isNumeral, otherDecimal, type ReadColumn} from './column.js';
import {excerpt} from './excerpt.js';
import type {TableOptions} from './table-options.js';
import {nearestName} from '../../lib/checks.js';
import {listed} from '../../lib/text.js';

export function wrongLength(
  file: string,
  line: number,
  record: readonly string[],
  columns: readonly {readonly name: string}[],
): DataError {
  const few = record.length < columns.length;
  const place = few
    ? `'${excerpt(columns[record.length].name) || `number ${record.length + 1}`}' is the first without a value`
    : `'${excerpt(record[columns.length])}' is the first without a column`;
  // A delimiter at the end of the header alone names a column that no row has.
  const surplus = few && record.length === columns.length - 1 && columns[record.length].name === '';
  // Names below a shorter line: what an instrument writes above the table was taken for the header.
  const named = !few && record.every(field => field.trim() !== '' && !isNumeral(field));
  const remedy = surplus
    ? 'Remove the delimiter at the end of the header, or complete the row.'
    : named
      ? `If that is the header, leave out the lines above it with skip: ${line - 1}.`
      : 'Complete it or remove it.';
  const shown = excerpt(
    record
      .slice(0, 100)
      .map(field => excerpt(field))
      .join(' | '),
  ); // a sentence, not a dump
  const text = excerpt(record.slice(0, 1000).join(' | '), 1000);
  return new DataError(
    'table-row',
    `${file}, line ${line}: ${record.length} ${record.length === 1 ? 'field' : 'fields'}, but the header has `
      + `${columns.length}; ${surplus ? 'the last name in the header is empty' : place}. The row reads: ${shown}. `
      + `${remedy}`,
    {
      file,
      line,
      column: few ? columns[record.length].name : undefined,
      text,
      fields: record.length,
      expected: columns.length,
    },
  );
}

export function unnamed(file: string, line: number, index: number, text: string): DataError {
  return new DataError(
    'table-header',
    `${file}, line ${line}: field ${index + 1} ('${excerpt(text)}') has no name in the header. Name the column or `
      + 'remove its values.',
    {
      file,
      line,
      column: '',
      index,
      text: excerpt(text, 1000),
    },
  );
}

export function notNumbers(file: string, column: ReadColumn): DataError {
  const first = column.text.find(word => word !== '') ?? '';
  const where = column.isBlank ? 'is empty' : `holds text (line ${column.decidedAt}: '${excerpt(first)}')`;
  const below = column.text.slice(column.text.indexOf(first) + 1).filter(word => word !== '');
  const remedy =
    otherDecimal(first)?.remedy
    ?? (below.length > 0 && below.every(isNumeral)
      ? 'Below it there are only numbers: if that line is a second header, for example of units, begin it with # to '
        + 'make it a comment, or remove it.'
      : `Read it with text('${excerpt(column.name)}').`);
  return new DataError('table-text', `${file}: column '${excerpt(column.name)}' ${where}, not numbers. ${remedy}`, {
    file,
    column: column.name,
    ...(column.isBlank ? {} : {line: column.decidedAt}),
  });
}

/** A longer name than this is not a misspelt one, and comparing two takes the product of their lengths. */
const LONGEST_NAME = 100;

/** Columns that a sentence lists: whoever mistyped one looks for it among them. */
const MOST_COLUMNS = 20;

export function missingColumn(file: string, name: string, columns: readonly string[]): DataError {
  const nearest = nearestName(
    name,
    columns.filter(known => known.length <= LONGEST_NAME),
  );
  const hint = nearest === undefined ? '' : ` Did you mean '${nearest}'?`;
  return new DataError(
    'table-column',
    `${file} has no column '${excerpt(name)}'.${hint} It has: ${listed(
      columns.filter(known => known !== '').map(known => excerpt(known)),
      MOST_COLUMNS,
    )}.`,
    {
      file,
      column: name,
      columns,
      nearest,
    },
  );
}

/**
 * The names of the columns that are read.
 * @param line of the header, in a text file
 * @param every all names of the file, for the sentence about one that is missing
 * @throws DataError 'table-header' where two columns have one name; 'table-column' where a wanted one is missing
 */
export function chosenNames(
  file: string,
  names: readonly string[],
  {columns, text = []}: TableOptions,
  line?: number,
  every: () => readonly string[] = () => names,
): Set<string> {
  const known = new Set<string>();
  for (const name of names) {
    if (known.has(name) && name !== '') {
      const place = line === undefined ? '' : `, line ${line}`;
      const sentence = `two columns are named '${excerpt(name)}'. Rename one of them.`;
      throw new DataError('table-header', `${file}${place}: ${sentence}`, {file, line, column: name, columns: names});
    }
    known.add(name);
  }
  for (const name of [...(columns ?? []), ...text]) if (!known.has(name)) throw missingColumn(file, name, every());
  if (columns === undefined) return known;
  const wanted = new Set(columns);
  return new Set(names.filter(name => wanted.has(name)));
}

export function malformed(file: string, cause: unknown): DataError {
  const {message = String(cause), lines} = cause as {message?: string; lines?: number};
  const open = (cause as {code?: string}).code === 'CSV_QUOTE_NOT_CLOSED';
  const what = open
    ? 'a quote is opened and never closed: look for a stray " in the rows before'
    : excerpt(message, 300);
  return new DataError('table-malformed', `${file}${lines === undefined ? '' : `, line ${lines}`}: ${what}.`, {
    file,
    line: lines,
    cause,
  });
}

export function unreadable(file: string, cause: unknown): DataError {
  const {code = 'unknown', message = String(cause)} = cause as {code?: string; message?: string};
  const why: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file. A relative path starts at the folder the program was started in',
    EISDIR: 'it is a folder, not a file',
    EACCES: 'it cannot be opened for reading: check its permissions',
  };
  return new DataError('table-unreadable', `${file} cannot be read: ${why[code] ?? message}.`, {file, cause: code});
}
