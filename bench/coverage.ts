/**
 * How often 95 % intervals hold the truth: standard errors, profile and posterior of many made records of three systems,
 * with white and with correlated noise.
 *
 *   npx tsx bench/coverage.ts [--records 400] [--system decay|oscillator|logistic] [--noise white|ar] [--samples 100] [--quick]
 */
import {parseArgs} from 'node:util';
import * as tf from '@tensorflow/tfjs';
import {mechanics, ode, rk4, simulate, type Initial, type System} from '../lib/index.js';
import {identify, likelihoodProfile, positive, posterior} from '../training/index.js';
import {autoregressive, white} from '../training/identify/noise.js';
import {gaussian} from '../training/data/noise.js';

interface Case {
  readonly system: System;
  readonly initial: Initial;
  readonly series: 'q' | 'y';
  readonly truth: {readonly [name: string]: number};
  /** The parameter whose intervals are counted. */
  readonly name: string;
  readonly dt: number;
  readonly samples: number;
  readonly sd: number;
}

export const cases: {readonly [name: string]: Case} = {
  decay: {
    system: ode(({y, params}) => tf.mul(tf.neg(params.rate as tf.Tensor), y)),
    initial: {y: 1},
    series: 'y',
    truth: {rate: 0.8},
    name: 'rate',
    dt: 0.05,
    samples: 100,
    sd: 0.05,
  },
  oscillator: {
    system: mechanics({
      mass: 1,
      forces: ({q, v, params}) => tf.neg(tf.add(tf.mul(params.k as tf.Tensor, q), tf.mul(params.c as tf.Tensor, v))),
    }),
    initial: {q: 1, v: 0},
    series: 'q',
    truth: {k: 4, c: 0.3},
    name: 'c',
    dt: 0.1,
    samples: 100,
    sd: 0.05,
  },
  logistic: {
    system: ode(({y, params}) =>
      tf.mul(params.growth as tf.Tensor, tf.mul(y, tf.sub(1, tf.div(y, params.capacity as tf.Tensor)))),
    ),
    initial: {y: 0.1},
    series: 'y',
    truth: {growth: 1, capacity: 2},
    name: 'growth',
    dt: 0.1,
    samples: 100,
    sd: 0.08,
  },
};

/** Memory of the correlated noise: neighbours have this correlation. */
const PHI = 0.6;

export interface Coverage {
  readonly records: number;
  /** Parts of the records whose interval holds the truth. */
  readonly standardError: number;
  readonly profile: number;
  readonly posterior: number;
}

/**
 * @param kind white noise, or a first-order autoregression of the same deviation
 * @param options.asWhite whether to identify as if it were white: what happens then
 * @param options.quick standard errors alone; the others are NaN
 */
export async function coverage(
  {system, initial, series, truth, name, dt, samples, sd}: Case,
  kind: 'white' | 'ar',
  records: number,
  {asWhite = false, quick = false}: {readonly asWhite?: boolean; readonly quick?: boolean} = {},
): Promise<Coverage> {
  const run = simulate(system, initial as {y: number}, {scheme: rk4(), dt, steps: samples - 1, params: truth});
  const [t, exact] = [run.values('t'), run.values(series)];
  run.dispose();
  const held = {standardError: 0, profile: 0, posterior: 0};
  const within = (low: number, high: number): number => (low <= truth[name] && truth[name] <= high ? 1 : 0);
  for (let record = 0; record < records; record++) {
    const draw = gaussian(1000 + record);
    let error = draw();
    const noise = exact.map(() => {
      error = kind === 'white' ? draw() : PHI * error + Math.sqrt(1 - PHI * PHI) * draw();
      return sd * error;
    });
    const problem = {
      system,
      initial,
      data: {t, [series]: exact.map((value, i) => value + noise[i])},
      parameters: Object.fromEntries(Object.entries(truth).map(([key, value]) => [key, positive(value)])),
      scheme: rk4(),
      dt,
      residuals: 'independent' as const,
      noise: kind === 'white' || asWhite ? white() : autoregressive(),
    };
    const fit = await identify(problem);
    const estimate = fit.estimate[name] as number;
    const reach = 1.959963984540054 * (fit.standardError[name] as number);
    held.standardError += within(estimate - reach, estimate + reach);
    for (const trajectory of fit.trajectories) trajectory.dispose();
    if (quick) continue;
    held.profile += within(...(await likelihoodProfile(fit, name, {points: 3})).interval);
    const drawn = await posterior(fit, {chains: 1, draws: 300, warmUp: 50, seed: record + 1});
    held.posterior += within(...drawn.interval[name]);
  }
  return {
    records,
    standardError: held.standardError / records,
    profile: quick ? NaN : held.profile / records,
    posterior: quick ? NaN : held.posterior / records,
  };
}

/** Not awaited at the top: what imports this file may be a CommonJS loader. */
async function main(): Promise<void> {
  const {values} = parseArgs({
    options: {
      records: {type: 'string', default: '400'},
      system: {type: 'string'},
      noise: {type: 'string'},
      samples: {type: 'string', default: '100'},
      quick: {type: 'boolean'},
    },
  });
  const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
  console.log('| system | noise | standard error | profile | posterior |\n| --- | --- | --- | --- | --- |');
  for (const [name, one] of Object.entries(cases)) {
    if (values.system !== undefined && values.system !== name) continue;
    for (const kind of ['white', 'ar'] as const) {
      if (values.noise !== undefined && values.noise !== kind) continue;
      const samples = Number(values.samples);
      const dense = {...one, samples, dt: (one.dt * one.samples) / samples}; // over the same time
      const found = await coverage(dense, kind, Number(values.records), {quick: values.quick});
      console.log(
        `| ${name} | ${kind} | ${percent(found.standardError)} | ${percent(found.profile)} | ${percent(found.posterior)} |`,
      );
    }
  }
}

if (process.argv[1]?.endsWith('coverage.ts')) void main();
