/** Loads that are given functions of time. */
import * as tf from '@tensorflow/tfjs';
import {finite, optional, readOptions, type Options} from '../lib/checks.js';
import type {ForceTerm, Params} from '../lib/index.js';
import {OptionError} from '../lib/index.js';
import {fitting, quantity, requireTensor} from './coefficient.js';

/** A quantity as a function of time t [], in tfjs operations. */
export type History = (t: tf.Tensor, params: Params) => tf.Tensor;

/** A function of time, or an object with one: a measured `signal` of stiffgrad/training. */
export type Drive = History | {at(t: tf.Tensor): tf.Tensor};

const drivenOptions = {
  /** A number or broadcasting to q; default 1. */
  gain: optional(quantity(), 1),
};

/**
 * A prescribed load f = gain · history(t). History and gain are broadcast to q together: a scalar history
 * with `gain: [0, 0, 1]` loads the last of three coordinates. A support that moves by u(t) and carries a
 * spring k is the load k u(t).
 * @throws OptionError 'bad-drive', 'bad-coefficient' (also if the history does not return a tensor, when traced);
 *   ShapeError 'coefficient-shape' when traced
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {drivenBy, harmonicDrive} from 'stiffgrad/models';
 *
 * const shaken = mechanics({mass: 1, forces: [drivenBy(harmonicDrive({amplitude: 1, frequency: 2}))]});
 * console.log(simulate(shaken, {q: 0, v: 0}, {dt: 0.01, steps: 10}).status); // → completed
 * ```
 */
export function drivenBy(drive: Drive, spec: Options<typeof drivenOptions> = {}): ForceTerm {
  const history = historyOf(drive);
  const {gain} = readOptions(spec, drivenOptions, 'drivenBy');
  return ({q, t, params}) => {
    const given = requireTensor(history(t, params), 'drivenBy: the history');
    return tf.broadcastTo(tf.mul(gain(params, q.shape), fitting(given, q.shape, 'drivenBy: the history')), q.shape);
  };
}

function historyOf(drive: Drive): History {
  if (typeof drive === 'function') return drive;
  if (typeof drive?.at === 'function') return t => drive.at(t);
  throw new OptionError(
    'bad-drive',
    'drivenBy takes a function of time, t => tensor, or an object with one, {at(t)}, such as a signal.',
  );
}

const harmonicOptions = {
  /** Default 1. */
  amplitude: optional(quantity(), 1),
  /** [cycles / time], hertz in SI. */
  frequency: quantity(),
  /** [radians]; default 0, a sine. π/2 makes a cosine. */
  phase: optional(quantity(), 0),
};

/** The argument of `harmonicDrive`. @interface */
export type HarmonicSpec = Options<typeof harmonicOptions>;

/**
 * amplitude · sin(2π frequency t + phase); each coefficient a number or broadcasting to q.
 * @throws OptionError 'bad-coefficient'
 */
export function harmonicDrive(spec: HarmonicSpec): History {
  const {amplitude, frequency, phase} = readOptions(spec, harmonicOptions, 'harmonicDrive');
  return (t, params) => {
    const angle = tf.add(tf.mul(tf.mul(2 * Math.PI, frequency(params)), t), phase(params));
    return tf.mul(amplitude(params), tf.sin(angle));
  };
}

const rampOptions = {
  /** Value until `start`; default 0. */
  from: optional(quantity(), 0),
  /** Value after `end`; default 1. */
  to: optional(quantity(), 1),
  /** [time]; default 0. */
  start: optional(finite, 0),
  /** [time], after `start`. */
  end: finite,
};

/** The argument of `rampDrive`. @interface */
export type RampSpec = Options<typeof rampOptions>;

/**
 * Constant, then linear in time, then constant. Its slope jumps at both ends: let them coincide with steps
 * if the order of the scheme matters.
 * @throws OptionError 'bad-option' unless start < end, 'bad-coefficient'
 */
export function rampDrive(spec: RampSpec): History {
  const {from, to, start, end} = readOptions(spec, rampOptions, 'rampDrive');
  if (!(start < end))
    throw new OptionError('bad-option', `rampDrive: start = ${start} must be before end = ${end}.`, {start, end});
  return (t, params) => {
    const share = tf.clipByValue(tf.div(tf.sub(t, start), end - start), 0, 1);
    return tf.add(tf.mul(from(params), tf.sub(1, share)), tf.mul(to(params), share));
  };
}
