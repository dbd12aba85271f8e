/** Springs and dampers between particles, on a line ([particles]) or in space ([particles, dim]). */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, type Options} from '../lib/checks.js';
import type {ForceTerm, Params} from '../lib/index.js';
import {coefficient, isZero, quantity} from './coefficient.js';
import {edgesOptions, readEdges, type EdgesSpec} from './edges.js';
import type {ConservativeTerm} from './energy.js';
import {conservative} from './energy.js';
import type {Elasticity, ResolvedLaw} from './spring.js';
import {elasticityOptions, springLaw} from './spring.js';

const springsOptions = {
  ...edgesOptions,
  ...elasticityOptions,
  /** [length]; default 0. See `edgeLengths` for springs that are unstressed in a given place. */
  restLength: optional(quantity(), 0),
};

/** Stiffness, cubic and rest length are one number for all edges or [edges]. */
export type SpringsSpec = EdgesSpec & Elasticity & Pick<Options<typeof springsOptions>, 'restLength'>;

/**
 * Springs along edges. In space edge [i, j] has the elongation |x_j − x_i| − L and pulls its ends
 * together along itself. On a line the elongation is x_j − x_i − L, with its sign: particles may pass
 * one another, and the order of i and j matters where L ≠ 0.
 *
 * In space a spring whose ends coincide has no direction, and its force no derivative there, unless it is
 * linear or cubic with `restLength: 0` written as a number. Perpendicular to a flat unstressed net in space
 * springs have no stiffness: an equilibrium cannot be computed from there (SingularMatrixError), a
 * motion can.
 *
 * @throws OptionError 'bad-edge', 'bad-coefficient', 'bad-spring'; when traced, OptionError
 *   'edge-out-of-range', ShapeError 'particles-shape', 'coefficient-shape', 'fixed-shape'
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {springs} from 'stiffgrad/models';
 *
 * const pair = mechanics({mass: 1, forces: [springs({edges: [[0, 1]], stiffness: 10, restLength: 1})]});
 * const still = [[0, 0], [0, 0]];
 * console.log(simulate(pair, {q: [[0, 0], [1.5, 0]], v: still}, {dt: 0.01, steps: 10}).q.shape); // → [11, 2, 2]
 * ```
 */
export function springs(spec: SpringsSpec): ConservativeTerm {
  readOptions(spec, springsOptions, 'springs');
  return springsOf(spec);
}

/** `springs` for a model that has more options than these. */
export function springsOf(spec: SpringsSpec): ConservativeTerm {
  const edges = readEdges(spec, 'springs');
  const law = springLaw(spec, 'springs');
  const lengthsAtRest = coefficient(spec.restLength ?? 0, 'springs: restLength');
  const rest = (params: Params): tf.Tensor => lengthsAtRest(params, [edges.count], 'the edges');
  const pulled = isZero(spec.restLength) ? pullsFromZero(law) : pulls(law, rest);
  return conservative(
    ({q, params}) => edges.assemble(pulled(edges.separation(q, params), params), q, params),
    ({q, params}) => tf.sum(law.energy(tf.sub(lengths(edges.separation(q, params)), rest(params)), params)),
  );
}

type Pull = (separation: tf.Tensor, params: Params) => tf.Tensor;

/** The tension of every edge as a vector along it. */
function pulls(law: ResolvedLaw, rest: (params: Params) => tf.Tensor): Pull {
  return (d, params) => {
    if (d.shape.length === 1) return law.tension(tf.sub(d, rest(params)), params);
    const length = lengths(d);
    return tf.mul(column(tf.div(law.tension(tf.sub(length, rest(params)), params), length)), d);
  };
}

/** The forces of `pulls` for rest length 0, smooth where the ends meet if the law allows it. */
function pullsFromZero(law: ResolvedLaw): Pull {
  const {secant} = law;
  if (secant === undefined) return pulls(law, () => tf.scalar(0));
  return (d, params) =>
    d.shape.length === 1 ? law.tension(d, params) : tf.mul(column(edgewise(secant, d, params)), d);
}

/** A function of squared lengths, [edges], also where it is one number for all. */
function edgewise(f: Pull, d: tf.Tensor, params: Params): tf.Tensor {
  return tf.broadcastTo(f(squaredLengths(d), params), [d.shape[0]]);
}

const squaredLengths = (d: tf.Tensor): tf.Tensor => tf.sum(tf.square(d), 1);

/** On a line the separation itself, with its sign. */
const lengths = (d: tf.Tensor): tf.Tensor => (d.shape.length === 1 ? d : tf.sqrt(squaredLengths(d)));

const column = (x: tf.Tensor): tf.Tensor => tf.reshape(x, [x.size, 1]);

const dampersOptions = {
  ...edgesOptions,
  /** c [force · time / length], not negative. */
  coefficient: quantity('non-negative'),
};

/** The coefficient is one number for all edges or [edges]. @interface */
export type DampersSpec = Options<typeof dampersOptions>;

/**
 * Viscous dampers along edges: each resists the rate at which its own length changes,
 * c · u·(v_j − v_i) along the direction u of the edge, so that momentum and angular momentum are conserved
 * and rigid motions are undamped. In space ends that coincide have no direction.
 *
 * @throws OptionError 'bad-edge', 'bad-coefficient'; when traced, OptionError 'edge-out-of-range',
 *   ShapeError 'particles-shape', 'coefficient-shape', 'fixed-shape'
 */
export function dampers(spec: DampersSpec): ForceTerm {
  const read = readOptions(spec, dampersOptions, 'dampers');
  const edges = readEdges(spec, 'dampers');
  return ({q, v, params}) => {
    const c = read.coefficient(params, [edges.count], 'the edges');
    const rate = edges.velocity(q, v, params);
    if (rate.shape.length === 1) return edges.assemble(tf.mul(c, rate), q, params);
    const d = edges.separation(q, params);
    const along = tf.div(tf.sum(tf.mul(d, rate), 1), squaredLengths(d));
    return edges.assemble(tf.mul(column(tf.mul(c, along)), d), q, params);
  };
}
