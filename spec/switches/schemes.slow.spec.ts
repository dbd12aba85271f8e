/** A relay of the state, and a force that changes with the place, by every scheme. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import * as library from '../../lib/index.js';
import {adaptive, mechanics, ode, simulate, type Scheme} from '../../lib/index.js';
import {slope} from './cases.js';

type Values = {readonly a: tf.Tensor; readonly b: tf.Tensor; readonly c: tf.Tensor};

const makers = ['bdf2', 'dopri5', 'explicitEuler', 'gaussLegendre', 'implicitEuler', 'implicitMidpoint'] as const;
const more = ['kvaerno3', 'kvaerno5', 'radauIIA5', 'rk4', 'sdirk2', 'trapezoid', 'tsit5'] as const;
const mechanical = ['generalizedAlpha', 'hht', 'moreau', 'newmark', 'symplecticEuler', 'verlet'] as const;
const made = (name: string): Scheme => (library as unknown as {readonly [name: string]: () => Scheme})[name]();
/** These are of order 1, where the force is not constant. */
const first = new Set(['explicitEuler', 'implicitEuler', 'moreau', 'symplecticEuler']);
const controls = [undefined, adaptive({rtol: 1e-8, atol: 1e-10})];

describe('a relay', () => {
  const relay = ode<Values>(({y, params: {a, b, c}}) => tf.where(tf.less(y, c), a, b));
  for (const name of [...makers, ...more])
    it(`by ${name}`, () => {
      for (const control of controls) {
        const params = {a: 2, b: 0.5, c: 1};
        const options = {scheme: made(name), dt: 0.013, t1: 2, params, saveAt: 'end', control} as const;
        const {trajectory, pullback} = simulate.vjp(relay, {y: 0.3}, options);
        expect(trajectory.values('y')[1]).to.be.closeTo(1 + 0.5 * (2 - 0.35), 1e-13);
        const {initial, params: byParams} = pullback({y: [0, 1]});
        expect(initial.y[0]).to.be.closeTo(0.25, 1e-11);
        expect(byParams.c[0]).to.be.closeTo(0.75, 1e-11);
        expect(byParams.a[0]).to.be.closeTo((0.5 * 0.7) / 4, 1e-11);
      }
    });

  it('is refused by schemes of mechanics', () => {
    for (const name of mechanical)
      expect(() =>
        simulate(relay, {y: 0.3}, {scheme: made(name), dt: 0.1, t1: 1, params: {a: 1, b: 1, c: 1}}),
      ).to.throw(/integrates mechanics\({...}\), not ode/);
  });

  const pushed = mechanics<Values>({mass: 1, forces: ({q, params: {a, b, c}}) => tf.where(tf.less(q, c), a, b)});
  const end = (q: number, a: number): number => {
    const s = (-0.5 + Math.sqrt(0.25 + 2 * a * (1 - q))) / a;
    return 1 + (0.5 + a * s) * (1.5 - s) + 0.25 * (1.5 - s) ** 2;
  };
  for (const name of [...makers, ...more, ...mechanical])
    it(`a force, by ${name}`, () => {
      for (const control of controls) {
        if (first.has(name) && control !== undefined) continue;
        const params = {a: 2, b: 0.5, c: 1};
        const dt = first.has(name) ? 1e-4 : 0.013;
        const digits = first.has(name) ? 3e-4 : 1e-9;
        const options = {scheme: made(name), dt, t1: 1.5, params, saveAt: 'end', control} as const;
        const {trajectory, pullback} = simulate.vjp(pushed, {q: 0.3, v: 0.5}, options);
        expect(trajectory.values('q')[1]).to.be.closeTo(end(0.3, 2), digits);
        const {initial, params: byParams} = pullback({q: [0, 1]});
        expect(initial.q[0]).to.be.closeTo(
          slope(h => end(0.3 + h, 2)),
          digits,
        );
        expect(byParams.a[0]).to.be.closeTo(
          slope(h => end(0.3, 2 + h)),
          digits,
        );
      }
    });
});
