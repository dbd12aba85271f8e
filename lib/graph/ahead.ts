/**
 * Chooses the values of a program to compute ahead of its runs: values that do not change from run to run and cost less
 * to store and read than to compute in every run. The cheapest choice is a minimum cut. Each value is either computed
 * in every run, at the cost of its work, from operands that are available; or stored, at the cost of its size; or not
 * needed by the runs.
 */
import {Flow} from './flow.js';
import type {Graph, Node, Output} from './node.js';
import {isOp, topological} from './node.js';
import {simplifyNodes, substitute} from './simplify.js';
import {workOf} from './work.js';

export interface Prices {
  /** Number of runs, each of which saves the operations that are computed ahead. */
  readonly runs: number;
  /** The cost of storing and reading a value, in operations; Infinity if it cannot be stored. */
  store(value: Node): number;
  /** The cost of computing a node, in operations; default `workOf`. */
  work?(node: Node): number;
  /** Inputs that are not available in a run unless they are stored. */
  readonly past?: readonly Node[];
}

export interface Ahead {
  /** The values to store, operands before users. */
  readonly values: readonly Node[];
  /** Operations saved in all runs together, less the cost of storing. */
  readonly saved: number;
}

/** @param changing names of the inputs that change from run to run */
export function worthAhead(outputs: readonly Node[], changing: ReadonlySet<string>, prices: Prices): Ahead {
  const {runs, store, work = workOf, past = []} = prices;
  const order = topological(outputs);
  const {changes, given} = kinds(order, changing, past);
  const steady = order.filter(node => !changes.has(node) && !given.has(node));
  const flow = new Flow();
  const source = flow.vertex();
  const sink = flow.vertex();
  // On the sink's side of the cut: a value is computed in every run; a value is there in every run.
  const computed = new Map(steady.map(node => [node, flow.vertex()] as const));
  const there = new Map(steady.map(node => [node, flow.vertex()] as const));
  for (const node of steady) {
    const [own, ready] = [computed.get(node) as number, there.get(node) as number];
    flow.arc(source, own, past.includes(node) ? Infinity : runs * work(node));
    flow.arc(own, ready, store(node));
    for (const operand of new Set(node.operands)) {
      const operandReady = there.get(operand);
      if (operandReady !== undefined) flow.arc(operandReady, own, Infinity);
    }
  }
  for (const node of readByRuns(order, outputs, changes)) {
    const ready = there.get(node);
    if (ready !== undefined) flow.arc(ready, sink, Infinity);
  }
  flow.fill(source, sink);
  const inRuns = flow.reaching(sink);
  const again = (node: Node): boolean => inRuns.has(computed.get(node) as number);
  const values = steady.filter(node => !again(node) && inRuns.has(there.get(node) as number));
  const spared = steady.reduce((sum, node) => sum + (again(node) || past.includes(node) ? 0 : runs * work(node)), 0);
  return {values, saved: values.reduce((left, node) => left - store(node), spared)};
}

/**
 * Nodes that depend on a changing input, and nodes that are available without computing: the other inputs, and nodes
 * that depend on no input, which engines compute once.
 */
function kinds(
  order: readonly Node[],
  changing: ReadonlySet<string>,
  past: readonly Node[],
): {readonly changes: ReadonlySet<Node>; readonly given: ReadonlySet<Node>} {
  const changes = new Set<Node>();
  const given = new Set<Node>();
  const varies = new Set<Node>();
  for (const node of order) {
    if (isOp(node, 'input')) {
      varies.add(node);
      if (changing.has(node.attributes.name)) changes.add(node);
      else if (!past.includes(node)) given.add(node);
      continue;
    }
    if (node.operands.some(operand => varies.has(operand))) varies.add(node);
    else given.add(node);
    if (node.operands.some(operand => changes.has(operand))) changes.add(node);
  }
  return {changes, given};
}

function readByRuns(order: readonly Node[], outputs: readonly Node[], changes: ReadonlySet<Node>): ReadonlySet<Node> {
  return new Set([...order.filter(node => changes.has(node)).flatMap(({operands}) => operands), ...outputs]);
}

/** Programs whose common values are each one node. */
export function unified(programs: Readonly<Record<string, Graph>>): Record<string, Graph> {
  const graphs = Object.entries(programs);
  const inputs = new Set(graphs.flatMap(([, graph]) => graph.inputs));
  const nodes = simplifyNodes(
    graphs.flatMap(([, {outputs}]) => outputs.map(({node}) => node)),
    [...inputs],
  );
  let at = 0;
  return Object.fromEntries(
    graphs.map(([name, graph]) => [
      name,
      {...graph, outputs: graph.outputs.map(output => ({name: output.name, node: nodes[at++]}))},
    ]),
  );
}

/** A program that computes more. */
export function withOutputs({outputs}: Graph, more: ReadonlyMap<Node, Node<'input'>>): Graph {
  return of([
    ...outputs,
    ...[...more].map(
      ([
        node,
        {
          attributes: {name},
        },
      ]) => ({name, node}),
    ),
  ]);
}

/** A program that reads values from buffers which another one fills. */
export function readingAhead({outputs}: Graph, buffers: ReadonlyMap<Node, Node<'input'>>): Graph {
  const nodes = substitute(
    outputs.map(({node}) => node),
    buffers,
  );
  return of(outputs.map(({name}, i) => ({name, node: nodes[i]})));
}

function of(outputs: readonly Output[]): Graph {
  return {
    inputs: topological(outputs.map(({node}) => node)).filter((node): node is Node<'input'> => isOp(node, 'input')),
    outputs: [...outputs],
  };
}
