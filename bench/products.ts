/**
 * Dense products in the wasm engine: GFLOP/s of n × n by n × n in double and in single precision, by width and by
 * which operand is transposed, as a network's value and its two gradients have them; then the gradient of one evaluation
 * of a network of four layers of 512 with a batch of 512. bench/peers/products_torch.py is the same with PyTorch.
 * Run with `npx tsx bench/products.ts`; relaxed SIMD on Node 20: `node --experimental-wasm-relaxed-simd --import tsx …`.
 */
import {constant, input, matMul, unary} from '../lib/graph/build.js';
import {orZeros, pullback} from '../lib/graph/differentiate.js';
import type {Graph, Node} from '../lib/graph/node.js';
import {relaxedSimd} from '../lib/engine/wasm/format.js';
import type {WasmEngine} from '../lib/engine/wasm/wasm.js';
import {wasm, wasmSingle} from '../lib/engine/wasm/wasm.js';

const widths = [16, 32, 64, 128, 256, 512, 1024];
const forms = {'A B': [false, false], 'A Bᵀ': [false, true], 'Aᵀ B': [true, false]} as const;
const engines = {double: wasm, single: wasmSingle};
/** Turns of a measurement. The least counts, in processor time, as the machine may have other work. */
const turns = Number(process.argv[2] ?? 5);
/** Seconds of a turn: the processor's time is known to some milliseconds. */
const turn = 0.2;

const processorSeconds = (): number => process.cpuUsage().user / 1e6;

/** Least seconds of one run of a program. */
function time(engine: WasmEngine, graph: Graph): number {
  const executable = engine.compile({p: graph});
  for (const {attributes} of graph.inputs) {
    const values = executable.buffer(attributes.name);
    values.forEach((_, i) => (values[i] = Math.sin(i) / Math.sqrt(512)));
  }
  const program = executable.program('p');
  let best = Infinity;
  for (let i = 0; i <= turns; i++) {
    const [begin, start] = [performance.now(), processorSeconds()];
    let runs = 0;
    for (; performance.now() - begin < 1000 * turn || runs < 2; runs++) program();
    // The first is for the compiler.
    if (i > 0) best = Math.min(best, (processorSeconds() - start) / runs);
  }
  return best;
}

function product(n: number, transposeA: boolean, transposeB: boolean): Graph {
  const [a, b] = [input('a', [1, n, n]), input('b', [1, n, n])];
  return {inputs: [a, b], outputs: [{name: 'c', node: matMul(a, b, transposeA, transposeB)}]};
}

/** The gradient with respect to the batch and all weights of the sum of x W₁ … W₄ with tanh between. */
function network(width: number, layers: number): Graph {
  const x = input('x', [1, width, width]);
  const weights = Array.from({length: layers}, (_, i) => input(`w${i}`, [1, width, width]));
  let y: Node = x;
  weights.forEach((weight, i) => {
    y = matMul(i === 0 ? y : unary('tanh', y), weight);
  });
  const all = [x, ...weights];
  const ones = constant(new Float64Array(width * width).fill(1), [1, width, width]);
  const gradient = pullback([y], all, [ones]);
  return {inputs: all, outputs: all.map((node, i) => ({name: `g${i}`, node: orZeros(gradient[i], node)}))};
}

console.log(relaxedSimd() ? 'single precision with fused multiply-add' : 'no relaxed SIMD here');
for (const n of widths) {
  const row = Object.entries(engines).map(([name, engine]) => {
    const rates = Object.values(forms).map(([a, b]) => (2 * n ** 3) / time(engine, product(n, a, b)) / 1e9);
    return `${name} ${rates.map(rate => rate.toFixed(1)).join(' / ')}`;
  });
  console.log(String(n).padStart(5), row.join('   '));
}
for (const [name, engine] of Object.entries(engines)) {
  const operations = 3 * 4 * 2 * 512 ** 3;
  const taken = time(engine, network(512, 4));
  console.log(
    `gradient of 4 × 512, batch 512, ${name}: ${(1000 * taken).toFixed(1)} ms, ${(operations / taken / 1e9).toFixed(1)} GFLOP/s`,
  );
}
