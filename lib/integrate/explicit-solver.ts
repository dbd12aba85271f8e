/** Steps of an explicit scheme, whose update needs no unknown. */
import type {RoutineCall} from '../routine/shared.js';
import type {ForwardExecutable} from '../step/compiled.js';
import type {SolverFailure, StageSolver} from './stage-solver.js';

export class ExplicitSolver implements StageSolver {
  readonly z: Float64Array | undefined;
  readonly blocks = 1;
  readonly isBatchable = true;
  readonly settings = {solver: 'explicit'};

  constructor(forward: ForwardExecutable) {
    this.z = forward.optionalBuffer('layers');
  }

  solve(attempt: RoutineCall, t: number, h: number): number {
    return attempt(t, h);
  }

  solveSeveral(steps: RoutineCall, count: number, keepEnds: number): number {
    return steps(count, keepEnds);
  }

  takeSnapshot(): undefined {
    return undefined;
  }

  restore(): void {
    // Steps depend on the state alone.
  }

  failure(): SolverFailure {
    return {history: []};
  }
}
