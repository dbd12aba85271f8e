/** The contestants' side of contestant.ts, in TypeScript. */
import {createInterface} from 'node:readline';
import type {Answer, WorkloadName} from '../workloads.js';

export interface Prepared {
  forward(): void;
  gradient(): Answer;
  /** What is timed instead of `gradient` where that is a step of training. */
  step?(): void;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Serves until the input ends. `prepare` returns a sentence where it does not take part. */
export async function serve(prepare: (workload: WorkloadName, n: number) => Prepared | string): Promise<void> {
  let prepared: Prepared | undefined;
  const say = (answer: unknown): void => void process.stdout.write(`${JSON.stringify(answer)}\n`);
  for await (const line of createInterface({input: process.stdin})) {
    const [what, first, second] = line.split(' ');
    if (what === 'quit') break;
    if (what === 'prepare') {
      const begin = performance.now();
      const made = prepare(first as WorkloadName, Number(second));
      if (typeof made === 'string') {
        say({skip: made});
        continue;
      }
      prepared = made;
      const answer = prepared.gradient();
      say({...answer, first: performance.now() - begin, ...prepared.details});
    } else if (what === 'processor' && prepared !== undefined) {
      const begin = process.cpuUsage();
      for (let i = 0; i < Number(first); i++) (prepared.step ?? prepared.gradient)();
      const {user, system} = process.cpuUsage(begin);
      say([(user + system) / 1000 / Number(first)]);
    } else if (prepared !== undefined) {
      const work = what === 'forward' ? prepared.forward : (prepared.step ?? prepared.gradient);
      say(
        Array.from({length: Number(first)}, () => {
          const begin = performance.now();
          work();
          return performance.now() - begin;
        }),
      );
    }
  }
}
