/**
 * Contents as 64 hexadecimal digits: SHA-256 over numbers, texts and names, in chained blocks, so that a resumed run
 * and a part of an analysis can tell that their data are the same.
 */
import * as tf from '@tensorflow/tfjs';

/** Number of examples that are read, evenly spaced, if they are fetched one by one: fetching may be slow. */
const FETCHED = 16;

/** Bytes between two rounds of the hash. */
const BLOCK = 2 ** 20;

/** Examples, here or fetched one by one. */
type Fetched<T> = readonly T[] | {readonly length: number; get(index: number): T | Promise<T>};

/** The fingerprint of examples. Functions and trained variables count by being there. */
export async function fingerprint<T>(data: Fetched<T>): Promise<string> {
  const content = new ContentHash();
  if ('get' in data) {
    const count = Math.min(FETCHED, data.length);
    for (let i = 0; i < count; i++)
      await content.add(await data.get(Math.round((i * (data.length - 1)) / Math.max(1, count - 1))));
  } else for (const example of data) await content.add(example);
  return content.end();
}

/** The text that stands for a function. */
export type FunctionText = (given: (...args: never[]) => unknown) => string;
const byPresence: FunctionText = () => 'function';

/** Values one after another, and the hash of them all. */
export class ContentHash {
  private parts: Uint8Array[] = [];
  private size = 0;
  private digest = new Uint8Array(32);

  /** @param textOf of a function; default: it counts by being there */
  async add(value: unknown, textOf: FunctionText = byPresence): Promise<void> {
    this.addWithin(value, [], textOf);
    await this.round(BLOCK);
  }

  /** Hashes the values so far, once they are more than `least` bytes. */
  private async round(least: number): Promise<void> {
    if (this.size <= least) return;
    const bytes = new Uint8Array(32 + this.size);
    bytes.set(this.digest);
    let at = 32;
    for (const part of this.parts) {
      bytes.set(part, at);
      at += part.length;
    }
    this.digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    this.parts = [];
    this.size = 0;
  }

  async end(): Promise<string> {
    await this.round(-1);
    return Array.from(this.digest, byte => byte.toString(16).padStart(2, '0')).join('');
  }

  private addWithin(value: unknown, above: readonly object[], textOf: FunctionText): void {
    if (typeof value === 'number') this.numbers('number', Float64Array.of(value));
    else if (typeof value === 'function') this.text(textOf(value as (...args: never[]) => unknown));
    else if (typeof value !== 'object' || value === null) this.text(`${typeof value} ${String(value)}`);
    else if (value instanceof tf.Variable) this.text('variable');
    else if (value instanceof tf.Tensor) this.tensor(value as tf.Tensor);
    else if (ArrayBuffer.isView(value)) this.numbers(value.constructor.name, value);
    else if (value instanceof Date) this.text(`date ${value.getTime()}`);
    // A value within itself: by the level at which it stands.
    else if (above.includes(value)) this.text(`above ${above.indexOf(value)}`);
    else if (Array.isArray(value) && value.every(entry => typeof entry === 'number'))
      this.numbers('numbers', Float64Array.from(value));
    else {
      const entries: readonly [unknown, unknown][] =
        value instanceof Map
          ? [...value]
          : value instanceof Set
            ? [...value].map(entry => [0, entry])
            : Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
      this.text(`${Array.isArray(value) ? 'list' : 'object'} ${entries.length}`);
      for (const [key, entry] of entries) {
        this.text(String(key));
        this.addWithin(entry, [...above, value], textOf);
      }
    }
  }

  private tensor(tensor: tf.Tensor): void {
    this.numbers(
      `tensor ${tensor.dtype} ${tensor.shape.join()}`,
      tensor.isDisposed || tensor.dtype === 'string' ? new Uint8Array() : tensor.dataSync(),
    );
  }

  private text(text: string): void {
    this.numbers('text', new TextEncoder().encode(text));
  }

  /** With its kind and length before, so that nothing else has the same bytes. */
  private numbers(kind: string, {buffer, byteOffset, byteLength}: ArrayBufferView): void {
    const head = new TextEncoder().encode(`${kind} ${byteLength};`);
    this.parts.push(head, new Uint8Array(buffer, byteOffset, byteLength));
    this.size += head.length + byteLength;
  }
}
