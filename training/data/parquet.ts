/**
 * Parquet files, by the reader `hyparquet`, which is plain JavaScript without dependencies; loaded at the call.
 * Flat columns only: numbers of any size, truth values as 0 and 1, dates as seconds since 1970, text.
 */
import { DataError } from '../../lib/errors.js';
import type { ReadColumn } from './column.js';
import { missingColumn } from './table-errors.js';
import type { TableOptions } from './table.js';

const magic = [0x50, 0x41, 0x52, 0x31];

export const isParquet = (start: Uint8Array): boolean => magic.every((byte, i) => start[i] === byte);

/** @throws DataError 'parquet-malformed', 'table-column', 'table-cell' with the row, from 1 */
export async function parquetColumns(bytes: Uint8Array, file: string, { columns, text = [], missing = 'error' }: TableOptions): Promise<{ rows: number; columns: ReadColumn[] }> {
  const { parquetMetadata, parquetReadObjects, parquetSchema } = await import('hyparquet');
  const buffer = bytes.slice().buffer;
  const read = async (): Promise<{ names: string[]; rows: Record<string, unknown>[] }> => {
    const names = parquetSchema(parquetMetadata(buffer)).children.map(({ element }) => element.name);
    for (const name of [...(columns ?? []), ...text]) if (!names.includes(name)) throw missingColumn(file, name, names);
    const wanted = names.filter((name) => columns?.includes(name) ?? true);
    return { names: wanted, rows: await parquetReadObjects({ file: buffer, columns: wanted }) };
  };
  const { names, rows } = await read().catch((cause: unknown) => {
    if (cause instanceof DataError) throw cause;
    throw new DataError('parquet-malformed', `${file} cannot be read as Parquet: ${cause instanceof Error ? cause.message : String(cause)}.`, { file, cause });
  });
  if (rows.length === 0) throw new DataError('table-empty', `${file} has no rows.`, { file });
  return { rows: rows.length, columns: names.map((name) => columnOf(name, rows.map((row) => row[name]), file, text.includes(name), missing === 'nan')) };
}

function columnOf(name: string, cells: readonly unknown[], file: string, asText: boolean, lenient: boolean): ReadColumn {
  const first = cells.findIndex((cell) => cell !== null && cell !== undefined);
  const column = { name, decidedAt: first + 1, isBlank: first < 0 };
  if (asText || typeof cells[first] === 'string') return { ...column, kind: 'text', values: new Float64Array(), text: cells.map((cell) => (cell === null || cell === undefined ? '' : textOf(cell))) };
  const values = Float64Array.from(cells, (cell, i) => {
    const value = numberOf(cell);
    if (Number.isFinite(value) || (lenient && Number.isNaN(value))) return value;
    const what = cell === null || cell === undefined ? 'is empty where a number is needed' : `is ${typeof cell === 'object' ? 'no single number' : textOf(cell)}, not a finite number`;
    throw new DataError('table-cell', `${file}, row ${i + 1}, column '${name}' ${what}. Remove the row, fill the gap, or read it as NaN with missing: 'nan'.`, { file, row: i + 1, column: name });
  });
  return { ...column, kind: 'number', values, text: [] };
}

function numberOf(cell: unknown): number {
  if (cell instanceof Date) return cell.getTime() / 1000;
  return typeof cell === 'number' || typeof cell === 'bigint' || typeof cell === 'boolean' ? Number(cell) : NaN;
}

function textOf(cell: unknown): string {
  if (typeof cell === 'string') return cell;
  if (typeof cell === 'number' || typeof cell === 'bigint' || typeof cell === 'boolean') return String(cell);
  return cell === undefined ? '' : JSON.stringify(cell);
}
