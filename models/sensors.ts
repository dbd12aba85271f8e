/**
 * What an instrument does to what it measures, as functions for `observe`: a gain and an offset, the lag of a filter. A
 * delay is `delayLine`; what a converter's steps do to the noise is `quantized` among the models of noise.
 */
import * as tf from '@tensorflow/tfjs';
import {any, callable, refuseUnknownOptions, text} from '../lib/checks.js';
import type {Lenient, Numeric, Params} from '../lib/index.js';
import {readNumeric} from '../lib/index.js';
import type {Command} from './actuators.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting, requireTensor} from './coefficient.js';
import type {OutputWithStates} from './states.js';
import {oneState, stateOf} from './states.js';

/** The argument of `calibrated`. */
export interface CalibratedSpec<At> {
  /** The measured quantity, of any shape. */
  readonly reading: Lenient<At, tf.Tensor>;
  /** Default 1. */
  readonly gain?: Coefficient;
  /** In the unit of the output; default 0. */
  readonly offset?: Coefficient;
}

/**
 * gain · reading + offset, each one number or one per number of the reading.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function calibrated<At extends {readonly params: Params}>(spec: CalibratedSpec<At>): (at: At) => tf.Tensor {
  refuseUnknownOptions(spec, {reading: callable, gain: any, offset: any}, 'calibrated');
  const gain = coefficient(spec.gain ?? 1, 'calibrated: gain');
  const offset = coefficient(spec.offset ?? 0, 'calibrated: offset');
  return at => {
    const read = requireTensor(spec.reading(at), 'calibrated: the reading');
    const fit = (value: tf.Tensor, what: string): tf.Tensor =>
      fitting(value, read.shape, `calibrated: ${what}`, 'the reading');
    return tf.add(tf.mul(fit(gain(at.params), 'gain'), read), fit(offset(at.params), 'offset'));
  };
}

/** The argument of `firstOrderLag`. */
export interface FirstOrderLagSpec<Z extends string = 'lag'> {
  /** The signal to filter, of the shape of `before`. */
  readonly input: Command;
  /** τ [time]; 1/(2π f) for a filter with the corner frequency f. */
  readonly timeConstant: Coefficient;
  /**
   * The initial output, equal to a constant input before the start; default 0. It can be identified as 'initial.lag'.
   */
  readonly before?: Numeric;
  /** Name of the state, which is the output; default 'lag'. */
  readonly name?: Z;
}

/**
 * The output z of a first-order low-pass: τ z' = input − z.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function firstOrderLag<const Z extends string = 'lag'>(spec: FirstOrderLagSpec<Z>): OutputWithStates<Z> {
  refuseUnknownOptions(spec, {input: callable, timeConstant: any, before: any, name: text}, 'firstOrderLag');
  const {input, before = 0, name = 'lag' as Z} = spec;
  readNumeric(before, 'firstOrderLag: before');
  const time = coefficient(spec.timeConstant, 'firstOrderLag: timeConstant', 'positive');
  return {
    output: at => stateOf(at, name),
    states: oneState(name, before, at => {
      const z = stateOf(at, name);
      const fit = (value: tf.Tensor, what: string): tf.Tensor =>
        fitting(value, z.shape, `firstOrderLag: ${what}`, 'the state');
      const given = fit(requireTensor(input(at), 'firstOrderLag: the input'), 'the input');
      return tf.div(tf.sub(given, z), fit(time(at.params), 'timeConstant'));
    }),
  };
}
