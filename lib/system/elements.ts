/**
 * Forces from an energy that is a sum over elements (springs, triangles, tetrahedra): the energy of
 * one element is traced once, differentiated there, and run over all elements as one batch; forces
 * are gathered from the nodes and scattered back. The graph's size does not depend on the number of
 * elements, and its dependence is exact, so the Jacobian is sparse as the mesh is.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {callable, object, oneOf, optional, positiveInteger, readOptions, typed} from '../checks.js';
import {batch} from '../graph/batch.js';
import {
  constant,
  declared,
  gather,
  input,
  matMul,
  neg,
  reshape,
  scalar,
  scatter,
  semidefinite,
} from '../graph/build.js';
import {orZeros, pullback, pushforward, transposeLinear} from '../graph/differentiate.js';
import {modelled} from '../graph/newton-matrix.js';
import type {Node, Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import {replaceNodes} from '../graph/simplify.js';
import {nodeOf, tensorOf, trace, within} from '../trace/trace.js';
import type {ForceTerm} from './mechanics.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import type {Bivariant, Params, ParamsLike} from './params.js';
import {checked, scalar as oneNumber} from './returned.js';

/**
 * The energy of one element, a scalar, from the positions of its nodes [nodes of an element, ...axes of q beyond the
 * first] and its own data.
 */
export type ElementEnergy<P = Params> = (at: {
  readonly x: tf.Tensor;
  readonly data: {readonly [name: string]: tf.Tensor};
  readonly params: P;
}) => tf.Tensor;

/** Numbers of the elements, or a function of params that returns them as a tensor. */
export type ElementData<P = Params> = Numeric | Bivariant<P, tf.Tensor>;

/** The argument of `elements`. */
export interface ElementsSpec<P = Params> {
  /**
   * The nodes (rows of q) of each element: [elements, nodes per element]. One typed array has those of one element after
   * those of another, of `count` elements.
   */
  readonly nodes: readonly (readonly number[])[] | Int32Array;
  /** How many elements there are; asked for where `nodes` is a typed array. */
  readonly count?: number;
  readonly energy: ElementEnergy<P>;
  /**
   * Data of the elements (stiffness, rest length, inverse reference shape): [elements, ...] each; the energy gets those
   * of one element. A typed array has equally many numbers for each element, one element after another: the energy gets
   * them as a list. A function of params returns a tensor, such as a field from `params`; inside a force, tensors of the
   * trace are data too.
   */
  readonly data?: {readonly [name: string]: ElementData<P>};
  /**
   * The Hessian of each element's energy in Newton's matrix. 'exact' (default): the Hessian itself.
   * 'projected': its negative eigenvalues are set to zero; 'absolute': their signs are changed. The matrix of an
   * implicit step is then positive definite under any compression or bending, and a correction with backtracking
   * decreases the energy; near a root where a block was changed, convergence is linear. Residual, adjoint and tangents
   * are exact with all three.
   */
  readonly hessian?: 'exact' | 'projected' | 'absolute';
}

const elementsOptions = {
  nodes: typed<readonly (readonly number[])[] | Int32Array>(),
  count: optional(positiveInteger),
  energy: typed<ElementEnergy<never>>({...callable, what: 'a function of {q, data, params} for one element'}),
  data: optional(typed<{readonly [name: string]: ElementData<never>}>(object), {}),
  hessian: optional(oneOf('exact', 'projected', 'absolute'), 'exact'),
};

/**
 * The force −∂/∂q Σ energy, as a term for `mechanics`. q has shape [nodes, ...]. The energy is a
 * function of tfjs operations on one element; it may use params (any leaf) and captured variables,
 * and gradients reach them.
 * @throws OptionError if nodes are not a full table of whole numbers; ShapeError if data does not
 *   have one row per element, a node is not in q, or the energy is not a scalar
 */
export function elements<P extends ParamsLike<P> = Params>(spec: ElementsSpec<P>): ForceTerm<P> {
  const {nodes, count: given, data, hessian} = readOptions(spec, elementsOptions, 'elements', 'bad-elements');
  const {energy} = spec;
  const {table, count} = nodeTable(nodes, given);
  const width = table.length / count;
  const readers = Object.entries(data).map(([name, value]) => dataReader(name, value, count));
  let last: {readonly shape: readonly number[]; readonly positions: Int32Array} | undefined;
  return ({q, params}) =>
    within('elements', () => {
      // One table for all traces, whose programs then need not compare their own.
      if (last === undefined || !sameShape(last.shape, q.shape))
        last = {shape: q.shape, positions: positionTable(table, count, q.shape)};
      const {positions} = last;
      const rows = readers.map(read => read(params as never));
      const shape = [width, ...q.shape.slice(1)];
      const gradient = elementGradient(energy, shape, rows, params);
      const x = gather(nodeOf(q), positions, [count, ...shape]);
      const data = rows.map(({given, shape: row}) =>
        given instanceof tf.Tensor ? nodeOf(given) : constant(given, [count, ...row]),
      );
      const replacements = new Map<Node, Node>([
        [gradient.x, x],
        ...gradient.data.map((node, i) => [node, data[i]] as const),
      ]);
      const [all] = batch([gradient.node], replacements, count);
      const [blocks] = batch([hessianOf(gradient)], replacements, count);
      const force = neg(scatter(reshape(all, [all.size]), positions, q.shape));
      // Other inputs of the energy may depend on the state, too.
      const others = [...data, ...gradient.captured].filter(({op, dtype}) => op !== 'constant' && dtype === 'float');
      /** The force, with these blocks for its derivative by x. */
      const derivedBy = (curvature: Node): Node =>
        declared(force, [x, ...others], cotangent => {
          const pulled = neg(gather(cotangent, positions, x.shape));
          const column = reshape(pulled, [count, sizeOf(shape), 1]);
          return [reshape(matMul(curvature, column), x.shape), ...pulledPast(x, all, others, pulled)];
        });
      const exact = derivedBy(blocks);
      const model =
        hessian === 'exact' ? exact : derivedBy(semidefinite(blocks, hessian === 'projected' ? 'zero' : 'turned'));
      return tensorOf(modelled(force, exact, model));
    });
}

/** Cotangents of `wrt` for a cotangent of a value that depends on x as well, which stays as it is. */
function pulledPast(x: Node, value: Node, wrt: readonly Node[], cotangent: Node): Node[] {
  const seeds = wrt.map((node, i) => input(`tangent.${i}`, node.shape));
  const moving = new Map<Node, Node | undefined>([[x, undefined], ...wrt.map((node, i) => [node, seeds[i]] as const)]);
  return transposeLinear(pushforward([value], moving), seeds, [cotangent]).map((found, i) => orZeros(found, wrt[i]));
}

function nodeTable(
  nodes: readonly (readonly number[])[] | Int32Array,
  given: number | undefined,
): {table: Int32Array; count: number} {
  const refuse = (message: string, details?: {element: number}): OptionError =>
    new OptionError('bad-elements', `elements: ${message}`, details);
  const whole: unknown = nodes;
  const isList = Array.isArray(whole) && whole.every(list => Array.isArray(list) || ArrayBuffer.isView(list));
  if (!isList && !(nodes instanceof Int32Array))
    throw refuse('nodes must be a list of lists: the nodes of each element. Or one Int32Array, with count.');
  if (nodes.length === 0) throw refuse('nodes is empty; give the nodes of at least one element.');
  const count = nodes instanceof Int32Array ? (given ?? 0) : nodes.length;
  if (given !== undefined && given !== count) throw refuse(`count is ${given}, but nodes has ${count} elements.`);
  const width = nodes instanceof Int32Array ? nodes.length / count : nodes[0].length;
  if (!Number.isInteger(width))
    throw refuse(`nodes has ${nodes.length} numbers: count must be the number of elements, which divides it.`);
  const table = new Int32Array(count * width);
  for (let e = 0; e < count; e++) {
    const own: ArrayLike<number> & Iterable<number> =
      nodes instanceof Int32Array ? nodes.subarray(e * width, (e + 1) * width) : nodes[e];
    if (own.length !== width || width === 0 || !isNodeList(own))
      throw refuse(
        `element ${e} has nodes [${[...own].join(', ')}]; every element has ${width} whole numbers, none negative.`,
        {element: e},
      );
    table.set(own, e * width);
  }
  return {table, count};
}

function isNodeList(list: ArrayLike<number>): boolean {
  for (let i = 0; i < list.length; i++) if (!Number.isInteger(list[i]) || list[i] < 0) return false;
  return true;
}

interface DataRows {
  readonly name: string;
  readonly given: Float64Array | tf.Tensor;
  /** Shape of one element's data. */
  readonly shape: Shape;
}

/** Reads what is a number once, and what depends on params whenever it is asked for. */
function dataReader(name: string, value: ElementData<never>, count: number): (params: never) => DataRows {
  if (typeof value === 'function') return params => dataRows(name, value(params), count);
  const read = dataRows(name, value, count);
  return () => read;
}

function dataRows(name: string, value: Numeric, count: number): DataRows {
  // Tensors of a trace have no values yet.
  const {given, shape} =
    value instanceof tf.Tensor && !value.isDisposed ? {given: value, shape: value.shape} : readRows(name, value, count);
  if (shape[0] !== count)
    throw new ShapeError(
      'element-data',
      `elements: data.${name} has shape [${shape.join(', ')}]; its first axis must count the ${count} elements.`,
      {name},
    );
  return {name, given, shape: shape.slice(1)};
}

/** A typed array has the numbers of one element after those of another. */
function readRows(name: string, value: Numeric, count: number): {given: Float64Array; shape: Shape} {
  const {values, shape} = readNumeric(value, `elements: data.${name}`);
  const flat = ArrayBuffer.isView(value) && values.length !== count && values.length % count === 0;
  return {given: values, shape: flat ? [count, values.length / count] : shape};
}

/** Flat positions in q of every element's coordinates, [elements, nodes, ...]. */
function positionTable(table: Int32Array, count: number, shape: readonly number[]): Int32Array {
  const inner = sizeOf(shape.slice(1));
  const width = table.length / count;
  const positions = new Int32Array(table.length * inner);
  table.forEach((node, at) => {
    if (shape.length === 0 || node >= shape[0]) {
      throw new ShapeError(
        'element-node',
        `elements: element ${Math.floor(at / width)} has node ${node}, `
          + `but q of shape [${shape.join(', ')}] has nodes 0 to ${(shape[0] ?? 0) - 1}.`,
        {element: Math.floor(at / width), node},
      );
    }
    for (let i = 0; i < inner; i++) positions[at * inner + i] = node * inner + i;
  });
  return positions;
}

/** ∂energy/∂x of one element, and the inputs that stand for its positions and data. */
interface ElementGradient {
  readonly node: Node;
  readonly x: Node;
  readonly data: readonly Node[];
  /** Values of the surrounding trace that the energy reads. */
  readonly captured: readonly Node[];
}

function elementGradient<P>(
  energy: ElementEnergy<P>,
  shape: Shape,
  rows: readonly DataRows[],
  params: P,
): ElementGradient {
  const {graph, captured} = trace(
    inputs => {
      const data = Object.fromEntries(rows.map(({name}) => [name, inputs[`data.${name}`]]));
      const value = checked(energy({x: inputs.x, data, params}), 'elements: the energy', {
        code: 'element-energy',
        ...oneNumber,
      });
      return {energy: tf.reshape(value, [])};
    },
    [{name: 'x', shape}, ...rows.map(row => ({name: `data.${row.name}`, shape: row.shape}))],
  );
  const [x, ...data] = graph.inputs.slice(0, 1 + rows.length);
  const [gradient] = pullback([graph.outputs[0].node], [x], [scalar(1)]);
  // Parameters and variables are values of the surrounding trace, equal for all elements.
  const outer = new Map<Node, Node>(captured.map(({node, tensor}) => [node, nodeOf(tensor)]));
  return {node: replaceNodes([orZeros(gradient, x)], outer)[0], x, data, captured: [...outer.values()]};
}

/** The Hessian of one element as a matrix: its gradient's tangents along all unit vectors at once. */
function hessianOf({node, x}: ElementGradient): Node {
  const direction = input('direction', x.shape);
  const [tangent] = pushforward([node], new Map([[x, direction]]));
  const n = x.size;
  const units = constant(
    Float64Array.from({length: n * n}, (_, i) => (i % (n + 1) === 0 ? 1 : 0)),
    [n, ...x.shape],
  );
  const [rows] = batch([orZeros(tangent, x)], new Map([[direction, units]]), n);
  return reshape(rows, [n, n]);
}
