/**
 * The classic neural ODE: y′ = a network of y, trained on spirals (Chen et al., NeurIPS 2018; the numbers of the
 * example of diffrax: 256 spirals from U(−0.6, 1)², times 0 to 10, a network 2–64–64–2 with softplus, batches of 32;
 * first on a tenth of the time, then on all of it). A batch is one state [32, 2], so one run of tsit5 takes it all, a
 * step for each time.
 *
 *     npx tsx examples/spiral.ts
 */
import * as tf from '@tensorflow/tfjs';
import {ode, simulate, tsit5} from '../lib/index.js';
import {mlp, type Mlp} from '../models/index.js';
import {train, type Chart, type Series, type TrainingResult} from '../training/index.js';
import {Random} from '../training/train/random.js';
import {script, shown, type ScriptArguments} from './script.js';

export interface Spirals {
  /** [spirals][times · 2] */
  readonly paths: readonly Float64Array[];
  readonly times: number;
  readonly dt: number;
}

/** With x = y / (1 + |y|), y′ = (x₂, −x₁), elementwise: the field behind the spirals. */
const field = ode(({y}) => {
  const x = tf.div(y, tf.add(1, tf.abs(y)));
  return tf.matMul(
    x,
    tf.tensor2d([
      [0, -1],
      [1, 0],
    ]),
  );
});

/** `count` spirals at `times` times from 0 to 10. */
export function made(count: number, times: number): Spirals {
  const random = new Random(5678);
  const dt = 10 / (times - 1);
  const starts = Float64Array.from({length: 2 * count}, () => 1.6 * random.uniform() - 0.6);
  const rows = Array.from({length: count}, (_, i) => [starts[2 * i], starts[2 * i + 1]]);
  const run = simulate(field, {y: rows}, {scheme: tsit5(), dt, steps: times - 1});
  const all = run.values('y');
  run.dispose();
  return {
    times,
    dt,
    paths: rows.map((_, i) =>
      Float64Array.from({length: 2 * times}, (_, k) => all[Math.floor(k / 2) * 2 * count + 2 * i + (k % 2)]),
    ),
  };
}

/** The derivative that is learnt. */
const learntField = (network: Mlp) => ode(({y}) => network.apply(y));

/** The first so many times of a batch, [times, batch, 2], as a run saves them. */
function stacked(batch: readonly Float64Array[], times: number): tf.Tensor3D {
  const values = new Float32Array(times * batch.length * 2);
  batch.forEach((path, i) => {
    for (let k = 0; k < times; k++) values.set(path.subarray(2 * k, 2 * k + 2), 2 * (k * batch.length + i));
  });
  return tf.tensor3d(values, [times, batch.length, 2]);
}

/** A stage of the training: on the first `times` times of every spiral. */
export async function stage(
  network: Mlp,
  {paths, dt}: Spirals,
  times: number,
  epochs: number,
  batchSize: number,
  onProgress?: Parameters<typeof train>[0]['onProgress'],
): Promise<TrainingResult> {
  const model = simulate.prepare(
    learntField(network),
    {y: Array.from({length: batchSize}, () => [0, 0])},
    {scheme: tsit5(), dt, steps: times - 1},
  );
  return train({
    loss: batch =>
      tf.tidy(() => {
        const {y} = model.run({initial: {y: batch.map(path => [path[0], path[1]])}});
        return tf.mean(tf.squaredDifference(y, stacked(batch, times)));
      }),
    variables: network.variables,
    optimizer: tf.train.adam(3e-3),
    data: paths,
    batchSize,
    epochs,
    seed: 5678,
    clip: {norm: 1},
    onProgress,
  });
}

/** One spiral and what the network makes of its start, in the plane. */
function figure(network: Mlp, {paths, times, dt}: Spirals): Chart {
  const series = [0, 1, 2].flatMap((which): Series[] => {
    const path = paths[which];
    const run = simulate(learntField(network), {y: [[path[0], path[1]]]}, {scheme: tsit5(), dt, steps: times - 1});
    const learnt = run.values('y');
    run.dispose();
    const of = (values: Float64Array, k: number): Float64Array => values.filter((_, i) => i % 2 === k);
    return [
      {name: `spiral ${which + 1}`, x: of(path, 0), y: of(path, 1), style: 'underlay'},
      {name: 'learnt', x: of(learnt, 0), y: of(learnt, 1), color: which},
    ];
  });
  return {title: 'Spirals', x: {label: 'y₁'}, y: {label: 'y₂'}, series};
}

export async function main({report, short}: ScriptArguments): Promise<void> {
  const spirals = short ? made(32, 21) : made(256, 100);
  const network = mlp({sizes: [2, 64, 64, 2], activation: 'softplus', seed: 5678});
  const batchSize = short ? 16 : 32;
  console.log(`${spirals.paths.length} spirals of ${spirals.times} points; a network 2–64–64–2.\n`);
  // 8 batches an epoch: 500 steps each, as the example takes.
  const epochs = short ? 2 : 63;
  const first = await shown('A tenth of the time', show =>
    stage(network, spirals, Math.max(2, Math.round(spirals.times / 10)), epochs, batchSize, show.train),
  );
  const second = await shown('All of it', show =>
    stage(network, spirals, spirals.times, epochs, batchSize, show.train),
  );
  const loss = ({history}: TrainingResult): string => history[history.length - 1].loss.toPrecision(3);
  console.log(
    `Mean square error: ${loss(first)} on a tenth of the time, then ${loss(second)} on all of it; `
      + `${((1e3 * second.seconds) / second.steps).toFixed(0)} ms a step.`,
  );
  await second.report(report, {
    title: 'A neural ODE on spirals',
    description: 'The second stage of the training, on complete spirals.',
    charts: [figure(network, spirals)],
  });
  console.log(`Report: ${report}`);
}

script(import.meta.url, 'spiral', 'The classic neural ODE on spirals. Makes its own data.', main);
