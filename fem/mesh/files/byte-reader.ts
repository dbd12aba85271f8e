/** Reads a file of lines, words, numbers and blocks of bytes from its beginning to its end, and says where it is. */
import {shown} from '../../../lib/checks.js';
import {DataError} from '../../../lib/errors.js';

const newline = 10;
const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);

/** Kinds of numbers in a block of bytes. */
export type NumberKind = 'i8' | 'u8' | 'i16' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64' | 'f32' | 'f64';

const kindSizes: {readonly [K in NumberKind]: number} = {
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i32: 4,
  u32: 4,
  i64: 8,
  u64: 8,
  f32: 4,
  f64: 8,
};

/** How many bytes a number takes. */
export const sizeOf = (kind: NumberKind): number => kindSizes[kind];

type Getter = (view: DataView, at: number, littleEndian: boolean) => number;
const getters: {readonly [K in NumberKind]: Getter} = {
  i8: (view, at) => view.getInt8(at),
  u8: (view, at) => view.getUint8(at),
  i16: (view, at, little) => view.getInt16(at, little),
  u16: (view, at, little) => view.getUint16(at, little),
  i32: (view, at, little) => view.getInt32(at, little),
  u32: (view, at, little) => view.getUint32(at, little),
  i64: (view, at, little) => Number(view.getBigInt64(at, little)),
  u64: (view, at, little) => Number(view.getBigUint64(at, little)),
  f32: (view, at, little) => view.getFloat32(at, little),
  f64: (view, at, little) => view.getFloat64(at, little),
};

/** Numbers of one kind from bytes. */
export function numbersIn(bytes: Uint8Array, kind: NumberKind, littleEndian: boolean): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = kindSizes[kind];
  const get = getters[kind];
  const values = new Float64Array(Math.floor(bytes.length / size));
  for (let i = 0; i < values.length; i++) values[i] = get(view, i * size, littleEndian);
  return values;
}

export class ByteReader {
  at = 0;
  private readBytes = false;

  constructor(
    readonly bytes: Uint8Array,
    /** The file in errors: its path, or what it is. */
    readonly file: string,
  ) {}

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  /** The error of a file that is not as it must be, with the line, or with the byte if there were blocks of bytes. */
  error(sentence: string): DataError {
    if (this.readBytes)
      return new DataError('bad-mesh-file', `${this.file}, byte ${this.at}: ${sentence}`, {
        file: this.file,
        byte: this.at,
      });
    let line = 1;
    // What was read last may have ended with its line.
    const end = Math.min(this.at, this.bytes.length) - (this.bytes[this.at - 1] === newline ? 1 : 0);
    for (let i = 0; i < end; i++) if (this.bytes[i] === newline) line++;
    return new DataError('bad-mesh-file', `${this.file}, line ${line}: ${sentence}`, {file: this.file, line});
  }

  /** The rest of the line, without its end. */
  line(): string {
    if (this.done) throw this.error('the file ends here, but more must follow. Is it cut short?');
    let end = this.bytes.indexOf(newline, this.at);
    if (end < 0) end = this.bytes.length;
    const text = new TextDecoder().decode(this.bytes.subarray(this.at, end));
    this.at = Math.min(end + 1, this.bytes.length);
    return text.replace(/\r$/, '');
  }

  /** The next line that is not blank; undefined at the end of the file. */
  filledLine(): string | undefined {
    while (!this.done) {
      const line = this.line().trim();
      if (line !== '') return line;
    }
    return undefined;
  }

  /** The next word; spaces and ends of lines separate words. @param what is expected, for an error */
  word(what: string): string {
    const {bytes} = this;
    while (this.at < bytes.length && isSpace(bytes[this.at])) this.at++;
    const from = this.at;
    while (this.at < bytes.length && !isSpace(bytes[this.at])) this.at++;
    if (from === this.at) throw this.error(`the file ends where ${what} must follow. Is it cut short?`);
    let text = '';
    for (let i = from; i < this.at; i++) text += String.fromCharCode(bytes[i]);
    return text;
  }

  number(what: string): number {
    const word = this.word(what);
    const value = Number(word);
    if (Number.isNaN(value) && !/^[+-]?nan$/i.test(word)) {
      if (/^[+-]?inf(inity)?$/i.test(word)) return word.startsWith('-') ? -Infinity : Infinity;
      throw this.error(`${what} must be a number, not ${shown(word)}.`);
    }
    return value;
  }

  integer(what: string): number {
    const value = this.number(what);
    if (!Number.isSafeInteger(value)) throw this.error(`${what} must be a whole number, not ${value}.`);
    return value;
  }

  /** A number of things, from 0 on. */
  count(what: string): number {
    const value = this.integer(what);
    if (value < 0) throw this.error(`${what} must not be below 0, but is ${value}.`);
    return value;
  }

  /** So many bytes. @throws DataError where the file has fewer */
  take(length: number, what: string): Uint8Array {
    this.readBytes = true;
    if (length > this.bytes.length - this.at)
      throw this.error(
        `${what} must have ${length} bytes here, but the file has ${this.bytes.length - this.at}. Is it cut short?`,
      );
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** So many numbers of one kind as bytes. */
  binary(kind: NumberKind, count: number, littleEndian: boolean, what: string): Float64Array {
    return numbersIn(this.take(count * kindSizes[kind], what), kind, littleEndian);
  }

  /** So many numbers as words. */
  numbers(count: number, what: string): Float64Array {
    // Two bytes at least for each: a false count is no reason to ask for gigabytes.
    if (2 * count - 1 > this.bytes.length - this.at)
      throw this.error(`${what} must be ${count} numbers, for which the rest of the file is too short.`);
    const values = new Float64Array(count);
    for (let i = 0; i < count; i++) values[i] = this.number(what);
    return values;
  }

  /** The place of a text from here on; −1 if there is none. */
  find(text: string): number {
    const wanted = new TextEncoder().encode(text);
    for (let i = this.bytes.indexOf(wanted[0], this.at); i >= 0; i = this.bytes.indexOf(wanted[0], i + 1)) {
      let k = 1;
      while (k < wanted.length && this.bytes[i + k] === wanted[k]) k++;
      if (k === wanted.length) return i;
    }
    return -1;
  }
}
