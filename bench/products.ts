/**
 * Dense products: GFLOP/s of n × n · n × n in the wasm engine, by width and by which operand is transposed, as
 * a network's value and its two gradients have them; and the gradient of one evaluation of a network of four layers.
 * Run with `npx tsx bench/products.ts`; least time of several runs.
 */
import {input, matMul} from '../lib/graph/build.js';
import type {Node} from '../lib/graph/node.js';
import {wasm} from '../lib/engine/wasm/wasm.js';

const widths = [16, 32, 64, 128, 256, 512, 1024];
const forms = {
  'A B': [false, false],
  'A Bᵀ': [false, true],
  'Aᵀ B': [true, false],
} as const;

/** Least seconds of a call, over at least five calls and half a second. */
function least(run: () => void): number {
  run();
  let best = Infinity;
  const begin = performance.now();
  for (let calls = 0; calls < 5 || performance.now() - begin < 500; calls++) {
    const start = performance.now();
    run();
    best = Math.min(best, performance.now() - start);
  }
  return best / 1000;
}

function product(m: number, k: number, n: number, transposeA: boolean, transposeB: boolean): Node {
  return matMul(
    input('a', transposeA ? [1, k, m] : [1, m, k]),
    input('b', transposeB ? [1, n, k] : [1, k, n]),
    transposeA,
    transposeB,
  );
}

for (const n of widths) {
  const rates = Object.entries(forms).map(([name, [transposeA, transposeB]]) => {
    const node = product(n, n, n, transposeA, transposeB);
    const executable = wasm.compile({
      p: {inputs: node.operands as Node<'input'>[], outputs: [{name: 'c', node}]},
    });
    for (const side of ['a', 'b']) executable.buffer(side).forEach((_, i, all) => (all[i] = Math.sin(i)));
    // Small ones are run many times over, so that the clock's steps do not count.
    const times = Math.ceil(2e7 / (2 * n ** 3));
    const program = executable.program('p');
    const seconds = least(() => {
      for (let i = 0; i < times; i++) program();
    });
    return `${name} ${((2 * n ** 3 * times) / seconds / 1e9).toFixed(1)}`;
  });
  console.log(String(n).padStart(5), rates.join('   '));
}
