/**
 * The content of examples as 64 hexadecimal digits: SHA-256 over their numbers, texts and names, in chained blocks, so
 * that a resumed run can tell that its data are the same. Functions count by being there; trained variables too.
 */
import * as tf from '@tensorflow/tfjs';
import type {Examples} from './examples.js';

/** Of examples that are fetched one by one, so many are looked at, evenly spaced: fetching may be slow. */
const FETCHED = 16;

/** Bytes between two rounds of the hash. */
const BLOCK = 2 ** 20;

/** Deeper than data is only what refers to itself. */
const DEEPEST = 8;

export async function fingerprint<T>(data: Examples<T>): Promise<string> {
  const content = new Content();
  if ('get' in data) {
    const count = Math.min(FETCHED, data.length);
    for (let i = 0; i < count; i++) {
      content.add(await data.get(Math.round((i * (data.length - 1)) / Math.max(1, count - 1))), 0);
      await content.round(BLOCK);
    }
  } else {
    for (const example of data) {
      content.add(example, 0);
      await content.round(BLOCK);
    }
  }
  return content.end();
}

class Content {
  private parts: Uint8Array[] = [];
  private size = 0;
  private digest = new Uint8Array(32);

  /** What was added so far is hashed, once it is more than `least` bytes. */
  async round(least: number): Promise<void> {
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

  add(value: unknown, depth: number): void {
    if (typeof value === 'number') this.numbers('number', Float64Array.of(value));
    else if (typeof value !== 'object' || value === null)
      this.text(typeof value === 'function' ? 'function' : `${typeof value} ${String(value)}`);
    else if (value instanceof tf.Variable) this.text('variable');
    else if (value instanceof tf.Tensor) this.tensor(value as tf.Tensor);
    else if (ArrayBuffer.isView(value)) this.numbers(value.constructor.name, value);
    else if (value instanceof Date) this.text(`date ${value.getTime()}`);
    else if (depth >= DEEPEST) this.text('deep');
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
        this.add(entry, depth + 1);
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
