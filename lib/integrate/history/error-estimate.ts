/**
 * The error of a step as a share of the tolerance: by the scheme's own estimate, or by the difference
 * between the step and two of half its length, which for order p is 2ᵖ − 1 times the error of the two.
 */
import type {TracedStep} from '../../step/traced-step.js';
import type {Status} from '../counters.js';
import type {Integrator, Taken} from './integrator.js';

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
  judged?: Uint8Array,
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
