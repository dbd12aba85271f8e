/** What a run is asked to do: checked and completed before anything is computed. */
import type * as tf from '@tensorflow/tfjs';
import type {Engine, EngineName, Precision} from '../engine/index.js';
import {OptionError} from '../errors.js';
import type {Check, OptionSchema} from '../checks.js';
import {abortSignal, any, boolean, callable, integrationChecks, refuseUnknownOptions, shown} from '../checks.js';
import type {Newton} from '../newton/index.js';
import {newton} from '../newton/index.js';
import type {Scheme} from '../scheme/index.js';
import {implicitMidpoint} from '../scheme/index.js';
import type {ConstraintOptions} from '../step/formulation.js';
import type {ObservedAt} from '../step/trace-step.js';
import type {Event} from '../system/events.js';
import type {Inputs} from '../system/inputs.js';
import type {Bivariant, NumericParams, NumericParamsOf, Params} from '../system/params.js';
import type {RunState} from '../integrate/run-state.js';
import {readResumeState} from '../integrate/run-state.js';
import type {Adjoint, AdjointFactory} from '../integrate/adjoints/index.js';
import {customAdjoint, isAdjointMethod} from '../integrate/adjoints/index.js';
import {implicitAdjoint} from '../integrate/adjoints/index.js';
import type {AdaptiveControl, StepControl} from '../integrate/control.js';
import {readControl} from '../integrate/control.js';
import {readEvents, readPlan, readSpan} from '../integrate/history/plan.js';
import type {GridOptions, Progress, SaveAt} from '../integrate/grid.js';
import {readGrid, savedSteps} from '../integrate/grid.js';
import type {ExecutionOptions} from '../integrate/run-context.js';

export type {Progress, SaveAt} from '../integrate/grid.js';

/**
 * How far a run goes: a number of steps or an end, one of them; both where steps are adaptive. Without either, to the
 * last of `saveAt`.
 */
export type Span =
  | {
      /** Number of steps; or give t1. With adaptive steps the number of accepted ones. */
      readonly steps: number;
      readonly t1?: undefined;
    }
  | {
      /** End of the run, before its start where `dt` is negative; the last step is shortened to meet it. */
      readonly t1: number;
      readonly steps?: undefined;
    }
  | {
      /** End of the run. */
      readonly t1: number;
      /** The most steps that are taken. */
      readonly steps: number;
      readonly control: AdaptiveControl;
    }
  | {
      /**
       * A list of times, at whose last the run ends. (Any SaveAt by type, so that options can be spread and saved
       * otherwise.)
       */
      readonly saveAt: SaveAt;
      readonly steps?: undefined;
      readonly t1?: undefined;
    };

/** Another interval for a prepared simulation: `steps` or `t1` as in its options, in place of both. */
export interface Stretch {
  /** The initial time, in place of that of the initial state. */
  readonly t0: number;
  readonly steps?: number;
  readonly t1?: number;
  /** If absent, as prepared. */
  readonly saveAt?: SaveAt;
}

/**
 * Options of a run. P are the parameters that the system reads, with the names of `params`; Z are its hidden states.
 */
export type SimulateOptions<P = Params, Z extends string = never> = RunSettings<P, Z> & Span;

/** The options of a run except its span. */
export interface RunSettings<P = Params, Z extends string = never> {
  /**
   * Default implicitMidpoint(): second order, symplectic, no damping, any stiffness; radauIIA5() for an ode with a
   * mass. For adaptive steps choose one of higher order, tsit5(), or kvaerno5() for stiff systems: with the default one
   * a tolerance below 1e-6 is a warning.
   */
  readonly scheme?: Scheme;
  /** Values of the system's `params`, by name. */
  readonly params?: NumericParamsOf<P>;
  /**
   * Functions of time, such as `signal(t, values)`: the functions of the system, `observe` and events find them in
   * `params`, as their values at the current time. They are not available to a mass or a compliance, which has no time.
   */
  readonly inputs?: Inputs;
  /** Step length, in the system's unit of time; a negative one runs backwards in time, to a t1 before the start. */
  readonly dt: number;
  /** Step length control: constant() (default), or adaptive({rtol, atol}), with `dt` as the first length. */
  readonly control?: StepControl;
  /** Zero crossings that end the run, are recorded, or change the state: event({when, then}). */
  readonly events?: readonly Event<P, Z>[];
  /**
   * 'all' (default): the start and every step; 'end': the start and the last; every n-th step; or times,
   * in the order of the run. A time within a step is interpolated by the scheme's dense output, with its gradient.
   */
  readonly saveAt?: SaveAt;
  /** How the equations of a step are solved; default newton(). */
  readonly newton?: Newton;
  /** How gradients are computed; default implicitAdjoint(). */
  readonly adjoint?: Adjoint;
  /** A function of the state, traced like a force; its values are saved with the state as `observed`. */
  readonly observe?: Bivariant<ObservedAt<P, Z>, tf.Tensor>;
  /**
   * How velocities are kept on the constraints: 'none' (only positions satisfy them), 'projection' (a
   * velocity projection after every step, of contacts that closed too), 'projection-before'
   * (the same before every step: the same positions), or 'ggl' (positions and velocities together, with one more
   * multiplier in the kinematics: Gear, Gupta & Leimkuhler 1985).
   * Default: 'ggl' for bilateral constraints where steps change their length (`adaptive`) or the scheme needs it
   * (`newmark`); otherwise 'projection' if there are unilateral rows without compliance and smoothing, whose impacts
   * are then inelastic in every scheme; otherwise 'none'. Schemes that satisfy positions and velocities by themselves
   * have none of these.
   */
  readonly stabilization?: 'none' | 'projection' | 'projection-before' | 'ggl';
  /**
   * An initial state that violates the constraints is an error ('check', default), or is moved to the nearest state
   * that satisfies them ('project').
   */
  readonly consistent?: 'check' | 'project';
  /**
   * What is done where a comparison makes a function of the system jump (`where`, `sign`, `step`, `floor`, held inputs
   * at times that move) or an input jumps within a constant step: 'locate' (default) ends the step there, and
   * derivatives know its time; 'ignore' takes it as the stages of a step meet it. Runs of an `sde` or a `dde` cannot
   * locate comparisons, and warn.
   */
  readonly switches?: 'locate' | 'ignore';
  /** 'auto' (default) uses the fastest that runs here; the results are the same. Or a custom engine. */
  readonly engine?: EngineName | Engine;
  /**
   * Precision of compiled programs: 'double' (default), or 'single', four numbers per instruction in place of two, for
   * tasks that need no more than six digits, such as training networks. States, matrices and their factors are stored
   * in double precision all the same; tolerances follow single precision's rounding (docs/precision.md). On engines
   * 'auto' and 'wasm' only, otherwise an OptionError 'bad-precision'.
   */
  readonly precision?: Precision;
  /** Called from time to time during the run. */
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Ends the run with an AbortError once it is aborted. A run in this thread checks it at its start and after
   * `onProgress`, because nothing else runs meanwhile; worker threads check it before each step.
   */
  readonly signal?: AbortSignal;
  /** Default true. false: a failed run returns its status, its error and the states that it reached. */
  readonly throw?: boolean;
}

/** The options that say how a run is computed rather than what is run: other analyses pass them to `simulate`. */
export type IntegrationOptions = Pick<
  RunSettings,
  'scheme' | 'control' | 'newton' | 'adjoint' | 'stabilization' | 'consistent' | 'switches' | 'engine' | 'precision'
>;

export interface RunOptions extends ExecutionOptions, Pick<ConstraintOptions, 'stabilization' | 'switches'> {
  readonly scheme: Scheme;
  readonly adjoint: AdjointFactory;
  readonly params: NumericParams;
  readonly events: readonly Event[];
  readonly engine: EngineName | Engine;
  readonly precision: Precision;
  readonly throw: boolean;
}

/** What has a sentence of its own is `any` here: a scheme that was not called, times that do not fit one another. */
const simulateOptions: OptionSchema = {
  ...(integrationChecks satisfies {readonly [option in keyof Required<IntegrationOptions>]: Check}),
  params: any,
  inputs: any,
  dt: any,
  steps: any,
  t1: any,
  events: any,
  saveAt: any,
  observe: callable,
  signal: abortSignal,
  onProgress: callable,
  throw: boolean,
};

/**
 * @throws OptionError 'bad-time', 'bad-save' or 'unknown-option'
 * @param from the saved state that the run goes on from
 * @param planned with a plan, though the run be a plain grid
 */
export function readOptions(options: SimulateOptions, t0: number, from?: RunState, planned = false): RunOptions {
  if (typeof options !== 'object' || options === null)
    throw new OptionError('bad-time', 'simulate takes options: {dt, steps} at least.');
  if ('t0' in options)
    throw new OptionError(
      'unknown-option',
      'simulate has no option t0: a run begins at the time of its initial state, for example {q, v, t: 5}.',
      {
        option: 't0',
      },
    );
  refuseUnknownOptions(options, simulateOptions, 'simulate');
  if (Array.isArray(options.saveAt) && options.saveAt.length === 0)
    throw new OptionError(
      'bad-save',
      "saveAt: the list of times is empty, so nothing would be saved. Use 'end', or give a time.",
    );
  const control = readControl(options.control);
  const events = readEvents(options.events);
  const {begin, saveAt, ...span} = byClock(options, t0);
  const left = from === undefined ? undefined : readResumeState(from, span);
  const origin = left?.grid !== undefined && left.grid.dt === span.dt ? left.grid : undefined;
  const grid = control.kind === 'adaptive' ? readSpan(span, control, begin) : readGrid({...span, origin}, begin);
  const plan = readPlan({saveAt, t1: span.t1}, control, events, grid, left, planned);
  const adjoint = readAdjoint(options.adjoint ?? implicitAdjoint());
  return {
    scheme: readScheme(options.scheme ?? implicitMidpoint()),
    isDefaultScheme: options.scheme === undefined,
    params: options.params ?? {},
    grid,
    saved: plan === undefined ? savedSteps(saveAt ?? 'all', grid) : new Float64Array(0),
    plan,
    events,
    newton: readNewton(options.newton ?? newton()),
    adjoint,
    stabilization: options.stabilization,
    consistent: options.consistent ?? 'check',
    switches: options.switches ?? 'locate',
    engine: options.engine ?? 'auto',
    precision: options.precision ?? 'double',
    onProgress: options.onProgress,
    signal: options.signal,
    throw: options.throw ?? true,
  };
}

/**
 * Where a run ends: at `t1`, or after `steps` of them; where neither is given, at the last of the times that it saves.
 */
export const endOf = ({steps, t1, saveAt}: Pick<SimulateOptions, 'steps' | 't1' | 'saveAt'>): number | undefined =>
  t1 ?? (steps === undefined ? lastOf(saveAt) : undefined);

/**
 * Times as users give them, and the same by the clock of the run (step/time-direction.ts): a negative dt runs backwards
 * in time.
 */
export function byClock(
  {dt, steps, saveAt, ...more}: Pick<SimulateOptions, 'dt' | 'steps' | 't1' | 'saveAt'>,
  t0: number,
): GridOptions & {readonly begin: number; readonly saveAt?: SaveAt} {
  const t1 = endOf({steps, saveAt, ...more});
  if (!(dt < 0)) return {dt, steps, t1, saveAt, begin: t0};
  const back = <T>(time: T): T | number => (typeof time === 'number' ? 0 - time : time);
  return {
    dt: 0 - dt,
    steps,
    t1: back(t1),
    saveAt: Array.isArray(saveAt) ? (saveAt as readonly number[]).map(back) : saveAt,
    begin: 0 - t0,
    backwards: true,
  };
}

/** @throws OptionError 'bad-save' */
function lastOf(saveAt: SaveAt | undefined): number | undefined {
  if (!Array.isArray(saveAt) || saveAt.length === 0) return undefined;
  const index = saveAt.length - 1;
  const last: unknown = saveAt[index];
  if (typeof last !== 'number' || !Number.isFinite(last))
    throw new OptionError('bad-save', `saveAt: entry ${index} is ${shown(last)}, not a time.`, {index});
  return last;
}

/** What is given without its brackets, or by name, is a common slip: trapezoid for trapezoid(). */
function readScheme(scheme: Scheme): Scheme {
  const given: unknown = scheme;
  if (typeof given === 'function')
    throw new OptionError('bad-scheme', `scheme is the function ${given.name}: call it, scheme: ${given.name}().`);
  if (
    typeof given !== 'object'
    || given === null
    || (scheme.mechanics ?? scheme.ode ?? scheme.constrained) === undefined
  ) {
    throw new OptionError(
      'bad-scheme',
      `scheme must be one of the schemes, as scheme: trapezoid(), not ${shown(given)}.`,
    );
  }
  return scheme;
}

function readNewton(given: Newton): Newton {
  if (typeof given !== 'object' || typeof given.step?.choose !== 'function')
    throw new OptionError('bad-newton', 'newton must be made by newton({...}): newton: newton({maxIterations: 20}).');
  return given;
}

function readAdjoint(adjoint: Adjoint): AdjointFactory {
  if (isFactory(adjoint)) return adjoint;
  if (isAdjointMethod(adjoint)) return customAdjoint(adjoint);
  throw new OptionError(
    'bad-adjoint',
    'adjoint must be implicitAdjoint(), unrolledAdjoint(), forwardSensitivity() or backsolveAdjoint(), '
      + `or an AdjointMethod, not ${shown(adjoint)}.`,
  );
}

const isFactory = (given: Partial<AdjointFactory> | null): given is AdjointFactory =>
  typeof given?.prepare === 'function';
