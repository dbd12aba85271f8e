/** Parameters are trees of tensors; inside, they are a list of named leaves. */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {shown} from '../checks.js';
import type {Numeric, NumericValue} from './numeric.js';
import {isNumeric, readNumeric} from './numeric.js';

/** The `params` of forces and other functions of a system: tensors by name, in a tree. */
export interface Params {
  readonly [name: string]: tf.Tensor | Params;
}

/** The `params` of a run's options: numbers, arrays or tensors by name, in a tree. */
export interface NumericParams {
  readonly [name: string]: Numeric | NumericParams;
}

/** Bound of P, the parameters that a system reads: tensors by name, such as {k: tf.Tensor}, or trees of them. */
export type ParamsLike<P> = {readonly [K in keyof P]: P[K] extends object ? tf.Tensor | ParamsLike<P[K]> : tf.Tensor};

/**
 * A function from A to R that is taken where it asks for more of A than is promised: systems that say which parameters
 * they read pass as systems that do not. (TypeScript compares methods' arguments both ways.)
 */
export type Bivariant<A, R> = {call(at: A): R}['call'];

/** Values of parameters P, with the same names; any names if the system does not declare its parameters. */
export type NumericParamsOf<P> = [P] extends [never] ? NumericParams : NumericOf<P>;
type NumericOf<P> = P extends tf.Tensor
  ? Numeric
  : Params extends P
    ? NumericParams
    : {readonly [K in keyof P]?: NumericOf<P[K]>};

/** Derivatives with respect to parameters P, with the same names: flat arrays, row-major. */
export type GradientOf<P> = [P] extends [never] ? Tree<Float64Array> : LeavesOf<P>;
type LeavesOf<P> = P extends tf.Tensor
  ? Float64Array
  : Params extends P
    ? Tree<Float64Array>
    : {readonly [K in keyof P]: LeavesOf<P[K]>};

/** One parameter: its path in the tree, and its value. */
export interface Leaf extends NumericValue {
  readonly path: readonly string[];
  /** The path as one writes it: 'spring.stiffness'. */
  readonly name: string;
  /** Type of a tensor other than float32. Functions get such a tensor as it is. */
  readonly dtype?: WholeType;
}

/** Types of tensors that hold whole numbers, by which nothing has a derivative. */
export type WholeType = 'int32' | 'bool';

export const wholeTypeOf = (value: Numeric): WholeType | undefined =>
  value instanceof tf.Tensor && (value.dtype === 'int32' || value.dtype === 'bool') ? value.dtype : undefined;

/** Whether a value may replace one of another call: a tensor of its type, or whole numbers for whole numbers. */
export const isOfType = (given: Leaf, dtype: WholeType | undefined): boolean =>
  given.dtype === dtype
  || (given.dtype === undefined
    && given.values.every(dtype === 'bool' ? x => x === 0 || x === 1 : x => Number.isInteger(x)));

/** The tree that functions get in a trace: leaves are inputs of numbers, and have their type from here on. */
export function typedTree(leaves: readonly Leaf[], inputs: readonly tf.Tensor[]): Params {
  const typed = leaves.map(({dtype}, i) => (dtype === undefined ? inputs[i] : tf.cast(inputs[i], dtype)));
  return toTree(leaves, typed);
}

/** Levels of a tree at most: far more than anyone writes, and far fewer than a stack holds. */
const maxDepth = 100;

/**
 * The leaves of a tree, by its own enumerable properties alone.
 * @param root what the tree is called, for the error
 * @throws OptionError 'bad-parameter'
 */
export function readParams(params: NumericParams | undefined, root = 'params', read = readNumeric): Leaf[] {
  if (params === undefined) return [];
  if (!isTree(params))
    throw new OptionError(
      'bad-parameter',
      `${root} must be an object of numbers, arrays, tensors and trees of such, not ${shown(params)}.`,
    );
  const leaves: Leaf[] = [];
  readTree(leaves, params, root, [], [params], read);
  return leaves;
}

/** @param above the trees that this one lies in, and itself */
function readTree(
  leaves: Leaf[],
  tree: NumericParams,
  root: string,
  path: readonly string[],
  above: readonly NumericParams[],
  read: typeof readNumeric,
): void {
  for (const [key, value] of Object.entries(tree)) {
    const at = [...path, key];
    const name = at.join('.');
    if (isNumeric(value)) {
      const dtype = wholeTypeOf(value);
      leaves.push({path: at, name, ...read(value, `${root}.${name}`), ...(dtype === undefined ? {} : {dtype})});
      continue;
    }
    if (!isTree(value))
      throw new OptionError(
        'bad-parameter',
        `${root}.${name} is neither a number, an array, a tensor nor a tree of such.`,
        {name},
      );
    if (above.includes(value))
      throw new OptionError(
        'bad-parameter',
        `${root}.${name} contains itself: parameters must be a tree, without cycles.`,
        {name},
      );
    if (at.length > maxDepth)
      throw new OptionError(
        'bad-parameter',
        `${root}.${name} is nested deeper than ${maxDepth} levels; a tree may not contain itself.`,
        {name},
      );
    readTree(leaves, value, root, at, [...above, value], read);
  }
}

/** An object of properties: not a Map, a Date or a Promise, which have none. */
const isTree = (x: unknown): x is NumericParams => Object.prototype.toString.call(x) === '[object Object]';

/** A tree with leaves of type T. */
export type Tree<T> = {readonly [name: string]: T | Tree<T>};

/** Every branch and leaf is an own property, also one named 'constructor' or '__proto__'. */
export function toTree<T>(leaves: readonly {readonly path: readonly string[]}[], values: readonly T[]): Tree<T> {
  const tree: Branch<T> = {};
  leaves.forEach(({path}, i) => {
    let place = tree;
    for (const key of path.slice(0, -1)) {
      if (!Object.hasOwn(place, key)) setOwn(place, key, {});
      place = place[key] as Branch<T>;
    }
    setOwn(place, path[path.length - 1], values[i]);
  });
  return tree;
}

type Branch<T> = {[name: string]: T | Tree<T>};

/** Assignment to `__proto__` would change what the object inherits. */
function setOwn<T>(branch: Branch<T>, key: string, value: T | Tree<T>): void {
  if (key === '__proto__')
    Object.defineProperty(branch, key, {value, enumerable: true, configurable: true, writable: true});
  else branch[key] = value;
}
