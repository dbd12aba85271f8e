/**
 * Step length control. `constant` follows the grid of dt; `adaptive` keeps an estimate of each step's
 * error at a tolerance by a PI controller (history/pid-controller.ts).
 */
import {OptionError} from '../errors.js';
import {
  any,
  boolean,
  callable,
  finite,
  nonNegative,
  object,
  positive,
  positiveOrInfinite,
  refuseUnknownOptions,
  requireValue,
  shown,
} from '../checks.js';
import {sameShape, sizeOf} from '../graph/node.js';
import type {UserBlock} from '../system/equations.js';
import type {Numeric} from '../system/numeric.js';
import {isNumeric, readNumeric} from '../system/numeric.js';
import {pidController, type ControllerShares, type PidSettings} from './history/pid-controller.js';
import type {StepSizeController} from './history/step-size-rule.js';

/** Options of `adaptive`. */
export interface AdaptiveOptions {
  /** Relative error allowed per step and component; default 1e-6. */
  readonly rtol?: number;
  /**
   * Absolute error allowed per step: a number, one for each component (in the shape of q, for q and v
   * alike; or of y), or separately for {q, v} and hidden states by name, in their own units. Default 1e-9.
   */
  readonly atol?: Numeric | {readonly [block: string]: Numeric};
  /**
   * Length of the first step; default options.dt. 'auto': found from the derivative at the start and near it (Hairer,
   * Nørsett & Wanner, Solving ODEs I, §II.4), whatever dt is.
   */
  readonly first?: number | 'auto';
  /** If a step would be shorter, the run ends with the status 'step-too-small'; default 16 roundings of the time. */
  readonly min?: number;
  /** Longest step; default the length of the run. */
  readonly max?: number;
  /** Safety factor: fraction of the length that would just meet the tolerance; default 0.9. */
  readonly safety?: number;
  /**
   * Largest factors by which a step grows and shrinks; defaults 5 and 0.2 (Hairer & Wanner, §IV.8, use 8 and the
   * inverse of 5).
   */
  readonly growth?: number;
  readonly shrinking?: number;
  /**
   * How errors set the next length, as shares P, I and D: for errors e, e₋, e₌ of the last steps over the one aimed at,
   * and an estimate of order k, the factor is e^(−(P+I+D)/k) e₋^((P+2D)/k) e₌^(−D/k) (Söderlind 2002). Default
   * {proportional: 0.4, integral: 0.3} (Gustafsson 1991); {integral: 1} is the classical controller. Or a
   * `StepSizeController` of one's own, which then has the factors `safety`, `growth` and `shrinking` too.
   */
  readonly controller?: ControllerShares | StepSizeController;
  /**
   * The norm of the error: from its components over their tolerances, flat, in the order of the state's blocks, to one
   * number, which a step may have up to 1. Default: their root mean square.
   * @example norm: shares => Math.max(...shares.map(Math.abs))
   */
  readonly norm?: (shares: Float64Array) => number;
  /**
   * Whether runs for derivatives are made with tighter tolerances where the given ones leave tangents wrong, although
   * the states are within them (docs/adjoints.md). The tolerances are found once, by runs that compare the tangent
   * along a random direction. `true`: for all derivatives; `false`: for none. Default: for `jvp`, `jvps`,
   * `forwardSensitivity` and `identify`; gradients are checked, and a warning says where they are wrong.
   */
  readonly sensitivities?: boolean;
}

/** Made by `constant` or `adaptive`. */
export type StepControl = ConstantControl | AdaptiveControl;

/** Steps of dt. */
export interface ConstantControl extends ControlSettings {
  readonly kind: 'constant';
}

/** Steps as long as their error allows. */
export interface AdaptiveControl extends ControlSettings {
  readonly kind: 'adaptive';
}

/** What `adaptive` was told, completed. */
export interface ControlSettings {
  readonly rtol: number;
  readonly atol: NonNullable<AdaptiveOptions['atol']>;
  readonly first?: number | 'auto';
  readonly min: number;
  readonly max: number;
  readonly controller: StepSizeController;
  readonly norm?: AdaptiveOptions['norm'];
  readonly sensitivities?: boolean;
}

/** Growth and shrinking as of Hairer & Wanner's codes; the shares of Gustafsson's PI. */
const usual = {
  safety: 0.9,
  growth: 5,
  shrinking: 0.2,
  shares: {proportional: 0.4, integral: 0.3, derivative: 0},
} as const;

const usualController = pidController(usual);

/** Steps of dt (the default). */
export function constant(): ConstantControl {
  return {kind: 'constant', rtol: 0, atol: 0, min: 0, max: Infinity, controller: usualController};
}

/**
 * Steps as long as their error allows: a step is accepted if the norm (a root mean square, or one's own) of its
 * estimated error, component by component over atol + rtol·max(|x|, |x⁺|), is at most 1. The estimate is
 * the scheme's own where it has one (embedded formulas; Zienkiewicz & Xie's for Newmark), else the
 * difference between a step and two of half its length, of which the latter are kept. The tolerance is
 * that of one step: the error of a run is proportional to it, not equal.
 *
 * With an sde all steps follow one path; a rejected step is halved, and a later step ends where it would have ended.
 *
 * A derivative is that of the steps taken, with their lengths as constants. Usually it is as accurate as the states. It
 * is not where tangents grow and shrink again on their way, as in the jumps of relaxation oscillators: the first
 * gradient of a model is compared with a tangent of tighter tolerance, and `trajectory.warnings` says if it is wrong.
 * @throws OptionError 'bad-control'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {adaptive, ode, simulate, tsit5} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * const control = adaptive({rtol: 1e-9, atol: 1e-12});
 * const path = simulate(decay, {y: 1}, {scheme: tsit5(), control, dt: 0.1, t1: 1, saveAt: 'end'});
 * console.log(path.values('y')[1]); // → 0.36787944
 * ```
 */
export function adaptive(options: AdaptiveOptions = {}): AdaptiveControl {
  refuseUnknownOptions(
    options,
    {
      rtol: finite,
      atol: any,
      first: any,
      min: nonNegative,
      max: positiveOrInfinite,
      safety: positive,
      growth: positiveOrInfinite,
      shrinking: positive,
      controller: object,
      norm: callable,
      sensitivities: boolean,
    },
    'adaptive',
    'bad-control',
  );
  const {rtol = 1e-6, atol = 1e-9, first, min = 0, max = Infinity} = options;
  const {safety = usual.safety, growth = usual.growth, shrinking = usual.shrinking} = options;
  const check = (name: string, value: number, good: boolean, what: string): void => {
    if (!good)
      throw new OptionError('bad-control', `adaptive: ${name} must be ${what}, not ${shown(value)}.`, {[name]: value});
  };
  check('rtol', rtol, rtol >= 0 && rtol < 1, 'a number in [0, 1)');
  const byBlocks = !isNumeric(atol) && object.test(atol);
  const some = byBlocks ? Object.keys(atol).length > 0 : isNumeric(atol) && !(Array.isArray(atol) && atol.length === 0);
  if (!some || (typeof atol === 'number' && !(atol >= 0)))
    throw new OptionError(
      'bad-control',
      `adaptive: atol must be a number of at least 0, or such numbers by components, not ${shown(atol)}.`,
      {atol},
    );
  if (first !== undefined && first !== 'auto')
    check(
      'first',
      first,
      typeof first === 'number' && first > 0 && Number.isFinite(first),
      "a positive number, or 'auto'",
    );
  check('min', min, min >= 0, 'a number of at least 0');
  check('max', max, max > 0 && max >= min, 'a positive number, no less than min');
  check('safety', safety, safety > 0 && safety <= 1, 'a number in (0, 1]');
  check('growth', growth, growth > 1, 'a number above 1');
  check('shrinking', shrinking, shrinking < 1, 'a number in (0, 1)');
  const controller = readController(options, {safety, growth, shrinking});
  const {norm, sensitivities} = options;
  return {kind: 'adaptive', rtol, atol, first, min, max, controller, norm, sensitivities};
}

function readController(options: AdaptiveOptions, factors: Omit<PidSettings, 'shares'>): StepSizeController {
  const {controller = usual.shares} = options;
  if (!('begin' in controller)) return pidController({...factors, shares: readShares(controller)});
  requireValue(controller.begin, callable, 'adaptive: controller: begin', 'bad-control', 'begin');
  for (const name of ['safety', 'growth', 'shrinking'] as const)
    if (options[name] !== undefined)
      throw new OptionError(
        'bad-control',
        `adaptive: ${name} is for the controller by shares: a controller of your own has its own; omit ${name}.`,
        {[name]: options[name]},
      );
  return controller;
}

function readShares(given: ControllerShares): Required<ControllerShares> {
  refuseUnknownOptions(
    given,
    {proportional: finite, integral: positive, derivative: finite},
    'adaptive: controller',
    'bad-control',
  );
  const {proportional = 0, integral, derivative = 0} = given;
  requireValue(integral, positive, 'adaptive: controller: integral', 'bad-control', 'integral');
  return {proportional, integral, derivative};
}

/** The absolute tolerance of every component of the user's blocks. */
export function absoluteTolerances({atol, rtol}: StepControl, own: readonly UserBlock[]): Float64Array {
  const byBlock = isNumeric(atol) ? undefined : (atol as {readonly [name: string]: Numeric | undefined});
  const unknown = Object.keys(byBlock ?? {}).find(name => !own.some(block => block.name === name));
  if (unknown !== undefined)
    throw new OptionError(
      'bad-control',
      `adaptive: atol has ${unknown}; the state has ${own.map(({name}) => name).join(', ')}.`,
    );
  const result = new Float64Array(own.reduce((size, {shape}) => size + sizeOf(shape), 0));
  let offset = 0;
  for (const {name, shape} of own) {
    const size = sizeOf(shape);
    const given = byBlock === undefined ? (atol as Numeric) : byBlock[name];
    if (given === undefined)
      throw new OptionError('bad-control', `adaptive: atol lacks ${name}; it has ${Object.keys(atol).join(', ')}.`);
    const {values, shape: one} = readNumeric(given, `atol.${name}`);
    if (values.length !== 1 && !sameShape(one, shape)) {
      throw new OptionError(
        'bad-control',
        `adaptive: atol has shape [${one.join(', ')}]: give one number, or one for each component `
          + `[${shape.join(', ')}].`,
      );
    }
    for (let k = 0; k < size; k++) result[offset + k] = values.length === 1 ? values[0] : values[k];
    offset += size;
  }
  const bad = result.findIndex(value => !(value >= 0) || (value === 0 && rtol === 0));
  if (bad >= 0)
    throw new OptionError(
      'bad-control',
      `adaptive: atol must be positive, or 0 with a positive rtol; entry ${bad} is ${result[bad]}.`,
      {index: bad},
    );
  return result;
}

/** @throws OptionError 'bad-control' */
export function readControl(given: unknown): StepControl {
  if (given === undefined) return constant();
  if (typeof given === 'function')
    throw new OptionError('bad-control', `control is the function ${given.name}: call it, control: ${given.name}().`);
  if (
    typeof given !== 'object'
    || given === null
    || !('kind' in given)
    || (given.kind !== 'constant' && given.kind !== 'adaptive')
  )
    throw new OptionError('bad-control', `control must be constant() or adaptive({...}), not ${shown(given)}.`);
  return given as StepControl;
}
