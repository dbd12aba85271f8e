/**
 * The Silverbox (Wigren & Schoukens, nonlinearbenchmark.org): an electronic circuit that behaves like a mass on a
 * hardening spring. Four parameters of Duffing's equation from its input and output voltage, then the same with a
 * network beside the physics for what that misses.
 *
 *     npx tsx examples/silverbox.ts [SNLS80mV.csv]      columns V1 and V2; without it a record is made here
 */
import * as tf from '@tensorflow/tfjs';
import type {ForceTerm, MechanicalSystem, NumericParams, Params} from '../lib/index.js';
import {mechanics, rk4, signal, simulate} from '../lib/index.js';
import {mlp, neuralForce} from '../models/index.js';
import {gaussian} from '../training/data/noise.js';
import {
  estimatedTree,
  free,
  freeTree,
  identify,
  levenbergMarquardt,
  positive,
  readTable,
  type Identification,
} from '../training/index.js';
import {printTable, rms, script, shown, type ProgressCallbacks, type ScriptArguments} from './script.js';

/** 10 MHz divided by 2¹⁴, in s. */
const dt = 2 ** 14 / 1e7;

export interface Stretch {
  readonly u: Float64Array;
  readonly y: Float64Array;
}

export interface Silverbox {
  readonly title: string;
  /** Its first part is learnt from; the rest is a test. */
  readonly multisine: Stretch;
  readonly trained: number;
  /** A test whose amplitude grows beyond the multisine's. */
  readonly arrow: Stretch;
  /** Means of both voltages where it is learnt: offsets of the instrument. */
  readonly offset: {readonly u: number; readonly y: number};
}

/** Samples of the benchmark's two signals. */
const parts = {arrow: [100, 40575], multisine: [40650, 127400]} as const;

export async function measured(path: string): Promise<Silverbox> {
  const table = await readTable(path, {columns: ['V1', 'V2']});
  const [u, y] = [table.column('V1'), table.column('V2')];
  const cut = ([from, to]: readonly [number, number]): Stretch => ({u: u.slice(from, to), y: y.slice(from, to)});
  return silverbox('The Silverbox, measured', cut(parts.multisine), cut(parts.arrow));
}

function silverbox(title: string, multisine: Stretch, arrow: Stretch): Silverbox {
  const trained = Math.floor(0.75 * multisine.u.length);
  const mean = (x: Float64Array): number => x.subarray(0, trained).reduce((sum, value) => sum + value, 0) / trained;
  return {title, multisine, arrow, trained, offset: {u: mean(multisine.u), y: mean(multisine.y)}};
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

const clock = (samples: number): Float64Array => Float64Array.from({length: samples}, (_, i) => i * dt);
const centred = (x: Float64Array, offset: number): Float64Array => x.map(value => value - offset);

/** Least squares on the training part. The input is band-limited, so a spline through its samples drives it. */
function fitted(
  system: MechanicalSystem,
  {multisine, trained, offset}: Silverbox,
  samples: number,
  extra: ReturnType<typeof freeTree>,
  guess: Identification['estimate'] | undefined,
  maxIterations: number,
  onProgress: ProgressCallbacks['fit'],
): Promise<Identification> {
  const y = centred(multisine.y, offset.y);
  const t = clock(multisine.u.length);
  const count = Math.min(trained, samples);
  const at = (name: string, usual: number): number => (guess?.[name] as number | undefined) ?? usual;
  return identify({
    system,
    scheme: rk4(),
    dt,
    inputs: {u: signal(t, centred(multisine.u, offset.u), 'cubic')},
    data: {t: t.slice(0, count), q: y.slice(0, count)},
    parameters: {
      pace: positive(at('pace', 4.3)),
      damping: positive(at('damping', 0.05)),
      gain: positive(at('gain', 1)),
      cubic: free(at('cubic', 4)),
      'initial.q': free(y[0]),
      'initial.v': free((y[1] - y[0]) / dt),
      ...extra,
    },
    method: levenbergMarquardt({maxIterations, tolerance: {cost: 1e-8}}),
    onProgress,
  });
}

/** Output of the whole stretch, in volts, from its first sample. */
export function output(
  system: MechanicalSystem,
  {offset}: Silverbox,
  {u, y}: Stretch,
  estimate: Identification['estimate'],
  start: {readonly q: number; readonly v: number},
): Float64Array {
  const t = clock(u.length);
  const input = signal(t, centred(u, offset.u), 'cubic');
  const path = simulate(system, start, {
    scheme: rk4(),
    dt,
    steps: y.length - 1,
    params: paramsOf(estimate),
    inputs: {u: input},
  });
  const q = path.values('q').map(value => value + offset.y);
  path.dispose();
  return q;
}

function paramsOf(estimate: Identification['estimate']): NumericParams {
  const {pace, damping, gain, cubic} = estimate as {readonly [name: string]: number};
  const learnt = 'network.w0' in estimate;
  return {pace, damping, gain, cubic, ...(learnt ? {network: estimatedTree('network', network.params, estimate)} : {})};
}

export interface SilverboxErrors {
  /** Root mean square errors in V. */
  readonly multisine: number;
  readonly arrow: number;
  readonly fit: Identification;
}

/** Both models, learnt from the first part of the multisine and tested on the rest and on the arrow. */
export async function compare(
  box: Silverbox,
  samples: {readonly physics: number; readonly hybrid: number; readonly iterations?: number},
  show: ProgressCallbacks,
): Promise<{physics: SilverboxErrors; hybrid: SilverboxErrors}> {
  const judged = (system: MechanicalSystem, fit: Identification): SilverboxErrors => {
    const start = {q: fit.estimate['initial.q'] as number, v: fit.estimate['initial.v'] as number};
    return {
      fit,
      multisine: rms(output(system, box, box.multisine, fit.estimate, start), box.multisine.y, box.trained),
      arrow: rms(output(system, box, box.arrow, fit.estimate, {q: box.arrow.y[0] - box.offset.y, v: 0}), box.arrow.y),
    };
  };
  const first = await fitted(physics, box, samples.physics, {}, undefined, 40, show.fit);
  const second = await fitted(
    hybrid,
    box,
    samples.hybrid,
    freeTree('network', network.params),
    first.estimate,
    samples.iterations ?? 40,
    show.fit,
  );
  return {physics: judged(physics, first), hybrid: judged(hybrid, second)};
}

/** A Duffing oscillator whose spring is a little stiffer to one side, which four parameters cannot tell. */
export function made(samples: number): Silverbox {
  const u = (length: number, amplitude: (i: number) => number): Float64Array => {
    const phases = Array.from({length: 40}, (_, k) => 2.4 * k * k);
    return Float64Array.from(
      {length},
      (_, i) =>
        (amplitude(i) / Math.sqrt(20))
        * phases.reduce((sum, phase, k) => sum + Math.sin(2 * Math.PI * (5 * k + 3) * i * dt + phase), 0),
    );
  };
  const uneven = mechanics({mass: 1, forces: [duffing, ({q}) => tf.mul(6e4, tf.square(q))]});
  const box = silverbox(
    'A circuit like the Silverbox, simulated here with noise',
    {u: u(samples, () => 0.05), y: new Float64Array(samples)},
    {u: u(samples, i => (0.06 * i) / samples), y: new Float64Array(samples)},
  );
  const truth = {pace: 4.3, damping: 0.05, gain: 1, cubic: 4};
  const noise = gaussian(80);
  const observed = (stretch: Stretch): Stretch => ({
    u: stretch.u,
    y: output(uneven, {...box, offset: {u: 0, y: 0}}, stretch, truth, {q: 0, v: 0}).map(y => y + 1e-4 * noise()),
  });
  return silverbox(box.title, observed(box.multisine), observed(box.arrow));
}

export async function main({path, report, short}: ScriptArguments): Promise<void> {
  const box = path === undefined ? made(short ? 2000 : 20_000) : await measured(path);
  console.log(
    `${box.title}: ${box.multisine.u.length} samples of the multisine, ${box.arrow.u.length} of the arrow.\n`,
  );
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
