/**
 * Diagonally implicit Runge–Kutta methods, L-stable and stiffly accurate. Kvaernø's (BIT 44, 2004) have an
 * explicit first stage, and a last but one stage that is the step of an order less.
 */
import {OptionError} from '../errors.js';
import {heldEnd} from './constrained-runge-kutta.js';
import {firstOrder, mechanical} from './implicit-runge-kutta.js';
import {byIncrements, orderWeights} from './runge-kutta-dense.js';
import {filtered, lastStages} from './runge-kutta-error.js';
import {
  extrapolateAccelerations,
  extrapolateIncrements,
  predictAcceleration,
  predictIncrement,
} from './runge-kutta-guess.js';
import type {Formulation, Scheme} from './scheme.js';
import type {Tableau} from './tableau.js';

/** From the rows of A below the diagonal; the last row is b, and times are row sums. */
function tableau(
  name: string,
  order: number,
  gamma: number,
  explicitFirst: boolean,
  below: readonly (readonly number[])[],
): Tableau {
  const s = below.length;
  const a = below.map((row, i) =>
    Array.from({length: s}, (_, j) => (j < i ? row[j] : j === i && !(explicitFirst && i === 0) ? gamma : 0)),
  );
  return {name, order, a, b: a[s - 1], c: a.map(row => row.reduce((total, weight) => total + weight, 0))};
}

/** @param denseOrder the order of the states between a step's ends */
function scheme(method: Tableau, error: Formulation['error'], denseOrder: number): Scheme {
  const weights = orderWeights(method, denseOrder);
  const more = {error, dense: byIncrements(method, weights)};
  return {
    name: method.name,
    order: method.order,
    dissipative: true,
    mechanics: {
      ...mechanical(method),
      ...more,
      stages: {predict: predictAcceleration(method), extrapolate: extrapolateAccelerations(method)},
    },
    constrained: heldEnd(method),
    ode: withinStep(
      {
        ...firstOrder(method),
        ...more,
        stages: {predict: predictIncrement(method), extrapolate: extrapolateIncrements(method, weights)},
      },
      method,
    ),
  };
}

/**
 * The formulation, which a delay equation cannot take where a stage lies beyond the step's end. Rounding of abscissae
 * of 1 is no such stage.
 */
function withinStep(ode: Formulation, {name, c}: Tableau): Formulation {
  if (c.every(node => node <= 1 + 1e-9)) return ode;
  return {
    ...ode,
    residual: (z, at) => {
      if (at.delay === undefined) return ode.residual?.(z, at) ?? {};
      throw new OptionError(
        'wrong-scheme',
        `Scheme ${name} has a stage beyond the end of its step. Between breaking points that lie close together `
          + 'it would read delayed states far outside the polynomials that hold them: choose kvaerno3() or '
          + 'radauIIA5().',
        {scheme: name},
      );
    },
  };
}

/**
 * Alexander's two stages (SIAM J. Numer. Anal. 14, 1977), γ = 1 − 1/√2. Second order, L-stable. There is no
 * second formula in its two stages; with the slope k₀ at the start there is the second difference of slopes
 *
 *     E = ⅔ h[(1 − γ)k₀ − k₁ + γk₂],
 *
 * of third order in h. Where f is linear its first term is that of the step's error;
 * the other third derivative, f''(f, f), it has seven times too large, on the safe side.
 */
export function sdirk2(): Scheme {
  const gamma = 1 - Math.SQRT1_2;
  // In increments: hk₁ = z₁/γ, hk₂ = (z₂ − (1 − γ)z₁/γ)/γ.
  const estimate = {start: (2 / 3) * (1 - gamma), stages: [((-2 / 3) * (2 - gamma)) / gamma, 2 / 3], gamma};
  const method = tableau('sdirk2', 2, gamma, false, [[], [1 - gamma]]);
  return scheme(method, filtered(method, estimate, 3), 2);
}

/**
 * Kvaernø's 3/2 pair with four stages, three of them implicit. Third order, L-stable, between the ends of steps
 * too. γ is a root of x³ − 3x² + 3x/2 − 1/6.
 */
export function kvaerno3(): Scheme {
  const g = 0.435866521508459;
  const method = tableau('kvaerno3', 3, g, true, [
    [],
    [g],
    [(-4 * g * g + 6 * g - 1) / (4 * g), (-2 * g + 1) / (4 * g)],
    [(6 * g - 1) / (12 * g), -1 / ((24 * g - 12) * g), (-6 * g * g + 6 * g - 1) / (6 * g - 3)],
  ]);
  return scheme(method, lastStages(method, 3), 3);
}

/**
 * Kvaernø's 5/4 pair with seven stages, six of them implicit, γ = 0.26. Fifth order, L-stable; fourth between
 * the ends of steps, where the seven stages meet no more conditions.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {adaptive, kvaerno5, ode, simulate} from 'stiffgrad';
 *
 * const stiff = ode(({y, t}) => tf.mul(-1e6, tf.sub(y, tf.cos(t))));
 * const path = simulate(stiff, {y: 1}, {scheme: kvaerno5(), control: adaptive(), dt: 0.01, t1: 1, saveAt: 'end'});
 * console.log(path.values('y')[1]); // → 0.540
 * ```
 */
export function kvaerno5(): Scheme {
  const method = tableau('kvaerno5', 5, 0.26, true, [
    [],
    [0.26],
    [0.13, 0.84033320996790809],
    [0.22371961478320505, 0.47675532319799699, -0.06470895363112615],
    [0.16648564323248321, 0.1045001884159172, 0.03631482272098715, -0.13090704451073998],
    [0.13855640231268224, 0, -0.04245337201752043, 0.02446657898003141, 0.61943039072480676],
    [0.13659751177640291, 0, -0.05496908796538376, -0.04118626728321046, 0.62993304899016403, 0.06962479448202728],
  ]);
  return scheme(method, lastStages(method, 5), 4);
}
