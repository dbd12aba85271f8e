/** The scheme's own estimate of a step's error, filtered if its formulation requires it (runge-kutta-error.ts). */
import type {Factor} from '../linear/index.js';
import {auto} from '../linear/index.js';
import type {StepExecutable} from '../step/buffers.js';
import {solverKey} from '../step/solvers.js';
import type {RunContext} from './run-context.js';

export class StepEstimate {
  /** The estimate of the last step, in the order of the user's blocks. */
  readonly values: Float64Array;
  private readonly evaluate?: () => void;
  private readonly shift?: Float64Array;
  private readonly factor?: () => Factor;

  /** undefined where the scheme has none, or none was asked for. */
  static of(prepared: RunContext, forward: StepExecutable<'estimate' | 'filter'>): StepEstimate | undefined {
    return prepared.traced.functions.error === undefined ? undefined : new StepEstimate(prepared, forward);
  }

  private constructor({compiled, traced}: RunContext, forward: StepExecutable<'estimate' | 'filter'>) {
    this.values = forward.buffer('E');
    if (traced.functions.filter === undefined) return;
    this.evaluate = forward.program('estimate');
    this.shift = forward.optionalBuffer('shift');
    const refactor = forward.factorization(compiled.matrices.analysis(auto(), solverKey(auto()), 'filter'));
    const evaluateMatrix = forward.program('filter');
    const matrix = forward.buffer('filterJ');
    this.factor = () => {
      evaluateMatrix();
      return refactor(matrix);
    };
  }

  /** Whether a second estimate is another one. */
  get repeatable(): boolean {
    return this.evaluate !== undefined;
  }

  /**
   * After the step's update, with everything still where the step found it. One without a filter came with the
   * update.
   */
  make(): void {
    if (this.factor === undefined) return;
    this.shift?.fill(0);
    this.filtered(this.factor());
  }

  /** The estimate once more with the slope where the first one leads; everything lies where the step found it. */
  again(): void {
    if (this.factor === undefined || this.shift === undefined) return;
    this.shift.fill(0);
    const factor = this.factor();
    this.shift.set(this.values);
    this.filtered(factor);
  }

  private filtered(factor: Factor): void {
    this.evaluate?.();
    factor.solve(this.values, this.values);
  }
}
