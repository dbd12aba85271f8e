/** A graph from named outputs. */
import {withoutDeclarations} from './declarations.js';
import type {Graph, Node} from './node.js';
import {isOp, topological} from './node.js';
import {simplifyNodes} from './simplify.js';

/** Its inputs are the named values that the outputs reach; outputs that are not there are left out. */
export function namedGraph(outputs: {readonly [name: string]: Node | undefined}): Graph {
  const named = Object.entries(outputs).filter((entry): entry is [string, Node] => entry[1] !== undefined);
  const given = named.map(([, node]) => node);
  const all = topological(given);
  const nodes = withoutDeclarations(given, all);
  const order = nodes === given ? all : topological(nodes);
  const inputs = order.filter(node => isOp(node, 'input'));
  const simple = simplifyNodes(nodes, inputs, order);
  return {inputs, outputs: named.map(([name], i) => ({name, node: simple[i]}))};
}
