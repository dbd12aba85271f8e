/**
 * The worker threads of this program: started when first asked for, kept for the next batch, and no
 * reason for the program not to end. A job goes to the thread with the fewest; each may have one waiting
 * beside the one it works on, so that it never waits itself.
 */
import type {CompiledStep} from '../../step/compiled.js';
import type {SerializedStep} from '../../step/serialize-step.js';
import type {WorkerChannel} from './channel.js';
import {openChannel} from './channel.js';
import type {Answer, Reply, Task} from './messages.js';
import type {Phase} from './phase.js';

/** The most jobs a thread has: the one it works on, and the next. */
const mostJobs = 2;

/** Steps a thread keeps compiled, as many as this thread does (step/compiled.ts). */
const keptSteps = 32;

/**
 * Milliseconds without an answer after which the waiting thread does a job itself. A thread that ran out of memory
 * leaves no sign that a waiting thread could see; and where it merely takes long, one more helps.
 */
const answerTimeout = 10_000;

/** Milliseconds in which a thread's message is seen that had come while this thread was busy. */
const lateReplyTimeout = 1_000;

interface Assignment {
  readonly phase: Phase;
  readonly index: number;
}

class PoolWorker {
  /** It has said that it started. */
  ready = false;
  readonly jobs = new Map<number, Assignment>();
  readonly tasks = new Set<number>();
  readonly steps = new Set<number>();
  constructor(readonly channel: WorkerChannel) {}

  /** The steps of a task, and what its jobs have in common, where they are not there yet. */
  introduce(id: number, task: Task, step: (number: number) => SerializedStep): void {
    const {steps, tasks, channel} = this;
    if (tasks.has(id)) return;
    for (const number of [task.first, task.step]) {
      if (!steps.delete(number)) channel.post({kind: 'step', step: number, plain: step(number)});
      steps.add(number);
    }
    for (const oldest of steps) {
      if (steps.size <= keptSteps) break;
      steps.delete(oldest);
      channel.post({kind: 'drop', step: oldest});
    }
    tasks.add(id);
    channel.post({kind: 'task', task: id, plain: task});
  }
}

class Pool {
  private readonly signal = new Int32Array(
    typeof SharedArrayBuffer === 'undefined' ? new ArrayBuffer(4) : new SharedArrayBuffer(4),
  );
  private readonly workers: PoolWorker[] = [];
  private phases: Phase[] = [];
  private jobs = 0;
  private answers = 0;
  /** Threads cannot be started here, or none has answered yet: what is left to do is done by this one. */
  broken = false;
  /** A thread did not start in time, and its runs were made in this one. */
  late = false;

  /** Threads that run already. */
  get size(): number {
    return this.workers.length;
  }

  /** Whether threads can be given work: those that took long to start can, once they have answered. */
  isUsable(): boolean {
    if (this.broken) this.drain();
    return !this.broken;
  }

  knows(step: number): boolean {
    return this.workers.some(({steps}) => steps.has(step));
  }

  start(phase: Phase): void {
    this.grow(phase.workers);
    this.phases.push(phase);
    this.pump();
  }

  /** Ends a phase that is not waited for, with its error. */
  cancel(phase: Phase, error: unknown): void {
    phase.cancel(error);
    this.pump();
  }

  /** Until a phase is done, on Node. */
  wait(phase: Phase): void {
    let patience = answerTimeout;
    try {
      while (!phase.done) {
        const before = Atomics.load(this.signal, 0);
        if (this.drain()) patience = answerTimeout;
        else if (this.broken || this.workers.length === 0) phase.helpOut();
        else if (Atomics.wait(this.signal, 0, before, patience) === 'timed-out') {
          patience = 0;
          phase.helpOut();
        }
      }
    } finally {
      this.finish(phase);
    }
    if (patience === 0 && this.answers === 0) this.giveUp('they did not answer');
  }

  /** Ends all threads; the next batch starts new ones. */
  async end(): Promise<void> {
    warned = false;
    this.broken = false;
    const ended = this.workers.splice(0);
    for (const {jobs} of ended) this.returnJobs(jobs);
    await Promise.all(ended.map(({channel}) => channel.end()));
  }

  private grow(count: number): void {
    try {
      while (!this.broken && this.workers.length < count) this.startWorker();
    } catch (error) {
      this.giveUp(error instanceof Error ? error.message : String(error));
    }
  }

  /** No thread has started: this one does the work until one answers, and the user hears of it once. */
  giveUp(why: string): void {
    if (!this.broken) warnOnce(why);
    this.broken = true;
  }

  private startWorker(): void {
    const channel = openChannel(this.signal, {
      reply: reply => {
        this.take(worker, reply);
        this.pump();
      },
      lost: () => this.lose(worker),
    });
    const worker = new PoolWorker(channel);
    this.workers.push(worker);
    this.after(answerTimeout, () =>
      this.checkStarted(worker, () =>
        this.after(lateReplyTimeout, () =>
          this.checkStarted(worker, () => {
            this.late = true;
            this.lose(worker);
            void channel.end();
          }),
        ),
      ),
    );
  }

  /** Later, if the program has not ended by then. */
  private after(milliseconds: number, work: () => void): void {
    const timer: unknown = setTimeout(work, milliseconds);
    (timer as {unref?(): void}).unref?.();
  }

  private checkStarted(worker: PoolWorker, otherwise: () => void): void {
    if (worker.ready || !this.workers.includes(worker)) return;
    this.drain();
    if (!worker.ready) otherwise();
  }

  /** Gives jobs out until every worker has enough. */
  private pump(): void {
    for (const phase of this.phases) {
      for (;;) {
        const worker = this.workers
          .slice(0, phase.workers)
          .reduce<PoolWorker | undefined>(
            (least, next) => (next.jobs.size < (least?.jobs.size ?? mostJobs) ? next : least),
            undefined,
          );
        const index = worker === undefined ? undefined : phase.next();
        if (worker === undefined || index === undefined) break;
        this.assign(worker, phase, index);
      }
    }
    for (const phase of this.phases.filter(({done}) => done)) this.finish(phase);
    this.free();
    this.hold();
  }

  /** The program goes on as long as a batch is under way. */
  private hold(): void {
    const busy = this.phases.some(({done}) => !done);
    for (const {channel} of this.workers) channel.hold(busy);
  }

  /** Threads that work on what nobody wants, and cannot see it, are ended, and others take their places. */
  private free(): void {
    for (const worker of [...this.workers]) {
      const jobs = [...worker.jobs.values()];
      if (!jobs.some(({phase, index}) => !phase.interruptible && !phase.wants(index))) continue;
      this.workers.splice(this.workers.indexOf(worker), 1);
      void worker.channel.end();
      for (const {phase, index} of jobs) if (phase.wants(index)) phase.giveBack(index);
    }
    const wanted = Math.max(0, ...this.phases.map(({workers}) => workers));
    if (this.workers.length >= wanted) return;
    const before = this.workers.length;
    this.grow(wanted);
    if (this.workers.length > before) this.pump();
    else if (this.workers.length === 0) this.returnJobs(new Map());
  }

  private assign(worker: PoolWorker, phase: Phase, index: number): void {
    const job = ++this.jobs;
    try {
      worker.introduce(phase.id, phase.task, phase.step);
      const {request, transfer} = phase.request(index, job);
      worker.channel.post(request, transfer);
      worker.jobs.set(job, {phase, index});
    } catch {
      // What no message carries is done here.
      phase.doHere(index);
    }
  }

  /** Takes every answer that has come; whether there was one. */
  private drain(): boolean {
    let some = false;
    for (const worker of [...this.workers]) {
      for (let reply = worker.channel.receive(); reply !== undefined; reply = worker.channel.receive()) {
        some = true;
        this.take(worker, reply);
      }
    }
    if (some) this.pump();
    return some;
  }

  private take(worker: PoolWorker, reply: Reply): void {
    this.answers++;
    this.broken = false;
    if (reply.kind === 'ready') {
      worker.ready = true;
      return;
    }
    this.settle(worker, reply);
  }

  private settle(worker: PoolWorker, reply: Answer): void {
    const assignment = worker.jobs.get(reply.job);
    if (assignment === undefined) return;
    if (reply.kind !== 'progress') worker.jobs.delete(reply.job);
    assignment.phase.settle(assignment.index, reply);
  }

  private finish(phase: Phase): void {
    phase.abandon();
    this.phases = this.phases.filter(other => other !== phase);
    for (const {channel, tasks} of this.workers)
      if (tasks.delete(phase.id)) channel.post({kind: 'end', task: phase.id});
    this.hold();
  }

  private lose(worker: PoolWorker): void {
    const at = this.workers.indexOf(worker);
    if (at < 0) return;
    this.workers.splice(at, 1);
    if (this.answers === 0) this.giveUp('their script did not start, as where a bundler left it behind');
    this.returnJobs(worker.jobs);
  }

  /** Jobs whose thread is gone are done here, and the rest of their phases where no thread is left. */
  private returnJobs(jobs: ReadonlyMap<number, Assignment>): void {
    for (const {phase, index} of jobs.values()) phase.doHere(index);
    if (this.workers.length === 0) for (const phase of [...this.phases]) while (!phase.done) phase.helpOut();
    this.pump();
  }
}

/** Until the pool is ended. */
let warned = false;

/** Where a program may run on for hours in one thread, and only its slowness would show it. */
function warnOnce(why: string): void {
  if (warned) return;
  warned = true;
  // eslint-disable-next-line no-console -- there is no result to carry it: the first batch may be under way elsewhere
  console.warn(
    `stiffgrad: no worker threads could be started (${why}), so batches run in the calling thread. The results `
      + 'are the same. In a page, batch.useWorker says how to start them; workers: 0 asks for none.',
  );
}

export const pool = new Pool();

let stepCount = 0;
const stepNumbers = new WeakMap<CompiledStep, number>();

/** A number for a structure: threads know steps by it. */
export function stepNumber(compiled: CompiledStep): number {
  let known = stepNumbers.get(compiled);
  if (known === undefined) stepNumbers.set(compiled, (known = ++stepCount));
  return known;
}
