/**
 * What the test of killed runs runs in a process of its own: a stiffness and a network, trained through implicit
 * steps on noisy batches, with a checkpoint after every step. At its end it prints a digest of the weights.
 *
 *     node program.js directory epochs
 */
import {createHash} from 'node:crypto';
import * as tf from '@tensorflow/tfjs';
import {implicitMidpoint, mechanics, simulate} from '../../../lib/index.js';
import {mlp, neuralForce, spring} from '../../../models/index.js';
import {exponentialDecay, train} from '../../../training/index.js';

const [directory, epochs] = process.argv.slice(2);
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

tf.enableProdMode();
const {resumedFrom, steps} = await train({
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
  variables: [stiffness, ...network.variables, ballast],
  optimizer: tf.train.adam(0.01),
  schedule: exponentialDecay({rate: 0.01, factor: 0.5, every: 50}),
  clip: {norm: 1},
  data,
  epochs: Number(epochs),
  batchSize: 5,
  seed: 7,
  checkpoint: {directory, every: 1},
  resume: true,
  metrics: `${directory}/metrics.jsonl`,
  onProgress: ({step}) => {
    process.stdout.write(`step ${step}\n`);
  },
});
const digest = createHash('sha256');
for (const variable of [stiffness, ...network.variables, ballast])
  digest.update(new Uint8Array(Float32Array.from(variable.dataSync()).buffer));
process.stdout.write(`done ${digest.digest('hex')} ${steps} ${resumedFrom ?? 0}\n`);
