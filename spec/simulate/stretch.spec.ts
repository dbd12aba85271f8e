/**
 * A prepared simulation over other stretches of time: to the bit what one prepared for that stretch gives, by every way
 * in which a run meets its times (grids, step control, states saved between steps, inputs that jump), and traced once.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Simulation, SimulateOptions} from '../../lib/index.js';
import type {Stretch} from '../../lib/simulate/options.js';
import {
  adaptive,
  backsolveAdjoint,
  bdf2,
  dopri5,
  event,
  forwardSensitivity,
  generalizedAlpha,
  kvaerno3,
  mechanics,
  ode,
  OptionError,
  rk4,
  signal,
  simulate,
  trapezoid,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const times = Array.from({length: 41}, (_, i) => i * 0.25);
const levels = times.map((_, i) => (i < 20 ? 0 : Math.sin(3 * i) + (i % 2)));
const joined = signal(times, levels);
const held = signal(times, levels, 'hold');
type Driven = {readonly u: tf.Tensor; readonly k: tf.Tensor};
let traced = 0;
const oscillator = mechanics({
  mass: 1,
  forces: ({q, v, t, params}) => {
    traced++;
    const {u, k} = params as Driven;
    return tf.addN([u, tf.mul(tf.neg(k), tf.pow(q, 3)), tf.mul(-0.1, v), tf.cos(t)]);
  },
});
const start = {q: 0.3, v: -0.2};
const params = {k: 2};

/** All numbers of a run, its gradient and its tangent. */
function numbersOf(simulation: Simulation<typeof oscillator>): unknown {
  const {trajectory, pullback} = simulation.vjp();
  const series = [trajectory.values('t'), trajectory.values('q'), trajectory.values('v')];
  const gradient = pullback({q: series[1].map((_, i) => 1 + i)});
  trajectory.dispose();
  const pushed = simulation.jvps([{params: {k: 1}}, {initial: {q: 1}}]);
  pushed.trajectory.dispose();
  return {series, gradient, tangents: pushed.tangents};
}

const cases: {readonly [name: string]: Omit<SimulateOptions, 'steps' | 't1'>} = {
  'a grid': {scheme: rk4(), dt: 0.05, inputs: {u: joined}},
  'a scheme that carries, at jumps': {scheme: generalizedAlpha(), dt: 0.05, inputs: {u: held}},
  'two steps, at jumps': {scheme: bdf2(), dt: 0.05, inputs: {u: held}},
  'step control, at jumps': {
    scheme: dopri5(),
    dt: 0.05,
    control: adaptive({rtol: 1e-6, atol: 1e-8}),
    inputs: {u: held},
  },
  'implicit step control, at onsets': {
    scheme: kvaerno3(),
    dt: 0.05,
    control: adaptive({rtol: 1e-5, atol: 1e-7}),
    inputs: {u: joined},
  },
  'tangents beside the run': {scheme: trapezoid(), dt: 0.05, inputs: {u: joined}, adjoint: forwardSensitivity()},
  'the adjoint backwards': {scheme: rk4(), dt: 0.05, inputs: {u: joined}, adjoint: backsolveAdjoint()},
  events: {scheme: trapezoid(), dt: 0.05, inputs: {u: joined}, events: [event({when: ({q}) => q, then: 'record'})]},
};
/** The first rests where inputs do not move yet, the others meet their jumps; some save between steps. */
const stretches: readonly Stretch[] = [
  {t0: 0, t1: 2},
  {t0: 4.6, t1: 6.13, saveAt: 'end'},
  {t0: 7, t1: 8, saveAt: [7.25, 7.333, 8]},
  {t0: -1, t1: 0.5, saveAt: {every: 2}},
];

describe('a prepared simulation over other stretches of time', () => {
  for (const [name, options] of Object.entries(cases))
    slow(`is to the bit what one prepared for it is: ${name}`, () => {
      const prepared = simulate.prepare(oscillator, start, {...options, t1: 1, params} as SimulateOptions);
      for (const {t0, ...span} of stretches) {
        const anew = simulate.prepare(oscillator, {...start, t: t0}, {...options, ...span, params} as SimulateOptions);
        expect(numbersOf(prepared.over({t0, ...span}))).to.deep.equal(numbersOf(anew));
      }
      // The one that they came from stays as it was.
      const still = simulate.prepare(oscillator, start, {...options, t1: 1, params} as SimulateOptions);
      expect(numbersOf(prepared)).to.deep.equal(numbersOf(still));
    });

  it('traces nothing anew', () => {
    const prepared = simulate.prepare(oscillator, start, {...cases['a grid'], steps: 20, params} as SimulateOptions);
    const before = traced;
    let least = Infinity;
    for (let n = 1; n < 100; n++) {
      const {stats, ...rest} = prepared.over({t0: n * 0.1, steps: 20}).run();
      least = Math.min(least, stats.milliseconds.trace + stats.milliseconds.compile);
      Object.values(rest).forEach(value => value instanceof tf.Tensor && value.dispose());
    }
    expect(traced).to.equal(before);
    // The least of many: other work on the machine may hold up some.
    expect(least).to.be.lessThan(1);
  });

  it('takes other starts, parameters and losses', () => {
    const decay = ode(({y, t, params: at}) => tf.mul(tf.neg((at as {rate: tf.Tensor}).rate), tf.mul(t, y)));
    const later = simulate
      .prepare(decay, {y: 1}, {scheme: rk4(), dt: 0.01, steps: 1, params: {rate: 1}})
      .over({t0: 1, t1: 2, saveAt: 'end'});
    const {value, gradient} = later.valueAndGrad(({y}) => tf.sum(tf.slice(y, 1, 1)), {
      initial: {y: 3},
      params: {rate: 0.5},
    });
    // y = y₀ exp(−r (t² − t₀²)/2), of fourth order
    const exact = 3 * Math.exp(-0.75);
    expect(value).to.be.closeTo(exact, 1e-9);
    expect((gradient.params as {rate: Float64Array}).rate[0]).to.be.closeTo(-1.5 * exact, 1e-8);
    expect(gradient.initial?.y?.[0]).to.be.closeTo(exact / 3, 1e-9);
  });

  it('refuses what is no stretch', () => {
    const prepared = simulate.prepare(oscillator, start, {...cases['a grid'], steps: 2, params} as SimulateOptions);
    const refused = (stretch: unknown, message: RegExp): void => {
      expect(() => prepared.over(stretch as Stretch)).to.throw(OptionError, message);
    };
    refused({t0: 0}, /no end: give steps or t1/);
    refused({t0: NaN, steps: 2}, /t0/);
    refused({t0: 3, t1: 2}, /before the start/);
    refused({t0: 0, steps: 2, dt: 1}, /dt/);
    refused({t0: 0, steps: 2, saveAt: [5]}, /saveAt/);
    expect(() => prepared.over({t0: 1, steps: 2}).run({initial: {...start, t: 3}})).to.throw(
      OptionError,
      /over\(\{t0: 3/,
    );
    const path = prepared.run();
    const state = path.state();
    path.dispose();
    const going = simulate.prepare(oscillator, state, {...cases['a grid'], steps: 2, params} as SimulateOptions);
    expect(() => going.over({t0: 1, steps: 2})).to.throw(OptionError, /saved state/);
  });
});
