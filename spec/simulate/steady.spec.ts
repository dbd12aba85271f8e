/** What a simulation leaves in memory once it runs: nothing, however many steps it takes. */
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {simulate} from '../../lib/index.js';
import {chainWorkload} from '../../bench/workloads.js';
import {doubleEngines} from './engines.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function used(): number {
  const {heapUsed, arrayBuffers} = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const mebibyte = 2 ** 20;
/** V8 puts every number that a function returns on the heap until it has compiled what calls it, which takes it a few runs. */
const warming = 12;

describe('steady state', () => {
  for (const {name: engine} of doubleEngines) {
    it(`10,000 steps and their gradients leave less than 1 MiB behind, and no tensor (${engine})`, () => {
      const {system, initial, options} = chainWorkload(8);
      const prepared = simulate.prepare(system, initial, {...options, engine});
      const bar = new Float64Array(16).fill(1);
      const gradients = (runs: number): void => {
        for (let i = 0; i < runs; i++) {
          const {trajectory, pullback} = prepared.vjp();
          pullback({q: bar});
          trajectory.dispose();
        }
      };
      gradients(5);
      const before = tf.memory();
      collect();
      const start = used();
      gradients(10_000 / 200);
      collect();
      expect(used() - start).to.be.below(mebibyte);
      const {numTensors, numDataBuffers, numBytes} = tf.memory();
      expect({numTensors, numDataBuffers, numBytes}).to.deep.equal({numTensors: before.numTensors, numDataBuffers: before.numDataBuffers, numBytes: before.numBytes});
    });
  }

  it('10,000 compiled steps allocate less than 1 MiB, numbers put on the heap in between counted', () => {
    const {system, initial, options} = chainWorkload(8);
    const prepared = simulate.prepare(system, initial, {...options, steps: 10_000, engine: 'wasm'});
    const tensors = tf.memory().numTensors;
    let least = Infinity;
    for (let i = 0; i < warming && least >= mebibyte; i++) {
      collect();
      const before = used();
      const trajectory = prepared.run();
      const allocated = used() - before;
      trajectory.dispose();
      // Less than nothing: something has been collected in between.
      if (allocated >= 0) least = Math.min(least, allocated);
    }
    expect(least).to.be.below(mebibyte);
    expect(tf.memory().numTensors).to.equal(tensors);
  });
});
