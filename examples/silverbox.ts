/**
 * The Silverbox (Wigren & Schoukens, nonlinearbenchmark.org): an electronic circuit that behaves like a mass on a
 * hardening spring. Four parameters of Duffing's equation from its input and output voltage, then the same with a
 * network beside the physics for what that misses.
 *
 *     npx tsx examples/silverbox.ts [SNLS80mV.csv]      columns V1 and V2; without it a record is made here
 */
import * as tf from '@tensorflow/tfjs';
import type {ForceTerm, MechanicalSystem, Params} from '../lib/index.js';
import {mechanics, rk4, signal, simulate} from '../lib/index.js';
import {mlp, neuralForce} from '../models/index.js';
import {gaussian} from '../training/data/noise.js';
import {
  free,
  freeTree,
  identify,
  levenbergMarquardt,
  positive,
  type Identification,
  type MeasuredRecord,
} from '../training/index.js';
import {clock, freeRunError, part, readExperiment, type Estimate, type Experiment} from './benchmarks/protocol.js';
import {printTable, script, shown, type ProgressCallbacks, type ScriptArguments} from './script.js';

/** 10 MHz divided by 2¹⁴, in s. */
export const dt = 2 ** 14 / 1e7;

/** Voltages without the offsets of the instrument, which are their means over the training part. */
export interface Silverbox {
  readonly title: string;
  readonly train: Experiment;
  /** The rest of the multisine, and a test whose amplitude grows beyond the multisine's. */
  readonly tests: {readonly multisine: Experiment; readonly arrow: Experiment};
}

/** Samples of the benchmark's two signals. */
const parts = {arrow: [100, 40575], multisine: [40650, 127400]} as const;

export async function measured(path: string): Promise<Silverbox> {
  const whole = await readExperiment(path, {t: dt, u: 'V1', y: 'V2'});
  return silverbox('The Silverbox, measured', part(whole, ...parts.multisine), part(whole, ...parts.arrow));
}

function silverbox(title: string, multisine: Experiment, arrow: Experiment): Silverbox {
  const trained = Math.floor(0.75 * multisine.u.length);
  const mean = (x: Float64Array): number => x.subarray(0, trained).reduce((sum, value) => sum + value, 0) / trained;
  const [u, y] = [mean(multisine.u), mean(multisine.y)];
  const centred = (one: Experiment): Experiment => ({
    ...one,
    t: clock(one.u.length, dt),
    u: one.u.map(value => value - u),
    y: one.y.map(value => value - y),
  });
  return {
    title,
    train: centred(part(multisine, 0, trained)),
    tests: {multisine: centred(part(multisine, trained)), arrow: centred(arrow)},
  };
}

/** y″ = ω²(gain·u − y − cubic·y³) − 2ζω y′; the pace is ω/100. */
const duffing: ForceTerm = ({q, v, params}) => {
  const {pace, damping, gain, cubic, u} = params as {[name: string]: tf.Tensor};
  const omega = tf.mul(pace, 100);
  const spring = tf.add(q, tf.mul(cubic, tf.pow(q, 3)));
  return tf.sub(
    tf.mul(tf.square(omega), tf.sub(tf.mul(gain, u), spring)),
    tf.mul(tf.mul(tf.mul(2, damping), omega), v),
  );
};

/** The network sees displacement over 0.1 V and velocity over 43 V/s, and answers in 0.01 ω² V. */
const network = mlp({sizes: [2, 6, 1], seed: 1});
const learnt = neuralForce(
  (x, params) => network.apply(tf.div(x, tf.tensor2d([[0.1, 43]])), params.network as Params),
  {scale: 1850},
);

const physics = mechanics({mass: 1, forces: duffing});
const hybrid = mechanics({mass: 1, forces: [duffing, learnt]});

/** The input is band-limited, so a spline through its samples drives the circuit. */
const recordOf = ({t, u, y}: Experiment): MeasuredRecord => ({
  t,
  q: y,
  inputs: {u: signal(t, u, 'cubic')},
  initial: {q: y[0], v: (y[1] - y[0]) / dt},
});

/** Least squares on the first samples of the training part. */
function fitted(
  system: MechanicalSystem,
  {train}: Silverbox,
  samples: number,
  guess: Estimate,
  extra: ReturnType<typeof freeTree>,
  maxIterations: number,
  onProgress: ProgressCallbacks['fit'],
): Promise<Identification> {
  const {initial, ...data} = recordOf(part(train, 0, Math.min(samples, train.t.length)));
  const at = (name: string): number => guess[name] as number;
  return identify({
    system,
    scheme: rk4(),
    dt,
    data,
    parameters: {
      pace: positive(at('pace')),
      damping: positive(at('damping')),
      gain: positive(at('gain')),
      cubic: free(at('cubic')),
      'initial.q': free(initial?.q as number),
      'initial.v': free(initial?.v as number),
      ...extra,
    },
    method: levenbergMarquardt({maxIterations, tolerance: {cost: 1e-8}}),
    onProgress,
  });
}

export interface SilverboxErrors {
  /** Root mean square errors in V. */
  readonly multisine: number;
  readonly arrow: number;
  readonly fit: Identification;
}

/** Parameters of a made record, and the guess for any. */
const usual = {pace: 4.3, damping: 0.05, gain: 1, cubic: 4};

/** Both models, learnt from the first part of the multisine and tested on the rest and on the arrow. */
export async function compare(
  box: Silverbox,
  samples: {readonly physics: number; readonly hybrid: number; readonly iterations?: number},
  show: ProgressCallbacks,
): Promise<{physics: SilverboxErrors; hybrid: SilverboxErrors}> {
  const judged = async (fit: Identification): Promise<SilverboxErrors> => ({
    fit,
    multisine: await freeRunError(fit, recordOf(box.tests.multisine)),
    arrow: await freeRunError(fit, recordOf(box.tests.arrow)),
  });
  const weights = freeTree('network', network.params);
  const first = await fitted(physics, box, samples.physics, usual, {}, 40, show.fit);
  const second = await fitted(hybrid, box, samples.hybrid, first.estimate, weights, samples.iterations ?? 40, show.fit);
  return {physics: await judged(first), hybrid: await judged(second)};
}

/** A Duffing oscillator whose spring is a little stiffer to one side, which four parameters cannot tell. */
export function made(samples: number): Silverbox {
  const uneven = mechanics({mass: 1, forces: [duffing, ({q}) => tf.mul(6e4, tf.square(q))]});
  const phases = Array.from({length: 40}, (_, k) => 2.4 * k * k);
  const t = clock(samples, dt);
  const noise = gaussian(80);
  const observed = (name: string, amplitude: (i: number) => number): Experiment => {
    const wave = (time: number): number =>
      phases.reduce((sum, phase, k) => sum + Math.sin(2 * Math.PI * (5 * k + 3) * time + phase), 0);
    const u = t.map((time, i) => (amplitude(i) / Math.sqrt(20)) * wave(time));
    const inputs = {u: signal(t, u, 'cubic')};
    const path = simulate(uneven, {q: 0, v: 0}, {scheme: rk4(), dt, steps: samples - 1, params: usual, inputs});
    const y = path.values('q').map(value => value + 1e-4 * noise());
    path.dispose();
    return {name, t, u, y};
  };
  return silverbox(
    'A circuit like the Silverbox, simulated here with noise',
    observed('multisine', () => 0.05),
    observed('arrow', i => (0.06 * i) / samples),
  );
}

export async function main({path, report, short}: ScriptArguments): Promise<void> {
  const box = path === undefined ? made(short ? 2000 : 20_000) : await measured(path);
  console.log(`${box.title}: ${box.train.t.length} samples to learn from.\n`);
  const samples = short ? {physics: 1500, hybrid: 1500, iterations: 5} : {physics: Infinity, hybrid: 20_000};
  const found = await shown('Identifying', show => compare(box, samples, show));
  const volts = (value: number): string => `${(1e3 * value).toFixed(3)} mV`;
  printTable([
    ['root mean square error', 'multisine, test', 'arrow'],
    ['physics, 4 parameters', volts(found.physics.multisine), volts(found.physics.arrow)],
    ['physics and network', volts(found.hybrid.multisine), volts(found.hybrid.arrow)],
  ]);
  await found.physics.fit.report(report, {
    title: box.title,
    description:
      'y″ = ω²(gain·u − y − cubic·y³) − 2ζω y′, pace = ω/100, by least squares on the first three quarters of the '
      + 'multisine.',
    notes: [
      `Root mean square error of the multisine's test part ${volts(found.physics.multisine)}, of the arrow `
        + `${volts(found.physics.arrow)}; with a network added to the physics ${volts(found.hybrid.multisine)} and `
        + `${volts(found.hybrid.arrow)}.`,
    ],
  });
  console.log(`Report: ${report}`);
}

script(
  import.meta.url,
  'silverbox',
  "Duffing's four parameters from the Silverbox, then with a network added to them. Columns of a record: V1, V2.",
  main,
);
