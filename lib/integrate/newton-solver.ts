/** Steps whose unknown Newton's iteration finds as a whole (newton/iteration.ts). */
import type {IterationRecord} from '../adjoint/record.js';
import type {IterationObserver, NewtonRoutineSettings} from '../newton/index.js';
import {addCounts, beginSolve, isPlainNewton, NewtonIteration, newtonSettings} from '../newton/index.js';
import {programCallee} from '../routine/callees.js';
import type {RoutineBuilder, Value} from '../routine/routine.js';
import type {Host, RoutineCall} from '../routine/shared.js';
import type {ForwardExecutable} from '../step/compiled.js';
import type {Counters} from './counters.js';
import type {RunContext} from './run-context.js';
import type {SolverFailure, SolverSnapshot, StageSolver} from './stage-solver.js';
import {StepSystem} from './step-system.js';

export class NewtonSolver implements StageSolver {
  readonly system: StepSystem;
  readonly blocks = 1;
  readonly isBatchable: boolean;
  iterations: IterationRecord[] = [];
  private made: NewtonIteration | undefined;
  private lastStep = NaN;

  /**
   * @param recordIterations Newton's iterations of every attempt are recorded
   * @param independentSteps no step takes over the factor of another one
   */
  constructor(
    private readonly prepared: RunContext,
    private readonly forward: ForwardExecutable,
    private readonly recordIterations: boolean,
    private readonly independentSteps: boolean,
    private readonly counters: Counters,
  ) {
    this.system = new StepSystem(prepared);
    this.isBatchable = !recordIterations && isPlainNewton(prepared.options.newton, this.system);
  }

  get z(): Float64Array {
    return this.system.z;
  }

  get settings(): NewtonRoutineSettings {
    const {prepared, system, recordIterations} = this;
    return newtonSettings(prepared.options.newton, system, this.linearizedGuess, recordIterations);
  }

  private get linearizedGuess(): boolean {
    return this.prepared.traced.linearized === true;
  }

  /** Made for the first step that is taken by itself. */
  get iteration(): NewtonIteration {
    return (this.made ??= this.makeIteration());
  }

  private makeIteration(): NewtonIteration {
    const {prepared, system, counters, recordIterations} = this;
    const observe: IterationObserver = (z, delta, length, first) =>
      void this.iterations.push({z: z.slice(), delta: delta.slice(), length, first});
    const observer = recordIterations ? observe : undefined;
    return new NewtonIteration(prepared.options.newton, system, counters, this.linearizedGuess, observer);
  }

  emit(b: RoutineBuilder, host: Host<StageSolver>): Value {
    b.call(programCallee(this.forward, 'guess'));
    return this.iteration.emit(b, {
      get owner() {
        return (host.owner as NewtonSolver).iteration;
      },
    });
  }

  /** Begins an attempt at a step of length h: a kept factor belongs to a length. */
  begin(h: number): void {
    if (this.recordIterations) this.iterations = [];
    if (h !== this.lastStep || this.independentSteps) this.iteration.discardFactor();
    this.lastStep = h;
  }

  solve(attempt: RoutineCall, t: number, h: number): number {
    this.begin(h);
    return this.iteration.run(attempt, t, h);
  }

  /** An iteration is made only where one is needed: for its functions in JavaScript. */
  solveSeveral(steps: RoutineCall, count: number, keepEnds: number): number {
    const {system, counters} = this;
    const {frame} = system.compiled;
    beginSolve(frame, system, false);
    try {
      return steps(count, keepEnds);
    } catch (error) {
      return this.iteration.statusOfError(error);
    } finally {
      addCounts(frame, counters);
    }
  }

  takeSnapshot(): SolverSnapshot | undefined {
    const {made, system, lastStep} = this;
    const matrix = made?.keepsFactor === true ? system.matrixValues : undefined;
    if (matrix !== undefined) return {h: lastStep, matrix};
    made?.discardFactor();
    return undefined;
  }

  restore(snapshot: SolverSnapshot | undefined): void {
    this.made?.discardFactor();
    if (snapshot?.matrix === undefined) return;
    this.lastStep = snapshot.h ?? NaN;
    this.iteration.resume(this.system.factorOf(snapshot.matrix));
  }

  failure(): SolverFailure {
    const {iteration} = this;
    return {cause: iteration.cause, history: iteration.history, worstRows: iteration.worstRows(5)};
  }
}
