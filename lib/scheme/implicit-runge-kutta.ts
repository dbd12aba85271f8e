/**
 * Implicit Runge–Kutta methods (Hairer & Wanner, Solving ODEs II, §IV.8). For an ode the unknowns are the
 * increments zᵢ = Yᵢ − y, which keep their digits where h is large and y hardly moves, and the slopes of
 * stages are not evaluated in each other's equations but taken from the increments, hK = A⁻¹Z:
 *
 *     d(A⁻¹Z)ᵢ − dhf(y + zᵢ, t + cᵢh) = 0
 *
 * so that a stiff f magnifies no other stage's rounding, and stages are coupled by multiples of the identity.
 * For mechanics the unknowns are the accelerations of the stages,
 *
 *     M(Qᵢ)Aᵢ = f(Qᵢ, Vᵢ, t + cᵢh),   Vᵢ = v + hΣ aᵢⱼAⱼ,   Qᵢ = q + hcᵢv + h²Σ (A²)ᵢⱼAⱼ,
 *
 * half as many as the increments of (q, v) would be. Equations of a diagonally implicit method ask for no
 * later stage; its explicit first stage has no unknown.
 */
import * as tf from '@tensorflow/tfjs';
import type {PhasePoint} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import type {Formulation, StepPoint} from './scheme.js';
import {unknownRank} from './unknown-rank.js';
import {identity, solved, times} from './small-matrix.js';
import type {Tableau} from './tableau.js';
import {implicitStages, isExplicit, isLowerTriangular, sum, twice} from './tableau.js';

/** Names of blocks, one for each stage, as messages say them. */
export const stageName = (block: string, i: number): string => `${block} in stage ${i + 1}`;
export const stageNames = (block: string, stages: readonly number[]): string[] => stages.map(i => stageName(block, i));

/** hK = inverse·Z − start·hk₀ of the implicit stages, k₀ the slope of an explicit first one. */
export interface StageSlopes {
  readonly inverse: readonly (readonly number[])[];
  readonly start: readonly number[];
}

export function stageSlopes(tableau: Tableau): StageSlopes {
  const stages = implicitStages(tableau);
  const own = stages.map(i => stages.map(j => tableau.a[i][j]));
  const inverse = solved(own, identity(stages.length));
  if (isLowerTriangular(tableau)) inverse.forEach((row, i) => row.fill(0, i + 1));
  return {
    inverse,
    start:
      stages.length === tableau.c.length
        ? stages.map(() => 0)
        : times(
            inverse,
            stages.map(i => tableau.a[i][0]),
          ),
  };
}

/** y' = f(y, t). */
export function firstOrder(tableau: Tableau): Formulation {
  const stages = implicitStages(tableau);
  const {a, c} = tableau;
  const {inverse, start} = stageSlopes(tableau);
  const gains = tableau.gains ?? c.map((_, i) => (i === c.length - 1 ? 1 : 0));
  const increment = (z: Blocks, i: number): tf.Tensor => z[stageName('y', i)];
  // Rows of a diagonally implicit method begin with zᵢ itself.
  const scale = stages.map(i => (isLowerTriangular(tableau) ? a[i][i] : 1));
  return {
    unknown: stageNames('y', stages),
    stages: {},
    supports: isLowerTriangular(tableau) || gains[gains.length - 1] === 1 ? {mass: 2} : {},
    residual: (z, {x, t, h, rightHandSide, mass, hasMassMatrix, massIsVariable = false, particularRate}) => {
      const first = start.some(weight => weight !== 0) ? rightHandSide({y: x.y}, t).y : undefined;
      // M k₀ = f at the start. What k₀ has beside, M of a stage does not see where its null vectors stay.
      if (first !== undefined && massIsVariable && particularRate === undefined) throw unknownRank();
      const slope0 = first !== undefined && massIsVariable ? particularRate?.(first, x.y, t) : undefined;
      return Object.fromEntries(
        stages.map((i, k) => {
          // Terms of other stages come first: those of earlier ones are known while the stage's own equation is solved.
          const others = stages.flatMap((j, l) =>
            l === k || inverse[k][l] === 0 ? [] : [tf.mul(increment(z, j), scale[k] * inverse[k][l])],
          );
          const y = tf.add(x.y, increment(z, i));
          const when = tf.add(t, tf.mul(h, c[i]));
          const before = tf.mul(h, -scale[k] * start[k]);
          if (slope0 !== undefined && start[k] !== 0) others.push(tf.mul(before, slope0));
          if (hasMassMatrix && others.length > 0) others.splice(0, Infinity, mass(y, tf.addN(others), when));
          // The slope k₀ at the start need only obey M k₀ = f, also where M is singular.
          if (first !== undefined && slope0 === undefined && start[k] !== 0) others.push(tf.mul(before, first));
          const own = scale[k] * inverse[k][k];
          const gain = mass(y, own === 1 ? increment(z, i) : tf.mul(increment(z, i), own), when);
          const linear = others.length === 0 ? gain : tf.add(tf.addN(others), gain);
          const slope = rightHandSide({y}, when).y;
          return [stageName('y', i), tf.sub(linear, tf.mul(tf.mul(h, scale[k]), slope))];
        }),
      );
    },
    update: (z, {x}) => ({y: sum(x.y, 1, gains, i => increment(z, i))}),
  };
}

/** Where stage i is, from the accelerations of all. */
export function stagePlace(
  {a, c}: Tableau,
  {x, t, h}: StepPoint,
  i: number,
  acceleration: (j: number) => tf.Tensor,
): PhasePoint {
  return {
    q: sum(tf.add(x.q, tf.mul(tf.mul(h, c[i]), x.v)), tf.square(h), twice(a[i], a), acceleration),
    v: sum(x.v, h, a[i], acceleration),
    t: tf.add(t, tf.mul(h, c[i])),
  };
}

/** The end of the step likewise. */
export function endPlace({a, b}: Tableau, {x, t, h}: StepPoint, acceleration: (j: number) => tf.Tensor): PhasePoint {
  return {
    q: sum(tf.add(x.q, tf.mul(h, x.v)), tf.square(h), twice(b, a), acceleration),
    v: sum(x.v, h, b, acceleration),
    t: tf.add(t, h),
  };
}

/** Accelerations of the stages, that of an explicit first one by the force at the start. */
export function accelerationsOf(
  tableau: Tableau,
  z: Blocks,
  {x, t, acceleration}: StepPoint,
): (i: number) => tf.Tensor {
  const first = isExplicit(tableau, 0) ? acceleration(x.q, x.v, t) : undefined;
  return i => (first !== undefined && isExplicit(tableau, i) ? first : z[stageName('a', i)]);
}

export function mechanical(tableau: Tableau): Formulation {
  const stages = implicitStages(tableau);
  return {
    unknown: stageNames('a', stages),
    stages: {},
    residual: (z, at) => {
      const acceleration = accelerationsOf(tableau, z, at);
      return Object.fromEntries(
        stages.map(i => {
          const {q, v, t} = stagePlace(tableau, at, i, acceleration);
          return [stageName('a', i), tf.sub(at.mass(q, acceleration(i)), at.force(q, v, t))];
        }),
      );
    },
    update: (z, at) => {
      const {q, v} = endPlace(tableau, at, accelerationsOf(tableau, z, at));
      return {q, v};
    },
    guess: ({x, t, acceleration}) => {
      const now = acceleration(x.q, x.v, t);
      return {z: Object.fromEntries(stages.map(i => [stageName('a', i), now]))};
    },
  };
}
