/**
 * Buffers in the memory of compiled programs for the rows of several steps that one call takes or pulls back: their
 * records, and the states at their ends or within them, or the cotangents of these. Steps that do not fit are taken one
 * by one.
 */

/** Beyond some tens of steps a call more costs nothing that can be measured beside them. */
export const maxBlockSteps = 64;

/**
 * 32 KiB, as the first-level cache of most machines. Of states that leave room for fewer steps than `minBlockSteps` a
 * step takes so long that calls are not seen beside it (a chain of 1024 masses: 17 µs).
 */
const maxBlockNumbers = 4096;
const minBlockSteps = 4;

/** Steps that a block holds. @param width numbers in a row of the record @param state numbers in a state */
export function stepsInBlock(width: number, state: number): number {
  const count = Math.min(maxBlockSteps, Math.floor(maxBlockNumbers / (width + state)));
  return count < minBlockSteps ? 0 : count;
}

/** Numbers in the buffer of a block. */
export const blockSize = (width: number, state: number): number => stepsInBlock(width, state) * (width + state);

/** Numbers in a row of a record beside what is kept of the step: its time and its length. */
export const rowHeaderSize = 2;

/** Numbers that a sweep backwards counts in the programs' memory (adjoint/jacobian-factor.ts). */
export const sweepFrameSize = 4;
