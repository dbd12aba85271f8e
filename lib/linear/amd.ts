/**
 * Approximate minimum degree: eliminates next the unknown that seems to have the fewest neighbours, so
 * that little fill appears (Amestoy, Davis & Duff, SIAM J. Matrix Anal. Appl. 17 (1996) 886–905, and
 * ACM TOMS 837). The graph of what remains is kept as a *quotient graph*: an eliminated unknown becomes
 * an element, the list of unknowns it joins, instead of the clique that list stands for; memory never
 * grows. Degrees are upper bounds that cost one pass over the elements; unknowns that cannot be told
 * apart are merged into one, and those with nothing else left are eliminated at once.
 */
import {denseLimit, type AdjacencyGraph} from './graph.js';

/** order[k] is the vertex to eliminate at step k. */
export function amd(graph: AdjacencyGraph): Int32Array {
  const quotient = new QuotientGraph(graph);
  while (quotient.remaining > 0) quotient.eliminate(quotient.smallest());
  return quotient.order();
}

/** `elements[i]` of a vertex that is no unknown any more. */
const ELEMENT = -2;
const ABSORBED = -1;

class QuotientGraph {
  remaining: number;
  private readonly n: number;
  /** All lists. Of an unknown: its elements, then its remaining direct neighbours. Of an element: its unknowns. */
  private readonly lists: Int32Array;
  private free: number;
  private readonly start: Int32Array;
  private readonly length: Int32Array;
  /** How many entries of an unknown's list are elements; or ELEMENT or ABSORBED. */
  private readonly elements: Int32Array;
  /** Unknowns this one stands for; 0 when merged into another, negative while it is in the new element. */
  private readonly weight: Int32Array;
  private readonly degree: Int32Array;
  /** The vertex that one was merged or absorbed into, −1 at a root. */
  private readonly parent: Int32Array;
  /** By element: 0 when absorbed, else (from `stamp` on) |its unknowns outside the new element|. */
  private readonly mark: Int32Array;
  private stamp = 2;
  /** Doubly linked lists of unknowns by degree; the links also serve the hash buckets. */
  private readonly head: Int32Array;
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  private readonly bucket: Int32Array;
  private readonly hash: Int32Array;
  private lowest = 0;

  constructor({n, pointers, adjacent}: AdjacencyGraph) {
    this.n = n;
    this.remaining = n;
    // Lists only shrink, but a new element is written before the old ones are given up: room for one
    // of n, and a fifth more (TOMS 837's elbow room) so that compaction is rare.
    this.lists = new Int32Array(adjacent.length + Math.ceil(adjacent.length / 5) + n + 1);
    this.lists.set(adjacent);
    this.free = adjacent.length;
    this.start = pointers.slice(0, n);
    this.length = Int32Array.from({length: n}, (_, i) => pointers[i + 1] - pointers[i]);
    this.degree = this.length.slice();
    this.elements = new Int32Array(n);
    this.weight = new Int32Array(n).fill(1);
    this.parent = new Int32Array(n).fill(-1);
    this.mark = new Int32Array(n).fill(1);
    this.head = new Int32Array(n).fill(-1);
    this.next = new Int32Array(n).fill(-1);
    this.previous = new Int32Array(n).fill(-1);
    this.bucket = new Int32Array(n).fill(-1);
    this.hash = new Int32Array(n);
    const dense = denseLimit(n);
    for (let i = 0; i < n; i++) {
      if (this.degree[i] > dense) {
        this.weight[i] = 0;
        this.elements[i] = ABSORBED;
        this.remaining--;
      }
    }
    for (let i = n - 1; i >= 0; i--) if (this.weight[i] > 0) this.enlist(i, this.degree[i]);
  }

  smallest(): number {
    while (this.head[this.lowest] < 0) this.lowest++;
    return this.head[this.lowest];
  }

  /** One elimination step; the unknown `pivot` becomes an element. */
  eliminate(pivot: number): void {
    this.delist(pivot);
    this.remaining -= this.weight[pivot];
    const pivotWeight = this.weight[pivot];
    this.formElement(pivot);
    this.measureOverlaps(pivot);
    const massEliminated = this.updateDegrees(pivot);
    this.mergeIndistinguishable(pivot);
    this.finishElement(pivot, pivotWeight + massEliminated);
  }

  /** L_p = A_p ∪ ⋃ L_e over the pivot's elements e, which are absorbed. Its unknowns leave the degree lists. */
  private formElement(pivot: number): void {
    const {start, length, elements, weight, mark, parent} = this;
    const inPlace = elements[pivot] === 0;
    if (!inPlace && this.free + this.remaining > this.lists.length) this.compact();
    const lists = this.lists;
    const begin = inPlace ? start[pivot] : this.free;
    let end = begin;
    let total = 0;
    weight[pivot] = -weight[pivot];
    const own = start[pivot];
    const count = elements[pivot];
    for (let k = 0; k <= count; k++) {
      const isElement = k < count;
      const e = isElement ? lists[own + k] : pivot;
      const from = isElement ? start[e] : own + count;
      const to = isElement ? from + length[e] : own + length[pivot];
      for (let p = from; p < to; p++) {
        const i = lists[p];
        const size = weight[i];
        if (size <= 0) continue;
        total += size;
        weight[i] = -size;
        lists[end++] = i;
        this.delist(i);
      }
      if (isElement) {
        parent[e] = pivot;
        mark[e] = 0;
      }
    }
    if (!inPlace) this.free = end;
    this.degree[pivot] = total;
    start[pivot] = begin;
    length[pivot] = end - begin;
    elements[pivot] = ELEMENT;
  }

  /** mark[e] − stamp = |L_e \ L_p| for every element next to the new one, in one pass over L_p. */
  private measureOverlaps(pivot: number): void {
    const {lists, start, length, elements, weight, mark, degree, stamp} = this;
    const end = start[pivot] + length[pivot];
    for (let k = start[pivot]; k < end; k++) {
      const i = lists[k];
      const count = elements[i];
      const size = -weight[i];
      for (let p = start[i]; p < start[i] + count; p++) {
        const e = lists[p];
        if (mark[e] >= stamp) mark[e] -= size;
        else if (mark[e] !== 0) mark[e] = degree[e] + stamp - size;
      }
    }
  }

  /**
   * d_i ≤ |A_i| + Σ_e |L_e \ L_p|, the approximate degree outside the new element; absorbs elements
   * that lie inside it. Returns the unknowns eliminated together with the pivot, having nothing outside.
   */
  private updateDegrees(pivot: number): number {
    const {n, lists, start, length, elements, weight, mark, degree, parent, hash, bucket, next, stamp} = this;
    const end = start[pivot] + length[pivot];
    let eliminated = 0;
    for (let k = start[pivot]; k < end; k++) {
      const i = lists[k];
      const first = start[i];
      const variables = first + elements[i];
      const stop = first + length[i];
      let kept = first;
      let sum = 0;
      let key = 0;
      for (let p = first; p < variables; p++) {
        const e = lists[p];
        if (mark[e] === 0) continue;
        const outside = mark[e] - stamp;
        if (outside > 0) {
          sum += outside;
          lists[kept++] = e;
          key += e;
        } else {
          parent[e] = pivot;
          mark[e] = 0;
        }
      }
      const firstVariable = kept;
      elements[i] = kept - first + 1;
      for (let p = variables; p < stop; p++) {
        const j = lists[p];
        if (weight[j] <= 0) continue;
        sum += weight[j];
        lists[kept++] = j;
        key += j;
      }
      if (sum === 0) {
        parent[i] = pivot;
        eliminated -= weight[i];
        weight[i] = 0;
        elements[i] = ABSORBED;
        continue;
      }
      degree[i] = Math.min(degree[i], sum);
      // The pivot goes first; the list lost at least one entry, so there is room.
      lists[kept] = lists[firstVariable];
      lists[firstVariable] = lists[first];
      lists[first] = pivot;
      length[i] = kept - first + 1;
      hash[i] = key % n;
      next[i] = bucket[hash[i]];
      bucket[hash[i]] = i;
    }
    this.remaining -= eliminated;
    this.degree[pivot] -= eliminated;
    this.raiseStamp();
    return eliminated;
  }

  /** Unknowns of the new element with equal lists have equal futures: one stands for all. */
  private mergeIndistinguishable(pivot: number): void {
    const {lists, start, length, elements, weight, mark, parent, hash, bucket, next} = this;
    const end = start[pivot] + length[pivot];
    for (let k = start[pivot]; k < end; k++) {
      if (weight[lists[k]] >= 0) continue;
      const key = hash[lists[k]];
      let i = bucket[key];
      bucket[key] = -1;
      for (; i >= 0 && next[i] >= 0; i = next[i], this.stamp++) {
        const stamp = this.stamp;
        for (let p = start[i] + 1; p < start[i] + length[i]; p++) mark[lists[p]] = stamp;
        let before = i;
        for (let j = next[i]; j >= 0; j = next[before]) {
          let same = length[j] === length[i] && elements[j] === elements[i];
          for (let p = start[j] + 1; same && p < start[j] + length[j]; p++) same = mark[lists[p]] === stamp;
          if (same) {
            parent[j] = i;
            weight[i] += weight[j];
            weight[j] = 0;
            elements[j] = ABSORBED;
            next[before] = next[j];
          } else {
            before = j;
          }
        }
      }
    }
    this.raiseStamp();
  }

  /** The element keeps the unknowns that remain, and they get their degrees: outside plus inside. */
  private finishElement(pivot: number, pivotWeight: number): void {
    const {lists, start, length, weight, degree, mark} = this;
    const begin = start[pivot];
    const end = begin + length[pivot];
    let kept = begin;
    for (let k = begin; k < end; k++) {
      const i = lists[k];
      const size = -weight[i];
      if (size <= 0) continue;
      weight[i] = size;
      this.enlist(i, Math.min(degree[i] + degree[pivot] - size, this.remaining - size));
      lists[kept++] = i;
    }
    weight[pivot] = pivotWeight;
    length[pivot] = kept - begin;
    if (kept === begin) mark[pivot] = 0;
    if (end === this.free) this.free = kept;
  }

  private enlist(i: number, degree: number): void {
    const {head, next, previous} = this;
    this.degree[i] = degree;
    previous[i] = -1;
    next[i] = head[degree];
    if (next[i] >= 0) previous[next[i]] = i;
    head[degree] = i;
    if (degree < this.lowest) this.lowest = degree;
  }

  private delist(i: number): void {
    const {head, next, previous} = this;
    if (next[i] >= 0) previous[next[i]] = previous[i];
    if (previous[i] >= 0) next[previous[i]] = next[i];
    else head[this.degree[i]] = next[i];
  }

  /** Makes every mark older than the stamp again; no mark exceeds it by more than n. */
  private raiseStamp(): void {
    this.stamp += this.n + 1;
    if (this.stamp < 2 ** 30) return;
    for (let i = 0; i < this.n; i++) if (this.mark[i] !== 0) this.mark[i] = 1;
    this.stamp = 2;
  }

  /** Moves all living lists to the front. */
  private compact(): void {
    const {lists, start, length, elements, weight, mark} = this;
    const living: number[] = [];
    for (let i = 0; i < this.n; i++) {
      const alive = elements[i] === ELEMENT ? mark[i] !== 0 : elements[i] !== ABSORBED && weight[i] !== 0;
      if (alive) living.push(i);
    }
    living.sort((a, b) => start[a] - start[b]);
    let free = 0;
    for (const i of living) {
      lists.copyWithin(free, start[i], start[i] + length[i]);
      start[i] = free;
      free += length[i];
    }
    this.free = free;
  }

  /**
   * Postorder of the absorption tree: elements before the unknowns merged into the same parent. Dense rows are in no
   * tree; as the first on the stack they come last.
   */
  order(): Int32Array {
    const {n, parent, weight} = this;
    const firstChild = new Int32Array(n).fill(-1);
    const sibling = new Int32Array(n).fill(-1);
    const roots: number[] = [];
    for (const wantElements of [false, true]) {
      for (let i = n - 1; i >= 0; i--) {
        if (weight[i] > 0 !== wantElements) continue;
        if (parent[i] < 0) {
          roots.push(i);
        } else {
          sibling[i] = firstChild[parent[i]];
          firstChild[parent[i]] = i;
        }
      }
    }
    const order = new Int32Array(n);
    const stack = roots;
    let count = 0;
    while (stack.length > 0) {
      const i = stack[stack.length - 1];
      const child = firstChild[i];
      if (child >= 0) {
        firstChild[i] = sibling[child];
        stack.push(child);
      } else {
        order[count++] = i;
        stack.pop();
      }
    }
    return order;
  }
}
