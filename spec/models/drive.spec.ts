/** Loads as functions of time. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitMidpoint, mechanics, simulate} from '../../lib/index.js';
import {damper, drivenBy, spring} from '../../models/index.js';
import {harmonicDrive, rampDrive} from '../../models/drive.js';
import {valueOf} from './evaluate.js';

describe('loads', () => {
  const at = (drive: Parameters<typeof drivenBy>[0], t: number): number => valueOf(drivenBy(drive), {q: 0, v: 0, t})[0];

  it('harmonic is a sin(2πft + φ)', () => {
    expect(at(harmonicDrive({amplitude: 3, frequency: 0.1, phase: 0.2}), 7)).to.be.closeTo(
      3 * Math.sin(1.4 * Math.PI + 0.2),
      1e-15,
    );
    expect(at(harmonicDrive({frequency: 2, phase: Math.PI / 2}), 0)).to.equal(1);
  });

  it('ramp is constant, linear, constant', () => {
    const drive = rampDrive({from: 1, to: 5, start: 2, end: 4});
    expect([0, 2, 2.5, 4, 9].map(t => at(drive, t))).to.deep.equal([1, 1, 2, 5, 5]);
  });

  it('takes a function of time, or an object with one', () => {
    expect(at(t => tf.square(t), 3)).to.equal(9);
    expect(at({at: t => tf.mul(t, 0.1)}, 3)).to.equal(0.1 * 3);
  });

  it('the gain says where and how much: one number, or broadcasting to q', () => {
    const drive = harmonicDrive({frequency: 0.25});
    const q = [
      [0, 0],
      [0, 0],
      [0, 0],
    ];
    const forces = (gain: number | number[] | number[][]): number[] => [
      ...valueOf(drivenBy(drive, {gain}), {q, v: q, t: 1}),
    ];
    expect(forces(2)).to.deep.equal([2, 2, 2, 2, 2, 2]);
    expect(forces([0, 3])).to.deep.equal([0, 3, 0, 3, 0, 3]);
    expect(forces([[0], [0], [1]])).to.deep.equal([0, 0, 0, 0, 1, 1]);
  });

  it('may depend on params', () => {
    const term = drivenBy((t, params) => tf.mul(params.k as tf.Tensor, t), {gain: params => params.gain as tf.Tensor});
    expect(valueOf(term, {q: 0, v: 0, t: 3, params: {k: 2, gain: 5}})[0]).to.equal(30);
  });

  it('a damped oscillator answers a harmonic load with the steady amplitude of the textbook', () => {
    const [m, c, k, f, F] = [2, 3, 50, 0.6, 7];
    const system = mechanics({
      mass: m,
      forces: [spring({stiffness: k}), damper({coefficient: c}), drivenBy(harmonicDrive({amplitude: F, frequency: f}))],
    });
    const omega = 2 * Math.PI * f;
    const amplitude = F / Math.hypot(k - m * omega ** 2, c * omega);
    const lag = Math.atan2(c * omega, k - m * omega ** 2);
    // 24 cycles: the start has decayed by exp(−c t / 2m) = e^−30; the error is midpoint's (ωh)²/12 ≈ 8e-8 of the phase.
    const cycle = 1 / f;
    const trajectory = simulate(
      system,
      {q: 0, v: 0},
      {scheme: implicitMidpoint(), dt: cycle / 4000, steps: 24 * 4000 + 1000, saveAt: 'end'},
    );
    expect(trajectory.values('q')[1]).to.be.closeTo(amplitude * Math.sin(Math.PI / 2 - lag), 1e-6 * amplitude);
    trajectory.dispose();
  });
});
