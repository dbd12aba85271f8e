/**
 * Shells: surfaces with a director at each node, after Reissner and Mindlin. Strains are Green's, linear through the
 * thickness; transverse shears are those of MITC4 (Dvorkin & Bathe, Engng Comput. 1, 1984) and MITC3 (Lee & Bathe,
 * Comput. Struct. 82, 2004). A director is three plain numbers: the strains read its direction alone, and a term that
 * is zero in equilibrium keeps its length at one, so that rotations have no singularity and nodes no constraint.
 */
import * as tf from '@tensorflow/tfjs';
import {any, object, oneOf, optional, readOptions, typed} from '../../lib/checks.js';
import {OptionError, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant} from '../../lib/internal.js';
import {bodyOf, bodyOptions, nodalValues, type Body, type BodyState, type RayleighDamping} from '../body/body.js';
import {coefficientsIn, type CellCoefficients} from '../body/cell-coefficients.js';
import type {FieldCoefficient} from '../body/coefficient.js';
import type {ElementGroup} from '../body/elements.js';
import type {Load, Support} from '../body/loads.js';
import {nodesAt} from '../body/places.js';
import {degreesOf} from '../body/supports.js';
import type {Mesh} from '../mesh/mesh.js';
import {pointAt} from '../mesh/topology.js';
import {averagedNormals, directorRotation, normalized, normalsOfCells, requireSmooth} from './directors.js';
import {
  cross,
  dot,
  framesOf,
  inCells,
  inFrame,
  membraneStrain,
  planeStress,
  referenceData,
  referenceNumbers,
  sumOf,
  surfaceOf,
  tangentVectors,
  type SurfacePart,
} from './surface.js';
import {tiedShears} from './tying.js';

const shellOptions = {
  /** Surfaces in space, of tri3 and quad4 cells. Neighbours go around in one sense. */
  mesh: typed<Mesh>(object),
  thickness: typed<FieldCoefficient>(),
  /** Young's modulus. */
  E: typed<FieldCoefficient>(),
  /** Poisson's ratio. */
  nu: typed<FieldCoefficient>(),
  /** Density by reference volume; none in statics without gravity. */
  density: optional(typed<FieldCoefficient>()),
  mass: optional(oneOf('lumped', 'consistent'), 'lumped'),
  ...bodyOptions,
  directors: optional(typed<(x: readonly number[], node: number) => readonly number[]>(any)),
};

/** The argument of `shell`. */
export interface ShellSpec {
  /** Surfaces in space, of tri3 and quad4 cells. Neighbours go around in one sense. */
  readonly mesh: Mesh;
  readonly thickness: FieldCoefficient;
  /** Young's modulus. */
  readonly E: FieldCoefficient;
  /** Poisson's ratio. */
  readonly nu: FieldCoefficient;
  /** Density by reference volume; none in statics without gravity. */
  readonly density?: FieldCoefficient;
  /** 'lumped' (default) to nodes; 'consistent' as a sparse matrix. */
  readonly mass?: 'lumped' | 'consistent';
  /** Supports of a plane of symmetry, which hold `x`, `ry` and `rz`, say, put directors into it. */
  readonly supports?: readonly Support[];
  readonly loads?: readonly Load[];
  readonly damping?: RayleighDamping;
  /** Reference positions, [nodes, 3], as a function of params: gradients by a shape. Default those of the mesh. */
  readonly points?: Bivariant<Params, tf.Tensor>;
  /** The vector across the shell at a node, of any length. Default: the mean normal of the cells there. */
  readonly directors?: (x: readonly number[], node: number) => readonly number[];
}

/** A shell. Its nodes have six components: the displacement, and the change of the director. */
export interface ShellBody extends Body {
  /** Directors of all nodes, of unit length, [nodes, 3]. */
  directors(at: BodyState): tf.Tensor;
}

/** The share of the transverse shear stiffness that a parabola of stress through the thickness leaves (Reissner). */
const shearCorrection = 5 / 6;

/**
 * A body of thin surfaces that stretch, bend and shear: large rotations, small strains, plane stress through the
 * thickness. Nodes turn: `held(on)` clamps them, `held(on, ['x', 'y', 'z'])` leaves their rotations free, and
 * `held(on, ['x', 'ry', 'rz'])` is a plane of symmetry at a right angle to x. Loads on edges are by length and
 * thickness; pressures and tractions on the surface take its cells, `pressure(mesh.cells, p)`.
 * @throws OptionError for cells of other types, folds, cells that go around in opposite senses, unknown sets, and
 *   constants outside of their range
 * @example
 * ```ts
 * import {equilibrium} from 'stiffgrad';
 * import {box, loads, mapped, shell, supports} from 'stiffgrad/fem';
 *
 * const plate = shell({
 *   mesh: mapped(box([10, 1], [10, 1]), ([x, y]) => [x, y, 0]),
 *   thickness: 0.1,
 *   E: 1.2e6,
 *   nu: 0,
 *   density: 1,
 *   supports: [supports.held('left')],
 *   loads: [loads.traction('right', [0, 0, 0.01])],
 * });
 * const {q} = equilibrium(plate, {q: plate.start.q});
 * // F L³/(3 E I), with F = 0.001 and I = 0.1³/12:
 * console.log(plate.evaluate(plate.probe([[10, 0.5, 0]]), {q})[2].toFixed(4)); // → 0.0033
 * ```
 */
export function shell(spec: ShellSpec): ShellBody {
  const options = readOptions(spec, shellOptions, 'shell', 'bad-shell');
  const {mesh, points, supports} = options;
  const {nodes, blocks, parts, coefficients, body: surface} = surfaceOf('shell', 'mass', options);
  const {thickness} = coefficients;

  const symmetry = symmetryMask(mesh, supports);
  const {directors: given} = options;
  const givenDirectors = given === undefined ? undefined : unitVectors(mesh, given);
  const directorsFrom = (X: tf.Tensor): tf.Tensor =>
    givenDirectors === undefined ? averagedNormals(blocks, X, symmetry) : constantTensor(givenDirectors, [nodes, 3]);
  const {directors, ...normals} = referenceNumbers(mesh, X => ({
    directors: directorsFrom(X),
    ...Object.fromEntries(normalsOfCells(blocks, X).entries()),
  }));
  requireSmooth(mesh, blocks, directors, Object.values(normals));
  const degrees = degreesOf(mesh, supports, directorRotation(mesh, directors));

  const geometry = parts.map(part =>
    referenceData(mesh, points, X => ({
      X: inCells(part, X),
      D: inCells(part, directorsFrom(X)),
      ...framesOf(inCells(part, X), part),
    })),
  );
  const elements = (params: Params): ElementGroup[] =>
    parts.map((part, i) => {
      const own = coefficientsIn(part, coefficients, params);
      return {
        rows: part.rows,
        data: {...geometry[i](params), ...own.data},
        energies: at => shellEnergies(part, at, own),
      };
    });

  const changes = (nodal: tf.Tensor): tf.Tensor => tf.slice(nodal, [0, 3], [nodes, 3]);
  const direction = (nodal: tf.Tensor, params: Params): tf.Tensor =>
    tf.add(
      changes(nodal),
      points === undefined ? constantTensor(directors, [nodes, 3]) : directorsFrom(points(params)),
    );
  const body = bodyOf({
    ...surface,
    owner: 'shell',
    mesh,
    degrees,
    points,
    elements,
    inertia: params => {
      const {per, tensor} = thickness(params);
      return {per, tensor: tf.div(tf.pow(tensor, 3), 12)};
    },
    mass: options.mass,
    loads: options.loads,
    isLinear: false,
    // A small rotation ω changes d by ω × d: couples M are forces M × d / |d|² on it.
    couples: (couples, nodal, params) => {
      const d = direction(nodal, params);
      const across = cross(tf.split(couples, 3, 1), tf.split(d, 3, 1));
      return tf.concat([tf.zeros([nodes, 3]), tf.div(tf.concat(across, 1), tf.sum(tf.square(d), -1, true))], 1);
    },
    damping: options.damping,
    warnings: [],
    notFinite: 'Is a director turned over? Take smaller steps of load or time.',
  });
  return {
    ...body,
    directors: at => {
      const {params = {}} = at;
      return normalized(direction(nodalValues({mesh, degrees, points}, at), params));
    },
  };
}

/** 0 for components of directors at a right angle to planes of symmetry, otherwise 1. */
function symmetryMask(mesh: Mesh, supports: readonly Support[]): Float64Array {
  const kept = new Float64Array(mesh.points.length).fill(1);
  for (const {owner, on, axes, motion} of supports) {
    const held = motion === undefined ? (axes ?? []) : [];
    const across = (['x', 'y', 'z'] as const).filter(
      axis => held.includes(axis) && !held.includes(`r${axis}`) && held.filter(name => name.length === 2).length === 2,
    );
    for (const node of across.length === 0 ? [] : nodesAt(mesh, on, owner))
      for (const axis of across) kept[3 * node + ['x', 'y', 'z'].indexOf(axis)] = 0;
  }
  return kept;
}

/** @throws OptionError where a director is no vector of three numbers */
function unitVectors(mesh: Mesh, given: (x: readonly number[], node: number) => readonly number[]): Float64Array {
  const all = new Float64Array(mesh.points.length);
  for (let node = 0; node < all.length / 3; node++) {
    const D = given(pointAt(mesh, node), node);
    const length = Math.hypot(...D);
    if (D.length !== 3 || !(length > 0 && length < Infinity))
      throw new OptionError('bad-shell', `shell: directors(…, ${node}) must be three numbers, not all zero.`, {node});
    all.set(
      D.map(x => x / length),
      3 * node,
    );
  }
  return all;
}

/** Energies of cells: membrane, bending and shear at points, and of the directors' lengths, [cells, points]. */
function shellEnergies(
  {block, rule}: SurfacePart,
  {x, data}: Parameters<ElementGroup['energies']>[0],
  own: Pick<CellCoefficients, 'at'>,
): tf.Tensor {
  const cells = x.shape[0];
  const n = block.shape.nodes;
  const atPoints = (name: string): tf.Tensor => tf.reshape(data[name], [cells, rule.count]);
  const [X, D] = [data.X, data.D].map(values => tf.reshape(values, [cells, n, 3]));
  const u = tf.slice(x, [0, 0, 0], [cells, n, 3]);
  const w = tf.slice(x, [0, 0, 3], [cells, n, 3]);
  // |D + w|² − 1 and (D + w)/|D + w| − D, with the digits of small w.
  const excess = tf.sum(tf.mul(w, tf.add(w, tf.mul(2, D))), -1, true);
  const length = tf.sqrt(tf.add(1, excess));
  const longer = tf.div(excess, tf.add(1, length));
  const turned = tf.div(tf.sub(w, tf.mul(longer, D)), length);

  const [G, U, H, W] = [X, u, D, turned].map(values => tangentVectors(values, rule));
  const oneSide = (i: number, j: number): tf.Tensor => sumOf([dot(G[i], W[j]), dot(U[i], H[j]), dot(U[i], W[j])]);
  const curvature = (i: number, j: number): tf.Tensor => tf.mul(0.5, tf.add(oneSide(i, j), oneSide(j, i)));
  const shear = tiedShears(block.shape.type, {X, u, D, turned}, rule);

  const frame = Object.fromEntries(['a', 'b', 'c', 'weights'].map(name => [name, atPoints(name)]));
  const {a, b, c, weights} = frame;
  const {thickness, E, nu} = own.at(data);
  const stiffness = tf.div(tf.mul(E, thickness), tf.sub(1, tf.square(nu)));
  const shearStiffness = tf.div(tf.mul(shearCorrection, tf.mul(E, thickness)), tf.mul(2, tf.add(1, nu)));
  const membrane = planeStress(inFrame(frame, membraneStrain(G, U)), nu);
  const bending = tf.mul(tf.div(tf.square(thickness), 12), planeStress(inFrame(frame, curvature), nu));
  const sheared = tf.add(tf.square(tf.mul(a, shear[0])), tf.square(tf.add(tf.mul(b, shear[0]), tf.mul(c, shear[1]))));
  // At a quarter of the shear stiffness a director is as stiff along its length as in a shear.
  const lengths = tf.mul(0.25, tf.mean(tf.square(excess), 1));
  return tf.mul(
    tf.mul(0.5, weights),
    tf.add(tf.mul(stiffness, tf.add(membrane, bending)), tf.mul(shearStiffness, tf.add(sheared, lengths))),
  );
}
