/** Springs of single coordinates, and the law that every spring here follows. */
import * as tf from '@tensorflow/tfjs';
import {object, optional, readOptions, typed, type Options} from '../lib/checks.js';
import type {Params} from '../lib/index.js';
import {OptionError} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, isZero, quantity} from './coefficient.js';
import type {ConservativeTerm} from './energy.js';
import {conservative} from './energy.js';

/**
 * The response of a spring to its elongation e, elementwise: its tension, and the stored energy, of which the
 * tension is the derivative. For example, a rope that pulls but does not push:
 * `{tension: e => tf.mul(k, tf.relu(e)), energy: e => tf.mul(k / 2, tf.square(tf.relu(e)))}`.
 */
export interface SpringLaw {
  /** [force], of the shape of the elongation; positive pulls. */
  tension(elongation: tf.Tensor, params: Params): tf.Tensor;
  /** [force · length], of the shape of the elongation. */
  energy(elongation: tf.Tensor, params: Params): tf.Tensor;
}

/** A linear spring, or one with a cubic part. */
export interface CubicElasticity {
  /** k [force / length]; negative is a spring that buckles (Duffing's double well, with `cubic` < 0). */
  readonly stiffness: Coefficient;
  /** c [1 / length²] of the tension k(e + c e³); default 0, a linear spring. k c > 0 hardens, k c < 0 softens. */
  readonly cubic?: Coefficient;
}

/** A linear or cubic spring, or a custom law. */
export type Elasticity = CubicElasticity | {readonly law: SpringLaw};

/** `Elasticity` among the options of a model; `springLaw` reads it. */
export const elasticityOptions = {
  stiffness: optional(typed<Coefficient>()),
  cubic: optional(typed<Coefficient>()),
  law: optional(typed<SpringLaw>(object)),
};

/**
 * A law, and the ratio of tension to elongation as a function of the elongation's square, where that is known: it has
 * no kink at zero.
 */
export interface ResolvedLaw extends SpringLaw {
  secant?(square: tf.Tensor, params: Params): tf.Tensor;
}

/**
 * The law k(e + c e³) with the energy k(e²/2 + c e⁴/4), or the user's own.
 * @throws OptionError 'bad-spring' where neither or both are given
 */
export function springLaw(elasticity: Elasticity, name: string): ResolvedLaw {
  const {law, stiffness, cubic} = elasticity as Partial<CubicElasticity> & {readonly law?: SpringLaw};
  if ((law === undefined) === (stiffness === undefined))
    throw new OptionError('bad-spring', `${name} takes either a stiffness (and cubic) or a law {tension, energy}.`);
  if (law !== undefined) {
    if (typeof law.tension !== 'function' || typeof law.energy !== 'function')
      throw new OptionError('bad-spring', `${name}: law needs two functions of the elongation, tension and energy.`);
    return law;
  }
  const fitted =
    (read: ReturnType<typeof coefficient>): Fitted =>
    (elongation, params) =>
      read(params, elongation.shape, 'the elongations');
  const k = fitted(coefficient(stiffness as Coefficient, `${name}: stiffness`));
  if (cubic === undefined || isZero(cubic)) {
    return {
      tension: (e, params) => tf.mul(k(e, params), e),
      energy: (e, params) => tf.mul(k(e, params), tf.mul(0.5, tf.square(e))),
      secant: k,
    };
  }
  const c = fitted(coefficient(cubic, `${name}: cubic`));
  const secant: Fitted = (square, params) => tf.mul(k(square, params), tf.add(1, tf.mul(c(square, params), square)));
  return {
    tension: (e, params) => tf.mul(secant(tf.square(e), params), e),
    energy: (e, params) => {
      const square = tf.square(e);
      return tf.mul(k(e, params), tf.mul(square, tf.add(0.5, tf.mul(tf.mul(0.25, c(e, params)), square))));
    },
    secant,
  };
}

type Fitted = (elongation: tf.Tensor, params: Params) => tf.Tensor;

const springOptions = {
  ...elasticityOptions,
  /** Position in which the spring is not stressed, a number or broadcasting to q; default 0. */
  rest: optional(quantity(), 0),
};

/**
 * A spring to ground on every coordinate: f = −k(e + c e³), e = q − rest. Each coefficient is a number
 * or broadcasts to q; a stiffness of 0 leaves a coordinate free.
 * @throws OptionError 'bad-coefficient', 'bad-spring'; ShapeError 'coefficient-shape' when traced
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {spring} from 'stiffgrad/models';
 *
 * const oscillator = mechanics({mass: 1, forces: [spring({stiffness: 1})]});
 * const path = simulate(oscillator, {q: 1, v: 0}, {dt: 0.01, steps: 100});
 * console.log(path.values('q')[100]); // → 0.540
 * ```
 */
export function spring(spec: Elasticity & Pick<Options<typeof springOptions>, 'rest'>): ConservativeTerm {
  const {rest} = readOptions(spec, springOptions, 'spring');
  const law = springLaw(spec, 'spring');
  const elongation = (q: tf.Tensor, params: Params): tf.Tensor => tf.sub(q, rest(params, q.shape));
  return conservative(
    ({q, params}) => tf.neg(law.tension(elongation(q, params), params)),
    ({q, params}) => tf.sum(law.energy(elongation(q, params), params)),
  );
}
