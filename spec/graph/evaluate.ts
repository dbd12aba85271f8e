/** Programs as functions of arrays, and the measures the property tests share. */
import {interpreter} from '../../lib/engine/interpreter.js';
import type {Engine} from '../../lib/engine/engine.js';
import type {Node} from '../../lib/graph/node.js';

export type Values = readonly Float64Array[];

/** The outputs as a function of the inputs' values; results are copies. */
export function asFunction(
  outputs: readonly Node[],
  inputs: readonly Node<'input'>[],
  engine: Engine = interpreter,
): (values: Values) => Float64Array[] {
  const names = outputs.map((_, i) => `output ${i}`);
  const executable = engine.compile({run: {inputs, outputs: outputs.map((node, i) => ({name: names[i], node}))}});
  return values => {
    inputs.forEach((node, i) => executable.buffer(node.attributes.name).set(values[i]));
    executable.run('run');
    return names.map(name => executable.buffer(name).slice());
  };
}

export function evaluate(outputs: readonly Node[], inputs: readonly Node<'input'>[], values: Values): Float64Array[] {
  return asFunction(outputs, inputs)(values);
}

export function dot(a: Values, b: Values): number {
  return a.reduce((sum, x, i) => x.reduce((part, value, j) => part + value * b[i][j], sum), 0);
}

/** Σ|aᵢbᵢ|: what the rounding of a scalar product is relative to. */
export function dotSize(a: Values, b: Values): number {
  return a.reduce((sum, x, i) => x.reduce((part, value, j) => part + Math.abs(value * b[i][j]), sum), 0);
}

export function largest(x: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < x.length; i++) most = Math.max(most, Math.abs(x[i]));
  return most;
}

export function vectors(shapes: readonly {size: number}[], random: () => number): Float64Array[] {
  return shapes.map(({size}) => Float64Array.from({length: size}, () => 2 * random() - 1));
}

const along = (values: Values, directions: Values, t: number): Float64Array[] =>
  values.map((x, i) => x.map((value, j) => value + t * directions[i][j]));

/** d/dt f(x + t d) at t = 0, by the five-point formula of order 4: f′ = (8 δ(h) − δ(2h)) / 12h, δ(h) = f(x + hd) − f(x − hd). */
function difference(
  f: (values: Values) => Float64Array[],
  values: Values,
  directions: Values,
  h: number,
): Float64Array[] {
  const [near, back, far, farBack] = [h, -h, 2 * h, -2 * h].map(t => f(along(values, directions, t)));
  return near.map((x, i) => x.map((_, j) => (8 * (near[i][j] - back[i][j]) - (far[i][j] - farBack[i][j])) / (12 * h)));
}

export interface Differences {
  readonly values: readonly Float64Array[];
  /** Whether two step lengths agree there: not so at a kink or a jump within reach of the longer. */
  readonly reliable: readonly boolean[][];
}

/**
 * Directional derivatives by differences. Steps of 2e-3 and 1e-3 put truncation, h⁴f⁽⁵⁾/30, below 1e-12 and
 * rounding, 2ε|f|/h, below 1e-12 for functions of unit scale; where the two steps differ by more than
 * 1e-8 of the largest derivative the difference says nothing.
 */
export function differences(f: (values: Values) => Float64Array[], values: Values, directions: Values): Differences {
  const long = difference(f, values, directions, 2e-3);
  const short = difference(f, values, directions, 1e-3);
  const reliable = short.map((x, i) => {
    const scale = 1 + largest(x.filter(Number.isFinite));
    return Array.from(x, (value, j) => Math.abs(value - long[i][j]) <= 1e-8 * scale);
  });
  return {values: short, reliable};
}
