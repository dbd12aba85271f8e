/** How runs and steps end, and the counters of a run. */
import type {NewtonCounters} from '../newton/index.js';

/** How a run ended: at its end, at an event, or with a failure. */
export type Status =
  | 'completed'
  | 'event'
  | 'newton-diverged'
  | 'step-too-small'
  | 'singular'
  | 'not-finite'
  | 'inconsistent'
  | 'too-many-steps';

/** How a step fails. */
export type Failure = Exclude<Status, 'completed' | 'event' | 'inconsistent' | 'too-many-steps'>;

export interface Counters extends NewtonCounters {
  steps: number;
  rejectedSteps: number;
  /** Evaluations of the right-hand side, by starts and by steps, rejected ones included. */
  evaluations: number;
  failures: Record<string, number>;
  /** Sentences about starts, for the run's warnings. */
  notes?: Set<string>;
}

export const noCounts = (): Counters => ({
  steps: 0,
  rejectedSteps: 0,
  evaluations: 0,
  newtonIterations: 0,
  residualEvaluations: 0,
  jacobianEvaluations: 0,
  factorizations: 0,
  linearIterations: 0,
  failures: {},
});
