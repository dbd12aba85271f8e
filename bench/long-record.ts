/**
 * A record of 1e5 samples by multiple shooting: a driven Duffing oscillator from a guess with which a single run of it
 * would lose the record within a few of its swings. Prints the steps, the time and the memory.
 *
 *     npx tsx bench/long-record.ts [samples] [segments]
 */
import * as tf from '@tensorflow/tfjs';
import {mechanics, rk4, signal, simulate} from '../lib/index.js';
import {gaussian} from '../training/data/noise.js';
import {identify} from '../training/identify/identify.js';
import {free, positive} from '../training/identify/parameters.js';
import {multiple} from '../training/identify/shooting.js';

const [samples, segments] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 1000)];
/** Of a swing of about six. */
const dt = 0.05;
const truth = {c: 0.2, k: 1, k3: 0.5};

const system = mechanics({
  mass: 1,
  forces: ({
    q,
    v,
    params,
  }: {
    q: tf.Tensor;
    v: tf.Tensor;
    params: {readonly [name in 'c' | 'k' | 'k3' | 'u']: tf.Tensor};
  }) => tf.sub(params.u, tf.addN([tf.mul(params.c, v), tf.mul(params.k, q), tf.mul(params.k3, tf.pow(q, 3))])),
});

tf.enableProdMode();
const random = gaussian(1);
const t = Float64Array.from({length: samples}, (_, i) => i * dt);
let force = 0;
const u = t.map(() => (force = 0.95 * force + random()));
const inputs = {u: signal(t, u, 'linear')};
const motion = simulate(
  system,
  {q: 0.5, v: 0},
  {scheme: rk4(), dt, steps: samples - 1, params: truth as never, inputs},
);
const q = motion.values('q').map(value => value + 0.02 * random());
motion.dispose();

const began = performance.now();
const processor = process.cpuUsage();
let steps = 0;
const fit = await identify({
  system,
  scheme: rk4(),
  dt,
  data: {t, q, inputs},
  parameters: {
    c: positive(0.5),
    k: positive(2.5),
    k3: positive(0.1),
    'initial.q': free(0.4),
    'initial.v': free(0),
  },
  shooting: multiple({segments}),
  onProgress: ({cost}) => console.log(`step ${++steps}: cost ${cost.toPrecision(5)}`),
});
const {user, system: kernel} = process.cpuUsage(processor);
const {c, k, k3} = fit.estimate;
console.log(
  `${samples} samples, ${segments} segments: ${steps} steps, ${((performance.now() - began) / 1000).toFixed(1)} s (${((user + kernel) / 1e6).toFixed(1)} s of the processors), at most ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB`,
);
for (const [name, value] of Object.entries({c, k, k3}))
  console.log(
    `${name} ${value.toFixed(5)} ± ${(fit.standardError[name as 'c'] as number).toExponential(1)} (made with ${truth[name as 'c']})`,
  );
