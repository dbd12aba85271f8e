/**
 * Hidden states of a mechanical system: numbers z with z' = r(q, v, z, t) beside position and velocity, as those of
 * friction, hysteresis, actuators and temperatures are. Inside a step they are parts of the velocity with a mass of one
 * (general-mechanics.ts), so that every scheme integrates them as it does velocities.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {any, object, refuseUnknownOptions, requireValue, shown} from '../checks.js';
import type {Blocks} from './equations.js';
import type {Numeric} from './numeric.js';
import {isNumeric, readNumeric} from './numeric.js';
import type {Bivariant, Params} from './params.js';
import {ofShape, returned} from './returned.js';
import {withSwitches} from './switches.js';

/**
 * The arguments of a rate or a force: position, velocity, the hidden states Z by their names, the time [], and the
 * parameters. Only forces of systems with constraints also get `lambda`: the multipliers, [rows], at the same instant.
 */
export type StateAt<P = Params, Z extends string = never> = {
  q: tf.Tensor;
  v: tf.Tensor;
  t: tf.Tensor;
  params: P;
  lambda?: tf.Tensor;
} & {
  readonly [K in Z]: tf.Tensor;
};

/** `StateAt` of a system with known parameters. Functions of a system of any kind are not called. */
export type AnyStateAt<P, Z extends string> = [P] extends [never] ? never : StateAt<P, Z>;

/** One hidden state. */
export interface StateSpec<P = Params, Z extends string = never> {
  /** Its default initial value, which also defines its shape. */
  readonly initial: Numeric;
  /** Its rate of change, of its shape. */
  readonly rate: Bivariant<AnyStateAt<P, Z>, tf.Tensor>;
}

/** Hidden states by name. */
export type StateSpecs<P = Params, Z extends string = never> = {readonly [K in Z]: StateSpec<P, Z>};

/** Names that a state cannot have: functions get these beside it, and runs call their series so. */
const taken = ['q', 'v', 'y', 'a', 't', 'params', 'lambda', 'observed', 'events'];

/** @throws OptionError 'bad-state' */
export function checkStates(given: unknown): void {
  requireValue(given, object, 'mechanics: states', 'bad-state');
  for (const [name, state] of Object.entries(given as object)) {
    if (taken.includes(name) || !/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name))
      throw new OptionError(
        'bad-state',
        `mechanics: a hidden state cannot be called ${shown(name)}: `
          + `give it a name of letters and digits that is none of ${taken.join(', ')}.`,
        {name},
      );
    requireValue(state, object, `states.${name}`, 'bad-state');
    const {initial, rate} = state as Partial<StateSpec>;
    refuseUnknownOptions(state as object, {initial: any, rate: any}, `states.${name}`, 'bad-state');
    if (typeof rate !== 'function')
      throw new OptionError(
        'bad-state',
        `states.${name}: rate must be a function of {q, v, ${name}, t, params} giving a tensor, not ${shown(rate)}.`,
        {name},
      );
    if (!isNumeric(initial))
      throw new OptionError(
        'bad-state',
        `states.${name}: initial must be a number, an array of numbers or a tensor, not ${shown(initial)}. `
          + "It also defines the state's shape.",
        {name},
      );
    if (!(initial instanceof tf.Tensor) && readNumeric(initial, `states.${name}.initial`).values.length === 0)
      throw new OptionError('bad-state', `states.${name}: initial is empty.`, {name});
  }
}

/**
 * z' of one state, in a trace.
 * @throws ShapeError 'state-shape'
 */
export function stateRate(
  name: string,
  {rate}: StateSpec<Params, string>,
  at: {q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: Params},
  hidden: Blocks,
): tf.Tensor {
  const {shape} = hidden[name];
  const expected = {code: 'state-shape', ...ofShape(shape, 'the state'), data: {state: name, shape}};
  const term = `states.${name}.rate`;
  const place = {...hidden, ...at} as StateAt<Params, string>;
  return returned(term, () => withSwitches(term, place, rate), expected);
}
