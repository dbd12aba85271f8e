/**
 * Contacts that do not yield: the gaps and slips of touching shapes as constraints with Coulomb's friction and Moreau's
 * law of impact (docs/equations.md §8), for the scheme `moreau()`.
 */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, typed, type Options, type OptionValues} from '../../lib/checks.js';
import type {Constraint, Params} from '../../lib/index.js';
import {frictionalContact, OptionError} from '../../lib/index.js';
import type {Coefficient} from '../coefficient.js';
import type {BodyPose} from './bodies.js';
import {column} from './force-groups.js';
import {numbers, relativeSpin, type ForceGroup, type Instant} from './state.js';
import {requireShapes, type Shape} from './shapes.js';
import {touchesOf, type Sort} from './touches.js';
import {dot, scale, type Vec} from './vectors.js';

const contactOptions = {
  /** The shapes of a and of b: one of the pairs that docs/multibody.md lists. */
  shapes: typed<readonly [Shape, Shape]>(),
  /** μ ≥ 0; default 0. */
  friction: optional(typed<Coefficient>(), 0),
  /** e in [0, 1], the share of the speed of approach with which an impact leaves; default 0. */
  restitution: optional(typed<Coefficient>(), 0),
  /** μ_r [length]: the couple against rolling is up to μ_r N, about the common tangents; default 0. */
  rolling: optional(typed<Coefficient>(), 0),
  /** μ_s [length]: the couple against spinning is up to μ_s N, about the normal; default 0. */
  spinning: optional(typed<Coefficient>(), 0),
  /** Overlap per normal force [length/force], of a spring that pushes; default 0, none. Not beside a restitution. */
  compliance: optional(typed<Coefficient>(), 0),
};

/** Made by `rigidContact`. */
export interface RigidContact extends OptionValues<typeof contactOptions> {
  readonly kind: 'rigidContact';
  readonly a: string;
  readonly b: string;
}

/**
 * Contact of a shape of a with one of b that does not yield, or yields as a spring, for runs with `scheme: moreau()`. A
 * box touches a plane by its corners, a capsule by its ends; a face of a box on which others stand is a `plane` of its
 * body.
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function rigidContact(a: string, b: string, spec: Options<typeof contactOptions>): RigidContact {
  const read = readOptions(spec, contactOptions, 'rigidContact', 'bad-multibody');
  requireShapes(read.shapes, 'rigidContact');
  if (read.compliance !== 0 && read.restitution !== 0)
    throw new OptionError(
      'bad-multibody',
      `rigidContact of ${a} and ${b}: a contact with a compliance is a spring, and has no restitution: `
        + 'leave one of them out.',
    );
  return {kind: 'rigidContact', a, b, ...read};
}

/**
 * One constraint for the contacts of one sort.
 * @param at where bodies are and how they move, of a state in the model's coordinates
 * @throws OptionError 'unknown-body'
 */
export function rigidContacts(
  contacts: readonly RigidContact[],
  places: (name: string, asked: string) => BodyPose,
  at: (q: tf.Tensor, v: tf.Tensor | undefined, t: tf.Tensor, params: Params) => Instant,
): Constraint[] {
  return touchesOf(contacts, places).map(sort => constraintOf(sort, at));
}

/**
 * φ²/2C of what overlaps, of contacts that are springs.
 * @throws OptionError 'unknown-body'
 */
export function rigidEnergies(
  contacts: readonly RigidContact[],
  places: (name: string, asked: string) => BodyPose,
): Pick<ForceGroup, 'energy'>[] {
  const sprung = contacts.filter(({compliance}) => compliance !== 0);
  return touchesOf(sprung, places).map(({contacts: list, touches}) => {
    const compliance = complianceOf(list);
    return {
      energy: at => {
        const c = compliance(at.params);
        const depth = tf.relu(tf.neg(touches.gapAt(at).gap));
        const soft = tf.greater(c, 0);
        const stored = tf.div(tf.square(depth), tf.mul(2, tf.where(soft, c, tf.onesLike(c))));
        return tf.sum(tf.where(soft, stored, tf.zerosLike(stored)));
      },
    };
  });
}

const complianceOf = (list: readonly RigidContact[]): ((params: Params) => tf.Tensor) =>
  column(
    list.map(one => one.compliance),
    'rigidContact: compliance',
    'non-negative',
  );

/** The contact of a multiplier, and its place there. */
export interface Multiplier {
  readonly contact: RigidContact;
  /** Which of the contact's points. */
  readonly point: number;
  /** 0: normal force; 1 and 2: tangential forces; 3 and 4: couples against rolling; 5: couple against spinning. */
  readonly component: number;
}

/**
 * The multipliers of rigid contacts, in the order in which they are the last of λ.
 * @throws OptionError 'unknown-body'
 */
export function multipliersOf(
  contacts: readonly RigidContact[],
  places: (name: string, asked: string) => BodyPose,
): Multiplier[] {
  return touchesOf(contacts, places).flatMap(({contacts: list}) => multipliersOfSort(list));
}

/** Normal forces of all points, then all else of each. */
function multipliersOfSort(list: readonly RigidContact[]): Multiplier[] {
  const points = new Map<RigidContact, number>();
  const rows = list.map(contact => {
    const point = points.get(contact) ?? 0;
    points.set(contact, point + 1);
    return {contact, point};
  });
  const of = (row: (typeof rows)[number], components: readonly number[]): Multiplier[] =>
    components.map(component => ({...row, component}));
  const tangential = frictionsOf(list).flatMap(({components}) => components);
  return [...rows.flatMap(row => of(row, [0])), ...rows.flatMap(row => of(row, tangential))];
}

/** By the component of a multiplier, for messages. */
const forces = ['normal', 'first tangent', 'second tangent', 'rolling, first', 'rolling, second', 'spinning'] as const;

/** Names of the rows in messages, by bodies, and by the number of the point if a pair has several. */
function namesOf(list: readonly RigidContact[]): string[] {
  const all = multipliersOfSort(list);
  const several = new Set(all.filter(({point}) => point > 0).map(({contact}) => contact));
  return all.map(({contact, point, component}) => {
    const where = several.has(contact) ? `, point ${point}` : '';
    return `contact of ${contact.a} and ${contact.b}${where}: ${forces[component]}`;
  });
}

/** The components that friction opposes, by the coefficient's name. */
const frictions = [
  {name: 'friction', components: [1, 2]},
  {name: 'rolling', components: [3, 4]},
  {name: 'spinning', components: [5]},
] as const;

/** The frictions of a sort of contacts. */
const frictionsOf = (list: readonly RigidContact[]): (typeof frictions)[number][] =>
  frictions.filter(({name}) => list.some(one => one[name] !== 0));

interface Moving {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}

/** How large a shape is about the balls' centre, or a surface of no size. */
function extent({balls, half}: Shape): number {
  if (half !== undefined) return Math.max(...half);
  const all = balls([0, 0, 0], axis => axis);
  if (all.length === 0) return Infinity;
  const middle = [0, 1, 2].map(axis => all.reduce((sum, {centre}) => sum + centre[axis], 0) / all.length);
  return Math.max(...all.map(({centre, radius}) => radius + Math.hypot(...centre.map((x, axis) => x - middle[axis]))));
}

function constraintOf(
  {contacts: list, touches}: Sort<RigidContact>,
  at: (q: tf.Tensor, v: tf.Tensor | undefined, t: tf.Tensor, params: Params) => Instant,
): Constraint {
  const coefficient = (name: 'restitution' | (typeof frictions)[number]['name']) =>
    column(
      list.map(one => one[name]),
      `rigidContact: ${name}`,
      name === 'restitution' ? 'share' : 'non-negative',
    );
  const gap = ({q, t, params}: {q: tf.Tensor; t: tf.Tensor; params: Params}): tf.Tensor =>
    touches.gapAt(at(q, undefined, t, params)).gap;
  const restitution = coefficient('restitution');
  // Turning is measured by the speed of a point at a distance of the shape's size, and couples by the force there, so
  // that both are like those of slip.
  const sizes = list.map(({shapes}) => Math.min(...shapes.map(extent)));
  const lengths = (): tf.Tensor => numbers(sizes);
  const slips = {
    friction: ({q, v, t, params}: Moving) => {
      const place = at(q, v, t, params);
      const found = touches.gapAt(place);
      const moving = touches.velocity(place, found);
      return inPlane(found.normal, moving);
    },
    rolling: (moving: Moving) => {
      const {normal, turning} = turningAt(moving);
      return inPlane(normal, turning);
    },
    spinning: (moving: Moving) => {
      const {normal, turning} = turningAt(moving);
      return tf.expandDims(dot(normal, turning), 1);
    },
  };
  /** The relative angular velocity times the lengths. */
  const turningAt = ({q, v, t, params}: Moving): {normal: Vec; turning: Vec} => {
    const place = at(q, v, t, params);
    const turning = relativeSpin(touches.sides, place);
    return {normal: touches.gapAt(place).normal, turning: scale(lengths(), turning)};
  };
  const [sliding, ...turning] = frictionsOf(list).map(({name}) => {
    const value = coefficient(name);
    const friction = name === 'friction' ? value : (params: Params) => tf.div(value(params), lengths());
    return {slip: slips[name], friction};
  });
  const springs = list.some(one => one.compliance !== 0) ? {compliance: complianceOf(list)} : {};
  const contact = frictionalContact(gap, {
    ...(list.some(one => one.restitution !== 0) ? {restitution} : {}),
    ...springs,
    ...sliding,
    ...(turning.length === 0 ? {} : {turning}),
  });
  return {...contact, rows: namesOf(list)};
}

/** [points, 2], the components of vectors along the tangents of a normal. */
const inPlane = (normal: Vec, of: Vec): tf.Tensor =>
  tf.stack(
    tangents(normal).map(direction => dot(direction, of)),
    1,
  );

/**
 * Two directions at right angles to a normal and to each other (Duff et al., J. Comput. Graph. Tech. 6(1), 2017). They
 * jump where the normal passes the plane z = 0; friction is the same in every direction, so that nothing that moves
 * does.
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
