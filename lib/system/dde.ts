/** Delay differential equations y' = f(y(t), y(t − τ₁), …, t; p) with constant delays, and a history before the start. */
import * as tf from '@tensorflow/tfjs';
import {callable, list, positive, refuseUnknownOptions, requireValue, shown} from '../checks.js';
import {OptionError, ShapeError} from '../errors.js';
import {sameShape} from '../graph/node.js';
import {constantTensor, immediate, within} from '../trace/trace.js';
import type {Blocks, DelayEquations} from './equations.js';
import type {DerivativeAt, OdeSystem} from './ode.js';
import type {Lenient, Params, ParamsLike} from './params.js';
import {pastAt} from './past.js';

/** Where the derivative of a delay equation is asked for. */
export type DelayedAt<P = Params> = DerivativeAt<P> & {
  /** y(t − τᵢ) by the order of the delays, each of the shape of y. */
  readonly delayed: readonly tf.Tensor[];
};

/** A length of time, in the system's unit: a number, or a function of params that gives one as a scalar. */
export type Delay<P = Params> = number | ((params: P) => tf.Tensor);

/** Where a history is asked for: a time before the start [], and the parameters. */
export interface HistoryAt<P = Params> {
  readonly t: tf.Tensor;
  readonly params: P;
}

/** What `dde` makes a system of. */
export interface DdeSpec<P = Params> {
  /** f, of the shape of y. */
  readonly derivative: (at: DelayedAt<P>) => tf.Tensor;
  readonly delays: readonly Delay<P>[];
  /** y for times up to the start, of the shape of y. Default: the start itself, at all times before it. */
  readonly history?: (at: HistoryAt<P>) => tf.Tensor;
  /** No delay is longer: so much of the past is kept. Has to be said where a delay is a function of params; default, the longest. */
  readonly longest?: number;
}

/** The delays of a system as it keeps them. */
export interface Delays<P = Params> {
  readonly lengths: readonly (number | Lenient<P, tf.Tensor>)[];
  readonly longest: number;
  readonly history?: Lenient<HistoryAt<P>, tf.Tensor>;
}

/** Made by `dde`. P is what its functions read of the parameters. */
export interface DdeSystem<P = Params> extends OdeSystem<P> {
  readonly delays: Delays<P>;
}

/**
 * y' = f(y(t), y(t − τ₁), …, t; params), with delays τᵢ that are constant during a run and at least as long as its steps. They may be
 * parameters: gradients by them are those of the discrete run, whose breaking points, where derivatives of y jump, move with them.
 * A system of the kind 'ode', integrated in steps of constant length by the one-step schemes for an ode. `initial.y` is y at the start;
 * where it differs from the history there, y jumps. A run with one delay divides steps at a breaking point in them, and n delays at n.
 * @throws OptionError 'bad-dde' where a function is missing, a delay is no positive number, or `longest` is to be said
 */
export function dde<P extends ParamsLike<P> = Params>(spec: DdeSpec<P>): DdeSystem<P> {
  const checks = {derivative: callable, delays: list, history: callable, longest: positive};
  refuseUnknownOptions(spec, checks, 'dde', 'bad-dde');
  requireValue(spec.derivative, callable, 'dde: derivative', 'bad-dde', 'derivative');
  requireValue(spec.delays, list, 'dde: delays', 'bad-dde', 'delays');
  const {derivative, delays, history, longest} = spec;
  if (delays.length === 0)
    throw new OptionError('bad-dde', 'dde: delays is empty: give one at least, or take ode(derivative).');
  delays.forEach((delay: unknown, i) => {
    if (typeof delay !== 'function' && !positive.test(delay))
      throw new OptionError(
        'bad-dde',
        `dde: delays[${i}] must be a positive number, or a function of params that gives one, not ${shown(delay)}.`,
        {index: i},
      );
  });
  const known = delays.filter(delay => typeof delay === 'number');
  if (longest === undefined && known.length < delays.length)
    throw new OptionError(
      'bad-dde',
      'dde: a delay is a function of params, so say how long the delays may become, longest: 10; so much of the past is kept.',
      {option: 'longest'},
    );
  const most = Math.max(...known, longest ?? 0);
  if (longest !== undefined && most > longest)
    throw new OptionError('bad-dde', `dde: longest is ${longest}, and a delay is ${most}.`, {option: 'longest'});
  return {
    kind: 'ode',
    derivative: derivative as OdeSystem<P>['derivative'],
    delays: {lengths: delays, longest: most, history},
  };
}

/** What rounding may make of a sum of times, in units of its own. */
const timeRounding = 8 * Number.EPSILON;

/**
 * A part of a step looks at the pieces of the past that its middle looks at, though its ends meet theirs up to rounding: a piece is
 * chosen by a time that is moved to the middle by this share. It is more than rounding of times of up to 10⁶ steps, and a kink that is
 * missed by so little of a step counts as its square.
 */
const inwards = 1e-9;

/** Only inside a trace. @param f the derivative, checked */
export function delayEquations(
  {lengths, longest, history}: Delays,
  f: (at: DelayedAt) => tf.Tensor,
  params: Params,
): DelayEquations {
  const values = (): tf.Tensor[] => lengths.map((length, i) => lengthTensor(length, i, params));
  const before = (t: tf.Tensor, x: Blocks): tf.Tensor =>
    history === undefined
      ? (x.start ?? x.y)
      : within('history', () => historyTensor(immediate(history({t, params})), x.y));
  return {
    count: lengths.length,
    longest,
    ownHistory: history !== undefined,
    values,
    rate(x, t) {
      const {
        y,
        past,
        pieces,
        began,
        from = t,
        to = t,
      } = x as {readonly [block: string]: tf.Tensor | undefined} & Blocks;
      const inner = tf.mul(tf.sub(tf.mul(tf.add(from, to), 0.5), t), inwards);
      const delayed = values().map(length => {
        const time = tf.sub(t, length);
        if (past === undefined || pieces === undefined || began === undefined) return before(time, x);
        // The whole part that begins at `from` looks to one side of the start.
        const point = tf.add(began, length);
        const isBefore = tf.less(from, tf.sub(point, tf.mul(tf.abs(point), timeRounding)));
        const since = tf.maximum(time, began);
        return tf.where(isBefore, before(tf.minimum(time, began), x), pastAt(pieces, past, since, inner, y.shape));
      });
      return {y: f({y, t, params, delayed})};
    },
  };
}

function lengthTensor(length: Delays['lengths'][number], index: number, params: Params): tf.Tensor {
  if (typeof length === 'number') return constantTensor([length], []);
  const given = within(`delays[${index}]`, () => immediate(length(params))) as unknown;
  if (given instanceof tf.Tensor && given.size === 1) return tf.reshape(given as tf.Tensor, []);
  throw new ShapeError(
    'bad-delay',
    `dde: delays[${index}](params) must give one number as a tensor, not ${given instanceof tf.Tensor ? `one of shape [${(given as tf.Tensor).shape.join(', ')}]` : shown(given)}.`,
    {index},
  );
}

/** @throws ShapeError 'history-shape' */
function historyTensor(result: unknown, y: tf.Tensor): tf.Tensor {
  if (result instanceof tf.Tensor && sameShape((result as tf.Tensor).shape, y.shape)) return result as tf.Tensor;
  throw new ShapeError(
    'history-shape',
    `dde: history returned ${result instanceof tf.Tensor ? `a tensor of shape [${(result as tf.Tensor).shape.join(', ')}]` : shown(result)}, but y has shape [${y.shape.join(', ')}].`,
    {term: 'history', y: y.shape},
  );
}
