/**
 * Shells: surfaces with a director at each node, after Reissner and Mindlin. Strains are Green's, linear through the
 * thickness; transverse shears are those of MITC4 (Dvorkin & Bathe, Engng Comput. 1, 1984) and MITC3 (Lee & Bathe,
 * Comput. Struct. 82, 2004). A director is three plain numbers: the strains read its direction alone, and a term that
 * is zero in equilibrium keeps its length at one, so that rotations have no singularity and nodes no constraint.
 */
import * as tf from '@tensorflow/tfjs';
import {any, list, object, oneOf, optional, readOptions, typed} from '../../lib/checks.js';
import {OptionError, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant} from '../../lib/internal.js';
import {bodyBlocks, ruleFor, tangentsOf, type CellBlock, type CellRule} from '../body/blocks.js';
import {bodyOf, nodalValues, positionsOf, type Body, type BodyState, type RayleighDamping} from '../body/body.js';
import {coefficientsIn, type CellCoefficients} from '../body/cell-coefficients.js';
import {fieldOf, plainNumbers, ranges, type FieldCoefficient, type ReadField} from '../body/coefficient.js';
import {nodeRows, type ElementGroup} from '../body/elements.js';
import {evaluated} from '../body/evaluate.js';
import type {Load, Support} from '../body/loads.js';
import {nodesAt} from '../body/places.js';
import {degreesOf} from '../body/supports.js';
import type {Mesh} from '../mesh/mesh.js';
import {pointAt} from '../mesh/topology.js';
import {averagedNormals, directorRotation, normalized, normalsOfCells, requireSmooth} from './directors.js';
import {tiedShears} from './tying.js';

const shellOptions = {
  /** Surfaces in space, of tri3 and quad4 cells. Neighbours go around in one sense. */
  mesh: typed<Mesh>(object),
  thickness: typed<FieldCoefficient>(),
  /** Young's modulus. */
  E: typed<FieldCoefficient>(),
  /** Poisson's ratio. */
  nu: typed<FieldCoefficient>(),
  /** Density by reference volume. */
  density: typed<FieldCoefficient>(),
  mass: optional(oneOf('lumped', 'consistent'), 'lumped'),
  supports: optional(typed<readonly Support[]>(list), []),
  loads: optional(typed<readonly Load[]>(list), []),
  damping: optional(typed<RayleighDamping>(object), {}),
  points: optional(typed<Bivariant<Params, tf.Tensor>>()),
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
  /** Density by reference volume. */
  readonly density: FieldCoefficient;
  /** 'lumped' (default) to nodes; 'consistent' as a matrix, for small bodies. */
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

/** Plane stress allows incompressible materials. */
const poisson = {test: (x: number) => x > -1 && x <= 0.5, what: 'above −1 and at most 1/2'};

/** One type of cells. */
interface ShellPart {
  readonly block: CellBlock;
  readonly rule: CellRule;
  readonly rows: ElementGroup['rows'];
}

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
  if (mesh.dimension !== 3)
    throw new OptionError(
      'bad-mesh',
      'shell: points need three coordinates: mapped(mesh, ([x, y]) => [x, y, 0]) puts a plane mesh into space.',
    );
  const blocks = bodyBlocks(mesh, 'shell', 2, ['tri3', 'quad4']);
  const nodes = mesh.points.length / 3;
  const counts = {cells: blocks.reduce((sum, {count}) => sum + count, 0), nodes};
  const read = (
    name: 'thickness' | 'E' | 'nu' | 'density',
    range: typeof ranges.any,
  ): ((params: Params) => ReadField) => fieldOf(options[name], `shell: ${name}`, counts, range);
  const thickness = read('thickness', ranges.positive);
  const density = read('density', ranges.nonNegative);
  const coefficients = {thickness, E: read('E', ranges.positive), nu: read('nu', poisson)};

  const symmetry = symmetryMask(mesh, supports);
  const {directors: given} = options;
  const givenDirectors = given === undefined ? undefined : unitVectors(mesh, given);
  const directorsFrom = (X: tf.Tensor): tf.Tensor =>
    givenDirectors === undefined ? averagedNormals(blocks, X, symmetry) : constantTensor(givenDirectors, [nodes, 3]);
  const reference = (): tf.Tensor => positionsOf(mesh, undefined, {});
  const directors = givenDirectors ?? evaluated(() => directorsFrom(reference()), {q: 0});
  const normals = blocks.map((_, i) => evaluated(() => normalsOfCells(blocks, reference())[i], {q: 0}));
  requireSmooth(mesh, blocks, directors, normals);
  const degrees = degreesOf(mesh, supports, directorRotation(mesh, directors));

  const parts = blocks.map((block): ShellPart => ({
    block,
    rule: ruleFor(block.shape.type, 'mass'),
    rows: nodeRows(block.nodes, block.shape.nodes),
  }));
  const inCells = ({block}: ShellPart, nodal: tf.Tensor): tf.Tensor =>
    tf.reshape(tf.gather(nodal, tf.tensor1d(block.nodes, 'int32')), [block.count, block.shape.nodes, 3]);
  const geometry = (part: ShellPart, X: tf.Tensor): {readonly [name: string]: tf.Tensor} => ({
    X: inCells(part, X),
    D: inCells(part, directorsFrom(X)),
    ...framesOf(inCells(part, X), part),
  });
  const fixed = parts.map(part =>
    Object.fromEntries(
      geometryNames.map(name => [name, evaluated(() => geometry(part, reference())[name], {q: 0})] as const),
    ),
  );
  const elements = (params: Params): ElementGroup[] =>
    parts.map((part, i) => {
      const own = coefficientsIn(part, coefficients, params);
      return {
        rows: part.rows,
        data: {...(points === undefined ? fixed[i] : geometry(part, points(params))), ...own.data},
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
    owner: 'shell',
    mesh,
    blocks,
    degrees,
    points,
    elements,
    density,
    section: thickness,
    inertia: params => {
      const {per, tensor} = thickness(params);
      return {per, tensor: tf.div(tf.pow(tensor, 3), 12)};
    },
    mass: options.mass,
    isMassConstant: [options.density, options.thickness].every(value => plainNumbers(value) !== undefined),
    loads: options.loads,
    isLinear: false,
    // A small rotation ω changes d by ω × d: couples M are forces M × d / |d|² on it.
    couples: (couples, nodal, params) => {
      const d = direction(nodal, params);
      const force = tf.div(crossRows(couples, d), tf.sum(tf.square(d), -1, true));
      return tf.concat([tf.zeros([nodes, 3]), force], 1);
    },
    damping: options.damping,
    warnings: [],
    surface: Object.fromEntries(blocks.map(({shape, nodes: all}) => [shape.type, all])),
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

const sumOf = (terms: readonly tf.Tensor[]): tf.Tensor => terms.reduce((total, term) => tf.add(total, term));
const dot = (a: readonly tf.Tensor[], b: readonly tf.Tensor[]): tf.Tensor => sumOf(a.map((x, i) => tf.mul(x, b[i])));

function crossRows(a: tf.Tensor, b: tf.Tensor): tf.Tensor {
  const turned = (x: tf.Tensor, by: number): tf.Tensor =>
    tf.concat([tf.slice(x, [0, by], [-1, 3 - by]), tf.slice(x, [0, 0], [-1, by])], 1);
  return tf.sub(tf.mul(turned(a, 1), turned(b, 2)), tf.mul(turned(a, 2), turned(b, 1)));
}

/** Tangents of values [cells, nodes, 3] at points, by reference coordinate and component, [cells, points]. */
function tangentVectors(values: tf.Tensor, rule: CellRule): tf.Tensor[][] {
  const [cells, n] = values.shape;
  const T = tangentsOf(values, cells, n, 3, rule);
  return [0, 1].map(alpha => T.map(row => row[alpha]));
}

const geometryNames = ['X', 'D', 'a', 'b', 'c', 'weights'];

/**
 * Derivatives of reference coordinates by lengths along an orthonormal basis at points whose first vector is the first
 * tangent: ∂ξ/∂s₁ = a, ∂ξ/∂s₂ = b, ∂η/∂s₂ = c; and areas. All are [cells, points].
 */
function framesOf(X: tf.Tensor, {rule}: ShellPart): {readonly [name: string]: tf.Tensor} {
  const [first, second] = tangentVectors(X, rule);
  const length = tf.sqrt(dot(first, first));
  const along = tf.div(dot(first, second), length);
  const rest = second.map((x, i) => tf.sub(x, tf.mul(along, tf.div(first[i], length))));
  const across = tf.sqrt(dot(rest, rest));
  return {
    a: tf.div(1, length),
    b: tf.neg(tf.div(along, tf.mul(length, across))),
    c: tf.div(1, across),
    weights: tf.mul(tf.mul(length, across), constantTensor(rule.weights, [1, rule.count])),
  };
}

/** Energies of cells: membrane, bending and shear at points, and of the directors' lengths, [cells, points]. */
function shellEnergies(
  {block, rule}: ShellPart,
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
  const strain = (i: number, j: number): tf.Tensor =>
    tf.mul(0.5, sumOf([dot(G[i], U[j]), dot(U[i], G[j]), dot(U[i], U[j])]));
  const oneSide = (i: number, j: number): tf.Tensor => sumOf([dot(G[i], W[j]), dot(U[i], H[j]), dot(U[i], W[j])]);
  const curvature = (i: number, j: number): tf.Tensor => tf.mul(0.5, tf.add(oneSide(i, j), oneSide(j, i)));
  const shear = tiedShears(block.shape.type, {X, u, D, turned}, rule);

  const [a, b, c, weights] = ['a', 'b', 'c', 'weights'].map(atPoints);
  /** Components of a surface tensor in the orthonormal basis: 11, 22 and 12. */
  const local = (of: (i: number, j: number) => tf.Tensor): tf.Tensor[] => {
    const [xx, xy, yy] = [of(0, 0), of(0, 1), of(1, 1)];
    return [
      tf.mul(tf.square(a), xx),
      sumOf([tf.mul(tf.square(b), xx), tf.mul(tf.mul(2, tf.mul(b, c)), xy), tf.mul(tf.square(c), yy)]),
      tf.mul(a, tf.add(tf.mul(b, xx), tf.mul(c, xy))),
    ];
  };
  const {thickness, E, nu} = own.at(data);
  const planeStress = ([xx, yy, xy]: readonly tf.Tensor[]): tf.Tensor =>
    tf.sub(tf.square(tf.add(xx, yy)), tf.mul(tf.mul(2, tf.sub(1, nu)), tf.sub(tf.mul(xx, yy), tf.square(xy))));
  const stiffness = tf.div(tf.mul(E, thickness), tf.sub(1, tf.square(nu)));
  const shearStiffness = tf.div(tf.mul(shearCorrection, tf.mul(E, thickness)), tf.mul(2, tf.add(1, nu)));
  const membrane = planeStress(local(strain));
  const bending = tf.mul(tf.div(tf.square(thickness), 12), planeStress(local(curvature)));
  const sheared = tf.add(tf.square(tf.mul(a, shear[0])), tf.square(tf.add(tf.mul(b, shear[0]), tf.mul(c, shear[1]))));
  // At a quarter of the shear stiffness a director is as stiff along its length as in a shear.
  const lengths = tf.mul(0.25, tf.mean(tf.square(excess), 1));
  return tf.mul(
    tf.mul(0.5, weights),
    tf.add(tf.mul(stiffness, tf.add(membrane, bending)), tf.mul(shearStiffness, tf.add(sheared, lengths))),
  );
}
