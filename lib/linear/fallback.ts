/**
 * Two factors in one: each matrix is tried with a fast method and, when that cannot take it, given to a
 * general one. The choice depends on the values alone, never on earlier matrices, so that a step
 * computed again (checkpointing) gives the same bits. A matrix that nothing could take, as its numbers
 * are not finite, is refused before the general factor is even made.
 */
import {throwNotFactored, type SpecialFactor} from './direct.js';
import type {Factor} from './solver.js';

export class FallbackFactor implements Factor {
  readonly n: number;
  private general: Factor | undefined;
  private current: Factor | undefined;

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
    return this.special.size + (this.general?.size ?? 0);
  }

  get linearIterations(): number {
    return this.current?.linearIterations ?? 0;
  }

  refactor(values: Float64Array): void {
    this.current = undefined;
    this.current = this.special.tryRefactor(values) ? this.special : this.refactorGeneral(values);
    this.took?.(this.current.kind);
  }

  private refactorGeneral(values: Float64Array): Factor {
    this.special.refuse(values);
    this.general ??= this.makeGeneral();
    this.general.refactor(values);
    return this.general;
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    if (this.current === undefined) throwNotFactored();
    this.current.solve(b, x, count);
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    if (this.current === undefined) throwNotFactored();
    this.current.solveTransposed(b, x, count);
  }
}
