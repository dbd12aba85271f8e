/**
 * Cloth: membranes whose edges are hinges. A hinge between two cells has the energy of the change of its angle, after
 * Grinspun, Hirani, Desbrun & Schröder (Discrete shells, SCA 2003); the membrane is that of `shell`.
 */
import * as tf from '@tensorflow/tfjs';
import {object, oneOf, optional, readOptions, typed} from '../../lib/checks.js';
import {OptionError, type ElementsSpec, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant, type ElementNodes} from '../../lib/internal.js';
import type {CellBlock} from '../body/blocks.js';
import {bodyOf, bodyOptions, type Body, type RayleighDamping} from '../body/body.js';
import {coefficientsIn} from '../body/cell-coefficients.js';
import type {FieldCoefficient, ReadField} from '../body/coefficient.js';
import {nodeRows, type ElementGroup} from '../body/elements.js';
import type {Load, Support} from '../body/loads.js';
import {degreesOf} from '../body/supports.js';
import type {Mesh} from '../mesh/mesh.js';
import {
  cross,
  dot,
  framesOf,
  inCells,
  inFrame,
  membraneStrain,
  planeStress,
  referenceData,
  sumOf,
  surfaceOf,
  tangentVectors,
  type NamedTensors,
} from './surface.js';

const clothOptions = {
  mesh: typed<Mesh>(object),
  thickness: typed<FieldCoefficient>(),
  E: typed<FieldCoefficient>(),
  nu: typed<FieldCoefficient>(),
  bending: optional(typed<FieldCoefficient>()),
  density: optional(typed<FieldCoefficient>()),
  ...bodyOptions,
  hessian: optional(oneOf('exact', 'projected', 'absolute'), 'projected'),
};

/** The argument of `cloth`. */
export interface ClothSpec {
  /** Surfaces in space, of tri3 and quad4 cells; their angles are those at rest. Neighbours go around in one sense. */
  readonly mesh: Mesh;
  readonly thickness: FieldCoefficient;
  /** Young's modulus of the membrane. */
  readonly E: FieldCoefficient;
  /** Poisson's ratio of the membrane. */
  readonly nu: FieldCoefficient;
  /** Moment by length and curvature, as a plate's E t³/(12 (1 − ν²)), which is the default. */
  readonly bending?: FieldCoefficient;
  /** Density by reference volume; none in statics without gravity. */
  readonly density?: FieldCoefficient;
  readonly supports?: readonly Support[];
  readonly loads?: readonly Load[];
  readonly damping?: RayleighDamping;
  /** Reference positions, [nodes, 3], as a function of params: gradients by a shape. Default those of the mesh. */
  readonly points?: Bivariant<Params, tf.Tensor>;
  /** Hessian as that of `elements`. Default 'projected': by 'exact' Newton's steps fail where cloth is slack. */
  readonly hessian?: ElementsSpec['hessian'];
}

/** Edges between two cells, each a triangle or a quadrilateral; or diagonals of quadrilaterals. */
interface Hinges {
  /** The ends of an edge, what lies opposite in the one cell, and in the other. */
  readonly rows: ElementNodes;
  readonly opposite: readonly [number, number];
  /** The two cells of each, by their numbers in the body. */
  readonly cells: Int32Array;
  /** The part of their energy that counts. */
  readonly factor: number;
}

/**
 * A body of cloth: it resists stretch, and little bending. Bent along cells of one shape to a cylinder, its energy is
 * that of a plate with the stiffness `bending`; other bending depends on how the cells lie, and `shell` is the body for
 * it. Pressures and tractions on the surface take its cells, `pressure(mesh.cells, p)`.
 * @throws OptionError for cells of other types, edges of more than two cells, cells that go around in opposite senses,
 *   unknown sets, and constants outside of their range
 * @example
 * ```ts
 * import {bdf2, simulate} from 'stiffgrad';
 * import {box, cloth, loads, mapped, supports} from 'stiffgrad/fem';
 *
 * const towel = cloth({
 *   mesh: mapped(box([1, 1], [4, 4], 'tri3'), ([x, y]) => [x, y, 0]),
 *   thickness: 1e-3,
 *   E: 1e5,
 *   nu: 0.3,
 *   density: 300,
 *   supports: [supports.held('left')],
 *   loads: [loads.gravity([0, 0, -9.81])],
 *   damping: {mass: 2},
 * });
 * const fallen = simulate(towel, towel.start, {scheme: bdf2(), dt: 0.05, steps: 80, saveAt: 'end'});
 * const q = fallen.values('q').slice(-towel.free.length);
 * console.log(towel.evaluate(towel.probe([[1, 0.5, 0]]), {q})[2].toFixed(1)); // → -1.0
 * ```
 */
export function cloth(spec: ClothSpec): Body {
  const options = readOptions(spec, clothOptions, 'cloth', 'bad-cloth');
  const {mesh, points, bending, hessian} = options;
  const {parts, blocks, nodes, coefficients, read, body} = surfaceOf('cloth', 'stiffness', options);
  const membranes = parts.map(part => ({
    part,
    data: referenceData(mesh, points, X => ({X: inCells(part, X), ...framesOf(inCells(part, X), part)})),
  }));
  const hinges = hingesOf(mesh, blocks).map(group => ({
    group,
    data: referenceData(mesh, points, X => restOf(group, tf.gather(X, tf.tensor1d(group.rows.table, 'int32')))),
  }));
  const given = bending === undefined ? undefined : read(bending, 'bending');
  const rigidity = (group: Hinges, params: Params): tf.Tensor => {
    const of = (field: ReadField): tf.Tensor => inHinges(group, field);
    if (given !== undefined) return of(given(params));
    const {thickness, E, nu} = coefficients;
    const [t, modulus, ratio] = [thickness, E, nu].map(field => of(field(params)));
    return tf.div(tf.mul(modulus, tf.pow(t, 3)), tf.mul(12, tf.sub(1, tf.square(ratio))));
  };
  const elements = (params: Params): ElementGroup[] => [
    ...membranes.map(({part, data}): ElementGroup => {
      const own = coefficientsIn(part, coefficients, params);
      return {
        rows: part.rows,
        data: {...data(params), ...own.data},
        hessian,
        energies: at => {
          const [cells, n] = at.x.shape;
          const [G, U] = [tf.reshape(at.data.X, [cells, n, 3]), at.x].map(values => tangentVectors(values, part.rule));
          const frame = Object.fromEntries(
            ['a', 'b', 'c', 'weights'].map(name => [name, tf.reshape(at.data[name], [cells, part.rule.count])]),
          );
          const {thickness, E, nu} = own.at(at.data);
          const stiffness = tf.div(tf.mul(E, thickness), tf.sub(1, tf.square(nu)));
          const strains = planeStress(inFrame(frame, membraneStrain(G, U)), nu);
          return tf.mul(tf.mul(0.5, frame.weights), tf.mul(stiffness, strains));
        },
      };
    }),
    ...hinges.map(({group, data}): ElementGroup => {
      const D = rigidity(group, params);
      return {
        rows: group.rows,
        data: {...data(params), ...(D.size === 1 ? {} : {rigidity: D})},
        hessian,
        energies: at => {
          const [count, n] = at.x.shape;
          const placed = tf.add(tf.reshape(at.data.X, [count, n, 3]), at.x);
          const change = tf.sub(tf.reshape(at.data.angle, [count]), anglesOf(group, placed).angle);
          const stiffness = tf.mul(at.data.rigidity ?? tf.reshape(D, []), tf.reshape(at.data.share, [count]));
          return tf.mul(0.5, tf.mul(stiffness, tf.square(change)));
        },
      };
    }),
  ];
  return bodyOf({
    ...body,
    owner: 'cloth',
    mesh,
    degrees: degreesOf(mesh, options.supports),
    points,
    elements,
    mass: 'lumped',
    loads: options.loads,
    isLinear: false,
    damping: options.damping,
    warnings: [],
    notFinite: 'Is a cell without area? Take smaller steps of load or time.',
  });

  function inHinges({rows, cells}: Hinges, {per, tensor}: ReadField): tf.Tensor {
    if (per === 'body') return tf.reshape(tensor, []);
    const [ids, width] = per === 'cells' ? [cells, 2] : [rows.table, rows.width];
    const values = tf.gather(tf.reshape(tensor, [per === 'cells' ? -1 : nodes]), tf.tensor1d(ids, 'int32'));
    return tf.mean(tf.reshape(values, [rows.count, width]), 1);
  }
}

/** @throws OptionError where an edge has more than two cells, or its cells go around in opposite senses */
function hingesOf(mesh: Mesh, blocks: readonly CellBlock[]): Hinges[] {
  interface Side {
    readonly ends: readonly [number, number];
    readonly opposite: readonly number[];
    readonly cell: number;
  }
  const sides = new Map<number, Side[]>();
  const count = mesh.points.length / 3;
  let cell = 0;
  for (const {nodes, shape} of blocks)
    for (let i = 0; i < nodes.length; i += shape.nodes, cell++)
      for (const [from, to] of shape.edges) {
        const ends = [nodes[i + from], nodes[i + to]] as const;
        const opposite = Array.from(nodes.subarray(i, i + shape.nodes)).filter(node => !ends.includes(node));
        const key = Math.min(...ends) * count + Math.max(...ends);
        sides.set(key, [...(sides.get(key) ?? []), {ends, opposite, cell}]);
      }
  const groups = new Map<string, {rows: number[][]; opposite: [number, number]; cells: number[]}>();
  for (const all of sides.values()) {
    if (all.length === 1) continue;
    const [first, second] = all[0].opposite.length <= all[1].opposite.length ? all : [all[1], all[0]];
    const what = all.length > 2 ? `has ${all.length} cells: at most two` : 'is run through in one sense by both cells';
    if (all.length > 2 || first.ends[0] !== second.ends[1])
      throw new OptionError(
        'bad-mesh',
        `cloth: the edge of nodes ${first.ends.join(' and ')} ${what}. Neighbours go around in one sense.`,
        {nodes: first.ends},
      );
    const opposite: [number, number] = [first.opposite.length, second.opposite.length];
    const group = groups.get(opposite.join()) ?? {rows: [], opposite, cells: []};
    groups.set(opposite.join(), group);
    group.rows.push([...first.ends, ...first.opposite, ...second.opposite]);
    group.cells.push(first.cell, second.cell);
  }
  const diagonals = diagonalsOf(blocks);
  return [
    ...Array.from(groups.values(), ({rows, opposite, cells}) => ({
      rows: nodeRows(Int32Array.from(rows.flat()), rows[0].length),
      opposite,
      cells: Int32Array.from(cells),
      factor: 1,
    })),
    ...(diagonals.rows.count > 0 ? [diagonals] : []),
  ];
}

/**
 * The diagonals of quadrilaterals, which their twist bends. At a quarter, a square twisted by κ has the plate's energy
 * D κ² by area at ν = 0: each diagonal, √2 h long, has the angle √2 κ h.
 */
function diagonalsOf(blocks: readonly CellBlock[]): Hinges {
  let first = 0;
  const all = blocks.flatMap(({nodes, shape, count}) => {
    const start = first;
    first += count;
    if (shape.nodes !== 4) return [];
    return Array.from({length: count}, (_, e) => {
      const [a, b, c, d] = nodes.subarray(4 * e, 4 * e + 4);
      return [[a, c, d, b], [b, d, a, c]].map(row => ({row, cell: start + e})); // prettier-ignore
    }).flat();
  });
  return {
    rows: nodeRows(Int32Array.from(all.flatMap(({row}) => row)), 4),
    opposite: [1, 1],
    cells: Int32Array.from(all.flatMap(({cell}) => [cell, cell])),
    factor: 1 / 4,
  };
}

/** Angles of hinges at positions [hinges, nodes, 3], and the squares of their edges by the mean height. */
function anglesOf({opposite: [one, two], factor}: Hinges, at: tf.Tensor): {angle: tf.Tensor; share: tf.Tensor} {
  const [count, n] = at.shape;
  const columns = tf.reshape(tf.transpose(at, [2, 0, 1]), [3 * count, n]);
  const combined = (factors: readonly number[]): tf.Tensor[] =>
    tf
      .split(tf.matMul(columns, constantTensor(factors, [n, 1])), 3, 0)
      .map(component => tf.reshape(component, [count]));
  const weights = (first: number, second: number): number[] => [
    ...[-1, 0],
    ...new Array<number>(one).fill(first / one),
    ...new Array<number>(two).fill(second / two),
  ];
  const edge = combined([-1, 1, ...new Array<number>(one + two).fill(0)]);
  const normals = [cross(edge, combined(weights(1, 0))), cross(combined(weights(0, 1)), edge)];
  const length = tf.sqrt(dot(edge, edge));
  return {
    angle: tf.atan2(tf.div(dot(edge, cross(normals[0], normals[1])), length), dot(normals[0], normals[1])),
    share: tf.div(tf.mul(2 * factor, dot(edge, edge)), sumOf(normals.map(normal => tf.sqrt(dot(normal, normal))))),
  };
}

/** What hinges at rest are like. */
function restOf(hinges: Hinges, rows: tf.Tensor): NamedTensors {
  const X = tf.reshape(rows, [hinges.rows.count, hinges.rows.width, 3]);
  return {X, ...anglesOf(hinges, X)};
}
