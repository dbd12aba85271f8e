/**
 * The interface between a run and its adjoint. Each adjoint is one object behind this interface: nothing outside this
 * folder asks which one it is.
 */
import type {Engine} from '../../engine/engine.js';
import type {Scheme} from '../../scheme/index.js';
import type {System} from '../../step/formulation.js';
import type {TracedStep} from '../../step/traced-step.js';
import type {OwnBlock} from '../../system/equations.js';
import type {Leaf} from '../../system/params.js';
import type {Kept, PlainKept, Run} from '../path.js';
import type {AskedCall, Room} from '../run-call.js';
import type {Arithmetic, Runnable} from '../runnable.js';

/**
 * How gradients are computed; made by `implicitAdjoint`, `unrolledAdjoint`, `backsolveAdjoint` or `forwardSensitivity`.
 */
export interface Adjoint {
  /** The function that made it. */
  readonly name: string;
}

/** A run as it was asked for. */
export interface Asked {
  readonly system: System;
  readonly options: Arithmetic & {readonly scheme: Scheme; readonly events: readonly unknown[]};
}

/** The same, traced. */
export interface AskedStep extends Asked {
  /** The user's blocks. */
  readonly own: readonly OwnBlock[];
  readonly leaves: readonly Leaf[];
  readonly traced: TracedStep;
  readonly engine: Engine;
  /** The user's blocks, or the whole state of a run that goes on from another. */
  readonly given: Float64Array;
}

/** What an adjoint has to say of the runs it is asked for. */
export interface AdjointMethod extends Adjoint {
  /** Products with Hessians go back by this adjoint, within so many bytes. */
  readonly secondOrder?: {readonly memory: number};
  /** @throws OptionError 'bad-adjoint' where runs of this kind have no such gradient */
  check?(asked: Asked): void;
  /** @throws OptionError 'bad-adjoint' where the traced step has none */
  prepare(asked: AskedStep): PreparedAdjoint;
}

/** An adjoint for one prepared simulation, whatever the numbers that it is run with. */
export interface PreparedAdjoint {
  /** See `Arithmetic`. */
  readonly ownJacobians?: boolean;
  /** The run, with what its gradient needs kept. */
  run(prepared: Runnable): Run;
  /**
   * The run and its way back as parts of one call, of programs that lie in one memory, with room for what they leave;
   * undefined where they are not taken so.
   */
  inOneCall?(prepared: Runnable, room: Room): AskedCall | undefined;
  /** Absent where runs stay in the thread that traced them. */
  readonly threads?: Threaded;
  /** The same for one of so many runs whose memory is counted together; absent where there is no budget. */
  among?(runs: number): PreparedAdjoint;
}

/** What lets worker threads make the runs. */
export interface Threaded {
  /** By which the other thread makes the same adjoint (serialize-adjoint.ts). */
  readonly plain: PlainAdjoint;
  /** Threads gain time on the way back. */
  readonly gain: boolean;
  /** What a message brought of what a run kept (`Kept.plain`). @param completed steps of the grid */
  kept(plain: PlainKept, completed: number): Kept;
}

/** An adjoint as a message carries it. */
export interface PlainAdjoint {
  readonly name: string;
  readonly memory?: number;
}
