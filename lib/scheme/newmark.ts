/**
 * Newmark's family (Newmark 1959): the unknown is the acceleration a⁺, with M a⁺ = f⁺ at the end of
 * the step, and a is carried in the state.
 */
import * as tf from '@tensorflow/tfjs';
import {between, refuseUnknownOptions} from '../checks.js';
import type {Blocks} from '../system/equations.js';
import type {Formulation, Scheme, StepPoint} from './scheme.js';

/** Options of `newmark`. */
export interface NewmarkOptions {
  /** Weight of a⁺ in the position; default ¼. */
  readonly beta?: number;
  /** Weight of a⁺ in the velocity; default ½. */
  readonly gamma?: number;
}

/**
 * The step's error from the change of the acceleration (Zienkiewicz & Xie 1991): what the step leaves out
 * of Taylor's series for q is h²(β − 1/6)(a⁺ − a), for v it is h(γ − ½)(a⁺ − a). With γ = ½ the velocity is
 * of second order and this says nothing of it: q is judged alone, and in a motion both errors are in
 * proportion. With β = 1/6 it says nothing of q either, and such a step is compared with two half steps.
 */
function estimated(beta: number, gamma: number): Formulation['error'] {
  if (Math.abs(beta - 1 / 6) < linearAcceleration) return undefined;
  return {
    order: gamma === 0.5 ? 3 : 2,
    estimate: ({a}, {x, t, h, positionRate}): Blocks => {
      const change = tf.mul(h, tf.sub(a, before(x)));
      const q = positionRate(x.q, tf.mul(tf.mul(h, change), beta - 1 / 6), t);
      return gamma === 0.5 ? {q} : {q, v: tf.mul(change, gamma - 0.5)};
    },
  };
}

/** The acceleration that the step begins with: where the method damps, that of the start is not a = M⁻¹f there. */
const before = (x: Blocks): tf.Tensor => x.algorithmic ?? x.a;

/** β this near 1/6 has lost the leading term of its estimate to the next one. */
const linearAcceleration = 0.01;

/**
 * Newmark's method: v⁺ = v + h[(1−γ)a + γa⁺], q⁺ = q + hv + h²[(½−β)a + βa⁺]. Second order for γ = ½ only;
 * unconditionally stable for 2β ≥ γ ≥ ½. (¼, ½) is the average acceleration method, (1/6, ½) the linear one, (0, ½)
 * the central difference. Starts at a = M⁻¹f; for γ > ½, which damps, its first step takes a⁺ at both ends, as a
 * start off the slow manifold would leave v of the size of hω²q otherwise (start.ts). With constraints, which `ggl`
 * stabilizes, the energy of a motion that conserves it drifts, and long runs warn of it: `verlet` is symplectic there.
 * @throws OptionError where β or γ is out of range
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, newmark, simulate} from 'stiffgrad';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
 * console.log(simulate(system, {q: 1, v: 0}, {scheme: newmark(), dt: 0.01, steps: 100}).values('q')[100]); // → 0.540
 * ```
 */
export function newmark(options: NewmarkOptions = {}): Scheme {
  refuseUnknownOptions(options, {beta: between(0, 1), gamma: between(0, 1)}, 'newmark', 'bad-scheme');
  const {beta = 0.25, gamma = 0.5} = options;
  const damps = gamma > 0.5;
  /** The end of the step, from the acceleration there. */
  const end = ({x, h, retract}: StepPoint, a: tf.Tensor): {q: tf.Tensor; v: tf.Tensor} => ({
    q: retract(x.q, tf.mul(h, x.v), tf.mul(tf.square(h), tf.add(tf.mul(before(x), 0.5 - beta), tf.mul(a, beta)))),
    v: tf.add(x.v, tf.mul(h, tf.add(tf.mul(before(x), 1 - gamma), tf.mul(a, gamma)))),
  });
  const now = ({x, t, acceleration}: StepPoint): Blocks => ({a: acceleration(x.q, x.v, t)});
  const mechanics: Formulation = {
    unknown: ['a'],
    // With β = 0 the position is known before the multiplier: nothing can hold it.
    multipliers: beta === 0 || gamma === 0 ? undefined : ['lambda'],
    supports: {kinematics: true},
    derivatives: {algorithmic: 2},
    carry: damps ? {reads: ['first'], from: (at, {first}) => ({...now(at), algorithmic: first.a})} : now,
    residual: ({a}, at) => {
      const {q, v} = end(at, a);
      return {a: tf.sub(at.mass(q, a), at.force(q, v, tf.add(at.t, at.h)))};
    },
    update: ({a}, at) => ({...end(at, a), a, ...(damps ? {algorithmic: a} : {})}),
    error: estimated(beta, gamma),
  };
  return {name: `newmark(${beta}, ${gamma})`, order: gamma === 0.5 ? 2 : 1, dissipative: damps, mechanics};
}
