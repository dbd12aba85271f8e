/**
 * Gradients by forward sensitivities: the tangents of the saved states along every number that a run
 * depends on, contracted with cotangents.
 */
import type {StepContext} from '../step/context.js';
import type {Gradient} from './gradient.js';
import type {Directions} from './directions.js';
import type {RunCotangents} from './sweep-back.js';
import type {Sensitivities} from './sweep-forward.js';

/** A direction for every number of the initial state, then of each parameter. */
export function unitDirections({
  initialValues,
  parameterValues,
}: Pick<StepContext, 'initialValues' | 'parameterValues'>): Directions {
  const count = parameterValues.reduce((sum, values) => sum + values.length, initialValues.length);
  let first = 0;
  const block = (size: number): Float64Array => {
    const rows = new Float64Array(count * size);
    for (let i = 0; i < size; i++) rows[(first + i) * size + i] = 1;
    first += size;
    return rows;
  };
  return {count, initial: block(initialValues.length), parameters: parameterValues.map(values => block(values.length))};
}

const dot = (a: Float64Array, at: number, b: Float64Array, from: number, count: number): number => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += a[at + i] * b[from + i];
  return sum;
};

/** The gradient for cotangents of the saved states, from the tangents along `unitDirections`. */
export function contract(
  {initialValues, parameterValues, traced}: StepContext,
  {count, states, times, happened}: Sensitivities,
  cotangents: RunCotangents,
): Gradient {
  const {size} = traced.state;
  const flat = new Float64Array(count);
  for (let d = 0; d < count; d++) {
    states.forEach((tangents, saved) => (flat[d] += dot(tangents, d * size, cotangents.states, saved * size, size)));
    if (cotangents.times !== undefined)
      times?.forEach((tangents, saved) => (flat[d] += tangents[d] * (cotangents.times as Float64Array)[saved]));
    if (cotangents.eventTimes !== undefined)
      happened?.forEach((tangents, event) => (flat[d] += tangents[d] * (cotangents.eventTimes as Float64Array)[event]));
  }
  let at = initialValues.length;
  return {
    initial: flat.slice(0, at),
    recomputedSteps: 0,
    parameters: parameterValues.map(({length}) => flat.slice(at, (at += length))),
  };
}
