/**
 * The equations of bodies in a tree's coordinates: M = Jᵀ M_b J and f = Jᵀ(w − M_b J' v), with the Jacobian J of the
 * bodies' velocities, their masses M_b and the wrenches w of maximal coordinates (Kane's equations; Featherstone 2008,
 * §4.4). M is full; a large tree without constraints has accelerations in linear time in its place
 * (tree-acceleration.ts).
 */
import * as tf from '@tensorflow/tfjs';
import type {Kinematics, NumericParams, Params, Trajectory} from '../../lib/index.js';
import {linalg, quaternions} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import type {Bodies} from './bodies.js';
import type {WrenchTerm} from './forces.js';
import type {JointTerms} from './joint-forces.js';
import type {KnownJoint} from './joints.js';
import {local} from './numbers.js';
import {along, columnsOf, wrenchOf, type ReactionSeries, type BodySeries} from './series.js';
import {pointOfJoint, type JointRows} from './rows.js';
import {constants, numbers, poseOf, twistOf, withGround} from './state.js';
import {treeInertia} from './tree-inertia.js';
import {treeAccelerations, type TreeLoads} from './tree-acceleration.js';
import {treeEquations} from './tree-equations.js';
import {TreeMotion, type TreeAt, type Velocities} from './tree-motion.js';
import {pick} from './path-sums.js';
import type {Branch, BodyTree} from './tree.js';
import {add, cross, rotate, rotateBack, scale, sub, times, type Matrix3, type Quat, type Vec} from './vectors.js';

/** A system in a tree's coordinates. */
export interface Minimal {
  /**
   * Accelerations without constraints, computed without the mass matrix; undefined where the matrix is faster or
   * needed.
   */
  readonly accelerations: ((q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params) => tf.Tensor) | undefined;
  mass(q: tf.Tensor, params: Params): tf.Tensor;
  force(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params): tf.Tensor;
  /** [bodies, 7] and [bodies, 6] of maximal coordinates. */
  whole(q: tf.Tensor, v: tf.Tensor): {q: tf.Tensor; v: tf.Tensor};
  readonly kinematics: Kinematics | undefined;
  /** The joints' velocities that give bodies the nearest to these, [bodies, 6]. */
  start(velocities: readonly (readonly number[])[]): number[];
  /** The reaction of a joint of the tree. */
  reaction(trajectory: BodySeries, joint: KnownJoint, number: number, params: NumericParams): ReactionSeries;
}

/**
 * Velocities up to which the mass matrix is the shorter way: with 30 hinges a step of symplecticEuler takes 41 µs with
 * it and 147 without, one of implicitMidpoint 1.0 ms and 2.6; with 60 they take 413 and 288 µs, and 13.7 and 3.8 ms.
 */
const mostInMassMatrix = 40;

export function minimalSystem(
  bodies: Bodies,
  tree: BodyTree,
  wrenches: readonly WrenchTerm[],
  loops: JointRows,
  own: JointTerms,
  places: (name: string) => ReturnType<Bodies['place']>,
): Minimal {
  const n = bodies.names.length;
  const motion = new TreeMotion(tree);
  const inertias = treeInertia(tree, motion);
  const inertia = (params: Params): Matrix3 =>
    bodies.inertia(params).matrix.map(row => row.map(x => withGround(x))) as unknown as Matrix3;
  const whole = (q: tf.Tensor, v: tf.Tensor): {q: tf.Tensor; v: tf.Tensor} => {
    const at = motion.at(q);
    return wholeAt(at, motion.velocities(at, v));
  };
  const wholeAt = (at: TreeAt, {linear, spin}: Velocities): {q: tf.Tensor; v: tf.Tensor} => {
    const own = (all: readonly tf.Tensor[]): tf.Tensor => tf.slice(tf.stack([...all], 1), [0, 0], [n, all.length]);
    return {
      q: own([...at.pose.position, ...at.pose.rotation]),
      v: own([...linear, ...spin]),
    };
  };
  const ofBodies = (columns: Vec): Vec => pick(columns, [...Array(n).keys()]);
  /** Jᵀ w of what acts on all bodies, the ground last. */
  const gathered = (at: TreeAt, force: Vec, torque: Vec): tf.Tensor =>
    inertias.force(at, ofBodies(force), ofBodies(torque));
  const mass = (q: tf.Tensor, params: Params): tf.Tensor => {
    const all = inertias.mass(motion.at(q), bodies.mass(params), bodies.inertia(params).matrix);
    return own.armature === undefined ? all : tf.add(all, tf.mul(tf.eye(tree.velocities), own.armature(params)));
  };
  /** [bodies, 6]: forces in world axes, torques in body axes. */
  const acting = (all: {q: tf.Tensor; v: tf.Tensor}, t: tf.Tensor, params: Params): tf.Tensor =>
    wrenches.map(term => term({...all, t, params})).reduce((sum, term) => tf.add(sum, term));
  /** Force and torque that give every body its bias acceleration, less those that act on it. */
  const lacking = (
    at: TreeAt,
    v: tf.Tensor,
    t: tf.Tensor,
    params: Params,
    a?: tf.Tensor,
  ): {force: Vec; torque: Vec} => {
    const moving = motion.velocities(at, v);
    const bias = motion.bias(at, v, moving);
    const more = a === undefined ? undefined : motion.velocities(at, a);
    const linear = more === undefined ? bias.linear : add(bias.linear, more.linear);
    const angular = more === undefined ? bias.angular : add(bias.angular, more.angular);
    const all = wholeAt(at, moving);
    const w = tf.unstack(acting(all, t, params), 1).map(x => withGround(x));
    const needed = times(inertia(params), rotateBack(at.pose.rotation, angular));
    return {
      force: sub(scale(withGround(bodies.mass(params)), linear), [w[0], w[1], w[2]]),
      torque: sub(needed, [w[3], w[4], w[5]]),
    };
  };
  const rows = (loops.positions?.count ?? 0) + (loops.velocities?.count ?? 0);
  const free = rows === 0 && own.stops === undefined && own.armature === undefined;
  const solved = free && tree.velocities > mostInMassMatrix ? treeAccelerations(tree, motion) : undefined;
  const equations = treeEquations(motion);
  const accelerations =
    solved === undefined
      ? undefined
      : (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params): tf.Tensor => {
          const at = equations.places(motion.at(q));
          const moving = equations.velocities(at, v, motion.velocities(at, v));
          const w = tf.unstack(acting(wholeAt(at, moving), t, params), 1);
          const loads: TreeLoads = {
            mass: bodies.mass(params),
            inertia: bodies.inertia(params).matrix,
            force: [w[0], w[1], w[2]],
            torque: [w[3], w[4], w[5]],
            joints: own.force?.(q, v, t, params),
          };
          return equations.accelerations(at, v, moving, loads, solved(at, v, moving, loads));
        };
  const force = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params): tf.Tensor => {
    const at = motion.at(q);
    const {force: f, torque} = lacking(at, v, t, params);
    const all = tf.neg(gathered(at, f, torque));
    return own.force === undefined ? all : tf.add(all, own.force(q, v, t, params));
  };
  /** Generalized forces of stops, whose multipliers are the last. */
  const stopped = (lambda: tf.Tensor): tf.Tensor | undefined => {
    if (own.stops === undefined) return undefined;
    const {acts} = own.stops;
    const all = tf.unstack(lambda).slice(-acts.length);
    const zero = constantTensor(0, []);
    return tf.stack(
      Array.from({length: tree.velocities}, (_, v) =>
        acts.reduce<tf.Tensor>((sum, act, i) => (act.v === v ? tf.add(sum, tf.mul(act.sign, all[i])) : sum), zero),
      ),
    );
  };
  const start = (velocities: readonly (readonly number[])[]): number[] => {
    if (velocities.every(row => row.every(x => x === 0))) return new Array<number>(tree.velocities).fill(0);
    const q = Float64Array.from(tree.start);
    const found = along({q: {values: q, shape: [q.length]}}, 1, at => {
      const place = motion.at(at.q);
      const [x, y, z, ...spin] = [0, 1, 2, 3, 4, 5].map(i => numbers(velocities.map(row => row[i])));
      const ones = constantTensor(new Float64Array(n).fill(1), [n]);
      const zeros = tf.zerosLike(ones);
      const unit: Matrix3 = [
        [ones, zeros, zeros],
        [zeros, ones, zeros],
        [zeros, zeros, ones],
      ];
      const normal = inertias.mass(place, ones, unit);
      const right = inertias.force(place, [x, y, z], spin as unknown as Vec);
      return tf.reshape(linalg.solve(normal, tf.expandDims(right, 1)), [tree.velocities]);
    });
    return Array.from(found);
  };
  const reaction: Minimal['reaction'] = (trajectory, joint, number, given) => {
    const branch = tree.branches.find(({joint: own}) => own === number);
    if (branch === undefined) throw new Error('a loop joint is no branch');
    const beyond = descendants(tree, branch.body);
    const bIsChild = places(joint.b).index === branch.body;
    // The joint's point is one of b.
    const side = places(joint.b);
    const onSide = local(side, pointOfJoint(joint, places));
    const saved = trajectory.values('t').length;
    const lambda = rows + (own.stops?.acts.length ?? 0);
    const series = {
      q: {values: trajectory.values('q'), shape: [tree.positions]},
      v: {values: trajectory.values('v'), shape: [tree.velocities]},
      t: {values: trajectory.values('t'), shape: []},
      ...(lambda === 0 ? {} : {lambda: {values: trajectory.values('lambda'), shape: [lambda]}}),
    };
    const observed: Parameters<typeof along>[2] = ({q, v, t, lambda: multipliers}, params) => {
      const all = whole(q, v);
      const pose = poseOf(all.q);
      const held =
        multipliers === undefined || rows === 0
          ? undefined
          : wrenchOf(loops, {pose, twist: twistOf(all.v), t, params}, tf.slice(multipliers, [0], [rows]));
      const place = motion.at(q);
      const pushed = held === undefined ? undefined : gathered(place, ...held);
      const stops = multipliers === undefined ? undefined : stopped(multipliers);
      const plus = (x: tf.Tensor, y: tf.Tensor | undefined): tf.Tensor => (y === undefined ? x : tf.add(x, y));
      const right = (): tf.Tensor => plus(plus(force(q, v, t, params), pushed), stops);
      const a =
        accelerations?.(q, v, t, params)
        ?? tf.reshape(linalg.solve(mass(q, params), tf.expandDims(right(), 1)), [tree.velocities]);
      const needed = lacking(place, v, t, params, a);
      const forceOf = held === undefined ? needed.force : sub(needed.force, held[0]);
      const torqueOf = held === undefined ? needed.torque : sub(needed.torque, held[1]);
      const share = numbers(Array.from({length: n + 1}, (_, i) => (beyond.has(i) ? 1 : 0)));
      const ofSide = (x: Vec): Vec => x.map(part => tf.slice(part, [side.index], [1])) as unknown as Vec;
      const turn = pose.rotation.map(part => tf.slice(part, [side.index], [1])) as unknown as Quat;
      const point = add(ofSide(pose.position), rotate(turn, constants([onSide])));
      const arms = pose.position.map((x, i) => tf.sub(x, point[i])) as unknown as Vec;
      const torques = add(rotate(pose.rotation, torqueOf), cross(arms, forceOf));
      const sign = bIsChild ? 1 : -1;
      const passed = [...forceOf, ...torques].map(x => tf.sum(tf.mul(share, x)));
      // A part of the load through the joint is its own drive, stops and rotor, along its axes.
      const rotor = own.armature === undefined ? undefined : tf.neg(tf.mul(own.armature(params), a));
      const driven = [own.force?.(q, v, t, params), stops, rotor].filter(x => x !== undefined);
      const drive = driven.length === 0 ? undefined : alongAxes(motion.axes(place), branch, tf.addN(driven), point);
      return tf.stack(passed.map((x, i) => tf.mul(sign, drive === undefined ? x : tf.sub(x, drive[i]))));
    };
    return columnsOf(along(series, saved, observed, given));
  };
  return {accelerations, mass, force, whole, kinematics: kinematicsOf(tree), start, reaction};
}

/**
 * Force and torque about a point of the body beyond a branch, of generalized forces [velocities] on its coordinates:
 * forces along its slides at that point and torques about its turns, which do in each coordinate's motion the work that
 * the generalized force does. A force on a slide that a turn carries off its axis takes a torque about it, which the
 * turn does not feel.
 */
function alongAxes(
  {axis, point: centres}: {readonly axis: Vec; readonly point: Vec},
  {velocities: [from, to], slides}: Branch,
  force: tf.Tensor,
  point: Vec,
): tf.Tensor[] {
  const count = to - from;
  const of = (x: tf.Tensor): tf.Tensor => tf.slice(x, [from], [count]);
  const each = ([x, y, z]: Vec): Vec => [of(x), of(y), of(z)];
  const [e, c] = [each(axis), each(centres)];
  const sliding = numbers(slides);
  const turning = tf.sub(1, sliding);
  // How the point moves with each of the coordinates.
  const moved = add(scale(sliding, e), scale(turning, cross(e, sub(point, c))));
  const works = (of: Vec, along: Vec): tf.Tensor =>
    of.map((x, i) => tf.mul(tf.expandDims(x, 0), tf.expandDims(along[i], 1))).reduce((sum, x) => tf.add(sum, x));
  const work = tf.add(
    tf.mul(works(e, moved), tf.expandDims(sliding, 0)),
    tf.mul(tf.mul(works(e, e), tf.expandDims(turning, 0)), tf.expandDims(turning, 1)),
  );
  const amounts = count === 1 ? of(force) : tf.reshape(linalg.solve(work, tf.expandDims(of(force), 1)), [count]);
  const [push, turn] = [sliding, turning].map(share => scale(tf.mul(amounts, share), e));
  return [...push, ...turn].map(x => tf.sum(x));
}

/** A body and all its descendants. */
function descendants({branches}: BodyTree, body: number): ReadonlySet<number> {
  const found = new Set([body]);
  for (const branch of branches) if (found.has(branch.parent)) found.add(branch.body);
  return found;
}

/**
 * Numbers go by their rates, quaternions by angular velocities: all of a kind at once, so that the program does not
 * grow with the balls. undefined where there are none.
 */
function kinematicsOf({balls, positions, velocities}: BodyTree): Kinematics | undefined {
  if (balls.length === 0) return undefined;
  const ofBalls = (size: number, from: (ball: (typeof balls)[number]) => number): number[] =>
    balls.flatMap(ball => Array.from({length: size}, (_, i) => from(ball) + i));
  const others = (size: number, own: readonly number[]): number[] => {
    const taken = new Set(own);
    return [...Array(size).keys()].filter(i => !taken.has(i));
  };
  const [turned, turning] = [ofBalls(4, ({q}) => q), ofBalls(3, ({v}) => v)];
  const [plain, rates] = [others(positions, turned), others(velocities, turning)];
  /** Where every number of q stands with those of balls last. */
  const places = new Array<number>(positions);
  [...plain, ...turned].forEach((at, place) => (places[at] = place));
  const each = (
    at: tf.Tensor,
    move: tf.Tensor,
    shift: (q: tf.Tensor, v: tf.Tensor) => tf.Tensor,
    turn: (r: tf.Tensor, v: tf.Tensor) => tf.Tensor,
  ): tf.Tensor => {
    const of = (x: tf.Tensor, which: readonly number[]): tf.Tensor => pick([x], which)[0];
    const [r, omega] = [tf.reshape(of(at, turned), [-1, 4]), tf.reshape(of(move, turning), [-1, 3])];
    const next = tf.reshape(turn(r, omega), [turned.length]);
    return plain.length === 0 ? next : of(tf.concat([shift(of(at, plain), of(move, rates)), next]), places);
  };
  return {
    rate: at => each(at.q, at.v, (_, by) => by, quaternions.rate),
    retract: ({q: at, increment}) => each(at, increment, (x, by) => tf.add(x, by), quaternions.retract),
    project: ({q: at}) => each(at, constantTensor(0, [velocities]), x => x, quaternions.project),
  };
}

/** A trajectory of a tree as one of maximal coordinates. */
export function wholeSeries(
  trajectory: Pick<Trajectory, 'values'>,
  tree: BodyTree,
  {whole}: Minimal,
  bodies: number,
): BodySeries {
  const saved = trajectory.values('t').length;
  const both = along(
    {
      q: {values: trajectory.values('q'), shape: [tree.positions]},
      v: {values: trajectory.values('v'), shape: [tree.velocities]},
    },
    saved,
    at => {
      const {q, v} = whole(at.q, at.v);
      return tf.concat([tf.reshape(q, [7 * bodies]), tf.reshape(v, [6 * bodies])]);
    },
  );
  const width = 13 * bodies;
  const cut = (from: number, to: number): Float64Array => {
    const out = new Float64Array(saved * (to - from));
    for (let i = 0; i < saved; i++) out.set(both.subarray(i * width + from, i * width + to), i * (to - from));
    return out;
  };
  const series: {[name: string]: Float64Array} = {q: cut(0, 7 * bodies), v: cut(7 * bodies, width)};
  return {values: name => series[name] ?? trajectory.values(name)};
}
