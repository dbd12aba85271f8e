/**
 * The runs of a batch, and the way back through them, on worker threads or in this one. Runs do not
 * depend on one another nor on what a thread did before, so where each is done changes no bit of it.
 */
import {threadEngine} from '../engine/index.js';
import {aborted, throwIfAborted} from '../checks.js';
import type {Gradient} from '../adjoint/gradient.js';
import {serializeNewton} from '../newton/serialize-newton.js';
import type {StepPrograms} from '../step/context.js';
import type {SerializedStep} from '../step/serialize-step.js';
import {isSerializable, serializeStep, propertiesOf} from '../step/serialize-step.js';
import type {CompiledStep} from '../step/compiled.js';
import type {TracedStep} from '../step/traced-step.js';
import type {PreparedRun} from './prepare.js';
import type {Run} from '../integrate/path.js';
import {run} from '../integrate/run.js';
import type {Directions} from '../adjoint/directions.js';
import type {SeriesCotangents} from './series.js';
import {areTangentsRight, pullChecked, runAndPushChecked} from './derivatives.js';
import {checkGradient} from './gradient-check.js';
import {seriesValues} from './series.js';
import {parallelism} from '../builtin.js';
import {canStart, canWait} from './workers/channel.js';
import type {MemberStart, Task} from './workers/messages.js';
import {memoryOf} from './workers/messages.js';
import {deserializeError, inMember} from './workers/serialize-error.js';
import {deserializeRunTape, serializePath, deserializeRun} from './workers/serialize-run.js';
import type {Outcome, Work} from './workers/phase.js';
import {PhaseOf} from './workers/phase.js';
import {pool, stepNumber} from './workers/pool.js';

/** A run and its saved series (series.ts). */
export interface Done {
  readonly run: Run;
  readonly matrix: Float64Array;
}

/** A run with the tangents of the series, one for each direction. */
export interface Pushed extends Done {
  readonly tangents: readonly Float64Array[];
}

/**
 * Milliseconds until new threads answer: 54 were measured for one with an empty program on an idle machine, 340 to 950
 * for two with theirs where six programs shared each core. This is the order of what an idle one takes with the
 * program; it decides whether threads are tried, and changes no result.
 */
const threadStart = 100;

/** Milliseconds of a thread for a job beside its own work: measured with a run of one step, 0.02 to 0.04. */
const jobCost = 0.1;

/** Time of a run with its gradient over that of the run alone: 1.3 to 2.0 on the benchmarks, 1.5 for most. */
const withGradient = 1.5;

/** Runs before the time of one is believed, as the first are many times slower: V8 has not compiled their loops yet. */
const warmUp = 3;

export class Ensemble {
  private readonly task: Task | undefined;
  private readonly done: (Done | undefined)[];
  /** Milliseconds that differentiating and compiling took here: a thread that is new to the step needs as many. */
  private compileTime = 0;

  /**
   * @param members of one prepared simulation
   * @param workers as the user gave it
   * @param single one run of several that are under way at once: it may be any thread's, and its errors name no member
   */
  constructor(
    readonly members: readonly PreparedRun[],
    private readonly workers: number | undefined,
    private readonly single = false,
  ) {
    this.done = new Array<Done | undefined>(members.length).fill(undefined);
    this.task = canStart && this.threads > 0 ? taskOf(members[0]) : undefined;
  }

  /** Threads that a batch may use. */
  private get threads(): number {
    return Math.min(this.workers ?? Math.max(parallelism(), 1), this.single ? Infinity : this.members.length);
  }

  private named(error: unknown, member: number): unknown {
    return this.single ? error : inMember(error, member);
  }

  /**
   * Runs all members; where it is not said on how many threads, the first ones here, which tells whether the others are
   * worth any. One thread is worth none: this one would only wait for it.
   * @throws the error of the first member that has one, unless the batch was told not to
   */
  run(keep: boolean): readonly Done[] {
    const {members: all, task} = this;
    throwIfAborted(this.signal);
    if (!canStart && (this.workers ?? 0) > 1) pool.giveUp('there are none here');
    const threaded = this.canSend && canWait && this.threads > 1;
    for (let i = 0, last = 0; i < all.length; i++) {
      if (threaded && (this.workers !== undefined || this.worthThreads(i, last, keep))) break;
      last = this.runHere(i, keep).run.milliseconds;
    }
    if (task === undefined || this.done.every(done => done !== undefined)) return this.all();
    const phase = new PhaseOf(this.running(task, keep), true);
    pool.start(phase);
    pool.wait(phase);
    return this.collect(phase.outcomes);
  }

  /** Computes the runs without waiting, on other threads if possible, as this thread has other work. */
  async runAsync(keep: boolean): Promise<readonly Done[]> {
    throwIfAborted(this.signal);
    if (!canStart && this.threads > 0) pool.giveUp('there are none here');
    if (!this.canSend) {
      for (let i = 0; i < this.members.length; i++) this.runHere(i, keep);
      return this.all();
    }
    const phase = new PhaseOf(this.running(this.task as Task, keep), false);
    await this.finished(phase);
    return this.collect(phase.outcomes);
  }

  /** As `runAsync`, with the tangents of each member along directions of its own. */
  async pushAsync(directions: readonly Directions[]): Promise<readonly Pushed[]> {
    throwIfAborted(this.signal);
    if (!canStart && this.threads > 0) pool.giveUp('there are none here');
    if (!this.canSend) return this.members.map((_, i) => this.pushHere(i, directions[i]));
    const phase = new PhaseOf(this.pushing(this.task as Task, directions), false);
    await this.finished(phase);
    return phase.outcomes.map((outcome, i) => {
      if (outcome === undefined) throw new Error(`member ${i} has no outcome`);
      if ('error' in outcome) throw outcome.error;
      if (fails(this.members[i], outcome.answer)) throw this.named(outcome.answer.run.error, i);
      return outcome.answer;
    });
  }

  /** The gradient of each member for its cotangents; undefined is zero. */
  pull(cotangents: readonly (SeriesCotangents | undefined)[]): Gradient[] {
    const gradients = this.zeros();
    const asked = members(cotangents);
    if (this.task === undefined || !this.canSend || !canWait || asked.length < 2 || !this.usedThreads) {
      for (const i of asked) gradients[i] = this.pullHere(i, cotangents[i] as SeriesCotangents);
      return gradients;
    }
    const phase = new PhaseOf(this.pulling(this.task, asked, cotangents), true);
    pool.start(phase);
    pool.wait(phase);
    return fill(gradients, phase.outcomes);
  }

  async pullAsync(cotangents: readonly (SeriesCotangents | undefined)[]): Promise<Gradient[]> {
    throwIfAborted(this.signal);
    const gradients = this.zeros();
    const asked = members(cotangents);
    if (!this.canSend || !this.usedThreads) {
      for (const i of asked) gradients[i] = this.pullHere(i, cotangents[i] as SeriesCotangents);
      return gradients;
    }
    const phase = new PhaseOf(this.pulling(this.task as Task, asked, cotangents), false);
    await this.finished(phase);
    return fill(gradients, phase.outcomes);
  }

  private get signal(): AbortSignal | undefined {
    return this.members[0].options.signal;
  }

  /** Until a phase is done; the signal ends it at once, in its threads too. */
  private async finished(phase: PhaseOf<Done> | PhaseOf<Gradient> | PhaseOf<Pushed>): Promise<void> {
    const {signal} = this;
    const stop = (): void => pool.cancel(phase, aborted(signal?.reason));
    signal?.addEventListener('abort', stop, {once: true});
    try {
      pool.start(phase);
      await phase.finished;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  private get canSend(): boolean {
    return this.task !== undefined && pool.isUsable();
  }

  /** Threads were worth it on the way there; a product with sensitivities is worth none. */
  private get usedThreads(): boolean {
    return (
      this.members[0].adjoint.threads?.paysOff === true && this.done.some(done => done?.run.workerFacts !== undefined)
    );
  }

  /** Whether threads would gain, from the time of the last of `count` runs that were done here. */
  private worthThreads(count: number, milliseconds: number, keep: boolean): boolean {
    const {threads, task, members: all} = this;
    if (task === undefined || count === 0 || (count < warmUp && milliseconds < threadStart)) return false;
    const left = all.length - count;
    const start = pool.size >= threads ? 0 : threadStart;
    const compile = pool.knows(task.step) ? 0 : this.compileTime;
    const each = Math.max(milliseconds - (count === 1 ? this.compileTime : 0), 0) * (keep ? withGradient : 1);
    return left * each * (1 - 1 / threads) > start + compile + left * jobCost;
  }

  private runHere(i: number, keep: boolean): Done {
    const prepared = this.members[i];
    try {
      prepared.compiled.compileTime = 0;
      const result = keep ? prepared.adjoint.run(prepared) : run(prepared);
      this.compileTime = Math.max(this.compileTime, prepared.compiled.compileTime);
      const done = {run: result, matrix: seriesValues(prepared, result)};
      this.done[i] = done;
      if (fails(prepared, done)) throw result.error as Error;
      return done;
    } catch (error) {
      throw this.named(error, i);
    }
  }

  private pullHere(i: number, cotangents: SeriesCotangents): Gradient {
    const prepared = this.members[i];
    try {
      const {run: path} = this.done[i] as Done;
      // Where the thread that had it has gone, the path is gone too: the same one is found again.
      const kept = path.tape === undefined ? prepared.adjoint.run(prepared) : path;
      return pullChecked(prepared, kept, cotangents);
    } catch (error) {
      throw this.named(error, i);
    }
  }

  private pushHere(i: number, directions: Directions): Pushed {
    const prepared = this.members[i];
    try {
      prepared.compiled.compileTime = 0;
      const {run: result, tangents} = runAndPushChecked(prepared, directions, prepared.options.throw);
      const pushed = {run: {...result, tape: undefined}, matrix: seriesValues(prepared, result), tangents};
      if (fails(prepared, pushed)) throw result.error as Error;
      return pushed;
    } catch (error) {
      throw this.named(error, i);
    }
  }

  private running(task: Task, keep: boolean): Work<Done> {
    const {members: all} = this;
    return {
      ...this.common(task),
      members: all.flatMap((_, i) => (this.done[i] === undefined ? [i] : [])),
      request: (i, job, id) => ({
        request: {kind: 'run', job, member: i, task: id, start: startOf(all[i], task), keep},
        transfer: [],
      }),
      read: (i, reply) => {
        if (reply.kind === 'ran') {
          const result = deserializeRun(reply.run, all[i].adjoint);
          return {answer: {run: result, matrix: reply.matrix ?? result.states}};
        }
        return this.failure(i, reply);
      },
      here: i => withLateWarning(this.runHere(i, keep)),
      fails: done => fails(all[0], done),
      progress: this.progress,
    };
  }

  private readonly progress: Work<unknown>['progress'] = ({progress}) => {
    this.members[0].options.onProgress?.(progress);
    throwIfAborted(this.signal);
  };

  private failure(
    i: number,
    reply: {readonly kind: string; readonly error?: Parameters<typeof deserializeError>[0]},
  ): {error: unknown} | undefined {
    return reply.error === undefined ? undefined : {error: this.named(deserializeError(reply.error), i)};
  }

  private pushing(task: Task, directions: readonly Directions[]): Work<Pushed> {
    const {members: all} = this;
    return {
      ...this.common(task),
      members: all.map((_, i) => i),
      request: (i, job, id) => ({
        request: {
          kind: 'push',
          job,
          member: i,
          task: id,
          start: startOf(all[i], task),
          directions: directions[i],
          throws: all[i].options.throw,
        },
        transfer: [],
      }),
      read: (i, reply) => {
        if (reply.kind !== 'pushed') return this.failure(i, reply);
        const result = deserializeRun(reply.run, all[i].adjoint);
        const {tangents} = reply;
        // Tighter tolerances are taken here.
        if (!areTangentsRight(all[i], result, directions[i], tangents)) return undefined;
        return {answer: {run: result, matrix: reply.matrix ?? result.states, tangents}};
      },
      here: i => {
        const {tangents, ...done} = this.pushHere(i, directions[i]);
        return {...withLateWarning(done), tangents};
      },
      fails: done => fails(all[0], done),
      progress: this.progress,
    };
  }

  private pulling(
    task: Task,
    asked: readonly number[],
    cotangents: readonly (SeriesCotangents | undefined)[],
  ): Work<Gradient> {
    const {members: all, done} = this;
    const keepPath = (i: number, kept: Run['tape']): void => {
      const {run: result, matrix} = done[i] as Done;
      done[i] = {run: {...result, tape: kept}, matrix};
    };
    return {
      ...this.common(task),
      members: asked,
      request: (i, job, id) => {
        const {run: result} = done[i] as Done;
        const path = serializePath(all[i], result.tape === undefined ? all[i].adjoint.run(all[i]) : result);
        // The memory moves: it is not here until the answer brings it back.
        keepPath(i, undefined);
        return {
          request: {
            kind: 'pull',
            job,
            member: i,
            task: id,
            start: startOf(all[i], task),
            path,
            // Runs with events are not sent.
            cotangents: (cotangents[i] as SeriesCotangents).series,
            asked: cotangents[i]?.asked,
          },
          transfer: memoryOf(path.tape),
        };
      },
      read: (i, reply) => {
        if (reply.kind !== 'pulled') return this.failure(i, reply);
        const {run: result} = done[i] as Done;
        keepPath(i, deserializeRunTape(reply.kept, result.completed, all[i].adjoint));
        checkGradient(all[i], result, cotangents[i] as SeriesCotangents, reply.gradient);
        return {answer: reply.gradient};
      },
      here: i => this.pullHere(i, cotangents[i] as SeriesCotangents),
      fails: () => false,
    };
  }

  private common(task: Task): Pick<Work<unknown>, 'workers' | 'task' | 'step' | 'count'> {
    const {members: all, threads} = this;
    return {
      workers: threads,
      task,
      count: all.length,
      step: number => plainOf(number === task.step ? all[0] : all[0].start),
    };
  }

  private zeros(): Gradient[] {
    return this.members.map(({initialValues, parameterValues}) => ({
      initial: new Float64Array(initialValues.length),
      parameters: parameterValues.map(({length}) => new Float64Array(length)),
      recomputedSteps: 0,
    }));
  }

  private collect(outcomes: readonly (Outcome<Done> | undefined)[]): readonly Done[] {
    outcomes.forEach((outcome, i) => {
      if (outcome === undefined) return;
      if ('error' in outcome) throw outcome.error;
      this.done[i] = outcome.answer;
      if (fails(this.members[i], outcome.answer)) throw this.named(outcome.answer.run.error, i);
    });
    return this.all();
  }

  private all(): readonly Done[] {
    return this.done as readonly Done[];
  }
}

/** A run that a thread was to make. */
function withLateWarning({run: result, matrix}: Done): Done {
  return {matrix, run: pool.late ? {...result, warnings: [...result.warnings, late]} : result};
}

const late = 'A worker thread did not start in time: this run was made in the calling thread.';

const fails = ({options}: PreparedRun, {run: {error}}: Done): boolean => options.throw && error !== undefined;

const plainOf = ({traced, compiled}: StepPrograms): SerializedStep => ({
  ...serializeStep(traced),
  checked: compiled.matrices.checkedMatrices,
});

const members = (cotangents: readonly unknown[]): number[] =>
  cotangents.flatMap((cotangent, i) => (cotangent === undefined ? [] : [i]));

function fill(gradients: Gradient[], outcomes: readonly (Outcome<Gradient> | undefined)[]): Gradient[] {
  outcomes.forEach((outcome, i) => {
    if (outcome === undefined) return;
    if ('error' in outcome) throw outcome.error;
    gradients[i] = outcome.answer;
  });
  return gradients;
}

const sendable = new WeakMap<CompiledStep, boolean>();

/** Whether a step is serializable, computed once. */
function isSent(compiled: CompiledStep, traced: TracedStep): boolean {
  let sent = sendable.get(compiled);
  if (sent === undefined) sendable.set(compiled, (sent = isSerializable(traced)));
  return sent;
}

/** undefined where a thread could not do it: the options contain functions, or the arithmetic tensors. */
function taskOf({
  traced,
  compiled,
  start,
  engine,
  options,
  coordinates,
  parameterValues,
  resumed,
  adjoint: {threads},
}: PreparedRun): Task | undefined {
  const newton = serializeNewton(options.newton);
  // Events, dense output and the continuous adjoint are not in the messages: such runs are this thread's.
  const there = threadEngine(engine);
  if (
    newton === undefined
    || there === undefined
    || options.plan !== undefined
    || resumed === true
    || threads === undefined
  )
    return undefined;
  if (!isSent(compiled, traced)) return undefined;
  const {grid, saved} = options;
  return {
    step: stepNumber(compiled),
    facts: propertiesOf(traced),
    first: stepNumber(start.compiled),
    firstFacts: propertiesOf(start.traced),
    engine: there,
    t0: grid.t0,
    grid: grid.asked,
    saved,
    newton,
    consistent: options.consistent,
    adjoint: threads.plain,
    progress: options.onProgress !== undefined,
    coordinates,
    parameters: parameterValues,
  };
}

/** Arrays that are the task's own are not sent again. */
function startOf({initialValues, parameterValues}: PreparedRun, {parameters}: Task): MemberStart {
  return {
    given: initialValues,
    own: parameterValues.flatMap((values, i) => (values === parameters[i] ? [] : [[i, values] as const])),
  };
}
