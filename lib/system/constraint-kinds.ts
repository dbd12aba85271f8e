/**
 * Constraints as the user writes them: a gap, and a kind that says what gap and multiplier have to do with each
 * other (equations.md §1 and §4). All that a run asks of a kind stands in `ConstraintKind`; the four that ship are
 * made like any other.
 *
 * | kind       | condition              |
 * |------------|------------------------|
 * | bilateral  | φ(q, t) = 0            |
 * | compliant  | φ + Cλ = 0             |
 * | unilateral | 0 ≤ λ ⟂ φ + Cλ ≥ 0     |
 * | nonholonomic | ψ(q, v, t) = 0       |
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {
  boolean,
  callable,
  nonNegative,
  numeric,
  oneOf,
  optional,
  readOptions,
  requireValue,
  shown,
  text,
  typed,
  type Check,
  type Options,
} from '../checks.js';
import type {AnyStateAt, StateAt} from './hidden-states.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import type {Bivariant, Params, ParamsLike} from './params.js';

/**
 * The gap of a constraint: [m] or a scalar, in the unit of length (or angle) of q. Hidden states Z have their names.
 */
export type Gap<P = Params, Z extends string = never> = (
  at: {q: tf.Tensor; t: tf.Tensor; params: P} & {readonly [K in Z]: tf.Tensor},
) => tf.Tensor;
/** The function that a constraint on velocities keeps at zero: [m] or a scalar. */
export type VelocityGap<P = Params, Z extends string = never> = (at: StateAt<P, Z>) => tf.Tensor;
/**
 * Displacement per unit multiplier, C ≥ 0: one number, or one per row; a function of params if it is estimated or
 * differentiated.
 */
export type Compliance<P = Params> = Numeric | Bivariant<P, tf.Tensor>;

/** The rows of one constraint at one state, as a kind sees them. */
export interface GapAndMultiplier {
  /** [m], φ, or ψ. */
  readonly gap: tf.Tensor;
  /** [m], λ. */
  readonly lambda: tf.Tensor;
  /** The constraint's compliance, [m] or []; zero if none was given. */
  readonly compliance: tf.Tensor;
  /**
   * [], compliance that a rigid row gains so that redundant multipliers are told apart; 0 unless there are such. Add it
   * to the constraint's own.
   */
  readonly softness: tf.Tensor;
  /**
   * [], what a unit multiplier moves a typical mass in the step, in the unit of the gap: with it gap and multiplier can
   * be compared.
   */
  readonly stepCompliance: tf.Tensor;
}

const kindOptions = {
  name: text,
  /** Whether its gap is a function of positions or velocities: its force is (∂gap/∂q)ᵀλ, or (∂gap/∂v)ᵀλ. */
  of: oneOf('positions', 'velocities'),
  /**
   * How starts and stabilizations treat the gap. 'always': the gap is zero, and so are its derivatives.
   * 'contact' (of positions): it is not negative, and what reaches zero stops there at once. 'never': it yields, so
   * that every state may be.
   */
  holds: oneOf('always', 'contact', 'never'),
  /** [m], in the unit of the gap: zero if the constraint is satisfied. */
  condition: typed<(at: GapAndMultiplier) => tf.Tensor>(callable),
  /** For springs, whose multiplier follows from the gap: λ with `condition` zero. Schemes weight it like forces. */
  law: optional(typed<(gap: tf.Tensor, compliance: tf.Tensor) => tf.Tensor>(callable)),
  /**
   * The multiplier may be zero while the gap is not: at one instant the condition looks a step ahead, and schemes
   * without contacts refuse it.
   */
  oneSided: optional(boolean),
  /**
   * The derivative of `condition` jumps where gap and multiplier are both zero: a run warns if it passes such a state.
   */
  kinked: optional(boolean),
};

/** The relation between gap and multiplier, and its consequences for a run. @interface */
export type ConstraintKind = Options<typeof kindOptions>;

/** Velocities that Coulomb's friction opposes, with its coefficient μ ≥ 0, one number or one per contact. */
export interface SlipLaw<P = Params, Z extends string = never> {
  /** [m], or [m, 2] for two orthogonal directions. */
  readonly slip: Bivariant<AnyStateAt<P, Z>, tf.Tensor>;
  readonly friction: Compliance<P>;
}

/** Properties of a contact in addition to its gap. */
export interface ContactLaw<P = Params, Z extends string = never> {
  /** Slip of the point of contact in the tangent plane, then of turning; empty without friction. */
  readonly slips: readonly SlipLaw<P, Z>[];
  /** Newton's and Moreau's e in [0, 1], likewise. */
  readonly restitution: Compliance<P>;
}

/**
 * Made by `bilateral`, `compliant`, `unilateral`, `nonholonomic`, `frictionalContact`, and functions of
 * `defineConstraint`. P are the parameters that its functions read.
 */
export interface Constraint<P = Params, Z extends string = never> {
  readonly kind: ConstraintKind;
  readonly gap: Bivariant<AnyStateAt<P, Z>, tf.Tensor>;
  readonly compliance?: Compliance<P> | undefined;
  /** For `frictionalContact`: friction and restitution. */
  readonly contact?: ContactLaw<P, Z>;
  /** Names of its rows in errors and warnings; default: the index of the constraint, and that of the row. */
  readonly rows?: readonly string[];
}

/** Makes constraints of one kind. */
export type MakesConstraints = <P extends ParamsLike<P> = Params, Z extends string = never>(
  gap: VelocityGap<P, Z>,
  spec?: {readonly compliance?: Compliance<P>},
) => Constraint<P, Z>;

/** A coefficient of a constraint's rows that is finite and from 0 to `limit`; a function of params is not called. */
export const rowCoefficient = (limit = Infinity): Check<Compliance<never>> => ({
  ...typed<Compliance<never>>(numeric),
  read(given, name) {
    requireValue(given, numeric, name, 'bad-constraint');
    if (typeof given === 'function') return given;
    const {values} = readNumeric(given, name);
    const bad = values.findIndex(value => !(value >= 0 && value <= limit && Number.isFinite(value)));
    if (bad >= 0)
      throw new OptionError(
        'bad-constraint',
        `${name} must be finite and ${limit === 1 ? 'from 0 to 1' : 'at least 0'}, not ${values[bad]}.`,
        {index: bad},
      );
    return given;
  },
});

const optionalCompliance = {compliance: optional(rowCoefficient())};

/**
 * A custom kind of constraint. Returns the function that makes its constraints, from a gap, and the compliance
 * that is passed to `condition`.
 * @throws OptionError 'bad-constraint'
 */
export function defineConstraint(kind: ConstraintKind): MakesConstraints {
  readOptions(kind, kindOptions, 'defineConstraint', 'bad-constraint');
  if (kind.holds === 'contact' && kind.of === 'velocities')
    throw new OptionError(
      'bad-constraint',
      `defineConstraint: ${kind.name} is on velocities, which cannot land: holds must be 'always' or 'never'.`,
    );
  return <P extends ParamsLike<P> = Params, Z extends string = never>(
    gap: VelocityGap<P, Z>,
    spec: {readonly compliance?: Compliance<P>} = {},
  ): Constraint<P, Z> => {
    const {compliance} = readOptions(spec, optionalCompliance, kind.name, 'bad-constraint');
    requireGap(kind, gap);
    return {kind, gap, compliance};
  };
}

/** gap + softness·λ: zero, but for what redundant rows need. */
const rigid = ({gap, lambda, softness}: GapAndMultiplier): tf.Tensor => tf.add(gap, tf.mul(softness, lambda));

const bilaterals = defineConstraint({name: 'bilateral', of: 'positions', holds: 'always', condition: rigid});

/**
 * φ(q, t) = 0, enforced by the force Gᵀλ with G = ∂φ/∂q.
 * @throws OptionError 'bad-constraint'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {bilateral, mechanics, simulate} from 'stiffgrad';
 *
 * const pendulum = mechanics({
 *   mass: 1,
 *   forces: () => tf.tensor1d([0, -9.81]),
 *   constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
 * });
 * const path = simulate(pendulum, {q: [1, 0], v: [0, 0]}, {dt: 0.01, steps: 50});
 * console.log(Math.hypot(...path.values('q').slice(-2))); // → 1.0000
 * ```
 */
export function bilateral<P extends ParamsLike<P> = Params, Z extends string = never>(
  phi: Gap<P, Z>,
): Constraint<P, Z> {
  return bilaterals(phi);
}

const compliants = defineConstraint({
  name: 'compliant',
  of: 'positions',
  holds: 'never',
  condition: ({gap, lambda, compliance}) => tf.add(gap, tf.mul(compliance, lambda)),
  law: (gap, compliance) => tf.neg(tf.div(gap, compliance)),
});

/**
 * φ + Cλ = 0: a spring of stiffness 1/C written as a constraint, which stays well conditioned as C → 0.
 * @throws OptionError 'bad-constraint'
 */
export function compliant<P extends ParamsLike<P> = Params, Z extends string = never>(
  phi: Gap<P, Z>,
  spec: {readonly compliance: Compliance<P>},
): Constraint<P, Z> {
  readOptions(spec, {compliance: rowCoefficient()}, 'compliant', 'bad-constraint');
  return compliants(phi, spec);
}

/** @param soft with compliance */
const unilaterals = (smoothing: number, soft: boolean): MakesConstraints =>
  defineConstraint({
    name: 'unilateral',
    of: 'positions',
    holds: soft || smoothing > 0 ? 'never' : 'contact',
    oneSided: true,
    kinked: smoothing === 0,
    condition: ({gap, lambda, compliance, softness, stepCompliance}) =>
      complementarity(
        tf.add(gap, tf.mul(soft ? tf.add(compliance, softness) : softness, lambda)),
        lambda,
        stepCompliance,
        smoothing,
      ),
    law: soft ? (gap, compliance) => pushingSpring(gap, compliance, smoothing) : undefined,
  });

/**
 * 0 ≤ λ ⟂ φ + Cλ ≥ 0: contact, an end stop, a cable that goes slack. λ pushes along ∂φ/∂q and never
 * pulls; a row opens when it would. Solved with the Fischer–Burmeister function, exact by default;
 * with `smoothing` ε > 0 gap·λ = ε² in place of 0, differentiable across a change of contact.
 * @throws OptionError 'bad-constraint'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, simulate, unilateral} from 'stiffgrad';
 *
 * const ball = mechanics({mass: 1, forces: () => tf.scalar(-9.81), constraints: [unilateral(({q}) => q)]});
 * const path = simulate(ball, {q: 0.1, v: 0}, {dt: 0.01, steps: 50});
 * console.log(Math.abs(path.values('q')[50]) < 1e-6); // → true
 * ```
 */
export function unilateral<P extends ParamsLike<P> = Params, Z extends string = never>(
  phi: Gap<P, Z>,
  spec: {readonly compliance?: Compliance<P>; readonly smoothing?: number} = {},
): Constraint<P, Z> {
  const schema = {...optionalCompliance, smoothing: optional(nonNegative, 0)};
  const {compliance, smoothing} = readOptions(spec, schema, 'unilateral', 'bad-constraint');
  const soft = compliance !== undefined && compliance !== 0;
  return unilaterals(smoothing, soft)(phi, soft ? {compliance} : {});
}

/**
 * ψ(q, v, t) = 0: rolling, a driven velocity. Enforced by the force (∂ψ/∂v)ᵀλ.
 * @throws OptionError 'bad-constraint'
 */
export function nonholonomic<P extends ParamsLike<P> = Params, Z extends string = never>(
  psi: VelocityGap<P, Z>,
): Constraint<P, Z> {
  return nonholonomics(psi);
}

const nonholonomics = defineConstraint({name: 'nonholonomic', of: 'velocities', holds: 'always', condition: rigid});

/** Made by one of these functions. */
export function isConstraint(given: unknown): given is Constraint {
  const {gap, kind} =
    (given as {readonly gap?: unknown; readonly kind?: {readonly condition?: unknown}} | null | undefined) ?? {};
  return typeof gap === 'function' && typeof kind?.condition === 'function';
}

/** A landing stops at once, and no velocity points into the contact. */
export const isHardContact = ({kind}: Pick<Constraint, 'kind'>): boolean => kind.holds === 'contact';

/** A rigid contact, without friction or with it. */
export const isContact = (constraint: Pick<Constraint, 'kind' | 'contact'>): boolean =>
  constraint.contact !== undefined || isHardContact(constraint);

/** Its position is held without giving way. */
export const holdsPosition = ({of, holds}: ConstraintKind): boolean => of === 'positions' && holds === 'always';

function requireGap({name, of}: ConstraintKind, gap: unknown): void {
  if (typeof gap !== 'function')
    throw new OptionError(
      'bad-constraint',
      `${name} takes a function of {q, ${of === 'velocities' ? 'v, ' : ''}t, params} giving a tensor, `
        + `not ${shown(gap)}.`,
    );
}

/** λ ≥ 0 with (φ + Cλ)λ = ε². */
function pushingSpring(gap: tf.Tensor, compliance: tf.Tensor, smoothing: number): tf.Tensor {
  if (smoothing === 0) return tf.div(tf.relu(tf.neg(gap)), compliance);
  return tf.div(
    tf.sub(tf.sqrt(tf.add(tf.square(gap), tf.mul(compliance, 4 * smoothing ** 2))), gap),
    tf.mul(2, compliance),
  );
}

/**
 * Fischer–Burmeister: a + b − √(a² + b² + 2ε²) with a = gap/√s and b = λ√s, s the step's compliance. Both have the unit
 * √(gap·λ), so that neither drowns the other and ab = ε² means gap·λ = ε². In the unit of the gap. Where a + b > 0 it
 * is written 2(ab − ε²)/(a + b + √…): the difference would round at ε|a| beside a far contact, whose b is zero. With a
 * row at rest exactly between contact and none the root is zero and has no derivative: the one taken is (1, 1), one of
 * the generalized ones.
 * @param gap [m]
 * @param lambda [m]
 * @param stepCompliance s, [], as `condition` of `defineConstraint` receives it
 * @param smoothing ε; default 0
 * @returns [m], zero where gap ≥ 0, λ ≥ 0 and one of them is 0
 */
export function complementarity(
  gap: tf.Tensor,
  lambda: tf.Tensor,
  stepCompliance: tf.Tensor,
  smoothing = 0,
): tf.Tensor {
  const root = tf.sqrt(stepCompliance);
  const a = tf.div(gap, root);
  const b = tf.mul(lambda, root);
  const squares = tf.addN([tf.square(a), tf.square(b), tf.mul(tf.onesLike(a), 2 * smoothing ** 2)]);
  const length = tf.where(tf.greater(squares, 0), tf.sqrt(squares), tf.zerosLike(squares));
  const sum = tf.add(a, b);
  const quotient = tf.div(tf.mul(2, tf.sub(tf.mul(a, b), smoothing ** 2)), tf.add(sum, length));
  return tf.mul(root, tf.where(tf.greater(sum, 0), quotient, tf.sub(sum, length)));
}
