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
import {constraintsOf, instantBalance, ofVelocities, onto, projected, rowScale} from './constrained.js';
import {endPlace, stageName, stageNames, stagePlace} from './implicit-runge-kutta.js';
import type {Formulation, StepPoint} from './scheme.js';
import type {Tableau} from './tableau.js';
import {implicitStages, isExplicit, sum} from './tableau.js';

/** W of a stage, as messages say it. */
const rateOfPosition = "q'";

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

/**
 * Where stages lie. With q' = N(q)v or hidden states rates of positions are unknowns beside the accelerations, W = N(Q)V,
 * and positions are sums of them, settled on their manifold.
 */
interface Places {
  /** What is added to the formulation. */
  readonly blocks: Pick<Formulation, 'moves' | 'unknown' | 'ofPositions' | 'derivatives'>;
  stage(z: Blocks, at: StepPoint, i: number, acceleration: (j: number) => tf.Tensor): Place;
  end(z: Blocks, at: StepPoint, acceleration: (j: number) => tf.Tensor): Place;
  /** The rows of stage i, and where they begin. */
  rows(z: Blocks, at: StepPoint, i: number, place: Place): Blocks;
  guess(at: StepPoint): Blocks;
}

const summed = (tableau: Tableau): Places => ({
  blocks: {unknown: []},
  stage: (_, at, i, acceleration) => stagePlace(tableau, at, i, acceleration),
  end: (_, at, acceleration) => endPlace(tableau, at, acceleration),
  rows: () => ({}),
  guess: () => ({}),
});

function byRates(tableau: Tableau): Places {
  const stages = implicitStages(tableau);
  const rate = (z: Blocks, {x, t, positionRate}: StepPoint, j: number): tf.Tensor =>
    isExplicit(tableau, j) ? positionRate(x.q, x.v, t) : z[stageName(rateOfPosition, j)];
  const place = (
    weights: readonly number[],
    z: Blocks,
    at: StepPoint,
    t: tf.Tensor,
    acceleration: (j: number) => tf.Tensor,
  ): Place => ({
    q: at.settled(sum(at.x.q, at.h, weights, j => rate(z, at, j))),
    v: sum(at.x.v, at.h, weights, acceleration),
    t,
  });
  const unknown = stageNames(rateOfPosition, stages);
  return {
    blocks: {moves: true, unknown, ofPositions: unknown, derivatives: {[rateOfPosition]: 1}},
    stage: (z, at, i, acceleration) =>
      place(tableau.a[i], z, at, tf.add(at.t, tf.mul(at.h, tableau.c[i])), acceleration),
    end: (z, at, acceleration) => place(tableau.b, z, at, tf.add(at.t, at.h), acceleration),
    rows: (z, at, i, {q, v, t}) => ({
      [rateOfPosition]: tf.sub(z[stageName(rateOfPosition, i)], at.positionRate(q, v, t)),
    }),
    guess: ({x, t, positionRate}) => ({[rateOfPosition]: positionRate(x.q, x.v, t)}),
  };
}

/** A formulation, and the same for positions that are no sums of accelerations. */
const alsoMoving = (tableau: Tableau, made: (places: Places) => Formulation): Formulation => ({
  ...made(summed(tableau)),
  moving: made(byRates(tableau)),
});

/** Positions held at all stages of a stiffly accurate method without explicit stages. */
export const heldStages = (tableau: Tableau): Formulation =>
  alsoMoving(tableau, places => heldStagesAt(tableau, places));

function heldStagesAt(tableau: Tableau, places: Places): Formulation {
  const stages = implicitStages(tableau);
  const last = stages.length - 1;
  const place = (z: Blocks, at: StepPoint, i: number): Place => places.stage(z, at, i, j => z[stageName('a', j)]);
  return {
    ...places.blocks,
    unknown: [...stageNames('a', stages), ...places.blocks.unknown],
    multipliers: stageNames('lambda', stages),
    carry,
    residual: (z, at) =>
      byStage(stages, i => {
        const here = place(z, at, i);
        return {
          ...held(at, here, z[stageName('a', i)], z[stageName('lambda', i)]),
          ...places.rows(z, at, i, here),
        };
      }),
    update: (z, at) => {
      const {q, v} = place(z, at, last);
      return {q, v, a: z[stageName('a', last)], lambda: z[stageName('lambda', last)]};
    },
    guess: at => ({z: repeated(stages, {a: at.x.a, lambda: at.x.lambda, ...places.guess(at)})}),
  };
}

/** Positions and velocities held at all stages: Q' = W = V + Gᵀμ, or N(Q)(V + NᵀGᵀμ). */
export const stabilizedStages = (tableau: Tableau): Formulation => ({
  ...stabilizedStagesBy(tableau, false),
  moving: stabilizedStagesBy(tableau, true),
});

function stabilizedStagesBy(tableau: Tableau, moves: boolean): Formulation {
  const stages = implicitStages(tableau);
  const last = stages.length - 1;
  const place = (z: Blocks, at: StepPoint, i: number): Place => ({
    q: at.settled(sum(at.x.q, at.h, tableau.a[i], j => z[stageName(rateOfPosition, j)])),
    v: sum(at.x.v, at.h, tableau.a[i], j => z[stageName('a', j)]),
    t: tf.add(at.t, tf.mul(at.h, tableau.c[i])),
  });
  const rows = (z: Blocks, at: StepPoint, i: number): Blocks => {
    const constraints = constraintsOf(at);
    const here = place(z, at, i);
    const [a, w, lambda, mu] = ['a', rateOfPosition, 'lambda', ofVelocities].map(block => z[stageName(block, i)]);
    return {
      ...held(at, here, a, lambda),
      [rateOfPosition]: tf.sub(
        w,
        at.positionRate(here.q, tf.add(here.v, constraints.reaction(here, mu, forces.heldPositions)), here.t),
      ),
      [ofVelocities]: tf.add(constraints.velocities(here, mu, false), tf.mul(at.regularization, mu)),
    };
  };
  return {
    ...(moves ? {moves, ofPositions: stageNames(rateOfPosition, stages)} : {}),
    unknown: [...stageNames('a', stages), ...stageNames(rateOfPosition, stages)],
    derivatives: {[rateOfPosition]: 1},
    multipliers: [...stageNames('lambda', stages), ...stageNames(ofVelocities, stages)],
    carry,
    residual: (z, at) => byStage(stages, i => rows(z, at, i)),
    update: (z, at) => {
      const {q, v} = place(z, at, last);
      return {q, v, a: z[stageName('a', last)], lambda: z[stageName('lambda', last)]};
    },
    guess: ({x, t, h, positionRate}) => ({
      z: byStage(stages, i => ({
        a: x.a,
        lambda: x.lambda,
        [rateOfPosition]: positionRate(
          x.q,
          tf.add(x.v, tf.mul(tf.mul(h, tableau.c[i]), x.a)),
          tf.add(t, tf.mul(h, tableau.c[i])),
        ),
      })),
    }),
  };
}

/** Accelerations held at the stages, positions and velocities at the end. */
export const heldEnd = (tableau: Tableau): Formulation => alsoMoving(tableau, places => heldEndAt(tableau, places));

function heldEndAt(tableau: Tableau, places: Places): Formulation {
  const stages = implicitStages(tableau);
  const acceleration =
    (z: Blocks, {x}: StepPoint) =>
    (i: number): tf.Tensor =>
      isExplicit(tableau, i) ? x.a : z[stageName('a', i)];
  /** The end, from where the stages lead. */
  const moved = (z: Blocks, at: StepPoint, ahead?: Place): tf.Tensor =>
    at.general ? at.unknownPosition.at((ahead ?? places.end(z, at, acceleration(z, at))).q, z.q) : z.q;
  return {
    ...places.blocks,
    unknown: [...stageNames('a', stages), ...places.blocks.unknown, ...projected.unknown, 'a'],
    multipliers: [...stageNames('lambda', stages), ...projected.multipliers, 'lambda'],
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
          ...repeated(stages, {a: x.a, lambda: x.lambda, ...places.guess(at)}),
          // Where a position is an unknown by itself; else its increment from the end of the stages is zero.
          ...(at.general ? {} : {q: tf.add(x.q, tf.mul(h, x.v))}),
          v: tf.add(x.v, tf.mul(h, x.a)),
        },
      };
    },
  };
}
