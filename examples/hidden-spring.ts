/**
 * A hidden spring: a mass swings on a spring of which nothing is known but that it stores energy. A network becomes
 * its potential (Greydanus, Dzamba & Yosinski, Hamiltonian Neural Networks, NeurIPS 2019, in Newtonian form), trained
 * through implicit steps on noisy positions; its force is then held against the one that made the record.
 *
 *     npx tsx examples/hidden-spring.ts
 */
import * as tf from '@tensorflow/tfjs';
import {implicitMidpoint, mechanics, simulate} from '../lib/index.js';
import {damper, mlp, neuralPotential, spring} from '../models/index.js';
import {gaussian} from '../training/data/noise.js';
import {exponentialDecay, segments, train, type Chart, type Segment, type TrainingResult} from '../training/index.js';
import {rms, script, shown, type ScriptArguments} from './script.js';

const damping = damper({coefficient: 0.05});

/** −2(q + q³) N: what the network is to find. */
const hidden = spring({stiffness: 2, cubic: 1});

/** Of the measured positions, in m, and velocities, in m/s. */
const noise = {q: 2e-3, v: 5e-3};

export interface HiddenSpring {
  readonly training: TrainingResult;
  /** The range the motion covered, in m, and both forces over it, in N. */
  readonly q: Float64Array;
  readonly learnt: Float64Array;
  readonly truth: Float64Array;
}

/** Two motions of 20 s, one large and one small, in segments of half a second. */
function record(): Segment<'q' | 'v'>[] {
  const next = gaussian(5);
  return [1.2, -0.5].flatMap(start => {
    // Steps four times as fine as the learner's.
    const path = simulate(
      mechanics({mass: 1, forces: [hidden, damping]}),
      {q: start, v: 0},
      {scheme: implicitMidpoint(), dt: 0.0125, t1: 20, saveAt: {every: 4}},
    );
    const [t, q, v] = [
      path.values('t'),
      path.values('q').map(x => x + noise.q * next()),
      path.values('v').map(x => x + noise.v * next()),
    ];
    path.dispose();
    return segments({t, q, v}, {length: 11});
  });
}

export async function findSpring(
  epochs: number,
  onProgress?: Parameters<typeof train>[0]['onProgress'],
): Promise<HiddenSpring> {
  const network = mlp({sizes: [1, 16, 1], seed: 4});
  const force = neuralPotential(network);
  const data = record();
  const model = simulate.prepare(
    mechanics({mass: 1, forces: [force, damping]}),
    {q: 0, v: 0},
    {scheme: implicitMidpoint(), dt: 0.05, steps: 10},
  );
  const tensor = (values: Float64Array): tf.Tensor => tf.tensor1d(Float32Array.from(values));
  const training = await train({
    loss: batch =>
      tf.tidy(() =>
        tf.div(
          tf.addN(
            batch.map(({first, values}) => {
              const {q, v} = model.run({initial: {q: first.q[0], v: first.v[0]}});
              return tf.add(
                tf.mean(tf.squaredDifference(q, tensor(values.q))),
                tf.mean(tf.squaredDifference(v, tensor(values.v))),
              );
            }),
          ),
          batch.length,
        ),
      ),
    variables: network.variables,
    optimizer: tf.train.adam(0.2),
    schedule: exponentialDecay({rate: 0.2, factor: 0.1, every: 2.5 * epochs}),
    data,
    batchSize: 16,
    epochs,
    seed: 1,
    onProgress,
  });
  // Within what the larger motion visits after its first swings.
  const q = Float64Array.from({length: 41}, (_, i) => -1 + i / 20);
  const at = (term: typeof force): Float64Array =>
    q.map(x => tf.tidy(() => term({q: tf.scalar(x), v: tf.scalar(0), t: tf.scalar(0), params: {}}).dataSync()[0]));
  const found = {training, q, learnt: at(force), truth: at(hidden)};
  network.dispose();
  return found;
}

const figure = ({q, learnt, truth}: HiddenSpring): Chart => ({
  title: 'Force of the spring',
  x: {label: 'position', unit: 'm'},
  y: {label: 'force', unit: 'N'},
  series: [
    {name: 'hidden', x: q, y: truth, style: 'underlay'},
    {name: 'found', x: q, y: learnt, color: 0},
  ],
});

export async function main({report, short}: ScriptArguments): Promise<void> {
  console.log('A mass on a hidden spring, 40 s of noisy motion.\n');
  const found = await shown('Training', show => findSpring(short ? 2 : 80, show.train));
  console.log(
    `Root mean square error of the force from −1 m to 1 m: ${rms(found.learnt, found.truth).toFixed(4)} N; the force `
      + `reaches ${Math.max(...found.truth).toFixed(1)} N.`,
  );
  await found.training.report(report, {
    title: 'A hidden spring',
    description:
      'A network as the potential of a spring, trained through implicit steps on noisy positions and velocities.',
    charts: [figure(found)],
  });
  console.log(`Report: ${report}`);
}

script(
  import.meta.url,
  'hidden-spring',
  'A hidden nonlinear spring, found as the potential of a network. Makes its own record.',
  main,
);
