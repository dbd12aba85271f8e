/**
 * Implicit Runge–Kutta methods on mechanical systems with constraints. Stiffly accurate collocation
 * (Radau IIA) holds positions at every stage, an index-3 system (Hairer, Lubich & Roche 1989), or positions
 * and velocities (Gear, Gupta & Leimkuhler). Gauss's methods cannot: their stages do not reach the end of
 * the step, where the constraints would be left to an extrapolation of no order. For these and the
 * diagonally implicit ones (a, λ) of every stage obey φ'' = 0, as in the motion itself: an ode on the
 * manifold, integrated with the full order; then the end of the step is moved onto φ = 0 and φ' = 0 by the
 * least change (Hairer & Wanner, Solving ODEs II, §VII.2), and (a, λ) there are those of the instant. All of
 * this is one system of equations, and so differentiable.
 */
import * as tf from '@tensorflow/tfjs';
import {forces, type Place} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import {constraintsOf, instantBalance, onto, projected, rowScale} from './constrained.js';
import {endPlace, stageName, stageNames, stagePlace} from './implicit-runge-kutta.js';
import type {Formulation, StepPoint} from './scheme.js';
import type {Tableau} from './tableau.js';
import {implicitStages, isExplicit, sum} from './tableau.js';

const byStage = (stages: readonly number[], rows: (i: number) => Blocks): Blocks =>
  Object.fromEntries(stages.flatMap(i => Object.entries(rows(i)).map(([block, row]) => [stageName(block, i), row])));

/** The same for every stage. */
const repeated = (stages: readonly number[], blocks: Blocks): Blocks => byStage(stages, () => blocks);

/** Rows of positions over h², as accelerations: the size of the stages' own weights is that of one. */
const scaleOf = (at: StepPoint): ReturnType<typeof rowScale> => rowScale(at, tf.square(at.h), at.h);

/** M A − f − Gᵀλ and φ/h² at a stage. */
function held(at: StepPoint, place: Place, a: tf.Tensor, lambda: tf.Tensor): {a: tf.Tensor; lambda: tf.Tensor} {
  const constraints = constraintsOf(at);
  return {
    a: tf.sub(at.mass(place.q, a), tf.add(at.force(place.q, place.v, place.t), constraints.reaction(place, lambda))),
    lambda: constraints.rows(place, lambda, scaleOf(at)),
  };
}

/** (a, λ) of the instant are carried: the trajectory shows them, and the next step's Newton starts there. */
const carry: Formulation['carry'] = ({x, t, acceleration}) => ({a: acceleration(x.q, x.v, t)});

/** Positions held at all stages of a stiffly accurate method without explicit stages. */
export function heldStages(tableau: Tableau): Formulation {
  const stages = implicitStages(tableau);
  const last = stages.length - 1;
  const place = (z: Blocks, at: StepPoint, i: number): Place => stagePlace(tableau, at, i, j => z[stageName('a', j)]);
  return {
    unknown: stageNames('a', stages),
    multipliers: stageNames('lambda', stages),
    carry,
    residual: (z, at) =>
      byStage(stages, i => held(at, place(z, at, i), z[stageName('a', i)], z[stageName('lambda', i)])),
    update: (z, at) => {
      const {q, v} = place(z, at, last);
      return {q, v, a: z[stageName('a', last)], lambda: z[stageName('lambda', last)]};
    },
    guess: ({x}) => ({z: repeated(stages, {a: x.a, lambda: x.lambda})}),
  };
}

/** Positions and velocities held at all stages: Q' = W = V + Gᵀμ. */
export function stabilizedStages(tableau: Tableau): Formulation {
  const stages = implicitStages(tableau);
  const last = stages.length - 1;
  const place = (z: Blocks, at: StepPoint, i: number): Place => ({
    q: sum(at.x.q, at.h, tableau.a[i], j => z[stageName('w', j)]),
    v: sum(at.x.v, at.h, tableau.a[i], j => z[stageName('a', j)]),
    t: tf.add(at.t, tf.mul(at.h, tableau.c[i])),
  });
  const rows = (z: Blocks, at: StepPoint, i: number): Blocks => {
    const constraints = constraintsOf(at);
    const here = place(z, at, i);
    const [a, w, lambda, mu] = ['a', 'w', 'lambda', 'mu'].map(block => z[stageName(block, i)]);
    return {
      ...held(at, here, a, lambda),
      w: tf.sub(w, tf.add(here.v, constraints.reaction(here, mu, forces.heldPositions))),
      mu: tf.add(constraints.velocities(here, mu, false), tf.mul(at.regularization, mu)),
    };
  };
  return {
    unknown: [...stageNames('a', stages), ...stageNames('w', stages)],
    derivatives: {w: 1},
    multipliers: [...stageNames('lambda', stages), ...stageNames('mu', stages)],
    carry,
    residual: (z, at) => byStage(stages, i => rows(z, at, i)),
    update: (z, at) => {
      const {q, v} = place(z, at, last);
      return {q, v, a: z[stageName('a', last)], lambda: z[stageName('lambda', last)]};
    },
    guess: ({x, h}) => ({
      z: byStage(stages, i => ({a: x.a, lambda: x.lambda, w: tf.add(x.v, tf.mul(tf.mul(h, tableau.c[i]), x.a))})),
    }),
  };
}

/** Accelerations held at the stages, positions and velocities at the end. */
export function heldEnd(tableau: Tableau): Formulation {
  const stages = implicitStages(tableau);
  const acceleration =
    (z: Blocks, {x}: StepPoint) =>
    (i: number): tf.Tensor =>
      isExplicit(tableau, i) ? x.a : z[stageName('a', i)];
  return {
    unknown: [...stageNames('a', stages), ...projected.unknown, 'a'],
    multipliers: [...stageNames('lambda', stages), ...projected.multipliers, 'lambda'],
    carry,
    residual: (z, at) => {
      const ahead = endPlace(tableau, at, acceleration(z, at));
      return {
        ...byStage(stages, i =>
          instantBalance(
            at,
            stagePlace(tableau, at, i, acceleration(z, at)),
            z[stageName('a', i)],
            z[stageName('lambda', i)],
          ),
        ),
        ...onto(z, ahead, at),
        ...instantBalance(at, {q: z.q, v: z.v, t: ahead.t}, z.a, z.lambda),
      };
    },
    update: ({q, v, a, lambda}) => ({q, v, a, lambda}),
    guess: ({x, h}) => ({
      z: {
        ...repeated(stages, {a: x.a, lambda: x.lambda}),
        q: tf.add(x.q, tf.mul(h, x.v)),
        v: tf.add(x.v, tf.mul(h, x.a)),
      },
    }),
  };
}
