/**
 * Implicit Runge–Kutta methods, all stages solved at once (Hairer & Wanner, Solving ODEs II, §IV.8).
 * For an ode the unknowns are the increments zᵢ = Yᵢ − y, which keep their digits where h is large and y
 * hardly moves; for mechanics the accelerations of the stages,
 *
 *     M(Qᵢ)Aᵢ = f(Qᵢ, Vᵢ, t + cᵢh),   Vᵢ = v + hΣ aᵢⱼAⱼ,   Qᵢ = q + hcᵢv + h²Σ (A²)ᵢⱼAⱼ,
 *
 * half as many as the increments of (q, v) would be. Diagonally implicit methods are the case of a
 * block triangular Newton matrix; their explicit first stage has no unknown.
 */
import * as tf from '@tensorflow/tfjs';
import type {Place} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import type {Formulation, StepPoint} from './scheme.js';
import type {Tableau} from './tableau.js';
import {implicitStages, isExplicit, sum, twice} from './tableau.js';

/** Names of blocks, one for each stage: a1, a2, … */
export const stageName = (block: string, i: number): string => `${block}${i + 1}`;
export const stageNames = (block: string, stages: readonly number[]): string[] => stages.map(i => stageName(block, i));

/** y' = f(y, t): zᵢ − hΣ aᵢⱼ f(y + zⱼ, t + cⱼh) = 0. */
export function firstOrder(tableau: Tableau): Formulation {
  const stages = implicitStages(tableau);
  const {a, c} = tableau;
  const gains = tableau.gains ?? c.map((_, i) => (i === c.length - 1 ? 1 : 0));
  const increment = (z: Blocks, i: number): tf.Tensor => z[stageName('gain', i)];
  return {
    unknown: stageNames('gain', stages),
    residual: (z, {x, t, h, rate}) => {
      const slopes = c.map((share, i) => rate({y: isExplicit(tableau, i) ? x.y : tf.add(x.y, increment(z, i))}, tf.add(t, tf.mul(h, share))).y);
      return Object.fromEntries(stages.map(i => [stageName('gain', i), sum(increment(z, i), tf.neg(h), a[i], j => slopes[j])]));
    },
    update: (z, {x}) => ({y: sum(x.y, 1, gains, i => increment(z, i))}),
  };
}

/** Where stage i is, from the accelerations of all. */
export function stagePlace({a, c}: Tableau, {x, t, h}: StepPoint, i: number, acceleration: (j: number) => tf.Tensor): Place {
  return {
    q: sum(tf.add(x.q, tf.mul(tf.mul(h, c[i]), x.v)), tf.square(h), twice(a[i], a), acceleration),
    v: sum(x.v, h, a[i], acceleration),
    t: tf.add(t, tf.mul(h, c[i])),
  };
}

/** The end of the step likewise. */
export function endPlace({a, b}: Tableau, {x, t, h}: StepPoint, acceleration: (j: number) => tf.Tensor): Place {
  return {
    q: sum(tf.add(x.q, tf.mul(h, x.v)), tf.square(h), twice(b, a), acceleration),
    v: sum(x.v, h, b, acceleration),
    t: tf.add(t, h),
  };
}

export function mechanical(tableau: Tableau): Formulation {
  const stages = implicitStages(tableau);
  const accelerations = (z: Blocks, {x, t, acceleration}: StepPoint) => {
    const first = tableau.c.length > stages.length ? acceleration(x.q, x.v, t) : undefined;
    return (i: number): tf.Tensor => (first !== undefined && isExplicit(tableau, i) ? first : z[stageName('a', i)]);
  };
  return {
    unknown: stageNames('a', stages),
    residual: (z, at) => {
      const acceleration = accelerations(z, at);
      return Object.fromEntries(stages.map(i => {
        const {q, v, t} = stagePlace(tableau, at, i, acceleration);
        return [stageName('a', i), tf.sub(at.mass(q, acceleration(i)), at.force(q, v, t))];
      }));
    },
    update: (z, at) => {
      const {q, v} = endPlace(tableau, at, accelerations(z, at));
      return {q, v};
    },
    guess: ({x, t, acceleration}) => {
      const now = acceleration(x.q, x.v, t);
      return {z: Object.fromEntries(stages.map(i => [stageName('a', i), now]))};
    },
  };
}
