/** Bootstrap and cross-validation of a straight line, where both have closed forms, and of correlated noise. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {OptionError, ode, rk4} from '../../../lib/index.js';
import {
  bootstrap,
  crossValidate,
  free,
  identify,
  type BootstrapOptions,
  type Identification,
  type IdentificationProblem,
} from '../../../training/index.js';
import {autoregressive} from '../../../training/identify/noise.js';
import {gaussian} from '../../../training/data/noise.js';
import {slow} from '../../tiers.js';

/** y = a + b t, from a state that is the time. */
const line: Pick<IdentificationProblem, 'system' | 'initial' | 'observe' | 'parameters' | 'scheme' | 'dt'> = {
  system: ode(() => tf.scalar(1)),
  initial: {y: 0},
  observe: ({y, params}) => tf.add(params.a as tf.Tensor, tf.mul(params.b as tf.Tensor, y)),
  parameters: {a: free(0), b: free(0)},
  scheme: rk4(),
  dt: 0.1,
};
const n = 30;
const t = Float64Array.from({length: n}, (_, i) => i / 10);
const mean = t.reduce((sum, x) => sum + x, 0) / n;
const spread = t.reduce((sum, x) => sum + (x - mean) ** 2, 0);

async function fitted(problem: IdentificationProblem): Promise<Identification> {
  const fit = await identify(problem);
  for (const trajectory of fit.trajectories) trajectory.dispose();
  return fit;
}

describe('bootstrap', function () {
  this.timeout(60_000);
  const draw = gaussian(3);
  const problem: IdentificationProblem = {
    ...line,
    data: {t, y: t.map(x => 1 + 2 * x + 0.1 * draw())},
    residuals: 'independent',
  };

  for (const errors of ['model', 'residuals'] as const) {
    slow(`of a line, by its ${errors}: deviations of the closed form, no bias, and coverage as claimed`, async () => {
      const fit = await fitted(problem);
      const replicates = 200;
      const before = tf.memory().numTensors;
      const found = await bootstrap(fit, {replicates, errors});
      expect(tf.memory().numTensors).to.equal(before);
      const sd = Math.sqrt(fit.uncertainty.variance);
      const exact = {a: sd * Math.sqrt(1 / n + mean ** 2 / spread), b: sd / Math.sqrt(spread)};
      for (const name of ['a', 'b'] as const) {
        // A deviation from 200 draws is off by 1/√400 of itself: four times that.
        expect(found.sd[name] / exact[name]).to.be.closeTo(1, 0.2);
        expect(Math.abs(found.bias[name])).to.be.below((4 * exact[name]) / Math.sqrt(replicates));
        const [low, high] = found.interval[name];
        expect((high - low) / (2 * 1.96 * exact[name])).to.be.closeTo(1, 0.25);
        // Of 1.96 errors with 28 degrees of freedom 94 %, binomial: four deviations of 1.7 %.
        expect(found.coverage[name]).to.be.within(0.87, 1);
        expect(found.draws[name]).to.have.length(replicates);
      }
      expect([found.replicates, found.failed]).to.deep.equal([replicates, 0]);
      const again = await bootstrap(fit, {replicates: 3, errors});
      expect(again.draws.a).to.deep.equal(found.draws.a.slice(0, 3));
    });
  }

  slow('of correlated errors is as wide as they make it with their model and in blocks, not by residuals', async () => {
    const phi = 0.8;
    const [own, samples] = [gaussian(11), 300];
    let error = 0;
    const times = Float64Array.from({length: samples}, (_, i) => i / 10);
    const y = times.map(x => {
      error = phi * error + 0.1 * own();
      return 1 + 2 * x + error;
    });
    const correlated: IdentificationProblem = {...line, data: {t: times, y}, noise: autoregressive()};
    const fit = await fitted(correlated);
    const sdOf = async (options: BootstrapOptions): Promise<number> =>
      (await bootstrap(fit, {replicates: 60, ...options})).sd.b;
    const byModel = await sdOf({});
    // The fit's own errors are those of the same model; 60 draws are off by a tenth.
    expect(byModel / (fit.standardError.b as number)).to.be.closeTo(1, 0.4);
    const inBlocks = await sdOf({errors: 'residuals', block: 20});
    const single = await sdOf({errors: 'residuals', block: 1});
    // Of independent errors it would be √((1 − φ)/(1 + φ)) = 1/3 as wide.
    expect(single / byModel).to.be.below(0.6);
    expect(inBlocks / byModel).to.be.above(0.6);
  });

  it('refuses what it does not know', async () => {
    const fit = await fitted(problem);
    for (const options of [{replicates: 0}, {errors: 'wild'}, {blocks: 3}]) {
      const refusal = await bootstrap(fit, options as never).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(refusal).to.be.instanceOf(OptionError);
    }
  });
});

describe('cross-validation', function () {
  this.timeout(60_000);

  slow('of a line, each sample left out once: the residuals of the fit over 1 − their leverage', async () => {
    const draw = gaussian(5);
    const y = t.map(x => 1 + 2 * x + 0.1 * draw());
    const problem: IdentificationProblem = {...line, data: {t, y}, residuals: 'independent'};
    const fit = await fitted(problem);
    const {a, b} = fit.estimate as {a: number; b: number};
    // Allen's PRESS (Technometrics 16, 1974).
    const press = Array.from(t, (x, i) => (y[i] - a - b * x) / (1 - 1 / n - (x - mean) ** 2 / spread));
    const before = tf.memory().numTensors;
    const found = await crossValidate(fit, {folds: n});
    expect(tf.memory().numTensors).to.equal(before);
    expect(found.folds).to.have.length(n);
    found.folds.forEach(({rmse}, i) => expect(rmse).to.be.closeTo(Math.abs(press[i]), 1e-9));
    expect(found.rmse).to.be.closeTo(Math.sqrt(press.reduce((sum, e) => sum + e * e, 0) / n), 1e-9);
    expect(found.warnings).to.deep.equal([]);
  });

  it('of records: each is judged by the fit of the others', async () => {
    const levels = [1, 2, 6];
    const problem: IdentificationProblem = {
      ...line,
      parameters: {a: free(0), b: free(0)},
      data: levels.map(level => ({t, y: t.map(x => level + x)})),
    };
    const fit = await fitted(problem);
    const found = await crossValidate(fit);
    // The others' mean level, and the slope that all have.
    found.folds.forEach(({rmse, estimate, leftOut}, i) => {
      const others = levels.filter((_, k) => k !== i).reduce((sum, level) => sum + level, 0) / 2;
      expect(estimate.a).to.be.closeTo(others, 1e-6);
      expect(rmse).to.be.closeTo(Math.abs(levels[i] - others), 1e-6);
      expect(leftOut).to.equal(`record ${i + 1}`);
    });
    const refusal = await crossValidate(fit, {folds: 4}).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    expect(refusal?.message).to.include('must be from 2 to 3, the number of records');
  });
});
