/**
 * Random structures from a list of whole numbers: fast-check makes and shrinks the list, `Choices`
 * reads it as decisions. Smaller numbers are simpler decisions, so that a shrunk list is a shrunk program.
 */
import fc from 'fast-check';
import type {Shape} from '../../lib/graph/node.js';
import {sizeOf} from '../../lib/graph/node.js';

/** Mulberry32: 32 bits of state are plenty for test values, and the same everywhere. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Choices {
  private at = 0;

  /** `smallest` is the least length of an axis: 0 lets axes be empty. */
  constructor(
    private readonly draws: readonly number[],
    private readonly smallest = 1,
  ) {}

  /** A whole number from low to high, both included; low when the list is used up. */
  integer(low: number, high: number): number {
    const draw = this.draws[this.at++] ?? 0;
    return low + (draw % (high - low + 1));
  }

  flag(): boolean {
    return this.integer(0, 1) === 1;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)];
  }

  shape(minRank = 0, maxRank = 5): number[] {
    // Axes of up to 4 up to rank 3, of up to 3 above: at most 243 elements.
    const rank = this.integer(minRank, maxRank);
    return Array.from({length: rank}, () => this.integer(this.smallest, rank <= 3 ? 4 : 3));
  }

  /** A shape that broadcasts to the given one. */
  narrower(shape: Shape): number[] {
    const dropped = this.integer(0, shape.length);
    return shape.slice(dropped).map(n => (this.integer(0, 2) === 0 ? 1 : n));
  }

  /** Another shape with as many elements. */
  regrouped(shape: Shape): number[] {
    let rest = sizeOf(shape);
    if (rest === 0) return [this.integer(0, 3), 0];
    const result: number[] = [];
    while (rest > 1 && result.length < 4) {
      const divisors = Array.from({length: rest}, (_, i) => i + 1).filter(n => rest % n === 0);
      const divisor = this.pick(divisors);
      result.push(divisor);
      rest /= divisor;
    }
    return rest > 1 || this.flag() ? [...result, rest] : result;
  }

  permutation(n: number): number[] {
    const order = Array.from({length: n}, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = i - this.integer(0, i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }

  subset(n: number): number[] {
    return Array.from({length: n}, (_, i) => i).filter(() => this.flag());
  }

  random(): () => number {
    return generator(this.integer(0, 2 ** 31 - 2));
  }
}

export const draws = (length: number): fc.Arbitrary<number[]> =>
  fc.array(fc.nat(2 ** 31 - 2), {minLength: length, maxLength: length});
