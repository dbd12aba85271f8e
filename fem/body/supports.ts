/** Which degrees of freedom are free, and the displacements of all nodes from those of the free ones. */
import * as tf from '@tensorflow/tfjs';
import {shown} from '../../lib/checks.js';
import {OptionError, type Params} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import type {Mesh} from '../mesh/mesh.js';
import {pointAt} from '../mesh/topology.js';
import {axialVectors, vectorsOf, type Support, type VectorAt} from './loads.js';
import {nodesAt, nodeText} from './places.js';

/** Degrees of freedom, node by node; each is free, held, or moves as prescribed. */
export interface Degrees {
  /** Numbers at each node: displacements, then what turns it. */
  readonly components: number;
  /** Numbers of the free ones, node · components + component, increasing. */
  readonly free: Int32Array;
  readonly hasMotion: boolean;
  /** The values at all nodes, [nodes, components]. */
  readonly nodal: (at: {
    readonly q: tf.Tensor;
    readonly X: tf.Tensor;
    readonly t: tf.Tensor;
    readonly params: Params;
  }) => tf.Tensor;
  /** The part of [nodes, components] that belongs to free degrees of freedom, [free]. */
  readonly restricted: (nodal: tf.Tensor) => tf.Tensor;
  /** Rigid motions that nothing prevents: 'translation along x', 'rotation about z'. */
  readonly freeMotions: readonly string[];
  /** The rigid motions of the whole body, small ones, at the free degrees, [free] each. */
  readonly rigidModes: () => readonly Float64Array[];
}

/** How nodes turn that have more components than displacements. */
export interface NodeRotation {
  /** The number of further components. */
  readonly components: number;
  /** Which of these are held, from 0, where rotations about these axes (0, 1, 2) are. */
  readonly held: (node: number, axes: readonly number[]) => readonly number[];
  /** The change of these by a small rotation about an axis. */
  readonly turned: (node: number, axis: number) => readonly number[];
  /** The components of rotation vectors, [nodes, 3]; none where rotations cannot be prescribed. */
  readonly prescribed?: (vectors: tf.Tensor) => tf.Tensor;
}

const axisNames = ['x', 'y', 'z'];
const rotationNames = ['rx', 'ry', 'rz'];

/** Whether a support gives values, other than zero. */
const isGiven = ({motion, rotation}: Support): boolean => motion !== undefined || rotation !== undefined;

/** The axes of a support as numbers. @throws OptionError where the mesh has no such axis */
function axesOf(
  {owner, axes, motion, rotation}: Support,
  dimension: number,
  turning: NodeRotation | undefined,
): {displacements: number[]; rotations: number[]} {
  if (rotation !== undefined && turning?.prescribed === undefined)
    throw new OptionError('bad-support', `${owner}: rotations of this body's nodes cannot be prescribed.`);
  const names = axisNames.slice(0, dimension);
  const allowed = turning !== undefined && motion === undefined ? [...names, ...rotationNames] : names;
  const chosen = axes ?? allowed;
  const wrong = chosen.find(axis => !allowed.includes(axis));
  if (wrong !== undefined)
    throw new OptionError('bad-support', `${owner}: axes are ${allowed.join(', ')} here, not ${shown(wrong)}.`);
  const among = (of: readonly string[]): number[] =>
    chosen.flatMap(axis => (of.includes(axis) ? of.indexOf(axis) : []));
  return {displacements: among(names), rotations: among(rotationNames)};
}

/**
 * @param turning of bodies whose nodes can turn
 * @throws OptionError 'contradictory-supports' where a degree is both held and prescribed, or prescribed twice
 */
export function degreesOf(mesh: Mesh, supports: readonly Support[], turning?: NodeRotation): Degrees {
  const d = mesh.dimension;
  const width = d + (turning?.components ?? 0);
  const total = (mesh.points.length / d) * width;
  // 0 free, 1 held, k + 2 prescribed by support k.
  const state = new Int32Array(total);
  const placed = supports.map(support => ({
    support,
    nodes: nodesAt(mesh, support.on, support.owner),
    axes: axesOf(support, d, turning),
  }));
  placed.forEach(({support, nodes, axes}, k) => {
    const own = isGiven(support) ? k + 2 : 1;
    for (const node of nodes) {
      const rotations = axes.rotations.length === 0 ? [] : turning!.held(node, axes.rotations);
      for (const component of [...axes.displacements, ...rotations.map(r => d + r)]) {
        const before = state[node * width + component];
        if (before !== 0 && before !== own)
          throw new OptionError(
            'contradictory-supports',
            `supports: ${nodeText(mesh, node)} is `
              + (Math.min(before, own) === 1 ? 'held and prescribed' : 'prescribed twice')
              + `${component < d ? ` along ${axisNames[component]}` : ' in its rotation'}. `
              + 'Leave it out of one of the supports.',
            {node, axis: component},
          );
        state[node * width + component] = own;
      }
    }
  });
  const free = Int32Array.from(Array.from({length: total}, (_, i) => i).filter(i => state[i] === 0));
  const table = new Int32Array(total).fill(free.length);
  free.forEach((degree, i) => (table[degree] = i));
  let next = free.length + 1;
  const motions = placed.flatMap(({support, nodes, axes}) => {
    if (!isGiven(support)) return [];
    // Displacements by their axes, or all that turns a node.
    const {motion, rotation, owner} = support;
    const [first, own] = motion === undefined ? [d, width - d] : [0, d];
    const given = motion === undefined ? Array.from({length: own}, (_, k) => k) : axes.displacements;
    nodes.forEach((node, i) => given.forEach(k => (table[node * width + first + k] = next + i * own + k)));
    next += nodes.length * own;
    const values = (at: VectorAt): tf.Tensor =>
      motion === undefined ? turning!.prescribed!(axialVectors(rotation!, at, owner)) : vectorsOf(motion, at, owner);
    return [{values, nodes}];
  });
  const motionsAt = rigidMotionsOf(mesh, turning);
  const names = rigidMotions(new Array<number>(d).fill(0)).map(({name}) => name);
  return {
    components: width,
    free,
    hasMotion: motions.length > 0,
    nodal: ({q, X, t, params}) => {
      const given = motions.map(({values, nodes}) => {
        const at = {X: tf.gather(X, tf.tensor1d(nodes, 'int32')), t, params};
        return tf.reshape(values(at), [-1]);
      });
      const all = tf.concat([tf.reshape(q, [-1]), constantTensor(0, [1]), ...given]);
      return tf.reshape(tf.gather(all, tf.tensor1d(table, 'int32')), [total / width, width]);
    },
    restricted: nodal => tf.gather(tf.reshape(nodal, [-1]), tf.tensor1d(free, 'int32')),
    freeMotions: freeMotions(state, width, names, motionsAt),
    rigidModes: () => {
      const modes = motionsAt(0).map(() => new Float64Array(free.length));
      let at: number[][] = [];
      free.forEach((degree, i) => {
        const k = degree % width;
        if (i === 0 || degree - k > free[i - 1]) at = motionsAt((degree - k) / width);
        modes.forEach((mode, m) => (mode[i] = at[m][k]));
      });
      return modes;
    },
  };
}

/** The motion of a node at x, from the middle, for each rigid motion. */
export function rigidMotions(x: readonly number[]): {readonly name: string; readonly motion: readonly number[]}[] {
  const d = x.length;
  const translations = x.map((_, k) => ({
    name: `translation along ${axisNames[k]}`,
    motion: x.map((_x, i) => (i === k ? 1 : 0)),
  }));
  const planes = d === 2 ? [[0, 1]] : [[1, 2], [2, 0], [0, 1]]; // prettier-ignore
  const rotations = planes.map(([a, b], k) => ({
    name: `rotation about ${axisNames[d === 2 ? 2 : k]}`,
    motion: x.map((_, i) => (i === a ? -x[b] : i === b ? x[a] : 0)),
  }));
  return [...translations, ...rotations];
}

/** The components at a node of each small rigid motion, about the middle of the body and over its size. */
function rigidMotionsOf(mesh: Mesh, turning: NodeRotation | undefined): (node: number) => number[][] {
  const d = mesh.dimension;
  const count = mesh.points.length / d;
  const middle = Array.from({length: d}, (_, k) => {
    let sum = 0;
    for (let node = 0; node < count; node++) sum += mesh.points[node * d + k];
    return sum / count;
  });
  const size = mesh.points.reduce((most, x, i) => Math.max(most, Math.abs(x - middle[i % d])), 0);
  return node => {
    const x = pointAt(mesh, node).map((c, axis) => (c - middle[axis]) / size);
    return rigidMotions(x).map(({motion}, i) => {
      if (turning === undefined) return [...motion];
      if (i < d) return [...motion, ...new Array<number>(turning.components).fill(0)];
      return [...motion, ...turning.turned(node, d === 2 ? 2 : i - d).map(turn => turn / size)];
    });
  };
}

/** Rigid motions that move no supported degree of freedom: elimination on those degrees' rows. */
function freeMotions(
  state: Int32Array,
  width: number,
  names: readonly string[],
  motionsAt: (node: number) => number[][],
): string[] {
  const pivots: {column: number; row: number[]}[] = [];
  for (let degree = 0; degree < state.length && pivots.length < names.length; degree++) {
    if (state[degree] === 0) continue;
    let row = motionsAt(Math.floor(degree / width)).map(motion => motion[degree % width]);
    const before = row.reduce((most, r) => Math.max(most, Math.abs(r)), 0);
    for (const {column, row: pivot} of pivots) row = row.map((r, i) => r - row[column] * pivot[i]);
    const column = row.reduce((best, r, i) => (Math.abs(r) > Math.abs(row[best]) ? i : best), 0);
    if (!(Math.abs(row[column]) > 1e-9 * before)) continue;
    pivots.push({column, row: row.map(r => r / row[column])});
  }
  return names.filter((_, i) => pivots.every(({column}) => column !== i));
}
