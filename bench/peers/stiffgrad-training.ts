/**
 * This project in training, as a user writes it: prepared, by a compiled training step; plain and on threads, by a loss of
 * tfjs operations on its tape, and one of tfjs's optimizers. Loss and gradient norm to be compared are found beside it, in
 * double precision.
 */
import * as tf from '@tensorflow/tfjs';
import type {Initial, MechanicalSystem, OdeSystem, SimulateOptions, System} from '../../lib/index.js';
import {adaptive, batch, implicitMidpoint, mechanics, ode, simulate, tsit5} from '../../lib/index.js';
import * as hybridModel from '../hybrid.js';
import {adam, trainingStep} from '../../training/index.js';
import type {StepBatch, StepState, TrainingStep} from '../../training/index.js';
import {
  batchSize,
  dt,
  growth,
  rate,
  restart,
  sizes,
  spirals,
  startsOf,
  targets,
  times,
  tolerances,
  weights,
} from '../spiral.js';
import type {Answer} from '../workloads.js';
import type {Prepared} from './protocol.js';
import {gradientNorm, Trainer} from './trainer.js';

/** How a batch is run: prepared once, traced in every loss, or as two halves on as many threads. */
export type Way = 'prepared' | 'plain' | 'threads';

/** The network as a slope; its weights by name. */
const learntField = (weight: Weight): OdeSystem =>
  ode(({y, params}) => {
    let signal: tf.Tensor = y;
    for (let i = 0; i + 1 < sizes.length; i++) {
      signal = tf.add(
        tf.matMul(signal as tf.Tensor2D, weight(`w${i}`, params) as tf.Tensor2D),
        weight(`b${i}`, params),
      );
      if (i + 2 < sizes.length) signal = tf.softplus(signal);
    }
    return signal;
  });

type Weight = (name: string, params: {readonly [name: string]: unknown}) => tf.Tensor;
const ofParams: Weight = (name, params) => params[name] as tf.Tensor;
const variablesOf = (values: {readonly [name: string]: number[] | number[][]}): Map<string, tf.Variable> =>
  new Map(Object.entries(values).map(([name, numbers]) => [name, tf.variable(tf.tensor(numbers))]));

/** A compiled step that begins anew now and then, as `Trainer` does. @param batch of a step's number since the beginning */
function compiledSteps<S extends System>(step: TrainingStep<S>, batch: (step: number) => StepBatch<S>): () => void {
  let begin: StepState | undefined;
  return () => {
    if (begin === undefined) {
      step.loss(batch(0));
      begin = step.save();
    }
    if (step.count === restart) step.restore(begin);
    step(batch(step.count));
  };
}

/** Mean square distance of the saved values from a target, and the norm of its gradient, in double precision. */
function answer(
  system: System,
  initial: Initial,
  options: SimulateOptions,
  name: 'q' | 'y',
  target: Float64Array,
): Answer {
  const {trajectory, pullback} = simulate.vjp(system, initial, options);
  const error = trajectory.values(name).map((value, i) => value - target[i]);
  trajectory.dispose();
  const gradient = pullback({[name]: error.map(e => (2 * e) / error.length)}).params;
  return {
    loss: error.reduce((sum, e) => sum + e * e, 0) / error.length,
    gradientNorm: gradientNorm(Object.values(gradient) as Float64Array[]),
  };
}

/** Runs a whole batch and gives its states as [times, batch, 2]. */
function runner(
  system: OdeSystem,
  options: SimulateOptions,
  way: Way,
): (starts: readonly [number, number][]) => tf.Tensor {
  if (way === 'plain') return starts => simulate(system, {y: starts}, options).y as tf.Tensor;
  if (way === 'prepared') {
    const model = simulate.prepare(system, {y: startsOf(targets(0))}, options);
    return starts => model.run({initial: {y: starts}}).y as tf.Tensor;
  }
  const half = batchSize / 2;
  return starts =>
    tf.concat(
      batch(
        system,
        [starts.slice(0, half), starts.slice(half)].map(y => ({y})),
        {...options, workers: 2},
      ).map(({y}) => y as tf.Tensor),
      1,
    );
}

export function spiral(isAdaptive: boolean, way: Way): Prepared {
  const fixed = {scheme: tsit5(), dt, steps: times - 1};
  const options = isAdaptive
    ? {
        scheme: tsit5(),
        dt,
        t1: (times - 1) * dt,
        control: adaptive({...tolerances, growth, controller: {integral: 1}}),
        saveAt: Array.from({length: times}, (_, k) => k * dt),
      }
    : fixed;
  const all = targets(0);
  const first = answer(learntField(ofParams), {y: startsOf(all)}, {...options, params: weights()}, 'y', all);
  const named = variablesOf(weights());
  const weight: Weight = name => named.get(name) as tf.Variable;
  const run = runner(learntField(weight), options, way);
  const data = Array.from({length: spirals / batchSize}, (_, i) => targets(i)).map(values => ({
    starts: startsOf(values),
    values,
    target: tf.tensor3d(Float32Array.from(values), [times, batchSize, 2]),
  }));
  const forward = (): void => tf.dispose(run(data[0].starts));
  if (way === 'prepared') {
    const model = simulate.prepare(learntField(weight), {y: startsOf(all)}, options);
    const step = trainingStep(model, {
      loss: ({y, data: given}) =>
        tf.mean(tf.squaredDifference(y, tf.reshape(given.target as tf.Tensor, [times, batchSize, 2]))),
      optimizer: adam({rate}),
    });
    const batches = data.map(({starts, values}) => ({initial: {y: starts}, data: {target: values}}));
    return {forward, gradient: () => first, step: compiledSteps(step, n => batches[n % batches.length])};
  }
  const trainer = new Trainer([...named.values()], step => {
    const {starts, target} = data[step % data.length];
    return tf.mean(tf.squaredDifference(run(starts), target));
  });
  return {forward, gradient: () => first, step: () => trainer.step()};
}

/** Springs and a network on the masses of hybrid.ts. */
const hybridSystem = (weight: Weight): MechanicalSystem =>
  mechanics({
    mass: 1,
    forces: ({q, v, params}) => {
      const {masses, damping} = hybridModel;
      const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [masses - 1])]));
      const tension = tf.mul(weight('k', params), d);
      const springs = tf.sub(tf.concat([tf.slice(tension, [1], [masses - 1]), tf.zeros([1])]), tension);
      const signal = tf.tanh(
        tf.add(
          tf.matMul(tf.reshape(tf.concat([q, v]), [1, 2 * masses]), weight('w0', params) as tf.Tensor2D),
          weight('b0', params),
        ),
      );
      const network = tf.add(
        tf.matMul(signal as tf.Tensor2D, weight('w1', params) as tf.Tensor2D),
        weight('b1', params),
      );
      return tf.sub(tf.add(springs, tf.reshape(network, [masses])), tf.mul(v, damping));
    },
  });

export function hybrid(way: Way): Prepared {
  const {start, steps, masses} = hybridModel;
  const options = {scheme: implicitMidpoint(), dt: hybridModel.dt, steps};
  const named = variablesOf(hybridModel.parameters());
  const system = hybridSystem(name => named.get(name) as tf.Variable);
  const model = simulate.prepare(system, start, options);
  const run = (): tf.Tensor => (way === 'plain' ? simulate(system, start, options) : model.run()).q;
  const values = hybridModel.target();
  const target = tf.tensor2d(Float32Array.from(values), [steps + 1, masses]);
  const gradient = (): Answer =>
    answer(hybridSystem(ofParams), start, {...options, params: hybridModel.parameters()}, 'q', values);
  const forward = (): void => tf.dispose(run());
  if (way === 'prepared') {
    const step = trainingStep(model, {
      loss: ({q, data}) => tf.mean(tf.squaredDifference(q, tf.reshape(data.target as tf.Tensor, [steps + 1, masses]))),
      optimizer: adam({rate}),
    });
    return {forward, gradient, step: compiledSteps(step, () => ({data: {target: values}}))};
  }
  const trainer = new Trainer([...named.values()], () => tf.mean(tf.squaredDifference(run(), target)));
  return {forward, gradient, step: () => trainer.step()};
}
