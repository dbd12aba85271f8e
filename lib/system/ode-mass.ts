/**
 * The mass of M y' = f(y, t; p), which may be singular: a differential-algebraic system (Hairer & Wanner, Solving ODEs
 * II, §VI.1). It is a constant of the run, or a function of y and t whose rows depend on the same others everywhere.
 * Schemes ask for M w, and for the part of f that the range of M leaves out.
 */
import * as tf from '@tensorflow/tfjs';
import type {Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';
import {rankOf} from '../linear/rank.js';
import {constantTensor} from '../trace/trace.js';
import {massKind, massTensor, timesMass} from './mass.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import type {Bivariant, Params} from './params.js';

/** The arguments of a mass: the state, the time [], and the parameters. */
export type OdeMassAt<P = Params> = {y: tf.Tensor; t: tf.Tensor; params: P};
/**
 * A number, one per component (the shape of y), or a matrix [n, n], n the size of y; or a function of y, t and params
 * that returns one of these.
 */
export type OdeMass<P = Params> = Numeric | Bivariant<OdeMassAt<P>, tf.Tensor>;

/** M at one place, in a trace. */
export interface MassOperator {
  times(w: tf.Tensor): tf.Tensor;
  /** M itself. */
  readonly value: tf.Tensor;
  /** Where its rank is known: of a diagonal, and of numbers. */
  readonly known?: {beside(f: tf.Tensor): tf.Tensor; someRate(f: tf.Tensor): tf.Tensor};
}

/** M in a trace. */
export interface MassField {
  at(y: tf.Tensor, t: tf.Tensor): MassOperator;
  /** It reads y or t. */
  readonly moves: boolean;
  readonly isKnown: boolean;
}

/** @throws ShapeError 'mass-shape' */
export function massField(mass: OdeMass, shape: Shape, params: Params): MassField {
  let moves = false;
  const at = (y: tf.Tensor, t: tf.Tensor): MassOperator => {
    // Getters, as spreading the arguments is not reading them.
    const place = Object.defineProperties({params} as OdeMassAt, {
      y: {get: () => ((moves = true), y)},
      t: {get: () => ((moves = true), t)},
    });
    return massOperator(mass, massTensor(mass, place), shape);
  };
  const somewhere = at(constantTensor(new Float64Array(sizeOf(shape)), shape), constantTensor(0, []));
  const isKnown = somewhere.known !== undefined;
  return moves ? {at, moves, isKnown} : {at: () => somewhere, moves, isKnown};
}

/** @throws ShapeError 'mass-shape' */
function massOperator(mass: OdeMass, value: tf.Tensor, shape: Shape): MassOperator {
  const kind = massKind(value.shape, shape);
  if (kind === 'scalar') return diagonal(tf.reshape(value, []));
  if (kind === 'lumped') return diagonal(value);
  const known = kind === 'consistent' && typeof mass !== 'function';
  return {
    value,
    times: w => timesMass(value, w),
    ...(known ? {known: besideMatrix(readNumeric(mass, 'mass').values, sizeOf(shape))} : {}),
  };
}

/** M with this diagonal. */
export function diagonal(value: tf.Tensor): Required<MassOperator> {
  const zeros = (f: tf.Tensor): tf.Tensor => tf.equal(tf.add(value, tf.zerosLike(f)), 0);
  return {
    value,
    times: w => tf.mul(value, w),
    known: {
      beside: f => tf.where(zeros(f), f, tf.zerosLike(f)),
      someRate: f => {
        const divisor = tf.where(zeros(f), tf.onesLike(f), tf.add(value, tf.zerosLike(f)));
        return tf.where(zeros(f), tf.zerosLike(f), tf.div(f, divisor));
      },
    },
  };
}

/**
 * E Zᵀ with Zᵀ M = 0 and the unit vectors E of rows that depend on the others: such rows and the range of M have only
 * zero in common, so that M w + E Zᵀ f = 0 says both M w = 0 and Zᵀ f = 0.
 */
function besideMatrix(values: Float64Array, n: number): MassOperator['known'] {
  const {dependent, left, solve} = rankOf({rows: n, columns: n, values});
  const beside = new Float64Array(n * n);
  dependent.forEach((row, k) => beside.set(left.values.subarray(k * n, (k + 1) * n), row * n));
  const inverse = new Float64Array(n * n);
  for (let j = 0; j < n; j++)
    solve(Float64Array.from({length: n}, (_, i) => (i === j ? 1 : 0))).forEach((x, i) => (inverse[i * n + j] = x));
  return {
    beside: f => timesMass(constantTensor(beside, [n, n]), f),
    someRate: f => timesMass(constantTensor(inverse, [n, n]), f),
  };
}
