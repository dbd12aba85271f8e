/**
 * Coefficients of constraints, compliance, friction and restitution: numbers are looked at where a constraint is made, tensors
 * and functions of params here, as tensors of a trace, and their values where a run starts.
 */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import {constantTensor, immediate, within} from '../trace/trace.js';
import type {Compliance, Constraint} from './constraint-kinds.js';
import {readNumeric} from './numeric.js';
import type {Params} from './params.js';

/** Coefficients of constraints that may be another number in every run. */
export type CoefficientName = 'compliance' | 'friction' | 'restitution';

/** What each may be at most; none is negative. */
const most: {readonly [name in CoefficientName]: number} = {compliance: Infinity, friction: Infinity, restitution: 1};

/** Some of the values of `Coefficients`: those of one coefficient of one constraint. */
export interface CoefficientValues {
  readonly constraint: number;
  /** 'frictionalContact: friction'. */
  readonly name: string;
  /** How many numbers. */
  readonly size: number;
  readonly most: number;
}

/** What no constructor has looked at. */
export interface Coefficients {
  /** Flat, one after another. */
  readonly values: tf.Tensor;
  readonly parts: readonly CoefficientValues[];
}

/**
 * A coefficient as a tensor; zero where the constraint has none.
 * @throws ShapeError where its function gives no tensor
 */
export function coefficientTensor(
  {compliance, contact}: Constraint,
  index: number,
  name: CoefficientName,
  params: Params,
): tf.Tensor {
  const given = name === 'compliance' ? compliance : contact?.[name];
  if (typeof given === 'function') {
    return within(`constraints[${index}].${name}`, () => {
      const value = immediate(given(params));
      if (!(value instanceof tf.Tensor))
        throw new ShapeError(
          'constraint-shape',
          `constraints[${index}]: ${name} must return a tensor, not ${typeof value}.`,
          {constraint: index},
        );
      return value;
    });
  }
  if (given instanceof tf.Tensor) return given;
  const {values, shape} = readNumeric(given ?? 0, name);
  return constantTensor(values, shape);
}

/** Undefined where all were given as numbers. */
export function coefficientsOf(constraints: readonly Constraint[], params: Params): Coefficients | undefined {
  const changes = (given: Compliance | undefined): boolean => typeof given === 'function' || given instanceof tf.Tensor;
  const tensors: tf.Tensor[] = [];
  const parts: CoefficientValues[] = [];
  constraints.forEach((constraint, index) => {
    for (const name of Object.keys(most) as CoefficientName[]) {
      if (!changes(name === 'compliance' ? constraint.compliance : constraint.contact?.[name])) continue;
      const value = coefficientTensor(constraint, index, name, params);
      tensors.push(tf.reshape(value, [value.size]));
      parts.push({constraint: index, name: `${constraint.kind.name}: ${name}`, size: value.size, most: most[name]});
    }
  });
  if (tensors.length === 0) return undefined;
  return {values: tensors.length === 1 ? tensors[0] : tf.concat(tensors), parts};
}
