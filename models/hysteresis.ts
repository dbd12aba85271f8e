/**
 * Forces that depend on where a coordinate has been and not on how fast: Bouc and Wen's model, the stop and play
 * operators, and their sums (Maxwell-slip, or generalized Prandtl–Ishlinskii). All are rate-independent: z is driven by
 * dx, not by dt. The stop's corner is rounded by an exponent, so that Newton's method and gradients have a derivative.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, text, typed, type Options} from '../lib/checks.js';
import type {Numeric} from '../lib/index.js';
import {coefficient, fitting, quantity, type Coefficient} from './coefficient.js';
import type {OutputWithStates, TermAt, TermWithStates} from './states.js';
import {absolutePower, actingOptions, coordinate, oneState, signedPower, single, stateOf} from './states.js';

const boucWenOptions = {
  /** k [force / length]: total stiffness at the start of a loop, with A = 1. */
  stiffness: quantity('non-negative'),
  /** α: the elastic fraction of k, from 0 to 1; the rest is hysteretic. */
  elasticShare: quantity('non-negative'),
  /** A; default 1. */
  amplitude: optional(quantity(), 1),
  /** β [1 / lengthⁿ]. */
  beta: quantity(),
  /** γ [1 / lengthⁿ]; energy is only dissipated if −β ≤ γ ≤ β. */
  gamma: quantity(),
  /** n ≥ 1: sharpness of yielding; default 1. */
  exponent: optional(quantity('positive'), 1),
  /** Initial z, of the shape of the coordinates it acts on; default 0. */
  initial: optional(typed<Numeric>(), 0),
  /** Name of the state; default 'hysteresis'. */
  name: optional(text, 'hysteresis'),
  ...actingOptions,
};

/** The argument of `boucWen`. @interface */
export type BoucWenSpec<Z extends string = 'hysteresis'> = Options<typeof boucWenOptions> & {readonly name?: Z};

/**
 * Bouc and Wen's hysteresis, f = −α k x − (1 − α) k z with z' = A v − β |v| |z|ⁿ⁻¹ z − γ v |z|ⁿ. |z| stays below
 * (A/(β + γ))^(1/n). (Wen, Method for random vibration of hysteretic systems, Journal of the Engineering Mechanics
 * Division 102, 1976; dissipation: Ikhouane & Rodellar, Systems with Hysteresis, 2007.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function boucWen<const Z extends string = 'hysteresis'>(spec: BoucWenSpec<Z>): TermWithStates<Z> {
  const read = readOptions(spec, boucWenOptions, 'boucWen');
  const name = read.name as Z;
  const powers = powersOf(read.exponent, spec.exponent ?? 1);
  const on = coordinate(spec, 'boucWen');
  return {
    force: at => {
      const x = on.of(at.q);
      const share = read.elasticShare(at.params, x.shape);
      const stretch = tf.add(tf.mul(share, x), tf.mul(tf.sub(1, share), stateOf(at, name)));
      return on.force(tf.neg(tf.mul(read.stiffness(at.params, x.shape), stretch)), at.q);
    },
    states: oneState(name, read.initial, at => {
      const v = on.of(at.v);
      const {signed, absolute} = powers(at, stateOf(at, name));
      const bending = tf.mul(tf.mul(read.beta(at.params, v.shape), tf.abs(v)), signed);
      const yielding = tf.mul(tf.mul(read.gamma(at.params, v.shape), v), absolute);
      return tf.sub(tf.mul(read.amplitude(at.params, v.shape), v), tf.add(bending, yielding));
    }),
  };
}

type Powers = (at: TermAt<never>, z: tf.Tensor) => {readonly signed: tf.Tensor; readonly absolute: tf.Tensor};

/** sgn(z)|z|ⁿ and |z|ⁿ. The first power is z itself: its derivative at zero, where loops begin, is 1. */
function powersOf(exponent: ReturnType<typeof coefficient>, given: Coefficient | undefined): Powers {
  if (given === 1) return (_, z) => ({signed: z, absolute: tf.abs(z)});
  return ({params}, z) => {
    const power = exponent(params, z.shape, 'the state');
    return {signed: signedPower(z, power), absolute: absolutePower(z, power)};
  };
}

/** Within 1 % of the ideal stop but for the last fifth of its width, and still easy for Newton's method. */
const SHARPNESS = 10;

const slipOptions = {
  /** kᵢ [force / length] of each element, [elements]. */
  stiffness: quantity('positive'),
  /** Wᵢ [force] at which each element slips, [elements]. */
  force: quantity('positive'),
  /**
   * n: sharpness of slip; default 10. At n = 2 an element is tanh; the ideal corner is n → ∞, with a difference of
   * about Wᵢ/n.
   */
  sharpness: optional(quantity('positive'), SHARPNESS),
  /** Initial deflections, [elements]; they define the number of elements. */
  initial: typed<Numeric>(),
  /** Name of the state; default 'slip'. */
  name: optional(text, 'slip'),
  ...actingOptions,
};

/** The argument of `maxwellSlip`. @interface */
export type MaxwellSlipSpec<Z extends string = 'slip'> = Options<typeof slipOptions> & {readonly name?: Z};

/**
 * Elements in parallel that each stretch like a spring, kᵢ, and slip at a force, Wᵢ: f = −Σ kᵢ zᵢ, zᵢ the stop operator
 * of width Wᵢ/kᵢ. It has presliding with Masing's loops and nonlocal memory: loops close, and the energy they
 * enclose is dissipated. On one coordinate, q of one number, or `along`. (Iwan, Journal of Applied Mechanics 33, 1966;
 * Al-Bender, Lampaert & Swevers, The generalized Maxwell-slip model, IEEE TAC 50, 2005; the rounding is Bouc and
 * Wen's.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function maxwellSlip<const Z extends string = 'slip'>(spec: MaxwellSlipSpec<Z>): TermWithStates<Z> {
  const {stiffness, force, sharpness, initial, ...read} = readOptions(spec, slipOptions, 'maxwellSlip');
  coefficient(initial, 'maxwellSlip: initial');
  const name = read.name as Z;
  const powers = powersOf(sharpness, spec.sharpness);
  const on = coordinate(spec, 'maxwellSlip');
  return {
    force: at => {
      const z = stateOf(at, name);
      return on.force(tf.neg(tf.sum(tf.mul(stiffness(at.params, z.shape, 'the elements'), z))), at.q);
    },
    states: oneState(name, initial, at => {
      const z = stateOf(at, name);
      const width = tf.div(force(at.params, z.shape, 'the elements'), stiffness(at.params, z.shape, 'the elements'));
      return stopRate(powers, at, z, single(on.of(at.v), 'maxwellSlip'), width);
    }),
  };
}

/** z' = v − ½ (v + |v| sgn z) |z/w|ⁿ: v while it is elastic or turns back, 0 at the width. */
function stopRate(powers: Powers, at: TermAt<never>, z: tf.Tensor, v: tf.Tensor, width: tf.Tensor): tf.Tensor {
  const {signed, absolute} = powers(at, tf.div(z, width));
  return tf.sub(v, tf.mul(0.5, tf.add(tf.mul(v, absolute), tf.mul(tf.abs(v), signed))));
}

const stopOptions = {
  /** w [length]: half the width, at which the stop yields and by which the play lags behind. */
  width: quantity('positive'),
  /** n: sharpness; default 10. */
  sharpness: optional(quantity('positive'), SHARPNESS),
  /** Initial z, of the shape of the coordinates it acts on, or of the widths; default 0. */
  initial: optional(typed<Numeric>(), 0),
  /** Name of the state; default 'stop'. */
  name: optional(text, 'stop'),
  ...actingOptions,
};

/** The argument of `stopOperator` and `playOperator`. @interface */
export type StopSpec<Z extends string = 'stop'> = Options<typeof stopOptions> & {readonly name?: Z};

/**
 * The stop operator of a coordinate: z follows x elastically, up to ±w. Weighted sums of it are the
 * operators of Prandtl and Ishlinskii (Brokate & Sprekels, Hysteresis and Phase Transitions, 1996, ch. 2).
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function stopOperator<const Z extends string = 'stop'>(spec: StopSpec<Z>): OutputWithStates<Z> {
  return operator(spec, 'stopOperator', (z: tf.Tensor) => z);
}

/**
 * The play operator of a coordinate, x minus its stop: it stays constant until x is at a distance w from it (backlash
 * of a link with friction). Both operators can share one stop.
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function playOperator<const Z extends string = 'stop'>(spec: StopSpec<Z>): OutputWithStates<Z> {
  return operator(spec, 'playOperator', (z: tf.Tensor, x: tf.Tensor) => tf.sub(x, z));
}

function operator<Z extends string>(
  spec: StopSpec<Z>,
  owner: string,
  output: (z: tf.Tensor, x: tf.Tensor) => tf.Tensor,
): OutputWithStates<Z> {
  const {width, sharpness, initial, ...read} = readOptions(spec, stopOptions, owner);
  const name = read.name as Z;
  const powers = powersOf(sharpness, spec.sharpness);
  const on = coordinate(spec, owner);
  return {
    output: at => output(stateOf(at, name), on.of(at.q)),
    states: oneState(name, initial, at => {
      const z = stateOf(at, name);
      const v = fitting(on.of(at.v), z.shape, `${owner}: the velocity`, 'the state');
      return stopRate(powers, at, z, v, width(at.params, z.shape, 'the state'));
    }),
  };
}
