/** Sensors as parameters of `observe`: closed forms, gradients against differences, a made record identified within errors. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, ode, OptionError, radauIIA5, rk4, ShapeError, simulate} from '../../lib/index.js';
import {calibrated, firstOrderLag} from '../../models/sensors.js';
import {delayLine} from '../../models/actuators.js';
import type {Params} from '../../lib/index.js';
import {free, identify, positive} from '../../training/index.js';
import {gaussian} from '../../training/data/noise.js';
import {slow} from '../tiers.js';

type Named = {readonly [name: string]: tf.Tensor};
const free1 = {mass: 1, forces: []} as const;

describe('sensors', () => {
  it('a gain and an offset, of one number and of several', () => {
    const decay = ode(({y}) => tf.neg(y));
    const observe = calibrated({
      reading: ({y}: {y: tf.Tensor; params: Params}) => y,
      gain: ({gain}: {gain: tf.Tensor}) => gain,
      offset: [0.5, -0.5],
    });
    const {trajectory, pullback} = simulate.vjp(
      decay,
      {y: [1, 2]},
      {scheme: radauIIA5(), dt: 0.05, t1: 1, saveAt: 'end', observe, params: {gain: 3}},
    );
    const seen = trajectory.values('observed').slice(2);
    expect(seen[0]).to.be.closeTo(3 / Math.E + 0.5, 1e-9);
    expect(seen[1]).to.be.closeTo(6 / Math.E - 0.5, 1e-9);
    const {params} = pullback({observed: [0, 0, 1, 1]});
    expect((params as {gain: Float64Array}).gain[0]).to.be.closeTo(3 / Math.E, 1e-9);
    trajectory.dispose();
  });

  it('a lag: cos ωt behind it, and its derivatives by the time constant and by what was before', () => {
    const omega = 3;
    const lag = firstOrderLag({
      input: ({t}) => tf.cos(tf.mul(omega, t)),
      timeConstant: ({tau}: {tau: tf.Tensor}) => tau,
      before: 0.4,
    });
    const system = mechanics({...free1, states: lag.states});
    const exact = (t: number, tau: number, z0: number): number => {
      const steady = (at: number): number =>
        (Math.cos(omega * at) + omega * tau * Math.sin(omega * at)) / (1 + (omega * tau) ** 2);
      return steady(t) + (z0 - steady(0)) * Math.exp(-t / tau);
    };
    const {trajectory, pullback} = simulate.vjp(
      system,
      {q: 0, v: 0},
      {scheme: radauIIA5(), dt: 0.01, t1: 1, saveAt: 'end', observe: lag.output, params: {tau: 0.3}},
    );
    expect(trajectory.values('observed')[1]).to.be.closeTo(exact(1, 0.3, 0.4), 1e-10);
    const gradient = pullback({observed: [0, 1]} as never);
    const h = 1e-4;
    const byTau = (exact(1, 0.3 + h, 0.4) - exact(1, 0.3 - h, 0.4)) / (2 * h);
    expect((gradient.params as {tau: Float64Array}).tau[0]).to.be.closeTo(byTau, 1e-7);
    expect((gradient.initial as unknown as {lag: Float64Array}).lag[0]).to.be.closeTo(Math.exp(-1 / 0.3), 1e-10);
    trajectory.dispose();
  });

  it('a delay at rest stays at rest, and then passes what comes', () => {
    for (const kind of ['pade', 'lags'] as const) {
      const line = delayLine({
        input: ({t}) => tf.add(0.7, tf.relu(tf.sub(t, 1))),
        delay: 0.2,
        order: 6,
        kind,
        before: 0.7,
      });
      const system = mechanics({...free1, states: line.states});
      const path = simulate(system, {q: 0, v: 0}, {scheme: radauIIA5(), dt: 0.02, t1: 3, observe: line.output});
      const seen = path.values('observed');
      for (let i = 0; i <= 50; i++) expect(seen[i]).to.be.closeTo(0.7, 1e-12);
      // A ramp, once the line has filled.
      expect(seen[150]).to.be.closeTo(0.7 + 2 - 0.2, 1e-6);
      path.dispose();
    }
  });

  slow('one behind the other: their gradients against differences', () => {
    const {system, observe, initial, params} = instrument();
    const options = {scheme: rk4(), dt: 0.01, t1: 2, saveAt: {every: 20}, observe: observe as never};
    const cost = (values: {[name: string]: number}): number => {
      const path = simulate(system, initial, {...options, params: values});
      const sum = path.values('observed').reduce((all, y, i) => all + y * Math.cos(i), 0);
      path.dispose();
      return sum;
    };
    const {trajectory, pullback} = simulate.vjp(system, initial, {...options, params});
    const gradient = pullback({observed: trajectory.values('observed').map((_, i) => Math.cos(i))}).params as {
      [name: string]: Float64Array;
    };
    trajectory.dispose();
    for (const [name, value] of Object.entries(params)) {
      const at = (h: number): number => cost({...params, [name]: value + h});
      const h = 1e-3 * value;
      const difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      expect(gradient[name][0], name).to.be.closeTo(difference, 1e-7 * Math.max(1, Math.abs(difference)));
    }
  });

  slow('are found with the mechanics, within errors', async () => {
    const {system, observe, initial, params} = instrument();
    const dt = 0.02;
    const next = gaussian(4);
    const motion = simulate(system, initial, {scheme: rk4(), dt, steps: 800, observe: observe as never, params});
    const [t, y] = [motion.values('t'), motion.values('observed').map(value => value + 0.01 * next())];
    motion.dispose();
    const fit = await identify({
      system,
      observe: observe as never,
      initial,
      scheme: rk4(),
      dt,
      data: {t, y},
      parameters: {
        k: positive(8),
        c: positive(0.5),
        gain: positive(1.5),
        offset: free(0),
        tau: positive(0.05),
        delay: positive(0.1),
      },
    });
    expect(fit.converged).to.equal(true);
    for (const [name, value] of Object.entries(params)) {
      const error = (fit.standardError as {[name: string]: number})[name];
      expect(error / value, name).to.be.within(1e-4, 0.2);
      expect((fit.estimate as {[name: string]: number})[name], name).to.be.closeTo(value, 3 * error);
    }
    fit.trajectory.dispose();
  });

  it('refuses what it cannot be', () => {
    expect(() => firstOrderLag({input: ({q}) => q, timeConstant: 0})).to.throw(OptionError, /positive/);
    expect(() => calibrated({reading: ({y}: {y: tf.Tensor; params: Params}) => y, scale: 2} as never)).to.throw(
      OptionError,
      /scale/,
    );
    expect(() => delayLine({input: ({q}) => q, delay: 1, before: NaN})).to.throw(OptionError, /before/);
    const lag = firstOrderLag({input: ({q}) => q, timeConstant: 1});
    expect(() =>
      simulate(mechanics({...free1, states: lag.states}), {q: [0, 1], v: [0, 0]}, {dt: 0.1, steps: 1}),
    ).to.throw(ShapeError, /input/);
  });
});

/** A driven oscillator, whose position is read late, through a filter, with a gain and an offset. */
function instrument() {
  const late = delayLine({input: ({q}) => q, delay: ({delay}: {delay: tf.Tensor}) => delay, before: 0.1, order: 3});
  const filter = firstOrderLag({input: late.output, timeConstant: ({tau}: {tau: tf.Tensor}) => tau, before: 0.1});
  const system = mechanics({
    mass: 1,
    forces: ({q, v, t, params}) => {
      const {k, c} = params as Named;
      const drive = tf.add(tf.sin(tf.mul(2, t)), tf.sin(tf.mul(5, tf.mul(t, tf.add(1, tf.mul(0.05, t))))));
      return tf.sub(tf.mul(3, drive), tf.add(tf.mul(k, q), tf.mul(c, v)));
    },
    states: {...late.states, ...filter.states},
  });
  const observe = calibrated({
    reading: filter.output,
    gain: ({gain}: {gain: tf.Tensor}) => gain,
    offset: ({offset}: {offset: tf.Tensor}) => offset,
  });
  const params = {k: 10, c: 0.4, gain: 2, offset: 0.3, tau: 0.08, delay: 0.15};
  return {system, observe, initial: {q: 0.1, v: 0}, params};
}
