/**
 * Identifies an electro-mechanical positioning stage with friction (the EMPS benchmark: Janot, Gautier
 * & Brunot 2019, nonlinearbenchmark.org), in closed loop, from position and motor voltage.
 *
 *     npm start                            a record made here, with known truth and noise
 *     npm start -- path/to/record.csv      a measured one, columns t_s, qg_ref_m, qm_meas_m, vir_V
 */
import * as tf from '@tensorflow/tfjs';
import {type Observe, DataError, implicitMidpoint, mechanics, OptionError, signal, simulate} from '../lib/index.js';
import {
  free,
  identify,
  positive,
  readTable,
  reports,
  type Identification,
  type IdentificationProblem,
  type ReportDetails,
} from '../training/index.js';
import {fixedText, quantityText, errorText, numberText} from '../training/report/number-text.js';
import {printTable, rms, script, shown, type ScriptArguments} from './script.js';
import {commonStep} from '../training/identify/sampling.js';
import {noisy, positioningNoise, positioningReference} from './positioning-reference.js';

/** The controller and motor of the benchmark: volts from the tracking error, newtons from volts. */
const loop = {positionGain: 160.18, velocityGain: 243.45, limit: 10, force: 35.1506519};

/** The controller's velocity lags the encoder by one sample, as the record's voltages show. */
const velocityLag = 1e-3;

/** tanh(v/scale) for the sign of v: far below the slowest stroke, 0.04 m/s, and resolved by steps of a millisecond. */
const frictionScale = 1e-3;

/** Weights of the two outputs: the deviations that the model leaves on the benchmark's record. */
const measuredNoise = {position: 2e-6, voltage: 0.09};

type Values = {readonly [name: string]: number};

/** The estimated quantities, and the values that the benchmark's authors found through inverse dynamics. */
const quantities: {
  readonly [name: string]: {readonly unit: string; readonly description: string; readonly published: number};
} = {
  M: {unit: 'kg', description: 'moving mass', published: 95.1089},
  Fv: {unit: 'N·s/m', description: 'viscous friction', published: 203.5034},
  Fc: {unit: 'N', description: 'Coulomb friction', published: 20.3935},
  offset: {unit: 'N', description: 'offset of the motor force', published: -3.1648},
};

export const published: Values = Object.fromEntries(
  Object.entries(quantities).map(([name, quantity]) => [name, quantity.published]),
);

/** Seed of a made record: the year of the benchmark's publication, chosen before any result was seen. */
const defaultSeed = 2019;

interface Start {
  readonly q: readonly number[];
  readonly v: readonly number[];
  readonly t: number;
}

export interface StageRecord {
  readonly title: string;
  readonly t: Float64Array;
  readonly reference: Float64Array;
  readonly position: Float64Array;
  readonly voltage: Float64Array;
  readonly start: Start;
  /** Standard deviations of the two outputs. */
  readonly noise: {readonly position: number; readonly voltage: number};
  /** 'independent' for noise alone, 'correlated' where there is also what the model misses. */
  readonly residuals: 'correlated' | 'independent';
  /** Values with which the estimates are compared. */
  readonly known: Values;
  readonly knownAs: 'published' | 'truth';
}

type At = Parameters<Observe>[0];

/** Motor voltage of the closed loop. The state is the stage's position and the controller's filtered one. */
function voltage({q, v, params}: Pick<At, 'q' | 'v' | 'params'>): tf.Tensor {
  const error = tf.sub(params.reference as tf.Tensor, tf.gather(q, 0));
  const demand = tf.sub(tf.mul(error, loop.positionGain), tf.gather(v, 1));
  return tf.clipByValue(tf.mul(demand, loop.velocityGain), -loop.limit, loop.limit);
}

/** M a = motor − Fv v − Fc sign(v) − offset; the filter follows with a lag of one sample. */
const stage = mechanics({
  mass: ({params}) => tf.stack([params.M as tf.Tensor, tf.onesLike(params.M as tf.Tensor)]),
  forces: at => {
    const {Fv, Fc, offset} = at.params as {[name: string]: tf.Tensor};
    const [speed, filtered] = [tf.gather(at.v, 0), tf.gather(at.v, 1)];
    const friction = tf.add(tf.mul(Fv, speed), tf.mul(Fc, tf.tanh(tf.div(speed, frictionScale))));
    const motor = tf.mul(voltage(at), loop.force);
    return tf.stack([tf.sub(tf.sub(motor, friction), offset), tf.div(tf.sub(speed, filtered), velocityLag)]);
  },
});

const observe: Observe = at => tf.stack([tf.gather(at.q, 0), voltage(at)]);

const scheme = implicitMidpoint();

/** Steps a sample: with one, half of it would move the estimate of M by 2.7 standard errors. */
const STEPS = 4;

/** The interval of the samples, also where some are missing. */
function sampleInterval(t: Float64Array): number {
  const mean = (t[t.length - 1] - t[0]) / (t.length - 1);
  return commonStep(t, t[0], mean) ?? mean;
}

/** A measured stage starts where it was measured, at the velocity that the first voltage implies. */
function measuredStart(t: Float64Array, reference: Float64Array, position: Float64Array, volts: Float64Array): Start {
  const velocity = loop.positionGain * (reference[0] - position[0]) - volts[0] / loop.velocityGain;
  return {q: [position[0], 0], v: [velocity, velocity], t: t[0]};
}

/** The loop closed over a reference: position and voltage of every sample. */
function follow(
  t: Float64Array,
  reference: Float64Array,
  start: Start,
  params: Values,
): {position: Float64Array; voltage: Float64Array} {
  const path = simulate(stage, start, {
    scheme,
    dt: sampleInterval(t) / STEPS,
    t1: t[t.length - 1],
    saveAt: Array.from(t),
    params,
    inputs: {reference: signal(t, reference)},
    observe,
  });
  const observed = path.values('observed');
  path.dispose();
  return {position: observed.filter((_, i) => i % 2 === 0), voltage: observed.filter((_, i) => i % 2 === 1)};
}

/** Random strokes of a stage with known parameters, measured with noise; ten seconds of them. */
export function syntheticRecord({
  seed = defaultSeed,
  seconds = 10,
  truth = published,
}: {readonly seed?: number; readonly seconds?: number; readonly truth?: Values} = {}): StageRecord {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new OptionError('bad-seed', `The seed must be a whole number, not ${seed}.`, {seed});
  const {t, position: reference} = positioningReference({seconds, seed: 3 * seed});
  const start = {q: [0, 0], v: [0, 0], t: t[0]};
  const clean = follow(t, reference, start, truth);
  return {
    title: `A positioning stage, simulated here with noise (seed ${seed})`,
    t,
    reference,
    start,
    position: noisy(clean.position, positioningNoise.position, 3 * seed + 1),
    voltage: noisy(clean.voltage, positioningNoise.voltage, 3 * seed + 2),
    noise: positioningNoise,
    residuals: 'independent',
    known: truth,
    knownAs: 'truth',
  };
}

/** @throws DataError naming file, line and column where the record is not what it should be */
export async function measuredRecord(path: string): Promise<StageRecord> {
  const table = await readTable(path);
  const [t, reference, position, volts] = ['t_s', 'qg_ref_m', 'qm_meas_m', 'vir_V'].map(name => table.column(name));
  const back = t.findIndex((time, i) => i > 0 && !(time > t[i - 1]));
  if (back >= 0)
    throw new DataError(
      'time-order',
      `${path}, column 't_s': time does not increase in row ${back + 1} of the data, from ${t[back - 1]} to `
        + `${t[back]}. Sort the rows, and remove repeated ones.`,
      {file: path, column: 't_s', row: back + 1},
    );
  return {
    title: `A positioning stage, measured (${path.split(/[\\/]/).pop()})`,
    t,
    reference,
    position,
    voltage: volts,
    start: measuredStart(t, reference, position, volts),
    noise: measuredNoise,
    residuals: 'correlated',
    known: published,
    knownAs: 'published',
  };
}

/** The fit of a record, from a guess that is wrong by a fifth and more. */
export function identifyStage(
  {title, t, reference, position, voltage: volts, start, noise, residuals}: StageRecord,
  onProgress?: IdentificationProblem['onProgress'],
): Promise<Identification> {
  return identify({
    system: stage,
    observe,
    initial: start,
    scheme,
    dt: sampleInterval(t) / STEPS,
    inputs: {reference: signal(t, reference)},
    data: {
      name: title,
      t,
      y: Array.from(position, (value, i) => [value, volts[i]]),
      weights: [1 / noise.position, 1 / noise.voltage],
    },
    parameters: {M: positive(80), Fv: positive(150), Fc: positive(15), offset: free(0)},
    residuals,
    onProgress,
  });
}

/** Root mean square of the closed loop's deviation from a record with given parameters: m and V. */
export function closedLoopError(
  {t, reference, start, position, voltage: volts}: StageRecord,
  params: Values,
): {position: number; voltage: number} {
  const path = follow(t, reference, start, params);
  return {position: rms(position, path.position), voltage: rms(volts, path.voltage)};
}

/** Texts of a stage's report. */
function reportDetails(record: StageRecord, {rmse}: Identification): ReportDetails {
  const {position, voltage: volts} = closedLoopError(record, record.known);
  return {
    title: record.title,
    description:
      'M a = motor force − Fv v − Fc sign(v) − offset, in closed loop with its controller: least squares on position '
      + 'and motor voltage, with sensitivities through every implicit step.',
    parameters: Object.fromEntries(
      Object.entries(quantities).map(([name, {unit, description}]) => [
        name,
        {unit, description, reference: record.known[name]},
      ]),
    ),
    referenceName: record.knownAs,
    fits: {'y[0]': {name: 'position', unit: 'm'}, 'y[1]': {name: 'motor voltage', unit: 'V'}},
    notes: [
      `Root mean square error of the closed loop: position ${quantityText(rmse['y[0]'], 'm', 3)} (with the `
        + `${knownText(record)} ${quantityText(position, 'm', 3)}), motor voltage `
        + `${quantityText(rmse['y[1]'], 'V', 3)} (${quantityText(volts, 'V', 3)}).`,
    ],
  };
}

const knownText = ({knownAs}: StageRecord): string =>
  knownAs === 'truth' ? 'true parameters' : 'published parameters';

function printParameters({known, knownAs}: StageRecord, {estimate, standardError}: Identification): void {
  printTable([
    ['', 'estimate', 'std. error', knownAs, 'difference', ''],
    ...Object.entries(quantities).map(([name, {unit}]) => {
      const [value, error] = [estimate[name] as number, standardError[name] as number];
      const difference = fixedText((100 * (value - known[name])) / Math.abs(known[name]), 2);
      return [
        name,
        reports.measuredText(value, error),
        errorText(error),
        numberText(known[name], 7),
        `${difference.startsWith('−') ? '' : '+'}${difference} %`,
        unit,
      ];
    }),
  ]);
}

function printErrors(record: StageRecord, {rmse}: Identification): void {
  const known = closedLoopError(record, record.known);
  printTable([
    ['closed-loop error (RMS)', 'estimate', record.knownAs],
    ['position', quantityText(rmse['y[0]'], 'm'), quantityText(known.position, 'm')],
    ['motor voltage', quantityText(rmse['y[1]'], 'V'), quantityText(known.voltage, 'V')],
  ]);
}

async function main({path, report, short, texts = {}}: ScriptArguments): Promise<void> {
  const {seed = String(defaultSeed)} = texts;
  const record =
    path === undefined ? syntheticRecord({seed: Number(seed), seconds: short ? 2 : 10}) : await measuredRecord(path);
  console.log(
    `${record.title}: ${record.t.length} samples, ${numberText(record.t[record.t.length - 1] - record.t[0])} s.\n`,
  );
  const identification = await shown('Identifying', show => identifyStage(record, show.fit));
  console.log('');
  printParameters(record, identification);
  printErrors(record, identification);
  console.log(identification.message);
  for (const warning of identification.warnings) console.log(`Warning: ${warning}`);
  await identification.report(report, reportDetails(record, identification));
  console.log(`Report: ${report}`);
}

script(
  import.meta.url,
  'positioning-stage',
  'Identifies a positioning stage. Columns of a record: t_s, qg_ref_m (reference), qm_meas_m (position), vir_V (motor '
    + `voltage). Without a record one is made from known parameters; its seed is ${defaultSeed}.`,
  main,
  {seed: 'a whole number'},
);
