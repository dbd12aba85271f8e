/** Switches of t and parameters alone are found before the steps that meet them, however long these are. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {kvaerno5, ode, rk4, simulate, tsit5, type Params} from '../../lib/index.js';
import {slope, tight} from './cases.js';

type Values = {readonly [name: string]: tf.Tensor};
const rate = (f: (t: tf.Tensor, params: Values) => tf.Tensor) =>
  ode<Params>(({y, t, params}) => tf.mul(tf.cast(f(t, params as Values), 'float32'), tf.onesLike(y)));

const runs = [
  {scheme: rk4(), dt: 1},
  {scheme: tsit5(), dt: 1, ...tight},
  {scheme: kvaerno5(), dt: 1, ...tight},
];

describe('switches of time', () => {
  it('of a sine, up to 30 periods a step', () => {
    const high = rate((t, {w}) => tf.greater(tf.sin(tf.mul(w, t)), 0.98));
    // Where the sine is above, in a period, from its begin on.
    const rise = Math.asin(0.98);
    const above = (w: number, T: number): number => {
      const whole = Math.floor((w * T) / (2 * Math.PI));
      const rest = w * T - whole * 2 * Math.PI;
      return (whole * (Math.PI - 2 * rise) + Math.min(Math.max(rest - rise, 0), Math.PI - 2 * rise)) / w;
    };
    for (const w of [2.9, 31, 190])
      for (const options of runs) {
        const given = {...options, t1: 7, params: {w}, saveAt: 'end', switches: 'locate'} as const;
        const {trajectory, pullback} = simulate.vjp(high, {y: 0}, given);
        expect(trajectory.values('y')[1]).to.be.closeTo(above(w, 7), 1e-11);
        expect((pullback({y: [0, 1]}).params.w as Float64Array)[0]).to.be.closeTo(
          slope(h => above(w + h, 7), 1e-5),
          1e-7,
        );
        expect(trajectory.warnings).to.deep.equal([]);
      }
  });

  it('of a whole part that changes 200 times a step', () => {
    const steps = ode<Params>(({y, t, params: {w}}) => tf.add(tf.floor(tf.mul(w as tf.Tensor, t)), tf.zerosLike(y)));
    const [w, T, last] = [200.3, 2, 400];
    for (const options of runs) {
      const given = {...options, t1: T, params: {w}, saveAt: 'end', switches: 'locate'} as const;
      const {trajectory, pullback} = simulate.vjp(steps, {y: 0}, given);
      // Σ (T − k/w), and Σ k/w².
      expect(trajectory.values('y')[1]).to.be.closeTo(last * T - (last * (last + 1)) / 2 / w, 1e-10);
      expect((pullback({y: [0, 1]}).params.w as Float64Array)[0]).to.be.closeTo(
        (last * (last + 1)) / 2 / w ** 2,
        1e-10,
      );
      expect(trajectory.warnings).to.deep.equal([]);
    }
  });

  it('of a pulse that is much shorter than the steps', () => {
    const near = rate((t, {c, eps}) => tf.less(tf.square(tf.sub(t, c)), eps));
    for (const options of runs.slice(1))
      for (const eps of [0.04, 1e-6, 1e-10]) {
        const given = {...options, t1: 90, params: {c: 47.3, eps}, saveAt: 'end', switches: 'locate'} as const;
        const {trajectory, pullback} = simulate.vjp(near, {y: 0}, given);
        expect(trajectory.values('y')[1]).to.be.closeTo(2 * Math.sqrt(eps), 1e-12);
        const {params} = pullback({y: [0, 1]}) as unknown as {params: {[name: string]: Float64Array}};
        expect(params.eps[0] * Math.sqrt(eps)).to.be.closeTo(1, 1e-6);
        expect(params.c[0]).to.be.closeTo(0, 1e-6);
      }
  });
});
