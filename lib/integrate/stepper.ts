/**
 * One step of the grid after another, from the current state: solved, checked, and recorded if
 * a gradient will need it. The time loop uses it; a gradient with checkpoints recomputes steps with it.
 */
import type {IterationRecord, StepRecord} from '../adjoint/record.js';
import type {Vectors} from '../engine/vectors.js';
import type {StiffgradError} from '../errors.js';
import type {NewtonStatus} from '../newton/index.js';
import {fewIterations, isStraight, NewtonIteration, SimplifiedNewton} from '../newton/index.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {loadParameters} from '../step/context.js';
import type {Evaluations} from '../step/traced-step.js';
import {ContactForces} from './contact-forces.js';
import type {Counters, Failure, Status} from './counters.js';
import {noCounts} from './counters.js';
import {failedStep} from '../step/failed-step.js';
import type {NewtonMemory} from './run-state.js';
import type {Runnable} from './runnable.js';
import type {Recorded} from './step-blocks.js';
import {StepBlocks} from './step-blocks.js';
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
  /** What the last step left for its dense output (step/inside.ts), where there is that. */
  readonly inside: Float64Array | undefined;
  private readonly vectors: Vectors;
  private readonly update: () => void;
  /** The update, with what is recorded of the step where that is less than x and z. */
  private readonly keep?: () => void;
  private readonly kept: Float64Array;
  private readonly layers?: Float64Array;
  private readonly contacts: ContactForces | undefined;
  private readonly guess?: () => void;
  private readonly system?: StepSystem;
  private ownIteration: NewtonIteration | undefined;
  private readonly sequential?: SequentialStages;
  private readonly simplified?: SimplifiedNewton;
  private readonly next: Float64Array;
  private readonly errors?: StepEstimate;
  private readonly t?: Float64Array;
  private readonly h?: Float64Array;
  /** The programs of steps that may be taken several at once, if these are such. */
  private readonly together?: ForwardExecutable;
  private blocks: StepBlocks | undefined;
  private iterations: IterationRecord[] = [];
  private lastStep = NaN;
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
          coarsest: kappa,
          stalled: Math.max(
            Math.min(mostOfRounding, badCondition * roundingShare(rtol)),
            repeatable ? 0 : largestShare,
          ),
          repeatable,
          maxIterations: repeatable ? options.newton.maxIterations : fewIterations,
        },
        counters,
      );
    }
    const {evaluations, unknown} = prepared.traced;
    const found = this.sequential === undefined ? 1 : (compiled.matrices.sequential?.blocks ?? 1);
    this.evaluations = {...evaluations, residual: evaluations.residual / (found > 1 ? unknown.blocks.length : 1)};
    const whole = this.sequential === undefined ? compiled.forward(options.newton.linear, prepared.keeps) : undefined;
    const forward = this.sequential?.executable ?? compiled.forward(options.newton.linear, prepared.keeps);
    loadParameters(forward, prepared);
    this.vectors = forward.vectors;
    this.state = forward.buffer('x');
    this.state.set(start);
    this.next = forward.buffer('next');
    this.layers = forward.find('layers');
    this.keep = prepared.keeps === 'narrow' ? whole?.program('keep') : undefined;
    this.update = this.keep !== undefined && !compiled.implicit ? this.keep : forward.program('update');
    this.kept = forward.find('kept') ?? nothing;
    this.inside = forward.find('inside');
    this.stiffness = forward.find('stiffness');
    this.errors = StepEstimate.of(prepared, forward);
    this.t = forward.find('t');
    this.h = forward.find('h');
    if (compiled.implicit && whole !== undefined) {
      this.guess = whole.program('guess');
      this.system = new StepSystem(prepared);
      const hasMultipliers = prepared.traced.state.block('lambda') !== undefined;
      // Iterations that are to be differentiated, or counted, are those of the step's own equations.
      if (!recordIterations && options.newton.iterations === undefined && hasMultipliers)
        this.contacts = ContactForces.of(
          prepared,
          whole,
          this.system,
          this.iteration as NewtonIteration,
          this.counters,
        );
    }
    const plain = this.errors === undefined && this.contacts === undefined && !recordIterations;
    const isAlike = this.system === undefined ? !compiled.implicit : isStraight(options.newton, this.system);
    if (plain && isAlike) this.together = whole;
  }

  /** Of an implicit scheme: made for the first step that is taken by itself. */
  private get iteration(): NewtonIteration | undefined {
    const {system, prepared, counters} = this;
    if (system === undefined) return undefined;
    return (this.ownIteration ??= new NewtonIteration(prepared.options.newton, system, counters));
  }

  /** Step n of the grid. A failure leaves its sentence in `error`. */
  step(n: number): Status {
    const {grid} = this.prepared.options;
    const status = this.advance(grid.time(n), grid.length(n), 0, true);
    if (status !== 'completed') this.locate(status as Failure, n);
    return status;
  }

  /** The programs of steps that are all alike, so that a routine takes several: each is one update, or Newton's iterations without anything to decide. */
  get alike(): ForwardExecutable | undefined {
    const {system, together} = this;
    return system !== undefined && system.calls === undefined ? undefined : together;
  }

  /** Steps that `stepTogether` takes at most; 0 where steps are taken one by one. */
  get mostTogether(): number {
    const {alike, prepared, record, keep} = this;
    if (alike === undefined) return 0;
    const recorded: Recorded = record === undefined ? 'nothing' : keep === undefined ? 'whole' : 'kept';
    this.blocks ??= StepBlocks.of(prepared, alike, recorded);
    return this.blocks?.capacity ?? 0;
  }

  /**
   * Steps from the n-th on in one call: up to `count`, and no more than go as most do. What they are not, the next `step` tells.
   * @param keepEnds the state at each end will be read in `ends`
   * @returns how many were taken
   */
  stepTogether(n: number, count: number, keepEnds: boolean): number {
    const {blocks, counters, record, system} = this;
    const {grid} = this.prepared.options;
    if (blocks === undefined) return 0;
    const {rows, width} = blocks;
    for (let k = 0; k < count; k++) {
      rows[k * width] = grid.time(n + k);
      rows[k * width + 1] = grid.length(n + k);
    }
    const taken = blocks.take(count, keepEnds);
    if (taken === 0) return 0;
    this.lastStep = rows[(taken - 1) * width + 1];
    record?.appendRows(rows.subarray(0, taken * width), taken);
    counters.steps += taken;
    this.attempts += taken;
    this.updates += taken;
    if (system !== undefined) {
      const {iterations} = blocks;
      counters.newtonIterations += iterations;
      counters.jacobianEvaluations += iterations;
      counters.factorizations += iterations;
      counters.residualEvaluations += taken + iterations;
      this.residuals += taken + iterations;
    }
    return taken;
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
    const {state, iteration, next, attempted} = this;
    attempted.t = t;
    attempted.h = h;
    if (this.t !== undefined) this.t[0] = t;
    if (this.h !== undefined) this.h[0] = h;
    if (this.simplified !== undefined || iteration !== undefined) {
      const status =
        this.simplified !== undefined
          ? this.solveSequentially(this.simplified, t, h)
          : this.solve(iteration as NewtonIteration, h);
      if (status !== 'converged') return status;
    }
    const narrow = this.record === undefined ? undefined : this.keep;
    if (narrow === undefined) this.update();
    else narrow();
    this.updates++;
    if (this.contacts !== undefined && (this.record !== undefined || this.differentiated))
      this.linearize(this.contacts, narrow);
    // Of an explicit scheme too, whose unknowns no iteration has looked at.
    if (!(this.vectors.largest(next) < Infinity)) return 'not-finite';
    this.errors?.make();
    if (this.record !== undefined) {
      if (narrow === undefined) this.record.append(t, h, state, this.z);
      else this.record.append(t, h, this.kept, undefined);
      if (this.recordIterations) this.record.iterations.push(this.iterations);
    }
    this.vectors.copy(state, next);
    this.counters.steps++;
    return 'completed';
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
    if (matrix === undefined) ownIteration?.forget();
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
    this.ownIteration?.forget();
    if (system === undefined || place.length === length) return;
    this.lastStep = place[length];
    this.iteration?.resume(system.factorOf(place.subarray(length + 1)));
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
      matrix: simplified.keeps ? matrixValues.slice() : undefined,
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

  private solveSequentially(simplified: SimplifiedNewton, t: number, h: number): NewtonStatus {
    const {sequential} = this;
    if (h !== this.lastStep) simplified.forget();
    this.lastStep = h;
    if (sequential !== undefined) [sequential.t, sequential.h] = [t, h];
    return simplified.find();
  }

  private solve(iteration: NewtonIteration, h: number): NewtonStatus {
    const {prepared} = this;
    // A kept factor belongs to a step length.
    if (h !== this.lastStep || this.repeatable) iteration.forget();
    this.lastStep = h;
    this.guess?.();
    if (this.recordIterations) this.iterations = [];
    const observe =
      this.recordIterations && this.record !== undefined
        ? (z: Float64Array, delta: Float64Array, length: number, first: boolean): void => {
            this.iterations.push({z: z.slice(), delta: delta.slice(), length, first});
          }
        : undefined;
    return this.contacts?.find(this.state) ?? iteration.find(prepared.traced.linearized === true, observe);
  }

  /** Puts the failure of the last attempt into words. */
  locate(status: Failure, step: number): void {
    const {traced, options} = this.prepared;
    this.error = failedStep({
      status,
      step,
      t: this.attempted.t,
      h: this.attempted.h,
      scheme: traced,
      newton: options.newton,
      history: this.iteration?.history ?? [],
      worst: this.worstRows(),
      rowName: row => traced.unknown.rowName(row),
      cause: (this.simplified ?? this.iteration)?.cause,
    });
  }

  private worstRows(): {name: string; residual: number}[] {
    const {traced} = this.prepared;
    if (this.iteration === undefined || this.simplified !== undefined) {
      return [...this.next.keys()]
        .filter(row => !Number.isFinite(this.next[row]))
        .slice(0, 5)
        .map(row => ({name: traced.state.rowName(row), residual: this.next[row]}));
    }
    return this.iteration.worstRows(5).map(({row, residual}) => ({name: traced.unknown.rowName(row), residual}));
  }
}
