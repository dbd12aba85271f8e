/** Random directions in the space of initial state and parameters, from a fixed seed. */
import type {Gradient} from '../adjoint/gradient.js';
import type {Directions} from '../adjoint/directions.js';
import {fixedNumbers} from '../fixed-numbers.js';
import type {StepContext} from '../step/context.js';
import type {TracedStep} from '../step/traced-step.js';

/** Signs from a fixed seed. */
function signs(): () => number {
  const number = fixedNumbers(42);
  return () => (number() < 0 ? -1 : 1);
}

/** The size of an array's numbers, which each of them is changed by; 1 where all are zero. */
function sizeOf(values: Float64Array): number {
  const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
  return square > 0 ? Math.sqrt(square) : 1;
}

/** Whether a start has to obey equations, which random directions of it would violate. */
const isConstrained = ({functions}: TracedStep): boolean =>
  [functions.positions, functions.velocities, functions.depths, functions.rightHandSide].some(one => one !== undefined);

/** The size of each number of the start, and of each parameter; of a start that is constrained 0. */
function sizes(context: StepContext): Pick<Directions, 'initial' | 'parameters'> {
  const {start, traced, initialValues, parameterValues} = context;
  const initial = new Float64Array(initialValues.length);
  const isFree = !isConstrained(start.traced);
  for (const {offset, size} of traced.state.blocks)
    if (isFree && offset < initial.length) {
      const own = initial.subarray(offset, offset + size);
      own.fill(sizeOf(initialValues.subarray(offset, offset + size)));
    }
  return {initial, parameters: parameterValues.map(values => new Float64Array(values.length).fill(sizeOf(values)))};
}

/**
 * A direction in which every parameter changes by about its own size, and one in which the start does. Apart, as what
 * one contributes may hide an error of the other, or cancel it.
 * @param movesStart whether there is the second
 */
export function randomDirections(context: StepContext, movesStart = true): Directions {
  const sign = signs();
  const {initial, parameters} = sizes(context);
  const signed = (values: Float64Array): Float64Array => values.map(value => sign() * value);
  const own = parameters.map(signed);
  const start = signed(initial);
  const [byStart, byParameters] = [movesStart && start.some(value => value !== 0), own.length > 0];
  if (!byStart) return {count: 1, initial: new Float64Array(start.length), parameters: own};
  if (!byParameters) return {count: 1, initial: start, parameters: own};
  const beside = (first: ArrayLike<number>, second: ArrayLike<number>): Float64Array =>
    Float64Array.from([...Array.from(first), ...Array.from(second)]);
  return {
    count: 2,
    initial: beside(new Float64Array(start.length), start),
    parameters: own.map(values => beside(values, new Float64Array(values.length))),
  };
}

/** One of several directions. */
export function directionOf({count, initial, parameters, t0}: Directions, k: number): Directions {
  const part = (all: Float64Array): Float64Array =>
    all.subarray((k * all.length) / count, ((k + 1) * all.length) / count);
  return {
    count: 1,
    initial: part(initial),
    parameters: parameters.map(part),
    ...(t0 === undefined ? {} : {t0: part(t0)}),
  };
}

/** How much of each direction makes it one by about the size of what it changes, with a random sign. */
export function randomShares(context: StepContext, {count, initial, parameters, t0}: Directions): Float64Array {
  const sign = signs();
  const own = sizes(context);
  return Float64Array.from({length: count}, (_, k) => {
    let largest = 0;
    const compare = (all: Float64Array, size: Float64Array): void =>
      size.forEach((value, i) => {
        const change = Math.abs(all[k * size.length + i]);
        if (change > 0) largest = Math.max(largest, change / value);
      });
    compare(initial, own.initial);
    parameters.forEach((all, p) => compare(all, own.parameters[p]));
    if (t0 !== undefined) compare(t0, Float64Array.of(sizeOf(Float64Array.of(context.t0))));
    return largest === 0 ? 0 : sign() / largest;
  });
}

export function combination({count, initial, parameters, t0}: Directions, shares: Float64Array): Directions {
  const sum = (all: Float64Array): Float64Array => {
    const size = all.length / count;
    const one = new Float64Array(size);
    shares.forEach((share, k) => {
      for (let i = 0; i < size; i++) one[i] += share * all[k * size + i];
    });
    return one;
  };
  return {
    count: 1,
    initial: sum(initial),
    parameters: parameters.map(sum),
    ...(t0 === undefined ? {} : {t0: sum(t0)}),
  };
}

type ByNumber = Pick<Gradient, 'initial' | 'parameters'>;

/** The derivative along one direction. What the direction leaves unchanged may have an infinite one. */
export const derivativeAlong = (gradient: ByNumber, direction: Directions): number =>
  sumAlong(gradient, direction, term => term);

/** The sum of the sizes of its terms. */
export const termsAlong = (gradient: ByNumber, direction: Directions): number =>
  sumAlong(gradient, direction, Math.abs);

function sumAlong({initial, parameters}: ByNumber, directions: Directions, of: (term: number) => number): number {
  const inner = (a: Float64Array, b: Float64Array): number =>
    b.reduce((sum, value, i) => (value === 0 ? sum : sum + of(a[i] * value)), 0);
  return directions.parameters.reduce(
    (sum, direction, p) => sum + inner(parameters[p], direction),
    inner(initial, directions.initial),
  );
}
