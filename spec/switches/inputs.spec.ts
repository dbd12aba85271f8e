/** Switches that read held inputs: set points of a thermostat, pulse width modulation, a dead time that is estimated. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4, signal, simulate, tsit5, kvaerno5} from '../../lib/index.js';
import {bounded, identify, positive} from '../../training/index.js';
import {slope, tight, type Numbers} from './cases.js';

describe('switches and held inputs', () => {
  it('a thermostat follows its set points: it heats, cools, and holds them', () => {
    const points = [20, 22, 18, 21, 19, 23, 17];
    const set = signal([0, 1, 2, 3, 4, 5, 6], points, 'hold');
    const room = ode<{k: tf.Tensor; P: tf.Tensor; A: tf.Tensor}>(({y, t, params: {k, P, A}}) =>
      tf.add(tf.mul(k, tf.sub(A, y)), tf.where(tf.less(y, set.at(t)), P, 0)),
    );
    const end = (start: number, {k, P, A}: Numbers, T: number): number =>
      points.slice(0, Math.ceil(T)).reduce((y, point, i) => {
        const limit = A + (y < point ? P : 0) / k;
        const reached = limit + (y - limit) * Math.exp(-k * (Math.min(i + 1, T) - i));
        return (reached - point) * (y - point) <= 0 ? point : reached;
      }, start);
    const params = {k: 0.8, P: 25, A: 5};
    for (const options of [
      {scheme: rk4(), dt: 0.01},
      {scheme: tsit5(), dt: 0.1, ...tight},
      {scheme: kvaerno5(), dt: 0.1, ...tight},
    ])
      for (const T of [0.7, 2.15, 3.1, 6.9]) {
        const {trajectory, pullback} = simulate.vjp(room, {y: 15}, {...options, t1: T, params, saveAt: 'end'});
        expect(trajectory.values('y')[1]).to.be.closeTo(end(15, params, T), 1e-8);
        expect(trajectory.warnings).to.deep.equal([]);
        const found = pullback({y: [0, 1]}).params;
        for (const name of ['k', 'P', 'A'] as const)
          expect(found[name][0]).to.be.closeTo(
            slope(h => end(15, {...params, [name]: params[name] + h}, T)),
            1e-7,
          );
      }
  });

  it('pulse width modulation of unknown duty, phase and period', () => {
    const filtered = ode<{d: tf.Tensor; phi: tf.Tensor; P: tf.Tensor}>(({y, t, params: {d, phi, P}}) =>
      tf.sub(tf.cast(tf.less(tf.mod(tf.sub(t, phi), P), tf.mul(d, P)), 'float32'), y),
    );
    const end = ({d, phi, P}: Numbers, T: number): number => {
      let [y, t] = [0, 0];
      for (let k = Math.floor(-phi / P); t < T; k++)
        for (const [u, until] of [
          [1, phi + (k + d) * P],
          [0, phi + (k + 1) * P],
        ]) {
          const next = Math.min(Math.max(until, t), T);
          y = u + (y - u) * Math.exp(t - next);
          t = next;
        }
      return y;
    };
    const params = {d: 0.3, phi: 0.13, P: 0.4};
    for (const options of [
      {scheme: rk4(), dt: 0.01},
      {scheme: tsit5(), dt: 0.1, ...tight},
    ]) {
      const {trajectory, pullback} = simulate.vjp(filtered, {y: 0}, {...options, t1: 3.03, params, saveAt: 'end'});
      expect(trajectory.values('y')[1]).to.be.closeTo(end(params, 3.03), 1e-10);
      const found = pullback({y: [0, 1]}).params;
      for (const name of ['d', 'phi', 'P'] as const)
        expect(found[name][0]).to.be.closeTo(
          slope(h => end({...params, [name]: params[name] + h}, 3.03)),
          1e-7,
        );
    }
  });

  it('identify finds a dead time and the lag behind it, within their errors', async () => {
    const step = signal([0, 1], [0, 1], 'hold');
    const plant = ode<{tau: tf.Tensor; T: tf.Tensor}>(({y, t, params: {tau, T}}) =>
      tf.div(tf.sub(step.at(tf.sub(t, tau)), y), T),
    );
    const [tau, T] = [0.637, 0.55];
    const t = Array.from({length: 60}, (_, i) => 0.08 * (i + 1));
    const y = t.map(
      (time, i) => (time < 1 + tau ? 0 : 1 - Math.exp(-(time - 1 - tau) / T)) + 2e-3 * Math.sin(12.9898 * i * i + 1),
    );
    for (const guess of [0.3, 1.1]) {
      const fit = await identify({
        system: plant,
        initial: {y: 0},
        data: {t, y},
        parameters: {tau: bounded(0, 2, guess), T: positive(0.4)},
        scheme: rk4(),
        dt: 0.02,
        residuals: 'independent',
      });
      expect(fit.converged).to.equal(true);
      const [estimate, error] = [fit.estimate, fit.standardError] as unknown as Numbers[];
      expect(Math.abs(estimate.tau - tau)).to.be.lessThan(3 * error.tau);
      expect(Math.abs(estimate.T - T)).to.be.lessThan(3 * error.T);
      expect(error.tau).to.be.lessThan(2e-3);
    }
  });
});
