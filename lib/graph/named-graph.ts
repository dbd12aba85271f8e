/** A graph from named outputs. */
import {withoutDeclarations} from './declarations.js';
import type {Graph, Node, Output} from './node.js';
import {isOp, topological} from './node.js';
import {simplify} from './simplify.js';

/** Its inputs are the named values that the outputs reach; outputs that are not there are left out. */
export function namedGraph(outputs: {readonly [name: string]: Node | undefined}): Graph {
  const named = Object.entries(outputs).filter((entry): entry is [string, Node] => entry[1] !== undefined);
  const nodes = withoutDeclarations(named.map(([, node]) => node));
  const list: Output[] = named.map(([name], i) => ({name, node: nodes[i]}));
  const inputs = topological(nodes).filter(node => isOp(node, 'input'));
  return simplify({inputs, outputs: list});
}
