/** What stands between a command and a force: a first-order lag, the armature of a motor, a delay. */
import * as tf from '@tensorflow/tfjs';
import {any, callable, count, finite, oneOf, refuseUnknownOptions, text} from '../lib/checks.js';
import type {Lenient, Numeric, Params} from '../lib/index.js';
import {constantTensor} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting, requireTensor} from './coefficient.js';
import type {Acting, OutputWithStates, TermWithStates} from './states.js';
import {coordinate, oneState, stateOf} from './states.js';

/**
 * The command of an actuator, from the arguments of a force: an input of `params`, a feedback law, another term's
 * output.
 */
export type Command = Lenient<{q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: Params}, tf.Tensor>;

/** The argument of `firstOrderActuator`. */
export interface FirstOrderActuatorSpec<Z extends string = 'actuator'> extends Acting {
  /** The command. */
  readonly command: Command;
  /** τ [time]. */
  readonly timeConstant: Coefficient;
  /** Force per unit command; default 1. */
  readonly gain?: Coefficient;
  /** The force at the start; default 0. */
  readonly initial?: Numeric;
  /** Name of the state, which is the force; default 'actuator'. */
  readonly name?: Z;
}

/**
 * A force that follows its command as τ f' = gain · command − f.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function firstOrderActuator<const Z extends string = 'actuator'>(
  spec: FirstOrderActuatorSpec<Z>,
): TermWithStates<Z> {
  refuseUnknownOptions(
    spec,
    {command: callable, timeConstant: any, gain: any, initial: any, name: text, along: any},
    'firstOrderActuator',
  );
  const {command, initial = 0, name = 'actuator' as Z} = spec;
  const time = coefficient(spec.timeConstant, 'firstOrderActuator: timeConstant', 'positive');
  const gain = coefficient(spec.gain ?? 1, 'firstOrderActuator: gain');
  const on = coordinate(spec, 'firstOrderActuator');
  return {
    force: at => on.force(stateOf(at, name), at.q),
    states: oneState(name, initial, at => {
      const f = stateOf(at, name);
      const fit = (value: tf.Tensor, what: string): tf.Tensor =>
        fitting(value, f.shape, `firstOrderActuator: ${what}`, 'the state');
      const asked = fit(requireTensor(command(at), 'firstOrderActuator: the command'), 'the command');
      return tf.div(tf.sub(tf.mul(fit(gain(at.params), 'gain'), asked), f), fit(time(at.params), 'timeConstant'));
    }),
  };
}

/** The argument of `dcMotor`. */
export interface DcMotorSpec<Z extends string = 'current'> extends Acting {
  /** u [voltage]. */
  readonly voltage: Command;
  /** R [voltage / current]. */
  readonly resistance: Coefficient;
  /** L [voltage · time / current]. */
  readonly inductance: Coefficient;
  /**
   * k [force / current], in consistent units also the constant of the back electromotive force [voltage · time /
   * length].
   */
  readonly constant: Coefficient;
  /** The current at the start; default 0. */
  readonly initial?: Numeric;
  /** Name of the state, which is the current; default 'current'. */
  readonly name?: Z;
}

/**
 * A motor with a permanent magnet: L i' = u − R i − k v, and the force (or torque) k i. The power from the supply, u i,
 * goes to the shaft, to heat, R i², and to the stored energy ½ L i².
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function dcMotor<const Z extends string = 'current'>(spec: DcMotorSpec<Z>): TermWithStates<Z> {
  refuseUnknownOptions(
    spec,
    {voltage: callable, resistance: any, inductance: any, constant: any, initial: any, name: text, along: any},
    'dcMotor',
  );
  const {voltage, initial = 0, name = 'current' as Z} = spec;
  const resistance = coefficient(spec.resistance, 'dcMotor: resistance', 'non-negative');
  const inductance = coefficient(spec.inductance, 'dcMotor: inductance', 'positive');
  const constant = coefficient(spec.constant, 'dcMotor: constant');
  const on = coordinate(spec, 'dcMotor');
  return {
    force: at => {
      const current = stateOf(at, name);
      return on.force(tf.mul(fitting(constant(at.params), current.shape, 'dcMotor: constant'), current), at.q);
    },
    states: oneState(name, initial, at => {
      const current = stateOf(at, name);
      const fit = (value: tf.Tensor, what: string): tf.Tensor =>
        fitting(value, current.shape, `dcMotor: ${what}`, 'the current');
      const drop = tf.add(
        tf.mul(fit(resistance(at.params), 'resistance'), current),
        tf.mul(fit(constant(at.params), 'constant'), on.of(at.v)),
      );
      const u = fit(requireTensor(voltage(at), 'dcMotor: the voltage'), 'the voltage');
      return tf.div(tf.sub(u, drop), fit(inductance(at.params), 'inductance'));
    }),
  };
}

/** The argument of `delayLine`. */
export interface DelayLineSpec<Z extends string = 'delay'> {
  /** The signal to delay, a scalar. */
  readonly input: Command;
  /** T [time]; it may be a parameter to identify. */
  readonly delay: Coefficient;
  /** Number of states; default 4. */
  readonly order?: number;
  /**
   * 'pade' (default): equal amplitude at all frequencies, and a correct phase up to about ωT = order, but it responds
   * to a step too early, and jumps with it; 'lags': a chain of equal first-order lags, which smooths and never
   * overshoots.
   */
  readonly kind?: 'pade' | 'lags';
  /** The constant input before the start; default 0. */
  readonly before?: number;
  /** Name of the state, [order]; default 'delay'. */
  readonly name?: Z;
}

/** Beyond it the coefficients of Padé's polynomials span more digits than doubles have. */
const MOST_PADE = 10;

/**
 * A delayed signal by a rational transfer function: `output` approximates the input a time T earlier; the initial state
 * corresponds to the constant input `before`.
 * @throws OptionError 'bad-option' if the order is invalid; 'bad-coefficient'
 */
export function delayLine<const Z extends string = 'delay'>(spec: DelayLineSpec<Z>): OutputWithStates<Z> {
  const {input, order = 4, kind = 'pade', before = 0, name = 'delay' as Z} = spec;
  refuseUnknownOptions(
    spec,
    {
      input: callable,
      delay: any,
      order:
        kind === 'pade'
          ? {
              what: `a whole number from 1 to ${MOST_PADE}`,
              test: value => count.test(value) && Number(value) <= MOST_PADE,
            }
          : count,
      kind: oneOf('pade', 'lags'),
      before: finite,
      name: text,
    },
    'delayLine',
  );
  const delay = coefficient(spec.delay, 'delayLine: delay', 'positive');
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
