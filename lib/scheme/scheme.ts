/**
 * How a step is formed (equations.md §2): the unknown z solves R(z; x, p, t, h) = 0, and
 * x⁺ = U(z; x, p, t, h). A scheme is these two pure functions of tensors; Newton, sparsity, adjoint
 * and sensitivities are derived from them by tracing and written once.
 */
import type * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import type {Check} from '../checks.js';
import {
  boolean,
  callable,
  positiveInteger,
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
   * Multipliers that one solution does not tell are sought by several, each nearest to the last one's, the anchor: a
   * residual may add relaxation (λ − anchor), in its own unit, to rows that may be redundant. In the end λ is the
   * anchor, and nothing is added. Where Newton's method finds no solution, relaxation is as large as 1 at first. For
   * derivatives it is to add proximity (λ − λ of the last step).
   */
  readonly yielding: Omit<Yielding, 'last'>;
  /**
   * [2, n, n], of a start of M y' = f that is made consistent: the projector onto components of index 2, and the
   * complement of the range of M (integrate/algebraic.ts).
   */
  readonly projection?: tf.Tensor;
}

/** Results of a step that is taken on trial at the start of a run: see start.ts. */
export interface TrialStep {
  /** The unknown of that step, which starts from the state that is made of it. */
  readonly first: Blocks;
  /**
   * da/dt, or d²y/dt². Of a scheme that damps (`dissipative`) it is filtered, to first order in h: d²x/dt² is bounded
   * by x/h² where the motion is stiff.
   */
  readonly jerk: tf.Tensor;
  /**
   * The part of the jerk across the constraints, in the metric of the mass; zero without constraints, and where
   * velocities are held too.
   */
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

/** A scheme for one kind of system: the residual, the update, and what is known of them. */
export interface Formulation {
  /**
   * Names of the blocks of z, each of v's shape, or of y's; those called q' are of q's. Empty for an explicit scheme.
   */
  readonly unknown: readonly string[];
  /**
   * Blocks of z with one number for every row of the constraints, there where the system has constraints. A
   * formulation of `Scheme.mechanics` with ['lambda'] holds constraints without a word more: λ is added to `at.force`
   * as the reaction, and the rows of the constraints at the end of the step to the residual. It may not read
   * `at.rate` or `at.acceleration` then but for its guess. Equations of its own are those of `Scheme.constrained`.
   */
  readonly multipliers?: readonly string[];
  /**
   * Which time derivative of q, or of y, blocks of the state and the unknown are: an error of rounding in q counts
   * h⁻ᵖ times in the p-th. Stages and other places, as in 'a in stage 1', have that of their block. Default: q and y
   * are 0, v and q' are 1, a is 2; of other blocks nothing is known.
   */
  readonly derivatives?: {readonly [block: string]: number};
  /** R by blocks, named as the unknown's and the multipliers'. */
  readonly residual?: (z: Blocks, at: StepPoint) => Blocks;
  /** x⁺: all of the state's blocks. */
  readonly update: (z: Blocks, at: StepPoint) => Blocks;
  /** Default: every unknown block starts at the state's block of its name, or at zero. */
  readonly guess?: (at: StepPoint) => Guess;
  /**
   * Blocks the state gains beside q and v, or y, with their values at the start of the run: a function of the state, or
   * the past of a multistep scheme. There `at.acceleration` obeys the constraints.
   */
  readonly carry?:
    | ((at: StepPoint) => Blocks)
    | {
        /** Parts of `ahead` that `from` reads. Each adds equations at the start. */
        readonly reads: readonly (keyof TrialStep)[];
        readonly from: (at: StepPoint, ahead: TrialStep) => Blocks;
      };
  /**
   * The unknown's blocks are stages of one kind. Where steps are adaptive they are solved as far as the step's
   * tolerance asks, and guessed so.
   */
  readonly stages?: {
    /**
     * A guess of block k of the unknown from those before it. With it the blocks are solved one after another: the
     * equations of each may read it and those before it, and their derivative by it is one function of where the stage
     * is, so that one factor serves all.
     */
    readonly predict?: (k: number, z: Blocks, at: StepPoint) => tf.Tensor;
    /**
     * A guess of the unknown from the last step's, whose interpolation goes on beyond its end: this step
     * begins at θ = `ahead` of it and is `ratio` times as long.
     */
    readonly extrapolate?: (last: Blocks, ahead: tf.Tensor, ratio: tf.Tensor, at: StepPoint) => Blocks;
  };
  /** Where steps are adaptive; without an estimate a step is compared with two of half its length. */
  readonly error?: {
    /** The power of h that the estimate falls with; default the order plus one. */
    readonly order?: number;
    /**
     * The estimate, of some or all of q and v, or y; what is left out is not judged. Undefined where there is none for
     * this system, as `at` knows it.
     * @param shift an estimate that was made before, zero at first: with `filter` slopes of the step's start may be
     *   evaluated there, see runge-kutta-error.ts
     */
    readonly estimate: (z: Blocks, at: StepPoint, shift: Blocks) => Blocks | undefined;
    /**
     * The matrix G' that makes the error E of the estimate, as the derivative by e of a function G of e at e = 0 (all
     * of q and v, or y): G'(0) E = estimate(z, at).
     */
    readonly filter?: (e: Blocks, at: StepPoint) => Blocks;
    /**
     * For an explicit scheme: h|λ| of the step relative to the stability limit for negative λ, a scalar. It warns of a
     * stiff problem.
     */
    readonly stiffness?: (z: Blocks, at: StepPoint) => tf.Tensor;
  };
  /**
   * The state's blocks at t + θh, θ in [0, 1] a scalar, from the step and the state `next` at its end;
   * what is left out is interpolated linearly. At θ = 0 it must be the state x, at θ = 1 `next`. Default:
   * Hermite's interpolation, see hermite.ts.
   */
  readonly dense?: (theta: tf.Tensor, z: Blocks, at: StepPoint, next: Blocks) => Blocks;
  /** Systems beyond the plain ones of its kind. Without its entry such a system is refused. */
  readonly supports?: {
    /**
     * Systems with q' = N(q) v, and with hidden states, which are parts of v: every new position comes from
     * `at.retract`, and what is judged of one from `at.positionRate`.
     */
    readonly kinematics?: boolean;
    /**
     * M y' = f with a singular M, by `at.mass` and `at.rightHandSide`: the highest index. M may be a function of y and
     * t, and is taken where the slope is; 'steady' is index 1 with a constant M.
     */
    readonly mass?: 'steady' | 1 | 2;
    /** The noise of an sde, by `at.noise`, and the calculus that the scheme is for; either where undefined. */
    readonly noise?: {readonly kinds: readonly NoiseKind[]; readonly calculus?: Calculus};
    /**
     * Unilateral constraints: 'none'; 'soft' ones, with compliance or smoothing, if it cannot stop what lands; 'hard'
     * ones too (default); 'friction', contacts with friction too.
     */
    readonly contacts?: 'none' | 'soft' | 'hard' | 'friction';
  };
}

/** A block's name without its stage, or another place where it is. */
export const blockOf = (name: string): string => name.replace(/(?: .*|\d+)$/, '');

const standardDerivatives: {readonly [block: string]: number | undefined} = {q: 0, y: 0, v: 1, "q'": 1, a: 2};

/** See `Formulation.derivatives`. */
export function derivativeOf({derivatives}: Formulation, name: string): number | undefined {
  const block = blockOf(name);
  return derivatives?.[name] ?? derivatives?.[block] ?? standardDerivatives[block];
}

/** The blocks of `carry` at a step's start. */
export const carried = ({carry}: Formulation, at: StepPoint, ahead: TrialStep): Blocks =>
  carry === undefined ? {} : typeof carry === 'function' ? carry(at) : carry.from(at, ahead);

/** Whether `carry` reads that of the first step. */
export const usesTrialStep = ({carry}: Formulation, what: keyof TrialStep): boolean =>
  typeof carry === 'object' && carry.reads.includes(what);

/** Properties of a system by which a formulation is chosen. */
export interface SystemTraits {
  /** It has hidden states or kinematics. */
  readonly general: boolean;
  /** It is M y' = f with a mass. */
  readonly mass: boolean;
  /** Not all of its constraints are contacts. */
  readonly joints: boolean;
  /** All of its constraints are bilateral ones of positions. */
  readonly holonomic: boolean;
  /** It has forces that read the multipliers. */
  readonly readsMultipliers: boolean;
  /** How the velocities of its constraints of positions are held, see docs/constraints.md. */
  readonly stabilization: 'none' | 'projection' | 'projection-before' | 'ggl';
}

/**
 * A formulation, or a function that chooses one by what the system is. What is chosen for constraints is
 * stabilized as it was asked; undefined where the scheme has no such formulation.
 */
export type FormulationOf = Formulation | ((system: SystemTraits) => Formulation | undefined);

/** A time integration scheme, for one or both kinds of systems; made by `trapezoid`, `defineScheme` and others. */
export interface Scheme {
  readonly name: string;
  /**
   * Order of consistency, as a scheme for smooth problems; of schemes for an `sde` the strong order. 0 is a step that
   * takes no time: it looks for rest, from a start that need not obey the constraints.
   */
  readonly order: number;
  /**
   * It damps what its steps do not resolve, |R(∞)| < 1, in either direction of time: a run backwards gives a warning.
   */
  readonly dissipative?: boolean;
  readonly mechanics?: FormulationOf;
  /** For mechanical systems with constraints; default `mechanics`, where it has multipliers. */
  readonly constrained?: FormulationOf;
  /** Mechanical systems with kinematics are integrated by it as a whole where `mechanics` does not support them. */
  readonly ode?: FormulationOf;
}

/** The argument of `defineScheme`. */
export interface SchemeSpec extends Formulation, Pick<Scheme, 'order' | 'dissipative'> {
  readonly name?: string;
  /**
   * The systems that it integrates, or a list; default mechanics. 'constrained' is mechanics with constraints by
   * equations of its own. A formulation for several finds `at.kind` and `at.constraints`.
   */
  readonly kind?: SchemeKind | readonly SchemeKind[];
}

/** See `SchemeSpec.kind`. */
type SchemeKind = 'mechanics' | 'ode' | 'constrained';

const blockNames = listOf('names of blocks', text);
const kinds = ['mechanics', 'ode', 'constrained'];
const specChecks = {
  name: text,
  order: positive,
  kind: {
    what: "'mechanics', 'ode' or 'constrained', or a list of them",
    test: value => {
      const given = [value].flat();
      return given.length > 0 && given.every(one => kinds.includes(one as string));
    },
  },
  dissipative: boolean,
  unknown: blockNames,
  multipliers: blockNames,
  derivatives: object,
  residual: callable,
  update: {what: 'a function update(z, at) giving the new state', test: callable.test},
  guess: callable,
  carry: {what: 'a function carry(at), or {reads, from}', test: value => callable.test(value) || object.test(value)},
  stages: object,
  error: object,
  dense: callable,
  supports: object,
} satisfies {readonly [option in keyof Required<SchemeSpec>]: Check};

const partChecks = {
  carry: {reads: listOf("'first', 'jerk' and 'normalJerk'", oneOf('first', 'jerk', 'normalJerk')), from: callable},
  stages: {predict: callable, extrapolate: callable},
  error: {order: positiveInteger, estimate: callable, filter: callable, stiffness: callable},
  supports: {
    kinematics: boolean,
    mass: {what: "'steady', 1 or 2", test: value => value === 'steady' || value === 1 || value === 2},
    noise: {
      what: '{kinds, calculus} with a list of kinds',
      test: value => object.test(value) && Array.isArray((value as {kinds?: unknown}).kinds),
    },
    contacts: oneOf('none', 'soft', 'hard', 'friction'),
  },
} satisfies {readonly [option in keyof SchemeSpec]?: Readonly<Record<string, Check>>};

/**
 * A custom scheme: `unknown` names the blocks of z, `residual(z, at)` and `update(z, at)` are
 * tensor functions (see `StepPoint` for what `at` offers).
 *
 * @throws OptionError 'bad-scheme' if an implicit scheme lacks its residual, or the order is not positive
 */
export function defineScheme(spec: SchemeSpec): Scheme {
  refuseUnknownOptions(spec, specChecks, 'defineScheme', 'bad-scheme');
  for (const name of ['order', 'unknown', 'update'] as const)
    requireValue(spec[name], specChecks[name], `defineScheme: ${name}`, 'bad-scheme');
  for (const [part, checks] of Object.entries(partChecks)) {
    const given = spec[part as keyof typeof partChecks];
    if (typeof given === 'object') refuseUnknownOptions(given, checks, `defineScheme: ${part}`, 'bad-scheme');
  }
  if (spec.error !== undefined)
    requireValue(spec.error.estimate, callable, 'defineScheme: error.estimate', 'bad-scheme');
  if (typeof spec.carry === 'object') {
    requireValue(spec.carry.reads, partChecks.carry.reads, 'defineScheme: carry.reads', 'bad-scheme');
    requireValue(spec.carry.from, callable, 'defineScheme: carry.from', 'bad-scheme');
  }
  const {name = 'custom', order, dissipative, kind = 'mechanics', ...formulation} = spec;
  if (formulation.unknown.length > 0 && formulation.residual === undefined) {
    throw new OptionError(
      'bad-scheme',
      `defineScheme: a scheme with unknown ${formulation.unknown.join(', ')} needs residual(z, at).`,
    );
  }
  const {multipliers} = formulation;
  if ([kind].flat().includes('mechanics') && multipliers !== undefined)
    if (formulation.unknown.length === 0 || multipliers.join() !== 'lambda')
      throw new OptionError(
        'bad-scheme',
        "defineScheme: a scheme for mechanics holds constraints with multipliers: ['lambda'] and an unknown that moves "
          + "the position at the end of its step. Equations of its own are of kind: 'constrained'.",
      );
  return {name, order, dissipative, ...Object.fromEntries([kind].flat().map(one => [one, formulation]))};
}
