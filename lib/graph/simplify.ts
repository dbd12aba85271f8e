/**
 * The same program with less in it: constants folded, equal subexpressions shared, computed
 * positions that turn out to be known made into tables, and what nothing needs dropped.
 */
import {constant, gather, rebuild, scatter, uniformValue} from './build.js';
import type {Graph, Node} from './node.js';
import {isOp, topological} from './node.js';
import {structuralKey} from './key.js';
import {primitiveOf} from './primitives/index.js';

/** A folded constant may be stored only up to this many elements beyond its operands': folding must
 * save work, not trade a small table for a large one. 4096 doubles fit a first-level cache. */
const foldedSizeLimit = 4096;

export function simplify(graph: Graph): Graph {
  const outputs = simplifyNodes(graph.outputs.map(output => output.node), graph.inputs);
  return {inputs: graph.inputs, outputs: graph.outputs.map((output, i) => ({name: output.name, node: outputs[i]}))};
}

/** Inputs are kept as they are (they are compared by identity, their names may repeat). */
export function simplifyNodes(outputs: readonly Node[], inputs: readonly Node[] = []): Node[] {
  const results = new Map<Node, Node>();
  const interned = new Map<string, Node>();
  const ids = new Map<Node, number>();
  const identify = (node: Node): number => {
    let id = ids.get(node);
    if (id === undefined) ids.set(node, (id = ids.size));
    return id;
  };
  inputs.forEach(identify);

  /** The one node that stands for every node equal to this one, and to whose operands the same was done. */
  const intern = (node: Node): Node => {
    if (ids.has(node) || node.op === 'input') {
      identify(node);
      return node;
    }
    const operands = node.operands.map(intern);
    const same = operands.every((operand, i) => operand === node.operands[i]);
    const candidate = same ? node : {...node, operands};
    const key = structuralKey(candidate, operands.map(identify));
    const known = interned.get(key);
    if (known !== undefined) return known;
    interned.set(key, candidate);
    identify(candidate);
    return candidate;
  };

  for (const node of topological(outputs)) {
    const operands = node.operands.map(operand => results.get(operand) ?? operand);
    const changed = operands.some((operand, i) => operand !== node.operands[i]);
    const rebuilt = changed ? rebuild(node, operands) : node;
    results.set(node, intern(reduce(rebuilt)));
  }
  return outputs.map(output => results.get(output) ?? output);
}

/** Evaluates what is known, and replaces computed positions that are. */
function reduce(node: Node): Node {
  if (node.operands.length === 0 || node.op === 'broadcast') return node;
  if (node.op === 'gatherAt' || node.op === 'scatterAt') {
    const table = knownPositions(node);
    if (table !== undefined) {
      return node.op === 'gatherAt' ? gather(node.operands[0], table, node.shape) : scatter(node.operands[0], table, node.shape);
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

/** Replaces nodes by others of the same shape throughout. */
export function substitute(outputs: readonly Node[], replacements: ReadonlyMap<Node, Node>): Node[] {
  const results = new Map<Node, Node>(replacements);
  for (const node of topological(outputs)) {
    if (results.has(node)) continue;
    const operands = node.operands.map(operand => results.get(operand) ?? operand);
    results.set(node, operands.some((operand, i) => operand !== node.operands[i]) ? rebuild(node, operands) : node);
  }
  return outputs.map(output => results.get(output) ?? output);
}

