/**
 * The fewest numbers through which values depend on others: a minimum cut of the graph (flow.ts), every node as
 * wide as it has numbers. A gradient keeps these of a step instead of what they are computed from.
 */
import {Flow} from './flow.js';
import type {Node} from './node.js';
import {isOp, topological} from './node.js';

/**
 * Nodes of least total size without which no output depends on a source; of several such cuts the one
 * nearest the outputs, which leaves the least to be computed after it.
 * @param sources inputs
 * @param later inputs whose values are not there yet when the cut is taken: what depends on them is behind it
 */
export function narrowestCut(outputs: readonly Node[], sources: readonly Node[], later: ReadonlySet<Node>): Node[] {
  const order = topological(outputs);
  const behind = new Set<Node>();
  const before = new Set<Node>();
  for (const node of order) {
    if (later.has(node) || node.operands.some(operand => behind.has(operand))) behind.add(node);
    else if (sources.includes(node) || node.operands.some(operand => before.has(operand))) before.add(node);
  }
  const flow = new Flow();
  const source = flow.vertex();
  const sink = flow.vertex();
  const entrance = new Map<Node, number>();
  const exit = (node: Node): number => (entrance.get(node) as number) + 1;
  for (const node of order) {
    if (!before.has(node)) continue;
    entrance.set(node, flow.vertex());
    flow.vertex();
    // What is not a number of double precision is computed again.
    flow.arc(exit(node) - 1, exit(node), node.dtype === 'float' ? node.size : Infinity);
    if (isOp(node, 'input')) flow.arc(source, exit(node) - 1, Infinity);
    for (const operand of new Set(node.operands))
      if (before.has(operand)) flow.arc(exit(operand), exit(node) - 1, Infinity);
  }
  const asked = new Set(outputs);
  for (const node of order) if (behind.has(node)) for (const operand of node.operands) asked.add(operand);
  for (const node of asked) if (before.has(node)) flow.arc(exit(node), sink, Infinity);
  flow.fill(source, sink);
  const reaching = flow.reaching(sink);
  return order.filter(node => before.has(node) && reaching.has(exit(node)) && !reaching.has(exit(node) - 1));
}
