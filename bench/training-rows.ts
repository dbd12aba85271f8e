/**
 * Models in training as they are common, each a compiled step: the spiral of bench/spiral.ts by fixed and adaptive steps, a
 * small network and one trajectory, a latent ODE seen at irregular times, the hybrid chain of bench/hybrid.ts, and a
 * Lotka–Volterra model with a network beside known rates. Names are theirs in docs/compiled-training.md.
 */
import * as tf from '@tensorflow/tfjs';
import type {System} from '../lib/index.js';
import {adaptive, ode, simulate, tsit5} from '../lib/index.js';
import type {Mlp} from '../models/index.js';
import {mlp} from '../models/index.js';
import type {StepBatch, TrainingStep} from '../training/index.js';
import {adam, trainingStep} from '../training/index.js';
import {hybrid, spiral} from './peers/stiffgrad-training.js';

type With<Name extends string> = {readonly [name in Name]: tf.Tensor};

/** A network on one state [n]. */
const onVector = (network: Mlp, y: tf.Tensor): tf.Tensor =>
  tf.reshape(network.apply(tf.reshape(y, [1, y.size])), y.shape);

const steps =
  <S extends System>(step: TrainingStep<S>, batch: StepBatch<S>) =>
  (): void =>
    void step(batch);

/** 2–16–16–2, 50 steps of tsit5 along one circle. */
function smallNet(): () => void {
  const network = mlp({sizes: [2, 16, 16, 2], activation: 'tanh', seed: 1});
  const model = simulate.prepare(
    ode(({y}) => onVector(network, y)),
    {y: [1, 0]},
    {scheme: tsit5(), dt: 0.1, steps: 50},
  );
  const target = Array.from({length: 51}, (_, k) => [Math.cos(0.1 * k), Math.sin(0.1 * k)]);
  const step = trainingStep(model, {
    loss: ({y, data}) => tf.mean(tf.squaredDifference(y, (data as With<'target'>).target)),
    optimizer: adam({rate: 1e-3}),
  });
  return steps(step, {data: {target}});
}

/** 32 curves of 20 irregular samples, an encoder 20–32–4, a latent field 4–32–4, a decoder 4–16–1. */
function latentOde(): () => void {
  const encoder = mlp({sizes: [20, 32, 4], seed: 1});
  const field = mlp({sizes: [4, 32, 4], activation: 'tanh', seed: 2});
  const decoder = mlp({sizes: [4, 16, 1], seed: 3});
  const times = Array.from({length: 20}, (_, k) => (k + (k === 0 ? 0 : 0.3 * Math.sin(7 * k))) / 20);
  const model = simulate.prepare(
    ode(({y}) => field.apply(y)),
    {y: Array.from({length: 32}, () => [0, 0, 0, 0])},
    {
      scheme: tsit5(),
      dt: 0.05,
      t1: 1,
      control: adaptive({rtol: 1e-3, atol: 1e-6}),
      saveAt: times,
      observe: ({y}) => decoder.apply(y),
    },
  );
  const seen = Array.from({length: 32}, (_, row) => times.map(t => Math.sin(4 * t + row)));
  const step = trainingStep(model, {
    initial: ({data}) => ({y: encoder.apply((data as With<'seen'>).seen)}),
    loss: ({observed, data}) =>
      tf.mean(tf.squaredDifference(tf.transpose(tf.reshape(observed, [20, 32])), (data as With<'seen'>).seen)),
    optimizer: adam({rate: 1e-3}),
  });
  return steps(step, {data: {seen}});
}

/** Known growth and decay, and a network 2–5–5–2 for what they leave out (Rackauckas et al. 2020), at 31 times. */
function lotkaVolterra(): () => void {
  const network = mlp({sizes: [2, 5, 5, 2], activation: 'tanh', seed: 1});
  const rates = tf.variable(tf.tensor1d([1.3, -1.8]));
  const times = Array.from({length: 31}, (_, k) => 0.1 * k);
  const model = simulate.prepare(
    ode(({y}) => tf.add(tf.mul(rates, y), onVector(network, y))),
    {y: [0.44, 4.6]},
    {scheme: tsit5(), dt: 0.1, t1: 3, control: adaptive({rtol: 1e-6, atol: 1e-6}), saveAt: times},
  );
  const step = trainingStep(model, {
    loss: ({y, data}) => tf.mean(tf.squaredDifference(y, (data as With<'target'>).target)),
    optimizer: adam({rate: 1e-4}),
  });
  return steps(step, {data: {target: times.map(t => [1 + Math.sin(t), 2 + Math.cos(t)])}});
}

const stepOf = ({step}: {step?(): void}): (() => void) => {
  if (step === undefined) throw new Error('this workload has no training step');
  return () => step();
};

export const trainingRows: {readonly [name: string]: () => () => void} = {
  'spiral, fixed steps': () => stepOf(spiral(false, 'prepared')),
  'spiral, adaptive steps': () => stepOf(spiral(true, 'prepared')),
  'small net': smallNet,
  'latent ODE': latentOde,
  'hybrid chain': () => stepOf(hybrid('prepared')),
  'Lotka–Volterra': lotkaVolterra,
};
