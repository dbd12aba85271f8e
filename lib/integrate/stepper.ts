/**
 * One step of the grid after another, from the current state: solved, checked, and recorded if
 * a gradient will need it. The time loop uses it; a gradient with checkpoints recomputes steps with it.
 */
import type {IterationRecord, StepRecord} from '../adjoint/record.js';
import {routinesOf} from '../engine/routines.js';
import type {Vectors} from '../engine/vectors.js';
import type {StiffgradError} from '../errors.js';
import type {Newton, NewtonStatus} from '../newton/index.js';
import {
  beginSolve,
  addCounts,
  simplifiedMaxIterations,
  isPlainNewton,
  NewtonIteration,
  newtonStatuses,
  SimplifiedNewton,
} from '../newton/index.js';
import {compile} from '../routine/compile.js';
import {interpret} from '../routine/interpret.js';
import type {Callee, Routine} from '../routine/routine.js';
import {programCallee, hostFunction, VectorCallees} from '../routine/callees.js';
import type {StepExecutable} from '../step/buffers.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {solverKey} from '../step/solvers.js';
import {loadParameters} from '../step/context.js';
import type {Evaluations} from '../step/traced-step.js';
import {ContactForces} from './contact-forces.js';
import type {Counters, Failure, Status} from './counters.js';
import {noCounts} from './counters.js';
import {stepError} from '../step/failed-step.js';
import type {NewtonWarmStart} from './run-state.js';
import type {RunContext} from './run-context.js';
import type {RecordedParts} from './step-blocks.js';
import {StepBlocks} from './step-blocks.js';
import type {StepOperations} from './emit-step.js';
import {attemptRoutine, nonFiniteEnd} from './emit-step.js';
import {StepEstimate} from './step-estimate.js';
import {StepSystem} from './step-system.js';
import type {LastStep} from './sequential-stages.js';
import {solvesToTolerance, SequentialStages} from './sequential-stages.js';

const emptyArray = new Float64Array(0);

/** RADAU5's: Newton's iteration never leaves a greater share of the tolerance. */
const maxNewtonShare = 0.03;

/**
 * Rounding holds corrections up at so much of the state (RADAU5): as a share of the tolerance; of an absolute one it is
 * not known.
 */
const roundoffShare = (rtol: number): number => (rtol > 0 ? Math.min(1, (10 * Number.EPSILON) / rtol) : 0);

/**
 * The share of the tolerance that Newton's iteration may leave: RADAU5's min(0.03, √rtol), so that the error of
 * many steps is that of the scheme, but no less than rounding. Without a relative tolerance, what that is for one of
 * 1e-6.
 */
const toleranceShare = (rtol: number): number =>
  rtol > 0 ? Math.max(Math.min(maxNewtonShare, Math.sqrt(rtol)), roundoffShare(rtol)) : 1e-3;

/**
 * In systems of bad condition, as of index 1 with short steps, rounding holds corrections up at so many times as much,
 * which may be this share of the tolerance.
 */
const badCondition = 1e4;
const maxRoundoffShare = 0.3;

/** Attempts after which a routine is compiled: that takes as long as some thousand calls between its parts. */
const attemptsBeforeCompiling = 256;

/** Keys of Newton's options, which all runs of a prepared simulation share. */
const newtonKeys = new WeakMap<Newton, string>();

function newtonKey(newton: Newton): string {
  let key = newtonKeys.get(newton);
  if (key === undefined) {
    const {tolerance, maxIterations, iterations, jacobian, step, forcing, linear} = newton;
    const {absolute, relative} = tolerance;
    const isFull = step.isFull === true;
    const settings = [absolute, relative, maxIterations, iterations, jacobian, isFull, forcing !== undefined];
    newtonKeys.set(newton, (key = `${settings.join('/')}/${solverKey(linear)}`));
  }
  return key;
}

type Attempt = (t: number, h: number) => number;

/** Holds the stepper whose JavaScript functions are called by routines, which serve all runs of an executable. */
interface StepHost {
  owner: Stepper;
}

/** Routines of an executable. */
interface StepRoutines {
  readonly host: StepHost;
  readonly attempts: Map<string, AttemptRoutine>;
}

interface AttemptRoutine {
  attempts: number;
  interpreted?: Attempt;
  compiled?: Attempt;
}

const routineCache = new WeakMap<StepExecutable<string>, StepRoutines>();

export class Stepper {
  /** The record of the steps, if there is one. */
  record: StepRecord | undefined;
  /** Derivatives will be taken of steps that others record. */
  differentiated = false;
  error: StiffgradError | undefined;
  /** The state, which every step replaces by its successor: the programs' own x. */
  readonly state: Float64Array;
  /** h|λ| of the last step over what is stable, where the scheme tells it. */
  readonly stiffness: Float64Array | undefined;
  /** What the last step left for its dense output (step/interpolant.ts), where there is that. */
  readonly interpolant: Float64Array | undefined;
  private readonly forward: StepExecutable<string>;
  private readonly vectors: Vectors;
  /** The program of the update, and the one with what is recorded of the step where that is less than x and z. */
  private readonly update: 'update' | 'keep';
  private readonly storeProgram: 'keep' | undefined;
  private readonly stored: Float64Array;
  private readonly activations?: Float64Array;
  private readonly contacts: ContactForces | undefined;
  private readonly system?: StepSystem;
  private cachedIteration: NewtonIteration | undefined;
  private readonly sequential?: SequentialStages;
  private readonly simplified?: SimplifiedNewton;
  private readonly next: Float64Array;
  private readonly errors?: StepEstimate;
  private readonly t?: Float64Array;
  private readonly h?: Float64Array;
  /**
   * The programs of steps that are all alike, so that a routine takes several: each is one update, or Newton's
   * iterations with full steps and fresh Jacobians.
   */
  readonly batchable?: ForwardExecutable;
  private blocks: StepBlocks | undefined;
  private readonly routines: StepRoutines;
  private reducedRoutine?: AttemptRoutine;
  private fullRoutine?: AttemptRoutine;
  private iterations: IterationRecord[] = [];
  private lastStep = NaN;
  /** The number of the status of an attempt that several steps in one call ended with; 0 where there is none. */
  private failedCode = 0;
  private readonly attempted = {t: NaN, h: NaN};
  /** Evaluations of one step; `residual` counts one solve. */
  private readonly evaluations: Evaluations;
  /** Since the last `addEvaluations`; whole numbers, which cost a step nothing. */
  private attempts = 0;
  private updates = 0;
  private residuals = 0;

  /**
   * @param start where the first step begins
   * @param iterations record Newton's iterations too
   * @param independentSteps no step depends on those before it but through the state: what is taken again comes out the
   *   same to the bit
   */
  constructor(
    private readonly prepared: RunContext,
    start: Float64Array,
    private readonly recordIterations: boolean,
    private readonly independentSteps: boolean,
    readonly counters: Counters = noCounts(),
  ) {
    const {compiled, options} = prepared;
    if (compiled.implicit && solvesToTolerance(prepared)) {
      const rtol = options.plan?.control.rtol ?? 0;
      const kappa = toleranceShare(rtol);
      const tight = independentSteps
        ? (4 * prepared.engine.epsilon) / Math.max(rtol, 4 * prepared.engine.epsilon)
        : kappa;
      this.sequential = new SequentialStages(prepared, kappa);
      this.simplified = new SimplifiedNewton(
        this.sequential,
        {
          kappa: Math.min(tight, kappa),
          acceptOnStall: kappa,
          acceptOnStallFresh: Math.max(
            Math.min(maxRoundoffShare, badCondition * roundoffShare(rtol)),
            independentSteps ? 0 : maxNewtonShare,
          ),
          repeatable: independentSteps,
          maxIterations: independentSteps ? options.newton.maxIterations : simplifiedMaxIterations,
        },
        counters,
      );
    }
    const {evaluations, unknown} = prepared.traced;
    const found = this.sequential === undefined ? 1 : (compiled.matrices.sequential?.blocks ?? 1);
    this.evaluations = {...evaluations, residual: evaluations.residual / (found > 1 ? unknown.blocks.length : 1)};
    const whole = this.sequential === undefined ? compiled.forward(options.newton.linear, prepared.storage) : undefined;
    const forward = this.sequential?.executable ?? compiled.forward(options.newton.linear, prepared.storage);
    loadParameters(forward, prepared);
    this.forward = forward;
    let texts = routineCache.get(forward);
    if (texts === undefined) routineCache.set(forward, (texts = {host: {owner: this}, attempts: new Map()}));
    this.routines = texts;
    this.vectors = forward.vectors;
    this.state = forward.buffer('x');
    this.state.set(start);
    this.next = forward.buffer('next');
    this.activations = forward.optionalBuffer('layers');
    this.storeProgram = prepared.storage === 'narrow' && whole !== undefined ? 'keep' : undefined;
    this.update = this.storeProgram !== undefined && !compiled.implicit ? this.storeProgram : 'update';
    this.stored = forward.optionalBuffer('kept') ?? emptyArray;
    this.interpolant = forward.optionalBuffer('inside');
    this.stiffness = forward.optionalBuffer('stiffness');
    this.errors = StepEstimate.of(prepared, forward);
    this.t = forward.optionalBuffer('t');
    this.h = forward.optionalBuffer('h');
    if (compiled.implicit && whole !== undefined) {
      this.system = new StepSystem(prepared);
      const hasMultipliers = prepared.traced.state.block('lambda') !== undefined;
      // Iterations that are to be differentiated, or counted, are those of the step's own equations.
      if (!recordIterations && options.newton.iterations === undefined && hasMultipliers)
        this.contacts = ContactForces.of(prepared, whole, this.system, this.iteration, this.counters);
    }
    const plain = this.errors === undefined && this.contacts === undefined && !recordIterations;
    const isAlike = this.system === undefined ? !compiled.implicit : isPlainNewton(options.newton, this.system);
    if (plain && isAlike) this.batchable = whole;
  }

  /** Newton's iteration of an implicit scheme, made for the first step that is taken by itself. */
  get iteration(): NewtonIteration {
    return (this.cachedIteration ??= this.makeIteration());
  }

  private makeIteration(): NewtonIteration {
    const {system, prepared, counters, recordIterations} = this;
    if (system === undefined) throw new Error('an explicit scheme has no equations to solve');
    const observe = (z: Float64Array, delta: Float64Array, length: number, first: boolean): void =>
      void this.iterations.push({z: z.slice(), delta: delta.slice(), length, first});
    const {newton} = prepared.options;
    const linearized = prepared.traced.linearized === true;
    return new NewtonIteration(newton, system, counters, linearized, recordIterations ? observe : undefined);
  }

  /** Steps that `stepBatch` takes at most; 0 where steps are taken one by one. */
  get maxBatch(): number {
    const {batchable, prepared, record, storeProgram} = this;
    if (batchable === undefined) return 0;
    const recorded: RecordedParts = record === undefined ? 'nothing' : storeProgram === undefined ? 'whole' : 'kept';
    this.blocks ??= StepBlocks.of(prepared, batchable, recorded, this.key, () =>
      this.operations(recorded === 'kept', this.routines.host),
    );
    return this.blocks?.capacity ?? 0;
  }

  /** The constants of a step's routine, as a key. */
  private get key(): string {
    return this.system === undefined ? 'explicit' : newtonKey(this.prepared.options.newton);
  }

  /**
   * Steps from the n-th on in one call: up to `count`, and no more than go as most do. What they are not, the next
   * `attempt` tells.
   * @param keepEnds the state at each end will be read in `endStates`
   * @returns how many were taken
   */
  stepBatch(n: number, count: number, keepEnds: boolean): number {
    const {blocks, counters, record} = this;
    const {grid} = this.prepared.options;
    if (blocks === undefined || this.failedCode !== 0) return 0;
    const {rows, width} = blocks;
    for (let k = 0; k < count; k++) {
      rows[k * width] = grid.time(n + k);
      rows[k * width + 1] = grid.length(n + k);
    }
    const taken = this.takeBlock(blocks, count, keepEnds);
    if (taken === 0) return 0;
    this.lastStep = rows[(taken - 1) * width + 1];
    record?.appendRows(rows.subarray(0, taken * width), taken);
    counters.steps += taken;
    this.attempts += taken;
    this.updates += taken;
    return taken;
  }

  /** @returns how many steps were taken; the status of one that failed is that of the next attempt */
  private takeBlock(blocks: StepBlocks, count: number, keepEnds: boolean): number {
    const {system, counters, routines} = this;
    const before = counters.residualEvaluations;
    routines.host.owner = this;
    if (system === undefined) return this.finishBlock(blocks, blocks.take(count, keepEnds));
    // An iteration is made where one is needed: for its functions in JavaScript.
    const {frame} = system.compiled;
    beginSolve(frame, system, false);
    let code: number;
    try {
      code = blocks.take(count, keepEnds);
    } catch (error) {
      code = this.iteration.statusOfError(error);
    } finally {
      addCounts(frame, counters);
    }
    this.residuals += counters.residualEvaluations - before;
    return this.finishBlock(blocks, code);
  }

  private finishBlock(blocks: StepBlocks, code: number): number {
    this.failedCode = code;
    return blocks.count;
  }

  /** The states at the ends of the last steps taken together, one after another. */
  endStates(count: number): Float64Array {
    return this.blocks?.endsOf(count, this.state.length) ?? emptyArray;
  }

  /** The unknown of the last step; of an explicit scheme what is kept beside its state, if anything. */
  get z(): Float64Array | undefined {
    return this.sequential?.whole ?? this.system?.z ?? this.activations;
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

  /** Adds what the attempts so far have evaluated to the counters. */
  addEvaluations(): void {
    const {counters, evaluations, attempts, updates, residuals} = this;
    counters.evaluations +=
      attempts * evaluations.start + updates * evaluations.update + residuals * evaluations.residual;
    this.attempts = this.updates = this.residuals = 0;
  }

  private attemptAt(t: number, h: number): Status {
    const {state, next, attempted, record} = this;
    attempted.t = t;
    attempted.h = h;
    const narrow = record !== undefined && this.storeProgram !== undefined;
    const code = this.failedCode > 0 ? this.failedCode : this.solveAndUpdate(narrow, t, h);
    this.failedCode = 0;
    if (code === 0 || code === nonFiniteEnd) this.updates++;
    if (code !== 0) return code === nonFiniteEnd ? 'not-finite' : (newtonStatuses[code] as Failure);
    if (record !== undefined) {
      if (narrow) record.append(t, h, this.stored, undefined);
      else record.append(t, h, state, this.z);
      if (this.recordIterations) record.iterations.push(this.iterations);
    }
    this.vectors.copy(state, next);
    this.counters.steps++;
    return 'completed';
  }

  /**
   * What a step consists of.
   * @param narrow with what is recorded of it in the end
   * @param host whose functions in JavaScript it calls
   */
  operations(narrow: boolean, host: StepHost = {owner: this}): StepOperations {
    const {forward, system, simplified, contacts, errors, next} = this;
    const program = programCallee(forward, narrow ? 'keep' : this.update);
    const all = new VectorCallees(forward.vectors, () => routinesOf(forward)?.vectors);
    const solvedBy = (find: () => NewtonStatus | undefined): Callee =>
      hostFunction(() => newtonStatuses.indexOf(find() ?? 'newton-diverged'));
    const solve = ((): StepOperations['solve'] => {
      if (simplified !== undefined) return b => b.result(solvedBy(() => host.owner.simplified?.solve()));
      if (system === undefined) return undefined;
      return b => {
        b.call(programCallee(forward, 'guess'));
        if (contacts !== undefined) return b.result(solvedBy(() => host.owner.contacts?.find(host.owner.state)));
        return this.iteration.emit(b, {
          get iteration() {
            return host.owner.iteration;
          },
        });
      };
    })();
    return {
      t: this.t,
      h: this.h,
      solve,
      update: contacts === undefined ? program : {run: () => host.owner.updateContacts(narrow)},
      largestNext: all.largest(next),
      after: errors?.repeatable === true ? {run: () => host.owner.errors?.make()} : undefined,
    };
  }

  private updateContacts(narrow: boolean): void {
    const {forward, contacts} = this;
    forward.run(narrow ? 'keep' : this.update);
    if (contacts !== undefined && (this.record !== undefined || this.differentiated))
      this.linearizeContacts(contacts, narrow ? () => forward.run('keep') : undefined);
  }

  /** What is recorded of a step with contacts is where its derivatives are taken; its end stays. */
  private linearizeContacts(contacts: ContactForces, narrow: (() => void) | undefined): void {
    const {next} = this;
    const end = next.slice();
    contacts.linearizeHere();
    narrow?.();
    next.set(end);
  }

  /** Sets the step that the next guess is extrapolated from; undefined after a jump. */
  setLastStep(step: LastStep | undefined): void {
    if (this.sequential !== undefined && !this.independentSteps) this.sequential.last = step;
  }

  /** All that the next step of a grid depends on: the state, and the matrix that Newton's iteration keeps, if any. */
  get snapshot(): Float64Array {
    const {state, system, cachedIteration, lastStep} = this;
    const matrix = cachedIteration?.keepsFactor === true ? system?.matrixValues : undefined;
    // What is not kept here may not serve the next step either.
    if (matrix === undefined) cachedIteration?.discardFactor();
    const place = new Float64Array(state.length + (matrix === undefined ? 0 : 1 + matrix.length));
    place.set(state);
    if (matrix !== undefined) {
      place[state.length] = lastStep;
      place.set(matrix, state.length + 1);
    }
    return place;
  }

  set snapshot(place: Float64Array) {
    const {state, system} = this;
    const {length} = state;
    state.set(place.subarray(0, length));
    this.cachedIteration?.discardFactor();
    if (system === undefined || place.length === length) return;
    this.lastStep = place[length];
    this.iteration.resume(system.factorOf(place.subarray(length + 1)));
  }

  /** What the next adaptive step takes over from the last; undefined if it takes nothing. */
  get warmStart(): NewtonWarmStart | undefined {
    const {sequential, simplified, lastStep, independentSteps} = this;
    if (sequential === undefined || simplified === undefined || independentSteps) return undefined;
    const {last, matrixValues} = sequential;
    return {
      last: last?.z === undefined ? undefined : {t: last.t, h: last.h, z: last.z.slice()},
      rate: simplified.rate,
      h: lastStep,
      matrix: simplified.hasFactor ? matrixValues.slice() : undefined,
    };
  }

  /** Takes over the warm start of another run of this scheme and system; values of another size are ignored. */
  set warmStart(memory: NewtonWarmStart | undefined) {
    const {sequential, simplified} = this;
    if (memory === undefined || sequential === undefined || simplified === undefined || this.independentSteps) return;
    const {last, rate, h, matrix} = memory;
    if (last?.z.length === sequential.whole.length) sequential.last = last;
    this.lastStep = h ?? NaN;
    simplified.resume(
      rate,
      matrix?.length === sequential.matrixValues.length ? sequential.factorOf(matrix) : undefined,
    );
  }

  /** Solves and updates. @returns the number of a status, or `nonFiniteEnd` */
  private solveAndUpdate(narrow: boolean, t: number, h: number): number {
    const {simplified, sequential, system} = this;
    const call = this.routineFor(narrow);
    if (simplified !== undefined) {
      if (h !== this.lastStep) simplified.discardFactor();
      if (sequential !== undefined) [sequential.t, sequential.h] = [t, h];
    }
    if (this.recordIterations) this.iterations = [];
    // A kept factor belongs to a step length.
    if (system !== undefined && (h !== this.lastStep || this.independentSteps)) this.iteration.discardFactor();
    this.lastStep = h;
    if (system === undefined || this.contacts !== undefined) return call(t, h);
    return this.iteration.run(() => call(t, h));
  }

  /** The routine of an attempt: interpreted at first, and compiled after many attempts. */
  private routineFor(narrow: boolean): Attempt {
    const {forward} = this;
    const text = narrow
      ? (this.reducedRoutine ??= this.cachedRoutine('kept'))
      : (this.fullRoutine ??= this.cachedRoutine('whole'));
    this.routines.host.owner = this;
    if (text.compiled !== undefined) return text.compiled;
    text.attempts++;
    const write = (): Routine => attemptRoutine(this.operations(narrow, this.routines.host));
    const routines = text.attempts < attemptsBeforeCompiling ? undefined : routinesOf(forward);
    if (routines !== undefined) return (text.compiled = compile(write(), routines.memory));
    return (text.interpreted ??= interpret(write()));
  }

  private cachedRoutine(recorded: 'kept' | 'whole'): AttemptRoutine {
    const {attempts} = this.routines;
    const key = `${recorded}/${this.kind}/${this.recordIterations}/${this.key}`;
    let text = attempts.get(key);
    if (text === undefined) attempts.set(key, (text = {attempts: 0}));
    return text;
  }

  private get kind(): 'contacts' | 'sequential' | 'whole' {
    if (this.contacts !== undefined) return 'contacts';
    return this.simplified === undefined ? 'whole' : 'sequential';
  }

  /** Sets `error` for the failure of the last attempt. */
  describeFailure(status: Failure, step: number): void {
    const {traced, options} = this.prepared;
    const iteration = this.system === undefined ? undefined : this.iteration;
    this.error = stepError({
      status,
      step,
      t: this.attempted.t,
      h: this.attempted.h,
      scheme: traced,
      newton: options.newton,
      history: iteration?.history ?? [],
      worst: this.worstRows(),
      layout: traced.unknown,
      cause: (this.simplified ?? iteration)?.cause,
    });
  }

  private worstRows(): {name: string; residual: number}[] {
    const {traced} = this.prepared;
    if (this.system === undefined) {
      return [...this.next.keys()]
        .filter(row => !Number.isFinite(this.next[row]))
        .slice(0, 5)
        .map(row => ({name: traced.state.rowName(row), residual: this.next[row]}));
    }
    return this.iteration.worstRows(5).map(({row, residual}) => ({name: traced.unknown.rowName(row), residual}));
  }
}
