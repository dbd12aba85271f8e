/**
 * The rows of `Constraints.laws` by name: the terms added to G v⁺ and to G w; in normal rows μ and the share of λ_N that displaces, in
 * tangential rows the number of their normal row and the share of λ_T; then 1 in tangential rows, and the velocity that a unit of π takes
 * from its row. In a file of its own, as worker threads read it without tfjs.
 */
export const contactLaws = {apart: 0, reach: 1, coefficient: 2, share: 3, tangential: 4, give: 5} as const;

/**
 * Rows from which on contact forces are found from these: a hundred contacts with friction, as forty balls in a box have. Fewer are found by
 * Newton's method on the whole step, which gives two digits more: otherwise differences of the motion of a tumbling box were off by 1.7e-6
 * instead of less than 1e-6.
 */
export const fewestRows = 300;
