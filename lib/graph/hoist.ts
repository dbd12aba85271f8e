/**
 * A program in two: what depends on no changing input, run once while those stay as they are, and
 * the rest. What the rest needs of the first part passes through named buffers, so any engine runs
 * the pair by compiling both together. Without a price, for what is computed once and never again (engine/wasm), and for
 * what is judged afterwards (step/inside.ts); ahead.ts weighs what is stored against what is saved.
 */
import {input} from './build.js';
import type {Graph, Node} from './node.js';
import {isOp, topological} from './node.js';
import {substitute} from './simplify.js';

export interface Hoisted {
  /** Run when an input that is not among the changing ones was set; its outputs are inputs of `each`. */
  readonly before: Graph;
  /** The program's own outputs, for every change of the changing inputs. */
  readonly each: Graph;
}

/**
 * @param changing names of the inputs that change from run to run of `each`
 * @param prefix of the buffers in between; `${prefix}0`, `${prefix}1`, … must be free names
 */
export function hoist(graph: Graph, changing: ReadonlySet<string>, prefix = 'hoisted.'): Hoisted {
  const outputs = graph.outputs.map(output => output.node);
  const changes = new Set<Node>();
  const boundary = new Map<Node, Node<'input'>>();
  const pass = (node: Node): void => {
    const value = computedBelow(node);
    if (value !== undefined && !boundary.has(value))
      boundary.set(value, input(`${prefix}${boundary.size}`, value.shape, value.dtype));
  };
  // The cotangent of a declared derivative (primitives/declared.ts) is no input of the program: nothing that follows from it is computed before.
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
  const rest = substitute(outputs, boundary);
  const used = new Set(topological(rest));
  return {
    before: {inputs: graph.inputs.filter(node => !changing.has(node.attributes.name)), outputs: between},
    each: {
      inputs: [...graph.inputs.filter(node => changing.has(node.attributes.name) || used.has(node)), ...buffers],
      outputs: graph.outputs.map((output, i) => ({name: output.name, node: rest[i]})),
    },
  };
}

/** What has to be kept of a value that does not change: nothing of a view of something given; below a repetition, the value itself. */
function computedBelow(node: Node): Node | undefined {
  if (node.op === 'input' || node.op === 'constant') return undefined;
  if (node.op === 'reshape' || node.op === 'broadcast') return computedBelow(node.operands[0]);
  if (node.op === 'slice' || node.op === 'transpose')
    return computedBelow(node.operands[0]) === undefined ? undefined : node;
  return node;
}
