/** Parameters of system and noise by the innovations' likelihood: published estimates, made records, the likelihood itself. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, ode} from '../../../lib/index.js';
import {bounded, fixed, free, positive} from '../../../training/index.js';
import {identifyByInnovations} from '../../../training/estimate/innovations.js';
import {filter} from '../../../training/estimate/kalman.js';
import {unscented} from '../../../training/estimate/linearization.js';
import {gaussian} from '../../../training/data/noise.js';

/** Annual flow of the Nile at Aswan, 1871–1970, 1e8 m³ (Cobb, Biometrika 65, 1978). */
const nile = [
  1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140, 1100,
  1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456,
  824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897,
  822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975,
  815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
];

const still = ode(({y}) => tf.zerosLike(y));

/** A spring and a damper under random forces, by small steps of the Euler–Maruyama scheme. */
function shaken(seed: number, samples: number, [k, c, drive, noise]: readonly number[]): {t: number[]; q: number[]} {
  const [T, parts] = [0.1, 200];
  const random = gaussian(seed);
  const h = T / parts;
  let [q, v] = [0, 0];
  const t: number[] = [];
  const measured: number[] = [];
  for (let i = 0; i < samples; i++) {
    t.push(i * T);
    measured.push(q + noise * random());
    for (let j = 0; j < parts; j++) {
      v += h * (-k * q - c * v) + drive * Math.sqrt(h) * random();
      q += h * v;
    }
  }
  return {t, q: measured};
}

const oscillator = mechanics({
  mass: 1,
  forces: ({q, v, params}) => tf.neg(tf.add(tf.mul(params.k as tf.Tensor, q), tf.mul(params.c as tf.Tensor, v))),
});

const shakenProblem = {
  system: oscillator,
  initial: {q: 0, v: 0},
  initialCovariance: {q: 1e-8, v: 1e-8},
  parameters: {k: positive(3), c: positive(0.5), drive: positive(0.3), noise: positive(0.3)},
  processNoise: ({drive}: {drive: number}) => ({density: {v: drive ** 2}}),
  measurementNoise: ({noise}: {noise: number}) => noise ** 2,
  dt: 0.1,
};

describe('identifyByInnovations', () => {
  it("finds Durbin & Koopman's local level of the Nile", async () => {
    // Time Series Analysis by State Space Methods (2012), §2.10.3: variances 15099 and 1469.1, diffuse log-likelihood −632.54
    // of the measurements but the first. Its diffuse start is the first measurement with its own variance.
    const {estimate, logLikelihood, converged, filtered} = await identifyByInnovations({
      system: still,
      data: {t: nile.slice(1).map((_, i) => 1872 + i), y: nile.slice(1)},
      initial: {y: nile[0], t: 1871},
      initialCovariance: ({noise}) => noise,
      parameters: {noise: positive(1e4), drift: positive(1e4)},
      processNoise: ({drift}) => ({density: drift}),
      measurementNoise: ({noise}) => noise,
      dt: 1,
    });
    expect(converged).to.equal(true);
    // The fit ends a few 1e-4 of the standard errors, 3100 and 1300, from the maximum.
    expect(estimate.noise).to.be.closeTo(15099, 2);
    expect(estimate.drift).to.be.closeTo(1469.1, 1);
    expect(logLikelihood).to.be.closeTo(-632.54, 0.006);
    // The book's figure 2.1: the level at the end.
    expect(filtered[0].filtered.values('y')[98]).to.be.closeTo(798.37, 0.05);
  });

  it('finds stiffness, damping, process and measurement noise of a made record within errors', async () => {
    const truth = [4, 0.6, 0.5, 0.1];
    const names = ['k', 'c', 'drive', 'noise'] as const;
    const fit = await identifyByInnovations({...shakenProblem, data: shaken(1, 200, truth)});
    expect(fit.converged).to.equal(true);
    expect(fit.warnings).to.deep.equal([]);
    names.forEach((name, i) => {
      const error = fit.standardError[name];
      expect(error)
        .to.be.above(0)
        .and.below(0.5 * truth[i]);
      expect(Math.abs(fit.estimate[name] - truth[i]), `${name}: ${fit.estimate[name]} ± ${error}`).to.be.below(
        3 * error,
      );
    });
  });

  it('has standard errors that are those of estimates over many records', async () => {
    // Two parameters, 20 records: Σ z² is χ² of 40 degrees of freedom but for the estimates' curvature: 99.9 % in 17 … 74.
    const [k, c, drive, noise] = [4, 0.6, 0.5, 0.1];
    let square = 0;
    for (let seed = 100; seed < 120; seed++) {
      const {estimate, standardError} = await identifyByInnovations({
        ...shakenProblem,
        parameters: {...shakenProblem.parameters, k: fixed(k), c: fixed(c)},
        data: shaken(seed, 60, [k, c, drive, noise]),
      });
      // In logarithms, where the fit of positive parameters is nearest to normal.
      for (const [name, value] of Object.entries({drive, noise}) as ['drive' | 'noise', number][])
        square += (Math.log(estimate[name] / value) / (standardError[name] / estimate[name])) ** 2;
    }
    expect(square).to.be.above(17).and.below(74);
  });

  it('ends where the likelihood of the filter has no slope', async () => {
    const data = shaken(5, 50, [4, 0.6, 0.5, 0.1]);
    const method = unscented();
    const {estimate, logLikelihood, standardError} = await identifyByInnovations({...shakenProblem, data, method});
    const at = (change: object): number => {
      const {k, c, drive, noise} = {...estimate, ...change};
      const {parameters: _, ...problem} = shakenProblem;
      return filter({
        ...problem,
        data,
        method,
        params: {k, c},
        processNoise: {density: {v: drive ** 2}},
        measurementNoise: noise ** 2,
      }).logLikelihood;
    };
    expect(at({})).to.be.closeTo(logLikelihood, 1e-9);
    for (const name of ['k', 'c', 'drive', 'noise'] as const) {
      const h = 1e-3 * standardError[name];
      const slope = (at({[name]: estimate[name] + h}) - at({[name]: estimate[name] - h})) / (2 * h);
      expect(Math.abs(slope * standardError[name]), name).to.be.below(3e-3);
    }
  });

  it('takes the start as a parameter, several records, and gaps', async () => {
    const records = [2, 3].map(seed => shaken(seed, 80, [4, 0.6, 0.5, 0.1]));
    records[1].q.fill(NaN, 40, 60);
    const {estimate, standardError, filtered} = await identifyByInnovations({
      ...shakenProblem,
      initial: {v: 0},
      initialCovariance: 0,
      parameters: {...shakenProblem.parameters, c: bounded(0.1, 2, 1), 'initial.q': free(0.5)},
      data: records,
    });
    expect(filtered).to.have.length(2);
    expect(Math.abs(estimate['initial.q'])).to.be.below(4 * standardError['initial.q']);
    expect(Math.abs(estimate.k - 4)).to.be.below(3 * standardError.k);
  });

  it('weighs priors as further measurements: between the mean and what the record says, by their variances', async () => {
    const data = shaken(9, 60, [4, 0.6, 0.5, 0.1]);
    const parameters = {k: positive(4), c: fixed(0.6), drive: fixed(0.5), noise: fixed(0.1)};
    const alone = await identifyByInnovations({...shakenProblem, parameters, data});
    const relative = alone.standardError.k / alone.estimate.k;
    const prior = {mean: 4.2, sd: 4.2 * relative};
    const both = await identifyByInnovations({
      ...shakenProblem,
      parameters: {...parameters, k: positive(4, {prior})},
      data,
    });
    // Two lognormal measurements of about equal weight.
    expect(both.estimate.k).to.be.closeTo(Math.sqrt(alone.estimate.k * 4.2), 0.15 * alone.standardError.k);
    // Errors of a lognormal measurement are relative.
    const share = both.standardError.k / both.estimate.k;
    expect(share / relative).to.be.closeTo(Math.SQRT1_2, 0.05);
    expect(both.logLikelihood).to.be.below(alone.logLikelihood);
  });

  it('says what cannot be identified, and what is not white', async () => {
    const data = shaken(6, 60, [4, 0.6, 0.5, 0.1]);
    const {warnings, standardError} = await identifyByInnovations({
      ...shakenProblem,
      parameters: {...shakenProblem.parameters, noise: positive(0.07), more: positive(0.7)},
      // Of two variances that only their sum is seen of.
      measurementNoise: ({noise, more}: {noise: number; more: number}) => noise ** 2 + (0.1 * more) ** 2,
      data,
    });
    expect(warnings.join()).to.match(/noise and more cannot be told apart/);
    expect(standardError.noise).to.equal(Infinity);

    const coloured = {t: data.t, q: data.t.map(t => Math.sin(t) + 0.01 * Math.sin(50 * t))};
    const found = await identifyByInnovations({
      ...shakenProblem,
      parameters: {k: fixed(0), c: fixed(0), drive: fixed(1e-3), noise: positive(0.1)},
      data: coloured,
    });
    expect(found.warnings.join()).to.match(/not white/);
  });

  it('refuses a problem without parameters, and names a guess that cannot be filtered', async () => {
    const data = shaken(6, 20, [4, 0.6, 0.5, 0.1]);
    const failure = async (change: object): Promise<string> =>
      identifyByInnovations({...shakenProblem, data, ...change} as never).then(
        () => 'none',
        (error: Error) => error.message,
      );
    expect(await failure({parameters: {k: fixed(1), c: fixed(1), drive: fixed(1), noise: fixed(1)}})).to.match(
      /every parameter is fixed/,
    );
    expect(await failure({measurementNoise: () => -1})).to.match(/measurementNoise is not a covariance/);
    expect(await failure({parametres: {}})).to.match(/Did you mean 'parameters'/);
  });
});
