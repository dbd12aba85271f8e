import * as tf from '@tensorflow/tfjs';
import {adaptive, batch, ode, simulate, tsit5} from '../lib/index.js';
import {mlp} from '../models/index.js';
const rows = 32, count = 20;
const network = mlp({sizes: [2, 64, 64, 2], activation: 'tanh', seed: 1});
const opts = {scheme: tsit5(), dt: 0.05, t1: 1};
const times = Array.from({length: count}, (_, k) => (k + 1) / count);
const start = Array.from({length: rows}, (_, i) => [Math.cos(i), Math.sin(i)]);
const whole = simulate.prepare(ode(({y}) => network.apply(y)), {y: start}, {...opts, saveAt: times});
const planned = simulate.prepare(ode(({y}) => network.apply(y)), {y: start}, {...opts, saveAt: times.map((t, i) => t - (i === 3 ? 0.01 : 0))});
const seen = Array.from({length: count}, () => start);
const loss = ({y, data}: any) => tf.mean(tf.squaredDifference(y, data.seen));
const one = ode(({y}) => tf.reshape(network.apply(tf.reshape(y, [1, 2])), [2]));
const b = batch.prepare(one, {y: [0, 0]}, {...opts, lanes: 32});
const m = start.map((y, i) => ({initial: {y}, saveAt: times, data: {seen: times.map(() => y)}}));
const runs: [string, () => unknown][] = [
  ['whole value', () => whole.value(loss, {data: {seen}})], ['whole grad', () => whole.valueAndGrad(loss, {data: {seen}})],
  ['planned value', () => planned.value(loss, {data: {seen}})], ['planned grad', () => planned.valueAndGrad(loss, {data: {seen}})],
  ['lanes value', () => b.value(loss, m)], ['lanes grad', () => b.valueAndGrad(loss, m)],
];
const best = runs.map(() => Infinity);
for (let r = 0; r < 100; r++) runs.forEach(([, f], i) => { const t = performance.now(); f(); best[i] = Math.min(best[i], performance.now() - t); });
console.log(runs.map(([n], i) => `${n} ${best[i].toFixed(2)}`).join('\n'));
if (process.argv[2]) { const t = performance.now(); while (performance.now() - t < 5000) runs[5][1](); }
