/**
 * Forces from an energy that is a sum over elements (springs, triangles, tetrahedra): the energy of
 * one element is traced once, differentiated there, and run over all elements as one batch; forces
 * are gathered from the nodes and scattered back. The graph's size does not depend on the number of
 * elements, and its dependence is exact, so the Jacobian is sparse as the mesh is.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {callable, object, oneOf, optional, readOptions, typed} from '../checks.js';
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
import {tensorFrom} from '../trace/tape.js';
import {trace, within, type Captured} from '../trace/trace.js';
import type {ForceTerm} from './mechanics.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import type {Params, ParamsLike} from './params.js';
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

/** The argument of `elements`. */
export interface ElementsSpec<P = Params> {
  /** The nodes (rows of q) of each element: [elements, nodes per element]. */
  readonly nodes: readonly (readonly number[])[];
  readonly energy: ElementEnergy<P>;
  /**
   * Data of the elements (stiffness, rest length, inverse reference shape): [elements, ...] each; the energy gets those
   * of one element. A typed array has equally many numbers for each element, one element after another: the energy gets
   * them as a list. Inside a force, tensors of the trace, such as a field from `params`, are data too.
   */
  readonly data?: {readonly [name: string]: Numeric};
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
  nodes: typed<readonly (readonly number[])[] | ElementNodes>(),
  energy: typed<ElementEnergy<never>>({...callable, what: 'a function of {q, data, params} for one element'}),
  data: optional(typed<{readonly [name: string]: Numeric}>(object), {}),
  hessian: optional(oneOf('exact', 'projected', 'absolute'), 'exact'),
};

/**
 * The force −∂/∂q Σ energy, as a term for `mechanics`. q has shape [nodes, ...]. The energy is a
 * function of tfjs operations on one element; it may use params (any leaf) and captured variables,
 * and gradients reach them.
 * @throws OptionError if nodes are not a full table of whole numbers; ShapeError if data does not
 *   have one row per element, a node is not in q, or the energy is not a scalar
 */
export function elements<P extends ParamsLike<P> = Params>(
  spec: Omit<ElementsSpec<P>, 'nodes'> & {readonly nodes: ElementsSpec<P>['nodes'] | ElementNodes},
): ForceTerm<P> {
  const {nodes, data, hessian} = readOptions(spec, elementsOptions, 'elements', 'bad-elements');
  const {energy} = spec;
  const own = nodes instanceof ElementNodes ? nodes : nodeTable(nodes);
  const {count, width} = own;
  const rows = Object.entries(data).map(([name, value]) => ({name, ...own.dataRows(name, value)}));
  return ({q, params}) =>
    within('elements', () => {
      const shape = [width, ...q.shape.slice(1)];
      const gradient = elementGradient(energy, shape, rows, params);
      const fields = rows.flatMap(({given}) => (given instanceof tf.Tensor ? [given] : []));
      return tensorFrom([q, ...fields, ...gradient.captured.map(({tensor}) => tensor)], ([at, ...others]) =>
        forceNode(gradient, rows, {q: at, fields: others.slice(0, fields.length), outer: others.slice(fields.length)}),
      );
    });

  /** The force where q, tensors among the data and what the energy has captured are these nodes. */
  function forceNode(
    isolated: ElementGradient,
    rows: readonly DataRows[],
    {q, fields, outer}: {readonly q: Node; readonly fields: readonly Node[]; readonly outer: readonly Node[]},
  ): Node {
    const positions = own.positions(q.shape);
    const shape = [width, ...q.shape.slice(1)];
    // Parameters and variables are values of the surrounding trace, equal for all elements.
    const captured = new Map<Node, Node>(isolated.captured.map(({node}, i) => [node, outer[i]]));
    const gradient = {...isolated, node: replaceNodes([isolated.node], captured)[0]};
    const x = gather(q, positions, [count, ...shape]);
    let field = 0;
    const data = rows.map(({given, shape: row}) =>
      given instanceof tf.Tensor ? fields[field++] : constant(given, [count, ...row]),
    );
    const replacements = new Map<Node, Node>([
      [gradient.x, x],
      ...gradient.data.map((node, i) => [node, data[i]] as const),
    ]);
    const [all] = batch([gradient.node], replacements, count);
    const [blocks] = batch([hessianOf(gradient)], replacements, count);
    const force = neg(scatter(reshape(all, [all.size]), positions, q.shape));
    // Other inputs of the energy may depend on the state, too.
    const others = [...data, ...outer].filter(({op, dtype}) => op !== 'constant' && dtype === 'float');
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
    return modelled(force, exact, model);
  }
}

/** Cotangents of `wrt` for a cotangent of a value that depends on x as well, which stays as it is. */
function pulledPast(x: Node, value: Node, wrt: readonly Node[], cotangent: Node): Node[] {
  const seeds = wrt.map((node, i) => input(`tangent.${i}`, node.shape));
  const moving = new Map<Node, Node | undefined>([[x, undefined], ...wrt.map((node, i) => [node, seeds[i]] as const)]);
  return transposeLinear(pushforward([value], moving), seeds, [cotangent]).map((found, i) => orZeros(found, wrt[i]));
}

/**
 * The nodes of elements, and the numbers that belong to them, read once for terms that are made again in every trace:
 * programs then have the same arrays, which need not be compared or held twice.
 */
export class ElementNodes {
  readonly count: number;
  private lastPositions: {readonly shape: Shape; readonly positions: Int32Array} | undefined;
  private readonly read = new Map<string, {readonly value: Numeric; readonly rows: DataRows}>();

  /** @param table the nodes of one element after those of another, `width` of each; not to be changed */
  constructor(
    readonly table: Int32Array,
    readonly width: number,
  ) {
    this.count = table.length / width;
  }

  /** Flat positions in q of every element's coordinates, [elements, nodes, ...]. */
  positions(shape: Shape): Int32Array {
    if (this.lastPositions === undefined || !sameShape(this.lastPositions.shape, shape))
      this.lastPositions = {shape: [...shape], positions: positionTable(this, shape)};
    return this.lastPositions.positions;
  }

  /** A typed array that is given again for the same data is taken to be as it was. */
  dataRows(name: string, value: Numeric): DataRows {
    const known = this.read.get(name);
    if (known !== undefined && known.value === value) return known.rows;
    const rows = dataRows(name, value, this.count);
    if (ArrayBuffer.isView(value)) this.read.set(name, {value, rows});
    return rows;
  }
}

function nodeTable(nodes: readonly (readonly number[])[]): ElementNodes {
  const given: unknown = nodes;
  if (!Array.isArray(given) || !given.every(list => Array.isArray(list) || ArrayBuffer.isView(list))) {
    throw new OptionError('bad-elements', 'elements: nodes must be a list of lists: the nodes of each element.');
  }
  if (nodes.length === 0)
    throw new OptionError('bad-elements', 'elements: nodes is empty; give the nodes of at least one element.');
  const width = nodes[0].length;
  const bad = nodes.findIndex(
    list => list.length !== width || list.length === 0 || list.some(node => !Number.isInteger(node) || node < 0),
  );
  if (bad >= 0)
    throw new OptionError(
      'bad-elements',
      `elements: element ${bad} has nodes [${nodes[bad].join(', ')}]; every element has ${width} whole numbers, `
        + 'none negative.',
      {element: bad},
    );
  return new ElementNodes(Int32Array.from(nodes.flatMap(list => Array.from(list))), width);
}

interface DataRows {
  readonly given: Float64Array | tf.Tensor;
  /** Shape of one element's data. */
  readonly shape: Shape;
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
  return {given, shape: shape.slice(1)};
}

/** A typed array has the numbers of one element after those of another. */
function readRows(name: string, value: Numeric, count: number): {given: Float64Array; shape: Shape} {
  const {values, shape} = readNumeric(value, `elements: data.${name}`);
  const flat = ArrayBuffer.isView(value) && values.length !== count && values.length % count === 0;
  return {given: values, shape: flat ? [count, values.length / count] : shape};
}

function positionTable({table, width}: ElementNodes, shape: Shape): Int32Array {
  const inner = sizeOf(shape.slice(1));
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
  readonly captured: readonly Captured[];
}

function elementGradient<P>(
  energy: ElementEnergy<P>,
  shape: Shape,
  rows: readonly ({readonly name: string} & DataRows)[],
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
  return {node: orZeros(gradient, x), x, data, captured};
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
