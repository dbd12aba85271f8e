/** What grows: `tracing` the time to trace and compile with the graph's size, `heap` the memory over many steps. */
import * as tf from '@tensorflow/tfjs';
import {implicitMidpoint, mechanics, simulate} from '../lib/index.js';
import {chainWorkload} from './workloads.js';

/** One mass on so many springs, each written as a term of its own: about five operations a term. */
function manyTerms(terms: number): {trace: number; compile: number; again: number} {
  const system = mechanics({
    mass: 1,
    forces: ({q, params}) => {
      let force: tf.Tensor = tf.zerosLike(q);
      for (let i = 0; i < terms; i++)
        force = tf.sub(force, tf.mul(params.k as tf.Tensor, tf.tanh(tf.sub(q, i / terms))));
      return force;
    },
  });
  const gradient = (): {total: number; trace: number; compile: number} => {
    const begin = performance.now();
    const {trajectory, pullback} = simulate.vjp(
      system,
      {q: new Float64Array(4), v: new Float64Array(4)},
      {scheme: implicitMidpoint(), dt: 0.01, steps: 1, saveAt: 'end', params: {k: 1}},
    );
    pullback({q: new Float64Array(8).fill(1)});
    const {trace, compile} = trajectory.stats.milliseconds;
    trajectory.dispose();
    return {total: performance.now() - begin, trace, compile};
  };
  const first = gradient();
  return {trace: first.trace, compile: first.total - first.trace, again: Math.min(gradient().total, gradient().total)};
}

/** 10,000 steps of the chain in 50 runs with gradients, warm before. */
function heapGrowth(): {steps: number; heap: number; tensors: number} {
  const {system, initial, options} = chainWorkload(32);
  const prepared = simulate.prepare(system, initial, options);
  const some = (runs: number): void => {
    for (let i = 0; i < runs; i++) {
      const {trajectory, pullback} = prepared.vjp();
      pullback({q: new Float64Array(64).fill(1)});
      trajectory.dispose();
    }
  };
  const {gc} = globalThis as {gc?: () => void};
  if (gc === undefined) throw new Error('growth.js heap needs node --expose-gc');
  const used = (): number => {
    gc();
    gc();
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };
  some(100);
  const [before, tensors] = [used(), tf.memory().numTensors];
  some(50);
  return {steps: 50 * 200, heap: used() - before, tensors: tf.memory().numTensors - tensors};
}

if (process.argv[2] === 'heap') console.log(JSON.stringify(heapGrowth()));
else {
  manyTerms(8);
  console.log(JSON.stringify([16, 64, 256, 1024].map(terms => ({terms, ...manyTerms(terms)}))));
}
