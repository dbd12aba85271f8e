/** Switches of t and parameters alone are found before the steps that meet them, however long these are. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bdf2,
  implicitAdjoint,
  kvaerno5,
  ode,
  rk4,
  signal,
  simulate,
  trapezoid,
  tsit5,
  type Params,
} from '../../lib/index.js';
import {Integrator} from '../../lib/integrate/history/integrator.js';
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

  it('of inputs that are read late, two of which jump at once, without a search', () => {
    const samples = (period: number, count: number, k: number): [number[], number[]] => [
      Array.from({length: count}, (_, i) => period * i),
      Array.from({length: count}, (_, i) => Math.sin(k * i * i + 1)),
    ];
    const given = [samples(0.1, 60, 12.9898), samples(0.2, 30, 4.1414)];
    const inputs = given.map(([times, values]) => signal(times, values, 'hold'));
    const late = rate((t, {tau}) => {
      const at = tf.sub(t, tau);
      return tf.add(inputs[0].at(at), inputs[1].at(at));
    });
    const valueAt = (time: number): number =>
      given.reduce((sum, [times, values]) => sum + values[Math.max(times.filter(one => one <= time).length - 1, 0)], 0);
    const tau = 0.337;
    const T = 6;
    const exact = given.reduce(
      (sum, [times, values]) =>
        sum
        + values[0] * tau
        + values.reduce(
          (own, value, i) => own + value * (Math.min(times[i + 1] ?? Infinity, T - tau) - Math.min(times[i], T - tau)),
          0,
        ),
      0,
    );
    const dense = Integrator.prototype.eventsOnDense;
    let looks = 0;
    Integrator.prototype.eventsOnDense = function (this: Integrator, theta: number) {
      looks++;
      return dense.call(this, theta);
    };
    try {
      for (const scheme of [rk4(), trapezoid(), tsit5(), kvaerno5(), bdf2()])
        for (const steps of [{dt: 0.07}, {dt: 0.05, ...tight}]) {
          const options = {scheme, ...steps, t1: T, params: {tau}, saveAt: 'end'} as const;
          const gradientOf = (more = {}): {readonly y: number; readonly byTau: number} => {
            const {trajectory, pullback} = simulate.vjp(late, {y: 0}, {...options, ...more});
            expect(trajectory.warnings).to.deep.equal([]);
            const {tau: byTau} = pullback({y: [0, 1]}).params as unknown as {tau: Float64Array};
            return {y: trajectory.values('y')[1], byTau: byTau[0]};
          };
          const {y, byTau} = gradientOf();
          expect(y).to.be.closeTo(exact, 1e-9);
          expect(byTau).to.be.closeTo(valueAt(-1) - valueAt(T - tau), 1e-8);
          expect(gradientOf({adjoint: implicitAdjoint({memory: 2000})})).to.deep.equal({y, byTau});
          const {tangent} = simulate.jvp(late, {y: 0}, options, {params: {tau: 1}});
          expect(tangent.y[1]).to.be.closeTo(byTau, 1e-8);
        }
    } finally {
      Integrator.prototype.eventsOnDense = dense;
    }
    // Where both jump at once the second one ends a step of no length.
    expect(looks).to.equal(0);
  });
});
