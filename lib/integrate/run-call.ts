/**
 * A whole run and its way back in one memory: the programs of all its parts lie there, and the loops over the steps
 * (emit-step.ts, history/emit-adaptive.ts) read and write one record, so that nothing is copied or set up between them.
 * The numbers are those of run.ts and adjoint/sweep-back.ts, to the bit. What is out of the ordinary ends the run,
 * which is then taken by those.
 */
import {setZero} from '../adjoint/add-to.js';
import type {Engine, Executable} from '../engine/engine.js';
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
  /** With the parameters set, from the start to the saved states; false where something is out of the ordinary. */
  run(): boolean;
  /** From the cotangents of the saved states to that of the start. */
  pull(): void;
}

/** A run whose programs have been asked for, and are not used yet. */
export interface DeferredCall {
  /** Once all programs that are to lie in the same memory have been asked for. */
  bind(): RunCall | undefined;
}

/**
 * Arrays in the memory of several programs, behind them: their sizes may differ from one run to the next, and programs
 * that lie where they lay before need no new compilation.
 */
export class MemoryArena {
  private readonly sizes: {[name: string]: number} = {};
  private made: Executable | undefined;

  constructor(readonly engine: Engine) {}

  /** So many numbers, which are zero; to be asked for before any program is used. */
  ask(numbers: number): () => Float64Array {
    const name = String(Object.keys(this.sizes).length);
    this.sizes[name] = numbers;
    return () => this.executable.buffer(name);
  }

  /** All of it has been asked for. */
  close(): void {
    this.made = this.engine.compile({}, {extra: this.sizes});
  }

  private get executable(): Executable {
    if (this.made === undefined) throw new Error('room is asked for until it is closed, and used from then on');
    return this.made;
  }
}

export const parameterList = (count: number): ParameterName[] =>
  Array.from({length: count}, (_, i): ParameterName => `p.${i}`);

/** Before a pull whose programs add to their parameters' cotangents. */
export function clear(sums: Sums): void {
  for (const sum of sums) if (sum !== undefined) setZero(sum);
}
