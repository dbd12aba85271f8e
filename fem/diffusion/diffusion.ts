/** Heat conduction, and reaction with diffusion, as systems for `simulate` and `equilibrium`. */
import * as tf from '@tensorflow/tfjs';
import {any, callable, object, optional, readOptions, refuseUnknownOptions, typed} from '../../lib/checks.js';
import {OptionError, type Params} from '../../lib/index.js';
import type {Bivariant} from '../../lib/internal.js';
import type {FieldCoefficient} from '../body/coefficient.js';
import type {Mesh} from '../mesh/mesh.js';
import {conditionOptions, fieldsOf, type FieldConditions, type FieldSystem} from './fields.js';

const heatOptions = {
  mesh: typed<Mesh>(object),
  conductivity: typed<FieldCoefficient>(),
  /** Heat by volume and degree: density times specific heat. */
  capacity: typed<FieldCoefficient>(),
  thickness: optional(typed<FieldCoefficient>()),
  ...conditionOptions,
};

/** The argument of `heat`: coefficients are numbers, fields, or functions of params, as those of `solid`. */
export interface HeatSpec extends FieldConditions {
  readonly mesh: Mesh;
  readonly conductivity: FieldCoefficient;
  /** Heat by volume and degree: density times specific heat. */
  readonly capacity: FieldCoefficient;
  /** In the plane; default 1. */
  readonly thickness?: FieldCoefficient;
}

/**
 * Heat conduction, c T' = ∇·(k ∇T) + source: an ode whose y are the temperatures that are not fixed. Boundaries are
 * insulated where nothing is said; `equilibrium` finds the steady state.
 * @throws OptionError for unknown sets, temperatures fixed twice, and coefficients that are not positive
 * @example
 * ```ts
 * import {equilibrium} from 'stiffgrad';
 * import {box, heat} from 'stiffgrad/fem';
 *
 * const wall = heat({
 *   mesh: box([0.2, 1], [8, 1]),
 *   conductivity: 0.5,
 *   capacity: 1e6,
 *   fixed: [{on: 'left', value: 20}],
 *   convection: [{on: 'right', coefficient: 10, ambient: 0}],
 * });
 * const y = equilibrium(wall, {y: wall.start({T: 20})}).values('y');
 * const [outside] = wall.evaluate(wall.probe([[0.2, 0.5]]), {y});
 * console.log(outside.toFixed(3)); // → 4.000
 * ```
 */
export function heat(spec: HeatSpec): FieldSystem {
  const {mesh, conductivity, capacity, thickness, ...conditions} = readOptions(spec, heatOptions, 'heat', 'bad-heat');
  const fields = [{name: 'T', diffusivity: conductivity, conditions}];
  return fieldsOf({owner: 'heat', mesh, fields, capacity, section: thickness});
}

/** Values of fields at all nodes, [nodes] each by its name, their places [nodes, axes], the time and the parameters. */
export interface ReactionAt {
  readonly values: {readonly [field: string]: tf.Tensor};
  readonly X: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}

/** The argument of `reactionDiffusion`. */
export interface ReactionDiffusionSpec {
  readonly mesh: Mesh;
  /** The diffusivity of each field, by its name. */
  readonly diffusivities: {readonly [field: string]: FieldCoefficient};
  /** The rate of production of each field, [nodes], by its name; 0 of fields that are left out. */
  readonly reaction: Bivariant<ReactionAt, {readonly [field: string]: tf.Tensor}>;
  /** Fixed values, fluxes and sources of fields, by name. */
  readonly conditions?: {readonly [field: string]: FieldConditions};
}

/**
 * Fields that diffuse and react, uᵢ' = ∇·(Dᵢ ∇uᵢ) + rᵢ(u): an ode whose y are the values that are not fixed. Nothing
 * flows through boundaries where nothing is said.
 * @throws OptionError for unknown sets and fields, values fixed twice, and diffusivities that are not positive
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {bdf2, simulate} from 'stiffgrad';
 * import {box, reactionDiffusion} from 'stiffgrad/fem';
 *
 * // Fisher's equation: a front that moves at the speed 2 √(rD).
 * const front = reactionDiffusion({
 *   mesh: box([40], [160]),
 *   diffusivities: {u: 1},
 *   reaction: ({values: {u}}) => ({u: tf.mul(u, tf.sub(1, u))}),
 * });
 * const y = front.start({u: ([x]) => (x < 5 ? 1 : 0)});
 * const path = simulate(front, {y}, {scheme: bdf2(), dt: 0.1, steps: 100, saveAt: 'end'});
 * console.log(path.values('y').slice(-161).filter(u => u > 0.5).length > 70); // → true
 * ```
 */
export function reactionDiffusion(spec: ReactionDiffusionSpec): FieldSystem {
  const options = {mesh: object, diffusivities: object, reaction: callable, conditions: any};
  refuseUnknownOptions(spec, options, 'reactionDiffusion', 'bad-reaction');
  const {mesh, diffusivities, reaction, conditions = {}} = spec;
  const names = Object.keys(diffusivities);
  const nodes = mesh.points.length / mesh.dimension;
  const known = (name: string, where: string): void => {
    if (!names.includes(name))
      throw new OptionError(
        'unknown-field',
        `reactionDiffusion: ${where} has ${name}, but diffusivities are given for ${names.join(', ')}.`,
        {name},
      );
  };
  Object.keys(conditions).forEach(name => known(name, 'conditions'));
  return fieldsOf({
    owner: 'reactionDiffusion',
    mesh,
    capacity: 1,
    fields: names.map(name => ({
      name,
      diffusivity: diffusivities[name],
      conditions: readOptions(conditions[name] ?? {}, conditionOptions, `reactionDiffusion: ${name}`, 'bad-reaction'),
    })),
    reaction: ({values, ...at}) => {
      const columns = tf.unstack(values, 1);
      const rates = reaction({...at, values: Object.fromEntries(names.map((name, s) => [name, columns[s]]))});
      Object.keys(rates).forEach(name => known(name, 'the result of reaction'));
      return tf.stack(
        names.map(name => (rates[name] === undefined ? tf.zeros([nodes]) : tf.add(rates[name], tf.zeros([nodes])))),
        1,
      );
    },
  });
}
