/**
 * Optimizers as update rules: from values, their gradient and what the optimizer remembers to the next ones, written as
 * tensor functions of flat vectors, so that a training step compiles them (training-step.ts).
 */
import * as tf from '@tensorflow/tfjs';
import {boolean, nonNegative, optional, positive, readOptions, type Options} from '../../lib/checks.js';
import {OptionError} from '../../lib/errors.js';

/** Vectors by name, all of one length. */
export type RuleState = Readonly<Record<string, tf.Tensor>>;

/** A first-order optimizer. */
export interface UpdateRule {
  readonly name: string;
  /** Learning rate, unless a schedule defines it. */
  readonly rate: number;
  /** The optimizer's options, except the rate. */
  readonly hyperparameters: {readonly [name: string]: number | boolean};
  /** Given options that end a search of `identify`: `trainingStep`, of which each call is one step, refuses them. */
  readonly searchOptions?: readonly string[];
  /** Names of its state vectors, as long as the values and initially zero. */
  readonly state: readonly string[];
  /** Numbers that depend on the number of updates, including this one. */
  readonly numbers: (count: number) => {readonly [name: string]: number};
  /** One update. @param at vectors, and scalars `rate` and `numbers` */
  readonly update: (at: {
    readonly value: tf.Tensor;
    readonly gradient: tf.Tensor;
    readonly rate: tf.Tensor;
    readonly numbers: RuleState;
    readonly state: RuleState;
  }) => {readonly value: tf.Tensor; readonly state: RuleState};
}

const adamWOptions = {
  /** Default 1e-3, that of the paper. */
  rate: optional(positive, 1e-3),
  beta1: optional(nonNegative, 0.9),
  beta2: optional(nonNegative, 0.999),
  epsilon: optional(positive, 1e-8),
  /** Decay λ: each update subtracts rate · λ times the value. Default 0.01, as in PyTorch and optax's examples. */
  decay: optional(nonNegative, 0.01),
};

/** Options of `adamW`. @interface */
export type AdamWOptions = Options<typeof adamWOptions>;

const sgdOptions = {
  /** Default 0.01. */
  rate: optional(positive, 0.01),
  /** Fraction of the last update that is kept (Polyak 1964); default 0. */
  momentum: optional(nonNegative, 0),
  /**
   * Evaluates the gradient after the momentum's update (Nesterov 1983, in the form of Sutskever et al.); needs a
   * momentum; default false.
   */
  nesterov: optional(boolean, false),
};

/** Options of `sgd`. @interface */
export type SgdOptions = Options<typeof sgdOptions>;

/** Adam with decoupled weight decay, for `trainingStep` (Loshchilov & Hutter, ICLR 2019, algorithm 2). */
export function adamW(options: AdamWOptions = {}): UpdateRule {
  return adamRule({name: 'adamW', ...readOptions(options, adamWOptions, 'adamW')});
}

/** Gradient descent with momentum, for `trainingStep`. */
export function sgd(options: SgdOptions = {}): UpdateRule {
  const {rate, momentum, nesterov} = readOptions(options, sgdOptions, 'sgd');
  if (!(momentum < 1))
    throw new OptionError('bad-option', `sgd: momentum is ${momentum}, but must be below 1.`, {option: 'momentum'});
  if (nesterov && momentum === 0)
    throw new OptionError(
      'bad-option',
      'sgd: nesterov looks ahead by the momentum, and momentum is 0: give one, for example momentum: 0.9, or leave '
        + 'nesterov out.',
      {option: 'nesterov'},
    );
  return {
    name: 'sgd',
    rate,
    hyperparameters: {momentum, nesterov},
    state: momentum > 0 ? ['velocity'] : [],
    numbers: () => ({}),
    update({value, gradient, rate: step, state}): {value: tf.Tensor; state: RuleState} {
      if (momentum === 0) return {value: tf.sub(value, tf.mul(step, gradient)), state: {}};
      const velocity = tf.add(tf.mul(state.velocity, momentum), gradient);
      const move = nesterov ? tf.add(gradient, tf.mul(velocity, momentum)) : velocity;
      return {value: tf.sub(value, tf.mul(step, move)), state: {velocity}};
    },
  };
}

/** Adam (Kingma & Ba, ICLR 2015, algorithm 1), with a decay of the values beside it or none. */
export function adamRule(settings: {
  readonly name: string;
  readonly rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly decay: number;
}): UpdateRule {
  const {name, rate, beta1, beta2, epsilon, decay} = settings;
  for (const [option, value] of Object.entries({beta1, beta2}))
    if (!(value < 1))
      throw new OptionError('bad-option', `${name}: ${option} is ${value}, but must be below 1.`, {option, value});
  return {
    name,
    rate,
    hyperparameters: {beta1, beta2, epsilon, decay},
    state: ['mean', 'square'],
    numbers: count => ({meanShare: 1 - beta1 ** count, squareShare: 1 - beta2 ** count}),
    update({value, gradient, rate: step, numbers, state}) {
      const mean = tf.add(tf.mul(state.mean, beta1), tf.mul(gradient, 1 - beta1));
      const square = tf.add(tf.mul(state.square, beta2), tf.mul(tf.square(gradient), 1 - beta2));
      const move = tf.div(
        tf.mul(mean, tf.div(step, numbers.meanShare)),
        tf.add(tf.sqrt(tf.div(square, numbers.squareShare)), epsilon),
      );
      const kept = decay === 0 ? value : tf.mul(value, tf.sub(1, tf.mul(step, decay)));
      return {value: tf.sub(kept, move), state: {mean, square}};
    },
  };
}

export const isUpdateRule = (optimizer: unknown): optimizer is UpdateRule =>
  typeof (optimizer as Partial<UpdateRule> | null | undefined)?.update === 'function';
