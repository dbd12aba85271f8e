/**
 * Leaves out the first lines of a text before it is parsed: instruments write settings there, in no format. Blank lines
 * take their place, with the line ends of the text below, so that the parser counts the file's own lines.
 */
import {joined} from './joined.js';
import {isUtf16} from './table-source.js';

const encoder = new TextEncoder();
const LF = 10;
const CR = 13;

/**
 * @param chunks of a text in UTF-8, or in UTF-16 with a byte order mark, as readTable takes them
 * @param lines how many to leave out, at least 1; a text with fewer is left empty
 */
export async function* withoutLines(
  chunks: AsyncIterable<Uint8Array>,
  lines: number,
): AsyncGenerator<Uint8Array, void> {
  const skipping = new Skipping(lines);
  for await (const chunk of chunks) {
    const rest = skipping.take(chunk);
    if (rest.length > 0) yield rest;
  }
}

class Skipping {
  private left: number;
  private done = false;
  /** Bytes of a character; 2 of UTF-16, little endian. */
  private width: 1 | 2 | undefined;
  /** The first byte of a character that a chunk ends within. */
  private half: number | undefined;
  private last: number | undefined;

  constructor(private readonly lines: number) {
    this.left = lines;
  }

  /** What is to be parsed of a chunk; empty before the first line that stays. */
  take(chunk: Uint8Array): Uint8Array {
    if (this.done) return chunk;
    this.width ??= isUtf16(chunk) ? 2 : 1;
    for (const [i, byte] of chunk.entries()) {
      if (this.width === 2 && this.half === undefined) {
        this.half = byte;
        continue;
      }
      const character = this.half === undefined ? [byte] : [this.half, byte];
      this.half = undefined;
      if (this.passes(character[0] + 256 * (character[1] ?? 0))) continue;
      this.done = true;
      return this.blanksAbove(character, chunk.subarray(i + 1));
    }
    return new Uint8Array(0);
  }

  /** Whether a character belongs to the lines that are left out. */
  private passes(code: number): boolean {
    const pair = this.last === CR && code === LF; // one line end
    if (this.left === 0 && !pair) return false;
    if (code === CR || (code === LF && !pair)) this.left--;
    this.last = code;
    return true;
  }

  /** @param first the first character of the lines that stay, @param rest what follows it */
  private blanksAbove(first: readonly number[], rest: Uint8Array): Uint8Array {
    const width = this.width ?? 1;
    const body = joined(Uint8Array, [Uint8Array.from(first), rest]);
    const mark = width === 2 ? '\ufeff' : '';
    const blanks = mark + lineEnd(body, width).repeat(this.lines);
    const above = width === 2 ? Uint16Array.from(blanks, letter => letter.charCodeAt(0)) : encoder.encode(blanks);
    const bytes = new Uint8Array(above.buffer, above.byteOffset, above.byteLength);
    return joined(Uint8Array, [bytes, body]);
  }
}

/** The first line end of a text; of one without, that of Unix. */
function lineEnd(text: Uint8Array, width: 1 | 2): string {
  const code = (i: number): number => text[i] + (width === 2 ? 256 * text[i + 1] : 0);
  for (let i = 0; i + width <= text.length; i += width) {
    if (code(i) === LF) return '\n';
    if (code(i) === CR) return code(i + width) === LF ? '\r\n' : '\r';
  }
  return '\n';
}
