/**
 * Two factors in one: each matrix is tried with a fast method and, when that cannot take it, or takes it and then
 * solves a right-hand side inaccurately, given to a general one. The choice depends on the values and on what is solved
 * with them, never on earlier matrices, so that a step computed again (checkpointing) gives the same bits. A matrix
 * that nothing could take, as its numbers are not finite, is refused before the general factor is even made.
 */
import {throwNotFactored, type SpecialFactor} from './direct.js';
import {isInaccurate} from './refinement.js';
import type {Factor} from './solver.js';

export class FallbackFactor implements Factor {
  readonly n: number;
  private general: Factor | undefined;
  private current: Factor | undefined;
  /** The matrix and the right-hand sides, where solves are judged; made when first needed. */
  private values: Float64Array | undefined;
  private right: Float64Array | undefined;

  /**
   * The general factor is made when first needed: most patterns never see such a matrix.
   * @param took is told the kind of each factor
   */
  constructor(
    private readonly special: SpecialFactor,
    private readonly makeGeneral: () => Factor,
    private readonly took?: (kind: string) => void,
  ) {
    this.n = special.n;
  }

  get kind(): string {
    return (this.current ?? this.special).kind;
  }

  get size(): number {
    return this.special.size + (this.general?.size ?? 0) + (this.values?.length ?? 0);
  }

  get linearIterations(): number {
    return this.current?.linearIterations ?? 0;
  }

  refactor(values: Float64Array): void {
    this.current = undefined;
    if (this.special.tryRefactor(values)) {
      this.current = this.special;
      if (this.special.isJudged) (this.values ??= new Float64Array(values.length)).set(values);
    } else {
      this.special.refuse(values);
      this.current = this.refactorGeneral(values);
    }
    this.took?.(this.current.kind);
  }

  private refactorGeneral(values: Float64Array): Factor {
    this.general ??= this.makeGeneral();
    this.general.refactor(values);
    return this.general;
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    this.solveBy((factor, from) => factor.solve(from, x, count), b, count);
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    this.solveBy((factor, from) => factor.solveTransposed(from, x, count), b, count);
  }

  /** By the general factor too, where the special one's solution is refused: it has the matrix from then on. */
  private solveBy(solve: (factor: Factor, from: Float64Array) => void, b: Float64Array, count: number): void {
    const {current, special, values} = this;
    if (current === undefined) throwNotFactored();
    if (current !== special || !special.isJudged || values === undefined) {
      solve(current, b);
      return;
    }
    const numbers = count * this.n;
    if (this.right === undefined || this.right.length < numbers) this.right = new Float64Array(numbers);
    // The solution may be in the place of b, and is spoilt when it is refused.
    for (let i = 0; i < numbers; i++) this.right[i] = b[i];
    try {
      solve(special, b);
    } catch (error) {
      if (!isInaccurate(error)) throw error;
      this.current = undefined;
      this.current = this.refactorGeneral(values);
      this.took?.(this.current.kind);
      solve(this.current, this.right);
    }
  }
}
