/** Learning rates as functions of the step: pure, so that a run that is resumed goes on where it was. */
import {OptionError} from '../../lib/errors.js';
import {any, boolean, nonNegative, positive, refuseUnknownOptions} from '../../lib/checks.js';

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

/** rate · factor^(step / every): by `factor` every `every` steps, continuously or, with `stairs`, at once. */
export function exponentialDecay(spec: {
  readonly rate: number;
  readonly factor: number;
  readonly every: number;
  readonly stairs?: boolean;
}): Schedule {
  refuseUnknownOptions(spec, {rate: any, factor: any, every: any, stairs: boolean}, 'exponentialDecay');
  const {rate, factor, every, stairs = false} = spec;
  requirePositive('exponentialDecay', {rate, factor, every});
  return ({step}) => rate * factor ** (stairs ? Math.floor(step / every) : step / every);
}

/**
 * Half a cosine from `rate` down to `least` at the end of the run (Loshchilov & Hutter, SGDR, ICLR 2017), after
 * `warmup` steps in which the rate rises linearly from 0 (Goyal et al., Accurate, Large Minibatch SGD, 2017).
 */
export function cosineDecay(spec: {
  readonly rate: number;
  readonly least?: number;
  readonly warmup?: number;
}): Schedule {
  refuseUnknownOptions(spec, {rate: any, least: nonNegative, warmup: nonNegative}, 'cosineDecay');
  const {rate, least = 0, warmup = 0} = spec;
  requirePositive('cosineDecay', {rate});
  return ({step, steps}) => {
    if (step < warmup) return (rate * (step + 1)) / warmup;
    const share = Math.min(1, (step - warmup) / Math.max(1, steps - warmup));
    return least + ((rate - least) * (1 + Math.cos(Math.PI * share))) / 2;
  };
}

function requirePositive(owner: string, numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (!positive.test(value))
      throw new OptionError('bad-schedule', `${owner}: ${name} is ${value}, but must be positive.`, {name, value});
  }
}
