/** Loads that are given functions of time. */
import * as tf from '@tensorflow/tfjs';
import {any, refuseUnknownOptions} from '../lib/checks.js';
import type {ForceTerm, Params} from '../lib/index.js';
import {OptionError} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting, requireTensor} from './coefficient.js';

/** A quantity as a function of time t [], in tfjs operations. */
export type History = (t: tf.Tensor, params: Params) => tf.Tensor;

/** A function of time, or an object with one: a measured `signal` of stiffgrad/training. */
export type Drive = History | {at(t: tf.Tensor): tf.Tensor};

/**
 * A prescribed load f = gain · history(t). History and gain are broadcast to q together: a scalar history
 * with `gain: [0, 0, 1]` loads the last of three coordinates. A support that moves by u(t) and carries a
 * spring k is the load k u(t).
 * @param spec.gain a number or broadcasting to q; default 1
 * @throws OptionError 'bad-drive', 'bad-coefficient' (also if the history does not return a tensor, when traced);
 *   ShapeError 'coefficient-shape' when traced
 */
export function drivenBy(drive: Drive, spec: {readonly gain?: Coefficient} = {}): ForceTerm {
  refuseUnknownOptions(spec, ['gain'], 'drivenBy');
  const history = historyOf(drive);
  const gain = coefficient(spec.gain ?? 1, 'drivenBy: gain');
  return ({q, t, params}) => {
    const load = tf.mul(
      fitting(gain(params), q.shape, 'drivenBy: gain'),
      fitting(requireTensor(history(t, params), 'drivenBy: the history'), q.shape, 'drivenBy: the history'),
    );
    return tf.broadcastTo(load, q.shape);
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

/** The argument of `harmonic`. */
export interface HarmonicSpec {
  /** Default 1. */
  readonly amplitude?: Coefficient;
  /** [cycles / time], hertz in SI. */
  readonly frequency: Coefficient;
  /** [radians]; default 0, a sine. π/2 makes a cosine. */
  readonly phase?: Coefficient;
}

/**
 * amplitude · sin(2π frequency t + phase); each coefficient a number or broadcasting to q.
 * @throws OptionError 'bad-coefficient'
 */
export function harmonic(spec: HarmonicSpec): History {
  refuseUnknownOptions(spec, ['amplitude', 'frequency', 'phase'], 'harmonic');
  const amplitude = coefficient(spec.amplitude ?? 1, 'harmonic: amplitude');
  const frequency = coefficient(spec.frequency, 'harmonic: frequency');
  const phase = coefficient(spec.phase ?? 0, 'harmonic: phase');
  return (t, params) => {
    const angle = tf.add(tf.mul(tf.mul(2 * Math.PI, frequency(params)), t), phase(params));
    return tf.mul(amplitude(params), tf.sin(angle));
  };
}

/** The argument of `ramp`. */
export interface RampSpec {
  /** Value until `start`; default 0. */
  readonly from?: Coefficient;
  /** Value after `end`; default 1. */
  readonly to?: Coefficient;
  /** [time]; default 0. */
  readonly start?: number;
  /** [time], after `start`. */
  readonly end: number;
}

/**
 * Constant, then linear in time, then constant. Its slope jumps at both ends: let them coincide with steps
 * if the order of the scheme matters.
 * @throws OptionError 'bad-ramp' unless start < end; 'bad-coefficient'
 */
export function ramp(spec: RampSpec): History {
  refuseUnknownOptions(spec, {from: any, to: any, start: any, end: any}, 'ramp');
  const {from = 0, to = 1, start = 0, end} = spec;
  if (!Number.isFinite(start) || !Number.isFinite(end) || !(start < end))
    throw new OptionError('bad-ramp', `ramp: start = ${start} must be before end = ${end}.`, {start, end});
  const low = coefficient(from, 'ramp: from');
  const high = coefficient(to, 'ramp: to');
  return (t, params) => {
    const share = tf.clipByValue(tf.div(tf.sub(t, start), end - start), 0, 1);
    return tf.add(tf.mul(low(params), tf.sub(1, share)), tf.mul(high(params), share));
  };
}
