/** Supports and loads: what holds a body, and what acts on it. */
import * as tf from '@tensorflow/tfjs';
import {finite, listOf, requireValue} from '../../lib/checks.js';
import {OptionError, ShapeError, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant} from '../../lib/internal.js';
import type {Mesh} from '../mesh/mesh.js';
import {bodyDimension} from '../mesh/topology.js';
import {assembled, facetBlocks, normalsOf, ruleFor, tangentsOf, type CellBlock, type CellRule} from './blocks.js';
import {facetsAt, nodesAt, type FacetPlace, type NodePlace} from './places.js';

/** An axis of displacements, or of rotations of nodes that can turn. */
export type AxisName = 'x' | 'y' | 'z' | 'rx' | 'ry' | 'rz';

/** The place of a vector: reference positions [points, axes], the time and the parameters. */
export interface VectorAt {
  readonly X: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}
/** A constant vector, or a function that returns one, [axes], or one for each point, [points, axes]. */
export type VectorField = readonly number[] | Bivariant<VectorAt, tf.Tensor>;
/** A number, or a function that returns one, [], or one for each point, [points]. */
export type ScalarField = number | Bivariant<VectorAt, tf.Tensor>;

/** A part of a body that is held, or moves as prescribed: made by `held` and `prescribed`. */
export interface Support {
  readonly owner: string;
  readonly on: NodePlace;
  readonly axes?: readonly AxisName[];
  /** Displacements; none where the nodes are held. */
  readonly motion?: Bivariant<VectorAt, tf.Tensor>;
  /** Rotations in the place of displacements: vectors, angles in the plane. */
  readonly rotation?: VectorField | ScalarField;
}

/** What loads are evaluated with. */
export interface LoadPlace {
  readonly mesh: Mesh;
  /** Displacements and reference positions of all nodes. */
  readonly u: tf.Tensor;
  readonly X: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
  /** Velocities of all nodes, [nodes, axes]; zero at rest. */
  readonly velocity: () => tf.Tensor;
  /** All values at nodes, [nodes, components]. */
  readonly nodal: tf.Tensor;
  /** The thickness or area at nodes, [nodes, 1], or one number []; none of solids in space. */
  readonly section?: tf.Tensor;
  /** Forces [nodes, components] of couples [nodes, 3], where nodes can turn. */
  readonly couples?: (couples: tf.Tensor, nodal: tf.Tensor) => tf.Tensor;
  readonly isLinear: boolean;
  /** ∫ N b dV for a vector at each quadrature point of the body, by mass or by volume. */
  readonly spread: (field: VectorField, by: 'mass' | 'volume') => tf.Tensor;
}

/** A load, or an elastic foundation. */
export interface Load {
  /** What is asked of the mesh; returns the forces at nodes, [nodes, axes], or [nodes, components]. */
  readonly prepare: (mesh: Mesh) => (at: LoadPlace) => tf.Tensor;
}

/**
 * Nodes that do not move.
 * @param axes 'x', 'y', 'z', and of nodes that can turn the rotations 'rx', 'ry', 'rz' about these axes; default all
 */
export const held = (on: NodePlace, axes?: readonly AxisName[]): Support => ({owner: 'held', on, axes});

/**
 * Nodes with a given displacement.
 * @param motion gets reference positions X [nodes, axes], t [] and params, and returns displacements [nodes, axes] or
 *   [axes]; with `axes`, only these are used. Rotations are free.
 */
export const prescribed = (
  on: NodePlace,
  motion: Bivariant<VectorAt, tf.Tensor>,
  axes?: readonly AxisName[],
): Support => ({
  owner: 'prescribed',
  on,
  axes,
  motion,
});

/**
 * Nodes, of bodies such as rods, with a given rotation from the reference.
 * @param rotation a rotation vector in space, about its direction by its length in radians, or an angle in the plane;
 *   it may turn many times, and may be a function of place, time and parameters. Displacements are free.
 */
export function turned(on: NodePlace, rotation: VectorField | ScalarField): Support {
  if (Array.isArray(rotation) && Math.hypot(...(rotation as number[])) >= Math.PI)
    throw new OptionError(
      'bad-support',
      'turned: a constant rotation of half a turn or more would be reached the shorter way around. Give it as a '
        + 'function of t, such as ({t}) => tf.mul(t, [4, 0, 0]), and reach it in load steps or in time.',
    );
  return {owner: 'turned', on, axes: ['rx', 'ry', 'rz'], rotation};
}

/** Vectors at points, [points, axes]. @throws OptionError, ShapeError where the field gives no such */
export function vectorsOf(field: VectorField, at: VectorAt, owner: string): tf.Tensor {
  const [points, axes] = at.X.shape;
  if (typeof field !== 'function') {
    requireValue(field, listOf('a list of finite numbers', finite), owner);
    if (field.length !== axes) throw new OptionError('bad-load', `${owner} must have ${axes} components.`);
    return tf.tile(constantTensor(field, [1, axes]), [points, 1]);
  }
  return rowsOf(field(at), [points, axes], owner);
}

/** Numbers at points, [points, 1]. */
export function scalarsOf(field: ScalarField, at: VectorAt, owner: string): tf.Tensor {
  const points = at.X.shape[0];
  if (typeof field !== 'function') {
    requireValue(field, finite, owner);
    return constantTensor(field, [points, 1]);
  }
  const value = field(at);
  return rowsOf(
    value instanceof tf.Tensor && value.rank === 1 ? tf.reshape(value, [-1, 1]) : value,
    [points, 1],
    owner,
  );
}

/** Vectors of moments or rotations, [points, 3]: in the plane numbers about the axis across it. */
export const axialVectors = (field: VectorField | ScalarField, at: VectorAt, owner: string): tf.Tensor =>
  at.X.shape[1] === 3
    ? vectorsOf(field as VectorField, at, owner)
    : tf.mul(scalarsOf(field as ScalarField, at, owner), constantTensor([0, 0, 1], [1, 3]));

function rowsOf(value: tf.Tensor | undefined, shape: readonly [number, number], owner: string): tf.Tensor {
  if (!(value instanceof tf.Tensor)) throw new OptionError('bad-load', `${owner} returned no tensor.`);
  const fits = value.rank <= 2 && (value.shape as number[]).every((n, k) => n === 1 || n === shape[k + 2 - value.rank]);
  if (!fits)
    throw new ShapeError(
      'load-shape',
      `${owner} returned shape [${value.shape.join(', ')}]; it must be [${shape.join(', ')}] or [${shape[1]}].`,
    );
  return value.rank === 2 && value.shape[0] === shape[0] && value.shape[1] === shape[1]
    ? value
    : tf.add(value, tf.zeros([...shape]));
}

/** Points of facets: positions and normals there. */
export interface Facets {
  readonly block: CellBlock;
  readonly rule: CellRule;
  /** Values of nodes at the points: [facets, points, components]. */
  readonly interpolated: (values: tf.Tensor) => tf.Tensor;
  /** Normals whose length is the area by reference area, times the weights: [facets, points, axes]. */
  readonly normals: (positions: tf.Tensor) => tf.Tensor;
  /** Forces [facets, points, components] as forces at nodes. */
  readonly assembled: (forces: tf.Tensor, total: number) => tf.Tensor;
}

/** The facets of a place, by type. */
export function facetsOf(mesh: Mesh, on: FacetPlace, owner: string): Facets[] {
  const blocks = facetBlocks(facetsAt(mesh, on, owner), mesh);
  if (blocks.length === 0)
    throw new OptionError('bad-load', `${owner}: points and lines of solids carry no such load.`);
  return blocks.map(block => {
    const {shape, nodes, count} = block;
    const rule = ruleFor(shape.type, 'mass');
    const d = mesh.dimension;
    const N = (): tf.Tensor => constantTensor(rule.N, [rule.count, shape.nodes]);
    const gathered = (values: tf.Tensor): tf.Tensor => tf.gather(values, tf.tensor1d(nodes, 'int32'));
    /** A constant matrix times each facet's rows. */
    const times = (matrix: tf.Tensor, rows: tf.Tensor, width: number): tf.Tensor => {
      const [from, to] = [matrix.shape[1]!, matrix.shape[0]];
      const columns = tf.reshape(tf.transpose(tf.reshape(rows, [count, from, width]), [0, 2, 1]), [-1, from]);
      const product = tf.matMul(columns, matrix, false, true);
      return tf.transpose(tf.reshape(product, [count, width, to]), [0, 2, 1]);
    };
    return {
      block,
      rule,
      interpolated: values => times(N(), gathered(values), values.size / values.shape[0]),
      normals: positions => {
        const normals = normalsOf(tangentsOf(gathered(positions), count, shape.nodes, d, rule));
        return tf.mul(tf.stack(normals, 2), constantTensor(rule.weights, [1, rule.count, 1]));
      },
      assembled: (forces, total) => assembled(times(tf.transpose(N()), forces, forces.shape[2]!), nodes, total),
    };
  });
}

/** Forces at points [facets · points, axes] times the thickness there: only the sides of a surface have one. */
export function timesSection(forces: tf.Tensor, {block, interpolated}: Facets, {mesh, section}: LoadPlace): tf.Tensor {
  if (section === undefined || block.shape.dimension >= bodyDimension(mesh.cells)) return forces;
  const there = section.size === 1 ? tf.reshape(section, []) : tf.reshape(interpolated(section), [-1, 1]);
  return tf.mul(forces, there);
}

/** A load on facets: forces at their points [facets · points, axes], already times the area. */
const facetLoad = (
  owner: string,
  on: FacetPlace,
  force: (at: {place: LoadPlace; facets: Facets; points: VectorAt}) => tf.Tensor,
): Load => ({
  prepare: mesh => {
    const all = facetsOf(mesh, on, owner);
    return place =>
      all
        .map(facets => {
          const {count} = facets.block;
          const d = mesh.dimension;
          const flat = (x: tf.Tensor): tf.Tensor => tf.reshape(x, [count * facets.rule.count, -1]);
          const points = {X: flat(facets.interpolated(place.X)), t: place.t, params: place.params};
          const thick = timesSection(flat(force({place, facets, points})), facets, place);
          return facets.assembled(tf.reshape(thick, [count, facets.rule.count, d]), place.X.shape[0]);
        })
        .reduce((sum, nodal) => tf.add(sum, nodal));
  },
});

/** Reference areas of the points, times their weights, [facets · points, 1]. */
export const areas = (facets: Facets, place: LoadPlace): tf.Tensor => {
  const size = facets.block.count * facets.rule.count;
  return tf.sqrt(tf.reshape(tf.sum(tf.square(facets.normals(place.X)), -1), [size, 1]));
};

/** A force by reference area (by length and thickness in the plane) that keeps its direction. */
export const traction = (on: FacetPlace, value: VectorField): Load =>
  facetLoad('traction', on, ({place, facets, points}) =>
    tf.mul(areas(facets, place), vectorsOf(value, points, 'traction')),
  );

/**
 * A pressure against the surface, as a gas has: it follows the surface as it turns and grows. With `linearElastic` it
 * acts on the undeformed surface, as all of that law does.
 */
export const pressure = (on: FacetPlace, value: ScalarField): Load =>
  facetLoad('pressure', on, ({place, facets, points}) => {
    if (facets.block.shape.dimension < place.mesh.dimension - 1)
      throw new OptionError('bad-load', 'pressure: lines in space have no normal; take a traction, or surfaces.');
    const normals = facets.normals(place.isLinear ? place.X : tf.add(place.X, place.u));
    const flat = tf.reshape(normals, [facets.block.count * facets.rule.count, -1]);
    return tf.neg(tf.mul(flat, scalarsOf(value, points, 'pressure')));
  });

/** Springs in all directions between facets and the ground, `stiffness` by reference area. */
export const elasticFoundation = (on: FacetPlace, stiffness: ScalarField): Load =>
  facetLoad('elasticFoundation', on, ({place, facets, points}) => {
    const moved = tf.reshape(facets.interpolated(place.u), points.X.shape);
    const strength = tf.mul(areas(facets, place), scalarsOf(stiffness, points, 'elasticFoundation'));
    return tf.neg(tf.mul(strength, moved));
  });

/** A force by reference volume. */
export const bodyForce = (value: VectorField): Load => ({prepare: () => place => place.spread(value, 'volume')});

/** An acceleration of everything, such as [0, −9.81]: a force of it times the density. */
export const gravity = (acceleration: VectorField): Load => ({
  prepare: () => place => place.spread(acceleration, 'mass'),
});

/** A force at each of these nodes. */
export const pointLoad = (on: NodePlace, force: VectorField): Load => ({
  prepare: mesh => {
    const nodes = nodesAt(mesh, on, 'pointLoad');
    return ({X, t, params}) => {
      const here = {X: tf.gather(X, tf.tensor1d(nodes, 'int32')), t, params};
      return assembled(vectorsOf(force, here, 'pointLoad'), nodes, X.shape[0]);
    };
  },
});

/**
 * A moment at each of these nodes, in fixed axes: its vector in space, its number in the plane. Bodies whose nodes can
 * turn, such as rods, take such loads. In space a moment in fixed axes has no potential.
 */
export const pointMoment = (on: NodePlace, moment: VectorField | ScalarField): Load => ({
  prepare: mesh => {
    const nodes = nodesAt(mesh, on, 'pointMoment');
    return ({X, t, params, nodal, couples}) => {
      if (couples === undefined)
        throw new OptionError('bad-load', 'pointMoment: nodes of this body do not turn. Take a traction or forces.');
      const here = {X: tf.gather(X, tf.tensor1d(nodes, 'int32')), t, params};
      const vectors = axialVectors(moment, here, 'pointMoment');
      return couples(assembled(vectors, nodes, X.shape[0]), nodal);
    };
  },
});
