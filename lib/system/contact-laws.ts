/**
 * The rows of `Constraints.laws` by name: the terms added to G v⁺ and to G w; in normal rows μ and the share of λ_N that displaces, in
 * tangential rows the number of their normal row and the share of λ_T; then 1 in tangential rows, the velocity that a unit of π takes
 * from its row, and that which a unit of λ_N takes from a contact that is a spring. In a file of its own, as worker threads read it without tfjs.
 */
export const contactLaws = {apart: 0, reach: 1, coefficient: 2, share: 3, tangential: 4, give: 5, spring: 6} as const;

/**
 * Rows from which on contact forces are found from these. Fewer are found faster by Newton's method on the whole step, which needs nothing more
 * compiled: milliseconds a step of one ball on a floor 0.17 instead of 0.31, of a box on its corners 0.24 instead of 0.28, of three boxes on each other
 * (96 rows) 18 instead of 32. Four boxes (132) took half the time by these.
 */
export const fewestRows = 100;

/** A single contact in space has three rows, and Newton's method on the whole step finds its forces; from more on these are compiled for when it does not. */
export const fewestTold = 4;

/** Blocks of the unknown of a step with impacts beside v, a and λ, by the names that messages give them. */
export const impactBlocks = {
  mean: 'v over the step',
  pi: 'the impulse of positions',
  compressed: 'v in compression',
  compression: 'the impulse of compression',
  bond: 'the reaction of joints',
} as const;
