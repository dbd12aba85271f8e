/** Parameters are trees of tensors; inside, they are a list of named leaves. */
import type * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import type {Numeric, NumericValue} from './numeric.js';
import {isNumeric, readNumeric} from './numeric.js';

export interface Params {
  readonly [name: string]: tf.Tensor | Params;
}

export interface NumericParams {
  readonly [name: string]: Numeric | NumericParams;
}

/** One parameter: its path in the tree, and its value. */
export interface Leaf extends NumericValue {
  readonly path: readonly string[];
  /** The path as one writes it: 'spring.stiffness'. */
  readonly name: string;
}

/** @throws OptionError 'bad-parameter' */
export function readParams(params: NumericParams | undefined, path: readonly string[] = []): Leaf[] {
  return Object.entries(params ?? {}).flatMap(([key, value]) => {
    const at = [...path, key];
    const name = at.join('.');
    if (isNumeric(value)) return [{path: at, name, ...readNumeric(value, `params.${name}`)}];
    if (typeof value === 'object' && value !== null) return readParams(value, at);
    throw new OptionError('bad-parameter', `params.${name} is neither a number, an array, a tensor nor a tree of such.`, {name});
  });
}

/** A tree of anything, from the leaves. */
export type Tree<T> = {readonly [name: string]: T | Tree<T>};

export function toTree<T>(leaves: readonly {readonly path: readonly string[]}[], values: readonly T[]): Tree<T> {
  const tree: Record<string, T | Tree<T>> = {};
  leaves.forEach((leaf, i) => {
    let place = tree;
    for (const key of leaf.path.slice(0, -1)) place = (place[key] ??= {});
    place[leaf.path[leaf.path.length - 1]] = values[i];
  });
  return tree;
}
