/**
 * The interface between a block of adaptive steps (integrate/history/adaptive-blocks.ts) and the routine that computes
 * it in one call: buffers in addition to those of the programs, and the meaning of the numbers in one of them.
 */
import {maxBlockSteps, rowHeaderSize} from './block-layout.js';

/** The numbers of `blockControl`, in their order. */
const names = [
  // The step to be tried: where it begins, its length, and its end.
  't',
  'h',
  'stop',
  // What was done: attempts, and accepted steps as rows.
  'attempts',
  'rows',
  /** Attempts that may be made. */
  'mostAttempts',
  /** The relative tolerance, and how many components the error is estimated of. */
  'rtol',
  'judged',
] as const;

export type BlockNumber = (typeof names)[number];

export const controlSize = names.length;

/** The place of each number. */
export const controlIndex = Object.fromEntries(names.map((name, i) => [name, i])) as {
  readonly [N in BlockNumber]: number;
};

/**
 * Beyond so many numbers a step takes so long that a call is not seen beside it: a spiral of 128 members, 256 numbers,
 * takes 1.02 of the time step by step.
 */
const maxNumbers = 2 ** 15;

/** Steps that a block holds; 0 where steps are taken one by one. */
export const adaptiveBlockSteps = (size: number): number =>
  maxBlockSteps * (rowHeaderSize + 2 * size) <= maxNumbers ? maxBlockSteps : 0;

/** Sizes of the buffers for forward steps. @param errorSize number of components with an error estimate */
export function adaptiveBuffers(size: number, errorSize: number): {readonly [name: string]: number} {
  const room = adaptiveBlockSteps(size);
  return {
    x: size,
    block: room * (rowHeaderSize + size),
    blockControl: names.length,
    blockStiffness: room,
    blockAbsolute: errorSize,
    blockJudged: errorSize,
  };
}

/**
 * Sizes of the buffers for the backward sweep: rows, with the state that the last one ended at as one more, and
 * cotangents of as many saved states as there are rows.
 */
export function timedBuffers(size: number): {readonly [name: string]: number} {
  const room = adaptiveBlockSteps(size);
  return {
    block: room * (rowHeaderSize + 2 * size) + rowHeaderSize + size,
    blockTheta: room,
    blockAfter: 1 + room,
    blockCotangent: size,
  };
}
