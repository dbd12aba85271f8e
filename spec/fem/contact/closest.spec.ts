/** The closest place of a surface: signed distances from a box, whose closed form is known. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {evaluated} from '../../../fem/body/evaluate.js';
import {closest} from '../../../fem/contact/closest.js';
import {piecesOf} from '../../../fem/contact/pieces.js';
import {boundary, box, type CellType} from '../../../fem/index.js';
import {constantTensor} from '../../../lib/internal.js';

/** The signed distance of a point from [0, 1]ᵈ, and its slope where that is outside. */
function fromBox(p: readonly number[]): {gap: number; slope: number[]} {
  const way = p.map(x => x - Math.min(Math.max(x, 0), 1));
  const gap = Math.hypot(...way) || Math.max(...p.map(x => Math.abs(x - 0.5) - 0.5));
  return {gap, slope: way.map(x => x / gap)};
}

describe('the closest place of a surface', () => {
  for (const type of ['quad4', 'quad8', 'tri6', 'hex8', 'tet10', 'hex27'] as const satisfies readonly CellType[])
    it(`is at the signed distance from a box of ${type}`, () => {
      const d = /hex|tet/.test(type) ? 3 : 2;
      const mesh = box(new Array<number>(d).fill(1), new Array<number>(d).fill(2), type);
      const pieces = piecesOf(boundary(mesh), mesh.points.length / d);
      const count = 40;
      // Points of a lattice without symmetry, from −0.3 to 1.3: inside, and beside sides, edges and corners.
      const points = Array.from({length: count}, (_, i) =>
        Array.from({length: d}, (_x, k) => -0.3 + 1.6 * ((0.37 + (i + 1) * [0.7548777, 0.5698403, 0.4301597][k]) % 1)),
      );
      const found = evaluated(
        ({q}) => {
          const positions = constantTensor(mesh.points, [mesh.points.length / d, d]);
          const near = closest(pieces, tf.reshape(q, [count, d]), positions, {depth: Infinity, limit: 1});
          return tf.concat([tf.expandDims(near.gap, 1), near.normal], 1);
        },
        {q: points.flat()},
      );
      const outside = points.filter((point, i) => {
        const {gap, slope} = fromBox(point);
        const [distance, ...normal] = found.subarray(i * (d + 1), (i + 1) * (d + 1));
        expect(distance, `at ${point}`).to.be.closeTo(gap, 1e-12);
        if (gap > 0) slope.forEach((x, k) => expect(normal[k]).to.be.closeTo(x, 1e-9));
        return gap > 0;
      });
      expect(outside.length).to.be.within(5, 35);
    });
});
