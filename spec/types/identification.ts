/** What the compiler knows of an identification: the names of its estimates, and which of them are numbers. Compiled by types.spec.ts; nothing here runs. */
import * as tf from '@tensorflow/tfjs';
import {mechanics, ode, type ForceAt} from 'stiffgrad';
import {bounded, fixed, free, identify, positive, signal, type Identification, type IdentificationProblem} from 'stiffgrad/training';
import {freeTree} from '../../training/identify/parameter-trees.js';

const system = mechanics({mass: 1, forces: ({q, params: {k, push}}: ForceAt<{k: tf.Tensor; push: tf.Tensor}>) => tf.add(push, tf.mul(k, q))});
const data = {t: [0, 1], q: [0, 1]};
const problem = {system, data, dt: 0.1, inputs: {push: signal([0, 1], [0, 1])}};

export async function names(): Promise<void> {
  const fit = await identify({...problem, parameters: {k: positive(40), 'initial.q': free([1, 2]), 'initial.v': fixed(0)}});
  const k: number = fit.estimate.k;
  const start: Float64Array = fit.estimate['initial.q'];
  const error: number = fit.standardError.k;
  const v: number = fit.estimate['initial.v'];
  const own: number | Float64Array = fit.estimate['record 1: k'] ?? k;
  const q: tf.Tensor = fit.trajectory.q;
  const loose: Identification = fit;
  // @ts-expect-error: what is fixed has no error
  fit.standardError['initial.v'];
  // @ts-expect-error: misspelt
  fit.estimate.kk;
  // @ts-expect-error: no array
  fit.estimate.k[0];
  return void [k, start, error, v, own, q, loose];
}

export async function parameters(): Promise<void> {
  // @ts-expect-error: the system reads no kk
  await identify({...problem, parameters: {kk: positive(40)}});
  // @ts-expect-error: a value in place of what is known of it
  await identify({...problem, parameters: {k: 40}});
  await identify({...problem, parameters: {k: bounded(1, 50, 40), gain: free(1)}, observe: ({q, params: {gain}}: {q: tf.Tensor; params: {gain: tf.Tensor}}) => tf.mul(gain, q)});
  await identify({...problem, parameters: {k: free(1)}, observe: ({q, params: {k}}) => tf.mul(k, q)});
  const free1 = await identify({...problem, system: mechanics({mass: 1, forces: ({q}) => q}), parameters: {anything: free(1), ...freeTree('net', {w: [1]})}});
  const anything: number | Float64Array | undefined = free1.estimate.anything;
  const rates = await identify({system: ode(({y}) => y), data: {t: [0, 1], y: [0, 1]}, dt: 0.1, parameters: {r: free(1)}});
  const y: tf.Tensor = rates.trajectory.y;
  // @ts-expect-error: an ode has no q
  rates.trajectory.q;
  return void [anything, y];
}

export function asBefore(over: Partial<IdentificationProblem>): Promise<Identification> {
  return identify({system, data, dt: 0.1, parameters: {k: free(1)}, ...over});
}
