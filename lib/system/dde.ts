/**
 * Delay differential equations y' = f(y(t), y(t − τ₁), …, t; p) with constant delays, and a history before the start.
 */
import type * as tf from '@tensorflow/tfjs';
import {callable, list, optional, positive, readOptions, shown} from '../checks.js';
import {OptionError} from '../errors.js';
import type {Delays, HistoryAt} from './delays.js';
import type {DerivativeAt, OdeSystem} from './ode.js';
import type {Params, ParamsLike} from './params.js';

/** The arguments of a delay equation's derivative. */
export type DelayedAt<P = Params> = DerivativeAt<P> & {
  /** y(t − τᵢ) by the order of the delays, each of the shape of y. */
  readonly delayed: readonly tf.Tensor[];
};

/** A length of time, in the system's unit: a number, or a function of params that returns a scalar. */
export type Delay<P = Params> = number | ((params: P) => tf.Tensor);

/** The argument of `dde`. */
export interface DdeSpec<P = Params> {
  /** f, of the shape of y. */
  readonly derivative: (at: DelayedAt<P>) => tf.Tensor;
  readonly delays: readonly Delay<P>[];
  /** y for times up to the start, of the shape of y. Default: the initial state, at all earlier times. */
  readonly history?: (at: HistoryAt<P>) => tf.Tensor;
  /**
   * An upper bound of the delays: this much of the past is kept. Required if a delay is a function of params; default:
   * the longest delay.
   */
  readonly maxDelay?: number;
}

/** Made by `dde`. P are the parameters that its functions read. */
export interface DdeSystem<P = Params> extends OdeSystem<P> {
  readonly delays: Delays<P>;
}

/**
 * y' = f(y(t), y(t − τ₁), …, t; params), with delays τᵢ that are constant during a run and at least as long as its
 * steps. They may be parameters: gradients with respect to them are those of the discrete run, whose breaking points,
 * where derivatives of y jump, move with them. A system of the kind 'ode', integrated in steps of constant length by
 * the one-step schemes for an ode. `initial.y` is y at the start; if it differs from the history there, y jumps. A run
 * divides each step at the breaking points in it, with n delays at up to n of them.
 * @throws OptionError 'bad-dde' if a function is missing, a delay is not a positive number, or `maxDelay` is required
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {dde, rk4, simulate} from 'stiffgrad';
 *
 * const delayed = dde({
 *   derivative: ({delayed: [past]}) => tf.neg(past),
 *   delays: [1],
 *   history: () => tf.scalar(1),
 * });
 * console.log(simulate(delayed, {y: 1}, {scheme: rk4(), dt: 0.1, steps: 10}).values('y')[10]); // → 0.000
 * ```
 */
export function dde<P extends ParamsLike<P> = Params>(spec: DdeSpec<P>): DdeSystem<P> {
  const schema = {derivative: callable, delays: list, history: optional(callable), maxDelay: optional(positive)};
  readOptions(spec, schema, 'dde', 'bad-dde');
  const {derivative, delays, history, maxDelay} = spec;
  if (delays.length === 0)
    throw new OptionError('bad-dde', 'dde: delays is empty: give at least one, or use ode(derivative).');
  delays.forEach((delay: unknown, i) => {
    if (typeof delay !== 'function' && !positive.test(delay))
      throw new OptionError(
        'bad-dde',
        `dde: delays[${i}] must be a positive number, or a function of params that gives one, not ${shown(delay)}.`,
        {index: i},
      );
  });
  const known = delays.filter(delay => typeof delay === 'number');
  if (maxDelay === undefined && known.length < delays.length)
    throw new OptionError(
      'bad-dde',
      'dde: a delay is a function of params, so give an upper bound of the delays, for example maxDelay: 10; '
        + 'that much of the past is kept.',
      {option: 'maxDelay'},
    );
  const longest = Math.max(...known, maxDelay ?? 0);
  if (maxDelay !== undefined && longest > maxDelay)
    throw new OptionError('bad-dde', `dde: maxDelay is ${maxDelay}, and a delay is ${longest}.`, {option: 'maxDelay'});
  return {
    kind: 'ode',
    derivative,
    delays: {lengths: delays, longest, history},
  };
}
