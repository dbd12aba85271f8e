/** Saved states: that of a step is that step's whenever it is asked for, JSON carries every bit, and what is damaged or another's is refused. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Initial, RunState, MechanicalSystem, SimulateOptions} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {
  adaptive,
  event,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  newmark,
  newton,
  ode,
  OptionError,
  rk4,
  simulate,
  StiffgradError,
  trapezoid,
} from '../../../lib/index.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

const driven = mechanics({
  mass: 1,
  forces: ({q, v, t}) => tf.addN([tf.neg(tf.sinh(q)), tf.mul(v, -0.1), tf.mul(tf.cos(tf.mul(t, 3)), [0.3, 0.2])]),
});
const start = {q: [1, 0.7], v: [0.2, -0.1]};
const oscillator = ode(({y}) => {
  const [a, b] = [tf.slice(y, [0], [1]), tf.slice(y, [1], [1])];
  return tf.concat([b, tf.sub(tf.mul(tf.mul(tf.sub(1, tf.square(a)), b), 20), a)]);
});
const stiff: RunSettings = {scheme: kvaerno5(), dt: 1e-3, control: adaptive({rtol: 1e-6, atol: 1e-8})};
const sent = (state: RunState): RunState => JSON.parse(JSON.stringify(state)) as RunState;
const fresh = newton({jacobian: 'fresh'});

describe('the state of a step', () => {
  it('asked for after the run has gone on is still its own, and goes on bit for bit', () => {
    const options: SimulateOptions = {scheme: newmark(), dt: 0.1, steps: 10, newton: fresh};
    const all = [...simulate.steps(driven, start, options)];
    const whole = simulate(driven, start, options);
    all.forEach((step, n) => {
      const state = step.state();
      expect(state.t).to.equal(step.t);
      expect(state.blocks.q.values).to.deep.equal([...step.values('q')]);
      const rest = simulate(driven, sent(state), {...options, steps: 10 - n, saveAt: 'end'});
      expect([...rest.values('q').slice(-2)], `from step ${n}`).to.deep.equal([...whole.values('q').slice(-2)]);
    });
  });

  it('... with what adaptive implicit steps take over from those before', () => {
    const options: SimulateOptions = {...stiff, steps: 40};
    const all = [...simulate.steps(oscillator, {y: [2, 0]}, options)];
    const whole = simulate(oscillator, {y: [2, 0]}, options);
    for (const n of [0, 1, 5, 23, 39]) {
      expect(all[n].state().t).to.equal(all[n].t);
      const rest = simulate(oscillator, sent(all[n].state()), {...options, steps: 40 - n, saveAt: 'end'});
      expect([...rest.values('y').slice(-2)], `from step ${n}`).to.deep.equal([...whole.values('y').slice(-2)]);
    }
  });
});

describe('the state where an event ended a run on a grid', () => {
  it("is between the grid's times, and the run that goes on steps on from it", () => {
    const falling = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.onesLike(q))});
    const options: RunSettings = {scheme: trapezoid(), dt: 0.1, events: [event({when: ({q}) => q, then: 'stop'})]};
    const state = simulate(falling, {q: 1, v: 0}, {...options, steps: 99}).state();
    expect(state.t).to.be.closeTo(Math.SQRT2, 1e-14);
    expect(state.grid).to.equal(undefined);
    const on = simulate(falling, sent(state), {...options, steps: 3});
    // The trapezoid is exact for a constant force: q = 1 − t²/2.
    on.values('t').forEach((t, n) => {
      expect(t).to.be.closeTo(Math.SQRT2 + 0.1 * n, 1e-14);
      expect(on.values('q')[n]).to.be.closeTo(1 - t ** 2 / 2, 1e-14);
    });
  });
});

describe('a saved state as JSON', () => {
  slow('carries every bit: negative zeros, the smallest and the largest numbers', () => {
    const number = fc.oneof(
      fc.constantFrom(0, -0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1),
      fc.double({noNaN: true, noDefaultInfinity: true}),
    );
    const still = ode(({y}) => tf.mul(y, 0));
    fc.assert(
      fc.property(fc.array(number, {minLength: 4, maxLength: 4}), y => {
        const path = simulate(still, {y}, {scheme: rk4(), dt: 0.1, steps: 0});
        const again = simulate(still, sent(path.state()), {scheme: rk4(), dt: 0.1, steps: 0});
        [...again.values('y')].forEach((value, i) => expect(Object.is(value, y[i]), `${y[i]}`).to.equal(true));
        path.dispose();
        again.dispose();
      }),
      runs(100, 30),
    );
  });
});

describe("a saved state that is damaged or another's", () => {
  const grid: SimulateOptions = {scheme: newmark(), dt: 0.1, steps: 2, newton: fresh};
  const onGrid = simulate(driven, start, grid).state();
  const onHistory = simulate(oscillator, {y: [2, 0]}, {...stiff, steps: 5}).state();
  const refused = (
    state: unknown,
    message: RegExp,
    again: () => unknown = () => simulate(driven, state as Initial, grid),
  ): void => {
    expect(again, String(message)).to.throw(OptionError, message).with.property('code', 'bad-initial');
  };
  const withBlock = (change: object): unknown => ({
    ...onGrid,
    blocks: {...onGrid.blocks, v: {...onGrid.blocks.v, ...change}},
  });
  const withPart = (part: string, value: unknown): [unknown, RegExp, () => unknown] => {
    const state = {...onHistory, [part]: value};
    return [
      state,
      new RegExp(`its ${part} is not`),
      () => simulate(oscillator, state as unknown as Initial, {...stiff, steps: 1}),
    ];
  };

  it('is refused with what is wrong', () => {
    refused({...onGrid, version: 2}, /version 2, where this program reads version 1/);
    refused({...onGrid, version: undefined}, /version undefined/);
    refused({...onGrid, t: null}, /its t is not/);
    refused({...onGrid, extra: 1}, /'extra'/);
    for (const values of [[null, 1], ['1', '2'], [NaN, 1], undefined, 3, {0: 1, 1: 2, length: 2}])
      refused(withBlock({values}), /its blocks is not/);
    refused(withBlock({shape: [-2]}), /its blocks is not/);
    refused(withBlock({negativeZeros: [1, 0]}), /its blocks is not/);
    refused({...onGrid, blocks: []}, /its blocks is not/);
    refused({...onGrid, blocks: {...onGrid.blocks, a: undefined}}, /its blocks is not/);
    refused({...onGrid, grid: {...onGrid.grid, step: 7}}, /step 7 of its grid is not at its time/);
    refused({...onGrid, grid: {...onGrid.grid, dt: 0}}, /its grid is not/);
    for (const pace of [
      {},
      {next: -1, memory: {rejected: 0}},
      {next: 'x', memory: {rejected: 0}},
      {next: 1, memory: {rejected: 0, lastError: null}},
      {next: 1, memory: {rejected: 0, lastError: -1}},
    ])
      refused(...withPart('pace', pace));
    for (const memory of [
      {},
      {rate: null},
      {rate: 0.5, h: 1, matrix: [1]},
      {rate: 0.5, last: {t: 0, h: 1, z: {values: [null]}}},
    ])
      refused(...withPart('newton', memory));
    refused(...withPart('settled', [-1]));
    refused(...withPart('jumped', {}));
    refused(withBlock({values: [1, 2, 3]}), /its v has 3 numbers and the shape \[2\]/);
  });

  it('... by another scheme that carries the same, and by a prepared simulation', () => {
    const left = simulate(driven, start, {scheme: trapezoid(), dt: 0.1, steps: 1}).state();
    refused(left, /left by 'trapezoid', and this run's scheme is implicitMidpoint/, () =>
      simulate(driven, left, {scheme: implicitMidpoint(), dt: 0.1, steps: 1}),
    );
    const prepared = simulate.prepare(driven, onGrid, grid);
    refused(undefined, /its t is not/, () =>
      prepared.run({initial: {...onGrid, t: 'now'} as unknown as Initial<MechanicalSystem>}),
    );
    prepared.run({initial: onGrid}).dispose();
  });

  slow('never runs wrongly nor throws anything raw, wherever one value is another', () => {
    type Json = {[name: string]: Json} | Json[] | string | number | boolean | null;
    const paths = (value: Json, at: (string | number)[] = []): (string | number)[][] => [
      at,
      ...(typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, inner]) => paths(inner, [...at, key]))
        : []),
    ];
    const text = JSON.stringify(onHistory);
    const all = paths(JSON.parse(text) as Json).filter(at => at.length > 0);
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.constantFrom<Json>(null, 'x', true, [], {}, -1, 1.5), (at, value) => {
        const state = JSON.parse(text) as Json;
        let place = state as {[name: string]: Json};
        for (const key of at.slice(0, -1)) place = place[key] as {[name: string]: Json};
        place[at[at.length - 1]] = value;
        try {
          simulate(oscillator, state as unknown as Initial, {...stiff, steps: 2, throw: false}).dispose();
        } catch (error) {
          expect(error, `${at.join('.')} = ${JSON.stringify(value)}`).to.be.instanceOf(StiffgradError);
          return;
        }
        // What passes is a number where a number was, or a memory of another size, which is left.
        const numeric = typeof value === 'number' || typeof value === 'boolean';
        expect(
          numeric || (Array.isArray(value) && at[0] !== 'blocks'),
          `${at.join('.')} = ${JSON.stringify(value)} is taken`,
        ).to.equal(true);
      }),
      runs(250, 31),
    );
  });
});
