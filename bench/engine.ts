/**
 * The engines on their own: nanoseconds an element for the residual of a chain, its Jacobian by
 * coloured tangents and entry by entry, its transposed product and a neural force, and milliseconds
 * to compile.
 * Run with `npx tsx bench/engine.ts`.
 */
import {batch} from '../lib/graph/batch.js';
import {
  add,
  concat,
  constant,
  input,
  matMul,
  mul,
  reshape,
  scalar,
  scale,
  slice,
  sub,
  unary,
  zeros,
} from '../lib/graph/build.js';
import {orZeros, pullback, pushforward} from '../lib/graph/differentiate.js';
import type {Graph, Node} from '../lib/graph/node.js';
import {sparseJacobian} from '../lib/graph/sparse-jacobian.js';
import {simplify} from '../lib/graph/simplify.js';
import type {Engine} from '../lib/engine/engine.js';
import {interpreter} from '../lib/engine/interpreter.js';
import {generate, wasm} from '../lib/engine/wasm/wasm.js';

const named = (nodes: Readonly<Record<string, Node>>): Graph['outputs'] =>
  Object.entries(nodes).map(([name, node]) => ({name, node}));

/** Implicit midpoint for n unit masses in a row, springs k(d + d³/2), damping 0.1, gravity 1. */
function chain(n: number): {
  inputs: readonly Node<'input'>[];
  residual: Node;
  next: Node;
  v1: Node<'input'>;
  q0: Node<'input'>;
  v0: Node<'input'>;
  k: Node<'input'>;
} {
  const [q0, v0, v1, k] = ['q0', 'v0', 'v1', 'k'].map(name => input(name, [n]));
  const step = 0.01;
  const velocity = scale(add(v0, v1), 0.5);
  const q = add(q0, scale(velocity, step / 2));
  const d = sub(q, concat([zeros([1]), slice(q, [0], [n - 1])], 0));
  const force = mul(k, add(d, scale(mul(mul(d, d), d), 0.5)));
  const total = sub(sub(concat([slice(force, [1], [n - 1]), zeros([1])], 0), force), scale(velocity, 0.1));
  return {
    inputs: [q0, v0, v1, k],
    q0,
    v0,
    v1,
    k,
    residual: sub(sub(v1, v0), scale(add(total, scalar(1)), step)),
    next: add(q0, scale(velocity, step)),
  };
}

/** Seeds of three colours for a tridiagonal matrix. */
function colored(n: number): Node {
  return constant(
    Float64Array.from({length: 3 * n}, (_, i) => ((i % n) % 3 === Math.floor(i / n) ? 1 : 0)),
    [3, n],
  );
}

function workloads(n: number): {name: string; graph: Graph; elements: number}[] {
  const {inputs, residual, next, q0, v0, v1, k} = chain(n);
  const seed = input('seed', [n]);
  const tangent = orZeros(pushforward([residual], new Map([[v1, seed]]))[0], residual);
  const entries = sparseJacobian(tangent, seed, {terms: 8, cost: Infinity});
  if (entries === undefined) throw new Error('a chain has a sparse Jacobian');
  const [jacobian] = batch([tangent], new Map([[seed, colored(n)]]), 3);
  const adjoint = input('adjoint', [n]);
  const cotangents = pullback([residual], [q0, v0, k], [adjoint]);
  const [toQ, toV, toK] = cotangents.map((node, i) => orZeros(node, [q0, v0, k][i]));
  return [
    {name: 'chain: residual', elements: n, graph: {inputs, outputs: named({residual, next})}},
    {name: 'chain: three colours', elements: n, graph: {inputs, outputs: named({jacobian})}},
    {name: 'chain: entries of the Jacobian', elements: n, graph: {inputs, outputs: named({entries: entries.values})}},
    {
      name: 'chain: residual and entries',
      elements: n,
      graph: {inputs, outputs: named({residual, entries: entries.values})},
    },
    {
      name: 'chain: transposed product',
      elements: n,
      graph: {inputs: [...inputs, adjoint], outputs: named({toQ, toV, toK})},
    },
  ];
}

/** A force from two hidden layers of 64, for so many masses. */
function neural(masses: number): {name: string; graph: Graph; elements: number}[] {
  const x = input('x', [masses, 2]);
  const sizes = [2, 64, 64, 1];
  const weights = sizes.slice(1).map((to, i) => input(`w${i}`, [sizes[i], to]));
  const biases = sizes.slice(1).map((to, i) => input(`b${i}`, [to]));
  let y: Node = x;
  weights.forEach((w, i) => {
    const product = matMul(reshape(y, [1, ...y.shape]), reshape(w, [1, ...w.shape]));
    const shifted = add(reshape(product, product.shape.slice(1)), biases[i]);
    y = i < 2 ? unary('tanh', shifted) : shifted;
  });
  const inputs = [x, ...weights, ...biases];
  const adjoint = input('adjoint', [masses, 1]);
  const cotangents = pullback([y], inputs, [adjoint]).map((node, i) => orZeros(node, inputs[i]));
  return [
    {name: `network, ${masses} masses: value`, elements: masses, graph: {inputs, outputs: named({y})}},
    {
      name: `network, ${masses} masses: gradient`,
      elements: masses,
      graph: {inputs: [...inputs, adjoint], outputs: cotangents.map((node, i) => ({name: `g${i}`, node}))},
    },
  ];
}

/** Nanoseconds a run: the fastest of several batches of about two milliseconds, as other processes only ever add. */
function time(engine: Engine, graph: Graph): number {
  const executable = engine.compile({main: graph});
  for (const node of graph.inputs) {
    const values = executable.buffer(node.attributes.name);
    for (let i = 0; i < values.length; i++) values[i] = Math.sin(i + 1) / 10;
  }
  const batchOf = (runs: number): number => {
    const begin = performance.now();
    for (let i = 0; i < runs; i++) executable.run('main');
    return (performance.now() - begin) / runs;
  };
  // V8 replaces the first, quickly generated code after some thousands of loop trips.
  let runs = 1;
  while (batchOf(runs) * runs < 20) runs *= 2;
  const samples = Array.from({length: 60}, () => batchOf(Math.max(1, runs >> 3)));
  return Math.min(...samples) * 1e6;
}

function row(name: string, graph: Graph, elements: number): void {
  const simple = simplify(graph);
  const begin = performance.now();
  const {bytes} = generate({main: simple});
  const generated = performance.now() - begin;
  new WebAssembly.Module(bytes);
  const compiled = performance.now() - begin - generated;
  const [compiledTime, interpretedTime] = [time(wasm, simple), time(interpreter, simple)];
  console.log(
    `${name.padEnd(34)} wasm ${compiledTime.toFixed(0).padStart(8)} ns  ${(compiledTime / elements).toFixed(2).padStart(7)} an element`
      + `   interpreter ${(interpretedTime / elements).toFixed(2).padStart(8)}   generated in ${generated.toFixed(2)} ms, ${bytes.length} bytes, V8 ${compiled.toFixed(2)} ms`,
  );
}

for (const n of [8, 32, 128, 1024, 16384]) {
  console.log(`n = ${n}`);
  for (const {name, graph, elements} of workloads(n)) row(name, graph, elements);
}
for (const {name, graph, elements} of neural(8)) row(name, graph, elements);
