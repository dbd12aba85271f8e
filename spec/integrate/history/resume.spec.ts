/** Runs that stop and go on, and runs one state at a time. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {RunState, SavedState, Scheme, SimulateOptions, Trajectory} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {
  adaptive,
  bilateral,
  dopri5,
  event,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  newton,
  NewtonError,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  theta,
  trapezoid,
  tsit5,
} from '../../../lib/index.js';
import {doubleEngines} from '../../simulate/engines.js';
import {dot, slope} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

const driven = mechanics({
  mass: 1,
  forces: ({q, v, t}) => tf.addN([tf.neg(tf.sinh(q)), tf.mul(v, -0.1), tf.mul(tf.cos(tf.mul(t, 3)), [0.3, 0.2])]),
});
const start = {q: [1, 0.7], v: [0.2, -0.1], t: 0.3};
/** As another process would get it. */
const sent = (state: RunState): RunState => JSON.parse(JSON.stringify(state)) as RunState;
const last = (path: Trajectory, name: 'q' | 'v' | 't' = 'q'): number[] => [...path.values(name)].slice(-2);

describe('a run that stops and goes on', () => {
  const schemes: readonly Scheme[] = [
    newmark(),
    trapezoid(),
    theta(0.6, {guess: 'extrapolated'}),
    implicitMidpoint(),
    rk4(),
    dopri5(),
    tsit5(),
  ];
  for (const {name: engine} of doubleEngines) {
    for (const scheme of schemes) {
      it(`is the run that did not stop, bit for bit: ${scheme.name}, ${engine}`, () => {
        const options: RunSettings = {scheme, dt: 0.07, engine, newton: newton({jacobian: 'fresh'})};
        const whole = simulate(driven, start, {...options, steps: 40});
        const first = simulate(driven, start, {...options, steps: 17});
        const second = simulate(driven, sent(first.state()), {...options, steps: 23});
        for (const name of ['q', 'v', 't'] as const) {
          const n = name === 't' ? 18 : 36;
          expect([...first.values(name)]).to.deep.equal([...whole.values(name).slice(0, n)]);
          expect([...second.values(name)]).to.deep.equal([...whole.values(name).slice(n - (name === 't' ? 1 : 2))]);
        }
      });
    }
  }

  slow('with adaptive steps, and in the middle of their bounces', () => {
    const ball = mechanics({mass: 1, forces: ({q, v}) => tf.sub(tf.mul(v, -0.05), tf.add(tf.zerosLike(q), 8))});
    const bounce = event({when: ({q}) => q, direction: 'falling', then: ({v}) => ({v: tf.mul(v, -0.9)})});
    for (const scheme of [newmark(), rk4(), trapezoid(), dopri5(), tsit5()]) {
      const options: RunSettings = {
        scheme,
        dt: 1e-2,
        control: adaptive({rtol: 1e-5, max: 0.04}),
        events: [bounce],
        newton: newton({jacobian: 'fresh'}),
      };
      const whole = simulate(ball, {q: 0.5, v: 0}, {...options, steps: 60});
      expect(whole.events).to.have.length.above(2);
      for (const at of [1, 13, 25, 26, 27, 40]) {
        const first = simulate(ball, {q: 0.5, v: 0}, {...options, steps: at});
        const second = simulate(ball, sent(first.state()), {...options, steps: 60 - at});
        expect([...second.values('q')], `${scheme.name}, ${at}`).to.deep.equal([...whole.values('q').slice(at)]);
        expect(first.events.length + second.events.length).to.equal(whole.events.length);
      }
    }
  });

  slow('with adaptive implicit Runge–Kutta steps, whose guesses and matrices come from the step before', () => {
    const oscillator = ode(({y}) => {
      const [a, b] = [tf.slice(y, [0], [1]), tf.slice(y, [1], [1])];
      return tf.concat([b, tf.sub(tf.mul(tf.mul(tf.sub(1, tf.square(a)), b), 20), a)]);
    });
    for (const scheme of [kvaerno5(), kvaerno3(), sdirk2(), radauIIA5()]) {
      const options: RunSettings = {scheme, dt: 1e-3, control: adaptive({rtol: 1e-6, atol: 1e-8})};
      const whole = simulate(oscillator, {y: [2, 0]}, {...options, steps: 60});
      const moving = simulate(driven, start, {...options, steps: 30});
      for (const at of [0, 1, 7, 33, 34, 35, 50]) {
        const first = simulate(oscillator, {y: [2, 0]}, {...options, steps: at});
        const second = simulate(oscillator, sent(first.state()), {...options, steps: 60 - at});
        expect([...second.values('y')], `${scheme.name}, ${at}`).to.deep.equal([...whole.values('y').slice(2 * at)]);
      }
      const first = simulate(driven, start, {...options, steps: 11});
      expect(
        [...simulate(driven, sent(first.state()), {...options, steps: 19}).values('q')],
        scheme.name,
      ).to.deep.equal([...moving.values('q').slice(22)]);
    }
  });

  it('with constraints', () => {
    const rod = mechanics({
      mass: 1,
      forces: ({q}) => tf.mul(tf.onesLike(q), [0, -9.81]),
      constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
    });
    const options: RunSettings = {scheme: implicitMidpoint(), dt: 0.01, newton: newton({jacobian: 'fresh'})};
    const whole = simulate(rod, {q: [1, 0], v: [0, 0]}, {...options, steps: 30});
    const first = simulate(rod, {q: [1, 0], v: [0, 0]}, {...options, steps: 12});
    expect(last(simulate(rod, sent(first.state()), {...options, steps: 18}))).to.deep.equal(last(whole));
  });

  it('from a start of its own where dt is another, and after an event that stopped it', () => {
    const first = simulate(driven, start, {scheme: trapezoid(), dt: 0.1, steps: 4});
    const second = simulate(driven, first.state(), {scheme: trapezoid(), dt: 0.05, steps: 2});
    expect([...second.values('t')].map((t, i) => t - (0.7 + 0.05 * i))).to.satisfy((rest: number[]) =>
      rest.every(x => Math.abs(x) < 1e-15),
    );
    const stop = event({when: ({q}) => tf.sum(q), then: 'stop'});
    const stopped = simulate(driven, start, {scheme: trapezoid(), dt: 0.1, t1: 9, events: [stop]});
    const on = simulate(driven, stopped.state(), {scheme: trapezoid(), dt: 0.1, t1: 9, events: [stop]});
    // It is not at once at the event that ended the run before.
    expect(on.values('t')[0]).to.equal(stopped.values('t').at(-1));
    expect(on.events[0].t - stopped.events[0].t).to.be.above(0.5);
  });

  it('the gradient reaches every block of the state that it goes on from', () => {
    const options: SimulateOptions = {
      scheme: newmark(),
      dt: 0.07,
      steps: 9,
      saveAt: [0.3 + 0.07 * 4 + 0.2, 0.3 + 0.07 * 13],
      t1: undefined,
    };
    const state = simulate(driven, start, {...options, steps: 4, saveAt: 'end'}).state();
    const w = [1, -2, 0.5, 0.3];
    const from = (a: number): RunState => ({
      ...state,
      blocks: {...state.blocks, a: {...state.blocks.a, values: state.blocks.a.values.map((x, i) => x + a * (i + 1))}},
    });
    const {pullback} = simulate.vjp(driven, state, options);
    const initial = pullback({q: w}).initial as Readonly<Record<string, Float64Array>>;
    expect(Object.keys(initial)).to.deep.equal(['q', 'v', 'a']);
    const difference = slope(s => dot(w, simulate(driven, from(s), options).values('q')), 1e-2);
    expect(dot(initial.a, [1, 2]) / difference).to.be.closeTo(1, 1e-8);
    const {tangent} = simulate.jvp(driven, state, options, {initial: {v: [0.3, 0.4]}});
    expect(dot(tangent.q, w)).to.be.closeTo(dot(initial.v, [0.3, 0.4]), 1e-14);
  });

  it('refuses a state of another scheme or system, and a simulation prepared for the other kind of start', () => {
    const state = simulate(driven, start, {scheme: newmark(), dt: 0.1, steps: 1}).state();
    const refused = (f: () => unknown): void =>
      void expect(f).to.throw(OptionError).with.property('code', 'bad-initial');
    refused(() => simulate(driven, state, {scheme: trapezoid(), dt: 0.1, steps: 1}));
    refused(() =>
      simulate(
        ode(({y}) => y),
        state,
        {dt: 0.1, steps: 1},
      ),
    );
    refused(() => simulate.prepare(driven, start, {scheme: newmark(), dt: 0.1, steps: 1}).run({initial: state}));
    const again = simulate.prepare(driven, state, {scheme: newmark(), dt: 0.1, steps: 1}).run({initial: state});
    expect(last(again)).to.deep.equal(last(simulate(driven, state, {scheme: newmark(), dt: 0.1, steps: 1})));
  });
});

describe('a run one state at a time', () => {
  const collect = (options: SimulateOptions): SavedState[] => [...simulate.steps(driven, start, options)];

  for (const {name: engine} of doubleEngines) {
    it(`gives what the whole run gives: ${engine}`, () => {
      const asked: readonly SimulateOptions[] = [
        {scheme: newmark(), dt: 0.1, steps: 12},
        {scheme: rk4(), dt: 0.1, t1: 2, saveAt: {every: 3}},
        {scheme: trapezoid(), dt: 0.1, t1: 2, saveAt: 'end'},
        {scheme: newmark(), dt: 0.1, t1: 2, saveAt: [0.35, 0.4, 0.44, 1.9], observe: ({q, t}) => tf.add(tf.sum(q), t)},
        {scheme: rk4(), dt: 0.1, t1: 2, control: adaptive({rtol: 1e-4})},
      ];
      for (const one of asked) {
        const options: SimulateOptions = {...one, engine, newton: newton({jacobian: 'fresh'})};
        const whole = simulate(driven, start, options);
        const states = collect(options);
        expect(states.map(({t}) => t)).to.deep.equal([...whole.values('t')]);
        expect(states.flatMap(state => [...state.values('q')])).to.deep.equal([...whole.values('q')]);
        if (options.observe !== undefined)
          expect(states.flatMap(state => [...state.values('observed')])).to.deep.equal([...whole.values('observed')]);
      }
    });
  }

  it('may be left at any state, and gone on from', () => {
    const options: SimulateOptions = {scheme: newmark(), dt: 0.1, steps: 20, newton: newton({jacobian: 'fresh'})};
    let kept: RunState | undefined;
    for (const state of simulate.steps(driven, start, options)) {
      // Another run of the same system in between is none of its business.
      simulate(driven, {q: [5, 5], v: [1, 1]}, options).dispose();
      if (state.t > 1) {
        kept = state.state();
        break;
      }
    }
    const left = kept as RunState;
    expect(left.grid?.step).to.equal(8);
    expect(last(simulate(driven, left, {...options, steps: 12}))).to.deep.equal(last(simulate(driven, start, options)));
  });

  it('ends with the status, or throws where the run fails', () => {
    const pole = ode(({y}) => tf.square(y));
    const run = (more: Partial<RunSettings> & {t1?: number}): {count: number; status: string} => {
      const iterator = simulate.steps(pole, {y: 1}, {scheme: rk4(), dt: 0.01, t1: 2, control: adaptive(), ...more});
      for (let count = 0; ; count++) {
        const next = iterator.next();
        if (next.done === true) return {count, status: next.value};
      }
    };
    expect(run({throw: false}).status).to.equal('step-too-small');
    expect(run({t1: 0.5}).status).to.equal('completed');
    expect(() => run({})).to.throw(NewtonError);
  });

  it('keeps nothing behind it', () => {
    const before = tf.memory().numTensors;
    let count = 0;
    for (const state of simulate.steps(driven, start, {scheme: rk4(), dt: 1e-3, steps: 5000}))
      count += state.t > 0 ? 1 : 0;
    expect(count).to.equal(5001);
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('refuses a series that is not there', () => {
    const [first] = collect({scheme: rk4(), dt: 0.1, steps: 1});
    expect(() => first.values('a'))
      .to.throw(OptionError)
      .with.property('code', 'no-series');
  });
});
