/** Validation of a fit on records of its own: free runs after a warm-up, predictions, their statistics, and the report's section. */
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, ode, OptionError, rk4, signal, simulate} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {crossValidate} from '../../../training/estimate/cross-validation.js';
import {identify} from '../../../training/identify/identify.js';
import {fixed, free, positive} from '../../../training/identify/parameters.js';
import {slow} from '../../tiers.js';

const dt = 0.05;
const truth = {k: 9, c: 0.4};
const oscillator = mechanics<{k: tf.Tensor; c: tf.Tensor; u: tf.Tensor}>({
  mass: 1,
  forces: ({q, v, params: {k, c, u}}) => tf.sub(u, tf.add(tf.mul(k, q), tf.mul(c, v))),
});
const clock = Float64Array.from({length: 401}, (_, i) => i * dt);
const push = (phase: number): Float64Array =>
  clock.map(t => 3 * Math.sin(1.7 * t + phase) + 2 * Math.sin(4.1 * t + 2 * phase));

function record(
  phase: number,
  start: {q: number; v: number},
  deviation: number,
): {t: Float64Array; q: Float64Array; inputs: {u: ReturnType<typeof signal>}} {
  const inputs = {u: signal(clock, push(phase), 'cubic')};
  const trajectory = simulate(oscillator, start, {scheme: rk4(), dt, steps: 400, params: truth, inputs});
  const noise = gaussian(1 + Math.round(10 * phase));
  const q = trajectory.values('q').map(value => value + deviation * noise());
  trajectory.dispose();
  return {t: clock, q, inputs};
}

const fitted = (deviation: number): ReturnType<typeof identify> => {
  const data = record(0, {q: 0, v: 0}, deviation);
  return identify({
    system: oscillator,
    scheme: rk4(),
    dt,
    initial: {q: 0, v: 0},
    data,
    parameters: {k: positive(8), c: positive(0.3)},
    residuals: 'independent',
  }) as ReturnType<typeof identify>;
};

describe('validation', () => {
  slow('finds a start from the first samples and judges the rest: what remains is the noise', async () => {
    const fit = await fitted(0.01);
    const other = record(1, {q: 0.7, v: -1}, 0.01);
    const [judged] = await fit.validate(other, {warmUp: 60});
    expect(judged.name).to.equal('record 1');
    expect(judged.samples).to.equal(341);
    // 341 samples tell a standard deviation to 4 %; three of these.
    expect(judged.rmse).to.be.closeTo(0.01, 0.0012);
    expect(judged.found['initial.q'][0]).to.be.closeTo(0.7, 0.02);
    expect(judged.found['initial.v'][0]).to.be.closeTo(-1, 0.05);
    // Forty lags of noise: six beyond their band at most, 199 times in 200.
    expect(judged.outputs.q.correlated).to.be.at.most(0.15);
    expect(judged.outputs.q.standardDeviation).to.be.closeTo(judged.rmse, 1e-4);
    const spread = Math.sqrt(
      other.q.slice(60).reduce((sum, q, _, all) => sum + (q - all.reduce((a, b) => a + b, 0) / all.length) ** 2, 0)
        / 341,
    );
    expect(judged.nrmse).to.be.closeTo(judged.rmse / spread, 1e-12);
    expect(judged.r2).to.be.closeTo(1 - judged.nrmse ** 2, 1e-12);
    // Without a warm-up the start is the problem's, at rest, which is wrong here.
    const [cold] = await fit.validate(other);
    expect(cold.samples).to.equal(401);
    expect(cold.rmse).to.be.above(0.1);
    expect(cold.outputs.q.correlated).to.be.above(0.5);
    // And right where the record gives it.
    const [told] = await fit.validate({...other, initial: {q: 0.7, v: -1}, name: 'told'});
    expect(told.name).to.equal('told');
    expect(told.rmse).to.be.closeTo(0.01, 0.0012);
  });

  it('simulates a record that has only times and inputs', async () => {
    const fit = await fitted(0);
    const {t, q, inputs} = record(2, {q: -0.3, v: 0.5}, 0);
    const trajectory = fit.simulate({t, inputs, initial: {q: -0.3, v: 0.5}});
    trajectory.values('q').forEach((value, i) => expect(value).to.be.closeTo(q[i], 1e-6));
    trajectory.dispose();
  });

  slow('predicts k samples ahead, from the states before', async () => {
    const fit = await fitted(0);
    const exact = record(1, {q: 0.7, v: -1}, 0);
    // A force that the model does not know: one sample ahead it does little harm, ten ahead more.
    const unknown = {...exact, q: exact.q.map((q, i) => q + 0.05 * Math.sin(0.3 * i * dt))};
    const [[one], [ten]] = [
      await fit.validate(unknown, {warmUp: 8, horizon: 1, every: 10}),
      await fit.validate(unknown, {warmUp: 8, horizon: 10, every: 10}),
    ];
    expect(one.samples).to.equal(40);
    expect(one.rmse).to.be.below(ten.rmse / 3);
    const [perfect] = await fit.validate(exact, {warmUp: 8, horizon: 10, every: 50});
    expect(perfect.rmse).to.be.below(1e-6);
    // Where the whole state is measured, one sample tells it: y′ = −ay, ten steps of 0.1 ahead.
    const t = Float64Array.from({length: 31}, (_, i) => 0.1 * i);
    const y = t.map(time => 2 * Math.exp(-0.8 * time));
    const decay = await identify({
      system: ode<{a: tf.Tensor}>(({y: state, params: {a}}) => tf.neg(tf.mul(a, state))),
      scheme: rk4(),
      dt: 0.1,
      initial: {y: 2},
      data: {t, y},
      parameters: {a: positive(1)},
    });
    const [ahead] = await decay.validate(
      {t, y: y.map((value, i) => value * (1 + 0.01 * (i % 2)))},
      {warmUp: 1, horizon: 10},
    );
    expect(ahead.samples).to.equal(21);
    // From even samples to even ones: both right, or both one percent too large.
    expect(ahead.rmse).to.be.below(1e-5);
  });

  slow(
    'by one sample starts there, also where the record has a start of its own, and never at a missing one',
    async () => {
      const t = Float64Array.from({length: 31}, (_, i) => 0.1 * i);
      const decaying = (from: number): Float64Array => t.map(time => from * Math.exp(-0.8 * time));
      const problem = {
        ...{scheme: rk4(), dt: 0.1, initial: {y: 2}, data: {t, y: decaying(2)}, parameters: {a: positive(1)}},
        system: ode<{a: tf.Tensor}>(({y: state, params: {a}}) => tf.neg(tf.mul(a, state))),
      };
      const fit = await identify(problem);
      const other = decaying(5);
      const holey = other.map((value, i) => (i % 10 === 4 ? NaN : value));
      for (const own of [{}, {parameters: {'initial.y': positive(1)}}])
        for (const options of [{warmUp: 1}, {horizon: 1}, {warmUp: 1, horizon: 3}]) {
          const [whole] = await fit.validate({t, y: other, ...own}, options);
          expect(whole.rmse, JSON.stringify([own, options])).to.be.below(1e-5);
          const [some] = await fit.validate({t, y: holey, missing: 'skip', ...own}, options);
          expect(some.rmse, JSON.stringify([own, options, 'missing'])).to.be.below(1e-5);
          if ('horizon' in options)
            expect(some.warnings.join()).to.match(/^3 of \d+ predictions of record 1 were left out/);
        }
      const refused = async (work: Promise<unknown>): Promise<string> =>
        work.then(
          () => 'nothing was thrown',
          (error: unknown) => (error as Error).message,
        );
      const late = {t, y: other.map((value, i) => (i === 0 ? NaN : value)), missing: 'skip'} as const;
      expect(await refused(fit.validate(late, {warmUp: 1}))).to.match(/the first sample of record 1 is missing/);
      // The sample is the start, in place of what the record gives.
      for (const options of [{warmUp: 1}, {horizon: 1}])
        expect((await fit.validate({t, y: other, initial: {y: 9}}, options))[0].rmse).to.be.below(1e-5);
      const none = {t, y: other.map((value, i) => (i < 30 ? NaN : value)), missing: 'skip'} as const;
      expect(await refused(fit.validate(none, {horizon: 1}))).to.match(/no sample of record 1 .* was measured whole/);
      expect(await refused(fit.validate({t, y: other, parameters: {a: positive(1)}}, {warmUp: 1}))).to.match(
        /a is record 1's own, and one sample does not determine it: give a longer warmUp/,
      );
    },
  );

  slow(
    'estimates own parameters of a record, with a warm-up from its first samples, without one from all',
    async () => {
      const t = Array.from({length: 25}, (_, i) => 0.4 * i);
      const noise = gaussian(5);
      // y′ = slope + load·t: each record has its own start and its own load.
      const records = [
        [3, 0.2],
        [-4, 0.6],
        [9, -0.3],
      ].map(([start, load], i) => ({
        t,
        y: t.map(time => start + 0.7 * time + (load * time ** 2) / 2 + 0.02 * noise()),
        name: `run ${i}`,
        parameters: {'initial.y': free(0), load: free(0)},
      }));
      const problem = {
        system: ode<{slope: tf.Tensor; load: tf.Tensor}>(({y, t: time, params}) =>
          tf.add(tf.mul(0, y), tf.add(params.slope, tf.mul(params.load, time))),
        ),
        ...{scheme: rk4(), dt: 0.2, initial: {y: 0}, residuals: 'independent' as const},
        parameters: {slope: free(0), load: fixed(0)},
      };
      const fit = await identify({...problem, data: records.slice(0, 2)});
      const [judged] = await fit.validate(records[2]);
      expect(judged.samples).to.equal(25);
      // 25 residuals without two degrees of freedom know 0.02 to 15 %; two of these.
      expect(judged.rmse).to.be.closeTo(0.02, 0.006);
      expect(judged.found['initial.y'][0]).to.be.closeTo(9, 0.04);
      expect(judged.found.load[0]).to.be.closeTo(-0.3, 0.02);
      expect(judged.warnings.join()).to.match(
        /^run 2: initial\.y, run 2: load: estimated from the samples that are compared/,
      );
      const [ahead] = await fit.validate(records[2], {warmUp: 15});
      expect(ahead.samples).to.equal(10);
      expect(ahead.rmse).to.be.below(0.08);
      expect(ahead.warnings).to.deep.equal([]);
      // Two measurements are one too few for a start, and the load, and noise; one is too few for both.
      const holey = {...records[2], y: records[2].y.map((y, i) => (i === 1 ? NaN : y)), missing: 'skip' as const};
      expect((await fit.validate(holey, {warmUp: 2}))[0].warnings.join()).to.match(
        /not determined by the first 2 samples/,
      );
      expect(() => fit.simulate(records[0])).to.throw(OptionError, /initial\.y is an unknown of run 0.*fixed/);
      const known = {'initial.y': fixed(fit.estimate['run 0: initial.y']), load: fixed(fit.estimate['run 0: load'])};
      const trajectory = fit.simulate({...records[0], parameters: known});
      expect(trajectory.values('y')[24]).to.be.closeTo(records[0].y[24], 0.1);
      trajectory.dispose();
      const whole = await identify({...problem, data: records});
      const crossed = await crossValidate(whole);
      expect(crossed.rmse).to.be.closeTo(0.02, 0.004);
      // Run 1 goes beyond the others: from −4 to 30, which have 3 to 19 and 2 to 10.
      const beyond = /^run 1 goes beyond the training records: y /;
      expect(crossed.warnings.filter(warning => !beyond.test(warning))).to.have.length(3);
      expect(crossed.folds[1].warnings[0]).to.match(/^run 1: initial\.y/);
      expect(crossed.folds[1].warnings[1]).to.match(beyond);
      const warmed = await crossValidate(whole, {warmUp: 15});
      expect(warmed.warnings.filter(warning => !beyond.test(warning))).to.deep.equal([]);
      expect(warmed.rmse).to.be.below(0.08);
    },
  );

  it('adds its sections to the report', async () => {
    const place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-validation-'));
    try {
      const fit = await fitted(0.01);
      const validations = await fit.validate([{...record(1, {q: 0.7, v: -1}, 0.01), name: 'run 2'}], {warmUp: 60});
      await fit.report(path.join(place, 'fit.html'), {validations, fits: {'validation, run 2: q': {unit: 'm'}}});
      const page = await readFile(path.join(place, 'fit.html'), 'utf8');
      expect(page)
        .to.include('Fit: validation, run 2: q')
        .and.include('Validation, run 2: RMSE')
        .and.include('as uncorrelated in time as white noise');
    } finally {
      await rm(place, {recursive: true});
    }
  });

  it('shows validations with the names and units of the fitted series, vectors with those of each number', async () => {
    const t = Float64Array.from({length: 31}, (_, i) => 0.1 * i);
    const rows = Array.from(t, time => [2 * Math.exp(-0.8 * time), Math.exp(-0.3 * time)]);
    const fit = await identify({
      system: ode<{rates: tf.Tensor}>(({y: state, params: {rates}}) => tf.neg(tf.mul(rates, state))),
      scheme: rk4(),
      dt: 0.1,
      initial: {y: [2, 1]},
      data: {t, y: rows},
      parameters: {rates: positive([1, 1])},
    });
    const validations = await fit.validate({t, y: rows});
    const page = fit.html({
      validations,
      parameters: {rates: {unit: '1/h'}},
      fits: {y: {name: 'level', unit: 'mm', timeUnit: 'h'}, 'y[1]': {name: 'second tank', unit: 'cm', timeUnit: 'h'}},
    });
    for (const heading of [
      'level[0]',
      'second tank',
      'validation, record 1: level[0]',
      'validation, record 1: second tank',
    ])
      expect(page).to.include(`<h2>Fit: ${heading}</h2>`);
    expect(page)
      .to.include('validation, record 1: level[0] (mm)')
      .and.include('validation, record 1: second tank (cm)');
    expect(page.match(/<span class="unit">1\/h<\/span>/g)).to.have.length(2);
    expect(page).to.match(/time step<\/dt><dd>0\.1 ?<span class="unit">h</);
    expect(fit.html()).to.match(/time step<\/dt><dd>0\.1 ?<span class="unit">s</);
    expect(() => fit.html({fits: {position: {unit: 'm'}}})).to.throw(
      OptionError,
      "The report has no series 'position'; it has y[0], y[1]",
    );
  });

  it('says what cannot be', async () => {
    const fit = await fitted(0);
    const other = record(1, {q: 0, v: 0}, 0);
    const refused = async (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'nothing was thrown',
        (error: unknown) => (error instanceof OptionError ? error.message : String(error)),
      );
    expect(await refused(fit.validate(other, {warmUp: 401}))).to.match(/401 samples; a warm-up of 401/);
    expect(await refused(fit.validate(other, {warmUp: 1}))).to.match(/v of record 1 is not measured/);
    expect(await refused(fit.validate(other, {warmup: 3} as never))).to.match(/Did you mean 'warmUp'/);
    expect(await refused(fit.validate({t: clock} as never))).to.match(/nothing to compare with/);
  });
});
