/** What a lowered program does, step by step. */
import type {Node} from '../../graph/node.js';
import type {Loop} from './fuse.js';
import type {LoopOperand} from './operands.js';

export interface KernelStep {
  readonly kind: 'kernel';
  readonly node: Node;
  readonly operands: readonly LoopOperand[];
  readonly writes: ReadonlySet<Node>;
  readonly reads: ReadonlySet<Node>;
}

/** A step over whole values. */
export type PlainStep = Loop | KernelStep;

/** Steps over the rows of a leading axis, taken for some rows at a time. */
export interface TiledSteps {
  readonly kind: 'tiles';
  readonly steps: readonly PlainStep[];
  /** Rows in all, and at a time; the last rows are fewer where the one does not divide the other. */
  readonly rows: number;
  readonly atOnce: number;
  /** Values that only these steps read: there is room for as many rows of each as are taken at a time. */
  readonly local: ReadonlySet<Node>;
  readonly writes: ReadonlySet<Node>;
  readonly reads: ReadonlySet<Node>;
}

export type Step = PlainStep | TiledSteps;

/** Steps with those within tiles in their place. */
export function plainSteps(steps: readonly Step[]): PlainStep[] {
  return steps.flatMap(step => (step.kind === 'tiles' ? step.steps : [step]));
}
