/**
 * Models in training as they are common, each a compiled step: the spiral of bench/spiral.ts by fixed and adaptive steps, a
 * small network and one trajectory, a latent ODE seen at irregular times, the hybrid chain of bench/hybrid.ts, and a
 * Lotka–Volterra model with a network beside known rates. `numbers` is all that a peer needs to have the same: weights as
 * the variables hold them, data, times and tolerances (bench/peers/training.py reads them).
 */
import * as tf from '@tensorflow/tfjs';
import type {SimulateOptions, System} from '../lib/index.js';
import {adaptive, implicitMidpoint, mechanics, ode, simulate, tsit5} from '../lib/index.js';
import type {Mlp} from '../models/index.js';
import {mlp} from '../models/index.js';
import {mlpOfWeights} from '../models/mlp.js';
import type {StepBatch, StepState, TrainingStepOptions} from '../training/index.js';
import {adam, trainingStep} from '../training/index.js';
import * as hybridModel from './hybrid.js';
import type {Prepared} from './peers/protocol.js';
import * as spiralModel from './spiral.js';
import type {TrainingName} from './workloads.js';

export type Precision = 'double' | 'single';
type With<Name extends string> = {readonly [name in Name]: tf.Tensor};

export interface TrainingRow {
  prepare(precision: Precision): Prepared;
  readonly numbers: {readonly [name: string]: unknown};
}

/** A network on one state [n]. */
const onVector = (network: Mlp, y: tf.Tensor): tf.Tensor =>
  tf.reshape(network.apply(tf.reshape(y, [1, y.size])), y.shape);

/** [[weights, bias] of each layer], as single precision holds them. */
function layersOf({variables}: Mlp): unknown[] {
  const values = variables.map(variable => variable.arraySync());
  return Array.from({length: values.length / 2}, (_, i) => [values[2 * i], values[2 * i + 1]]);
}

/**
 * A row from its system: the step begins anew now and then, so that what is timed does not depend on how often it was.
 * `rate` is that of Adam.
 */
function row<S extends System, D, E>(
  system: S,
  initial: Parameters<typeof simulate.prepare>[1],
  options: SimulateOptions,
  training: Pick<TrainingStepOptions<S, D, E>, 'loss' | 'initial'> & {
    readonly rate: number;
    readonly batches: readonly StepBatch<S>[];
  },
  numbers: TrainingRow['numbers'],
): TrainingRow {
  const {loss, rate, batches} = training;
  return {
    numbers: {...numbers, rate, restart: spiralModel.restart},
    prepare(precision) {
      const model = simulate.prepare(system as System, initial, {...options, precision});
      const step = trainingStep<System>(model as never, {
        loss: loss as never,
        ...(training.initial === undefined ? {} : {initial: training.initial as never}),
        optimizer: adam({rate}),
      });
      let begin: StepState | undefined;
      const next = (): number => {
        if (begin === undefined) {
          step.loss(batches[0] as never);
          begin = step.save();
        }
        if (step.count === spiralModel.restart) step.restore(begin);
        return step(batches[step.count % batches.length] as never);
      };
      return {
        forward: () => void step.loss(batches[0] as never),
        gradient: () => ({loss: next(), gradientNorm: step.gradientNorm}),
        step: () => void next(),
        details: precision === 'single' ? {single: true} : {},
      };
    },
  };
}

/** The spiral with its batch as one state [32, 2]. */
function spiral(isAdaptive: boolean): TrainingRow {
  const {batchSize, dt, growth, rate, sizes, spirals, startsOf, targets, times, tolerances} = spiralModel;
  const weights = spiralModel.weights() as {[name: string]: number[][] & number[]};
  const network = mlpOfWeights(
    'softplus',
    sizes.slice(1).map((_, i) => ({weights: weights[`w${i}`], bias: weights[`b${i}`]})),
  );
  const options = isAdaptive
    ? {
        t1: (times - 1) * dt,
        control: adaptive({...tolerances, growth, controller: {integral: 1}}),
        saveAt: Array.from({length: times}, (_, k) => k * dt),
      }
    : {steps: times - 1};
  const data = Array.from({length: spirals / batchSize}, (_, i) => targets(i));
  return row(
    ode(({y}) => network.apply(y)),
    {y: startsOf(data[0])},
    {scheme: tsit5(), dt, ...options},
    {
      loss: ({y, data}) =>
        tf.mean(tf.squaredDifference(y, tf.reshape((data as With<'target'>).target, [times, batchSize, 2]))),
      rate,
      batches: data.map(target => ({initial: {y: startsOf(target)}, data: {target}})),
    },
    {
      layers: layersOf(network),
      batches: data.map(target => Array.from(target)),
      shape: [times, batchSize, 2],
      dt,
      ...(isAdaptive ? tolerances : {}),
    },
  );
}

/** 2–16–16–2, 50 steps of tsit5 along one circle. */
function smallNet(): TrainingRow {
  const network = mlp({sizes: [2, 16, 16, 2], activation: 'tanh', seed: 1});
  const target = Array.from({length: 51}, (_, k) => [Math.cos(0.1 * k), Math.sin(0.1 * k)]);
  return row(
    ode(({y}) => onVector(network, y)),
    {y: [1, 0]},
    {scheme: tsit5(), dt: 0.1, steps: 50},
    {
      loss: ({y, data}) => tf.mean(tf.squaredDifference(y, (data as With<'target'>).target)),
      rate: 1e-3,
      batches: [{data: {target}}],
    },
    {layers: layersOf(network), start: [1, 0], target, dt: 0.1, steps: 50},
  );
}

/** 32 curves of 20 irregular samples, an encoder 20–32–4, a latent field 4–32–4, a decoder 4–16–1. */
function latentOde(): TrainingRow {
  const encoder = mlp({sizes: [20, 32, 4], seed: 1});
  const field = mlp({sizes: [4, 32, 4], activation: 'tanh', seed: 2});
  const decoder = mlp({sizes: [4, 16, 1], seed: 3});
  const times = Array.from({length: 20}, (_, k) => (k + (k === 0 ? 0 : 0.3 * Math.sin(7 * k))) / 20);
  const seen = Array.from({length: 32}, (_, curve) => times.map(t => Math.sin(4 * t + curve)));
  const tolerances = {rtol: 1e-3, atol: 1e-6};
  return row(
    ode(({y}) => field.apply(y)),
    {y: Array.from({length: 32}, () => [0, 0, 0, 0])},
    {
      scheme: tsit5(),
      dt: 0.05,
      t1: 1,
      control: adaptive(tolerances),
      saveAt: times,
      observe: ({y}) => decoder.apply(y),
    },
    {
      initial: ({data}) => ({y: encoder.apply((data as With<'seen'>).seen)}),
      loss: ({observed, data}) =>
        tf.mean(tf.squaredDifference(tf.transpose(tf.reshape(observed, [20, 32])), (data as With<'seen'>).seen)),
      rate: 1e-3,
      batches: [{data: {seen}}],
    },
    {
      encoder: layersOf(encoder),
      field: layersOf(field),
      decoder: layersOf(decoder),
      times,
      seen,
      dt: 0.05,
      end: 1,
      ...tolerances,
    },
  );
}

/** Four masses on springs and a network on all of them, by implicit midpoint. */
function hybrid(): TrainingRow {
  const {masses, damping, dt, hidden, start, steps} = hybridModel;
  const {k, w0, b0, w1, b1} = hybridModel.parameters() as {[name: string]: number[][] & number[]};
  const stiffness = tf.variable(tf.tensor1d(k));
  const network = mlpOfWeights('tanh', [
    {weights: w0, bias: b0},
    {weights: w1, bias: b1},
  ]);
  const system = mechanics({
    mass: 1,
    forces: ({q, v}) => {
      const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [masses - 1])]));
      const tension = tf.mul(stiffness, d);
      const springs = tf.sub(tf.concat([tf.slice(tension, [1], [masses - 1]), tf.zeros([1])]), tension);
      const learnt = network.apply(tf.reshape(tf.concat([q, v]), [1, 2 * masses]));
      return tf.sub(tf.add(springs, tf.reshape(learnt, [masses])), tf.mul(v, damping));
    },
  });
  const target = hybridModel.target();
  return row(
    system,
    start,
    {scheme: implicitMidpoint(), dt, steps},
    {
      loss: ({q, data}) =>
        tf.mean(tf.squaredDifference(q, tf.reshape((data as With<'target'>).target, [steps + 1, masses]))),
      rate: spiralModel.rate,
      batches: [{data: {target}}],
    },
    {
      layers: layersOf(network),
      stiffness: stiffness.arraySync(),
      start,
      target: Array.from(target),
      damping,
      dt,
      steps,
      hidden,
    },
  );
}

/** Known growth and decay, and a network 2–5–5–2 for what they leave out (Rackauckas et al. 2020), at 31 times. */
function lotkaVolterra(): TrainingRow {
  const network = mlp({sizes: [2, 5, 5, 2], activation: 'tanh', seed: 1});
  const rates = tf.variable(tf.tensor1d([1.3, -1.8]));
  const times = Array.from({length: 31}, (_, k) => 0.1 * k);
  const target = times.map(t => [1 + Math.sin(t), 2 + Math.cos(t)]);
  const start = [0.44, 4.6];
  const tolerances = {rtol: 1e-6, atol: 1e-6};
  return row(
    ode(({y}) => tf.add(tf.mul(rates, y), onVector(network, y))),
    {y: start},
    {scheme: tsit5(), dt: 0.1, t1: 3, control: adaptive(tolerances), saveAt: times},
    {
      loss: ({y, data}) => tf.mean(tf.squaredDifference(y, (data as With<'target'>).target)),
      rate: 1e-4,
      batches: [{data: {target}}],
    },
    {layers: layersOf(network), rates: rates.arraySync(), start, times, target, dt: 0.1, ...tolerances},
  );
}

export const trainingRows: {readonly [name in TrainingName]: () => TrainingRow} = {
  spiral: () => spiral(false),
  'spiral-adaptive': () => spiral(true),
  'small-net': smallNet,
  'latent-ode': latentOde,
  hybrid,
  'lotka-volterra': lotkaVolterra,
};

/** What the Python peers read: the numbers of every row by its name. */
export const trainingNumbers = (): {[name: string]: TrainingRow['numbers']} =>
  Object.fromEntries(Object.entries(trainingRows).map(([name, make]) => [name, make().numbers]));
