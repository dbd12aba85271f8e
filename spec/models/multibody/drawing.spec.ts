/** Bodies as `animate` draws them: points that ride on poses, in both kinds of coordinates, and shapes. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitEuler, simulate} from '../../../lib/index.js';
import {contact, multibody, revolute, type MultibodySpec} from '../../../models/index.js';
import {box, capsule, ellipsoid, hull, plane, sphere} from '../../../models/multibody/shapes.js';
import {animate} from '../../../plot/index.js';
import {largest} from '../../simulate/numbers.js';

const arm: MultibodySpec = {
  gravity: [0, 0, -9.81],
  bodies: {
    upper: {mass: 1, inertia: [0.01, 0.1, 0.1], position: [0.5, 0, 0]},
    lower: {mass: 1, inertia: [0.01, 0.1, 0.1], position: [1.5, 0, 0]},
  },
  joints: {
    shoulder: revolute('ground', 'upper', {at: [0, 0, 0], axis: [0, 1, 0]}),
    elbow: revolute('upper', 'lower', {at: [1, 0, 0], axis: [0, 1, 0]}),
  },
};
const at = (q: readonly number[] | readonly (readonly number[])[]) => ({
  q: tf.tensor(q as number[]),
  t: tf.scalar(0),
  params: {},
});

describe('drawn bodies', function () {
  this.timeout(60_000);

  it('centres and joints are where the pose says, in either coordinates', () => {
    const minimal = multibody({...arm, coordinates: 'minimal'});
    // Both hinges by a quarter turn about y: the upper arm down, the lower one back.
    const points = Array.from(minimal.figure.points(at([Math.PI / 2, Math.PI / 2])).dataSync());
    const expected = [[0, 0, -0.5], [-0.5, 0, -1], [0, 0, 0], [0, 0, -1]].flat(); // prettier-ignore
    expect(largest(points.map((x, i) => x - expected[i]))).to.be.below(1e-6);
    expect(minimal.figure.rods).to.deep.equal([[2, 0], [3, 0], [3, 1]]); // prettier-ignore
    expect(minimal.figure.fixed).to.deep.equal([2]);
    const maximal = multibody(arm);
    const start = Array.from(maximal.figure.points(at(maximal.initial.q)).dataSync());
    expect(start.slice(0, 6)).to.deep.equal([0.5, 0, 0, 1.5, 0, 0]);
  });

  it('bodies without shapes among others that have them keep their bars', () => {
    const {figure} = multibody({...arm, shapes: {upper: [capsule({radius: 0.05, from: [0, 0, 0], to: [1, 0, 0]})]}});
    // The centre of the lower arm, the elbow, and the two ends of the capsule.
    const points = figure.points(at(multibody(arm).initial.q)).arraySync() as number[][];
    const expected = [[1.5, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0]]; // prettier-ignore
    expect(largest(points.flat().map((x, i) => x - expected.flat()[i]))).to.be.below(1e-6);
    expect(figure.rods).to.deep.equal([[1, 0], [2, 3]]); // prettier-ignore
    expect(multibody({...arm, shapes: {}}).figure.rods).to.deep.equal(multibody(arm).figure.rods);
  });

  it('shapes have their corners, ends and radii; a run is a picture', () => {
    const system = multibody({
      gravity: [0, 0, -9.81],
      bodies: {
        crate: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 1], rotation: [1, 0, 0, 1]},
        rod: {mass: 1, inertia: [1, 1, 1], position: [2, 0, 1]},
        ball: {mass: 1, inertia: [1, 1, 1], position: [3, 0, 1]},
      },
      shapes: {
        crate: [box({size: [0.4, 0.2, 0.6]})],
        rod: [capsule({radius: 0.1, from: [2, 0, 0.5], to: [2, 0, 1.5]})],
      },
      contacts: [contact('ground', 'ball', {shapes: [plane(), sphere({radius: 0.2})], stiffness: 1e4})],
    });
    const {figure} = system;
    const points = figure.points(at(system.initial.q)).arraySync() as number[][];
    // A quarter turn about z: the edge of 0.4 lies along y.
    expect(Math.max(...points.slice(0, 8).map(([x]) => x))).to.be.closeTo(0.1, 1e-6);
    expect(Math.max(...points.slice(0, 8).map(([, y]) => y))).to.be.closeTo(0.2, 1e-6);
    expect(figure.rods).to.have.length(12 + 1);
    const corner = Math.hypot(0.4, 0.2, 0.6) / 100;
    [...new Array<number>(8).fill(corner), 0.1, 0.1, 0.2].forEach((r, i) =>
      expect((figure.radius as number[])[i]).to.be.closeTo(r, 1e-12),
    );
    const run = simulate(system, system.initial, {scheme: implicitEuler(), dt: 0.01, steps: 5});
    expect(animate(run, {title: 'Falling'}).strip({frames: 2})).to.match(/^<svg class="still"/);
    run.dispose();
    const egg = multibody({
      bodies: {egg: {mass: 1, inertia: [1, 1, 1], position: [1, 0, 0]}},
      shapes: {egg: [ellipsoid({radii: [3, 2, 1]}), hull({points: [[1, 0, 0], [2, 0, 0]]})]}, // prettier-ignore
    }).figure;
    const drawn = egg.points(at([[1, 0, 0, 1, 0, 0, 0]])).arraySync() as number[][];
    expect(drawn).to.have.length(36 + 2);
    drawn.slice(0, 36).forEach(([x, y, z]) => expect(((x - 1) / 3) ** 2 + (y / 2) ** 2 + z ** 2).to.be.closeTo(1, 1e-5)); // prettier-ignore
    expect(egg.rods).to.have.length(36);
    expect(() => multibody({...arm, shapes: {hand: [sphere({radius: 1})]}})).to.throw(/'hand'/);
  });
});
