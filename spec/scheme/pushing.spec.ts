/**
 * Sliding that begins and ends, sticking and rolling by moreau(): what its steps sum to in closed form, and what that comes to with shorter
 * steps; derivatives by friction, force, mass and speed.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {frictionalContact, mechanics, moreau, simulate} from '../../lib/index.js';
import {multibody, rigidContact} from '../../models/index.js';
import {plane, sphere} from '../../models/multibody/shapes.js';
import {slow} from '../tiers.js';

const g = 9.81;
const one = (x: unknown): number => (x as Float64Array)[0];
const byDifferences = <P extends object>(f: (p: P) => number, p: P, name: keyof P): number => {
  const d = 1e-6;
  const at = (by: number): number => f({...p, [name]: (p[name] as number) + by});
  return (at(d) - at(-d)) / (2 * d);
};

describe('moreau: what is pushed, and what rolls', () => {
  describe('a block that is pushed too little for 0.2 s, then enough for 0.3 s, and let go', () => {
    type P = {mu: number; force: number; mass: number};
    const pushed = mechanics<{mu: tf.Tensor; force: tf.Tensor; mass: tf.Tensor}>({
      mass: ({params}: {params: {mass: tf.Tensor}}) => params.mass,
      forces: ({t, params}) => {
        // Forces are those of ends of steps: the push begins after 0.2 s and is there at 0.5 s.
        const share = tf.where(
          tf.less(t, 0.2001),
          tf.scalar(0.4),
          tf.where(tf.less(t, 0.5001), tf.scalar(1), tf.scalar(0)),
        );
        return tf.stack([tf.reshape(tf.mul(share, params.force), []), tf.reshape(tf.mul(-g, params.mass), [])]);
      },
      constraints: [
        frictionalContact(({q}) => tf.gather(q, 1), {
          slip: ({v}) => tf.gather(v, 0),
          friction: ({mu}: {mu: tf.Tensor}) => mu,
        }),
      ],
    });
    const at: P = {mu: 0.31, force: 13, mass: 2};
    /** Σ h v⁺ over the steps of pushing and of sliding on; the step in which it stops does not move. */
    const summed = (h: number, {mu, force, mass}: P): number => {
      const n = Math.round(0.3 / h);
      const [gains, loses] = [h * (force / mass - mu * g), h * mu * g];
      const on = Math.floor((n * gains) / loses);
      return h * ((gains * n * (n + 1)) / 2 + on * n * gains - (loses * on * (on + 1)) / 2);
    };
    const exact = ({mu, force, mass}: P): number => {
      const resists = mu * mass * g;
      return (((force - resists) / mass) * 0.3 ** 2 * force) / (2 * resists);
    };
    const run = (dt: number) => {
      const {trajectory, pullback} = simulate.vjp(
        pushed,
        {q: [0, 0], v: [0, 0]},
        // The sums are those of whole steps.
        {scheme: moreau(), dt, t1: 1.5, saveAt: 'end', params: at, switches: 'ignore'},
      );
      trajectory.dispose();
      const {params} = pullback({q: [[0, 0], [1, 0]]}); // prettier-ignore
      const v = trajectory.values('v')[2];
      return {
        place: trajectory.values('q')[2],
        v,
        mu: one(params.mu),
        force: one(params.force),
        mass: one(params.mass),
      };
    };

    slow('stops where its steps say, with their derivatives', () => {
      for (const dt of [0.01, 0.004]) {
        const found = run(dt);
        expect(found.place).to.be.closeTo(summed(dt, at), 1e-9);
        expect(Math.abs(found.v)).to.be.lessThan(1e-9);
        for (const name of ['mu', 'force', 'mass'] as const)
          expect(found[name], name).to.be.closeTo(
            byDifferences(p => summed(dt, p), at, name),
            1e-6,
          );
      }
    });

    it('and that is (F − f) τ² F/2mf, f = μmg, to the first order of the step, derivatives too', () => {
      const found = run(5e-4);
      expect(found.place).to.be.closeTo(exact(at), 3e-3 * exact(at));
      for (const name of ['mu', 'force', 'mass'] as const) {
        const derivative = byDifferences(exact, at, name);
        expect(found[name], name).to.be.closeTo(derivative, 5e-3 * Math.abs(derivative));
      }
    });
  });

  slow('a ball set down with speed v slides for 2v/(7μg) and rolls with 5v/7, with derivatives', () => {
    const [radius, h, steps, mu, v] = [0.1, 0.004, 150, 0.3, 2];
    const J = 0.4 * radius ** 2;
    const ball = multibody({
      gravity: [0, 0, -g],
      bodies: {ball: {mass: 1, inertia: [J, J, J], position: [0, 0, radius], velocity: [v, 0, 0]}},
      contacts: [
        rigidContact('ground', 'ball', {
          shapes: [plane(), sphere({radius})],
          friction: (({mu: value}: {mu: tf.Tensor}) => value) as never as number,
        }),
      ],
    });
    const sliding = Math.floor((2 * v) / (7 * mu * g) / h);
    const place = h * (sliding * v - (h * mu * g * sliding * (sliding + 1)) / 2 + ((steps - sliding) * 5 * v) / 7);
    const {trajectory, pullback} = simulate.vjp(ball, ball.initial, {
      scheme: moreau(),
      dt: h,
      steps,
      saveAt: 'end',
      params: {mu},
    });
    trajectory.dispose();
    expect(trajectory.values('q')[7]).to.be.closeTo(place, 1e-8);
    const {params, initial} = pullback({q: [[[0, 0, 0, 0, 0, 0, 0]], [[1, 0, 0, 0, 0, 0, 0]]]}); // prettier-ignore
    expect(one(params.mu)).to.be.closeTo((-h * h * g * sliding * (sliding + 1)) / 2, 1e-6);
    expect(one(initial.v)).to.be.closeTo(h * (sliding + ((steps - sliding) * 5) / 7), 1e-6);
    // Without steps: x = 5vT/7 + 2v²/(49μg).
    expect(place).to.be.closeTo((5 * v * steps * h) / 7 + (2 * v ** 2) / (49 * mu * g), h * v);
  });
});
