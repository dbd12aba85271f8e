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
  /** Ends that `saveAt` counts. */
  'boundaries',
  // What was done: attempts, accepted steps as rows, saved states.
  'attempts',
  'rows',
  'saved',
  // What may be done: attempts, and the times to save that lie in `blockTimes`, with more to come or not.
  'mostAttempts',
  'times',
  'moreTimes',
  /** Every so many ends are saved; 0: none. */
  'every',
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

/** A difference of two times this close is their rounding. */
export const timeRoundoff = 16 * Number.EPSILON;

/**
 * Beyond so many numbers a step takes so long that a call is not seen beside it (a spiral of 128 members, 256 numbers:
 * 1.02 of the time step by step). Fewer steps would do for the call, but a step whose saved states find no room is
 * taken again by the next one.
 */
const maxNumbers = 2 ** 15;

/** Steps that a block holds, and saved states in them; 0 where steps are taken one by one. */
export const adaptiveBlockSteps = (size: number): number =>
  maxBlockSteps * (rowHeaderSize + 2 * size) <= maxNumbers ? maxBlockSteps : 0;

const blockSize = (size: number): number => adaptiveBlockSteps(size) * (rowHeaderSize + 2 * size);

/** Sizes of the buffers for forward steps. @param errorSize number of components with an error estimate */
export function adaptiveBuffers(size: number, errorSize: number): {readonly [name: string]: number} {
  const room = adaptiveBlockSteps(size);
  return {
    x: size,
    block: blockSize(size),
    blockControl: names.length,
    blockTheta: room,
    blockAfter: room,
    blockTimes: room,
    blockStiffness: room,
    blockAbsolute: errorSize,
    blockJudged: errorSize,
  };
}

/** Sizes of the buffers for the backward sweep; one row more holds the state that the last step ended at. */
export function timedBuffers(size: number): {readonly [name: string]: number} {
  const room = adaptiveBlockSteps(size);
  return {
    block: blockSize(size) + rowHeaderSize + size,
    blockTheta: room,
    blockAfter: 1 + room,
    blockCotangent: size,
  };
}
