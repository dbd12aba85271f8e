/** The factor of a matrix that is the same in all steps of one length (`StepMatrices.isConstant`). */
import type {Factor} from '../linear/index.js';

export class ConstantFactor {
  private factor: Factor | undefined;
  private generation: number | undefined;
  private length: number | undefined;

  /** @param h the buffer of the step's length; undefined where the matrix does not depend on it */
  constructor(private readonly h: Float64Array | undefined) {}

  /** The factor if it is valid for the present step length, and its memory was not used for another matrix. */
  get current(): Factor | undefined {
    const {factor} = this;
    return factor !== undefined && this.length === this.h?.[0] && this.generation === factor.generation
      ? factor
      : undefined;
  }

  /** Discards the factor, before another matrix takes its place. */
  discard(): void {
    this.factor = undefined;
  }

  store(factor: Factor): void {
    this.factor = factor;
    this.generation = factor.generation;
    this.length = this.h?.[0];
  }
}
