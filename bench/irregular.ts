/**
 * 32 trajectories seen at 20 times each of their own, loss and gradient: as members of a prepared batch, and one by one; beside
 * the same 32 as one state on a regular grid. In turns, least of 240 rounds; prints a row of docs/compiled-training.md for each.
 */
import * as tf from '@tensorflow/tfjs';
import type {ObjectiveAt, Params} from '../lib/index.js';
import {adaptive, batch, ode, simulate, tsit5} from '../lib/index.js';
import {mlp} from '../models/index.js';

type Data = {readonly seen: tf.Tensor};
const [members, count, rounds] = [32, 20, 240];
const starts = Array.from({length: members}, (_, i) => [Math.cos(i), Math.sin(i)]);
const regular = Array.from({length: count}, (_, k) => (k + 1) / count);

/** Uniform on [0, 1], by Lehmer's generator. */
let seed = 1;
const random = (): number => (seed = (seed * 16807) % 2147483647) / 2147483647;
const own = starts.map(() => [...Array.from({length: count - 1}, random).sort((a, b) => a - b), 1]);

const loss = ({y, data: {seen}}: ObjectiveAt<Params, Data>): tf.Tensor => tf.mean(tf.squaredDifference(y, seen));

for (const width of [32, 64]) {
  const network = mlp({sizes: [2, width, width, 2], activation: 'tanh', seed: 1});
  const one = ode(({y}) => tf.reshape(network.apply(tf.reshape(y, [1, 2])), [2]));
  const rows = ode(({y}) => network.apply(y));
  for (const control of [undefined, adaptive({rtol: 1e-3, atol: 1e-6, growth: 10, controller: {integral: 1}})]) {
    const options = {scheme: tsit5(), dt: 0.05, t1: 1, control};
    const whole = simulate.prepare(rows, {y: starts}, {...options, saveAt: regular});
    const prepared = batch.prepare(one, {y: [0, 0]}, options);
    const single = batch.prepare(one, {y: [0, 0]}, {...options, lanes: 1});
    const at = (times: readonly (readonly number[])[]) =>
      starts.map((y, i) => ({initial: {y}, saveAt: times[i], data: {seen: times[i].map(() => y)}}));
    const [common, irregular] = [at(starts.map(() => regular)), at(own)];
    const seen = regular.map(() => starts);
    const runs = [
      () => whole.valueAndGrad(loss, {data: {seen}}),
      () => prepared.valueAndGrad(loss, common),
      () => prepared.valueAndGrad(loss, irregular),
      () => single.valueAndGrad(loss, irregular),
    ];
    const least = runs.map(() => Infinity);
    for (let round = 0; round < rounds; round++)
      runs.forEach((run, i) => {
        const begin = performance.now();
        run();
        least[i] = Math.min(least[i], performance.now() - begin);
      });
    const kind = control === undefined ? 'fixed' : 'adaptive';
    const cells = least.map(time => `${time.toFixed(2)} (${(time / least[0]).toFixed(2)})`);
    console.log(`| 2–${width}–${width}–2, ${kind} steps | ${cells.join(' | ')} |`);
  }
}
