/**
 * Implicit Runge–Kutta methods on mechanical systems with constraints. Stiffly accurate collocation (Radau IIA) holds
 * positions at every stage, an index-3 system (Hairer, Lubich & Roche 1989), or positions and velocities (Gear, Gupta &
 * Leimkuhler). Stages of Gauss's methods do not reach the end of the step, where the constraints would be left to an
 * extrapolation of no order: constrained-symplectic.ts holds joints at points of their own. For what it does not take,
 * and for the diagonally implicit methods, (a, λ) of every stage obey φ'' = 0, as in the motion itself: an ode on the
 * manifold, integrated with the full order; then the end of the step is moved onto φ = 0 and φ' = 0 by the least change
 * (Hairer & Wanner, Solving ODEs II, §VII.2), and (a, λ) there are those of the instant. All of this is one system of
 * equations, and so differentiable.
 */
import * as tf from '@tensorflow/tfjs';
import type {PhasePoint} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import {constraintsOf, instantBalance, ofVelocities, onto, projected, rowScale, stabilized} from './constrained.js';
import {endPlace, stageName, stageNames, stagePlace} from './implicit-runge-kutta.js';
import type {Formulation, FormulationOf, StepPoint, SystemTraits} from './scheme.js';
import type {Tableau} from './tableau.js';
import {implicitStages, isExplicit, sum} from './tableau.js';

/** The rate of the position at a stage, as messages say it. */
const rateOfPosition = "q'";

const byStage = (stages: readonly number[], rows: (i: number) => Blocks): Blocks =>
  Object.fromEntries(stages.flatMap(i => Object.entries(rows(i)).map(([block, row]) => [stageName(block, i), row])));

/** (a, λ) of the instant are carried: the trajectory shows them, and the next step's Newton starts there. */
const carry = ({x, t, acceleration}: StepPoint): Blocks => ({a: acceleration(x.q, x.v, t)});

/**
 * Where stages lie. With q' = N(q)v or hidden states, and where velocities are held at the stages, rates of positions
 * are unknowns beside the accelerations, and positions are sums of them, settled on their manifold.
 */
interface Places {
  readonly unknown: readonly string[];
  stage(z: Blocks, at: StepPoint, i: number, acceleration: (j: number) => tf.Tensor): PhasePoint;
  end(z: Blocks, at: StepPoint, acceleration: (j: number) => tf.Tensor): PhasePoint;
  /** The rows of stage i. @param velocity of the rate, where it is not that of the place */
  rows(z: Blocks, at: StepPoint, i: number, place: PhasePoint, velocity?: tf.Tensor): Blocks;
  guess(at: StepPoint, i: number): Blocks;
}

const summed = (tableau: Tableau): Places => ({
  unknown: [],
  stage: (_, at, i, acceleration) => stagePlace(tableau, at, i, acceleration),
  end: (_, at, acceleration) => endPlace(tableau, at, acceleration),
  rows: () => ({}),
  guess: () => ({}),
});

function byRates(tableau: Tableau): Places {
  const {a, b, c} = tableau;
  const rate = (z: Blocks, {x, t, positionRate}: StepPoint, j: number): tf.Tensor =>
    isExplicit(tableau, j) ? positionRate(x.q, x.v, t) : z[stageName(rateOfPosition, j)];
  const place = (
    weights: readonly number[],
    z: Blocks,
    at: StepPoint,
    t: tf.Tensor,
    acceleration: (j: number) => tf.Tensor,
  ): PhasePoint => ({
    q: at.project(sum(at.x.q, at.h, weights, j => rate(z, at, j))),
    v: sum(at.x.v, at.h, weights, acceleration),
    t,
  });
  return {
    unknown: stageNames(rateOfPosition, implicitStages(tableau)),
    stage: (z, at, i, acceleration) => place(a[i], z, at, tf.add(at.t, tf.mul(at.h, c[i])), acceleration),
    end: (z, at, acceleration) => place(b, z, at, tf.add(at.t, at.h), acceleration),
    rows: (z, at, i, {q, v, t}, velocity = v) => ({
      [rateOfPosition]: tf.sub(z[stageName(rateOfPosition, i)], at.positionRate(q, velocity, t)),
    }),
    guess: ({x, t, h, positionRate}, i) => {
      const ahead = tf.mul(h, c[i]);
      return {[rateOfPosition]: positionRate(x.q, tf.add(x.v, tf.mul(ahead, x.a)), tf.add(t, ahead))};
    },
  };
}

const placesOf = (tableau: Tableau, general: boolean): Places => (general ? byRates : summed)(tableau);

/**
 * Positions held at all stages of a stiffly accurate method without explicit stages; with 'ggl' the velocities too,
 * q' = N(q)(v + NᵀGᵀμ).
 */
export const heldStages =
  (tableau: Tableau): FormulationOf =>
  ({general, stabilization}) =>
    stabilization === 'ggl'
      ? heldStagesAt(tableau, byRates(tableau), true)
      : stabilized(heldStagesAt(tableau, placesOf(tableau, general), false), stabilization);

function heldStagesAt(tableau: Tableau, places: Places, velocities: boolean): Formulation {
  const stages = implicitStages(tableau);
  const last = stages.length - 1;
  const place = (z: Blocks, at: StepPoint, i: number): PhasePoint => places.stage(z, at, i, j => z[stageName('a', j)]);
  const rows = (z: Blocks, at: StepPoint, i: number): Blocks => {
    const constraints = constraintsOf(at);
    const here = place(z, at, i);
    const {q, v, t} = here;
    const [a, lambda, mu] = ['a', 'lambda', ofVelocities].map(block => z[stageName(block, i)]);
    return {
      a: tf.sub(at.mass(q, a), tf.add(at.force(q, v, t), constraints.reaction(here, lambda))),
      // Rows of positions over h², as accelerations: the size of the stages' own weights is that of one.
      lambda: constraints.rows(here, lambda, rowScale(at, tf.square(at.h), at.h)),
      ...(velocities
        ? {
            ...places.rows(z, at, i, here, tf.add(v, constraints.reaction(here, mu, 'heldPositions'))),
            [ofVelocities]: tf.add(constraints.velocities(here, mu, false), tf.mul(at.regularization, mu)),
          }
        : places.rows(z, at, i, here)),
    };
  };
  return {
    unknown: [...stageNames('a', stages), ...places.unknown],
    multipliers: [...stageNames('lambda', stages), ...(velocities ? stageNames(ofVelocities, stages) : [])],
    supports: {kinematics: true, contacts: 'soft'},
    carry,
    residual: (z, at) => byStage(stages, i => rows(z, at, i)),
    update: (z, at) => {
      const {q, v} = place(z, at, last);
      return {q, v, a: z[stageName('a', last)], lambda: z[stageName('lambda', last)]};
    },
    guess: at => ({z: byStage(stages, i => ({a: at.x.a, lambda: at.x.lambda, ...places.guess(at, i)}))}),
  };
}

/** Accelerations held at the stages, positions and velocities at the end, so that a projection has nothing to do. */
export const heldEnd =
  (tableau: Tableau): ((system: SystemTraits) => Formulation | undefined) =>
  ({general, stabilization}) =>
    stabilization === 'ggl' ? undefined : heldEndAt(tableau, placesOf(tableau, general));

function heldEndAt(tableau: Tableau, places: Places): Formulation {
  const stages = implicitStages(tableau);
  const acceleration =
    (z: Blocks, {x}: StepPoint) =>
    (i: number): tf.Tensor =>
      isExplicit(tableau, i) ? x.a : z[stageName('a', i)];
  /** The end, from where the stages lead. */
  const moved = (z: Blocks, at: StepPoint, ahead?: PhasePoint): tf.Tensor =>
    at.hasKinematicsOrStates ? at.unknownPosition.at((ahead ?? places.end(z, at, acceleration(z, at))).q, z.q) : z.q;
  return {
    unknown: [...stageNames('a', stages), ...places.unknown, ...projected.unknown, 'a'],
    multipliers: [...stageNames('lambda', stages), ...projected.multipliers, 'lambda'],
    supports: {kinematics: true, contacts: 'none'},
    carry,
    residual: (z, at) => {
      const ahead = places.end(z, at, acceleration(z, at));
      return {
        ...byStage(stages, i => {
          const place = places.stage(z, at, i, acceleration(z, at));
          return {
            ...instantBalance(at, place, z[stageName('a', i)], z[stageName('lambda', i)]),
            ...places.rows(z, at, i, place),
          };
        }),
        ...onto(z, ahead, at),
        ...instantBalance(at, {q: moved(z, at, ahead), v: z.v, t: ahead.t}, z.a, z.lambda),
      };
    },
    update: (z, at) => ({q: moved(z, at), v: z.v, a: z.a, lambda: z.lambda}),
    guess: at => {
      const {x, h} = at;
      return {
        z: {
          ...byStage(stages, i => ({a: x.a, lambda: x.lambda, ...places.guess(at, i)})),
          // Where a position is an unknown by itself; else its increment from the end of the stages is zero.
          ...(at.hasKinematicsOrStates ? {} : {q: tf.add(x.q, tf.mul(h, x.v))}),
          v: tf.add(x.v, tf.mul(h, x.a)),
        },
      };
    },
  };
}
