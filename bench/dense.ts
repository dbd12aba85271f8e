/**
 * The gradient of one evaluation of a dense network, 512 → 512 four times with tanh between and a batch of 512, with respect to the batch
 * and all weights, of the sum of all it gives: products of large matrices and little else. bench/peers/products_torch.py has the same.
 */
import {constant, input, matMul, unary} from '../lib/graph/build.js';
import {orZeros, pullback} from '../lib/graph/differentiate.js';
import type {Graph, Node} from '../lib/graph/node.js';
import type {Executable} from '../lib/engine/index.js';
import {wasm, wasmSingle} from '../lib/engine/wasm/wasm.js';
import {setThreadsCount} from '../lib/index.js';
import type {Prepared} from './peers/protocol.js';

export const width = 512;
export const layers = 4;
/** Floating-point operations of the products. */
export const operations = 3 * layers * 2 * width ** 3;

function network(): {readonly all: Node<'input'>[]; readonly y: Node} {
  const x = input('x', [1, width, width]);
  const weights = Array.from({length: layers}, (_, i) => input(`w${i}`, [1, width, width]));
  let y: Node = x;
  weights.forEach((weight, i) => {
    y = matMul(i === 0 ? y : unary('tanh', y), weight);
  });
  return {all: [x, ...weights], y};
}

const value = (): Graph => {
  const {all, y} = network();
  return {inputs: all, outputs: [{name: 'y', node: y}]};
};

export function denseGradient(): Graph {
  const {all, y} = network();
  const ones = constant(new Float64Array(width * width).fill(1), [1, width, width]);
  const gradient = pullback([y], all, [ones]);
  const gradients = all.map((node, i) => ({name: `g${i}`, node: orZeros(gradient[i], node)}));
  return {inputs: all, outputs: [{name: 'y', node: y}, ...gradients]};
}

/** The batch and every weight matrix alike; squares modulo a prime, as a plain sine makes matrices of rank two. */
export function fillDense(executable: Executable): void {
  for (const name of ['x', ...Array.from({length: layers}, (_, i) => `w${i}`)]) {
    const values = executable.buffer(name);
    values.forEach((_, i) => (values[i] = Math.sin((i * i) % 10007) / Math.sqrt(width)));
  }
}

/** @param threads those of its products; default as many as there are by default */
export function dense(precision: 'double' | 'single', threads?: number): Prepared {
  if (threads !== undefined) setThreadsCount(threads);
  const executable = (precision === 'single' ? wasmSingle : wasm).compile({value: value(), gradient: denseGradient()});
  fillDense(executable);
  const [forward, gradient] = [executable.program('value'), executable.program('gradient')];
  const sum = (name: string, of: (x: number) => number): number =>
    executable.buffer(name).reduce((total, x) => total + of(x), 0);
  return {
    forward,
    gradient() {
      gradient();
      const squares = Array.from({length: layers + 1}, (_, i) => sum(`g${i}`, x => x * x));
      return {loss: sum('y', x => x), gradientNorm: Math.sqrt(squares.reduce((total, part) => total + part, 0))};
    },
    step: gradient,
    details: precision === 'single' ? {single: true} : {},
  };
}
