/** Explicit schemes: no unknown, one update. With constraints, or more stages, velocity Verlet is implicit. */
import * as tf from '@tensorflow/tfjs';
import {positiveInteger, refuseUnknownOptions, type Check} from '../checks.js';
import type {Blocks} from '../system/equations.js';
import {isHolonomic, lobattoPair, symplectic} from './constrained-symplectic.js';
import type {Formulation, Scheme} from './scheme.js';

/** x + Σ cᵢ yᵢ on the blocks of the y; coefficients are numbers or scalars. */
export function combine(x: Blocks, ...terms: readonly (readonly [number | tf.Tensor, Blocks])[]): Blocks {
  const sum = (name: string): tf.Tensor =>
    terms.reduce<tf.Tensor>((total, [c, y]) => tf.add(total, tf.mul(y[name], c)), x[name]);
  return Object.fromEntries(Object.keys(terms[0][1]).map(name => [name, sum(name)]));
}

/** The state without the blocks that a scheme carries: the argument of `rate`. */
const state = (x: Blocks): Blocks => ('y' in x ? {y: x.y} : {q: x.q, v: x.v});

function onRates(name: string, order: number, update: Formulation['update']): Scheme {
  const formulation: Formulation = {unknown: [], update};
  return {name, order, mechanics: {...formulation, supports: {kinematics: true}}, ode: formulation};
}

/** x⁺ = x + h x'. First order. */
export function explicitEuler(): Scheme {
  return onRates('explicitEuler', 1, (_, {x, t, h, rate}) => combine(state(x), [h, rate(x, t)]));
}

/**
 * The classical Runge–Kutta method (Kutta 1901). Fourth order.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {ode, rk4, simulate} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * console.log(simulate(decay, {y: 1}, {scheme: rk4(), dt: 0.1, steps: 10}).values('y')[10]); // → 0.36788
 * ```
 */
export function rk4(): Scheme {
  return onRates('rk4', 4, (_, {x, t, h, rate}) => {
    const x0 = state(x);
    const half = tf.mul(h, 0.5);
    const k1 = rate(x0, t);
    const k2 = rate(combine(x0, [half, k1]), tf.add(t, half));
    const k3 = rate(combine(x0, [half, k2]), tf.add(t, half));
    const k4 = rate(combine(x0, [h, k3]), tf.add(t, h));
    const slope = combine(k1, [2, k2], [2, k3], [1, k4]);
    return combine(x0, [tf.div(h, 6), slope]);
  });
}

/** v⁺ = v + h a(q, v, t), then q⁺ = q + h v⁺. First order; symplectic for separable conservative systems. */
export function symplecticEuler(): Scheme {
  return {
    name: 'symplecticEuler',
    order: 1,
    mechanics: {
      unknown: [],
      supports: {kinematics: true},
      update: (_, {x, t, h, acceleration, retract}) => {
        const v = tf.add(x.v, tf.mul(h, acceleration(x.q, x.v, t)));
        return {q: retract(x.q, tf.mul(h, v)), v};
      },
    },
  };
}

const twoToNine: Check = {
  what: 'a whole number from 2 to 9',
  test: value => positiveInteger.test(value) && (value as number) >= 2 && (value as number) <= 9,
};

/**
 * Velocity Verlet (Störmer; the central difference method of structural dynamics). Second order;
 * symplectic for separable conservative systems. A force that depends on velocity is taken at the
 * end of the step with v + h a, which keeps the order: the error of that predictor is O(h²), and it
 * enters v⁺ with a factor h/2.
 *
 * With bilateral constraints of positions it is RATTLE (Andersen, J. Comput. Phys. 52, 1983): implicit, symplectic,
 * symmetric, of second order, also with a mass that depends on q (Hairer, Lubich & Wanner, Geometric Numerical
 * Integration, §VII.1). Positions and velocities obey the constraints at the end of every step, and λ is the mean over
 * the step. Forces that depend on v are taken at the velocity between the two impulses of the step. Other constraints,
 * and then also kinematics, hidden states and forces that read λ, throw an OptionError 'wrong-scheme' in the run.
 *
 * With more stages it is the pair of Lobatto IIIA and IIIB, of which both are the first (Jay, SIAM J. Numer. Anal. 33,
 * 1996): order 2 · stages − 2, symplectic, symmetric, implicit with and without constraints; λ is that at the end of
 * the step. It takes neither kinematics nor hidden states. The same function is also exported as `rattle` and
 * `lobattoIIIAB`.
 * @param options.stages 2 to 9; default 2
 * @throws OptionError where the number of stages is out of range
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, simulate, verlet} from 'stiffgrad';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
 * console.log(simulate(system, {q: 1, v: 0}, {scheme: verlet(), dt: 0.01, steps: 100}).values('q')[100]); // → 0.540
 * ```
 */
export function verlet(options: {readonly stages?: number} = {}): Scheme {
  refuseUnknownOptions(options, {stages: twoToNine}, 'verlet', 'bad-scheme');
  const {stages = 2} = options;
  return {
    name: stages === 2 ? 'verlet' : `lobattoIIIAB(${stages})`,
    order: 2 * stages - 2,
    mechanics: stages === 2 ? velocityVerlet : lobattoPair(stages),
    constrained: traits =>
      isHolonomic(traits) && traits.stabilization !== 'ggl'
        ? symplectic(stages - 1, 'lobatto', stages === 2 ? 'mean' : 'instant')
        : undefined,
  };
}

/** `verlet`, by the name that it has with constraints (Andersen 1983). */
export const rattle = verlet;

/** `verlet`, by the name of the pairs of more stages (Jay 1996). */
export const lobattoIIIAB = verlet;

const velocityVerlet: Formulation = {
  unknown: [],
  supports: {kinematics: true},
  update: (_, {x, t, h, acceleration, retract}) => {
    const a = acceleration(x.q, x.v, t);
    const half = tf.mul(h, 0.5);
    const q = retract(x.q, tf.mul(h, tf.add(x.v, tf.mul(half, a))));
    const next = acceleration(q, tf.add(x.v, tf.mul(h, a)), tf.add(t, h));
    return {q, v: tf.add(x.v, tf.mul(half, tf.add(a, next)))};
  },
};
