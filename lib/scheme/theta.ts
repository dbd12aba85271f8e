/**
 * One-step schemes in the velocity with blended ends (equations.md §2–3): θ-method, Euler schemes,
 * trapezoid, blended Euler, and implicit midpoint. All share one kinematics,
 *
 *     q⁺ = q + h[(1−β)v + βv⁺],
 *
 * and differ in the balance of momentum. `form` chooses whether q⁺ is eliminated (condensed: the
 * unknown is v⁺) or stays an unknown with its own row (coupled); both give the same iterates.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {between, oneOf, refuseUnknownOptions, requireValue, type OptionSchema} from '../checks.js';
import type {PhasePoint} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import {constraintsOf, rowScale} from './constrained.js';
import type {Formulation, Guess, Scheme, StepPoint} from './scheme.js';

/** First guesses of a step's unknown by name: see docs/initial-guesses.md. */
export type GuessName = 'rest' | 'current' | 'consistent' | 'linearized' | 'extrapolated';
/** The unknown of a step: the new velocity, its increment, or the acceleration. */
export type VelocityUnknown = 'velocity' | 'increment' | 'acceleration';

/** Options of θ-methods. */
export interface ThetaOptions {
  /** Eliminate q⁺ (default), or keep it as an unknown with its own row. */
  readonly form?: 'condensed' | 'coupled';
  /** Where Newton starts; default 'consistent' (v⁺ = v and the q⁺ that follows from it). */
  readonly guess?: GuessName;
}

/** Options of `blendedEuler` in addition to alpha and beta. */
export interface BlendedOptions extends ThetaOptions {
  /** The unknown z: v⁺ (default), v⁺ − v, or (v⁺ − v)/h. Condensed form only. */
  readonly unknown?: VelocityUnknown;
}

interface Weights {
  readonly name: string;
  readonly order: number;
  /** Share of the end in the force. */
  readonly alpha: number;
  /** Share of the end in the velocity that moves q. */
  readonly beta: number;
  /** One force, at the middle of the step, in place of the blend of two. */
  readonly midpoint?: boolean;
}

type Blend = Weights & BlendedOptions;

/** w₀ a + w₁ b without terms of weight zero. */
function blend(weight: number, a: () => tf.Tensor, b: () => tf.Tensor): tf.Tensor {
  if (weight === 0) return a();
  if (weight === 1) return b();
  return tf.add(tf.mul(a(), 1 - weight), tf.mul(b(), weight));
}

/** The blend of two tensors. */
function mixed(weight: number, a: tf.Tensor, b: tf.Tensor): tf.Tensor {
  return blend(
    weight,
    () => a,
    () => b,
  );
}

const middle = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.mul(tf.add(a, b), 0.5);

/** q⁺ − q from v⁺: h[(1−β)v + βv⁺]. */
const gained = ({beta}: Blend, {x, h}: StepPoint, v: tf.Tensor): tf.Tensor => tf.mul(h, mixed(beta, x.v, v));

/** q⁺ from v⁺, and what the guess breaks of it. */
const kinematics = (scheme: Blend, at: StepPoint, v: tf.Tensor): tf.Tensor =>
  at.retract(at.x.q, gained(scheme, at, v), ...(at.defect === undefined ? [] : [at.defect.q]));

/** The end of a step, from the unknown. */
interface End {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  /** v⁺ − v, taken from the unknown where that does not round v⁺ first. */
  readonly gain: tf.Tensor;
  /** (v⁺ − v)/h, where that is the unknown. */
  readonly mean?: tf.Tensor;
}

/**
 * M(v⁺ − v) − h f, or that over h where the mean acceleration is the unknown, with M at the position
 * that weighs q and q⁺ as the velocities are weighed.
 */
function balance(scheme: Blend, at: StepPoint, {q, v, gain, mean}: End, lambda?: tf.Tensor): tf.Tensor {
  const {x, t, h, force, mass} = at;
  const middleOfStep = (): PhasePoint => middlePlace(at, q, v);
  const free =
    scheme.midpoint === true
      ? force(at.project(middle(x.q, q)), middle(x.v, v), tf.add(t, tf.mul(h, 0.5)))
      : blend(
          scheme.alpha,
          () => force(x.q, x.v, t),
          () => force(q, v, tf.add(t, h)),
        );
  const applied =
    lambda === undefined ? free : tf.add(free, reaction(scheme, at, {q, v, t: tf.add(t, h)}, middleOfStep, lambda));
  const where = weighed(scheme, at, q);
  return mean === undefined ? tf.sub(mass(where, gain), tf.mul(h, applied)) : tf.sub(mass(where, mean), applied);
}

/** Between q and q⁺ where the velocities are weighed. */
const weighed = ({beta}: Blend, {x, project}: StepPoint, q: tf.Tensor): tf.Tensor =>
  beta === 0 || beta === 1 ? mixed(beta, x.q, q) : project(mixed(beta, x.q, q));

const middlePlace = ({x, t, h, project}: StepPoint, q: tf.Tensor, v: tf.Tensor): PhasePoint => ({
  q: project(middle(x.q, q)),
  v: middle(x.v, v),
  t: tf.add(t, tf.mul(h, 0.5)),
});

/**
 * The reaction of the constraints. A compliant row is a spring and is weighed as forces are, with −φ/C at the
 * start of the step. The others' multiplier is the mean over the step (equations.md §4); its direction G
 * is taken where the velocities are weighed, for β = 1 the end: at the middle for β = ½ it keeps second
 * order, which G⁺ would not.
 */
function reaction(
  scheme: Blend,
  at: StepPoint,
  end: PhasePoint,
  middleOfStep: () => PhasePoint,
  lambda: tf.Tensor,
): tf.Tensor {
  const {x, t, h} = at;
  const constraints = constraintsOf(at);
  const start: PhasePoint = {q: x.q, v: x.v, t};
  const where: PhasePoint = {
    q: weighed(scheme, at, end.q),
    v: mixed(scheme.beta, x.v, end.v),
    t: tf.add(t, tf.mul(h, scheme.beta)),
  };
  const springs =
    scheme.midpoint === true
      ? constraints.reaction(middleOfStep(), lambda, 'springs')
      : blend(
          scheme.alpha,
          () => constraints.reaction(start, constraints.springs(start), 'springs'),
          () => constraints.reaction(end, lambda, 'springs'),
        );
  // Forces that read λ go with the rigid rows; of springs they see the mean that acts.
  const seen =
    at.multiplierForce === undefined || scheme.midpoint === true || scheme.alpha === 1
      ? lambda
      : constraints.averagedMultipliers(start, lambda, scheme.alpha);
  return tf.add(springs, constraints.reaction(where, seen, 'rigid'));
}

/** φ⁺ + Cλ⁺ = 0 and the like, in units of velocity. */
function constraintRows(scheme: Blend, at: StepPoint, {q, v}: End, lambda: tf.Tensor): tf.Tensor {
  const end: PhasePoint = {q, v, t: tf.add(at.t, at.h)};
  return constraintsOf(at).rows(
    end,
    lambda,
    rowScale(at, at.h, 1),
    scheme.midpoint === true ? middlePlace(at, q, v) : end,
  );
}

/** The velocities of a step from its unknown, and the unknown from v⁺. */
const velocities: {readonly [U in VelocityUnknown]: (z: tf.Tensor, at: StepPoint) => Omit<End, 'q'>} = {
  velocity: (v, {x}) => ({v, gain: tf.sub(v, x.v)}),
  increment: (gain, {x}) => ({v: tf.add(x.v, gain), gain}),
  acceleration: (mean, {x, h}) => {
    const gain = tf.mul(h, mean);
    return {v: tf.add(x.v, gain), gain, mean};
  },
};
const toUnknown: {readonly [U in VelocityUnknown]: (v: tf.Tensor, at: StepPoint) => tf.Tensor} = {
  velocity: v => v,
  increment: (v, {x}) => tf.sub(v, x.v),
  acceleration: (v, {x, h}) => tf.div(tf.sub(v, x.v), h),
};

/** The first residual has the force of the start, and q⁺ = q, whatever v⁺ is. */
const isFrozen = ({guess}: Blend): boolean => guess === 'rest' || guess === 'current' || guess === 'linearized';

/** The guess of v⁺. */
const guessedVelocity = ({guess}: Blend, {x, h}: StepPoint): tf.Tensor =>
  guess === 'rest' ? tf.zerosLike(x.v) : guess === 'extrapolated' ? tf.add(x.v, tf.mul(h, x.trend)) : x.v;

/** The mean acceleration of the last step, which 'extrapolated' carries. */
const trendBlock = (scheme: Blend, trend: () => tf.Tensor): Blocks =>
  scheme.guess === 'extrapolated' ? {trend: trend()} : {};

function mechanical(scheme: Blend): Formulation {
  const coupled = scheme.form === 'coupled';
  const kind = scheme.unknown ?? 'velocity';
  const own = coupled ? 'v' : kind;
  const end = (z: Blocks, at: StepPoint): End => {
    const moved = velocities[kind](z[own], at);
    return {...moved, q: coupled ? at.unknownPosition.at(at.x.q, z.q) : kinematics(scheme, at, moved.v)};
  };
  return {
    unknown: coupled ? ['q', own] : [own],
    supports: {kinematics: true},
    derivatives: {velocity: 1, increment: 1, acceleration: 2},
    carry: scheme.guess === 'extrapolated' ? ({x, t, acceleration}) => ({trend: acceleration(x.q, x.v, t)}) : undefined,
    residual: (z, at) => {
      const {lambda} = z as Partial<Blocks>;
      const here = end(z, at);
      const {x, unknownPosition} = at;
      return {
        [own]: balance(scheme, at, here, lambda),
        ...(coupled ? {q: tf.sub(z.q, unknownPosition.of(x.q, gained(scheme, at, here.v)))} : {}),
        ...(lambda === undefined ? {} : {lambda: constraintRows(scheme, at, here, lambda)}),
      };
    },
    update: (z, at) => {
      const {q, v, gain, mean} = end(z, at);
      const {lambda} = z as Partial<Blocks>;
      return {
        q,
        v,
        ...trendBlock(scheme, () => mean ?? tf.div(gain, at.h)),
        ...(lambda === undefined ? {} : {lambda}),
      };
    },
    guess: (at): Guess => {
      const {x, unknownPosition} = at;
      const v = guessedVelocity(scheme, at);
      const frozen = isFrozen(scheme);
      const way = (): tf.Tensor => gained(scheme, at, v);
      const z = {[own]: toUnknown[kind](v, at)};
      const how = {frozenForce: frozen, linearized: scheme.guess === 'linearized'};
      if (coupled) return {...how, z: {...z, q: unknownPosition.of(x.q, frozen ? tf.zerosLike(x.v) : way())}};
      if (!frozen) return {...how, z};
      return {...how, z, defect: {q: unknownPosition.between(kinematics(scheme, at, v), x.q, () => tf.neg(way()))}};
    },
  };
}

/** The blend for y' = f(y, t): y⁺ − y − h[(1−α)f + αf⁺]. Guesses of velocity have no meaning there and start at y. */
function firstOrder(scheme: Blend): Formulation {
  return {
    unknown: ['y'],
    // A step leaves −(1−α)/α of what algebraic rows had; with α = 1 nothing, as multipliers of index 2 require.
    supports:
      scheme.midpoint === true || scheme.guess === 'extrapolated' || scheme.alpha < 0.5
        ? {}
        : {mass: scheme.alpha < 1 ? 'steady' : 2},
    residual: ({y}, {x, t, h, mass, rightHandSide: rate}) => {
      const slope =
        scheme.midpoint === true
          ? rate({y: middle(x.y, y)}, tf.add(t, tf.mul(h, 0.5))).y
          : blend(
              scheme.alpha,
              () => rate(x, t).y,
              () => rate({y}, tf.add(t, h)).y,
            );
      return {y: tf.sub(mass(y, tf.sub(y, x.y), tf.add(t, h)), tf.mul(h, slope))};
    },
    update: ({y}, at) => ({y, ...trendBlock(scheme, () => tf.div(tf.sub(y, at.x.y), at.h))}),
    carry: scheme.guess === 'extrapolated' ? ({x, t, rate}) => ({trend: rate(x, t).y}) : undefined,
    guess: ({x, h}): Guess => ({
      z: {y: scheme.guess === 'extrapolated' ? tf.add(x.y, tf.mul(h, x.trend)) : x.y},
      frozenForce: isFrozen(scheme),
      linearized: scheme.guess === 'linearized',
    }),
  };
}

const thetaChecks = {
  form: oneOf('condensed', 'coupled'),
  guess: oneOf('rest', 'current', 'consistent', 'linearized', 'extrapolated'),
};
const share = between(0, 1);

/**
 * @param checks of the options that it has in addition to those of θ-methods
 * @throws OptionError 'bad-scheme'
 */
function blended(owner: string, weights: Weights, options: BlendedOptions, checks: OptionSchema = {}): Scheme {
  refuseUnknownOptions(options, {...thetaChecks, ...checks}, owner, 'bad-scheme');
  const scheme: Blend = {...options, ...weights};
  const {name, order, alpha, beta, form, unknown = 'velocity'} = scheme;
  if (form === 'coupled' && unknown !== 'velocity')
    throw new OptionError(
      'bad-scheme',
      `${name}: the coupled form has the unknown (q, v); unknown '${unknown}' needs form 'condensed'.`,
    );
  const mechanics = mechanical(scheme);
  return {
    name,
    order,
    dissipative: alpha + beta > 1,
    mechanics,
    // With β = 0 the position at the end of the step is known at its start: no multiplier can hold it.
    constrained: beta === 0 ? undefined : {...mechanics, multipliers: ['lambda']},
    ode: firstOrder(scheme),
  };
}

/**
 * The generalized trapezoidal θ-method: M(v⁺−v) = h[(1−θ)f + θf⁺], q⁺ = q + h[(1−θ)v + θv⁺].
 * θ = 0 explicit Euler, ½ trapezoid (second order), 1 implicit Euler; A-stable for θ ≥ ½.
 */
export function theta(value: number, options: ThetaOptions = {}): Scheme {
  requireValue(value, share, 'theta(θ): θ', 'bad-scheme');
  const order = value === 0.5 ? 2 : 1;
  return blended('theta', {name: `theta(${value})`, order, alpha: value, beta: value}, options);
}

/**
 * The trapezoidal rule, θ = ½. Second order, A-stable, no damping.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, simulate, trapezoid} from 'stiffgrad';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
 * const path = simulate(system, {q: 1, v: 0}, {scheme: trapezoid(), dt: 0.01, steps: 100});
 * console.log(path.values('q')[100]); // → 0.540
 * ```
 */
export const trapezoid = (options: ThetaOptions = {}): Scheme =>
  blended('trapezoid', {name: 'trapezoid', order: 2, alpha: 0.5, beta: 0.5}, options);

/**
 * Implicit midpoint: M(v⁺−v) = h f((q+q⁺)/2, (v+v⁺)/2, t+h/2). Second order, B-stable, and symplectic for a constant
 * mass without constraints. With constraints it is symmetric; stabilized there, the energy drifts.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {implicitMidpoint, mechanics, simulate} from 'stiffgrad';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
 * const path = simulate(system, {q: 1, v: 0}, {scheme: implicitMidpoint(), dt: 0.01, steps: 100});
 * console.log(path.values('q')[100]); // → 0.540
 * ```
 */
export const implicitMidpoint = (options: ThetaOptions = {}): Scheme =>
  blended('implicitMidpoint', {name: 'implicitMidpoint', order: 2, alpha: 0.5, beta: 0.5, midpoint: true}, options);

/** Independent weights: α of f⁺ in the force and β of v⁺ in the kinematics (the Compliant note, §2–3). */
export function blendedEuler(given: {readonly alpha: number; readonly beta: number} & BlendedOptions): Scheme {
  const checks = {alpha: share, beta: share, unknown: oneOf('velocity', 'increment', 'acceleration')};
  refuseUnknownOptions(given, {...checks, ...thetaChecks}, 'blendedEuler', 'bad-scheme');
  const {alpha, beta} = given;
  for (const name of ['alpha', 'beta'] as const)
    requireValue(given[name], share, `blendedEuler: ${name}`, 'bad-scheme', name);
  const order = alpha === 0.5 && beta === 0.5 ? 2 : 1;
  return blended('blendedEuler', {name: `blendedEuler(${alpha}, ${beta})`, order, alpha, beta}, given, checks);
}

/**
 * Implicit Euler: M(v⁺−v) = h f⁺, q⁺ = q + h v⁺. First order, L-stable. The unknown is v⁺ (default), or in the
 * acceleration form a⁺ = (v⁺−v)/h, of which M a⁺ = f⁺; both are the same step.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {implicitEuler, ode, simulate} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * const path = simulate(decay, {y: 1}, {scheme: implicitEuler(), dt: 0.1, steps: 2});
 * console.log(path.values('y')); // → [1, 0.909, 0.826]
 * ```
 */
export const implicitEuler = (options: ThetaOptions & {readonly unknown?: 'velocity' | 'acceleration'} = {}): Scheme =>
  blended('implicitEuler', {name: 'implicitEuler', order: 1, alpha: 1, beta: 1}, options, {
    unknown: oneOf('velocity', 'acceleration'),
  });
