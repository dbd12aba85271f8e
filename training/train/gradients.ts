/** One step's loss and gradient on tfjs's tape, checked and clipped. */
import * as tf from '@tensorflow/tfjs';
import {positive, refuseUnknownOptions} from '../../lib/checks.js';
import {OptionError, ShapeError} from '../../lib/errors.js';
import {numbersOf} from '../../lib/read.js';

/** How large gradients may become. */
export interface Clip {
  /** Greatest Euclidean norm of all gradients together (Pascanu, Mikolov & Bengio, ICML 2013). */
  readonly norm?: number;
  /** Greatest size of each number. */
  readonly value?: number;
}

export interface LossAndGradients {
  readonly loss: number;
  /** Before clipping. */
  readonly norm: number;
  /** By variable, in their order; undefined where the loss does not depend on one. The caller disposes. */
  readonly gradients: readonly (tf.Tensor | undefined)[];
}

/** @throws ShapeError where the loss is not one number; OptionError where it depends on none of the variables */
export function lossAndGradients(loss: () => tf.Scalar, variables: readonly tf.Variable[]): LossAndGradients {
  const {value, grads} = tapeGradients(() => requireScalar(loss()), variables);
  const gradients = variables.map(({name}) => (grads[name] as tf.Tensor | null) ?? undefined);
  const [number] = numbersOf(value);
  value.dispose();
  return {loss: number, norm: Math.sqrt(gradients.reduce((sum, gradient) => sum + squares(gradient), 0)), gradients};
}

/**
 * `tf.variableGrads`, without what tfjs leaves behind where the function throws: what its tape has saved until then is
 * freed by a backward sweep alone. So the sweep is made, from another scalar, and the error thrown after it. And tfjs's
 * sentence for a loss without variables speaks of functions that nobody wrote here.
 */
function tapeGradients(
  loss: () => tf.Scalar,
  variables: readonly tf.Variable[],
): {value: tf.Scalar; grads: tf.NamedTensorMap} {
  let failure: {readonly error: unknown} | undefined;
  const guarded = (): tf.Scalar => {
    try {
      return loss();
    } catch (error) {
      failure = {error};
      return tf.sum(variables[0]);
    }
  };
  return tf.tidy(() => {
    const result = connected(() => tf.variableGrads(guarded, [...variables]));
    if (failure !== undefined) throw failure.error;
    return result;
  });
}

/** @throws OptionError 'no-gradient' */
function connected<Result>(gradients: () => Result): Result {
  try {
    return gradients();
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('Cannot find a connection'))) throw error;
    throw new OptionError(
      'no-gradient',
      'train: the loss depends on none of the variables. Inside the loss, use the listed tf.Variables themselves, by '
        + 'tensor operations: a model made from their values (dataSync, arraySync, a network loaded again) does not '
        + 'change with them.',
      {option: 'variables'},
    );
  }
}

function requireScalar(loss: tf.Scalar): tf.Scalar {
  if (isPromise(loss)) {
    loss.then(disposeTensor, () => undefined); // nobody else waits for it
    throw new ShapeError(
      'loss-shape',
      "train: the loss is asynchronous: it returned a promise, and tfjs's tape ends before that. Return the scalar "
        + 'tensor itself; asynchronous work belongs in data: {length, get(i)}, whose get may be async.',
    );
  }
  if (!(loss instanceof tf.Tensor))
    throw new ShapeError('loss-shape', `train: the loss must return a scalar tensor, not ${typeof loss}.`);
  if (loss.size === 1) return tf.reshape(loss, []);
  const shape: readonly number[] = loss.shape;
  throw new ShapeError(
    'loss-shape',
    `train: the loss has shape [${shape.join(', ')}]: return one number, its mean or sum.`,
  );
}

const isPromise = (loss: unknown): loss is Promise<unknown> =>
  typeof (loss as {then?: unknown} | null | undefined)?.then === 'function';

function disposeTensor(value: unknown): void {
  if (value instanceof tf.Tensor && !value.isDisposed) value.dispose();
}

/** In double precision, where the squares of float32 do not overflow. */
function squares(gradient: tf.Tensor | undefined): number {
  let sum = 0;
  for (const value of gradient?.dataSync() ?? []) sum += value * value;
  return sum;
}

/** The gradients as the optimizer is to see them; those given are disposed. */
export function clipped({gradients, norm}: LossAndGradients, {norm: most, value}: Clip): (tf.Tensor | undefined)[] {
  const factor = most !== undefined && norm > most ? most / norm : 1;
  return gradients.map(gradient => {
    if (gradient === undefined || (factor === 1 && value === undefined)) return gradient;
    const short = tf.tidy(() => {
      const shortened = factor === 1 ? gradient : tf.mul(gradient, factor);
      return value === undefined ? shortened : tf.clipByValue(shortened, -value, value);
    });
    gradient.dispose();
    return short;
  });
}

export function checkClip(clip: Clip): void {
  refuseUnknownOptions(clip, {norm: positive, value: positive}, 'train: clip');
}
