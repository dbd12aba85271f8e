/**
 * Parts of schemes for constrained systems (equations.md §4): the scale of their rows, accelerations and
 * multipliers that obey the constraints at an instant, constraints for a scheme that was written without them, and the
 * two stabilizations. These are wrappers: a scheme that takes its q⁺ from `at.retract` needs nothing for them.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {derivativeAlong} from '../trace/differentials.js';
import type {Constraints, PhasePoint, RowScale} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import {derivativeOf, usesTrialStep, type Formulation, type StepPoint, type SystemTraits} from './scheme.js';

/** The constraints of a step that has some. */
export function constraintsOf({constraints}: StepPoint): Constraints {
  if (constraints === undefined) throw new Error('a formulation for constraints was used without any');
  return constraints;
}

/**
 * The divisors of the rows of constraints.
 * @param position for rows of positions: h for unknown velocities, βh² for accelerations; `velocity` likewise
 */
export function rowScale(
  {x, h, typicalMass, regularization}: StepPoint,
  position: tf.Tensor | number,
  velocity: tf.Tensor | number,
): RowScale {
  return {position, velocity, regularization, stepCompliance: tf.div(tf.square(h), typicalMass(x.q))};
}

/** Blocks of an unknown beside q, v, a and λ have the names that messages give them. */
const ofPositions = 'lambda of positions';
export const ofVelocities = 'lambda of velocities';
const inProjection = {
  v: 'v in the projection',
  a: 'a in the projection',
  lambda: 'lambda in the projection',
  reaction: 'the reaction in the projection',
} as const;

/** The blocks that `onto` adds to a formulation. */
export const projected = {unknown: ['q', 'v'], multipliers: [ofPositions, ofVelocities]} as const;

/**
 * M(q − q₀) = Gᵀμ with φ(q) = 0, and M(v − v₀) = Gᵀη with φ' = 0, ψ = 0: the state nearest to (q₀, v₀) that obeys at
 * its time.
 */
export function onto(z: Blocks, from: PhasePoint, at: StepPoint): Blocks {
  const {mass, h, regularization, unknownPosition} = at;
  const constraints = constraintsOf(at);
  const here = {q: unknownPosition.at(from.q, z.q), v: z.v, t: from.t};
  const {stepCompliance} = rowScale(at, h, 1);
  // A unit of these multipliers moves a typical mass by give/h² and changes its velocity by the same.
  const unit = tf.div(stepCompliance, tf.square(h));
  const soft = tf.mul(regularization, unit);
  return {
    q: tf.sub(
      mass(from.q, unknownPosition.increment(from.q, z.q)),
      constraints.reaction(here, z[ofPositions], 'rigidPositions'),
    ),
    v: tf.sub(mass(here.q, tf.sub(z.v, from.v)), constraints.reaction(here, z[ofVelocities], 'held')),
    [ofPositions]: tf.add(constraints.positions(here, z[ofPositions], unit), tf.mul(soft, z[ofPositions])),
    [ofVelocities]: tf.add(constraints.velocities(here, z[ofVelocities], true), tf.mul(soft, z[ofVelocities])),
  };
}

/** M a − f − Gᵀλ and the rows of the constraints on accelerations: zero where (a, λ) are those of the instant. */
export function instantBalance(
  at: StepPoint,
  {q, v, t}: PhasePoint,
  a: tf.Tensor,
  lambda: tf.Tensor,
): {a: tf.Tensor; lambda: tf.Tensor} {
  const constraints = constraintsOf(at);
  return {
    a: tf.sub(at.mass(q, a), tf.add(at.force(q, v, t), constraints.reactionAtInstant({q, v, t}, lambda))),
    lambda: constraints.accelerationLevelRows({q, v, t}, a, lambda, rowScale(at, at.h, 1), at.h),
  };
}

/**
 * A formulation for mechanics with constraints: λ enters the force, and its rows are those of the constraints at the
 * end of the step, in the unit of the unknown.
 */
export function withReactions(base: Formulation, name: string): Formulation {
  const unread = (): never => {
    throw new OptionError(
      'bad-scheme',
      `${name}: with multipliers, residual and update may read at.force and at.mass, but not at.acceleration or `
        + "at.rate, which know nothing of the reactions. Or define the scheme with kind: 'constrained' and rows of "
        + 'its own.',
    );
  };
  const pushed = (z: Blocks, at: StepPoint): StepPoint => ({
    ...at,
    force: (q, v, t) => tf.add(at.force(q, v, t), constraintsOf(at).reaction({q, v, t}, z.lambda)),
    acceleration: unread,
    rate: unread,
  });
  const scaleOf = (at: StepPoint): RowScale => {
    switch (derivativeOf(base, base.unknown[0])) {
      case 0:
        return rowScale(at, 1, tf.div(1, at.h));
      case 1:
        return rowScale(at, at.h, 1);
      default:
        // The shares of an acceleration at the step's end in the average acceleration method.
        return rowScale(at, tf.mul(tf.square(at.h), 0.25), tf.mul(at.h, 0.5));
    }
  };
  return {
    ...base,
    residual: (z, at) => {
      const point = pushed(z, at);
      const {q, v} = base.update(z, point);
      return {
        ...base.residual?.(z, point),
        lambda: constraintsOf(at).rows({q, v, t: tf.add(at.t, at.h)}, z.lambda, scaleOf(at)),
      };
    },
    update: (z, at) => ({...base.update(z, pushed(z, at)), lambda: z.lambda}),
  };
}

/** @param contacts the system has hard contacts */
export function stabilized(base: Formulation, by: SystemTraits['stabilization'], contacts = false): Formulation {
  if (by === 'none') return base;
  const held = {...base, carry: withoutOffset(base)};
  if (by === 'projection-before') return velocityProjectionBefore(held, contacts);
  // GGL stabilizes bilateral rows; the velocity of contacts that close is projected with it.
  const stable = by === 'ggl' ? gearGuptaLeimkuhler(held) : held;
  return by === 'projection' || contacts ? velocityProjection(stable, contacts) : stable;
}

/** Where velocities are held too they have no offset to start with. */
const withoutOffset = ({carry}: Formulation): Formulation['carry'] =>
  typeof carry === 'object' ? {...carry, reads: carry.reads.filter(name => name !== 'normalJerk')} : carry;

/**
 * The stabilized index-2 form of Gear, Gupta & Leimkuhler (1985): q' = v + Gᵀμ with φ = 0 and φ' = 0
 * together. Gᵀμ, which vanishes with the step, is taken at the position the kinematics give.
 */
function gearGuptaLeimkuhler(base: Formulation): Formulation {
  const settled = (z: Blocks, at: StepPoint): StepPoint => {
    const {retract, unknownPosition} = at;
    const stabilizing = (q: tf.Tensor): tf.Tensor =>
      tf.mul(at.h, constraintsOf(at).reaction({q, v: at.x.v, t: tf.add(at.t, at.h)}, z[ofVelocities], 'heldPositions'));
    const stable = (from: tf.Tensor, increment: tf.Tensor): tf.Tensor =>
      tf.add(increment, stabilizing(retract(from, increment)));
    return {
      ...at,
      retract: (from, ...increments) => {
        const q = retract(from, ...increments);
        return retract(q, stabilizing(q));
      },
      unknownPosition: {
        ...unknownPosition,
        of: (from, increment) => unknownPosition.of(from, stable(from, increment)),
        between: (from, to, increment) => unknownPosition.between(from, to, () => stable(from, increment())),
      },
    };
  };
  return {
    ...base,
    multipliers: [...(base.multipliers ?? []), ofVelocities],
    residual: (z, at) => {
      const point = settled(z, at);
      const {q, v} = base.update(z, point);
      const soft = tf.mul(at.regularization, z[ofVelocities]);
      return {
        ...base.residual?.(z, point),
        [ofVelocities]: tf.add(
          constraintsOf(at).velocities({q, v, t: tf.add(at.t, at.h)}, z[ofVelocities], false),
          soft,
        ),
      };
    },
    update: (z, at) => base.update(z, settled(z, at)),
  };
}

/**
 * After the step v⁺ is moved onto φ' = 0 by the least change in the metric of the mass:
 * M Δv = Gᵀη, G(v⁺ + Δv) + φ_t = 0, solved together with the step. Hard contacts that push take part:
 * what has landed stays, in every scheme, where positions alone would let it rebound by what the
 * kinematics make of the impact. Where accelerations are carried, M Δa = Gᵀζ with φ'' = 0 takes the
 * impact out of them likewise, which the next steps would go on integrating.
 */
function velocityProjection(base: Formulation, contacts: boolean): Formulation {
  const moves = projectionMoves(base, contacts);
  return {
    ...moves.blocks,
    residual: (z, at) => {
      const next = base.update(z, at);
      return {...base.residual?.(z, at), ...moves.rows(z, at, next, tf.add(at.t, at.h))};
    },
    update: (z, at) => withImpulse(base, z, at, moves.moved(z, at, base.update(z, at))),
  };
}

/**
 * Before the step: it starts from the projected velocity, and its own end is left as it is. So
 * positions are those of the projection after every step, and saved velocities the scheme's own.
 */
function velocityProjectionBefore(base: Formulation, contacts: boolean): Formulation {
  const moves = projectionMoves(base, contacts);
  const from = (z: Blocks, at: StepPoint): StepPoint => ({...at, x: moves.moved(z, at, at.x)});
  return {
    ...moves.blocks,
    residual: (z, at) => ({...base.residual?.(z, from(z, at)), ...moves.rows(z, at, at.x, at.t)}),
    update: (z, at) => withImpulse(base, z, at, base.update(z, from(z, at))),
  };
}

/**
 * λ with what the projection pushed. A scheme that carries neither an acceleration nor a past has in λ the mean force
 * of the step, of which η/h is a part: on a circle the positions of implicit Euler take one half of the centripetal
 * impulse, and the projection the other. Elsewhere λ is that of an instant.
 */
const withImpulse = (base: Formulation, z: Blocks, {h}: StepPoint, state: Blocks): Blocks =>
  state.lambda === undefined || state.a !== undefined || usesTrialStep(base, 'first')
    ? state
    : {...state, lambda: tf.add(state.lambda, tf.div(z[inProjection.lambda], h))};

/**
 * Blocks that a scheme carries beside these follow the acceleration a at the end of the step as the update makes them
 * of it.
 */
const ownBlocks = ['q', 'v', 'a', 'lambda'];
const turnedBlocks = (base: Formulation, z: Blocks, at: StepPoint, state: Blocks, turn: tf.Tensor): Blocks =>
  Object.fromEntries(
    Object.entries(state)
      .filter(([name]) => !ownBlocks.includes(name))
      .map(([name, value]) => {
        const change = derivativeAlong(({a}) => base.update({...z, a}, at)[name], {a: z.a}, {a: turn});
        return [name, tf.add(value, change)];
      }),
  );

/** The blocks that a projection adds, their rows for a state at time t, and the state they move. */
function projectionMoves(
  base: Formulation,
  contacts: boolean,
): {
  readonly blocks: Formulation;
  rows(z: Blocks, at: StepPoint, state: Blocks, t: tf.Tensor): Blocks;
  moved(z: Blocks, at: StepPoint, state: Blocks): Blocks;
} {
  const turned = contacts && base.unknown.includes('a');
  return {
    blocks: {
      ...base,
      unknown: [...base.unknown, inProjection.v, ...(turned ? [inProjection.a] : [])],
      multipliers: [...(base.multipliers ?? []), inProjection.lambda, ...(turned ? [inProjection.reaction] : [])],
    },
    rows: (z, at, {q, v, a, lambda}, t) => {
      const constraints = constraintsOf(at);
      const end = {q, v: tf.add(v, z[inProjection.v]), t};
      const scale = rowScale(at, at.h, 1);
      const soft = tf.mul(at.regularization, tf.div(scale.stepCompliance, tf.square(at.h)));
      const closed = contacts ? constraints.activeContacts({q, v, t}, lambda, scale) : undefined;
      const rows = {
        [inProjection.v]: tf.sub(
          at.mass(q, z[inProjection.v]),
          constraints.reaction(end, z[inProjection.lambda], 'rigidPositions'),
        ),
        [inProjection.lambda]: tf.add(
          constraints.velocities(end, z[inProjection.lambda], false, closed),
          tf.mul(soft, z[inProjection.lambda]),
        ),
      };
      if (!turned || closed === undefined) return rows;
      return {
        ...rows,
        [inProjection.a]: tf.sub(
          at.mass(q, z[inProjection.a]),
          constraints.reaction(end, z[inProjection.reaction], 'rigidPositions'),
        ),
        [inProjection.reaction]: tf.add(
          constraints.accelerations(end, tf.add(a, z[inProjection.a]), z[inProjection.reaction], closed),
          tf.mul(soft, z[inProjection.reaction]),
        ),
      };
    },
    moved: (z, at, state) => ({
      ...state,
      v: tf.add(state.v, z[inProjection.v]),
      ...(turned
        ? {a: tf.add(state.a, z[inProjection.a]), ...turnedBlocks(base, z, at, state, z[inProjection.a])}
        : {}),
    }),
  };
}
