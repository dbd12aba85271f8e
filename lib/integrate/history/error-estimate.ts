/**
 * The error of a step relative to the tolerance: by the scheme's own estimate, or by the difference
 * between the step and two of half its length, which for order p is 2ᵖ − 1 times the error of the two.
 */
import {shown} from '../../checks.js';
import {OptionError} from '../../errors.js';
import {routinesOf} from '../../engine/routines.js';
import type {Callee} from '../../routine/routine.js';
import {controlIndex} from '../../step/adaptive-block-layout.js';
import type {StepExecutable} from '../../step/buffers.js';
import type {TracedStep} from '../../step/traced-step.js';
import type {Status} from '../counters.js';
import type {Integrator, CompletedStep} from './integrator.js';
import type {StepControl} from '../control.js';
import type {Plan} from './plan.js';

export interface EstimatedSteps {
  readonly steps: readonly CompletedStep[];
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
   * @param ahead the start was made from the first step: of the scheme's own estimate, the change since, little is left
   *   there
   * @param unjudged components that are left out
   */
  constructor(
    private readonly integrator: Integrator,
    {errorInfo, order}: TracedStep,
    private readonly absolute: Float64Array,
    private readonly control: Pick<StepControl, 'rtol' | 'norm'>,
    private readonly ahead: boolean,
    unjudged: readonly number[] = [],
  ) {
    this.judged = errorInfo?.errorMask;
    if (unjudged.length > 0) {
      this.judged = this.judged?.slice() ?? new Uint8Array(absolute.length).fill(1);
      this.doubledJudges = new Uint8Array(absolute.length).fill(1);
      for (const i of unjudged) this.judged[i] = this.doubledJudges[i] = 0;
    }
    this.order = order;
    this.power = errorInfo?.errorOrder ?? order + 1;
  }

  /**
   * The step, or its two halves, from x.
   * @param first there is no step before: the start, or what follows an event
   * @param unsure so it is, or the step before was refused
   */
  attempt(
    x: Float64Array,
    t: number,
    h: number,
    end: number,
    first: boolean,
    unsure: boolean,
  ): Status | EstimatedSteps {
    const {integrator} = this;
    const status = integrator.take(x, t, h);
    if (status !== 'completed') return status;
    const step = integrator.completedStep(x, t, h, end);
    const {estimate} = integrator.stepper;
    if (estimate === undefined || (first && this.ahead)) return this.doubleStep(step);
    let error = this.ratioOf(estimate, 1, x, step.next, this.judged);
    // Of the first step after a start or a refused one stiffness may have made much of nothing.
    if (error > 1 && unsure && integrator.stepper.recomputeEstimate(x))
      error = this.ratioOf(estimate, 1, x, step.next, this.judged);
    return {steps: [step], error};
  }

  private doubleStep({t, h, end, x, next: once}: CompletedStep): Status | EstimatedSteps {
    const {integrator} = this;
    const half = h / 2;
    const status = integrator.take(x, t, half);
    if (status !== 'completed') return status;
    const first = integrator.completedStep(x, t, half, t + half);
    const lasting = {...first, z: first.z?.slice()};
    const again = integrator.take(first.next, t + half, half);
    if (again !== 'completed') return again;
    const second = integrator.completedStep(first.next, t + half, half, end);
    const difference = once.map((value, i) => value - second.next[i]);
    return {
      steps: [lasting, second],
      error: this.ratioOf(difference, 1 / (2 ** this.order - 1), x, second.next, this.doubledJudges),
    };
  }

  private ratioOf(error: Float64Array, c: number, x: Float64Array, next: Float64Array, judged?: Uint8Array): number {
    return errorRatio(error, c, x, next, this.absolute, this.control, judged);
  }
}

/** The norm of c·error in units of the tolerance; of what is judged, where not everything is. */
export function errorRatio(
  error: Float64Array,
  c: number,
  x: Float64Array,
  next: Float64Array,
  absolute: Float64Array,
  {rtol, norm}: Pick<StepControl, 'rtol' | 'norm'>,
  judged?: Uint8Array | Float64Array,
): number {
  let [sum, count] = [0, 0];
  const shares = norm && new Float64Array(absolute.length);
  for (let i = 0; i < absolute.length; i++) {
    if (judged !== undefined && judged[i] === 0) continue;
    const scale = absolute[i] + rtol * Math.max(Math.abs(x[i]), Math.abs(next[i]));
    // Nothing that is and stays zero has an error.
    const share = error[i] === 0 ? 0 : (c * error[i]) / scale;
    if (shares !== undefined) shares[count] = share;
    sum += share * share;
    count++;
  }
  // An error that is not finite is told as such, whatever a norm or a controller of a user's would make of it.
  if (!(sum < Infinity)) return Infinity;
  if (norm === undefined || shares === undefined) return Math.sqrt(sum / Math.max(count, 1));
  return customNorm(norm, shares.subarray(0, count));
}

function customNorm(norm: ErrorNorm, shares: Float64Array): number {
  const size: unknown = norm(shares);
  if (typeof size !== 'number' || !(size >= 0))
    throw new OptionError('bad-control', `adaptive: norm must return a number of at least 0, not ${shown(size)}.`);
  return size;
}

type ErrorNorm = NonNullable<StepControl['norm']>;

/** Where the error of an attempt is taken from, in the memory of the programs of attempts. */
export interface ErrorArrays {
  readonly absolute: Float64Array;
  /** 1 for every component that the error is estimated of. */
  readonly errorMask: Float64Array;
}

/** The error of an attempt as part of a routine, of (rtol, judged components). */
export function errorCallee(executable: StepExecutable<string>, {absolute, errorMask}: ErrorArrays): Callee {
  const [error, x, next] = (['E', 'x', 'next'] as const).map(name => executable.buffer(name));
  const places = [error, x, next, absolute, errorMask].map(({byteOffset}) => byteOffset);
  const run = (rtol: number): number =>
    errorRatio(error, 1, x, next, absolute, {rtol, norm: norms.get(absolute)}, errorMask);
  return {
    run,
    returns: true,
    write: (w, given) => {
      const kernel = routinesOf(executable)?.vectors.errorShare;
      const found = w.local('f64');
      const [rtol, count] = given;
      return () => {
        w.if(
          w.op('f64.gt', w.get(count), w.number(0)),
          () => w.set(found, w.call(kernel, [...places, absolute.length, rtol, count], 'f64')),
          () => w.set(found, w.call(run, [rtol], 'f64')),
        );
        w.get(found)();
      };
    },
  };
}

/** Norms of one's own, by the array of the tolerances of the attempts that they are for. */
const norms = new WeakMap<Float64Array, ErrorNorm>();

/** Sets what is the same for all attempts along a plan. @param control the numbers of a block */
export function setTolerances(
  {absolute, errorMask}: ErrorArrays,
  {control: {rtol, norm}, absolute: asked}: Plan,
  {errorInfo}: TracedStep,
  control: Float64Array,
): void {
  absolute.set(asked ?? []);
  errorMask.set(errorInfo?.errorMask ?? errorMask.fill(1));
  control[controlIndex.rtol] = rtol;
  if (norm === undefined) norms.delete(absolute);
  else norms.set(absolute, norm);
  const count = Math.max(
    errorMask.reduce((sum, one) => sum + one, 0),
    1,
  );
  // None are counted for a norm of one's own, which is a function of JavaScript.
  control[controlIndex.judged] = norm === undefined ? count : 0;
}
