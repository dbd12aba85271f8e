/**
 * The positioning stage with a network for the friction that its four parameters miss: learnt on the first part of a
 * record, and judged by the motor force that the closed loop asks for on the rest.
 *
 *     npx tsx examples/neural-friction.ts [record.csv]      columns t_s, qg_ref_m, qm_meas_m, vir_V; else one is made here
 */
import * as tf from '@tensorflow/tfjs';
import type {MechanicalSystem, NumericParams, Params} from '../lib/index.js';
import {implicitMidpoint, mechanics, signal, simulate} from '../lib/index.js';
import {mlp} from '../models/index.js';
import {
  estimatedTree,
  free,
  freeTree,
  identify,
  levenbergMarquardt,
  positive,
  type Identification,
} from '../training/index.js';
import {
  frictionScale,
  loop,
  measuredRecord,
  observe,
  stage,
  syntheticRecord,
  type StageRecord,
} from './positioning-stage.js';
import {printTable, rms, script, shown, type ScriptArguments} from './script.js';

/** The part of a record that is learnt from. */
const share = 0.6;

/** It sees speed over 0.05 m/s, the direction of motion, and the place between −1 and 1. */
const network = mlp({sizes: [3, 6, 1], seed: 1});

/** In N: half of what is known as Coulomb friction. */
const scale = 10;

function missedForce({
  q,
  v,
  params,
}: {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly params: Params;
}): tf.Tensor {
  const speed = tf.gather(v, 0);
  const seen = tf.stack([
    tf.div(speed, 0.05),
    tf.tanh(tf.div(speed, frictionScale)),
    tf.sub(tf.div(tf.gather(q, 0), 0.1), 1),
  ]);
  return tf.mul(-scale, tf.reshape(network.apply(tf.reshape(seen, [1, 3]), params.network as Params), []));
}

const hybrid = mechanics({
  mass: stage.mass,
  forces: [...stage.forces, at => tf.stack([missedForce(at), tf.zerosLike(tf.gather(at.q, 0))])],
});

export interface FrictionErrors {
  readonly fit: Identification;
  /** Root mean square of measured − simulated motor force in N, where it was learnt and where it was not. */
  readonly learnt: number;
  readonly heldOut: number;
}

function fitted(
  system: MechanicalSystem,
  {t, reference, position, voltage, start, noise}: StageRecord,
  extra: ReturnType<typeof freeTree>,
  iterations: number,
  onProgress: Parameters<typeof identify>[0]['onProgress'],
): Promise<Identification> {
  const samples = Math.floor(share * t.length);
  return identify({
    system,
    observe,
    initial: start,
    scheme: implicitMidpoint(),
    dt: (t[t.length - 1] - t[0]) / (t.length - 1),
    inputs: {reference: signal(t, reference)},
    data: {
      t: t.slice(0, samples),
      y: Array.from(position.subarray(0, samples), (value, i) => [value, voltage[i]]),
      weights: [1 / noise.position, 1 / noise.voltage],
    },
    parameters: {M: positive(95), Fv: positive(200), Fc: positive(20), offset: free(-3), ...extra},
    method: levenbergMarquardt({maxIterations: iterations, tolerance: {cost: 1e-6}}),
    onProgress,
  });
}

/** Errors of the force over the whole record, simulated in closed loop with the fit's parameters. */
function judged(system: MechanicalSystem, record: StageRecord, fit: Identification): FrictionErrors {
  const {t, reference, voltage, start} = record;
  const path = simulate(system, start, {
    scheme: implicitMidpoint(),
    dt: (t[t.length - 1] - t[0]) / (t.length - 1),
    steps: t.length - 1,
    params: paramsOf(fit),
    inputs: {reference: signal(t, reference)},
    observe,
  });
  const simulated = path
    .values('observed')
    .filter((_, i) => i % 2 === 1)
    .map(volts => loop.force * volts);
  path.dispose();
  const measured = voltage.map(volts => loop.force * volts);
  const samples = Math.floor(share * t.length);
  return {fit, learnt: rms(simulated, measured, 0, samples), heldOut: rms(simulated, measured, samples)};
}

function paramsOf({estimate}: Identification): NumericParams {
  const {M, Fv, Fc, offset} = estimate as {readonly [name: string]: number};
  const learnt = 'network.w0' in estimate;
  return {M, Fv, Fc, offset, ...(learnt ? {network: estimatedTree('network', network.params, estimate)} : {})};
}

/** Physics alone, then with the network, both learnt from the first part of the record. */
export async function compareFriction(
  record: StageRecord,
  iterations: number,
  show: Parameters<Parameters<typeof shown>[1]>[0],
): Promise<{physics: FrictionErrors; hybrid: FrictionErrors}> {
  const physics = await fitted(stage, record, {}, iterations, show.fit);
  const both = await fitted(hybrid, record, freeTree('network', network.params), iterations, show.fit);
  return {physics: judged(stage, record, physics), hybrid: judged(hybrid, record, both)};
}

export async function main({path, report, short}: ScriptArguments): Promise<void> {
  const record = path === undefined ? syntheticRecord({seconds: short ? 2 : 10}) : await measuredRecord(path);
  console.log(`${record.title}: learnt from the first ${Math.round(100 * share)} % of ${record.t.length} samples.\n`);
  const {physics, hybrid: both} = await shown('Identifying', show => compareFriction(record, short ? 4 : 40, show));
  const newtons = (value: number): string => `${value.toFixed(3)} N`;
  printTable([
    ['root mean square error of the force', 'learnt', 'held out'],
    ['physics', newtons(physics.learnt), newtons(physics.heldOut)],
    ['physics and network', newtons(both.learnt), newtons(both.heldOut)],
  ]);
  await both.fit.report(report, {
    title: record.title,
    description: 'The positioning stage with a network for the friction that the model lacks.',
    notes: [
      `Force on the held-out part: physics ${newtons(physics.heldOut)}, with the network ${newtons(both.heldOut)}.`,
    ],
  });
  console.log(`Report: ${report}`);
}

script(
  import.meta.url,
  'neural-friction',
  'The positioning stage, and a network for the friction that its parameters cannot describe.',
  main,
);
