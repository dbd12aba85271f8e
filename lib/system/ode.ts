/** First-order systems y' = f(y, t; p): neural ODEs, stiff chemistry. */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {immediate, within} from '../trace/trace.js';
import type {Calculus, Equations, NoiseKind} from './equations.js';
import type {Lenient, Params, ParamsLike} from './params.js';

/** Where a derivative is asked for: the state, the time [], and the parameters. */
export type DerivativeAt<P = Params> = {y: tf.Tensor; t: tf.Tensor; params: P};
/** y' of the shape of y, in ordinary tfjs operations on one system (no batch axis). */
export type Derivative<P = Params> = (at: DerivativeAt<P>) => tf.Tensor;

/** Noise as a system keeps it. */
export interface Noise<P = Params> {
  readonly kind: NoiseKind;
  /** Undefined of additive noise, where nothing was said. */
  readonly calculus: Calculus | undefined;
  readonly diffusion: Lenient<DerivativeAt<P>, tf.Tensor>;
  readonly seed: number | Lenient<P, tf.Tensor>;
}

/** Made by `ode`. P is what its derivative reads of the parameters. */
export interface OdeSystem<P = Params> {
  readonly kind: 'ode';
  readonly derivative: Lenient<DerivativeAt<P>, tf.Tensor>;
  /** Of an `sde`. */
  readonly noise?: Noise<P>;
}

/**
 * A first-order system y' = f(y, t; params). Its parameters are named by `ode<{k: tf.Tensor}>(...)`, or where the
 * derivative takes them, `({y, params}: DerivativeAt<{k: tf.Tensor}>) => ...`.
 * @throws OptionError where the derivative is not a function
 */
export function ode<P extends ParamsLike<P> = Params>(derivative: Derivative<P>): OdeSystem<P> {
  if (typeof derivative !== 'function')
    throw new OptionError(
      'bad-derivative',
      'ode(derivative) takes a function of {y, t, params} giving a tensor of the shape of y.',
    );
  return {kind: 'ode', derivative};
}

function notMechanical(): never {
  throw new OptionError('wrong-system', 'This scheme is for mechanics({...}): an ode has no force or mass.');
}

export function odeEquations(system: OdeSystem, params: Params): Equations {
  return {
    kind: 'ode',
    force: notMechanical,
    mass: notMechanical,
    massAt: notMechanical,
    acceleration: notMechanical,
    general: false,
    positionRate: notMechanical,
    moved: notMechanical,
    settled: notMechanical,
    settledState: x => x,
    unknownPosition: {at: notMechanical, increment: notMechanical, of: notMechanical, between: notMechanical},
    resting: notMechanical,
    typicalMass: notMechanical,
    rate: ({y}, t) => ({
      y: within('derivative', () => {
        const result = immediate(system.derivative({y, t, params}));
        if (
          !(result instanceof tf.Tensor)
          || result.shape.length !== y.shape.length
          || result.shape.some((n, axis) => n !== y.shape[axis])
        ) {
          const got =
            result instanceof tf.Tensor
              ? `a tensor of shape [${result.shape.join(', ')}]`
              : Array.isArray(result)
                ? 'an array (tf.stack makes a tensor of scalars)'
                : typeof result;
          throw new ShapeError(
            'derivative-shape',
            `The derivative returned ${got}, but y has shape [${y.shape.join(', ')}].`,
            {term: 'derivative', y: y.shape},
          );
        }
        return result;
      }),
    }),
  };
}
