/** A system as a scheme sees it: pure functions of tensors, for one state. */
import type * as tf from '@tensorflow/tfjs';
import type {Shape} from '../graph/node.js';

/** A block of the state that the user gives: q, v and hidden states, or y. */
export interface UserBlock {
  readonly name: string;
  readonly shape: Shape;
}

/** Named parts of a state or an unknown: q and v, or y, and what a scheme carries beside them. */
export interface Blocks {
  readonly [name: string]: tf.Tensor;
}

/** A system as tensor functions: what a scheme is written in. */
export interface Equations {
  readonly kind: 'mechanics' | 'ode';
  /**
   * The applied force f(q, v, t). Mechanics only. Hidden states are parts of v, which is flat then: their rates are
   * forces on a mass of one.
   */
  force(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /**
   * The forces that read the multipliers, which `force` leaves out: they act where and as reactions do, and are part of
   * `Constraints.reaction`. Mechanics with constraints only; undefined where none reads them.
   */
  readonly multiplierForce?: (
    at: {readonly q: tf.Tensor; readonly v: tf.Tensor; readonly t: tf.Tensor},
    lambda: tf.Tensor,
  ) => tf.Tensor;
  /** M(q) w; of an ode M(y, t) w, which needs the time; w itself where it has no mass. */
  mass(q: tf.Tensor, w: tf.Tensor, t?: tf.Tensor): tf.Tensor;
  /** M(q), or M(y, t), itself, in the shape the user gave it. Not of an ode without one. */
  massAt(q: tf.Tensor, t?: tf.Tensor): tf.Tensor;
  /** Whether the mass of an ode is a function of y or t. */
  readonly massIsVariable?: boolean;
  /** M(q)⁻¹ f(q, v, t). Mechanics only. */
  acceleration(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /** The first-order form: the time derivative of {q, v}, or of {y}; with a mass of an ode in the way there is none. */
  rate(x: Blocks, t: tf.Tensor): Blocks;
  /** f of M y' = f(y, t), of {y}; the rate itself where an ode has no mass, and of mechanics. */
  rightHandSide(x: Blocks, t: tf.Tensor): Blocks;
  /** Whether this is an ode M y' = f with a mass, which may be singular. */
  readonly hasMassMatrix: boolean;
  /**
   * The component of a right-hand side in a complement of the range of M(y, t), of the shape of y, which must be zero.
   * For an ode with a mass of known rank only.
   */
  readonly rangeComplement?: (f: tf.Tensor, y: tf.Tensor, t: tf.Tensor) => tf.Tensor;
  /** Some w with M w = f, with algebraic components zero: y' except for these. Given with `rangeComplement`. */
  readonly particularRate?: (f: tf.Tensor, y: tf.Tensor, t: tf.Tensor) => tf.Tensor;
  /** For an sde only. */
  readonly noise?: NoiseEquations;
  /** For a dde only. */
  readonly delay?: DelayEquations;
  /** Whether the system has hidden states or kinematics. */
  readonly hasKinematicsOrStates: boolean;
  /**
   * q' at position q, velocity v and time t, linear in v: v itself unless there are hidden states or kinematics.
   * Mechanics only.
   */
  positionRate(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /**
   * The retraction: where a constant velocity leads from q, whose integral is the sum of the increments. It is q plus
   * the increments. With kinematics q' = N(q, t)v it moves along the manifold of q, to second order, with N of the
   * middle of the step. Mechanics only.
   */
  retract(q: tf.Tensor, ...increments: readonly tf.Tensor[]): tf.Tensor;
  /** q projected onto its manifold; q itself unless kinematics give a projection. Mechanics only. */
  project(q: tf.Tensor): tf.Tensor;
  /** The state with its position projected onto its manifold. */
  projectState(x: Blocks): Blocks;
  /** How positions are unknowns and differ; see `PositionUnknown`. Mechanics only. */
  readonly unknownPosition: PositionUnknown;
  /**
   * A velocity of zero, of the shape of v; hidden states in it move by their part of `change`. Mechanics only.
   */
  zeroVelocity(v: tf.Tensor, change: tf.Tensor): tf.Tensor;
  /** The mean mass of a coordinate. Mechanics only. */
  typicalMass(q: tf.Tensor): tf.Tensor;
}

/** How the diffusion multiplies the increments of the Brownian motion, see `sde`. */
export type NoiseKind = 'diagonal' | 'scalar' | 'general' | 'additive';
/** How the integral over dW is meant: Itô's takes g at the start of each increment, Stratonovich's at its middle. */
export type Calculus = 'ito' | 'stratonovich';
/** The increments of a step: ΔW, and ∫(W(s) − W(t)) ds over it, of the noise's shape. */
export interface Increments {
  readonly w: tf.Tensor;
  readonly area: tf.Tensor;
}

/** Noise as a scheme sees it: pure functions of tensors, for one state. */
export interface NoiseEquations {
  readonly kind: NoiseKind;
  readonly calculus: Calculus | undefined;
  /** A seed that is a function of params, checked in every run; undefined for a number. */
  readonly seed: tf.Tensor | undefined;
  /** Increments of the path from t to t + h. */
  increments(y: tf.Tensor, t: tf.Tensor, h: tf.Tensor): Increments;
  /** g(y, t) w, of the shape of y. */
  diffusionProduct(y: tf.Tensor, t: tf.Tensor, w: tf.Tensor): tf.Tensor;
  /**
   * The derivative of g along g (Milstein's scheme), of the shape of y; not of general noise.
   * @throws OptionError 'noise-not-diagonal'
   */
  milsteinTerm(y: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /** @throws OptionError 'noise-not-diagonal' where diagonal noise of a number depends on another number */
  requireDiagonal(y: tf.Tensor, t: tf.Tensor): void;
}

/** Delays as a scheme sees them. */
export interface DelayEquations {
  /** How many there are. */
  readonly count: number;
  /** No delay is longer. */
  readonly longest: number;
  /** There is a history of its own: else it is the start. */
  readonly ownHistory: boolean;
  /** Their lengths, each []. */
  values(): tf.Tensor[];
  /**
   * The rate of y. Its past is among the blocks: `pieces` and `past` (past.ts), the start's time `began`, and without a
   * history of its own the `start`. Without these blocks the past lies before the start. `from` and `to`, default t,
   * are the ends of the smooth part of a step. `waiting` [count] marks delays that still look before the start there,
   * although `from` is their breaking point.
   */
  rate(x: Blocks, t: tf.Tensor): Blocks;
}

/** A position as an unknown of the shape of v: itself, or the increment to it with hidden states or kinematics. */
export interface PositionUnknown {
  /** The position. */
  at(from: tf.Tensor, unknown: tf.Tensor): tf.Tensor;
  /** How far it is from where it started. */
  increment(from: tf.Tensor, unknown: tf.Tensor): tf.Tensor;
  /** The unknown of an increment. */
  of(from: tf.Tensor, increment: tf.Tensor): tf.Tensor;
  /** How far a position is from another one that increments led to or from. */
  between(from: tf.Tensor, to: tf.Tensor, increment: () => tf.Tensor): tf.Tensor;
}
