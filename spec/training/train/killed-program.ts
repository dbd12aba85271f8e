/**
 * What the test of killed runs runs in a process of its own: a stiffness and a network, trained through implicit
 * steps on noisy batches, with a checkpoint after every step. At its end it prints a digest of the weights.
 *
 *     node program.js directory epochs tape|compiled
 */
import {createHash} from 'node:crypto';
import * as tf from '@tensorflow/tfjs';
import {implicitMidpoint, mechanics, simulate} from '../../../lib/index.js';
import {mlp, neuralForce, spring} from '../../../models/index.js';
import {adam, train, trainingStep} from '../../../training/index.js';
import {exponential} from '../../../training/train/schedules.js';

const [directory, epochs, way] = process.argv.slice(2);
const stiffness = tf.variable(tf.scalar(3));
const network = mlp({sizes: [1, 8, 1], seed: 2});
// Dead weight: the larger the file, the longer its writing, the more kills fall into it.
const ballast = tf.variable(tf.zeros([20_000]));
const options = {scheme: implicitMidpoint(), dt: 0.1, steps: 10};
const hidden = mechanics({mass: 1, forces: [spring({stiffness: 4}), ({v}) => tf.mul(-0.3, tf.pow(v, 3))]});
const starts = Array.from({length: 12}, (_, i) => ({q: Math.cos(i), v: Math.sin(2 * i)}));
const data = starts.map(start => ({start, q: simulate(hidden, start, options).values('q')}));
const model = simulate.prepare(
  mechanics({mass: 1, forces: [spring({stiffness}), neuralForce(network, {inputs: ['v']})]}),
  starts[0],
  options,
);

const settings = {
  schedule: exponential({rate: 0.01, factor: 0.5, every: 50}),
  data,
  epochs: Number(epochs),
  batchSize: 5,
  seed: 7,
  checkpoint: {directory, every: 1},
  resume: true,
  metrics: `${directory}/metrics.jsonl`,
  onProgress: ({step}: {readonly step: number}) => {
    process.stdout.write(`step ${step}\n`);
  },
};
const variables = [stiffness, ...network.variables, ballast];

const byTape = () =>
  train({
    ...settings,
    loss: (batch, {random}) =>
      tf.tidy(
        () =>
          tf.addN([
            tf.mul(1e-9, tf.sum(tf.square(ballast))),
            ...batch.map(({start, q}) =>
              tf.mean(
                tf.squaredDifference(
                  model.run({initial: start}).q,
                  tf.tensor1d(Float32Array.from(q, x => x + 1e-3 * random.normal())),
                ),
              ),
            ),
          ]) as tf.Scalar,
      ),
    variables,
    optimizer: tf.train.adam(0.01),
    clip: {norm: 1},
  });

const step = trainingStep(model, {
  loss: ({q, data: {target}}) =>
    tf.add(tf.mul(1e-9, tf.sum(tf.square(ballast))), tf.mean(tf.squaredDifference(q, target as tf.Tensor))),
  optimizer: adam({rate: 0.01}),
  clip: {norm: 1},
});
const compiled = () =>
  train({
    ...settings,
    step,
    batch: (examples, {random}) =>
      examples.map(({start, q}) => ({initial: start, data: {target: q.map(x => x + 1e-3 * random.normal())}})),
  });

tf.enableProdMode();
const {resumedFrom, steps} = await (way === 'compiled' ? compiled() : byTape());
const digest = createHash('sha256');
for (const variable of variables) {
  const values = way === 'compiled' ? step.values(variable) : Float32Array.from(variable.dataSync());
  digest.update(new Uint8Array(values.buffer));
}
process.stdout.write(`done ${digest.digest('hex')} ${steps} ${resumedFrom ?? 0}\n`);
