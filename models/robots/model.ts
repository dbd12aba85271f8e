/** The result of reading a file: the system, and the mapping of the file's names and coordinates to it. */
import {optional, readOptions, typed} from '../../lib/checks.js';
import {OptionError} from '../../lib/index.js';
import {
  multibody,
  type Multibody,
  type MultibodySpec,
  type MultibodyStart,
  type SavedMotion,
} from '../multibody/multibody.js';
import {composed, conjugate, minus, plus, turned, type Q4, type V3} from '../multibody/numbers.js';
import {cornersOf, type Shape} from '../multibody/shapes.js';
import {build, type Built, type CoordinatePlace} from './build.js';
import type {Description, Solid} from './description.js';
import type {BuildOptions} from './read-options.js';
import {here, within} from './rotations.js';
import type {ParsedElement, FileReader, Note} from './xml.js';

/** A system read from a file: a `Multibody` with the file's names. */
export interface RobotModel extends Multibody {
  /** The argument from which `multibody` made the system; change it to turn masses into parameters. */
  readonly spec: MultibodySpec;
  /** The links of the file, in its order and without the world, each with the body of the system that it belongs to. */
  readonly links: readonly RobotLink[];
  /** The joints of the file, in its order. */
  readonly joints: readonly RobotJoint[];
  /** Names of the actuators that `controls` may drive. */
  readonly drives: readonly string[];
  /** Solids, for pictures. */
  readonly solids: readonly RobotSolid[];
  /** Parts of the file that are not in the system, with their lines. */
  readonly notes: readonly Note[];
  /** Named initial states of the file, in minimal coordinates. */
  readonly keyframes: {readonly [name: string]: MultibodyStart};
  /**
   * Converts a state in the file's coordinates (`RobotJoint`) to the system's, which must be minimal.
   * @throws OptionError
   */
  state(given: {readonly position?: readonly number[]; readonly velocity?: readonly number[]}): MultibodyStart;
  /** The file's coordinates at every saved time; the system's must be minimal. @throws OptionError */
  coordinates(trajectory: SavedMotion): {readonly position: Float64Array; readonly velocity: Float64Array};
  /**
   * Axes of a link of the file at every saved time: origin [saved, 3] and quaternion [saved, 4].
   * @throws OptionError
   */
  frame(trajectory: SavedMotion, link: string): {readonly position: Float64Array; readonly rotation: Float64Array};
}

/** A link of the file. */
export interface RobotLink {
  readonly name: string;
  /** A body of the system, or 'ground' for a link that does not move. */
  readonly body: string;
}

/** A joint of the file, and the place of its numbers among the file's coordinates. */
export interface RobotJoint {
  readonly name: string;
  readonly kind: 'turn' | 'slide' | 'ball' | 'free';
  /** Index of its first position. It has one; a ball joint has a quaternion, a free joint a point and a quaternion. */
  readonly position: number;
  /** Index of its first velocity. It has one; a ball joint has three, a free joint six. */
  readonly velocity: number;
  /** The system's joint, and which of its coordinates this is (for a free joint, the first). */
  readonly joint: string;
  readonly step: number;
}

/** A solid that is part of a body. */
export interface RobotSolid {
  readonly body: string;
  readonly kind: 'sphere' | 'capsule' | 'cylinder' | 'box' | 'ellipsoid' | 'plane';
  /** Radius; radius and half the axis; half the edges. */
  readonly size: readonly number[];
  /** From the body's centre of mass, in its axes. */
  readonly position: readonly [number, number, number];
  readonly rotation: readonly [number, number, number, number];
  /** Red, green, blue and opacity, 0 … 1, if the file gives them. */
  readonly colour: readonly number[] | undefined;
}

/** A named state of the file. */
export interface Keyframe {
  readonly name: string;
  readonly element: ParsedElement;
  readonly position: readonly number[] | undefined;
  readonly velocity: readonly number[] | undefined;
}

/** @throws DataError, OptionError */
export function robotModel(
  described: Description,
  reader: FileReader,
  options: BuildOptions,
  keys: readonly Keyframe[],
): RobotModel {
  // Missing parts explain other errors of the model, so they are reported first.
  if (options.unsupported === 'refuse') reader.finish('refuse');
  const built = build(described, reader, options);
  const notes = reader.finish(options.unsupported);
  const table = tableOf(built);
  const minimal = (what: string): void => {
    if (options.coordinates !== 'minimal')
      throw new OptionError('bad-option', `${what} needs a model with coordinates: 'minimal'.`);
  };
  const state: RobotModel['state'] = given => {
    minimal('state');
    const values = optional(typed<readonly number[]>());
    return stateOf(table, readOptions(given, {position: values, velocity: values}, 'state', 'bad-option'));
  };
  const keyframe = ({name, element, ...given}: Keyframe): [string, MultibodyStart] => {
    try {
      return [name, state(given)];
    } catch (error) {
      return reader.fail(element, `key ${name}: ${(error as OptionError).message}`);
    }
  };
  const {links} = described;
  const solids = links.flatMap((link, i) => link.solids.map(solid => solidOf(solid, built, i)));
  const spec = {...built.spec, shapes: shapesOf(solids, built)};
  const system = multibody(spec);
  return {
    ...system,
    spec,
    notes,
    links: links.flatMap(({name, parent}, i) => (parent === undefined ? [] : [{name, body: built.parts[i].body}])),
    joints: table.joints,
    drives: described.drives.map(({name}) => name),
    solids,
    keyframes: options.coordinates === 'minimal' ? Object.fromEntries(keys.map(keyframe)) : {},
    state,
    coordinates: trajectory => {
      minimal('coordinates');
      return coordinatesAlong(trajectory, table);
    },
    frame: (trajectory, name) => {
      const link = links.findIndex(one => one.name === name);
      if (link < 0)
        throw new OptionError('unknown-body', `frame refers to link '${name}', which is not in the file.`, {
          link: name,
        });
      const {body, place} = built.parts[link];
      const pose = system.pose(trajectory, body);
      const {centre} = body === 'ground' ? {centre: [0, 0, 0] as V3} : built.bodies[body];
      const saved = pose.position.length / 3;
      const [position, rotation] = [new Float64Array(3 * saved), new Float64Array(4 * saved)];
      for (let i = 0; i < saved; i++) {
        const at = Array.from(pose.position.subarray(3 * i, 3 * i + 3)) as unknown as V3;
        const rotated = Array.from(pose.rotation.subarray(4 * i, 4 * i + 4)) as unknown as Q4;
        position.set(plus(at, turned(rotated, minus(place.position, centre))), 3 * i);
        rotation.set(composed(rotated, place.rotation), 4 * i);
      }
      return {position, rotation};
    },
  };
}

/**
 * Solids as shapes in the world at the start: boxes by their corners, all others as balls or capsules of their size.
 */
function shapesOf(solids: readonly RobotSolid[], {spec}: Built): {[body: string]: Shape[]} {
  const shapes: {[body: string]: Shape[]} = {};
  for (const {body, kind, size, position, rotation} of solids) {
    if (kind === 'plane' || body === 'ground') continue;
    const {position: centre = [0, 0, 0], rotation: turn = [1, 0, 0, 0]} = spec.bodies[body];
    const [a, b, c] = size;
    const ends: V3[] = [[0, 0, -b], [0, 0, b]]; // prettier-ignore
    const long = kind === 'capsule' || kind === 'cylinder';
    const own = kind === 'box' ? cornersOf([a, b, c]) : long ? ends : [here.position];
    const radius = kind === 'box' ? 0 : kind === 'ellipsoid' ? Math.cbrt(a * b * c) : a;
    const points = own.map(point => plus(centre, turned(turn, plus(position, turned(rotation, point)))));
    (shapes[body] ??= []).push({
      kind: kind === 'box' ? 'box' : long ? 'capsule' : 'sphere',
      balls: () => points.map(at => ({centre: at, radius})),
    });
  }
  return shapes;
}

interface Table {
  readonly joints: readonly RobotJoint[];
  readonly places: readonly CoordinatePlace[];
  readonly positions: number;
  readonly velocities: number;
}

const widths = {turn: [1, 1], slide: [1, 1], ball: [4, 3], free: [7, 6]} as const;

function tableOf({coordinates}: Built): Table {
  let [positions, velocities] = [0, 0];
  const joints = coordinates.map(({joint, step, freedom: {name, kind}}) => {
    const row = {name, kind, position: positions, velocity: velocities, joint, step};
    positions += widths[kind][0];
    velocities += widths[kind][1];
    return row;
  });
  return {joints, places: coordinates, positions, velocities};
}

/**
 * Converts the file's numbers to the system's. The tree takes joints in the file's order, so their indices are equal.
 */
function stateOf(
  table: Table,
  {position, velocity}: {readonly position?: readonly number[]; readonly velocity?: readonly number[]},
): MultibodyStart {
  const {joints, positions, velocities} = table;
  const check = (values: readonly number[] | undefined, count: number, name: string): void => {
    if (values !== undefined && (values.length !== count || !values.every(Number.isFinite)))
      throw new OptionError('bad-option', `state: ${name} must be ${count} finite numbers, not ${values.length}.`);
  };
  check(position, positions, 'position');
  check(velocity, velocities, 'velocity');
  const q = Float64Array.from(position ?? new Array<number>(positions).fill(0));
  const v = Float64Array.from(velocity ?? new Array<number>(velocities).fill(0));
  for (const {kind, name, position: at} of joints) {
    if (kind === 'turn' || kind === 'slide') continue;
    const turns = kind === 'free' ? at + 3 : at;
    if (position === undefined) q[turns] = 1;
    const size = Math.hypot(...q.subarray(turns, turns + 4));
    if (!(size > 0)) throw new OptionError('bad-option', `state: the quaternion of joint ${name} is zero.`);
    for (let k = turns; k < turns + 4; k++) q[k] /= size;
  }
  // The system's zero is where the file's links are at the start.
  if (position !== undefined) convertPositions(table, q, 'to the system');
  convertVelocities(table, v, 'to the system');
  return {q: [...q], v: [...v]};
}

function coordinatesAlong(trajectory: SavedMotion, table: Table): {position: Float64Array; velocity: Float64Array} {
  const [position, velocity] = [trajectory.values('q').slice(), trajectory.values('v').slice()];
  for (let at = 0; at < position.length; at += table.positions)
    convertPositions(table, position.subarray(at, at + table.positions), 'to the file');
  for (let at = 0; at < velocity.length; at += table.velocities)
    convertVelocities(table, velocity.subarray(at, at + table.velocities), 'to the file');
  return {position, velocity};
}

type Way = 'to the system' | 'to the file';

/** Positions of one state, in place. */
function convertPositions({joints, places}: Table, q: Float64Array, way: Way): void {
  const sign = way === 'to the file' ? 1 : -1;
  joints.forEach(({kind, position: at}, i) => {
    const {start, freedom} = places[i];
    if (kind === 'turn' || kind === 'slide') {
      q[at] += sign * freedom.reference;
      return;
    }
    if (kind === 'free') for (let k = 0; k < 3; k++) q[at + k] += sign * start.position[k];
    const turns = kind === 'free' ? at + 3 : at;
    const given = Array.from(q.subarray(turns, turns + 4)) as unknown as Q4;
    // The system's axes are the parent's; those of a free link are the world's.
    const [back, on] = [conjugate(start.rotation), start.rotation];
    const [before, after] = way === 'to the file' ? [back, on] : [on, back];
    q.set(composed(kind === 'free' ? given : composed(before, given), after), turns);
  });
}

/** Velocities of one state, in place. */
function convertVelocities({joints, places}: Table, v: Float64Array, way: Way): void {
  joints.forEach(({kind, velocity}, i) => {
    if (kind === 'turn' || kind === 'slide') return;
    const rates = kind === 'free' ? velocity + 3 : velocity;
    const {rotation} = places[i].start;
    const omega = Array.from(v.subarray(rates, rates + 3)) as unknown as V3;
    v.set(turned(way === 'to the file' ? conjugate(rotation) : rotation, omega), rates);
  });
}

function solidOf({kind, size, place, colour}: Solid, {parts, bodies}: Built, link: number): RobotSolid {
  const {body, place: own} = parts[link];
  const {position, rotation} = within(own, place);
  const centre: V3 = body === 'ground' ? here.position : bodies[body].centre;
  return {body, kind, size, position: minus(position, centre), rotation, colour};
}
