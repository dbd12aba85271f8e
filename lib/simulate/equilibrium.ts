/**
 * Rest: q with f(q, 0, t; p) = 0 (or y with y' = 0), with constraints (q, λ) where f + Gᵀλ = 0 and
 * φ + Cλ = 0; differentiable like a step. An equilibrium is a scheme whose one step lands on it: its
 * residual is the force, so Newton, adjoint and tfjs operation are those of `simulate`.
 */
import * as tf from '@tensorflow/tfjs';
import {NewtonError, OptionError, SingularMatrixError} from '../errors.js';
import {
  abortSignal,
  any,
  finite,
  object,
  oneOf,
  optional,
  positiveInteger,
  readOptions,
  refuseUnknownOptions,
  shown,
  typed,
} from '../checks.js';
import type {Check, Options} from '../checks.js';
import type {Newton} from '../newton/index.js';
import {backtracking, newton} from '../newton/index.js';
import type {System} from '../step/formulation.js';
import {InputReads, type Inputs} from '../system/inputs.js';
import type {Input} from '../system/signal.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import {pastUnknown} from '../system/delays.js';
import type {Numeric} from '../system/numeric.js';
import {readNumeric} from '../system/numeric.js';
import type {NumericParams, NumericParamsOf, Params} from '../system/params.js';
import {run} from '../integrate/run.js';
import type {SimulateOptions} from './options.js';
import {prepare, requireRead} from './prepare.js';
import {
  followPath,
  readPathOptions,
  type EquilibriumPath,
  type PathOptions,
  type ReadPathOptions,
} from './equilibrium-path.js';
import {restScheme, type LoadSpan} from './rest-scheme.js';
import {column, seriesOf} from './series.js';
import type {AnySystem, ByKind, Initial, ParamsOf, Pullback, SomeStates, StatesOf, Tangent} from './kinds.js';
import {simulate} from './simulate.js';
import type {AnyTrajectory, Stats} from './trajectory.js';

/**
 * Iterations after which a load step counts as failed. Steps along a path take 4 to 9; of the slender bodies in
 * spec/fem/solid those that take more than 20 have left it.
 */
const loadStepIterations = 20;

/** Iterations after which a step along a path counts as failed, and is halved. */
const pathIterations = 12;

const loadStepCount: Check<number | 'auto'> = {
  what: "a positive whole number, or 'auto'",
  test: value => value === 'auto' || positiveInteger.test(value),
};

const equilibriumOptions = {
  params: optional(typed<NumericParams>(object)),
  /** As in `simulate`, evaluated at the time of the initial state. */
  inputs: optional(typed<Inputs>(object)),
  /**
   * Default: whole steps, of which up to 50 are taken; then load steps; then up to 200 steps with backtracking.
   */
  newton: optional(typed<Newton>()),
  /**
   * So many load steps lead from the guess to the state of rest, or 'auto': as many as it takes. What is not balanced
   * at the guess is let go by and by, so that loads grow from nothing to their whole size, and functions of t go from
   * the time of the guess to t1. A step that fails is halved, up to ten times.
   */
  loadSteps: optional(loadStepCount),
  /** The time at which the state of rest is sought; default that of the guess. */
  t1: optional(finite),
  engine: optional(typed<NonNullable<SimulateOptions['engine']>>()),
  precision: optional(oneOf('double', 'single')),
  /** If already aborted, an AbortError is thrown without a search. */
  signal: optional(abortSignal),
};

/** Options of `equilibrium`. @interface */
export type EquilibriumOptions<P = Params> = Omit<Options<typeof equilibriumOptions>, 'params'> & {
  /** Values of the system's `params`, by name. */
  readonly params?: NumericParamsOf<P>;
};

/**
 * The initial guess, and its time (default 0). A velocity is not needed: at rest it is zero. Only the shape of v is
 * used; it is required for systems with kinematics.
 */
export type EquilibriumStart<S extends AnySystem = System> = ByKind<
  S,
  {readonly q: Numeric; readonly v?: Numeric} & SomeStates<S, Numeric>,
  {readonly y: Numeric},
  {readonly q: Numeric; readonly v?: Numeric} | {readonly y: Numeric}
> & {readonly t?: number};

/** A state of rest: q of a mechanical system, y of an ode, as tensors (float32) and as numbers (double). */
export type Equilibrium<S extends AnySystem = MechanicalSystem> = RestOf<S, tf.Tensor> & {
  /**
   * In double precision, row-major.
   * @throws OptionError 'no-series' if there is no state of this name
   */
  values(name: ByKind<S, 'q' | 'lambda' | StatesOf<S>, 'y', RestName>): Float64Array;
  readonly stats: Stats;
  /** Frees the tensors; `values` stay. */
  dispose(): void;
};

/** The parts of a state of rest: the shapes of the start; multipliers, one a row; hidden states by name. */
type RestOf<S extends AnySystem, T> = ByKind<
  S,
  {readonly q: T; readonly lambda?: T; readonly states: {readonly [K in StatesOf<S>]: T}},
  {readonly y: T},
  {readonly q?: T; readonly y?: T; readonly lambda?: T; readonly states?: {readonly [name: string]: T}}
>;

/** A state of rest, and its pullback. */
export interface EquilibriumVjp<S extends AnySystem = System> {
  readonly equilibrium: Equilibrium<S>;
  /** The gradient of Σ cotangent · state at rest with respect to params and captured variables. */
  pullback(cotangent: RestCotangent<S>): Pick<Pullback<S>, 'params' | 'variables' | 'tensors'>;
}

/** A direction of everything that a state of rest depends on; absent entries are zero. */
export type EquilibriumDirection<S extends AnySystem = System> = Pick<Tangent<S>, 'params' | 'variables'> & {
  /** How the time moves: the derivative along a load that is a function of t. */
  readonly t?: number;
};

/** A state of rest, and its derivative along one direction. */
export interface EquilibriumJvp<S extends AnySystem = System> {
  readonly equilibrium: Equilibrium<S>;
  /** Row-major, by the names of `Equilibrium.values`. */
  readonly tangent: RestOf<S, Float64Array>;
}

/** Cotangents of a state of rest, of its shapes. */
export type RestCotangent<S extends AnySystem = System> = ByKind<
  S,
  {readonly q?: Numeric; readonly lambda?: Numeric} & SomeStates<S, Numeric>,
  {readonly y?: Numeric},
  {readonly q?: Numeric; readonly y?: Numeric; readonly lambda?: Numeric}
>;

type RestName = 'q' | 'y' | 'lambda';

/** Systems without a mass as those of mass 1, which weighs gaps of constraints beside forces. */
const massed = new WeakMap<System, System>();

function withMass(system: System): System {
  if (system.kind !== 'mechanics' || system.mass !== undefined) return system;
  let made = massed.get(system);
  if (made === undefined) massed.set(system, (made = {...system, mass: 1}));
  return made;
}

function atRest(system: System, start: EquilibriumStart): Initial {
  if (system.kind === 'ode' && system.delays !== undefined) throw pastUnknown('equilibrium');
  const {states = {}, kinematics} =
    system.kind === 'mechanics' ? system : ({} as Partial<Pick<MechanicalSystem, 'states' | 'kinematics'>>);
  const own = {
    ...Object.fromEntries(Object.keys(states).map(name => [name, any])),
    ...(system.kind === 'mechanics' ? {v: any} : {}),
  };
  refuseUnknownOptions(start, {q: any, y: any, t: finite, ...own}, 'equilibrium: the start', 'bad-initial');
  if ('y' in start) return start;
  const given = (start as {v?: Numeric}).v;
  if (kinematics !== undefined && given === undefined)
    throw new OptionError(
      'bad-initial',
      'equilibrium: give v besides q, as zeros: with kinematics its shape does not follow from that of q.',
    );
  const {values, shape} = readNumeric(given ?? start.q, given === undefined ? 'initial.q' : 'initial.v');
  return {...start, v: nested(new Float64Array(values.length), shape)};
}

/** Numbers of a shape as nested arrays. */
function nested(flat: Float64Array, shape: readonly number[]): Numeric {
  if (shape.length <= 1) return shape.length === 0 ? flat[0] : Array.from(flat);
  const step = flat.length / shape[0];
  return Array.from(
    {length: shape[0]},
    (_, i) => nested(flat.subarray(i * step, (i + 1) * step), shape.slice(1)) as number,
  );
}

/** The step that lands on rest takes no time in which a jump could be located. */
const oneStep = {switches: 'ignore', dt: 1, steps: 1, saveAt: 'end'} as const;

/** What remains of the options for the search itself. */
type SearchOptions = Omit<EquilibriumOptions, 'loadSteps' | 't1'>;

/**
 * From the guess by the caller's method, or after load steps where these are asked for. Otherwise by whole steps, as
 * damped ones crawl where a slender structure turns, whose residual grows by far before it falls; where these fail,
 * along load steps; and where these end, at a limit load for example, by damped steps.
 * @throws what the load steps threw, where nothing finds a state of rest
 */
function searched<T>(
  system: System,
  start: EquilibriumStart,
  options: EquilibriumOptions,
  search: (start: Initial, given: SimulateOptions) => T,
): T {
  const given = readOptions(options, equilibriumOptions, 'equilibrium');
  const guess = atRest(system, start);
  const from = guess.t ?? 0;
  const span = {from, to: given.t1 ?? from};
  const {loadSteps: steps, t1: _to, ...rest} = given;
  const by = (method: Newton, at: Initial = guess): T =>
    search({...at, t: span.to}, {...rest, newton: method, scheme: restScheme(), ...oneStep});
  const loaded = (count: number): T => {
    const method = rest.newton ?? newton({maxIterations: loadStepIterations});
    return by(rest.newton ?? newton(), afterLoadSteps(system, guess, span, count, {...rest, newton: method}));
  };
  if (steps !== undefined) return loaded(steps === 'auto' ? 1 : steps);
  if (rest.newton !== undefined) return by(rest.newton);
  const ways = [() => by(newton()), () => loaded(1), () => by(newton({step: backtracking(), maxIterations: 200}))];
  const errors: unknown[] = [];
  for (const way of ways) {
    try {
      return way();
    } catch (error) {
      if (!(error instanceof NewtonError) && !(errors.length > 0 && error instanceof SingularMatrixError)) throw error;
      errors.push(error);
    }
  }
  throw errors[1];
}

/**
 * The start that load steps from a guess lead to. A step that fails is halved, again and again.
 * @throws NewtonError, SingularMatrixError
 */
function afterLoadSteps(
  system: System,
  guess: Initial,
  span: LoadSpan,
  steps: number,
  {newton: method, ...options}: SearchOptions & {readonly newton: Newton},
): Initial {
  const prepared = requireRead(
    prepare(
      withMass(system),
      {...guess, t: 0},
      {
        ...options,
        newton: {...method, onFailure: 'halve'},
        scheme: restScheme(span),
        ...oneStep,
        dt: 1 / steps,
        steps,
      },
    ),
  );
  const reached = run(prepared);
  if (reached.error !== undefined) throw reached.error;
  const {size} = prepared.traced.state;
  const last = reached.states.subarray(reached.states.length - size);
  const blocks = seriesOf(prepared).blocks.filter(({name}) => name !== 'v' && name in guess);
  return {
    ...guess,
    ...Object.fromEntries(blocks.map(block => [block.name, nested(column(last, size, block), block.shape)])),
  };
}

function lastOf(trajectory: AnyTrajectory): Equilibrium<System> {
  const names = trajectory.y === undefined ? ['q', ...(trajectory.lambda === undefined ? [] : ['lambda'])] : ['y'];
  const last = (series: tf.Tensor): tf.Tensor =>
    tf.tidy(() => {
      const [, ...shape] = series.shape;
      return tf.reshape(tf.slice(series, [1], [1]), shape);
    });
  const tensors = Object.fromEntries(names.map(name => [name, last(trajectory[name as RestName] as tf.Tensor)]));
  const states =
    trajectory.states === undefined
      ? undefined
      : Object.fromEntries(Object.entries(trajectory.states).map(([name, series]) => [name, last(series)]));
  const result = {
    values: (asked: RestName) => {
      const both = trajectory.values(asked);
      return both.slice(both.length / 2);
    },
    stats: trajectory.stats,
    dispose: (): void => tf.dispose([tensors, states ?? {}]),
    ...tensors,
    ...(states === undefined ? {} : {states}),
  };
  // On a tape the intermediate tensors belong to it and go with its scope.
  if (tf.engine().state.gradientDepth === 0) trajectory.dispose();
  return result;
}

/**
 * Finds the state of rest near a guess: see `FindEquilibrium`.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {equilibrium, mechanics} from 'stiffgrad';
 *
 * const hanging = mechanics({mass: 2, forces: ({q}) => tf.sub(tf.mul(-40, q), 19.62)});
 * console.log(equilibrium(hanging, {q: 0}).values('q')[0]); // → -0.4905
 * ```
 */
export const equilibrium: FindEquilibrium = /* @__PURE__ */ Object.assign(
  (system: System, start: EquilibriumStart, options: EquilibriumOptions = {}): Equilibrium<System> =>
    lastOf(searched(system, start, options, (guess, given) => simulate(withMass(system), guess, given))),
  {
    vjp(system: System, start: EquilibriumStart, options: EquilibriumOptions = {}): EquilibriumVjp {
      const {trajectory, pullback} = searched(system, start, options, (guess, given) =>
        simulate.vjp(withMass(system), guess, given),
      );
      return {
        equilibrium: lastOf(trajectory),
        pullback(cotangent) {
          const padded = Object.fromEntries(
            Object.entries(cotangent).flatMap(([name, value]) => {
              if (value === undefined) return [];
              const {values} = readNumeric(value, `cotangent.${name}`);
              const both = new Float64Array(2 * values.length);
              both.set(values, values.length);
              return [[name, both]];
            }),
          );
          const {params, variables, tensors} = pullback(padded);
          return {params, variables, tensors};
        },
      };
    },
    jvp(
      system: System,
      start: EquilibriumStart,
      options: EquilibriumOptions,
      {t, ...rest}: EquilibriumDirection,
    ): EquilibriumJvp {
      const {trajectory, tangent} = searched(system, start, options, (guess, given) =>
        simulate.jvp(withMass(system), guess, given, {...rest, t0: t}),
      );
      const ends = Object.entries(tangent).map(([name, both]) => [name, both.slice(both.length / 2)]);
      return {equilibrium: lastOf(trajectory), tangent: Object.fromEntries(ends) as EquilibriumJvp['tangent']};
    },
    path(given: MechanicalSystem, start: EquilibriumStart<MechanicalSystem>, options: PathOptions): EquilibriumPath {
      const read = readPathOptions(options);
      const {system, params, load} = withLoad(given, start, read);
      const found = read.direction === undefined ? equilibrium(system, {...start, t: load}, {params}) : undefined;
      const {shape} = readNumeric(start.q, 'initial.q');
      const rest = found === undefined ? start : {...start, q: nested(found.values('q'), shape)};
      found?.dispose();
      const prepared = prepare(
        system,
        {...atRest(system, rest), t: load},
        {
          params,
          newton: read.newton ?? newton({maxIterations: pathIterations}),
          scheme: restScheme(),
          ...oneStep,
        },
      );
      return followPath(requireRead(prepared), read);
    },
  },
) as FindEquilibrium;

/**
 * A system whose load is t, the load of the start, and what remains of the parameters.
 * @throws OptionError 'bad-path'
 */
function withLoad(
  system: MechanicalSystem,
  {t = 0}: EquilibriumStart<MechanicalSystem>,
  {parameter, params = {}}: ReadPathOptions,
): {readonly system: MechanicalSystem; readonly params: NumericParams; readonly load: number} {
  if (system.kind !== 'mechanics')
    throw new OptionError('bad-path', 'equilibrium.path follows mechanical systems alone.');
  if (parameter === undefined) return {system, params, load: t};
  const {[parameter]: load, ...rest} = params;
  if (typeof load !== 'number')
    throw new OptionError(
      'bad-path',
      `equilibrium.path: give params.${parameter}, the load at the start, as a number, not ${shown(load)}.`,
      {parameter},
    );
  const input: Input = {t: Float64Array.of(-Infinity, Infinity), at: time => time};
  return {system: new InputReads({[parameter]: input}, t).system(system), params: rest, load};
}

/** The type of `equilibrium`. */
export interface FindEquilibrium {
  /**
   * The state of rest near a guess. `force` is evaluated at v = 0 and at the guess's time; the rates of hidden states
   * are zero. With constraints f + Gᵀλ = 0 and φ + Cλ = 0, unilateral rows by complementarity; the guess need not
   * satisfy them. A nonholonomic row applies to the displacement from the guess, ψ(q, q − q₀, t) = ψ(q, 0, t): a wheel
   * comes to rest where it can roll to, and drives stand still. Differentiable on tfjs's tape with respect to params
   * and captured variables, by the implicit function theorem; the guess has no gradient.
   * @throws NewtonError if the search does not converge; SingularMatrixError if the equilibrium is
   *   not isolated (a free motion: `data.rows`)
   */
  <S extends AnySystem>(
    system: S,
    start: EquilibriumStart<S>,
    options?: EquilibriumOptions<ParamsOf<S>>,
  ): Equilibrium<S>;
  /** The equilibrium, and the map from a cotangent of it to those of params and variables, in double precision. */
  vjp<S extends AnySystem>(
    system: S,
    start: EquilibriumStart<S>,
    options?: EquilibriumOptions<ParamsOf<S>>,
  ): EquilibriumVjp<S>;
  /** The equilibrium, and its derivative along a direction of params, captured variables and time. */
  jvp<S extends AnySystem>(
    system: S,
    start: EquilibriumStart<S>,
    options: EquilibriumOptions<ParamsOf<S>>,
    direction: EquilibriumDirection<S>,
  ): EquilibriumJvp<S>;
  /**
   * The states of rest along a load, which is t or a parameter: beyond limit points, where the load turns around, by
   * steps in arc length (Riks 1979, Crisfield 1981). Limit points and bifurcations are located, with the mode that no
   * force resists there. A state of the path has the gradients of `equilibrium.vjp` at its q and load; at a critical
   * point that refuses them.
   * @throws OptionError 'no-load', 'bad-path'; NewtonError, SingularMatrixError where the start leads to no state of
   *   rest; AbortError
   */
  path<P = Params>(
    system: MechanicalSystem<P>,
    start: EquilibriumStart<MechanicalSystem<P>>,
    options: PathOptions<P>,
  ): EquilibriumPath;
}
