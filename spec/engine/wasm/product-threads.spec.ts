/**
 * Large products on several threads: the bits are those of one thread, whoever takes part, and whoever dies. Threads are
 * replaced by ones that misbehave through Node's own module, where product-threads.ts looks them up.
 */
import {expect} from 'chai';
import {execFileSync} from 'node:child_process';
import {createRequire} from 'node:module';
import type {Worker as NodeWorker} from 'node:worker_threads';
import * as tf from '@tensorflow/tfjs';
import {batch, batchAsync, implicitMidpoint, ode, rk4, setThreadsCount, simulate} from '../../../lib/index.js';
import {input, matMul} from '../../../lib/graph/build.js';
import type {Graph} from '../../../lib/graph/node.js';
import {partsByOthers, getThreadsCount} from '../../../lib/engine/wasm/product-threads.js';
import {helperText, place} from '../../../lib/engine/wasm/product-helper.js';
import type {WasmEngine, WasmExecutable} from '../../../lib/engine/wasm/wasm.js';
import {wasm, wasmSingle} from '../../../lib/engine/wasm/wasm.js';
import {slow} from '../../tiers.js';

const threads = createRequire(import.meta.url)('node:worker_threads') as {Worker: typeof NodeWorker};
const Original = threads.Worker;

interface Shape {
  readonly batch: number;
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
}

function product({batch: s, m, k, n, transposeA, transposeB}: Shape): Graph {
  const a = input('a', transposeA ? [s, k, m] : [s, m, k]);
  const b = input('b', transposeB ? [s, n, k] : [s, k, n]);
  return {inputs: [a, b], outputs: [{name: 'c', node: matMul(a, b, transposeA, transposeB)}]};
}

/** Values of all sizes, so that another order of summation shows. */
function filled(executable: WasmExecutable, seed = 1): WasmExecutable {
  for (const name of ['a', 'b'])
    executable.buffer(name).forEach((_, i, all) => (all[i] = Math.sin(1.3 * i + seed) * 10 ** (i % 7)));
  return executable;
}

const compiledFor = (count: number, graph: Graph, engine: WasmEngine = wasm): WasmExecutable => {
  setThreadsCount(count);
  return filled(engine.compile({p: graph}));
};

const result = (executable: WasmExecutable): Float64Array => {
  executable.buffer('c').fill(NaN);
  executable.run('p');
  return executable.buffer('c').slice();
};

const square: Shape = {batch: 1, m: 256, k: 256, n: 256, transposeA: false, transposeB: false};
const sleep = (milliseconds: number): Promise<void> => new Promise(resolve => setTimeout(resolve, milliseconds));

/** Runs until other threads have taken part, as they need their time to start and the machine may be busy. */
async function untilHelped(run: () => void): Promise<void> {
  const before = partsByOthers();
  for (let turn = 0; partsByOthers() === before; turn++) {
    if (turn > 400) throw new Error('no other thread took part');
    run();
    await sleep(turn);
  }
}

describe('wasm engine: products on several threads', function () {
  this.timeout(180_000);
  afterEach(() => {
    threads.Worker = Original;
    setThreadsCount(1);
  });

  slow('have the bits of one thread, for any shape, transposed or not, in both precisions', async () => {
    const shapes: Shape[] = [
      square,
      {...square, m: 1000, n: 37, k: 301, transposeA: true},
      {...square, m: 33, n: 777, k: 513, transposeB: true},
      {...square, m: 300, n: 290, k: 199, batch: 2, transposeA: true, transposeB: true},
      {...square, m: 4200, n: 65, k: 64},
    ];
    for (const engine of [wasm, wasmSingle]) {
      for (const shape of shapes) {
        const alone = result(compiledFor(1, product(shape), engine));
        for (const count of [2, 3]) {
          const together = compiledFor(count, product(shape), engine);
          expect(together.memory.buffer).to.be.an.instanceOf(SharedArrayBuffer);
          await untilHelped(() => expect(result(together)).to.deep.equal(alone));
        }
      }
    }
  });

  it('have the bits of single products of numbers, summed one after another', () => {
    const {m, k, n} = {m: 260, k: 250, n: 259};
    const executable = compiledFor(2, product({...square, m, k, n}));
    const [a, b, c] = [executable.buffer('a'), executable.buffer('b'), result(executable)];
    for (const [i, j] of [
      [0, 0],
      [63, 64],
      [64, 63],
      [255, 258],
      [259, 258],
    ] as const) {
      let sum = 0;
      for (let index = 0; index < k; index++) sum += a[i * k + index] * b[index * n + j];
      expect(c[i * n + j]).to.equal(sum);
    }
  });

  it('leave small products, and their memory, to one thread', () => {
    const small = compiledFor(2, product({...square, m: 32, n: 64, k: 64}));
    expect(small.memory.buffer).to.be.an.instanceOf(ArrayBuffer);
  });

  slow('serve two programs in turn, and what was compiled for fewer or more', async () => {
    const shapes = [square, {...square, m: 320, k: 200}, {...square, n: 300}];
    const alone = shapes.map(shape => result(compiledFor(1, product(shape))));
    const together = shapes.map((shape, i) => compiledFor(2 + (i % 2), product(shape)));
    for (const count of [1, 2, 3]) {
      setThreadsCount(count);
      const turn = (): void => together.forEach((executable, i) => expect(result(executable)).to.deep.equal(alone[i]));
      turn();
      if (count > 1) await untilHelped(turn);
    }
  });

  slow('leave an implicit step its kernels, on the memory that threads share', () => {
    const side = 260;
    const wide = tf.tensor2d(
      Float32Array.from({length: side * side}, (_, i) => Math.sin(i * i) / side),
      [side, side],
    );
    const run = (count: number, unknowns: number): Float64Array => {
      setThreadsCount(count);
      const system = ode(({y}) => {
        const product = tf.matMul(tf.mul(wide, tf.slice(y, [0], [1])) as tf.Tensor2D, wide);
        return tf.neg(tf.mul(y, tf.sum(tf.square(product))));
      });
      const start = Array.from({length: unknowns}, (_, i) => 1 + i);
      const path = simulate(system, {y: start}, {scheme: implicitMidpoint(), dt: 0.01, steps: 3});
      expect(path.stats.engine).to.equal('wasm');
      return path.values('y');
    };
    // Matrices that are factored without loops, and by the dense and the other kernels.
    for (const unknowns of [2, 12]) expect(run(2, unknowns)).to.deep.equal(run(1, unknowns));
  });

  const misbehaving: {readonly [what: string]: () => typeof NodeWorker} = {
    'cannot be started': () =>
      class {
        constructor() {
          throw new Error('forbidden');
        }
      } as unknown as typeof NodeWorker,
    'never start': () => scripted('setInterval(() => undefined, 1000);'),
    'die at once': () => scripted('process.exit(1);'),
    'fail in every part': () => scripted(helperText.replace('product(given);', 'throw new Error();')),
    'end themselves between products': () => scripted(`${helperText}\nsetTimeout(() => process.exit(1), 300);`),
  };

  function scripted(text: string): typeof NodeWorker {
    return class extends Original {
      constructor(_text: string, options: object) {
        super(text, {...options, eval: true});
      }
    } as unknown as typeof NodeWorker;
  }

  for (const [what, make] of Object.entries(misbehaving)) {
    slow(`do not wait for threads that ${what}`, async () => {
      const alone = result(compiledFor(1, product(square)));
      threads.Worker = make();
      const executable = compiledFor(2, product(square));
      for (let turn = 0; turn < 12; turn++) {
        expect(result(executable)).to.deep.equal(alone);
        await sleep(50);
      }
    });
  }

  slow('go on after a while where a thread died in the midst of a part', async () => {
    const alone = result(compiledFor(1, product(square)));
    threads.Worker = scripted(helperText.replace('product(given);', 'process.exit(1);'));
    const executable = compiledFor(2, product(square));
    let longest = 0;
    for (let turn = 0; longest < 5000; turn++) {
      if (turn > 400) throw new Error('no other thread took part');
      const begin = performance.now();
      expect(result(executable)).to.deep.equal(alone);
      longest = Math.max(longest, performance.now() - begin);
      await sleep(turn);
    }
    const begin = performance.now();
    expect(result(executable)).to.deep.equal(alone);
    expect(performance.now() - begin).to.be.below(5000);
  });

  slow('are made in one thread within the threads of a batch', async () => {
    setThreadsCount(2);
    const weights = tf.tensor2d(
      Array.from({length: 512 * 512}, (_, i) => Math.sin(i) / 512),
      [512, 512],
    );
    const system = ode(({y}) => tf.tanh(tf.matMul(y as tf.Tensor2D, weights)));
    const starts = [1, 2, 3].map(seed => ({
      y: Array.from({length: 64}, (_, i) => Array.from({length: 512}, (__, j) => Math.sin(seed + i * j))),
    }));
    const options = {scheme: rk4(), dt: 0.1, steps: 1, saveAt: 'end'} as const;
    const there = await batchAsync(system, starts, {...options, workers: 2});
    const here = batch(system, starts, {...options, workers: 0});
    there.forEach((path, i) => expect(path.values('y')).to.deep.equal(here[i].values('y')));
    const asked = new Original(
      `const load = require('node:module').createRequire(${JSON.stringify(import.meta.url)}); load('tsx/cjs');
       require('node:worker_threads').parentPort.postMessage(load('../../../lib/engine/wasm/product-threads.ts').getThreadsCount());`,
      {eval: true},
    );
    const count = await new Promise((resolve, reject) => asked.once('message', resolve).once('error', reject));
    await asked.terminate();
    expect([getThreadsCount(), count]).to.deep.equal([2, 1]);
  });

  slow('let the program end, in work or at rest', () => {
    const source = JSON.stringify(new URL('../../../lib/engine/wasm/', import.meta.url).href);
    const graph = JSON.stringify(new URL('../../../lib/graph/build.ts', import.meta.url).href);
    const program = `
      const {wasm} = await import(${source} + 'wasm.ts');
      const {setThreadsCount, partsByOthers} = await import(${source} + 'product-threads.ts');
      const {input, matMul} = await import(${graph});
      setThreadsCount(3);
      const [a, b] = [input('a', [1, 512, 512]), input('b', [1, 512, 512])];
      const {run} = wasm.compile({p: {inputs: [a, b], outputs: [{name: 'c', node: matMul(a, b)}]}});
      for (let i = 0; partsByOthers() === 0 && i < 400; i++) { run('p'); await new Promise(go => setTimeout(go, i)); }
      console.log(partsByOthers() > 0 ? 'helped' : 'alone');`;
    const output = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      encoding: 'utf8',
      timeout: 150_000,
      cwd: process.cwd(),
    });
    expect(output.trim()).to.equal('helped');
  });

  it('are refused for numbers of threads that are none', () => {
    setThreadsCount(3);
    expect(getThreadsCount()).to.equal(3);
    for (const count of [0, 1.5, NaN, place.status])
      expect(() => setThreadsCount(count)).to.throw(/whole number from 1 to 24/);
  });
});
