/**
 * The interface between a block of adaptive steps (integrate/history/adaptive-blocks.ts) and the routine that computes
 * it in one call: buffers in addition to those of the programs, and the meaning of the numbers in one of them.
 */
import {mostSteps, rowStart} from './rows.js';

/** By place in `blockControl`. */
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

export const blockNumbers = names.length;

/** The place of each number. */
export const blockPlace = Object.fromEntries(names.map((name, i) => [name, i])) as {
  readonly [N in BlockNumber]: number;
};

/** A difference of two times this close is their rounding. */
export const timeRounding = 16 * Number.EPSILON;

/**
 * Beyond so many numbers a step takes so long that a call is not seen beside it (a spiral of 128 members, 256 numbers: 1.02 of the
 * time step by step). Fewer steps would do for the call, but a step whose saved states find no room is taken again by the next one.
 */
const mostNumbers = 2 ** 15;

/** Steps that a block holds, and saved states in them; 0 where steps are taken one by one. */
export const adaptiveRoom = (size: number): number =>
  mostSteps * (rowStart + 2 * size) <= mostNumbers ? mostSteps : 0;

const blockRoom = (size: number): number => adaptiveRoom(size) * (rowStart + 2 * size);

/** Of forward steps. @param judged numbers that the error is estimated of */
export function adaptiveBuffers(size: number, judged: number): {readonly [name: string]: number} {
  const room = adaptiveRoom(size);
  return {
    x: size,
    block: blockRoom(size),
    blockControl: names.length,
    blockTheta: room,
    blockAfter: room,
    blockTimes: room,
    blockStiffness: room,
    blockAbsolute: judged,
    blockJudged: judged,
  };
}

/** Of the way back, with the state that the last row ended at as one row more. */
export function timedBuffers(size: number): {readonly [name: string]: number} {
  const room = adaptiveRoom(size);
  return {
    block: blockRoom(size) + rowStart + size,
    blockTheta: room,
    blockAfter: 1 + room,
    blockCotangent: size,
  };
}
