/** One result of a check of a model. */
export interface Finding {
  readonly check: 'trace' | 'gradient' | 'second derivative' | 'mass' | 'continuity' | 'matrix' | 'newton' | 'run';
  readonly ok: boolean;
  /** 'forces[1] (friction)', 'mass', 'constraints[0] (bilateral): gap', 'the run'. */
  readonly where: string;
  readonly message: string;
}
