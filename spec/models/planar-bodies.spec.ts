/** Bodies in the plane: free fall, points and their picture. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, rk4, simulate} from '../../lib/index.js';
import {withFigure} from '../../models/index.js';
import {lumpedMass, weight} from '../../models/planar-bodies.js';
import {animate} from '../../plot/index.js';

describe('planar bodies', () => {
  const mass = lumpedMass({mass: [2, 3], inertia: 0.5});
  const falling = withFigure(mechanics({mass, forces: [weight(mass, 9)]}), {
    points: ({q}) => tf.slice(q, [0, 0], [2, 2]),
    rods: [[0, 1]],
  });

  it('fall with g, whatever their mass, and are drawn by withFigure', () => {
    const start = {q: [[0, 0, 0], [1, 0, 0]], v: [[0, 0, 0], [0, 0, 4]]}; // prettier-ignore
    const path = simulate(falling, start, {scheme: rk4(), dt: 0.25, steps: 2});
    path.dispose();
    // −9 t²/2 at t = ½ and 4 t: rk4 is exact for both.
    expect([...path.values('q').slice(-6)]).to.deep.equal([0, -1.125, 0, 1, -1.125, 2]);
    expect(animate(path).svg()).to.match(/^<svg[^]*<\/svg>\s*$/);
  });
});
