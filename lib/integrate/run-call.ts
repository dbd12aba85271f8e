/**
 * A whole run and its way back, to be called at once: with the programs of all its parts in one memory, its loops over the
 * steps (step-blocks.ts, pull-blocks.ts) read and write one record there, and nothing has to be copied or set up between
 * them. The numbers are those of run.ts and adjoint/sweep-back.ts, to the bit. What is out of the ordinary ends the call;
 * then the run is taken again by those.
 */
import type {RoutineWriter} from '../engine/wasm/routine.js';
import type {StepExecutable} from '../step/buffers.js';
import type {ParameterName} from '../step/parameter-names.js';

/** Sources of cotangents, by parameter. */
export type Sums = readonly (Float64Array | undefined)[];

export interface RunCall {
  /** The programs that read the parameters. */
  readonly executables: readonly StepExecutable[];
  /** Where the start is put: the user's blocks. */
  readonly given: Float64Array;
  /** Saved states, one after another; their times; and what the way back begins with. */
  readonly states: Float64Array;
  readonly times: Float64Array;
  readonly cotangents: Float64Array;
  /** The cotangent of the start. */
  readonly initial: Float64Array;
  /** Cotangents of the parameters that the way back leaves, in the order in which they are added. */
  readonly sums: readonly Sums[];
  /** With the parameters set, from the start to the saved states. @param stop ends the call */
  writeRun(w: RoutineWriter, stop: () => void): void;
  /** From the cotangents of the saved states. */
  writeBack(w: RoutineWriter, stop: () => void): void;
}

/** A run whose programs have been asked for, and are not used yet. */
export interface AskedCall {
  /** Once all programs that are to lie in the same memory have been asked for. */
  bind(): RunCall | undefined;
}

export const parameterList = (count: number): ParameterName[] =>
  Array.from({length: count}, (_, i): ParameterName => `p.${i}`);
