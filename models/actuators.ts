/** Actuators: a first-order lag, the armature of a motor, a delay between a command and its force. */
import * as tf from '@tensorflow/tfjs';
import {
  callable,
  positiveInteger,
  finite,
  oneOf,
  optional,
  readOptions,
  text,
  typed,
  type Options,
} from '../lib/checks.js';
import type {Numeric, Params} from '../lib/index.js';
import {type Bivariant, constantTensor} from '../lib/internal.js';
import {fitting, quantity, requireTensor} from './coefficient.js';
import type {OutputWithStates, TermWithStates} from './states.js';
import {actingOptions, coordinate, oneState, stateOf} from './states.js';

/**
 * The command of an actuator, from the arguments of a force: an input of `params`, a feedback law, another term's
 * output.
 */
export type Command = Bivariant<{q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: Params}, tf.Tensor>;

const actuatorOptions = {
  /** The command. */
  command: typed<Command>(callable),
  /** τ [time]. */
  timeConstant: quantity('positive'),
  /** Force per unit command; default 1. */
  gain: optional(quantity(), 1),
  /** The force at the start; default 0. */
  initial: optional(typed<Numeric>(), 0),
  /** Name of the state, which is the force; default 'actuator'. */
  name: optional(text, 'actuator'),
  ...actingOptions,
};

/** The argument of `actuators.firstOrder`. @interface */
export type FirstOrderActuatorSpec<Z extends string = 'actuator'> = Options<typeof actuatorOptions> & {
  readonly name?: Z;
};

/**
 * A force that follows its command as τ f' = gain · command − f.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function firstOrder<const Z extends string = 'actuator'>(spec: FirstOrderActuatorSpec<Z>): TermWithStates<Z> {
  const {command, timeConstant, gain, initial, ...read} = readOptions(spec, actuatorOptions, 'actuators.firstOrder');
  const name = read.name as Z;
  const on = coordinate(spec, 'actuators.firstOrder');
  return {
    force: at => on.force(stateOf(at, name), at.q),
    states: oneState(name, initial, at => {
      const f = stateOf(at, name);
      const given = requireTensor(command(at), 'actuators.firstOrder: the command');
      const asked = fitting(given, f.shape, 'actuators.firstOrder: the command', 'the state');
      const target = tf.mul(gain(at.params, f.shape, 'the state'), asked);
      return tf.div(tf.sub(target, f), timeConstant(at.params, f.shape, 'the state'));
    }),
  };
}

const motorOptions = {
  /** u [voltage]. */
  voltage: typed<Command>(callable),
  /** R [voltage / current]. */
  resistance: quantity('non-negative'),
  /** L [voltage · time / current]. */
  inductance: quantity('positive'),
  /**
   * k [force / current], in consistent units also the constant of the back electromotive force [voltage · time /
   * length].
   */
  constant: quantity(),
  /** The current at the start; default 0. */
  initial: optional(typed<Numeric>(), 0),
  /** Name of the state, which is the current; default 'current'. */
  name: optional(text, 'current'),
  ...actingOptions,
};

/** The argument of `dcMotor`. @interface */
export type DcMotorSpec<Z extends string = 'current'> = Options<typeof motorOptions> & {readonly name?: Z};

/**
 * A motor with a permanent magnet: L i' = u − R i − k v, and the force (or torque) k i. The power from the supply, u i,
 * goes to the shaft, to heat, R i², and to the stored energy ½ L i².
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function dcMotor<const Z extends string = 'current'>(spec: DcMotorSpec<Z>): TermWithStates<Z> {
  const {voltage, resistance, inductance, constant, initial, ...read} = readOptions(spec, motorOptions, 'dcMotor');
  const name = read.name as Z;
  const on = coordinate(spec, 'dcMotor');
  return {
    force: at => {
      const current = stateOf(at, name);
      return on.force(tf.mul(constant(at.params, current.shape), current), at.q);
    },
    states: oneState(name, initial, at => {
      const current = stateOf(at, name);
      const fit = (of: typeof constant): tf.Tensor => of(at.params, current.shape, 'the current');
      const drop = tf.add(tf.mul(fit(resistance), current), tf.mul(fit(constant), on.of(at.v)));
      const given = requireTensor(voltage(at), 'dcMotor: the voltage');
      const u = fitting(given, current.shape, 'dcMotor: the voltage', 'the current');
      return tf.div(tf.sub(u, drop), fit(inductance));
    }),
  };
}

/** Beyond it the coefficients of Padé's polynomials span more digits than doubles have. */
const MOST_PADE = 10;

const padeOrder: typeof positiveInteger = {
  what: `a whole number from 1 to ${MOST_PADE}`,
  test: value => positiveInteger.test(value) && Number(value) <= MOST_PADE,
};

const delayOptions = {
  /** The signal to delay, a scalar. */
  input: typed<Command>(callable),
  /** T [time]; it may be a parameter to identify. */
  delay: quantity('positive'),
  /** Number of states; default 4. */
  order: optional(positiveInteger, 4),
  /**
   * 'pade' (default): equal amplitude at all frequencies, and a correct phase up to about ωT = order, but it responds
   * to a step too early, and jumps with it; 'lags': a chain of equal first-order lags, which smooths and never
   * overshoots.
   */
  kind: optional(oneOf('pade', 'lags'), 'pade'),
  /** The constant input before the start; default 0. */
  before: optional(finite, 0),
  /** Name of the state, [order]; default 'delay'. */
  name: optional(text, 'delay'),
};

/** The argument of `delayLine`. @interface */
export type DelayLineSpec<Z extends string = 'delay'> = Options<typeof delayOptions> & {readonly name?: Z};

/**
 * A delayed signal by a rational transfer function: `output` approximates the input a time T earlier; the initial state
 * corresponds to the constant input `before`.
 * @throws OptionError 'bad-option' if the order is invalid; 'bad-coefficient'
 */
export function delayLine<const Z extends string = 'delay'>(spec: DelayLineSpec<Z>): OutputWithStates<Z> {
  const schema = spec.kind === 'lags' ? delayOptions : {...delayOptions, order: optional(padeOrder, 4)};
  const {input, delay, order, kind, before, ...read} = readOptions(spec, schema, 'delayLine');
  const name = read.name as Z;
  const {a, b, c, d, rest} = (kind === 'pade' ? pade : lags)(order);
  const given = (at: Parameters<Command>[0]): tf.Tensor =>
    tf.reshape(requireTensor(input(at), 'delayLine: the input'), []);
  const row = (values: readonly number[]): tf.Tensor => constantTensor(Float64Array.from(values), [order]);
  return {
    output: at => tf.add(tf.sum(tf.mul(row(c), stateOf(at, name))), tf.mul(d, given(at))),
    states: oneState(
      name,
      Float64Array.from(rest, value => before * value),
      at => {
        const z = tf.reshape(stateOf(at, name), [order, 1]);
        const flow = tf.reshape(
          tf.matMul(constantTensor(Float64Array.from(a.flat()), [order, order]), z as tf.Tensor2D),
          [order],
        );
        return tf.div(tf.add(flow, tf.mul(row(b), given(at))), tf.reshape(delay(at.params), []));
      },
    ),
  };
}

/** z' = A z + b u, y = c z + d u, with time in delays. */
interface Realization {
  readonly a: readonly (readonly number[])[];
  readonly b: readonly number[];
  readonly c: readonly number[];
  readonly d: number;
  /** z at rest under u = 1. */
  readonly rest: readonly number[];
}

const matrix = (n: number, entry: (i: number, j: number) => number): number[][] =>
  Array.from({length: n}, (_, i) => Array.from({length: n}, (__, j) => entry(i, j)));

/** (1 + s/n)⁻ⁿ */
function lags(n: number): Realization {
  return {
    a: matrix(n, (i, j) => (i === j ? -n : i === j + 1 ? n : 0)),
    b: Array.from({length: n}, (_, i) => (i === 0 ? n : 0)),
    c: Array.from({length: n}, (_, i) => (i === n - 1 ? 1 : 0)),
    d: 0,
    rest: Array.from({length: n}, () => 1),
  };
}

/**
 * p(−s)/p(s), p = Σ (2n − k)!/(k! (n − k)!) sᵏ made monic, Padé's diagonal of the exponential (Golub & Van Loan, Matrix
 * Computations, §9.3), in companion form. Time in units of the roots' geometric mean keeps its entries alike.
 */
function pade(n: number): Realization {
  const p = Array.from({length: n + 1}, (_, k) => factorial(2 * n - k) / (factorial(k) * factorial(n - k)));
  const monic = p.map(value => value / p[n]);
  const scale = monic[0] ** (1 / n);
  const q = monic.map((value, k) => value / scale ** (n - k));
  const d = (-1) ** n;
  return {
    a: matrix(n, (i, j) => scale * (i === n - 1 ? -q[j] : j === i + 1 ? 1 : 0)),
    b: Array.from({length: n}, (_, i) => (i === n - 1 ? scale : 0)),
    c: Array.from({length: n}, (_, k) => ((-1) ** k - d) * q[k]),
    d,
    // q₀ = 1
    rest: Array.from({length: n}, (_, k) => (k === 0 ? 1 : 0)),
  };
}

function factorial(n: number): number {
  let product = 1;
  for (let i = 2; i <= n; i++) product *= i;
  return product;
}
