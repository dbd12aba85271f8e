/**
 * Runs programs as plain loops in double precision, one after another, over memory laid out when
 * the program is compiled. It is what the other engines are checked against, and what runs where
 * WebAssembly is forbidden.
 */
import {newNumbers} from '../memory.js';
import type {Graph, Node} from '../graph/node.js';
import {valuesOf} from '../graph/declarations.js';
import {topological} from '../graph/node.js';
import {primitiveOf} from '../graph/primitives/index.js';
import type {Kernel} from '../graph/primitives/primitive.js';
import type {CompileOptions, Engine, Executable, Programs} from './engine.js';
import {bufferSizes, factorizationOf} from './engine.js';
import {plainVectors} from './vectors.js';

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
    const programFunctions = new Map(
      Object.entries(programs).map(([name, graph]) => [name, interpreted(graph, buffers)]),
    );
    const program = (name: string): (() => void) => {
      const found = programFunctions.get(name);
      if (found === undefined) throw new Error(`no program is called ${name}`);
      return found;
    };
    return {
      buffer: name => namedBuffer(buffers, name),
      find: name => buffers.get(name),
      has: name => programFunctions.has(name),
      run: name => program(name)(),
      program,
      vectors: plainVectors,
      factorization: factorizationOf,
    };
  },
};

/** A program as a function on buffers, laid out when it is first called. */
export function interpreted(graph: Graph, buffers: ReadonlyMap<string, Float64Array>): () => void {
  let run: (() => void) | undefined;
  return () => {
    run ??= sequence(compileGraph(valuesOf(graph), buffers));
    run();
  };
}

/** Instructions one after another, as a function. */
function sequence(instructions: readonly Instruction[]): () => void {
  return () => {
    for (let i = 0; i < instructions.length; i++) instructions[i].kernel(instructions[i].operands, instructions[i].out);
  };
}

const copy: Kernel = ([x], out) => out.set(x);

function compileGraph(graph: Graph, buffers: ReadonlyMap<string, Float64Array>): Instruction[] {
  const outputs = graph.outputs.map(output => output.node);
  const order = readNodes(outputs);
  const inputNames = new Set(graph.inputs.map(node => node.attributes.name));
  const arrays = new Map<Node, Float64Array>();
  for (const node of graph.inputs) arrays.set(node, namedBuffer(buffers, node.attributes.name));

  // A result goes straight to its output's buffer, unless that buffer is read by this very program.
  const direct = new Map<Node, Float64Array>();
  for (const {name, node} of graph.outputs) {
    if (!inputNames.has(name) && !direct.has(node) && node.op !== 'reshape' && node.op !== 'constant')
      direct.set(node, namedBuffer(buffers, name));
  }

  const memory = new MemoryPlan(order, outputs);
  const known = new Set<Node>();
  const before: Instruction[] = [];
  const program: Instruction[] = [];
  for (const node of order) {
    const isKnown = sources(node).every(source => known.has(source));
    if (node.op === 'reshape') {
      arrays.set(node, arrayOf(arrays, node.operands[0]));
      if (isKnown) known.add(node);
    } else {
      const fixed = isKnown && !direct.has(node);
      const out = direct.get(node) ?? (fixed ? new Float64Array(node.size) : memory.take(node));
      arrays.set(node, out);
      if (fixed) known.add(node);
      (fixed ? before : program).push(instruction(node, arrays, out));
    }
    memory.release(node, arrays);
  }
  // What depends on no input is computed once, now.
  for (const {kernel, operands, out} of before) kernel(operands, out);
  return [...program, ...copies(graph, arrays, buffers)];
}

/** The nodes whose numbers some instruction reads or an output shows, operands first; inputs are there already. */
function readNodes(outputs: readonly Node[]): Node[] {
  const order = topological(outputs);
  const read = new Set(outputs);
  for (let i = order.length - 1; i >= 0; i--) {
    if (read.has(order[i])) for (const source of sources(order[i])) read.add(source);
  }
  return order.filter(node => node.op !== 'input' && read.has(node));
}

/**
 * Results that are not yet in their outputs' buffers. All outputs change at once: where one takes its
 * value from an input's buffer that another overwrites (an exchange), that value is set aside first.
 */
function copies(
  graph: Graph,
  arrays: ReadonlyMap<Node, Float64Array>,
  buffers: ReadonlyMap<string, Float64Array>,
): Instruction[] {
  const moves = graph.outputs
    .map(({name, node}) => ({source: arrayOf(arrays, node), target: namedBuffer(buffers, name)}))
    .filter(({source, target}) => source !== target);
  const overwritten = new Set(moves.map(({target}) => target));
  const aside: Instruction[] = [];
  const last = moves.map(({source, target}): Instruction => {
    if (!overwritten.has(source)) return {kernel: copy, operands: [source], out: target};
    const kept = new Float64Array(source.length);
    aside.push({kernel: copy, operands: [source], out: kept});
    return {kernel: copy, operands: [kept], out: target};
  });
  return [...aside, ...last];
}

function namedBuffer(buffers: ReadonlyMap<string, Float64Array>, name: string): Float64Array {
  const found = buffers.get(name);
  if (found === undefined) throw new Error(`no buffer is called ${name}`);
  return found;
}

function arrayOf(arrays: ReadonlyMap<Node, Float64Array>, node: Node): Float64Array {
  const found = arrays.get(node);
  if (found === undefined)
    throw new Error(`${node.op} is used before it is computed; is an input missing from the graph's list?`);
  return found;
}

/** The nodes whose numbers a node's instruction reads; a repeated scalar beside an array is read in place, not spread out first. */
function sources(node: Node): readonly Node[] {
  return node.op === 'binary'
    ? node.operands.map(operand => (isRepeatedScalar(operand) ? operand.operands[0] : operand))
    : node.operands;
}

function isRepeatedScalar(node: Node): boolean {
  return node.op === 'broadcast' && node.operands[0].size === 1;
}

function instruction(node: Node, arrays: ReadonlyMap<Node, Float64Array>, out: Float64Array): Instruction {
  return {
    kernel: primitiveOf(node).evaluate(node),
    operands: sources(node).map(source => arrayOf(arrays, source)),
    out,
  };
}

/** The node whose array a value lives in: a reshape shows its operand's. */
function storage(node: Node): Node {
  return node.op === 'reshape' ? storage(node.operands[0]) : node;
}

/** Hands out arrays for intermediate values, and takes them back after their last use. */
class MemoryPlan {
  private readonly uses = new Map<Node, number>();
  private readonly free = new Map<number, Float64Array[]>();
  private readonly owned = new Set<Float64Array>();

  constructor(order: readonly Node[], outputs: readonly Node[]) {
    for (const node of order) for (const source of sources(node)) this.use(storage(source));
    for (const node of outputs) this.use(storage(node));
  }

  private use(node: Node): void {
    this.uses.set(node, (this.uses.get(node) ?? 0) + 1);
  }

  take(node: Node): Float64Array {
    const array =
      this.free.get(node.size)?.pop() ?? newNumbers(node.size, 'a value of a step', 'Take a smaller system.');
    this.owned.add(array);
    return array;
  }

  /** Counts this node's use of what it reads; a value nobody needs again gives its array back. */
  release(node: Node, arrays: ReadonlyMap<Node, Float64Array>): void {
    for (const source of sources(node)) {
      const value = storage(source);
      const left = (this.uses.get(value) ?? 0) - 1;
      this.uses.set(value, left);
      const array = arrays.get(value);
      if (left > 0 || array === undefined || !this.owned.delete(array)) continue;
      const list = this.free.get(array.length);
      if (list === undefined) this.free.set(array.length, [array]);
      else list.push(array);
    }
  }
}
