/**
 * A checkpoint as bytes: one self-contained file that proves itself whole.
 *
 *     8 bytes    'SGCKPT2\n': what it is, and the version of what it holds
 *     4 bytes    length of the header, little-endian
 *     header     JSON: facts, and for each array its name, type, shape and place
 *     arrays     one after another, each from a multiple of 8 bytes behind the header, little-endian
 *     32 bytes   SHA-256 of everything before
 */
import {CheckpointError} from '../../lib/errors.js';

/** Typed arrays that a checkpoint may hold. */
export type NumberArray = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

/** An array of a checkpoint. */
export interface NamedArray {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: NumberArray;
}

/** The content of a checkpoint. */
export interface CheckpointContent {
  /** Anything JSON can hold; numbers come back to the bit. */
  readonly facts: unknown;
  readonly arrays: readonly NamedArray[];
}

interface Entry {
  readonly name: string;
  readonly type: keyof typeof types;
  readonly shape: readonly number[];
  readonly from: number;
  readonly length: number;
}

const types = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  uint8: Uint8Array,
} as const;
const magic = new TextEncoder().encode('SGCKPT2\n');
/** Place of the version in the magic. */
const versionAt = 6;
const digestLength = 32;
const align = (offset: number): number => Math.ceil(offset / 8) * 8;

export async function encodeCheckpoint({facts, arrays}: CheckpointContent): Promise<Uint8Array> {
  let size = 0;
  const entries = arrays.map(({name, shape, values}): Entry => {
    const from = align(size);
    size = from + values.byteLength;
    return {name, type: typeName(values), shape, from, length: values.length};
  });
  const header = new TextEncoder().encode(JSON.stringify({facts, arrays: entries}));
  const start = align(magic.length + 4 + header.length);
  const bytes = new Uint8Array(start + size + digestLength);
  bytes.set(magic);
  new DataView(bytes.buffer).setUint32(magic.length, header.length, true);
  bytes.set(header, magic.length + 4);
  arrays.forEach(({values}, i) =>
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), start + entries[i].from),
  );
  bytes.set(await digest(bytes.subarray(0, start + size)), start + size);
  return bytes;
}

/**
 * @throws CheckpointError 'checkpoint-corrupt' for anything that `encodeCheckpoint` did not write, to the bit;
 *   'checkpoint-version' for a whole file of another version
 */
export async function decodeCheckpoint(bytes: Uint8Array, file: string): Promise<CheckpointContent> {
  const end = bytes.length - digestLength;
  if (end < magic.length + 4 || magic.some((byte, i) => i !== versionAt && bytes[i] !== byte))
    throw corrupt(file, 'it does not begin like a checkpoint');
  const stated = bytes.subarray(end);
  const found = await digest(bytes.subarray(0, end));
  if (found.some((byte, i) => byte !== stated[i]))
    throw corrupt(file, 'its checksum does not match its content, so it was truncated or changed');
  if (bytes[versionAt] !== magic[versionAt]) {
    throw new CheckpointError(
      'checkpoint-version',
      `${file} is intact, but of version ${String.fromCharCode(bytes[versionAt])} of the format, and this version of `
        + `stiffgrad reads version ${String.fromCharCode(magic[versionAt])}. Finish that run with the version that `
        + 'started it, or start again in another directory.',
      {file},
    );
  }
  const whole = bytes.slice(); // from offset 0 of its buffer, as typed arrays want it
  const length = new DataView(whole.buffer).getUint32(magic.length, true);
  const start = align(magic.length + 4 + length);
  if (start > end) throw corrupt(file, 'its header is longer than the file');
  const {facts, arrays} = headerOf(whole.subarray(magic.length + 4, magic.length + 4 + length), end - start, file);
  return {
    facts,
    arrays: arrays.map(({name, type, shape, from, length: count}) => ({
      name,
      shape,
      values: new types[type](whole.buffer, start + from, count),
    })),
  };
}

/** @param size bytes there are for the arrays */
function headerOf(text: Uint8Array, size: number, file: string): {facts: unknown; arrays: readonly Entry[]} {
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  const isEntry = (entry: Partial<Entry> | null): entry is Entry =>
    typeof entry?.name === 'string'
    && typeof entry.type === 'string'
    && Object.hasOwn(types, entry.type)
    && isCount(entry.from)
    && entry.from % 8 === 0
    && isCount(entry.length)
    && entry.from + entry.length * types[entry.type].BYTES_PER_ELEMENT <= size
    && Array.isArray(entry.shape)
    && entry.shape.every(isCount)
    && entry.shape.reduce((product: number, n: number) => product * n, 1) === entry.length;
  let header: {facts?: unknown; arrays?: unknown} | null;
  try {
    header = JSON.parse(new TextDecoder().decode(text)) as typeof header;
  } catch {
    throw corrupt(file, 'its header is not JSON');
  }
  const arrays = header?.arrays;
  if (!Array.isArray(arrays) || !arrays.every(isEntry)) throw corrupt(file, 'its header does not describe its arrays');
  return {facts: header?.facts, arrays};
}

function typeName(values: NumberArray): Entry['type'] {
  return (Object.keys(types) as Entry['type'][]).find(name => values instanceof types[name]) as Entry['type'];
}

async function digest(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
}

export function corrupt(file: string, why: string): CheckpointError {
  return new CheckpointError(
    'checkpoint-corrupt',
    `${file} is not a complete checkpoint: ${why}. Remove it to resume from the previous one, or to start again.`,
    {file},
  );
}
