/** Priors and models of the noise against closed forms: a straight line, whose least squares is linear. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, OptionError, rk4} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {identify} from '../../../training/identify/identify.js';
import {lbfgs} from '../../../training/identify/lbfgs.js';
import {autoregressive, huber, studentT, white} from '../../../training/identify/noise.js';
import {freeTree} from '../../../training/identify/parameter-trees.js';
import {bounded, fixed, free, positive} from '../../../training/identify/parameters.js';
import {likelihoodProfile} from '../../../training/estimate/profile.js';
import {slow} from '../../tiers.js';

const dt = 0.1;
const line = ode<{slope: tf.Tensor}>(({params}) => params.slope);
const t = Float64Array.from({length: 51}, (_, i) => i * dt);
const noise = gaussian(3);
const y = t.map(time => 1 + 0.7 * time + 0.3 * noise());
const base = {system: line, data: {t, y}, scheme: rk4(), dt, residuals: 'independent'} as const;

/** Solution and inverse of a symmetric 2 × 2 system. */
function solve2(
  [a, b, d]: readonly number[],
  [f, g]: readonly number[],
): {readonly x: readonly number[]; readonly inverse: readonly number[]} {
  const det = a * d - b * b;
  return {x: [(d * f - b * g) / det, (a * g - b * f) / det], inverse: [d / det, -b / det, a / det]};
}

const sum = (values: Iterable<number>): number => [...values].reduce((all, value) => all + value, 0);
const moments = [t.length, sum(t), sum(t.map(time => time * time))];
const sides = [sum(y), sum(y.map((value, i) => value * t[i]))];

describe('what is known beforehand', () => {
  it('normal priors: the conjugate posterior of a line, mean and covariance', async () => {
    const sd = 0.3;
    const fit = await identify({
      ...base,
      parameters: {
        'initial.y': free(0, {prior: {mean: 2, sd: 0.1}}),
        slope: free(0, {prior: {mean: 0.2, sd: 0.02}}),
      },
      noise: white({sd}),
    });
    const posterior = solve2(
      [moments[0] / sd ** 2 + 1 / 0.01, moments[1] / sd ** 2, moments[2] / sd ** 2 + 1 / 0.0004],
      [sides[0] / sd ** 2 + 2 / 0.01, sides[1] / sd ** 2 + 0.2 / 0.0004],
    );
    expect(fit.estimate['initial.y']).to.be.closeTo(posterior.x[0], 1e-9);
    expect(fit.estimate.slope).to.be.closeTo(posterior.x[1], 1e-9);
    expect(fit.standardError['initial.y']).to.be.closeTo(Math.sqrt(posterior.inverse[0]), 1e-9);
    expect(fit.standardError.slope).to.be.closeTo(Math.sqrt(posterior.inverse[2]), 1e-9);
    expect(fit.uncertainty.covariance[1]).to.be.closeTo(posterior.inverse[1], 1e-9);
    const residuals = sum(y.map((value, i) => (value - posterior.x[0] - posterior.x[1] * t[i]) ** 2));
    const cost =
      residuals / 2 + (sd ** 2 * (((posterior.x[0] - 2) / 0.1) ** 2 + ((posterior.x[1] - 0.2) / 0.02) ** 2)) / 2;
    expect(fit.cost).to.be.closeTo(cost, 1e-9 * cost);
  });

  slow('of noise whose size is not known: the estimate is the posterior of the size found', async () => {
    const parameters = {
      'initial.y': free(0, {prior: {mean: 2, sd: 0.1}}),
      slope: free(0, {prior: {mean: 0.2, sd: 0.02}}),
    };
    const fit = await identify({...base, parameters});
    const s = fit.noise.sd;
    const {x, inverse} = solve2(
      [moments[0] / s ** 2 + 100, moments[1] / s ** 2, moments[2] / s ** 2 + 2500],
      [sides[0] / s ** 2 + 200, sides[1] / s ** 2 + 500],
    );
    expect(fit.estimate.slope).to.be.closeTo(x[1], 1e-7);
    expect(fit.standardError['initial.y']).to.be.closeTo(Math.sqrt(inverse[0]), 1e-5);
    expect(fit.standardError.slope).to.be.closeTo(Math.sqrt(inverse[2]), 1e-5);
    const residuals = sum(y.map((value, i) => (value - x[0] - x[1] * t[i]) ** 2));
    const effective = 2 - inverse[0] * 100 - inverse[2] * 2500;
    expect(s).to.be.closeTo(Math.sqrt(residuals / (t.length - effective)), 1e-5);
    const other = await identify({...base, parameters, method: lbfgs()});
    expect(other.estimate.slope).to.be.closeTo(fit.estimate.slope, 1e-6);
    const page = fit.html();
    expect(page).to.contain('Prior of slope');
  });

  it('the profile has the prior in it: its interval is that of the posterior', async () => {
    const problem = {
      ...base,
      parameters: {'initial.y': free(0), slope: free(0, {prior: {mean: 0.2, sd: 0.02}})},
    };
    const fit = await identify(problem);
    const {interval} = await likelihoodProfile(fit as never, 'slope');
    expect(interval[1] - fit.estimate.slope).to.be.closeTo(
      1.96 * fit.standardError.slope,
      0.01 * fit.standardError.slope,
    );
    expect(fit.estimate.slope - interval[0]).to.be.closeTo(
      1.96 * fit.standardError.slope,
      0.01 * fit.standardError.slope,
    );
  });

  it('a prior alone: what the data do not say is as it was known before', async () => {
    const idle = ode<{slope: tf.Tensor; idle: tf.Tensor}>(({params}) => tf.add(params.slope, tf.mul(0, params.idle)));
    const fit = await identify({
      ...base,
      system: idle,
      parameters: {
        'initial.y': free(0),
        slope: free(0),
        idle: positive(1, {prior: {mean: 3, sd: 0.6}}),
      },
    });
    const variance = Math.log(1 + 0.04);
    expect(fit.estimate.idle).to.be.closeTo(3 * Math.exp(-variance / 2), 1e-8); // the lognormal's median
    expect(fit.standardError.idle / fit.estimate.idle).to.be.closeTo(Math.sqrt(variance), 1e-6);
    expect(fit.warnings).to.deep.equal([]);
    const held = await identify({
      ...base,
      system: idle,
      parameters: {'initial.y': free(0), slope: free(0), idle: bounded(0, 1, 0.9, {prior: {mean: 0.3, sd: 0.05}})},
    });
    expect(held.estimate.idle).to.be.closeTo(0.3, 1e-7);
    expect(held.standardError.idle).to.be.closeTo(0.05, 1e-6);
  });

  it("ridge on a tree's weights: (XᵀX + λI)⁻¹ Xᵀy", async () => {
    // y = ∫ (w₀ + w₁) of two equal columns is singular without it: ridge shares the slope evenly.
    const twin = ode<{net: {w: tf.Tensor}}>(({params}) => tf.sum(params.net.w));
    const sd = 0.3;
    const fit = await identify({
      system: twin as never,
      initial: {y: 1},
      data: {t, y},
      scheme: rk4(),
      dt,
      residuals: 'independent',
      parameters: freeTree('net', {w: [0.1, 0.3]}, {prior: {mean: 0, sd: 0.5}}),
      noise: white({sd}),
    });
    const lambda = (sd / 0.5) ** 2;
    const slope = sum(y.map((value, i) => (value - 1) * t[i])) / (2 * moments[2] + lambda);
    const found = fit.estimate['net.w'] as Float64Array;
    expect(found[0]).to.be.closeTo(slope, 1e-7);
    expect(found[1]).to.be.closeTo(slope, 1e-7);
  });

  it('refuses what is no prior', () => {
    expect(() => free(1, {prior: {sd: 0}})).to.throw(OptionError, 'sd of the prior is 0');
    expect(() => positive(1, {prior: {mean: -1, sd: 1}})).to.throw(OptionError, 'greater than 0');
    expect(() => free([1, 2, 3], {prior: {sd: [1, 2]}})).to.throw(OptionError, '2 numbers');
    expect(() => free(1, {prior: {mean: 0, sdd: 1} as never})).to.throw(OptionError, 'sdd');
  });

  slow('records held out end the fit of a flexible model, which is then nearer to them', async () => {
    const wave = (from: number): {t: Float64Array; y: Float64Array; initial: {y: number}} => {
      const draw = gaussian(from);
      return {t, y: t.map(time => Math.sin(time) + 0.3 * draw()), initial: {y: 0}};
    };
    const bumps = ode<{w: tf.Tensor}>(({t: time, params}) =>
      tf.sum(tf.mul(params.w, tf.cos(tf.mul(tf.range(0, 25), tf.mul(time, Math.PI / 5))))),
    );
    const problem = {
      system: bumps,
      data: wave(1),
      parameters: {w: free(new Float64Array(25))},
      scheme: rk4(),
      dt,
      residuals: 'independent',
      method: lbfgs(),
    } as const;
    const all = await identify(problem);
    const stopped = await identify({...problem, earlyStopping: {data: wave(2), patience: 5}});
    expect(stopped.status).to.equal('stopped-early');
    expect(stopped.cost).to.be.greaterThan(all.cost);
    const [[free_], [early]] = [await all.validate(wave(7)), await stopped.validate(wave(7))];
    expect(early.rmse).to.be.lessThan(free_.rmse);
  });
});

describe('models of the noise', () => {
  slow('of few independent residuals the interval is by Student’s quantile', async () => {
    // Of 5 − 2 degrees, of the tables. Of 300 lines 95 % ± 1.3 % hold; by 1.96 it would be 86 % ± 2 %.
    const line = ode<{slope: tf.Tensor}>(({params: {slope}}) => slope);
    const t = Float64Array.of(0, 1, 2, 3, 4);
    const next = gaussian(77);
    let held = 0;
    for (let record = 0; record < 300; record++) {
      const y = t.map(time => 1 + 0.5 * time + 0.1 * next());
      const fit = await identify({
        ...{system: line, scheme: rk4(), dt: 1, initial: {y: 0}, data: {t, y}, residuals: 'independent'},
        parameters: {'initial.y': free(0), slope: free(0)},
      });
      fit.trajectory.dispose();
      expect(fit.uncertainty.quantile[1]).to.be.closeTo(3.182446, 1e-5);
      const [low, high] = fit.interval.slope;
      expect((high - low) / 2 / fit.standardError.slope).to.be.closeTo(3.182446, 1e-5);
      if (low < 0.5 && 0.5 < high) held++;
    }
    expect(held / 300).to.be.within(0.905, 0.99);
  });

  slow('an autoregression of second order that swings: errors are those that estimates scatter by', async () => {
    // φ = (1.6, −0.8): almost a sine of the period 13, of which a trend takes little. Their ratio was 2.7 with the first-order bias of φ.
    const trend = ode<{b: tf.Tensor; c: tf.Tensor}>(({t, params: {b, c}}) => tf.add(b, tf.mul(tf.mul(2, c), t)));
    const t = Float64Array.from({length: 100}, (_, i) => i / 8);
    const next = gaussian(11);
    const [slopes, errors]: [number[], number[]] = [[], []];
    for (let record = 0; record < 40; record++) {
      const noise = [0, 0];
      while (noise.length < 400)
        noise.push(1.6 * noise[noise.length - 1] - 0.8 * noise[noise.length - 2] + 0.3 * next());
      const fit = await identify({
        ...{system: trend, scheme: rk4(), dt: 0.125, initial: {y: 0}, noise: autoregressive({order: 2})},
        data: {t, y: t.map((time, i) => 1 + time + 0.1 * time ** 2 + noise[300 + i])},
        parameters: {'initial.y': free(0), b: free(0), c: free(0)},
      });
      fit.trajectory.dispose();
      slopes.push(fit.estimate.b);
      errors.push(fit.standardError.b);
    }
    const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    const scatter = Math.sqrt(mean(slopes.map(slope => (slope - 1) ** 2)));
    expect(mean(errors) / scatter).to.be.within(0.7, 1.4);
    expect(slopes.filter((slope, i) => Math.abs(slope - 1) < 1.96 * errors[i]).length).to.be.at.least(34);
  });

  it('refuses records of different sampling intervals for one autoregression', async () => {
    const line = ode<{slope: tf.Tensor}>(({params: {slope}}) => slope);
    const record = (interval: number): {t: Float64Array; y: Float64Array} => {
      const t = Float64Array.from({length: 30}, (_, i) => i * interval);
      return {t, y: t.map(time => time + 0.1 * Math.sin(9 * time * time))};
    };
    const at = (intervals: readonly number[]): Promise<unknown> =>
      identify({
        ...{system: line, scheme: rk4(), dt: 0.02, initial: {y: 0}, noise: autoregressive()},
        data: intervals.map(record),
        parameters: {slope: free(0)},
      });
    let message = '';
    await at([0.02, 0.4]).catch((error: unknown) => (message = (error as Error).message));
    expect(message).to.match(/one sampling interval, but it is 0\.02 in record 1 and 0\.4 in record 2/);
    await at([0.02, 0.02]);
  });

  it('an autoregression: the best linear unbiased mean of AR(1), and its variance', async () => {
    const rest = ode<{none: tf.Tensor}>(({params}) => params.none);
    const draw = gaussian(11);
    let error = draw() / Math.sqrt(1 - 0.64);
    const values = Float64Array.from({length: 401}, () => 2 + (error = 0.8 * error + draw()));
    const times = values.map((_, i) => i * dt);
    const fit = await identify({
      system: rest,
      data: {t: times, y: values},
      parameters: {'initial.y': free(0), none: fixed(0)},
      scheme: rk4(),
      dt,
      residuals: 'independent',
      noise: autoregressive(),
    });
    const [phi] = fit.noise.coefficients[0];
    expect(phi).to.be.closeTo(0.8, 0.1); // its deviation is √((1 − φ²)/n) = 0.03
    const n = values.length;
    const total = 2 + (n - 2) * (1 - phi);
    const mean = (values[0] + values[n - 1] + (1 - phi) * sum(values.subarray(1, n - 1))) / total;
    expect(fit.estimate['initial.y']).to.be.closeTo(mean, 1e-7);
    expect(fit.standardError['initial.y']).to.be.closeTo(fit.noise.sd / Math.sqrt((1 - phi) * total), 1e-5);
    const again = await identify({
      system: rest,
      data: {t: times, y: values},
      parameters: {'initial.y': free(0), none: fixed(0)},
      scheme: rk4(),
      dt,
      residuals: 'independent',
      noise: autoregressive(),
      method: lbfgs(),
    });
    expect(again.estimate['initial.y']).to.be.closeTo(mean, 1e-7);
  });

  for (const noise of [huber(), studentT()]) {
    it(`${noise.name}: its estimating equation holds, and outliers do not move it`, async () => {
      const spoiled = y.map((value, i) => (i % 10 === 4 ? value + 8 : value));
      const parameters = {'initial.y': free(0), slope: free(0)};
      const fit = await identify({...base, data: {t, y: spoiled}, parameters, noise});
      const s = fit.noise.sd;
      const psi = (z: number): number =>
        noise.name === 'huber' ? Math.max(-1.345, Math.min(1.345, z)) : (5 * z) / (4 + z * z);
      const residual = (i: number): number => fit.estimate['initial.y'] + fit.estimate.slope * t[i] - spoiled[i];
      expect(sum(t.map((_, i) => psi(residual(i) / s)))).to.be.closeTo(0, 1e-4);
      expect(sum(t.map((time, i) => time * psi(residual(i) / s)))).to.be.closeTo(0, 1e-4);
      const plain = await identify({...base, data: {t, y: spoiled}, parameters});
      expect(Math.abs(fit.estimate['initial.y'] - 1)).to.be.lessThan(0.3);
      expect(Math.abs(plain.estimate['initial.y'] - 1)).to.be.greaterThan(0.6);
      expect(fit.standardError.slope).to.be.lessThan(plain.standardError.slope);
      const descended = await identify({...base, data: {t, y: spoiled}, parameters, noise, method: lbfgs()});
      expect(descended.estimate.slope).to.be.closeTo(fit.estimate.slope, 1e-5);
    });
  }

  it('refuses an autoregression of an uneven clock, and what is no noise', async () => {
    const uneven = t.map((time, i) => (i === 7 ? time + 0.05 : time));
    const parameters = {'initial.y': free(0), slope: free(0)};
    const refused = async (problem: object): Promise<string> =>
      identify({...base, parameters, ...problem}).then(
        () => '',
        (error: unknown) => (error as Error).message,
      );
    expect(await refused({data: {t: uneven, y}, noise: autoregressive(), dt: 0.05})).to.contain(
      'evenly spaced samples',
    );
    expect(await refused({noise: 'huber'})).to.contain('noise must be made by');
    expect(() => huber({sd: -1})).to.throw(OptionError);
  });
});

describe('many starts', () => {
  slow('of a cost with four minima finds all, and the lowest', async () => {
    // Residuals x² − 1 and (x − 1)/10 of each of two numbers: minima where (x − 1)(2x² + 2x + 1/100) is 0, at 1 and −0.995.
    const rest = ode<{a: tf.Tensor; b: tf.Tensor}>(({y: state}) => tf.mul(0, state));
    const problem = {
      system: rest,
      initial: {y: [0, 0]},
      observe: ({params: {a, b}}: {params: {a: tf.Tensor; b: tf.Tensor}}) =>
        tf.stack([a, b].flatMap(x => [tf.sub(tf.square(x), 1), tf.mul(0.1, tf.sub(x, 1))])),
      data: {
        t: [0, dt],
        y: [
          [0, 0, 0, 0],
          [0, 0, 0, 0],
        ],
      },
      parameters: {a: bounded(-2, 2, -1.5), b: bounded(-2, 2, -1.5)},
      scheme: rk4(),
      dt,
      residuals: 'independent',
      starts: 20,
      seed: 4,
    } as const;
    const fit = await identify(problem);
    expect(fit.minima).to.have.length(4);
    const [deep, shallow] = [1, (-1 - Math.sqrt(0.98)) / 2];
    const costOf = (x: number): number => (x * x - 1) ** 2 + 0.01 * (x - 1) ** 2; // of two samples
    const expected = [
      [deep, deep],
      [deep, shallow],
      [shallow, deep],
      [shallow, shallow],
    ];
    for (const [a, b] of expected) {
      const found = fit.minima.find(({estimate}) => Math.hypot(estimate.a - a, estimate.b - b) < 1e-5);
      expect(found?.cost).to.be.closeTo(costOf(a) + costOf(b), 1e-9);
    }
    expect(fit.estimate.a).to.be.closeTo(deep, 1e-5);
    expect(sum(fit.minima.map(({count}) => count))).to.be.within(16, 20);
    const again = await identify(problem);
    expect(again.minima).to.deep.equal(fit.minima);
    expect(fit.html()).to.contain('Minima: 4 among');
  });

  it('tells which start a step belongs to, and ends when it is told to', async () => {
    const seen = new Set<number>();
    const controller = new AbortController();
    const failure = await identify({
      ...base,
      parameters: {'initial.y': free(0), slope: free(0)},
      starts: 5,
      signal: controller.signal,
      onProgress: ({start}) => {
        seen.add(start);
        if (start === 2) controller.abort();
      },
    }).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    expect(failure?.name).to.equal('AbortError');
    expect([...seen]).to.deep.equal([0, 1, 2]);
  });
});
