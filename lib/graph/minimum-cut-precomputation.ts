/**
 * Chooses the values of a program to compute ahead of its runs: values that do not change from run to run and cost less
 * to store and read than to compute in every run. The cheapest choice is a minimum cut. Each value is either computed
 * in every run, at the cost of its work, from operands that are available; or stored, at the cost of its size; or not
 * needed by the runs.
 */
import {Flow} from './flow.js';
import type {Graph, Node, Output} from './node.js';
import {isOp, topological} from './node.js';
import {simplifyNodes, replaceNodes} from './simplify.js';
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

export interface StoredValues {
  /** The values to store, operands before users. */
  readonly values: readonly Node[];
  /** Operations saved in all runs together, less the cost of storing. */
  readonly saved: number;
}

/**
 * A network of two vertices for each value that does not change, otherwise linear in the nodes.
 * @param changing names of the inputs that change from run to run
 */
export function minimumCutPrecomputation(
  outputs: readonly Node[],
  changing: ReadonlySet<string>,
  prices: Prices,
): StoredValues {
  const {runs, store, work = workOf, past = []} = prices;
  const order = topological(outputs);
  const kinds = kindsOf(order, changing, past);
  const places: number[] = [];
  for (let i = 0; i < order.length; i++) if (kinds[i] === steady) places.push(i);
  if (places.length === 0) return {values: [], saved: 0};
  const flow = new Flow();
  const source = flow.vertex();
  const sink = flow.vertex();
  // On the sink's side of the cut: a value is computed in every run; a value is there in every run.
  const computed = new Int32Array(order.length).fill(-1);
  const there = new Int32Array(order.length).fill(-1);
  for (const i of places) [computed[i], there[i]] = [flow.vertex(), flow.vertex()];
  const again = (node: Node): number => (past.includes(node) ? Infinity : runs * work(node));
  for (const i of places) {
    const node = order[i];
    flow.arc(source, computed[i], again(node));
    flow.arc(computed[i], there[i], store(node));
    for (const operand of node.operands)
      if (there[operand.notes.place] >= 0) flow.arc(there[operand.notes.place], computed[i], Infinity);
  }
  const read = new Uint8Array(order.length);
  for (let i = 0; i < order.length; i++)
    if (kinds[i] === changes) for (const operand of order[i].operands) read[operand.notes.place] = 1;
  for (const node of outputs) read[node.notes.place] = 1;
  for (const i of places) if (read[i] === 1) flow.arc(there[i], sink, Infinity);
  flow.fill(source, sink);
  const inRuns = flow.reaching(sink);
  const values: Node[] = [];
  let saved = 0;
  for (const i of places) {
    const node = order[i];
    if (inRuns[computed[i]] === 1) continue;
    if (!past.includes(node)) saved += runs * work(node);
    if (inRuns[there[i]] === 0) continue;
    values.push(node);
    saved -= store(node);
  }
  return {values, saved};
}

/** Depends on no input that changes, and has to be computed. */
const steady = 0;
/** Available without computing: an input that does not change, and what depends on no input. */
const given = 1;
/** Depends on an input that changes. */
const changes = 2;

/** By place in the order. */
function kindsOf(order: readonly Node[], changing: ReadonlySet<string>, past: readonly Node[]): Uint8Array {
  const kinds = new Uint8Array(order.length);
  const varies = new Uint8Array(order.length);
  for (let i = 0; i < order.length; i++) {
    const node = order[i];
    if (isOp(node, 'input')) {
      varies[i] = 1;
      kinds[i] = changing.has(node.attributes.name) ? changes : past.includes(node) ? steady : given;
      continue;
    }
    for (const {notes} of node.operands) {
      if (varies[notes.place] === 1) varies[i] = 1;
      if (kinds[notes.place] === changes) kinds[i] = changes;
    }
    if (varies[i] === 0) kinds[i] = given;
  }
  return kinds;
}

/** Programs whose common values are each one node. */
export function commonSubexpressions(programs: Readonly<Record<string, Graph>>): Record<string, Graph> {
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
export function addOutputs({outputs}: Graph, more: ReadonlyMap<Node, Node<'input'>>): Graph {
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
export function readPrecomputed({outputs}: Graph, buffers: ReadonlyMap<Node, Node<'input'>>): Graph {
  const nodes = replaceNodes(
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
