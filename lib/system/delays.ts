/** The equations of a dde: the lengths of its delays, and states of its history and its past. */
import * as tf from '@tensorflow/tfjs';
import {calledWithParams} from '../checks.js';
import {OptionError} from '../errors.js';
import {timeRounding} from './breaking-points.js';
import {constantTensor} from '../trace/trace.js';
import type {Blocks, DelayEquations} from './equations.js';
import type {Bivariant, Params} from './params.js';
import {pastAt} from './past.js';
import {ofShape, returned, scalar} from './returned.js';
import {withSwitches} from './switches.js';

/** The arguments of a history: a time before the start, [], and the parameters. */
export interface HistoryAt<P = Params> {
  readonly t: tf.Tensor;
  readonly params: P;
}

/** The delays of a system as it keeps them. */
export interface Delays<P = Params> {
  readonly lengths: readonly (number | Bivariant<P, tf.Tensor>)[];
  readonly longest: number;
  readonly history?: Bivariant<HistoryAt<P>, tf.Tensor>;
}

/** Where a derivative is asked for, with the delayed states. */
interface Place {
  readonly y: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
  readonly delayed: readonly tf.Tensor[];
}

/** A state of a dde says nothing without its past. @param what it is asked of */
export const pastUnknown = (what: string): OptionError =>
  new OptionError(
    'wrong-system',
    `${what} works on single states, but a state of a dde needs its past: use simulate, `
      + 'or an ode in which delayLine (stiffgrad/models) approximates the delay.',
  );

/**
 * A part of a step looks at the pieces of the past that its middle looks at, though its ends meet theirs up to
 * rounding: a piece is chosen by a time that is moved to the middle by this share. It is more than rounding of times of
 * up to 10⁶ steps, and a kink that is missed by so little of a step counts as its square.
 */
const inwards = 1e-9;

/** Only inside a trace. @param f the derivative, checked */
export function delayEquations(
  {lengths, longest, history}: Delays,
  f: (at: Place) => tf.Tensor,
  params: Params,
): DelayEquations {
  const values = (): tf.Tensor[] => lengths.map((length, i) => lengthTensor(length, i, params));
  const before = (t: tf.Tensor, x: Blocks): tf.Tensor =>
    history === undefined
      ? (x.start ?? x.y)
      : returned('history', () => withSwitches('history', {t, params}, history), {
          code: 'history-shape',
          ...ofShape(x.y.shape, 'y'),
          label: 'dde: history',
          data: {term: 'history', y: x.y.shape},
        });
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
        waiting,
      } = x as {readonly [block: string]: tf.Tensor | undefined} & Blocks;
      const inner = tf.mul(tf.sub(tf.mul(tf.add(from, to), 0.5), t), inwards);
      const delayed = values().map((length, i) => {
        const time = tf.sub(t, length);
        if (past === undefined || pieces === undefined || began === undefined) return before(time, x);
        // The whole part that begins at `from` looks to one side of the start.
        const point = tf.add(began, length);
        const isAhead = tf.less(from, tf.sub(point, tf.mul(tf.abs(point), timeRounding)));
        const isBefore =
          waiting === undefined ? isAhead : tf.logicalOr(isAhead, tf.reshape(tf.slice(waiting, [i], [1]), []));
        const since = tf.maximum(time, began);
        return tf.where(isBefore, before(tf.minimum(time, began), x), pastAt(pieces, past, since, inner, y.shape));
      });
      return {y: f({y, t, params, delayed})};
    },
  };
}

function lengthTensor(length: Delays['lengths'][number], index: number, params: Params): tf.Tensor {
  if (typeof length === 'number') return constantTensor([length], []);
  const label = `dde: delays[${index}]`;
  const expected = {code: 'bad-delay', ...scalar, label: `${label}(params)`, data: {index}};
  return tf.reshape(
    returned(`delays[${index}]`, () => calledWithParams(length, params, label), expected),
    [],
  );
}
