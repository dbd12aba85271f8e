/** Deformable bodies as mechanical systems, from parts: energies of elements, supports, loads, mass and damping. */
import * as tf from '@tensorflow/tfjs';
import {list, nonNegative, object, optional, requireValue, typed} from '../../lib/checks.js';
import {OptionError, traced, type MechanicalSystem, type Params} from '../../lib/index.js';
import {constantTensor, massAction, type Bivariant} from '../../lib/internal.js';
import {listed} from '../../lib/text.js';
import type {Cells} from '../mesh/cell-types.js';
import type {Mesh} from '../mesh/mesh.js';
import {boundary} from '../mesh/topology.js';
import type {CellBlock} from './blocks.js';
import type {ReadField} from './coefficient.js';
import {elementsAt, forceOf, type ElementGroup} from './elements.js';
import {evaluated, valueAndGradient, type NumericState, type StateGradient} from './evaluate.js';
import {sectionAtNodes, spreadVectors, volumesOf, type Volumes} from './integrals.js';
import type {Load, LoadPlace, Support} from './loads.js';
import {massOf} from './mass.js';
import {probeOf} from './probe.js';
import type {Degrees} from './supports.js';

/** A state of a body inside a traced function: free degrees of freedom, rates and time (default 0), and parameters. */
export interface BodyState {
  readonly q: tf.Tensor;
  readonly v?: tf.Tensor;
  readonly t?: tf.Tensor;
  readonly params?: Params;
}

/** A deformable body: a mechanical system whose q are the free degrees of freedom, [free]. */
export interface Body extends MechanicalSystem {
  readonly mesh: Mesh;
  /** Free degrees of freedom, node · components + component; the first components are the displacements. */
  readonly free: Int32Array;
  /** The undeformed body at rest, to start from. */
  readonly start: {readonly q: Float64Array; readonly v: Float64Array};
  /** Rigid motions that no support prevents, by name. */
  readonly freeMotions: readonly string[];
  /** What may make results wrong, such as locking. */
  readonly warnings: readonly string[];
  /** The facets that are drawn and touched: the boundary of a solid, the cells of a shell. */
  readonly surface: Cells;
  /** Displacements of all nodes, [nodes, axes]. */
  displacement(at: BodyState): tf.Tensor;
  /** Stored elastic energy, []. */
  energy(at: BodyState): tf.Tensor;
  /** Forces that hold supported nodes where they are, [nodes, components]; zero at other nodes in equilibrium. */
  reaction(at: BodyState): tf.Tensor;
  /** What loads are evaluated with, such as a contact's `gap` and `pressure`. */
  loadPlace(at: BodyState): LoadPlace;
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
  /**
   * A number of a state, and its derivatives by q and by params at this q, in double precision. In equilibrium, q
   * depends on params as well: add the pullback of the derivative by q (`equilibrium.vjp`).
   * @throws ShapeError 'not-scalar' where the function does not return one number
   */
  valueAndGrad(f: (at: Required<BodyState>) => tf.Tensor, state: NumericState): StateGradient;
}

/** Rayleigh's damping: `mass` · M + `stiffness` · K of the current position. */
export interface RayleighDamping {
  readonly mass?: number;
  readonly stiffness?: number;
}

/** Options that all bodies have. */
export const bodyOptions = {
  supports: optional(typed<readonly Support[]>(list), []),
  loads: optional(typed<readonly Load[]>(list), []),
  damping: optional(typed<RayleighDamping>(object), {}),
  /** Reference positions, [nodes, axes], as a function of params: gradients by a shape. Default those of the mesh. */
  points: optional(typed<Bivariant<Params, tf.Tensor>>()),
};

/** What a body is made of. */
export interface BodyParts {
  /** The function that makes it, for errors. */
  readonly owner: string;
  readonly mesh: Mesh;
  /** The cells that fill it. */
  readonly blocks: readonly CellBlock[];
  readonly degrees: Degrees;
  /** Reference positions, [nodes, axes]; default those of the mesh. */
  readonly points?: Bivariant<Params, tf.Tensor>;
  /** Elastic energies. */
  readonly elements: (params: Params) => readonly ElementGroup[];
  /** Without it the body has no mass: it takes `equilibrium` alone. */
  readonly density?: ((params: Params) => ReadField) | undefined;
  /** The thickness of surfaces, or the area of lines. */
  readonly section?: (params: Params) => ReadField;
  /** What takes the place of `section` in the mass of components that are no displacements. */
  readonly inertia?: (params: Params) => ReadField;
  readonly mass: 'lumped' | 'consistent';
  /** Whether density, section and inertia are plain numbers. */
  readonly isMassConstant: boolean;
  readonly loads: readonly Load[];
  /** Whether loads are those of small displacements. */
  readonly isLinear: boolean;
  /** Forces of couples at nodes, for bodies whose nodes can turn. */
  readonly couples?: (couples: tf.Tensor, nodal: tf.Tensor, params: Params) => tf.Tensor;
  readonly damping: RayleighDamping;
  readonly warnings: readonly string[];
  readonly surface?: Cells;
  readonly notFinite: string;
}

/** A state with the defaults of what it lacks. */
export const stateOf = ({
  q,
  v = tf.zerosLike(q),
  t = constantTensor(0, []),
  params = {},
}: BodyState): Required<BodyState> => ({
  q,
  v,
  t,
  params,
});

/** Reference positions, [nodes, axes]. */
export const positionsOf = (
  {points, dimension}: Mesh,
  given: Bivariant<Params, tf.Tensor> | undefined,
  params: Params,
): tf.Tensor => given?.(params) ?? constantTensor(points, [points.length / dimension, dimension]);

/** The values at all nodes in a state, [nodes, components]. */
export function nodalValues(
  {mesh, degrees, points}: Pick<BodyParts, 'mesh' | 'degrees' | 'points'>,
  at: BodyState,
): tf.Tensor {
  const {q, t, params} = stateOf(at);
  return degrees.nodal({q, X: positionsOf(mesh, points, params), t, params});
}

const sum = (parts: readonly tf.Tensor[]): tf.Tensor => parts.reduce((total, part) => tf.add(total, part));

const freeMotionSentence = (motions: readonly string[]): string =>
  `No support prevents ${listed(motions)} of the body: hold it (supports.held), or give it an elastic foundation.`;

/** @throws OptionError for damping below zero, and mass damping or gravity without a density */
export function bodyOf(parts: BodyParts): Body {
  const {owner, mesh, blocks, degrees, points, elements, density, section, inertia, loads, couples} = parts;
  const d = mesh.dimension;
  const nodes = mesh.points.length / d;
  const {components, free} = degrees;
  const {mass: alpha = 0, stiffness: beta = 0} = parts.damping;
  requireValue(alpha, nonNegative, `${owner}: damping.mass`);
  requireValue(beta, nonNegative, `${owner}: damping.stiffness`);

  const densityFor = (what: string): ((params: Params) => ReadField) => {
    if (density !== undefined) return density;
    throw new OptionError('no-density', `${owner}: ${what} needs a density, and the body has none.`);
  };
  const nodal = (at: BodyState): tf.Tensor => nodalValues(parts, at);
  const displacementOf = (values: tf.Tensor): tf.Tensor =>
    components === d ? values : tf.slice(values, [0, 0], [nodes, d]);
  const internalForce = (values: tf.Tensor, params: Params): tf.Tensor =>
    sum(elements(params).map(group => forceOf(group, values, params)));

  const factors = (params: Params): ReadField[] => (section === undefined ? [] : [section(params)]);
  const volumes = (params: Params): Volumes[] =>
    blocks.map(block => volumesOf(block, mesh, points === undefined ? undefined : points(params)));
  const preparedLoads = loads.map(load => load.prepare(mesh));
  /** Forces of constant fields, which are computed once. */
  const constantForces = new Map<string, Float64Array>();
  const displacement = (at: BodyState): tf.Tensor => displacementOf(nodal(at));
  const loadPlace = (at: BodyState): LoadPlace => {
    const {q, v, t, params} = stateOf(at);
    const values = nodal(at);
    const X = positionsOf(mesh, points, params);
    const moved = (place: {readonly [name: string]: tf.Tensor}): tf.Tensor =>
      displacement({q: place.q, t: place.t, params});
    return {
      mesh,
      u: displacementOf(values),
      X,
      t,
      params,
      isLinear: parts.isLinear,
      ...(section === undefined ? {} : {section: sectionAtNodes(section(params), blocks, nodes)}),
      ...(couples === undefined ? {} : {couples: (M: tf.Tensor, at: tf.Tensor) => couples(M, at, params)}),
      velocity: () => traced.derivativeAlong(moved, {q, t}, {q: v, t: tf.onesLike(t)}),
      nodal: values,
      spread: (field, by) => {
        const scale = (own: Params): ReadField[] => [
          ...factors(own),
          ...(by === 'mass' ? [densityFor('gravity')(own)] : []),
        ];
        if (typeof field === 'function' || points !== undefined || !parts.isMassConstant)
          return spreadVectors(volumes(params), field, {X, t, params}, scale(params));
        const key = `${by} ${field.join(' ')}`;
        let forces = constantForces.get(key);
        if (forces === undefined) {
          const computed = (): tf.Tensor => {
            const at = {X: positionsOf(mesh, undefined, {}), t: constantTensor(0, []), params: {}};
            return spreadVectors(volumes({}), field, at, scale({}));
          };
          constantForces.set(key, (forces = evaluated(computed, {q: 0})));
        }
        return constantTensor(forces, [nodes, d]);
      },
    };
  };
  const externalForce = (at: BodyState): tf.Tensor | undefined => {
    if (preparedLoads.length === 0) return undefined;
    const place = loadPlace(at);
    const padded = (force: tf.Tensor): tf.Tensor =>
      force.shape[1] === components ? force : tf.pad(force, [[0, 0], [0, components - d]]); // prettier-ignore
    return sum(preparedLoads.map(load => padded(load(place))));
  };
  const nodalForce = (at: BodyState): tf.Tensor => {
    const inner = internalForce(nodal(at), stateOf(at).params);
    const outer = externalForce(at);
    return outer === undefined ? inner : tf.add(inner, outer);
  };

  const massWith = (rho: (params: Params) => ReadField): ReturnType<typeof massOf> => {
    const spans = [
      {components: d, factors: (params: Params) => [rho(params), ...factors(params)]},
      ...(inertia === undefined
        ? []
        : [{components: components - d, factors: (params: Params) => [rho(params), inertia(params)]}]),
    ];
    const isConstant = points === undefined && parts.isMassConstant;
    return massOf({mesh, blocks, degrees, kind: parts.mass, spans, volumes}, isConstant);
  };
  const mass = density === undefined ? undefined : massWith(density);

  const forces: MechanicalSystem['forces'][number][] = [at => degrees.restricted(nodalForce(at))];
  if (alpha > 0) {
    densityFor('damping.mass');
    forces.push(({q, v, params}) => tf.mul(-alpha, massAction(mass!.free, {q, params}).times(v)));
  }
  const nodalMass = mass?.times;
  if (degrees.hasMotion && nodalMass !== undefined) {
    // Nodes that move as prescribed pull on free ones with their acceleration, and with damping by mass their velocity.
    forces.push(({q, t, params}) => {
      const at = (time: tf.Tensor): tf.Tensor => nodal({q: tf.zerosLike(q), t: time, params});
      const one = {t: tf.onesLike(t)};
      const rate = (time: tf.Tensor): tf.Tensor => traced.derivativeAlong(place => at(place.t), {t: time}, one);
      const acceleration = traced.derivativeAlong(place => rate(place.t), {t}, one);
      const moved = alpha > 0 ? tf.add(acceleration, tf.mul(alpha, rate(t))) : acceleration;
      return tf.neg(degrees.restricted(nodalMass(moved, params)));
    });
  }
  if (beta > 0)
    forces.push(({q, v, t, params}) => {
      const force = (at: {readonly [name: string]: tf.Tensor}): tf.Tensor =>
        degrees.restricted(internalForce(nodal({q: at.q, t: at.t, params}), params));
      return tf.mul(beta, traced.derivativeAlong(force, {q, t}, {q: v, t: tf.onesLike(t)}));
    });

  const supported = new Float64Array(nodes * components).fill(1);
  for (const degree of free) supported[degree] = 0;
  return {
    kind: 'mechanics',
    ...(mass === undefined ? {} : {mass: mass.free}),
    forces,
    constraints: [],
    notFinite: parts.notFinite,
    ...(degrees.freeMotions.length === 0 ? {} : {freeMotion: freeMotionSentence(degrees.freeMotions)}),
    nearNullSpace: degrees.rigidModes,
    mesh,
    free,
    start: {q: new Float64Array(free.length), v: new Float64Array(free.length)},
    freeMotions: degrees.freeMotions,
    warnings: parts.warnings,
    surface: parts.surface ?? boundary(mesh),
    displacement,
    loadPlace,
    energy: at => {
      const {params} = stateOf(at);
      const values = nodal(at);
      return sum(elements(params).map(group => tf.sum(group.energies(elementsAt(group, values, params)))));
    },
    reaction: at => tf.mul(tf.neg(nodalForce(at)), constantTensor(supported, [nodes, components])),
    probe: places => {
      const read = probeOf(mesh, blocks, places);
      return at => read(displacement(at));
    },
    evaluate: (f, state) => evaluated(f, state),
    valueAndGrad: (f, state) => valueAndGradient(f, state),
  };
}
