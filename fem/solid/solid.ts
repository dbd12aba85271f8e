/** Deformable bodies: cells of a mesh with an energy of the deformation, as a mechanical system. */
import * as tf from '@tensorflow/tfjs';
import {any, list, nonNegative, object, oneOf, optional, readOptions, requireValue, typed} from '../../lib/checks.js';
import {elements, OptionError, traced, type MechanicalSystem, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant} from '../../lib/internal.js';
import type {Cells} from '../mesh/cell-types.js';
import type {Mesh} from '../mesh/mesh.js';
import {boundary} from '../mesh/topology.js';
import {
  bodyBlocks,
  geometryOf,
  ruleFor,
  tracedGeometry,
  type CellBlock,
  type Geometry,
  type CellRule,
} from './blocks.js';
import {fieldOf, plainNumbers, ranges, type FieldCoefficient, type ReadField} from './coefficient.js';
import {Deformation, type Components} from './deformation.js';
import {evaluated, type NumericState} from './evaluate.js';
import {spreadVectors, thicknessAtNodes, volumesOf} from './integrals.js';
import type {Load, LoadPlace, Support} from './loads.js';
import {massOf} from './mass.js';
import {materialOf, type EnergyOfF, type Material, type PointCoefficients} from './materials.js';
import {probeOf} from './probe.js';
import {averaged, cauchyOf, greenStrainOf, vonMises, type StressKind, type StressPlace} from './stress.js';
import {degreesOf} from './supports.js';

const solidOptions = {
  /** Cells of the dimension of its points fill the body; others, such as boundary lines, are ignored. */
  mesh: typed<Mesh>(object),
  /** A law of `materials`, or an energy by volume of F [points, 3, 3] that returns [points]. */
  material: typed<Material | EnergyOfF>(any),
  /** Density by reference volume. Statics without gravity do not depend on it. */
  density: typed<FieldCoefficient>(),
  /** What a plane body does across its plane. Default 'strain': nothing. */
  plane: optional(oneOf('strain', 'stress'), 'strain'),
  /** Thickness of a plane body. Default 1. */
  thickness: optional(typed<FieldCoefficient>()),
  /** 'lumped' (default) to nodes; 'consistent' as a matrix, for small bodies. */
  mass: optional(oneOf('lumped', 'consistent'), 'lumped'),
  /**
   * 'displacement' (default); for nearly incompressible materials in quad4 and hex8 cells 'F-bar', where the change of
   * volume of each cell is that in its middle, or 'mixed', where it is the mean of the cell (Q1P0).
   */
  formulation: optional(oneOf('displacement', 'F-bar', 'mixed'), 'displacement'),
  supports: optional(typed<readonly Support[]>(list), []),
  loads: optional(typed<readonly Load[]>(list), []),
  /** Rayleigh's: `mass` · M + `stiffness` · K of the current position. */
  damping: optional(typed<{readonly mass?: number; readonly stiffness?: number}>(object), {}),
  /** Reference positions, [nodes, axes], as a function of params: gradients by a shape. Default those of the mesh. */
  points: optional(typed<Bivariant<Params, tf.Tensor>>()),
};

/** The argument of `solid`. */
export interface SolidSpec {
  readonly mesh: Mesh;
  readonly material: Material | EnergyOfF;
  readonly density: FieldCoefficient;
  readonly plane?: 'strain' | 'stress';
  readonly thickness?: FieldCoefficient;
  readonly mass?: 'lumped' | 'consistent';
  readonly formulation?: 'displacement' | 'F-bar' | 'mixed';
  readonly supports?: readonly Support[];
  readonly loads?: readonly Load[];
  readonly damping?: {readonly mass?: number; readonly stiffness?: number};
  readonly points?: Bivariant<Params, tf.Tensor>;
}

/** A state of a body inside a traced function: free displacements, the time (default 0), and parameters. */
export interface BodyState {
  readonly q: tf.Tensor;
  readonly t?: tf.Tensor;
  readonly params?: Params;
}

/** A deformable body: a mechanical system whose q are the displacements of the free degrees of freedom, [free]. */
export interface Body extends MechanicalSystem {
  readonly mesh: Mesh;
  /** Free degrees of freedom, node · axes + axis. */
  readonly free: Int32Array;
  /** The undeformed body at rest, to start from. */
  readonly start: {readonly q: Float64Array; readonly v: Float64Array};
  /** Rigid motions that no support prevents, by name. */
  readonly freeMotions: readonly string[];
  /** What may make results wrong, such as locking. */
  readonly warnings: readonly string[];
  /** The boundary's facets. */
  readonly surface: Cells;
  /** Displacements of all nodes, [nodes, axes]. */
  displacement(at: BodyState): tf.Tensor;
  /**
   * Stresses: 'cauchy' [.., 3, 3], or 'vonMises' [..]. At 'nodes' (default; extrapolated in each cell, then averaged),
   * in 'cells' (means), or at 'points' of quadrature, cell by cell. Only in traced functions, or in `evaluate`.
   */
  stress(kind: StressKind, at: BodyState, where?: StressPlace): tf.Tensor;
  /** Strains (F ᵀF − I)/2, or the small ones of `linearElastic`, [.., 3, 3]; places as those of stresses. */
  strain(at: BodyState, where?: StressPlace): tf.Tensor;
  /** Stored elastic energy, []. */
  energy(at: BodyState): tf.Tensor;
  /** Forces that hold supported nodes where they are, [nodes, axes]; zero at other nodes in equilibrium. */
  reaction(at: BodyState): tf.Tensor;
  /**
   * Displacements at reference positions.
   * @returns a function of a state that returns [places, axes]
   * @throws OptionError where a place lies outside of the body
   */
  probe(places: readonly (readonly number[])[]): (at: BodyState) => tf.Tensor;
  /**
   * Numbers of a state in double precision: `body.evaluate(at => body.energy(at), {q, params})`.
   * @returns what the function returns, row-major
   */
  evaluate(f: (at: Required<BodyState>) => tf.Tensor, state: NumericState): Float64Array;
}

/** One type of cells with its rule and its numbers. */
interface Part {
  readonly block: CellBlock;
  readonly rule: CellRule;
  readonly rows: readonly (readonly number[])[];
  readonly geometry: Geometry;
  readonly centre?: Geometry;
}

/** Data of cells, with cells along the first axis. */
interface CellData {
  readonly [name: string]: Float64Array | tf.Tensor;
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
export function solid(spec: SolidSpec): Body {
  const options = readOptions(spec, solidOptions, 'solid', 'bad-solid');
  const {mesh, plane, formulation, loads, damping, points} = options;
  const material = materialOf(options.material);
  const d = mesh.dimension;
  const blocks = bodyBlocks(mesh);
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
  const {mass: alpha = 0, stiffness: beta = 0} = damping;
  requireValue(alpha, nonNegative, 'solid: damping.mass');
  requireValue(beta, nonNegative, 'solid: damping.stiffness');

  const degrees = degreesOf(mesh, options.supports);
  const fields = Object.entries(material.coefficients).map(([name, given]) => ({
    name,
    read: fieldOf(given, `${material.name}: ${name}`, counts, material.ranges[name]),
  }));
  const thickness = fieldOf(options.thickness ?? 1, 'solid: thickness', counts, ranges.positive);
  const density = fieldOf(options.density, 'solid: density', counts, ranges.nonNegative);

  const fixedParts = blocks.map((block): Part => {
    const rule = ruleFor(block.shape.type, 'stiffness');
    const rows = Array.from({length: block.count}, (_, e) =>
      Array.from(block.nodes.subarray(e * block.shape.nodes, (e + 1) * block.shape.nodes)),
    );
    const geometry = geometryOf(block, mesh.points, rule);
    if (formulation !== 'F-bar') return {block, rule, rows, geometry};
    return {block, rule, rows, geometry, centre: geometryOf(block, mesh.points, ruleFor(block.shape.type, 'centre'))};
  });
  const positions = (params: Params): tf.Tensor =>
    points === undefined ? constantTensor(mesh.points, [counts.nodes, d]) : points(params);
  const partsAt = (params: Params): readonly Part[] => {
    if (points === undefined) return fixedParts;
    const X = positions(params);
    return fixedParts.map(part => ({
      ...part,
      geometry: tracedGeometry(part.block, X, part.rule),
      ...(part.centre === undefined
        ? {}
        : {centre: tracedGeometry(part.block, X, ruleFor(part.block.shape.type, 'centre'))}),
    }));
  };

  /** Numbers of the cells of a part that the energy reads, and coefficients that are one for all. */
  const dataOf = (part: Part, params: Params): {data: CellData; uniform: PointCoefficients} => {
    const data: Record<string, Float64Array | tf.Tensor> = {
      gradients: part.geometry.gradients,
      weights: part.geometry.weights,
    };
    if (part.centre !== undefined) data.centre = part.centre.gradients;
    const uniform: Record<string, tf.Tensor> = {};
    const add = (name: string, field: ReadField): void => {
      if (field.per === 'body') uniform[name] = tf.reshape(field.tensor, []);
      else data[name] = cellRows(part.block, field);
    };
    for (const {name, read} of fields) add(`coefficient.${name}`, read(params));
    if (d === 2) add('thickness', thickness(params));
    return {data, uniform};
  };

  /** The deformation of cells at their points, [cells, points]; u is [cells, nodes, axes]. */
  const deformed = (
    {block, rule}: Part,
    u: tf.Tensor,
    data: {readonly [name: string]: tf.Tensor},
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

  const coefficientsOf = (
    part: Part,
    cells: number,
    data: {readonly [name: string]: tf.Tensor},
    uniform: PointCoefficients,
  ): PointCoefficients =>
    Object.fromEntries(
      fields.map(({name}) => {
        const key = `coefficient.${name}`;
        return [name, uniform[key] ?? atPoints(part, cells, data[key])];
      }),
    );

  /** Energies at the points of cells times their volumes, [cells, points]. */
  const energies = (
    part: Part,
    u: tf.Tensor,
    data: {readonly [name: string]: tf.Tensor},
    uniform: PointCoefficients,
    params: Params,
  ): tf.Tensor => {
    const cells = u.shape[0];
    const coefficients = coefficientsOf(part, cells, data, uniform);
    const W = material.energy(deformed(part, u, data, coefficients), coefficients, params);
    const volumes = tf.mul(tf.reshape(data.weights, [cells, part.rule.count]), W);
    if (d === 3) return volumes;
    return tf.mul(volumes, uniform.thickness ?? atPoints(part, cells, data.thickness));
  };

  const internalForce = (u: tf.Tensor, params: Params): tf.Tensor =>
    partsAt(params)
      .map(part => {
        const {data, uniform} = dataOf(part, params);
        const term = elements({
          nodes: part.rows,
          data,
          energy: ({x, data: own, params: inner}) => tf.sum(energies(part, tf.expandDims(x, 0), own, uniform, inner)),
        });
        return term({q: u, v: u, t: tf.scalar(0), params});
      })
      .reduce((sum, force) => tf.add(sum, force));

  const preparedLoads = loads.map(load => load.prepare(mesh));
  const volumes = (params: Params): ReturnType<typeof volumesOf>[] =>
    fixedParts.map(({block}) => volumesOf(block, mesh.points, points === undefined ? undefined : positions(params)));
  const loadPlace = (u: tf.Tensor, t: tf.Tensor, params: Params): LoadPlace => {
    const X = positions(params);
    return {
      mesh,
      u,
      X,
      t,
      params,
      isLinear: material.isLinear,
      ...(d === 3 ? {} : {thickness: thicknessAtNodes(thickness(params), blocks, counts.nodes)}),
      spread: (field, by) => {
        const scale = [...(d === 2 ? [thickness(params)] : []), ...(by === 'mass' ? [density(params)] : [])];
        return spreadVectors(volumes(params), field, {X, t, params}, scale);
      },
    };
  };
  const externalForce = (u: tf.Tensor, t: tf.Tensor, params: Params): tf.Tensor | undefined => {
    if (preparedLoads.length === 0) return undefined;
    const place = loadPlace(u, t, params);
    return preparedLoads.map(load => load(place)).reduce((sum, force) => tf.add(sum, force));
  };

  const stateOf = ({q, t = constantTensor(0, []), params = {}}: BodyState): Required<BodyState> => ({q, t, params});
  const displacement = (at: BodyState): tf.Tensor => {
    const {q, t, params} = stateOf(at);
    return degrees.displacement({q, X: positions(params), t, params});
  };
  const nodalForce = (at: BodyState): tf.Tensor => {
    const {t, params} = stateOf(at);
    const u = displacement(at);
    const inner = internalForce(u, params);
    const outer = externalForce(u, t, params);
    return outer === undefined ? inner : tf.add(inner, outer);
  };

  const isConstantMass =
    points === undefined && [options.density, options.thickness ?? 1].every(given => plainNumbers(given) !== undefined);
  const mass = massOf({mesh, blocks, degrees, kind: options.mass, density, thickness, volumes}, isConstantMass);
  const massTimes = (v: tf.Tensor, params: Params): tf.Tensor => {
    const M = typeof mass === 'function' ? mass({q: v, params}) : constantTensor(mass as Float64Array, [v.size]);
    return M.rank === 2 ? tf.reshape(tf.matMul(M, tf.reshape(v, [-1, 1])), v.shape) : tf.mul(M, v);
  };

  const forces: MechanicalSystem['forces'][number][] = [at => degrees.restricted(nodalForce(at))];
  if (alpha > 0) forces.push(({v, params}) => tf.mul(-alpha, massTimes(v, params)));
  if (beta > 0)
    forces.push(({q, v, t, params}) => {
      const force = (at: {readonly [name: string]: tf.Tensor}): tf.Tensor =>
        degrees.restricted(internalForce(displacement({q: at.q, t: at.t, params}), params));
      return tf.mul(beta, traced.derivativeAlong(force, {q, t}, {q: v, t: tf.onesLike(t)}));
    });

  /** Each part's cells: displacements, data and coefficients with cells along the first axis. */
  const partStates = (
    at: BodyState,
  ): {
    part: Part;
    deformation: Deformation;
    coefficients: PointCoefficients;
    weights: tf.Tensor;
    energies: tf.Tensor;
  }[] => {
    const {params} = stateOf(at);
    const u = displacement(at);
    return partsAt(params).map(part => {
      const {block, rule} = part;
      const {data: given, uniform} = dataOf(part, params);
      const data = Object.fromEntries(
        Object.entries(given).map(([name, value]) => [
          name,
          value instanceof tf.Tensor ? value : constantTensor(value, [block.count, value.length / block.count]),
        ]),
      );
      const own = tf.reshape(tf.gather(u, tf.tensor1d(block.nodes, 'int32')), [block.count, block.shape.nodes, d]);
      const coefficients = coefficientsOf(part, block.count, data, uniform);
      return {
        part,
        coefficients,
        deformation: deformed(part, own, data, coefficients),
        weights: tf.reshape(data.weights, [block.count, rule.count]),
        energies: energies(part, own, data, uniform, params),
      };
    });
  };
  const tensorField = (
    at: BodyState,
    where: StressPlace,
    of: (deformation: Deformation, energy: (changed: Deformation) => tf.Tensor) => tf.Tensor,
  ): tf.Tensor => {
    const {params} = stateOf(at);
    const all = partStates(at).map(({part, deformation, coefficients, weights}) => ({
      ...part,
      weights,
      values: of(deformation, changed => material.energy(changed, coefficients, params)),
    }));
    return averaged(all, where, counts.nodes);
  };

  return {
    kind: 'mechanics',
    mass,
    forces,
    constraints: [],
    notFinite: 'Is a cell of the body inverted? Take smaller steps of load or time, or a finer mesh there.',
    mesh,
    free: degrees.free,
    start: {q: new Float64Array(degrees.free.length), v: new Float64Array(degrees.free.length)},
    freeMotions: degrees.freeMotions,
    warnings: lockingWarnings(material, formulation, isPlaneStress),
    surface: boundary(mesh),
    displacement,
    stress: (kind, at, where = 'nodes') => {
      requireValue(kind, oneOf('cauchy', 'vonMises'), 'stress: kind');
      const cauchy = tensorField(at, where, (deformation, energy) => cauchyOf(deformation, energy, material.isLinear));
      return kind === 'cauchy' ? cauchy : vonMises(cauchy);
    },
    strain: (at, where = 'nodes') =>
      tensorField(at, where, deformation => greenStrainOf(deformation, material.isLinear)),
    energy: at =>
      partStates(at)
        .map(({energies: E}) => tf.sum(E))
        .reduce((sum, E) => tf.add(sum, E)),
    reaction: at => {
      const nodal = tf.neg(nodalForce(at));
      const supported = new Float64Array(mesh.points.length).fill(1);
      for (const degree of degrees.free) supported[degree] = 0;
      return tf.mul(nodal, constantTensor(supported, [counts.nodes, d]));
    },
    probe: places => {
      const read = probeOf(mesh, blocks, places);
      return at => read(displacement(at));
    },
    evaluate: (f, state) => evaluated(f, state),
  };
}

/** A field's rows of the cells of a block: [cells], or [cells, nodes of a cell]. */
export function cellRows({nodes, count, shape, first}: CellBlock, {per, tensor}: ReadField): tf.Tensor {
  if (per === 'cells') return tf.slice(tf.reshape(tensor, [-1]), [first], [count]);
  return tf.reshape(tf.gather(tf.reshape(tensor, [-1]), tf.tensor1d(nodes, 'int32')), [count, shape.nodes]);
}

/** Rows of `cellRows` at points: [cells, 1] or [cells, points]. */
function atPoints({block, rule}: Part, cells: number, value: tf.Tensor): tf.Tensor {
  if (value.size === cells) return tf.reshape(value, [cells, 1]);
  const N = constantTensor(rule.N, [rule.count, block.shape.nodes]) as tf.Tensor2D;
  return tf.matMul(tf.reshape(value, [cells, block.shape.nodes]), N, false, true);
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

function lockingWarnings({name, coefficients}: Material, formulation: string, isPlaneStress: boolean): string[] {
  if (formulation !== 'displacement' || isPlaneStress || coefficients.nu === undefined) return [];
  const most = plainNumbers(coefficients.nu)?.reduce((a, b) => Math.max(a, b)) ?? 0;
  if (most < 0.49) return [];
  return [
    `${name}: nu is ${most}: nearly incompressible cells lock, and move too little, in formulation 'displacement'. `
      + "Take 'F-bar' or 'mixed'.",
  ];
}
