/**
 * Identifies an electro-mechanical positioning stage with friction (the EMPS benchmark: Janot, Gautier
 * & Brunot 2019, nonlinearbenchmark.org), in closed loop, from position and motor voltage.
 *
 *     npm start                            a record made here, with known truth and noise
 *     npm start -- path/to/record.csv      a measured one, columns t_s, qg_ref_m, qm_meas_m, vir_V
 */
import {pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';
import * as tf from '@tensorflow/tfjs';
import type {Observe} from '../lib/index.js';
import {implicitMidpoint, mechanics, simulate} from '../lib/index.js';
import type {Identification} from './identify.js';
import {identify} from './identify.js';
import {measuredText} from './number-text.js';
import {free, positive} from './parameters.js';
import {progress} from './progress.js';
import type {ReportParameter} from './report.js';
import {signal} from './signal.js';
import {noisy, positioningNoise, positioningReference} from './synthetic.js';
import {readTable} from './table.js';

/** The controller and motor of the benchmark: volts from the tracking error, newtons from volts. */
const loop = {positionGain: 160.18, velocityGain: 243.45, limit: 10, force: 35.1506519};

/** The controller's velocity is the encoder's increment over the last sample: one sample late, as the record's voltages show. */
const velocityLag = 1e-3;

/** tanh(v/scale) for the sign of v: far below the slowest stroke, 0.04 m/s, and resolved by steps of a millisecond. */
const frictionScale = 1e-3;

/** Standard deviations by which the two outputs are weighed: what the model leaves of either on the benchmark's record. */
const deviation = {position: 2e-6, voltage: 0.09};

/** Found by the benchmark's authors through inverse dynamics, in the units of `units`. */
const published: Values = {M: 95.1089, Fv: 203.5034, Fc: 20.3935, offset: -3.1648};
const units: {readonly [name: string]: string} = {M: 'kg', Fv: 'N·s/m', Fc: 'N', offset: 'N'};
const descriptions: {readonly [name: string]: string} = {M: 'moving mass', Fv: 'viscous friction', Fc: 'Coulomb friction', offset: 'offset of the motor force'};

type Values = {readonly [name: string]: number};
type At = Parameters<Observe>[0];

export interface StageRecord {
  readonly title: string;
  readonly t: Float64Array;
  readonly reference: Float64Array;
  readonly position: Float64Array;
  readonly voltage: Float64Array;
  /** What the estimates are compared with. */
  readonly known: Values;
  readonly knownAs: 'published' | 'truth';
}

/** Motor voltage of the closed loop. The state is the stage's position and, beside it, the controller's filtered one. */
function voltage({q, v, params}: Pick<At, 'q' | 'v' | 'params'>): tf.Tensor {
  const error = tf.sub(params.reference as tf.Tensor, tf.gather(q, 0));
  const demand = tf.sub(tf.mul(error, loop.positionGain), tf.gather(v, 1));
  return tf.clipByValue(tf.mul(demand, loop.velocityGain), -loop.limit, loop.limit);
}

/** M a = motor − Fv v − Fc sign(v) − offset; the filter follows with a lag of one sample. */
const stage = mechanics({
  mass: ({params}) => tf.stack([params.M as tf.Tensor, tf.onesLike(params.M as tf.Tensor)]),
  forces: at => {
    const {M: _mass, Fv, Fc, offset} = at.params as {[name: string]: tf.Tensor};
    const [speed, filtered] = [tf.gather(at.v, 0), tf.gather(at.v, 1)];
    const friction = tf.add(tf.mul(Fv, speed), tf.mul(Fc, tf.tanh(tf.div(speed, frictionScale))));
    const motor = tf.mul(voltage(at), loop.force);
    return tf.stack([tf.sub(tf.sub(motor, friction), offset), tf.div(tf.sub(speed, filtered), velocityLag)]);
  },
});

const observe: Observe = at => tf.stack([tf.gather(at.q, 0), voltage(at)]);

/** One step a sample. */
const integration = {scheme: implicitMidpoint(), dt: 1e-3};

const atRest = (t: Float64Array): ReturnType<typeof start> => ({q: [0, 0], v: [0, 0], t: t[0]});

/** The stage starts where it was measured, at the velocity that the first voltage implies. */
function start({t, reference, position, voltage: volts}: Pick<StageRecord, 't' | 'reference' | 'position' | 'voltage'>): {q: number[]; v: number[]; t: number} {
  const velocity = loop.positionGain * (reference[0] - position[0]) - volts[0] / loop.velocityGain;
  return {q: [position[0], 0], v: [velocity, velocity], t: t[0]};
}

/** The loop closed over a reference: position and voltage of every sample, [samples, 2]. */
function follow(t: Float64Array, reference: Float64Array, initial: ReturnType<typeof start>, params: Values): Float64Array {
  const input = signal(t, reference);
  const driven = (at: At): At => ({...at, params: {...at.params, reference: input.at(at.t)}});
  const system = mechanics({mass: stage.mass, forces: at => stage.forces[0](driven(at as At))});
  const path = simulate(system, initial, {...integration, steps: t.length - 1, params, observe: at => observe(driven(at))});
  const observed = path.values('observed');
  path.dispose();
  return observed;
}

/** Ten seconds of random strokes of a stage with known parameters, measured with noise. */
export function syntheticRecord(seed = 1, truth: Values = published): StageRecord {
  const {t, position: reference} = positioningReference({seconds: 10, seed});
  const observed = follow(t, reference, atRest(t), truth);
  return {
    title: `A positioning stage simulated here (seed ${seed})`, t, reference,
    position: noisy(observed.filter((_, i) => i % 2 === 0), positioningNoise.position, seed + 1),
    voltage: noisy(observed.filter((_, i) => i % 2 === 1), positioningNoise.voltage, seed + 2),
    known: truth, knownAs: 'truth',
  };
}

/** @throws DataError naming file, line and column where the record is not what it should be */
export async function measuredRecord(path: string): Promise<StageRecord> {
  const table = await readTable(path);
  return {
    title: `A measured positioning stage (${path.split(/[\\/]/).pop()})`,
    t: table.column('t_s'), reference: table.column('qg_ref_m'), position: table.column('qm_meas_m'), voltage: table.column('vir_V'),
    known: published, knownAs: 'published',
  };
}

/** Position and voltage side by side, [samples, 2]. */
function outputs({position, voltage: volts}: StageRecord): Float64Array {
  const both = new Float64Array(2 * position.length);
  position.forEach((value, i) => (both[2 * i] = value));
  volts.forEach((value, i) => (both[2 * i + 1] = value));
  return both;
}

/** The fit of a record, from a guess that is wrong by a fifth and more. */
export function identifyStage(record: StageRecord, onProgress?: Parameters<typeof identify>[0]['onProgress']): Promise<Identification> {
  const {t, reference} = record;
  const synthetic = record.knownAs === 'truth';
  // A made record starts at rest and has white noise of known size; a measured one shows what the model misses, too.
  const initial = synthetic ? atRest(t) : start(record);
  const sigma = synthetic ? positioningNoise : deviation;
  return identify({
    system: stage, observe, initial, ...integration, inputs: {reference: signal(t, reference)},
    data: {t, y: outputs(record), weights: [1 / sigma.position, 1 / sigma.voltage]},
    parameters: {M: positive(80), Fv: positive(150), Fc: positive(15), offset: free(0)},
    residuals: synthetic ? 'independent' : 'correlated',
    onProgress,
  });
}

/** Closed-loop position error, root mean square in m, of given parameters on a record. */
export function closedLoopError(record: StageRecord, values: Values): number {
  const observed = follow(record.t, record.reference, start(record), values);
  const squares = record.position.reduce((sum, measured, i) => sum + (observed[2 * i] - measured) ** 2, 0);
  return Math.sqrt(squares / record.position.length);
}

export function reportParameters(record: StageRecord, {estimate, standardError}: Identification): ReportParameter[] {
  return Object.keys(units).map(name => ({
    name, unit: units[name], description: descriptions[name],
    estimate: estimate[name] as number, standardError: standardError[name] as number, reference: record.known[name],
  }));
}

function printTable(record: StageRecord, identification: Identification): void {
  const head = ['', 'estimate', '± standard error', record.knownAs].map((text, i) => (i === 0 ? text.padEnd(8) : text.padStart(18)));
  console.log(head.join(''));
  for (const {name, unit, estimate, standardError, reference} of reportParameters(record, identification)) {
    const cells = [measuredText(estimate, standardError), measuredText(standardError ?? NaN, standardError), String(reference)];
    console.log(`${name.padEnd(8)}${cells.map(cell => cell.padStart(18)).join('')}  ${unit}`);
  }
}

async function main(): Promise<void> {
  const {values, positionals} = parseArgs({
    allowPositionals: true,
    options: {report: {type: 'string', default: 'reports/positioning-stage.html'}, seed: {type: 'string', default: '1'}, help: {type: 'boolean', short: 'h'}},
  });
  if (values.help === true) {
    console.log('npm start -- [record.csv] [--report file.html] [--seed n]\nColumns: t_s, qg_ref_m (reference), qm_meas_m (position), vir_V (motor voltage). Without a file a record is made.');
    return;
  }
  const record = positionals[0] === undefined ? syntheticRecord(Number(values.seed)) : await measuredRecord(positionals[0]);
  console.log(`${record.title}: ${record.t.length} samples, ${(record.t[record.t.length - 1] - record.t[0]).toFixed(1)} s.`);
  const bar = progress({title: 'Identifying', unit: 'iterations'});
  let identification: Identification;
  try {
    identification = await identifyStage(record, ({iteration, cost}) => bar.update(iteration, `half the sum of squares ${cost.toPrecision(6)}`));
  } finally {
    bar.finish();
  }
  printTable(record, identification);
  const [position, volts] = [identification.rmse['y[0]'], identification.rmse['y[1]']];
  console.log(`Closed-loop error: position ${(position * 1e3).toFixed(5)} mm, voltage ${volts.toFixed(4)} V (root mean square); with the ${record.knownAs} parameters ${(closedLoopError(record, record.known) * 1e3).toFixed(5)} mm.`);
  console.log(identification.message);
  for (const warning of identification.warnings) console.log(`Warning: ${warning}`);
  await identification.report(values.report, {
    title: record.title,
    description: 'M a = motor force − Fv v − Fc sign(v) − offset, in closed loop, by least squares on position and voltage with sensitivities through every implicit step.',
    parameters: reportParameters(record, identification),
    referenceName: record.knownAs,
    fits: [
      {name: 'position', unit: 'm', t: record.t, measured: record.position, simulated: identification.trajectory.values('observed').filter((_, i) => i % 2 === 0)},
      {name: 'motor voltage', unit: 'V', t: record.t, measured: record.voltage, simulated: identification.trajectory.values('observed').filter((_, i) => i % 2 === 1)},
    ],
  });
  console.log(`Report: ${values.report}`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? `${error.name}: ${error.message}` : error);
    process.exitCode = 1;
  });
}
