/**
 * Share of the velocity that a contact force gives which its contact yields: in every one of the solutions that lead to the forces
 * (integrate/contact-forces.ts), and in derivatives, to what the force differs by from the last one; to displacements, which may
 * contradict each other, as it is. Contacts are redundant more often than not (a box on four corners, a ball wedged between
 * walls), and Newton's matrix is singular without. Of 1e-6, 1e-7, 1e-8 and 1e-9 the last two made Newton's iteration fail or err
 * on wedged balls.
 */
export const contactSoftness = 1e-7;
