/** Deformable bodies: cells of a mesh with an energy of the deformation, as a mechanical system. */
import * as tf from '@tensorflow/tfjs';
import {any, object, oneOf, optional, readOptions, requireValue, typed} from '../../lib/checks.js';
import {OptionError, type Params} from '../../lib/index.js';
import type {Bivariant} from '../../lib/internal.js';
import {
  bodyBlocks,
  geometryOf,
  ruleFor,
  tracedGeometry,
  type CellBlock,
  type CellRule,
  type Geometry,
} from '../body/blocks.js';
import {bodyOf, bodyOptions, stateOf, type Body, type BodyState, type RayleighDamping} from '../body/body.js';
import {coefficientsIn, type CellCoefficients} from '../body/cell-coefficients.js';
import {fieldOf, plainNumbers, ranges, type FieldCoefficient} from '../body/coefficient.js';
import {elementsAt, nodeRows, type ElementGroup, type ElementsAt} from '../body/elements.js';
import type {Load, Support} from '../body/loads.js';
import {degreesOf} from '../body/supports.js';
import type {Mesh} from '../mesh/mesh.js';
import {Deformation, type Components} from './deformation.js';
import {materialOf, type EnergyOfF, type Material, type PointCoefficients} from './materials.js';
import {averaged, cauchyOf, greenStrainOf, vonMises, type StressKind, type StressPlace} from './stress.js';

/** The thickness among the coefficients, by a name that no material has. */
const thicknessName = 'solid.thickness';

const solidOptions = {
  /** Cells of the dimension of its points fill the body; others, such as boundary lines, are ignored. */
  mesh: typed<Mesh>(object),
  /** A law of `materials`, or an energy by volume of F [points, 3, 3] that returns [points]. */
  material: typed<Material | EnergyOfF>(any),
  /** Density by reference volume. It may be left out of a body that is only asked for its equilibrium. */
  density: optional(typed<FieldCoefficient>()),
  /** What a plane body does across its plane. Default 'strain': nothing. */
  plane: optional(oneOf('strain', 'stress'), 'strain'),
  /** Thickness of a plane body. Default 1. */
  thickness: optional(typed<FieldCoefficient>()),
  /** 'lumped' (default) to nodes; 'consistent' as a sparse matrix. */
  mass: optional(oneOf('lumped', 'consistent'), 'lumped'),
  /**
   * 'displacement' (default); for nearly incompressible materials in quad4 and hex8 cells 'F-bar', where the change of
   * volume of each cell is that in its middle, or 'mixed', where it is the mean of the cell (Q1P0).
   */
  formulation: optional(oneOf('displacement', 'F-bar', 'mixed'), 'displacement'),
  ...bodyOptions,
};

/** The argument of `solid`. */
export interface SolidSpec {
  readonly mesh: Mesh;
  readonly material: Material | EnergyOfF;
  readonly density?: FieldCoefficient;
  readonly plane?: 'strain' | 'stress';
  readonly thickness?: FieldCoefficient;
  readonly mass?: 'lumped' | 'consistent';
  readonly formulation?: 'displacement' | 'F-bar' | 'mixed';
  readonly supports?: readonly Support[];
  readonly loads?: readonly Load[];
  readonly damping?: RayleighDamping;
  readonly points?: Bivariant<Params, tf.Tensor>;
}

/** A body of a material, with its stresses and strains. */
export interface SolidBody extends Body {
  /**
   * Stresses: 'cauchy' [.., 3, 3], or 'vonMises' [..]. At 'nodes' (default; extrapolated in each cell, then averaged),
   * in 'cells' (means), or at 'points' of quadrature, cell by cell. Only in traced functions, or in `evaluate`.
   */
  stress(kind: StressKind, at: BodyState, where?: StressPlace): tf.Tensor;
  /** Strains (F ᵀF − I)/2, or the small ones of `linearElastic`, [.., 3, 3]; places as those of stresses. */
  strain(at: BodyState, where?: StressPlace): tf.Tensor;
}

/** One type of cells with its rule and its numbers. */
interface Part {
  readonly block: CellBlock;
  readonly rule: CellRule;
  readonly rows: ElementGroup['rows'];
  readonly geometry: Geometry;
  readonly centre?: Geometry;
}

/**
 * A body of a mesh, a material, supports and loads; a mechanical system for `simulate`, `equilibrium` and `identify`.
 * Gradients reach every coefficient that is a function of `params`, a tensor or a variable.
 * @throws OptionError for unknown sets, contradictory supports, inverted cells, constants outside of their range, and
 *   what a formulation or plane stress does not allow
 * @example
 * ```ts
 * import {equilibrium} from 'stiffgrad';
 * import {box, loads, materials, solid, supports} from 'stiffgrad/fem';
 *
 * const bar = solid({
 *   mesh: box([4, 1], [8, 2]),
 *   material: materials.linearElastic({E: 1000, nu: 0}),
 *   density: 1,
 *   supports: [supports.held('left')],
 *   loads: [loads.traction('right', [10, 0])],
 * });
 * const {q} = equilibrium(bar, {q: bar.start.q});
 * console.log(Math.max(...q.dataSync()).toFixed(4)); // → 0.0400
 * ```
 */
export function solid(spec: SolidSpec): SolidBody {
  const options = readOptions(spec, solidOptions, 'solid', 'bad-solid');
  const {mesh, plane, formulation, loads, damping, points} = options;
  const material = materialOf(options.material);
  const d = mesh.dimension;
  const blocks = bodyBlocks(mesh, 'solid', mesh.dimension);
  const counts = {cells: blocks.reduce((sum, {count}) => sum + count, 0), nodes: mesh.points.length / d};
  requireFormulation(formulation, blocks);
  const isPlaneStress = d === 2 && plane === 'stress';
  if (isPlaneStress && material.thinning === undefined)
    throw new OptionError(
      'bad-plane',
      `solid: plane stress is not available for ${material.name}: use linearElastic, stVenantKirchhoff or neoHookean, `
        + 'or a thin body of hexahedra.',
    );
  if (isPlaneStress && formulation !== 'displacement')
    throw new OptionError('bad-plane', 'solid: plane stress does not lock: take formulation "displacement".');
  if (d === 3 && (spec.plane !== undefined || spec.thickness !== undefined))
    throw new OptionError('bad-plane', 'solid: plane and thickness are for bodies in the plane; this one is in space.');

  const degrees = degreesOf(mesh, options.supports);
  const fields = Object.fromEntries(
    Object.entries(material.coefficients).map(([name, given]) => [
      name,
      fieldOf(given, `${material.name}: ${name}`, counts, material.ranges[name]),
    ]),
  );
  const section = d === 3 ? undefined : fieldOf(options.thickness ?? 1, 'solid: thickness', counts, ranges.positive);
  const density =
    options.density === undefined ? undefined : fieldOf(options.density, 'solid: density', counts, ranges.nonNegative);

  const fixedParts = blocks.map((block): Part => {
    const rule = ruleFor(block.shape.type, 'stiffness');
    const rows = nodeRows(block.nodes, block.shape.nodes);
    const geometry = geometryOf(block, mesh.points, rule);
    if (formulation !== 'F-bar') return {block, rule, rows, geometry};
    return {block, rule, rows, geometry, centre: geometryOf(block, mesh.points, ruleFor(block.shape.type, 'centre'))};
  });
  const partsAt = (params: Params): readonly Part[] => {
    if (points === undefined) return fixedParts;
    const X = points(params);
    return fixedParts.map(part => ({
      ...part,
      geometry: tracedGeometry(part.block, X, part.rule),
      ...(part.centre === undefined
        ? {}
        : {centre: tracedGeometry(part.block, X, ruleFor(part.block.shape.type, 'centre'))}),
    }));
  };

  /** The deformation of cells at their points, [cells, points]; x are the displacements, [cells, nodes, axes]. */
  const deformed = (
    {block, rule}: Part,
    {x: u, data}: Pick<ElementsAt, 'x' | 'data'>,
    coefficients: PointCoefficients,
  ): Deformation => {
    const cells = u.shape[0];
    const raw = new Deformation(displacementGradient(u, data.gradients, block.shape.nodes, d, rule.count));
    if (isPlaneStress) return raw.thickened(material.thinning!(raw, coefficients));
    if (formulation === 'displacement') return raw;
    const measure = ({trace, volumeChange}: Pick<Deformation, 'trace' | 'volumeChange'>): tf.Tensor =>
      material.isLinear ? trace : volumeChange;
    const own = measure(raw);
    let common: tf.Tensor;
    if (formulation === 'F-bar')
      common = measure(new Deformation(displacementGradient(u, data.centre, block.shape.nodes, d, 1)));
    else {
      const weights = tf.reshape(data.weights, [cells, rule.count]);
      common = tf.div(tf.sum(tf.mul(weights, own), -1, true), tf.sum(weights, -1, true));
    }
    if (material.isLinear) return raw.widened(tf.div(tf.sub(common, own), d), d);
    return raw.scaled(tf.expm1(tf.div(tf.sub(tf.log1p(common), tf.log1p(own)), d)), d);
  };

  const all = section === undefined ? fields : {...fields, [thicknessName]: section};
  /** The elements of a part, and its coefficients from their data. */
  const elementsOf = (part: Part, params: Params): ElementGroup & {readonly at: CellCoefficients['at']} => {
    const {block, rule, rows, geometry, centre} = part;
    const {data, at} = coefficientsIn({block, rule}, all, params);
    return {
      rows,
      at,
      data: {
        gradients: geometry.gradients,
        weights: geometry.weights,
        ...(centre === undefined ? {} : {centre: centre.gradients}),
        ...data,
      },
      energies: own => {
        const coefficients = at(own.data);
        const W = material.energy(deformed(part, own, coefficients), coefficients, own.params);
        const volumes = tf.mul(tf.reshape(own.data.weights, [own.x.shape[0], rule.count]), W);
        return section === undefined ? volumes : tf.mul(volumes, coefficients[thicknessName]);
      },
    };
  };

  const body = bodyOf({
    owner: 'solid',
    mesh,
    blocks,
    degrees,
    points,
    elements: params => partsAt(params).map(part => elementsOf(part, params)),
    density,
    section,
    mass: options.mass,
    isMassConstant: [options.density ?? 1, options.thickness ?? 1].every(given => plainNumbers(given) !== undefined),
    loads,
    isLinear: material.isLinear,
    damping,
    warnings: [...lockingWarnings(material, formulation, isPlaneStress), ...lumpingWarnings(options.mass, blocks)],
    notFinite: 'Is a cell of the body inverted? Take smaller steps of load or time, or a finer mesh there.',
  });
  const tensorField = (
    at: BodyState,
    where: StressPlace,
    of: (deformation: Deformation, energy: (changed: Deformation) => tf.Tensor) => tf.Tensor,
  ): tf.Tensor => {
    const {params} = stateOf(at);
    const u = body.displacement(at);
    const fieldsOfParts = partsAt(params).map(part => {
      const group = elementsOf(part, params);
      const own = elementsAt(group, u, params);
      const coefficients = group.at(own.data);
      return {
        ...part,
        weights: tf.reshape(own.data.weights, [part.block.count, part.rule.count]),
        values: of(deformed(part, own, coefficients), changed => material.energy(changed, coefficients, params)),
      };
    });
    return averaged(fieldsOfParts, where, counts.nodes);
  };
  return {
    ...body,
    stress: (kind, at, where = 'nodes') => {
      requireValue(kind, oneOf('cauchy', 'vonMises'), 'stress: kind');
      const cauchy = tensorField(at, where, (deformation, energy) => cauchyOf(deformation, energy, material.isLinear));
      return kind === 'cauchy' ? cauchy : vonMises(cauchy);
    },
    strain: (at, where = 'nodes') =>
      tensorField(at, where, deformation => greenStrainOf(deformation, material.isLinear)),
  };
}

/** H of cells at points, by components. */
function displacementGradient(u: tf.Tensor, gradients: tf.Tensor, n: number, d: number, np: number): Components {
  const cells = u.shape[0];
  const G = tf.reshape(gradients, [cells, n, d * np]);
  const H =
    cells === 1
      ? tf.matMul(tf.reshape<tf.Rank.R2>(u, [n, d]), tf.reshape<tf.Rank.R2>(G, [n, d * np]), true, false)
      : tf.matMul(u, G, true, false);
  const rows = tf.reshape(H, [cells, d, d, np]);
  const component = (i: number, j: number): tf.Tensor =>
    tf.reshape(tf.slice(rows, [0, i, j, 0], [cells, 1, 1, np]), [cells, np]);
  return [0, 1, 2].map(i => [0, 1, 2].map(j => (i < d && j < d ? component(i, j) : undefined)));
}

function requireFormulation(formulation: string, blocks: readonly CellBlock[]): void {
  if (formulation === 'displacement') return;
  const wrong = blocks.find(({shape}) => shape.type !== 'quad4' && shape.type !== 'hex8');
  if (wrong === undefined) return;
  throw new OptionError(
    'bad-formulation',
    `solid: formulation '${formulation}' is for quad4 and hex8 cells; the mesh has ${wrong.shape.type}. Take `
      + "quad4 or hex8 cells for nearly incompressible materials, or 'displacement'.",
  );
}

/** Cells of order 2 whose lumped masses are not the shares that consistent loads have of their volume. */
const unevenly: ReadonlySet<string> = new Set(['tri6', 'quad8', 'tet10', 'hex20']);

function lumpingWarnings(mass: 'lumped' | 'consistent', blocks: readonly CellBlock[]): string[] {
  const types = blocks.map(({shape}) => shape.type).filter(type => unevenly.has(type));
  if (mass === 'consistent' || types.length === 0) return [];
  return [
    `Lumped masses of ${types.join(', ')} cells are not in balance with consistent loads node by node: in motion, `
      + "weight leaves stresses that fall with the mesh's size alone. Take mass 'consistent'.",
  ];
}

function lockingWarnings({name, coefficients}: Material, formulation: string, isPlaneStress: boolean): string[] {
  if (formulation !== 'displacement' || isPlaneStress || coefficients.nu === undefined) return [];
  const most = plainNumbers(coefficients.nu)?.reduce((a, b) => Math.max(a, b)) ?? 0;
  if (most < 0.49) return [];
  return [
    `${name}: nu is ${most}: nearly incompressible cells lock, and move too little, in formulation 'displacement'. `
      + "Take 'F-bar' or 'mixed'.",
  ];
}
