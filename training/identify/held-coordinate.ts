/** The objective of a fit with one coordinate held: a problem of the others, as a profile of the likelihood needs it. */
import type {Evaluation} from './evaluation.js';
import type {Linearization} from './least-squares-problem.js';
import type {Objective} from './objective.js';
import type {NoisyProblem} from './rounds.js';

export class HeldCoordinate implements NoisyProblem {
  readonly magnitude: number;
  readonly kinked: boolean;

  /** @param index of the coordinate that is held at `value` */
  constructor(
    readonly objective: Objective,
    private readonly index: number,
    private readonly value: number,
  ) {
    this.magnitude = objective.magnitude;
    this.kinked = objective.kinked;
  }

  /** All coordinates. */
  whole(others: Float64Array): Float64Array {
    const {index, value} = this;
    const x = new Float64Array(others.length + 1);
    x.set(others.subarray(0, index));
    x[index] = value;
    x.set(others.subarray(index), index + 1);
    return x;
  }

  /** The others, of rows of `size` numbers. */
  others(rows: Float64Array, size = rows.length): Float64Array {
    return rows.filter((_, i) => i % size !== this.index);
  }

  *linearize(others: Float64Array): Evaluation<Linearization> {
    const {residuals, jacobian} = yield* this.objective.linearize(this.whole(others));
    return {residuals, jacobian: this.others(jacobian, others.length + 1)};
  }

  *gradient(others: Float64Array): Evaluation<{readonly cost: number; readonly gradient: Float64Array}> {
    const {cost, gradient} = yield* this.objective.gradient(this.whole(others));
    return {cost, gradient: this.others(gradient)};
  }

  /** A profile varies the correlations of the noise as it does the other coordinates. */
  update({x}: {readonly x: Float64Array}): Evaluation<number> {
    return this.objective.correlate(this.whole(x));
  }

  bound(others: Float64Array): string | undefined {
    return this.objective.bound(this.whole(others));
  }
}
