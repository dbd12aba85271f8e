/**
 * Parquet files, by the reader `hyparquet`, which is plain JavaScript without dependencies; loaded at the call.
 * Flat columns only: numbers of any size, truth values as 0 and 1, dates and timestamps as seconds since 1970, times of
 * day as seconds since midnight, durations as seconds where Arrow's schema tells their unit, text. It trusts what a
 * file states, so that a changed byte may loop for ever or fill the memory: therefore it runs in a thread, which is
 * ended when its time or memory is used up.
 */
import {DataError} from '../../lib/errors.js';
import {arrowDurations} from './arrow-durations.js';
import {notFinite, type CellComplaint, type ReadColumn} from './column.js';
import {excerpt} from './excerpt.js';
import type {Budget} from './limits.js';
import {readParquet} from './parquet-thread.js';
import {chosenNames} from './table-errors.js';
import type {TableOptions} from './table-options.js';

const magic = [0x50, 0x41, 0x52, 0x31];

export const isParquet = (start: Uint8Array): boolean => magic.every((byte, i) => start[i] === byte);

/** @throws DataError 'parquet-malformed', 'table-limit', 'table-column', 'table-cell' with the row, from 1 */
export async function parquetColumns(
  bytes: Uint8Array,
  budget: Budget,
  options: TableOptions,
): Promise<{rows: number; columns: ReadColumn[]}> {
  const {file} = budget;
  const {columns, text = [], missing = 'error'} = options;
  const answer = await readParquet(bytes, columns, budget);
  if (answer.kind === 'failed')
    throw new DataError('parquet-malformed', `${file} cannot be read as Parquet: ${excerpt(answer.message, 300)}.`, {
      file,
      cause: answer.message,
    });
  if (answer.kind === 'too-large')
    throw new DataError(
      'table-limit',
      `${file}: ${answer.message}. If the file is correct, raise limits: {${answer.limit}}.`,
      {file, limit: answer.limit},
    );
  const {rows, names, cells, plain, arrow = ''} = answer;
  const durations = [...arrowDurations(arrow)].filter(([name]) => plain.includes(name));
  const perSecond = new Map([...answer.perSecond, ...durations]);
  const chosen = chosenNames(file, names, options);
  if (rows === 0) throw new DataError('table-empty', `${file} has no rows.`, {file});
  return {
    rows,
    columns: [...chosen].map(name =>
      columnOf(name, cells.get(name) ?? [], perSecond.get(name), file, text.includes(name), missing === 'nan'),
    ),
  };
}

function columnOf(
  name: string,
  cells: ArrayLike<unknown>,
  perSecond: number | undefined,
  file: string,
  asText: boolean,
  lenient: boolean,
): ReadColumn {
  let first = 0;
  while (first < cells.length && isEmpty(cells[first])) first++;
  const column = {name, decidedAt: first < cells.length ? first + 1 : 0, isBlank: first === cells.length};
  if (asText || typeof cells[first] === 'string')
    return {
      ...column,
      kind: 'text',
      values: new Float64Array(),
      text: Array.from(cells, cell => textOf(cell, perSecond)),
    };
  const values = Float64Array.from(cells, (cell, i) => {
    const value = numberOf(cell, perSecond);
    if (value !== undefined && (Number.isFinite(value) || (lenient && Number.isNaN(value)))) return value;
    const {what, remedy} = complaint(name, cell, value);
    throw new DataError('table-cell', `${file}, row ${i + 1}, column '${excerpt(name)}' ${what}. ${remedy}`, {
      file,
      row: i + 1,
      column: name,
    });
  });
  return {...column, kind: 'number', values, text: []};
}

/**
 * Seconds where the cell is a count of parts of a second, rounded to the nearest double: whole seconds are taken apart
 * first. NaN where it is empty; undefined where it is no number, or a whole number that no double is equal to.
 */
function numberOf(cell: unknown, perSecond?: number): number | undefined {
  if (isEmpty(cell)) return NaN;
  if (typeof cell === 'bigint' && perSecond !== undefined)
    return Number(cell / BigInt(perSecond)) + Number(cell % BigInt(perSecond)) / perSecond;
  if (typeof cell === 'bigint') return BigInt(Number(cell)) === cell ? Number(cell) : undefined;
  return typeof cell === 'number' || typeof cell === 'boolean' ? Number(cell) / (perSecond ?? 1) : undefined;
}

const isEmpty = (cell: unknown): boolean => cell === null || cell === undefined;

/** @param value the cell as `numberOf` reads it */
function complaint(name: string, cell: unknown, value: number | undefined): CellComplaint {
  const asText =
    `Read it as text with text: ['${excerpt(name)}'], or leave the column out by naming the others in `
    + `\`columns\`.`;
  if (isEmpty(cell))
    return {
      what: 'is empty where a number is needed',
      remedy: "Remove the row, fill the gap, or read it as NaN with missing: 'nan'.",
    };
  if (value !== undefined) return {what: `is ${value}, not a finite number`, remedy: notFinite(value).remedy};
  if (typeof cell === 'bigint') return {what: `is ${cell}, which a double cannot represent exactly`, remedy: asText};
  return {
    what: `is ${excerpt(textOf(cell))}, not a single number`,
    remedy: `Write each of its numbers as a column of its own. ${asText}`,
  };
}

/** Seconds in all their digits where the cell is a count of parts of a second. */
function textOf(cell: unknown, perSecond = 1): string {
  if (typeof cell === 'string') return cell;
  if (isEmpty(cell)) return '';
  if (typeof cell === 'bigint' && perSecond !== 1) {
    const [size, per] = [cell < 0n ? -cell : cell, BigInt(perSecond)];
    const parts = String(per + (size % per)).slice(1);
    return `${cell < 0n ? '-' : ''}${size / per}.${parts}`.replace(/\.?0+$/, '');
  }
  if (typeof cell === 'number') return String(cell / perSecond);
  if (typeof cell === 'bigint' || typeof cell === 'boolean') return String(cell);
  return JSON.stringify(cell, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ?? '';
}
