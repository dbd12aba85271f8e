/**
 * Numbers from −1 to 1 that are the same in every run, for trials at places that should be no special ones (the
 * congruential generator of Numerical Recipes, 2nd edition, §7.1). random.ts is for statistics.
 */
export function fixedNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 32) * 2 - 1;
  };
}
