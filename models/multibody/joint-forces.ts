/**
 * What acts on the coordinate of a joint: forces and torques of one's own, among them springs, dampers, friction and
 * drives, the inertia of rotors (armature), and stops. In minimal coordinates the coordinate is one of q's numbers, in
 * maximal ones an angle or a shift read from the poses of the two bodies.
 */
import * as tf from '@tensorflow/tfjs';
import {callable, optional, readOptions, typed, whole, type Options, type OptionValues} from '../../lib/checks.js';
import type {Constraint, Params} from '../../lib/index.js';
import {constantTensor, OptionError, unilateral} from '../../lib/index.js';
import {coefficient} from '../coefficient.js';
import {limitName, type KnownJoint, type Loads} from './joints.js';
import type {Coordinate, Tree} from './tree.js';

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
  step: optional(whole, 0),
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

/** A coordinate of a joint as it is described. */
export interface JointCoordinate extends Loads {
  readonly kind: 'turn' | 'slide' | 'ball';
}

const bare: Loads = {armature: 0, limits: undefined};
const kindsOf: {readonly [kind: string]: readonly JointCoordinate['kind'][]} = {
  cylindrical: ['slide', 'turn'],
  screw: ['turn'],
  planar: ['slide', 'slide', 'turn'],
  spherical: ['ball'],
  universal: ['turn', 'turn'],
};

/** The coordinates of a joint, from a to b. */
export function coordinatesOf(joint: KnownJoint): readonly JointCoordinate[] {
  if (joint.kind === 'revolute') return [{...joint, kind: 'turn'}];
  if (joint.kind === 'prismatic') return [{...joint, kind: 'slide'}];
  if (joint.kind === 'compound') return joint.steps;
  return (kindsOf[joint.kind] ?? []).map(kind => ({kind, ...bare}));
}

/** What joints have on their own coordinates, in minimal coordinates; q [positions], v [velocities]. */
export interface JointTerms {
  /** Generalized forces [velocities]; undefined where there are none. */
  readonly force: ((q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params) => tf.Tensor) | undefined;
  /** Of springs and rotors, []. */
  energy(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params): tf.Tensor | undefined;
  /** Of rotors, [velocities]; undefined where there are none. */
  readonly armature: ((params: Params) => tf.Tensor) | undefined;
  /** A coordinate of a joint by the joint's number; undefined where it is none of the tree's. */
  state(
    number: number,
    step: number,
  ): ((q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params) => JointState) | undefined;
  /** Gaps of the stops, and the velocity and sign by which each acts. */
  readonly stops: Stops | undefined;
}

/** Rows of stops. */
export interface Stops {
  readonly constraint: Constraint;
  readonly acts: readonly {readonly v: number; readonly sign: 1 | -1}[];
}

/** @throws OptionError 'bad-multibody' where a joint is none of the tree's */
export function jointTerms(
  tree: Tree,
  joints: readonly (readonly [string, KnownJoint])[],
  forces: readonly JointForce[],
): JointTerms {
  const all = joints.flatMap(([name, joint], number) =>
    coordinatesOf(joint).map((own, step) => ({name, number, own, step, at: tree.coordinates.get(number)?.[step]})),
  );
  const inTree = (at: Coordinate | undefined, name: string, kind: JointCoordinate['kind']): Coordinate => {
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
    return {force, own: found.own, at: inTree(found.at, found.name, found.own.kind)};
  });
  const heavy = all
    .filter(({own}) => own.armature !== 0)
    .map(({own, name, at}) => ({
      own,
      at: inTree(at, name, own.kind),
      of: coefficient(own.armature, `joint ${name}: armature`, 'non-negative'),
    }));
  const number = (x: tf.Tensor, i: number): tf.Tensor => tf.reshape(tf.slice(x, [i], [1]), []);
  const stateOf = (
    {kind}: JointCoordinate,
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
      if (found?.at === undefined) return undefined;
      const at = inTree(found.at, found.name, found.own.kind);
      return (q, v, t, params) => stateOf(found.own, at, q, v, t, params);
    },
    stops: stopsOf(
      all.flatMap(({own, name, at}) =>
        own.limits === undefined ? [] : [{limits: own.limits, name, at: inTree(at, name, own.kind)}],
      ),
    ),
  };
}

function stopsOf(
  limited: readonly {readonly limits: readonly [number, number]; readonly name: string; readonly at: Coordinate}[],
): Stops | undefined {
  const rows = limited.flatMap(({limits: [low, high], name, at}) => [
    ...(Number.isFinite(low) ? [{at, name, bound: low, side: 1 as const}] : []),
    ...(Number.isFinite(high) ? [{at, name, bound: high, side: -1 as const}] : []),
  ]);
  if (rows.length === 0) return undefined;
  return {
    acts: rows.map(({at, side}) => ({v: at.v, sign: (side * at.sign) as 1 | -1})),
    constraint: {
      ...unilateral(({q}) =>
        tf.stack(
          rows.map(({at, bound, side}) =>
            tf.mul(side, tf.sub(tf.mul(at.sign, tf.reshape(tf.slice(q, [at.q], [1]), [])), bound)),
          ),
        ),
      ),
      rows: rows.map(({name, side}) => limitName(name, side === 1 ? 'least' : 'greatest')),
    },
  };
}

/** The coordinate that a force names. @throws OptionError 'unknown-joint' */
export function requireCoordinate<T extends {readonly name: string; readonly step: number}>(
  all: readonly T[],
  {joint, step}: JointForce,
): T {
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
