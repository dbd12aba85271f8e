/** Where a switch falls: on a step's end, a saved time, the start, the end; and how the run is made. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {batch, implicitAdjoint, kvaerno5, ode, rk4, simulate, tsit5} from '../../lib/index.js';
import type {RunState, Scheme, SimulateOptions} from '../../lib/index.js';
import {cases, slope, tight, type Case, type Numbers} from './cases.js';

const small = 1e-8;

type Made = Pick<SimulateOptions, 'dt' | 'control'> & {readonly scheme: Scheme};
const made = (at: number): Made[] => [
  // A hundred steps to the switch, which ends one of them.
  {scheme: rk4(), dt: at / 100},
  {scheme: tsit5(), dt: 0.1, ...tight},
  {scheme: kvaerno5(), dt: 0.1, ...tight},
];

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
  }
});
