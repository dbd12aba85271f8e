/**
 * A contestant is a process of its own that speaks lines: `prepare chain 32` is answered by what it finds
 * ({loss, gradientNorm, first: milliseconds to it}) or {skip: why}; `forward 5` and `gradient 5` by the
 * milliseconds of five runs; `processor 5` by [what one of five gradients takes of the processors' time, all threads together]. So all peers are warm at once and can be timed in turns.
 */
import type {ChildProcessWithoutNullStreams} from 'node:child_process';
import {spawn} from 'node:child_process';
import {createInterface} from 'node:readline';
import type {Answer, WorkloadName} from './workloads.js';

export interface Entry {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Which sizes of which workloads it is asked for; more would take minutes. */
  readonly enters: (workload: WorkloadName, n: number) => boolean;
}

export type Preparation =
  (Answer & {readonly first: number; readonly [detail: string]: unknown}) | {readonly skip: string};

export class Contestant {
  private readonly process: ChildProcessWithoutNullStreams;
  private readonly answers: AsyncIterator<string>;
  private complaint = '';

  constructor(readonly entry: Entry) {
    this.process = spawn(entry.command, entry.args, {env: {...process.env, ...entry.env}});
    this.process.stdin.on('error', () => undefined);
    this.process.on('error', error => (this.complaint += error.message));
    this.process.stderr.on('data', (data: Buffer) => (this.complaint = (this.complaint + String(data)).slice(-4000)));
    this.answers = createInterface({input: this.process.stdout})[Symbol.asyncIterator]();
  }

  async prepare(workload: WorkloadName, n: number): Promise<Preparation> {
    const answer = await this.ask(`prepare ${workload} ${n}`);
    return answer === undefined ? {skip: this.lastWords()} : (JSON.parse(answer) as Preparation);
  }

  async time(what: 'forward' | 'gradient' | 'processor', repeats: number): Promise<number[]> {
    const answer = await this.ask(`${what} ${repeats}`);
    if (answer === undefined) throw new Error(`${this.entry.name}: ${this.lastWords()}`);
    return JSON.parse(answer) as number[];
  }

  end(): void {
    this.process.stdin.end('quit\n');
    this.process.kill();
  }

  /** Answers are the lines that look like JSON; a library may say other things. */
  private async ask(line: string): Promise<string | undefined> {
    if (this.process.exitCode !== null) return undefined;
    this.process.stdin.write(`${line}\n`);
    for (;;) {
      const {value, done} = (await this.answers.next()) as IteratorResult<string, undefined>;
      if (done === true || value === undefined) return undefined;
      if (/^[[{]/.test(value)) return value;
    }
  }

  /** Of a process that has ended: the last line that it wrote as an error, without the places in it. */
  private lastWords(): string {
    const line =
      this.complaint
        .trim()
        .split('\n')
        .filter(text => text.trim() !== '')
        .at(-1) ?? 'it ended without a word';
    return line.replace(/(\/[\w.+@-]+){2,}/g, '…');
  }
}
