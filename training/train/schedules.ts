/** Learning rates as pure functions of the step, so that a resumed run continues with the rates that it had. */
import {boolean, nonNegative, optional, positive, readOptions, type Options} from '../../lib/checks.js';

/** The argument of a schedule. */
export interface ScheduleAt {
  /** From 0. */
  readonly step: number;
  /** Number of steps of the whole run. */
  readonly steps: number;
  readonly epoch: number;
}

/** The learning rate of a step. */
export type Schedule = (at: ScheduleAt) => number;

const exponentialOptions = {rate: positive, factor: positive, every: positive, stairs: optional(boolean, false)};

/** rate · factor^(step / every): by `factor` every `every` steps, continuously or, with `stairs`, at once. */
export function exponential(spec: Options<typeof exponentialOptions>): Schedule {
  const {rate, factor, every, stairs} = readOptions(spec, exponentialOptions, 'schedules.exponential');
  return ({step}) => rate * factor ** (stairs ? Math.floor(step / every) : step / every);
}

const cosineOptions = {rate: positive, least: optional(nonNegative, 0), warmup: optional(nonNegative, 0)};

/**
 * Half a cosine from `rate` down to `least` at the end of the run (Loshchilov & Hutter, SGDR, ICLR 2017), after
 * `warmup` steps in which the rate rises linearly from 0 (Goyal et al., Accurate, Large Minibatch SGD, 2017).
 * @example
 * ```ts
 * import {schedules} from 'stiffgrad/training';
 *
 * const rate = schedules.cosine({rate: 0.1, warmup: 10});
 * console.log(rate({step: 4, epoch: 0, steps: 100})); // → 0.05
 * ```
 */
export function cosine(spec: Options<typeof cosineOptions>): Schedule {
  const {rate, least, warmup} = readOptions(spec, cosineOptions, 'schedules.cosine');
  return ({step, steps}) => {
    if (step < warmup) return (rate * (step + 1)) / warmup;
    const share = Math.min(1, (step - warmup) / Math.max(1, steps - warmup));
    return least + ((rate - least) * (1 + Math.cos(Math.PI * share))) / 2;
  };
}
