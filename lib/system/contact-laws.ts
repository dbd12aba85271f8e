/** Numbers and names that contacts and their solvers share, for worker threads too, which load no tfjs. */

/**
 * The rows of `Constraints.laws` by name. `apart` and `reach` are added to G v⁺ and to G w. In normal rows
 * `coefficient` is μ and `share` the share of λ_N that displaces. In tangential rows they are the number of the normal
 * row and the share of λ_T. `tangential` is 1 in tangential rows. `give` is the velocity that a unit of π takes from
 * its row, `spring` the velocity that a unit of λ_N takes from a contact that is a spring.
 */
export const contactLaws = {apart: 0, reach: 1, coefficient: 2, share: 3, tangential: 4, give: 5, spring: 6} as const;

/**
 * Rows from which on the forces of contacts are found from their laws. With fewer, Newton's method on the whole step is
 * faster: a step of one ball on a floor takes 0.17 ms instead of 0.31, of a box on its corners 0.24 instead of 0.28, of
 * three boxes on each other (96 rows) 18 instead of 32. Four boxes (132 rows) took half the time by the laws.
 */
export const fewestRows = 100;

/**
 * Rows from which on the laws are compiled, for steps in which Newton's method fails. A single contact in space has
 * three rows, and Newton's method finds its forces.
 */
export const fewestTold = 4;

/**
 * Share of the velocity given by a contact force by which its contact yields, in each solution that leads to the forces
 * and in displacements. Contacts are often redundant (a box on four corners, a ball wedged between walls), and Newton's
 * matrix would be singular. With 1e-8 and 1e-9 Newton's iteration failed or erred on wedged balls.
 */
export const contactSoftness = 1e-7;

/**
 * The softness in derivatives, by the difference of the force from the last step's. Derivatives are one linear
 * solution, whose matrix may be nearer to singular: for a pendulum with 24 impacts ∂x/∂e is off by 4e-6 at 1e-7. Where
 * contacts are redundant, rounding is multiplied by its inverse.
 */
export const derivativeSoftness = 1e-8;

/** Blocks of the unknown of a step with impacts besides v, a and λ, by the names that messages give them. */
export const impactBlocks = {
  mean: 'v over the step',
  pi: 'the impulse of positions',
  compressed: 'v in compression',
  compression: 'the impulse of compression',
  bond: 'the reaction of joints',
} as const;
