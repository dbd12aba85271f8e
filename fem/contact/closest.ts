/**
 * The closest point of a surface of flat pieces, segments in the plane and triangles in space (Ericson, Real-Time
 * Collision Detection, 2005, 5.1): which piece, and where on it. The piece is found among all by numbers alone; the
 * distance from it is then computed once for each point, so that derivatives cost no more than the points.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/internal.js';
import type {Pieces} from './pieces.js';

/** Coordinates, axis by axis. */
type Vector = readonly tf.Tensor[];

const minus = (a: Vector, b: Vector): Vector => a.map((x, k) => tf.sub(x, b[k]));
const dot = (a: Vector, b: Vector): tf.Tensor => tf.addN(a.map((x, k) => tf.mul(x, b[k])));
const unit = (a: Vector): Vector => {
  const length = tf.sqrt(dot(a, a));
  return a.map(x => tf.div(x, length));
};

/** A point's place relative to a piece. */
interface Relation {
  /** Weights of the piece's corners at its closest point. */
  readonly weights: readonly tf.Tensor[];
  /** From the closest point. */
  readonly way: Vector;
  readonly distance2: tf.Tensor;
  /** The outward normal of the piece. */
  readonly normal: Vector;
  /** Along the normal. */
  readonly height: tf.Tensor;
  /** Whether the closest point is no corner and lies on no edge. */
  readonly isInside: () => tf.Tensor;
}

const share = (way: Vector, edge: Vector): tf.Tensor => tf.clipByValue(tf.div(dot(way, edge), dot(edge, edge)), 0, 1);

/** The closest points of pieces with these corners; shapes may be broadcast. */
function relation(corners: readonly Vector[], x: Vector): Relation {
  const [a, b, c] = corners;
  const edge = minus(b, a);
  const from = minus(x, a);
  const along = share(from, edge);
  const complete = (weights: readonly tf.Tensor[], normal: Vector, isInside: () => tf.Tensor): Relation => {
    const place = a.map((_, k) => tf.addN(weights.map((w, j) => tf.mul(w, corners[j][k]))));
    const way = minus(x, place);
    return {weights, way, distance2: dot(way, way), normal, height: dot(way, normal), isInside};
  };
  if (corners.length === 2) {
    return complete([tf.sub(1, along), along], unit([edge[1], tf.neg(edge[0])]), () =>
      tf.logicalAnd(tf.greater(along, 0), tf.less(along, 1)),
    );
  }
  const other = minus(c, a);
  const [ee, eo, oo, fe, fo] = [
    dot(edge, edge),
    dot(edge, other),
    dot(other, other),
    dot(from, edge),
    dot(from, other),
  ];
  const area = tf.sub(tf.mul(ee, oo), tf.square(eo));
  const v = tf.div(tf.sub(tf.mul(oo, fe), tf.mul(eo, fo)), area);
  const w = tf.div(tf.sub(tf.mul(ee, fo), tf.mul(eo, fe)), area);
  const isInside = tf.logicalAnd(tf.greater(tf.minimum(v, w), 0), tf.less(tf.add(v, w), 1));
  const zero = tf.zerosLike(v);
  const across = share(from, other);
  const opposite = share(minus(x, b), minus(c, b));
  const edges = [
    [tf.sub(1, along), along, zero],
    [tf.sub(1, across), zero, across],
    [zero, tf.sub(1, opposite), opposite],
  ];
  const distances = edges.map(weights => complete(weights, from, () => isInside).distance2);
  const nearest = (i: number, j: number): tf.Tensor => tf.lessEqual(distances[i], distances[j]);
  const isFirst = tf.logicalAnd(nearest(0, 1), nearest(0, 2));
  const onEdge = [0, 1, 2].map(k => tf.where(isFirst, edges[0][k], tf.where(nearest(1, 2), edges[1][k], edges[2][k])));
  const normal = unit([1, 2, 0].map((i, k) => {
    const j = [2, 0, 1][k];
    return tf.sub(tf.mul(edge[i], other[j]), tf.mul(edge[j], other[i]));
  })); // prettier-ignore
  const inside = [tf.sub(tf.sub(1, v), w), v, w];
  return complete(
    onEdge.map((edgeWeight, k) => tf.where(isInside, inside[k], edgeWeight)),
    normal,
    () => isInside,
  );
}

/** The closest places of a surface to points. */
export interface Closest {
  /** Signed distance, negative behind the surface, [points]; `limit` where nothing is near. */
  readonly gap: tf.Tensor;
  /** The direction in which the gap grows, [points, axes]. */
  readonly normal: tf.Tensor;
  /** Values of nodes [nodes, axes] at the closest places, [points, axes]. */
  readonly interpolated: (values: tf.Tensor) => tf.Tensor;
  /** Vectors at the closest places [points, axes], as sums at the nodes, [nodes, axes]. */
  readonly spread: (vectors: tf.Tensor) => tf.Tensor;
}

/**
 * The place of a surface that is closest to each point. At an edge or corner several pieces are equally close: the one
 * that faces the point most says on which side it is. At the rim of an open surface there is no side: the gap is the
 * distance.
 * @param x [points, axes]
 * @param positions of the nodes, [nodes, axes]
 * @param excluded [points, pieces], 1 for pieces that are no obstacle
 * @param depth farther behind a piece than this, it is none either
 * @param limit the gap where no piece is an obstacle
 */
export function closest(
  pieces: Pieces,
  x: tf.Tensor,
  positions: tf.Tensor,
  {excluded, depth, limit}: {readonly excluded?: tf.Tensor; readonly depth: number; readonly limit: number},
): Closest {
  const [count, d] = x.shape;
  const axes = Array.from({length: d}, (_, k) => k);
  const columns = (rows: tf.Tensor, shape: number[]): Vector =>
    axes.map(k => tf.reshape(tf.slice(rows, [0, k], [rows.shape[0], 1]), shape));
  const tables = pieces.corners.map(nodes => tf.tensor1d(nodes, 'int32'));
  const all = relation(
    tables.map(table => columns(tf.gather(positions, table), [1, pieces.count])),
    columns(x, [count, 1]),
  );
  // A share of the square of the height decides among equal distances; it is far above their rounding, and far below
  // what differs from piece to piece.
  const key = tf.sub(all.distance2, tf.mul(1e-9, tf.square(all.height)));
  const none = constantTensor(1e300, []);
  const isBehind = tf.logicalAnd(tf.less(all.height, 0), tf.greater(all.distance2, depth ** 2));
  const isNone = excluded === undefined ? isBehind : tf.logicalOr(isBehind, tf.greater(excluded, 0));
  const keys = tf.where(isNone, none, key);
  const index = tf.argMin(keys, 1);
  const isFound = tf.less(tf.min(keys, 1), 1e299);

  const nodes = tables.map(table => tf.gather(table, index));
  const found = relation(
    nodes.map(table => columns(tf.gather(positions, table), [count])),
    columns(x, [count]),
  );
  const rim = constantTensor(pieces.rim, [pieces.rim.length]);
  const onRim = tf.addN(found.weights.map((weight, j) => tf.mul(weight, tf.gather(rim, nodes[j]))));
  const isOutside = tf.logicalOr(tf.greater(onRim, 1 - 1e-9), tf.greaterEqual(found.height, 0));
  // Beside a piece's inside the way is none of its normal; a point that lies there exactly has no direction.
  const isInside = found.isInside();
  const far = tf.where(isInside, tf.onesLike(found.distance2), found.distance2);
  const signed = tf.mul(tf.where(isOutside, 1, -1), tf.sqrt(tf.maximum(far, 1e-200)));
  const gap = tf.where(isInside, found.height, signed);
  const normal = found.normal.map((n, k) => tf.where(isInside, n, tf.div(found.way[k], signed)));
  return {
    gap: tf.where(isFound, gap, constantTensor(limit, [])),
    normal: tf.stack(normal, 1),
    interpolated: values =>
      tf.addN(nodes.map((table, j) => tf.mul(tf.expandDims(found.weights[j], 1), tf.gather(values, table)))),
    spread: vectors =>
      tf.addN(
        nodes.map((table, j) =>
          tf.unsortedSegmentSum(tf.mul(tf.expandDims(found.weights[j], 1), vectors), table, positions.shape[0]),
        ),
      ),
  };
}
