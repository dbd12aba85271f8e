/**
 * Error estimates of implicit Runge–Kutta methods.
 *
 * Embedded: the difference between two stages at the end of the step, of which the last is the step (Kværnø
 * 2004). Both are solved for, so stiffness does not inflate it.
 *
 * Filtered (Hairer & Wanner, Solving ODEs II, §IV.8; Shampine): an embedded formula that uses the slope at the
 * start, e₀hf(x) + Σ eᵢ(Xᵢ − x), which grows with stiffness without bound, times (1 − hγJ)⁻¹, which keeps it as
 * large as it is for what is resolved and bounds it for what is not. A second time with f(x + γE/e₀) it goes to zero
 * for what is infinitely stiff: worth one more slope where a step would be refused and nothing is known of
 * it yet. For mechanics rows of v are multiplied by M(q), so that no equation is solved with it.
 */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';
import type {Formulation, StepPoint} from './scheme.js';
import {stageIncrements, weightedIncrements} from './stage-increments.js';
import type {Tableau} from './tableau.js';

/** The last stage minus the one before it, both at the end of the step. */
export function lastStages(tableau: Tableau, order: number): Formulation['error'] {
  const last = tableau.c.length - 1;
  const weights = tableau.c.map((_, i) => (i === last ? 1 : i === last - 1 ? -1 : 0));
  return {
    order,
    estimate: (z, at) => {
      const increments = stageIncrements(tableau, z, at);
      return Object.fromEntries(
        increments.blocks.map(block => [block, weightedIncrements(increments, block, weights)]),
      );
    },
  };
}

export interface FilteredError {
  /** e₀ */
  readonly start: number;
  /** eᵢ */
  readonly stages: readonly number[];
  readonly gamma: number;
}

export function filtered(tableau: Tableau, {start, stages, gamma}: FilteredError, order: number): Formulation['error'] {
  return {
    order,
    estimate: (z, at, shift) => {
      const increments = stageIncrements(tableau, z, at);
      const gain = (block: string): tf.Tensor => weightedIncrements(increments, block, stages);
      return plus(
        inertia(at, Object.fromEntries(increments.blocks.map(block => [block, gain(block)]))),
        tf.mul(at.h, start),
        slope(at, scaled(gamma / start, shift)),
      );
    },
    filter: (e, at) => plus(inertia(at, e), tf.mul(at.h, -gamma), slope(at, e)),
  };
}

const plus = (x: Blocks, s: tf.Tensor, y: Blocks): Blocks =>
  Object.fromEntries(Object.keys(x).map(name => [name, tf.add(x[name], tf.mul(s, y[name]))]));

const scaled = (s: number, x: Blocks): Blocks =>
  s === 1 ? x : Object.fromEntries(Object.entries(x).map(([name, value]) => [name, tf.mul(value, s)]));

/** e, its velocities as momenta. */
const inertia = (at: StepPoint, e: Blocks): Blocks =>
  at.kind === 'ode' ? {y: at.mass(at.x.y, e.y, at.t)} : {q: e.q, v: at.mass(at.x.q, e.v)};

/** The slope at the start of the step, moved by e; of velocities the force, with a mass what M times it is. */
function slope({kind, x, t, rightHandSide, force}: StepPoint, e: Blocks): Blocks {
  if (kind === 'ode') return rightHandSide({y: tf.add(x.y, e.y)}, t);
  const v = tf.add(x.v, e.v);
  return {q: v, v: force(tf.add(x.q, e.q), v, t)};
}
