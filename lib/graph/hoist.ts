/**
 * Splits a program in two: the part that depends on no changing input, which runs once, and the rest. The first part
 * passes its results to the second through named buffers, so any engine can run the pair by compiling both together.
 * The cost of storing is not considered here: some values are computed once for all (engine/wasm), others are selected
 * afterwards (step/interpolant.ts). minimum-cut-precomputation.ts weighs the cost of storing against that of computing.
 */
import {input} from './build.js';
import type {Graph, Node} from './node.js';
import {isOp, topological} from './node.js';
import {replaceNodes} from './simplify.js';
import {workOf} from './work.js';

export interface Hoisted {
  /** Runs whenever an input that is not among the changing ones was set; its outputs are inputs of `each`. */
  readonly before: Graph;
  /** Computes the program's outputs; runs whenever a changing input was set. */
  readonly each: Graph;
}

/**
 * @param changing names of the inputs that change from run to run of `each`
 * @param prefix of the names of the buffers; `${prefix}0`, `${prefix}1`, … must not be used otherwise
 */
export function hoist(graph: Graph, changing: ReadonlySet<string>, prefix = 'hoisted.'): Hoisted {
  const outputs = graph.outputs.map(output => output.node);
  const changes = new Set<Node>();
  const boundary = new Map<Node, Node<'input'>>();
  const pass = (node: Node): void => {
    const value = computedBelow(node);
    if (value === undefined || boundary.has(value)) return;
    if (isExpansion(value)) value.operands.forEach(pass);
    else boundary.set(value, input(`${prefix}${boundary.size}`, value.shape, value.dtype));
  };
  // The cotangent of a declared derivative (primitives/declared.ts) is not an input of the program, so nodes that
  // depend on it cannot be computed in advance.
  const own = new Set<Node>(graph.inputs);
  for (const node of topological(outputs)) {
    if (
      isOp(node, 'input')
        ? changing.has(node.attributes.name) || !own.has(node)
        : node.operands.some(operand => changes.has(operand))
    ) {
      changes.add(node);
      for (const operand of node.operands) if (!changes.has(operand)) pass(operand);
    }
  }
  for (const node of outputs) if (!changes.has(node)) pass(node);

  const between = [...boundary].map(([node, buffer]) => ({name: buffer.attributes.name, node}));
  const buffers = [...boundary.values()];
  const rest = replaceNodes(outputs, boundary);
  const used = new Set(topological(rest));
  return {
    before: {inputs: graph.inputs.filter(node => !changing.has(node.attributes.name)), outputs: between},
    each: {
      inputs: [...graph.inputs.filter(node => changing.has(node.attributes.name) || used.has(node)), ...buffers],
      outputs: graph.outputs.map((output, i) => ({name: output.name, node: rest[i]})),
    },
  };
}

/**
 * The node to store for a value that does not change: none for a view of an input or constant; for a broadcast value
 * the value itself.
 */
function computedBelow(node: Node): Node | undefined {
  if (node.op === 'input' || node.op === 'constant') return undefined;
  if (node.op === 'reshape' || node.op === 'broadcast') return computedBelow(node.operands[0]);
  if (node.op === 'slice' || node.op === 'transpose')
    return computedBelow(node.operands[0]) === undefined ? undefined : node;
  return node;
}

/** Arrays of so many numbers do not stay in the cache. */
const largeArray = 2 ** 17;
/** Operations in the time of reading a number from memory, at 8 GB/s and some 8 · 10⁹ operations a second. */
const readingCost = 8;

/** Numbers to store in place of a value, and the work of making one of its own from these. */
interface Making {
  readonly from: ReadonlySet<Node>;
  readonly work: number;
}

/** Through functions of single numbers and views, which read no more of their operands than they return. */
function makingOf(node: Node): Making {
  let work = workOf(node) / node.size;
  const from = new Set<Node>();
  for (const operand of node.operands) {
    const below = computedBelow(operand);
    if (below === undefined) continue;
    const inner = isOp(below, 'binary') || isOp(below, 'unary') || isOp(below, 'slice') ? makingOf(below) : undefined;
    if (inner === undefined || inner.work > readingCost) from.add(below);
    else {
      work += inner.work;
      for (const one of inner.from) from.add(one);
    }
  }
  return {from, work};
}

/** Whether a large array is made of fewer numbers with less work than reading it takes. */
function isExpansion(node: Node): boolean {
  if (node.size < largeArray) return false;
  const {from, work} = makingOf(node);
  return work <= readingCost && [...from].reduce((sum, {size}) => sum + size, 0) <= node.size / 2;
}
