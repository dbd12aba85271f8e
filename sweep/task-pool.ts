/**
 * Processes that compute cases, one at a time each, and are started anew when they end. A task may throw, hang, exhaust
 * memory or end its process: its case is told why, and the others go on.
 */
import {fork, type ChildProcess} from 'node:child_process';
import {availableParallelism, totalmem} from 'node:os';
import type {Readable} from 'node:stream';
import {fileURLToPath} from 'node:url';
import {parse} from './canonical.js';
import type {Answer, Order} from './messages.js';
import type {Cause, Failure} from './store.js';
import type {Job} from './task.js';

export type Outcome =
  | {readonly kind: 'done'; readonly result: string; readonly seconds: number}
  | {readonly kind: 'failed'; readonly cause: Cause; readonly error: Failure['error']}
  /** The signal aborted the run: no case's fault. */
  | {readonly kind: 'aborted'};

/** Options of one attempt of a case. */
export interface AttemptOptions {
  /** Seconds; default none. */
  readonly timeout?: number;
  progress?(value: unknown): void;
}

export interface PoolOptions {
  readonly workers?: number;
  /** Bytes of one process; default four fifths of the machine's over all of them. */
  readonly memory?: number;
  readonly signal?: AbortSignal;
}

/** Seconds that a task has to end by its signal before its process is killed. */
const grace = 1;
/** Seconds in which a module must be loaded: far more than any takes, so that one that hangs is found. */
const loading = 120;

/** Milliseconds, 25 days; setTimeout takes more for none. */
export const longestTimer = 2 ** 31 - 1;

const described: Readonly<Record<Exclude<Cause, 'thrown' | 'refused'>, string>> = {
  timeout: 'The task exceeded its time limit and was killed.',
  memory: 'The task exceeded its memory limit, and its process was killed.',
  exited: 'The task ended its process.',
  lost: 'The process was killed from outside while the task ran.',
};

class TaskProcess {
  readonly child: ChildProcess;
  readonly #loaded = new Set<string>();
  #note = '';
  #answer: ((answer: Answer) => void) | undefined;
  #ended: ((code: number | null, signal: NodeJS.Signals | null) => void) | undefined;
  gone = false;

  constructor(memory: number) {
    const source = import.meta.url.endsWith('.ts');
    const file = source ? new URL('./task-process.ts', import.meta.url) : new URL('./task-process.js', import.meta.url);
    this.child = fork(fileURLToPath(file), {
      // The task prints to standard error: standard output is the command's.
      stdio: ['ignore', 2, 2, 'ipc', 'pipe'],
      // The heap may take what the process may; the watching thread sees to the whole.
      execArgv: [
        ...process.execArgv.filter(option => !/^(-e|-p|-pe|--eval|--print|--input-type)\b/.test(option)),
        `--max-old-space-size=${Math.ceil(memory / 2 ** 20)}`,
      ],
      env: {...process.env, STIFFGRAD_TASK_MEMORY: String(memory)},
    });
    const pipe = this.child.stdio[4] as Readable;
    pipe.on('data', (text: Buffer) => (this.#note += text.toString()));
    this.child.on('message', (answer: Answer) => this.#answer?.(answer));
    this.child.on('error', () => {}); // 'close' follows, or a message could not be sent to one that has ended
    this.child.on('exit', () => (this.gone = true));
    this.child.on('close', (code, signal) => this.#ended?.(code, signal));
    this.hold(false);
  }

  /** While it is held, the program does not end. */
  hold(held: boolean): void {
    for (const one of [
      this.child,
      this.child.channel,
      this.child.stdio[4] as unknown as {ref?(): void; unref?(): void},
    ]) {
      if (held) one?.ref?.();
      else one?.unref?.();
    }
  }

  send(order: Order): void {
    if (this.child.connected) this.child.send(order, () => {});
  }

  run(job: Job, {progress, timeout}: AttemptOptions, signal?: AbortSignal): Promise<Outcome> {
    return new Promise(resolve => {
      let killedFor: 'timeout' | 'aborted' | undefined;
      const timers: NodeJS.Timeout[] = [];
      const stopFor = (reason: 'timeout' | 'aborted'): void => {
        killedFor ??= reason;
        this.send({kind: 'abort'});
        timers.push(setTimeout(() => this.child.kill('SIGKILL'), 1000 * grace));
      };
      const onAbort = (): void => stopFor('aborted');
      const settle = (outcome: Outcome): void => {
        timers.forEach(clearTimeout);
        signal?.removeEventListener('abort', onAbort);
        this.#answer = this.#ended = undefined;
        this.hold(false);
        // A result after the signal does not count: another time the task might not come so far.
        resolve(killedFor === 'timeout' ? failed('timeout') : killedFor === 'aborted' ? {kind: 'aborted'} : outcome);
      };
      const startClock = (): void => {
        if (timeout !== undefined)
          timers.push(setTimeout(() => stopFor('timeout'), Math.min(1000 * timeout, longestTimer)));
      };
      this.#ended = (code, signal) => settle(failed(this.#causeOf(code, signal), code ?? signal));
      this.#answer = answer => {
        switch (answer.kind) {
          case 'loaded':
            if (this.#loaded.has(job.task.module)) return;
            this.#loaded.add(job.task.module);
            timers.splice(0).forEach(clearTimeout);
            return startClock();
          case 'progress':
            return progress?.(parse(answer.value));
          case 'done':
            return settle(answer);
          case 'refused':
            return settle({
              kind: 'failed',
              cause: 'refused',
              error: {
                name: 'TaskProcessError',
                message:
                  `${job.task.module} and its files have the hash ${answer.hash} here, `
                  + `but ${job.task.hash} where the sweep was started: every process needs the same files, `
                  + 'and they must not change while a sweep runs.',
              },
            });
          case 'failed':
            return settle({kind: 'failed', cause: 'thrown', error: answer.error});
        }
      };
      if (signal?.aborted === true) return settle({kind: 'aborted'});
      signal?.addEventListener('abort', onAbort);
      if (this.#loaded.has(job.task.module)) startClock();
      else timers.push(setTimeout(() => stopFor('timeout'), 1000 * loading));
      this.hold(true);
      const {case: content, name, seed, task} = job;
      this.send({
        kind: 'compute',
        module: task.module,
        export: task.export,
        name,
        case: content,
        seed,
        hash: task.hash,
      });
    });
  }

  #causeOf(code: number | null, signal: string | null): 'memory' | 'exited' | 'lost' {
    // V8 aborts when its heap is full.
    if (this.#note.includes('memory') || signal === 'SIGABRT' || code === 134) return 'memory';
    return code === null ? 'lost' : 'exited';
  }
}

function failed(cause: Exclude<Cause, 'thrown' | 'refused'>, how?: number | string | null): Outcome {
  const message =
    how == null ? described[cause] : `${described[cause]} (${typeof how === 'number' ? `exit code ${how}` : how})`;
  return {kind: 'failed', cause, error: {name: 'TaskProcessError', message}};
}

/** A number of processes; cases wait for the next that is free. */
export class TaskPool {
  readonly #options: PoolOptions;
  readonly #memory: number;
  readonly #idle: TaskProcess[] = [];
  readonly #all = new Set<TaskProcess>();
  readonly #waiting: (() => void)[] = [];
  readonly workers: number;
  #busy = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.workers = options.workers ?? availableParallelism();
    // In a container the machine is what the container may have; 0 and huge numbers mean that nothing limits it.
    const constrained = process.constrainedMemory?.() ?? 0;
    const machine = constrained > 0 && constrained < totalmem() ? constrained : totalmem();
    this.#memory = options.memory ?? (0.8 * machine) / this.workers;
  }

  /** The processes' numbers, as the operating system has them. */
  get pids(): number[] {
    return [...this.#all].flatMap(({child: {pid}, gone}) => (pid === undefined || gone ? [] : [pid]));
  }

  async run(job: Job, options: AttemptOptions = {}): Promise<Outcome> {
    if (this.#busy >= this.workers) await new Promise<void>(resolve => this.#waiting.push(resolve));
    else this.#busy++;
    try {
      if (this.#options.signal?.aborted === true) return {kind: 'aborted'};
      const one = this.#free();
      const outcome = await one.run(job, options, this.#options.signal);
      if (one.gone || !one.child.connected) this.#all.delete(one);
      else this.#idle.push(one);
      return outcome;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy--;
      else next();
    }
  }

  #free(): TaskProcess {
    for (let one = this.#idle.pop(); one !== undefined; one = this.#idle.pop()) {
      if (!one.gone && one.child.connected) return one;
      this.#all.delete(one);
    }
    const made = new TaskProcess(this.#memory);
    this.#all.add(made);
    return made;
  }

  /** Ends all processes. */
  end(): void {
    for (const {child} of this.#all) child.kill('SIGKILL');
    this.#all.clear();
    this.#idle.length = 0;
  }
}
