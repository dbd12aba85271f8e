/**
 * The sampler against Gaussians and autoregressions of known moments, posteriors against closed forms, and a pendulum's
 * friction.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, ode, OptionError, rk4, ShapeError, simulate} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {bulkSize, meanSize, rHat, tailSize} from '../../../training/estimate/draws.js';
import {identify} from '../../../training/identify/identify.js';
import {autoregressive, studentT, white} from '../../../training/identify/noise.js';
import {checkRecords, Fit} from '../../../training/identify/fit.js';
import {ResidualObjective} from '../../../training/identify/objective.js';
import {bounded, fixed, free, positive} from '../../../training/identify/parameters.js';
import {posterior} from '../../../training/estimate/posterior.js';
import {posteriorCharts} from '../../../training/estimate/posterior-page.js';
import {sample} from '../../../training/estimate/sample-density.js';
import {slow} from '../../tiers.js';

const dt = 0.1;
const line = ode<{slope: tf.Tensor}>(({params}) => params.slope);
const t = Float64Array.from({length: 21}, (_, i) => i * dt);
const draw = gaussian(5);
const y = t.map(time => 1 + 0.7 * time + 0.3 * draw());
const base = {system: line, data: {t, y}, scheme: rk4(), dt, residuals: 'independent'} as const;
const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('draws of chains', () => {
  it('independent ones count fully, and their R̂ is 1', () => {
    const chains = Array.from({length: 4}, (_, c) => {
      const source = gaussian(c + 1);
      return Float64Array.from({length: 1000}, source);
    });
    expect(rHat(chains)).to.be.closeTo(1, 0.005);
    expect(bulkSize(chains)).to.be.within(3200, 4800);
    expect(tailSize(chains)).to.be.within(3000, 4800);
  });

  it('an autoregression counts (1 − φ)/(1 + φ) of its draws', () => {
    const chains = Array.from({length: 4}, (_, c) => {
      const source = gaussian(c + 10);
      let last = source() / 0.6;
      return Float64Array.from({length: 4000}, () => (last = 0.8 * last + source()));
    });
    expect(meanSize(chains) / 16_000).to.be.closeTo(0.2 / 1.8, 0.015);
    expect(rHat(chains)).to.be.lessThan(1.01);
  });

  it('a chain elsewhere, or wider than the others, is seen', () => {
    const chains = Array.from({length: 4}, (_, c) => {
      const source = gaussian(c + 20);
      return Float64Array.from({length: 500}, source);
    });
    expect(rHat([...chains.slice(1), chains[0].map(value => value + 1)])).to.be.greaterThan(1.05);
    expect(rHat([...chains.slice(1), chains[0].map(value => 4 * value)])).to.be.greaterThan(1.05);
  });
});

describe('statistics of chains', () => {
  it('are NaN with a draw that is not finite or too few, and refuse chains of several lengths', () => {
    const source = gaussian(3);
    const chain = Float64Array.from({length: 60}, source);
    for (const of of [rHat, bulkSize, tailSize, meanSize]) {
      for (const broken of [NaN, Infinity])
        expect(of([chain, chain.map((value, i) => (i === 31 ? broken : value))])).to.be.NaN;
      expect(of([chain.slice(0, 3), chain.slice(0, 3)])).to.be.NaN;
      expect(() => of([chain, chain.slice(1)])).to.throw(ShapeError, 'chain 2 has 59 draws, the first one 60');
      expect(() => of([])).to.throw(ShapeError, 'there is none');
    }
  });
});

describe('charts of a posterior', () => {
  it('are of one of its parameters, named', () => {
    const found = {draws: {k: Float64Array.of(1, 2, 3, 4), c: Float64Array.of(4, 3, 2, 1)}, chains: 2} as never;
    expect(posteriorCharts(found, 'k').map(({title}) => title)).to.deep.equal(['Posterior of k', 'Chains of k']);
    for (const [label, told] of [
      [undefined, /a parameter, k, c, not undefined\.$/],
      ['stiffness', /a parameter, k, c, not 'stiffness'\.$/],
      ['K', /not 'K'\. Did you mean 'k'\?$/],
    ] as const)
      expect(() => posteriorCharts(found, label as never)).to.throw(OptionError, told);
    expect(() => posteriorCharts({} as never, 'k')).to.throw(OptionError, /draws of the posterior/);
    expect(() => posteriorCharts(undefined as never, 'k')).to.throw(OptionError, /draws of the posterior/);
  });
});

describe('the No-U-Turn sampler', function () {
  this.timeout(60_000);

  slow('a Gaussian of condition 1e4: moments within their Monte Carlo error', async () => {
    const n = 10;
    const variance = Float64Array.from({length: n}, (_, i) => 10 ** ((-4 * i) / (n - 1)));
    // Turned by a reflection I − 2uuᵀ, so that no axis is one of its own.
    const u = Float64Array.from({length: n}, (_, i) => Math.sin(1 + 3 * i));
    const norm = Math.hypot(...u);
    const turned = (x: Float64Array): Float64Array => {
      const along = x.reduce((sum, value, i) => sum + (value * u[i]) / norm, 0);
      return x.map((value, i) => value - (2 * along * u[i]) / norm);
    };
    const density = (x: Float64Array): {value: number; gradient: Float64Array} => {
      const z = turned(x);
      return {
        value: -z.reduce((sum, value, i) => sum + value ** 2 / variance[i], 0) / 2,
        gradient: turned(z.map((value, i) => -value / variance[i])),
      };
    };
    const chains = await sample(density, new Float64Array(n), {
      metric: 'dense',
      draws: 600,
      warmUp: 600,
      seed: 3,
    });
    expect(chains.every(({divergences}) => divergences === 0)).to.equal(true);
    for (let i = 0; i < n; i++) {
      const own = chains.map(({draws}) => Float64Array.from(draws, x => turned(x)[i]));
      expect(rHat(own)).to.be.lessThan(1.01);
      expect(Math.abs(mean(Float64Array.from(own.flatMap(chain => [...chain]))))).to.be.lessThan(
        4 * Math.sqrt(variance[i] / meanSize(own)),
      );
      const squares = own.map(chain => chain.map(value => value ** 2));
      expect(Math.abs(mean(Float64Array.from(squares.flatMap(chain => [...chain]))) / variance[i] - 1)).to.be.lessThan(
        4 * Math.sqrt(2 / meanSize(squares)),
      );
    }
    const again = await sample(density, new Float64Array(n), {metric: 'dense', draws: 10, warmUp: 50, seed: 3});
    const other = await sample(density, new Float64Array(n), {metric: 'dense', draws: 10, warmUp: 50, seed: 3});
    expect(again).to.deep.equal(other);
  });

  it('says what cannot be sampled', async () => {
    const refused = await sample(() => undefined, Float64Array.of(0)).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(OptionError);
  });
});

describe('posteriors', function () {
  this.timeout(60_000);

  it('gradients of the likelihood, by the parameters and the scale, are those of its differences', () => {
    for (const noise of [white(), studentT({degrees: 5}), autoregressive({order: 2})]) {
      const problem = {
        ...base,
        parameters: {
          'initial.y': free(0.5, {prior: {mean: 1, sd: 0.3}}),
          slope: bounded(0, 2, 0.4, {prior: {mean: 1, sd: 0.5}}),
        },
      };
      const fit = new Fit(problem as never, checkRecords(problem as never, problem.data));
      const held = {sd: 0.4, partial: noise.order > 0 ? [Float64Array.of(0.5, -0.2)] : []};
      const objective = new ResidualObjective(fit, noise, held);
      const x = fit.space.start;
      const at = objective.logLikelihood(x, held);
      const value = (dx: Float64Array, sd: number, partial = held.partial): number =>
        objective.logLikelihood(
          x.map((xi, i) => xi + dx[i]),
          {sd, partial},
        ).value;
      const h = 1e-5;
      for (let i = 0; i < 2; i++) {
        const step = new Float64Array(2);
        step[i] = h;
        const difference =
          (value(step, 0.4)
            - value(
              step.map(s => -s),
              0.4,
            ))
          / (2 * h);
        expect(at.gradient[i]).to.be.closeTo(difference, 1e-6 * Math.abs(difference) + 1e-7);
      }
      const zero = new Float64Array(2);
      const byScale = (value(zero, 0.4 * Math.exp(h)) - value(zero, 0.4 * Math.exp(-h))) / (2 * h);
      // The prior does not depend on the scale.
      expect(at.byLogScale).to.be.closeTo(byScale, 1e-6 * Math.abs(byScale) + 1e-7);
      held.partial.forEach((partial, group) =>
        partial.forEach((_, i) => {
          const moved = (by: number): number =>
            value(zero, 0.4, [partial.map((kappa, k) => (k === i ? kappa + by : kappa))]);
          const difference = (moved(h) - moved(-h)) / (2 * h);
          expect(at.byPartial[group][i]).to.be.closeTo(difference, 1e-6 * Math.abs(difference) + 1e-7);
        }),
      );
    }
  });

  describe('under an autoregression', () => {
    // y = 1 + slope·t + e, e an AR(1) with φ = 0.7.
    const source = gaussian(8);
    let e = source() / Math.sqrt(1 - 0.49);
    const times = Float64Array.from({length: 30}, (_, i) => i * dt);
    const clean = times.map(time => {
      e = 0.7 * e + source();
      return 1 + 2 * time + 0.2 * e;
    });
    const problemOf = (isGap: (i: number) => boolean) =>
      ({
        ...base,
        data: {t: times, y: clean.map((value, i) => (isGap(i) ? NaN : value)), missing: 'skip'},
        initial: {y: 1},
        parameters: {slope: free(1)},
        noise: autoregressive(),
      }) as const;
    /**
     * Over the samples that are there: Σ e²/(s² variance) of innovations e, and Σ ln of their variances, in that of the
     * last predictor.
     */
    const sums = (there: readonly number[], slope: number, phi: number): {squares: number; logs: number} => {
      let [squares, logs] = [0, 0];
      there.forEach((i, j) => {
        const r = (at: number): number => clean[at] - 1 - slope * times[at];
        const lag = j === 0 ? Infinity : i - there[j - 1];
        const variance = (1 - phi ** (2 * lag)) / (1 - phi ** 2);
        squares += (r(i) - (j === 0 ? 0 : phi ** lag * r(there[j - 1]))) ** 2 / variance;
        logs += Math.log(variance);
      });
      return {squares, logs};
    };

    it('the likelihood is that of the series, by φ too, with and without gaps', () => {
      for (const isGap of [(): boolean => false, (i: number): boolean => i % 7 === 3]) {
        const problem = problemOf(isGap);
        const fit = new Fit(problem as never, checkRecords(problem as never, problem.data));
        const objective = new ResidualObjective(fit, problem.noise, {sd: 1, partial: [Float64Array.of(0)]});
        const there = Array.from(times.keys()).filter(i => !isGap(i));
        const told = (slope: number, phi: number, sd: number): number =>
          objective.logLikelihood(Float64Array.of(slope), {sd, partial: [Float64Array.of(phi)]}).value;
        const known = (slope: number, phi: number, sd: number): number => {
          const {squares, logs} = sums(there, slope, phi);
          return -there.length * Math.log(sd) - logs / 2 - squares / (2 * sd ** 2);
        };
        const constant = told(2, 0, 1) - known(2, 0, 1);
        for (const [slope, phi, sd] of [
          [1.9, 0.7, 0.2],
          [2.3, -0.4, 0.5],
          [1, 0.97, 0.1],
        ] as const)
          expect(told(slope, phi, sd) - known(slope, phi, sd)).to.be.closeTo(constant, 1e-8);
      }
    });

    slow('it is integrated over φ, and wider than with φ held', async () => {
      const problem = problemOf(() => false);
      const fit = await identify(problem);
      const drawn = await posterior(fit, {chains: 2, draws: 600, warmUp: 150, seed: 1});
      const width = (phis: readonly number[]): number => {
        // The scale integrated, ∝ Σ^−n/2; a flat prior of φ.
        const weights: [number, number][] = [];
        for (const phi of phis)
          for (let k = -120; k <= 120; k++) {
            const slope = fit.estimate.slope + k * 0.1 * fit.standardError.slope;
            const {squares, logs} = sums([...times.keys()], slope, phi);
            weights.push([slope, Math.exp(-logs / 2 - 15 * Math.log(squares))]);
          }
        weights.sort(([one], [other]) => one - other);
        const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
        const at = (p: number): number => {
          let sum = 0;
          return weights.find(([, weight]) => (sum += weight / total) >= p)![0];
        };
        return at(0.975) - at(0.025);
      };
      const integrated = width(Array.from({length: 200}, (_, i) => -0.995 + i * 0.01));
      const told = drawn.interval.slope[1] - drawn.interval.slope[0];
      // Quantiles of 600 effective draws: 6 % of the width, one standard deviation.
      expect(told / integrated).to.be.within(0.85, 1.15);
      expect(integrated).to.be.above(1.12 * width([fit.noise.coefficients[0][0]]));
      expect(drawn.warnings.join()).to.not.match(/diverged/);
    });
  });

  slow('of a line with known noise it is the conjugate normal one; Laplace gives the same', async () => {
    const problem = {
      ...base,
      parameters: {'initial.y': free(0), slope: free(0, {prior: {mean: 0.5, sd: 0.1}})},
      noise: white({sd: 0.3}),
    };
    const fit = await identify(problem);
    for (const method of ['nuts', 'laplace'] as const) {
      const found = await posterior(fit, {chains: 2, draws: 600, warmUp: 150, seed: 2, method});
      for (const name of ['initial.y', 'slope'] as const) {
        expect(Math.abs(found.mean[name] - fit.estimate[name])).to.be.lessThan(4 * found.monteCarloError[name]);
        expect(found.sd[name] / fit.standardError[name]).to.be.closeTo(1, 4 / Math.sqrt(found.effectiveSize[name]));
        expect(found.rHat[name]).to.be.lessThan(1.01);
      }
      expect(found.divergences).to.equal(0);
      expect(found.warnings).to.deep.equal([]);
    }
  });

  slow('of noise whose size is not known it is Student’s t with n − p degrees of freedom', async () => {
    const problem = {...base, parameters: {'initial.y': free(0), slope: free(0)}};
    const fit = await identify(problem);
    const found = await posterior(fit, {chains: 2, draws: 1500, warmUp: 150, seed: 7});
    const degrees = t.length - 2;
    expect(found.sd.slope / fit.standardError.slope).to.be.closeTo(Math.sqrt(degrees / (degrees - 2)), 0.05);
    // 2.093: the 97.5 % point of t with 19 degrees of freedom.
    expect((found.quantile('slope', 0.975) - fit.estimate.slope) / fit.standardError.slope).to.be.closeTo(2.093, 0.15);
  });

  slow("a pendulum's friction", async () => {
    const pendulum = mechanics<{length: tf.Tensor; friction: tf.Tensor}>({
      mass: 1,
      forces: ({q, v, params}) =>
        tf.neg(tf.add(tf.mul(tf.div(9.81, params.length), tf.sin(q)), tf.mul(params.friction, v))),
    });
    const step = 0.05;
    const run = simulate(
      pendulum,
      {q: 1, v: 0},
      {scheme: rk4(), dt: step, steps: 100, params: {length: 1.2, friction: 0.15}},
    );
    const source = gaussian(10);
    const problem = {
      system: pendulum,
      initial: {q: 1, v: 0},
      data: {t: run.values('t'), q: run.values('q').map(value => value + 0.02 * source())},
      parameters: {length: positive(1), friction: positive(0.3)},
      scheme: rk4(),
      dt: step,
      residuals: 'independent',
    } as const;
    run.dispose();
    const fit = await identify(problem);
    const found = await posterior(fit, {draws: 300, warmUp: 150, seed: 1});
    const cheap = await posterior(fit, {draws: 500, seed: 1, method: 'laplace'});
    for (const name of ['length', 'friction'] as const) {
      expect(found.rHat[name]).to.be.lessThan(1.01);
      expect(found.effectiveSize[name]).to.be.greaterThan(500);
      // Nearly normal: its moments are Laplace's, to the errors of both and a third-order term of a part of sd.
      expect(Math.abs(found.mean[name] - cheap.mean[name])).to.be.lessThan(
        4 * Math.hypot(found.monteCarloError[name], cheap.monteCarloError[name]) + 0.05 * found.sd[name],
      );
      expect(found.sd[name] / cheap.sd[name]).to.be.closeTo(1, 0.12);
    }
    expect(found.interval.friction[0]).to.be.lessThan(0.15);
    expect(found.interval.friction[1]).to.be.greaterThan(0.15);
    expect((found as {toString: () => string}).toString()).to.contain('friction = ');
    expect(found.html({fragment: true})).to.contain('Chains of friction');
    const again = await posterior(fit, {draws: 20, warmUp: 30, seed: 1});
    const other = await posterior(fit, {draws: 20, warmUp: 30, seed: 1});
    expect(again.draws).to.deep.equal(other.draws);
  });

  slow('correlated residuals: its deviation is the robust standard error', async () => {
    const source = gaussian(21);
    let error = 0;
    const times = Float64Array.from({length: 201}, (_, i) => i * dt);
    const values = times.map(time => 1 + 0.7 * time + (error = 0.9 * error + 0.1 * source()));
    const problem = {
      system: line,
      data: {t: times, y: values},
      parameters: {'initial.y': free(0), slope: free(0)},
      scheme: rk4(),
      dt,
    };
    const fit = await identify(problem);
    expect(fit.uncertainty.inflation[1]).to.be.greaterThan(3);
    const found = await posterior(fit, {chains: 2, draws: 300, warmUp: 100, seed: 1});
    expect(found.sd.slope / fit.standardError.slope).to.be.closeTo(1, 0.15);
  });

  it('refuses a direction that nothing bounds', async () => {
    const idle = ode<{slope: tf.Tensor; idle: tf.Tensor}>(({params}) => tf.add(params.slope, tf.mul(0, params.idle)));
    const problem = {...base, system: idle, parameters: {'initial.y': free(0), slope: fixed(0.7), idle: free(1)}};
    const fit = await identify(problem);
    const refused = await posterior(fit).catch((error: unknown) => error as OptionError);
    expect((refused as OptionError).code).to.equal('not-identified');
    const held = {...base, parameters: {'initial.y': free(0), slope: bounded(0.9, 2, 1)}};
    const atBound = await identify(held);
    const against = await posterior(atBound).catch((error: unknown) => error as OptionError);
    expect((against as OptionError).message).to.match(/^posterior: slope runs towards its lower bound 0.9 in the fit/);
  });
});
