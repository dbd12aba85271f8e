/**
 * Forces that depend on where a coordinate has been and not on how fast: Bouc and Wen's model, the stop and play
 * operators, and their sums (Maxwell-slip, or generalized Prandtl–Ishlinskii). All are rate-independent: z is driven by
 * dx, not by dt. The stop's corner is rounded by an exponent, so that Newton's method and gradients have a derivative.
 */
import * as tf from '@tensorflow/tfjs';
import {any, refuseUnknownOptions, text} from '../lib/checks.js';
import type {Numeric} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting} from './coefficient.js';
import type {Acting, OutputWithStates, TermAt, TermWithStates} from './states.js';
import {absolutePower, coordinate, oneState, signedPower, single, stateOf} from './states.js';

/** The argument of `boucWen`. */
export interface BoucWenSpec<Z extends string = 'hysteresis'> extends Acting {
  /** k [force / length]: total stiffness at the start of a loop, with A = 1. */
  readonly stiffness: Coefficient;
  /** α: the elastic fraction of k, from 0 to 1; the rest is hysteretic. */
  readonly elasticShare: Coefficient;
  /** A; default 1. */
  readonly amplitude?: Coefficient;
  /** β [1 / lengthⁿ]. */
  readonly beta: Coefficient;
  /** γ [1 / lengthⁿ]; energy is only dissipated if −β ≤ γ ≤ β. */
  readonly gamma: Coefficient;
  /** n ≥ 1: sharpness of yielding; default 1. */
  readonly exponent?: Coefficient;
  /** Initial z, of the shape of the coordinates it acts on; default 0. */
  readonly initial?: Numeric;
  /** Name of the state; default 'hysteresis'. */
  readonly name?: Z;
}

const boucWenChecks = {
  stiffness: any,
  elasticShare: any,
  amplitude: any,
  beta: any,
  gamma: any,
  exponent: any,
  initial: any,
  name: text,
  along: any,
};

/**
 * Bouc and Wen's hysteresis, f = −α k x − (1 − α) k z with z' = A v − β |v| |z|ⁿ⁻¹ z − γ v |z|ⁿ. |z| stays below
 * (A/(β + γ))^(1/n). (Wen, Method for random vibration of hysteretic systems, Journal of the Engineering Mechanics Division
 * 102, 1976; dissipation: Ikhouane & Rodellar, Systems with Hysteresis, 2007.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function boucWen<const Z extends string = 'hysteresis'>(spec: BoucWenSpec<Z>): TermWithStates<Z> {
  refuseUnknownOptions(spec, boucWenChecks, 'boucWen');
  const {initial = 0, name = 'hysteresis' as Z} = spec;
  const stiffness = coefficient(spec.stiffness, 'boucWen: stiffness', 'non-negative');
  const elastic = coefficient(spec.elasticShare, 'boucWen: elasticShare', 'non-negative');
  const amplitude = coefficient(spec.amplitude ?? 1, 'boucWen: amplitude');
  const beta = coefficient(spec.beta, 'boucWen: beta');
  const gamma = coefficient(spec.gamma, 'boucWen: gamma');
  const powers = powersOf(spec.exponent ?? 1, 'boucWen');
  const on = coordinate(spec, 'boucWen');
  return {
    force: at => {
      const x = on.of(at.q);
      const fit = (value: tf.Tensor, what: string): tf.Tensor => fitting(value, x.shape, `boucWen: ${what}`);
      const share = fit(elastic(at.params), 'elasticShare');
      const stretch = tf.add(tf.mul(share, x), tf.mul(tf.sub(1, share), stateOf(at, name)));
      return on.force(tf.neg(tf.mul(fit(stiffness(at.params), 'stiffness'), stretch)), at.q);
    },
    states: oneState(name, initial, at => {
      const v = on.of(at.v);
      const fit = (value: tf.Tensor, what: string): tf.Tensor => fitting(value, v.shape, `boucWen: ${what}`);
      const {signed, absolute} = powers(at, stateOf(at, name));
      const bending = tf.mul(tf.mul(fit(beta(at.params), 'beta'), tf.abs(v)), signed);
      const yielding = tf.mul(tf.mul(fit(gamma(at.params), 'gamma'), v), absolute);
      return tf.sub(tf.mul(fit(amplitude(at.params), 'amplitude'), v), tf.add(bending, yielding));
    }),
  };
}

type Powers = (at: TermAt<never>, z: tf.Tensor) => {readonly signed: tf.Tensor; readonly absolute: tf.Tensor};

/** sgn(z)|z|ⁿ and |z|ⁿ. The first power is z itself: its derivative at zero, where loops begin, is 1. */
function powersOf(exponent: Coefficient, owner: string): Powers {
  if (exponent === 1) return (_, z) => ({signed: z, absolute: tf.abs(z)});
  const n = coefficient(exponent, `${owner}: exponent`, 'positive');
  return ({params}, z) => {
    const power = fitting(n(params), z.shape, `${owner}: exponent`, 'the state');
    return {signed: signedPower(z, power), absolute: absolutePower(z, power)};
  };
}

/** The argument of `maxwellSlip`. */
export interface MaxwellSlipSpec<Z extends string = 'slip'> extends Acting {
  /** kᵢ [force / length] of each element, [elements]. */
  readonly stiffness: Coefficient;
  /** Wᵢ [force] at which each element slips, [elements]. */
  readonly force: Coefficient;
  /**
   * n: sharpness of slip; default 10. At n = 2 an element is tanh; the ideal corner is n → ∞, with a difference of
   * about Wᵢ/n.
   */
  readonly sharpness?: Coefficient;
  /** Initial deflections, [elements]; they define the number of elements. */
  readonly initial: Numeric;
  /** Name of the state; default 'slip'. */
  readonly name?: Z;
}

/**
 * Elements in parallel that each stretch like a spring, kᵢ, and slip at a force, Wᵢ: f = −Σ kᵢ zᵢ, zᵢ the stop operator
 * of width Wᵢ/kᵢ. It has presliding with Masing's loops and nonlocal memory: loops close, and the energy they
 * enclose is dissipated. On one coordinate, q of one number, or `along`. (Iwan, Journal of Applied Mechanics 33, 1966;
 * Al-Bender, Lampaert & Swevers, The generalized Maxwell-slip model, IEEE TAC 50, 2005; the rounding is Bouc and
 * Wen's.)
 * @throws OptionError 'bad-coefficient'; ShapeError 'coefficient-shape' when traced
 */
export function maxwellSlip<const Z extends string = 'slip'>(spec: MaxwellSlipSpec<Z>): TermWithStates<Z> {
  refuseUnknownOptions(
    spec,
    {stiffness: any, force: any, sharpness: any, initial: any, name: text, along: any},
    'maxwellSlip',
  );
  const {initial, name = 'slip' as Z} = spec;
  const stiffness = coefficient(spec.stiffness, 'maxwellSlip: stiffness', 'positive');
  const limit = coefficient(spec.force, 'maxwellSlip: force', 'positive');
  coefficient(initial, 'maxwellSlip: initial');
  const powers = powersOf(spec.sharpness ?? SHARPNESS, 'maxwellSlip');
  const on = coordinate(spec, 'maxwellSlip');
  const fit = (value: tf.Tensor, z: tf.Tensor, what: string): tf.Tensor =>
    fitting(value, z.shape, `maxwellSlip: ${what}`, 'the elements');
  return {
    force: at => {
      const z = stateOf(at, name);
      return on.force(tf.neg(tf.sum(tf.mul(fit(stiffness(at.params), z, 'stiffness'), z))), at.q);
    },
    states: oneState(name, initial, at => {
      const z = stateOf(at, name);
      const width = tf.div(fit(limit(at.params), z, 'force'), fit(stiffness(at.params), z, 'stiffness'));
      return stopRate(powers, at, z, single(on.of(at.v), 'maxwellSlip'), width);
    }),
  };
}

/** Within 1 % of the ideal stop but for the last fifth of its width, and still easy for Newton's method. */
const SHARPNESS = 10;

/** z' = v − ½ (v + |v| sgn z) |z/w|ⁿ: v while it is elastic or turns back, 0 at the width. */
function stopRate(powers: Powers, at: TermAt<never>, z: tf.Tensor, v: tf.Tensor, width: tf.Tensor): tf.Tensor {
  const {signed, absolute} = powers(at, tf.div(z, width));
  return tf.sub(v, tf.mul(0.5, tf.add(tf.mul(v, absolute), tf.mul(tf.abs(v), signed))));
}

/** The argument of `stopOperator` and `playOperator`. */
export interface StopSpec<Z extends string = 'stop'> extends Acting {
  /** w [length]: half the width, at which the stop yields and by which the play lags behind. */
  readonly width: Coefficient;
  /** n: sharpness; default 10. */
  readonly sharpness?: Coefficient;
  /** Initial z, of the shape of the coordinates it acts on, or of the widths; default 0. */
  readonly initial?: Numeric;
  /** Name of the state; default 'stop'. */
  readonly name?: Z;
}

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
  refuseUnknownOptions(spec, {width: any, sharpness: any, initial: any, name: text, along: any}, owner);
  const {initial = 0, name = 'stop' as Z} = spec;
  const width = coefficient(spec.width, `${owner}: width`, 'positive');
  const powers = powersOf(spec.sharpness ?? SHARPNESS, owner);
  const on = coordinate(spec, owner);
  return {
    output: at => output(stateOf(at, name), on.of(at.q)),
    states: oneState(name, initial, at => {
      const z = stateOf(at, name);
      const limit = fitting(width(at.params), z.shape, `${owner}: width`, 'the state');
      return stopRate(powers, at, z, fitting(on.of(at.v), z.shape, `${owner}: the velocity`, 'the state'), limit);
    }),
  };
}
