/**
 * ZIP archives, stored or deflated (PKWARE's APPNOTE 6.3.10; ZIP64's local headers too, which NumPy writes). The
 * central directory is read here, because it is what the checks need and what the libraries keep to themselves: members
 * that overlap (Fifield, A better zip bomb, WOOT 2019), stated sizes, checksums. Members are inflated by `fflate`, into
 * exactly as many bytes as the directory states.
 */
import {inflateSync} from 'fflate';
import {DataError} from '../../lib/errors.js';
import {excerpt} from './excerpt.js';
import type {Budget} from './limits.js';

export interface Member {
  readonly name: string;
  readonly method: number;
  readonly checksum: number;
  /** In the archive: its bytes without the local header. */
  readonly start: number;
  readonly packed: number;
  readonly unpacked: number;
}

export interface Archive {
  readonly members: readonly Member[];
  /** @throws DataError 'table-limit' where these, unpacked, are more than the budget has */
  requireFit(members: readonly Member[]): void;
  /** @throws DataError 'npz-malformed' */
  extract(member: Member): Uint8Array;
}

const magic = [0x50, 0x4b, 0x03, 0x04];

export const isArchive = (bytes: Uint8Array): boolean => magic.every((byte, i) => bytes[i] === byte);

/** End of central directory: its signature, the least it takes, and the longest comment that may follow. */
const endSignature = 0x06054b50;
const endLength = 22;
const longestComment = 0xffff;

/** @throws DataError 'npz-malformed' */
export function openArchive(bytes: Uint8Array, budget: Budget): Archive {
  const {file} = budget;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const last = bytes.length - endLength;
  let end = last;
  while (end >= 0 && end >= last - longestComment && view.getUint32(end, true) !== endSignature) end--;
  if (end < 0 || end < last - longestComment) throw malformed(file, 'the archive is truncated: it has no directory');
  const directory = view.getUint32(end + 16, true);
  const count = view.getUint16(end + 10, true);
  const members: Member[] = [];
  const spans: {readonly from: number; readonly to: number; readonly name: string}[] = [];
  const names = new Set<string>();
  let at = directory;
  for (let i = 0; i < count; i++) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50)
      throw malformed(file, 'the archive’s directory is damaged');
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map(offset => view.getUint16(at + offset, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const called = `'${excerpt(name)}'`;
    const [checksum, packed, unpacked, , local] = [16, 20, 24, 28, 42].map(offset => view.getUint32(at + offset, true));
    const [flags, method] = [8, 10].map(offset => view.getUint16(at + offset, true));
    if (packed === 0xffffffff || unpacked === 0xffffffff || local === 0xffffffff)
      throw malformed(file, `${called} is larger than 4 GB: save the arrays as separate NPY files`);
    if (local + 30 > directory || view.getUint32(local, true) !== 0x04034b50)
      throw malformed(file, `${called} is not where the directory says`);
    if ((flags & 1) !== 0) throw malformed(file, `${called} is encrypted`);
    if (names.has(name)) throw malformed(file, `two members are named ${called}`);
    names.add(name);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    if (start + packed > directory) throw malformed(file, `${called} reaches into the directory`);
    members.push({name, method, checksum, start, packed, unpacked});
    spans.push({from: local, to: start + packed, name});
    at += 46 + nameLength + extraLength + commentLength;
  }
  spans.sort((a, b) => a.from - b.from);
  const over = spans.findIndex(({from}, i) => i > 0 && from < spans[i - 1].to);
  if (over > 0) throw malformed(file, `'${excerpt(spans[over - 1].name)}' and '${excerpt(spans[over].name)}' overlap`);
  return {
    members,
    requireFit(some) {
      const sum = (size: 'packed' | 'unpacked'): number => some.reduce((total, member) => total + member[size], 0);
      budget.requireRatio(sum('unpacked'), sum('packed'), 'its members have');
      budget.require('memory', sum('unpacked'), 'its members unpack to');
    },
    extract: member => extract(bytes, member, budget),
  };
}

function extract(
  bytes: Uint8Array,
  {name, method, checksum, start, packed, unpacked}: Member,
  budget: Budget,
): Uint8Array {
  const {file} = budget;
  const called = `'${excerpt(name)}'`;
  if (method !== 0 && method !== 8)
    throw malformed(
      file,
      `${called} is compressed by method ${method}; only stored and deflated members are supported`,
    );
  if (method === 0 && packed !== unpacked)
    throw malformed(file, `${called} is stored and has two sizes, ${packed} and ${unpacked} bytes`);
  const data = bytes.subarray(start, start + packed);
  const content = method === 0 ? data : inflate(data, unpacked, called, file);
  if (content.length !== unpacked || crc32(content) !== checksum)
    throw malformed(file, `${called} is damaged: its checksum does not match`);
  budget.requireTime(bytes.length);
  return content;
}

function inflate(data: Uint8Array, size: number, called: string, file: string): Uint8Array {
  try {
    return inflateSync(data, {out: new Uint8Array(size)});
  } catch (cause) {
    throw malformed(file, `${called} cannot be unpacked: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

/** The CRC-32 of ZIP (ISO 3309), by a table of its 256 bytes. Node has one from version 22 on. */
const crcTable = Uint32Array.from({length: 256}, (_, byte) => {
  let c = byte;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) c = crcTable[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

const malformed = (file: string, what: string): DataError =>
  new DataError('npz-malformed', `${file}: ${what}.`, {file});
