/**
 * The motion of mechanical systems, with hidden states and kinematics, as schemes see it:
 *
 *     q' = N(q, t) v,   M(q) v' = f(q, v, z, t),   z' = r(q, v, z, t)
 *
 * Hidden states z are parts of a velocity ṽ = (v, z), flat, with the mass diag(M, 1), the force (f, r) and the
 * kinematics q' = [N 0] ṽ. So a scheme integrates z as it does v, with its own order and damping; of the generalized-α
 * method this is the extension to first-order states of Brüls & Arnold (J. Comput. Nonlinear Dyn. 3, 2008). A position
 * moves by increments of the shape of ṽ, in the frame of the body where q lies on a group: q⁺ = q∘exp(Δ), with Δ what
 * a scheme would add to q, is of second order (Brüls & Cardona, J. Comput. Nonlinear Dyn. 5, 2010).
 */
import * as tf from '@tensorflow/tfjs';
import {sizeOf} from '../graph/node.js';
import type {Shape} from '../graph/node.js';
import {transposedProduct} from '../trace/differentials.js';
import {constantTensor} from '../trace/trace.js';
import {atStage} from './breaks.js';
import type {ConstraintMotion} from './constraints.js';
import type {Blocks, Equations, UserBlock, PositionUnknown} from './equations.js';
import type {StateSpecs} from './hidden-states.js';
import {stateRate} from './hidden-states.js';
import type {Kinematics} from './kinematics.js';
import {motionOf} from './kinematics.js';
import type {Params} from './params.js';

/** Mass and force as functions of the user's blocks, for the trace of a step. */
export interface GeneralInertia {
  force(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, hidden?: Blocks): tf.Tensor;
  /** The terms that read the multipliers, which `force` leaves out; undefined where none does. */
  readonly multiplierForce?: (
    at: {readonly q: tf.Tensor; readonly v: tf.Tensor; readonly t: tf.Tensor},
    lambda: tf.Tensor,
    hidden?: Blocks,
  ) => tf.Tensor;
  massAt(q: tf.Tensor, v: tf.Tensor): tf.Tensor;
  /** M(q) w and M(q)⁻¹ f, of the shape of v. */
  times(q: tf.Tensor, w: tf.Tensor): tf.Tensor;
  solve(q: tf.Tensor, f: tf.Tensor): tf.Tensor;
}

/** Hidden states and kinematics of a system. */
interface General {
  readonly states?: StateSpecs<Params, string>;
  readonly kinematics?: Kinematics;
}

/** ṽ, taken apart and put together. */
interface Velocity {
  /** v, and the hidden states by name. */
  split(v: tf.Tensor): {readonly v: tf.Tensor; readonly hidden: Blocks};
  /** v alone. */
  own(v: tf.Tensor): tf.Tensor;
  join(v: tf.Tensor, hidden: readonly tf.Tensor[]): tf.Tensor;
  /** The hidden part, flat; undefined where there is none. */
  hidden(v: tf.Tensor): tf.Tensor | undefined;
}

function velocityOf(shape: Shape, states: readonly UserBlock[]): Velocity {
  if (states.length === 0) return {split: v => ({v, hidden: {}}), own: v => v, join: v => v, hidden: () => undefined};
  const size = sizeOf(shape);
  const own = (v: tf.Tensor): tf.Tensor => tf.reshape(tf.slice(v, [0], [size]), [...shape]);
  return {
    own,
    split: v => {
      let offset = size;
      const hidden = states.map(({name, shape: like}) => {
        const count = sizeOf(like);
        offset += count;
        return [name, tf.reshape(tf.slice(v, [offset - count], [count]), [...like])] as const;
      });
      return {v: own(v), hidden: Object.fromEntries(hidden)};
    },
    join: (v, hidden) => tf.concat([v, ...hidden].map(part => tf.reshape(part, [part.size]))),
    hidden: v => tf.slice(v, [size], [v.size - size]),
  };
}

/** Own blocks: q, v, and the hidden states. */
const blocksOf = ([, {shape}, ...states]: readonly UserBlock[]): {shape: Shape; states: readonly UserBlock[]} => ({
  shape,
  states,
});

/** Positions as unknowns themselves, where q' = v. */
const plainPositions: PositionUnknown = {
  at: (_, unknown) => unknown,
  increment: (from, unknown) => tf.sub(unknown, from),
  of: (from, increment) => tf.add(from, increment),
  between: (from, to) => tf.sub(to, from),
};

/**
 * @param general the system has hidden states or kinematics
 * @param middle the time of the middle of the step
 */
export function motionEquations(
  system: General,
  general: boolean,
  inertia: GeneralInertia,
  params: Params,
  own: readonly UserBlock[],
  middle: tf.Tensor,
): Equations {
  const {shape, states} = blocksOf(own);
  const velocity = velocityOf(shape, states);
  const rates = ratesOf(system, states, params);
  const motion = system.kinematics === undefined ? undefined : motionOf(system.kinematics, params);
  const force = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor => {
    const parts = velocity.split(v);
    return velocity.join(inertia.force(q, parts.v, t, parts.hidden), rates(q, parts.v, t, parts.hidden));
  };
  /** A function of v, with hidden parts as they are. */
  const onVelocities = (v: tf.Tensor, f: (v: tf.Tensor) => tf.Tensor): tf.Tensor => {
    const hidden = velocity.hidden(v);
    return velocity.join(f(velocity.own(v)), hidden === undefined ? [] : [hidden]);
  };
  const acceleration = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor =>
    onVelocities(force(q, v, t), f => inertia.solve(q, f));
  const positionRate = rateOfPosition(system, velocity, params);
  const moved = (q: tf.Tensor, ...increments: readonly tf.Tensor[]): tf.Tensor => {
    const own = increments.map(increment => velocity.own(increment));
    if (motion === undefined) return tf.addN([q, ...own]);
    const increment = own.length === 1 ? own[0] : tf.addN(own);
    return atStage(middle, () => motion.retract(q, increment, middle));
  };
  const rate = (x: Blocks, t: tf.Tensor): Blocks => ({
    q: positionRate(x.q, x.v, t),
    v: acceleration(x.q, x.v, t),
  });
  return {
    kind: 'mechanics',
    hasKinematicsOrStates: general,
    force,
    ...(inertia.multiplierForce === undefined
      ? {}
      : {multiplierForce: multiplierForceOf(inertia.multiplierForce, velocity)}),
    mass: (q, w) => onVelocities(w, part => inertia.times(q, part)),
    massAt: q => inertia.massAt(q, tf.zeros([...shape])),
    acceleration,
    rate,
    rightHandSide: rate,
    hasMassMatrix: false,
    positionRate,
    retract: moved,
    project: q => motion?.project(q) ?? q,
    projectState: x => (motion === undefined ? x : {...x, q: motion.project(x.q)}),
    unknownPosition: !general
      ? plainPositions
      : {
          at: moved,
          increment: (_, unknown) => unknown,
          of: (_, increment) => increment,
          between: (_from, _to, increment) => increment(),
        },
    zeroVelocity: (v, change) => {
      const hidden = velocity.hidden(tf.add(v, change));
      return hidden === undefined ? tf.zerosLike(v) : velocity.join(tf.zeros([...shape]), [hidden]);
    },
    typicalMass: q => tf.mean(tf.abs(inertia.times(q, tf.ones([...shape])))),
  };
}

/** On velocities alone: hidden states move by their rates. */
const multiplierForceOf =
  (force: NonNullable<GeneralInertia['multiplierForce']>, velocity: Velocity): Equations['multiplierForce'] =>
  (at, lambda) => {
    const parts = velocity.split(at.v);
    const hidden = velocity.hidden(at.v);
    const value = force({...at, v: parts.v}, lambda, parts.hidden);
    return velocity.join(value, hidden === undefined ? [] : [tf.zerosLike(hidden)]);
  };

function rateOfPosition({kinematics}: General, velocity: Velocity, params: Params): Equations['positionRate'] {
  if (kinematics === undefined) return (_, v) => velocity.own(v);
  const {rate} = motionOf(kinematics, params);
  return (q, v, t) => rate(q, velocity.own(v), t);
}

type Rates = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, hidden: Blocks) => tf.Tensor[];

const ratesOf =
  ({states: specs}: General, states: readonly UserBlock[], params: Params): Rates =>
  (q, v, t, hidden) =>
    states.map(({name}) => {
      const state = specs?.[name];
      if (state === undefined) throw new Error(`no hidden state ${name}`);
      return stateRate(name, state, {q, v, t, params}, hidden);
    });

/** The motion as constraints use it. */
export function constraintMotion(system: General, params: Params, own: readonly UserBlock[]): ConstraintMotion {
  const {shape, states} = blocksOf(own);
  const velocity = velocityOf(shape, states);
  const positionRate = rateOfPosition(system, velocity, params);
  const rates = ratesOf(system, states, params);
  const still = (): tf.Tensor => constantTensor(new Float64Array(sizeOf(shape)), shape);
  const zeros = (v: tf.Tensor): tf.Tensor => constantTensor(new Float64Array(v.size), v.shape);
  return {
    seen: v => {
      const parts = velocity.split(v);
      return {...parts.hidden, v: parts.v};
    },
    positionRate,
    drift: ({q, v, t}) => {
      if (states.length === 0) return undefined;
      const parts = velocity.split(v);
      return velocity.join(still(), rates(q, parts.v, t, parts.hidden));
    },
    pushed: ({q, v, t}, push) => transposedProduct(({u}) => positionRate(q, u, t), {u: zeros(v)}, 'u', push),
    onVelocities: push => {
      const hidden = velocity.hidden(push);
      return hidden === undefined ? push : velocity.join(velocity.own(push), [zeros(hidden)]);
    },
  };
}

/**
 * [3]: how far q' is from being linear in v, in the size of q' and as it is; how far a position is off its manifold. N
 * is tried on a velocity without a symmetry that it could be blind to.
 */
export function kinematicsCheck(
  {positionRate, project, t}: Pick<Equations, 'positionRate' | 'project'> & {readonly t: tf.Tensor},
  {q, v, ...states}: Blocks,
): tf.Tensor {
  const size = Object.values(states).reduce((sum, state) => sum + state.size, v.size);
  const shape = size === v.size ? v.shape : [size];
  const tried = constantTensor(
    Float64Array.from({length: size}, (_, i) => Math.sin(i + 1)),
    shape,
  );
  const rate = positionRate(q, tried, t);
  const twice = positionRate(q, tf.mul(tried, -2), t);
  const largest = (x: tf.Tensor): tf.Tensor => tf.max(tf.abs(x));
  return tf.stack([largest(tf.add(twice, tf.mul(rate, 2))), largest(rate), largest(tf.sub(project(q), q))]);
}
