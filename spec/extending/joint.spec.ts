/** A joint from outside: known joints written as one, a track, and what a wrong one says. Everything here is public. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {InconsistentStateError, OptionError, ShapeError, simulate} from '../../lib/index.js';
import {customJoint, multibody, revolute, spherical, type Joint, type Multibody} from '../../models/index.js';
import {slow} from '../tiers.js';

const g = 9.81;
const [x, y, z] = [0, 1, 2];
const largest = (values: ArrayLike<number>): number => Math.max(...Array.from(values, Math.abs));
const number = (points: tf.Tensor, row: number, axis: number): tf.Tensor =>
  tf.reshape(tf.slice(points, [row, axis], [1, 1]), []);

/** A double pendulum whose lower joint is given. */
const pendulum = (elbow: Joint, coordinates: 'maximal' | 'minimal'): Multibody =>
  multibody({
    gravity: [0, 0, -g],
    coordinates,
    bodies: {
      upper: {mass: 1, inertia: [0.1, 0.2, 0.3], position: [0.3, 0, -0.4], rotation: [0.9, 0, 0.3, 0]},
      lower: {mass: 2, inertia: [0.3, 0.4, 0.2], position: [1, 0, -1], rotation: [0.8, 0.1, 0.2, -0.1]},
    },
    joints: {shoulder: revolute('ground', 'upper', {at: [0, 0, 0], axis: [0, 1, 0]}), elbow},
  });

describe('a joint from outside', () => {
  slow('moves as the joint that it repeats, on a body that turns: motion and reactions', () => {
    const at: [number, number, number] = [0.6, 0, -0.8];
    const own = customJoint('upper', 'lower', {
      points: [at],
      rows: ['along x', 'along y', 'along z'],
      gap: ({points}) => tf.sub(tf.reshape(points, [3]), at),
    });
    const known = pendulum(spherical('upper', 'lower', {at}), 'maximal');
    for (const coordinates of ['maximal', 'minimal'] as const) {
      const system = pendulum(own, coordinates);
      const options = {dt: 0.002, t1: 0.4};
      const [found, expected] = [system, known].map(of => {
        const path = simulate(of, of.initial, options);
        path.dispose();
        const {force, torque} = of.reaction(path, 'elbow');
        return [of.pose(path, 'lower').position.slice(-3), force.slice(-3), torque.slice(-3)];
      });
      // λ is the mean over the step, here of forces in axes that turn by some ω h in it: |F| ω h/2 is 0.03 N. The torque about the point is 0.
      found.forEach((values, i) =>
        expect(largest(values.map((value, k) => value - expected[i][k])), `${coordinates} ${i}`).to.be.below(
          [2e-6, 0.05, 1e-9][i],
        ),
      );
    }
  });

  slow('a bead on a parabola z = x²: energy, and the speed at the bottom', () => {
    for (const coordinates of ['maximal', 'minimal'] as const) {
      const bead = multibody({
        gravity: [0, 0, -g],
        coordinates,
        bodies: {bead: {mass: 2, inertia: [1, 1, 1], position: [1, 0, 1]}},
        joints: {
          track: customJoint('ground', 'bead', {
            points: [[1, 0, 1]],
            rows: ['height', 'side'],
            gap: ({points}) =>
              tf.stack([tf.sub(number(points, 0, z), tf.square(number(points, 0, x))), number(points, 0, y)]),
          }),
        },
      });
      const marker = bead.point('bead', [1, 0.5, 1]);
      const path = simulate(bead, bead.initial, {
        dt: 0.005,
        t1: 2,
        observe: at => tf.concat([tf.reshape(bead.energy(at), [1]), marker(at)]),
      });
      path.dispose();
      const observed = path.values('observed');
      const {position, velocity} = bead.pose(path, 'bead');
      for (let i = 0; i < 401; i++) {
        expect(observed[4 * i], coordinates).to.be.closeTo(2 * g, 2e-3);
        expect(position[3 * i + 2]).to.be.closeTo(position[3 * i] ** 2, 1e-11);
        const speed = Math.hypot(...velocity.slice(3 * i, 3 * i + 3));
        expect(speed ** 2).to.be.closeTo(2 * g * (1 - position[3 * i + 2]), 2e-3);
        expect(largest([0, 0.5, 0].map((d, k) => observed[4 * i + 1 + k] - position[3 * i + k] - d))).to.be.below(1e-7);
      }
      // m v²/R presses it onto the bottom, where the radius of curvature is ½: N = m g (1 + 2·2).
      const {force} = bead.reaction(path, 'track');
      const lowest = [...Array(401).keys()].reduce((best, i) =>
        position[3 * i + 2] < position[3 * best + 2] ? i : best,
      );
      expect(force[3 * lowest + 2]).to.be.closeTo(2 * g * 5, 1);
    }
  });

  it('a gap that reads params: a shelf, and the load on it', () => {
    const shelf = multibody({
      gravity: [0, 0, -g],
      bodies: {load: {mass: 3, inertia: [1, 1, 1], position: [0, 0, 0.7]}},
      joints: {
        shelf: customJoint('ground', 'load', {
          points: [[0, 0, 0.7]],
          rows: ['height'],
          gap: ({points, params}) => tf.sub(number(points, 0, z), params.level as tf.Tensor),
        }),
      },
    });
    const path = simulate(shelf, shelf.initial, {dt: 0.1, steps: 3, params: {level: 0.7}});
    path.dispose();
    const {force} = shelf.reaction(path, 'shelf', {level: 0.7});
    expect(force[11]).to.be.closeTo(3 * g, 1e-9);
  });

  it('what is wrong is told by the name of its row or its option', () => {
    const of = (gap: (at: {points: tf.Tensor}) => tf.Tensor): Multibody =>
      multibody({
        bodies: {bead: {mass: 2, inertia: [1, 1, 1], position: [1, 0, 0]}},
        joints: {track: customJoint('ground', 'bead', {points: [[1, 0, 0]], rows: ['height'], gap})},
      });
    const run = (system: Multibody) => () => simulate(system, system.initial, {dt: 0.1, steps: 1});
    expect(run(of(({points}) => tf.sub(number(points, 0, x), 3)))).to.throw(
      InconsistentStateError,
      "the gap of lambda[0] (joint 'track': height) is -2.000e+0",
    );
    expect(run(of(({points}) => points))).to.throw(
      ShapeError,
      'a tensor of 1 numbers, one for each of its rows (height)',
    );
    expect(() => customJoint('bead', 'bead', {points: [[0, 0, 0]], rows: ['a'], gap: ({t}) => t})).to.throw(
      OptionError,
    );
    expect(() => customJoint('ground', 'bead', {points: [], rows: ['a'], gap: ({t}) => t})).to.throw(
      OptionError,
      'points must be a list',
    );
  });
});
