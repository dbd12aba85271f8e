/** NPY and NPZ files with any statement in their headers, for what a reader must refuse. */
import {zipSync} from 'fflate';

/** An array as NumPy writes it: its header's fields as they are given, true or not. */
export function npy({
  descr,
  shape,
  content,
  fortran = false,
}: {
  descr: string;
  shape: string;
  content: Uint8Array;
  fortran?: boolean;
}): Uint8Array {
  const text =
    `{'descr': '${descr}', 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': (${shape}), }`.padEnd(117) + '\n';
  const header = Buffer.from(text.length > 118 ? text : text.padStart(118));
  const start = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length & 255, header.length >> 8]);
  return new Uint8Array(Buffer.concat([start, header, content]));
}

export const doubles = (...values: number[]): Uint8Array => new Uint8Array(Float64Array.from(values).buffer);

export const column = (...values: number[]): Uint8Array =>
  npy({descr: '<f8', shape: `${values.length},`, content: doubles(...values)});

/** A well-formed archive. */
export const npz = (members: {readonly [name: string]: Uint8Array}, level: 0 | 6 = 6): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(members).map(([name, content]) => [`${name}.npy`, content])), {level});

/** The archive's directory states its one member `count` times, under names of its own or all under one. */
export function repeated(archive: Uint8Array, count: number, rename: boolean): Uint8Array {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const end = archive.length - 22;
  const from = view.getUint32(end + 16, true);
  const entry = archive.slice(from, end);
  const entries = Array.from({length: count}, (_, i) => {
    const copy = entry.slice();
    if (rename) copy[46] = 97 + i; // the first letter of its name
    return copy;
  });
  const tail = archive.slice(end);
  const changed = new DataView(tail.buffer);
  changed.setUint16(8, count, true);
  changed.setUint16(10, count, true);
  changed.setUint32(12, count * entry.length, true);
  return new Uint8Array(Buffer.concat([archive.slice(0, from), ...entries, tail]));
}
