/**
 * The bytes of a table, wherever they come from: a path, a text, bytes, a Blob. They come in parts, within the limits
 * of reading, and the first part tells what the file is.
 */
import {nodeFs} from '../../lib/builtin.js';
import {shown} from '../../lib/checks.js';
import {DataError, OptionError} from '../../lib/errors.js';
import {joined} from './joined.js';
import type {Budget} from './limits.js';
import {isArrayFile} from './npz.js';
import {isParquet} from './parquet.js';
import {unreadable} from './table-errors.js';

/** The path of a file, or the table itself: its text (of at least two lines), its bytes, or a Blob. */
export type TableSource = string | Uint8Array | ArrayBuffer | Blob;

/** A text of several lines is a table itself; a text of one line is the path of a file. */
const isText = (source: TableSource): source is string => typeof source === 'string' && /[\r\n]/.test(source);

/** The name of a source in errors. */
export function nameOf(source: TableSource, owner: string): string {
  if (typeof source === 'string') return isText(source) ? 'the text' : source;
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) return 'the bytes';
  if (typeof Blob !== 'undefined' && source instanceof Blob) return 'name' in source ? String(source.name) : 'the blob';
  throw new OptionError(
    'bad-option',
    `${owner} reads the path of a file, a table's text, its bytes or a Blob, not ${shown(source)}.`,
  );
}

/** The bytes of any source, within the budget. */
export async function* chunksOf(source: TableSource, budget: Budget): AsyncGenerator<Uint8Array, void> {
  if (typeof source === 'string' && !isText(source)) return yield* fileChunks(source, budget);
  const bytes =
    typeof source === 'string'
      ? new TextEncoder().encode(source)
      : source instanceof Uint8Array
        ? source
        : new Uint8Array(
            source instanceof ArrayBuffer ? source : await budget.within(source.size, source.arrayBuffer()),
          );
  budget.require('bytes', bytes.length, 'it has');
  // In parts, as a file comes: the first one decides the delimiter.
  for (let i = 0; i === 0 || i < bytes.length; i += 2 ** 16) yield bytes.subarray(i, i + 2 ** 16);
}

/** The file's bytes, as many and as long as the budget has; what the operating system refuses is a DataError. */
async function* fileChunks(path: string, budget: Budget): AsyncGenerator<Uint8Array, void> {
  if (nodeFs === undefined) {
    throw new DataError(
      'table-unreadable',
      `${path} cannot be read: readTable needs Node's file system, which is not available here.`,
      {file: path},
    );
  }
  let bytes = 0;
  const stream = nodeFs.createReadStream(path);
  try {
    const chunks = (stream as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    for (;;) {
      // A pipe, or a file system that has stalled, may give no byte at all.
      const {done, value} = await budget.within<IteratorResult<Uint8Array, void>>(bytes, chunks.next());
      if (done === true) return;
      bytes += value.length;
      budget.require('bytes', bytes, 'the file has at least');
      budget.requireTime(bytes);
      yield value;
    }
  } catch (cause) {
    throw cause instanceof DataError ? cause : unreadable(path, cause);
  } finally {
    stream.destroy();
  }
}

/** Whether a text begins with UTF-16's byte order mark, little endian. */
export const isUtf16 = (start: Uint8Array): boolean => start[0] === 0xff && start[1] === 0xfe;

/** The first chunk, which decides the delimiter; an empty or binary file ends here. */
export async function beginning(path: string, chunks: AsyncGenerator<Uint8Array, void>): Promise<Uint8Array> {
  const {value, done} = await chunks.next();
  if (done) throw new DataError('table-empty', `${path} is empty: a table begins with a header line.`, {file: path});
  if (value.includes(0) && !isUtf16(value) && !isArrayFile(value) && !isParquet(value)) {
    throw new DataError('table-binary', `${path} is not a text file: readTable reads CSV, TSV, Parquet, NPZ and NPY.`, {
      file: path,
    });
  }
  return value;
}

export async function* following<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield first;
  yield* rest;
}

/**
 * The text of a source, in UTF-8, or in UTF-16 with a byte order mark.
 * @param skip lines at its beginning that are left out, as instruments write settings there in no format: blank lines
 *   with the line ends of what follows take their place, so that a parser counts the file's own lines
 */
export async function* textOf(
  start: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
  skip: number,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder(isUtf16(start) ? 'utf-16le' : 'utf-8');
  let [left, text] = [skip, ''];
  for await (const chunk of following(start, rest)) {
    text += decoder.decode(chunk, {stream: true});
    while (left > 0) {
      // A \r at a chunk's end may be half of a line end.
      const end = /\r\n|\n|\r(?=[^])/.exec(text);
      if (end === null) {
        text = text.endsWith('\r') ? '\r' : '';
        break;
      }
      text = text.slice(end.index + end[0].length);
      left--;
    }
    if (left > 0 || text === '') continue;
    if (skip > 0) yield (/\r\n|\n|\r/.exec(text)?.[0] ?? '\n').repeat(skip);
    skip = 0;
    yield text;
    text = '';
  }
  text += decoder.decode();
  if (text !== '' && left === 0) yield text;
}

export async function allBytes(start: Uint8Array, rest: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts = [start];
  for await (const part of rest) parts.push(part);
  return joined(Uint8Array, parts);
}
