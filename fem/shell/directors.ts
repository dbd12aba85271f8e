/** Directors of a shell: the unit vector across it at each node, from the normals of the cells there. */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {assembled, normalsOf, ruleFor, tangentsOf, type CellBlock} from '../body/blocks.js';
import {nodeText} from '../body/places.js';
import type {NodeRotation} from '../body/supports.js';
import type {Mesh} from '../mesh/mesh.js';

/**
 * The largest angle between a director and the normals of the cells at its node. A quarter of a circle by two cells has
 * 22.5°; the edge of a box has 45°.
 */
const largestTilt = (40 * Math.PI) / 180;

/** Normals in the middle of cells, as long as the cells are large, [cells, 3]. */
function cellNormals(block: CellBlock, X: tf.Tensor): tf.Tensor {
  const at = tf.gather(X, tf.tensor1d(block.nodes, 'int32'));
  const rule = ruleFor(block.shape.type, 'centre');
  const normals = normalsOf(tangentsOf(at, block.count, block.shape.nodes, 3, rule));
  return tf.mul(tf.concat(normals, 1), rule.weights[0]);
}

/** Vectors of unit length. */
export const normalized = (vectors: tf.Tensor): tf.Tensor =>
  tf.div(vectors, tf.sqrt(tf.sum(tf.square(vectors), -1, true)));

/**
 * Normals at nodes, [nodes, 3], the mean of the cells' by area.
 * @param kept 0 where a component has to vanish because a plane of symmetry goes through a node, otherwise 1
 */
export function averagedNormals(blocks: readonly CellBlock[], X: tf.Tensor, kept: Float64Array): tf.Tensor {
  const total = X.shape[0];
  const sums = blocks.map(block => {
    const rows = tf.tile(tf.expandDims(cellNormals(block, X), 1), [1, block.shape.nodes, 1]);
    return assembled(rows, block.nodes, total);
  });
  const sum = sums.reduce((all, rows) => tf.add(all, rows));
  return normalized(tf.mul(sum, constantTensor(kept, [total, 3])));
}

/** @throws OptionError 'shell-fold' where a director is far from the normal of a cell, or is none */
export function requireSmooth(
  mesh: Mesh,
  blocks: readonly CellBlock[],
  directors: Float64Array,
  normals: Float64Array[],
): void {
  blocks.forEach(({nodes, shape, first}, b) =>
    nodes.forEach((node, i) => {
      const cell = Math.floor(i / shape.nodes);
      const normal = normals[b].subarray(3 * cell, 3 * cell + 3);
      const D = directors.subarray(3 * node, 3 * node + 3);
      const cosine = normal.reduce((sum, x, k) => sum + x * D[k], 0) / Math.hypot(...normal);
      if (cosine > Math.cos(largestTilt)) return;
      const angle = Number.isNaN(cosine)
        ? 'has no direction'
        : `is ${((Math.acos(cosine) * 180) / Math.PI).toFixed(0)}° away`;
      throw new OptionError(
        'shell-fold',
        `shell: the director of ${nodeText(mesh, node)} ${angle} from the normal of cell ${first + cell}. Where the `
          + 'surface is smooth, refine the mesh; where cells go around in opposite senses, turn them; folds have no '
          + 'common director: round them off, or give `directors`.',
        {node, cell: first + cell},
      );
    }),
  );
}

/** Normals of the cells of blocks, for `requireSmooth`. */
export const normalsOfCells = (blocks: readonly CellBlock[], X: tf.Tensor): tf.Tensor[] =>
  blocks.map(block => cellNormals(block, X));

const axes = [0, 1, 2];
const names = ['x', 'y', 'z'];
const cross = (a: readonly number[], b: ArrayLike<number>): number[] =>
  axes.map(i => a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]);

/** How close to zero or one a component of a director is that counts as such; directors have rounding errors only. */
const aligned = 1e-9;

/** The rotation of nodes with these directors: a small rotation ω changes D by ω × D. */
export function directorRotation(mesh: Mesh, directors: Float64Array): NodeRotation {
  const at = (node: number): Float64Array => directors.subarray(3 * node, 3 * node + 3);
  const turned = (node: number, axis: number): number[] =>
    cross(
      axes.map(k => (k === axis ? 1 : 0)),
      at(node),
    );
  return {
    components: 3,
    turned,
    held: (node, rotations) => {
      const D = at(node);
      const free = axes.filter(axis => !rotations.includes(axis));
      const along = axes.find(k => Math.abs(D[k]) > 1 - aligned);
      if (free.length === 0) return axes;
      if (free.length === 1 && Math.abs(D[free[0]]) < aligned) return free;
      if (free.length === 2 && along !== undefined)
        return free.filter(k => k !== along).slice(0, free.includes(along) ? 1 : 0);
      throw new OptionError(
        'bad-support',
        `held: at ${nodeText(mesh, node)}, whose director is (${Array.from(at(node), x => x.toFixed(3)).join(', ')}), `
          + `rotations about ${rotations.map(axis => names[axis]).join(' and ')} alone cannot be held. Two can be held `
          + 'where the director is at a right angle to the third axis (planes of symmetry), one where it is along an '
          + 'axis; or hold all three.',
        {node},
      );
    },
  };
}
