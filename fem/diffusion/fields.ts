/**
 * Fields that diffuse on a mesh, C u' = ∇·(D ∇u) + sources, by Galerkin's method with a capacity lumped to nodes
 * (Hughes, The Finite Element Method, chapters 2 and 8).
 */
import * as tf from '@tensorflow/tfjs';
import {any, list, optional, typed} from '../../lib/checks.js';
import {
  ode,
  OptionError,
  ShapeError,
  type Numeric,
  type NumericParams,
  type OdeSystem,
  type Params,
} from '../../lib/index.js';
import {constantTensor, readNumeric} from '../../lib/internal.js';
import {bodyBlocks, geometryOf, ruleFor} from '../body/blocks.js';
import {positionsOf} from '../body/body.js';
import {coefficientsIn} from '../body/cell-coefficients.js';
import {fieldOf, plainNumbers, ranges, type FieldCoefficient, type ReadField} from '../body/coefficient.js';
import {forceOf, nodeRows, type ElementGroup} from '../body/elements.js';
import {evaluated} from '../body/evaluate.js';
import {sectionAtNodes, spreadVectors, volumesOf, type Volumes} from '../body/integrals.js';
import {facetsOf, scalarsOf, type Facets, type ScalarField, type VectorAt} from '../body/loads.js';
import {massOf} from '../body/mass.js';
import {nodesAt, nodeText, type FacetPlace, type NodePlace} from '../body/places.js';
import {probeOf} from '../body/probe.js';
import type {Degrees} from '../body/supports.js';
import {pointAt} from '../mesh/topology.js';
import type {Mesh} from '../mesh/mesh.js';

/** Nodes with a given value. */
export interface FixedValue {
  readonly on: NodePlace;
  readonly value: ScalarField;
}

/** What flows in through facets, by area (in the plane by length and thickness). */
export interface Flux {
  readonly on: FacetPlace;
  readonly value: ScalarField;
}

/** Exchange with surroundings through facets: coefficient · (ambient − u) flows in, by area. */
export interface Convection {
  readonly on: FacetPlace;
  readonly coefficient: ScalarField;
  readonly ambient: ScalarField;
}

/** Options of what acts on a field. */
export const conditionOptions = {
  fixed: optional(typed<readonly FixedValue[]>(list), []),
  flux: optional(typed<readonly Flux[]>(list), []),
  convection: optional(typed<readonly Convection[]>(list), []),
  /** What is produced, by volume. */
  source: optional(typed<ScalarField>(any)),
};

/** What acts on a field. */
export interface FieldConditions {
  readonly fixed?: readonly FixedValue[];
  readonly flux?: readonly Flux[];
  readonly convection?: readonly Convection[];
  readonly source?: ScalarField;
}

/** A state of fields inside a traced function: free values, the time (default 0), and parameters. */
export interface FieldState {
  readonly y: tf.Tensor;
  readonly t?: tf.Tensor;
  readonly params?: Params;
}

/** Values of a field to start from: a number, one for each node, or a function of the coordinates. */
export type InitialField = Numeric | ((x: readonly number[]) => number);

/** Fields on a mesh, an ode whose y are the values that are not fixed, [free]. */
export interface FieldSystem extends OdeSystem {
  readonly mesh: Mesh;
  /** Values that are free, node · fields + field. */
  readonly free: Int32Array;
  /** Free values from those of each field, by its name; 0 of fields that are left out. */
  start(values: {readonly [field: string]: InitialField}): Float64Array;
  /** Values at all nodes, [nodes, fields]. */
  nodal(at: FieldState): tf.Tensor;
  /**
   * Values at places.
   * @returns a function of a state that returns [places, fields]
   * @throws OptionError where a place lies outside of the mesh
   */
  probe(places: readonly (readonly number[])[]): (at: FieldState) => tf.Tensor;
  /** Numbers of a state in double precision, row-major: `system.evaluate(at => system.nodal(at), {y})`. */
  evaluate(
    f: (at: Required<FieldState>) => tf.Tensor,
    state: {readonly y: Numeric; readonly t?: number; readonly params?: NumericParams},
  ): Float64Array;
}

/** What fields are made of. */
export interface FieldParts {
  /** The function that makes them, for errors. */
  readonly owner: string;
  readonly mesh: Mesh;
  readonly fields: readonly {
    readonly name: string;
    readonly diffusivity: FieldCoefficient;
    readonly conditions: FieldConditions;
  }[];
  readonly capacity: FieldCoefficient;
  /** The thickness in the plane, or the area of lines. */
  readonly section?: FieldCoefficient | undefined;
  /** What is produced at nodes, by capacity: [nodes, fields] of values [nodes, fields]. */
  readonly reaction?: (at: {readonly values: tf.Tensor} & VectorAt) => tf.Tensor;
}

/** @throws OptionError for unknown sets, values fixed twice, and coefficients outside of their range */
export function fieldsOf({owner, mesh, fields, capacity, section, reaction}: FieldParts): FieldSystem {
  const d = mesh.dimension;
  const nodes = mesh.points.length / d;
  const width = fields.length;
  const blocks = bodyBlocks(mesh, owner, d);
  const counts = {cells: blocks.reduce((sum, {count}) => sum + count, 0), nodes};
  if (d === 3 && section !== undefined)
    throw new OptionError('bad-section', `${owner}: a thickness is for meshes of points with one or two coordinates.`);
  const read = (given: FieldCoefficient, what: string): ((params: Params) => ReadField) =>
    fieldOf(given, `${owner}: ${what}`, counts, ranges.positive);
  const readSection = section === undefined ? undefined : read(section, 'thickness');
  const readCapacity = read(capacity, 'capacity');
  const diffusivities = Object.fromEntries(
    fields.map(({name, diffusivity}) => [name, read(diffusivity, `diffusivity of ${name}`)]),
  );
  const degrees = fieldDegrees(
    owner,
    mesh,
    fields.map(({conditions}) => conditions.fixed ?? []),
  );
  const volumes = (): Volumes[] => blocks.map(block => volumesOf(block, mesh, undefined));
  const factors = (params: Params): ReadField[] => (readSection === undefined ? [] : [readSection(params)]);

  const parts = blocks.map(block => {
    const rule = ruleFor(block.shape.type, 'stiffness');
    return {
      block,
      rule,
      rows: nodeRows(block.nodes, block.shape.nodes),
      geometry: geometryOf(block, mesh.points, rule),
    };
  });
  /** Elements with the energy ½ D |∇u|² of each field, whose force is ∇·(D ∇u). */
  const groups = (params: Params): ElementGroup[] =>
    parts.map(({block, rule, rows, geometry}) => {
      const coefficients = {
        ...diffusivities,
        ...(readSection === undefined ? {} : {[`${owner}.section`]: readSection}),
      };
      const {data, at} = coefficientsIn({block, rule}, coefficients, params);
      return {
        rows,
        data: {gradients: geometry.gradients, weights: geometry.weights, ...data},
        energies: ({x, data: own}) => {
          const cells = x.shape[0];
          const G = tf.reshape(own.gradients, [cells, block.shape.nodes, d * rule.count]);
          const slopes = tf.reshape(tf.matMul(x, G, true, false), [cells, width, d, rule.count]);
          const values = at(own);
          const thick = values[`${owner}.section`];
          const squares = tf.sum(tf.square(slopes), 2);
          const weights = tf.reshape(own.weights, [cells, rule.count]);
          return fields
            .map(({name}, s) => {
              const energy = tf.mul(
                values[name],
                tf.reshape(tf.slice(squares, [0, s, 0], [cells, 1, rule.count]), [cells, rule.count]),
              );
              return tf.mul(tf.mul(0.5, weights), thick === undefined ? energy : tf.mul(thick, energy));
            })
            .reduce((sum, energy) => tf.add(sum, energy));
        },
      };
    });

  /** What comes in at nodes, [nodes, 1], for each field. */
  const inflows = fields.map(({name, conditions: {flux = [], convection = [], source}}) => {
    const through = (
      on: FacetPlace,
      what: string,
      density: (facets: Facets, values: tf.Tensor, at: VectorAt) => tf.Tensor,
    ) => {
      const all = facetsOf(mesh, on, `${owner}: ${what}`);
      return (values: tf.Tensor, {X, t, params}: VectorAt): tf.Tensor =>
        all
          .map(facets => {
            const shape = [facets.block.count, facets.rule.count, 1];
            const points = {X: tf.reshape(facets.interpolated(X), [-1, d]), t, params};
            const area = tf.sqrt(tf.sum(tf.square(facets.normals(X)), -1, true));
            const thick = readSection === undefined ? undefined : sectionAtNodes(readSection(params), blocks, nodes);
            const scale =
              thick === undefined
                ? area
                : tf.mul(area, thick.size === 1 ? tf.reshape(thick, []) : facets.interpolated(thick));
            return facets.assembled(tf.mul(scale, tf.reshape(density(facets, values, points), shape)), nodes);
          })
          .reduce((sum, part) => tf.add(sum, part));
    };
    return [
      ...flux.map(({on, value}) =>
        through(on, 'flux', (_, _values, at) => scalarsOf(value, at, `${owner}: flux of ${name}`)),
      ),
      ...convection.map(({on, coefficient, ambient}) =>
        through(on, 'convection', (facets, values, at) => {
          const outside = scalarsOf(ambient, at, `${owner}: ambient of ${name}`);
          const here = tf.reshape(facets.interpolated(values), [-1, 1]);
          return tf.mul(scalarsOf(coefficient, at, `${owner}: coefficient of convection`), tf.sub(outside, here));
        }),
      ),
      ...(source === undefined
        ? []
        : [
            (_: tf.Tensor, at: VectorAt): tf.Tensor => {
              const padded = (place: VectorAt): tf.Tensor => {
                const values = scalarsOf(source, place, `${owner}: source of ${name}`);
                return d === 1 ? values : tf.concat([values, tf.zeros([place.X.shape[0], d - 1])], 1);
              };
              return tf.slice(spreadVectors(volumes(), padded, at, factors(at.params)), [0, 0], [nodes, 1]);
            },
          ]),
    ];
  });

  const isConstant = [capacity, section ?? 1].every(given => plainNumbers(given) !== undefined);
  const spans = [{components: width, factors: (params: Params) => [readCapacity(params), ...factors(params)]}];
  const {free: capacities} = massOf({mesh, blocks, degrees, kind: 'lumped', spans, volumes}, isConstant);
  const stateOf = ({y, t = constantTensor(0, []), params = {}}: FieldState): Required<FieldState> => ({y, t, params});
  const nodal = (at: FieldState): tf.Tensor => {
    const {y, t, params} = stateOf(at);
    return degrees.nodal({q: y, X: positionsOf(mesh, undefined, params), t, params});
  };
  const system = ode(({y, t, params}) => {
    const values = nodal({y, t, params});
    const at = {X: positionsOf(mesh, undefined, params), t, params};
    const diffused = groups(params)
      .map(group => forceOf(group, values, params))
      .reduce((sum, force) => tf.add(sum, force));
    const columns = inflows.map((all, s) => {
      const own = tf.slice(values, [0, s], [nodes, 1]);
      return all.reduce<tf.Tensor>((sum, inflow) => tf.add(sum, inflow(own, at)), tf.zeros([nodes, 1]));
    });
    const C =
      typeof capacities === 'function'
        ? capacities({q: y, params})
        : constantTensor(capacities as Float64Array, [y.size]);
    const rate = tf.div(degrees.restricted(tf.add(diffused, tf.concat(columns, 1))), C);
    return reaction === undefined ? rate : tf.add(rate, degrees.restricted(reaction({...at, values})));
  });
  return {
    ...system,
    mesh,
    free: degrees.free,
    start: given => {
      const columns = fields.map(({name}) => nodalNumbers(owner, mesh, name, given[name] ?? 0));
      const unknown = Object.keys(given).find(name => fields.every(field => field.name !== name));
      if (unknown !== undefined)
        throw new OptionError(
          'unknown-field',
          `${owner}: start has no field ${unknown}; fields are ${fields.map(({name}) => name).join(', ')}.`,
        );
      return Float64Array.from(degrees.free, degree => columns[degree % width][Math.floor(degree / width)]);
    },
    nodal,
    probe: places => {
      const values = probeOf(mesh, blocks, places);
      return at => values(nodal(at));
    },
    evaluate: (f, {y, t, params}) =>
      evaluated(({q, ...at}) => f({y: q, ...at}), {
        q: y,
        ...(t === undefined ? {} : {t}),
        ...(params === undefined ? {} : {params}),
      }),
  };
}

/** A field's numbers at all nodes. */
function nodalNumbers(owner: string, mesh: Mesh, name: string, given: InitialField): Float64Array {
  const nodes = mesh.points.length / mesh.dimension;
  if (typeof given === 'function') return Float64Array.from({length: nodes}, (_, node) => given(pointAt(mesh, node)));
  const {values} = readNumeric(given, `${owner}: start of ${name}`);
  if (values.length === 1) return new Float64Array(nodes).fill(values[0]);
  if (values.length === nodes) return values;
  throw new ShapeError('field-shape', `${owner}: start of ${name} has ${values.length} numbers for ${nodes} nodes.`, {
    name,
  });
}

/** Which values are free, and the values at all nodes from these. @throws OptionError where one is fixed twice */
function fieldDegrees(owner: string, mesh: Mesh, fixed: readonly (readonly FixedValue[])[]): Degrees {
  const width = fixed.length;
  const nodes = mesh.points.length / mesh.dimension;
  const given = fixed.flatMap((values, s) =>
    values.map(({on, value}) => ({s, value, nodes: nodesAt(mesh, on, `${owner}: fixed`)})),
  );
  const table = new Int32Array(nodes * width).fill(-1);
  let at = nodes * width - new Set(given.flatMap(({s, nodes: own}) => Array.from(own, node => node * width + s))).size;
  for (const {s, nodes: own} of given)
    for (const node of own) {
      if (table[node * width + s] >= 0)
        throw new OptionError('fixed-twice', `${owner}: the value at ${nodeText(mesh, node)} is fixed twice.`, {node});
      table[node * width + s] = at++;
    }
  const free = Int32Array.from(table.keys()).filter(degree => table[degree] < 0);
  free.forEach((degree, i) => (table[degree] = i));
  return {
    components: width,
    free,
    hasMotion: false,
    freeMotions: [],
    rigidModes: () => [],
    nodal: ({q, X, t, params}) => {
      const values = given.map(({value, nodes: own}) => {
        const place = {X: tf.gather(X, tf.tensor1d(own, 'int32')), t, params};
        return tf.reshape(scalarsOf(value, place, `${owner}: fixed`), [-1]);
      });
      const all = tf.concat([tf.reshape(q, [-1]), ...values]);
      return tf.reshape(tf.gather(all, tf.tensor1d(table, 'int32')), [nodes, width]);
    },
    restricted: values => tf.gather(tf.reshape(values, [-1]), tf.tensor1d(free, 'int32')),
  };
}
