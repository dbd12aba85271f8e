/**
 * Gaussian random numbers that a seed repeats: xoroshiro128+ under Marsaglia's polar method (SIAM Review 1964),
 * which needs no trigonometric function and no table.
 */
import {uniformFloat64} from 'pure-rand/distribution/uniformFloat64';
import {seeded} from '../../lib/random.js';

/** A source of independent normal numbers of mean 0 and variance 1. */
export function gaussian(seed: number): () => number {
  const generator = seeded(seed);
  let spare: number | undefined;
  return () => {
    if (spare !== undefined) {
      const value = spare;
      spare = undefined;
      return value;
    }
    const [value, next] = normalPair(() => uniformFloat64(generator));
    spare = next;
    return value;
  };
}

/** Two independent normal numbers. @param uniform draws from [0, 1) */
export function normalPair(uniform: () => number): readonly [number, number] {
  for (;;) {
    const x = 2 * uniform() - 1;
    const y = 2 * uniform() - 1;
    const square = x * x + y * y;
    if (square >= 1 || square === 0) continue;
    const factor = Math.sqrt((-2 * Math.log(square)) / square);
    return [x * factor, y * factor];
  }
}
