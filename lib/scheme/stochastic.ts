/**
 * Schemes for stochastic differential equations dy = f dt + g dW, with the increments ΔW of a step, and ∫(W(s) −
 * W(t)) ds over it, from the system's own path. Kloeden & Platen, Numerical Solution of Stochastic Differential
 * Equations (1992): Euler–Maruyama, Heun, Milstein; Rößler, Runge–Kutta methods for the strong approximation of
 * solutions of stochastic differential equations, SIAM J. Numer. Anal. 48 (2010): SRA1 and SRI1.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {oneOf, refuseUnknownOptions} from '../checks.js';
import type {Increments, NoiseEquations, NoiseKind} from '../system/equations.js';
import type {Formulation, Scheme, StepPoint} from './scheme.js';

/** A step as these schemes are written: the state, its functions, and the increments. */
interface StochasticStep extends Increments {
  readonly y: tf.Tensor;
  readonly t: tf.Tensor;
  readonly h: tf.Tensor;
  /** f(y, t) */
  readonly f: (y: tf.Tensor, t: tf.Tensor) => tf.Tensor;
  /** g(y, t) w */
  readonly g: NoiseEquations['diffusionProduct'];
  readonly noise: NoiseEquations;
}

function stepOf({x: {y}, t, h, rate, noise}: StepPoint): StochasticStep {
  if (noise === undefined) throw new OptionError('wrong-scheme', 'This scheme integrates sde({...}).');
  return {
    y,
    t,
    h,
    f: (at, time) => rate({y: at}, time).y,
    g: noise.diffusionProduct,
    noise,
    ...noise.increments(y, t, h),
  };
}

/** y + Σ cᵢ zᵢ */
const plus = (y: tf.Tensor, ...terms: readonly (readonly [number | tf.Tensor, tf.Tensor])[]): tf.Tensor =>
  terms.reduce((sum, [c, z]) => tf.add(sum, tf.mul(z, c)), y);

/** Paths are not smooth: between steps they are joined by lines. */
const byLines: Formulation['dense'] = () => ({});

const allKinds: readonly NoiseKind[] = ['diagonal', 'scalar', 'general', 'additive'];
const commuting: readonly NoiseKind[] = ['diagonal', 'scalar', 'additive'];

function explicit(
  name: string,
  order: number,
  noise: NonNullable<Formulation['supports']>['noise'],
  next: (step: StochasticStep) => tf.Tensor,
): Scheme {
  return {
    name,
    order,
    ode: {unknown: [], supports: {noise}, dense: byLines, update: (_, at) => ({y: next(stepOf(at))})},
  };
}

/**
 * y⁺ = y + h f + g ΔW, in the sense of Itô, for noise of any kind. Strong order ½, for additive noise 1; weak order 1.
 * @param options.drift 'implicit' takes f at the end of the step, y⁺ = y + h f⁺ + g ΔW, for stiff drifts; default
 *   'explicit'
 * @throws OptionError 'bad-scheme'
 */
export function eulerMaruyama(options: {readonly drift?: 'explicit' | 'implicit'} = {}): Scheme {
  refuseUnknownOptions(options, {drift: oneOf('explicit', 'implicit')}, 'eulerMaruyama', 'bad-scheme');
  const sense = {kinds: allKinds, calculus: 'ito'} as const;
  if (options.drift !== 'implicit')
    return explicit('eulerMaruyama', 0.5, sense, ({y, t, h, f, g, w}) => plus(y, [h, f(y, t)], [1, g(y, t, w)]));
  return {
    name: 'implicitEulerMaruyama',
    order: 0.5,
    ode: {
      unknown: ['y'],
      supports: {noise: sense},
      dense: byLines,
      residual({y: end}, at) {
        const {y, t, h, f, g, w} = stepOf(at);
        return {y: tf.sub(tf.sub(end, y), plus(g(y, t, w), [h, f(end, tf.add(t, h))]))};
      },
      update: ({y}) => ({y}),
    },
  };
}

/**
 * Heun's method, in the sense of Stratonovich, for noise of any kind: y* = y + h f + g ΔW, y⁺ = y + h (f + f*)/2 + (g
 * + g*)ΔW/2. Strong order 1 where the noises commute, as diagonal, scalar and additive ones do, else ½; weak order 1.
 */
export function heun(): Scheme {
  return explicit('heun', 1, {kinds: allKinds, calculus: 'stratonovich'}, ({y, t, h, f, g, w}) => {
    const end = tf.add(t, h);
    const [f0, g0] = [f(y, t), g(y, t, w)];
    const guess = plus(y, [h, f0], [1, g0]);
    return plus(y, [tf.mul(h, 0.5), tf.add(f0, f(guess, end))], [0.5, tf.add(g0, g(guess, end, w))]);
  });
}

/**
 * Milstein's method (1974): Euler–Maruyama's step and ½ (∂g/∂y) g (ΔW² − h), in the sense of Stratonovich without −h
 * there. The derivative is that of the traced diffusion. Diagonal, scalar and additive noise. Strong order 1, weak
 * order 1.
 */
export function milstein(): Scheme {
  return explicit('milstein', 1, {kinds: commuting}, ({y, t, h, f, g, w, noise}) => {
    const euler = plus(y, [h, f(y, t)], [1, g(y, t, w)]);
    if (noise.kind === 'additive') return euler;
    const squares = tf.square(w);
    const iterated = noise.calculus === 'ito' ? tf.sub(squares, h) : squares;
    return plus(euler, [tf.mul(iterated, 0.5), noise.milsteinTerm(y, t)]);
  });
}

/** Rößler's SRA1 for additive noise: two stages. Strong order 1.5, weak order 2. */
export function sra1(): Scheme {
  return explicit('sra1', 1.5, {kinds: ['additive']}, ({y, t, h, f, g, w, area}) => {
    const end = tf.add(t, h);
    // I₍₁,₀₎/h
    const mean = tf.div(area, h);
    const f0 = f(y, t);
    const stage = plus(y, [tf.mul(h, 0.75), f0], [1.5, g(y, end, mean)]);
    const f1 = f(stage, plus(t, [0.75, h]));
    return plus(y, [tf.div(h, 3), plus(f0, [2, f1])], [1, g(y, end, tf.sub(w, mean))], [1, g(y, t, mean)]);
  });
}

/**
 * Rößler's SRI1 (SRI1W1 of Rößler 2010, table 5.2), in the sense of Itô, for diagonal and scalar noise: four stages
 * of the diffusion. Strong and weak order 1.5; of linear equations weak order 2.
 */
export function sri1(): Scheme {
  return explicit('sri1', 1.5, {kinds: ['diagonal', 'scalar'], calculus: 'ito'}, ({y, t, h, f, g, w, area, noise}) => {
    noise.requireDiagonal(y, t);
    const [root, mean] = [tf.sqrt(h), tf.div(area, h)];
    const quarter = plus(t, [0.25, h]);
    const end = tf.add(t, h);
    const one = tf.onesLike(w);
    const f0 = f(y, t);
    const g0 = g(y, t, one);
    const y1 = plus(y, [tf.mul(h, 0.25), f0], [tf.mul(root, 0.5), g0]);
    const g1 = g(y1, quarter, one);
    const f1 = f(plus(y, [tf.mul(h, 0.75), f0], [tf.mul(mean, 1.5), g0]), plus(t, [0.75, h]));
    const g2 = g(plus(y, [h, f0], [tf.neg(root), g0]), end, one);
    const y3 = [
      [tf.mul(h, 0.25), f0],
      [tf.mul(root, -5), g0],
      [tf.mul(root, 3), g1],
      [tf.mul(root, 0.5), g2],
    ] as const;
    const g3 = g(plus(y, ...y3), quarter, one);
    // I₍₁,₁₎/√h and I₍₁,₁,₁₎/h
    const double = tf.div(tf.sub(tf.square(w), h), tf.mul(root, 2));
    const triple = tf.div(tf.mul(w, tf.sub(tf.square(w), tf.mul(h, 3))), tf.mul(h, 6));
    const weigh = (a: number, b: number, c: number, d: number): tf.Tensor =>
      plus(tf.mul(w, a), [b, double], [c, mean], [d, triple]);
    return plus(
      y,
      [tf.div(h, 3), plus(f0, [2, f1])],
      [weigh(-1, -1, 2, -2), g0],
      [weigh(4 / 3, 4 / 3, -4 / 3, 5 / 3), g1],
      [weigh(2 / 3, -1 / 3, -2 / 3, -2 / 3), g2],
      [triple, g3],
    );
  });
}
