/**
 * The interface between a run and its adjoint. Each adjoint is one object behind this interface: nothing outside this
 * folder asks which one it is.
 */
import {OptionError} from '../../errors.js';
import type {Engine} from '../../engine/engine.js';
import type {Scheme} from '../../scheme/index.js';
import type {System} from '../../step/formulation.js';
import type {TracedStep} from '../../step/traced-step.js';
import type {UserBlock} from '../../system/equations.js';
import type {Leaf} from '../../system/params.js';
import type {BackwardTape, SerializedTape, Run} from '../path.js';
import type {DeferredCall, MemoryArena} from '../run-call.js';
import type {ExecutionOptions, RunContext} from '../run-context.js';

/**
 * How gradients are computed; made by `implicitAdjoint`, `unrolledAdjoint`, `backsolveAdjoint` or `forwardSensitivity`,
 * or an `AdjointMethod` of one's own.
 */
export interface Adjoint {
  /** The function that made it, or the method's own name. */
  readonly name: string;
}

/** The error of an adjoint that has no derivative by the time of the start. */
export const noStartTime = (name: string): OptionError =>
  new OptionError(
    'bad-adjoint',
    `${name} has no derivative by t0: take implicitAdjoint(), or simulate.jvp with the tangent {t0: 1}.`,
  );

/** A run as it was asked for. */
export interface RunRequest {
  readonly system: System;
  readonly options: ExecutionOptions & {readonly scheme: Scheme; readonly events: readonly unknown[]};
}

/** A run that an adjoint prepares for, with its traced step. */
export interface TracedRequest extends RunRequest {
  /** The user's blocks. */
  readonly userBlocks: readonly UserBlock[];
  readonly leaves: readonly Leaf[];
  readonly traced: TracedStep;
  readonly engine: Engine;
  /** The user's blocks, or the whole state of a run that goes on from another. */
  readonly initialValues: Float64Array;
}

/** Makes the adjoint of a prepared simulation. */
export interface AdjointFactory extends Adjoint {
  /** Products with Hessians go back by this adjoint, within so many bytes. */
  readonly secondOrder?: {readonly memory: number};
  /** @throws OptionError 'bad-adjoint' where runs of this kind have no such gradient */
  check?(asked: RunRequest): void;
  /** @throws OptionError 'bad-adjoint' where the traced step has none */
  prepare(asked: TracedRequest): PreparedAdjoint;
}

/** An adjoint for one prepared simulation, whatever the numbers that it is run with. */
export interface PreparedAdjoint {
  /** See `ExecutionOptions`. */
  readonly freshJacobians?: boolean;
  /** The run, with what its gradient needs kept. */
  run(prepared: RunContext): Run;
  /**
   * The run and its way back as parts of one call, of programs that lie in one memory, with room for what they leave;
   * undefined where they are not taken so.
   */
  inOneCall?(prepared: RunContext, room: MemoryArena): DeferredCall | undefined;
  /** Gradients are made of tangents, which the run computes along. */
  readonly takesTangents?: true;
  /** Absent where runs stay in the thread that traced them. */
  readonly threads?: WorkerSupport;
  /** This adjoint for one of several runs that share a budget of memory; absent if there is no budget. */
  sharedAmong?(runs: number): PreparedAdjoint;
}

/** What lets worker threads make the runs. */
export interface WorkerSupport {
  /** Plain values by which another thread makes this adjoint (serialize-adjoint.ts). */
  readonly plain: SerializedAdjoint;
  /** Threads gain time on the way back. */
  readonly paysOff: boolean;
  /** What a message brought of what a run kept (`BackwardTape.plain`). @param completed steps of the grid */
  deserializeTape(plain: SerializedTape, completed: number): BackwardTape;
}

/** An adjoint as a message carries it. */
export interface SerializedAdjoint {
  readonly name: string;
  readonly memory?: number;
}
