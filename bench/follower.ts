/**
 * A net hung at two corners under a follower load: a pressure along the normal of each of its meshes, which turns with
 * it. Such a load has no potential, so Newton's matrix has the pattern of a mesh in space and no symmetry.
 */
import * as tf from '@tensorflow/tfjs';
import {mechanics, type MechanicalSystem} from '../lib/index.js';
import {springMesh} from '../models/index.js';

export interface FollowerNet {
  /** Parameters: `k`, the springs' stiffness, and `p`, pressure times four (each knot takes a mesh's whole parallelogram). */
  readonly system: MechanicalSystem;
  readonly positions: readonly (readonly number[])[];
}

/** Side 1 and mass 1, `rows`² knots. */
export function followerNet(rows: number): FollowerNet {
  const held: [number, number][] = [
    [0, 0],
    [0, rows - 1],
  ];
  const cloth = springMesh({
    rows,
    columns: rows,
    spacing: 1 / (rows - 1),
    held,
    mass: 1 / rows ** 2,
    g: 9.81,
    drag: 0.1 / rows ** 2,
    stiffness: params => params.k as tf.Tensor,
  });
  const free = Array.from({length: rows * rows}, (_, knot) => knot).filter(
    knot => !held.some(([r, c]) => r * rows + c === knot),
  );
  const place = new Map(free.map((knot, i) => [knot, i]));
  // Where the neighbour is held or missing the knot stands for it, and its load is zero.
  const right = free.map((knot, i) => ((knot + 1) % rows === 0 ? i : (place.get(knot + 1) ?? i)));
  const below = free.map((knot, i) => place.get(knot + rows) ?? i);
  const system = mechanics({
    mass: cloth.mass,
    forces: [
      ...cloth.forces,
      ({q, params}) => {
        const [a, b] = [right, below].map(indices => tf.unstack(tf.sub(tf.gather(q, indices), q), 1));
        const normal = [0, 1, 2].map(x =>
          tf.sub(tf.mul(a[(x + 1) % 3], b[(x + 2) % 3]), tf.mul(a[(x + 2) % 3], b[(x + 1) % 3])),
        );
        return tf.mul(tf.stack(normal, 1), params.p as tf.Tensor);
      },
    ],
  });
  return {system, positions: cloth.positions};
}
