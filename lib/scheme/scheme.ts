/**
 * How a step is formed (equations.md §2): the unknown z solves R(z; x, p, t, h) = 0, and
 * x⁺ = U(z; x, p, t, h). A scheme is these two pure functions of tensors; Newton, sparsity, adjoint
 * and sensitivities are derived from them by tracing and written once.
 */
import type * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import type {Division} from '../system/breaking-points.js';
import type {Check} from '../checks.js';
import {
  boolean,
  callable,
  count,
  listOf,
  object,
  oneOf,
  positive,
  refuseUnknownOptions,
  requireValue,
  text,
} from '../checks.js';
import type {Constraints, Yielding} from '../system/constraints.js';
import type {Blocks, Calculus, Equations, NoiseKind} from '../system/equations.js';

/** One step, from its start: the state x at time t, the step length h, and the system. */
export interface StepPoint extends Equations {
  /** q and v, or y, and the blocks that the scheme carries. */
  readonly x: Blocks;
  /** [] */
  readonly t: tf.Tensor;
  /** [], negative in a run backwards in time. */
  readonly h: tf.Tensor;
  /**
   * How far the guess breaks the kinematics, q⁺ − q⁺(z), by block; only in the first iteration from
   * such a guess. A residual that eliminates q⁺ adds it.
   */
  readonly defect?: Blocks;
  /** The system's constraints; undefined if it has none. */
  readonly constraints?: Constraints;
  /** [], compliance given to redundant constraints, see `RowScale`. */
  readonly regularization: tf.Tensor;
  /**
   * Multipliers that one solution does not tell are sought by several, each nearest to the last one's, the anchor: a residual
   * may add relaxation (λ − anchor), in its own unit, to rows that may be redundant. In the end λ is the anchor, and nothing
   * is added. Where Newton's method finds no solution, relaxation is as large as 1 at first. For derivatives it is to add
   * proximity (λ − λ of the last step).
   */
  readonly yielding: Omit<Yielding, 'last'>;
  /** What stabilization adds to the position that the kinematics give: pass every q⁺ through it. */
  stabilizePosition(q: tf.Tensor): tf.Tensor;
  /** The same as an increment; undefined where nothing is stabilized. */
  stabilizing?(q: tf.Tensor): tf.Tensor;
}

/** What `carry` may ask for at the start of a run, beside the state: see start.ts. */
export interface Ahead {
  /** With `startsAhead`: the unknown of the first step, from the state that is made of it. */
  readonly first: Blocks;
  /** With `carriesJerk`: da/dt, or d²y/dt²; filtered, to first order in h, d²x/dt² is bounded by x/h² where the motion is stiff. */
  readonly jerk: tf.Tensor;
  /** With `carriesNormalJerk`: the part of the jerk across the constraints, in the metric of the mass; zero where velocities are held too. */
  normalJerk(): tf.Tensor;
}

/** The initial guess of Newton's method. */
export interface Guess {
  readonly z: Blocks;
  /** Blocks of the state whose eliminated kinematics the guess breaks. */
  readonly defect?: Blocks;
  /** The first residual uses f(q, v, t) at the step's start for every force. */
  readonly frozenForce?: boolean;
  /** The first iteration belongs to the guess and is not counted. */
  readonly linearized?: boolean;
}

/** A scheme for one kind of system. */
export interface Formulation {
  /** Names of the blocks of z, each of the state's shape; empty for an explicit scheme. */
  readonly unknown: readonly string[];
  /**
   * Which time derivative of q, or of y, blocks of the state and the unknown are, stage by stage alike: an error of
   * rounding in q counts h⁻ᵖ times in the p-th. Default: q and y are 0, v is 1, a is 2; of other blocks nothing is known.
   */
  readonly derivatives?: {readonly [block: string]: number};
  /** Blocks of z with one number for every row of the constraints: λ, and what stabilization adds. */
  readonly multipliers?: readonly string[];
  /**
   * Blocks the state gains beside q and v, or y, with their values at the start of the run. There
   * `acceleration` obeys the constraints.
   */
  readonly carry?: (at: StepPoint, ahead: Ahead) => Blocks;
  /** λ is the mean force of the step: an impulse that a projection adds within it is part of that. */
  readonly meanForce?: boolean;
  /** `carry` asks for the first step. */
  readonly startsAhead?: boolean;
  /** A stage lies beyond the end of the step: there a delay equation has no polynomial of the past that its step reads as a whole. */
  readonly looksBeyond?: boolean;
  /**
   * The unknown's blocks may be found one after another: the equations of each ask for it and for those
   * before it, and their derivative by it is one function of where the stage is, so that one factor serves all.
   */
  readonly sequential?: boolean;
  /** With `sequential`: a first guess of block k of the unknown from those before it. */
  readonly predict?: (k: number, z: Blocks, at: StepPoint) => tf.Tensor;
  /**
   * A first guess of the unknown from the last step's, whose interpolation goes on beyond its end: this step
   * begins at θ = `ahead` of it and is `ratio` times as long.
   */
  readonly extrapolate?: (last: Blocks, ahead: tf.Tensor, ratio: tf.Tensor, at: StepPoint) => Blocks;
  /**
   * What an error in any block of the unknown does to the state: δ there is about h^power·δ in these of its
   * blocks. With it equations of adaptive steps are solved as far as the step's tolerance asks.
   */
  readonly effects?: {readonly [block: string]: number};
  /** Positions alone are held though steps change their length, which multipliers do not follow: the run says so. */
  readonly positionsAlone?: boolean;
  /** `carry` asks for the jerk: 'filtered' where stiffness must not reach what is carried, 'exact' for a scheme that damps nothing. */
  readonly carriesJerk?: 'filtered' | 'exact';
  /**
   * The step takes no time: it looks for rest at the time of its start, from wherever that is. The start
   * is then not asked to obey the constraints.
   */
  readonly still?: boolean;
  /** `carry` asks for the part of the jerk across the constraints, too. */
  readonly carriesNormalJerk?: boolean;
  /**
   * Every new position comes from `moved`, and what is judged of one through `positionRate`: so it integrates systems with
   * q' = N(q) v, and with hidden states, which are parts of v. Without it such systems are refused.
   */
  readonly moves?: boolean;
  /** What integrates such systems in place of one that does not move. */
  readonly moving?: Formulation;
  /** Blocks of the unknown that have the shape of q; others have that of v. */
  readonly ofPositions?: readonly string[];
  /** The highest index of M y' = f with a singular M that it integrates; default 0, such systems are refused. */
  readonly masses?: 0 | 1 | 2;
  /** Its equations take a mass that is a function of y and t where their slope is; without it such a mass is refused. */
  readonly movingMass?: boolean;
  /** What integrates them in place of one that does not. */
  readonly massive?: Formulation;
  /** Written for an ode: the whole state of a mechanical system is its one block y. */
  readonly whole?: boolean;
  /** For an `sde`: the noise that it integrates, and in which sense; in either where undefined. */
  readonly stochastic?: {readonly noise: readonly NoiseKind[]; readonly calculus?: Calculus};
  /** Of a delay equation: where its steps are divided. */
  readonly divides?: Division;
  /** R by blocks, named as the unknown's. */
  readonly residual?: (z: Blocks, at: StepPoint) => Blocks;
  /** Of contacts with friction, what `Constraints.laws` gives: with it their forces may be found by themselves (integrate/contact-impulses.ts). */
  readonly contactLaws?: ((z: Blocks, at: StepPoint) => tf.Tensor | undefined) | undefined;
  /** x⁺: all of the state's blocks. */
  readonly update: (z: Blocks, at: StepPoint) => Blocks;
  /** Carried blocks, where `turn` is added to the acceleration `a` at the end of the step: what has landed loses its impact (constrained.ts). */
  readonly turned?: (next: Blocks, turn: tf.Tensor, at: StepPoint) => Blocks;
  /** Default: every unknown block starts at the state's block of its name, or at zero. */
  readonly guess?: (at: StepPoint) => Guess;
  /**
   * An estimate of the step's local error, for adaptive steps: some or all of q and v, or y; what is left
   * out is not judged. Without it a step is compared with two of half its length.
   * @param shift an estimate that was made before, zero at first: one with `errorFilter` may evaluate slopes
   *   of the step's start there, see runge-kutta-error.ts
   */
  readonly error?: (z: Blocks, at: StepPoint, shift: Blocks) => Blocks;
  /**
   * The matrix that makes the estimate of `error`, as the derivative by e of a function of e at e = 0 (all of
   * q and v, or y): the estimate E solves G'(0) E = error(z, at).
   */
  readonly errorFilter?: (e: Blocks, at: StepPoint) => Blocks;
  /**
   * Of an explicit scheme: h|λ| of the step, a scalar, over what is stable for negative λ; judged where steps
   * are adaptive, to tell the user of a stiff problem.
   */
  readonly stiffness?: (z: Blocks, at: StepPoint) => tf.Tensor;
  /** The estimate says nothing of velocities, and so of hidden states: with these a step is compared with two of half its length. */
  readonly judges?: 'positions' | undefined;
  /** The power of h that the estimate falls with; default the order plus one. */
  readonly errorOrder?: number;
  /**
   * The state's blocks at t + θh, θ in [0, 1] a scalar, from the step and the state `next` at its end;
   * what is left out is interpolated linearly. At θ = 0 it must be the state x, at θ = 1 `next`. Default:
   * Hermite's interpolation, see hermite.ts.
   */
  readonly dense?: (theta: tf.Tensor, z: Blocks, at: StepPoint, next: Blocks) => Blocks;
}

/** A formulation for odes that integrates mechanical systems as a whole. */
export const asWhole = (ode: Formulation): Formulation => ({...ode, moves: true, whole: true});

/** A time integration scheme, for one or both kinds of systems; made by `trapezoid`, `defineScheme` and others. */
export interface Scheme {
  readonly name: string;
  /** Order of consistency, as a scheme for smooth problems; of schemes for an `sde` the strong order. */
  readonly order: number;
  readonly mechanics?: Formulation;
  readonly ode?: Formulation;
  /** For mechanical systems with constraints; absent if the scheme does not support them. */
  readonly constrained?: Formulation;
  /** Used in place of `constrained` if not all constraints are contacts. */
  readonly jointed?: Formulation;
  /** Stabilizations that are not made by wrapping `constrained` (constrained.ts); null where there is none. */
  readonly stabilized?: {readonly [S in 'ggl' | 'projection' | 'projection-before']?: Formulation | null};
  /** λ oscillates without decay if only positions are satisfied, so by default velocities are satisfied too. */
  readonly weaklyUnstable?: boolean;
  /**
   * What it holds of unilateral constraints: nothing, or springs alone ('soft': with compliance or
   * smoothing), where it cannot stop what lands; 'friction': all, and it alone holds contacts with friction. Default: all
   * unilateral ones.
   */
  readonly contacts?: 'none' | 'soft' | 'friction';
  /**
   * It damps what its steps do not resolve, |R(∞)| < 1, in either direction of time: a run backwards gives a warning.
   */
  readonly dissipative?: boolean;
}

/** The argument of `defineScheme`. */
export interface SchemeSpec extends Formulation {
  readonly name?: string;
  readonly order: number;
  /** The systems that it integrates; default mechanics. 'constrained' is mechanics with constraints. */
  readonly kind?: 'mechanics' | 'ode' | 'constrained';
}

const blockNames = listOf('names of blocks', text);
const index: Check = {what: '0, 1 or 2', test: value => value === 0 || value === 1 || value === 2};
const specChecks = {
  name: text,
  order: positive,
  kind: oneOf('mechanics', 'ode', 'constrained'),
  unknown: blockNames,
  derivatives: object,
  multipliers: blockNames,
  carry: callable,
  meanForce: boolean,
  startsAhead: boolean,
  looksBeyond: boolean,
  sequential: boolean,
  predict: callable,
  extrapolate: callable,
  effects: object,
  positionsAlone: boolean,
  carriesJerk: oneOf('filtered', 'exact'),
  still: boolean,
  carriesNormalJerk: boolean,
  moves: boolean,
  ofPositions: blockNames,
  moving: object,
  masses: index,
  movingMass: boolean,
  massive: object,
  whole: boolean,
  stochastic: object,
  divides: object,
  residual: callable,
  contactLaws: callable,
  update: {what: 'a function update(z, at) giving the new state', test: callable.test},
  turned: callable,
  guess: callable,
  error: callable,
  errorFilter: callable,
  stiffness: callable,
  judges: oneOf('positions'),
  errorOrder: count,
  dense: callable,
} satisfies {readonly [option in keyof Required<SchemeSpec>]: Check};

/**
 * A custom scheme: `unknown` names the blocks of z, `residual(z, at)` and `update(z, at)` are
 * tensor functions (see `StepPoint` for what `at` offers).
 *
 * @throws OptionError if an implicit scheme lacks its residual, or the order is not positive
 */
export function defineScheme(spec: SchemeSpec): Scheme {
  refuseUnknownOptions(spec, specChecks, 'defineScheme', 'bad-scheme');
  for (const name of ['order', 'unknown', 'update'] as const)
    requireValue(spec[name], specChecks[name], `defineScheme: ${name}`, 'bad-scheme');
  const {name = 'custom', order, kind = 'mechanics', ...formulation} = spec;
  if (formulation.unknown.length > 0 && formulation.residual === undefined) {
    throw new OptionError(
      'bad-scheme',
      `defineScheme: a scheme with unknown ${formulation.unknown.join(', ')} needs residual(z, at).`,
    );
  }
  return {name, order, [kind]: formulation};
}
