/** Which comparisons are found to be switches, whatever values the parameters have where they are looked for. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {dde, mechanics, ode, rk4, sde, simulate, stochastic, traced, trapezoid} from '../../lib/index.js';

describe('the search for switches', () => {
  it('finds one whose sides are equal for the given parameters alone', () => {
    const relay = ode<{a: tf.Tensor; b: tf.Tensor; c: tf.Tensor}>(({y, params: {a, b, c}}) =>
      tf.where(tf.less(y, c), a, b),
    );
    const options = {scheme: rk4(), dt: 0.1, t1: 2, params: {a: 1, b: 1, c: 0.83}, saveAt: 'end'} as const;
    const {trajectory, pullback} = simulate.vjp(relay, {y: 0.3}, options);
    expect(trajectory.values('y')[1]).to.be.closeTo(2.3, 1e-14);
    // y(T) = c + b (T − (c − y₀)/a)
    const {params, initial} = pullback({y: [0, 1]});
    expect(params.a[0]).to.be.closeTo(0.53, 1e-13);
    expect(params.b[0]).to.be.closeTo(1.47, 1e-13);
    expect(params.c[0]).to.be.closeTo(0, 1e-13);
    expect(initial.y[0]).to.be.closeTo(1, 1e-13);
  });

  it('finds a pulse whose height is zero in the first guess', () => {
    const pulse = ode<{height: tf.Tensor; begin: tf.Tensor}>(({t, params: {height, begin}}) =>
      tf.where(tf.logicalAnd(tf.greater(t, begin), tf.less(t, 1.3)), height, 0),
    );
    const options = {scheme: rk4(), dt: 0.2, t1: 2, params: {height: 0, begin: 0.57}, saveAt: 'end'} as const;
    expect(simulate.vjp(pulse, {y: 0}, options).pullback({y: [0, 1]}).params.height[0]).to.be.closeTo(0.73, 1e-13);
  });

  const c = 0.9;
  /** y(1) from 0.2 with the rate 2 below c and 3 above, and how it changes with c. */
  const [end, slope] = [c + 3 * (1 - (c - 0.2) / 2), 1 - 3 / 2];
  const levelled = (levels: (y: tf.Tensor, c: tf.Tensor) => tf.Tensor): void => {
    const system = ode<{c: tf.Tensor}>(({y, params}) => tf.add(2, tf.cast(levels(y, params.c), 'float32')));
    const options = {scheme: rk4(), dt: 0.1, t1: 1, params: {c}, saveAt: 'end'} as const;
    const {trajectory, pullback} = simulate.vjp(system, {y: 0.2}, options);
    expect(trajectory.values('y')[1]).to.be.closeTo(end, 1e-13);
    expect(pullback({y: [0, 1]}).params.c[0]).to.be.closeTo(slope, 1e-12);
  };

  it('finds comparisons of vectors that are made of a number', () => {
    levelled((y, c) => tf.sum(tf.cast(tf.greater(tf.reshape(y, [1]), c), 'float32')));
    levelled((y, c) => tf.sum(tf.step(tf.sub(tf.mul(y, tf.tensor1d([1, -2])), c))));
    levelled((y, c) => tf.any(tf.greater(tf.stack([y, tf.scalar(-5)]), c)));
    levelled((y, c) => tf.greater(tf.max(tf.stack([tf.scalar(-2), y])), c));
  });

  it('finds whole numbers of which few levels matter', () => {
    levelled((y, c) => tf.greaterEqual(tf.floor(tf.div(y, c)), 1));
    levelled((y, c) => tf.logicalNot(tf.less(tf.floor(tf.div(y, c)), 1)));
    levelled((y, c) => tf.notEqual(tf.floor(tf.div(y, c)), 0));
    levelled((y, c) => {
      const level = tf.floor(tf.div(y, c));
      return tf.logicalAnd(tf.greater(level, 0.5), tf.less(level, 4.5));
    });
    levelled((y, c) =>
      tf.gather([0, 0, 0, 1, 1, 1], tf.cast(tf.clipByValue(tf.floor(tf.div(tf.mul(3, y), c)), 0, 5), 'int32')),
    );
    const stairs = ode<{c: tf.Tensor}>(({y, params}) => tf.step(tf.sub(tf.floor(tf.div(y, params.c)), 0.5)).add(2));
    const options = {scheme: rk4(), dt: 0.1, t1: 1, params: {c}, saveAt: 'end'} as const;
    const loss = ({y}: {y: tf.Tensor}): tf.Scalar => tf.sum(tf.slice(y, [1], [1])) as tf.Scalar;
    const {gradient, product} = simulate.hvp(stairs, {y: 0.2}, options, loss, {params: {c: 1}});
    expect(gradient.params.c[0]).to.be.closeTo(slope, 1e-12);
    expect(product.params.c[0]).to.be.closeTo(0, 1e-12);
  });

  it('finds those of a mass', () => {
    const [border, T] = [0.6, 1.4];
    // q(T) with the acceleration a below c and b above.
    const [a, b] = [1.5, 0.5];
    const q = (c: number): number => {
      const rest = T - Math.sqrt((2 * c) / a);
      return c + Math.sqrt(2 * c * a) * rest + (b * rest ** 2) / 2;
    };
    const heavier = mechanics<{c: tf.Tensor}>({
      mass: ({q, params}) => tf.where(tf.less(q, params.c), 1, 3),
      forces: ({q}) => tf.fill(q.shape, 1.5),
    });
    for (const scheme of [rk4(), trapezoid()]) {
      const options = {scheme, dt: 0.1, t1: T, params: {c: border}, saveAt: 'end'} as const;
      const {trajectory, pullback} = simulate.vjp(heavier, {q: 0, v: 0}, options);
      expect(trajectory.values('q')[1]).to.be.closeTo(q(border), 1e-12);
      const {params} = pullback({q: [0, 1]});
      expect(params.c[0]).to.be.closeTo((q(border + 1e-5) - q(border - 1e-5)) / 2e-5, 1e-8);
    }
  });

  it('passes over whole numbers of a continuous function', () => {
    const wave = ode(({y}) => tf.abs(tf.sub(tf.sub(y, tf.mul(2, tf.floor(tf.div(tf.add(y, 1), 2)))), 0)));
    const options = {scheme: rk4(), dt: 0.01, t1: 0.5} as const;
    expect(Object.keys(simulate(wave, {y: 0.4}, options).state().blocks)).to.deep.equal(['y']);
  });

  it('passes over kinks, for other parameters too', () => {
    const kinks = ode<{slope: tf.Tensor; from: tf.Tensor}>(({y, params: {slope, from}}) =>
      tf.add(tf.leakyRelu(y, 0.1), tf.where(tf.less(y, from), 0, tf.mul(slope, tf.sub(y, from)))),
    );
    const options = {scheme: rk4(), dt: 0.01, t1: 0.5, params: {slope: 3, from: 1}} as const;
    expect(Object.keys(simulate(kinks, {y: 0.4}, options).state().blocks)).to.deep.equal(['y']);
  });
});

describe('switches that are not located', () => {
  const rate = ({y}: {y: tf.Tensor}): tf.Tensor => tf.where(tf.less(y, 1), 2, 0.5);
  const noisy = sde({drift: rate, diffusion: () => tf.scalar(0.1), noise: 'additive', seed: 1});
  const delayed = dde({
    derivative: ({y, delayed: [before]}) => tf.sub(rate({y}), before),
    delays: [1],
    history: () => tf.scalar(0),
  });
  const loud = sde({drift: ({y}) => tf.neg(y), diffusion: rate, noise: 'diagonal', calculus: 'ito', seed: 1});
  const late = dde({
    derivative: ({delayed: [before]}) => rate({y: before}),
    delays: [0.4],
    history: () => tf.scalar(0),
  });
  const stepped = dde({
    derivative: ({delayed: [before]}) => before,
    delays: [0.4],
    history: ({t}) => rate({y: tf.add(t, 1.23)}),
  });
  for (const [system, kind, options] of [
    [noisy, 'sde', {dt: 0.1, t1: 0.5, scheme: stochastic.eulerMaruyama()}],
    [delayed, 'dde', {dt: 0.1, t1: 0.5}],
    [loud, 'diffusion of an sde', {dt: 0.1, t1: 0.5, scheme: stochastic.eulerMaruyama()}],
    [late, 'delayed state of a dde', {dt: 0.1, t1: 0.5}],
    [stepped, 'history of a dde', {dt: 0.1, t1: 0.5}],
  ] as const)
    it(`are named by a run (${kind}), unless that is meant`, () => {
      const warning = /^Switches of a system with noise or delays are not located \('less in (d[a-z]+|history)'\): /;
      const warned = simulate(system, {y: 0}, options).warnings.filter(text => warning.test(text));
      expect(warned.length).to.equal(1);
      expect(simulate(system, {y: 0}, {...options, switches: 'ignore'}).warnings.join()).not.to.match(warning);
    });
});

describe('jumps without a border', () => {
  const run = {scheme: rk4(), dt: 0.1, t1: 1, params: {c: 0.9}} as const;
  const warning = /^Jumps without a border are not located \('\w+ in derivative'\): /;
  const jumps: readonly (readonly [name: string, f: (y: tf.Tensor, c: tf.Tensor) => tf.Tensor])[] = [
    ['argMin', (y, c) => tf.argMin(tf.stack([y, c]))],
    ['equal', (y, c) => tf.equal(tf.minimum(y, c), c)],
    ['isNaN', (y, c) => tf.isNaN(tf.log(tf.sub(y, c)))],
    ['the derivative of a largest value', (y, c) => tf.grad(x => tf.max(tf.stack([c, x])))(y)],
  ];
  for (const [name, f] of jumps)
    it(`are named: ${name}`, () => {
      const of = (call: (g: () => tf.Tensor) => tf.Tensor): string => {
        const system = ode<{c: tf.Tensor}>(({y, params: {c}}) =>
          tf.add(
            2,
            call(() => tf.cast(f(y, c), 'float32')),
          ),
        );
        return simulate(system, {y: 0.2}, run).warnings.join();
      };
      expect(of(g => g())).to.match(warning);
      expect(of(g => traced.noEvent(g))).to.equal('');
    });

  it('are none where the function is continuous', () => {
    const system = ode<{c: tf.Tensor}>(({y, params: {c}}) =>
      tf.add(tf.mul(tf.sub(y, c), tf.cast(tf.argMax(tf.stack([c, y])), 'float32')), tf.max(tf.stack([y, c]))),
    );
    expect(simulate(system, {y: 0.2}, run).warnings).to.deep.equal([]);
  });
});
