/**
 * Massless links between points as constraints: rods that keep a length, cables that may go slack. Rows
 * are polynomials of the positions, (|d|² − l²)/(2l), whose derivative at the length is the direction of
 * the link: λ is then a force along it. A compliant link has its true elongation |d| − l in the row, so
 * that it is the linear spring of stiffness 1/C.
 */
import * as tf from '@tensorflow/tfjs';
import {any, nonNegative, refuseUnknownOptions} from '../lib/checks.js';
import type {Compliance, Constraint, Gap, Params} from '../lib/index.js';
import {bilateral, compliant, unilateral} from '../lib/index.js';
import type {Coefficient} from './coefficient.js';
import {coefficient, fitting} from './coefficient.js';
import type {Edges, EdgesSpec} from './edges.js';
import {readEdges} from './edges.js';

/** The argument of `distanceConstraints`. */
export interface DistanceConstraintsSpec extends EdgesSpec {
  /** [length], one number for all edges or [edges]. */
  readonly length: Coefficient;
  /** [length / force]; without it rods are rigid. */
  readonly compliance?: Compliance;
}

/**
 * Rods along edges, of points q [points, dim]. λ [edges] is the force with which a rod pushes its ends
 * apart: minus its tension.
 * @throws OptionError 'bad-edge', 'bad-coefficient', 'bad-constraint'; when traced, OptionError
 *   'edge-out-of-range', ShapeError 'particles-shape', 'coefficient-shape', 'fixed-shape'
 */
export function distanceConstraints(spec: DistanceConstraintsSpec): Constraint {
  refuseUnknownOptions(spec, ['edges', 'fixed', 'length', 'compliance'], 'distanceConstraints');
  const edges = readEdges(spec, 'distanceConstraints');
  const length = lengths(spec.length, edges, 'distanceConstraints');
  const {compliance} = spec;
  const gap = excess(edges, length, compliance);
  return compliance === undefined ? bilateral(gap) : compliant(gap, {compliance});
}

/** The argument of `cables`. */
export interface CablesSpec extends EdgesSpec {
  /** Length at which the cable is taut [length], one number for all edges or [edges]. */
  readonly length: Coefficient;
  /** [length / force]; without it taut cables do not stretch. One number or one per edge. */
  readonly compliance?: Compliance;
  /** See `unilateral`. */
  readonly smoothing?: number;
}

/**
 * Cables along edges: slack below their length, otherwise taut. λ [edges] is the tension, never negative.
 * @throws as `distanceConstraints`
 */
export function cables(spec: CablesSpec): Constraint {
  refuseUnknownOptions(spec, {edges: any, fixed: any, length: any, compliance: any, smoothing: nonNegative}, 'cables');
  const edges = readEdges(spec, 'cables');
  const length = lengths(spec.length, edges, 'cables');
  const {compliance, smoothing} = spec;
  const gap = excess(edges, length, compliance);
  return unilateral(at => tf.neg(gap(at)), {compliance, smoothing});
}

/** The argument of `contacts`. */
export interface ContactsSpec extends EdgesSpec {
  /** Distance between the centres of two balls in contact [length]: the sum of their radii; one number or [edges]. */
  readonly distance: Coefficient;
  /** [length / force]; without it contact is rigid. */
  readonly compliance?: Compliance;
  /** See `unilateral`. */
  readonly smoothing?: number;
}

/**
 * Points that keep a minimum distance from each other, like balls in contact: edges define the pairs. λ [edges]
 * pushes them apart, never negative.
 * @throws as `distanceConstraints`
 */
export function contacts(spec: ContactsSpec): Constraint {
  refuseUnknownOptions(
    spec,
    {edges: any, fixed: any, distance: any, compliance: any, smoothing: nonNegative},
    'contacts',
  );
  const edges = readEdges(spec, 'contacts');
  const least = lengths(spec.distance, edges, 'contacts');
  const {compliance, smoothing} = spec;
  return unilateral(excess(edges, least, compliance), {compliance, smoothing});
}

/** The argument of `planeContact`. */
export interface PlaneContactSpec {
  /** Unit normal [dim] of the plane, towards the side of the points. */
  readonly normal: Coefficient;
  /** Distance of the plane from the origin along the normal [length]; default 0. */
  readonly offset?: Coefficient;
  /** Radius of each point [length], one number or [points]: the smallest distance of its centre; default 0. */
  readonly radius?: Coefficient;
  /** [length / force]; without it the plane is rigid. */
  readonly compliance?: Compliance;
  /** See `unilateral`. */
  readonly smoothing?: number;
}

/**
 * All points q [points, dim] (or one point [dim]) stay on one side of a plane: normal·x ≥ offset + radius.
 * λ [points] is the normal force of the plane, never negative.
 * @throws OptionError 'bad-coefficient', 'bad-constraint'; ShapeError 'coefficient-shape' when traced
 */
export function planeContact(spec: PlaneContactSpec): Constraint {
  refuseUnknownOptions(
    spec,
    {normal: any, offset: any, radius: any, compliance: any, smoothing: nonNegative},
    'planeContact',
  );
  const {normal, offset = 0, radius = 0, compliance, smoothing} = spec;
  const direction = coefficient(normal, 'planeContact: normal');
  const height = coefficient(offset, 'planeContact: offset');
  const size = coefficient(radius, 'planeContact: radius', 'non-negative');
  return unilateral(
    ({q, params}) => {
      const above = tf.sum(tf.mul(q, fitting(direction(params), q.shape, 'planeContact: normal')), -1);
      const least = tf.add(
        fitting(height(params), above.shape, 'planeContact: offset', 'the points'),
        fitting(size(params), above.shape, 'planeContact: radius', 'the points'),
      );
      return tf.sub(above, least);
    },
    {compliance, smoothing},
  );
}

function lengths(value: Coefficient, edges: Edges, name: string): (params: Params) => tf.Tensor {
  const read = coefficient(value, `${name}: length`, 'positive');
  return params => fitting(read(params), [edges.count], `${name}: length`, 'the edges');
}

/** [edges] of [edges] or [edges, dim]. */
const squared = (d: tf.Tensor): tf.Tensor => (d.shape.length === 1 ? tf.square(d) : tf.sum(tf.square(d), 1));
const distance = (d: tf.Tensor): tf.Tensor => tf.sqrt(squared(d));

/** [edges], how far edges are beyond a length: the elongation itself where they are compliant. */
function excess(edges: Edges, length: (params: Params) => tf.Tensor, compliance: Compliance | undefined): Gap {
  if (compliance !== undefined) return ({q, params}) => tf.sub(distance(edges.separation(q, params)), length(params));
  return ({q, params}) => over(edges.separation(q, params), length(params));
}

/** (|d|² − l²)/(2l), which is |d| − l to first order. */
const over = (d: tf.Tensor, length: tf.Tensor): tf.Tensor =>
  tf.div(tf.sub(squared(d), tf.square(length)), tf.mul(2, length));
