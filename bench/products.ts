/**
 * Dense products in the wasm engine: GFLOP/s of n × n by n × n in double and in single precision, by width and by
 * which operand is transposed, as a network's value and its two gradients have them; then the gradient of dense.ts. bench/peers/products_torch.py is the same with PyTorch.
 * Run with `npx tsx bench/products.ts [turns] [threads]`; relaxed SIMD on Node 20: `node --experimental-wasm-relaxed-simd --import tsx …`.
 */
import {input, matMul} from '../lib/graph/build.js';
import type {Graph} from '../lib/graph/node.js';
import type {Executable} from '../lib/engine/index.js';
import {relaxedSimd} from '../lib/engine/wasm/format.js';
import type {WasmEngine} from '../lib/engine/wasm/wasm.js';
import {wasm, wasmSingle} from '../lib/engine/wasm/wasm.js';
import {setThreadsCount} from '../lib/index.js';
import {denseGradient, fillDense, operations} from './dense.js';

const widths = [16, 32, 64, 128, 256, 512, 1024];
const forms = {'A B': [false, false], 'A Bᵀ': [false, true], 'Aᵀ B': [true, false]} as const;
const engines = {double: wasm, single: wasmSingle};
/** Turns of a measurement. The least counts, in processor time, as the machine may have other work. */
const turns = Number(process.argv[2] ?? 5);
/** With more than one the least time counts, as the processors' is that of all of them. */
const threads = Number(process.argv[3] ?? 1);
/** Seconds of a turn: the processor's time is known to some milliseconds. */
const turn = 0.2;

const seconds = (): number => (threads === 1 ? process.cpuUsage().user / 1e6 : performance.now() / 1000);

/** Least seconds of one run of a program. */
function time(engine: WasmEngine, graph: Graph, fill: (executable: Executable) => void): number {
  const executable = engine.compile({p: graph});
  fill(executable);
  const program = executable.program('p');
  let best = Infinity;
  for (let i = 0; i <= turns; i++) {
    const [begin, start] = [performance.now(), seconds()];
    let runs = 0;
    for (; performance.now() - begin < 1000 * turn || runs < 2; runs++) program();
    // The first is for the compiler.
    if (i > 0) best = Math.min(best, (seconds() - start) / runs);
  }
  return best;
}

function product(n: number, transposeA: boolean, transposeB: boolean): Graph {
  const [a, b] = [input('a', [1, n, n]), input('b', [1, n, n])];
  return {inputs: [a, b], outputs: [{name: 'c', node: matMul(a, b, transposeA, transposeB)}]};
}

function fillProduct(executable: Executable): void {
  for (const name of ['a', 'b']) {
    const values = executable.buffer(name);
    values.forEach((_, i) => (values[i] = Math.sin(i) / Math.sqrt(512)));
  }
}

setThreadsCount(threads);
console.log(relaxedSimd() ? 'single precision with fused multiply-add' : 'no relaxed SIMD here');
for (const n of widths) {
  const row = Object.entries(engines).map(([name, engine]) => {
    const rates = Object.values(forms).map(
      ([a, b]) => (2 * n ** 3) / time(engine, product(n, a, b), fillProduct) / 1e9,
    );
    return `${name} ${rates.map(rate => rate.toFixed(1)).join(' / ')}`;
  });
  console.log(String(n).padStart(5), row.join('   '));
}
for (const [name, engine] of Object.entries(engines)) {
  const taken = time(engine, denseGradient(), fillDense);
  console.log(
    `gradient of 4 × 512, batch 512, ${name}: ${(1000 * taken).toFixed(1)} ms, ${(operations / taken / 1e9).toFixed(1)} GFLOP/s`,
  );
}
