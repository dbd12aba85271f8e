/** The factor of a matrix that is the same in all steps of one length (`CompiledStep.isSteady`). */
import type {Factor} from '../linear/index.js';

export class SteadyFactor {
  private factor: Factor | undefined;
  private generation: number | undefined;
  private length: number | undefined;

  /** @param h the buffer of the step's length; undefined where the matrix does not depend on it */
  constructor(private readonly h: Float64Array | undefined) {}

  /** It, where it is at hand for a step of the present length: others that share it may have put another matrix in its place. */
  get present(): Factor | undefined {
    const {factor} = this;
    return factor !== undefined && this.length === this.h?.[0] && this.generation === factor.generation
      ? factor
      : undefined;
  }

  /** Before another matrix takes its place. */
  forget(): void {
    this.factor = undefined;
  }

  keep(factor: Factor): void {
    this.factor = factor;
    this.generation = factor.generation;
    this.length = this.h?.[0];
  }
}
