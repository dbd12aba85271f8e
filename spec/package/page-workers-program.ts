/** What the test of a page's worker threads runs, in a page and on Node: a batch with its gradients, without waiting for it. */
import type * as tf from '@tensorflow/tfjs';
import {batch, batchAsync, implicitMidpoint} from '../../lib/index.js';
import {chain, mlp, neuralForce} from '../../models/index.js';

export interface BatchAnswer {
  readonly threads: readonly string[];
  readonly engines: readonly string[];
  /** Of every member: q and v at all times, then the gradient of Σ(q² + v²) over them. */
  readonly members: readonly (readonly number[])[];
  /** The gradient of the stiffnesses that the members share. */
  readonly shared: readonly number[];
  /** The same paths by `batchAsync` alone. */
  readonly again: readonly (readonly number[])[];
}

const size = 5;
const steps = 40;

export async function answer(workers: number): Promise<BatchAnswer> {
  const physical = chain({count: size, mass: 1, stiffness: ({k}) => k as tf.Tensor, cubic: 0.5, damping: 0.1, g: 1});
  const network = neuralForce(mlp({sizes: [2 * size, 4, size], seed: 3}));
  const system = {...physical, forces: [...physical.forces, network]};
  const starts = [0, 1, 2, 3, 4].map(i => ({
    q: Array.from({length: size}, (_, j) => 0.01 * i * (j + 1)),
    v: new Array<number>(size).fill(0.1 * i),
  }));
  const members = [...starts, {initial: starts[1], params: {k: new Array<number>(size).fill(50)}}];
  const options = {
    scheme: implicitMidpoint(),
    dt: 0.01,
    steps,
    params: {k: new Array<number>(size).fill(100)},
    workers,
  };

  const {trajectories, pullback} = await batchAsync.vjp(system, members, options);
  const paths = trajectories.map(path => [...path.values('q'), ...path.values('v')]);
  const doubled = (values: Float64Array): Float64Array => values.map(x => 2 * x);
  const gradient = await pullback(
    trajectories.map(path => ({q: doubled(path.values('q')), v: doubled(path.values('v'))})),
  );
  const flat = (tree: object): number[] =>
    tree instanceof Float64Array ? [...tree] : Object.values(tree).flatMap(branch => flat(branch as object));
  const again = await batchAsync(system, members, options);
  await batch.end();
  return {
    threads: [...trajectories, ...again].map(({stats}) => stats.thread),
    engines: trajectories.map(({stats}) => stats.engine),
    members: paths.map((path, i) => [
      ...path,
      ...flat(gradient.members[i].initial),
      ...flat(gradient.members[i].params),
    ]),
    shared: flat(gradient.params),
    again: again.map(path => [...path.values('q'), ...path.values('v')]),
  };
}
