/**
 * The constraints of a mechanical system as a scheme sees them, M a = f + Gᵀλ (equations.md §1 and §4): rows and
 * reactions, joined over all constraints. constraint-equations.ts implements it; constraint-parts/ has the rows of one
 * constraint, by its kind.
 */
import type * as tf from '@tensorflow/tfjs';
import type {Tensors} from '../trace/differentials.js';
import type {Coefficients} from './coefficients.js';

/** A place in phase space and time. */
export interface PhasePoint {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly t: tf.Tensor;
}

/** Units of the rows, by which the equations of a step stay well conditioned as h → 0. */
export interface RowScale {
  /** The divisor of rows of positions. */
  readonly position: tf.Tensor | number;
  /** The divisor of rows of velocities. */
  readonly velocity: tf.Tensor | number;
  /** The displacement that a unit multiplier gives a typical mass in the step, h²/m. */
  readonly stepCompliance: tf.Tensor;
  /**
   * Compliance that every rigid row gains, as a share of `stepCompliance`; 0 unless rows are redundant. Then the
   * multipliers are those of least norm, and the constraint is off by that share of what it holds.
   */
  readonly regularization: tf.Tensor;
}

/** Motion with hidden states and kinematics: v stands for (v, z) here. */
export interface ConstraintMotion {
  /** v and the hidden states by name. */
  seen(v: tf.Tensor): Tensors;
  /** q' = N(q, t) v. */
  positionRate(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /** How the hidden states move by themselves, of the shape of v; undefined where there are none. */
  drift(at: PhasePoint): tf.Tensor | undefined;
  /** Nᵀ·push: a force on positions as one on velocities. */
  pushed(at: PhasePoint, push: tf.Tensor): tf.Tensor;
  /** A force on (v, z) without its part on z. */
  onVelocities(push: tf.Tensor): tf.Tensor;
}

/**
 * Some of the forces of constraints, by their kinds. Force terms that read λ are part of 'all' and of 'rigid'.
 *
 * | selection | forces of |
 * |---|---|
 * | 'springs' | springs, also one-sided ones: schemes weight them like forces |
 * | 'rigid' | everything else |
 * | 'rigidPositions' | gaps of positions that are no springs |
 * | 'held' | constraints that always hold |
 * | 'heldPositions' | constraints of positions that always hold |
 */
export type ForceSelection = 'all' | 'springs' | 'rigid' | 'rigidPositions' | 'held' | 'heldPositions';

/** Forces of constraints. λ has the constraints in the order they were given, [count]. */
export interface ConstraintForces {
  /**
   * Gᵀλ + ψ_vᵀλ, of the shape of v.
   * @param of default 'all'
   */
  reaction(at: PhasePoint, lambda: tf.Tensor, of?: ForceSelection): tf.Tensor;
  /** λ of springs at a place, by their law; zero elsewhere. */
  springs(at: PhasePoint): tf.Tensor;
  /** λ, of springs the mean of their law at a place, with the weight 1 − α, and of λ. */
  averagedMultipliers(at: PhasePoint, lambda: tf.Tensor, alpha: number): tf.Tensor;
}

/** The conditions of all kinds, between gaps and multipliers. */
export interface ConstraintConditions {
  /**
   * [count], zero where the constraints hold with these multipliers.
   * @param spring where springs are met; default `at`
   */
  rows(at: PhasePoint, lambda: tf.Tensor, scale: RowScale, spring?: PhasePoint): tf.Tensor;
  /** As `rows` at rest, in units of positions; rows that hold velocities for a displacement in place of one. */
  restRows(at: PhasePoint, displacement: tf.Tensor, lambda: tf.Tensor, scale: RowScale): tf.Tensor;
  /**
   * [count], as lengths: the larger of gap and multiplier of kinked rows, which should not both
   * be zero; 1 elsewhere. Undefined where there are no such rows.
   */
  degeneracyMargin(at: PhasePoint, lambda: tf.Tensor, scale: RowScale): tf.Tensor | undefined;
}

/** Rows of positions, which should be zero. */
export interface PositionLevel {
  /**
   * [count], φ of rows that are held, and min(φ, 0) of hard contacts; `placeholder` elsewhere.
   * @param stepCompliance the displacement that a unit of `placeholder` gives. With it, rows of contacts, with
   *   friction too, are the complementarity of φ and their multiplier in `placeholder` instead
   */
  positions(at: PhasePoint, placeholder: tf.Tensor, stepCompliance?: tf.Tensor): tf.Tensor;
  /**
   * [count], min(φ + h² |φ''|, 0) of contacts with friction, φ'' at constant velocity: how far they lie below their
   * surfaces, beyond what a step of length h leaves that replaces the surface by its tangent plane. 0 elsewhere;
   * undefined where there are no such contacts.
   */
  penetration(at: PhasePoint, h: tf.Tensor): tf.Tensor | undefined;
}

/** Derivatives of gaps in time, and held velocities. */
export interface VelocityLevel {
  /**
   * [count], φ' of rows that are held, and of hard contacts where `closed`; ψ of held velocities where
   * `ofVelocities`; `placeholder` elsewhere.
   */
  velocities(at: PhasePoint, placeholder: tf.Tensor, ofVelocities: boolean, closed?: tf.Tensor): tf.Tensor;
  /**
   * [count], G N w of rows whose positions are held, for a change w of the velocity; `placeholder` elsewhere.
   * Undefined where φ' is affine in v, so that a difference of `velocities` is the same; with hidden states it need
   * not be.
   */
  readonly velocityJacobianProduct?: (at: PhasePoint, w: tf.Tensor, placeholder: tf.Tensor) => tf.Tensor;
  /** [count], true in the rows of hard contacts that push: λ > 0 and the gap 0. */
  activeContacts(at: PhasePoint, lambda: tf.Tensor, scale: RowScale): tf.Tensor;
}

/** Second derivatives of gaps in time, and what holds at one instant. */
export interface AccelerationLevel {
  /** The rows of `velocities` for φ'' with the acceleration a. */
  accelerations(at: PhasePoint, a: tf.Tensor, placeholder: tf.Tensor, closed: tf.Tensor): tf.Tensor;
  /** As `rows`, for the acceleration and multipliers at one instant: φ'' and ψ' of held rows in place of φ and ψ. */
  accelerationLevelRows(at: PhasePoint, a: tf.Tensor, lambda: tf.Tensor, scale: RowScale, h: tf.Tensor): tf.Tensor;
  /** The reaction at one instant, when contacts with friction have no force: their λ is zero. */
  reactionAtInstant(at: PhasePoint, lambda: tf.Tensor): tf.Tensor;
}

/** Laws of impact and friction over a step. */
export interface ImpactLevel {
  /**
   * [count] each, in units of velocity: the laws of impact and friction, and where they leave positions; see
   * impact-law.ts.
   */
  impact(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): ImpactMultipliers;
  /**
   * [7, count], see contact-laws.ts: the laws of Moreau's impacts as numbers, where all constraints are contacts, and
   * many; undefined elsewhere.
   */
  laws(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): tf.Tensor | undefined;
}

/** The constraints of one system, λ in the order they were given. */
export interface Constraints
  extends ConstraintForces, ConstraintConditions, PositionLevel, VelocityLevel, AccelerationLevel, ImpactLevel {
  /** Numbers in λ. */
  readonly count: number;
  /** Coefficients that may be another number in every run. */
  coefficients(): Coefficients | undefined;
}

/** A step from `start`, at its time, to `end`; positions move with the velocity `mean`. */
export interface ImpactStep {
  readonly start: PhasePoint;
  readonly end: PhasePoint;
  /** The velocity at the end without contacts. */
  readonly free: tf.Tensor;
  readonly mean: tf.Tensor;
  /**
   * By Poisson's law the velocity at the end of compression, with impulses of `ImpactMultipliers.compression` alone;
   * undefined by Moreau's.
   */
  readonly compressed?: tf.Tensor;
  readonly h: tf.Tensor;
  /** How contacts yield while their forces are sought, see `StepPoint`. */
  readonly yielding: Yielding;
}

/**
 * Yielding of contacts: relaxation (λ − anchor) + proximity (λ − last), times the velocity that a unit of λ gives.
 */
export interface Yielding {
  /** [] */
  readonly relaxation: tf.Tensor;
  readonly proximity: tf.Tensor;
  /** The shape of λ. */
  readonly anchor: tf.Tensor;
  readonly last: tf.Tensor;
}

/** λ makes velocities, π moves positions, and the part of λ that compresses; likewise their rows. */
export interface ImpactMultipliers {
  readonly lambda: tf.Tensor;
  readonly pi: tf.Tensor;
  /** With `ImpactStep.compressed`. */
  readonly compression?: tf.Tensor;
}
