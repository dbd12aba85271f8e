/**
 * A whole run and its way back, to be called at once: with the programs of all its parts in one memory, its loops over the
 * steps (step-blocks.ts, pull-blocks.ts) read and write one record there, and nothing has to be copied or set up between
 * them. The numbers are those of run.ts and adjoint/sweep-back.ts, to the bit. What is out of the ordinary ends the call;
 * then the run is taken again by those.
 */
import type {Engine, Executable} from '../engine/engine.js';
import type {RoutineWriter} from '../engine/wasm/routine.js';
import type {VectorKernels} from '../engine/wasm/kernels.js';
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
  /** From the cotangents of the saved states, back to the first step. */
  writeSteps(w: RoutineWriter, stop: () => void): void;
  /** Back through the start. */
  writeEnd(w: RoutineWriter): void;
}

/** A run whose programs have been asked for, and are not used yet. */
export interface AskedCall {
  /** Once all programs that are to lie in the same memory have been asked for. */
  bind(): RunCall | undefined;
}

/**
 * Arrays in the memory of several programs, behind them: their sizes may differ from one run to the next, and programs that lie
 * where they lay before need no new compilation.
 */
export class Room {
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

/** Writes z = base + x of so many numbers; all of them are addresses. */
export const writeSum = (
  w: RoutineWriter,
  {advance}: Pick<VectorKernels, 'advance'>,
  z: number,
  base: number,
  x: number,
  count: number,
): void => w.run(advance, z, base, x, count, {number: -1});

/** Ends the call where one of so many numbers is not finite. */
export function writeFinite(
  w: RoutineWriter,
  {largest}: Pick<VectorKernels, 'largest'>,
  x: Float64Array,
  stop: () => void,
): void {
  if (x.length === 0) return;
  const size = w.call(largest, [x.byteOffset, x.length], 'f64');
  w.if(w.op('i32.eqz', w.op('f64.lt', size, w.number(Infinity))), stop);
}
