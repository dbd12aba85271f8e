/** States between steps: their order, their values at the ends, and what the tables of times are allowed to be. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {
  adaptive,
  batch,
  bilateral,
  constant,
  defineScheme,
  dopri5,
  gaussLegendre,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  trapezoid,
  tsit5,
  verlet,
} from '../../../lib/index.js';
import type {Node} from '../../../lib/graph/node.js';
import {isOp, topological} from '../../../lib/graph/node.js';
import {simplifyNodes} from '../../../lib/graph/simplify.js';
import {traceRun} from '../../../lib/step/trace-step.js';
import {doubleEngines} from '../../simulate/engines.js';
import {largest, order} from '../../simulate/numbers.js';

// x'' = −x − x³/10 has no closed form; the pair (q, v) of a fine run is what coarse runs converge to.
const hard = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.add(q, tf.mul(0.1, tf.pow(q, 3))))});
const decay = ode(({y, t}) => tf.add(tf.mul(-1.5, tf.sin(y)), tf.cos(tf.mul(2, t))));
// Times that no grid below contains, at all places of its steps: the error depends on the place.
const times = Array.from({length: 61}, (_, i) => (i + 0.37) / 61);
const end = 1;

const mechanical = (scheme: Scheme, steps: number, saveAt: readonly number[] = times): Float64Array[] => {
  const path = simulate(hard, {q: 1.2, v: -0.4}, {scheme, dt: end / steps, steps, saveAt});
  path.dispose();
  return [path.values('q'), path.values('v')];
};
const firstOrder = (scheme: Scheme, steps: number): Float64Array[] => {
  const path = simulate(decay, {y: 1}, {scheme, dt: end / steps, steps, saveAt: times});
  path.dispose();
  return [path.values('y')];
};
const distance = (a: readonly Float64Array[], b: readonly Float64Array[]): number =>
  Math.max(...a.map((x, i) => largest(x.map((value, k) => value - b[i][k]))));

describe('states between steps', () => {
  const exact = {mechanics: mechanical(rk4(), 4000), ode: firstOrder(rk4(), 4000)};
  // Steps with as many digits before rounding as their order leaves.
  const cases: readonly (readonly [Scheme, number, number])[] = [
    [implicitEuler(), 1, 200],
    [trapezoid(), 2, 40],
    [implicitMidpoint(), 2, 40],
    [newmark(), 2, 40],
    [verlet(), 2, 40],
    [rk4(), 4, 12],
    [dopri5(), 5, 12],
    [tsit5(), 5, 12],
    [sdirk2(), 2, 40],
    [kvaerno3(), 3, 30],
    [kvaerno5(), 5, 8],
  ];
  for (const [scheme, expected, steps] of cases) {
    it(`have the order of their scheme: ${scheme.name}, mechanics`, () => {
      const coarse = distance(mechanical(scheme, steps), exact.mechanics);
      const fine = distance(mechanical(scheme, 2 * steps), exact.mechanics);
      expect(order(coarse, fine)).to.be.within(expected - 0.1, expected + 0.2);
    });
    // Of the pairs of fifth order explicit-orders.spec.ts tells, on longer runs.
    if (scheme.ode === undefined || ['dopri5', 'tsit5'].includes(scheme.name)) continue;
    it(`have the order of their scheme: ${scheme.name}, ode`, () => {
      const coarse = distance(firstOrder(scheme, steps), exact.ode);
      const fine = distance(firstOrder(scheme, 2 * steps), exact.ode);
      expect(order(coarse, fine)).to.be.within(expected - 0.1, expected + 0.2);
    });
  }

  // Of collocation: one more than the stages with the polynomial itself, two with that of the slopes and both ends.
  const collocation: readonly (readonly [string, Scheme, number, number])[] = [
    ['mechanics', radauIIA5(), 4, 8],
    ['ode', radauIIA5(), 4, 16],
    ['ode', gaussLegendre(), 4, 8],
    ['ode', gaussLegendre({stages: 3}), 5, 6],
    ['ode', gaussLegendre({stages: 4}), 6, 5],
    ['mechanics', gaussLegendre({stages: 3}), 5, 6],
    ['mechanics', gaussLegendre({stages: 4}), 6, 4],
  ];
  for (const [kind, scheme, expected, steps] of collocation) {
    it(`have order ${expected}: ${scheme.name}, ${kind}`, () => {
      const [run, reference] =
        kind === 'ode' ? ([firstOrder, exact.ode] as const) : ([mechanical, exact.mechanics] as const);
      expect(order(distance(run(scheme, steps), reference), distance(run(scheme, 2 * steps), reference))).to.be.within(
        expected - 0.2,
        expected + 0.3,
      );
    });
  }

  describe('with constraints: by the accelerations that schemes carry', () => {
    const weight = mechanics({
      mass: 1,
      forces: () => tf.tensor1d([0, -9.81]),
      constraints: [bilateral(({q}) => tf.div(tf.sub(tf.sum(tf.square(q)), 1), 2))],
    });
    // The same pendulum by its angle.
    const swing = mechanics({mass: 1, forces: ({q}) => tf.mul(-9.81, tf.sin(q))});
    const path = simulate(swing, {q: Math.PI / 2, v: 0}, {scheme: rk4(), dt: end / 4000, t1: end, saveAt: times});
    const [angles, rates] = [path.values('q'), path.values('v')];
    const exactly = (f: (angle: number, rate: number) => [number, number]): Float64Array =>
      Float64Array.from({length: 2 * times.length}, (_, i) => f(angles[i >> 1], rates[i >> 1])[i % 2]);
    const [q, v] = [
      exactly(angle => [Math.sin(angle), -Math.cos(angle)]),
      exactly((angle, rate) => [rate * Math.cos(angle), rate * Math.sin(angle)]),
    ];
    const errors = (scheme: Scheme, stabilization: 'ggl' | undefined, steps: number): [number, number] => {
      const run = simulate(
        weight,
        {q: [1, 0], v: [0, 0]},
        {scheme, dt: end / steps, steps, saveAt: times, ...(stabilization === undefined ? {} : {stabilization})},
      );
      return [distance([run.values('q')], [q]), distance([run.values('v')], [v])];
    };
    // Orders of q and v; with the cubic they were 3 and 3 at most.
    for (const [title, scheme, stabilization, ofPosition, ofVelocity] of [
      ['radauIIA5, ggl', radauIIA5(), 'ggl', 5, 4],
      ['kvaerno5', kvaerno5(), undefined, 5, 5],
      ['gaussLegendre(3)', gaussLegendre({stages: 3}), undefined, 6, 5],
    ] as const)
      it(title, () => {
        const [coarse, fine] = [20, 40].map(steps => errors(scheme, stabilization, steps));
        expect(order(coarse[0], fine[0])).to.be.above(ofPosition - 0.3);
        expect(order(coarse[1], fine[1])).to.be.above(ofVelocity - 0.3);
      });

    it('and adaptive steps have between their ends about the digits that they have there', () => {
      const run = simulate(
        weight,
        {q: [1, 0], v: [0, 0]},
        {scheme: kvaerno5(), dt: 0.01, t1: end, control: adaptive({rtol: 1e-8, atol: 1e-8}), saveAt: times},
      );
      expect(distance([run.values('q')], [q])).to.be.below(1e-7);
      expect(distance([run.values('v')], [v])).to.be.below(1e-6);
    });
  });

  it('of stiff steps: no slope is asked for where it is only rounding', () => {
    // On the slow motion y = cos t to 1e-12, a slope is known to 1e12·1e-16 at best, and h times that is 1e-5.
    const stiff = ode(({y, t}) => tf.sub(tf.mul(tf.sub(y, tf.cos(t)), -1e12), tf.sin(t)));
    for (const scheme of [sdirk2(), kvaerno3(), kvaerno5(), radauIIA5()]) {
      const path = simulate(stiff, {y: 1}, {scheme, dt: 0.1, t1: 1, saveAt: times});
      path.dispose();
      // Where stiffness is infinite stages lie on the slow motion, and the polynomials are of the stages' order: h² of sdirk2, h³ of Kværnø's, h⁴/4! of collocation.
      const most = scheme.order === 2 ? 1e-3 : scheme.name === 'radauIIA5' ? 1e-6 : 1e-4;
      path.values('y').forEach((y, i) => expect(y).to.be.closeTo(Math.cos(times[i]), most));
    }
  });

  it('the stages of a step are not computed again between its ends', () => {
    const swirl = ode(({y}) => tf.tanh(tf.reverse(y)));
    const along = {error: true, dense: true, events: []};
    const tanhs = (of: readonly Node[]): number =>
      topological(of).filter(node => isOp(node, 'unary') && node.attributes.fn === 'tanh').length;
    for (const [scheme, stages] of [
      [dopri5(), 6],
      [tsit5(), 6],
      [rk4(), 4],
    ] as const) {
      const {step} = traceRun(swirl, scheme, [2], [], undefined, undefined, along);
      const {dense, inside, error, update: end} = step.functions;
      const update = [end, ...(error === undefined ? [] : [error]), inside as Node];
      expect(tanhs(simplifyNodes(update))).to.equal(stages);
      // Hermite's interpolation asks for the slope at the end, which rk4 has not made.
      expect(tanhs(simplifyNodes([dense as Node]))).to.equal(scheme.name === 'rk4' ? 1 : 0);
    }
  });

  it('a motion of constant acceleration is met exactly', () => {
    const free = mechanics({mass: 2, forces: ({q}) => tf.add(tf.zerosLike(q), -6)});
    for (const scheme of [trapezoid(), newmark(), rk4()]) {
      const path = simulate(free, {q: 1, v: 2}, {scheme, dt: 0.3, t1: 1, saveAt: [0.1, 0.55, 1]});
      [0.1, 0.55, 1].forEach((t, i) => {
        expect(path.values('q')[i]).to.be.closeTo(1 + 2 * t - 1.5 * t * t, 1e-15);
        expect(path.values('v')[i]).to.be.closeTo(2 - 3 * t, 2e-15);
      });
    }
  });

  it('at times of the grid they are the states of the grid, bit for bit', () => {
    const all = simulate(hard, {q: 1.2, v: -0.4}, {scheme: trapezoid(), dt: 0.1, steps: 10});
    const some = simulate(
      hard,
      {q: 1.2, v: -0.4},
      {scheme: trapezoid(), dt: 0.1, steps: 10, saveAt: [0, 0.05, 0.3, 0.31, 1]},
    );
    const at = (path: typeof all, i: number): number[] => [
      path.values('t')[i],
      path.values('q')[i],
      path.values('v')[i],
    ];
    expect([0, 2, 4].map(i => at(some, i))).to.deep.equal([0, 3, 10].map(i => at(all, i)));
    expect([...some.values('t')]).to.deep.equal([0, 0.05, 3 * 0.1, 0.31, 1]);
  });

  for (const control of [constant(), adaptive({rtol: 1e-6})]) {
    for (const back of [1, -1]) {
      it(`without an end the run goes to the last of them: ${control.kind} steps, ${back > 0 ? 'forwards' : 'backwards'}`, () => {
        const options = {scheme: trapezoid(), dt: back * 0.1, control, saveAt: [0.15, 0.55, 0.83].map(t => back * t)};
        const values = (end: object): number[] => [
          ...simulate(hard, {q: 1.2, v: -0.4}, {...options, ...end}).values('q'),
        ];
        expect(values({})).to.deep.equal(values({t1: back * 0.83}));
        const prepared = batch.prepare(hard, {q: 1.2, v: -0.4}, options);
        expect([...prepared.run([{}])[0].values('q')]).to.deep.equal(values({}));
      });
    }
  }

  it('they do not change the run', () => {
    const [q] = mechanical(trapezoid(), 10, [0.15, 1]);
    expect(q[1]).to.equal(mechanical(trapezoid(), 10, [1])[0][0]);
  });

  it('what a scheme carries is there between its steps, too', () => {
    const path = simulate(hard, {q: 1, v: 0}, {scheme: newmark(), dt: 1e-3, t1: 0.1, saveAt: [0.0505]});
    const q = path.values('q')[0];
    expect(path.values('a')[0]).to.be.closeTo(-q - 0.1 * q ** 3, 1e-6);
  });

  it('a function of the state is taken of the states between steps', () => {
    const path = simulate(
      hard,
      {q: 1.2, v: -0.4},
      {scheme: trapezoid(), dt: 0.1, t1: 1, saveAt: times, observe: ({q, t}) => tf.add(tf.mul(q, q), t)},
    );
    const q = path.values('q');
    expect([...path.values('observed')].map((x, i) => x - q[i] ** 2)).to.satisfy((rest: number[]) =>
      rest.every((x, i) => Math.abs(x - times[i]) < 1e-15),
    );
  });

  for (const {name} of doubleEngines) {
    it(`a scheme may bring its own: ${name}`, () => {
      // The motion of constant acceleration from the step's start: q + θhv + (θh)²a/2.
      const own = defineScheme({
        name: 'ballistic',
        order: 2,
        unknown: [],
        update: (_, {x, t, h, acceleration}) => {
          const a = acceleration(x.q, x.v, t);
          return {
            q: tf.addN([x.q, tf.mul(h, x.v), tf.mul(tf.square(h), tf.mul(a, 0.5))]),
            v: tf.add(x.v, tf.mul(h, a)),
          };
        },
        dense: (theta, _, {x, t, h, acceleration}) => {
          const s = tf.mul(theta, h);
          return {q: tf.addN([x.q, tf.mul(s, x.v), tf.mul(tf.square(s), tf.mul(acceleration(x.q, x.v, t), 0.5))])};
        },
      });
      const path = simulate(hard, {q: 1, v: 0.5}, {scheme: own, dt: 0.2, steps: 1, saveAt: [0.05], engine: name});
      expect(path.values('q')[0]).to.be.closeTo(1 + 0.05 * 0.5 - (1.1 * 0.05 ** 2) / 2, 1e-16);
      // What it leaves out is linear.
      expect(path.values('v')[0]).to.be.closeTo(0.5 - 1.1 * 0.05, 1e-16);
    });
  }

  const refused: readonly (readonly [string, Partial<RunSettings>, string])[] = [
    ['a time after the end', {saveAt: [0.5, 1.01]}, 'bad-save'],
    ['a time before the start', {saveAt: [-0.01]}, 'bad-save'],
    ['times that do not ascend', {saveAt: [0.55, 0.45]}, 'bad-save'],
    ['a time twice', {saveAt: [0.55, 0.55]}, 'bad-save'],
    ['what is no time', {saveAt: [0.55, NaN]}, 'bad-save'],
  ];
  for (const [title, options, code] of refused) {
    it(`refuses ${title}`, () => {
      expect(() => simulate(hard, {q: 1, v: 0}, {scheme: trapezoid(), dt: 0.1, t1: 1, ...options}))
        .to.throw(OptionError)
        .with.property('code', code);
    });
  }
});
