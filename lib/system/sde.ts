/**
 * Stochastic differential equations dy = f(y, t) dt + g(y, t) dW: drift and diffusion as tensor functions, driven by a
 * Brownian path that a seed fixes once for all times (graph/primitives/brownian-path.ts), so that steps of any length
 * and the way back meet one path.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {calledWithParams, callable, oneOf, optional, readOptions, requireValue, typed} from '../checks.js';
import {brownian} from '../graph/build.js';
import {brownianPath as pathAt, isSeed, toTime, treeTime} from '../graph/primitives/brownian-path.js';
import {sameShape, sizeOf} from '../graph/node.js';
import type {Shape} from '../graph/node.js';
import {derivativeAlong, dependsOn, isElementwise} from '../trace/differentials.js';
import {constantTensor, nodeOf, tensorOf} from '../trace/trace.js';
import type {Calculus, Increments, NoiseEquations, NoiseKind} from './equations.js';
import type {Derivative, Noise, OdeSystem} from './ode.js';
import {ode} from './ode.js';
import type {Params, ParamsLike} from './params.js';
import {returned, scalar, type Expected} from './returned.js';
import {withSwitches} from './switches.js';

/** The seed of the path: a whole number from 0 to 2⁵³, or a function of params that returns one as a scalar. */
export type Seed<P = Params> = number | ((params: P) => tf.Tensor);

/** The argument of `sde`. */
export interface SdeSpec<P = Params> {
  /** f, of the shape of y. */
  readonly drift: Derivative<P>;
  /**
   * g: of the shape of y if each number has its own noise or all share one, [...shape of y, noises] for general noise.
   */
  readonly diffusion: Derivative<P>;
  /** Default 'diagonal'. */
  readonly noise?: NoiseKind;
  /** The stochastic integral. Optional only for additive noise, for which both are equal. */
  readonly calculus?: Calculus;
  readonly seed: Seed<P>;
}

/** Made by `sde`. P are the parameters that its functions read. */
export interface SdeSystem<P = Params> extends OdeSystem<P> {
  readonly noise: Noise<P>;
}

const seedCheck = {
  what: 'a whole number from 0 to 2^53, or a function of params that gives one',
  test: (value: unknown): boolean => typeof value === 'function' || isSeed(value),
};

const sdeOptions = {
  drift: typed<Derivative<never>>(callable),
  diffusion: typed<Derivative<never>>(callable),
  noise: optional(oneOf('diagonal', 'scalar', 'general', 'additive'), 'diagonal'),
  calculus: optional(oneOf('ito', 'stratonovich')),
  seed: typed<Seed<never>>(seedCheck),
};

/**
 * dy = f(y, t; params) dt + g(y, t; params) dW. The last axis of y is the state; axes before it are separate systems,
 * whose noises are independent. `noise` says what g multiplies:
 *
 * - 'diagonal' (default): each number of y has its own noise, g of the shape of y; Milstein's and Rößler's schemes
 *   require that g of a number depends on that number alone
 * - 'scalar': one noise per system, g of the shape of y
 * - 'general': m noises, g [...shape of y, m]
 * - 'additive': g does not depend on y but for its shape, as `tf.onesLike(y)`; of either shape
 *
 * A system of the kind 'ode', integrated by the schemes of the group `stochastic`, in steps
 * of constant length, or adaptive ones if the scheme's strong order is at least 1 or the noise is additive. The
 * gradient with respect to the seed is zero.
 * @throws OptionError if a function is missing, or `calculus` is missing and the noise is not additive
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {sde, simulate, stochastic} from 'stiffgrad';
 *
 * const noisy = sde({drift: ({y}) => tf.neg(y), diffusion: () => tf.scalar(0.5), noise: 'additive', seed: 1});
 * const path = simulate(noisy, {y: 1}, {scheme: stochastic.eulerMaruyama(), dt: 0.01, steps: 100});
 * console.log(path.y.shape); // → [101]
 * ```
 */
export function sde<P extends ParamsLike<P> = Params>(spec: SdeSpec<P>): SdeSystem<P> {
  const {noise: kind, calculus} = readOptions(spec, sdeOptions, 'sde', 'bad-sde');
  const {drift, diffusion, seed} = spec;
  if (calculus === undefined && kind !== 'additive')
    throw new OptionError(
      'bad-sde',
      "sde: calculus must be 'ito' or 'stratonovich': with noise that depends on y the two have different solutions.",
      {option: 'calculus'},
    );
  return {...ode<P>(drift), noise: {kind, calculus, diffusion, seed}};
}

/**
 * A path of independent Brownian motions, the one of a run with this seed: component i is the i-th noise of the run,
 * row-major.
 */
export interface BrownianPath {
  /** W(t), of the path's shape, flat. */
  at(t: number): Float64Array;
  /** ∫₀ᵗ W(s) ds, likewise. */
  integral(t: number): Float64Array;
}

/**
 * The Brownian path of a seed, W(0) = 0, at any time, before 0 too. Times are rounded to 40 significant bits. The
 * numbers are the same to the bit on every machine.
 * @param shape of the noises; default [], one
 * @throws OptionError if the seed is not a whole number from 0 to 2⁵³
 * @example
 * ```ts
 * import {stochastic} from 'stiffgrad';
 *
 * const w = stochastic.brownianPath(7);
 * console.log(w.at(0.5).length); // → 1
 * ```
 */
export function brownianPath(seed: number, shape: readonly number[] = []): BrownianPath {
  if (typeof seed === 'function')
    throw new OptionError(
      'bad-sde',
      'stochastic.brownianPath: seed must be a whole number from 0 to 2^53, not a function.',
    );
  requireValue(seed, seedCheck, 'stochastic.brownianPath: seed', 'bad-sde', 'seed');
  const count = sizeOf(shape);
  const part = (t: number, index: 0 | 1): Float64Array => {
    const both = new Float64Array(2 * count);
    pathAt(seed, treeTime(t), count, both, 0);
    toTime(t, count, both, 0);
    return both.slice(index * count, (index + 1) * count);
  };
  return {at: t => part(t, 0), integral: t => part(t, 1)};
}

/**
 * Probes for Hutchinson's estimate: ±1 with equal probability, independent (of all probes these have the least
 * variance, Hutchinson 1990). The same seed gives the same on every machine.
 * @returns flat, row-major
 * @throws OptionError if the seed is not a whole number from 0 to 2⁵³
 */
export function rademacher(seed: number, shape: readonly number[]): Float64Array {
  return brownianPath(seed, shape)
    .at(1)
    .map(w => (w < 0 ? -1 : 1));
}

/** Only inside a trace. */
export function noiseEquations({kind, calculus, diffusion, seed}: Noise, params: Params): NoiseEquations {
  const given = typeof seed === 'number' ? undefined : seedTensor(seed, params);
  const traced = (y: tf.Tensor, t: tf.Tensor): tf.Tensor =>
    returned('diffusion', () => withSwitches('diffusion', {y, t, params}, diffusion), diffusionOf(kind, y));
  let isJudged = kind !== 'additive';
  const g = (y: tf.Tensor, t: tf.Tensor): tf.Tensor => {
    if (!isJudged && dependsOn(at => traced(at.y, at.t), {y, t}, 'y'))
      throw new OptionError(
        'bad-sde',
        "sde: the diffusion of additive noise reads y. Set noise: 'diagonal', 'scalar' or 'general'.",
      );
    isJudged = true;
    return traced(y, t);
  };
  const isMatrix = (of: tf.Tensor, y: tf.Tensor): boolean => of.rank > y.rank;
  const requireDiagonal = (y: tf.Tensor, t: tf.Tensor): void => {
    const together = kind === 'scalar' && y.rank > 0 ? y.shape[y.rank - 1] : 1;
    const isOwn = (): boolean => isElementwise(at => g(at.y, t), y, together);
    if ((kind !== 'diagonal' && (kind !== 'scalar' || together === y.size)) || isOwn()) return;
    const [what, others] =
      kind === 'scalar'
        ? [`a row of ${together} numbers of y, which share one noise,`, 'rows']
        : ['a number of y', 'numbers of y'];
    throw new OptionError(
      'noise-not-diagonal',
      `The diffusion of ${what} depends on other ${others}, so its noise does not commute, `
        + 'and milstein and sri1 would lose their order: use stochastic.eulerMaruyama or stochastic.heun. '
        + "If all noises act on all numbers, set noise: 'general'.",
    );
  };
  return {
    kind,
    calculus,
    seed: given,
    requireDiagonal,
    increments(y, t, h) {
      const of = g(y, t);
      const shape = isMatrix(of, y)
        ? [...y.shape.slice(0, -1), of.shape[y.rank]]
        : kind === 'scalar' && y.rank > 0
          ? [...y.shape.slice(0, -1), 1]
          : y.shape;
      return incrementsOf(given ?? constantTensor([seed as number], []), t, h, shape);
    },
    diffusionProduct(y, t, w) {
      const of = g(y, t);
      if (!isMatrix(of, y)) return tf.mul(of, w);
      return tf.sum(tf.mul(of, y.rank === 0 ? w : tf.expandDims(w, -2)), -1);
    },
    milsteinTerm(y, t) {
      requireDiagonal(y, t);
      return kind === 'additive' ? tf.zerosLike(y) : derivativeAlong(at => g(at.y, t), {y}, {y: g(y, t)});
    },
  };
}

/** Shape of the diffusion by the kind of noise. */
function diffusionOf(kind: NoiseKind, y: tf.Tensor): Expected {
  const own = `[${y.shape.join(', ')}]`;
  const matrix = `[${[...y.shape, 'noises'].join(', ')}]`;
  const shapes = kind === 'general' ? matrix : kind === 'additive' ? `${own} or ${matrix}` : own;
  return {
    code: 'diffusion-shape',
    label: 'The diffusion',
    must: `a tensor of shape ${shapes} with noise '${kind}'`,
    fits: ({shape, rank}) =>
      (kind !== 'general' && sameShape(shape, y.shape))
      || ((kind === 'general' || kind === 'additive') && rank > 0 && sameShape(shape.slice(0, -1), y.shape)),
    data: {term: 'diffusion', y: y.shape},
  };
}

function seedTensor(seed: Exclude<Noise['seed'], number>, params: Params): tf.Tensor {
  const expected = {code: 'bad-seed', ...scalar, label: 'sde: seed(params)'};
  return tf.reshape(
    returned('seed', () => calledWithParams(seed, params, 'sde: seed'), expected),
    [],
  );
}

function incrementsOf(seed: tf.Tensor, t: tf.Tensor, h: tf.Tensor, shape: Shape): Increments {
  const count = sizeOf(shape);
  const at = (time: tf.Tensor): tf.Tensor[] => tf.unstack(tensorOf(brownian(nodeOf(seed), nodeOf(time), count)));
  const [w0, area0] = at(t);
  const [w1, area1] = at(tf.add(t, h));
  return {
    w: tf.reshape(tf.sub(w1, w0), [...shape]),
    area: tf.reshape(tf.sub(tf.sub(area1, area0), tf.mul(h, w0)), [...shape]),
  };
}
