/**
 * Particles joined by edges: differences along the edges by one gather at each end, forces brought
 * back to the particles by one segment sum. The graph has the same few nodes for any number of edges,
 * and the Jacobian couples only particles that share an edge.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, typed, type Options} from '../lib/checks.js';
import type {Params} from '../lib/index.js';
import {OptionError, ShapeError} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient} from './coefficient.js';

/**
 * [i, j], the numbers of two particles. Particles are the rows of q; fixed points are numbered after
 * them, so the first one is number q.shape[0].
 */
export type Edge = readonly [number, number];

export const edgesOptions = {
  /** Pairs of points that are joined. */
  edges: typed<readonly Edge[]>(),
  /** Points that do not move, [m] or [m, dim] as q is [particles] or [particles, dim]. Default none. */
  fixed: optional(typed<Coefficient>()),
};

/** Points joined in pairs, the free ones being the rows of q. @interface */
export type EdgesSpec = Options<typeof edgesOptions>;

export interface Edges {
  readonly count: number;
  /** x_j − x_i of every edge, [edges] or [edges, dim], fixed points included. */
  separation(q: tf.Tensor, params: Params): tf.Tensor;
  /** v_j − v_i of every edge; fixed points rest. */
  velocity(q: tf.Tensor, v: tf.Tensor, params: Params): tf.Tensor;
  /** The force on every particle, of the shape of q, where edge [i, j] pulls i by +pull and j by −pull. */
  assemble(pull: tf.Tensor, q: tf.Tensor, params: Params): tf.Tensor;
}

/**
 * @throws OptionError 'bad-edge' where an edge is not two different whole numbers, with its index;
 *   when traced, OptionError 'edge-out-of-range' and ShapeError 'particles-shape'
 */
export function readEdges({edges, fixed}: EdgesSpec, name: string): Edges {
  const [first, second] = readEnds(edges, name);
  const highest = Math.max(largest(first), largest(second));
  const points = fixed === undefined ? undefined : coefficient(fixed, `${name}: fixed`);

  /** Rows that are fixed points; checks q and the edges on the way. */
  const fixedPoints = (q: tf.Tensor, params: Params): tf.Tensor | undefined => {
    requireParticles(q, name);
    const at = points?.(params);
    if (at !== undefined && (at.shape.length !== q.shape.length || at.shape[1] !== q.shape[1])) {
      const expected = q.shape.length === 1 ? '[points]' : `[points, ${q.shape[1]}]`;
      throw new ShapeError(
        'fixed-shape',
        `${name}: fixed has shape [${at.shape.join(', ')}]; for q of shape [${q.shape.join(', ')}] give ${expected}.`,
        {fixed: at.shape, q: q.shape},
      );
    }
    const known = q.shape[0] + (at?.shape[0] ?? 0);
    if (highest >= known) {
      const edge = Math.max(first.indexOf(highest), second.indexOf(highest));
      throw new OptionError(
        'edge-out-of-range',
        `${name}: edge ${edge} is [${first[edge]}, ${second[edge]}], but there are ${q.shape[0]} particles and `
          + `${known - q.shape[0]} fixed points: numbers go from 0 to ${known - 1}.`,
        {edge, ends: [first[edge], second[edge]], particles: q.shape[0], fixed: known - q.shape[0]},
      );
    }
    return at;
  };
  const difference = (x: tf.Tensor): tf.Tensor => tf.sub(tf.gather(x, indices(second)), tf.gather(x, indices(first)));

  return {
    count: first.length,
    separation(q, params) {
      const at = fixedPoints(q, params);
      return difference(at === undefined ? q : tf.concat([q, at]));
    },
    velocity(q, v, params) {
      const at = fixedPoints(q, params);
      return difference(at === undefined ? v : tf.concat([v, tf.zerosLike(at)]));
    },
    assemble(pull, q, params) {
      const at = fixedPoints(q, params);
      const ends = tf.concat([indices(first), indices(second)]);
      const all = tf.unsortedSegmentSum(tf.concat([pull, tf.neg(pull)]), ends, q.shape[0] + (at?.shape[0] ?? 0));
      return at === undefined ? all : tf.slice(all, [0], [q.shape[0]]);
    },
  };
}

const indices = (ends: Int32Array): tf.Tensor1D => tf.tensor1d(ends, 'int32');

function readEnds(edges: readonly Edge[], name: string): [Int32Array, Int32Array] {
  const given: unknown = edges;
  if (!Array.isArray(given) || given.length === 0)
    throw new OptionError('bad-edge', `${name}: edges must be a list of at least one pair [i, j] of particle numbers.`);
  edges.forEach((edge, index) => {
    const ends: unknown = edge;
    const whole = Array.isArray(ends) && ends.length === 2 && ends.every(end => Number.isInteger(end) && end >= 0);
    if (!whole || edge[0] === edge[1]) {
      throw new OptionError(
        'bad-edge',
        `${name}: edge ${index} is ${JSON.stringify(edge)}; an edge is two different particle numbers [i, j], `
          + 'counted from 0.',
        {edge: index},
      );
    }
  });
  return [Int32Array.from(edges, edge => edge[0]), Int32Array.from(edges, edge => edge[1])];
}

/** The largest index, found by a loop: as arguments the ends of a large mesh would not fit on the stack. */
const largest = (numbers: Int32Array): number => numbers.reduce((most, x) => Math.max(most, x), -1);

/** @throws ShapeError 'particles-shape' unless q is [particles] or [particles, dim] */
function requireParticles(q: tf.Tensor, name: string): void {
  if (q.shape.length === 1 || q.shape.length === 2) return;
  throw new ShapeError(
    'particles-shape',
    `${name}: q has shape [${q.shape.join(', ')}]; particles are [particles], on a line, or [particles, dim].`,
    {q: q.shape},
  );
}

/**
 * The distances between the ends of edges, [edges]: the rest lengths of springs that are unstressed there.
 * @param positions [points][dim], particles first, fixed points after them
 * @throws OptionError 'bad-edge'
 */
export function edgeLengths(positions: readonly (readonly number[])[], edges: readonly Edge[]): Float64Array {
  const [first, second] = readEnds(edges, 'edgeLengths');
  return Float64Array.from(first, (i, edge) => {
    const j = second[edge];
    if (i >= positions.length || j >= positions.length)
      throw new OptionError(
        'edge-out-of-range',
        `edgeLengths: edge ${edge} is [${i}, ${j}], but there are ${positions.length} points.`,
        {edge},
      );
    return Math.hypot(...positions[i].map((x, axis) => x - positions[j][axis]));
  });
}
