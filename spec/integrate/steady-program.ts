/** Run by the test of the steady state in a process of its own, with --expose-gc and without background compilation, which depends on what else the machine does: prints what simulations allocate and leave. */
import * as tf from '@tensorflow/tfjs';
import {simulate} from '../../lib/index.js';
import {chainWorkload} from '../../bench/workloads.js';

export interface Steady {
  /** Bytes that 10,000 compiled steps more put on the heap, those collected again counted. */
  readonly allocated: number;
  /** Bytes left by 10,000 steps in 50 runs with gradients. */
  readonly left: {readonly wasm: number; readonly interpreter: number};
  /** Tensors, their buffers and their bytes left by all of it. */
  readonly tensors: readonly number[];
}

const {gc} = globalThis as {gc?: () => void};

function collect(): void {
  if (gc === undefined) throw new Error('steady-program.ts needs node --expose-gc');
  // What an array buffer held goes with the second.
  gc();
  gc();
}

function used(): number {
  const {heapUsed, arrayBuffers} = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const {system, initial, options} = chainWorkload(8);

/** Bytes that a run of so many steps puts on the heap. */
function allocatedBy(steps: number): number {
  const prepared = simulate.prepare(system, initial, {...options, t1: undefined, steps, engine: 'wasm'});
  collect();
  const before = used();
  const trajectory = prepared.run();
  const allocated = used() - before;
  trajectory.dispose();
  return allocated;
}

/**
 * What 10,000 more steps allocate. V8 puts every number that a function returns on the heap until it has
 * compiled what calls it, which a collection makes it do anew: that is the same for both runs. The least of
 * several pairs: something may be collected in between.
 */
function allocatedByMore(pairs: number): number {
  let least = Infinity;
  for (let i = 0; i < pairs; i++) least = Math.min(least, Math.abs(allocatedBy(40_000) - allocatedBy(30_000)));
  return least;
}

function leftByGradients(engine: 'wasm' | 'interpreter'): number {
  const prepared = simulate.prepare(system, initial, {...options, engine});
  const cotangent = new Float64Array(16).fill(1);
  const gradients = (runs: number): void => {
    for (let i = 0; i < runs; i++) {
      const {trajectory, pullback} = prepared.vjp();
      pullback({q: cotangent});
      trajectory.dispose();
    }
  };
  gradients(100);
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    collect();
    const before = used();
    gradients(10_000 / 200);
    collect();
    least = Math.min(least, used() - before);
  }
  return least;
}

function counts(): number[] {
  const {numTensors, numDataBuffers, numBytes} = tf.memory();
  return [numTensors, numDataBuffers, numBytes];
}

leftByGradients('wasm');
const before = counts();
const result: Steady = {
  allocated: allocatedByMore(5),
  left: {wasm: leftByGradients('wasm'), interpreter: leftByGradients('interpreter')},
  tensors: counts().map((count, i) => count - before[i]),
};
console.log(JSON.stringify(result));
