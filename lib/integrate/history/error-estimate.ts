/**
 * The error of a step relative to the tolerance: by the scheme's own estimate, or by the difference
 * between the step and two of half its length, which for order p is 2ᵖ − 1 times the error of the two.
 */
import {routinesOf} from '../../engine/routines.js';
import type {Part} from '../../routine/routine.js';
import {blockPlace} from '../../step/adaptive-block.js';
import type {StepExecutable} from '../../step/buffers.js';
import type {TracedStep} from '../../step/traced-step.js';
import type {Status} from '../counters.js';
import type {Integrator, Taken} from './integrator.js';
import type {Plan} from './plan.js';

export interface Estimated {
  readonly steps: readonly Taken[];
  readonly error: number;
}

export class ErrorEstimate {
  /** The power of h that the estimate falls with. */
  readonly power: number;
  private readonly judged?: Uint8Array;
  private readonly order: number;
  /** Where nothing is left out but what is unjudged: a difference of steps judges all else. */
  private readonly doubledJudges?: Uint8Array;

  /**
   * @param ahead the start was made from the first step: of the scheme's own estimate, the change since, little is left there
   * @param unjudged components that are left out
   */
  constructor(
    private readonly integrator: Integrator,
    {along, order}: TracedStep,
    private readonly absolute: Float64Array,
    private readonly rtol: number,
    private readonly ahead: boolean,
    unjudged: readonly number[] = [],
  ) {
    this.judged = along?.judged;
    if (unjudged.length > 0) {
      this.judged = this.judged?.slice() ?? new Uint8Array(absolute.length).fill(1);
      this.doubledJudges = new Uint8Array(absolute.length).fill(1);
      for (const i of unjudged) this.judged[i] = this.doubledJudges[i] = 0;
    }
    this.order = order;
    this.power = along?.errorOrder ?? order + 1;
  }

  /**
   * The step, or its two halves, from x.
   * @param first there is no step before: the start, or what follows an event
   * @param unsure so it is, or the step before was refused
   */
  attempt(x: Float64Array, t: number, h: number, end: number, first: boolean, unsure: boolean): Status | Estimated {
    const {integrator} = this;
    const status = integrator.take(x, t, h);
    if (status !== 'completed') return status;
    const step = integrator.taken(x, t, h, end);
    const {estimate} = integrator.stepper;
    if (estimate === undefined || (first && this.ahead)) return this.doubled(step);
    let error = this.share(estimate, 1, x, step.next, this.judged);
    // Of the first step after a start or a refused one stiffness may have made much of nothing.
    if (error > 1 && unsure && integrator.stepper.estimateAgain(x))
      error = this.share(estimate, 1, x, step.next, this.judged);
    return {steps: [step], error};
  }

  private doubled({t, h, end, x, next: once}: Taken): Status | Estimated {
    const {integrator} = this;
    const half = h / 2;
    const status = integrator.take(x, t, half);
    if (status !== 'completed') return status;
    const first = integrator.taken(x, t, half, t + half);
    const lasting = {...first, z: first.z?.slice()};
    const again = integrator.take(first.next, t + half, half);
    if (again !== 'completed') return again;
    const second = integrator.taken(first.next, t + half, half, end);
    const difference = once.map((value, i) => value - second.next[i]);
    return {
      steps: [lasting, second],
      error: this.share(difference, 1 / (2 ** this.order - 1), x, second.next, this.doubledJudges),
    };
  }

  private share(error: Float64Array, c: number, x: Float64Array, next: Float64Array, judged?: Uint8Array): number {
    return errorShare(error, c, x, next, this.absolute, this.rtol, judged);
  }
}

/** The weighted root mean square of c·error; of what is judged, where not everything is. */
export function errorShare(
  error: Float64Array,
  c: number,
  x: Float64Array,
  next: Float64Array,
  absolute: Float64Array,
  rtol: number,
  judged?: Uint8Array | Float64Array,
): number {
  let [sum, count] = [0, 0];
  for (let i = 0; i < absolute.length; i++) {
    if (judged !== undefined && judged[i] === 0) continue;
    const scale = absolute[i] + rtol * Math.max(Math.abs(x[i]), Math.abs(next[i]));
    // Nothing that is and stays zero has an error.
    const share = error[i] === 0 ? 0 : (c * error[i]) / scale;
    sum += share * share;
    count++;
  }
  return Math.sqrt(sum / Math.max(count, 1));
}

/** Where the error of an attempt is taken from, in the memory of the programs of attempts. */
export interface ErrorArrays {
  readonly absolute: Float64Array;
  /** 1 for every component that the error is estimated of. */
  readonly judged: Float64Array;
}

/** The error of an attempt as part of a routine, of (rtol, judged components). */
export function errorPart(executable: StepExecutable<string>, {absolute, judged}: ErrorArrays): Part {
  const [error, x, next] = (['E', 'x', 'next'] as const).map(name => executable.buffer(name));
  const places = [error, x, next, absolute, judged].map(({byteOffset}) => byteOffset);
  return {
    run: rtol => errorShare(error, 1, x, next, absolute, rtol, judged),
    returns: true,
    write: (w, given) =>
      w.call(routinesOf(executable)?.vectors.errorShare, [...places, absolute.length, ...given], 'f64'),
  };
}

/** Sets what is the same for all attempts along a plan. @param control the numbers of a block */
export function setTolerances(
  {absolute, judged}: ErrorArrays,
  {control: {rtol}, absolute: asked}: Plan,
  {along}: TracedStep,
  control: Float64Array,
): void {
  absolute.set(asked ?? []);
  judged.set(along?.judged ?? judged.fill(1));
  control[blockPlace.rtol] = rtol;
  control[blockPlace.judged] = Math.max(
    judged.reduce((sum, one) => sum + one, 0),
    1,
  );
}
