/**
 * Force terms with states of their own beside q and v: what friction and hysteresis remember, what an actuator has yet
 * to do. A term is a force and its states, each with its rate, as `mechanics({forces, states})` takes them.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, typed, type Options} from '../lib/checks.js';
import type {ForceAt, Numeric, Params, StateSpec} from '../lib/index.js';
import {OptionError, ShapeError} from '../lib/index.js';
import {constantTensor, noEvent, readNumeric} from '../lib/internal.js';

/** The arguments of a term: position, velocity, time, parameters, and its own states by name. */
export type TermAt<Z extends string> = ForceAt<Params, Z>;

/**
 * A force, of the shape of q, and the states it depends on: `mechanics({forces: [term.force], states:
 * {...term.states}})`.
 */
export interface TermWithStates<Z extends string> {
  readonly force: (at: TermAt<Z>) => tf.Tensor;
  readonly states: {readonly [K in Z]: StateSpec<Params, Z>};
}

/**
 * A quantity that depends on states: use `output` in any function of the system, and add `states` to its other states.
 */
export interface OutputWithStates<Z extends string> {
  readonly output: (at: TermAt<Z>) => tf.Tensor;
  readonly states: TermWithStates<Z>['states'];
}

export const actingOptions = {
  /**
   * A list of numbers, one per coordinate: the term acts on x = Σ alongᵢ qᵢ, and its force f on the coordinates as
   * alongᵢ f: [−1, 1] is between two of them. Default: on each coordinate by itself.
   */
  along: optional(typed<Numeric>()),
};

/** The coordinates that a term acts on: each coordinate separately, or one combination of them. @interface */
export type Acting = Options<typeof actingOptions>;

/** The coordinate that a term acts on: x and x' of a state, and a force on x as one on q. */
export interface StateCoordinate {
  of(q: tf.Tensor): tf.Tensor;
  force(f: tf.Tensor, q: tf.Tensor): tf.Tensor;
}

/** @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced */
export function coordinate({along}: Acting, owner: string): StateCoordinate {
  if (along === undefined) return {of: q => q, force: (f, q) => tf.broadcastTo(f, q.shape)};
  const {values, shape} = readNumeric(along, `${owner}: along`);
  const bad = values.findIndex(value => !Number.isFinite(value));
  if (bad >= 0 || values.length === 0)
    throw new OptionError('bad-coefficient', `${owner}: along must be finite numbers, one per coordinate.`, {
      index: bad,
    });
  const row = (q: tf.Tensor): tf.Tensor => {
    if (q.size !== values.length)
      throw new ShapeError(
        'coefficient-shape',
        `${owner}: along has shape [${shape.join(', ')}], but q has [${q.shape.join(', ')}]: `
          + 'give one number per coordinate.',
      );
    return constantTensor(values, q.shape);
  };
  return {of: q => tf.sum(tf.mul(row(q), q)), force: (f, q) => tf.mul(row(q), f)};
}

/** The one number of a coordinate. @throws ShapeError 'coefficient-shape' */
export function single(x: tf.Tensor, owner: string): tf.Tensor {
  if (x.size === 1) return tf.reshape(x, []);
  throw new ShapeError(
    'coefficient-shape',
    `${owner} acts on one coordinate, but q has shape [${x.shape.join(', ')}]: choose it by along, `
      + 'with one number per coordinate.',
  );
}

/** A state in its place among what a function is given. */
export const stateOf = <Z extends string>(at: TermAt<Z>, name: Z): tf.Tensor =>
  (at as {readonly [K in Z]: tf.Tensor})[name];

/** A record with one state. */
export const oneState = <Z extends string>(
  name: Z,
  initial: Numeric,
  rate: (at: TermAt<Z>) => tf.Tensor,
): TermWithStates<Z>['states'] => ({[name]: {initial, rate}}) as TermWithStates<Z>['states'];

/** Below it a number's power is taken to be zero, with its derivatives: its logarithm is still finite. */
const TINY = 1e-300;

/** sgn(z) |z|ⁿ, for n ≥ 1 that may itself be differentiated: at z = 0 the derivative by n is 0 and not 0·∞. */
export function signedPower(z: tf.Tensor, n: tf.Tensor): tf.Tensor {
  return noEvent(() => tf.mul(tf.sign(z), absolutePower(z, n)));
}

/** |z|ⁿ */
export function absolutePower(z: tf.Tensor, n: tf.Tensor): tf.Tensor {
  return tf.exp(tf.mul(n, tf.log(tf.maximum(tf.abs(z), TINY))));
}
