/**
 * NumPy's files: NPY, one array (numpy.lib.format, versions 1 to 3), and NPZ, a ZIP archive of such, as np.savez and
 * np.savez_compressed write it. What a header states is held against the bytes there are and against the budget
 * before anything is allocated; of an archive only the members that are asked for are unpacked.
 */
import {DataError} from '../../lib/errors.js';
import {notFinite, type ReadColumn} from './column.js';
import {excerpt} from './excerpt.js';
import {Budget, type ReadLimits} from './limits.js';
import {chosenNames, missingColumn} from './table-errors.js';
import type {TableOptions} from './table-options.js';
import {isArchive, openArchive} from './zip.js';

/** An array of a NumPy file. */
export interface NumpyArray {
  readonly name: string;
  readonly shape: readonly number[];
  /** Row-major, whatever the order in the file. */
  readonly values: Float64Array;
}

/** Options of `numpyArrays`. */
export interface ArrayOptions {
  /** The arrays to read; the others are not unpacked. Default all. */
  readonly names?: readonly string[];
  /** Limits of reading, as for `readTable`. */
  readonly limits?: ReadLimits;
}

const npyMagic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const isArray = (bytes: Uint8Array): boolean => npyMagic.every((byte, i) => bytes[i] === byte);

export const isArrayFile = (start: Uint8Array): boolean => isArray(start) || isArchive(start);

/**
 * The arrays of an NPY file, whose array is named 'array', or of an NPZ file.
 * @throws DataError 'npz-malformed'; 'npz-integer' for an integer that a double cannot represent exactly; 'table-limit'
 */
export function numpyArrays(
  bytes: Uint8Array,
  file: string,
  {names, limits}: ArrayOptions = {},
): Promise<NumpyArray[]> {
  return new Promise(resolve =>
    resolve(readArrays(bytes, new Budget(file, limits, 'numpyArrays'), name => names?.includes(name) ?? true).arrays),
  );
}

/**
 * Arrays as the columns of a table: [rows] by its name, [rows, k] as 'name[0]' … 'name[k−1]'.
 * @throws as numpyArrays; DataError 'npz-shape', 'table-column', 'table-empty', 'table-cell' with the row, from 1
 */
export function arrayColumns(
  bytes: Uint8Array,
  budget: Budget,
  options: TableOptions,
): {rows: number; columns: ReadColumn[]} {
  const {file} = budget;
  const {columns, missing = 'error'} = options;
  const wanted =
    columns === undefined ? undefined : new Set(columns.flatMap(name => [name, name.replace(/\[\d+\]$/, '')]));
  const {arrays, names: members} = readArrays(bytes, budget, name => wanted?.has(name) ?? true);
  if (arrays.length === 0) throw missingColumn(file, columns?.[0] ?? '', everyName(bytes, budget, members));
  const rows = arrays[0].shape[0] ?? 1;
  for (const {name, shape} of arrays) {
    if (shape.length === 0 || shape.length > 2 || shape[0] !== rows) {
      throw new DataError(
        'npz-shape',
        `${file}: '${excerpt(name)}' has shape [${excerpt(shape.join(', '))}], which is not a column of ${rows} rows: `
          + 'each array of a table must be [rows] or [rows, k], with the same number of rows.',
        {file, column: name, shape},
      );
    }
  }
  const widths = arrays.map(widthOf);
  const width = widths.reduce((sum, one) => sum + one, 0);
  if (rows === 0 || width === 0)
    throw new DataError(
      'table-empty',
      `${file} has ${rows === 0 ? 'no rows' : 'no columns'}: its arrays are of shape ${arrays
        .slice(0, 4)
        .map(({shape}) => `[${shape.join(', ')}]`)
        .join(', ')}.`,
      {file},
    );
  budget.require('rows', rows, 'the table has');
  budget.require('columns', width, 'the table has');
  const all = arrays.flatMap((array, a) => columnNames(array).map((name, k) => ({name, a, k})));
  const chosen = chosenNames(
    file,
    all.map(({name}) => name),
    options,
    undefined,
    () => everyName(bytes, budget, members),
  );
  const asked = all.filter(({name}) => chosen.has(name));
  budget.require('memory', 8 * rows * asked.length, 'the table takes');
  return {
    rows,
    columns: asked.map(({name, a, k}) => {
      const values =
        widths[a] === 1
          ? arrays[a].values
          : Float64Array.from({length: rows}, (_, i) => arrays[a].values[i * widths[a] + k]);
      const row = values.findIndex(value => !(Number.isFinite(value) || (missing === 'nan' && Number.isNaN(value))));
      if (row >= 0)
        throw new DataError(
          'table-cell',
          `${file}, row ${row + 1}, column '${excerpt(name)}' is ${values[row]}, not a finite number. `
            + `${notFinite(values[row]).remedy}`,
          {file, row: row + 1, column: name},
        );
      return {name, values, kind: 'number', decidedAt: 1, isBlank: false, text: []};
    }),
  };
}

const widthOf = ({shape}: NumpyArray): number => shape[1] ?? 1;
const columnNames = (array: NumpyArray): string[] =>
  array.shape.length === 1 ? [array.name] : Array.from({length: widthOf(array)}, (_, k) => `${array.name}[${k}]`);

/** All names of columns, for an error; the arrays' own names if they cannot all be read. */
function everyName(bytes: Uint8Array, budget: Budget, members: readonly string[]): string[] {
  try {
    const {arrays} = readArrays(bytes, budget, () => true);
    return arrays.every(array => widthOf(array) <= budget.limit('columns'))
      ? arrays.flatMap(columnNames)
      : [...members];
  } catch {
    return [...members];
  }
}

/** The arrays that are asked for, and the names of all. */
function readArrays(
  bytes: Uint8Array,
  budget: Budget,
  asked: (name: string) => boolean,
): {arrays: NumpyArray[]; names: string[]} {
  const {file} = budget;
  if (isArray(bytes)) return {arrays: asked('array') ? [parseNpy(bytes, 'array', budget)] : [], names: ['array']};
  const archive = openArchive(bytes, budget);
  const members = archive.members.filter(({name}) => name.endsWith('.npy'));
  if (members.length === 0) throw malformed(file, 'the archive holds no .npy arrays');
  const names = members.map(({name}) => name.slice(0, -4));
  const wanted = members.filter((_, i) => asked(names[i]));
  archive.requireFit(wanted);
  return {arrays: wanted.map(member => parseNpy(archive.extract(member), member.name.slice(0, -4), budget)), names};
}

function parseNpy(bytes: Uint8Array, name: string, budget: Budget): NumpyArray {
  const {file} = budget;
  const called = `'${excerpt(name)}'`;
  if (!isArray(bytes) || bytes.length < 12) throw malformed(file, `${called} is not an NPY array`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6] >= 2;
  const start = wide ? 12 : 10;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  if (start + length > bytes.length) throw malformed(file, `${called} ends within its header`);
  const header = new TextDecoder().decode(bytes.subarray(start, start + length));
  const type = /'descr':\s*'([^']+)'/.exec(header)?.[1];
  const dimensions = /'shape':\s*\(([\d,\s]*)\)/.exec(header)?.[1];
  if (type === undefined || dimensions === undefined)
    throw malformed(file, `the header of ${called} cannot be parsed: ${excerpt(header.trim())}`);
  const shape = dimensions
    .split(',')
    .map(text => text.trim())
    .filter(text => text !== '')
    .map(Number);
  const read = /^[<>|=]/.test(type) ? readers.get(type.slice(1)) : undefined;
  if (read === undefined)
    throw malformed(
      file,
      `column ${called} is of type ${excerpt(type)}; only numbers of 8 to 64 bits and booleans are supported. Convert `
        + `it with .astype('f8')`,
      name,
    );
  const width = Number(type.slice(2));
  const size = shape.reduce((product, n) => product * n, 1);
  // NumPy allows 64 dimensions. An empty array's other lengths count too: a table would have as many columns.
  if (shape.length > 64 || !shape.every(n => Number.isSafeInteger(n)) || !Number.isSafeInteger(size))
    throw malformed(file, `${called} has an impossible shape (${excerpt(dimensions)})`);
  if (bytes.length < start + length + size * width)
    throw malformed(file, `${called} ends before its ${size} numbers do`);
  budget.require('memory', 8 * size, `the array ${called} takes`);
  const little = !type.startsWith('>');
  const values = new Float64Array(size);
  for (let i = 0; i < size; i++) values[i] = read(view, start + length + i * width, little);
  // Beyond 2⁵³ doubles are whole numbers with gaps between: what is read is equal only if nothing was rounded.
  const fortran = /'fortran_order':\s*True/.test(header);
  if (width === 8 && type[1] !== 'f') {
    const index = firstRounded(view, start + length, values, type);
    const [rows = 1] = shape;
    if (index >= 0)
      throw rounded(file, name, fortran ? index % rows : Math.floor((index * rows) / size), values[index]);
  }
  return {name, shape, values: fortran ? rowMajor(values, shape) : values};
}

/** The first whole number that is not equal to its double; −1 if there is none. */
function firstRounded(view: DataView, start: number, values: Float64Array, type: string): number {
  const little = !type.startsWith('>');
  return values.findIndex((value, i) => {
    if (Number.isSafeInteger(value)) return false;
    const at = start + 8 * i;
    return BigInt(value) !== (type[1] === 'u' ? view.getBigUint64(at, little) : view.getBigInt64(at, little));
  });
}

/** @param row from 0 */
const rounded = (file: string, name: string, row: number, value: number): DataError =>
  new DataError(
    'npz-integer',
    `${file}, row ${row + 1}, column '${excerpt(name)}' holds a whole number near ${value}, which a double cannot `
      + `represent exactly. If rounding does not matter, convert it with .astype('f8'); or leave the array out by `
      + 'naming the others.',
    {file, row: row + 1, column: name},
  );

type Read = (view: DataView, at: number, little: boolean) => number;

const readers: ReadonlyMap<string, Read> = new Map<string, Read>(
  Object.entries({
    f8: (view, at, little) => view.getFloat64(at, little),
    f4: (view, at, little) => view.getFloat32(at, little),
    i8: (view, at, little) => Number(view.getBigInt64(at, little)),
    u8: (view, at, little) => Number(view.getBigUint64(at, little)),
    i4: (view, at, little) => view.getInt32(at, little),
    u4: (view, at, little) => view.getUint32(at, little),
    i2: (view, at, little) => view.getInt16(at, little),
    u2: (view, at, little) => view.getUint16(at, little),
    i1: (view, at) => view.getInt8(at),
    u1: (view, at) => view.getUint8(at),
    b1: (view, at) => view.getUint8(at),
  } satisfies Record<string, Read>),
);

/** From the order in which the first index runs fastest. */
function rowMajor(values: Float64Array, shape: readonly number[]): Float64Array {
  const result = new Float64Array(values.length);
  const index = shape.map(() => 0);
  for (const value of values) {
    result[index.reduce((at, i, axis) => at * shape[axis] + i, 0)] = value;
    for (let axis = 0; axis < shape.length && ++index[axis] === shape[axis]; axis++) index[axis] = 0;
  }
  return result;
}

const malformed = (file: string, what: string, column?: string): DataError =>
  new DataError('npz-malformed', `${file}: ${what}.`, {file, column});
