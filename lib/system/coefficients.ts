/**
 * Coefficients of constraints, compliance, friction and restitution: numbers are looked at where a constraint is made,
 * tensors and functions of params here, as tensors of a trace, and their values where a run starts.
 */
import * as tf from '@tensorflow/tfjs';
import {calledWithParams} from '../checks.js';
import {constantTensor} from '../trace/trace.js';
import type {Compliance, Constraint} from './constraint-kinds.js';
import {readNumeric} from './numeric.js';
import type {Params} from './params.js';
import {returned} from './returned.js';

/** Coefficients of constraints that may be another number in every run; friction by its place in `ContactLaw.slips`. */
export type CoefficientName = 'compliance' | 'restitution' | {readonly friction: number};

const label = (name: CoefficientName): string => (typeof name === 'string' ? name : 'friction');

/** The largest value of each; none is negative. */
const upperBound = (name: CoefficientName): number => (name === 'restitution' ? 1 : Infinity);

function given({compliance, contact}: Constraint, name: CoefficientName): Compliance | undefined {
  if (name === 'compliance') return compliance;
  return name === 'restitution' ? contact?.restitution : contact?.slips[name.friction]?.friction;
}

/** Some of the values of `Coefficients`: those of one coefficient of one constraint. */
export interface CoefficientValues {
  readonly constraint: number;
  /** 'frictionalContact: friction'. */
  readonly name: string;
  /** How many numbers. */
  readonly size: number;
  readonly upperBound: number;
}

/** Coefficients that no constructor has checked. */
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
  constraint: Constraint,
  index: number,
  name: CoefficientName,
  params: Params,
): tf.Tensor {
  const coefficient = given(constraint, name);
  const term = `constraints[${index}].${label(name)}`;
  if (typeof coefficient === 'function')
    return returned(term, () => calledWithParams(coefficient, params, term), {
      code: 'constraint-shape',
      must: 'a tensor',
      data: {constraint: index},
    });
  if (coefficient instanceof tf.Tensor) return coefficient;
  const {values, shape} = readNumeric(coefficient ?? 0, label(name));
  return constantTensor(values, shape);
}

/** Undefined where all were given as numbers. */
export function coefficientsOf(constraints: readonly Constraint[], params: Params): Coefficients | undefined {
  const changes = (one: Compliance | undefined): boolean => typeof one === 'function' || one instanceof tf.Tensor;
  const tensors: tf.Tensor[] = [];
  const parts: CoefficientValues[] = [];
  constraints.forEach((constraint, index) => {
    const frictions = (constraint.contact?.slips ?? []).map((_, k): CoefficientName => ({friction: k}));
    for (const name of ['compliance', ...frictions, 'restitution'] as CoefficientName[]) {
      if (!changes(given(constraint, name))) continue;
      const value = coefficientTensor(constraint, index, name, params);
      tensors.push(tf.reshape(value, [value.size]));
      parts.push({
        constraint: index,
        name: `${constraint.kind.name}: ${label(name)}`,
        size: value.size,
        upperBound: upperBound(name),
      });
    }
  });
  if (tensors.length === 0) return undefined;
  return {values: tensors.length === 1 ? tensors[0] : tf.concat(tensors), parts};
}
