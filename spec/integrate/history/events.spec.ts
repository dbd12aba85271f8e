/** Events: where they are found, what they do, several at once, and what never comes to an end. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Event, EventSpec, Scheme, SimulateOptions, Trajectory} from '../../../lib/index.js';
import {
  adaptive,
  bdf2,
  bilateral,
  dopri5,
  event,
  EventError,
  generalizedAlpha,
  hht,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sdirk2,
  ShapeError,
  simulate,
  trapezoid,
  tsit5,
} from '../../../lib/index.js';
import {doubleEngines} from '../../simulate/engines.js';
import {slow} from '../../tiers.js';

const ball = mechanics({mass: 1, forces: ({q}) => tf.add(tf.zerosLike(q), -8)});
const bounce = (e: number, direction: EventSpec['direction'] = 'falling'): Event =>
  event({name: 'floor', when: ({q}) => q, direction, then: ({v}) => ({v: tf.mul(v, -e)})});
const oscillator = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
const free = mechanics({mass: 1, forces: ({q}) => tf.zerosLike(q)});
const part = (x: tf.Tensor, i: number): tf.Tensor => tf.slice(x, [i], [1]);
const happened = ({events}: Trajectory): [number, number][] => events.map(({index, t}) => [index, t]);

/** Height and its derivative by x₀ of a ball dropped from x₀ that has bounced once, at T: with v = √(2 g x₀), t₁ = v/g and τ = T − t₁. */
function bouncedOnce(x0: number, g: number, e: number, T: number): {height: number; slope: number} {
  const v = Math.sqrt(2 * g * x0);
  const tau = T - v / g;
  // dv/dx₀ = g/v, dτ/dx₀ = −1/v.
  return {height: e * v * tau - (g * tau * tau) / 2, slope: e * (g / v) * tau - e + (g * tau) / v};
}

describe('events', () => {
  // Schemes that are exact under constant acceleration.
  for (const {name: engine} of doubleEngines) {
    for (const scheme of [trapezoid(), newmark(), rk4(), implicitMidpoint(), dopri5(), tsit5()]) {
      it(`bouncing ball: ${scheme.name}, ${engine}`, () => {
        const {height, slope} = bouncedOnce(10, 8, 0.8, 3);
        expect(height).to.be.closeTo(6.305197, 5e-7);
        expect(slope).to.be.closeTo(0.81526, 5e-7);
        const options: SimulateOptions = {scheme, dt: 0.1, t1: 3, saveAt: 'end', events: [bounce(0.8)], engine};
        const {trajectory, pullback} = simulate.vjp(ball, {q: 10, v: 0}, options);
        expect(trajectory.values('q')[1]).to.be.closeTo(height, 1e-13);
        expect((pullback({q: [0, 1]}).initial.q as Float64Array)[0]).to.be.closeTo(slope, 1e-13);
        expect(simulate.jvp(ball, {q: 10, v: 0}, options, {initial: {q: 1}}).tangent.q[1]).to.be.closeTo(slope, 1e-13);
        const [impact] = trajectory.events;
        expect(impact.t).to.be.closeTo(Math.sqrt(2.5), 1e-15);
        expect([impact.name, impact.index, impact.direction]).to.deep.equal(['floor', 0, 'falling']);
        expect(impact.before.v[0]).to.be.closeTo(-Math.sqrt(160), 1e-13);
        expect(impact.after.v[0]).to.be.closeTo(0.8 * Math.sqrt(160), 1e-13);
        // dt*/dx₀ = 1/v.
        expect((pullback({events: [1]}).initial.q as Float64Array)[0]).to.be.closeTo(1 / Math.sqrt(160), 1e-15);
      });
    }
  }

  it('two equal balls exchange their velocities: the gradients of the final positions', () => {
    const collide = event({
      when: ({q}) => tf.sub(part(q, 1), part(q, 0)),
      direction: 'falling',
      then: ({v}) => ({v: tf.reverse(v)}),
    });
    const {trajectory, pullback} = simulate.vjp(
      free,
      {q: [0, 1], v: [1, 0]},
      {scheme: trapezoid(), dt: 0.1, t1: 3, saveAt: 'end', events: [collide]},
    );
    const [x, y] = [pullback({q: [0, 0, 1, 0]}).initial, pullback({q: [0, 0, 0, 1]}).initial];
    expect(trajectory.events[0].t).to.be.closeTo(1, 1e-15);
    // Each goes on as the other would have: x₁(T) = x₂ + u₀ T, x₂(T) = x₁ + v₀ T.
    [
      [...(x.q as Float64Array), ...(x.v as Float64Array)],
      [...(y.q as Float64Array), ...(y.v as Float64Array)],
    ].forEach((row, i) => {
      [
        [0, 1, 0, 3],
        [1, 0, 3, 0],
      ][i].forEach((expected, k) => expect(row[k]).to.be.closeTo(expected, 1e-13));
    });
  });

  it('the same instant: two balls from one height, each with its own derivative', () => {
    const floor = (i: number): Event =>
      event({
        when: ({q}) => part(q, i),
        direction: 'falling',
        then: ({v}) => ({v: tf.mul(v, i === 0 ? [-0.8, 1] : [1, -0.8])}),
      });
    const note = event({when: ({q}) => part(q, 1), direction: 'falling', then: 'record'});
    const {height, slope} = bouncedOnce(10, 8, 0.8, 3);
    const {trajectory, pullback} = simulate.vjp(
      ball,
      {q: [10, 10], v: [0, 0]},
      {scheme: trapezoid(), dt: 0.1, t1: 3, saveAt: 'end', events: [floor(0), note, floor(1)]},
    );
    expect(trajectory.events.map(({index}) => index)).to.have.members([0, 1, 2]);
    for (const i of [0, 1]) {
      expect(trajectory.values('q')[2 + i]).to.be.closeTo(height, 1e-12);
      const {q} = pullback({q: [0, 0, 1 - i, i]}).initial as {q: Float64Array};
      expect(q[i]).to.be.closeTo(slope, 1e-12);
      expect(q[1 - i]).to.be.closeTo(0, 1e-14);
    }
  });

  slow('a crossing noted at the time of a jump is noted once, before it', () => {
    // y' = p from 0: y₁ = c is noted, y₂ = c jumps, and t = c is noted. The three times are one but for rounding, which
    // the step, the level and the order of the list turn either way.
    const moving = ode<{p: tf.Tensor}>(({y, params: {p}}) => tf.add(tf.mul(y, 0), p));
    const gather = (y: tf.Tensor, i: number): tf.Tensor => tf.gather(y, i);
    for (const level of [1, 0.7, 2 / 3, 0.9])
      for (const dt of [0.1, 0.03, 0.25])
        for (const control of [undefined, adaptive()])
          for (const order of [
            [0, 1, 2],
            [2, 1, 0],
          ]) {
            const list = [
              event({name: 'noted', when: ({y}) => tf.sub(gather(y, 0), level), then: 'record'}),
              event({name: 'clock', when: ({t}) => tf.sub(t, level), then: 'record'}),
              event({
                name: 'jump',
                when: ({y}) => tf.sub(gather(y, 1), level),
                then: ({y}) => ({y: tf.add(y, [0, 1])}),
              }),
            ];
            const {trajectory, pullback} = simulate.vjp(
              moving,
              {y: [0, 0]},
              {
                scheme: control === undefined ? rk4() : tsit5(),
                dt,
                control,
                t1: 1.5,
                params: {p: [1, 1]},
                events: order.map(i => list[i]),
                saveAt: 'end',
              },
            );
            const names = trajectory.events.map(({name}) => name as 'noted' | 'clock' | 'jump');
            const where = `${level}, ${dt}, ${order.join('')}`;
            expect([...names].sort(), where).to.deep.equal(['clock', 'jump', 'noted']);
            expect(names[2], where).to.equal('jump');
            names.forEach((name, i) => {
              const gradient = pullback({events: names.map((_, k) => Number(k === i))}).params.p as Float64Array;
              const expected = {noted: [-level, 0], clock: [0, 0], jump: [0, -level]}[name];
              gradient.forEach((value, k) => expect(value, `${where} ${name}`).to.be.closeTo(expected[k], 1e-12));
            });
          }
  });

  it('one jump brings about another: three balls, two of them touching', () => {
    const pair = (i: number): Event =>
      event({
        when: ({q}) => tf.sub(part(q, i + 1), part(q, i)),
        direction: 'falling',
        then: ({v}) => ({v: tf.gather(v, i === 0 ? [1, 0, 2] : [0, 2, 1])}),
      });
    for (const events of [
      [pair(0), pair(1)],
      [pair(1), pair(0)],
    ]) {
      const path = simulate(
        free,
        {q: [0, 1, 1], v: [1, 0, 0]},
        {scheme: trapezoid(), dt: 0.1, t1: 2.5, saveAt: 'end', events},
      );
      expect([...path.values('v').slice(3)]).to.deep.equal([0, 0, 1]);
      [1, 1, 2.5].forEach((q, i) => expect(path.values('q')[3 + i]).to.be.closeTo(q, 1e-14));
      expect(path.events.map(({t}) => Math.round(t * 1e12) / 1e12)).to.deep.equal([1, 1]);
    }
  });

  it('directions, and every crossing of a run', () => {
    const crossings = (direction: EventSpec['direction']): Trajectory =>
      simulate(
        oscillator,
        {q: 0.5, v: 1},
        {
          scheme: rk4(),
          dt: 0.01,
          t1: 10,
          saveAt: 'end',
          events: [event({when: ({q}) => q, direction, then: 'record'})],
        },
      );
    // q = A sin(t + φ), A sin φ = ½, A cos φ = 1.
    const phase = Math.atan2(0.5, 1);
    const zeros = [1, 2, 3].map(k => k * Math.PI - phase);
    const met = (path: Trajectory, times: readonly number[]): void => {
      expect(path.events).to.have.lengthOf(times.length);
      path.events.forEach(({t}, i) => expect(t).to.be.closeTo(times[i], 1e-9));
    };
    met(crossings('both'), zeros);
    met(crossings('falling'), [zeros[0], zeros[2]]);
    met(crossings('rising'), [zeros[1]]);
    expect(crossings('both').events.map(({direction}) => direction)).to.deep.equal(['falling', 'rising', 'falling']);
  });

  it('a function that dips below zero within one step', () => {
    // Flat near the top: sin t > 0.9999 lasts 0.028, a step is 0.25.
    const top = (then: EventSpec['then'], direction?: EventSpec['direction']): Trajectory =>
      simulate(
        oscillator,
        {q: 0, v: 1},
        {
          scheme: rk4(),
          dt: 0.25,
          t1: 3,
          saveAt: 'end',
          events: [event({when: ({q}) => tf.sub(q, 0.999), direction, then})],
        },
      );
    const up = Math.asin(0.999);
    expect(top('record', 'rising').events.map(({t}) => t)[0]).to.be.closeTo(up, 1e-3);
    expect(top('record', 'falling').events.map(({t}) => t)[0]).to.be.closeTo(Math.PI - up, 1e-3);
    const stopped = top('stop', 'falling');
    expect([stopped.status, stopped.values('t')[1]]).to.satisfy(
      ([status, t]: [string, number]) => status === 'event' && Math.abs(t - (Math.PI - up)) < 1e-3,
    );
    // What it stops at is the scheme's own state, where the function is zero to rounding.
    expect(stopped.values('q')[1]).to.be.closeTo(0.999, 1e-14);
  });

  it('stop: what is saved, and the status', () => {
    const fall = event({when: ({q}) => q, then: 'stop'});
    const run = (saveAt: SimulateOptions['saveAt'], control?: SimulateOptions['control']): Trajectory =>
      simulate(ball, {q: 1, v: 0}, {scheme: trapezoid(), dt: 0.2, t1: 3, saveAt, events: [fall], control});
    expect(run('all').status).to.equal('event');
    const saved = (path: Trajectory): number[] => [...path.values('t')];
    expect(saved(run('all'))).to.deep.equal([0, 0.2, 0.4, 0.5]);
    expect(saved(run('end'))).to.deep.equal([0, 0.5]);
    expect(saved(run([0.1, 0.45, 0.7]))).to.deep.equal([0.1, 0.45]);
    expect(saved(run({every: 2}))).to.deep.equal([0, 0.4]);
    expect(saved(run('end', adaptive()))[1]).to.be.closeTo(0.5, 1e-15);
    expect(run('end').values('q')[1]).to.be.closeTo(0, 1e-15);
  });

  it('at a saved time the state is that after the event', () => {
    const path = simulate(
      ball,
      {q: 1, v: 0},
      {scheme: trapezoid(), dt: 0.1, t1: 1, saveAt: [0.25, 0.5, 0.75], events: [bounce(0.5)]},
    );
    expect(path.events[0].t).to.equal(0.5);
    expect(path.values('v')[1]).to.be.closeTo(2, 1e-14);
    expect(path.values('q')[2]).to.be.closeTo(0.25, 1e-14);
    // On the grid, too, and nothing is saved twice.
    const grid = simulate(ball, {q: 1, v: 0}, {scheme: trapezoid(), dt: 0.1, t1: 1, events: [bounce(0.5)]});
    expect([...grid.values('t')]).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(n => (n === 10 ? 1 : n * 0.1)));
    expect(grid.values('v')[5]).to.be.closeTo(2, 1e-14);
  });

  // A fall of 4 takes a second: v(1) = −v⁻/2 − 8 (1 − t*), so dv/dq₀ = 1/2 + 8/8 and dq/dq₀ = −1/2.
  for (const scheme of [rk4(), trapezoid(), newmark()])
    for (const {title, index, ...options} of [
      {title: 'at the end', index: 1, t1: 1, saveAt: 'end'},
      {title: 'at the end, all saved', index: 10, t1: 1, saveAt: 'all'},
      {title: 'at the end, by a list of times', index: 1, t1: 1, saveAt: [0.5, 1]},
      {title: 'at a step of the grid', index: 10, t1: 2, saveAt: 'all'},
    ] as const)
      slow(`a jump exactly ${title}: what is saved moves with its time, ${scheme.name}`, () => {
        for (const memory of [undefined, 2000]) {
          const all = {
            ...{scheme, dt: 0.1, events: [bounce(0.5)], ...options},
            ...(memory === undefined ? {} : {adjoint: implicitAdjoint({memory})}),
          };
          const plain = simulate(ball, {q: 4, v: 0}, all);
          const {trajectory, pullback} = simulate.vjp(ball, {q: 4, v: 0}, all);
          expect([...trajectory.values('t')]).to.deep.equal([...plain.values('t')]);
          expect([...trajectory.values('v')]).to.deep.equal([...plain.values('v')]);
          expect(trajectory.values('v')[index]).to.be.closeTo(4, 1e-13);
          const one = Float64Array.from(plain.values('v'), (_, i) => (i === index ? 1 : 0));
          expect((pullback({v: one}).initial.q as Float64Array)[0]).to.be.closeTo(1.5, 1e-13);
          expect((pullback({q: one}).initial.q as Float64Array)[0]).to.be.closeTo(-0.5, 1e-13);
          const {tangent} = simulate.jvp(ball, {q: 4, v: 0}, all, {initial: {q: 1}});
          expect(tangent.v[index]).to.be.closeTo(1.5, 1e-13);
          expect(tangent.q[index]).to.be.closeTo(-0.5, 1e-13);
          // The run itself ends where it ends, and goes on from there.
          const end = simulate(ball, trajectory.state(), {scheme, dt: 0.1, steps: 5, events: [bounce(0.5)]});
          const same = simulate(ball, plain.state(), {scheme, dt: 0.1, steps: 5, events: [bounce(0.5)]});
          expect([...end.values('q')]).to.deep.equal([...same.values('q')]);
        }
      });

  it('a jump exactly at the end, beyond which there is no motion: the gradient is given with a warning', () => {
    const ends = mechanics({
      mass: 1,
      forces: ({q, t}) => tf.add(tf.zerosLike(q), tf.where(tf.less(t, 1.00001), -8, NaN)),
    });
    const halfway = event({when: ({t}) => tf.sub(t, 1), then: ({v}) => ({v: tf.mul(v, -0.5)})});
    const options = {scheme: trapezoid(), dt: 0.1, t1: 1, events: [halfway], switches: 'ignore'} as const;
    const {trajectory, pullback} = simulate.vjp(ends, {q: 4, v: 0}, options);
    expect(trajectory.warnings.join(' ')).to.match(/An event falls on the end of the run/);
    expect(
      (pullback({v: [...trajectory.values('v')].map((_, i) => (i === 10 ? 1 : 0))}).initial.v as Float64Array)[0],
    ).to.equal(-0.5);
    // A run that fails in the next step has saved what came before it.
    const failed = {...options, t1: 2, throw: false} as const;
    const [plain, kept] = [simulate(ends, {q: 4, v: 0}, failed), simulate.vjp(ends, {q: 4, v: 0}, failed).trajectory];
    expect(kept.status).not.to.equal('completed');
    expect([...kept.values('t')]).to.deep.equal([...plain.values('t')]);
    expect(kept.values('t').at(-1)).to.equal(1);
    expect([...kept.values('v')]).to.deep.equal([...plain.values('v')]);
  });

  // Up with a speed of 1 and down again at t = 1, where rounding leaves the step before above zero: q(1.2) = s/2 − s² with s = 0.2.
  for (const scheme of [bdf2(), radauIIA5(), sdirk2(), newmark(), generalizedAlpha(), hht({alpha: -0.2})])
    for (const guided of [false, true])
      it(`an event within rounding after a step of the grid: ${scheme.name}${guided ? ', constrained' : ''}`, () => {
        const thrown = guided
          ? mechanics({
              mass: 1,
              forces: () => tf.tensor1d([0, -2]),
              constraints: [bilateral(({q}) => tf.gather(q, 0))],
            })
          : mechanics({mass: 1, forces: () => tf.tensor1d([-2])});
        const height = guided ? 1 : 0;
        const floor = event({
          when: ({q}) => tf.gather(q, height),
          direction: 'falling',
          then: ({v}) => ({v: tf.mul(v, -0.5)}),
        });
        for (const dt of [0.1, 0.05]) {
          const options = {scheme, dt, t1: 1.2, saveAt: 'end', events: [floor]} as const;
          const from = guided ? {q: [0, 0], v: [0, 1]} : {q: [0], v: [1]};
          const {trajectory, pullback} = simulate.vjp(thrown, from, options);
          expect(trajectory.events.map(({t}) => t)).to.have.length(1);
          expect(trajectory.events[0].t).to.be.closeTo(1, 1e-12);
          expect(trajectory.values('q').at(-1)).to.be.closeTo(0.06, 1e-9);
          // Of a start at speed T: q = T s/2 − s² with s = 1.2 − T.
          const cotangent = [...trajectory.values('v')].map((_, i, all) => (i === all.length - 1 ? 1 : 0));
          const {initial} = pullback({q: cotangent});
          expect((initial.v as Float64Array)[height]).to.be.closeTo(0, 1e-9);
        }
      });

  it('an event function that is zero at the start has not crossed it', () => {
    expect(
      happened(
        simulate(ball, {q: 0, v: 4}, {scheme: trapezoid(), dt: 0.1, t1: 0.9, saveAt: 'end', events: [bounce(0.8)]}),
      ),
    ).to.deep.equal([]);
    expect(
      simulate(ball, {q: 0, v: 4}, {scheme: trapezoid(), dt: 0.1, t1: 1.1, saveAt: 'end', events: [bounce(0.8)]})
        .events[0].t,
    ).to.be.closeTo(1, 1e-14);
  });

  it('a jump that is zero at the start and goes on in its direction is told, other zeros there are not', () => {
    const began = (q: number, v: number, events = [bounce(0.8)]): boolean =>
      simulate(ball, {q, v}, {scheme: trapezoid(), dt: 0.1, t1: 0.3, events, throw: false}).warnings.some(warning =>
        warning.includes('is zero at the start, t = 0, and goes on'),
      );
    expect([
      began(0, 0),
      began(0, -3),
      began(-2e-13, -3),
      began(0, 4),
      began(2e-13, -3),
      began(-0.01, -3),
    ]).to.deep.equal([true, true, true, false, false, false]);
    const section = event({when: ({q}) => q, direction: 'falling', then: 'record'});
    expect([began(0, -3, [section]), began(0, -3, [event({...section, then: 'stop'})])]).to.deep.equal([false, false]);
    // A run that goes on from an event's own jump has nothing to tell.
    const first = simulate(ball, {q: 1, v: 0}, {scheme: trapezoid(), dt: 0.1, t1: 0.5, events: [bounce(0.8)]});
    const on = simulate(ball, first.state(), {scheme: trapezoid(), dt: 0.1, t1: 0.7, events: [bounce(0.8)]});
    expect([first.events.length, on.warnings]).to.deep.equal([1, []]);
  });

  it('a switch that its jump does not turn around happens once', () => {
    const push = event({when: ({q}) => tf.sub(q, 0.5), direction: 'falling', then: ({v}) => ({v: tf.sub(v, 1)})});
    const path = simulate(ball, {q: 1, v: 0}, {scheme: trapezoid(), dt: 0.1, t1: 0.6, saveAt: 'end', events: [push]});
    expect(path.events).to.have.lengthOf(1);
    const at = Math.sqrt(0.125);
    expect(path.values('q')[1]).to.be.closeTo(0.5 - (8 * at + 1) * (0.6 - at) - 4 * (0.6 - at) ** 2, 1e-13);
  });

  it('a coarser tolerance is a coarser time', () => {
    const soft = (tolerance?: number): number =>
      simulate(
        oscillator,
        {q: 1, v: 0},
        {
          scheme: rk4(),
          dt: 0.25,
          t1: 3,
          saveAt: 'end',
          events: [event({when: ({q}) => tf.sin(q), then: 'stop', tolerance})],
        },
      ).events[0].t;
    expect(Math.abs(soft(1e-3) - soft())).to.be.within(0, 1e-3);
  });

  describe('what comes to rest by ever smaller jumps ends with an error, never below the floor', () => {
    const schemes: readonly Scheme[] = [trapezoid(), rk4(), newmark(), implicitEuler(), implicitMidpoint()];
    for (const scheme of schemes) {
      for (const control of [undefined, adaptive({rtol: 1e-4})]) {
        slow(`${scheme.name}, ${control === undefined ? 'constant steps' : 'adaptive steps'}`, () => {
          for (const e of [0, 0.001, 0.2, 0.5, 0.8, 0.95]) {
            // Bounces end at t = √(2x₀/g) (1 + e)/(1 − e), 61.7 for the last.
            const path = simulate(
              ball,
              {q: 10, v: 0},
              {scheme, control, dt: 0.1, t1: 100, saveAt: 'end', events: [bounce(e)], throw: false},
            );
            expect(path.status, `e = ${e}`).to.equal('step-too-small');
            const last = path.events[path.events.length - 1];
            expect(last.before.q[0]).to.be.closeTo(0, 1e-9);
            if (scheme.order > 1)
              expect(last.t).to.be.closeTo((Math.sqrt(2.5) * (1 + e)) / (1 - e), e < 0.9 ? 1e-6 : 1e-3);
          }
        });
      }
    }

    it('the error says so', () => {
      expect(() => simulate(ball, {q: 10, v: 0}, {scheme: trapezoid(), dt: 0.1, t1: 100, events: [bounce(0.8)]}))
        .to.throw(EventError, /floor.*happened 100 times/)
        .with.property('code', 'chatter');
      expect(() =>
        simulate(ball, {q: 10, v: 0}, {scheme: trapezoid(), dt: 0.1, t1: 100, events: [bounce(0)]}),
      ).to.throw(EventError, /stays at zero/);
    });
  });

  it('a function that is flat where it crosses: the time is found, to the rounding of the state', () => {
    const flat = event({when: ({q}) => tf.pow(q, 3), then: 'stop'});
    const options: SimulateOptions = {scheme: trapezoid(), dt: 0.1, t1: 3, saveAt: 'end', events: [flat]};
    const path = simulate(ball, {q: 10, v: 0}, options);
    expect(path.events[0].t).to.be.closeTo(Math.sqrt(2.5), 1e-14);
    // Where the state is zero to the last bit, its rate is, too, and the time has no derivative.
    const {trajectory, pullback} = simulate.vjp(ball, {q: 1, v: 0}, {...options, dt: 0.25});
    expect(trajectory.values('q')[1]).to.equal(0);
    expect(() => pullback({q: [0, 1]}))
      .to.throw(EventError, /without crossing/)
      .with.property('code', 'grazing');
    expect(() => simulate.jvp(ball, {q: 1, v: 0}, {...options, dt: 0.25}, {initial: {q: 1}}))
      .to.throw(EventError)
      .with.property('code', 'grazing');
  });

  it('a function that touches zero without crossing it makes no event', () => {
    const touch = event({when: ({q}) => tf.square(tf.relu(tf.sub(q, 0.5))), direction: 'both', then: 'record'});
    expect(
      simulate(oscillator, {q: 0, v: 1}, {scheme: rk4(), dt: 0.1, t1: 1, saveAt: 'end', events: [touch]}).events,
    ).to.deep.equal([]);
  });

  const refused: readonly (readonly [string, () => unknown, string])[] = [
    ['no function', () => event({when: 3 as unknown as EventSpec['when'], then: 'stop'}), 'bad-event'],
    [
      'a direction of no name',
      () => event({when: ({q}) => q, direction: 'down' as 'falling', then: 'stop'}),
      'bad-event',
    ],
    ['nothing to do', () => event({when: ({q}) => q, then: 'halt' as 'stop'}), 'bad-event'],
    ['no tolerance', () => event({when: ({q}) => q, then: 'stop', tolerance: 0}), 'bad-event'],
    ['a misspelt option', () => event({when: ({q}) => q, then: 'stop', ['tol' as 'tolerance']: 1}), 'bad-event'],
    [
      'what is no event',
      () =>
        simulate(
          ball,
          {q: 1, v: 0},
          {dt: 0.1, steps: 1, events: [{when: ({q}: {q: tf.Tensor}) => q} as unknown as Event]},
        ),
      'bad-event',
    ],
  ];
  for (const [title, f, code] of refused) {
    it(`refuses ${title}`, () => {
      expect(f).to.throw(OptionError).with.property('code', code);
    });
  }

  it('refuses a function that is no scalar, and a jump that is no state', () => {
    const run =
      (spec: EventSpec): (() => unknown) =>
      () =>
        simulate(free, {q: [0, 1], v: [1, 0]}, {dt: 0.1, steps: 1, events: [event(spec)]});
    expect(run({when: ({q}) => q, then: 'stop'})).to.throw(ShapeError, /events\[0\].*one number/);
    expect(run({when: ({q}) => tf.sum(q), then: () => ({v: tf.scalar(1)})})).to.throw(ShapeError, /v of shape \[2\]/);
    expect(run({when: ({q}) => tf.sum(q), then: () => ({y: tf.scalar(1)})})).to.throw(ShapeError, /gave 'y'/);
  });

  it('leaves no tensors behind', () => {
    const before = tf.memory().numTensors;
    const options: SimulateOptions = {
      scheme: newmark(),
      dt: 0.1,
      t1: 3,
      saveAt: [0.05, 2.5],
      events: [bounce(0.8), event({when: ({v}) => v, then: 'record'})],
    };
    simulate(ball, {q: 10, v: 0}, options).dispose();
    const {trajectory, pullback} = simulate.vjp(ball, {q: 10, v: 0}, options);
    pullback({q: [1, 1]});
    trajectory.dispose();
    simulate.jvp(ball, {q: 10, v: 0}, options, {initial: {q: 1}}).trajectory.dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });
});
