/** An analysis from its parts: the symbolic half of a solver, which makes factors. */
import type {Analysis, CompiledMethod, Factor} from './solver.js';

/** See `Analysis.pivotState`. */
export interface Learned {
  recall(): unknown;
  restore(history: unknown): void;
}

interface Parts<F extends Factor> extends Pick<Analysis, 'n' | 'nonzeros' | 'work'> {
  /** A function where it depends on the matrices. */
  readonly kind: string | (() => string);
  readonly createFactor: () => F;
  readonly learned?: Learned;
  readonly method?: CompiledMethod | undefined;
}

/** Its own factor is made when first used. */
export class FactorAnalysis<F extends Factor = Factor> implements Analysis {
  readonly n: number;
  readonly nonzeros: number;
  readonly work: number;
  readonly method: CompiledMethod | undefined;
  private own: F | undefined;

  constructor(private readonly parts: Parts<F>) {
    this.n = parts.n;
    this.nonzeros = parts.nonzeros;
    this.work = parts.work;
    this.method = parts.method;
  }

  get kind(): string {
    const {kind} = this.parts;
    return typeof kind === 'string' ? kind : kind();
  }

  get pivotState(): unknown {
    return this.parts.learned?.recall();
  }

  set pivotState(history: unknown) {
    this.parts.learned?.restore(history);
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

/** The history of another analysis, for one that is made of it. */
export const learnedOf = (analysis: Analysis): Learned => ({
  recall: () => analysis.pivotState,
  restore(history) {
    if ('history' in analysis) analysis.pivotState = history;
  },
});
