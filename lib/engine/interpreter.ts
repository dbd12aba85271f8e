/**
 * Runs programs as plain loops in double precision, one after another, over memory laid out when
 * the program is compiled. It is what the other engines are checked against, and what runs where
 * WebAssembly is forbidden.
 */
import {newNumbers} from '../memory.js';
import type {Graph, Node} from '../graph/node.js';
import {valuesOf} from '../graph/declarations.js';
import {isOp, topological} from '../graph/node.js';
import {primitiveOf} from '../graph/primitives/index.js';
import type {Kernel} from '../graph/primitives/primitive.js';
import type {CompileOptions, Engine, Executable, Programs} from './engine.js';
import {bufferSizes, named, plainExecutable} from './engine.js';

/** One kernel with the arrays it works on. */
interface Instruction {
  readonly kernel: Kernel;
  readonly operands: readonly Float64Array[];
  readonly out: Float64Array;
}

export const interpreter: Engine = {
  name: 'interpreter',
  epsilon: Number.EPSILON,
  compile(programs: Programs, options?: CompileOptions): Executable {
    const buffers = new Map<string, Float64Array>();
    for (const [name, size] of bufferSizes(programs, options))
      buffers.set(name, newNumbers(size, `${name} of a step`, 'Take a smaller system.'));
    const functions = Object.entries(programs).map(([name, graph]) => [name, interpreted(graph, buffers)] as const);
    return plainExecutable(new Map(functions), buffers);
  },
};

/** A program as a function on buffers. @throws Error where it reads an input that is missing from its list */
export const interpreted = (graph: Graph, buffers: ReadonlyMap<string, Float64Array>): (() => void) =>
  sequence(compileGraph(valuesOf(graph), buffers));

/** Instructions one after another, as a function. */
function sequence(instructions: readonly Instruction[]): () => void {
  return () => {
    for (let i = 0; i < instructions.length; i++) instructions[i].kernel(instructions[i].operands, instructions[i].out);
  };
}

const copy: Kernel = ([x], out) => out.set(x);

/** By the places of nodes in their order, which their notes say as long as nothing else goes through them. */
function compileGraph(graph: Graph, buffers: ReadonlyMap<string, Float64Array>): Instruction[] {
  const outputs = graph.outputs.map(output => output.node);
  const order = topological(outputs);
  const inputs = new Set(graph.inputs);
  const inputNames = new Set(graph.inputs.map(node => node.attributes.name));
  const arrays = new Array<Float64Array | undefined>(order.length).fill(undefined);
  const arrayOf = (node: Node): Float64Array => {
    const found = arrays[node.notes.place];
    if (found === undefined)
      throw new Error(`${node.op} is used before it is computed; is an input missing from the graph's list?`);
    return found;
  };

  // A result goes straight to its output's buffer, unless that buffer is read by this very program.
  const direct = new Map<Node, Float64Array>();
  for (const {name, node} of graph.outputs) {
    if (!inputNames.has(name) && !direct.has(node) && node.op !== 'reshape' && node.op !== 'constant')
      direct.set(node, named(buffers, 'buffer', name));
  }

  const uses = usesOf(order, outputs);
  const memory = new Arrays();
  const known = new Uint8Array(order.length);
  const before: Instruction[] = [];
  const program: Instruction[] = [];
  for (let place = 0; place < order.length; place++) {
    const node = order[place];
    if (isOp(node, 'input')) {
      if (inputs.has(node)) arrays[place] = named(buffers, 'buffer', node.attributes.name);
      continue;
    }
    // Whose numbers no instruction reads, and no output shows.
    if (uses[place] === 0) continue;
    const {operands} = node;
    let isKnown = true;
    for (let k = 0; k < operands.length; k++) isKnown &&= known[source(node, k).notes.place] === 1;
    if (isKnown) known[place] = 1;
    if (node.op === 'reshape') {
      arrays[place] = arrayOf(operands[0]);
      continue;
    }
    const fixed = isKnown && !direct.has(node);
    const out = direct.get(node) ?? (fixed ? new Float64Array(node.size) : memory.take(node.size));
    arrays[place] = out;
    const read: Float64Array[] = [];
    for (let k = 0; k < operands.length; k++) read.push(arrayOf(source(node, k)));
    (fixed ? before : program).push({kernel: primitiveOf(node).evaluate(node), operands: read, out});
    for (let k = 0; k < operands.length; k++) {
      const value = storage(source(node, k)).notes.place;
      const array = arrays[value];
      if (--uses[value] === 0 && array !== undefined) memory.give(array);
    }
  }
  // Values that depend on no input are computed once, now.
  for (const {kernel, operands, out} of before) kernel(operands, out);
  return [
    ...program,
    ...copies(graph.outputs.map(({name, node}) => ({source: arrayOf(node), target: named(buffers, 'buffer', name)}))),
  ];
}

/** How often the array of each node is read, by instructions and as an output; 0 where none of them is needed. */
function usesOf(order: readonly Node[], outputs: readonly Node[]): Int32Array {
  const uses = new Int32Array(order.length);
  const isRead = new Uint8Array(order.length);
  for (const node of outputs) {
    isRead[node.notes.place] = 1;
    uses[storage(node).notes.place]++;
  }
  for (let place = order.length - 1; place >= 0; place--) {
    const node = order[place];
    if (isRead[place] === 0) continue;
    for (let k = 0; k < node.operands.length; k++) {
      const value = source(node, k);
      isRead[value.notes.place] = 1;
      if (node.op !== 'reshape') uses[storage(value).notes.place]++;
    }
    // A reshape has no array of its own.
    if (node.op === 'reshape') uses[place] = 1;
  }
  return uses;
}

/**
 * Results that are not yet in their outputs' buffers. All outputs change at once: where one takes its
 * value from an input's buffer that another overwrites (an exchange), that value is set aside first.
 */
function copies(results: readonly {readonly source: Float64Array; readonly target: Float64Array}[]): Instruction[] {
  const moves = results.filter(({source: from, target}) => from !== target);
  const overwritten = new Set(moves.map(({target}) => target));
  const aside: Instruction[] = [];
  const last = moves.map(({source: from, target}): Instruction => {
    if (!overwritten.has(from)) return {kernel: copy, operands: [from], out: target};
    const kept = new Float64Array(from.length);
    aside.push({kernel: copy, operands: [from], out: kept});
    return {kernel: copy, operands: [kept], out: target};
  });
  return [...aside, ...last];
}

/**
 * The node whose numbers a node's instruction reads for an operand; a repeated scalar beside an array is read in place,
 * not spread out first.
 */
function source(node: Node, k: number): Node {
  const operand = node.operands[k];
  return node.op === 'binary' && operand.op === 'broadcast' && operand.operands[0].size === 1
    ? operand.operands[0]
    : operand;
}

/** The node whose array a value lives in: a reshape shows its operand's. */
function storage(node: Node): Node {
  let found = node;
  while (found.op === 'reshape') found = found.operands[0];
  return found;
}

/** Hands out arrays for intermediate values, and takes them back after their last use. */
class Arrays {
  private readonly free = new Map<number, Float64Array[]>();
  private readonly owned = new Set<Float64Array>();

  take(size: number): Float64Array {
    const array = this.free.get(size)?.pop() ?? newNumbers(size, 'a value of a step', 'Take a smaller system.');
    this.owned.add(array);
    return array;
  }

  /** Takes back an array that was handed out. */
  give(array: Float64Array): void {
    if (!this.owned.delete(array)) return;
    const list = this.free.get(array.length);
    if (list === undefined) this.free.set(array.length, [array]);
    else list.push(array);
  }
}
