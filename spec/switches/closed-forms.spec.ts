/** Switches against closed forms: states and derivatives, first and second, wherever the switch falls. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  backsolveAdjoint,
  forwardSensitivity,
  generalizedAlpha,
  implicitAdjoint,
  kvaerno5,
  mechanics,
  ode,
  rk4,
  simulate,
  traced,
  trapezoid,
  tsit5,
  type SimulateOptions,
} from '../../lib/index.js';
import {slow} from '../tiers.js';
import {cases, one, rate, schemes, slope, tight, type Case, type Values} from './cases.js';

describe('switches', () => {
  for (const {name, system, y, params, end, T} of cases)
    describe(name, () => {
      for (const [scheme, made, options, digits] of schemes)
        it(`${scheme}: the closed form, and its derivatives`, () => {
          const start = y.length === 1 ? y[0] : [...y];
          const last = y.length - 1;
          const given = {scheme: made, ...options, t1: T, params, saveAt: 'end', switches: 'locate'} as const;
          const {trajectory, pullback} = simulate.vjp(system, {y: start}, given);
          const values = trajectory.values('y');
          expect(values[values.length - 1]).to.be.closeTo(end(y, params, T), digits);
          expect(trajectory.warnings).to.deep.equal([]);
          const cotangent = Float64Array.from(values, (_, i) => (i === values.length - 1 ? 1 : 0));
          const gradient = pullback({y: cotangent});
          for (const name of Object.keys(params))
            expect((gradient.params as {readonly [name: string]: Float64Array})[name][0], name).to.be.closeTo(
              slope(h => end(y, {...params, [name]: params[name] + h}, T)),
              10 * digits,
            );
          const byStart = slope(h =>
            end(
              y.map((value, i) => (i === last ? value + h : value)),
              params,
              T,
            ),
          );
          if (name !== 'a dead time' && name !== 'an absorption that begins late')
            expect(gradient.initial.y[last]).to.be.closeTo(byStart, 10 * digits);
        });
    });

  /**
   * The Hessian of the last saved component by the parameters and the last component of the start, as runs give it and
   * as differences of the closed form do.
   */
  const secondDerivatives = (
    {system, y, params, end}: Omit<Case, 'at' | 'T' | 'name'>,
    T: number,
    options: Partial<SimulateOptions<Values>>,
    byStart = true,
  ): {readonly found: number[][]; readonly exact: number[][]} => {
    const last = y.length - 1;
    const names = Object.keys(params);
    const count = names.length + (byStart ? 1 : 0);
    const displaced = (by: (i: number) => number): number =>
      end(
        y.map((value, i) => (i === last ? value + by(names.length) : value)),
        Object.fromEntries(names.map((one, i) => [one, params[one] + by(i)])),
        T,
      );
    const second = (i: number, j: number): number =>
      slope(a => slope(b => displaced(k => (k === i ? a : 0) + (k === j ? b : 0))));
    const directions = Array.from({length: count}, (_, i) =>
      i < names.length
        ? {params: Object.fromEntries(names.map((one, k) => [one, k === i ? 1 : 0]))}
        : {initial: {y: y.length === 1 ? 1 : y.map((_, k) => (k === last ? 1 : 0))}},
    );
    const start = y.length === 1 ? y[0] : [...y];
    const given = {params, switches: 'locate', ...options} as SimulateOptions<Values>;
    const {gradient, products, trajectory} = simulate.hvps(
      system,
      {y: start},
      given,
      ({y: saved}) => tf.sum(tf.slice(tf.reshape(saved, [-1]), [saved.size - 1], [1])),
      directions,
    );
    trajectory.dispose();
    const numbers = ({params: tree, initial}: Pick<typeof gradient, 'params' | 'initial'>): number[] =>
      [...names.map(one => (tree as {[name: string]: Float64Array})[one][0]), initial.y[last]].slice(0, count);
    const {tangents} = simulate.jvps(system, {y: start}, given, directions);
    numbers(gradient).forEach((value, i) =>
      expect(tangents[i].y[tangents[i].y.length - 1]).to.be.closeTo(value, 1e-9 * (1 + Math.abs(value))),
    );
    return {
      found: products.map(numbers),
      exact: directions.map((_, i) => directions.map((__, j) => second(i, j))),
    };
  };
  const expectNear = ({found, exact}: ReturnType<typeof secondDerivatives>, digits: number, name: string): void =>
    found.forEach((row, i) =>
      row.forEach((value, j) => expect(value, `${name}: ${i}, ${j}`).to.be.closeTo(exact[i][j], digits)),
    );
  // With the time of a switch the step after it has another length: each derivative has an order less.
  const secondDigits: {readonly [scheme: string]: number} = {trapezoid: 0.02, bdf2: 0.05};

  for (const one of cases)
    (one === cases[1] ? it : slow)(`${one.name}: second derivatives`, () => {
      for (const [scheme, made, options] of schemes)
        expectNear(
          secondDerivatives(
            one,
            one.T,
            {scheme: made, ...options, t1: one.T, saveAt: 'end'},
            one.name !== 'a dead time' && one.name !== 'an absorption that begins late',
          ),
          secondDigits[scheme] ?? 1e-6,
          scheme,
        );
    });

  it('has second derivatives at the end of a step, at a saved time, at the end of the run, and resumed', () => {
    const [one] = cases;
    for (const scheme of [rk4(), trapezoid(), tsit5(), kvaerno5()])
      for (const saveAt of [[0.35], [0.2, 0.35], [0.35, 0.5]])
        for (const dt of [0.05, 0.1]) {
          const T = saveAt[saveAt.length - 1];
          const name = `${scheme.name}, ${String(saveAt)}, ${dt}`;
          expectNear(secondDerivatives(one, T, {scheme, dt, t1: T, saveAt}), 1e-8, name);
        }
    const given = {scheme: rk4(), dt: 0.05, params: one.params, switches: 'locate'} as const;
    const from = simulate(one.system, {y: 0.3}, {...given, t1: 0.2}).state();
    const {product, trajectory} = simulate.hvp(
      one.system,
      from,
      {...given, t1: 2, saveAt: 'end'},
      ({y}) => tf.sum(tf.slice(y, [1], [1])),
      {params: {a: 1, b: 0, c: 0}},
    );
    trajectory.dispose();
    // From y(0.2) = 0.7: −2b(c − y)/a³.
    expect((product.params as {readonly a: Float64Array}).a[0]).to.be.closeTo((-2 * 0.5 * 0.3) / 8, 1e-11);
  });

  it('a pulse whose width is the root of a parameter: a second derivative that grows', () => {
    const pulse = rate(({t, params: {eps}}) => one(tf.less(tf.square(tf.sub(t, 1)), eps)));
    for (const scheme of [rk4(), kvaerno5()]) {
      const options = {scheme, dt: 0.1, t1: 3, params: {eps: 0.04}, saveAt: 'end', switches: 'locate'} as const;
      const {gradient, product, trajectory} = simulate.hvp(
        pulse,
        {y: 0},
        options,
        ({y}) => tf.sum(tf.slice(y, [1], [1])),
        {params: {eps: 1}},
      );
      trajectory.dispose();
      expect((gradient.params as {readonly eps: Float64Array}).eps[0]).to.be.closeTo(0.04 ** -0.5, 1e-11);
      expect((product.params as {readonly eps: Float64Array}).eps[0]).to.be.closeTo(-0.5 * 0.04 ** -1.5, 1e-9);
    }
  });

  it('several tangents at once are those of each', () => {
    const {system, params, y} = cases[12];
    const options = {scheme: rk4(), dt: 0.1, t1: 2, params, saveAt: 'end', switches: 'locate'} as const;
    const directions = [{initial: {y: [1, 0]}}, {params: {k: 1}}, {initial: {y: [0, 1]}}];
    const {tangents} = simulate.jvps(system, {y: [...y]}, options, directions);
    directions.forEach((direction, i) => {
      const {tangent} = simulate.jvp(system, {y: [...y]}, options, direction);
      expect([...tangents[i].y]).to.deep.equal([...tangent.y]);
    });
    const [exact, forward] = [implicitAdjoint(), forwardSensitivity()].map(adjoint =>
      simulate.vjp(system, {y: [...y]}, {...options, adjoint}).pullback({y: [0, 0, 1, 2]}),
    );
    exact.initial.y.forEach((value, i) => expect(forward.initial.y[i]).to.be.closeTo(value, 1e-12));
  });

  it('at rest by friction: a mass stops where its energy is used up, and stays', () => {
    const braked = mechanics<{mu: tf.Tensor}>({
      mass: 1,
      forces: ({v, params: {mu}}) => tf.mul(tf.mul(-9.81, mu), tf.sign(v)),
    });
    for (const scheme of [rk4(), trapezoid(), generalizedAlpha()]) {
      const options = {scheme, dt: 0.01, t1: 1, params: {mu: 0.3}, saveAt: 'end', switches: 'locate'} as const;
      const {trajectory, pullback} = simulate.vjp(braked, {q: 0, v: 2}, options);
      expect(trajectory.values('q')[1]).to.be.closeTo(4 / (2 * 0.3 * 9.81), 1e-12);
      expect(trajectory.values('v')[1]).to.be.closeTo(0, 1e-12);
      expect(pullback({q: [0, 1]}).params.mu[0]).to.be.closeTo(-4 / (2 * 0.3 ** 2 * 9.81), 1e-11);
      const {product, trajectory: again} = simulate.hvp(
        braked,
        {q: 0, v: 2},
        options,
        ({q}) => tf.sum(tf.slice(q, [1], [1])),
        {params: {mu: 1}},
      );
      again.dispose();
      expect(product.params.mu[0]).to.be.closeTo(4 / (0.3 ** 3 * 9.81), 1e-9);
      // v/(μg) by the speed at the start: of ∂μ, −v/(μ²g).
      expect(product.initial.v[0]).to.be.closeTo(-2 / (0.3 ** 2 * 9.81), 1e-9);
    }
  });

  it('sticks and slips: a mass that a spring pulls over a rough plane', () => {
    const pulled = ode<{k: tf.Tensor; V: tf.Tensor; F: tf.Tensor}>(({y, t, params: {k, V, F}}) => {
      const [x, v] = tf.unstack(y);
      return tf.stack([v, tf.sub(tf.mul(k, tf.sub(tf.mul(V, t), x)), tf.mul(F, tf.sign(v)))]);
    });
    const position = (T: number, k: number, V: number, F: number): number => {
      const w = Math.sqrt(k);
      for (let [t, x] = [0, 0]; ;) {
        const slips = (F / k + x) / V;
        const since = T - slips;
        if (since <= 0) return x;
        if (since <= (2 * Math.PI) / w) return x + V * since - (V / w) * Math.sin(w * since);
        [t, x] = [slips + (2 * Math.PI) / w, x + (V * 2 * Math.PI) / w];
        if (t > T) return x;
      }
    };
    const [k, V, F] = [4, 0.5, 1];
    for (const [scheme, options] of [
      [rk4(), {dt: 0.01}],
      [tsit5(), {dt: 0.1, ...tight}],
      [kvaerno5(), {dt: 0.1, ...tight}],
    ] as const)
      for (const T of [0.3, 1.5, 4, 9]) {
        const given = {scheme, ...options, t1: T, params: {k, V, F}, saveAt: 'end', switches: 'locate'} as const;
        const {trajectory, pullback} = simulate.vjp(pulled, {y: [0, 0]}, given);
        expect(trajectory.values('y')[2]).to.be.closeTo(position(T, k, V, F), 1e-7);
        const {params} = pullback({y: [0, 0, 1, 0]});
        expect(params.k[0]).to.be.closeTo(
          slope(h => position(T, k + h, V, F)),
          1e-6,
        );
        expect(params.V[0]).to.be.closeTo(
          slope(h => position(T, k, V + h, F)),
          1e-6,
        );
        expect(params.F[0]).to.be.closeTo(
          slope(h => position(T, k, V, F + h)),
          1e-6,
        );
      }
  });

  it('leaves what is continuous alone, and what is declared so', () => {
    const kinks = ode(({y}) =>
      tf.add(tf.leakyRelu(y, 0.1), tf.where(tf.less(y, 1), tf.square(y), tf.sub(tf.mul(2, y), 1))),
    );
    const options = {scheme: rk4(), dt: 0.01, t1: 0.5, switches: 'locate'} as const;
    expect(Object.keys(simulate(kinks, {y: 0.4}, options).state().blocks)).to.deep.equal(['y']);
    const declared = ode(({y}) => traced.noEvent(() => tf.where(tf.less(y, 1), 2, 0.5)));
    expect(Object.keys(simulate(declared, {y: 0.4}, options).state().blocks)).to.deep.equal(['y']);
  });

  it('is refused where a derivative would not know it', () => {
    const {system, params} = cases[0];
    const options = {scheme: rk4(), dt: 0.1, t1: 2, params, saveAt: 'end', switches: 'locate'} as const;
    expect(() => simulate.vjp(system, {y: 0.3}, {...options, adjoint: backsolveAdjoint()})).to.throw(
      /^backsolveAdjoint does not support switches, such as 'less in derivative'/,
    );
  });

  it('is resumed from a state that was saved between them', () => {
    const {system, params} = cases[0];
    const options = {scheme: tsit5(), dt: 0.1, ...tight, params, switches: 'locate'} as const;
    for (const t1 of [0.2, 0.35, 0.8]) {
      const left = JSON.parse(JSON.stringify(simulate(system, {y: 0.3}, {...options, t1}).state())) as ReturnType<
        ReturnType<typeof simulate>['state']
      >;
      const {length, [length - 1]: last} = simulate(system, left, {...options, t1: 2}).values('y');
      expect(last).to.be.closeTo(1.825, 1e-12);
    }
  });
});
