/** Patch tests: a linear displacement of the boundary is that of every node inside, and stresses are uniform. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {boundary, materials, solid, supports, type CellType} from '../../../fem/index.js';
import {nodesOf} from '../../../fem/body/places.js';
import {equilibrium, traced} from '../../../lib/index.js';
import {slow} from '../../tiers.js';
import {distorted} from './distorted.js';

const gradient = [0.02, 0.03, -0.01, 0.01, -0.03, 0.02, 0.015, -0.02, 0.01];
const quads: readonly CellType[] = ['quad4', 'hex8', 'quad8', 'quad9', 'hex20', 'hex27'];
const simplices: readonly CellType[] = ['tri3', 'tri6', 'tet4', 'tet10'];
const cases = [
  ...[...simplices, ...quads].map(type => ({type, formulation: 'displacement' as const})),
  ...(['quad4', 'hex8'] as const).map(type => ({type, formulation: 'F-bar' as const})),
  ...(['quad4', 'hex8'] as const).map(type => ({type, formulation: 'mixed' as const})),
];

describe('the patch test', function () {
  this.timeout(20_000);
  for (const {type, formulation} of cases)
    for (const law of ['linearElastic', 'neoHookean'] as const)
      (/hex|tet/.test(type) ? slow : it)(`of ${type}, ${formulation}, ${law}`, () => {
        const mesh = distorted(type);
        const d = mesh.dimension;
        const A = Array.from({length: d}, (_, i) => gradient.slice(3 * i, 3 * i + d));
        const body = solid({
          mesh,
          material: materials[law]({E: 10, nu: 0.3}),
          density: 1,
          formulation,
          supports: [
            supports.prescribed(nodesOf(boundary(mesh)), ({X}) =>
              tf.matMul(X as tf.Tensor2D, traced.constantTensor(A.flat(), [d, d]) as tf.Tensor2D, false, true),
            ),
          ],
        });
        const found = equilibrium(body, {q: body.start.q});
        const q = found.values('q');
        const u = body.evaluate(at => body.displacement(at), {q});
        u.forEach((value, i) => {
          const x = mesh.points.subarray(i - (i % d), i - (i % d) + d);
          expect(value).to.be.closeTo(
            A[i % d].reduce((sum, a, k) => sum + a * x[k], 0),
            1e-12,
          );
        });
        const stress = body.evaluate(at => body.stress('cauchy', at, 'points'), {q});
        stress.forEach((value, i) => expect(value).to.be.closeTo(stress[i % 9], 1e-11));
        const nodal = body.evaluate(at => body.stress('cauchy', at), {q});
        nodal.forEach((value, i) => expect(value).to.be.closeTo(stress[i % 9], 1e-11));
        found.dispose();
      });
});
