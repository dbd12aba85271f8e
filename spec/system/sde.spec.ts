/**
 * Stochastic differential equations: strong and weak orders against closed forms, gradients against the derivative of the written-out
 * recursion, one path for every step length. Rows of y are systems of their own: so many paths are one run.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, SdeSystem} from '../../lib/index.js';
import type {Calculus, NoiseKind} from '../../lib/system/equations.js';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  batchAsync,
  equilibrium,
  event,
  forwardSensitivity,
  implicitAdjoint,
  InconsistentStateError,
  ode,
  OptionError,
  sde,
  ShapeError,
  signal,
  simulate,
  trapezoid,
  unrolledAdjoint,
  stochastic,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const [mu, sigma] = [0.5, 0.4];
const paths = 2000;
const seed = 11;

/** dy = μ y dt + σ y dW, on rows. */
const geometric = (calculus: Calculus, noise: NoiseKind = 'diagonal'): SdeSystem =>
  sde({drift: ({y}) => tf.mul(y, mu), diffusion: ({y}) => tf.mul(y, sigma), calculus, noise, seed});

function end(
  system: SdeSystem,
  scheme: Scheme,
  y: readonly (readonly number[])[] | Float64Array,
  n: number,
): Float64Array {
  const path = simulate(system, {y: y as Float64Array}, {scheme, dt: 1 / n, steps: n, saveAt: 'end'});
  path.dispose();
  const values = path.values('y');
  return values.slice(values.length / 2);
}

const ones = new Float64Array(paths).fill(1);

/** Mean and the half width of its interval of 99 %. */
function estimate(values: Float64Array): {mean: number; half: number} {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return {mean, half: 2.576 * Math.sqrt(variance / values.length)};
}

/**
 * The order with the half width of its interval: the slope between errors that are means of samples, with n steps and 4n.
 */
function orderOf(errors: (n: number) => Float64Array, n: number, power: number): {order: number; half: number} {
  const [coarse, fine] = [estimate(errors(n)), estimate(errors(4 * n))];
  return {
    order: (power * Math.log(coarse.mean / fine.mean)) / Math.log(4),
    half: (power * Math.hypot(coarse.half / coarse.mean, fine.half / fine.mean)) / Math.log(4),
  };
}

describe('simulate: sde', () => {
  describe('strong orders, against y exp((μ − σ²/2) t + σ W(t))', () => {
    const w = stochastic.brownianPath(seed, [paths]).at(1);
    const exact = (calculus: Calculus): Float64Array =>
      w.map(value => Math.exp((calculus === 'ito' ? mu - sigma ** 2 / 2 : mu) + sigma * value));
    const rows: [Scheme, Calculus, number][] = [
      [stochastic.eulerMaruyama(), 'ito', 0.5],
      [stochastic.eulerMaruyama({drift: 'implicit'}), 'ito', 0.5],
      [stochastic.milstein(), 'ito', 1],
      [stochastic.milstein(), 'stratonovich', 1],
      [stochastic.heun(), 'stratonovich', 1],
      [stochastic.sri1(), 'ito', 1.5],
    ];
    for (const [scheme, calculus, expected] of rows) {
      it(`${scheme.name}, ${calculus}: ${expected}`, () => {
        const solution = exact(calculus);
        const squares = (n: number): Float64Array =>
          end(geometric(calculus), scheme, ones, n).map((value, i) => (value - solution[i]) ** 2);
        // Root mean squares: the order is half of that of the squares.
        const {order, half} = orderOf(squares, 16, 0.5);
        // What the next power of h adds at these steps, beside the interval.
        expect(order).to.be.within(expected - 0.1 - half, expected + 0.1 + half);
        expect(half).to.be.below(0.12);
      });
    }

    slow('sra1: 1.5, of a nonlinear drift, against steps eight times as fine', () => {
      const process = sde({
        drift: ({y}) => tf.mul(tf.sin(tf.mul(y, 2)), -2),
        diffusion: ({t}) => tf.mul(tf.add(1, t), ones as never),
        noise: 'additive',
        seed,
      });
      const start = new Float64Array(paths).fill(1);
      const fine = end(process, stochastic.sra1(), start, 512);
      const squares = (n: number): Float64Array =>
        end(process, stochastic.sra1(), start, n).map((value, i) => (value - fine[i]) ** 2);
      const {order, half} = orderOf(squares, 16, 0.5);
      expect(order).to.be.within(1.4 - half, 1.6 + half);
      expect(half).to.be.below(0.15);
    });

    slow('two noises that both act on both numbers: general, Euler–Maruyama ½, Heun 1', () => {
      const s = [0.5, 0.3];
      const two = (calculus: Calculus): SdeSystem =>
        sde({
          drift: ({y}) => tf.mul(y, mu),
          diffusion: ({y}) =>
            tf.stack(
              s.map(value => tf.mul(y, value)),
              -1,
            ),
          noise: 'general',
          calculus,
          seed,
        });
      // [paths, 2] numbers, [paths, 2] noises.
      const start = Array.from({length: paths}, () => [1, 2]);
      const noises = stochastic.brownianPath(seed, [paths, 2]).at(1);
      const solution = (calculus: Calculus): Float64Array =>
        Float64Array.from({length: 2 * paths}, (_, k) => {
          const i = k >> 1;
          const shift = calculus === 'ito' ? (s[0] ** 2 + s[1] ** 2) / 2 : 0;
          return (1 + (k % 2)) * Math.exp(mu - shift + s[0] * noises[2 * i] + s[1] * noises[2 * i + 1]);
        });
      for (const [scheme, calculus, expected] of [
        [stochastic.eulerMaruyama(), 'ito', 0.5],
        [stochastic.heun(), 'stratonovich', 1],
      ] as const) {
        const known = solution(calculus);
        const squares = (n: number): Float64Array =>
          end(two(calculus), scheme, start, n).map((value, i) => (value - known[i]) ** 2);
        const {order, half} = orderOf(squares, 16, 0.5);
        expect(order, scheme.name).to.be.within(expected - 0.1 - half, expected + 0.1 + half);
      }
    });

    it('one noise a row: scalar', () => {
      const start = Array.from({length: paths}, () => [1, 2]);
      const noises = stochastic.brownianPath(seed, [paths, 1]).at(1);
      for (const [scheme, bound] of [
        [stochastic.milstein(), 0.03],
        [stochastic.sri1(), 0.003],
      ] as const) {
        const found = end(geometric('ito', 'scalar'), scheme, start, 32);
        const errors = found.map(
          (value, k) => (value - (1 + (k % 2)) * Math.exp(mu - sigma ** 2 / 2 + sigma * noises[k >> 1])) ** 2,
        );
        expect(Math.sqrt(estimate(errors).mean), scheme.name).to.be.below(bound);
      }
    });
  });

  describe('weak orders, of the mean, against exp(μ t)', () => {
    // A large drift and little noise: the mean's own error is larger than its interval.
    const [drift, noise] = [1.5, 0.2];
    const w = stochastic.brownianPath(seed, [paths]).at(1);
    const solution = w.map(value => Math.exp(drift - noise ** 2 / 2 + noise * value));
    const strong = sde({drift: ({y}) => tf.mul(y, drift), diffusion: ({y}) => tf.mul(y, noise), calculus: 'ito', seed});
    for (const [scheme, expected, n] of [
      [stochastic.eulerMaruyama(), 1, 32],
      [stochastic.milstein(), 1, 32],
      [stochastic.sri1(), 2, 8],
    ] as const) {
      slow(`${scheme.name}: ${expected}`, () => {
        // On one path the mean of the error has a small interval.
        const errors = (steps: number): Float64Array =>
          end(strong, scheme, ones, steps).map((value, i) => solution[i] - value);
        const {order, half} = orderOf(errors, n, 1);
        expect(order).to.be.within(expected - 0.15 - half, expected + 0.15 + half);
        expect(half).to.be.below(0.2);
      });
    }

    slow('sri1: 1.5, where noise is not linear in y', () => {
      // dy = −(a + b² y)(1 − y²) dt + b (1 − y²) dW (Kloeden & Platen 1992, §4.4): with z = e^(2bW − 2at), y = ((1 + y₀) z + y₀ − 1)/((1 + y₀) z + 1 − y₀).
      const [a, b, y0, many] = [0.3, 0.7, 0.2, 12000];
      const z = stochastic
        .brownianPath(seed, [many])
        .at(1)
        .map(value => Math.exp(2 * b * value - 2 * a));
      const squares = z.map(value => (((1 + y0) * value + y0 - 1) / ((1 + y0) * value + 1 - y0)) ** 2);
      const bounded = sde({
        drift: ({y}) => tf.neg(tf.mul(tf.add(a, tf.mul(b * b, y)), tf.sub(1, tf.square(y)))),
        diffusion: ({y}) => tf.mul(b, tf.sub(1, tf.square(y))),
        calculus: 'ito',
        seed,
      });
      const errors = (n: number): Float64Array =>
        end(bounded, stochastic.sri1(), new Float64Array(many).fill(y0), n).map((value, i) => squares[i] - value ** 2);
      const {order, half} = orderOf(errors, 8, 1);
      expect(order).to.be.within(1.5 - 0.1 - half, 1.5 + 0.1 + half);
      expect(half).to.be.below(0.2);
    });

    it('Euler–Maruyama has the mean (1 + μh)ⁿ, within the interval of the paths', () => {
      const {mean, half} = estimate(end(strong, stochastic.eulerMaruyama(), ones, 16));
      expect(Math.abs(mean - (1 + drift / 16) ** 16)).to.be.below(1.5 * half);
    });

    it('the Ornstein–Uhlenbeck process has its mean and variance', () => {
      const [theta, s] = [1.3, 0.7];
      const process = sde({
        drift: ({y}) => tf.mul(y, -theta),
        diffusion: () => tf.fill([paths], s),
        noise: 'additive',
        seed: 4,
      });
      const found = end(process, stochastic.sra1(), new Float64Array(paths).fill(2), 32);
      const {mean, half} = estimate(found);
      expect(Math.abs(mean - 2 * Math.exp(-theta))).to.be.below(1.5 * half);
      const variance = (s * s * (1 - Math.exp(-2 * theta))) / (2 * theta);
      const spread = estimate(found.map(value => (value - mean) ** 2));
      expect(Math.abs(spread.mean - variance)).to.be.below(1.5 * spread.half);
    });
  });

  describe('the path', () => {
    it('is one for steps of any length: additive noise alone adds up to W', () => {
      const noise = sde({
        drift: ({y}) => tf.zerosLike(y),
        diffusion: ({y: _}) => tf.ones([3]),
        calculus: 'ito',
        seed: 8,
      });
      for (const n of [1, 7, 100]) {
        const found = end(noise, stochastic.eulerMaruyama(), new Float64Array(3), n);
        stochastic
          .brownianPath(8, [3])
          .at(1)
          .forEach((value, i) => expect(found[i]).to.be.closeTo(value, 1e-12));
      }
    });

    it('far from 0, where times are rounded: increments of its integral have their variance, h³/3', () => {
      const [count, h, start] = [2000, 0.01, 1e7];
      const path = stochastic.brownianPath(8);
      const found = Array.from({length: count}, (_, i) => {
        const [t, next] = [start + i * h, start + (i + 1) * h];
        return (path.integral(next)[0] - path.integral(t)[0] - (next - t) * path.at(t)[0]) ** 2;
      });
      const mean = found.reduce((a, b) => a + b) / count;
      // Five standard errors, those of the square of a normal number.
      expect(mean / (h ** 3 / 3)).to.be.closeTo(1, 5 * Math.sqrt(2 / count));
    });

    it('... and a run of sra1 is that of times which are not rounded', () => {
      const well = sde({
        drift: ({y}) => tf.mul(2, tf.sin(tf.mul(2, y))),
        diffusion: () => tf.scalar(0.6),
        noise: 'additive',
        seed: 5,
      });
      const endOf = (n: number): number =>
        simulate(well, {y: 1, t: 1e7}, {scheme: stochastic.sra1(), dt: 1 / n, steps: n, saveAt: 'end'}).values('y')[1];
      // A step is off by 5e-4 of itself at these times.
      for (const n of [100, 200]) expect(endOf(n)).to.be.closeTo(endOf(1024), 5e-4);
    });

    it('begins anywhere: a run in two parts is the run', () => {
      const options = {scheme: stochastic.sri1(), dt: 1 / 16, saveAt: 'end'} as const;
      const whole = simulate(geometric('ito'), {y: [1]}, {...options, steps: 16});
      const first = simulate(geometric('ito'), {y: [1]}, {...options, steps: 6});
      const second = simulate(geometric('ito'), {y: [first.values('y')[1]], t: 6 / 16}, {...options, steps: 10});
      expect(second.values('y')[1]).to.be.closeTo(whole.values('y')[1], 1e-14);
    });

    slow('is the same to the bit on both engines and in threads, and of each member its own seed', async () => {
      const system = sde<{seed: tf.Tensor}>({
        drift: ({y}) => tf.neg(y),
        diffusion: ({y}) => tf.sin(y),
        calculus: 'ito',
        seed: params => params.seed,
      });
      const options = {scheme: stochastic.milstein(), dt: 0.01, steps: 100, saveAt: 'end'} as const;
      const members = [3, 4, 3].map(own => ({initial: {y: [1, 2]}, params: {seed: own}}));
      const runs = batch(system, members, options).map(run => [...run.values('y')]);
      expect(runs[0]).to.deep.equal(runs[2]);
      expect(runs[0]).to.not.deep.equal(runs[1]);
      const interpreted = simulate(system, {y: [1, 2]}, {...options, params: {seed: 4}, engine: 'interpreter'});
      expect([...interpreted.values('y')]).to.deep.equal(runs[1]);
      const threaded = await batchAsync(system, members, {...options, workers: 2});
      expect(threaded.map(run => [...run.values('y')])).to.deep.equal(runs);
    });
  });

  describe('gradients', () => {
    type P = {mu: tf.Tensor; sigma: tf.Tensor; seed: tf.Tensor};
    const system = (calculus: Calculus): SdeSystem<P> =>
      sde<P>({
        drift: ({y, params}) => tf.mul(params.mu, y),
        diffusion: ({y, params}) => tf.mul(params.sigma, tf.sin(y)),
        calculus,
        seed: ({seed: own}) => own,
      });
    const given = {mu, sigma, seed: 5};

    it('Euler–Maruyama: those of the recursion written out', () => {
      const n = 100;
      const path = stochastic.brownianPath(5);
      let [y, byMu, bySigma, byStart] = [1.2, 0, 0, 1];
      for (let k = 0; k < n; k++) {
        const dw = path.at((k + 1) / n)[0] - path.at(k / n)[0];
        const slope = 1 + mu / n + sigma * Math.cos(y) * dw;
        [byMu, bySigma, byStart] = [slope * byMu + y / n, slope * bySigma + Math.sin(y) * dw, slope * byStart];
        y += (mu * y) / n + sigma * Math.sin(y) * dw;
      }
      const options = {scheme: stochastic.eulerMaruyama(), dt: 1 / n, steps: n, saveAt: 'end', params: given} as const;
      for (const adjoint of [undefined, unrolledAdjoint(), forwardSensitivity()]) {
        const {trajectory, pullback} = simulate.vjp(system('ito'), {y: 1.2}, {...options, adjoint});
        const found = pullback({y: [0, 1]});
        expect(trajectory.values('y')[1]).to.be.closeTo(y, 1e-11);
        expect(found.params.mu[0]).to.be.closeTo(byMu, 1e-10);
        expect(found.params.sigma[0]).to.be.closeTo(bySigma, 1e-10);
        expect(found.initial.y[0]).to.be.closeTo(byStart, 1e-10);
        expect(found.params.seed[0]).to.equal(0);
        trajectory.dispose();
      }
    });

    for (const [scheme, calculus] of [
      [stochastic.milstein(), 'ito'],
      [stochastic.heun(), 'stratonovich'],
      [stochastic.sri1(), 'ito'],
      [stochastic.eulerMaruyama({drift: 'implicit'}), 'ito'],
    ] as const) {
      it(`${scheme.name}: those of differences on one path, and through checkpoints`, () => {
        const options = {scheme, dt: 0.02, steps: 50, saveAt: 'end'} as const;
        const at = (change: number): number =>
          simulate(system(calculus), {y: 1.2}, {...options, params: {...given, sigma: sigma + change}}).values('y')[1];
        const {pullback} = simulate.vjp(system(calculus), {y: 1.2}, {...options, params: given});
        const found = pullback({y: [0, 1]}).params.sigma[0];
        const h = 1e-5;
        expect(found).to.be.closeTo((at(h) - at(-h)) / (2 * h), 1e-8);
        const few = simulate.vjp(
          system(calculus),
          {y: 1.2},
          {...options, params: given, adjoint: implicitAdjoint({memory: 200})},
        );
        expect(few.pullback({y: [0, 1]}).params.sigma[0]).to.be.closeTo(found, 1e-13);
      });
    }

    it('reach tfjs variables, and leave no tensor', () => {
      const gain = tf.variable(tf.scalar(0.4));
      const captured = sde({drift: ({y}) => tf.neg(y), diffusion: ({y}) => tf.mul(gain, y), calculus: 'ito', seed: 2});
      const before = tf.memory().numTensors;
      const {grads} = tf.variableGrads(() =>
        tf.tidy(() =>
          tf
            .sum(simulate(captured, {y: 1}, {scheme: stochastic.milstein(), dt: 0.1, steps: 5, saveAt: 'end'}).y)
            .asScalar(),
        ),
      );
      expect(Math.abs(grads[gain.name].dataSync()[0])).to.be.above(1e-3);
      tf.dispose(grads);
      expect(tf.memory().numTensors - before).to.be.at.most(1);
      gain.dispose();
    });

    it('through the time of an event there are none, which is said', () => {
      const crossing = event({when: ({y}) => tf.sub(y, 0.5), then: 'stop'});
      const {pullback} = simulate.vjp(
        system('ito'),
        {y: 1.2},
        {
          scheme: stochastic.eulerMaruyama(),
          dt: 0.01,
          steps: 2000,
          saveAt: 'end',
          params: {mu: -1, sigma, seed: 5},
          events: [crossing],
        },
      );
      expect(() => pullback({y: [0, 1]})).to.throw('no derivative in time');
    });
  });

  it('takes inputs', () => {
    const driven = sde<{u: tf.Tensor}>({
      drift: ({y}) => tf.neg(y),
      diffusion: ({params}) => params.u,
      noise: 'additive',
      seed: 1,
    });
    const run = (u: number): number =>
      simulate(
        driven,
        {y: 0},
        {scheme: stochastic.sra1(), dt: 0.1, steps: 10, saveAt: 'end', inputs: {u: signal([0, 1], [u, u])}},
      ).values('y')[1];
    expect(run(2)).to.be.closeTo(2 * run(1), 1e-13);
  });

  describe('refuses', () => {
    const drift = ({y}: {y: tf.Tensor}): tf.Tensor => tf.neg(y);
    const diffusion = drift;
    const options = {scheme: stochastic.eulerMaruyama(), dt: 0.1, steps: 2};
    const start = {y: [1, 2]};

    it('an sde that does not say what it is', () => {
      expect(() => sde({drift, diffusion, seed: 1})).to.throw(OptionError, 'calculus');
      expect(() => sde({drift, diffusion, calculus: 'ito'} as never)).to.throw(OptionError, 'seed');
      expect(() => sde({drift, diffusion, calculus: 'ito', seed: 0.5})).to.throw(OptionError, 'whole number');
      expect(() => sde({drift, calculus: 'ito', seed: 1} as never)).to.throw(OptionError, 'diffusion');
      expect(() => sde({drift, diffusion, calculus: 'ito', seed: 1, noise: 'white'} as never)).to.throw(
        OptionError,
        "'general'",
      );
    });

    it('a seed of params that is none, in single runs, in batches, and where a run goes on', () => {
      const system = sde<{own: tf.Tensor}>({drift, diffusion, calculus: 'ito', seed: ({own}) => own});
      const members = batch.prepare(system, start, {...options, params: {own: 1}} as never);
      const half = simulate(system, start, {...options, params: {own: 1}}).state();
      for (const own of [1.5, -1, 2 ** 60]) {
        const params = {own};
        const pattern = new RegExp(`seed\\(params\\) is ${own}; it must be a whole number`);
        for (const scheme of [
          stochastic.eulerMaruyama(),
          stochastic.eulerMaruyama({drift: 'implicit'}),
          stochastic.sri1(),
        ])
          expect(() => simulate(system, start, {...options, scheme, params})).to.throw(InconsistentStateError, pattern);
        expect(() => members.run([{params: {own: 2}}, {params}] as never)).to.throw(InconsistentStateError, pattern);
        expect(() => simulate(system, half as never, {...options, params})).to.throw(InconsistentStateError, pattern);
      }
    });

    it("a seed that engine 'tensor' would round to that of another path", () => {
      const walk = sde<{seed: tf.Tensor}>({
        drift,
        diffusion: () => tf.ones([2]),
        noise: 'additive',
        seed: ({seed}) => seed,
      });
      const end = (seed: number, engine: 'tensor' | 'wasm'): number => {
        // Times that single precision holds: at others the path is that of rounded times.
        const run = simulate(walk, start, {...options, dt: 0.125, params: {seed}, engine});
        run.dispose();
        return run.values('y').at(-1) as number;
      };
      expect(end(2 ** 24 - 1, 'tensor')).to.be.closeTo(end(2 ** 24 - 1, 'wasm'), 1e-6);
      expect(() => end(2 ** 24 + 1, 'tensor')).to.throw(OptionError, 'below 16777216');
      const fixed = sde({drift, diffusion: () => tf.ones([2]), noise: 'additive', seed: 2 ** 40 + 1});
      expect(() => simulate(fixed, start, {...options, engine: 'tensor'})).to.throw(OptionError, 'smaller seed');
    });

    it('schemes of another kind, sense or noise', () => {
      const ito = sde({drift, diffusion, calculus: 'ito', seed: 1});
      const run = (system: SdeSystem, scheme: Scheme) => () => simulate(system, start, {...options, scheme});
      expect(run(ito, trapezoid())).to.throw(OptionError, 'eulerMaruyama');
      expect(run(ito, stochastic.heun())).to.throw(OptionError, 'Stratonovich');
      expect(run(ito, stochastic.sra1())).to.throw(OptionError, 'additive');
      expect(() => simulate(ode(drift), start, options)).to.throw(OptionError, 'no noise');
      expect(() => equilibrium(ito, start)).to.throw(OptionError, 'sde');
      expect(() => simulate(ito, start, {...options, control: adaptive()})).to.throw(OptionError, 'need not converge');
      expect(() => simulate(ito, start, {...options, adjoint: backsolveAdjoint()})).to.throw(OptionError, 'sde');
    });

    it('noise that is not what it says', () => {
      const mixing = sde({drift, diffusion: ({y}) => tf.reverse(y), calculus: 'ito', seed: 1});
      for (const scheme of [stochastic.milstein(), stochastic.sri1()])
        expect(() => simulate(mixing, start, {...options, scheme})).to.throw(OptionError, 'other numbers');
      // One noise a row commutes, but not where a row reads another: the strong order was ½.
      const meanField = (axis: number): typeof mixing =>
        sde({
          drift,
          diffusion: ({y}) => tf.add(tf.zerosLike(y), tf.mean(y, axis, true)),
          noise: 'scalar',
          calculus: 'ito',
          seed: 1,
        });
      const rows = {y: [[1, 0.5], [2, 1]]}; // prettier-ignore
      for (const scheme of [stochastic.milstein(), stochastic.sri1()]) {
        expect(() => simulate(meanField(0), rows, {...options, scheme})).to.throw(OptionError, 'other rows');
        expect(() => simulate(meanField(1), rows, {...options, scheme}).dispose()).not.to.throw();
      }
      const additive = sde({drift, diffusion: ({y}) => y, noise: 'additive', seed: 1});
      expect(() => simulate(additive, start, options)).to.throw(OptionError, 'reads y');
      // Shapes of y are no values of it.
      for (const scheme of [stochastic.eulerMaruyama(), stochastic.sra1()]) {
        const end = (noisy: Parameters<typeof sde>[0]['diffusion']): number[] => {
          const run = simulate(sde({drift, diffusion: noisy, noise: 'additive', seed: 7}), start, {...options, scheme});
          run.dispose();
          return [...run.values('y')];
        };
        const same = end(() => tf.fill([2], 0.4));
        expect(end(({y}) => tf.mul(tf.onesLike(y), 0.4))).to.deep.equal(same);
        expect(end(({y}) => tf.fill(y.shape, 0.4))).to.deep.equal(same);
        expect(end(({y, t}) => tf.mul(tf.add(tf.zerosLike(y), tf.onesLike(t)), 0.4))).to.deep.equal(same);
        expect(() => end(({y}) => tf.add(tf.onesLike(y), tf.mul(0.1, y)))).to.throw(OptionError, 'reads y');
      }
      const shaped = sde({drift, diffusion: () => tf.zeros([2, 3]), calculus: 'ito', seed: 1});
      expect(() => simulate(shaped, start, options)).to.throw(ShapeError, '[2, 3]');
      const vector = sde({drift, diffusion, calculus: 'ito', noise: 'general', seed: 1});
      expect(() => simulate(vector, start, options)).to.throw(ShapeError, '[2, noises]');
    });
  });
});
