/**
 * The first loss and gradient of small neural models, in milliseconds of processor time beyond the import: `first-calls.js` runs
 * each in a process of its own, the least of five; `first-calls.js model` prints one. Traced, derived, compiled and run.
 */
import {spawnSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import * as tf from '@tensorflow/tfjs';
import type {NumericParams, OdeSystem} from '../lib/index.js';
import {implicitMidpoint, mechanics, ode, simulate, tsit5} from '../lib/index.js';
import * as hybrid from './hybrid.js';
import {batchSize, dt, startsOf, targets, times, weights} from './spiral.js';
import {layer} from './weights.js';

type Weights = {readonly [name: string]: unknown};

const layers = (sizes: readonly number[]): NumericParams =>
  Object.fromEntries<number[][] | Float64Array>(
    sizes.slice(1).flatMap((to, i) => [
      [`w${i}`, layer(i, sizes[i], to)],
      [`b${i}`, new Float64Array(to)],
    ]),
  );

/** @param count of the layers */
function network(x: tf.Tensor, params: Weights, count: number, activation: (x: tf.Tensor) => tf.Tensor): tf.Tensor {
  let signal = x;
  for (let i = 0; i < count; i++) {
    signal = tf.add(tf.matMul(signal as tf.Tensor2D, params[`w${i}`] as tf.Tensor2D), params[`b${i}`] as tf.Tensor);
    if (i + 1 < count) signal = activation(signal);
  }
  return signal;
}

const field = (count: number, activation: (x: tf.Tensor) => tf.Tensor): OdeSystem =>
  ode(({y, params}) => network(y, params as Weights, count, activation));

const spiralTarget = (): number[][][] => {
  const flat = targets(0);
  return Array.from({length: times}, (_, k) =>
    Array.from({length: batchSize}, (_row, i) =>
      Array.from(flat.subarray(2 * (k * batchSize + i), 2 * (k * batchSize + i) + 2)),
    ),
  );
};

/** Data are made before, and the call is what is timed. */
const models: {readonly [name: string]: () => () => void} = {
  spiral() {
    const [params, y, seen] = [weights() as NumericParams, startsOf(targets(0)), spiralTarget()];
    return () => {
      const options = {scheme: tsit5(), dt, steps: times - 1, params};
      simulate
        .prepare(field(3, tf.softplus), {y}, options)
        .valueAndGrad(at => tf.mean(tf.squaredDifference(at.y, at.data.seen as tf.Tensor)), {data: {seen}});
    };
  },
  small() {
    const params = layers([2, 16, 2]);
    return () => {
      const options = {scheme: tsit5(), dt: 0.1, steps: 20, params};
      simulate.prepare(field(2, tf.tanh), {y: [[1, 0]]}, options).valueAndGrad(({y}) => tf.mean(tf.square(y)));
    };
  },
  /** A latent state of four numbers, 32 of them at once, seen through a linear map of two. */
  latent() {
    const params = {...layers([4, 20, 20, 4]), seen: layer(7, 4, 2)};
    const y = Array.from({length: batchSize}, (_, i) => [0, 1, 2, 3].map(k => Math.cos(i + k)));
    return () => {
      const prepared = simulate.prepare(field(3, tf.elu), {y}, {scheme: tsit5(), dt: 0.05, steps: 20, params});
      prepared.valueAndGrad(({y: path, params: all}) =>
        tf.mean(tf.square(tf.matMul(tf.reshape(path, [-1, 4]), (all as Weights).seen as tf.Tensor2D))),
      );
    };
  },
  hybrid() {
    const system = mechanics({
      mass: 1,
      forces: ({q, v, params}) => {
        const before = tf.concat([tf.zeros([1]), tf.slice(q, [0], [hybrid.masses - 1])]);
        const tension = tf.mul((params as Weights).k as tf.Tensor, tf.sub(q, before));
        const after = tf.concat([tf.slice(tension, [1], [hybrid.masses - 1]), tf.zeros([1])]);
        const learnt = network(tf.reshape(tf.concat([q, v]), [1, -1]), params as Weights, 2, tf.tanh);
        return tf.add(tf.sub(tf.sub(after, tension), tf.mul(v, hybrid.damping)), tf.reshape(learnt, [hybrid.masses]));
      },
    });
    const {steps, dt: h, start} = hybrid;
    const params = hybrid.parameters() as NumericParams;
    const flat = hybrid.target();
    const seen = Array.from({length: steps + 1}, (_, k) =>
      Array.from(flat.subarray(k * hybrid.masses, (k + 1) * hybrid.masses)),
    );
    return () => {
      const prepared = simulate.prepare(system, start, {scheme: implicitMidpoint(), dt: h, steps, params});
      prepared.valueAndGrad(({q, data}) => tf.mean(tf.squaredDifference(q, data.seen as tf.Tensor)), {data: {seen}});
    };
  },
};

const milliseconds = (): number => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1000;
};

const [, own, name] = process.argv;
if (name !== undefined) {
  const call = models[name]();
  const [begin, wall] = [milliseconds(), performance.now()];
  call();
  console.log(JSON.stringify({processor: milliseconds() - begin, wall: performance.now() - wall}));
} else {
  console.log('| model | processor, ms | clock, ms |\n| --- | --: | --: |');
  for (const each of Object.keys(models)) {
    const runs = Array.from({length: 5}, () => {
      const {stdout} = spawnSync(process.execPath, [fileURLToPath(new URL(own, 'file:')), each], {encoding: 'utf8'});
      return JSON.parse(stdout.trim().split('\n').slice(-1)[0]) as {processor: number; wall: number};
    });
    const least = (what: 'processor' | 'wall'): string => Math.min(...runs.map(run => run[what])).toFixed(0);
    console.log(`| ${each} | ${least('processor')} | ${least('wall')} |`);
  }
}
