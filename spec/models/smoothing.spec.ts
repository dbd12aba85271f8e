/** What smoothed friction and smoothed contact cost, in positions and in derivatives, as functions of what they are smoothed by. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  frictionalContact,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  moreau,
  simulate,
  unilateral,
} from '../../lib/index.js';
import {contact, multibody} from '../../models/index.js';
import {coulomb} from '../../models/friction.js';
import {plane, sphere} from '../../models/multibody/shapes.js';
import {slow} from '../tiers.js';

const g = 9.81;
const one = (x: unknown): number => (x as Float64Array)[0];

describe('the price of smoothing', () => {
  describe('coulomb, F tanh(v/ε)', () => {
    const [mass, force] = [2, 4];
    const block = mechanics<{load: tf.Tensor; force: tf.Tensor}>({
      mass,
      forces: [
        coulomb({force: ({force: F}: {force: tf.Tensor}) => F, velocityScale: 1}),
        ({q, params}) => tf.mul(params.load, tf.onesLike(q)),
      ],
    });
    /** The same in units in which ε is 1: v and q in ε, masses and forces as they are. */
    const run = (epsilon: number, v: number, load: number, t1: number) =>
      simulate.vjp(block, {q: 0, v: v / epsilon}, {
        scheme: implicitMidpoint(),
        dt: 1e-3 / 4,
        t1,
        saveAt: 'end',
        params: {load: load / epsilon, force: force / epsilon},
      }); // prettier-ignore

    it('stops π²ε²m/12F too late, and ∂/∂F is off by π²ε²m/12F²', () => {
      const v = 1.5;
      const errors = [0.1, 0.05].map(epsilon => {
        const {trajectory, pullback} = run(epsilon, v, 0, 2);
        trajectory.dispose();
        const {params} = pullback({q: [0, 1]});
        return {
          place: epsilon * trajectory.values('q')[1] - (mass * v ** 2) / (2 * force),
          byForce: one(params.force) + (mass * v ** 2) / (2 * force ** 2),
          bound: ((Math.PI * epsilon) ** 2 * mass) / (12 * force),
        };
      });
      for (const {place, byForce, bound} of errors) {
        expect(place / bound).to.be.closeTo(1, 0.01);
        expect(byForce / (-bound / force)).to.be.closeTo(1, 0.02);
      }
      expect(errors[0].place / errors[1].place).to.be.closeTo(4, 0.05);
    });

    it('creeps where it should stick: ε artanh(s) t, with a derivative by the load', () => {
      for (const [epsilon, share] of [[0.01, 0.5], [0.005, 0.5], [0.01, 0.9]] as const) {
        const at = (t1: number) => {
          const {trajectory, pullback} = run(epsilon, 0, share * force, t1);
          trajectory.dispose();
          return [epsilon * trajectory.values('q')[1], one(pullback({q: [0, 1]}).params.load)];
        };
        // After a while nothing is left of the start, which takes some ε m/F.
        const [early, late] = [at(0.5), at(1)];
        expect((late[0] - early[0]) / 0.5).to.be.closeTo(epsilon * Math.atanh(share), 1e-6);
        expect((late[1] - early[1]) / 0.5).to.be.closeTo(epsilon / (force * (1 - share ** 2)), 1e-4 * epsilon);
      }
    }); // prettier-ignore
  });

  slow('contact, μN w/√(w² + w₀²): a stop is w₀² (½ + ln(2v/w₀))/2μg too late, and ∂/∂μ that over μ', () => {
    // A ball that hardly turns slides like a block.
    const [mu, v, mass, stiffness, radius, inertia] = [0.5, 1, 1, 1e6, 0.1, 1e9];
    const sunk = ((mass * g) / stiffness) ** (2 / 3);
    const errors = [0.05, 0.025].map(slip => {
      const slider = multibody({
        gravity: [0, 0, -g],
        bodies: {
          ball: {mass, inertia: [inertia, inertia, inertia], position: [0, 0, radius - sunk], velocity: [v, 0, 0]},
        },
        contacts: [
          contact('ground', 'ball', {
            shapes: [plane(), sphere({radius})],
            stiffness,
            slip,
            friction: (({mu: value}: {mu: tf.Tensor}) => value) as never as number,
          }),
        ],
      });
      const {trajectory, pullback} = simulate.vjp(slider, slider.initial, {
        scheme: implicitMidpoint(),
        dt: 5e-4,
        t1: 0.8,
        saveAt: 'end',
        params: {mu},
      });
      trajectory.dispose();
      const {params} = pullback({q: [[[0, 0, 0, 0, 0, 0, 0]], [[1, 0, 0, 0, 0, 0, 0]]]}); // prettier-ignore
      const exact = v ** 2 / (2 * mu * g);
      const bound = (slip ** 2 * (0.5 + Math.log((2 * v) / slip))) / (2 * mu * g);
      return [(trajectory.values('q')[7] - exact) / bound, (one(params.mu) + exact / mu) / (-bound / mu)];
    });
    // The logarithm is what is left of v √(v² + w₀²) + w₀² asinh(v/w₀) to the second order of w₀/v.
    errors.flat().forEach(ratio => expect(ratio).to.be.closeTo(1, 0.01));
  });

  it('unilateral with smoothing ε: rests ε²/mg above the ground, with ∂/∂m = −ε²/m²g, which should be zero', () => {
    for (const smoothing of [1e-2, 5e-3]) {
      const resting = mechanics<{mass: tf.Tensor}>({
        mass: ({params}: {params: {mass: tf.Tensor}}) => params.mass,
        forces: [({q, params}) => tf.neg(tf.mul(params.mass, tf.mul(g, tf.onesLike(q)))), ({v}) => tf.mul(-40, v)],
        constraints: [unilateral(({q}) => q, {smoothing})],
      });
      const height = smoothing ** 2 / (2 * g);
      const {trajectory, pullback} = simulate.vjp(
        resting,
        {q: height, v: 0},
        {scheme: implicitEuler(), dt: 1e-3, t1: 1, saveAt: 'end', params: {mass: 2}},
      );
      trajectory.dispose();
      expect(trajectory.values('q')[1] / height).to.be.closeTo(1, 1e-6);
      expect(one(pullback({q: [0, 1]}).params.mass) / (-height / 2)).to.be.closeTo(1, 1e-4);
    }
  });

  it('moreau: what sticks does not move; its derivative by a load is the softness, 3·10⁻⁸ h²/m', () => {
    const mass = 2;
    const block = mechanics<{load: tf.Tensor}>({
      mass,
      forces: ({params}) => tf.stack([tf.reshape(params.load, []), tf.scalar(-mass * g)]),
      constraints: [frictionalContact(({q}) => tf.gather(q, 1), {slip: ({v}) => tf.gather(v, 0), friction: 0.5})],
    });
    for (const [dt, t1] of [[0.01, 1], [0.005, 1], [0.005, 2]]) {
      const {trajectory, pullback} = simulate.vjp(block, {q: [0, 0], v: [0, 0]}, {scheme: moreau(), dt, t1, saveAt: 'end', params: {load: 5}});
      trajectory.dispose();
      expect(Math.abs(trajectory.values('q')[2])).to.be.lessThan(1e-12);
      expect(one(pullback({q: [[0, 0], [1, 0]]}).params.load) / (3e-8 * dt ** 2 / mass)).to.be.closeTo(1, 0.01); // prettier-ignore
    } // prettier-ignore
  });
});
