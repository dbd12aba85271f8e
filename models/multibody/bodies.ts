/** Bodies as users describe them: mass and inertia as coefficients, where they are and how they move at the start. */
import * as tf from '@tensorflow/tfjs';
import {optional, readOptions, typed, type Options} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError, ShapeError} from '../../lib/index.js';
import {readNumeric, constantTensor} from '../../lib/internal.js';
import type {Coefficient} from '../coefficient.js';
import {coefficient} from '../coefficient.js';
import {inertiaFault} from './inertia.js';
import {identity, origin, rotation, vector, type Q4, type V3} from './numbers.js';
import type {Matrix3} from './vectors.js';

const bodyOptions = {
  /** [mass]. */
  mass: typed<Coefficient>(),
  /** About the centre of mass in body axes [mass · length²]: [Jx, Jy, Jz], or a symmetric 3 × 3 matrix. */
  inertia: typed<Coefficient>(),
  /** Centre of mass at the start, world axes; default the origin. */
  position: optional(vector, origin),
  /**
   * Rotation of the body axes at the start, a quaternion [w, x, y, z]; default the world's axes. It is normalized.
   */
  rotation: optional(rotation, identity),
  /** Velocity of the centre of mass at the start, world axes; default 0. */
  velocity: optional(vector, origin),
  /** At the start, body axes; default 0. */
  angularVelocity: optional(vector, origin),
};

/** A rigid body. @interface */
export type BodySpec = Options<typeof bodyOptions>;

/** A body's number, and where it is at the start. */
export interface BodyPose {
  readonly index: number;
  readonly position: V3;
  readonly rotation: Q4;
}

/** The bodies of a system. */
export interface Bodies {
  readonly names: readonly string[];
  /** By name, 'ground' too. @throws OptionError 'unknown-body' */
  place(name: string, asked: string): BodyPose;
  readonly velocities: readonly {readonly velocity: V3; readonly omega: V3}[];
  /** [bodies]. */
  mass(params: Params): tf.Tensor;
  /** Each entry [bodies]; products of inertia undefined where all matrices are known to be diagonal. */
  inertia(params: Params): Inertia;
}

/** Moments and products of inertia, each [bodies]. */
export interface Inertia {
  readonly matrix: Matrix3;
  /** All of it diagonal. */
  readonly diagonal: boolean;
}

/** @throws OptionError 'bad-multibody', 'bad-coefficient' */
export function readBodies(given: {readonly [name: string]: BodySpec}): Bodies {
  const names = Object.keys(given);
  if (names.length === 0) throw new OptionError('bad-multibody', 'multibody: bodies is empty; give one body at least.');
  if (names.includes('ground'))
    throw new OptionError('bad-multibody', "multibody: 'ground' is reserved for the world; rename the body.");
  const read = names.map((name, index) => readBody(given[name], name, index));
  const ground: BodyPose = {index: names.length, position: origin, rotation: identity};
  const numberOf = new Map(names.map((name, index) => [name, index]));
  const masses = stack(read.map(({mass}) => mass));
  const inertias = read.map(({inertia}) => inertia);
  return {
    names,
    velocities: read.map(({velocity, omega}) => ({velocity, omega})),
    place: (name, asked) => {
      if (name === 'ground') return ground;
      const index = numberOf.get(name);
      if (index !== undefined) return read[index].place;
      throw new OptionError(
        'unknown-body',
        `${asked} names body '${name}', but there are `
          + `${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''} and 'ground'.`,
        {body: name},
      );
    },
    mass: masses,
    inertia: params => inertiaOf(inertias, params),
  };
}

interface ReadBody {
  readonly place: BodyPose;
  readonly velocity: V3;
  readonly omega: V3;
  readonly mass: Entry;
  readonly inertia: Entry;
}

/** A coefficient, with its numbers where they are known when the model is built. */
interface Entry {
  readonly known: Float64Array | undefined;
  readonly of: (params: Params) => tf.Tensor;
}

const isKnown = (value: Coefficient): value is Exclude<Coefficient, tf.Tensor | ((params: Params) => tf.Tensor)> =>
  typeof value !== 'function' && !(value instanceof tf.Tensor);

const entry = (value: Coefficient, name: string, sign: 'any' | 'positive'): Entry => ({
  of: coefficient(value, name, sign),
  known: isKnown(value) ? readNumeric(value, name).values : undefined,
});

function readBody(spec: BodySpec, name: string, index: number): ReadBody {
  const at = `multibody: bodies.${name}`;
  const {position, rotation: turn, velocity, angularVelocity} = readOptions(spec, bodyOptions, at, 'bad-multibody');
  const inertia = entry(spec.inertia, `${at}.inertia`, 'any');
  if (inertia.known !== undefined) checkInertia(inertia.known, `${at}.inertia`);
  return {
    place: {index, position, rotation: turn},
    velocity,
    omega: angularVelocity,
    mass: entry(spec.mass, `${at}.mass`, 'positive'),
    inertia,
  };
}

/** Symmetric, positive definite by its leading minors, and that of a body. */
function checkInertia(values: Float64Array, name: string): void {
  if (values.length !== 3 && values.length !== 9)
    throw new OptionError(
      'bad-multibody',
      `${name} has ${values.length} numbers; give [Jx, Jy, Jz] or a 3 × 3 matrix.`,
    );
  const [a, b, c, b2, d, e, c2, e2, f] =
    values.length === 9 ? values : [values[0], 0, 0, 0, values[1], 0, 0, 0, values[2]];
  // Symmetric but for the rounding of a rotation.
  const close = (x: number, y: number): boolean => Math.abs(x - y) <= 1e-9 * (Math.abs(a) + Math.abs(d) + Math.abs(f));
  const minor = a * d - b * b;
  const whole = a * (d * f - e * e) - b * (b * f - e * c) + c * (b * e - d * c);
  const given = `[${[...values].join(', ')}]`;
  const refuse = (what: string): never => {
    throw new OptionError('bad-multibody', `${name}, ${given}, ${what}.`, {name});
  };
  if (!(close(b, b2) && close(c, c2) && close(e, e2))) refuse('is not symmetric');
  if (!(a > 0 && minor > 0 && whole > 0))
    refuse('must be symmetric and positive definite; a body of no inertia is a point: give it a small one');
  const fault = inertiaFault([
    [a, b, c],
    [b, d, e],
    [c, e, f],
  ]);
  if (fault !== undefined) refuse(`cannot be: ${fault}`);
}

/** [bodies] of one number each. */
function stack(entries: readonly Entry[]): (params: Params) => tf.Tensor {
  if (entries.every(({known}) => known !== undefined)) {
    const values = Float64Array.from(entries, ({known}) => (known as Float64Array)[0]);
    return () => constantTensor(values, [values.length]);
  }
  return params => tf.stack(entries.map(({of, known}) => scalar(of(params), known)));
}

const scalar = (value: tf.Tensor, known: Float64Array | undefined): tf.Tensor =>
  known === undefined ? tf.reshape(value, []) : constantTensor(known[0], []);

function inertiaOf(entries: readonly Entry[], params: Params): Inertia {
  const all = entries.map(({known, of}) => matrixOf(known, known === undefined ? of(params) : undefined));
  const column = (i: number, j: number): tf.Tensor => {
    const numbers = all.map(body => body[3 * i + j]);
    if (numbers.every(x => typeof x === 'number')) return constantTensor(Float64Array.from(numbers), [numbers.length]);
    return tf.stack(numbers.map(x => (typeof x === 'number' ? constantTensor(x, []) : x)));
  };
  const row = (i: number): [tf.Tensor, tf.Tensor, tf.Tensor] => [column(i, 0), column(i, 1), column(i, 2)];
  return {
    matrix: [row(0), row(1), row(2)],
    diagonal: all.every(body => body.every((x, i) => i % 4 === 0 || x === 0)),
  };
}

/** Nine entries by rows, numbers where they are known. */
function matrixOf(known: Float64Array | undefined, tensor: tf.Tensor | undefined): (number | tf.Tensor)[] {
  const entries: readonly (number | tf.Tensor)[] =
    tensor === undefined ? Array.from(known ?? []) : tf.unstack(tf.reshape(tensor, [tensor.size]));
  if (entries.length === 9) return [...entries];
  if (entries.length === 3) return [entries[0], 0, 0, 0, entries[1], 0, 0, 0, entries[2]];
  throw new ShapeError(
    'inertia-shape',
    `multibody: an inertia has shape [${tensor?.shape.join(', ')}]; give three moments [3] or a matrix [3, 3].`,
  );
}
