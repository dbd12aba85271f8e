/**
 * Slender rods in space and in the plane, with large displacements and rotations: nodes move and turn, and straight
 * elements of two nodes store energy in extension, shear, twist and bending.
 *
 * A node's rotation is a quaternion of four plain numbers. The energy does not depend on its length; a term that is
 * zero at length one keeps it there. So nothing is constrained, no rotation is singular, and a node may turn as often
 * as it likes. Shear has the stiffness 1/(1/GA + h²/(12 EI)) in an element of length h (MacNeal, Comput. Struct. 8,
 * 1978), with which small deflections are those of Timoshenko's beam, exactly at the nodes. Without GA it is EA: a rod
 * then shears as little as it stretches, which is less than any material does. An infinite GA would cost digits, as
 * 12 EI/h² grows without bound, and Newton's method its way: it diverged with elements of a quarter of the radius.
 */
import * as tf from '@tensorflow/tfjs';
import {any, optional, readOptions, typed} from '../../lib/checks.js';
import {OptionError, quaternions, type Numeric, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant} from '../../lib/internal.js';
import {bodyBlocks} from '../body/blocks.js';
import {
  bodyOf,
  bodyOptions,
  nodalValues,
  positionsOf,
  stateOf,
  type Body,
  type BodyState,
  type RayleighDamping,
} from '../body/body.js';
import {fieldOf, plainNumbers, ranges, type FieldCoefficient, type ReadField} from '../body/coefficient.js';
import {elementsAt, nodeRows, type ElementGroup, type ElementsAt} from '../body/elements.js';
import type {Load, Support} from '../body/loads.js';
import {degreesOf, type NodeRotation} from '../body/supports.js';
import {meshOf, type Mesh} from '../mesh/mesh.js';
import {bishopNormals, cornersOf, geometryOf, referenceCurvature, requireNormals} from './centreline.js';
import {strainsOf, type RodStrains} from './strains.js';

/** One coefficient of a plane rod; in space one for each axis. */
type ByAxis = FieldCoefficient | readonly FieldCoefficient[];

const rodOptions = {
  /** Points of the rod in turn, or a mesh of line2 cells: branches, nets and rings are allowed. */
  centreline: typed<Mesh | readonly (readonly number[])[]>(any),
  /** Stiffness to extension. */
  EA: typed<FieldCoefficient>(),
  /** Stiffness to bending; in space also two, [about the normal, about the binormal]. */
  EI: typed<ByAxis>(),
  /** Stiffness to twist, in space. */
  GJ: optional(typed<FieldCoefficient>()),
  /** Stiffness to shear. Default EA: the rod shears as little as it stretches. */
  GA: optional(typed<FieldCoefficient>()),
  /**
   * Curvature without load: [twist, about the normal, about the binormal], of a plane rod one. Default: that of the
   * centreline, which is then without stress.
   */
  restCurvature: optional(typed<ByAxis>()),
  /** Mass by length. It may be left out of a body that is only asked for its equilibrium. */
  density: optional(typed<FieldCoefficient>()),
  /**
   * Normals in space, [3] or [elements, 3]; their parts across the tangents are taken. Default: no twist from element
   * to element.
   */
  normals: optional(typed<Numeric>(any)),
  ...bodyOptions,
};

/** The argument of `rod`. */
export interface RodSpec {
  readonly centreline: Mesh | readonly (readonly number[])[];
  readonly EA: FieldCoefficient;
  readonly EI: FieldCoefficient | readonly FieldCoefficient[];
  readonly GJ?: FieldCoefficient;
  readonly GA?: FieldCoefficient;
  readonly restCurvature?: FieldCoefficient | readonly FieldCoefficient[];
  readonly density?: FieldCoefficient;
  readonly normals?: Numeric;
  readonly supports?: readonly Support[];
  readonly loads?: readonly Load[];
  readonly damping?: RayleighDamping;
  readonly points?: Bivariant<Params, tf.Tensor>;
}

/** A body of rods. Its nodal values are displacements, then the angle, or a quaternion less 1: [w − 1, x, y, z]. */
export interface Rod extends Body {
  /** Quaternions of all nodes from the reference, [nodes, 4], w first; of a plane rod angles, [nodes]. */
  rotation(at: BodyState): tf.Tensor;
  /** Force in each element along its tangent, normal and binormal, [elements, axes]: tension first, then shear. */
  force(at: BodyState): tf.Tensor;
  /** Moment in the middle of each element: torque, about the normal and the binormal, [elements, 3]; plane: [.., 1]. */
  moment(at: BodyState): tf.Tensor;
}

/**
 * A rod, or a net of rods, as a mechanical system for `simulate`, `equilibrium` and `identify`. Gradients reach every
 * coefficient that is a function of `params`, a tensor or a variable. A list of points names the sets 'start' and
 * 'end'.
 * @throws OptionError for unknown sets, contradictory supports, coefficients outside of their range, or those that a
 *   plane rod does not have
 * @example
 * ```ts
 * import {equilibrium} from 'stiffgrad';
 * import {loads, rod, supports} from 'stiffgrad/fem';
 *
 * const cantilever = rod({
 *   centreline: Array.from({length: 11}, (_, i) => [i / 10, 0]),
 *   EA: 1e4,
 *   EI: 1,
 *   supports: [supports.held('start')],
 *   loads: [loads.pointLoad('end', [0, -0.01])],
 * });
 * const {q} = equilibrium(cantilever, {q: cantilever.start.q});
 * const [, down] = cantilever.evaluate(cantilever.probe([[1, 0]]), {q});
 * console.log(down.toFixed(6)); // → -0.003334
 * ```
 */
export function rod(spec: RodSpec): Rod {
  const options = readOptions(spec, rodOptions, 'rod', 'bad-rod');
  const {centreline, points, loads, supports, damping} = options;
  const mesh = isMesh(centreline) ? centreline : chainOf(centreline);
  const blocks = bodyBlocks(mesh, 'rod', 1, ['line2']);
  const {nodes} = blocks[0];
  const d = mesh.dimension;
  if (d === 1) throw new OptionError('bad-rod', 'rod: points must have two or three coordinates.');
  const inSpace = d === 3;
  const counts = {cells: nodes.length / 2, nodes: mesh.points.length / d};
  for (const name of ['GJ', 'normals'] as const)
    if (!inSpace && options[name] !== undefined)
      throw new OptionError('bad-rod', `rod: ${name} is for rods in space; this one is in the plane.`);
  if (inSpace && options.GJ === undefined)
    throw new OptionError('bad-rod', 'rod: a rod in space needs GJ, its stiffness to twist.');

  const read = (name: string, given: FieldCoefficient, range = ranges.positive): ElementField => {
    const field = fieldOf(given, `rod: ${name}`, counts, range);
    return params => byElement(field(params), nodes, counts.cells);
  };
  const EA = read('EA', options.EA);
  const GJ = options.GJ === undefined ? [] : [read('GJ', options.GJ)];
  const bending = byAxes('EI', options.EI, inSpace ? 2 : 1, true).map(given => read('EI', given));
  const GA = options.GA === undefined ? undefined : read('GA', options.GA);
  const rest =
    options.restCurvature === undefined
      ? undefined
      : byAxes('restCurvature', options.restCurvature, inSpace ? 3 : 1, false).map(given =>
          read('restCurvature', given, ranges.any),
        );
  const normals = inSpace ? requireNormals(mesh, options.normals ?? bishopNormals(mesh)) : undefined;
  const corners = cornersOf(nodes);
  const rows = nodeRows(nodes, 2);

  /** Stiffnesses and geometry of all elements. */
  const group = (params: Params): ElementGroup => {
    const X = positionsOf(mesh, points, params);
    const geometry = geometryOf(nodes, X, normals && constantTensor(normals, [counts.cells, 3]));
    const {length, axes} = geometry;
    const EI = bending.map(field => field(params));
    const flexibility = tf.reciprocal((GA ?? EA)(params));
    const shear = EI.map(own => tf.reciprocal(tf.add(flexibility, tf.div(tf.square(length), tf.mul(12, own)))));
    const moments = [...GJ.map(field => field(params)), ...EI];
    const data = {
      length,
      axes: tf.reshape(axes, [counts.cells, d * d]),
      // Shear along the normal belongs to bending about the binormal.
      force: tf.stack([EA(params), ...shear.reverse()], 1),
      moment: tf.stack(moments, 1),
      ...(rest === undefined
        ? {}
        : {
            rest: tf.sub(
              tf.stack(
                rest.map(field => field(params)),
                1,
              ),
              referenceCurvature(geometry, corners),
            ),
          }),
    };
    return {rows, data, energies};
  };

  const density =
    options.density === undefined ? undefined : fieldOf(options.density, 'rod: density', counts, ranges.positive);
  const degrees = degreesOf(mesh, supports, turning(inSpace));
  const inertia = (params: Params): ReadField => {
    const sum = bending.map(field => field(params)).reduce((total, EI) => tf.add(total, EI));
    return {per: 'cells', tensor: tf.div(tf.mul(inSpace ? 4 : 1, sum), EA(params))};
  };
  const given = [options.density ?? 1, options.EA, ...byAxes('EI', options.EI, inSpace ? 2 : 1, true)];
  const body = bodyOf({
    owner: 'rod',
    mesh,
    blocks,
    degrees,
    points,
    elements: params => [group(params)],
    density,
    inertia,
    mass: 'lumped',
    isMassConstant: given.every(value => plainNumbers(value) !== undefined),
    loads,
    isLinear: false,
    couples: inSpace ? couplesInSpace : couples => tf.mul(couples, constantTensor([0, 0, 1], [1, 3])),
    damping,
    warnings: [],
    surface: mesh.cells,
    notFinite: 'Does an element turn by a full turn against its neighbour? Take smaller steps of load or time.',
  });

  const nodal = (at: BodyState): tf.Tensor => nodalValues({mesh, degrees, points}, at);
  const resultant = (at: BodyState, kind: 'force' | 'moment'): tf.Tensor => {
    const {params} = stateOf(at);
    const state = elementsAt(group(params), nodal(at), params);
    return tf.mul(state.data[kind], tf.stack([...elasticStrains(state)[kind]], 1));
  };
  return {
    ...body,
    rotation: at => {
      const values = tf.slice(nodal(at), [0, d], [-1, -1]);
      return inSpace ? tf.add(values, constantTensor([1, 0, 0, 0], [1, 4])) : tf.reshape(values, [-1]);
    },
    force: at => resultant(at, 'force'),
    moment: at => resultant(at, 'moment'),
  };
}

/** A coefficient as each element has it, [elements]. */
type ElementField = (params: Params) => tf.Tensor;

const isMesh = (given: Mesh | readonly (readonly number[])[]): given is Mesh => 'cells' in given;

/** Elements between points in turn. */
function chainOf(points: readonly (readonly number[])[]): Mesh {
  if (points.length < 2) throw new OptionError('bad-rod', 'rod: centreline needs two points at least.');
  return meshOf({
    points,
    cells: {line2: points.slice(1).map((_, i) => [i, i + 1])},
    sets: {nodes: {start: [0], end: [points.length - 1]}},
  });
}

/** Coefficients of `count` axes: an array of so many, or one for all of them if that is allowed. */
function byAxes(name: string, given: ByAxis, count: number, canRepeat: boolean): readonly FieldCoefficient[] {
  if (count === 1) return [given as FieldCoefficient];
  if (Array.isArray(given) && given.length === count) return given as FieldCoefficient[];
  if (canRepeat) return new Array<FieldCoefficient>(count).fill(given as FieldCoefficient);
  throw new OptionError('bad-rod', `rod: ${name} of a rod in space is an array of ${count}, one for each axis.`);
}

/** Values of elements, those at nodes by the mean of two. */
function byElement({per, tensor}: ReadField, nodes: Int32Array, count: number): tf.Tensor {
  if (per === 'body') return tf.tile(tf.reshape(tensor, [1]), [count]);
  if (per === 'cells') return tf.reshape(tensor, [count]);
  return tf.mean(tf.reshape(tf.gather(tf.reshape(tensor, [-1]), tf.tensor1d(nodes, 'int32')), [count, 2]), 1);
}

/** Strains less those without stress. */
function elasticStrains({x, data}: ElementsAt): RodStrains {
  const {force, moment, excess} = strainsOf(x, tf.reshape(data.length, [-1]), data.axes);
  if (data.rest === undefined) return {force, moment, excess};
  const rest = tf.split(data.rest, moment.length, 1).map(column => tf.reshape(column, [-1]));
  return {force, moment: moment.map((strain, k) => tf.sub(strain, rest[k])), excess};
}

/** Energies of elements, and what keeps quaternions at length one: as stiff as the mean of the moments. */
function energies(at: ElementsAt): tf.Tensor {
  const {force, moment, excess} = elasticStrains(at);
  const {length, force: forces, moment: moments} = at.data;
  const half = tf.mul(0.5, tf.reshape(length, [-1]));
  const elastic = (stiffness: tf.Tensor, strain: readonly tf.Tensor[]): tf.Tensor =>
    tf.sum(tf.mul(stiffness, tf.square(tf.stack([...strain], 1))), 1);
  const stored = tf.mul(half, tf.add(elastic(forces, force), elastic(moments, moment)));
  if (excess.length === 0) return stored;
  const keeping = tf.div(tf.mean(moments, 1), tf.mul(4, half));
  return tf.add(stored, tf.mul(keeping, tf.add(tf.square(excess[0]), tf.square(excess[1]))));
}

/** How nodes turn: in the plane by an angle, in space by a quaternion less 1. */
function turning(inSpace: boolean): NodeRotation {
  if (!inSpace)
    return {
      components: 1,
      held: (_, axes) => (axes.includes(2) ? [0] : []),
      turned: (_, axis) => [axis === 2 ? 1 : 0],
      prescribed: vectors => tf.slice(vectors, [0, 2], [-1, 1]),
    };
  return {
    components: 4,
    // A rotation about one axis has no other components; w is free until all are held.
    held: (_, axes) => [...axes.map(axis => axis + 1), ...(new Set(axes).size === 3 ? [0] : [])],
    turned: (_, axis) => [0, 1, 2, 3].map(k => (k === axis + 1 ? 0.5 : 0)),
    prescribed: vectors => {
      const none = constantTensor([1, 0, 0, 0], [1, 4]);
      return tf.sub(quaternions.retract(tf.tile(none, [vectors.shape[0], 1]), vectors), none);
    },
  };
}

/**
 * Generalized forces of couples M on quaternions p, 2 (0, M) p / |p|²: a small rotation θ changes p by (0, θ) p / 2, on
 * which they do the work M · θ.
 */
function couplesInSpace(couples: tf.Tensor, nodal: tf.Tensor): tf.Tensor {
  const p = tf.add(tf.slice(nodal, [0, 3], [-1, 4]), constantTensor([1, 0, 0, 0], [1, 4]));
  const [x, y, z] = tf.split(couples, 3, 1);
  const [w, a, b, c] = tf.split(p, 4, 1);
  const times = (...terms: readonly (readonly [tf.Tensor, tf.Tensor])[]): tf.Tensor =>
    terms.map(([u, v]) => tf.mul(u, v)).reduce((sum, term) => tf.add(sum, term));
  const product = tf.concat(
    [
      tf.neg(times([x, a], [y, b], [z, c])),
      tf.sub(times([x, w], [y, c]), tf.mul(z, b)),
      tf.sub(times([y, w], [z, a]), tf.mul(x, c)),
      tf.sub(times([z, w], [x, b]), tf.mul(y, a)),
    ],
    1,
  );
  return tf.pad(tf.div(tf.mul(2, product), tf.sum(tf.square(p), 1, true)), [[0, 0], [3, 0]]); // prettier-ignore
}
