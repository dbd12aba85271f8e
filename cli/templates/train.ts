/** A network learns the unknown friction: mass and spring are known, the damper is not. */
import {readFileSync} from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import {mechanics, simulate} from 'stiffgrad';
import {mlp, neuralForce, spring} from 'stiffgrad/models';
import {train} from 'stiffgrad/training';

tf.enableProdMode();
const rows = readFileSync('record.csv', 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map(row => Number(row.split(',')[1]));
const measured = tf.tensor1d(rows.slice(0, 101));
const network = mlp({sizes: [1, 8, 1], seed: 1});
const system = mechanics({mass: 1, forces: [spring({stiffness: 40}), neuralForce(network, {inputs: ['v']})]});
const model = simulate.prepare(system, {q: 0.1, v: 0}, {dt: 0.01, steps: 100});

const result = await train({
  loss: () => tf.tidy(() => tf.mean<tf.Scalar>(tf.squaredDifference(model.run().q, measured))),
  variables: network.variables,
  optimizer: tf.train.adam(0.02),
  data: ['the record'],
  epochs: 150,
});
await result.report('report.html', {title: 'Learnt friction of a mass on a spring'});
console.log(`${result}\nreport.html shows the loss.`);
