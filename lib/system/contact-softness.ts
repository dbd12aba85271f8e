/**
 * Share of the velocity that a contact force gives which its contact yields: in every one of the solutions that lead to the forces
 * (integrate/contact-forces.ts); and to displacements, which may contradict each other, as it is. Contacts are redundant more often than not (a box on four corners, a ball wedged between
 * walls), and Newton's matrix is singular without. Of 1e-6, 1e-7, 1e-8 and 1e-9 the last two made Newton's iteration fail or err
 * on wedged balls.
 */
export const contactSoftness = 1e-7;

/**
 * The same in derivatives, to what the force differs by from the last step's. They are one linear solution, which may be nearer to
 * singular: of a pendulum with 24 impacts ∂x/∂e is off by 4e-6 at 1e-7, and where contacts are redundant rounding is multiplied by its inverse.
 */
export const derivativeSoftness = 1e-8;
