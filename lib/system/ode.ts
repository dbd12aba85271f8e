/** First-order systems y' = f(y, t; p): neural ODEs, stiff chemistry; and M y' = f with a mass that may be singular. */
import * as tf from '@tensorflow/tfjs';
import {any, numeric, object, refuseUnknownOptions} from '../checks.js';
import {OptionError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import type {Delays} from './delays.js';
import {delayEquations} from './delays.js';
import type {Calculus, Equations, NoiseKind} from './equations.js';
import {readNumeric} from './numeric.js';
import type {OdeMass} from './ode-mass.js';
import {massField} from './ode-mass.js';
import type {Bivariant, Params, ParamsLike} from './params.js';
import {ofShape, returned} from './returned.js';
import {withSwitches} from './switches.js';

/** The arguments of a derivative: the state, the time [], and the parameters. */
export type DerivativeAt<P = Params> = {y: tf.Tensor; t: tf.Tensor; params: P};
/** y' of the shape of y, in ordinary tfjs operations on one system (no batch axis). */
export type Derivative<P = Params> = (at: DerivativeAt<P>) => tf.Tensor;

/** Noise as a system keeps it. */
export interface Noise<P = Params> {
  readonly kind: NoiseKind;
  /** Undefined of additive noise, where nothing was said. */
  readonly calculus: Calculus | undefined;
  readonly diffusion: Bivariant<DerivativeAt<P>, tf.Tensor>;
  readonly seed: number | Bivariant<P, tf.Tensor>;
}

/** The argument of `ode`: a system M y' = f. */
export interface OdeSpec<P = Params> {
  /** f: where M is not the unit matrix, M y'. */
  readonly derivative: Derivative<P>;
  /**
   * M: a number, one per component (the shape of y), or a matrix [n, n] with n the size of y; or a function of {y, t,
   * params} returning one of these. It may be singular: zeros give algebraic equations, 0 = f, of index 1 or 2; which
   * rows are zero, or depend on which others, may not change. Default: y' = f.
   */
  readonly mass?: OdeMass<P>;
}

/** Made by `ode`. P are the parameters that its derivative reads. */
export interface OdeSystem<P = Params> {
  readonly kind: 'ode';
  readonly derivative: Bivariant<DerivativeAt<P>, tf.Tensor>;
  readonly mass?: OdeMass<P>;
  /** For an `sde`. */
  readonly noise?: Noise<P>;
  /** For a `dde`, whose derivative also gets the delayed states. */
  readonly delays?: Delays<P>;
}

/**
 * A first-order system y' = f(y, t; params), or with a mass M y' = f(y, t; params). Declare its parameters by
 * `ode<{k: tf.Tensor}>(...)`, or in the derivative's argument, `({y, params}: DerivativeAt<{k: tf.Tensor}>) => ...`.
 * With a singular mass it is a differential-algebraic system, which `radauIIA5`, the diagonally implicit Runge–Kutta
 * methods, `bdf2` and `implicitEuler` integrate up to index 2, `gaussLegendre`, `trapezoid` and `theta` up to index 1.
 * @throws OptionError if the derivative is not a function, or the mass is not numeric
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {ode, simulate, tsit5} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * const path = simulate(decay, {y: 1}, {scheme: tsit5(), dt: 0.1, steps: 10});
 * console.log(path.values('y')[10]); // → 0.36788
 * ```
 */
export function ode<P extends ParamsLike<P> = Params>(system: Derivative<P> | OdeSpec<P>): OdeSystem<P> {
  if (typeof system === 'function') return {kind: 'ode', derivative: system};
  if (!object.test(system) || typeof system.derivative !== 'function')
    throw new OptionError(
      'bad-derivative',
      'ode(derivative) takes a function of {y, t, params} giving a tensor of the shape of y, '
        + 'or {derivative, mass} with such a function.',
    );
  refuseUnknownOptions(system, {derivative: any, mass: any}, 'ode', 'bad-system');
  const {derivative, mass} = system;
  if (mass === undefined) return {kind: 'ode', derivative};
  if (!numeric.test(mass))
    throw new OptionError(
      'bad-mass',
      'ode: mass must be a number, an array, a tensor, or a function of {y, t, params} giving a tensor.',
    );
  // Read for its errors: a ragged matrix is told of here, not in the first trace.
  if (typeof mass !== 'function' && !(mass instanceof tf.Tensor)) requireFinite(readNumeric(mass, 'mass').values);
  return {kind: 'ode', derivative, mass};
}

function requireFinite(values: Float64Array): void {
  const at = values.findIndex(value => !Number.isFinite(value));
  if (at >= 0) throw new OptionError('bad-mass', `ode: entry ${at} of the mass is ${values[at]}: it must be finite.`);
}

function notMechanical(): never {
  throw new OptionError('wrong-system', 'This scheme is for mechanics({...}): an ode has no force or mass.');
}

function noTime(): never {
  throw new Error('the mass of an ode is asked for at a time');
}

function noRate(): never {
  throw new OptionError(
    'wrong-scheme',
    "This scheme needs y' itself, which M y' = f does not determine where M is singular: choose another one, "
      + 'such as radauIIA5() or bdf2().',
  );
}

export function odeEquations(system: OdeSystem, params: Params, shape: Shape): Equations {
  const derivative = (at: DerivativeAt): tf.Tensor =>
    returned('derivative', () => withSwitches('derivative', at, place => system.derivative(place)), {
      code: 'derivative-shape',
      ...ofShape(at.y.shape, 'y'),
      label: 'The derivative',
      data: {term: 'derivative', y: at.y.shape},
    });
  const delay = system.delays === undefined ? undefined : delayEquations(system.delays, derivative, params);
  const rate: Equations['rate'] = delay?.rate ?? (({y}, t) => ({y: derivative({y, t, params})}));
  const mass = system.mass === undefined ? undefined : massField(system.mass, shape, params);
  const known = (y: tf.Tensor, t: tf.Tensor) => mass?.at(y, t).known ?? notMechanical();
  return {
    kind: 'ode',
    force: notMechanical,
    mass: (y, w, t) => (mass === undefined ? w : mass.at(y, t ?? noTime()).times(w)),
    massAt: (y, t) => mass?.at(y, t ?? noTime()).value ?? notMechanical(),
    massIsVariable: mass?.moves === true,
    acceleration: notMechanical,
    hasKinematicsOrStates: false,
    positionRate: notMechanical,
    retract: notMechanical,
    project: notMechanical,
    projectState: x => x,
    unknownPosition: {at: notMechanical, increment: notMechanical, of: notMechanical, between: notMechanical},
    zeroVelocity: notMechanical,
    typicalMass: notMechanical,
    rate: mass === undefined ? rate : noRate,
    rightHandSide: rate,
    hasMassMatrix: mass !== undefined,
    delay,
    ...(mass?.isKnown === true
      ? {
          rangeComplement: (f: tf.Tensor, y: tf.Tensor, t: tf.Tensor) => known(y, t).beside(f),
          particularRate: (f: tf.Tensor, y: tf.Tensor, t: tf.Tensor) => known(y, t).someRate(f),
        }
      : {}),
  };
}
