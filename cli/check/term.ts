/**
 * A term of a system alone: forces, mass, gaps and compliances of constraints, the derivative of an ode. One explicit
 * step of length 1 of y' = term(p), from y = 0, gives the term itself in double precision, its gradients and its
 * curvature: state and parameters are the parameters p of that ode.
 */
import * as tf from '@tensorflow/tfjs';
import {explicitEuler, ode, simulate, type Inputs, type Params, type System} from '../../lib/index.js';
import {readNumeric} from '../../lib/internal.js';

/** Numbers by names: 'q', 'v', 'params.spring.k'. */
export type Named = {readonly [name: string]: Float64Array};

/** Initial state and parameters of a model, as its file has them. */
export interface Start {
  readonly initial: {readonly [name: string]: unknown};
  readonly params: {readonly [name: string]: unknown};
  /** Functions of time that the parts read among their parameters, but for a mass and a compliance. */
  readonly inputs: Inputs;
}

/** A function of named vectors with derivatives, both ways. */
export interface Term {
  readonly where: string;
  /** The model's own values. */
  readonly start: Named;
  value(at: Named): Float64Array;
  /** ∂(w·f)/∂at */
  gradient(at: Named, w: Float64Array): Named;
  /** The Hessian of w·f times a direction. */
  curvature(at: Named, w: Float64Array, along: Named): Named;
}

/** Traced arguments of a part of a system: q and v, or y; the time; the parameters. */
interface At {
  readonly state: {readonly [name: string]: tf.Tensor};
  readonly t: tf.Tensor;
  readonly params: Params;
}

/** A part of a system: where it stands, and the function. */
export interface Part {
  readonly where: string;
  readonly evaluate: (at: At) => tf.Tensor;
}

const nameOf = (f: {readonly name: string}): string =>
  ['', 'forces', 'derivative', 'mass', 'compliance'].includes(f.name) ? '' : ` (${f.name})`;

/** Everything of a system that is a function of state or parameters. */
export function partsOf(system: System): Part[] {
  if (system.kind === 'ode') {
    const {derivative} = system;
    return [
      {
        where: `derivative${nameOf(derivative)}`,
        evaluate: ({state: {y}, t, params}) => derivative({y, t, params}),
      },
    ];
  }
  const {mass, forces, constraints} = system;
  const parts: Part[] = forces.map((force, i) => ({
    where: `forces[${i}]${nameOf(force)}`,
    evaluate: ({state: {q, v}, t, params}) => force({q, v, t, params}),
  }));
  if (typeof mass === 'function') {
    const massAt = mass as (at: {q: tf.Tensor; params: Params}) => tf.Tensor;
    parts.push({where: `mass${nameOf(massAt)}`, evaluate: ({state: {q}, params}) => massAt({q, params})});
  }
  constraints.forEach(({kind, gap, compliance}, i) => {
    const place = `constraints[${i}] (${kind.name})`;
    parts.push({
      where: `${place}: gap`,
      evaluate: ({state: {q, v}, t, params}) => gap({q, v, t, params}),
    });
    if (typeof compliance === 'function') {
      const complianceAt = compliance as (params: Params) => tf.Tensor;
      parts.push({where: `${place}: compliance`, evaluate: ({params}) => complianceAt(params)});
    }
  });
  return parts;
}

interface Leaf {
  readonly path: readonly string[];
  readonly shape: readonly number[];
  readonly values: Float64Array;
}

const isTree = (value: unknown): value is {readonly [name: string]: unknown} =>
  Object.prototype.toString.call(value) === '[object Object]' && !(value instanceof tf.Tensor);

function leavesOf(tree: {readonly [name: string]: unknown}, path: readonly string[]): Leaf[] {
  return Object.entries(tree).flatMap(([name, value]) => {
    const at = [...path, name];
    if (isTree(value)) return leavesOf(value, at);
    const {shape, values} = readNumeric(value as never, at.join('.'));
    return [{path: at, shape, values: Float64Array.from(values)}];
  });
}

/** 'q' is state.q of the ode's parameters; 'params.k' is its own name. */
const nameOfLeaf = ({path}: Leaf): string => (path[0] === 'state' ? path.slice(1) : path).join('.');

type Branch = {[name: string]: unknown};

/** The parameters as the term's function takes them: a tree of tensors or of numbers, from values by name. */
function treeOf(leaves: readonly Leaf[], value: (leaf: Leaf) => unknown): {state: Branch; params: Branch} {
  const tree = {state: {}, params: {}};
  for (const leaf of leaves) {
    let place: Branch = tree;
    for (const key of leaf.path.slice(0, -1)) place = (place[key] ??= {}) as Branch;
    place[leaf.path[leaf.path.length - 1]] = value(leaf);
  }
  return tree;
}

function found(tree: unknown, {path, values}: Leaf): Float64Array {
  const value = path.reduce<unknown>((place, key) => (place as Branch | undefined)?.[key], tree);
  // A value that the term does not read has no gradient.
  if (value === undefined) return new Float64Array(values.length);
  return Float64Array.from(typeof value === 'number' ? [value] : (value as Float64Array));
}

/** How many numbers a term has is known when it was called once. */
function sizeOf(evaluate: Part['evaluate'], leaves: readonly Leaf[], t: number): number {
  return tf.tidy(() => {
    const tree = treeOf(leaves, ({values, shape}) => tf.tensor(Float32Array.from(values), [...shape]));
    return evaluate({...(tree as {state: At['state']; params: Params}), t: tf.scalar(t)}).size;
  });
}

/** Nested arrays, as a run takes them. */
function shaped(values: Float64Array, shape: readonly number[]): unknown {
  if (shape.length === 0) return values[0];
  if (shape.length === 1) return values;
  const row = values.length / shape[0];
  return Array.from({length: shape[0]}, (_, i) => {
    const inner = shaped(values.subarray(i * row, (i + 1) * row), shape.slice(1));
    return inner instanceof Float64Array ? Array.from(inner) : inner;
  });
}

/** Parameters with the inputs among them, as their values at a time; 'wind.speed' is params.wind.speed. */
function withInputs(params: Params, inputs: Inputs, t: tf.Tensor): Params {
  const put = (tree: Branch, [first, ...rest]: readonly string[], value: tf.Tensor): Branch => ({
    ...tree,
    [first]: rest.length === 0 ? value : put((tree[first] ?? {}) as Branch, rest, value),
  });
  return Object.entries(inputs).reduce(
    (tree, [name, input]) => put(tree, name.split('.'), input.at(t)),
    params as Branch,
  ) as Params;
}

/** @throws StiffgradError where the term cannot be traced */
export function tracedTerm({where, evaluate: evaluateAt}: Part, {initial, params, inputs}: Start): Term {
  const evaluate: Part['evaluate'] = at => evaluateAt({...at, params: withInputs(at.params, inputs, at.t)});
  const {t = 0, ...state} = initial as {t?: number};
  const leaves = leavesOf({state, params}, []);
  const size = sizeOf(evaluate, leaves, t);
  const system = ode<Params>(({t: time, params: given}) =>
    tf.reshape(evaluate({...(given as unknown as Omit<At, 't'>), t: time}), [size]),
  );
  const from = {y: new Float64Array(size), t};
  const given = (at: Named): object => ({
    params: treeOf(leaves, leaf => shaped(at[nameOfLeaf(leaf)], leaf.shape)),
  });
  const start = Object.fromEntries(leaves.map(leaf => [nameOfLeaf(leaf), leaf.values]));
  const simulation = simulate.prepare(system, from, {
    scheme: explicitEuler(),
    dt: 1,
    steps: 1,
    ...given(start),
  });
  const cotangent = (w: Float64Array): {y: Float64Array} => ({y: Float64Array.of(...new Float64Array(size), ...w)});
  const named = (tree: unknown): Named => Object.fromEntries(leaves.map(leaf => [nameOfLeaf(leaf), found(tree, leaf)]));
  return {
    where,
    start,
    value: at => {
      const run = simulation.run(given(at));
      const values = run.values('y').slice(size);
      run.dispose();
      return values;
    },
    gradient: (at, w) => {
      const {trajectory, pullback} = simulation.vjp(given(at));
      trajectory.dispose();
      return named(pullback(cotangent(w)).params);
    },
    curvature: (at, w, along) => {
      const {trajectory, products} = simulation.hvps(
        {cotangent: () => cotangent(w)},
        [given(along)] as never,
        given(at),
      );
      trajectory.dispose();
      return named(products[0].params);
    },
  };
}
