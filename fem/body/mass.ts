/** Masses of a body's free degrees of freedom. */
import * as tf from '@tensorflow/tfjs';
import {OptionError, type MechanicalSystem, type Params} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import type {Mesh} from '../mesh/mesh.js';
import {assembled} from './blocks.js';
import type {ReadField} from './coefficient.js';
import {evaluated} from './evaluate.js';
import {weighted, type Volumes} from './integrals.js';
import type {Degrees} from './supports.js';

interface MassSpec {
  readonly mesh: Mesh;
  readonly degrees: Degrees;
  readonly kind: 'lumped' | 'consistent';
  /** Components of nodes in turn with the factors of their mass by volume. */
  readonly spans: readonly {readonly components: number; readonly factors: (params: Params) => ReadField[]}[];
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
      `mass 'consistent' is stored as a full matrix, and this body has ${n} free degrees of freedom: `
        + `at most ${largestMatrix}. Take 'lumped'.`,
    );
  if (kind === 'consistent' && degrees.hasMotion)
    throw new OptionError('bad-mass', "With prescribed motion take mass 'lumped'.");
  const at = kind === 'lumped' ? lumpedMass : consistentMass;
  if (!isConstant) return ({params}) => at(spec, params);
  let values: Float64Array | undefined;
  const numbers = (): Float64Array => (values ??= evaluated(() => at(spec, {}), {q: 0}));
  return kind === 'lumped' ? numbers() : () => constantTensor(numbers(), [n, n]);
}

/** Row sums of linear cells; quadratic ones by their diagonal (Hinton, Rock & Zienkiewicz 1976). */
function lumpedMass({mesh, degrees, spans, volumes}: MassSpec, params: Params): tf.Tensor {
  const total = mesh.points.length / mesh.dimension;
  const own = volumes(params);
  const columns = spans.map(({components, factors}) => {
    const nodal = own.map(part => {
      const {block, rule} = part;
      const weights = weighted(part, factors(params));
      const n = block.shape.nodes;
      const isLinear = block.shape.order === 1;
      const N = constantTensor(isLinear ? rule.N : rule.N.map(x => x * x), [rule.count, n]) as tf.Tensor2D;
      const rows = tf.matMul(weights, N);
      const whole = tf.sum(weights, 1, true);
      const lumps = isLinear ? rows : tf.mul(rows, tf.div(whole, tf.sum(rows, 1, true)));
      return assembled(tf.reshape(lumps, [block.count, n, 1]), block.nodes, total);
    });
    const sum = nodal.reduce((all, m) => tf.add(all, m));
    return tf.tile(tf.reshape(sum, [total, 1]), [1, components]);
  });
  return degrees.restricted(tf.concat(columns, 1));
}

/** ∫ ρ Nᵢ Nⱼ dV, [free, free]. */
function consistentMass({degrees, spans, volumes}: MassSpec, params: Params): tf.Tensor {
  const width = degrees.components;
  const n = degrees.free.length;
  const place = new Map(Array.from(degrees.free, (degree, i) => [degree, i]));
  const own = volumes(params);
  let first = 0;
  const flat = spans.flatMap(({components, factors}) => {
    const axes = Array.from({length: components}, (_, k) => first + k);
    first += components;
    return own.flatMap(part => {
      const {block, rule} = part;
      const count = block.shape.nodes;
      const products = new Float64Array(rule.count * count * count);
      for (let p = 0; p < rule.count; p++)
        for (let i = 0; i < count; i++)
          for (let j = 0; j < count; j++)
            products[(p * count + i) * count + j] = rule.N[p * count + i] * rule.N[p * count + j];
      const values = tf.matMul(weighted(part, factors(params)), constantTensor(products, [rule.count, count * count]));
      return axes.map(axis => {
        const ids = new Int32Array(block.count * count * count);
        for (let e = 0; e < block.count; e++)
          for (let i = 0; i < count; i++)
            for (let j = 0; j < count; j++) {
              const row = place.get(block.nodes[e * count + i] * width + axis);
              const column = place.get(block.nodes[e * count + j] * width + axis);
              ids[(e * count + i) * count + j] = row === undefined || column === undefined ? n * n : row * n + column;
            }
        return assembled(tf.reshape(values, [ids.length, 1]), ids, n * n + 1);
      });
    });
  });
  const sum = flat.reduce((all, m) => tf.add(all, m));
  return tf.reshape(tf.slice(tf.reshape(sum, [-1]), [0], [n * n]), [n, n]);
}
