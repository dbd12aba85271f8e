/**
 * One step after another from the current state: guess and solve (stage-solver.ts), update, estimate, record if a
 * gradient will need it. The time loops use it; a gradient with checkpoints recomputes steps with it.
 */
import {routinesOf} from '../engine/routines.js';
import type {Vectors} from '../engine/vectors.js';
import type {StiffgradError} from '../errors.js';
import {newtonStatuses} from '../newton/index.js';
import {programCallee, VectorCallees} from '../routine/callees.js';
import type {Host, RoutineCall, SharedRoutine} from '../routine/shared.js';
import {RoutineCache} from '../routine/shared.js';
import type {StepExecutable} from '../step/buffers.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {loadParameters} from '../step/context.js';
import {stepError} from '../step/failed-step.js';
import type {Evaluations} from '../step/traced-step.js';
import {ContactSolver} from './contact-solver.js';
import type {Counters, Failure, Status} from './counters.js';
import {noCounts} from './counters.js';
import type {StepOperations} from './emit-step.js';
import {attemptRoutine, eventPossible, nonFiniteEnd} from './emit-step.js';
import {ExplicitSolver} from './explicit-solver.js';
import {NewtonSolver} from './newton-solver.js';
import type {RunContext} from './run-context.js';
import type {NewtonWarmStart} from './run-state.js';
import type {LastStep} from './sequential-stages.js';
import {solvesToTolerance} from './sequential-stages.js';
import {SequentialSolver} from './sequential-solver.js';
import type {StageSolver} from './stage-solver.js';
import {StepEstimate} from './step-estimate.js';
import {StepRecorder} from './step-recorder.js';

/** Attempts after which a routine is compiled: that takes as long as some thousand calls between its parts. */
const attemptsBeforeCompiling = 256;

/** What a step's operations depend on beside their executable: settings of the solver, and those of the stepper. */
type StepSettings = readonly [object, object];
/** What an attempt depends on: its operations, and whether they leave what is recorded of a step. */
type AttemptSettings = readonly [...StepSettings, {readonly narrow: boolean}];

/** Attempts at a step: (t, h) → 0, or the number of a status. */
const attemptRoutines = new RoutineCache<Stepper, AttemptSettings>({
  emit: (stepper, host, [, , {narrow}]) => attemptRoutine(stepper.operations(narrow, host)),
  interpretedCalls: attemptsBeforeCompiling,
});

export class Stepper {
  /** Derivatives will be taken of steps that others record. */
  differentiated = false;
  error: StiffgradError | undefined;
  /** The state, which every step replaces by its successor: the programs' own x. */
  readonly state: Float64Array;
  /** h|λ| of the last step over what is stable, where the scheme tells it. */
  readonly stiffness: Float64Array | undefined;
  /** What the last step left for its dense output (step/interpolant.ts), where there is that. */
  readonly interpolant: Float64Array | undefined;
  /** On which side of zero each event's function begins a step (step/idle.ts), where there are events. */
  readonly sides: Float64Array | undefined;
  readonly solver: StageSolver;
  readonly recorder: StepRecorder;
  /** The programs of steps that are all alike, so that a routine takes several (step-batch.ts). */
  readonly batchable?: ForwardExecutable;
  private readonly sequential: SequentialSolver | undefined;
  private readonly forward: StepExecutable<string>;
  private readonly vectors: Vectors;
  /** The program of the update: 'keep' also leaves what is recorded of a step. */
  private readonly update: 'update' | 'keep';
  private readonly next: Float64Array;
  private readonly errors?: StepEstimate;
  private readonly possibleEvents: Float64Array | undefined;
  private readonly t?: Float64Array;
  private readonly h?: Float64Array;
  private narrowRoutine: SharedRoutine<Stepper, AttemptSettings> | undefined;
  private fullRoutine: SharedRoutine<Stepper, AttemptSettings> | undefined;
  /** The number of the attempt that several steps in one call ended with, which the next attempt takes over; else 0. */
  private lastCode = 0;
  private readonly attempted = {t: NaN, h: NaN};
  /** Evaluations of one step; `residual` counts one solve. */
  private readonly evaluations: Evaluations;
  /** Since the last `addEvaluations`; whole numbers, which cost a step nothing. */
  private attempts = 0;
  private updates = 0;
  private residuals = 0;

  /**
   * @param start where the first step begins
   * @param recordIterations record Newton's iterations too
   * @param independentSteps no step depends on those before it but through the state: what is taken again comes out the
   *   same to the bit
   */
  constructor(
    private readonly prepared: RunContext,
    start: Float64Array,
    recordIterations: boolean,
    independentSteps: boolean,
    readonly counters: Counters = noCounts(),
  ) {
    const {compiled, options, storage, traced} = prepared;
    if (compiled.implicit && solvesToTolerance(prepared))
      this.sequential = new SequentialSolver(prepared, independentSteps, counters);
    const whole = this.sequential === undefined ? compiled.forward(options.newton.linear, storage) : undefined;
    const forward = this.sequential?.executable ?? compiled.forward(options.newton.linear, storage);
    loadParameters(forward, prepared);
    this.forward = forward;
    this.vectors = forward.vectors;
    this.state = forward.buffer('x');
    this.state.set(start);
    this.next = forward.buffer('next');
    this.interpolant = forward.optionalBuffer('inside');
    this.stiffness = forward.optionalBuffer('stiffness');
    this.sides = forward.optionalBuffer('sides');
    this.possibleEvents = forward.optionalBuffer('possibleEvents');
    this.t = forward.optionalBuffer('t');
    this.h = forward.optionalBuffer('h');
    this.errors = StepEstimate.of(prepared, forward);
    const storesKept = storage === 'narrow' && whole !== undefined;
    this.update = storesKept && !compiled.implicit ? 'keep' : 'update';
    this.solver = this.sequential ?? this.makeSolver(recordIterations, independentSteps);
    this.recorder = new StepRecorder(forward, this.solver, storesKept, recordIterations);
    const {evaluations} = traced;
    this.evaluations = {...evaluations, residual: evaluations.residual / this.solver.blocks};
    if (this.errors === undefined && this.solver.isBatchable && !recordIterations) this.batchable = whole;
  }

  private makeSolver(recordIterations: boolean, independentSteps: boolean): StageSolver {
    const {prepared, counters} = this;
    const {compiled, options, storage} = prepared;
    const forward = compiled.forward(options.newton.linear, storage);
    if (!compiled.implicit) return new ExplicitSolver(forward);
    const newton = new NewtonSolver(prepared, forward, recordIterations, independentSteps, counters);
    // Iterations that are to be differentiated, or counted, are those of the step's own equations.
    const countsIterations = recordIterations || options.newton.iterations !== undefined;
    return countsIterations ? newton : ContactSolver.around(newton, prepared, forward, counters);
  }

  /** The unknown of the last step; of an explicit scheme what is kept beside its state, if anything. */
  get z(): Float64Array | undefined {
    return this.solver.z;
  }

  /** No event can happen in the last step, by the sides of zero that their functions began it on. */
  get isIdle(): boolean {
    return this.possibleEvents !== undefined && this.possibleEvents[0] === 0;
  }

  /** The estimate of the last step's error, where it is traced. */
  get estimate(): Float64Array | undefined {
    return this.errors?.values;
  }

  /**
   * The estimate of the last step, which began at x, made anew from the first one; false where it would be the same.
   */
  recomputeEstimate(x: Float64Array): boolean {
    const {errors, state, next} = this;
    if (errors?.repeatable !== true) return false;
    next.set(state);
    state.set(x);
    errors.again();
    state.set(next);
    return true;
  }

  /** One attempt at a step of length h: the state moves on where it succeeds. */
  attempt(t: number, h: number): Status {
    const {counters} = this;
    const before = counters.residualEvaluations;
    const status = this.attemptAt(t, h);
    this.attempts++;
    this.residuals += counters.residualEvaluations - before;
    return status;
  }

  private attemptAt(t: number, h: number): Status {
    const {state, next, attempted, recorder, solver} = this;
    attempted.t = t;
    attempted.h = h;
    const made = this.lastCode > 0 ? this.lastCode : solver.solve(this.routine.bind(this), t, h);
    this.lastCode = 0;
    const code = made === eventPossible ? 0 : made;
    if (code === 0 || code === nonFiniteEnd) this.updates++;
    if (code !== 0) return code === nonFiniteEnd ? 'not-finite' : (newtonStatuses[code] as Failure);
    recorder.append(t, h);
    this.vectors.copy(state, next);
    this.counters.steps++;
    return 'completed';
  }

  /**
   * Several steps in one call, whose routine consists of this stepper's operations. An attempt that fails, or in which
   * an event may happen, is the next attempt, at the same step.
   * @param taken where the routine tells how many steps came before
   */
  attemptSeveral(routine: RoutineCall, count: number, keepEnds: boolean, taken: Float64Array): void {
    const {counters, solver} = this;
    const before = counters.residualEvaluations;
    this.lastCode = solver.solveSeveral(routine, count, keepEnds ? 1 : 0);
    this.residuals += counters.residualEvaluations - before;
    counters.steps += taken[0];
    this.attempts += taken[0];
    this.updates += taken[0];
  }

  /** Several steps in one call ended with an attempt that the next one takes over. */
  get hasAttempt(): boolean {
    return this.lastCode !== 0;
  }

  /** Adds what the attempts so far have evaluated to the counters. */
  addEvaluations(): void {
    const {counters, evaluations, attempts, updates, residuals} = this;
    counters.evaluations +=
      attempts * evaluations.start + updates * evaluations.update + residuals * evaluations.residual;
    this.attempts = this.updates = this.residuals = 0;
  }

  /** The routine of an attempt. */
  private get routine(): SharedRoutine<Stepper, AttemptSettings> {
    if (this.recorder.parts === 'kept') return (this.narrowRoutine ??= this.sharedRoutine(true));
    return (this.fullRoutine ??= this.sharedRoutine(false));
  }

  private sharedRoutine(narrow: boolean): SharedRoutine<Stepper, AttemptSettings> {
    return attemptRoutines.of(this.forward, [...this.settings, {narrow}]);
  }

  get settings(): StepSettings {
    const {solver, update, errors} = this;
    return [solver.settings, {update, hasEstimate: errors?.repeatable === true}];
  }

  /**
   * What a step consists of.
   * @param narrow with what is recorded of it in the end
   * @param host whose functions in JavaScript it calls
   */
  operations(narrow: boolean, host: Host<Stepper> = {owner: this}): StepOperations {
    const {forward, solver, errors, next, t, h, possibleEvents} = this;
    const vectors = new VectorCallees(forward.vectors, () => routinesOf(forward)?.vectors);
    const solverHost: Host<StageSolver> = {
      get owner() {
        return host.owner.solver;
      },
    };
    return {
      t,
      h,
      solve: solver.emit && (b => solver.emit?.(b, solverHost) ?? 0),
      update:
        solver.linearize === undefined
          ? programCallee(forward, narrow ? 'keep' : this.update)
          : {run: () => host.owner.updateAndLinearize(narrow)},
      largestNext: vectors.largest(next),
      after: errors?.repeatable === true ? {run: () => host.owner.errors?.make()} : undefined,
      possibleEvents,
    };
  }

  private updateAndLinearize(narrow: boolean): void {
    const {forward, solver, recorder, differentiated} = this;
    forward.run(narrow ? 'keep' : this.update);
    if (recorder.record !== undefined || differentiated) solver.linearize?.(narrow);
  }

  /** Sets the step that the next guess is extrapolated from; undefined after a jump. */
  setLastStep(step: LastStep | undefined): void {
    this.sequential?.setLastStep(step);
  }

  /** All that the next step of a grid depends on: the state, and the matrix that Newton's iteration keeps, if any. */
  takeSnapshot(): Float64Array {
    const {state, solver} = this;
    const {h = NaN, matrix} = solver.takeSnapshot() ?? {};
    if (matrix === undefined) return state.slice();
    const snapshot = new Float64Array(state.length + 1 + matrix.length);
    snapshot.set(state);
    snapshot[state.length] = h;
    snapshot.set(matrix, state.length + 1);
    return snapshot;
  }

  /** Goes on from a state, or from what `takeSnapshot` gave. */
  restore(snapshot: Float64Array): void {
    const {state, solver} = this;
    const {length} = state;
    state.set(snapshot.subarray(0, length));
    const hasMatrix = snapshot.length > length;
    solver.restore(hasMatrix ? {h: snapshot[length], matrix: snapshot.subarray(length + 1)} : undefined);
  }

  /** What the next adaptive step takes over from the last; undefined if it takes nothing. */
  get warmStart(): NewtonWarmStart | undefined {
    return this.sequential?.takeSnapshot();
  }

  set warmStart(memory: NewtonWarmStart | undefined) {
    this.sequential?.restore(memory);
  }

  /** Sets `error` for the failure of the last attempt. */
  describeFailure(status: Failure, step: number): void {
    const {traced, options} = this.prepared;
    const {cause, history, worstRows} = this.solver.failure();
    this.error = stepError({
      status,
      step,
      t: this.attempted.t,
      h: this.attempted.h,
      scheme: traced,
      newton: options.newton,
      history,
      worst:
        worstRows?.map(({row, residual}) => ({name: traced.unknown.rowName(row), residual})) ?? this.nonFiniteRows(),
      layout: traced.unknown,
      cause,
    });
  }

  /** The first rows of the step's end that are not finite. */
  private nonFiniteRows(): {name: string; residual: number}[] {
    const {next} = this;
    return [...next.keys()]
      .filter(row => !Number.isFinite(next[row]))
      .slice(0, 5)
      .map(row => ({name: this.prepared.traced.state.rowName(row), residual: next[row]}));
  }

  /** Lets go of the record: routines that outlive the run keep the stepper that they were emitted by. */
  release(): void {
    this.recorder.record = undefined;
    this.narrowRoutine?.release(this);
    this.fullRoutine?.release(this);
  }
}
