/**
 * Contacts that do not yield: the gaps and slips of touching shapes as constraints with Coulomb's friction and Moreau's law
 * of impact (docs/equations.md §8), for the scheme `moreau()`.
 */
import * as tf from '@tensorflow/tfjs';
import {any, refuseUnknownOptions} from '../../lib/checks.js';
import type {Constraint, Params} from '../../lib/index.js';
import {frictionalContact} from '../../lib/index.js';
import type {Coefficient} from '../coefficient.js';
import type {Place} from './bodies.js';
import {column, type Instant} from './force-groups.js';
import {requireShapes, type Shape} from './shapes.js';
import {touchesOf, type Sort} from './touches.js';
import {dot, type Vec} from './vectors.js';

/** Made by `rigidContact`. */
export interface RigidContact {
  readonly kind: 'rigidContact';
  readonly a: string;
  readonly b: string;
  readonly shapes: readonly [Shape, Shape];
  readonly friction: Coefficient;
  readonly restitution: Coefficient;
}

/**
 * Contact of a shape of a with one of b that does not yield, for runs with `scheme: moreau()`. A box touches a plane by its corners, a
 * capsule by its ends; a face of a box on which others stand is a `plane` of its body.
 * @param spec.shapes of a and of b: a plane and anything but a plane, or two spheres
 * @param spec.friction μ ≥ 0; default 0
 * @param spec.restitution e in [0, 1], the share of the speed of approach with which an impact leaves; default 0
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function rigidContact(
  a: string,
  b: string,
  spec: {
    readonly shapes: readonly [Shape, Shape];
    readonly friction?: Coefficient;
    readonly restitution?: Coefficient;
  },
): RigidContact {
  refuseUnknownOptions(spec, {shapes: any, friction: any, restitution: any}, 'rigidContact', 'bad-multibody');
  const {shapes, friction = 0, restitution = 0} = spec;
  requireShapes(shapes, 'rigidContact');
  return {kind: 'rigidContact', a, b, shapes, friction, restitution};
}

/**
 * One constraint for the contacts of one sort.
 * @param at where bodies are and how they move, of a state in the model's coordinates
 * @throws OptionError 'unknown-body'
 */
export function rigidContacts(
  contacts: readonly RigidContact[],
  places: (name: string, asked: string) => Place,
  at: (q: tf.Tensor, v: tf.Tensor | undefined, t: tf.Tensor, params: Params) => Instant,
): Constraint[] {
  return touchesOf(contacts, places).map(sort => constraintOf(sort, at));
}

/** What a multiplier belongs to. */
export interface Multiplier {
  readonly contact: RigidContact;
  /** Which of the contact's points. */
  readonly point: number;
  /** 0 of the normal force, 1 and 2 of the tangential ones. */
  readonly component: number;
}

/**
 * The multipliers of rigid contacts, in the order in which they are the last of λ.
 * @throws OptionError 'unknown-body'
 */
export function multipliersOf(
  contacts: readonly RigidContact[],
  places: (name: string, asked: string) => Place,
): Multiplier[] {
  return touchesOf(contacts, places).flatMap(({contacts: list}) => {
    const points = new Map<RigidContact, number>();
    const rows = list.map(contact => {
      const point = points.get(contact) ?? 0;
      points.set(contact, point + 1);
      return {contact, point};
    });
    const of = (row: (typeof rows)[number], components: readonly number[]): Multiplier[] =>
      components.map(component => ({...row, component}));
    return [...rows.flatMap(row => of(row, [0])), ...(slides(list) ? rows.flatMap(row => of(row, [1, 2])) : [])];
  });
}

/** Whether a sort has tangential forces. */
const slides = (list: readonly RigidContact[]): boolean => list.some(({friction}) => friction !== 0);

function constraintOf(
  {contacts: list, touches}: Sort<RigidContact>,
  at: (q: tf.Tensor, v: tf.Tensor | undefined, t: tf.Tensor, params: Params) => Instant,
): Constraint {
  const coefficient = (name: 'friction' | 'restitution') =>
    column(
      list.map(one => one[name]),
      `rigidContact: ${name}`,
      name === 'friction' ? 'non-negative' : 'share',
    );
  const gap = ({q, t, params}: {q: tf.Tensor; t: tf.Tensor; params: Params}): tf.Tensor =>
    touches.gapAt(at(q, undefined, t, params)).gap;
  const restitution = coefficient('restitution');
  if (!slides(list)) return frictionalContact(gap, {restitution});
  return frictionalContact(gap, {
    restitution,
    friction: coefficient('friction'),
    slip: ({q, v, t, params}) => {
      const place = at(q, v, t, params);
      const found = touches.gapAt(place);
      const moving = touches.velocity(place, found);
      return tf.stack(
        tangents(found.normal).map(direction => dot(direction, moving)),
        1,
      );
    },
  });
}

/**
 * Two directions at right angles to a normal and to each other (Duff et al., J. Comput. Graph. Tech. 6(1), 2017). They jump
 * where the normal passes the plane z = 0; friction is the same in every direction, so that nothing that moves does.
 */
function tangents([x, y, z]: Vec): [Vec, Vec] {
  const sign = tf.where(tf.less(z, 0), tf.fill(z.shape, -1), tf.fill(z.shape, 1));
  const a = tf.neg(tf.div(1, tf.add(sign, z)));
  const b = tf.mul(tf.mul(x, y), a);
  return [
    [tf.add(1, tf.mul(sign, tf.mul(tf.square(x), a))), tf.mul(sign, b), tf.neg(tf.mul(sign, x))],
    [b, tf.add(sign, tf.mul(tf.square(y), a)), tf.neg(y)],
  ];
}
