/**
 * NumPy's files: NPY, one array (numpy.lib.format, versions 1 to 3), and NPZ, a ZIP archive of such, stored or
 * deflated, as np.savez and np.savez_compressed write it (PKWARE's APPNOTE 6.3.10; ZIP64 too, which NumPy
 * uses for every member's local header). Read by the archive's central directory; checksums are compared.
 */
import { DataError } from '../../lib/errors.js';

export interface NumpyArray {
  readonly name: string;
  readonly shape: readonly number[];
  /** Row-major, whatever order the file has. */
  readonly values: Float64Array;
}

interface NamedValues {
  readonly name: string;
  readonly values: Float64Array;
}

const npyMagic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const zipMagic = [0x50, 0x4b, 0x03, 0x04];
const begins = (bytes: Uint8Array, magic: readonly number[]): boolean => magic.every((byte, i) => bytes[i] === byte);

export const isArrayFile = (start: Uint8Array): boolean => begins(start, npyMagic) || begins(start, zipMagic);

/** Every array of an NPY or NPZ file. @throws DataError 'npz-malformed' */
export async function arraysOf(bytes: Uint8Array, file: string): Promise<NumpyArray[]> {
  if (begins(bytes, npyMagic)) return [parseNpy(bytes, 'array', file)];
  const arrays: NumpyArray[] = [];
  for (const { name, content } of await members(bytes, file)) if (name.endsWith('.npy')) arrays.push(parseNpy(content, name.slice(0, -4), file));
  if (arrays.length === 0) throw malformed(file, 'the archive holds no .npy arrays');
  return arrays;
}

/** Arrays as columns of one length: [rows] by its name, [rows, k] as 'name[0]' … */
export function columnsOf(arrays: readonly NumpyArray[], file: string): (NamedValues & { kind: 'number'; decidedAt: number; isBlank: boolean; text: readonly string[] })[] {
  const rows = arrays[0].shape[0] ?? 1;
  return arrays.flatMap(({ name, shape, values }) => {
    if (shape.length === 0 || shape.length > 2 || shape[0] !== rows) {
      throw new DataError('npz-shape', `${file}: '${name}' has shape [${shape.join(', ')}], which is no column of ${rows} rows: the arrays of a table are [rows] or [rows, k] each, with the same number of rows.`, { file, column: name, shape });
    }
    const width = shape[1] ?? 1;
    return Array.from({ length: width }, (_, k) => ({
      name: shape.length === 1 ? name : `${name}[${k}]`,
      values: shape.length === 1 ? values : Float64Array.from({ length: rows }, (_, i) => values[i * width + k]),
      kind: 'number' as const, decidedAt: 1, isBlank: false, text: [],
    }));
  });
}

function parseNpy(bytes: Uint8Array, name: string, file: string): NumpyArray {
  if (!begins(bytes, npyMagic) || bytes.length < 12) throw malformed(file, `'${name}' is no NPY array`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6] >= 2;
  const start = wide ? 12 : 10;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder().decode(bytes.subarray(start, start + length));
  const type = /'descr':\s*'([^']+)'/.exec(header)?.[1];
  const dimensions = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  if (type === undefined || dimensions === undefined) throw malformed(file, `the header of '${name}' is not understood: ${header.trim()}`);
  const shape = dimensions.split(',').map((text) => text.trim()).filter((text) => text !== '').map(Number);
  const size = shape.reduce((product, n) => product * n, 1);
  const read = readers[type.slice(1)];
  if (read === undefined) throw malformed(file, `'${name}' is of type ${type}; numbers of 8 to 64 bits and truth values can be read. Convert it with .astype('f8')`);
  const width = Number(type.slice(2));
  if (bytes.length < start + length + size * width) throw malformed(file, `'${name}' ends before its ${size} numbers do`);
  const little = !type.startsWith('>');
  const values = Float64Array.from({ length: size }, (_, i) => read(view, start + length + i * width, little));
  return { name, shape, values: /'fortran_order':\s*True/.test(header) ? rowMajor(values, shape) : values };
}

type Read = (view: DataView, at: number, little: boolean) => number;

const readers: { readonly [type: string]: Read | undefined } = {
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
};

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

interface Member {
  readonly name: string;
  readonly content: Uint8Array;
}

/** End of central directory: its signature, and the least it takes; a comment of up to 64 KiB may follow. */
const endSignature = 0x06054b50;
const endLength = 22;

async function members(bytes: Uint8Array, file: string): Promise<Member[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - endLength;
  while (end >= 0 && view.getUint32(end, true) !== endSignature) end--;
  if (end < 0) throw malformed(file, 'the archive is cut short: it has no directory');
  const result: Member[] = [];
  let at = view.getUint32(end + 16, true);
  const count = view.getUint16(end + 10, true);
  for (let i = 0; i < count; i++) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) throw malformed(file, 'the archive’s directory is damaged');
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    result.push({ name, content: await extract(bytes, view, at, name, file) });
    at += 46 + nameLength + extraLength + commentLength;
  }
  return result;
}

async function extract(bytes: Uint8Array, view: DataView, entry: number, name: string, file: string): Promise<Uint8Array> {
  const [checksum, packed, , local] = [16, 20, 24, 42].map((offset) => view.getUint32(entry + offset, true));
  const method = view.getUint16(entry + 10, true);
  if (packed === 0xffffffff || local === 0xffffffff) throw malformed(file, `'${name}' is larger than 4 GB: save the arrays as NPY files of their own`);
  if (local + 30 > bytes.length) throw malformed(file, `'${name}' lies beyond the file's end`);
  const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  const data = bytes.subarray(start, start + packed);
  if (method !== 0 && method !== 8) throw malformed(file, `'${name}' is packed by method ${method}; stored and deflated members can be read`);
  const content = method === 0 ? data : await inflate(data, name, file);
  if (crc32(content) !== checksum) throw malformed(file, `'${name}' is damaged: its checksum does not fit`);
  return content;
}

async function inflate(data: Uint8Array, name: string, file: string): Promise<Uint8Array> {
  const { inflateRawSync } = await import('node:zlib');
  try {
    return new Uint8Array(inflateRawSync(data));
  } catch (cause) {
    throw malformed(file, `'${name}' cannot be unpacked: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

/** The CRC-32 of ZIP (ISO 3309), by a table of its 256 bytes. Node has one from version 22 on. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let c = byte;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) c = crcTable[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

const malformed = (file: string, what: string): DataError => new DataError('npz-malformed', `${file}: ${what}.`, { file });
