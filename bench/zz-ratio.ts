import * as tf from '@tensorflow/tfjs';
import {adaptive, batch, ode, simulate, tsit5} from '../lib/index.js';
import {mlp} from '../models/index.js';
const rows = 32, count = 20;
const lanesList = [8, 16, 32];
for (const sizes of [[2, 32, 32, 2], [2, 64, 64, 2]]) for (const control of [undefined, adaptive({rtol: 1e-3, atol: 1e-6, growth: 10, controller: {integral: 1}})]) {
  const network = mlp({sizes, activation: 'tanh', seed: 1});
  const opts = {scheme: tsit5(), dt: 0.05, t1: 1, control};
  const times = Array.from({length: count}, (_, k) => (k + 1) / count);
  const start = Array.from({length: rows}, (_, i) => [Math.cos(i), Math.sin(i)]);
  const whole = simulate.prepare(ode(({y}) => network.apply(y)), {y: start}, {...opts, saveAt: times});
  const seen = Array.from({length: count}, () => start);
  const lossW = ({y, data}: any) => tf.mean(tf.squaredDifference(y, data.seen));
  const regular = () => whole.valueAndGrad(lossW, {data: {seen}}).value;
  const one = ode(({y}) => tf.reshape(network.apply(tf.reshape(y, [1, 2])), [2]));
  const lossM = ({y, data}: any) => tf.mean(tf.squaredDifference(y, data.seen));
  const makers: [string, () => number][] = [['regular', regular]];
  let seed = 1; const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const own = Array.from({length: rows}, () => [...Array.from({length: count - 1}, () => random()).sort((a, b) => a - b), 1]);
  for (const lanes of lanesList) {
    const prepared = batch.prepare(one, {y: [0, 0]}, {...opts, lanes});
    const members = start.map((y, i) => ({initial: {y}, saveAt: own[i], data: {seen: times.map(() => y)}}));
    const common = start.map((y, i) => ({initial: {y}, saveAt: times, data: {seen: times.map(() => y)}}));
    makers.push([`own ${lanes}`, () => prepared.valueAndGrad(lossM, members).value]);
    makers.push([`common ${lanes}`, () => prepared.valueAndGrad(lossM, common).value]);
  }
  const best = makers.map(() => Infinity);
  for (let round = 0; round < 60; round++) makers.forEach(([, run], i) => { const b = performance.now(); run(); best[i] = Math.min(best[i], performance.now() - b); });
  console.log(sizes.join('-'), control ? 'adaptive' : 'fixed', makers.map(([n], i) => `${n}: ${best[i].toFixed(2)} (${(best[i] / best[0]).toFixed(2)})`).join('  '), makers[0][1](), makers[2][1]());
}
