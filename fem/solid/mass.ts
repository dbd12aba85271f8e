/** Masses of a body's free degrees of freedom. */
import * as tf from '@tensorflow/tfjs';
import {OptionError, type MechanicalSystem, type Params} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import type {Mesh} from '../mesh/mesh.js';
import {assembled, type CellBlock} from './blocks.js';
import type {ReadField} from './coefficient.js';
import {evaluated} from './evaluate.js';
import {weighted, type Volumes} from './integrals.js';
import type {Degrees} from './supports.js';

interface MassSpec {
  readonly mesh: Mesh;
  readonly blocks: readonly CellBlock[];
  readonly degrees: Degrees;
  readonly kind: 'lumped' | 'consistent';
  readonly density: (params: Params) => ReadField;
  readonly thickness: (params: Params) => ReadField;
  readonly volumes: (params: Params) => readonly Volumes[];
}

/** The most free degrees of freedom of a mass matrix, which is stored with all of its zeros. */
const largestMatrix = 3000;

/** @param isConstant whether it depends on numbers alone, which are then computed once */
export function massOf(spec: MassSpec, isConstant: boolean): MechanicalSystem['mass'] {
  const {degrees, kind} = spec;
  const n = degrees.free.length;
  if (kind === 'consistent' && n > largestMatrix)
    throw new OptionError(
      'bad-mass',
      `solid: mass 'consistent' is stored as a full matrix, and this body has ${n} free degrees of freedom: `
        + `at most ${largestMatrix}. Take 'lumped'.`,
    );
  if (kind === 'consistent' && degrees.hasMotion)
    throw new OptionError('bad-mass', "solid: with prescribed motion take mass 'lumped'.");
  const at = kind === 'lumped' ? lumpedMass : consistentMass;
  if (!isConstant) return ({params}) => at(spec, params);
  let values: Float64Array | undefined;
  const numbers = (): Float64Array => (values ??= evaluated(() => at(spec, {}), {q: 0}));
  return kind === 'lumped' ? numbers() : () => constantTensor(numbers(), [n, n]);
}

const massWeights = (
  {mesh, density, thickness, volumes}: MassSpec,
  params: Params,
): {part: Volumes; weights: tf.Tensor}[] => {
  const scale = [density(params), ...(mesh.dimension === 2 ? [thickness(params)] : [])];
  return volumes(params).map(part => ({part, weights: weighted(part, scale)}));
};

/** Row sums of linear cells; quadratic ones by their diagonal (Hinton, Rock & Zienkiewicz 1976). */
function lumpedMass(spec: MassSpec, params: Params): tf.Tensor {
  const {mesh, degrees} = spec;
  const d = mesh.dimension;
  const total = mesh.points.length / d;
  const nodal = massWeights(spec, params)
    .map(({part: {block, rule}, weights}) => {
      const n = block.shape.nodes;
      const isLinear = block.shape.order === 1;
      const N = constantTensor(isLinear ? rule.N : rule.N.map(x => x * x), [rule.count, n]) as tf.Tensor2D;
      const rows = tf.matMul(weights, N);
      const whole = tf.sum(weights, 1, true);
      const own = isLinear ? rows : tf.mul(rows, tf.div(whole, tf.sum(rows, 1, true)));
      return assembled(tf.reshape(own, [block.count, n, 1]), block.nodes, total);
    })
    .reduce((sum, m) => tf.add(sum, m));
  return degrees.restricted(tf.tile(tf.reshape(nodal, [total, 1]), [1, d]));
}

/** ∫ ρ Nᵢ Nⱼ dV, [free, free]. */
function consistentMass(spec: MassSpec, params: Params): tf.Tensor {
  const {mesh, degrees} = spec;
  const d = mesh.dimension;
  const n = degrees.free.length;
  const place = new Int32Array(mesh.points.length).fill(-1);
  degrees.free.forEach((degree, i) => (place[degree] = i));
  const flat = massWeights(spec, params).flatMap(({part: {block, rule}, weights}) => {
    const width = block.shape.nodes;
    const products = new Float64Array(rule.count * width * width);
    for (let p = 0; p < rule.count; p++)
      for (let i = 0; i < width; i++)
        for (let j = 0; j < width; j++)
          products[(p * width + i) * width + j] = rule.N[p * width + i] * rule.N[p * width + j];
    const values = tf.matMul(weights, constantTensor(products, [rule.count, width * width]));
    return Array.from({length: d}, (_, axis) => {
      const ids = new Int32Array(block.count * width * width);
      for (let e = 0; e < block.count; e++)
        for (let i = 0; i < width; i++)
          for (let j = 0; j < width; j++) {
            const row = place[block.nodes[e * width + i] * d + axis];
            const column = place[block.nodes[e * width + j] * d + axis];
            ids[(e * width + i) * width + j] = row < 0 || column < 0 ? n * n : row * n + column;
          }
      return assembled(tf.reshape(values, [ids.length, 1]), ids, n * n + 1);
    });
  });
  const sum = flat.reduce((all, m) => tf.add(all, m));
  return tf.reshape(tf.slice(tf.reshape(sum, [-1]), [0], [n * n]), [n, n]);
}
