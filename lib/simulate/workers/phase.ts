/**
 * Jobs of one kind for all members of a batch, run forwards or back. Answers come in any order and stand
 * in the members'; after a failure only members before it are still of interest, so that the error told
 * is always that of the first member that has one.
 */
import type {SerializedStep} from '../../step/serialize-step.js';
import {Interest} from '../abort.js';
import type {Answer, Request, Task} from './messages.js';

export interface WorkerAssignment {
  readonly request: Request;
  readonly transfer: ArrayBuffer[];
}

export interface Work<A> {
  readonly workers: number;
  readonly task: Task;
  readonly step: (number: number) => SerializedStep;
  readonly count: number;
  /** Members to do, ascending. */
  readonly members: readonly number[];
  request(member: number, job: number, task: number): WorkerAssignment;
  /** What a reply says; undefined where the job has to be done here. */
  read(member: number, reply: Answer): Outcome<A> | undefined;
  /** Does a job in this thread. May throw. */
  here(member: number): A;
  /** An answer after which later members do not matter. */
  fails(answer: A): boolean;
  progress?(reply: Extract<Answer, {kind: 'progress'}>): void;
}

let phaseCount = 0;

/** What the pool sees of it. */
export interface Phase {
  readonly id: number;
  readonly workers: number;
  readonly task: Task;
  readonly step: (number: number) => SerializedStep;
  readonly done: boolean;
  /** The next member to give out. */
  next(): number | undefined;
  request(member: number, job: number): WorkerAssignment;
  settle(member: number, reply: Answer): void;
  /** Whether the answer for a member is still wanted. */
  wants(member: number): boolean;
  /** Threads see by themselves which members are no longer wanted. */
  readonly interruptible: boolean;
  /** A member that was given out has to be given out again. */
  giveBack(member: number): void;
  /** Rejects, and takes no further answers. */
  cancel(error: unknown): void;
  doHere(member: number): void;
  /** Does one job in this thread: one that is not given out, else the first without an answer. */
  helpOut(): void;
  /** Takes no further answers. */
  abandon(): void;
}

export type Outcome<A> = {readonly answer: A} | {readonly error: unknown};

export class PhaseOf<A> implements Phase {
  readonly id = ++phaseCount;
  readonly workers: number;
  readonly task: Task;
  readonly step: (number: number) => SerializedStep;
  /** By member. */
  readonly outcomes: (Outcome<A> | undefined)[];
  /** Settles when the phase is done: all answers are in, or what threw in a callback. */
  readonly finished: Promise<void>;
  private given = 0;
  private readonly returned: number[] = [];
  private readonly interest = new Interest();
  private open: Set<number>;
  private resolve: () => void = () => undefined;
  private reject: (error: unknown) => void = () => undefined;

  constructor(
    private readonly work: Work<A>,
    private readonly waiting: boolean,
  ) {
    const {workers, task, step, count, members} = work;
    this.workers = workers;
    this.task = {...task, interest: this.interest.shared};
    this.step = step;
    this.outcomes = new Array<Outcome<A> | undefined>(count).fill(undefined);
    this.open = new Set(members);
    this.finished = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    if (this.done) this.resolve();
  }

  get done(): boolean {
    return this.open.size === 0;
  }

  next(): number | undefined {
    const {members} = this.work;
    for (let member = this.returned.shift(); member !== undefined; member = this.returned.shift())
      if (this.open.has(member)) return member;
    while (this.given < members.length) {
      const member = members[this.given++];
      if (this.open.has(member)) return member;
    }
    return undefined;
  }

  request(member: number, job: number): WorkerAssignment {
    return this.work.request(member, job, this.id);
  }

  wants(member: number): boolean {
    return this.open.has(member);
  }

  get interruptible(): boolean {
    return this.interest.shared !== undefined;
  }

  giveBack(member: number): void {
    this.returned.push(member);
  }

  settle(member: number, reply: Answer): void {
    if (!this.open.has(member)) return;
    if (reply.kind === 'progress') {
      this.tell(reply);
      return;
    }
    const outcome = this.work.read(member, reply);
    if (outcome === undefined) this.doHere(member);
    else this.keep(member, outcome);
  }

  doHere(member: number): void {
    if (!this.open.has(member)) return;
    try {
      this.keep(member, {answer: this.work.here(member)});
    } catch (error) {
      this.keep(member, {error});
    }
  }

  helpOut(): void {
    const [first] = this.open;
    const member = this.next() ?? (this.done ? undefined : first);
    if (member !== undefined) this.doHere(member);
  }

  cancel(error: unknown): void {
    this.reject(error);
    this.abandon();
  }

  abandon(): void {
    this.open.clear();
    this.interest.upTo(-1);
    this.resolve();
  }

  private keep(member: number, outcome: Outcome<A>): void {
    this.outcomes[member] = outcome;
    this.open.delete(member);
    if ('error' in outcome || this.work.fails(outcome.answer)) {
      for (const later of this.open) if (later > member) this.open.delete(later);
      this.interest.upTo(member);
    }
    if (this.done) this.resolve();
  }

  /** Who waits gets an error of the user's function from the wait; who does not, from the promise. */
  private tell(reply: Extract<Answer, {kind: 'progress'}>): void {
    try {
      this.work.progress?.(reply);
    } catch (error) {
      if (this.waiting) throw error;
      this.cancel(error);
    }
  }
}
