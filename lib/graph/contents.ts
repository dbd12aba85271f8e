/**
 * Numbers arrays by their contents: arrays with equal bytes have the same number, so 0 and −0 differ, as do NaNs of
 * different bits. A hash (with the mixing of MurmurHash3, Appleby, public domain) finds candidates, and a comparison
 * decides.
 */

/** The arrays in attributes of nodes: constants and tables. */
export type Contents = Float64Array | Int32Array;

const wordsOf = (array: Contents): Uint32Array => new Uint32Array(array.buffer, array.byteOffset, array.byteLength / 4);

export function sameContents(a: Contents, b: Contents): boolean {
  if (a === b) return true;
  if (a.byteLength !== b.byteLength) return false;
  const [x, y] = [wordsOf(a), wordsOf(b)];
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false;
  return true;
}

/** Many nodes share an array, and every key of their program needs its hash; each array is hashed once. */
const hashes = new WeakMap<Contents, number>();

export function contentsHash(array: Contents): number {
  let hash = hashes.get(array);
  if (hash === undefined) hashes.set(array, (hash = murmur3(wordsOf(array))));
  return hash;
}

function murmur3(words: Uint32Array): number {
  let h = words.length;
  for (let i = 0; i < words.length; i++) {
    let k = Math.imul(words[i], 0xcc9e2d51);
    k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
    h ^= k;
    h = Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64;
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Numbers arrays from 0 in the order of their first use, and keeps one array of each content. */
export class ContentsTable {
  /** By number. */
  readonly arrays: Contents[] = [];
  private readonly numbers = new Map<Contents, number>();
  private readonly byHash = new Map<number, number[]>();

  constructor(private readonly hashOf: (array: Contents) => number = contentsHash) {}

  numberOf(array: Contents): number {
    const known = this.numbers.get(array);
    if (known !== undefined) return known;
    const hash = this.hashOf(array);
    let candidates = this.byHash.get(hash);
    if (candidates === undefined) this.byHash.set(hash, (candidates = []));
    let number = candidates.find(candidate => sameContents(this.arrays[candidate], array));
    if (number === undefined) candidates.push((number = this.arrays.push(array) - 1));
    this.numbers.set(array, number);
    return number;
  }
}
