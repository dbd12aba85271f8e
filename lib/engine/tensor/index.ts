/**
 * Runs programs as tfjs operations on whatever backend is active when they run: cpu, wasm, tensorflow,
 * webgl, webgpu. Numbers are float32 there. Results are read back at once. A run leaves no tensor behind and nothing on
 * a tape around it.
 */
import * as tf from '@tensorflow/tfjs';
import {broadcastShapes} from '../../graph/build.js';
import type {Graph, Node} from '../../graph/node.js';
import {valuesOf} from '../../graph/declarations.js';
import {isOp, sameShape, topological} from '../../graph/node.js';
import type {CompileOptions, Engine, Executable, Programs} from '../engine.js';
import {bufferSizes, named, plainExecutable} from '../engine.js';
import {upload} from './functions.js';
import type {Computation} from './replay.js';
import {held, replay} from './replay.js';
import {numbersOf} from '../../read.js';

export const tensor: Engine = {
  name: 'tensor',
  remote: true,
  /** That of float32, or of half precision where the graphics processor has no more. */
  get epsilon(): number {
    return tf.backend().floatPrecision() === 16 ? 2 ** -10 : 2 ** -23;
  },
  compile(programs: Programs, options?: CompileOptions): Executable {
    const buffers = new Map<string, Float64Array>();
    for (const [name, size] of bufferSizes(programs, options)) buffers.set(name, new Float64Array(size));
    const functions = Object.entries(programs).map(([name, graph]) => {
      const run = compileGraph(valuesOf(graph), buffers);
      const program = (): void => {
        tf.backend(); // Starts one where none was active yet.
        withoutTape(() => tf.tidy(run));
      };
      return [name, program] as const;
    });
    return plainExecutable(new Map(functions), buffers);
  },
};

/** One node: the places of its operands among the values of a run, and what makes its own from them. */
interface Step {
  readonly operands: readonly number[];
  readonly compute: Computation;
}

function compileGraph(graph: Graph, buffers: ReadonlyMap<string, Float64Array>): () => void {
  const inputs = graph.inputs.map(node => ({
    buffer: named(buffers, 'buffer', node.attributes.name),
    shape: held(node.shape),
  }));
  const compute = computation(graph);
  const outputs = graph.outputs.map(({name}) => named(buffers, 'buffer', name));
  return () => {
    // All are read before any is written: an output may have the name of an input that another shows.
    const results = readTogether(compute(inputs.map(({buffer, shape}) => upload(buffer, shape))));
    outputs.forEach((buffer, i) => buffer.set(results[i]));
  };
}

/** A graph as a function of its inputs' tensors; they, and the results, have the shapes that values are held in. */
export function computation(graph: Graph): (inputs: readonly tf.Tensor[]) => tf.Tensor[] {
  const places = new Map<Node, number>(graph.inputs.map((node, i) => [node, i]));
  const steps = computedNodes(graph).map((node): Step => {
    const operands = sources(node).map(source => placeOf(places, source));
    places.set(node, places.size);
    return {operands, compute: replay(node)};
  });
  const outputs = graph.outputs.map(({node}) => placeOf(places, node));
  return inputs => {
    const values = [...inputs];
    for (const {operands, compute} of steps) values.push(compute(operands.map(place => values[place])));
    return outputs.map(place => values[place]);
  };
}

/** In one piece, since a device is waited for at every read; one by one where they are not all of one type. */
function readTogether(tensors: readonly tf.Tensor[]): Float64Array[] {
  if (tensors.length < 2 || tensors.some(({dtype}) => dtype !== 'float32')) return tensors.map(numbersOf);
  const numbers = numbersOf(tf.concat(tensors.map(tensor => tf.reshape(tensor, [-1]))));
  let end = 0;
  return tensors.map(({size}) => numbers.subarray(end, (end += size)));
}

function placeOf(places: ReadonlyMap<Node, number>, node: Node): number {
  const place = places.get(node);
  if (place === undefined)
    throw new Error(`${node.op} is used before it is computed; is an input missing from the graph's list?`);
  return place;
}

/** Nodes to compute, operands first, without those that tfjs's own broadcasting makes unnecessary. */
function computedNodes({inputs, outputs}: Graph): Node[] {
  const results = outputs.map(({node}) => node);
  const order = topological(results);
  const needed = new Set(results);
  for (let i = order.length - 1; i >= 0; i--) {
    if (needed.has(order[i])) for (const source of sources(order[i])) needed.add(source);
  }
  const given = new Set<Node>(inputs);
  return order.filter(node => needed.has(node) && !given.has(node) && node.op !== 'input');
}

/** The values a node is computed from: elementwise operations repeat their operands themselves. */
function sources(node: Node): readonly Node[] {
  if (!isOp(node, 'binary') && !isOp(node, 'select')) return node.operands;
  const inner = node.operands.map(operand => (operand.op === 'broadcast' ? operand.operands[0] : operand));
  const isNative =
    inner.every(({shape}) => sameShape(held(shape), shape))
    && sameShape(inner.map(({shape}) => shape).reduce(broadcastShapes), node.shape);
  return isNative ? inner : node.operands;
}

/** A tape around the run would record its operations, and keep their tensors. */
function withoutTape(run: () => void): void {
  const {state} = tf.engine();
  const {activeTape, gradientDepth} = state;
  Object.assign(state, {activeTape: null, gradientDepth: 0});
  try {
    run();
  } finally {
    Object.assign(state, {activeTape, gradientDepth});
  }
}
