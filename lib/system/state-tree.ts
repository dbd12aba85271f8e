/** States of an ode as trees of named tensors: where each part lies in the vector y that schemes integrate. */
import * as tf from '@tensorflow/tfjs';
import {positiveInteger, shown} from '../checks.js';
import {OptionError, ShapeError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import type {Derivative, DerivativeAt} from './ode.js';
import type {Params, ParamsLike} from './params.js';

/** Shapes by name; [] is that of a number. Branches may be nested. */
export interface ShapeTree {
  readonly [name: string]: Shape | ShapeTree;
}

/** A tree with the names of a `ShapeTree`, and a T at each leaf. */
export type TreeOf<S, T> = {readonly [K in keyof S]: S[K] extends Shape ? T : TreeOf<S[K], T>};

/** The arguments of a derivative written for a tree. */
export type TreeDerivativeAt<S, P = Params> = Omit<DerivativeAt<P>, 'y'> & {y: TreeOf<S, tf.Tensor>};

/** Made by `stateTree`. */
export interface StateTree<S extends ShapeTree> {
  /** Number of components of the state. */
  readonly size: number;
  /**
   * An initial state, [size]: the parts one after the other, in the order of the shapes.
   * @throws ShapeError 'state-shape' naming the part; OptionError 'bad-state' where one is missing or unknown
   */
  flat(values: TreeOf<S, Numeric>): Float64Array;
  /** y [..., size] of parts [..., ...shape]. @throws as `flat` */
  joined(parts: TreeOf<S, tf.Tensor>): tf.Tensor;
  /**
   * The parts [..., ...shape] of y [..., size], in a derivative, `observe` or a loss.
   * @throws ShapeError 'state-shape'
   */
  parts(y: tf.Tensor): TreeOf<S, tf.Tensor>;
  /**
   * Series of a run's y, `trajectory.values('y')`, part by part: [times, ...shape], flat.
   * @throws ShapeError 'state-shape'
   */
  series(y: Float64Array): TreeOf<S, Float64Array>;
  /** Makes a derivative for `ode` from one that takes the parts and returns their rates, each of its part's shape. */
  derivative<P extends ParamsLike<P> = Params>(
    rates: (at: TreeDerivativeAt<S, P>) => TreeOf<S, tf.Tensor>,
  ): Derivative<P>;
}

interface Leaf {
  /** 'field.u' */
  readonly path: string;
  readonly shape: Shape;
  readonly offset: number;
  readonly size: number;
}

type Tree<T> = {readonly [name: string]: T | Tree<T>};

/**
 * The layout of a state with several parts as a vector y.
 * @param shapes by name: {prey: [], field: {u: [8, 8], v: [8, 8]}}
 * @throws OptionError 'bad-state'
 */
export function stateTree<const S extends ShapeTree>(shapes: S): StateTree<S> {
  let size = 0;
  const laid = layOut(shapes, '', shape => {
    const offset = size;
    size += sizeOf(shape);
    return offset;
  });
  const joined = (parts: Tree<tf.Tensor>): tf.Tensor => {
    const found = leavesOf(laid, parts);
    const lead = leadOf(found);
    return tf.concat(
      found.map(([leaf, part]) => {
        if (part instanceof tf.Tensor && sameShape(part.shape, [...lead, ...leaf.shape]))
          return tf.reshape(part, [...lead, leaf.size]);
        const got = part instanceof tf.Tensor ? `shape [${part.shape.join(', ')}]` : shown(part);
        throw wrongShape(leaf.path, `be a tensor of shape [${[...lead, ...leaf.shape].join(', ')}]; it is ${got}`);
      }),
      -1,
    );
  };
  const parts = (y: tf.Tensor): Tree<tf.Tensor> => {
    const lead = y.shape.slice(0, -1);
    if (y.rank === 0 || y.shape[lead.length] !== size)
      throw wrongShape('y', `have ${size} numbers on its last axis; its shape is [${y.shape.join(', ')}]`);
    return mapped(laid, leaf =>
      tf.reshape(tf.slice(y, [...lead.map(() => 0), leaf.offset], [...lead, leaf.size]), [...lead, ...leaf.shape]),
    );
  };
  const tree = {
    size,
    joined,
    parts,
    flat: (values: Tree<Numeric>): Float64Array => {
      const y = new Float64Array(size);
      for (const [leaf, value] of leavesOf(laid, values)) {
        const read = readNumeric(value, leaf.path);
        if (!sameShape(read.shape, leaf.shape))
          throw wrongShape(leaf.path, `have the shape [${leaf.shape.join(', ')}]; it has [${read.shape.join(', ')}]`);
        y.set(read.values, leaf.offset);
      }
      return y;
    },
    series: (y: Float64Array): Tree<Float64Array> => {
      const times = y.length / size;
      if (!Number.isInteger(times))
        throw wrongShape('y', `have ${size} numbers at each time; it has ${y.length} in all`);
      return mapped(laid, ({offset, size: count}) =>
        Float64Array.from({length: times * count}, (_, i) => y[Math.floor(i / count) * size + offset + (i % count)]),
      );
    },
    derivative:
      (rates: (at: TreeDerivativeAt<unknown>) => Tree<tf.Tensor>) =>
      ({y, ...at}: DerivativeAt): tf.Tensor =>
        joined(rates({...at, y: parts(y)})),
  };
  return tree as unknown as StateTree<S>;
}

const wrongShape = (path: string, must: string): ShapeError =>
  new ShapeError('state-shape', `stateTree: ${path} must ${must}.`, {path});

function badTree(must: string): OptionError {
  return new OptionError('bad-state', `stateTree: ${must}.`);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof tf.Tensor);

function layOut(shapes: unknown, at: string, place: (shape: Shape) => number): Tree<Leaf> {
  const where = at === '' ? 'the shapes' : at;
  if (!isObject(shapes))
    throw badTree(`${where} must be a shape, as [2], or an object of shapes, not ${shown(shapes)}`);
  if (Object.keys(shapes).length === 0) throw badTree(`${where} must have one part at least`);
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]): [string, Leaf | Tree<Leaf>] => {
      const path = at === '' ? name : `${at}.${name}`;
      if (!Array.isArray(shape)) return [name, layOut(shape, path, place)];
      const bad = (shape as unknown[]).find(n => !positiveInteger.test(n));
      if (bad !== undefined) throw badTree(`the shape of ${path} must be positive whole numbers, not ${shown(bad)}`);
      return [name, {path, shape: shape as Shape, offset: place(shape as Shape), size: sizeOf(shape as Shape)}];
    }),
  );
}

const isLeaf = (entry: Leaf | Tree<Leaf>): entry is Leaf => typeof entry.path === 'string';

function mapped<T>(laid: Tree<Leaf>, make: (leaf: Leaf) => T): Tree<T> {
  return Object.fromEntries(
    Object.entries(laid).map(([name, entry]) => [name, isLeaf(entry) ? make(entry) : mapped(entry, make)]),
  );
}

/** The values at the leaves, in their order. @throws OptionError 'bad-state' if the names are not the tree's */
function leavesOf<T>(laid: Tree<Leaf>, values: Tree<T>, at = ''): [Leaf, T][] {
  const where = at === '' ? 'the state' : at;
  if (!isObject(values))
    throw badTree(`${where} must be an object with ${Object.keys(laid).join(', ')}, not ${shown(values)}`);
  const unknown = Object.keys(values).find(name => !Object.hasOwn(laid, name));
  if (unknown !== undefined) throw badTree(`${where} has no part '${unknown}'; it has ${Object.keys(laid).join(', ')}`);
  return Object.entries(laid).flatMap(([name, entry]): [Leaf, T][] => {
    if (!Object.hasOwn(values, name)) throw badTree(`${where} lacks its part '${name}'`);
    const value = values[name];
    return isLeaf(entry)
      ? [[entry, value as T]]
      : leavesOf(entry, value as Tree<T>, at === '' ? name : `${at}.${name}`);
  });
}

/** The axes before those of the parts, as the first of them has. */
function leadOf([[leaf, part]]: readonly (readonly [Leaf, unknown])[]): Shape {
  const shape: Shape = part instanceof tf.Tensor ? (part as tf.Tensor).shape : [];
  return shape.slice(0, Math.max(0, shape.length - leaf.shape.length));
}
