/**
 * M y' = f(y, t) linearized: M δy' = J δy, where M may be singular. What is algebraic is eliminated: with Zᵀ M = 0
 * deviations obey Zᵀ J δy = 0, which leaves fewer of them, δy = B x, and (M B) x' = (J B) x in the rows that do not
 * depend on others; and so on until a mass with an inverse is left (the shuffle algorithm of Luenberger, Automatica
 * 14, 1978). Its eigenvalues are the finite ones of the pencil (J, M), whatever its index.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import type {Dense} from '../linear/rank.js';
import {dense, product, rankOf} from '../linear/rank.js';
import type {Scheme} from '../scheme/scheme.js';
import {massField} from '../system/ode-mass.js';
import type {OdeSystem} from '../system/ode.js';
import type {Params} from '../system/params.js';
import {freeCoordinates} from './free-coordinates.js';

/** y⁺ is f. */
export const rightHandSideAlone: Scheme = {
  name: 'linearize',
  order: 1,
  ode: {
    unknown: [],
    supports: {mass: 2},
    update: (_, {x, t, rightHandSide}) => rightHandSide(x, t),
  },
};

/** M of the state as numbers one a component, or by rows. */
export function massOf(
  {mass = 1}: OdeSystem,
  {y, t, params}: {readonly y: tf.Tensor; readonly t: tf.Tensor; readonly params: Params},
): tf.Tensor {
  const {value} = massField(mass, y.shape, params).at(y, t);
  return value.size === 1 ? tf.mul(tf.reshape(value, []), tf.ones([y.size])) : tf.reshape(value, [value.size]);
}

/** M as a matrix, of numbers one a component or by rows. */
export const matrixOf = (mass: Float64Array, n: number): Dense =>
  mass.length === n * n && n > 1 ? {rows: n, columns: n, values: mass} : dense(n, n, (i, j) => (i === j ? mass[i] : 0));

/**
 * A of what is left free, and the numbers of these components.
 * @throws OptionError 'bad-linearization' where M and J are a singular pencil, which determines no motion
 */
export function reduced(
  M: Dense,
  J: Dense,
): {readonly A: readonly (readonly number[])[]; readonly free: readonly number[]} {
  let [mass, jacobian] = [M, J];
  let free = Array.from({length: M.columns}, (_, i) => i);
  for (;;) {
    const n = free.length;
    const {dependent, left, solve} = rankOf(mass);
    if (dependent.length === 0) {
      const columns = free.map((_, j) => solve(Float64Array.from(free, (_x, i) => jacobian.values[i * n + j])));
      return {A: free.map((_, i) => columns.map(column => column[i])), free};
    }
    const gaps = product(left, jacobian);
    const isAlgebraic = free.map((_, j) => free.every((_x, i) => mass.values[i * n + j] === 0));
    const {free: kept, basis} = freeCoordinates(
      free.map((_, j) => dependent.map((_x, k) => gaps.values[k * n + j])),
      isAlgebraic,
    );
    const rows = free.map((_, i) => i).filter(i => !dependent.includes(i));
    if (kept.length !== rows.length)
      throw new OptionError(
        'bad-linearization',
        "linearize: M and ∂f/∂y do not determine all of y at this state: some combination of the equations M y' "
          + '= f is empty. Look for a component that no equation reads, or for an equation that occurs twice.',
      );
    const B = dense(n, kept.length, (i, j) => basis[i][j]);
    const ofRows = (whole: Dense): Dense =>
      dense(rows.length, whole.columns, (i, j) => whole.values[rows[i] * whole.columns + j]);
    [mass, jacobian] = [ofRows(product(mass, B)), ofRows(product(jacobian, B))];
    free = kept.map(k => free[k]);
  }
}
