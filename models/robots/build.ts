/**
 * Builds a `multibody` system from a description. Links that cannot move relative to their parents are merged into one
 * body. A body has the axes of its first link. Each joint of the file becomes a joint; several joints of one link
 * become a compound.
 */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {coefficient, isZero} from '../coefficient.js';
import type {BodySpec} from '../multibody/bodies.js';
import {inertiaFault, principalMoments} from '../multibody/inertia.js';
import {jointForce, type JointForce} from '../multibody/joint-forces.js';
import {compound, fixed, prismatic, revolute, spherical, type CompoundStep, type Joint} from '../multibody/joints.js';
import type {MultibodySpec} from '../multibody/multibody.js';
import {composed, conjugate, identity, plus, turned, units, type V3} from '../multibody/numbers.js';
import {
  type Description,
  type JointDrive,
  type LinkFreedom,
  type Link,
  type LinkPose,
  type Weight,
} from './description.js';
import type {BuildOptions} from './read-options.js';
import {diagonal, here, isDiagonal, moved, together, within} from './rotations.js';
import {FreeNames, type FileReader} from './xml.js';

/** Which coordinate of the model a coordinate of the file is. */
export interface CoordinatePlace {
  readonly joint: string;
  readonly step: number;
  readonly freedom: LinkFreedom;
  /** Pose of the link at the start: in the world if it is free, otherwise in the axes of its parent body. */
  readonly start: LinkPose;
}

/** A model, with the names of its parts. */
export interface Built {
  readonly spec: MultibodySpec;
  /** In the order of the file. */
  readonly coordinates: readonly CoordinatePlace[];
  /** For each link: the body that it belongs to, and its axes relative to those of the body's first link. */
  readonly parts: readonly {readonly body: string; readonly place: LinkPose}[];
  /** For each body: its centre of mass in the axes of its first link, and the pose of that link at the start. */
  readonly bodies: {readonly [name: string]: {readonly centre: V3; readonly start: LinkPose}};
}

/** @throws DataError 'bad-model-file'; OptionError 'bad-option', 'bad-multibody' */
export function build(described: Description, reader: FileReader, options: BuildOptions): Built {
  const {links, drives, closures, gravity} = described;
  const start: LinkPose[] = [];
  const owner: number[] = [];
  const parts: {body: string; place: LinkPose}[] = [];
  const seen = new Set<string>();
  links.forEach((link, i) => {
    if (seen.has(link.name)) reader.fail(link.element, `two bodies are named ${link.name}.`);
    seen.add(link.name);
    const parent = link.parent;
    start.push(within(parent === undefined ? here : start[parent], link.place));
    const rides = parent !== undefined && link.freedoms.length === 0;
    owner.push(rides ? owner[parent] : i);
    if (link.name === 'ground' && link.parent !== undefined && !rides)
      reader.fail(link.element, "a body is named 'ground', which is reserved for the world.");
    const name = link.parent === undefined ? 'ground' : link.name;
    parts.push(
      rides ? {body: parts[parent].body, place: within(parts[parent].place, link.place)} : {body: name, place: here},
    );
  });
  links.forEach(link => {
    if (link.parent !== undefined) checkFreedoms(link, parts[link.parent].body, reader);
  });
  const freedoms = links.flatMap(link => link.freedoms);
  requireUnique(freedoms, 'joints', reader);
  requireUnique(drives, 'drives', reader);
  const bodies: {[name: string]: {centre: V3; start: LinkPose}} = {};
  const specs: {[name: string]: BodySpec} = {};
  links.forEach((link, i) => {
    if (owner[i] !== i || link.parent === undefined) return;
    const weights = links.flatMap((other, k) =>
      owner[k] === i
        ? other.weights.map(weight => moved(parts[k].place, physical(weight, other, described.balance, reader)))
        : [],
    );
    const whole = together(weights);
    if (whole === undefined)
      return reader.fail(link.element, `body ${link.name} moves but has no mass: give it one, or fix its joint.`);
    const [least, , greatest] = principalMoments(whole.inertia);
    if (!(least > 1e-12 * greatest))
      reader.fail(
        link.element,
        `body ${link.name} moves but has no inertia about some axis, which it needs: give it a small one.`,
      );
    bodies[link.name] = {centre: whole.centre, start: start[i]};
    const rows = whole.inertia;
    specs[link.name] = {
      mass: whole.mass,
      inertia: isDiagonal(rows) ? [rows[0][0], rows[1][1], rows[2][2]] : rows.map(row => [...row]),
      position: plus(start[i].position, turned(start[i].rotation, whole.centre)),
      rotation: start[i].rotation,
    };
    return undefined;
  });
  if (Object.keys(specs).length === 0) reader.fail(links[0].element, 'no body moves: none has a joint.');
  const joints: {[name: string]: Joint} = {};
  const coordinates: CoordinatePlace[] = [];
  // A compound is named for its link; the names of joints and of equalities in the file come first.
  const single = links.filter(({freedoms}) => freedoms.length === 1);
  const compounds = new FreeNames([...single.map(({freedoms: [{name}]}) => name), ...closures.map(({name}) => name)]);
  const unique = (name: string, {element}: {element: Link['element']}): string =>
    Object.hasOwn(joints, name) ? reader.fail(element, `two joints are named ${name}.`) : name;
  links.forEach((link, i) => {
    if (link.parent === undefined || link.freedoms.length === 0) return;
    const {joint, steps} = jointOf(link, parts[link.parent].body, start[i], options.limits);
    const [only] = link.freedoms;
    const name = link.freedoms.length === 1 ? only.name : compounds.next(link.name);
    joints[unique(name, link)] = joint;
    const carrier = parts[link.parent].body;
    const turn = conjugate(carrier === 'ground' ? identity : bodies[carrier].start.rotation);
    link.freedoms.forEach((freedom, k) => {
      const rotation = freedom.kind === 'free' ? start[i].rotation : composed(turn, start[i].rotation);
      coordinates.push({joint: name, step: steps[k], freedom, start: {position: start[i].position, rotation}});
    });
  });
  const numbers = new Map(links.map((link, i) => [link.name, i]));
  for (const closure of closures) {
    const [a, b] = closure.links.map(
      name => numbers.get(name) ?? reader.fail(closure.element, `<${closure.element.tag}>: there is no body ${name}.`),
    );
    const {position, rotation} = start[closure.axesOf === 0 ? a : b];
    const at = plus(position, turned(rotation, closure.at));
    const between = [parts[a].body, parts[b].body] as const;
    if (a === b) reader.fail(closure.element, `an equality holds body ${closure.links[0]} to itself.`);
    // Parts of one body do not move against each other.
    if (between[0] === between[1]) continue;
    joints[unique(closure.name, closure)] = (closure.kind === 'point' ? spherical : fixed)(...between, {at});
  }
  const forces = [...passive(coordinates, options), ...driven(drives, coordinates, reader, options)];
  return {spec: {gravity, bodies: specs, joints, forces, coordinates: options.coordinates}, coordinates, parts, bodies};
}

/**
 * A weight whose moments satisfy the triangle inequality: within the digits that files have, or, with `balance`, to the
 * last one where the moments are those of the file, as in MuJoCo.
 */
function physical(weight: Weight, {name, element}: Link, balance: boolean, reader: FileReader): Weight {
  const {inertia} = weight;
  const fault = inertiaFault(inertia);
  const trace = inertia[0][0] + inertia[1][1] + inertia[2][2];
  const [least, , greatest] = principalMoments(inertia);
  const breaks = isDiagonal(inertia) ? inertia.some((row, i) => row[i] > trace - row[i]) : fault !== undefined;
  const heals = trace > 0 && least > -1e-6 * greatest;
  if (balance && breaks && heals) {
    const mean = trace / 3;
    return {...weight, inertia: diagonal([mean, mean, mean])};
  }
  const remedy = heals ? ' With balanceInertia: true each moment is the mean of the three.' : '';
  if (fault !== undefined)
    reader.fail(element, `the inertia of body ${name}, [${inertia.join('; ')}]: ${fault}.${remedy}`);
  return weight;
}

/**
 * A free joint is the only joint of a body on the ground. A joint that turns after a ball is refused: its axes are not
 * defined.
 */
function checkFreedoms({name, freedoms}: Link, carrier: string, reader: FileReader): void {
  const free = freedoms.find(({kind}) => kind === 'free');
  if (free !== undefined && carrier !== 'ground')
    reader.fail(
      free.element,
      `joint ${free.name} is free, but its body ${name} is carried by ${carrier}, which moves.`,
    );
  if (free !== undefined && freedoms.length > 1)
    reader.fail(free.element, `joint ${free.name} is free: body ${name} cannot have other joints.`);
  const ball = freedoms.findIndex(({kind}) => kind === 'ball');
  const after = ball < 0 ? undefined : freedoms.slice(ball + 1).find(({kind}) => kind !== 'slide');
  if (after !== undefined)
    reader.fail(after.element, `joint ${after.name} turns body ${name}, which the ball ${freedoms[ball].name} turns.`);
}

function requireUnique(
  named: readonly {readonly name: string; readonly element: Link['element']}[],
  what: 'joints' | 'drives',
  reader: FileReader,
): void {
  const seen = new Set<string>();
  for (const {name, element} of named) {
    if (seen.has(name)) reader.fail(element, `two ${what} are named ${name}.`);
    seen.add(name);
  }
}

/** The joint of a link, and for each degree of freedom its step in the joint; for a free joint, the first one. */
function jointOf(
  link: Link,
  parent: string,
  start: LinkPose,
  limits: boolean,
): {readonly joint: Joint; readonly steps: readonly number[]} {
  const {freedoms, name: body} = link;
  const point = (at: V3): V3 => plus(start.position, turned(start.rotation, at));
  const direction = (axis: V3): V3 => turned(start.rotation, axis);
  const loads = ({armature, range, reference}: LinkFreedom) => ({
    armature,
    ...(range === undefined || !limits
      ? {}
      : {limits: [range[0] - reference, range[1] - reference] as [number, number]}),
  });
  const [only] = freedoms;
  if (freedoms.length === 1 && only.kind !== 'free' && !(only.kind === 'ball' && only.armature !== 0)) {
    const [at, axis] = [point(only.at), direction(only.axis)];
    if (only.kind === 'turn') return {steps: [0], joint: revolute(parent, body, {at, axis, ...loads(only)})};
    if (only.kind === 'slide') return {steps: [0], joint: prismatic(parent, body, {at, axis, ...loads(only)})};
    return {steps: [0], joint: spherical(parent, body, {at})};
  }
  const steps: CompoundStep[] = [];
  const places = freedoms.map(freedom => {
    const place = steps.length;
    const {armature} = freedom;
    if (freedom.kind === 'turn') steps.push({turn: direction(freedom.axis), at: point(freedom.at), ...loads(freedom)});
    if (freedom.kind === 'slide') steps.push({slide: direction(freedom.axis), ...loads(freedom)});
    // A free joint shifts the link's origin along the axes of the world.
    if (freedom.kind === 'free') for (const slide of units) steps.push({slide, armature});
    if (freedom.kind === 'ball' || freedom.kind === 'free') steps.push({ball: point(freedom.at), armature});
    return place;
  });
  return {steps: places, joint: compound(parent, body, {steps})};
}

/** Springs, dampers and dry friction. */
function passive(coordinates: readonly CoordinatePlace[], {frictionScale}: BuildOptions): JointForce[] {
  return coordinates.flatMap(({joint, step, freedom, start: {rotation}}) => {
    const {kind, damping, friction, stiffness, rest, reference} = freedom;
    const sprung = stiffness.some(x => x !== 0);
    if (friction === 0 && !sprung && damping.every(x => x === 0)) return [];
    const [linear = 0, ...powers] = damping;
    const alike = friction === 0 && powers.every(x => x === 0);
    const slowed = (rate: tf.Tensor): tf.Tensor => {
      const viscous = tf.mul(linear, rate);
      if (alike) return viscous;
      const [square = 0, cube = 0] = powers;
      const size = tf.abs(rate);
      const curved = tf.mul(rate, tf.add(tf.mul(square, size), tf.mul(cube, tf.square(rate))));
      return tf.addN([viscous, curved, tf.mul(friction, tf.tanh(tf.div(rate, frictionScale)))]);
    };
    // Each component of a ball's angular velocity in the link's axes is slowed by itself. The rate has the axes of the
    // start.
    const toLink = Float64Array.from(units.flatMap(axis => turned(rotation, axis)));
    const inLink = (rate: tf.Tensor): tf.Tensor => {
      const turn = constantTensor(toLink, [3, 3]);
      const own = tf.matMul(turn, tf.reshape(rate, [3, 1]));
      return tf.reshape(tf.matMul(turn, slowed(own), true), [3]);
    };
    const rubbed = (rate: tf.Tensor): tf.Tensor => tf.neg(alike || rate.rank === 0 ? slowed(rate) : inLink(rate));
    const steps = kind === 'free' ? [0, 1, 2, 3] : [0];
    const [a = 0, b = 0, c = 0] = stiffness;
    const stretch = (position: tf.Tensor): tf.Tensor => tf.add(position, reference - rest);
    const factor = (x: tf.Tensor, [p, q, r]: V3): tf.Tensor => tf.add(p, tf.mul(x, tf.add(q, tf.mul(r, x))));
    return steps.map(more =>
      sprung
        ? jointForce(joint, {
            step,
            force: ({position, rate}) => {
              const x = stretch(position);
              return tf.sub(rubbed(rate), tf.mul(x, factor(x, [a, b, c])));
            },
            energy: ({position}) => {
              const x = stretch(position);
              return tf.mul(tf.square(x), factor(x, [a / 2, b / 3, c / 4]));
            },
          })
        : jointForce(joint, {step: step + more, force: ({rate}) => rubbed(rate)}),
    );
  });
}

function driven(
  drives: readonly JointDrive[],
  coordinates: readonly CoordinatePlace[],
  reader: FileReader,
  {controls}: BuildOptions,
): JointForce[] {
  const names = drives.map(({name}) => name);
  const odd = Object.keys(controls).find(name => !names.includes(name));
  if (odd !== undefined)
    throw new OptionError(
      'bad-option',
      `controls refers to drive '${odd}', but the file has ${names.length === 0 ? 'none' : names.join(', ')}.`,
      {name: odd},
    );
  const forces = new Map<CoordinatePlace, DriveForce[]>();
  for (const drive of drives) {
    const {gear, gain, bias, controlRange, forceRange} = drive;
    const place = coordinates.find(({freedom}) => freedom.name === drive.joint);
    if (place === undefined)
      return reader.fail(drive.element, `<${drive.element.tag}>: there is no joint ${drive.joint}.`);
    const {kind, reference} = place.freedom;
    if (kind !== 'turn' && kind !== 'slide') {
      reader.unsupported(drive.element, `a drive on joint ${drive.joint}, which does not have exactly one coordinate`);
      continue;
    }
    const {[drive.name]: control = 0} = controls;
    if (gear === 0 || (isZero(control) && bias.every(x => x === 0))) continue;
    const read = coefficient(control, `controls.${drive.name}`);
    const force: DriveForce = ({position, rate, params}) => {
      const given = clipped(tf.reshape(read(params), []), controlRange);
      const length = tf.mul(gear, tf.add(position, reference));
      const biased = tf.add(tf.add(bias[0], tf.mul(bias[1], length)), tf.mul(bias[2] * gear, rate));
      return tf.mul(gear, clipped(tf.add(tf.mul(gain, given), biased), forceRange));
    };
    forces.set(place, [...(forces.get(place) ?? []), force]);
  }
  return [...forces].map(([{joint, step, freedom}, all]) =>
    jointForce(joint, {step, force: at => clipped(tf.addN(all.map(force => force(at))), freedom.effort)}),
  );
}

/** The force of a drive, at a coordinate and its rate. */
type DriveForce = (at: {readonly position: tf.Tensor; readonly rate: tf.Tensor; readonly params: Params}) => tf.Tensor;

const clipped = (x: tf.Tensor, range: readonly [number, number] | undefined): tf.Tensor =>
  range === undefined ? x : tf.minimum(tf.maximum(x, range[0]), range[1]);
