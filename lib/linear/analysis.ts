/** An analysis from its parts: the symbolic half of a solver, which makes factors. */
import type {Analysis, CompiledMethod, Factor, PivotMemory} from './solver.js';

interface Parts<F extends Factor> extends Pick<Analysis, 'n' | 'nonzeros' | 'work'> {
  /** A function where it depends on the matrices. */
  readonly kind: string | (() => string);
  readonly createFactor: () => F;
  readonly pivots?: PivotMemory | undefined;
  readonly method?: CompiledMethod | undefined;
  readonly solveWork?: number | undefined;
}

/** Its own factor is made when first used. */
export class FactorAnalysis<F extends Factor = Factor> implements Analysis {
  readonly n: number;
  readonly nonzeros: number;
  readonly work: number;
  readonly solveWork: number | undefined;
  readonly method: CompiledMethod | undefined;
  readonly pivots: PivotMemory | undefined;
  private own: F | undefined;

  constructor(private readonly parts: Parts<F>) {
    this.n = parts.n;
    this.nonzeros = parts.nonzeros;
    this.work = parts.work;
    this.solveWork = parts.solveWork;
    this.method = parts.method;
    this.pivots = parts.pivots;
  }

  get kind(): string {
    const {kind} = this.parts;
    return typeof kind === 'string' ? kind : kind();
  }

  createFactor(): F {
    return this.parts.createFactor();
  }

  factor(values: Float64Array): F {
    this.own ??= this.createFactor();
    this.own.refactor(values);
    return this.own;
  }
}
