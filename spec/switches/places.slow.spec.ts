/** Where a switch falls: on a step's end, a saved time, the start, the end; and how the run is made. */
import {expect} from 'chai';
import {batch, implicitAdjoint, rk4, simulate, tsit5} from '../../lib/index.js';
import type {RunState} from '../../lib/index.js';
import {cases, made, slope, small, tight, type Case, type Numbers} from './cases.js';

const startOf = (y: readonly number[]): number | number[] => (y.length === 1 ? y[0] : [...y]);
const lastOf = (values: Float64Array): Float64Array =>
  Float64Array.from(values, (_, i) => (i === values.length - 1 ? 1 : 0));

function gradientOf({params, y, end, T}: Case): Numbers {
  const names = Object.keys(params);
  return Object.fromEntries(
    names.map(name => [name, slope(h => end(y, {...params, [name]: params[name] + h}, T))] as const),
  );
}

function expectGradient(found: unknown, {name: title, params}: Case, expected: Numbers): void {
  for (const name of Object.keys(params))
    expect((found as {readonly [name: string]: Float64Array})[name][0], `${title}: ${name}`).to.be.closeTo(
      expected[name],
      10 * small,
    );
}

describe('a switch', () => {
  for (const one of cases) {
    const {name, system, y, params, end, at, T} = one;
    const begin = {y: startOf(y)};
    const isTimed = /dead time|pulse|whole part of a time|sine|late|near/.test(name);

    it(`on the end of a step, and at a saved time: ${name}`, () => {
      for (const options of made(at)) {
        const given = {...options, t1: T, params, saveAt: [at, T], switches: 'locate'} as const;
        const {trajectory, pullback} = simulate.vjp(system, begin, given);
        const values = trajectory.values('y');
        expect(values[values.length - 1]).to.be.closeTo(end(y, params, T), small);
        // Times of the state are only met as far as the state is right.
        if (isTimed) expect(trajectory.warnings.join(), name).to.match(/changes at t = .*, a time .* is saved/);
        const gradient = gradientOf(one);
        expectGradient(pullback({y: lastOf(values)}).params, one, gradient);
        const direction = Object.fromEntries(Object.keys(params).map((key, i) => [key, 1 / (i + 1)]));
        const {tangent} = simulate.jvp(system, begin, given, {params: direction});
        const pushed = (tangent as unknown as {readonly y: Float64Array}).y;
        expect(pushed[pushed.length - 1]).to.be.closeTo(
          Object.keys(direction).reduce((sum, key) => sum + direction[key] * gradient[key], 0),
          10 * small,
        );
      }
    });

    it(`at the end: ${name}`, () => {
      for (const options of made(at)) {
        const {trajectory, pullback} = simulate.vjp(system, begin, {
          ...{...options, t1: at, params, saveAt: 'end', switches: 'locate'},
        } as const);
        if (isTimed) expect(trajectory.warnings.join(), name).to.match(/changes at t = .*, a time .* is saved/);
        const gradient = pullback({y: lastOf(trajectory.values('y'))}).params;
        for (const key of Object.keys(params))
          expect(Number.isFinite((gradient as {readonly [name: string]: Float64Array})[key][0])).to.equal(true);
      }
    });
  }

  it('at the start: the state after it is right, and one-sided derivatives are told', () => {
    for (const {name, system, y, params, end, at, T} of cases) {
      // Where it is there when the closed form begins, or it is known.
      const state = {
        'a relay of the state': 1,
        'a rate that changes its slope': 0.9,
        'a border that moves': 1 + 0.3 * at,
        'a dead time': 0,
        'a pulse': 0,
        'the whole part of the state': 2,
        'an absorption that begins late': 0,
        'a time near another one': 0,
      }[name];
      if (state === undefined) continue;
      for (const {scheme, ...options} of made(at)) {
        const given = {scheme, ...options, t1: T, params, saveAt: 'end', switches: 'locate'} as const;
        const {trajectory} = simulate.vjp(system, {y: state, t: at}, given);
        expect(trajectory.values('y')[1], `${name}, ${scheme.name}`).to.be.closeTo(end(y, params, T), small);
        expect(trajectory.warnings.join(), name).to.match(/^The run starts on the border of/);
        expect(simulate(system, {y: state, t: at}, given).warnings).to.deep.equal([]);
      }
    }
  });

  it('in batches, on threads, with checkpoints and from resumed runs gives what one run gives', () => {
    for (const {system, y, params, end, at, T} of cases) {
      const made = {scheme: rk4(), dt: 0.01, t1: T, params, saveAt: 'end', switches: 'locate'} as const;
      const begin = {y: startOf(y)};
      const names = Object.keys(params);
      const members = [1, 0.97, 1.02].map(factor => ({
        initial: begin,
        params: Object.fromEntries(names.map(name => [name, params[name] * factor])),
      }));
      const alone = members.map(({params: own}) => simulate.vjp(system, begin, {...made, params: own}));
      const cotangents = alone.map(({trajectory}) => ({y: lastOf(trajectory.values('y'))}));
      const gradients = alone.map(({pullback}, i) => pullback(cotangents[i]));
      for (const workers of [0, 2]) {
        const {trajectories, pullback} = batch.vjp(system, members, {...made, workers});
        const all = pullback(cotangents);
        members.forEach(({params: own}, i) => {
          expect(trajectories[i].values('y')).to.deep.equal(alone[i].trajectory.values('y'));
          expect([...trajectories[i].values('y')].pop()).to.be.closeTo(end(y, own as Numbers, T), small);
          expect(all.members[i].params).to.deep.equal(gradients[i].params);
          expect(all.members[i].initial.y).to.deep.equal(gradients[i].initial.y);
        });
      }
      const kept = simulate.vjp(system, begin, {...made, adjoint: implicitAdjoint({memory: 500})});
      expect(kept.pullback(cotangents[0]).params).to.deep.equal(gradients[0].params);
      for (const t1 of [0.9 * at, at, (at + T) / 2]) {
        const left = simulate(system, begin, {...made, scheme: tsit5(), dt: 0.1, ...tight, t1}).state();
        const state = JSON.parse(JSON.stringify(left)) as RunState;
        const rest = {...made, scheme: tsit5(), dt: 0.1, ...tight};
        const {trajectory, pullback} = simulate.vjp(system, state, rest);
        expect([...trajectory.values('y')].pop()).to.be.closeTo(end(y, params, T), small);
        expect(Object.keys(pullback({y: lastOf(trajectory.values('y'))}).params)).to.deep.equal(names);
      }
    }
  });
});
