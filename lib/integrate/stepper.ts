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
import type {Part, Routine} from '../routine/routine.js';
import {programPart, valuePart, VectorParts} from '../routine/parts.js';
import type {StepExecutable} from '../step/buffers.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {solverKey} from '../step/solvers.js';
import {loadParameters} from '../step/context.js';
import type {Evaluations} from '../step/traced-step.js';
import {ContactForces} from './contact-forces.js';
import type {Counters, Failure, Status} from './counters.js';
import {noCounts} from './counters.js';
import {stepError} from '../step/failed-step.js';
import type {NewtonMemory} from './run-state.js';
import type {Runnable} from './runnable.js';
import type {Recorded} from './step-blocks.js';
import {StepBlocks} from './step-blocks.js';
import type {StepParts} from './step-text.js';
import {attemptRoutine, brokenEnd} from './step-text.js';
import {StepEstimate} from './step-estimate.js';
import {StepSystem} from './step-system.js';
import type {LastStep} from './sequential-stages.js';
import {solvesToTolerance, SequentialStages} from './sequential-stages.js';

const nothing = new Float64Array(0);

/** 'halve' gives up below dt/2^10: a step that fails there fails for another reason than its length. */
const deepestHalving = 10;

/** RADAU5's: Newton's iteration never leaves a greater share of the tolerance. */
const largestShare = 0.03;

/** Rounding holds corrections up at so much of the state (RADAU5): as a share of the tolerance; of an absolute one it is not known. */
const roundingShare = (rtol: number): number => (rtol > 0 ? Math.min(1, (10 * Number.EPSILON) / rtol) : 0);

/**
 * The share of the tolerance that Newton's iteration may leave: RADAU5's min(0.03, √rtol), so that the error of
 * many steps is that of the scheme, but no less than rounding. Without a relative tolerance, what that is for one of 1e-6.
 */
const toleranceShare = (rtol: number): number =>
  rtol > 0 ? Math.max(Math.min(largestShare, Math.sqrt(rtol)), roundingShare(rtol)) : 1e-3;

/** In systems of bad condition, as of index 1 with short steps, rounding holds corrections up at so many times as much, which may be this share of the tolerance. */
const badCondition = 1e4;
const mostOfRounding = 0.3;

/** Attempts after which their text is compiled: that takes as long as some thousand calls between its parts. */
const fewAttempts = 256;

/** By options of Newton's method, which all runs of a prepared simulation share. */
const keys = new WeakMap<Newton, string>();

function keyOf(newton: Newton): string {
  let key = keys.get(newton);
  if (key === undefined) {
    const {tolerance, maxIterations, iterations, jacobian, step, forcing, linear} = newton;
    const {absolute, relative} = tolerance;
    const told = [absolute, relative, maxIterations, iterations, jacobian, step.name, forcing !== undefined];
    keys.set(newton, (key = `${told.join('/')}/${solverKey(linear)}`));
  }
  return key;
}

type Attempt = (t: number, h: number) => number;

/** The stepper whose functions in JavaScript texts call: they serve all runs of an executable. */
interface StepHost {
  owner: Stepper;
}

/** What was written for an executable. */
interface Texts {
  readonly host: StepHost;
  readonly attempts: Map<string, AttemptText>;
}

interface AttemptText {
  made: number;
  interpreted?: Attempt;
  compiled?: Attempt;
}

const written = new WeakMap<StepExecutable<string>, Texts>();

export class Stepper {
  /** Where the steps are recorded, if anywhere. */
  record: StepRecord | undefined;
  /** Derivatives will be taken of steps that others record. */
  differentiated = false;
  error: StiffgradError | undefined;
  /** The state, which every step replaces by its successor: the programs' own x. */
  readonly state: Float64Array;
  /** h|λ| of the last step over what is stable, where the scheme tells it. */
  readonly stiffness: Float64Array | undefined;
  /** What the last step left for its dense output (step/interpolant.ts), where there is that. */
  readonly inside: Float64Array | undefined;
  private readonly forward: StepExecutable<string>;
  private readonly vectors: Vectors;
  /** The program of the update, and the one with what is recorded of the step where that is less than x and z. */
  private readonly update: 'update' | 'keep';
  private readonly keep: 'keep' | undefined;
  private readonly kept: Float64Array;
  private readonly layers?: Float64Array;
  private readonly contacts: ContactForces | undefined;
  private readonly system?: StepSystem;
  private ownIteration: NewtonIteration | undefined;
  private readonly sequential?: SequentialStages;
  private readonly simplified?: SimplifiedNewton;
  private readonly next: Float64Array;
  private readonly errors?: StepEstimate;
  private readonly t?: Float64Array;
  private readonly h?: Float64Array;
  /**
   * The programs of steps that are all alike, so that a routine takes several: each is one update, or Newton's iterations
   * with full steps and fresh Jacobians.
   */
  readonly alike?: ForwardExecutable;
  private blocks: StepBlocks | undefined;
  private readonly texts: Texts;
  private narrowText?: AttemptText;
  private wholeText?: AttemptText;
  private iterations: IterationRecord[] = [];
  private lastStep = NaN;
  /** The number of the status of an attempt that several steps in one call ended with; 0 where there is none. */
  private failed = 0;
  private readonly attempted = {t: NaN, h: NaN};
  /** Of one step; `residual` of what is solved by itself. */
  private readonly evaluations: Evaluations;
  /** Since the last `tally`; whole numbers, which cost a step nothing. */
  private attempts = 0;
  private updates = 0;
  private residuals = 0;

  /**
   * @param start where the first step begins
   * @param iterations record Newton's iterations too
   * @param repeatable no step depends on those before it but through the state: what is taken again comes out the same to the bit
   */
  constructor(
    private readonly prepared: Runnable,
    start: Float64Array,
    private readonly recordIterations: boolean,
    private readonly repeatable: boolean,
    readonly counters: Counters = noCounts(),
  ) {
    const {compiled, options} = prepared;
    if (compiled.implicit && solvesToTolerance(prepared)) {
      const rtol = options.plan?.control.rtol ?? 0;
      const kappa = toleranceShare(rtol);
      const tight = repeatable ? (4 * prepared.engine.epsilon) / Math.max(rtol, 4 * prepared.engine.epsilon) : kappa;
      this.sequential = new SequentialStages(prepared, kappa);
      this.simplified = new SimplifiedNewton(
        this.sequential,
        {
          kappa: Math.min(tight, kappa),
          acceptOnStall: kappa,
          acceptOnStallFresh: Math.max(
            Math.min(mostOfRounding, badCondition * roundingShare(rtol)),
            repeatable ? 0 : largestShare,
          ),
          repeatable,
          maxIterations: repeatable ? options.newton.maxIterations : simplifiedMaxIterations,
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
    let texts = written.get(forward);
    if (texts === undefined) written.set(forward, (texts = {host: {owner: this}, attempts: new Map()}));
    this.texts = texts;
    this.vectors = forward.vectors;
    this.state = forward.buffer('x');
    this.state.set(start);
    this.next = forward.buffer('next');
    this.layers = forward.find('layers');
    this.keep = prepared.storage === 'narrow' && whole !== undefined ? 'keep' : undefined;
    this.update = this.keep !== undefined && !compiled.implicit ? this.keep : 'update';
    this.kept = forward.find('kept') ?? nothing;
    this.inside = forward.find('inside');
    this.stiffness = forward.find('stiffness');
    this.errors = StepEstimate.of(prepared, forward);
    this.t = forward.find('t');
    this.h = forward.find('h');
    if (compiled.implicit && whole !== undefined) {
      this.system = new StepSystem(prepared);
      const hasMultipliers = prepared.traced.state.block('lambda') !== undefined;
      // Iterations that are to be differentiated, or counted, are those of the step's own equations.
      if (!recordIterations && options.newton.iterations === undefined && hasMultipliers)
        this.contacts = ContactForces.of(prepared, whole, this.system, this.iteration, this.counters);
    }
    const plain = this.errors === undefined && this.contacts === undefined && !recordIterations;
    const isAlike = this.system === undefined ? !compiled.implicit : isPlainNewton(options.newton, this.system);
    if (plain && isAlike) this.alike = whole;
  }

  /** Of an implicit scheme: made for the first step that is taken by itself. */
  get iteration(): NewtonIteration {
    return (this.ownIteration ??= this.begin());
  }

  private begin(): NewtonIteration {
    const {system, prepared, counters, recordIterations} = this;
    if (system === undefined) throw new Error('an explicit scheme has no equations to solve');
    const observe = (z: Float64Array, delta: Float64Array, length: number, first: boolean): void =>
      void this.iterations.push({z: z.slice(), delta: delta.slice(), length, first});
    const {newton} = prepared.options;
    const linearized = prepared.traced.linearized === true;
    return new NewtonIteration(newton, system, counters, linearized, recordIterations ? observe : undefined);
  }

  /** Step n of the grid. A failure leaves its sentence in `error`. */
  step(n: number): Status {
    const {grid} = this.prepared.options;
    const status = this.advance(grid.time(n), grid.length(n), 0, true);
    if (status !== 'completed') this.locate(status as Failure, n);
    return status;
  }

  /** Steps that `stepTogether` takes at most; 0 where steps are taken one by one. */
  get mostTogether(): number {
    const {alike, prepared, record, keep} = this;
    if (alike === undefined) return 0;
    const recorded: Recorded = record === undefined ? 'nothing' : keep === undefined ? 'whole' : 'kept';
    this.blocks ??= StepBlocks.of(prepared, alike, recorded, this.key, () =>
      this.parts(recorded === 'kept', this.texts.host),
    );
    return this.blocks?.capacity ?? 0;
  }

  /** What the text of a step depends on beside its programs. */
  private get key(): string {
    return this.system === undefined ? 'explicit' : keyOf(this.prepared.options.newton);
  }

  /**
   * Steps from the n-th on in one call: up to `count`, and no more than go as most do. What they are not, the next `step` tells.
   * @param keepEnds the state at each end will be read in `ends`
   * @returns how many were taken
   */
  stepTogether(n: number, count: number, keepEnds: boolean): number {
    const {blocks, counters, record} = this;
    const {grid} = this.prepared.options;
    if (blocks === undefined || this.failed !== 0) return 0;
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
    const {system, counters, texts} = this;
    const before = counters.residualEvaluations;
    texts.host.owner = this;
    if (system === undefined) return this.ended(blocks, blocks.take(count, keepEnds));
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
    return this.ended(blocks, code);
  }

  private ended(blocks: StepBlocks, code: number): number {
    this.failed = code;
    return blocks.count;
  }

  /** The states at the ends of the last steps taken together, one after another. */
  ends(count: number): Float64Array {
    return this.blocks?.endsOf(count, this.state.length) ?? nothing;
  }

  /** One step; with onFailure 'halve', two of half the length where it fails. @param last its end is that of the grid's step */
  private advance(t: number, h: number, depth: number, last: boolean): Status {
    const status = this.attempt(t, h);
    const {counters, prepared, record} = this;
    if (status === 'completed') {
      if (!last) record?.within.add(record.count - 1);
      return status;
    }
    counters.failures[status] = (counters.failures[status] ?? 0) + 1;
    if (prepared.options.newton.onFailure !== 'halve' || this.system === undefined) return status;
    if (depth === deepestHalving) return 'step-too-small';
    counters.rejectedSteps++;
    const first = this.advance(t, h / 2, depth + 1, false);
    return first === 'completed' ? this.advance(t + h / 2, h / 2, depth + 1, last) : first;
  }

  /** The unknown of the last step; of an explicit scheme what is kept beside its state, if anything. */
  get z(): Float64Array | undefined {
    return this.sequential?.whole ?? this.system?.z ?? this.layers;
  }

  /** The estimate of the last step's error, where it is traced. */
  get estimate(): Float64Array | undefined {
    return this.errors?.values;
  }

  /** The estimate of the last step, which began at x, made anew from the first one; false where it would be the same. */
  estimateAgain(x: Float64Array): boolean {
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
  tally(): void {
    const {counters, evaluations, attempts, updates, residuals} = this;
    counters.evaluations +=
      attempts * evaluations.start + updates * evaluations.update + residuals * evaluations.residual;
    this.attempts = this.updates = this.residuals = 0;
  }

  private attemptAt(t: number, h: number): Status {
    const {state, next, attempted, record} = this;
    attempted.t = t;
    attempted.h = h;
    const narrow = record !== undefined && this.keep !== undefined;
    const code = this.failed > 0 ? this.failed : this.solve(narrow, t, h);
    this.failed = 0;
    if (code === 0 || code === brokenEnd) this.updates++;
    if (code !== 0) return code === brokenEnd ? 'not-finite' : (newtonStatuses[code] as Failure);
    if (record !== undefined) {
      if (narrow) record.append(t, h, this.kept, undefined);
      else record.append(t, h, state, this.z);
      if (this.recordIterations) record.iterations.push(this.iterations);
    }
    this.vectors.copy(state, next);
    this.counters.steps++;
    return 'completed';
  }

  /** What a step consists of. @param narrow with what is recorded of it in the end @param host whose functions in JavaScript it calls */
  parts(narrow: boolean, host: StepHost = {owner: this}): StepParts {
    const {forward, system, simplified, contacts, errors, next} = this;
    const program = programPart(forward, narrow ? 'keep' : this.update);
    const all = new VectorParts(forward.vectors, () => routinesOf(forward)?.vectors);
    const solvedBy = (find: () => NewtonStatus | undefined): Part =>
      valuePart(() => newtonStatuses.indexOf(find() ?? 'newton-diverged'));
    const solve = ((): StepParts['solve'] => {
      if (simplified !== undefined) return b => b.result(solvedBy(() => host.owner.simplified?.solve()));
      if (system === undefined) return undefined;
      return b => {
        b.call(programPart(forward, 'guess'));
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
      this.linearize(contacts, narrow ? () => forward.run('keep') : undefined);
  }

  /** What is recorded of a step with contacts is where its derivatives are taken; its end stays. */
  private linearize(contacts: ContactForces, narrow: (() => void) | undefined): void {
    const {next} = this;
    const end = next.slice();
    contacts.linearizeHere();
    narrow?.();
    next.set(end);
  }

  /** The next step's guess may go on from this one; from nothing where the motion does not. */
  follow(step: LastStep | undefined): void {
    if (this.sequential !== undefined && !this.repeatable) this.sequential.last = step;
  }

  /** What the next step of a grid goes on from: the state, and the matrix that Newton's iteration keeps, if it keeps one. */
  get place(): Float64Array {
    const {state, system, ownIteration, lastStep} = this;
    const matrix = ownIteration?.keepsFactor === true ? system?.matrixValues : undefined;
    // What is not kept here may not serve the next step either.
    if (matrix === undefined) ownIteration?.discardFactor();
    const place = new Float64Array(state.length + (matrix === undefined ? 0 : 1 + matrix.length));
    place.set(state);
    if (matrix !== undefined) {
      place[state.length] = lastStep;
      place.set(matrix, state.length + 1);
    }
    return place;
  }

  set place(place: Float64Array) {
    const {state, system} = this;
    const {length} = state;
    state.set(place.subarray(0, length));
    this.ownIteration?.discardFactor();
    if (system === undefined || place.length === length) return;
    this.lastStep = place[length];
    this.iteration.resume(system.factorOf(place.subarray(length + 1)));
  }

  /** What the next step takes over from the last; undefined where it takes nothing. */
  get memory(): NewtonMemory | undefined {
    const {sequential, simplified, lastStep, repeatable} = this;
    if (sequential === undefined || simplified === undefined || repeatable) return undefined;
    const {last, matrixValues} = sequential;
    return {
      last: last?.z === undefined ? undefined : {t: last.t, h: last.h, z: last.z.slice()},
      rate: simplified.rate,
      h: lastStep,
      matrix: simplified.hasFactor ? matrixValues.slice() : undefined,
    };
  }

  /** Of another run's memory, of the same scheme and system; what is of another size is left. */
  set memory(memory: NewtonMemory | undefined) {
    const {sequential, simplified} = this;
    if (memory === undefined || sequential === undefined || simplified === undefined || this.repeatable) return;
    const {last, rate, h, matrix} = memory;
    if (last?.z.length === sequential.whole.length) sequential.last = last;
    this.lastStep = h ?? NaN;
    simplified.resume(
      rate,
      matrix?.length === sequential.matrixValues.length ? sequential.factorOf(matrix) : undefined,
    );
  }

  /** Solves and updates. @returns the number of a status, or `brokenEnd` */
  private solve(narrow: boolean, t: number, h: number): number {
    const {simplified, sequential, system} = this;
    const call = this.attemptCall(narrow);
    if (simplified !== undefined) {
      if (h !== this.lastStep) simplified.discardFactor();
      if (sequential !== undefined) [sequential.t, sequential.h] = [t, h];
    }
    if (this.recordIterations) this.iterations = [];
    // A kept factor belongs to a step length.
    if (system !== undefined && (h !== this.lastStep || this.repeatable)) this.iteration.discardFactor();
    this.lastStep = h;
    if (system === undefined || this.contacts !== undefined) return call(t, h);
    return this.iteration.run(() => call(t, h));
  }

  /** The text of an attempt, in JavaScript at first: compiled where many are made. */
  private attemptCall(narrow: boolean): Attempt {
    const {forward} = this;
    const text = narrow
      ? (this.narrowText ??= this.attemptText('kept'))
      : (this.wholeText ??= this.attemptText('whole'));
    this.texts.host.owner = this;
    if (text.compiled !== undefined) return text.compiled;
    text.made++;
    const write = (): Routine => attemptRoutine(this.parts(narrow, this.texts.host));
    const routines = text.made < fewAttempts ? undefined : routinesOf(forward);
    if (routines !== undefined) return (text.compiled = compile(write(), routines.memory));
    return (text.interpreted ??= interpret(write()));
  }

  private attemptText(recorded: 'kept' | 'whole'): AttemptText {
    const {attempts} = this.texts;
    const key = `${recorded}/${this.kind}/${this.recordIterations}/${this.key}`;
    let text = attempts.get(key);
    if (text === undefined) attempts.set(key, (text = {made: 0}));
    return text;
  }

  private get kind(): 'contacts' | 'sequential' | 'whole' {
    if (this.contacts !== undefined) return 'contacts';
    return this.simplified === undefined ? 'whole' : 'sequential';
  }

  /** Puts the failure of the last attempt into words. */
  locate(status: Failure, step: number): void {
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
      rowName: row => traced.unknown.rowName(row),
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
