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
import {nested, withLeaf} from './nested.js';
import type {Parameter, Parameters} from './parameters.js';
import {belongsToModel, type Values} from './record-model.js';

/** A function of the estimates: a number, or an array (row-major) with standard errors of the same form. */
export interface Derived {
  readonly value: number | Float64Array;
  /** Infinite where the function depends on a parameter that the data do not determine. */
  readonly standardError: number | Float64Array;
}

/** What a fit knows of its parameters: their values, and the covariance of those that move, [size, size]. */
export interface Estimated {
  readonly parameters: Parameters;
  readonly values: Values;
  /** Of the coordinates x. */
  readonly covariance: Float64Array;
  readonly size: number;
  /** Turns rows of derivatives by the parameters into derivatives by x. */
  toCoordinates(jacobian: Float64Array): Float64Array;
}

/** One number that moves, by its column in the covariance. */
interface Column {
  readonly index: number;
  readonly params: NumericParams;
}

/** y' = 0; it reads every parameter, because a run refuses those that nothing reads. */
const resting = ode(({y, params}) =>
  tf.addN([tf.zerosLike(y), ...leavesOf(params).map(leaf => tf.mul(0, tf.sum(leaf)))]),
);

const leavesOf = (tree: Params): tf.Tensor[] =>
  Object.values(tree).flatMap(branch => (branch instanceof tf.Tensor ? [branch] : leavesOf(branch)));

/** @throws OptionError, TraceError, ShapeError for a function that cannot be traced or reads what is no parameter */
export function derived(of: (params: Params) => tf.Tensor, estimated: Estimated): Derived {
  requireValue(of, callable, 'derived: the function of the parameters');
  const {parameters, values, covariance, size} = estimated;
  const names = Object.keys(parameters).filter(belongsToModel);
  const params = names.reduce<NumericParams>(
    (tree, name) => withLeaf(tree, name, nested(values[name], parameters[name].shape)),
    {},
  );
  const columns = columnsOf(parameters).filter(({name}) => belongsToModel(name));
  const {trajectory, tangents} = evaluated(of, params, columns);
  const scalar = trajectory.observed?.shape.length === 1;
  const value = atStart(trajectory.values('observed'));
  trajectory.dispose();
  // [numbers of the function, parameters]
  const jacobian = new Float64Array(value.length * size);
  columns.forEach(({index}, d) =>
    atStart(tangents[d].observed ?? new Float64Array(0)).forEach((slope, i) => (jacobian[i * size + index] = slope)),
  );
  estimated.toCoordinates(jacobian);
  const standardError = value.map((_, i) => error(jacobian.subarray(i * size, (i + 1) * size), covariance));
  return scalar ? {value: value[0], standardError: standardError[0]} : {value, standardError};
}

function evaluated(
  of: (params: Params) => tf.Tensor,
  params: NumericParams,
  columns: readonly Column[],
): Jvps<OdeSystem> {
  try {
    return simulate.jvps(
      resting,
      {y: 0},
      {scheme: explicitEuler(), dt: 1, steps: 1, params, observe: ({params: read}) => of(read)},
      columns.map(({params: direction}) => ({params: direction})),
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

function columnsOf(parameters: Parameters): (Column & {readonly name: string})[] {
  let index = 0;
  return Object.entries(parameters)
    .filter(([, {kind}]) => kind !== 'fixed')
    .flatMap(([name, parameter]) =>
      unitsOf(parameter).map(unit => ({name, index: index++, params: withLeaf({}, name, unit)})),
    );
}

function unitsOf({guess, shape}: Parameter): ReturnType<typeof nested>[] {
  return Array.from(guess, (_, one) =>
    nested(
      Float64Array.from(guess, (_x, k) => (k === one ? 1 : 0)),
      shape,
    ),
  );
}
