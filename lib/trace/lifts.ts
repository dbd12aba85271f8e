/**
 * Values that a traced function declared to solve equations (lifted.ts). While the function is traced inputs stand for
 * them, so that no constructor simplifies through them: where gathers are joined, an equation would read what its value
 * is gathered from, and could hold whatever the value is. At the end of the trace the values take their places again.
 */
import type {Node, Output} from '../graph/node.js';
import {replaceNodes} from '../graph/replace-nodes.js';

/** A value, the input that stands for it while a function is traced, and what is zero where this has that value. */
export interface Lift {
  readonly value: Node;
  readonly unknown: Node<'input'>;
  readonly equation: Node;
}

/** The lifted values of a trace: its outputs as functions of the inputs that stand for them, too. */
export interface Lifted {
  readonly outputs: readonly Output[];
  readonly lifts: readonly Lift[];
}

/** Outputs and values, with values in place of their unknowns. A value reads only those before it. */
export function lowered(outputs: readonly Output[], lifts: readonly Lift[]): {outputs: Output[]; lifts: Lift[]} {
  const found = new Map<Node, Node>();
  const values = lifts.map(({unknown, value}) => {
    const [node] = replaceNodes([value], found);
    found.set(unknown, node);
    return node;
  });
  const nodes = replaceNodes(
    outputs.map(({node}) => node),
    found,
  );
  return {
    outputs: outputs.map(({name}, i) => ({name, node: nodes[i]})),
    lifts: lifts.map((lift, i) => ({...lift, value: values[i]})),
  };
}
