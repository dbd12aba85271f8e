/**
 * The parameters of a fit as one record sees them: which are its own, which are parts of its start, and where each of their
 * numbers goes in `params` and in the initial state; the derivatives go the same way back.
 */
import type {Numeric, NumericParams, Tangent} from '../../lib/index.js';
import type {Model} from './model.js';
import {nestedNumbers, withLeaf} from './nested.js';
import type {Parameter} from './parameters.js';
import type {CheckedRecord} from './records.js';

/** A parameter as one record sees it. */
export interface Binding {
  /** By this name the system reads it: a path in `params`, or 'initial.q'. */
  readonly name: string;
  /** By this name the fit knows it: with the record's name before it, where it is the record's own. */
  readonly key: string;
  readonly parameter: Parameter;
}

/** One number that moves. */
export interface Direction {
  readonly key: string;
  /** Which number of the parameter. */
  readonly index: number;
  readonly tangent: Tangent;
}

/** Values of all parameters, row-major, by key. */
export type Values = {readonly [key: string]: Float64Array};

const initialPrefix = 'initial.';

const isInitial = ({name}: Pick<Binding, 'name'>): boolean => name.startsWith(initialPrefix);
const blockOf = ({name}: Pick<Binding, 'name'>): string => name.slice(initialPrefix.length);

/** Whether a key is that of a parameter which the system reads in every record: no start, and no record's own. */
export const belongsToModel = (key: string): boolean => !key.startsWith(initialPrefix) && !key.includes(': ');

/** The key of a parameter that belongs to one record alone. */
export const recordKey = (record: string, name: string): string => `${record}: ${name}`;

/** A record's own parameters stand before its own start, that before the problem's parameters, and those before the problem's start. */
export function bind(
  {parameters}: Model,
  {name: record, owner = record, parameters: own, initial}: CheckedRecord,
): Binding[] {
  const shared = Object.entries(parameters)
    .filter(
      ([name]) =>
        !Object.hasOwn(own, name)
        && !(name.startsWith(initialPrefix) && Object.hasOwn(initial ?? {}, name.slice(initialPrefix.length))),
    )
    .map(([name, parameter]) => ({name, key: name, parameter}));
  return [
    ...shared,
    ...Object.entries(own).map(([name, parameter]) => ({
      name,
      key: recordKey(name.startsWith(initialPrefix) ? record : owner, name),
      parameter,
    })),
  ];
}

type Gradients = {readonly [name: string]: Float64Array | Gradients};

function leafOf(tree: Gradients, path: string): Float64Array {
  return path
    .split('.')
    .reduce<Float64Array | Gradients>((branch, key) => (branch as Gradients)[key], tree) as Float64Array;
}

export function directionsOf(binding: Binding): Direction[] {
  const {
    name,
    key,
    parameter: {kind, guess, shape},
  } = binding;
  if (kind === 'fixed') return [];
  return Array.from(guess, (_, index) => {
    const unit = new Float64Array(guess.length);
    unit[index] = 1;
    const value = nested(unit, shape);
    return {
      key,
      index,
      tangent: isInitial(binding) ? {initial: {[blockOf(binding)]: value}} : {params: withLeaf({}, name, value)},
    };
  });
}

/** Row-major values in a shape, as `simulate` takes them: rows inside arrays are arrays too. */
export function nested(values: Float64Array, shape: readonly number[]): Numeric {
  if (shape.length === 0) return values[0];
  return shape.length === 1 ? values : nestedNumbers(Array.from(values), shape);
}

/** Values of `params`, each in the shape its guess was given in. */
export const paramsOf = (bindings: readonly Binding[], values: Values): NumericParams =>
  bindings
    .filter(binding => !isInitial(binding))
    .reduce((params, {name, key, parameter: {shape}}) => withLeaf(params, name, nested(values[key], shape)), {});

/** Blocks of the initial state that are parameters. */
export const blocksOf = (bindings: readonly Binding[], values: Values): {readonly [block: string]: Numeric} =>
  Object.fromEntries(
    bindings.filter(isInitial).map(({name, key, parameter: {shape}}) => [blockOf({name}), nested(values[key], shape)]),
  );

/** The names of these blocks. */
export const blockNames = (bindings: readonly Binding[]): string[] => bindings.filter(isInitial).map(blockOf);

/** Derivatives by the initial state and `params`, under the keys of the fit. */
export const byKey = (
  bindings: readonly Binding[],
  initial: {readonly [block: string]: Float64Array},
  params: Gradients,
): Values =>
  Object.fromEntries(
    bindings.map(binding => [
      binding.key,
      isInitial(binding) ? initial[blockOf(binding)] : leafOf(params, binding.name),
    ]),
  );
