/**
 * Instruments as functions for `observe`: a gain and an offset, the lag of a filter. A delay
 * is `delayLine`; what a converter's steps do to the noise is `quantized` among the models of noise.
 */
import * as tf from '@tensorflow/tfjs';
import {callable, optional, readOptions, text, typed, type Options} from '../lib/checks.js';
import type {Numeric, Params} from '../lib/index.js';
import {type Bivariant, readNumeric} from '../lib/internal.js';
import type {Command} from './actuators.js';
import {fitting, quantity, requireTensor} from './coefficient.js';
import type {OutputWithStates} from './states.js';
import {oneState, stateOf} from './states.js';

const calibrationOptions = {
  /** The measured quantity, of any shape. */
  reading: callable,
  /** Default 1. */
  gain: optional(quantity(), 1),
  /** In the unit of the output; default 0. */
  offset: optional(quantity(), 0),
};

/** The argument of `calibrated`. @interface */
export type CalibratedSpec<At> = Omit<Options<typeof calibrationOptions>, 'reading'> & {
  /** The measured quantity, of any shape. */
  readonly reading: Bivariant<At, tf.Tensor>;
};

/**
 * gain · reading + offset, each one number or one per number of the reading.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function calibrated<At extends {readonly params: Params}>(spec: CalibratedSpec<At>): (at: At) => tf.Tensor {
  const {gain, offset} = readOptions(spec, calibrationOptions, 'calibrated');
  return at => {
    const read = requireTensor(spec.reading(at), 'calibrated: the reading');
    const scaled = tf.mul(gain(at.params, read.shape, 'the reading'), read);
    return tf.add(scaled, offset(at.params, read.shape, 'the reading'));
  };
}

const lagOptions = {
  /** The signal to filter, of the shape of `before`. */
  input: typed<Command>(callable),
  /** τ [time]; 1/(2π f) for a filter with the corner frequency f. */
  timeConstant: quantity('positive'),
  /**
   * The initial output, equal to a constant input before the start; default 0. It can be identified as 'initial.lag'.
   */
  before: optional(typed<Numeric>(), 0),
  /** Name of the state, which is the output; default 'lag'. */
  name: optional(text, 'lag'),
};

/** The argument of `firstOrderLag`. @interface */
export type FirstOrderLagSpec<Z extends string = 'lag'> = Options<typeof lagOptions> & {readonly name?: Z};

/**
 * The output z of a first-order low-pass: τ z' = input − z.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function firstOrderLag<const Z extends string = 'lag'>(spec: FirstOrderLagSpec<Z>): OutputWithStates<Z> {
  const {input, timeConstant, before, ...read} = readOptions(spec, lagOptions, 'firstOrderLag');
  const name = read.name as Z;
  readNumeric(before, 'firstOrderLag: before');
  return {
    output: at => stateOf(at, name),
    states: oneState(name, before, at => {
      const z = stateOf(at, name);
      const given = requireTensor(input(at), 'firstOrderLag: the input');
      const rest = tf.sub(fitting(given, z.shape, 'firstOrderLag: the input', 'the state'), z);
      return tf.div(rest, timeConstant(at.params, z.shape, 'the state'));
    }),
  };
}
