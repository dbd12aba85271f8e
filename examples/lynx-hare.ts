/**
 * Lynx and hare: pelts of the Hudson's Bay Company, 1900–1920 (Hewitt 1921). Lotka and Volterra's four rates with
 * their errors, by least squares on logarithms, for a catch is off by a factor; then a network that knows nothing
 * of predators, trained on the same years (a neural ODE: Chen et al., NeurIPS 2018).
 *
 *     npx tsx examples/lynx-hare.ts [hudson-bay-lynx-hare.csv]      columns Year, Lynx, Hare, in thousands of pelts
 */
import * as tf from '@tensorflow/tfjs';
import {ode, simulate, tsit5} from '../lib/index.js';
import {mlp} from '../models/index.js';
import {gaussian} from '../training/data/noise.js';
import {
  identify,
  positive,
  readTable,
  reports,
  schedules,
  segments,
  train,
  type Chart,
  type Identification,
  type Series,
  type TrainingResult,
} from '../training/index.js';
import {printTable, rms, script, shown, type ScriptArguments} from './script.js';

/** Two steps a year leave an error of 4e-5 in the logarithms after twenty (rk4 with four steps: 1.5e-4). */
const dt = 0.5;

/** By least squares on the same years (Howard, Modeling Basics, 2009; quoted by Carpenter, Stan case studies, 2018). */
export const published = {growth: 0.55, predation: 0.028, decline: 0.84, reproduction: 0.026};
const meanings = {
  growth: 'hares, a year',
  predation: 'hares, a thousand lynx and year',
  decline: 'lynx, a year',
  reproduction: 'lynx, a thousand hares and year',
};

export interface Populations {
  readonly year: Float64Array;
  /** Thousands of pelts. */
  readonly hare: Float64Array;
  readonly lynx: Float64Array;
}

/** In logarithms (h, l): h′ = growth − predation eˡ, l′ = reproduction eʰ − decline. */
const lotkaVolterra = ode(({y, params}) => {
  const {growth, predation, decline, reproduction} = params as {[name: string]: tf.Tensor};
  const [hare, lynx] = [tf.exp(tf.gather(y, 0)), tf.exp(tf.gather(y, 1))];
  return tf.stack([tf.sub(growth, tf.mul(predation, lynx)), tf.sub(tf.mul(reproduction, hare), decline)]);
});

export async function measured(path: string): Promise<Populations> {
  const table = await readTable(path);
  return {year: table.column('Year'), hare: table.column('Hare'), lynx: table.column('Lynx')};
}

/** Populations with the published rates, each caught with an error of a quarter. */
export function made(): Populations {
  const path = simulate(
    lotkaVolterra,
    {y: [Math.log(34), Math.log(5.9)]},
    {scheme: tsit5(), dt, t1: 20, saveAt: {every: 2}, params: published},
  );
  const noise = gaussian(1900);
  const caught = path.values('y').map(value => Math.exp(value + 0.25 * noise()));
  path.dispose();
  const of = (k: number): Float64Array => caught.filter((_, i) => i % 2 === k);
  return {year: Float64Array.from({length: 21}, (_, i) => 1900 + i), hare: of(0), lynx: of(1)};
}

const logarithms = ({hare, lynx}: Populations): number[][] =>
  Array.from(hare, (value, i) => [Math.log(value), Math.log(lynx[i])]);

export function identifyRates(
  populations: Populations,
  onProgress?: Parameters<typeof identify>[0]['onProgress'],
): Promise<Identification> {
  const y = logarithms(populations);
  return identify({
    system: lotkaVolterra,
    scheme: tsit5(),
    dt,
    data: {t: populations.year.map(year => year - populations.year[0]), y},
    parameters: {
      growth: positive(0.4),
      predation: positive(0.02),
      decline: positive(1),
      reproduction: positive(0.02),
      'initial.y': {...positive(y[0])},
    },
    residuals: 'independent',
    onProgress,
  });
}

export interface NeuralOde {
  readonly training: TrainingResult;
  /** Logarithms of hare and lynx in every year, from the first. */
  readonly path: Float64Array;
}

/** y′ = a network of y, trained on stretches of `years` years, each from its own first year. */
export async function trainNeuralOde(
  populations: Populations,
  epochs: number,
  onProgress?: Parameters<typeof train>[0]['onProgress'],
): Promise<NeuralOde> {
  const network = mlp({sizes: [2, 16, 2], seed: 3});
  const y = logarithms(populations);
  const years = 5;
  // Logarithms of populations of a few to a few dozen thousands, brought to order 1.
  const system = ode(({y: state}) => tf.reshape(network.apply(tf.reshape(tf.sub(state, 3), [1, 2])), [2]));
  const pieces = segments({t: populations.year, y}, {length: years + 1, stride: 1});
  const model = simulate.prepare(system, {y: y[0]}, {scheme: tsit5(), dt, t1: years, saveAt: {every: 2}});
  const training = await train({
    loss: batch =>
      tf.tidy(() =>
        tf.div(
          tf.addN(
            batch.map(({first, values}) =>
              tf.mean(
                tf.squaredDifference(
                  model.run({initial: {y: first.y}}).y,
                  tf.tensor2d(Float32Array.from(values.y), [years + 1, 2]),
                ),
              ),
            ),
          ),
          batch.length,
        ),
      ),
    variables: network.variables,
    optimizer: tf.train.adam(0.02),
    schedule: schedules.exponential({rate: 0.02, factor: 0.3, every: 300}),
    clip: {norm: 1},
    data: pieces,
    batchSize: 4,
    epochs,
    onProgress,
  });
  const run = simulate(system, {y: y[0]}, {scheme: tsit5(), dt, t1: populations.year.length - 1, saveAt: {every: 2}});
  const path = run.values('y');
  run.dispose();
  network.dispose();
  return {training, path};
}

/** Measured pelts and both models' over the years. */
export function figure({year, hare, lynx}: Populations, fitted: Float64Array, neural: Float64Array): Chart[] {
  const of = (path: Float64Array, k: number): Float64Array => path.filter((_, i) => i % 2 === k).map(Math.exp);
  const lines = (name: string, values: Float64Array, k: number): Series[] => [
    {name: `${name}, pelts`, x: year, y: values, style: 'points', color: 1},
    {name: 'Lotka and Volterra', x: year, y: of(fitted, k), color: 0},
    {name: 'neural ODE', x: year, y: of(neural, k), style: 'dashed', color: 2},
  ];
  return [
    ['Hare', hare, 0],
    ['Lynx', lynx, 1],
  ].map(([name, values, k]) => ({
    title: name as string,
    x: {label: 'year', integer: true},
    y: {label: 'thousands of pelts'},
    series: lines(name as string, values as Float64Array, k as number),
  }));
}

export async function main({path, report, short}: ScriptArguments): Promise<void> {
  const populations = path === undefined ? made() : await measured(path);
  console.log(
    `${populations.year.length} years of lynx and hare, `
      + `${path === undefined ? 'simulated here with noise' : 'measured'}.\n`,
  );
  const fit = await shown('Identifying', show => identifyRates(populations, show.fit));
  const names = Object.keys(published) as (keyof typeof published)[];
  const number = (of: Identification['estimate'], name: string): number => of[name] as number;
  printTable([
    ['rate', 'estimate', 'std. error', 'published'],
    ...names.map(name => [
      `${name} (${meanings[name]})`,
      reports.measuredText(number(fit.estimate, name), number(fit.standardError, name)),
      number(fit.standardError, name).toPrecision(2),
      String(published[name]),
    ]),
  ]);
  const neural = await shown('Training', show => trainNeuralOde(populations, short ? 3 : 200, show.train));
  const fitted = fit.trajectory.values('y');
  const logs = Float64Array.from(logarithms(populations).flat());
  console.log(
    `Root mean square error of the logarithms over all years: Lotka and Volterra ${rms(fitted, logs).toFixed(3)}, `
      + `neural ODE ${rms(neural.path, logs).toFixed(3)}.`,
  );
  await fit.report(report, {
    title: 'Lynx and hare',
    description:
      "Lotka and Volterra's rates by least squares on the logarithms of the pelts, compared with a neural ODE.",
    referenceName: 'published',
    parameters: Object.fromEntries(
      names.map(name => [name, {description: meanings[name], reference: published[name]}]),
    ),
    fits: {
      'y[0]': {name: 'logarithm of hares', timeUnit: 'years'},
      'y[1]': {name: 'logarithm of lynx', timeUnit: 'years'},
    },
    charts: figure(populations, fitted, neural.path),
  });
  console.log(`Report: ${report}`);
}

script(import.meta.url, 'lynx-hare', "Lotka and Volterra's rates from lynx and hare, and a neural ODE.", main);
