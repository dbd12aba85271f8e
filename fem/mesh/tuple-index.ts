/** Numbers sets of nodes, such as edges and faces: a hash table without an object for each of millions of entries. */

/** A prime near 2³² divided by the golden ratio, for multiplicative hashing (Knuth, vol. 3, 6.4). */
const multiplier = 0x9e3779b1;

export class TupleIndex {
  /** How many different sets were added. */
  count = 0;
  /** The members of all sets, `width` each, in increasing order. */
  members: Int32Array;
  private places: Int32Array;
  private readonly sorted: Int32Array;

  /** @param width members of each set at most; smaller sets are filled with −1 */
  constructor(
    readonly width: number,
    expected = 64,
  ) {
    this.members = new Int32Array(expected * width);
    this.places = new Int32Array(2 ** Math.ceil(Math.log2(2 * expected + 1))).fill(-1);
    this.sorted = new Int32Array(width);
  }

  /** @returns the number of the set of `nodes`, whatever their order; of a new set the next number */
  add(nodes: ArrayLike<number>): number {
    const place = this.placeOf(nodes);
    if (this.places[place] >= 0) return this.places[place];
    if ((this.count + 1) * this.width > this.members.length) {
      const members = new Int32Array(2 * this.members.length);
      members.set(this.members);
      this.members = members;
    }
    this.members.set(this.sorted, this.count * this.width);
    this.places[place] = this.count++;
    if (2 * this.count > this.places.length) this.grow();
    return this.count - 1;
  }

  /** @returns the number of the set of `nodes`, or −1 */
  find(nodes: ArrayLike<number>): number {
    return this.places[this.placeOf(nodes)];
  }

  private placeOf(nodes: ArrayLike<number>): number {
    const {sorted, width} = this;
    for (let i = 0; i < width; i++) {
      const node = i < nodes.length ? nodes[i] : -1;
      let j = i;
      for (; j > 0 && sorted[j - 1] > node; j--) sorted[j] = sorted[j - 1];
      sorted[j] = node;
    }
    return this.probe(sorted, 0);
  }

  private probe(tuple: Int32Array, from: number): number {
    const {places, members, width} = this;
    let hash = 0;
    for (let i = 0; i < width; i++) hash = Math.imul(hash ^ tuple[from + i] ^ (hash >>> 15), multiplier);
    let place = (hash ^ (hash >>> 16)) & (places.length - 1);
    for (; places[place] >= 0; place = (place + 1) & (places.length - 1)) {
      const start = places[place] * width;
      let equal = true;
      for (let i = 0; i < width && equal; i++) equal = members[start + i] === tuple[from + i];
      if (equal) break;
    }
    return place;
  }

  private grow(): void {
    this.places = new Int32Array(2 * this.places.length).fill(-1);
    for (let i = 0; i < this.count; i++) this.places[this.probe(this.members, i * this.width)] = i;
  }
}
