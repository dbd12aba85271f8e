/**
 * Functions of estimated parameters with their standard errors, to first order: the delta method, J C Jᵀ (Rao, Linear
 * Statistical Inference, 1973, §6a.2). The function is traced as the observation of a system that does not move, so
 * that its values and derivatives are computed in double precision.
 */
import * as tf from '@tensorflow/tfjs';
import {
  explicitEuler,
  ode,
  simulate,
  StiffgradError,
  type NumericParams,
  type OdeSystem,
  type Params,
} from '../../lib/index.js';
import type {Jvps} from '../../lib/internal.js';
import {callable, requireValue} from '../../lib/checks.js';
import {prefixed} from './failed-simulation.js';
import type {Parameters, ParameterSpace} from './parameters.js';
import {belongsToModel, directionsOf, paramsOf, type Direction} from './record-model.js';

/** A function of the estimates: a number, or an array (row-major) with standard errors of the same form. */
export interface DerivedQuantity {
  readonly value: number | Float64Array;
  /** Infinite where the function depends on a parameter that the data do not determine. */
  readonly standardError: number | Float64Array;
}

/** y' = 0; it reads every parameter, because a run refuses those that nothing reads. */
const resting = ode(({y, params}) =>
  tf.addN([tf.zerosLike(y), ...leavesOf(params).map(leaf => tf.mul(0, tf.sum(leaf)))]),
);

const leavesOf = (tree: Params): tf.Tensor[] =>
  Object.values(tree).flatMap(branch => (branch instanceof tf.Tensor ? [branch] : leavesOf(branch)));

/**
 * @param x coordinates of the estimate
 * @param covariance of the coordinates, [size, size]
 * @throws OptionError, TraceError, ShapeError for a function that cannot be traced or reads what is no parameter
 */
export function derived(
  of: (params: Params) => tf.Tensor,
  {parameters, space}: {readonly parameters: Parameters; readonly space: ParameterSpace},
  x: Float64Array,
  covariance: Float64Array,
): DerivedQuantity {
  requireValue(of, callable, 'derived: the function of the parameters');
  const bindings = Object.entries(parameters)
    .filter(([name]) => belongsToModel(name))
    .map(([name, parameter]) => ({name, key: name, parameter}));
  const directions = bindings.flatMap(directionsOf);
  const {size} = space;
  const {trajectory, tangents} = evaluated(of, paramsOf(bindings, space.values(x)), directions);
  const scalar = trajectory.observed?.shape.length === 1;
  const value = atStart(trajectory.values('observed'));
  trajectory.dispose();
  // [numbers of the function, parameters]
  const jacobian = new Float64Array(value.length * size);
  directions.forEach(({key, index}, d) => {
    const column = space.columnOf(key) + index;
    atStart(tangents[d].observed ?? new Float64Array(0)).forEach((slope, i) => (jacobian[i * size + column] = slope));
  });
  space.toCoordinates(jacobian, x);
  const standardError = value.map((_, i) => error(jacobian.subarray(i * size, (i + 1) * size), covariance));
  return scalar ? {value: value[0], standardError: standardError[0]} : {value, standardError};
}

function evaluated(
  of: (params: Params) => tf.Tensor,
  params: NumericParams,
  directions: readonly Direction[],
): Jvps<OdeSystem> {
  try {
    return simulate.jvps(
      resting,
      {y: 0},
      {scheme: explicitEuler(), dt: 1, steps: 1, params, observe: ({params: read}) => of(read)},
      directions.map(({tangent: {params: direction}}) => ({params: direction})),
    );
  } catch (error) {
    throw error instanceof StiffgradError ? prefixed(error, 'derived') : error;
  }
}

/** The run saves its start and its only step, which are equal. */
const atStart = (saved: Float64Array): Float64Array => saved.slice(0, saved.length / 2);

/** √(gᵀ C g), over the parameters that the function depends on. */
function error(gradient: Float64Array, covariance: Float64Array): number {
  const size = gradient.length;
  const involved = Array.from(gradient.keys()).filter(j => gradient[j] !== 0);
  if (involved.some(j => !Number.isFinite(covariance[j * size + j]))) return Infinity;
  let variance = 0;
  for (const i of involved) for (const j of involved) variance += gradient[i] * covariance[i * size + j] * gradient[j];
  return Math.sqrt(Math.max(0, variance));
}
