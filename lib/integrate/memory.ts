/**
 * The memory that a run will need, estimated before anything is allocated: an operating system kills a program that
 * takes more memory than there is without a message, or makes it very slow for minutes first.
 */
import {MemoryError} from '../errors.js';
import {bytesText} from '../memory.js';
import {nodeOs} from '../builtin.js';

export const bytesPerNumber = 8;

/**
 * States kept for a gradient at most, whatever the budget: a map of V8 holds 2²⁴, and takes seconds to fill. From 2²⁰
 * the binomial schedule reaches 5·10¹¹ steps taking each again twice at most (Griewank & Walther, §12.3).
 */
export const mostStates = 2 ** 20;

/** What to change where what is saved does not fit. */
export const fewerSaved =
  "Save fewer states: saveAt: 'end', {every: n} or a list of times; or go through them one by one with simulate.steps.";

/** Where the machine does not say what it has: what a page may take in most browsers. */
const usualMemory = 2 ** 32;

/** So many bytes every machine has. */
const always = 2 ** 28;

/** Asked once: the machine stays the same. */
let available: number | undefined;

/** Bytes that this program can have: of the machine, or of what its container allows. */
function askMemory(): number {
  const {process, navigator} = globalThis as {
    readonly process?: {constrainedMemory?(): number};
    readonly navigator?: {readonly deviceMemory?: number};
  };
  const machine =
    nodeOs?.totalmem() ?? (navigator?.deviceMemory === undefined ? usualMemory : navigator.deviceMemory * 2 ** 30);
  // 0 or more than any machine has where there is no limit.
  const limit = process?.constrainedMemory?.() ?? 0;
  return limit > 0 ? Math.min(limit, machine) : machine;
}

const availableMemory = (): number => (available ??= askMemory());

/** A budget of bytes, as far as the machine has them: half is left for what else a run keeps. */
export const withinMachine = (bytes: number): number =>
  bytes <= always ? bytes : Math.min(bytes, availableMemory() / 2);

/**
 * @param what needs it, as the sentence names it
 * @param remedy what to change, as a sentence
 * @throws MemoryError 'out-of-memory'
 */
export function requireMemory(bytes: number, what: string, remedy: string): void {
  if (bytes <= always) return;
  const there = availableMemory();
  if (bytes <= there) return;
  throw new MemoryError(
    'out-of-memory',
    `Not enough memory for ${what}: about ${bytesText(bytes)} are needed, and this program may use `
      + `${bytesText(there)}. ${remedy}`,
    {bytes, available: there, what},
  );
}

/** Bytes for a saved number: the state, the series made from it, both in double precision, and its tensor in single. */
const bytesPerSavedNumber = 2 * bytesPerNumber + 4;

/**
 * The saved states of so many runs.
 * @param width numbers in a saved state
 * @throws MemoryError
 */
export function requireSavedMemory(saved: number, width: number, runs = 1): void {
  const of = runs === 1 ? '' : ` in each of ${runs} runs`;
  requireMemory(
    runs * saved * width * bytesPerSavedNumber,
    `${saved} saved states of ${width} numbers${of}`,
    fewerSaved,
  );
}
