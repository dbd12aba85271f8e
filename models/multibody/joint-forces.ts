/**
 * Loads on the coordinate of a joint: forces and torques of one's own, the inertia of rotors (armature), and stops. In
 * minimal coordinates the coordinate is one of q's numbers, in maximal ones an angle or a shift read from the poses of
 * the two bodies.
 */
import * as tf from '@tensorflow/tfjs';
import {
  callable,
  optional,
  readOptions,
  typed,
  nonNegativeInteger,
  type Options,
  type OptionValues,
} from '../../lib/checks.js';
import type {Constraint, Params} from '../../lib/index.js';
import {OptionError, unilateral} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {coefficient} from '../coefficient.js';
import type {KnownJoint, KnownStep} from './joints.js';
import {pick} from './path-sums.js';
import {numbers} from './state.js';
import type {Coordinate, BodyTree} from './tree.js';

/**
 * The coordinate of a joint: an angle [radians], a shift [length], or of a ball a quaternion and an angular velocity.
 */
export interface JointState {
  /** [], zero at the start; of a ball [4], w first. */
  readonly position: tf.Tensor;
  /** []; of a ball [3], in the axes of b as they would be had it the axes of a at the start. */
  readonly rate: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}

const forceOptions = {
  /** Which coordinate of a joint that has several, from a to b; default 0. */
  step: optional(nonNegativeInteger, 0),
  /** [] or of a ball [3]; its sign is that of the coordinate. */
  force: typed<(at: JointState) => tf.Tensor>(callable),
  /** Stored [], for `energy` of the system; default none. */
  energy: optional(typed<(at: JointState) => tf.Tensor>(callable)),
};

/** Made by `jointForce`. */
export interface JointForce extends OptionValues<typeof forceOptions> {
  readonly kind: 'jointForce';
  readonly joint: string;
}

/**
 * A force or torque on the coordinate of a joint: on b, and the opposite one on a. Angles count full turns in minimal
 * coordinates. In maximal ones joints are revolute or prismatic, and a run ends in an error ('not-finite') where an
 * angle passes half a turn by half a radian and the torque is another one a full turn away.
 * @param joint its name in `joints`
 * @throws OptionError 'bad-multibody'
 */
export function jointForce(joint: string, spec: Options<typeof forceOptions>): JointForce {
  return {kind: 'jointForce', joint, ...readOptions(spec, forceOptions, 'jointForce', 'bad-multibody')};
}

/** One coordinate of a joint, with the joint's name and number and its own number among the joint's. */
export interface JointCoordinate {
  readonly name: string;
  readonly number: number;
  readonly step: number;
  readonly own: KnownStep;
}

/** The coordinates of all joints that have some, each joint's from a to b. */
export const coordinatesOf = (joints: readonly (readonly [string, KnownJoint])[]): readonly JointCoordinate[] =>
  joints.flatMap(([name, joint], number) =>
    'steps' in joint ? joint.steps.map((own, step) => ({name, number, step, own})) : [],
  );

/** Loads on the joints' own coordinates, in minimal coordinates; q [positions], v [velocities]. */
export interface JointTerms {
  /** Generalized forces [velocities]; undefined where there are none. */
  readonly force: ((q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params) => tf.Tensor) | undefined;
  /** Energy of springs and rotors, []. */
  energy(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params): tf.Tensor | undefined;
  /** Inertia of rotors, [velocities]; undefined where there are none. */
  readonly armature: ((params: Params) => tf.Tensor) | undefined;
  /** A coordinate of a joint by the joint's number; undefined where it is none of the tree's. */
  state(
    number: number,
    step: number,
  ): ((q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params) => JointState) | undefined;
  /** Hard stops, and the velocity and sign by which the multiplier of each row acts. */
  readonly stops:
    | {
        readonly constraint: Constraint;
        readonly acts: readonly {readonly v: number; readonly sign: 1 | -1}[];
      }
    | undefined;
}

/** Hard stops. */
export interface Stops {
  readonly constraint: Constraint;
  /** For each row the index of its limit, and the sign by which its multiplier acts on that coordinate. */
  readonly rows: readonly {readonly limit: number; readonly sign: 1 | -1}[];
}

/** @param position of the limited coordinates, [limits] */
export function stopsOf(
  limits: readonly {readonly name: string; readonly range: readonly [number, number]}[],
  position: (q: tf.Tensor) => tf.Tensor,
): Stops | undefined {
  const rows = limits.flatMap(({name, range: [least, greatest]}, limit) =>
    [
      {limit, sign: 1 as const, bound: least, name: `least limit of joint ${name}`},
      {limit, sign: -1 as const, bound: greatest, name: `greatest limit of joint ${name}`},
    ].filter(({bound}) => Number.isFinite(bound)),
  );
  if (rows.length === 0) return undefined;
  const [index, signs, bounds] = [rows.map(row => row.limit), rows.map(row => row.sign), rows.map(row => row.bound)];
  const gap = ({q}: {q: tf.Tensor}): tf.Tensor =>
    tf.mul(numbers(signs), tf.sub(pick([position(q)], index)[0], numbers(bounds)));
  return {rows, constraint: {...unilateral(gap), rows: rows.map(({name}) => name)}};
}

/** @throws OptionError 'bad-multibody' where a joint is none of the tree's */
export function jointTerms(
  tree: BodyTree,
  joints: readonly (readonly [string, KnownJoint])[],
  forces: readonly JointForce[],
): JointTerms {
  const all = coordinatesOf(joints);
  const inTree = ({name, number, step, own: {kind}}: JointCoordinate): Coordinate => {
    const at = tree.coordinates.get(number)?.[step];
    if (at !== undefined && !(kind === 'ball' && at.sign < 0)) return at;
    throw new OptionError(
      'bad-multibody',
      at === undefined
        ? `multibody: joint ${name} closes a loop, and has no coordinate of its own for forces, armature or limits; `
            + 'give it before the joints that close the loop with it.'
        : `multibody: ball ${name} is given from the outer body to the inner one; give it the other way round.`,
    );
  };
  const acting = forces.map(force => {
    const found = requireCoordinate(all, force);
    return {force, own: found.own, at: inTree(found)};
  });
  const heavy = all
    .filter(({own}) => own.armature !== 0)
    .map(one => ({
      own: one.own,
      at: inTree(one),
      of: coefficient(one.own.armature, `joint ${one.name}: armature`, 'non-negative'),
    }));
  const number = (x: tf.Tensor, i: number): tf.Tensor => tf.reshape(tf.slice(x, [i], [1]), []);
  const stateOf = (
    {kind}: KnownStep,
    at: Coordinate,
    q: tf.Tensor,
    v: tf.Tensor,
    t: tf.Tensor,
    params: Params,
  ): JointState =>
    kind === 'ball'
      ? {position: tf.slice(q, [at.q], [4]), rate: tf.slice(v, [at.v], [3]), t, params}
      : {position: tf.mul(at.sign, number(q, at.q)), rate: tf.mul(at.sign, number(v, at.v)), t, params};
  const gathered = (parts: readonly {readonly at: Coordinate; readonly values: tf.Tensor[]}[]): tf.Tensor => {
    const sums = Array.from({length: tree.velocities}, (): tf.Tensor[] => []);
    for (const {at, values} of parts) values.forEach((value, i) => sums[at.v + i].push(value));
    return tf.stack(sums.map(terms => (terms.length === 0 ? constantTensor(0, []) : tf.addN(terms))));
  };
  const limited = all.flatMap(one =>
    one.own.limits === undefined ? [] : [{name: one.name, range: one.own.limits, at: inTree(one)}],
  );
  const signs = limited.map(({at}) => at.sign);
  const places = limited.map(({at}) => at.q);
  const stops = stopsOf(limited, q => tf.mul(numbers(signs), pick([q], places)[0]));
  return {
    force:
      acting.length === 0
        ? undefined
        : (q, v, t, params) =>
            gathered(
              acting.map(({force, own, at}) => {
                const value = force.force(stateOf(own, at, q, v, t, params));
                const values = own.kind === 'ball' ? tf.unstack(tf.reshape(value, [3])) : [tf.reshape(value, [])];
                return {at, values: values.map(x => tf.mul(at.sign, x))};
              }),
            ),
    energy: (q, v, t, params) => {
      const stored = acting.flatMap(({force, own, at}) =>
        force.energy === undefined ? [] : [tf.reshape(force.energy(stateOf(own, at, q, v, t, params)), [])],
      );
      const moving = heavy.map(({own, at, of}) =>
        tf.mul(tf.mul(0.5, of(params)), tf.sum(tf.square(stateOf(own, at, q, v, t, params).rate))),
      );
      const terms = [...stored, ...moving.map(x => tf.reshape(x, []))];
      return terms.length === 0 ? undefined : tf.addN(terms);
    },
    armature:
      heavy.length === 0
        ? undefined
        : params =>
            gathered(
              heavy.map(({own, at, of}) => ({
                at,
                values: new Array<tf.Tensor>(own.kind === 'ball' ? 3 : 1).fill(tf.reshape(of(params), [])),
              })),
            ),
    state: (number, step) => {
      const found = all.find(one => one.number === number && one.step === step);
      if (found === undefined || !tree.coordinates.has(number)) return undefined;
      const at = inTree(found);
      return (q, v, t, params) => stateOf(found.own, at, q, v, t, params);
    },
    stops: stops && {
      constraint: stops.constraint,
      acts: stops.rows.map(({limit, sign}) => {
        const {at} = limited[limit];
        return {v: at.v, sign: (sign * at.sign) as 1 | -1};
      }),
    },
  };
}

/** The coordinate that a force names. @throws OptionError 'unknown-joint' */
export function requireCoordinate(all: readonly JointCoordinate[], {joint, step}: JointForce): JointCoordinate {
  const found = all.find(one => one.name === joint && one.step === step);
  if (found !== undefined) return found;
  const names = [...new Set(all.map(({name}) => name))].slice(0, 8);
  throw new OptionError(
    'unknown-joint',
    `jointForce names coordinate ${step} of joint '${joint}', `
      + `but coordinates have ${names.length === 0 ? 'none' : names.join(', ')}.`,
    {joint},
  );
}
