/**
 * The adjoint of dense output: pulls cotangents of states within a step back to everything that its interpolation uses.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import {interpret} from '../routine/interpret.js';
import {programCallee} from '../routine/callees.js';
import {div, element, mul, RoutineBuilder, sub} from '../routine/routine.js';
import type {InteriorCotangent} from './gradient.js';
import type {ParameterCotangents} from './parameter-cotangents.js';
import {pairs, emitDensePull} from './emit-pull.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** What such cotangents ask of all but the step's end; the arrays are the next step's, too. */
export interface DenseCotangents {
  readonly xCotangent: Float64Array;
  readonly zCotangent?: Float64Array;
  readonly insideCotangent?: Float64Array;
  readonly tCotangent: number;
  readonly hCotangent: number;
}

export type PullDense = (
  record: StepRecord,
  k: number,
  h: number,
  end: Float64Array,
  looked: readonly InteriorCotangent[],
) => DenseCotangents;

/** Sums over the states within one step, or one step of each lane: their cotangents pulled back. */
export class DensePull {
  /** Where the states lie, and their cotangents: set before each `pull`. */
  readonly theta: Float64Array | undefined;
  readonly cotangent: Float64Array | undefined;
  /** The state at the step's end, set after `begin`. */
  readonly next: Float64Array | undefined;
  readonly xCotangent: Float64Array;
  readonly zCotangent: Float64Array | undefined;
  readonly insideCotangent: Float64Array | undefined;
  /** Zeros where the times of steps are constants. */
  readonly tCotangent = new Float64Array(1);
  readonly hCotangent = new Float64Array(1);
  private readonly inside: (() => void) | undefined;
  private readonly call: (h: number, theta: number) => number;

  /**
   * @param executable with dense output
   * @param endCotangent that of the step's end, which is added to
   */
  constructor(
    executable: StepExecutable<'inside' | 'pullDense'>,
    cotangents: ParameterCotangents,
    endCotangent: Float64Array,
    implicit: boolean,
  ) {
    this.inside = executable.has('inside') ? executable.program('inside') : undefined;
    this.theta = executable.optionalBuffer('theta');
    this.cotangent = executable.optionalBuffer('denseCotangent');
    this.next = executable.optionalBuffer('next');
    const ofX = executable.buffer('denseXCotangent');
    const ofZ = implicit ? executable.buffer('denseZCotangent') : undefined;
    const ofInside = executable.optionalBuffer('denseInsideCotangent');
    this.xCotangent = new Float64Array(ofX.length);
    this.zCotangent = ofZ && new Float64Array(ofZ.length);
    this.insideCotangent = ofInside && new Float64Array(ofInside.length);
    const b = new RoutineBuilder(2);
    const [h, theta] = [b.parameter(0), b.parameter(1)];
    emitDensePull(b, {
      pullDense: programCallee(executable, 'pullDense'),
      sum: {run: () => cotangents.add('pullDense')},
      added: pairs([
        [executable.optionalBuffer('denseNextCotangent'), endCotangent],
        [ofX, this.xCotangent],
        [ofZ, this.zCotangent],
        [ofInside, this.insideCotangent],
      ]),
    });
    // The saved time is a constant: θ = (time − t)/h.
    const [ofT, ofH, ofTheta] = (['denseTCotangent', 'denseHCotangent', 'denseThetaCotangent'] as const).map(name =>
      executable.optionalBuffer(name),
    );
    if (ofT !== undefined && ofH !== undefined && ofTheta !== undefined) {
      b.increment(element(this.tCotangent), sub(element(ofT), div(element(ofTheta), h)));
      b.increment(element(this.hCotangent), sub(element(ofH), div(mul(element(ofTheta), theta), h)));
    }
    this.call = interpret(b.routine);
  }

  /** Clears the sums for a step whose record has been loaded. */
  begin(): void {
    for (const sum of [this.xCotangent, this.zCotangent, this.insideCotangent, this.tCotangent, this.hCotangent])
      sum?.fill(0);
    this.inside?.();
  }

  /**
   * One state, or one of each lane.
   * @param h the step's length: 0 where the times of steps are constants
   * @param theta where the state lies in it: 0 as well
   */
  pull(h: number, theta: number): void {
    this.call(h, theta);
  }
}

/**
 * @param executable the context's historyAdjoint, of a run with dense output
 * @param endCotangent that of the step's end, which is added to
 * @returns gives what all but the end is asked
 */
export function densePull(
  context: StepContext,
  executable: StepExecutable<HistoryAdjointProgram>,
  cotangents: ParameterCotangents,
  endCotangent: Float64Array,
): PullDense {
  const buffers = stepBuffers(executable);
  const dense = new DensePull(executable, cotangents, endCotangent, context.compiled.implicit);
  const {xCotangent, zCotangent, insideCotangent, tCotangent, hCotangent} = dense;
  return (record, k, h, end, looked) => {
    record.load(k, buffers);
    dense.begin();
    dense.next?.set(end);
    for (const {theta, cotangent} of looked) {
      dense.theta?.fill(theta);
      dense.cotangent?.set(cotangent);
      dense.pull(h, theta);
    }
    return {xCotangent, zCotangent, insideCotangent, tCotangent: tCotangent[0], hCotangent: hCotangent[0]};
  };
}
