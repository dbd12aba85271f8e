/**
 * Simplifies a program: constants are folded, equal subexpressions shared, computed
 * positions that turn out to be known are replaced by tables, and unused values removed.
 */
import {constant, gather, otherOperands, rebuild, scatter, uniformValue} from './build.js';
import type {Graph, Node} from './node.js';
import {isOp, topological} from './node.js';
import {Interned} from './interned.js';
import {primitiveOf} from './primitives/index.js';

export {replaceNodes} from './replace-nodes.js';

/** A folded constant may be stored only up to this many elements beyond its operands': folding must
 * save work, not trade a small table for a large one. 4096 doubles fit a first-level cache. */
const foldedSizeLimit = 4096;

export function simplify({inputs, outputs}: Graph): Graph {
  const nodes = simplifyNodes(
    outputs.map(({node}) => node),
    inputs,
  );
  return {inputs, outputs: outputs.map(({name}, i) => ({name, node: nodes[i]}))};
}

/**
 * Inputs are kept as they are (they are compared by identity, their names may repeat). Linear in the nodes.
 * @param order all nodes of the outputs, where it is known
 */
export function simplifyNodes(
  outputs: readonly Node[],
  inputs: readonly Node[] = [],
  order: readonly Node[] = topological(outputs),
): Node[] {
  if (isSimple(order)) return [...outputs];
  const canonical = canonicalizer(inputs);
  // Operands first, so that the recursion below goes only through what a constructor has just built.
  for (const node of order) canonical(node);
  return outputs.map(canonical);
}

/** Whether all these stood for themselves in one simplification: then so they do here. */
function isSimple(order: readonly Node[]): boolean {
  let whose = 0;
  for (const {op, notes} of order) {
    if (op === 'input') continue;
    if (notes.canonicalIn === 0 || (whose !== 0 && notes.canonicalIn !== whose)) return false;
    whose = notes.canonicalIn;
  }
  return true;
}

/** Canonicalizers so far. */
let canonicalizers = 0;

/** A function that gives the one node that stands for every node equal to its argument, simplified all the way down. */
export function canonicalizer(inputs: readonly Node[]): (node: Node) => Node {
  const own = ++canonicalizers;
  const results = new Map<Node, Node>();
  const interned = new Interned();
  for (const node of inputs) results.set(node, node);

  const canonical = (node: Node): Node => {
    if (node.notes.canonicalIn === own || node.op === 'input') return node;
    const done = results.get(node);
    if (done !== undefined) return done;
    const others = otherOperands(node, canonical);
    // A node that stood for itself before is reduced already.
    const reduced = others !== undefined ? rebuild(node, others) : node.notes.canonicalIn > 0 ? node : reduce(node);
    const result = reduced === node ? interned.of(node) : canonical(reduced);
    if (result === node) node.notes.canonicalIn = own;
    results.set(node, result);
    return result;
  };
  return canonical;
}

/** Evaluates what is known, and replaces computed positions that are. */
function reduce(node: Node): Node {
  if (node.operands.length === 0 || node.op === 'broadcast') return node;
  if (node.op === 'gatherAt' || node.op === 'scatterAt') {
    const table = knownPositions(node);
    if (table !== undefined) {
      return node.op === 'gatherAt'
        ? gather(node.operands[0], table, node.shape)
        : scatter(node.operands[0], table, node.shape);
    }
  }
  if (!node.operands.every(isKnown)) return node;
  const stored = node.operands.reduce((sum, operand) => sum + operand.size, 0);
  if (node.size > Math.max(foldedSizeLimit, stored)) return node;
  const values = new Float64Array(node.size);
  primitiveOf(node).evaluate(node)(node.operands.map(valuesOf), values);
  return constant(values, node.shape, node.dtype);
}

function knownPositions(node: Node): Int32Array | undefined {
  const [x, positions] = node.operands;
  if (!isKnown(positions)) return undefined;
  const range = node.op === 'gatherAt' ? x.size : node.size;
  return Int32Array.from(valuesOf(positions), at => (at >= 0 && at < range ? at : -1));
}

function isKnown(node: Node): boolean {
  return node.op === 'constant' || uniformValue(node) !== undefined;
}

function valuesOf(node: Node): Float64Array {
  if (isOp(node, 'constant')) return node.attributes.values;
  return new Float64Array(node.size).fill(uniformValue(node) ?? NaN);
}
