/**
 * The interface between a block of adaptive steps (integrate/history/adaptive-blocks.ts) and the routine that computes
 * it in one call: buffers in addition to those of the programs, and the meaning of the numbers in one of them.
 */
import {mostSteps, rowStart} from './rows.js';

/** By place in `blockControl`. Steps that are taken read all and change the first ones. */
const names = [
  // Where the run stands.
  't',
  /** The length that the controller asks for, the errors of the last two steps (NaN: none), whether the last one was refused. */
  'length',
  'lastError',
  'olderError',
  'rejected',
  /** Accepted steps of the run, and ends that `saveAt` counts. */
  'taken',
  'boundaries',
  // What was done: attempts, refused ones, rows, saved states.
  'attempts',
  'rejections',
  'rows',
  'saved',
  // What may be done: attempts, accepted steps of the run, the run's end, and the times to save that lie in `blockTimes`, with more to come or not.
  'mostAttempts',
  'most',
  'end',
  'times',
  'moreTimes',
  /** Every so many ends are saved; 0: none. */
  'every',
  // The tolerance and the controller (history/step-lengths.ts).
  'rtol',
  'judged',
  'aimed',
  'first',
  'integral',
  'proportional',
  'derivative',
  'rejecting',
  'growth',
  'shrinking',
  'safety',
  'max',
  'least',
] as const;

export type BlockNumber = (typeof names)[number];

export const blockNumbers = names.length;

/** The place of each number. */
export const blockPlace = Object.fromEntries(names.map((name, i) => [name, i])) as {
  readonly [N in BlockNumber]: number;
};

/** A difference of two times this close is their rounding. */
export const timeRounding = 16 * Number.EPSILON;

/** The end is met by a step stretched by no more than this (Hairer & Wanner, RADAU5). */
export const stretch = 1.01;

/** Of an estimate, as a share of the tolerance: below this it is rounding, and no longer says how much a step may grow. */
export const smallestError = 1e-10;

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
