/**
 * Massless links between points as constraints: rods that keep a length, cables that may go slack. Rows
 * are polynomials of the positions, (|d|² − l²)/(2l), whose derivative at the length is the direction of
 * the link: λ is then a force along it. A compliant link has its true elongation |d| − l in the row, so
 * that it is the linear spring of stiffness 1/C.
 */
import * as tf from '@tensorflow/tfjs';
import {nonNegative, optional, readOptions, typed, type Options} from '../lib/checks.js';
import type {Constraint, Gap} from '../lib/index.js';
import type {Compliance} from '../lib/internal.js';
import {bilateral, compliant, unilateral} from '../lib/index.js';
import {quantity, type coefficient} from './coefficient.js';
import type {Edges} from './edges.js';
import {edgesOptions, readEdges} from './edges.js';

const rigidOrCompliant = {
  /** [length / force], one number or one for each row; without it the constraint is rigid. */
  compliance: optional(typed<Compliance>()),
};
const oneSided = {
  ...rigidOrCompliant,
  /** See `unilateral`. */
  smoothing: optional(nonNegative),
};

const distanceOptions = {
  ...edgesOptions,
  /** [length], one number for all edges or [edges]. */
  length: quantity('positive'),
  ...rigidOrCompliant,
};

/** The argument of `distanceConstraints`. @interface */
export type DistanceConstraintsSpec = Options<typeof distanceOptions>;

/**
 * Rods along edges, of points q [points, dim]. λ [edges] is the force with which a rod pushes its ends
 * apart: minus its tension.
 * @throws OptionError 'bad-edge', 'bad-coefficient', 'bad-constraint'; when traced, OptionError
 *   'edge-out-of-range', ShapeError 'particles-shape', 'coefficient-shape', 'fixed-shape'
 */
export function distanceConstraints(spec: DistanceConstraintsSpec): Constraint {
  const {length, compliance} = readOptions(spec, distanceOptions, 'distanceConstraints');
  const gap = excess(readEdges(spec, 'distanceConstraints'), length, compliance);
  return compliance === undefined ? bilateral(gap) : compliant(gap, {compliance});
}

const cableOptions = {
  ...edgesOptions,
  /** Length at which the cable is taut [length], one number for all edges or [edges]. */
  length: quantity('positive'),
  ...oneSided,
};

/** The argument of `cables`. @interface */
export type CablesSpec = Options<typeof cableOptions>;

/**
 * Cables along edges: slack below their length, otherwise taut. λ [edges] is the tension, never negative.
 * @throws as `distanceConstraints`
 */
export function cables(spec: CablesSpec): Constraint {
  const {length, ...soft} = readOptions(spec, cableOptions, 'cables');
  const gap = excess(readEdges(spec, 'cables'), length, soft.compliance);
  return unilateral(at => tf.neg(gap(at)), {compliance: soft.compliance, smoothing: soft.smoothing});
}

const contactOptions = {
  ...edgesOptions,
  /** Distance between the centres of two balls in contact [length]: the sum of their radii; one number or [edges]. */
  distance: quantity('positive'),
  ...oneSided,
};

/** The argument of `contacts`. @interface */
export type ContactsSpec = Options<typeof contactOptions>;

/**
 * Points that keep a minimum distance from each other, like balls in contact: edges define the pairs. λ [edges]
 * pushes them apart, never negative.
 * @throws as `distanceConstraints`
 */
export function contacts(spec: ContactsSpec): Constraint {
  const {distance: least, compliance, smoothing} = readOptions(spec, contactOptions, 'contacts');
  return unilateral(excess(readEdges(spec, 'contacts'), least, compliance), {compliance, smoothing});
}

const planeOptions = {
  /** Unit normal [dim] of the plane, towards the side of the points. */
  normal: quantity(),
  /** Distance of the plane from the origin along the normal [length]; default 0. */
  offset: optional(quantity(), 0),
  /** Radius of each point [length], one number or [points]: the smallest distance of its centre; default 0. */
  radius: optional(quantity('non-negative'), 0),
  ...oneSided,
};

/** The argument of `planeContact`. @interface */
export type PlaneContactSpec = Options<typeof planeOptions>;

/**
 * All points q [points, dim] (or one point [dim]) stay on one side of a plane: normal·x ≥ offset + radius.
 * λ [points] is the normal force of the plane, never negative.
 * @throws OptionError 'bad-coefficient', 'bad-constraint'; ShapeError 'coefficient-shape' when traced
 */
export function planeContact(spec: PlaneContactSpec): Constraint {
  const {normal, offset, radius, compliance, smoothing} = readOptions(spec, planeOptions, 'planeContact');
  return unilateral(
    ({q, params}) => {
      const above = tf.sum(tf.mul(q, normal(params, q.shape)), -1);
      const reach = tf.add(offset(params, above.shape, 'the points'), radius(params, above.shape, 'the points'));
      return tf.sub(above, reach);
    },
    {compliance, smoothing},
  );
}

/** [edges] of [edges] or [edges, dim]. */
const squared = (d: tf.Tensor): tf.Tensor => (d.shape.length === 1 ? tf.square(d) : tf.sum(tf.square(d), 1));
const distance = (d: tf.Tensor): tf.Tensor => tf.sqrt(squared(d));

/** [edges], how far edges are beyond a length: the elongation itself where they are compliant. */
function excess(edges: Edges, length: ReturnType<typeof coefficient>, compliance: Compliance | undefined): Gap {
  return ({q, params}) => {
    const own = length(params, [edges.count], 'the edges');
    const d = edges.separation(q, params);
    return compliance === undefined ? over(d, own) : tf.sub(distance(d), own);
  };
}

/** (|d|² − l²)/(2l), which is |d| − l to first order. */
const over = (d: tf.Tensor, length: tf.Tensor): tf.Tensor =>
  tf.div(tf.sub(squared(d), tf.square(length)), tf.mul(2, length));
