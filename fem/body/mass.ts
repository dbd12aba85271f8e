/** Masses of a body's free degrees of freedom. */
import * as tf from '@tensorflow/tfjs';
import type {MechanicalSystem, Params, SparseMass} from '../../lib/index.js';
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
  /** Components of nodes in turn with the factors of their mass by volume. */
  readonly spans: readonly {readonly components: number; readonly factors: (params: Params) => ReadField[]}[];
  readonly volumes: (params: Params) => readonly Volumes[];
}

/** The mass of a body: of its free degrees of freedom, and that of its nodes where it couples them. */
export function massOf(
  spec: MassSpec,
  isConstant: boolean,
): {readonly free: NonNullable<MechanicalSystem['mass']>; readonly times?: NodalMass['times']} {
  if (spec.kind === 'consistent') return consistentMass(spec, isConstant);
  return {free: isConstant ? evaluated(() => lumpedMass(spec, {}), {q: 0}) : ({params}) => lumpedMass(spec, params)};
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

/** Two nodes of one cell, the larger number first, each two once. */
interface NodePairs {
  readonly first: Int32Array;
  readonly second: Int32Array;
  /** The pair of each two nodes (i ≥ j) of each cell, block by block. */
  readonly ofCells: readonly Int32Array[];
}

function nodePairs(blocks: readonly CellBlock[], total: number): NodePairs {
  const [first, second, next]: number[][] = [[], [], []];
  /** The last pair of each node, from which `next` leads to those before it. */
  const last = new Int32Array(total).fill(-1);
  const pairOf = (a: number, b: number): number => {
    let pair = last[a];
    while (pair >= 0 && second[pair] !== b) pair = next[pair];
    if (pair >= 0) return pair;
    next.push(last[a]);
    second.push(b);
    return (last[a] = first.push(a) - 1);
  };
  const ofCells = blocks.map(({nodes, count, shape: {nodes: width}}) => {
    const ids = new Int32Array((count * width * (width + 1)) / 2);
    let at = 0;
    for (let e = 0; e < count; e++)
      for (let i = 0; i < width; i++)
        for (let j = 0; j <= i; j++) {
          const [a, b] = [nodes[e * width + i], nodes[e * width + j]];
          ids[at++] = pairOf(Math.max(a, b), Math.min(a, b));
        }
    return ids;
  });
  return {first: Int32Array.from(first), second: Int32Array.from(second), ofCells};
}

/** The consistent mass ∫ ρ Nᵢ Nⱼ dV between nodes. */
export interface NodalMass {
  /** The mass of the free degrees of freedom. */
  readonly free: SparseMass;
  /** M w of all degrees of freedom, [nodes, components]. */
  readonly times: (w: tf.Tensor, params: Params) => tf.Tensor;
}

function consistentMass({mesh, degrees, spans, volumes, blocks}: MassSpec, isConstant: boolean): NodalMass {
  const total = mesh.points.length / mesh.dimension;
  const {first, second, ofCells} = nodePairs(blocks, total);
  const pairs = first.length;
  /** The masses of the pairs, span after span, [spans · pairs]. */
  const values = (params: Params): tf.Tensor => {
    const own = volumes(params);
    const ofSpans = spans.map(({factors}) =>
      own
        .map((part, k) => {
          const {rule, block} = part;
          const width = block.shape.nodes;
          const products = Array.from({length: rule.count}, (_, p) =>
            Array.from({length: width}, (_x, i) =>
              Array.from({length: i + 1}, (_y, j) => rule.N[p * width + i] * rule.N[p * width + j]),
            ),
          ).flat(2);
          const columns = constantTensor(products, [rule.count, products.length / rule.count]) as tf.Tensor2D;
          const entries = tf.matMul(weighted(part, factors(params)), columns);
          return assembled(tf.reshape(entries, [entries.size, 1]), ofCells[k], pairs);
        })
        .reduce((sum, m) => tf.add(sum, m)),
    );
    return tf.reshape(tf.concat(ofSpans), [-1]);
  };
  let numbers: Float64Array | undefined;
  const given = (params: Params): tf.Tensor =>
    isConstant
      ? constantTensor((numbers ??= evaluated(() => values({}), {q: 0})), [spans.length * pairs])
      : values(params);

  const place = new Int32Array(total * degrees.components).fill(-1);
  degrees.free.forEach((degree, i) => (place[degree] = i));
  const [rows, columns, entries]: number[][] = [[], [], []];
  let component = 0;
  spans.forEach((span, s) => {
    for (let k = 0; k < span.components; k++, component++)
      for (let pair = 0; pair < pairs; pair++) {
        const [row, column] = [first, second].map(node => place[node[pair] * degrees.components + component]);
        if (row < 0 || column < 0) continue;
        rows.push(row);
        columns.push(column);
        entries.push(s * pairs + pair);
      }
  });
  const index = Int32Array.from(entries);
  const beside = first.map((_, pair) => pair).filter(pair => first[pair] !== second[pair]);
  const both = (own: Int32Array, mirrored: Int32Array): tf.Tensor1D =>
    tf.tensor1d(Int32Array.from([...own, ...beside.map(pair => mirrored[pair])]), 'int32');
  return {
    free: {
      rows: Int32Array.from(rows),
      columns: Int32Array.from(columns),
      values: ({params}) => tf.gather(given(params), tf.tensor1d(index, 'int32')),
    },
    times: (w, params) => {
      const all = given(params);
      let from = 0;
      const parts = spans.map(({components}, s) => {
        const own = tf.slice(w, [0, from], [total, components]);
        from += components;
        const mass = tf.gather(
          tf.slice(all, [s * pairs], [pairs]),
          both(
            first.map((_, pair) => pair),
            first.map((_, pair) => pair),
          ),
        );
        const moved = tf.mul(tf.expandDims(mass, 1), tf.gather(own, both(second, first)));
        return tf.unsortedSegmentSum(moved, both(first, second), total);
      });
      return tf.concat(parts, 1);
    },
  };
}
